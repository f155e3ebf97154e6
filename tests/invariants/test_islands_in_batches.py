"""Batches of worlds: each state is solved by islands, to the bits of a single simulation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from touching import ball, box, free

from robosim import BatchSimulation, ConvergenceError, Mechanism, OptionError, Simulation, linearize
from robosim.models.builders import chain, cube

Array = Any
N = 5
DT = 2e-3


@cache
def world() -> Mechanism:
    """Two boxes that hit each other, a chain with motors, and a cube on the ground, apart."""
    boxes = free(box("a"), box("b"), contact_pairs=[("a", "b")])
    home = np.array([0.0, 0.0, 2.0, 1.0, 0, 0, 0, 0.4, 0.05, 2.02, 1.0, 0, 0, 0])
    one = replace(boxes, home=home).add(chain(2), (5.0, 0.0, 0.0), prefix="chain/")
    return one.add(cube(), (9.0, 0.0, 0.0), prefix="cube/")


def rates() -> Array:
    """Rates (N, nv) of starts: boxes that are ever slower, the last of which do not meet."""
    v = np.zeros((N, world().nv))
    for k, speed in enumerate((2.0, 1.5, 1.0, 0.5, -1.0)):
        v[k, 0], v[k, 6], v[k, 8], v[k, 12] = speed, -speed, 0.1, 0.3 * k
    return v


def batch_of(**options: Any) -> BatchSimulation:
    batch = BatchSimulation(world(), N, DT, islands=True, **{"threads": 1, **options})
    batch.set_state(None, rates())
    return batch


def singly(steps: int, torques: Array | None = None, **options: Any) -> list[Simulation]:
    """Simulations of the same starts after some steps."""
    found = []
    for k, v in enumerate(rates()):
        sim = Simulation(world(), DT, **options)
        sim.set_state(None, v)
        tau = np.zeros(world().nu) if torques is None else torques[k]
        sim.run(steps * DT, lambda s, tau=tau: tau)
        found.append(sim)
    return found


def check(batch: BatchSimulation, sims: list[Simulation]) -> None:
    for i, sim in enumerate(sims):
        assert batch.q[i].tobytes() == sim.q.tobytes()
        assert batch.v[i].tobytes() == sim.v.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_states_have_the_bits_of_simulations(threads: int) -> None:
    batch = batch_of(threads=threads)
    assert not batch.lanes
    torques = np.random.default_rng(0).uniform(-1.0, 1.0, (N, world().nu))
    first = batch.rollout(100, torques, every=7)
    second = batch.rollout(50, torques)
    sims = singly(150, torques)
    check(batch, sims)
    assert not first.failed.any()
    assert not second.failed.any()
    counts = [[len(one.islands) for one in some] for some in ([batch[i] for i in range(N)], sims)]
    assert counts[0] == counts[1]
    assert min(counts[0]) < max(counts[0]) == 4  # boxes that have met are one island
    again = Simulation(world(), DT)
    again.set_state(None, rates()[0])
    log = again.run(100 * DT, lambda s: torques[0], every=7)
    np.testing.assert_array_equal(first.q[0, :-1], log.q)
    np.testing.assert_array_equal(first.tau[0], log.tau)
    np.testing.assert_array_equal(batch[1].torques, sims[1].torques)
    assert batch[0].energy() == sims[0].energy()


def test_a_bound_run_shows_what_simulations_read() -> None:
    batch = batch_of()
    bound = batch.bind(10, bodies=True, contacts=True, also=["contacts", "frames"])
    for _ in range(8):
        bound.step()
    sims = singly(80)
    check(batch, sims)
    for i, sim in enumerate(sims):
        np.testing.assert_array_equal(bound.bodies.x[i], sim.state.x)
        np.testing.assert_array_equal(bound.bodies.v[i], sim.state.v)
        np.testing.assert_array_equal(bound.normal_forces[i], sim.contact_forces()[:, 2])
        np.testing.assert_array_equal(bound.readings["frame:a"][i][:3], sim.frame("a")[0])
    # The cube stands, which no shape of another body shows.
    assert bound.normal_forces.sum(axis=1) == pytest.approx(9.81 * world().body("cube/cube").mass)


def test_prepared_starts_and_states_that_are_restored() -> None:
    batch, sims = batch_of(), singly(60)
    starts = batch.prepare(None, rates())
    batch.rollout(90)
    batch.reset(starts, [2, 0], index=[1, 4])
    batch.restore(sims[3], index=0)
    batch.rollout(60)
    for sim in sims:
        sim.run(60 * DT)
    fresh = singly(60)
    assert batch.q[1].tobytes() == fresh[2].q.tobytes()
    assert batch.q[4].tobytes() == fresh[0].q.tobytes()
    assert batch.q[0].tobytes() == sims[3].q.tobytes()
    # A copy of a state goes on as the state does.
    copy = batch[2].copy()
    copy.run(10 * DT)
    batch.rollout(10)
    assert batch.q[2].tobytes() == copy.q.tobytes()


def test_a_state_that_fails_tells_of_its_island_and_others_go_on() -> None:
    batch, torques = batch_of(), np.zeros((N, 20, world().nu))
    torques[1, 12:] = 1e9
    run = batch.rollout(20, torques)
    assert run.failed.tolist() == [False, True, False, False, False]
    assert run.done.tolist() == [20, 12, 20, 20, 20]
    assert np.isnan(run.q[1, 13:]).all()
    assert not np.isnan(run.q[1, :13]).any()
    with pytest.raises(ConvergenceError) as raised:
        batch[1].step(torques[1, 12])
    assert raised.value.body.startswith("chain/")
    sims = singly(20)
    check(batch, [batch[0], batch[1], *sims[2:]])
    bound = batch.bind()
    bound.torques[3] = 1e9
    bound.step()
    assert bound.failed.tolist() == [False, False, False, True, False]
    assert batch.time == pytest.approx(DT * np.array([21, 13, 21, 20, 21]))


def test_other_robots_and_derivatives_of_states() -> None:
    batch = batch_of()
    robot = world()
    heavier = replace(
        robot, bodies=tuple(replace(one, mass=2.0 * one.mass) for one in robot.bodies)
    )
    batch.set_robots(heavier, index=1)
    batch.rollout(20)
    sim = Simulation(heavier, DT)
    sim.set_state(None, rates()[1])
    sim.run(20 * DT)
    assert batch.q[1].tobytes() == sim.q.tobytes()
    check(batch, [singly(20)[0]])
    with pytest.raises(OptionError, match="differ in numbers only"):
        batch.set_robots(robot.add(free(ball("c")), (20.0, 0.0, 0.0)), index=0)
    batch.set_robots(heavier)
    batch.reset(batch.prepare(None, rates()[1]))
    batch.rollout(20)
    check(batch, [sim] * N)
    batch.set_robots(robot)
    batch.set_state(None, rates())
    batch.rollout(20)
    found = linearize(batch)
    for i in (0, N - 1):
        own = linearize(batch[i])
        np.testing.assert_array_equal(found.A[i], own.A)
        np.testing.assert_array_equal(found.B[i], own.B)
    apart = [robot.v_names.index(name) for name in robot.v_names if name.startswith("chain/")]
    rest = np.delete(found.A[0][apart], [*apart, *(robot.nv + np.array(apart))], axis=1)
    assert not rest.any()  # as the chain is an island


def test_states_may_sleep() -> None:
    batch = batch_of(sleep=0.1)
    run = batch.rollout(200)
    sims = singly(200, sleep=0.1)
    check(batch, sims)
    asleep = [[one.asleep for one in batch[i].islands] for i in range(N)]
    assert asleep == [[one.asleep for one in sim.islands] for sim in sims]
    assert any(asleep[0])
    assert not run.failed.any()


def test_what_islands_in_batches_are_not_for() -> None:
    with pytest.raises(OptionError, match="leave islands and sleep out"):
        batch_of().rollout(2, tape=True)
    with pytest.raises(OptionError, match="lanes must be"):
        batch_of(lanes="sometimes")
    with pytest.raises(OptionError, match="sleep"):
        BatchSimulation(world(), 2, DT, sleep=1.0)
    # A robot of one unit is in lanes as before.
    assert BatchSimulation(cube(), 8, DT, islands=True).lanes
