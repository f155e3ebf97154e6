"""Four legs of one robot side by side in lanes do what they do in the robot as a whole."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numba import types

import robosim
from robosim import Simulation
from robosim.controllers import PD, trot
from robosim.errors import ConvergenceError
from robosim.kernels.compiler.addresses import TYPES, load
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.lanes import (
    LIMBS,
    are_limbs,
    least_of_limbs,
    limbs,
    most_of_limbs,
    over_limbs,
    together,
)
from robosim.models.builders import chain
from robosim.runtime.handles import Handle
from robosim.runtime.limbs import find_lanes, find_limbs
from robosim.runtime.wide import laned_type, widen
from robosim.simulation import FEWEST_IN_LANES


@kernel
def bring_together(x, out):
    """Each number of x (n,) as a sum, the largest and the smallest; and whether it is of limbs."""
    for n in range(x.shape[0]):
        out[3 * n] = over_limbs(x[n])
        out[3 * n + 1] = most_of_limbs(x[n])
        out[3 * n + 2] = least_of_limbs(x[n])
    out[3 * x.shape[0]] = 1.0 if are_limbs(x[0]) else 0.0


@entry
def bring_alone(x, out):
    bring_together(x, out)


def bring_limbs(kind: int) -> Any:
    @entry
    def run(address):
        x, out = load(address, kind)
        return together(bring_together, (x, out))

    return run


def test_what_all_limbs_have_together() -> None:
    """Sums and extremes of four lanes are the same in each of them, to the last bit."""
    x = np.random.default_rng(0).normal(size=(LIMBS, 5))
    out = np.zeros(16)
    wide = widen(list(x), limbs), widen([out] * LIMBS, limbs)
    handle = Handle(wide)
    TYPES[handle.kind + 1] = types.Tuple([laned_type(array, limbs) for array in wide])
    assert bring_limbs(handle.kind + 1)(handle.address)
    found = wide[1]["value"]
    np.testing.assert_array_equal(found, np.repeat(found[:, :1], LIMBS, axis=1))
    np.testing.assert_allclose(found[0:15:3, 0], x.sum(axis=0), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(found[1:15:3, 0], x.max(axis=0))
    np.testing.assert_array_equal(found[2:15:3, 0], x.min(axis=0))
    assert found[15, 0] == 1.0
    bring_alone(x[0], out)
    np.testing.assert_array_equal(out, [*np.repeat(x[0], 3), 0.0])


def a1_on_feet() -> robosim.Mechanism:
    return robosim.load("a1", contacts="feet")


QUADRUPEDS = ["a1", "go1", "go2", "laikago", "hyq", "anymal_c_simple", "solo_description/solo12"]


@pytest.mark.parametrize("name", QUADRUPEDS)
@pytest.mark.filterwarnings("ignore")
def test_legs_of_quadrupeds_are_found(name: str) -> None:
    """Also where the meshes of two legs are not alike, as the Go2's."""
    robot = robosim.load(name if name == "a1" or "/" in name else f"{name}_description")
    sim = Simulation(robot, lanes=True)
    found = find_limbs(sim.parts.model)
    assert found is not None
    shared, each = found
    assert sim.lanes
    assert shared == [0]
    assert sorted([*shared, *(b for limb in each for b in limb)]) == list(range(len(robot.bodies)))
    for lane in sim.engine.lanes or ():
        # Every mass, contact and joint of a lane is one of the robot's.
        bodies = sim.parts.model.bodies[lane.rows.bodies]
        for part, whole in zip(lane.model.bodies, bodies, strict=True):
            assert part["mass"] == whole["mass"]
            np.testing.assert_array_equal(part["inertia"], whole["inertia"])
        present = lane.rows.contacts >= 0
        contacts = sim.parts.model.contacts[lane.rows.contacts[present]]
        for part, whole in zip(lane.model.contacts[present], contacts, strict=True):
            for key in ("p", "mu", "mass", "bound", "row"):
                np.testing.assert_array_equal(part[key], whole[key])
    covered = np.concatenate([lane.rows.contacts for lane in sim.engine.lanes or ()])
    assert sorted(set(covered.tolist()) - {-1}) == list(range(len(sim.parts.model.contacts)))


def test_without_four_limbs_steps_are_taken_as_ever() -> None:
    """No legs, loops, order four, the other solver, or more on the trunk than on a leg."""
    a1 = a1_on_feet()
    trunk, *_ = a1.bodies
    heads, joints = [], []
    for k in range(6):
        heads.append(replace(trunk, name=f"head{k}", frames=(), visuals=(), collisions=()))
        joints.append(robosim.Joint(f"neck{k}", "revolute", trunk.name, f"head{k}"))
    headed = replace(
        a1, bodies=(*a1.bodies, *heads), joints=(*a1.joints, *joints), home=None, stance=None
    )
    for robot, options in (
        (chain(4), {}),
        (robosim.load("minitaur"), {}),
        (headed, {}),
        (a1, {"order": 4}),
        (a1, {"solver": "ldu"}),
    ):
        sim = Simulation(robot, lanes=True, **options)
        assert not sim.lanes
        assert find_lanes(sim.robot, sim.parts) is None


def both(robot: Any, **options: Any) -> list[Simulation]:
    return [Simulation(robot, lanes=lanes, **options) for lanes in (True, False)]


def assert_alike(sims: list[Simulation], logs: list[Any], tolerance: float) -> None:
    """Joints, forces and gaps agree; what all limbs hang on is the same in every lane."""
    one, other = sims
    for name in ("q", "v", "tau"):
        a, b = getattr(logs[0], name), getattr(logs[1], name)
        scale = 1e4 if name in ("v", "tau") else 1.0
        np.testing.assert_allclose(a, b, rtol=0, atol=scale * tolerance, err_msg=name)
    np.testing.assert_allclose(logs[0].gap, logs[1].gap, rtol=0, atol=tolerance)
    np.testing.assert_allclose(one.state.x, other.state.x, rtol=0, atol=tolerance)
    assert one.engine.limbs is not None
    bodies = one.engine.limbs.handle.values.state.bodies
    for name in bodies.dtype.names:
        field = bodies[name][0]
        np.testing.assert_array_equal(field, np.repeat(field[..., :1], LIMBS, axis=-1))


def raised(robot: Any, height: float) -> np.ndarray:
    sim = Simulation(robot)
    q = np.array(robot.home)
    q[2] += height - sim.min_gap()
    return q


@pytest.mark.filterwarnings("ignore")
def test_legs_whose_meshes_are_not_alike() -> None:
    """The Go2, from a height, on all of its collision geometry; it comes to lie on its trunk."""
    robot = robosim.load("go2_description")
    sims, logs = both(robot), []
    for sim in sims:
        sim.set_state(raised(robot, 0.02))
        logs.append(sim.run(0.4, PD(robot, np.array(robot.home)[7:], 30.0, 1.0)))
    assert_alike(sims, logs, 2e-5)
    assert (logs[0].gap < 1e-6).any()


def test_a_leg_whose_foot_touches_nothing() -> None:
    """Its lane has a contact all the same, out of reach, while the other feet stand."""
    robot = a1_on_feet()
    robot = replace(robot, contacts=tuple(c for c in robot.contacts if "FR" not in c.name))
    sims, logs = both(robot), []
    for sim in sims:
        sim.set_state(raised(robot, 0.001))
        alone = steps_alone(sim, "stand")
        logs.append(sim.run(0.3, "stand"))
        if sim.lanes:
            assert sum(alone) < 30
    assert_alike(sims, logs, 1e-7)
    assert logs[0].q[-1, 3] < 0.9999  # it tips over


CASES: dict[str, tuple[dict[str, Any], float]] = {
    "stands": ({}, 1e-9),  # an impact ends anywhere within the tolerance
    "polygon": ({"friction_cone": "linearized"}, 1e-7),
    "trots": ({"controller": "trot"}, 1e-5),
    "servos": ({"servos": True}, 1e-9),
    "pushed": ({"wrench": True}, 1e-7),
    "whole": ({"contacts": "all"}, 1e-9),
    "collapses": ({"contacts": "all", "controller": None}, 2e-5),
    "falls": ({"height": 2.0}, 1e-11),
}


@pytest.mark.parametrize("case", CASES)
def test_the_motion_is_that_of_the_whole_robot(case: str) -> None:
    asked, tolerance = CASES[case]
    robot = robosim.load("a1") if asked.get("contacts") == "all" else a1_on_feet()
    sims = both(robot, friction_cone=asked.get("friction_cone", "second_order"))
    control: Any = asked.get("controller", "stand")
    if control == "trot":
        control = trot(robot)
    if asked.get("servos"):
        assert robot.stance is not None
        control = PD(robot, np.asarray(robot.stance.target), 60.0, 3.0, implicit=True)
    q, logs = raised(robot, asked.get("height", 0.005)), []
    for sim in sims:
        sim.set_state(q)
        if asked.get("wrench"):
            sim.apply_wrench("FL_calf", force=[10.0, 5.0, 0.0])
            sim.apply_wrench("base", force=[0.0, 20.0, 0.0], torque=[0.0, 3.0, 1.0])
        logs.append(sim.run(0.5, control))
    assert_alike(sims, logs, tolerance)
    a, b = (sim.contact_forces() for sim in sims)
    if case == "collapses":
        # With knees and feet on the ground, legs may brace themselves: only the sum is unique.
        a, b = a.sum(axis=0), b.sum(axis=0)
    np.testing.assert_allclose(a, b, rtol=0, atol=max(1e4 * tolerance, 1e-5))
    if case == "stands":
        assert sims[0].energy() == pytest.approx(sims[1].energy(), abs=1e-9)
        states = [sim.parts.state for sim in sims]
        one, other = (state.joints["total"] / sims[0].timestep for state in states)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)
        # Means have momenta of the velocities at both knots, which are known to 1e-9 m/s: 12 kg of
        # that in a step of 1 ms.
        for name, wrench in sims[1].joint_wrenches().items():
            np.testing.assert_allclose(sims[0].joint_wrenches()[name], wrench, rtol=0, atol=1e-5)


def test_steps_of_compliant_contacts_differ_by_no_more_than_the_barrier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps of the A1 as it tumbles on springs, each in lanes and by itself from the same state.

    Friction that has not come to the barrier would point elsewhere by its root.
    """
    monkeypatch.setattr("robosim.simulation.engine.FEWEST_IN_LANES", 1)
    robot = robosim.load("a1")
    soft = [replace(c, stiffness=2e4, dissipation=1.0) for c in robot.contacts]
    sims = both(replace(robot, contacts=tuple(soft)), timestep=0.002, contact_speed=1e-12)
    q = raised(sims[0].robot, 0.05)
    q[3:7] = math.sin(0.6), 0.0, 0.0, math.cos(0.6)
    two, one = sims
    one.set_state(q)
    apart, in_lanes = [], 0
    for _ in range(300):
        two.restore(one)
        alone = one.copy()
        two.run(2 * two.timestep)
        alone.run(2 * two.timestep)
        apart.append(float(np.abs(two.q - alone.q).max()))
        in_lanes += two.engine.counters.away == 0
        one.step()
    assert in_lanes > 200
    assert max(apart) < 1e-9


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("limit", [None, 20.0])
@pytest.mark.parametrize("steps", [100, 50])
def test_legs_that_bounce(implicit: bool, limit: float | None, steps: int) -> None:
    """What was closed before is pressed on: also after steps that lanes have tried in vain."""
    robot = robosim.load("a1", restitution=0.4)
    assert robot.home is not None
    target, more = np.array(robot.home)[7:] + 0.1, {} if limit is None else {"limit": limit}
    pd = PD(robot, target, 60.0, 2.0, implicit=implicit, **more)
    found = []
    for sim in both(robot):
        sim.place(gap=0.05)
        for _ in range(200 // steps):
            sim.run(steps * 1e-3, pd)
        found.append((sim.q.copy(), sim.v.copy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=0, atol=1e-4)


def steps_alone(sim: Simulation, control: Any) -> list[int]:
    """Takes 40 steps, and counts from then on those that are not taken in lanes."""
    sim.run(0.04, control)
    take, counted = sim.engine.step_states, []
    assert take is not None

    def count(parts: Any, runs: Any, done: Any, end: int) -> None:
        counted.append(end - int(done[0]))
        take(parts, runs, done, end)

    sim.engine.step_states = count
    return counted


def test_most_steps_are_taken_in_lanes() -> None:
    """A step that parts is taken as a whole, and the lanes go on after it."""
    robot = a1_on_feet()
    for height, control in ((0.01, "stand"), (1e-4, trot(robot))):
        sim = Simulation(robot, lanes=True)
        sim.set_state(raised(robot, height))
        alone = steps_alone(sim, control)
        sim.run(1.0, control)
        assert sum(alone) < 100
        assert sim.steps == 1040


def test_a_leg_that_whirls_is_waited_for() -> None:
    """Its steps are divided, which lanes do not do, until its damping has stopped it."""
    robot = a1_on_feet()
    joints = (replace(j, damping=0.05 if "calf" in j.name else 0.0) for j in robot.joints)
    robot = replace(robot, contacts=(), joints=tuple(joints))
    knees = [k for k, name in enumerate(robot.v_names) if "calf" in name]
    v = np.zeros(robot.nv)
    v[knees[0]] = 1500.0
    sims, logs = both(robot, gravity=(0.0, 0.0, 0.0)), []
    for sim in sims:
        sim.set_state(None, v)
        logs.append(sim.run(0.3))
    divided = logs[0].substeps > 1
    assert divided.any()
    assert not divided.all()
    np.testing.assert_array_equal(logs[0].substeps, logs[1].substeps)
    assert_alike(sims, logs, 1e-6)


def test_a_failure_leaves_the_state_before_it() -> None:
    robot = a1_on_feet()
    targets = np.zeros(robot.nu)
    ends = []
    for sim in both(robot, max_substeps=1, solver="articulated"):
        sim.set_state(raised(robot, 0.5))
        sim.run(0.05)
        hard = PD(robot, targets, 1e9, 0.0)
        with pytest.raises(ConvergenceError):
            sim.run(0.1, hard)
        ends.append((sim.steps, sim.q))
    assert ends[0][0] == ends[1][0]
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=0, atol=1e-6)


def test_the_same_run_is_the_same_to_the_last_bit() -> None:
    robot = a1_on_feet()
    q, logs = raised(robot, 0.005), []
    sim = Simulation(robot, lanes=True)
    sim.set_state(q)
    sim.run(0.1, "stand")
    twin = sim.copy()
    logs += [one.run(0.3, "stand") for one in (sim, twin)]
    again = Simulation(robot, lanes=True)
    again.set_state(q)
    again.run(0.1, "stand")
    logs.append(again.run(0.3, "stand"))
    for other in logs[1:]:
        np.testing.assert_array_equal(logs[0].q, other.q)
        np.testing.assert_array_equal(logs[0].tau, other.tau)
    assert twin.engine.limbs is not sim.engine.limbs


def test_few_steps_and_python_controllers_are_those_of_the_whole_robot() -> None:
    robot = a1_on_feet()
    q, ends = raised(robot, 0.005), []
    for sim in both(robot):
        sim.set_state(q)
        sim.run(FEWEST_IN_LANES * sim.timestep, "stand")
        sim.run(0.05, lambda now: np.full(robot.nu, 0.1 * math.sin(now.time)))
        sim.step()
        ends.append(sim.q)
        assert sim.engine.limbs is None
    np.testing.assert_array_equal(*ends)


def test_the_log_does_not_depend_on_how_often_is_logged() -> None:
    robot = a1_on_feet()
    q, logs = raised(robot, 0.005), []
    for every in (1, 7):
        sim = Simulation(robot, lanes=True)
        sim.set_state(q)
        logs.append(sim.run(0.35, "stand", every=every))
    np.testing.assert_array_equal(logs[0].q[::7], logs[1].q)
    np.testing.assert_array_equal(logs[0].tau[::7], logs[1].tau)
    np.testing.assert_allclose(np.diff(logs[1].t), logs[1].timestep, rtol=1e-12)
