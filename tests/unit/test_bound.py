"""Bound runs, prepared starts and other robots: rollouts, set_state and new batches to the bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from landing import landing
from touching import box, free

from robosim import BatchSimulation, ControllerError, ModelError, OptionError, StateError
from robosim.controllers import Gait, stand
from robosim.kernels.compiler.lanes import WIDTH
from robosim.learning.domain import with_friction, with_masses
from robosim.models.builders import four_bar_knee, pendulum
from robosim.sensors import Place, Sensor

N, STEPS = WIDTH + 2, 5


@pytest.fixture(scope="module")
def feet() -> Any:
    return landing(N)


def started(feet: Any, lanes: bool = True, threads: int = 1) -> BatchSimulation:
    robot, q = feet
    batch = BatchSimulation(robot, N, threads=threads, lanes=lanes)
    batch.set_state(q)
    return batch


def assert_there(batch: BatchSimulation, bound: Any) -> None:
    """Where the states of another batch are, and as long since their starts."""
    for name in ("q", "v", "time"):
        np.testing.assert_array_equal(getattr(bound, name), getattr(batch, name), err_msg=name)


@pytest.mark.parametrize(("lanes", "threads"), [(True, 1), (True, 2), (False, 1)])
def test_a_bound_run_is_a_rollout(feet: Any, lanes: bool, threads: int) -> None:
    """Whatever is driven, moved, read and pushed in between."""
    robot, q = feet
    pd, rng = stand(robot), np.random.default_rng(3)
    batch, other = started(feet, lanes), started(feet, lanes, threads)
    bound = other.bind(STEPS, controller=pd)
    second = other.bind(2, controller="zero")
    hold = bound.targets.copy()
    for k in range(24):
        targets = hold + rng.uniform(-0.1, 0.1, hold.shape)
        torques, kp = rng.uniform(-1, 1, hold.shape), bound.kp * rng.uniform(0.9, 1.1)
        run = batch.rollout(STEPS, torques, controller=pd, targets=targets, kp=kp)
        bound.targets[:], bound.torques[:], bound.kp[:] = targets, torques, kp
        bound.step()
        assert_there(batch, bound)
        np.testing.assert_array_equal(bound.failed, run.failed)
        np.testing.assert_array_equal(bound.done, run.done)
        np.testing.assert_array_equal(bound.tau[:, robot.actuated], run.tau[:, 0])
        for one in (batch, other):
            if k == 5:
                one.set_state(q[:2], index=[3, N - 1])
            if k == 8:
                one.rollout(3, controller=pd)
            if k in (11, 15):
                one[2].apply_wrench(robot.bodies[0].name, force=(0.0, 20.0 * (k == 11), 0.0))
        if k == 18:
            batch.rollout(2, controller="zero")
            second.step()
            assert_there(batch, second)
    np.testing.assert_array_equal(batch[5].state.x, other[5].state.x)


@pytest.mark.parametrize("lanes", [True, False])
def test_bodies_and_forces_are_read_where_they_are_bound(feet: Any, lanes: bool) -> None:
    robot, _ = feet
    batch = started(feet, lanes)
    bound = batch.bind(1, controller="stand", bodies=True, contacts=True)
    views = [bound.q, bound.v, bound.tau, *bound.bodies, bound.normal_forces]
    bodies = [point.body for point in robot.contacts]
    for steps in (1, 40, 60):  # the first after a start, in the air, and on the feet
        for _ in range(steps):
            bound.step()
        shown = [view.copy() for view in views]
        for i, sim in enumerate(batch[k] for k in range(N)):
            state, found = sim.state, np.zeros(len(bodies))
            for contact in sim.contacts():
                found[bodies.index(contact.body)] = contact.force[2]
            for name, view in zip(("x", "q", "v", "omega"), shown[3:7], strict=True):
                np.testing.assert_array_equal(view[i], getattr(state, name))
            np.testing.assert_allclose(shown[7][i], found, rtol=1e-12, atol=1e-9)
    assert bound.normal_forces.sum(axis=1).max() > 0.5 * 9.81 * robot.total_mass
    for view in views:
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0.0


PLACES = {"place": Place("base", (0.1, 0.02, 0.03))}
SENSORS = (
    Sensor("gyro", "gyro", **PLACES),
    Sensor("speed", "velocimeter", **PLACES),
    Sensor("felt", "accelerometer", cutoff=30.0, **PLACES),
    Sensor("turn", "framequat", **PLACES),
    Sensor("at", "framepos", place=Place("FR_calf"), reference=PLACES["place"]),
    Sensor("up", "framezaxis", **PLACES),
    Sensor("knee", "jointpos", of={"FR_calf_joint": 2.0}),
    Sensor("rate", "jointvel", of={"FR_calf_joint": 1.0}),
    Sensor("push", "jointactuatorfrc", of={"FR_calf_joint": 1.0}),
    Sensor("center", "subtreecom", bodies=("base", "FR_calf")),
    Sensor("spin", "subtreeangmom", bodies=("base", "FR_calf")),
    Sensor("hip", "force", place=Place("FR_thigh"), bodies=("FR_thigh", "FR_calf")),
    Sensor("clock", "clock"),
)


@pytest.mark.parametrize("lanes", [True, False])
def test_channels_are_read_as_each_state_reads_them(feet: Any, lanes: bool) -> None:
    """Sensors, frames, contacts and wrenches; also of states that part from the others."""
    robot, q = feet
    robot = replace(robot, sensors=SENSORS)
    batch = BatchSimulation(robot, 2 * WIDTH + 2, lanes=lanes)
    batch.set_state(np.resize(q, (batch.n, robot.nq)))
    also = ("sensors", "contacts", "frame:FR_foot", "joint_wrench:FR_calf_joint")
    bound = batch.bind(1, controller="stand", also=also)
    assert len(bound.readings) == len(SENSORS) + 4 + 1 + 1
    for steps in (1, 40, 30, 1):  # the first after a start, on the feet, and after robots change
        if steps == 30:
            v = np.zeros((2, robot.nv))
            v[:, 7:] = 3.0
            batch.set_state(q[:2], v, index=[1, WIDTH + 1])
        if steps == 1 and batch.time.max() > 0:
            # Of the first group, which differs in kind from the other then.
            robots = [
                with_masses(robot, np.full(len(robot.bodies), 1.0 + 0.01 * i)) for i in range(WIDTH)
            ]
            batch.set_robots(robots, index=np.arange(WIDTH))
        for _ in range(steps):
            bound.step()
        shown = {name: view.copy() for name, view in bound.readings.items()}
        for i, sim in enumerate(batch[k] for k in range(batch.n)):
            wanted = {f"sensor:{one.name}": sim.sensor(one.name) for one in SENSORS}
            wanted["joint_wrench:FR_calf_joint"] = sim.joint_wrenches()["FR_calf_joint"]
            touches = [c.force for c in sim.contacts() if c.link == "FR_foot"]
            wanted["contact:FR_foot"] = np.sum([np.zeros(3), *touches], axis=0)
            wanted["frame:FR_foot"] = sim.frame("FR_foot")[0]
            for name, value in wanted.items():
                found = shown[name][i] if name[:5] != "frame" else shown[name][i, :3]
                np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12, err_msg=name)
    with pytest.raises(ModelError, match="gyros"):
        batch.bind(1, also="sensor:gyros")


def test_steps_that_lanes_cannot_take_together(feet: Any) -> None:
    """States that part, change the solver or fail, and those beside them."""
    robot, q = feet
    pd = stand(robot)
    batch, other = started(feet), started(feet)
    bound = other.bind(STEPS, controller=pd)
    rng = np.random.default_rng(5)
    for k in range(12):
        if k in (2, 6):
            v = np.zeros((N, robot.nv))
            v[1::3] = rng.uniform(-3, 3, v[1::3].shape)
            for one in (batch, other):
                one.set_state(q, v)
        torques = np.zeros((N, robot.nu))
        if k == 9:
            torques[4] = 1e7
        bound.torques[:] = torques
        run = batch.rollout(STEPS, torques, controller=pd)
        bound.step()
        assert_there(batch, bound)
        np.testing.assert_array_equal(bound.failed, run.failed)
    assert any(sim.engine.counters.came_back for sim in batch._sims) or run.failed.any()


@pytest.mark.parametrize("lanes", [True, False])
def test_prepared_starts_are_starts(feet: Any, lanes: bool) -> None:
    robot, q = feet
    pd, rng = stand(robot), np.random.default_rng(4)
    v = rng.uniform(-0.2, 0.2, (4, robot.nv))
    batch, other, third = (started(feet, lanes) for _ in range(3))
    starts, others = other.prepare(q[:4], v, time=0.5), third.prepare(q[:4], v, time=0.5)
    np.testing.assert_array_equal(starts.q, q[:4])
    bound = other.bind(STEPS, controller=pd)
    for k in range(12):
        run = batch.rollout(STEPS, controller=pd)
        bound.step()
        assert_there(batch, bound)
        np.testing.assert_array_equal(third.rollout(STEPS, controller=pd).q, run.q)
        index = rng.permutation(N)[: (0, 1, 3, N)[k % 4]]
        which = rng.integers(0, 4, len(index))
        if len(index):
            batch.set_state(q[which], v[which], 0.5, index=index)
            other.reset(starts, which, index=index)
            third.reset(others, which, index=index)
    placed = other.prepare(gap=0.02)
    other.reset(placed)
    batch.place(gap=0.02)
    assert_there(batch, other)


@pytest.mark.parametrize("lanes", [True, False])
def test_robots_that_are_set_are_those_of_a_new_batch(feet: Any, lanes: bool) -> None:
    robot, q = feet
    pd, rng = stand(robot), np.random.default_rng(6)

    def drawn() -> Any:
        heavy = with_masses(robot, rng.uniform(0.8, 1.2, len(robot.bodies)).tolist())
        return with_friction(heavy, float(rng.uniform(0.2, 0.9)))

    robots = [drawn() for _ in range(N)]
    batch = started(feet, lanes)
    bound = batch.bind(STEPS, controller=pd)
    bound.step()
    for index in (range(N), (0, 5, N - 1)):
        for i in index:
            robots[i] = drawn()
        batch.set_robots([robots[i] for i in index], index=list(index))
        fresh = BatchSimulation(robots, threads=1, lanes=lanes)
        for one in (batch, fresh):
            one.set_state(q)
        for _ in range(6):
            fresh.rollout(STEPS, controller=pd)
            bound.step()
            assert_there(fresh, bound)
        assert batch[5].energy() == fresh[5].energy()
    before = batch.q
    batch.set_robots(robot, index=[1])  # from where it is
    np.testing.assert_array_equal(batch.q, before)


def test_a_used_batch_is_as_a_new_one(feet: Any) -> None:
    """Steps that its states have taken by themselves leave nothing behind either."""
    robot, q = feet
    batch = started(feet)
    v = np.zeros((N, robot.nv))
    v[1::3] = 2.0
    batch.set_state(q, v)
    batch.rollout(7, controller="stand")
    batch.set_state(q, v)
    other = BatchSimulation(robot, N, threads=1)
    other.set_state(q, v)
    for _ in range(3):
        runs = [one.rollout(20, controller="stand") for one in (batch, other)]
        np.testing.assert_array_equal(runs[0].q, runs[1].q)


def test_what_is_wrong_is_told(feet: Any) -> None:
    robot, q = feet
    batch = BatchSimulation(robot, 3, threads=1, lanes=False)
    starts = batch.prepare(q[:2])
    with pytest.raises(ControllerError, match="functions of time"):
        batch.bind(2, controller=Gait(robot))
    with pytest.raises(ControllerError, match="compiled"):
        batch.bind(2, controller=lambda sim: 0.0)
    with pytest.raises(OptionError, match="steps"):
        batch.bind(0)
    for which in (2, -1, 0.5, [0, 1], [[0, 1, 0]]):
        with pytest.raises(StateError, match="start"):
            batch.reset(starts, which)
    with pytest.raises(StateError, match="twice"):
        batch.reset(starts, 0, index=[1, 1])
    with pytest.raises(StateError, match="this batch"):
        BatchSimulation(robot, 3, threads=1, lanes=False).reset(starts)
    with pytest.raises(StateError, match="start 1"):
        batch.prepare(np.where(np.arange(2)[:, None] == 1, np.nan, q[:2]))
    with pytest.raises(StateError, match="leave v out"):
        batch.prepare(v=np.zeros(robot.nv), gap=0.1)
    for wrong in (pendulum(), replace(robot, contacts=robot.contacts[:3]), "a1"):
        with pytest.raises(OptionError, match="numbers only"):
            batch.set_robots([wrong], index=[1])
    with pytest.raises(OptionError, match="2 robots for 3"):
        batch.set_robots([robot, robot])
    batch.set_robots(with_friction(robot, 0.1), index=[1])
    with pytest.raises(StateError, match="robots before"):
        batch.reset(starts)
    with pytest.raises(OptionError, match="differ"):
        batch.prepare()


def fallen(a1: Any, limbs: bool) -> tuple[BatchSimulation, Any]:
    """An A1 after some steps of two bound runs, the first of which is the last to be used."""
    batch = BatchSimulation(a1, 1, 2e-3)
    batch.set_state(np.asarray(a1.home), 0.5 * np.linspace(-1.0, 1.0, a1.nv))
    first, other = (batch.bind(steps, limbs=limbs) for steps in (60, 20))
    for bound in (first, other, first):
        bound.step()
    return batch, first


def test_limbs_in_lanes_leave_readings_of_their_last_step(a1: Any) -> None:
    plain, lanes = (fallen(a1, limbs)[0][0].contacts() for limbs in (False, True))
    assert sum(one.force[2] for one in plain) > 10.0
    for one, other in zip(plain, lanes, strict=True):
        assert (one.body, one.other) == (other.body, other.other)
        np.testing.assert_allclose(other.force, one.force, atol=0.1)


@pytest.mark.parametrize("by", ["rollout", "bound"])
def test_a_look_at_a_state_after_other_steps_changes_nothing(a1: Any, by: str) -> None:
    """What limbs have found is not what the state has found since."""
    found = []
    for looks in (False, True):
        batch, _ = fallen(a1, limbs=True)
        if by == "bound":
            batch.bind(10).step()
        else:
            batch.rollout(10)
        if looks:
            batch[0].contacts()
        batch.rollout(3)
        found.append(np.concatenate((batch.q[0], batch.v[0])))
    np.testing.assert_array_equal(*found)


def heavier(robot: Any, factor: float) -> Any:
    return with_masses(robot, [factor] * len(robot.bodies))


@pytest.mark.parametrize("lanes", [True, False])
def test_starts_are_those_of_the_robot_that_was_set(feet: Any, lanes: bool) -> None:
    """Momenta of a start depend on the masses."""
    robot, q = feet
    heavy, v = heavier(robot, 1.5), np.full(robot.nv, 0.3)
    batch, other = started(feet, lanes), BatchSimulation(heavy, N, threads=1, lanes=lanes)
    batch.set_robots(heavy)
    batch.reset(batch.prepare(q[0], v))
    other.set_state(q[0], v)
    for one in (batch, other):
        one.rollout(STEPS, controller="stand")
    assert_there(other, batch)


def test_robots_that_are_set_while_the_other_solver_steps(feet: Any) -> None:
    """States that the solver with multipliers steps for a while begin with their own again."""
    robot, _ = feet
    heavy = heavier(robot, 1.2)
    batch, other = (BatchSimulation(one, 3, threads=1, lanes=False) for one in (robot, heavy))
    for sim in (batch[0], batch[2]):
        sim.engine.switch("ldu")
        sim.engine.counters.away = 5
    batch.set_robots(heavy)
    for one in (batch, other):
        one.place(gap=0.02)
        one.rollout(20, controller="stand")
    assert [batch[i].solver for i in range(3)] == ["articulated"] * 3
    assert_there(other, batch)


def test_robots_that_are_set_while_their_shapes_touch() -> None:
    """Equations of shapes that are near each other differ from those of a start."""
    robot = free(box("a"), box("b"), contact_pairs=[("a", "b")])
    home = np.array([0.0, 0.0, 2.0, 1.0, 0, 0, 0, 0.2, 0.05, 2.02, 1.0, 0, 0, 0])
    robot = replace(robot, home=home)
    v = np.zeros(robot.nv)
    v[0], v[6] = 2.0, -2.0
    heavy = heavier(robot, 1.2)
    batch, other = (BatchSimulation(one, 3, threads=1, lanes=False) for one in (robot, heavy))
    batch.set_state(None, v)
    batch.rollout(20)
    assert batch[1].engine.connected.any()
    batch.set_robots(heavy)
    for one in (batch, other):
        one.set_state(None, v)
        one.rollout(20)
    assert_there(other, batch)


def test_a_robot_that_cannot_be_there_changes_nothing() -> None:
    robot = four_bar_knee()
    heavy = heavier(robot, 2.0)
    apart = replace(
        robot,
        joints=tuple(
            replace(one, child_position=(0.0, 0.0, -5.0)) if one.name == "loop" else one
            for one in robot.joints
        ),
    )
    batch, other = (BatchSimulation(robot, 3, threads=1, lanes=False) for _ in range(2))
    v = batch.v + 0.0
    starts = batch.prepare()
    with pytest.raises(StateError, match=r"state 2: .*loop"):
        batch.set_robots([heavy, apart], index=[0, 2])
    np.testing.assert_array_equal(batch.v, v)
    for one in (batch, other):
        one.rollout(STEPS)
    assert_there(other, batch)
    assert [batch[i].robot is robot for i in range(3)] == [True] * 3
    with pytest.raises(StateError, match="robots before"):
        batch.reset(starts)
