"""Derivatives of steps beside central differences, and where they are known.

Kernels are compiled once more for numbers that have derivatives, for some minutes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from step_differences import by_steps
from touching import clapping

import robosim
from robosim import (
    Body,
    ConvergenceError,
    Geometry,
    HalfSpace,
    Joint,
    Mechanism,
    OptionError,
    Simulation,
    linearize,
    quaternions,
)
from robosim.controllers import PD
from robosim.linearization.linearization import linearize_each, linearize_rows
from robosim.linearization.parameters import parameter
from robosim.models import builders
from robosim.optimize.derivatives import along
from robosim.runtime import duals
from robosim.runtime.known import translations
from robosim.tendons import Tendon, Term

pytestmark = pytest.mark.slow

TUMBLING = (  # q, v and torques of an A1
    [0.584, 0.004, 0.272, 0.998, -0.05, -0.018, 0.034, 0.698, 1.504, -2.658, -0.221, 1.165, -1.865,
     -0.199, 1.352, -1.516, 0.291, 1.173, -2.526],
    [0.255, -0.012, -0.023, -0.971, -1.982, 0.349, 30.461, 14.687, -0.188, 1.716, -8.82, -5.066,
     4.408, 3.401, 7.053, 3.528, 4.352, 4.464],
    [23.301, -6.23, 33.5, 2.338, 6.927, 0.141, 9.859, -0.577, 1.19, 10.573, 7.128, -5.234],
)  # fmt: skip
SMOOTH = 1e-3  # contact_speed [m/s]: gaps of closed contacts are wider than the differences


def simulation(robot, dt=1e-3, tolerance=1e-13, **options):
    return Simulation(robot, dt, tolerance=tolerance, **options)


def by_differences(sim, step, controller=None, torques=None):
    """(2 nv, 2 nv + nu) by central differences; velocities and torques by thousandfold steps."""
    robot, nv, tangent = sim.robot, sim.robot.nv, sim.dynamics
    q, v, one = sim.q, sim.v, sim.copy()
    tau = sim.torques.copy() if torques is None else torques

    def end(dx, du):
        one.set_state(tangent.integrate(q, dx[:nv]), v + dx[nv:], time=sim.time)
        forces = None
        if controller is None:
            forces = tau.copy()
            forces[robot.actuated] += du
        found = linearize(one, forces, controller)
        return found.q, found.v

    sizes = [step] * nv + [1e3 * step] * (nv + (0 if controller else robot.nu))
    columns = []
    for k, size in enumerate(sizes):
        along = np.zeros(2 * nv + robot.nu)
        along[k] = size
        low, high = (end(sign * along[: 2 * nv], sign * along[2 * nv :]) for sign in (-1, 1))
        columns.append(
            np.concatenate((tangent.difference(low[0], high[0]), high[1] - low[1])) / (2 * size)
        )
    return np.array(columns).T


def compare(sim, step, controller=None, within=1e-5, torques=None):
    found = linearize(sim, torques, controller)
    expected = by_differences(sim, step, controller, torques)
    matrix = found.A if controller else np.hstack((found.A, found.B))
    off = np.abs(matrix - expected).max(axis=0) / np.maximum(np.abs(expected).max(axis=0), 1e-2)
    assert off.max() < within
    return found


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_that_is_free(seed):
    rng = np.random.default_rng(seed)
    robot = builders.chain(4, "revolute")
    sim = simulation(robot, 5e-3)
    sim.set_state(rng.normal(size=robot.nq), rng.normal(size=robot.nv))
    sim.step(rng.normal(size=robot.nu))
    found = compare(sim, 1e-7)
    assert found.contacts == ()
    assert found.margin == np.inf
    twin = sim.copy()
    twin.set_state(sim.q, sim.v)
    twin.step(sim.torques)
    np.testing.assert_allclose(found.q, twin.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.v, twin.v, rtol=0, atol=1e-11)
    assert found.inputs == tuple(robot.actuated_names)


def test_joint_coordinates_have_the_same_derivatives():
    """Those of `MinimalSimulation` meet ours with the square of the timestep."""
    robot = builders.chain(4, "revolute")
    rng = np.random.default_rng(7)
    q, v, tau = rng.normal(size=(3, robot.nv))
    for integrator, order in (("newton", 2), ("galerkin", 2), ("galerkin", 4)):
        apart = []
        for dt in (4e-3, 2e-3):
            options = {"integrator": integrator, "order": order}
            sims = simulation(robot, dt), robosim.MinimalSimulation(robot, dt, **options)
            changes = []
            for sim in sims:
                # Over the same time, as many steps as it takes.
                sim.set_state(q, v)
                A, B = np.eye(2 * robot.nv), np.zeros((2 * robot.nv, robot.nu))
                for _ in range(round(0.04 / dt)):
                    found = linearize(sim, tau)
                    A, B = found.A @ A, found.A @ B + found.B
                    sim.step(tau)
                changes.append(np.hstack((A, B)))
            apart.append(np.abs(changes[0] - changes[1]).max())
        assert np.log2(apart[0] / apart[1]) == pytest.approx(2.0, abs=0.1), integrator


@pytest.mark.parametrize(("controller", "seconds"), [("stand", 0.2), ("trot", 0.437)])
def test_the_a1_on_its_feet(a1, controller, seconds):
    sim = simulation(a1, contact_speed=SMOOTH)
    sim.run(seconds, controller)
    found = compare(sim, 1e-8, within=1e-4)
    assert {one.mode for one in found.contacts} & {"stick", "slide"}


def test_columns_that_follow_from_others(a1, monkeypatch):
    """Those of torques, and of translations along the ground, are what passes of their own find."""
    monkeypatch.setattr(duals, "in_closed_form", lambda *_: False)
    sim = simulation(a1, contact_speed=SMOOTH)
    sim.run(0.437, "trot")
    assert translations(a1, sim.parts.model) == [0, 1]
    found, asked = linearize(sim), []
    monkeypatch.setattr(duals, "may_follow", lambda *_: bool(asked.append(1)))
    monkeypatch.setattr(duals, "translations", lambda *_: [])
    twin = sim.copy()
    passed = linearize(twin)
    assert len(asked) > 0
    np.testing.assert_allclose(passed.A, found.A, rtol=0, atol=1e-9)
    np.testing.assert_allclose(passed.B, found.B, rtol=0, atol=1e-11)
    assert np.abs(found.B).max() > 1e-2


def test_the_a1_that_lands(a1):
    sim = simulation(a1, contact_speed=SMOOTH)
    q = np.array(a1.home)
    q[2] += 0.05
    sim.set_state(q)
    sim.run(0.11, "stand")
    compare(sim, 1e-8, within=1e-4)


def test_the_a1_that_tumbles(a1):
    """A limit comes into the equations late, and leads to a start from far inside the cones."""
    robot = replace(a1, contacts=tuple(one for one in a1.contacts if "foot" in one.name))
    sim = simulation(robot, 0.02, contact_speed=3e-2)
    sim.set_state(*TUMBLING[:2])
    torques = np.concatenate((np.zeros(6), TUMBLING[2]))
    found = compare(sim, 1e-7, within=1e-4, torques=torques)
    assert len(found.contacts) == 7


@pytest.mark.parametrize("smooth", [1e-2, 1e-1])
def test_a_barrier_that_follows_the_impulse(smooth):
    """A smooth contact that lands is pushed by the barrier nearly as far as that follows it."""
    sim = simulation(builders.sphere(), contact_speed=smooth)
    q, v = np.array(sim.robot.home), np.array([0.3, 0.0, -0.05, 0.0, 0.0, 0.0])
    q[2] += 1e-5
    sim.set_state(q, v)
    compare(sim, 1e-7)


def test_a_step_in_parts_of_several_lengths_has_none():
    """1.4 rad in the second half of a step, which is halved once more: not silently by others."""
    joint = Joint("axle", "revolute", None, "wheel", axis=(0, 0, 1))
    wheel = Mechanism("wheel", (Body("wheel", 0.1, 1e-3 * np.eye(3)),), (joint,))
    sim = Simulation(wheel, 0.1, max_substeps=2)
    sim.set_state(v=[6.0])
    with pytest.raises(ConvergenceError, match="parts of several lengths"):
        linearize(sim, [0.3])
    linearize(sim, [0.1])
    assert sim.step([0.3]).substeps == 4


def test_a_state_that_fails_is_named():
    """A ball that turns far in a step cannot be solved; the others have their derivatives."""
    sims = [simulation(builders.sphere()) for _ in range(3)]
    sims[1].set_state(None, (0.0, 0.0, 0.0, 0.0, 1e9, 0.0))
    with pytest.raises(ConvergenceError, match="from state 1 ") as failed:
        linearize(sims)
    assert failed.value.state == 1
    first, error, last = linearize_each(sims, None)
    assert isinstance(error, ConvergenceError)
    for found in first, last:
        np.testing.assert_array_equal(found.A, linearize(sims[0]).A)


def test_a_step_without_derivatives_takes_smoother_ones(monkeypatch):
    """For itself alone; where it leads is told by the step itself."""
    sim, speed = simulation(builders.sphere()), 1e-3
    q, v = np.tile(sim.robot.home, (3, 1)), np.zeros((3, 6))
    v[:, 2] = -0.1, -0.2, -0.3
    error = ConvergenceError(0.0, 1.0, 1, 1, "sphere")

    def failing(sim, q, *given):
        found = linearize_rows(sim, q, *given)
        assert len(found) == 3
        return [found[0], error, found[2]]  # which is done again by itself

    monkeypatch.setattr("robosim.optimize.derivatives.linearize_rows", failing)
    sim.apply_wrench("sphere", force=(0.0, 0.0, 5.0))  # which a start removes
    before = sim.q
    steps = along(sim, q, v, np.zeros((3, 0)), 0.0, speed)
    np.testing.assert_array_equal(sim.q, before)
    for k, smooth in enumerate((speed, 10 * speed, speed)):
        sim.set_state(q[k], v[k])
        np.testing.assert_array_equal(steps.A[k], linearize(sim, contact_speed=smooth).A)
        sim.step()
        np.testing.assert_allclose(steps.v[k], sim.v, rtol=0, atol=1e-2)


@pytest.mark.parametrize("implicit", [False, True], ids=["held", "servo"])
def test_the_closed_loop(a1, implicit):
    sim = simulation(a1, contact_speed=SMOOTH)
    sim.run(0.2, "stand")
    pd = PD(a1, sim.q[7:], 50.0, 1.0, implicit=implicit)
    found = compare(sim, 1e-8, pd, within=1e-4)
    assert np.abs(found.A - linearize(sim).A).max() > 1e-3


def test_limits():
    robot = builders.chain(3, "revolute")
    limited = [Joint(j.name, j.kind, j.parent, j.child, axis=j.axis, lower=-0.5, upper=0.5,
                     parent_position=j.parent_position, child_position=j.child_position)
               for j in robot.joints]  # fmt: skip
    robot = Mechanism("limited", robot.bodies, limited)
    sim = simulation(robot, 2e-3, contact_speed=SMOOTH)
    sim.set_state([0.4, 0.49, -0.3], [3.0, 3.0, 0.0])
    modes = set()
    for _ in range(60):
        sim.step()
        found = linearize(sim)
        modes |= {(one.other, one.mode) for one in found.contacts}
        if found.contacts and found.margin > 1e-3:
            compare(sim, 1e-8, within=1e-4)
    assert ("limit", "closed") in modes


def test_parameters(a1):
    names = ("mass:FR_calf", "friction:RR_foot", "damping:FR_hip_joint", "armature:FR_hip_joint")
    hip = next(joint for joint in a1.joints if joint.name == "FR_hip_joint")
    soft = replace(hip, damping=0.1, armature=0.01)
    a1 = replace(a1, joints=[soft if joint is hip else joint for joint in a1.joints])
    sim = simulation(a1, contact_speed=SMOOTH)
    sim.run(0.437, "trot")
    found = linearize(sim, parameters=names)
    assert found.parameters == names
    for k, name in enumerate(names):
        value, varied = parameter(a1, name)
        ends = []
        for change in (-1e-6, 1e-6):
            one = simulation(varied(value + change), contact_speed=SMOOTH)
            one.set_state(sim.q, sim.v)
            end = linearize(one, sim.torques)
            ends.append(np.concatenate((end.q, end.v)))
        by_value = (ends[1] - ends[0])[a1.nq :] / 2e-6
        size = max(np.abs(by_value).max(), 1e-6)
        assert np.abs(found.P[a1.nv :, k] - by_value).max() < 1e-3 * size, name
    assert np.abs(found.P).max(axis=0).min() > 0


def test_how_far_a_block_slides():
    """v^2 / (2 mu g) to where friction stops it: the derivative by mu is summed over the steps."""
    mu, speed, g = 0.4, 1.0, 9.81
    robot = builders.cube(edge=0.2, friction=mu)
    sim = simulation(robot, contact_speed=1e-4)
    v = np.zeros(robot.nv)
    v[0] = speed
    sim.set_state(None, v)
    names = ("friction:" + robot.bodies[0].name,)
    change = np.zeros(2 * robot.nv)
    for _ in range(1000):
        found = linearize(sim, parameters=names)
        change = found.A @ change + found.P[:, 0]
        sim.step()
    assert sim.q[0] == pytest.approx(speed**2 / (2 * mu * g), rel=1e-2)
    assert change[0] == pytest.approx(-(speed**2) / (2 * mu**2 * g), rel=1e-2)


def test_a_batch_and_what_is_refused(a1):
    batch = robosim.BatchSimulation(a1, 2, 1e-3)
    batch.rollout(20)
    found = linearize(batch)
    assert found.A.shape == (2, 2 * a1.nv, 2 * a1.nv)
    np.testing.assert_array_equal(found.A[0], linearize(batch[0]).A)
    for name in ("mass:nobody", "colour:trunk", "damping:nothing"):
        with pytest.raises(OptionError, match=name):
            linearize(batch[0], parameters=(name,))
    with pytest.raises(OptionError, match="not Mechanism"):
        linearize(a1)
    with pytest.raises(OptionError, match="is zero"):
        linearize(batch[0], parameters=("dry_friction:FR_hip_joint",))
    with pytest.raises(OptionError, match="contact_speed"):
        linearize(batch[0], contact_speed=0.0)


def test_a_batch_with_other_robots_has_their_derivatives(a1):
    heavy = replace(a1, bodies=(replace(a1.bodies[0], mass=9.0), *a1.bodies[1:]))
    batch, torques = robosim.BatchSimulation(a1, 2, 1e-3), np.zeros(a1.nu)
    batch.place()
    batch.rollout(20)
    before = linearize(batch, torques)
    batch.set_robots(heavy, index=1)
    mixed = linearize(batch, torques)
    batch.set_robots(heavy)
    for found, robots in ((before, (a1, a1)), (mixed, (a1, heavy)), (linearize(batch, torques),
                                                                     (heavy, heavy))):  # fmt: skip
        for i, robot in enumerate(robots):
            alone = Simulation(robot, 1e-3)
            alone.set_state(batch.q[i], batch.v[i])
            np.testing.assert_array_equal(found.A[i], linearize(alone, torques).A)


def test_a_loop():
    robot = builders.three_link_loop()
    sim = simulation(robot, 2e-3)
    v = np.zeros(robot.nv)
    v[0] = 1.0
    sim.set_state(None, v)
    sim.run(0.1)
    compare(sim, 1e-7)


def test_the_solver_of_graphs():
    robot = builders.chain(3, "revolute")
    sim = simulation(robot, 2e-3, 1e-12, solver="ldu")
    sim.set_state([0.3, 0.5, -0.4], [1.0, 2.0, -1.0])
    sim.run(0.1)
    compare(sim, 1e-7)


@pytest.mark.parametrize("below", ["plane", "box", "capsule", "cylinder", "ellipsoid"])
def test_an_ellipsoid_that_rolls(below):
    """On another body that moves, and on a half-space: how the normal turns is part of it."""
    egg = Body.ellipsoid("egg", (0.1, 0.15, 0.25), collides=True)
    sizes = {
        "box": (0.6, 0.6, 0.2), "capsule": (0.2, 0.8), "cylinder": (0.2, 0.8),
        "ellipsoid": (0.4, 0.3, 0.2),
    }  # fmt: skip
    joints, bodies = [Joint("egg", "floating", None, "egg")], [egg]
    if below != "plane":
        shape = Geometry(below, sizes[below], name="below")
        bodies.insert(0, Body.of_shape(shape, collides=True))
        # On a ball joint, as a weight that hangs.
        joints.insert(0, Joint("hangs", "spherical", None, "below", child_position=(0, 0, 0.5)))
    robot = Mechanism("scene", tuple(bodies), tuple(joints))
    robot = robot.with_contacts([HalfSpace()] if below == "plane" else [], self_collision=True)
    sim = simulation(robot, tolerance=1e-12, contact_speed=SMOOTH)
    q, v = np.array(robot.home), np.zeros(robot.nv)
    q[-4:] = quaternions.normalized([0.9, 0.3, 0.2, 0.1])
    q[-7:-4] = (
        0.03,
        0.02,
        {"plane": 0.3, "box": -0.1, "capsule": 0.4, "cylinder": 0.2, "ellipsoid": 0.0}[below],
    )
    v[-3:] = 1.0, 2.0, 0.5
    sim.set_state(q, v)
    for _ in range(400):
        sim.step()
        if any(contact.gap < 1e-6 for contact in sim.contacts()):
            break
    for _ in range(20):
        sim.step()
    found = compare(sim, 1e-8, within=1e-4)
    assert found.contacts != ()


@pytest.mark.parametrize("seconds", [0.05, 0.5], ids=["slides", "rests"])
def test_a_box_on_an_obstacle(seconds):
    box = Geometry("box", (0.2, 0.3, 0.1), friction=0.5)
    body = Body("box", 1.0, 0.01 * np.eye(3), collisions=(box,))
    robot = Mechanism("box", (body,), (Joint("free", "floating", None, "box"),))
    robot = robot.with_contacts([HalfSpace()], ground=False)
    sim = simulation(robot, tolerance=1e-12, contact_speed=SMOOTH)
    q, v = np.array(robot.home), np.zeros(6)
    q[2], v[0] = 0.05, 1.0
    sim.set_state(q, v)
    sim.run(seconds)
    compare(sim, 1e-8, within=1e-4)


def test_hands_that_press_each_other():
    """Contacts between bodies of a tree, which is solved along its joints."""
    robot = clapping("prismatic", "fixed")
    sim = simulation(robot, contact_speed=SMOOTH)
    v = np.zeros(robot.nv)
    shoulders = [robot.v_names.index(f"{side} shoulder") for side in ("left", "right")]
    v[shoulders] = 4.0, -3.0
    sim.set_state(robot.home, v)
    tau = np.zeros(robot.nv)
    tau[shoulders] = 2.0, -2.0
    for _ in range(100):
        sim.step(tau)
    assert sim.solver == "articulated"
    assert [contact.force[1] for contact in sim.contacts() if abs(contact.force[1]) > 1.0]
    compare(sim, 1e-7, torques=tau)


def test_joints_with_a_motion_are_put_onto_it_first():
    """So nothing depends on where they were asked to be, neither their parents nor what they lead.

    Else a start is projected in the mass metric, and would have moved the others.
    """
    robot = builders.chain(4, "revolute")
    joints = list(robot.joints)
    joints[2] = replace(joints[2], motion=lambda time: 0.3 * np.sin(5.0 * time))
    robot = Mechanism("driven", robot.bodies, joints)
    sim = simulation(robot, 2e-3)
    sim.set_state([0.3, -0.2, 0.0, 0.4], [1.0, 0.5, 1.5, -1.0])
    sim.run(0.1)
    found = linearize(sim)
    expected = by_steps(sim, 1e-7, np.zeros(robot.nv))[:, : 2 * robot.nv]
    np.testing.assert_allclose(found.A, expected, rtol=0, atol=1e-5)
    assert np.all(found.A[:, [2, 6]] == 0.0)
    np.testing.assert_allclose(found.A[[2, 6]], 0.0, atol=1e-12)


def test_modes_of_tendons_have_their_names():
    robot = builders.chain(2, "revolute")
    names = [joint.name for joint in robot.joints]
    path = tuple(Term(name, factor) for name, factor in zip(names, (1.0, 0.5), strict=True))
    robot = replace(robot, tendons=(Tendon("cable", path, friction=0.2, upper=0.31),))
    sim = simulation(robot, contact_speed=SMOOTH)
    sim.set_state([0.2, 0.2], [1.0, 1.0])
    seen = set()
    for _ in range(20):
        sim.step()
        found = linearize(sim)
        assert found.margin >= 0.0
        seen |= {(one.body, one.other) for one in found.contacts}
    assert seen == {("cable", "friction"), ("cable", "limit")}
