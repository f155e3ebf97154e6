"""What a step promises of itself: its order, and its derivatives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from robosim import ConvergenceError, RobosimError, Simulation, linearize
from robosim.derivatives import Linearization

from ..builder import Array, Case, hold

SECONDS = 0.04
Kind = tuple[int, int]  # order and number of parts of a step
STEP = 1e-6
ACCURACY = 1e-3  # [m]
TIGHT = 1e-10  # tolerance [m/s] that loops still reach


def end_of(case: Case, timestep: float) -> tuple[Array, int]:
    """q after a while, and the order that the steps claim."""
    sim = case.simulation(timestep=timestep, tolerance=TIGHT)
    case.run(sim, round(SECONDS / timestep))
    return sim.q, 4 if sim.fourth_order_steps == sim.steps else 2


def halves_agree(case: Case) -> bool:
    """Errors fall with the order that steps claim, in smooth motions.

    By one of two halvings, as errors of opposite signs may nearly cancel. A third of the gain may
    be missing, and what rounding leaves.
    """
    dt, twin = SECONDS / 20, case.twin("smooth")
    if twin.robot.nv == 0:
        return False
    try:
        runs = [end_of(twin, dt / 2**k) for k in range(4)]
    except ConvergenceError:
        return False  # rounding does not let it be as tight
    order = runs[0][1]
    off = [float(np.abs(a[0] - b[0]).max()) for a, b in pairwise(runs)]
    least = min(b / (a + 1e-300) for a, b in pairwise(off))
    assert least < 2 ** (0.6 - order) or off[2] < 1e-8, (
        f"halving the timestep brings errors from {off[0]:.3g} to {off[1]:.3g} and {off[2]:.3g}, "
        f"and the order is said to be {order}"
    )
    return True


def derivatives_are_those_of_the_step(case: Case) -> bool:
    """`linearize` beside central differences of `Simulation.step`, or an error that names a part.

    Without contacts in the equations: by all coordinates, velocities and torques, to 1e-4. Not
    where steps of order four begin to be taken as ones of order two, or some are divided by
    rounding, which are others. Nor where loops are singular, so that differences depend on how
    small they are.
    """
    if case.driven or case.controls:
        return False
    try:
        found, expected, kinds = both(case, 1e-12)
    except ConvergenceError:
        return is_refused(case, TIGHT)  # rounding does not let it be as tight
    except RobosimError as error:
        return names_a_part(case, error)
    if expected is None or len(kinds) > 1:
        return False
    off = distances(np.hstack((found.A, found.B)), expected)
    k = int(np.argmax(off))
    if off[k] >= 1e-4 and case.robot.loop_joints:
        finer = both(case, 1e-12, 0.1 * STEP)[1]
        if finer is None or distances(finer, expected).max() > 1e-2:
            return False
    assert off[k] < 1e-4, f"column {k} of the derivatives is off by {off[k]:.3g}"
    return True


def distances(matrix: Array, expected: Array) -> Array:
    """How far columns are off, over their size."""
    off = np.abs(matrix - expected).max(axis=0)
    return off / np.maximum(np.abs(expected).max(axis=0), 1e-2)


def is_refused(case: Case, tolerance: float) -> bool:
    """Whether derivatives are refused, with the name of what they cannot follow."""
    try:
        both(case, tolerance)
    except ConvergenceError:
        raise
    except RobosimError as error:
        return names_a_part(case, error)
    return False


def names_a_part(case: Case, error: RobosimError) -> bool:
    """That an error names what derivatives cannot follow."""
    parts = [*case.robot.joints, *case.robot.bodies, *case.robot.soft_meshes]
    hold(any(part.name in str(error) for part in parts), f"names nothing: {error}")
    return True


def both(
    case: Case, tolerance: float, size: float = STEP
) -> tuple[Linearization, Array | None, set[Kind]]:
    """A step after a few others to first order, and by differences unless contacts are near."""
    sim = case.simulation(tolerance=tolerance, restitution_threshold=1e3)
    case.run(sim, 5)
    sim.set_state(sim.q, sim.v, time=sim.time)
    found = linearize(sim)
    if found.margin < 1e3 * STEP or found.contacts:
        return found, None, set()
    return found, *differences(case, sim, size)


def differences(case: Case, sim: Simulation, size: float) -> tuple[Array, set[Kind]]:
    """(2 nv, 2 nv + nu) by central differences of steps from starts, and their orders and parts.

    Coordinates are changed by `size`, velocities and torques by a hundred times that.
    """
    robot, nv, tangent, other = case.robot, case.robot.nv, sim.dynamics, sim.copy()
    columns, kinds = [], set()
    for k in range(2 * nv + robot.nu):
        pair, step = [], size if k < nv else 100 * size
        for side in (-step, step):
            change = np.zeros(2 * nv + robot.nu)
            change[k] = side
            q = tangent.integrate(sim.q, change[:nv])
            other.set_state(q, sim.v + change[nv : 2 * nv], time=sim.time)
            info = other.step(change[2 * nv :])
            kinds.add((info.order, info.substeps))
            pair.append((other.q, other.v))
        (q0, v0), (q1, v1) = pair
        columns.append(np.concatenate((tangent.difference(q0, q1), v1 - v0)) / (2 * step))
    return np.array(columns).T, kinds


def an_accuracy_is_kept(case: Case) -> bool:
    """Steps that are as short as an accuracy asks for; and their errors, in smooth motions.

    Runs of one step each come to the same bits, as do runs that are divided between rows of their
    log; copies go on alike, and no energy comes from nothing, however seldom is logged.
    """
    if case.options.get("lanes"):
        return False
    sim = case.simulation(accuracy=ACCURACY)
    begin, twin = sim.energy(), case.simulation(accuracy=ACCURACY)
    case.run(sim, 10)
    for _ in range(10):
        case.run(twin, 1)
    hold(sim.q.tobytes() == twin.q.tobytes(), "one step after another comes to other bits")
    other = sim.copy()
    case.follow(other, sim)
    for one in (sim, other):
        case.run(one, 5)
    hold(sim.q.tobytes() == other.q.tobytes(), "a copy goes on differently")
    seldom, parts = (case.simulation(accuracy=ACCURACY) for _ in range(2))
    case.run(seldom, 15, every=5)
    for n in (5, 10):
        case.run(parts, n, every=5)
    hold(seldom.q.tobytes() == parts.q.tobytes(), "a run in parts comes to other bits")
    most = 1e-2 * 9.81 * 0.1 * case.robot.total_mass
    for one in (sim, seldom):
        gained = one.energy() - begin
        hold(bool(case.motors) or gained < most, f"{gained:.3g} J come from nothing")
    smooth, ends = case.twin("smooth"), []
    for accuracy, every in ((0.01 * ACCURACY, 1), (ACCURACY, 1), (ACCURACY, 10)):
        sim = smooth.simulation(accuracy=accuracy)
        smooth.run(sim, round(SECONDS / sim.timestep), every=every)
        ends.append(np.array(sim.state.x))
    for end in ends[1:]:
        off = np.linalg.norm(end - ends[0], axis=1).max()
        hold(off < 5.0 * ACCURACY * SECONDS, f"positions are off by {off:.3g} m")
    return True


CHECKS = (halves_agree, an_accuracy_is_kept)
SLOW = (derivatives_are_those_of_the_step,)
