"""States in lanes that move differently: one leaves for a step, or all take some steps apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from landing import assert_same

import robosim
from robosim import BatchSimulation, Simulation
from robosim.controllers import PD
from robosim.kernels.compiler.lanes import WIDTH

HELD = 10  # steps
A1 = robosim.load("a1")
HOME = np.array(A1.home)[7:]
SERVO = PD(A1, HOME, 40.0, 1.0, implicit=True)


def batch_of(timestep: float, n: int = WIDTH, **options: Any) -> BatchSimulation:
    """A1 just above the ground, all in the same stance."""
    sim = Simulation(A1, timestep)
    sim.place(gap=1e-3)
    batch = BatchSimulation(A1, n, timestep, **{"threads": 1, **options})
    batch.set_state(sim.q)
    return batch


def at_random(size: float, steps: int, n: int = WIDTH) -> Any:
    """Targets (n, steps, nu) within `size` [rad] of home, each held for some steps."""
    values = HOME + np.random.default_rng(0).uniform(-size, size, (n, steps // HELD, A1.nu))
    return np.repeat(values, HELD, axis=1)


def differs(batch: BatchSimulation) -> Any:
    """(steps, states) whether a state's last steps have other iterations than those of most."""
    assert batch._stepping.recent is not None
    iterations = batch._stepping.recent[0].infos["iterations"][:WIDTH].T
    most = np.median(iterations, axis=1).astype(int)
    return iterations != most[:, None]


@pytest.mark.parametrize("timestep", [2e-3, 5e-3])
@pytest.mark.parametrize("kind", ["targets", "torques"])
@pytest.mark.parametrize("size", [0.3, 1.0])
def test_random_steps_agree_with_those_of_single_states(
    timestep: float, kind: str, size: float
) -> None:
    """From the same knots, time and again on the way: chaos does not add up differences."""
    batch, steps = batch_of(timestep), 120
    if kind == "targets":
        values = at_random(size, steps)
    else:
        values = (at_random(size, steps) - HOME) * np.asarray(A1.effort_limits)
    for k in range(0, steps, HELD):
        sims = [batch[i].copy() for i in range(WIDTH)]
        if kind == "targets":
            out = batch.rollout(2, controller=SERVO, targets=values[:, k : k + 2])
        else:
            out = batch.rollout(2, values[:, k : k + 2])
        assert not out.failed.any()
        for i, sim in enumerate(sims):
            if kind == "targets":
                pd = PD(A1, values[i, k], 40.0, 1.0, implicit=True)
                sim.run(2 * timestep, pd)
            else:
                for _ in range(2):
                    sim.step(values[i, k])
            np.testing.assert_allclose(batch.q[i], sim.q, rtol=0, atol=1e-6, err_msg=f"{k} {i}")


def test_one_state_leaves_and_the_others_stay() -> None:
    """A state that is driven to and fro takes hard steps alone; seven others stand."""
    steps = 400
    targets = np.tile(HOME, (WIDTH, steps, 1))
    targets += np.random.default_rng(1).normal(scale=0.02, size=(WIDTH, 1, A1.nu))
    targets[3] = at_random(1.0, steps)[3]
    batch = batch_of(5e-3)
    out = batch.rollout(steps, controller=SERVO, targets=targets)
    apart = differs(batch)
    assert not out.failed.any()
    alone = apart[100:, 3]
    assert 3 <= np.count_nonzero(alone) < 0.5 * len(alone)
    assert not np.delete(apart[100:], 3, axis=1).any()
    # The others stand as they do beside a state that stands as well.
    targets[3] = HOME
    calm = batch_of(5e-3)
    expected = calm.rollout(steps, controller=SERVO, targets=targets)
    others = np.arange(WIDTH) != 3
    np.testing.assert_allclose(out.q[others], expected.q[others], rtol=0, atol=1e-5)


def test_states_go_apart_where_lanes_take_longer() -> None:
    """And the motion depends neither on threads nor on how many steps a call takes."""
    steps, n = 200, 2 * WIDTH
    targets = at_random(1.0, steps, n)
    runs, shares = [], []
    for threads in (1, 2):
        batch = batch_of(5e-3, n, threads=threads)
        runs.append(batch.rollout(steps, controller=SERVO, targets=targets))
        shares.append([group.handle.values.pace["alone"][0] for group in group_of(batch)])
    assert_same(*runs)
    assert all(alone > 0.0 for alone in shares[0])
    assert shares[0] == shares[1]
    # Most steps are those of single states, whose iterations are their own.
    own = (np.ptp(runs[0].iterations.reshape(2, WIDTH, steps), axis=1) > 0).mean()
    assert own > 0.5
    # Beside a state that the other solver takes over, they would go on alone to the call's end.
    batch = batch_of(5e-3)
    for k in range(0, steps, 4):
        batch.rollout(4, controller=SERVO, targets=targets[:WIDTH, k : k + 4])
        np.testing.assert_array_equal(batch.q, runs[0].q[:WIDTH, k + 4])


@pytest.mark.parametrize("at", [100, 140])
def test_a_state_that_fails_apart_stops_alone(at: int) -> None:
    """It gets a torque that nothing withstands, for one step."""
    steps, targets = 180, at_random(1.0, 180)
    torques = np.zeros((WIDTH, steps, A1.nu))
    torques[3, at] = 1e12
    batch = batch_of(5e-3)
    out = batch.rollout(steps, torques, controller=SERVO, targets=targets)
    assert np.ptp(out.iterations[:, at - 5 : at], axis=0).all()  # no step of them is in lanes
    others = np.arange(WIDTH) != 3
    assert out.done.tolist() == np.where(others, steps, at).tolist()
    assert out.failed.tolist() == (~others).tolist()


def test_states_that_stand_stay_in_lanes() -> None:
    batch = batch_of(2e-3)
    out = batch.rollout(300, controller=SERVO)
    assert (np.ptp(out.iterations, axis=0) == 0).all()
    (group,) = group_of(batch)
    assert group.is_ahead
    assert group.handle.values.pace["alone"][0] == 0.0


def test_a_state_is_changed_while_states_go_apart() -> None:
    """A wrench and a start are taken over, wherever the states are."""
    targets, ends = at_random(1.0, 200), []
    for lanes in (True, False):
        batch = batch_of(5e-3, lanes=lanes)
        batch.rollout(120, controller=SERVO, targets=targets[:, :120])
        q = np.array(A1.home)
        q[2] += 1.0
        batch.set_state(q, index=[1, 2])
        batch[2].apply_wrench("base", force=[50.0, 0.0, 0.0])
        out = batch.rollout(20, controller=SERVO)
        ends.append(out.q[2, -1] - out.q[1, -1])
    assert ends[0][0] > 0.01
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-8)


def group_of(batch: BatchSimulation) -> Any:
    """The groups of a batch."""
    return batch._stepping.groups.values()
