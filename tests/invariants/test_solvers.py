"""What one solver cannot do, the other takes over, from the same knot."""

import numpy as np
from random_mechanisms import random_quaternion, random_tree

from robosim import BatchSimulation, Simulation
from robosim.quaternions import rotation_matrix

SEED = 11  # of a tree whose contacts on three bodies in a row stop the elimination along joints


def dropped(solver: str | None) -> Simulation:
    rng = np.random.default_rng(SEED)
    kinds = ("revolute", "spherical", "prismatic", "fixed", "cylindrical")
    robot = random_tree(rng, 5, "floating", kinds, contacts=3)
    sim = Simulation(robot, 5e-3, solver=solver)
    q = robot.neutral()
    q[3:7] = random_quaternion(rng)
    sim.set_state(q)
    q[:3] += (0.3 - sim.min_gap()) * rotation_matrix(robot.joints[0].offset)[2]
    sim.set_state(q)
    return sim


def test_a_step_that_is_not_solved_is_taken_over():
    sim, reference = dropped(None), dropped("ldu")
    assert (sim.solver, reference.solver) == ("articulated", "ldu")
    solvers = []
    logs = [each.run(1.0, lambda sim: solvers.append(sim.solver)) for each in (sim, reference)]
    # For the step that has failed, which was begun by the first, and another; seen before a step,
    # the solver is the one that took the last.
    first = solvers.index("ldu")
    assert solvers[first - 1 : first + 3] == ["articulated", "ldu", "ldu", "articulated"]
    assert logs[0].samples.gap.min() >= 0
    assert logs[0].samples.substeps.max() == 1
    # Together down to the first impact; after that, where what touches first decides.
    fall = int(np.argmax(logs[1].samples.gap < 1e-6))
    np.testing.assert_allclose(logs[0].q[:fall], logs[1].q[:fall], rtol=0, atol=1e-9)


def test_a_simulation_that_is_put_back_goes_the_same_way_again():
    sim = dropped(None)
    q, first = sim.q, sim.run(0.5)
    while sim.solver == "articulated":
        sim.step()
    sim.set_state(q)
    np.testing.assert_array_equal(sim.run(0.5).q, first.q)


def test_a_solver_that_was_asked_for_is_kept():
    """Where another one would take over, steps are divided instead."""
    sim = dropped("articulated")
    log = sim.run(1.0)
    assert sim.solver == "articulated"
    assert log.substeps.max() > 1
    assert log.gap.min() > -1e-6


def test_states_of_a_batch_are_taken_over_one_by_one():
    sim = dropped(None)
    q = sim.q
    high = q + 5.0 * np.eye(len(q))[:3].T @ rotation_matrix(sim.robot.joints[0].offset)[2]
    batch = BatchSimulation(sim.robot, 2, timestep=5e-3, threads=1)
    batch.set_state(np.stack((q, high)))
    rollout = batch.rollout(100)
    assert not rollout.failed.any()
    assert [each.engine.counters.stay > 2 for each in batch._sims] == [True, False]
    log = sim.run(0.5)
    assert sim.engine.counters.stay == batch._sims[0].engine.counters.stay
    np.testing.assert_array_equal(rollout.q[0, :-1], log.q)


def test_what_is_restored_changes_solvers_when_the_original_does():
    """How many steps the other solver has still to take, and how many next time, go along."""
    sim = dropped(None)
    other = sim.copy()
    while sim.solver == "articulated":
        sim.step()
    other.restore(sim)
    took: list[list[str]] = []
    for each in (sim, other):
        took.append([])
        for _ in range(150):
            each.step()
            took[-1].append(each.solver)
    assert took[0] == took[1]
    assert set(took[0]) == {"articulated", "ldu"}
    np.testing.assert_array_equal(sim.q, other.q)


def test_the_other_solver_stays_longer_only_where_it_is_needed_again_soon():
    """Each failure that comes after many steps alone costs two steps, not ever more."""
    engine = dropped(None).engine
    stays = []
    for steps in (10, 12, 16, 100, 101):
        engine.counters.steps = steps
        engine._go_away()
        stays.append(engine.counters.away)
        engine.counters.steps += engine.counters.away
        engine.count_away(engine.counters.away)
        engine.until(0, 1)
    assert stays == [2, 4, 8, 2, 4]


def test_wrenches_are_read_from_the_solver_that_took_the_step():
    sim, other = dropped(None), dropped(None)
    for each in (sim, other):
        for _ in range(3):
            each.step()
    sim.engine._go_away()
    took = []
    for _ in range(4):
        sim.step()
        other.step()
        took.append(sim.solver)
        found, expected = sim.joint_wrenches(), other.joint_wrenches()
        for name, wrench in expected.items():
            np.testing.assert_allclose(found[name], wrench, rtol=1e-5, atol=1e-6)
    assert took == ["ldu", "ldu", "articulated", "articulated"]
