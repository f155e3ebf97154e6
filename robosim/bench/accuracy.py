"""Steps to an accuracy compared with fixed steps: the error of motions with impacts over CPU time.

MuJoCo runs with fixed steps, and Drake with CENIC, its integrator to an accuracy. Contacts of both
are compliant, so their errors are distances from their own limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.legged import above
from robosim.bench.measure import Contender, race, stepping
from robosim.bench.policies import DIVERGED, HELD, our_episodes, random_torques
from robosim.bench.report import OURS, Report, Row, Timing, colour_of, paired
from robosim.control.controllers import stand
from robosim.errors import PeerError
from robosim.measuring.error_curves import (
    ACCURACIES,
    STEP,
    USUAL,
    Line,
    cost,
    draw_errors,
    grid,
    motion_curves,
    targets_of,
)
from robosim.measuring.motions import Motion, Run, distance, motions, sliding, swinging
from robosim.measuring.motions import run as run_motion
from robosim.measuring.motions_of_peers import drake_runs, mujoco_runs
from robosim.measuring.target import Target
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
ERROR = "error [m]"
EXACT = 1e-4  # [s], of steps of order four that end where a smooth motion does
LEVELS = (1e-3, 1e-4)  # [m], at which times are compared
SLIDES = (1e-3, 5e-3, 2e-2)  # [s]
PEERS: dict[str, Callable[..., list[Run]]] = {"mujoco": mujoco_runs, "drake": drake_runs}
NAMES = {"mujoco": "MuJoCo", "drake": "Drake"}
STYLES = {
    "accuracy": "o-",
    "fixed steps": "s--",
    "Euler": "o-",
    "implicitfast": "^-.",
    "RK4": "v:",
    "CENIC": "o-",
}


def row_of(motion: Motion, found: Run, error: float, note: str = "") -> Row:
    """The row of a run of a motion."""
    times = tuple(1e6 * seconds for seconds in found.cpu)
    fixed = found.told not in ("accuracy", "CENIC")
    setting = f"{1e3 * found.setting:g} ms" if fixed else f"{found.setting:g}"
    return Row(
        found.who,
        f"{motion.name}: {found.told}, {setting}",
        Timing(times, times) if times else None,
        {ERROR: error},
        0,
        found.figures,
        note if times else "failed",
    )


def peer_rows(setup: Setup, motion: Motion, reference: Array) -> list[Row]:
    """All runs of the installed peers, with their errors against their own limits.

    A first row has the distance of a limit from the reference (4 nb, 3) of robosim.
    """
    rows = []
    for peer, runs in PEERS.items():
        if not setup.has(peer):
            continue
        try:
            limit, *others = runs(motion, setup.choose(3, 1), note=setup.note)
        except PeerError as error:
            rows.append(Row(NAMES[peer], motion.name, None, note=f"cannot: {error}"))
            continue
        away = {"distance from the reference [m]": distance(limit.points, reference)}
        told = f"{motion.name}: the limit, {limit.told} at {limit.setting:g}"
        rows.append(Row(NAMES[peer], told, None, away))
        rows += [row_of(motion, one, distance(one.points, limit.points)) for one in others]
    return rows


def solve(setup: Setup, motion: Motion) -> tuple[list[Row], list[Target]]:
    """All runs of a motion, and the targets that robosim has to meet."""
    found = motion_curves(motion, setup)
    rows = []
    for one in found.accurate:
        gain, reached = found.gain(one)
        more = "" if reached else "at least "
        note = f"fixed steps take {more}{gain:.3g} times as long for this error"
        rows.append(row_of(motion, one, found.error(one), note))
    rows += [row_of(motion, one, found.error(one)) for one in found.fixed]
    rows += peer_rows(setup, motion, found.reference)
    told = f"{motion.name}: its error is the distance of the finest fixed steps"
    times = level_times(lines_of(rows, motion))
    errors = {ERROR: found.doubt, "accuracy 1e-06, steps of 2 ms [m]": found.again}
    rows.insert(0, Row("reference", told, None, errors, 0, times))
    return rows, list(targets_of(found))


def slides(setup: Setup) -> tuple[list[Row], Target]:
    """A block that slides to rest, at several timesteps and accuracies."""
    motion, rows, worst = sliding(), [], 0.0
    for timestep in SLIDES:
        for accuracy in (1e-3, 1e-4, 1e-5, 1e-6):
            setup.note(f"{motion.name}: accuracy {accuracy:g}, {1e3 * timestep:g} ms")
            one = run_motion(motion, timestep, accuracy, 1)
            error = distance(one.points, motion.end())
            worst = max(worst, error / accuracy)
            row = row_of(motion, one, error)
            told = f"{row.told}, steps of {1e3 * timestep:g} ms"
            rows.append(Row(row.who, told, row.timing, row.errors, 0, row.figures, row.note))
    return rows, Target(f"{motion.name}: largest error over the accuracy", worst, 1.0)


def orders(setup: Setup) -> tuple[list[Row], list[Target]]:
    """A motion without contacts, to accuracies by parts of order two and of order four."""
    motion, rows, found = swinging(), [], {}
    end = run_motion(motion, EXACT, None, 1, order=4).points
    for accuracy in setup.choose(ACCURACIES, (1e-2, 1e-4)):
        for order in (2, 4):
            setup.note(f"{motion.name}: accuracy {accuracy:g}, order {order}")
            one = run_motion(motion, STEP, accuracy, setup.choose(3, 1), order)
            row = row_of(motion, one, distance(one.points, end))
            told = f"{row.told}, order {order}"
            rows.append(Row(row.who, told, row.timing, row.errors, 0, row.figures, row.note))
            found[accuracy, order] = one.least
    least = min(accuracy for accuracy, _ in found)
    told = f"{motion.name}: CPU time with order four / that with order two, accuracy {least:g}"
    return rows, [Target(told, found[least, 4] / found[least, 2], 1.0)]


def standing(setup: Setup) -> tuple[list[Row], list[Target]]:
    """The A1 that stands for 10 s, to an accuracy and with fixed steps of 1 ms."""
    robot, seconds = robosim.load("a1"), setup.choose(10.0, 1.0)
    field = []
    for timestep, accuracy in ((1e-3, None), (1e-2, USUAL), (1e-3, USUAL)):
        setup.note(f"A1 standing, {accuracy}, {1e3 * timestep:g} ms")
        sim = Simulation(robot, timestep, accuracy=accuracy)
        sim.place(gap=1e-4)
        q = sim.q.copy()
        steps = round(seconds / timestep)
        how = "fixed steps" if accuracy is None else f"accuracy {accuracy:g}, steps"
        told = f"A1 standing for {seconds:g} s: {how} of {1e3 * timestep:g} ms"
        go = stepping(sim, stand(robot, implicit=True), steps)

        def start(sim: Simulation = sim, q: Array = q) -> None:
            sim.set_state(q)

        # One "step" is the whole run, as of all other rows.
        field.append(Contender(OURS, told, 1, go, start))
    fixed, *others = race(field, setup.choose(5, 2))
    targets = [
        Target(f"{row.told}: CPU time / that of fixed steps of 1 ms",
               paired(row.timing.cpu, fixed.timing.cpu) if row.timing and fixed.timing
               else float("nan"), 1.0)
        for row in others
    ]  # fmt: skip
    return [fixed, *others], targets


def at_random(setup: Setup) -> tuple[list[Row], list[Target]]:
    """The A1 under random torques, with fixed steps and to an accuracy."""
    robot = robosim.load("a1")
    q = above(robot, np.array(robot.home), 0.0)
    episodes, seconds = setup.choose((3, 2.0), (1, 0.5))
    rows, targets = [], []
    for timestep in (2e-3, 5e-3):
        held = round(seconds / timestep / HELD)
        tables = [random_torques(robot, held, seed) for seed in range(episodes)]
        for accuracy in (None, USUAL):
            how = "fixed steps" if accuracy is None else f"accuracy {accuracy:g}, steps"
            told = f"A1 under random torques: {how} of {1e3 * timestep:g} ms"
            setup.note(told)
            one = our_episodes(robot, q, tables, timestep, 0, accuracy)
            (row,) = race([Contender(OURS, told, 1, one.run, figures=one.figures)], 1)
            rows.append(row)
            if accuracy is not None:
                targets.append(Target(f"{told}: {DIVERGED}", one.figures[DIVERGED], 0.0))
    return rows, targets


def run_accuracy(setup: Setup) -> Report:
    """Error over CPU time for all motions, the slide, both orders, the A1 that stands or flails."""
    rows: list[Row] = list(setup.missing("mujoco", "drake"))
    targets: list[Target] = []
    chosen = (*motions(), sliding())[setup.choose(slice(None), slice(3, 5))]
    for motion in chosen:
        more, reached = solve(setup, motion)
        rows += more
        targets += reached
    more, slid = slides(setup)
    rows, targets = rows + more, [*targets, slid]
    for of in (orders, standing, at_random):
        more, reached = of(setup)
        rows, targets = rows + more, targets + reached

    def draw(figure: Figure) -> None:
        for axes, motion in zip(grid(figure, len(chosen)), chosen, strict=True):
            lost = [f"no {row.who}" for row in rows if row.told == motion.name and not row.timing]
            title = "\n".join((f"{motion.name}, {motion.seconds:g} s", ", ".join(lost)))
            draw_errors(axes, title, list(lines_of(rows, motion).values()))

    return Report(tuple(rows), tuple(targets), "", draw)


def lines_of(rows: Sequence[Row], motion: Motion) -> dict[tuple[str, str], Line]:
    """Error and CPU time of all runs of a motion, by simulator and by what its settings are of."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows:
        who, name, *rest = row.who, *row.told.removeprefix(f"{motion.name}: ").split(", ")
        if row.timing and row.told.startswith(f"{motion.name}: ") and len(rest) == 1:
            found.setdefault((who, name), []).append((row.errors[ERROR], 1e-6 * row.timing.median))
    return {
        (who, name): Line(f"{who}, {name}", STYLES[name], colour_of(who), runs)
        for (who, name), runs in found.items()
    }


def level_times(lines: dict[tuple[str, str], Line]) -> dict[str, float]:
    """CPU time [ms] for each error of `LEVELS`, of those that are so accurate."""
    found = {}
    for level in LEVELS:
        for line in lines.values():
            seconds, reached = cost(line.runs, level)
            if reached:
                found[f"{line.label}: ms for {level:g} m"] = 1e3 * seconds
    return found


CASES = (
    Case(
        "accuracy",
        "steps to an accuracy: errors of motions with impacts over CPU time",
        ("mujoco", "drake"),
        run_accuracy,
    ),
)
