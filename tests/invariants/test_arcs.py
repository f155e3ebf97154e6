"""Velocities at knots are rates along arcs; momenta, which are conserved, show chords."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import Body, Coupling, Joint, Mechanism, Simulation
from robosim.kernels.compiler.jit import entry
from robosim.kernels.equations.arcs import arc_excess
from robosim.models.builders import chain
from robosim.quaternions import rotation_matrix


@entry
def excess(square):
    return arc_excess(square)


@pytest.mark.parametrize("angle", [1e-9, 1e-3, 0.00999, 0.0101, 0.3, 0.4999])
def test_arcs_of_chords(angle):
    chord = np.sin(angle)
    assert chord * (1.0 + excess(chord * chord)) == pytest.approx(angle, rel=4e-16)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_a_spinning_dumbbell_flies_on_as_it_was_started(solver):
    """Two unlike bodies, one beside the other: turn and speeds stay those of the start, exactly."""
    bodies = tuple(Body(name, m, m * np.eye(3) / 10) for name, m in (("a", 1.0), ("b", 3.0)))
    joints = (
        Joint("free", "floating", None, "a"),
        Joint("weld", "fixed", "a", "b", parent_position=(0.7, 0, 0)),
    )
    sim = Simulation(Mechanism("dumbbell", bodies, joints), 0.01, (0, 0, 0), solver=solver)
    spin = np.array([0.0, 0.0, 20.0])
    v = np.concatenate(([1.0, 2.0, 3.0], spin))
    sim.set_state(None, v)
    linear = sim.momentum()[0]
    centre = np.array([1.0, 3.0]) @ sim.state.x / 4
    log = sim.run(1.0)
    np.testing.assert_allclose(log.v[:, 3:], np.tile(spin, (len(log.t), 1)), rtol=0, atol=1e-8)
    turned = rotation_matrix(sim.state.q[0])
    angle = np.arctan2(turned[1, 0], turned[0, 0])
    assert np.exp(1j * angle) == pytest.approx(np.exp(20j), abs=1e-8)
    np.testing.assert_allclose(sim.momentum()[0], linear, rtol=0, atol=1e-12)
    read = np.array([1.0, 3.0]) @ sim.state.v
    np.testing.assert_allclose(read, linear, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        np.array([1.0, 3.0]) @ sim.state.x / 4, centre + read / 4, rtol=0, atol=1e-8
    )
    # The bodies' speeds differ by that of a turn, not by that of a chord.
    arm = sim.state.x[1] - sim.state.x[0]
    difference = sim.state.v[1] - sim.state.v[0]
    np.testing.assert_allclose(difference, np.cross(spin, arm), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["a1", "minitaur"])
def test_a_start_undoes_the_read_out(name):
    """Where hinges turn with their bodies, in loops and with rotors as well."""
    robot = robosim.load(name, ground=False)
    on, anew = (Simulation(robot, 0.005, tolerance=1e-12) for _ in range(2))
    v = 0.3 * np.random.default_rng(6).normal(size=robot.nv)
    for sim in (on, anew):
        sim.set_state(np.array(robot.home), v)
    first = on.v
    for _ in range(10):
        on.step()
        anew.step()
        anew.set_state(anew.q, anew.v)
    assert np.abs(on.v - first).max() > 1e-3
    np.testing.assert_allclose(anew.q, on.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(anew.v, on.v, rtol=0, atol=1e-11)


def test_both_solvers_read_the_same():
    sims = [Simulation(chain(5), 0.02, solver=solver) for solver in ("articulated", "ldu")]
    for sim in sims:
        sim.set_state(np.full(5, 0.5), np.arange(5.0))
        sim.run(0.2)
    np.testing.assert_allclose(sims[0].v, sims[1].v, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sims[0].state.v, sims[1].state.v, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["three_link_loop", "slider_crank", "rhombus"])
def test_velocities_of_loops_fit_their_joints(name):
    """The two sides of every joint's point move alike but for the joint's slides."""
    robot = robosim.load(name)
    sim = Simulation(robot, 0.02)
    sim.run(0.5)
    state = sim.state
    R = rotation_matrix(state.q)
    assert np.abs(state.omega).max() * 0.02 > 0.02
    for joint in robot.joints:
        point, speed = [], []
        for body, at in (
            (joint.parent, np.asarray(joint.parent_position)),
            (joint.child, np.asarray(joint.child_position)),
        ):
            i = None if body is None else robot.body_index(body)
            arm = at if i is None else R[i] @ at
            point.append(arm if i is None else state.x[i] + arm)
            turn = np.zeros(3) if i is None else R[i] @ state.omega[i]
            speed.append(np.zeros(3) if i is None else state.v[i] + np.cross(turn, arm))
        frame = rotation_matrix(joint.offset)
        if joint.parent is not None:
            frame = R[robot.body_index(joint.parent)] @ frame
        held = (frame @ joint.D_T).T @ (speed[1] - speed[0])
        np.testing.assert_allclose(held, 0, rtol=0, atol=1e-8)


def test_velocities_of_a_gear_are_in_its_ratio():
    """Arcs are longer than chords by another part for the faster wheel; the gear holds of both."""
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in "ab")
    joints = tuple(Joint(f"j{name}", "revolute", None, name) for name in "ab")
    gear = Coupling("gear", "jb", "ja", -3.0)
    sim = Simulation(Mechanism("wheels", bodies, joints, couplings=(gear,)), 0.02, (0, 0, 0))
    sim.set_state(None, (5.0, -15.0))
    for _ in range(10):
        sim.step()
        assert sim.v[1] == pytest.approx(-3.0 * sim.v[0], rel=1e-9)
