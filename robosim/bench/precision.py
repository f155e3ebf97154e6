"""Work-precision diagrams: the error at the end of a run over its CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robosim.bench.case import Case, Setup
from robosim.bench.legged import a1, above
from robosim.bench.measure import mujoco_run, rollout
from robosim.bench.report import OURS, Report, Row, Timing, colour_of
from robosim.control.controllers import PD, trot
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.measuring.starts import OPENING, TILT
from robosim.measuring.target import Target
from robosim.models.builders import double_pendulum, segments
from robosim.peers.mujoco_run import Settings
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
INTEGRATORS = ("Euler", "implicit", "implicitfast", "RK4")
LEVELS = (1e-2, 1e-3, 1e-4, 1e-5)
STYLES = {"order 2": "o-", "order 4": "s--", "Euler": "o-", "implicit": "v:", "implicitfast": "^-."}


@dataclass(frozen=True)
class Problem:
    """A motion whose end state is computed.

    Attributes
    ----------
    name : str
    robot : Mechanism
    q : (nq,)
    seconds : float
    steps : tuple of float
        Timesteps [s].
    finest : float
        Timestep of the reference [s].
    pd : PD or None
    order : int
        Of the reference.
    """

    name: str
    robot: Mechanism
    q: Array
    seconds: float
    steps: tuple[float, ...]
    finest: float
    pd: PD | None = None
    order: int = 4


@dataclass(frozen=True)
class Point:
    """One run: simulator, settings, and final centres of mass, (nb, 3) [m]."""

    who: str
    told: str
    timestep: float
    timing: Timing | None
    x: Array


def timed(run: Callable[[], object], prepare: Callable[[], object], repetitions: int) -> Timing:
    """Times of a whole run [us]."""
    pairs = []
    for _ in range(repetitions):
        prepare()
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        pairs.append(((time.process_time() - cpu) * 1e6, (time.perf_counter() - wall) * 1e6))
    cpus, walls = zip(*pairs, strict=True)
    return Timing(cpus, walls)


def our_point(problem: Problem, dt: float, order: int, repetitions: int, tight: bool) -> Point:
    """A run of robosim; `tight` for a reference."""
    # Order two takes over where order four cannot meet a tolerance near rounding.
    tolerance = 1e-10 if tight and order == 4 else 1e-8
    sim = Simulation(problem.robot, timestep=dt, order=order, tolerance=tolerance)
    n = round(problem.seconds / dt)

    def run() -> None:
        for _ in sim.stream(n * dt, problem.pd, chunk_steps=n, every=n):
            pass

    try:
        timing = timed(run, lambda: sim.set_state(problem.q), repetitions)
    except ConvergenceError:
        return Point(
            OURS, f"order {order}", dt, None, np.full((len(problem.robot.bodies), 3), np.nan)
        )
    return Point(OURS, f"order {order}", dt, timing, sim.state.x.copy())


def mujoco_point(problem: Problem, dt: float, integrator: str, repetitions: int) -> Point:
    """A run of MuJoCo; contacts and loops are as stiff as is stable at that time step."""
    from mujoco import mj_kinematics

    constrained = problem.robot.contacts or problem.robot.loop_joints
    soft = (2 * dt, 1.0) if constrained else None
    solimp = (0.9999, 0.9999, 0.001) if constrained else None
    settings = Settings(integrator, soft, solimp)
    peer = mujoco_run(problem.robot, dt, settings, problem.pd)
    n = round(problem.seconds / dt)
    run: Callable[[], object] = lambda: peer.step(n)  # noqa: E731
    peer.set_state(problem.q)
    if problem.pd is not None:
        run = rollout(peer.model, peer.data, problem.pd.targets(dt * np.arange(n)))
    timing = timed(run, lambda: peer.set_state(problem.q), repetitions)
    mj_kinematics(peer.model, peer.data)
    ids = [peer.model.body(body.name).id for body in problem.robot.bodies]
    x = np.array(peer.data.xipos[ids])
    return Point("MuJoCo", integrator, dt, None if peer.failed_at else timing, x)


def errors_of(points: list[Point], exact: Array, scale: float) -> list[float]:
    """Largest position error of a body, over the largest displacement of a body."""
    return [float(np.linalg.norm(p.x - exact, axis=1).max() / scale) for p in points]


def solve(setup: Setup, problem: Problem) -> tuple[list[Row], list[Target]]:
    """All runs of a problem, and the targets that robosim has to meet."""
    setup.note(f"{problem.name}: reference")
    finest = problem.finest * (setup.choose(1, 4) if problem.order == 2 else 1)
    reference = our_point(problem, finest, problem.order, 1, True)
    check = our_point(problem, 2 * finest, problem.order, 1, True)
    start = Simulation(problem.robot)
    start.set_state(problem.q)
    scale = float(np.linalg.norm(reference.x - start.state.x, axis=1).max())
    (sure,) = errors_of([check], reference.x, scale)
    points: list[Point] = []
    steps = problem.steps[:: setup.choose(1, 3)]
    repetitions = setup.choose(3, 1)
    # With feet on the ground, time steps are of order two for any `order`.
    for order in (2, 4) if problem.order == 4 else (2,):
        for dt in steps:
            setup.note(f"{problem.name}: order {order}, {1e3 * dt:g} ms")
            points.append(our_point(problem, dt, order, repetitions, False))
    told = f"{problem.name}: the reference differs by {sure:.1e} from a run at twice its step"
    if setup.has("mujoco"):
        setup.note(f"{problem.name}: MuJoCo")
        fine = mujoco_point(problem, finest, "RK4", 1)
        (away,) = errors_of([fine], reference.x, scale)
        told += f"; MuJoCo's RK4 at {1e3 * finest:g} ms differs by {away:.1e}"
        points += [
            mujoco_point(problem, dt, integrator, repetitions)
            for integrator in INTEGRATORS
            for dt in steps
        ]
    rows = [
        Row(
            point.who,
            f"{problem.name}: {point.told}, {1e3 * point.timestep:.4g} ms",
            point.timing,
            {"error": error},
            0,
            {"timestep": point.timestep},
            "" if point.timing else "failed",
        )
        for point, error in zip(points, errors_of(points, reference.x, scale), strict=True)
    ]
    rows.insert(0, Row("reference", told, None, {"error": sure}))
    targets = []
    for level in LEVELS:
        best = {who: cheapest(rows, who, level) for who in (OURS, "MuJoCo")}
        if np.isfinite(best[OURS]) and np.isfinite(best["MuJoCo"]):
            what = f"{problem.name}: robosim's CPU time / MuJoCo's for an error below {level:g}"
            targets.append(Target(what, best[OURS] / best["MuJoCo"], 1.0))
        elif np.isfinite(best["MuJoCo"]) or (level == LEVELS[0] and not np.isfinite(best[OURS])):
            targets.append(Target(f"{problem.name}: robosim's error", best[OURS], level))
    return rows, targets


def cheapest(rows: list[Row], who: str, level: float) -> float:
    """Least CPU time [us] of the runs whose error is below a level; inf if there is none."""
    return min(
        (
            row.timing.median
            for row in rows
            if row.who == who and row.timing and row.errors["error"] <= level
        ),
        default=float("inf"),
    )


def problems() -> tuple[Problem, ...]:
    """The double pendulum, ten four-link segments, the trotting A1.

    The A1 begins in its gait's first pose with two feet on the ground. When the other two land,
    after 0.075 s, the first foot slips. Both the motion before, and that over 2 s, are measured.
    """
    halving = tuple(0.04 / 2**k for k in range(8))
    pendulum, loops = double_pendulum(), segments(10, OPENING, TILT)
    robot = a1(friction=0.8)
    pd = trot(robot, blend=0.0)
    q = np.array(robot.home)
    q[7:] = pd.targets(np.zeros(1))[0]
    q = above(robot, q, 0.0)
    steps = tuple(2e-3 / 2**k for k in range(6))
    return (
        Problem("double pendulum", pendulum, np.array([np.pi / 2, np.pi / 4]), 2.0, halving, 1e-3),
        Problem("segments", loops, np.array(loops.home), 1.0, halving[1:], 1e-3),
        Problem("trot to the first slip", robot, q, 0.07, steps, 1e-5, pd, 2),
        Problem("trot", robot, q, 2.0, steps, 1e-5, pd, 2),
    )


def run_precision(setup: Setup) -> Report:
    """Error at the end over CPU time, robosim of order 2 and 4 beside MuJoCo's integrators."""
    rows: list[Row] = list(setup.missing("mujoco"))
    targets: list[Target] = []
    found = problems()
    for problem in found:
        more, reached = solve(setup, problem)
        rows += more
        targets += reached

    def draw(figure: Figure) -> None:
        figure.set_size_inches(5.2 * len(found), 4.8)
        for axes, problem in zip(figure.subplots(1, len(found)), found, strict=True):
            _draw(axes, problem, rows, targets)

    return Report(tuple(rows), tuple(targets), "", draw)


def _draw(axes: Axes, problem: Problem, rows: list[Row], targets: list[Target]) -> None:
    """Error over CPU time of one problem."""
    mine = [row for row in rows if row.told.startswith(f"{problem.name}: ") and row.timing]
    curves = dict.fromkeys((row.who, row.told.split(": ")[1].split(",")[0]) for row in mine)
    for who, name in curves:
        points = [
            (row.timing.median * 1e-3, row.errors["error"])
            for row in mine
            if row.timing and row.who == who and row.told.startswith(f"{problem.name}: {name},")
        ]
        axes.loglog(
            *zip(*points, strict=True),
            STYLES.get(name, "s--"),
            color=colour_of(who),
            alpha=0.9 if who == OURS else 0.6,
            label=f"{who}, {name}",
            markersize=4,
        )
    axes.axhline(0.01, color="grey", lw=0.7)
    missed = [t.what.split(": ")[1] for t in targets if not t.reached and problem.name in t.what]
    verdict = "robosim is faster at errors below 1 %" if not missed else f"missed: {missed[0]}"
    axes.set(xlabel="CPU time of the run [ms]", ylabel="error at the end")
    axes.set_title(f"{problem.name}, {problem.seconds:g} s\n{verdict}", fontsize=8)
    axes.grid(alpha=0.25, which="both", linewidth=0.5)
    axes.legend(fontsize=6)


CASES = (
    Case(
        "precision",
        "error over CPU time: double pendulum, trotting A1, ten four-link segments",
        ("mujoco",),
        run_precision,
    ),
)
