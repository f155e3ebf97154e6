"""What leads to the same motion: to the last bit, or to the solver's tolerance."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from spoiled import leave_junk, spoil_workspace

from robosim import BatchSimulation, OptionError, Simulation
from robosim.compiled.kinds import BALL
from robosim.models.builders import chain

from ..builder import Array, Case

STEPS = 40
NEAR = 3e-7
"""What the tolerance leaves at least [m, rad]; more where another tolerance leads elsewhere."""


EXACT = 1e-10  # a smaller tolerance [m/s]


def ends(sim: Simulation) -> Array:
    """What a motion has come to."""
    return np.concatenate((sim.q, sim.v, [sim.energy()]))


def same(a: Array, b: Array, told: str) -> None:
    """Equal to the last bit."""
    assert a.tobytes() == b.tobytes(), f"{told}: up to {np.abs(a - b).max():.3g} apart"


def near(a: Array, b: Array, other: Array, told: str) -> None:
    """Equal to the tolerance: as is another motion, of another tolerance, but for a factor."""
    within = NEAR + 100.0 * np.abs(b - other).max()
    off = np.abs(a - b).max()
    assert off < within, f"{told}: {off:.3g} apart, of which {within:.3g} are the tolerance's"


def steps(case: Case, sim: Simulation, n: int, between: Any = None) -> Array:
    """Knots after each of n steps."""
    found = []
    for _ in range(n):
        case.run(sim, 1)
        found.append(np.concatenate((sim.q, sim.v)))
        if between is not None:
            between(sim)
    return np.array(found)


def memory_does_not_matter(case: Case) -> bool:
    """Twice the same bits, whatever new arrays and the workspace held before."""
    once = steps(case, case.simulation(), STEPS)
    leave_junk(np.random.default_rng(0))
    again = case.simulation()
    same(steps(case, again, STEPS, spoil_workspace), once, "with poisoned memory")
    return True


def copies_go_on_alike(case: Case) -> bool:
    """`copy`, `restore`, `save` and `load`, to the last bit."""
    sim = case.simulation()
    case.run(sim, STEPS // 2)
    copy, other, loaded = sim.copy(), case.simulation(), case.simulation()
    case.follow(copy, sim)
    case.run(other, 3)
    other.restore(sim)
    case.follow(other, sim)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sim.npz"
        kept = () if case.drive is None else (case.controller(sim),)
        sim.save(path, *kept)
        case.run(loaded, 5)
        loaded.load(path, *(() if case.drive is None else (case.controller(loaded),)))
    if case.controls:
        loaded.set_controls(case.controls)
    expected = steps(case, sim, STEPS)
    for one, told in ((copy, "a copy"), (other, "restored"), (loaded, "loaded")):
        same(steps(case, one, STEPS), expected, told)
    return True


def a_start_is_a_fresh_one(case: Case) -> bool:
    """On a simulation that was used before, to the last bit."""
    used = case.simulation()
    case.run(used, STEPS)
    case.start(used)
    same(steps(case, used, STEPS), steps(case, case.simulation(), STEPS), "started again")
    return True


def runs_may_be_divided(case: Case) -> bool:
    """One run, and the same in parts and logged seldom, to the last bit."""
    whole, parts, seldom = (case.simulation() for _ in range(3))
    log = case.run(whole, STEPS)
    for n in (1, 7, STEPS - 8):
        case.run(parts, n)
    case.run(seldom, STEPS, every=STEPS // 4)
    stepwise = steps(case, case.simulation(), STEPS)
    # A row of the log is the knot before a step.
    same(np.hstack((log.q, log.v))[1:], stepwise[:-1], "the log of a run")
    same(ends(parts), ends(whole), "a run in parts")
    same(ends(seldom), ends(whole), "a run that is logged seldom")
    return True


def what_is_far_does_not_matter(case: Case) -> bool:
    """A robot elsewhere in the same world, to the last bit."""
    if case.controls:
        return False  # which are those of one robot
    other = chain(2)
    world = case.robot.add(other, (30.0, 0.0, 0.0), prefix="far/", contact="none")
    sim, alone = Simulation(world, **case.options), case.simulation()
    if len(sim.islands) == 1:
        return False  # as directions of friction are told by an axis of another body
    sim.set_state(np.append(case.q, other.home), np.append(case.v, np.ones(other.nv)))
    for one in (sim, alone):
        one.run(STEPS * one.timestep)
    same(sim.q[: case.robot.nq], alone.q, "beside a robot that is far")
    same(sim.v[: case.robot.nv], alone.v, "velocities beside a robot that is far")
    return True


def a_batch_is_its_simulations(case: Case) -> bool:
    """Without lanes, to the last bit, with all units of a world together."""
    if case.controls:
        return False  # which a batch sets by its controller
    sim, batch = case.simulation(islands=False), batch_of(case, False)
    case.run(sim, STEPS)
    for i in (0, len(batch) - 1):
        same(batch.q[i], sim.q, "a batch")
        same(batch.v[i], sim.v, "velocities of a batch")
    return True


def a_batch_of_islands_is_its_simulations(case: Case) -> bool:
    """The units of each state apart, as in a simulation, to the last bit."""
    sim = case.simulation()
    if case.controls or len(sim.islands) == 1:
        return False
    batch = batch_of(case, True, 3, islands=True)
    case.run(sim, STEPS)
    for i in (0, 2):
        same(batch.q[i], sim.q, "a batch of islands")
        same(batch.v[i], sim.v, "velocities of a batch of islands")
    return True


def batch_of(case: Case, lanes: bool, n: int = 8, **options: bool) -> BatchSimulation:
    """A batch after some steps."""
    batch = BatchSimulation(case.robot, n, lanes=lanes, threads=1, **case.options, **options)
    batch.set_state(case.q, case.v)
    run = batch.rollout(STEPS, **({"controller": case.controller(batch)} if case.driven else {}))
    if run.failed.any():
        batch[int(np.argmax(run.failed))].step()  # whose error tells more
    return batch


def states_in_lanes_move_alike(case: Case) -> bool:
    """To the tolerance."""
    twin = case.twin("laned")
    if not twin.robot.nq:
        return False
    sim, exact = (twin.simulation(islands=False, **o) for o in ({}, {"tolerance": EXACT}))
    batch = batch_of(twin, True)
    for one in (sim, exact):
        twin.run(one, STEPS)
    for i in (0, len(batch) - 1):
        near(batch.q[i], sim.q, exact.q, "a batch in lanes")
    return batch.lanes


def limbs_in_lanes_move_alike(case: Case) -> bool:
    """To the tolerance."""
    twin = case.twin("limbs")
    sims = [twin.simulation(lanes=True), twin.simulation(), twin.simulation(tolerance=EXACT)]
    if not sims[0].lanes:
        return False
    for _ in range(3):
        for sim in sims:
            twin.run(sim, STEPS)
        near(*(sim.q for sim in sims), "limbs in lanes")
    return True


def drives_a_ball(case: Case, sim: Simulation) -> bool:
    """Whether an implicit PD is all that acts along a ball joint of a tree."""
    if case.pd is None or not case.pd.gains["implicit"].any():
        return False
    balls = sim.parts.model.joints[sim.parts.model.joints["kind"] == BALL]
    return bool(np.isin(balls["v_begin"], case.pd.gains["v_index"]).any())


def both_solvers_move_alike(case: Case) -> bool:
    """To the tolerance, each with all units."""
    if case.options.get("solver") or case.simulation().solver == "ldu":
        return False
    sims = []
    for solver in ("articulated", "ldu"):
        try:
            sims.append(case.simulation(solver=solver, islands=False))
        except OptionError:
            return False
    if drives_a_ball(case, sims[0]):
        return False  # which the solver of trees leaves to the other one
    sims.append(case.simulation(tolerance=EXACT, islands=False))
    for _ in range(4):
        for sim in sims:
            case.run(sim, STEPS // 4)
        near(*(sim.q for sim in sims), "the solvers")
    return True


def what_sleeps_was_at_rest(case: Case) -> bool:
    """Islands that sleep are where they would be without, and those that do not to the bit."""
    if case.options.get("lanes"):
        return False
    looks = 64  # steps
    sleepy, never, parts = (
        case.simulation(sleep=sleep)
        for sleep in (looks * case.timestep, None, looks * case.timestep)
    )
    for one in (sleepy, never):
        case.run(one, 3 * looks)
    for n in (looks, 7, 2 * looks - 7):
        case.run(parts, n)
    same(ends(parts), ends(sleepy), "a run in parts, some of which sleep")
    asleep = any(one.asleep for one in sleepy.islands)
    if not asleep and len(never.islands) > 1:
        same(ends(sleepy), ends(never), "with sleep, though nothing sleeps")
    off = np.abs(sleepy.state.x - never.state.x).max()
    assert off < (1e-3 if asleep else NEAR), f"sleep moves bodies by {off:.3g} m"
    return True


CHECKS = (
    memory_does_not_matter,
    copies_go_on_alike,
    a_start_is_a_fresh_one,
    runs_may_be_divided,
    what_is_far_does_not_matter,
    what_sleeps_was_at_rest,
    a_batch_is_its_simulations,
    a_batch_of_islands_is_its_simulations,
    states_in_lanes_move_alike,
    limbs_in_lanes_move_alike,
    both_solvers_move_alike,
)
