"""Derivatives of steps of a world: those of each island by itself, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from touching import box, free

import robosim
from robosim import Mechanism, OptionError, Simulation, linearize
from robosim.controllers import PD
from robosim.description.units import Division, units_of
from robosim.linearization.linearization import linearize_rows
from robosim.models.builders import chain

pytestmark = pytest.mark.slow


def world() -> Mechanism:
    """Two A1 and a chain, apart from each other."""
    robot = robosim.load("a1")
    return robot.add(chain(3), (3.0, 0.0, 2.0), prefix="chain/").add(
        robot, (6.0, 0.0, 0.0), prefix="other/"
    )


def parts(robot: Mechanism, **options) -> list[tuple[Simulation, np.ndarray, np.ndarray]]:
    """(simulation, rows of q and v, rows of torques) of each unit by itself."""
    found = []
    for bodies in units_of(robot):
        own = Division(robot).part(bodies)
        v = np.array([robot.v_names.index(name) for name in own.v_names])
        motors = np.array([robot.actuated_names.index(name) for name in own.actuated_names])
        found.append((Simulation(own, **options), v, motors))
    return found


def moving() -> tuple[Simulation, np.ndarray]:
    sim = Simulation(world(), 2e-3)
    sim.run(0.05, "stand")
    return sim, np.random.default_rng(0).uniform(-5.0, 5.0, sim.robot.nu)


def named(robot: Mechanism, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those parameters that a mechanism has."""
    known = [body.name for body in robot.bodies]
    return tuple(name for name in names if name.partition(":")[2] in ("", *known))


def test_islands_have_the_derivatives_of_units_alone():
    sim, torques = moving()
    robot, names = sim.robot, ("mass:chain/link2", "damping", "mass:other/base")
    whole = linearize(sim, torques, parameters=names)
    rest, contacts = whole.A.copy(), []
    for one, v, motors in parts(robot, timestep=2e-3):
        q = [robot.q_names.index(name) for name in one.robot.q_names]
        one.set_state(sim.q[q], sim.v[v], time=sim.time)
        mine = named(one.robot, names)
        own = linearize(one, torques[motors], parameters=mine)
        rows, columns = np.concatenate((v, robot.nv + v)), [names.index(name) for name in mine]
        np.testing.assert_array_equal(whole.q[q], own.q)
        np.testing.assert_array_equal(whole.v[v], own.v)
        np.testing.assert_array_equal(whole.A[np.ix_(rows, rows)], own.A)
        np.testing.assert_array_equal(whole.B[np.ix_(rows, motors)], own.B)
        np.testing.assert_array_equal(whole.P[np.ix_(rows, columns)], own.P)
        contacts += own.contacts
        rest[np.ix_(rows, rows)] = 0.0
    assert not rest.any()
    assert whole.contacts == tuple(contacts)
    assert whole.margin == min(one.margin for one in contacts)
    assert np.abs(whole.P).max(axis=0).astype(bool).tolist() == [True, False, True]
    with pytest.raises(OptionError, match="there is no parameter 'mass:nothing'"):
        linearize(sim, torques, parameters=("mass:nothing",))


def test_rows_and_several_worlds_have_the_same_bits():
    sim, torques = moving()
    found = linearize(sim, torques)
    (row,) = linearize_rows(
        sim, sim.q[None], sim.v[None], torques[None], np.array([sim.time]), None
    )
    stacked = linearize([sim, sim.copy()], torques)
    for name in ("q", "v", "A", "B"):
        expected = getattr(found, name)
        np.testing.assert_array_equal(getattr(row, name), expected)
        np.testing.assert_array_equal(getattr(stacked, name)[1], expected)


def test_a_pd_drives_all_islands():
    """That of the world acts on each unit as one of its own."""
    sim, _ = moving()
    robot, target = sim.robot, np.linspace(-0.3, 0.3, sim.robot.nu)
    whole = linearize(sim, controller=PD(robot, target, 40.0, 1.0, implicit=True))
    for one, v, motors in parts(robot, timestep=2e-3):
        q = [robot.q_names.index(name) for name in one.robot.q_names]
        one.set_state(sim.q[q], sim.v[v], time=sim.time)
        own = linearize(one, controller=PD(one.robot, target[motors], 40.0, 1.0, implicit=True))
        rows = np.concatenate((v, robot.nv + v))
        np.testing.assert_array_equal(whole.A[np.ix_(rows, rows)], own.A)
        np.testing.assert_array_equal(whole.v[v], own.v)


def test_units_that_meet_in_the_step_are_one_island():
    robot = free(box("a"), box("b"), box("far"), self_collision=True)
    gap, dt = 1e-3, 5e-3
    home = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 3)
    home[7], home[14] = 0.2 + gap, 5.0
    v = np.zeros(robot.nv)
    v[0] = 1.0  # five times the gap in a step
    found = []
    for islands in (True, False):
        sim = Simulation(robot, dt, gravity=(0, 0, 0), islands=islands, tolerance=1e-12)
        sim.set_state(home, v)
        assert len(sim.islands) == (3 if islands else 1)
        found.append(linearize(sim, contact_speed=1e-3))
    one, whole = found
    assert {frozenset((c.body, c.other)) for c in one.contacts} == {frozenset("ab")}
    assert one.v[6] > 0.4  # which has been hit
    np.testing.assert_allclose(one.v, whole.v, atol=1e-9)
    np.testing.assert_allclose(one.A, whole.A, atol=1e-6 * np.abs(whole.A).max())
    nv = robot.nv
    assert np.abs(one.A[nv + 6 : nv + 12, :6]).max() > 0.1
    far = np.r_[12:18, nv + 12 : nv + 18]
    others = np.setdiff1d(np.arange(2 * nv), far)
    assert not one.A[np.ix_(far, others)].any()
    assert not one.A[np.ix_(others, far)].any()
