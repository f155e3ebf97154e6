"""Islands: units of a world that are apart move as they would alone, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from touching import ball, box

import robosim
from robosim import Body, ConvergenceError, Joint, Log, Mechanism, Simulation
from robosim.controllers import PD
from robosim.description.units import Division, units_of
from robosim.models.builders import (
    chain,
    cube,
    double_four_bar,
    double_pendulum,
    hanging_net,
    slider_crank,
    sphere_chain,
)

Array = Any


def free(body: Body, position: tuple[float, float, float]) -> Mechanism:
    """A body that floats, at a position."""
    joint = Joint(f"free {body.name}", "floating", None, body.name)
    return Mechanism(body.name, (body,), (joint,), home=(*position, 1, 0, 0, 0))


@cache
def mixed() -> Mechanism:
    """A world of all sorts, each in a place of its own."""
    world = robosim.load("a1")
    others = [
        cube(),
        chain(3),
        double_four_bar(),
        hanging_net(2),
        slider_crank(),
        sphere_chain(2),
        free(box("box"), (0.0, 0.0, 0.5)),
        robosim.load("a1"),
    ]
    for k, other in enumerate(others, start=1):
        world = world.add(other, (4.0 * k, 0.5 * k, 0.0), prefix=f"{k}/")
    return world


def alone(world: Mechanism, **options: Any) -> list[tuple[Simulation, Array, Array, Array]]:
    """(simulation, indices in q, in v, in the torques) of each unit by itself."""
    found, division = [], Division(world)
    for bodies in units_of(world):
        own = division.part(bodies)
        sim = Simulation(own, **options)
        places = [world.q_names.index(name) for name in own.q_names]
        rates = [world.v_names.index(name) for name in own.v_names]
        inputs = [world.actuated_names.index(name) for name in own.actuated_names]
        found.append((sim, np.array(places, int), np.array(rates, int), np.array(inputs, int)))
    return found


def check_as_alone(
    world: Mechanism, timestep: float, drive: Callable[[Simulation, Array], Log]
) -> None:
    whole = Simulation(world, timestep)
    log = drive(whole, np.arange(world.nu))
    units = alone(world, timestep=timestep)
    assert len(whole.islands) == len(units)
    for sim, q, v, inputs in units:
        own = drive(sim, inputs)
        np.testing.assert_array_equal(log.q[:, q], own.q)
        np.testing.assert_array_equal(log.v[:, v], own.v)
        np.testing.assert_array_equal(log.tau[:, inputs], own.tau)
        np.testing.assert_array_equal(whole.q[q], sim.q)
        np.testing.assert_array_equal(whole.v[v], sim.v)
        np.testing.assert_array_equal(whole.torques[v], sim.torques)
    energies = [sim.energy() for sim, *_ in units]
    assert whole.energy() == pytest.approx(sum(energies), abs=1e-9)
    wrenches = whole.joint_wrenches()
    forces, ground = whole.limit_forces(), iter(whole.contact_forces().tolist())
    for sim, _, v, _ in units:
        for name, wrench in sim.joint_wrenches().items():
            np.testing.assert_array_equal(wrenches[name], wrench)
        np.testing.assert_array_equal(forces[v], sim.limit_forces())
        np.testing.assert_array_equal(
            [next(ground) for _ in sim.robot.contacts], sim.contact_forces().tolist() or []
        )
    assert len(whole.contacts()) == sum(len(sim.contacts()) for sim, *_ in units)


def test_units_under_random_torques_move_as_alone() -> None:
    world = mixed()
    torques = np.random.default_rng(1).uniform(-8.0, 8.0, (150, world.nu))

    def drive(sim: Simulation, inputs: Array) -> Log:
        return sim.run(0.3, lambda s: torques[s.steps, inputs])

    check_as_alone(world, 2e-3, drive)


@pytest.mark.parametrize("implicit", [False, True])
def test_units_under_pd_move_as_alone(implicit: bool) -> None:
    world = mixed()
    targets = np.random.default_rng(2).uniform(-0.3, 0.3, world.nu)

    def drive(sim: Simulation, inputs: Array) -> Log:
        control = PD(
            sim.robot,
            lambda t: np.outer(np.sin(9 * t), targets[inputs]),
            kp=40.0,
            kd=1.0,
            implicit=implicit,
        )
        return sim.run(0.2, control, every=3)

    check_as_alone(world, 1e-3, drive)


def test_a_compiled_controller_sees_the_whole_world() -> None:
    world = robosim.load("a1").add(chain(2), (3.0, 0.0, 0.0), prefix="b/")

    @numba.njit
    def pushed(t: float, q: Array, v: Array, tau: Array) -> None:
        for k in range(tau.shape[0]):
            tau[k] = np.sin(3.0 * t + k) - 0.1 * q[q.shape[0] - 1] - 0.02 * v[6 + k]

    def in_python(sim: Simulation) -> Array:
        tau = np.zeros(world.nu)
        pushed.py_func(sim.time, sim.q, sim.v, tau)
        return tau

    one, other = Simulation(world), Simulation(world)
    a, b = one.run(0.1, pushed), other.run(0.1, in_python)
    np.testing.assert_array_equal(a.q, b.q)
    np.testing.assert_array_equal(a.tau, b.tau)
    assert np.ptp(a.tau) > 0.1
    assert len(one.islands) == 2


@cache
def meeting() -> tuple[Mechanism, Array]:
    """A box and a ball that hit each other and part again, and one that nothing hits; rates."""
    world = free(box("a"), (0.0, 0.0, 1.0))
    world = world.add(free(box("b"), (1.0, 0.05, 1.02))).add(free(ball("c"), (5.0, 0.0, 1.0)))
    v = np.zeros(world.nv)
    v[0], v[6], v[8], v[15:18] = 1.0, -1.0, 0.3, (1.0, 2.0, 3.0)
    return world, v


def met(islands: bool = True) -> Simulation:
    world, v = meeting()
    sim = Simulation(world, gravity=(0, 0, 0), islands=islands)
    sim.set_state(world.home, v)
    return sim


def test_units_that_meet_are_solved_together() -> None:
    one, other = met(), met(islands=False)
    before = one.momentum()
    counts = []
    for _ in range(20):
        one.run(0.1)
        other.run(0.1)
        counts.append(len(one.islands))
    assert (counts[0], min(counts), counts[-1]) == (3, 2, 3)
    np.testing.assert_allclose(one.q, other.q, atol=2e-6)
    for now, was in zip(one.momentum(), before, strict=True):
        np.testing.assert_allclose(now, was, atol=1e-13)
    assert abs(one.v[0] - 1.0) > 0.5  # they have hit each other


def test_units_side_by_side_stay_apart() -> None:
    """Boxes that overlap along x and z, but not along y."""
    boxes = [free(box(f"{k}"), (0.1 * k, 2.0 * k, 0.0)) for k in range(3)]
    sim = Simulation(boxes[0].add(boxes[1]).add(boxes[2]), gravity=(0, 0, 0))
    sim.run(0.2)
    assert len(sim.islands) == 3


def test_how_a_run_is_divided_changes_no_bit() -> None:
    reference, log = met(), None
    log = reference.run(1.5)
    single = met()
    for _ in range(1500):
        single.step()
    parts = met()
    logs = [parts.run(seconds) for seconds in (0.1, 0.313, 0.007, 0.58, 0.5)]
    seldom = met()
    sparse = seldom.run(1.5, every=7)
    for sim in (single, parts, seldom):
        np.testing.assert_array_equal(sim.q, reference.q)
        np.testing.assert_array_equal(sim.v, reference.v)
    np.testing.assert_array_equal(np.concatenate([one.q for one in logs]), log.q)
    np.testing.assert_array_equal(sparse.q, log.q[::7])
    np.testing.assert_array_equal(sparse.v, log.v[::7])


@pytest.mark.parametrize("seconds", [0.2, 0.45])
def test_copies_go_on_to_the_last_bit(seconds: float, tmp_path: Path) -> None:
    """Of units that are apart, and that are one island."""
    sim = met()
    sim.run(seconds)
    copied, restored, loaded = sim.copy(), met(), met()
    restored.run(0.4)
    restored.restore(sim)
    sim.save(tmp_path / "world.npz")
    loaded.load(tmp_path / "world.npz")
    for other in (copied, restored, loaded):
        np.testing.assert_array_equal(other.q, sim.q)
        assert other.islands == sim.islands
    sim.run(1.0)
    for other in (copied, restored, loaded):
        other.run(1.0)
        np.testing.assert_array_equal(other.q, sim.q)
        np.testing.assert_array_equal(other.v, sim.v)


def test_a_single_system_goes_on_from_islands_and_back() -> None:
    sim, whole = met(), met(islands=False)
    sim.run(0.45)
    whole.restore(sim)
    np.testing.assert_array_equal(whole.q, sim.q)
    back = met()
    back.restore(whole)
    for one in (sim, whole, back):
        one.run(0.1)
    np.testing.assert_allclose(whole.q, sim.q, atol=1e-8)
    np.testing.assert_allclose(back.q, sim.q, atol=1e-8)


def test_threads_change_no_bit() -> None:
    world, runs = mixed(), []
    for threads in (1, 3):
        sim = Simulation(world, 2e-3, threads=threads)
        runs.append(sim.run(0.3, "stand" if world.stance else None))
        runs.append(sim.copy().run(0.1))
    np.testing.assert_array_equal(runs[0].q, runs[2].q)
    np.testing.assert_array_equal(runs[1].q, runs[3].q)


def test_each_island_has_its_own_solver() -> None:
    world = robosim.load("a1")
    for k in range(2):
        world = world.add(free(box(f"box {k}"), (5.0, 0.02 * k, 0.1 + 0.2001 * k)))
    floor = robosim.Geometry("box", (20.0, 20.0, 1.0), (0.0, 0.0, -0.5), name="floor")
    sim = Simulation(world.add(floor))
    sim.run(0.2)
    assert [(one.bodies[0], one.solver) for one in sim.islands] == [
        ("base", "articulated"),
        ("box 0", "ldu"),
    ]


def test_an_error_names_the_island_and_moves_nothing() -> None:
    world = double_pendulum().add(chain(2), (3.0, 0.0, 0.0), prefix="b/")
    sim, other = Simulation(world, 5e-3), Simulation(double_pendulum(), 5e-3)
    tau = np.zeros(world.nu)
    for sims in (sim, other):
        sims.run(0.5)
    tau[-1] = 1e9
    before = sim.q, sim.v
    with pytest.raises(ConvergenceError) as raised:
        sim.step(tau)
    assert raised.value.body.startswith("b/")
    assert raised.value.time == sim.time == pytest.approx(0.5)
    np.testing.assert_array_equal(before, (sim.q, sim.v))
    np.testing.assert_array_equal(sim.q[: other.robot.nq], other.q)
    sim.step()
    assert sim.steps == 101
    # In the middle of a run, all islands stop at the step that failed.
    late = Simulation(world, 5e-3)
    with pytest.raises(ConvergenceError):
        late.run(1.0, lambda s: tau if s.steps == 130 else 0.0 * tau)
    other.run(0.15)
    assert late.steps == 130
    np.testing.assert_array_equal(late.q[: other.robot.nq], other.q)


def test_wrenches_reach_the_bodies_of_islands() -> None:
    world, _ = meeting()
    sim = Simulation(world, gravity=(0, 0, 0))
    sim.apply_wrench("c", (2.0, 0.0, 0.0))
    sim.run(0.5)
    x = sim.robot.body_index("c")
    mass = world.bodies[x].mass
    np.testing.assert_allclose(sim.state.v[x], (2.0 / mass * 0.5, 0, 0), rtol=1e-3)
    np.testing.assert_array_equal(sim.state.v[0], 0.0)


def test_the_state_that_users_hold_is_up_to_date() -> None:
    sim, whole = met(), met(islands=False)
    state = sim.state
    for one in (sim, whole):
        one.run(0.2)
    np.testing.assert_allclose(state.x, whole.state.x, atol=1e-9)
    np.testing.assert_allclose(state.joint_v, whole.state.joint_v, atol=1e-9)
    np.testing.assert_allclose(sim.accelerations(), whole.accelerations(), atol=1e-6)
    assert sim.min_gap() == whole.min_gap()
    assert sim.constraint_violation() < 1e-9


def test_units_are_what_joints_and_springs_connect() -> None:
    world = mixed()
    units = units_of(world)
    assert sorted(b for unit in units for b in unit) == list(range(len(world.bodies)))
    assert [world.bodies[unit[0]].name.partition("/")[0] for unit in units] == [
        "base", *(str(k) for k in range(1, 9))
    ]  # fmt: skip


def test_islands_are_as_many_as_units_unless_refused() -> None:
    world, _ = meeting()
    assert len(Simulation(world).islands) == 3
    assert len(Simulation(world, order=4).islands) == 3
    assert len(Simulation(world, islands=False).islands) == 1


def test_units_have_orders_of_their_own() -> None:
    """A pendulum swings with order four beside a box that lies on the ground, as it does alone."""
    world = double_pendulum().add(cube(), (4.0, 0.0, 0.0), prefix="b/")
    q = np.array(world.home)
    q[:2] = 0.7, -0.4
    whole = Simulation(world, 0.01, order=4)
    whole.set_state(q)
    log = whole.run(1.0)
    for (sim, places, rates, _), smooth in zip(
        alone(world, timestep=0.01, order=4), (True, False), strict=True
    ):
        sim.set_state(q[places])
        own = sim.run(1.0)
        assert (sim.fourth_order_steps == 100) == smooth
        np.testing.assert_array_equal(log.q[:, places], own.q)
        np.testing.assert_array_equal(whole.v[rates], sim.v)
    assert whole.fourth_order_steps == 0  # that of the worst island
    assert whole.step().order == 2
    falls = Simulation(world, 0.01, (0.0, 0.0, 0.0), order=4)
    q[-5] += 1.0
    falls.set_state(q, np.linspace(0.1, 0.8, world.nv))
    falls.run(0.5, every=7)
    assert falls.fourth_order_steps == falls.steps == 50


def test_units_of_order_four_meet() -> None:
    """They are solved together from there on, and keep their momentum."""
    world, v = meeting()
    one, other = (Simulation(world, 1e-3, (0, 0, 0), order=order) for order in (4, 2))
    for sim in (one, other):
        sim.set_state(world.home, v)
    before, fewest = one.momentum(), 3
    for _ in range(20):
        one.run(0.1)
        other.run(0.1)
        fewest = min(fewest, len(one.islands))
    assert (fewest, len(one.islands)) == (2, 3)
    assert 0 < one.fourth_order_steps < one.steps
    np.testing.assert_allclose(one.q, other.q, atol=1e-4)
    for now, was in zip(one.momentum(), before, strict=True):
        np.testing.assert_allclose(now, was, atol=1e-12)


def test_what_resists_turning_is_known_where_islands_join():
    """The joined system begins at what both had, and not at what it had in a run before."""
    parts = []
    for name, x in (("left", -0.13), ("right", 0.13)):
        point = robosim.ContactPoint(
            f"{name} ground",
            name,
            (0, 0, 0),
            radius=0.1,
            rolling_friction=2e-3,
            torsional_friction=2e-3,
        )
        parts.append(replace(free(ball(name, 0.1), (x, 0.0, 0.1)), contacts=(point,)))
    robot = parts[0].add(parts[1], contact="all")

    def steps(sim: Simulation) -> list[tuple[Array, int]]:
        sim.set_state(sim.robot.home, [0.5, 0, 0, 0, 5, 1, -0.5, 0, 0, 0, -5, 2])
        return [(sim.q, sim.step().iterations) for _ in range(80)]

    first, again = steps(sim := Simulation(robot, 2e-3)), steps(sim)
    for (q, n), (other, m) in zip(first, again, strict=True):
        assert n == m
        np.testing.assert_array_equal(q, other)
