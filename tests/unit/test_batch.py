"""Batches: the same as single simulations to the last bit, whatever the threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from landing import assert_same, landing

from robosim import BatchSimulation, ControllerError, OptionError, Simulation, StateError
from robosim.controllers import PD, stand, trot
from robosim.models.builders import chain, cube

N, STEPS = 5, 60


@pytest.fixture(scope="module")
def feet() -> Any:
    return landing(N)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_a_bit(feet: Any, threads: int) -> None:
    robot, q = feet
    runs = []
    for count in (1, threads):
        batch = BatchSimulation(robot, N, threads=count)
        batch.set_state(q)
        runs.append([batch.rollout(STEPS, controller="stand") for _ in range(2)])
    for one, other in zip(*runs, strict=True):
        assert_same(one, other)
    assert not runs[0][0].failed.any()
    assert np.isfinite(runs[0][0].q).all()


def test_it_is_n_single_simulations(feet: Any) -> None:
    """Trajectories, torques, gaps, iterations; and what is read of a state afterwards."""
    robot, q = feet
    batch = BatchSimulation(robot, N, threads=2)
    batch.set_state(q)
    pd = trot(robot)
    first, second = batch.rollout(STEPS, controller=pd), batch.rollout(STEPS, controller=pd)
    for i in range(N):
        sim = Simulation(robot)
        sim.set_state(q[i])
        for out in (first, second):
            log = sim.run(STEPS * sim.timestep, pd)
            np.testing.assert_array_equal(out.q[i, :-1], log.q)
            np.testing.assert_array_equal(out.q[i, -1], sim.q)
            np.testing.assert_array_equal(out.v[i, -1], sim.v)
            np.testing.assert_array_equal(out.tau[i], log.tau)
            np.testing.assert_array_equal(out.gap[i], log.gap)
            np.testing.assert_array_equal(out.violation[i], log.violation)
            np.testing.assert_array_equal(out.iterations[i], log.iterations)
            np.testing.assert_allclose(out.t[i, :-1], log.t, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(batch[i].contact_forces(), sim.contact_forces())
        assert batch[i].energy() == sim.energy()
        assert batch[i].time == sim.time
    assert np.ptp(first.q[:, -1, 2]) > 1e-3


def test_parameters_belong_to_a_state(feet: Any) -> None:
    """A heavier trunk and less friction: each state is that of its own robot."""
    robot, q = feet
    trunk = robot.bodies[0]
    heavy = replace(trunk, mass=2 * trunk.mass, inertia=2 * np.asarray(trunk.inertia))
    robots = [
        robot,
        replace(robot, bodies=(heavy, *robot.bodies[1:])),
        replace(robot, contacts=tuple(replace(c, friction=0.05) for c in robot.contacts)),
    ]
    batch = BatchSimulation(robots, threads=2)
    v = np.zeros(robot.nv)
    v[0] = 0.5  # so that friction matters
    batch.set_state(q[0], v)
    out = batch.rollout(STEPS, controller="stand")
    for i, one in enumerate(robots):
        sim = Simulation(one)
        sim.set_state(q[0], v)
        # Gains of the first: a name is resolved for it.
        log = sim.run(STEPS * sim.timestep, stand(robot, sim.timestep))
        np.testing.assert_array_equal(out.q[i, :-1], log.q)
    ends = out.q[:, -1]
    assert min(np.abs(ends[i] - ends[j]).max() for i, j in ((0, 1), (0, 2), (1, 2))) > 1e-5


def test_gains_targets_and_torques_belong_to_a_state(feet: Any) -> None:
    robot, q = feet
    rng = np.random.default_rng(0)
    targets = np.asarray(robot.stance.target) + rng.normal(scale=0.1, size=(N, STEPS, robot.nu))
    torques = rng.normal(size=(N, STEPS, robot.nu))
    kp, kd = rng.uniform(40, 80, (N, robot.nu)), rng.uniform(2, 4, (N, robot.nu))
    batch = BatchSimulation(robot, N, threads=2)
    batch.set_state(q)
    out = batch.rollout(STEPS, torques, targets=targets, kp=kp, kd=kd)
    for i in range(N):
        sim = Simulation(robot)
        sim.set_state(q[i])
        for k in range(STEPS):
            x, u = sim.q[7:], sim.v[6:]
            sim.step(torques[i, k] + (kp[i] * (targets[i, k] - x) + kd[i] * (0.0 - u)))
        # Compiled, such a sum of products is rounded once less.
        np.testing.assert_allclose(out.q[i, -1], sim.q, rtol=0, atol=1e-8)
    pds = [PD(robot, targets[i, 0], kp[i], kd[i]) for i in range(N)]
    again = []
    for arguments in ({"controller": pds}, {"targets": targets[:, 0], "kp": kp, "kd": kd}):
        batch.set_state(q)
        again.append(batch.rollout(STEPS, **arguments))
    assert_same(*again)


def test_a_step_at_a_time_is_the_same(feet: Any) -> None:
    robot, q = feet
    torques = np.random.default_rng(1).normal(size=(N, STEPS, robot.nu))
    batch = BatchSimulation(robot, N, threads=1)
    batch.set_state(q)
    out = batch.rollout(STEPS, torques)
    batch.set_state(q)
    for k in range(STEPS):
        batch.rollout(1, torques[:, k])
        np.testing.assert_array_equal(batch.q, out.q[:, k + 1])
    np.testing.assert_allclose(batch.time, STEPS * batch.timestep, rtol=1e-14)


def test_a_compiled_controller_acts_in_every_state() -> None:
    robot = chain(3)

    @numba.njit
    def damp(t, q, v, tau):
        for k in range(tau.shape[0]):
            tau[k] = t - 0.3 * v[k]

    batch = BatchSimulation(robot, 3, 0.01, threads=2)
    batch.set_state(np.linspace(0.1, 0.9, 9).reshape(3, 3))
    out = batch.rollout(20, controller=damp)
    for i in range(3):
        sim = Simulation(robot, 0.01)
        sim.set_state(out.q[i, 0])
        np.testing.assert_array_equal(sim.run(0.2, damp).q, out.q[i, :-1])


def test_a_failure_is_flagged_and_stops_only_its_state() -> None:
    """A torque that no step can follow, of one state in the middle of a run."""
    robot = chain(2)
    batch = BatchSimulation(robot, 3, 0.01, threads=2, max_substeps=1)
    batch.set_state([0.3, 0.2])
    torques = np.zeros((3, 10, 2))
    torques[1, 4:] = 1e9
    out = batch.rollout(10, torques)
    assert out.failed.tolist() == [False, True, False]
    assert out.done.tolist() == [10, 4, 10]
    assert np.isfinite(out.q[[0, 2]]).all()
    np.testing.assert_array_equal(out.q[1, :5], out.q[0, :5])
    assert np.isnan(out.q[1, 5:]).all()
    assert np.isnan(out.gap[1, 4:]).all()
    np.testing.assert_array_equal(batch.q[1], out.q[1, 4])
    batch.set_state([0.3, 0.2], index=1)
    assert not batch.rollout(3).failed.any()
    np.testing.assert_allclose(batch.time, [0.13, 0.03, 0.13])


@pytest.mark.parametrize("lanes", [True, False])
def test_steps_that_fail_are_solved_to_the_tolerance_as_those_of_a_simulation(lanes: bool) -> None:
    """Contacts that are asked to be closer than numbers can tell, which few steps can have.

    The tolerance of all other equations is enough for these, in that step alone.
    """
    robot, options = cube(), {"contact_speed": 1e-18, "max_substeps": 1}
    q = np.array(robot.home)
    q[2] += 1e-3
    sim = Simulation(robot, 2e-3, islands=False, **options)
    sim.set_state(q)
    sim.run(0.06)
    batch = BatchSimulation(robot, 9, 2e-3, threads=1, lanes=lanes, **options)
    batch.set_state(q)
    assert not batch.rollout(30).failed.any()
    bound = batch.q
    batch.set_state(q)
    run = batch.bind(3)
    for _ in range(10):
        run.step()
        assert not run.failed.any()
    for found in (bound, batch.q):
        np.testing.assert_allclose(found, np.tile(sim.q, (9, 1)), atol=1e-9 if lanes else 0.0)
    assert {one.engine.parts.options.contact_speed for one in batch} == {1e-18}


@pytest.mark.parametrize("lanes", [True, False])
def test_knots_may_be_left_out(lanes: bool) -> None:
    """The motion is the same; of the result there is every fourth knot, and the last."""
    robot, runs = chain(3), []
    for every in (1, 4):
        batch = BatchSimulation(robot, 8, 0.01, threads=1, lanes=lanes)
        batch.set_state(np.linspace(0.1, 0.9, 24).reshape(8, 3))
        runs.append([batch.rollout(22, every=every) for _ in range(2)])
    rows = [0, 4, 8, 12, 16, 20, 22]
    for whole, some in zip(*runs, strict=True):
        for name in ("t", "q", "v"):
            expected = getattr(whole, name)[:, rows]
            np.testing.assert_array_equal(getattr(some, name), expected, err_msg=name)
        np.testing.assert_array_equal(some.tau, whole.tau[:, rows[:-1]])
        for name in ("gap", "violation", "iterations", "done"):
            np.testing.assert_array_equal(getattr(some, name), getattr(whole, name), err_msg=name)


def test_a_failure_between_knots_leaves_the_knot_that_was_reached() -> None:
    robot, outs = chain(2), []
    torques = np.zeros((3, 10, 2))
    torques[1, 4:] = 1e9
    for every in (1, 3):
        batch = BatchSimulation(robot, 3, 0.01, threads=1, max_substeps=1)
        batch.set_state([0.3, 0.2])
        outs.append(batch.rollout(10, torques, every=every))
    whole, some = outs
    assert some.done.tolist() == [10, 4, 10]
    np.testing.assert_array_equal(some.q[0], whole.q[0, [0, 3, 6, 9, 10]])
    np.testing.assert_array_equal(some.q[1, :3], whole.q[1, [0, 3, 4]])
    np.testing.assert_allclose(some.v[1, :3], whole.v[1, [0, 3, 4]], rtol=1e-10)
    np.testing.assert_allclose(some.t[1], [0.0, 0.03, 0.04, 0.09, 0.1])
    assert np.isnan(some.q[1, 3:]).all()
    assert np.isnan(some.tau[1, 2:]).all()
    assert np.isfinite(some.tau[1, :2]).all()


def test_bodies_that_come_near_each_other_in_some_states() -> None:
    """Blocks for a pair are made in the middle of a run, for the states that need them."""
    first = cube()
    second = replace(first.bodies[0], name="second", frames=())
    joint = replace(first.joints[0], name="second_base", child="second")
    robot = replace(first, bodies=(*first.bodies, second), joints=(*first.joints, joint),
                    contacts=(), home=(*first.home, 0, 0, 5, 1, 0, 0, 0))  # fmt: skip
    robot = robot.with_contacts(self_collision=True, ground=False)
    q = np.tile(robot.home, (3, 1))
    q[:, 9] = [0.6, 5.0, 0.55]  # heights of the second, above the first
    q[:, 2] = 0.0
    v = np.zeros((3, 12))
    v[:, 8] = -2.0
    batch = BatchSimulation(robot, 3, 0.01, (0, 0, 0), threads=2)
    batch.set_state(q, v)
    out = batch.rollout(20)
    for i in range(3):
        sim = Simulation(robot, 0.01, (0, 0, 0))
        sim.set_state(q[i], v[i])
        np.testing.assert_array_equal(sim.run(0.2).q, out.q[i, :-1])
    assert (np.abs(out.v[:, -1, 2]) > 0.1).tolist() == [True, False, True]


@pytest.mark.parametrize("counts", [(1, 1), (2, 1), (1, 3)])
def test_forces_belong_to_the_last_step(counts: tuple[int, ...]) -> None:
    """They are impulses over its interval: half of one in the first step, parts where divided."""
    robot = chain(2)
    batch = BatchSimulation(robot, 2, 0.01, threads=1, lanes=False)
    v = np.array([[1.0, 2.0], [130.0, 0.0]])
    batch.set_state([0.3, 0.2], v)
    sims = [Simulation(robot, 0.01) for _ in v]
    divided = []
    for sim, start in zip(sims, v, strict=True):
        sim.set_state([0.3, 0.2], start)
    for steps in counts:
        batch.rollout(steps, [0.1, -0.2])
        for i, sim in enumerate(sims):
            infos = [sim.step([0.1, -0.2]) for _ in range(steps)]
            divided.append(infos[-1].substeps)
            one = batch[i]
            assert (one.steps, one.time) == (sim.steps, sim.time)
            for name, wrench in sim.joint_wrenches().items():
                np.testing.assert_array_equal(one.joint_wrenches()[name], wrench)
            np.testing.assert_array_equal(one.accelerations(), sim.accelerations())
            np.testing.assert_array_equal(one.torques, sim.torques)
    assert divided[0] == 1
    assert divided[-1] > 1


def test_what_is_wrong_is_told(feet: Any) -> None:
    robot, q = feet
    batch = BatchSimulation(robot, N, threads=1)
    with pytest.raises(StateError, match=r"q must have shape \(19,\) or \(5, 19\), not \(4, 19\)"):
        batch.set_state(q[:4])
    with pytest.raises(StateError, match=r"state 3: q must be finite"):
        batch.set_state(np.where(np.arange(N)[:, None] == 3, np.nan, q))
    with pytest.raises(ControllerError, match=r"torques must have shape .* not \(3,\)"):
        batch.rollout(2, np.zeros(3))
    with pytest.raises(ControllerError, match=r"torques must be numbers, .*`controller=`"):
        batch.rollout(3, PD(batch.robot, batch.robot.home[7:], 1.0, 0.1))
    with pytest.raises(ControllerError, match="kp must be finite"):
        batch.rollout(2, kp=np.full(robot.nu, np.nan))
    with pytest.raises(ControllerError, match="needs a compiled controller"):
        batch.rollout(2, controller=lambda sim: None)
    with pytest.raises(ControllerError, match="must be 5 PD"):
        batch.rollout(2, controller=[stand(robot)])
    with pytest.raises(OptionError, match="steps must be a whole number"):
        batch.rollout(0)
    with pytest.raises(OptionError, match="every must be a whole number"):
        batch.rollout(2, every=0)
    with pytest.raises(OptionError, match="threads must be a whole number"):
        BatchSimulation(robot, 2, threads=0)
    with pytest.raises(OptionError, match=r"robot 1 .* is built differently"):
        BatchSimulation([robot, chain(2)])
    with pytest.raises(OptionError, match="n is 3, but there are 2 robots"):
        BatchSimulation([robot, robot], 3)


def test_a_copy_goes_its_own_way(feet: Any) -> None:
    robot, q = feet
    sim = Simulation(robot)
    sim.set_state(q[0])
    sim.run(0.03, "stand")
    other = sim.copy()
    np.testing.assert_array_equal(other.contact_forces(), sim.contact_forces())
    here = sim.q
    log = other.run(0.03, "stand")
    np.testing.assert_array_equal(sim.q, here)
    np.testing.assert_array_equal(sim.run(0.03, "stand").q, log.q)
    assert other.time == sim.time
