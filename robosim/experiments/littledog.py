"""A quadruped walks over two gaps [Fan2018, Section 6.2]."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.tracking import followed, follower, targets_of
from robosim.kinematics.kinematics import Kinematics
from robosim.measuring.target import Target
from robosim.models import builders
from robosim.models.builders.littledog import RADIUS
from robosim.simulation import Simulation
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robosim.log import Log
    from robosim.optimize import Problem, Trajectory
    from robosim.optimize.moments import Moment
    from robosim.viz import Recorder

STRIDE, SWING = 0.125, 0.125  # length [m] and time [s] of a foot's step: four of them make 0.25 m/s
GAPS = (0.09, 0.16), (0.34, 0.41)  # m, intervals along x
EDGE, ROLLED = 0.02, 0.01  # m, of a foot's centre from an edge: at landings, and after rolling
ORDER = "front_right", "back_left", "front_left", "back_right"  # order of the swings
LIFT, CLEAR = 0.03, 0.01  # m, height of feet: of smooth swings, and the smallest one in a swing
FRICTION = 0.6  # of the plan; 0.8 in the simulation
BEND = 0.01  # m, largest change of the body's height, as straight legs cannot be controlled
# Weights of the cost, relative to 1 (N m)^2: joint rates, rotation and lateral position of the
# body, and deviation of feet from a smooth swing.
RATES, UPRIGHT, STRAYING = 1e-3, 1.0, 1.0
THICK, GROUND = 0.1, (0.6, 0.55, 0.5, 1.0)  # thickness [m] and colour of the terrain
# Weights of LQR: body pose, joints, the rates of both; then torques; factor of the final state.
WEIGHTS = (*[1e4] * 3, *[1e3] * 3, *[100.0] * 12, *[10.0] * 3, *[1.0] * 3, *[3e-3] * 12)
PUSHES, AT_END, SMOOTH = 1.0, 10.0, 3e-2
CHECK, NEAR = 0.05, 0.02  # [s] between checks, and [m] of the body from the plan at most
MOST = 1.5  # N m, largest torque of the feedback
STEP = 1e-3  # time step of the simulation [s]


class Task(NamedTuple):
    """Parameters of the task."""

    cycles: int  # of four swings
    per_swing: int  # time steps of the plan
    tracked: bool

    @property
    def seconds(self) -> float:
        """Duration of all swings."""
        return 4 * self.cycles * SWING

    @property
    def distance(self) -> float:
        """Distance of the body [m]."""
        return self.cycles * STRIDE


FULL = Task(4, 4, True)
QUICK = Task(1, 1, False)


def lifts(leg: str, task: Task) -> list[float]:
    """Times at which a foot leaves the ground [s]."""
    return [(4 * cycle + ORDER.index(leg)) * SWING for cycle in range(task.cycles)]


def stances(leg: str, task: Task) -> list[tuple[float, float]]:
    """Intervals in which a foot is on the ground [s]."""
    begins = [-SWING, *(t + SWING for t in lifts(leg, task))]
    ends = [*lifts(leg, task), task.seconds + SWING]
    return [(a, b) for a, b in zip(begins, ends, strict=True) if b > 0]


def done(leg: str, t: Any, task: Task) -> list[Any]:
    """Completed fraction of each swing of a foot at a time [s], 0 to 1; also for expressions."""
    parts = [(t - lift) / SWING for lift in lifts(leg, task)]
    return [0.5 * (1.0 + abs(part) - abs(part - 1.0)) for part in parts]


def foot_at(robot: Mechanism, leg: str, t: float, task: Task) -> Array:
    """Initial guess of a foot's centre (3,) [m]: swings from rest to rest."""
    start = centre(robot, Kinematics(robot, np.asarray(robot.home)), leg)
    ahead, up = 0.0, 0.0
    for s in done(leg, t, task):
        ahead += STRIDE * s**2 * (3.0 - 2.0 * s)
        up += LIFT * 16.0 * s**2 * (1.0 - s) ** 2
    return np.asarray(start + np.array((ahead, 0.0, up)))


def straying(leg: str, foot: Array, task: Task, at: Moment) -> Any:
    """Cost of the difference of a foot's velocity from that of `foot_at` [m^2/s^2]."""
    ahead: Any = 0.0
    up: Any = 0.0
    for s in done(leg, at.t, task):
        ahead += STRIDE / SWING * 6.0 * s * (1.0 - s)
        up += LIFT / SWING * 32.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
    v = at.velocity(f"{leg}_lower_leg", foot)
    return STRAYING * ((v[0] - ahead) ** 2 + v[1] ** 2 + (v[2] - up) ** 2)


def centre(robot: Mechanism, at: Kinematics, leg: str) -> Array:
    """Centre of a foot (3,) [m]."""
    contact = next(one for one in robot.contacts if one.name == f"{leg}_foot")
    b = robot.body_index(contact.body)
    return np.asarray(at.x[b] + at.R[b] @ np.asarray(contact.position))


def guess_of(robot: Mechanism, task: Task, rows: int) -> Array:
    """Initial guess of q (rows, nq): the body at a constant speed, and feet at `foot_at`."""
    found = []
    for t in np.linspace(0.0, task.seconds, rows):
        body = np.array(robot.home)[:7]
        body[0] += STRIDE / (4 * SWING) * t
        legs = [
            builders.littledog_leg(leg, foot_at(robot, leg, t, task) - body[:3])
            for leg in builders.DOG_LEGS
        ]
        found.append(np.concatenate((body, *legs)))
    return np.array(found)


def problem_of(robot: Mechanism, task: Task) -> tuple[Problem, Array]:
    """The problem, with a schedule of contacts and free footholds on the platforms; and a guess."""
    from robosim.optimize import Problem

    steps = 4 * task.cycles * task.per_swing
    problem = Problem(robot, task.seconds, steps)
    begin, end = np.full(robot.nq, np.nan), np.full(robot.nq, np.nan)
    begin[0], end[0] = 0.0, task.distance
    rest = np.zeros(robot.nv)
    problem.start(begin, rest).end(end, rest)
    for leg in builders.DOG_LEGS:
        problem.contact(f"{leg}_foot", friction=FRICTION, during=stances(leg, task))
        name = f"{leg}_lower_leg"
        contact = next(one for one in robot.contacts if one.name == f"{leg}_foot")
        foot = partial(place_of, name, np.asarray(contact.position))
        first = foot_at(robot, leg, 0.0, task)
        problem.constrain(foot, first, first, at="start", name="feet at first")
        for landing in (begin for begin, _ in stances(leg, task) if begin > 0):
            low, high = platform(float(foot_at(robot, leg, landing, task)[0]))
            lower = np.array((low + EDGE, -np.inf, RADIUS))
            upper = np.array((high - EDGE, np.inf, RADIUS))
            problem.constrain(foot, lower, upper, at=landing, name="footholds")
            for k in range(1, task.per_swing):  # above the edges of the gaps
                when = landing - SWING * k / task.per_swing
                clear = np.array((-np.inf, -np.inf, RADIUS + CLEAR))
                problem.constrain(foot, clear, np.full(3, np.inf), at=when, name="feet in the air")
            if landing < task.seconds:
                still = partial(speed_of, name, np.asarray(contact.position))
                problem.constrain(still, at=landing, name="feet land at rest")
        stray = partial(straying, leg, np.asarray(contact.position), task)
        problem.cost(stray, name=f"swings of {leg}")
    problem.cost(lambda at: sum(at.u[i] ** 2 for i in range(robot.nu)), name="effort")
    problem.cost(lambda at: RATES * sum(at.v[i] ** 2 for i in range(6, robot.nv)), name="rates")
    level = float(np.asarray(robot.home)[2])
    problem.constrain(lambda at: at.q[2], level - BEND, level + BEND, name="height of the body")
    problem.cost(lambda at: UPRIGHT * sum(at.q[i] ** 2 for i in (1, 4, 5, 6)), name="upright")
    return problem, guess_of(robot, task, 2 * steps + 1)


def place_of(name: str, offset: Array, at: Moment) -> Any:
    """A point of a body, as an expression."""
    return at.position(name, offset)


def speed_of(name: str, offset: Array, at: Moment) -> Any:
    """The velocity of a point of a body, as an expression."""
    return at.velocity(name, offset)


def platform(x: float) -> tuple[float, float]:
    """Interval in which the ground is horizontal around a place [m]."""
    edges = np.array([-np.inf, *np.ravel(GAPS), np.inf])
    k = int(np.searchsorted(edges, x)) - 1
    if k % 2:
        raise ValueError(f"{x:.3g} m is in a gap")
    return float(edges[k]), float(edges[k + 1])


def terrain() -> tuple[Geometry, ...]:
    """Boxes with a horizontal top, with the gaps between them."""
    edges = np.array([-1.0, *np.ravel(GAPS), 2.0])
    found = []
    for k in range(0, len(edges), 2):
        low, high = edges[k : k + 2]
        size, place = (high - low, 1.0, THICK), ((low + high) / 2, 0.0, -THICK / 2)
        found.append(Geometry("box", size, place, rgba=GROUND, name=f"ground{k // 2}"))
    return tuple(found)


class Measured(NamedTuple):
    """Quantities of a plan, computed from its points and forces alone."""

    gap: float  # smallest of all feet [m]
    complementarity: float  # largest product of a force over the weight and a gap [m]
    cone: float  # largest distance of a force from its friction cone, over the weight
    edge: float  # smallest distance from a gap to a foot with a contact force [m]


def measured(robot: Mechanism, plan: Trajectory) -> Measured:
    """Evaluate the feet at all control points, and the forces there.

    A force acts over a part of a step, and complements the gap at the point that the part leads to.
    """
    weight = 9.81 * robot.total_mass
    places = [Kinematics(robot, q) for q in plan.points]
    gaps, products, cones, edges = [], [], [], []
    for leg in builders.DOG_LEGS:
        contact = next(one for one in robot.contacts if one.name == f"{leg}_foot")
        feet = np.array([centre(robot, at, leg) for at in places])
        gap, force = feet[:, 2] - contact.radius, plan.forces[contact.name]
        gaps.append(gap.min())
        products.append((force[:-1, 2] * np.abs(gap[1:])).max() / weight)
        slip = np.linalg.norm(force[:, :2], axis=1) - contact.friction * force[:, 2]
        cones.append(max(slip.max(), -force[:, 2].min()) / weight)
        pushed = feet[1:][force[:-1, 2] > 1e-6 * weight]
        for low, high in GAPS:
            edges.append(np.maximum(low - pushed[:, 0], pushed[:, 0] - high).min())
    return Measured(*(float(x) for x in (min(gaps), max(products), max(cones), min(edges))))


def tracked(plan: Trajectory) -> Log:
    """Simulate tracking of the plan by LQR, over the gaps, with hard contacts.

    The log ends at the last check before the body is further than `NEAR` from the plan.
    """
    robot = plan.robot.with_contacts(obstacles=terrain(), ground=False)
    sim, Q = Simulation(robot, STEP), np.array(WEIGHTS)
    smooth = replace(plan, smooth=True)  # as feet land at rest
    follow = follower(smooth, sim, Q, PUSHES, AT_END * Q, SMOOTH, MOST)
    sim.set_state(plan.q[0], plan.v[0])
    end, until = float(plan.t[-1]), 0.0
    while until < end - 0.5 * CHECK:
        try:
            sim.run(CHECK, follow)
        except ConvergenceError:
            break
        away = sim.q[:3] - smooth.sample([sim.time])[0][0, :3]
        if np.linalg.norm(away) > NEAR:
            break
        until += CHECK
    return followed(plan, sim, follow, max(until, CHECK))


def run_littledog(setup: Setup) -> Result:
    """Make a plan, check the plan, and track it in a simulation."""
    task = setup.choose(FULL, QUICK)
    robot = builders.littledog()
    begin = time.perf_counter()
    problem, guess = problem_of(robot, task)
    setup.note(f"planning {task.seconds:g} s")
    plan = problem.solve(guess)
    took = time.perf_counter() - begin
    of = measured(robot, plan)
    way = plan.q[-1, 0] - plan.q[0, 0]
    ours: dict[str, Any] = {
        "status": plan.status, "iterations": plan.iterations, "cost": plan.cost,
        "plan_seconds": took, "violation": dict(plan.violation), **of._asdict(),
        "unknowns": problem.unknowns, "equations": problem.equations,
        "mean_speed": float(way) / task.seconds, "torque": float(np.abs(plan.u).max()),
    }  # fmt: skip
    targets = [
        *targets_of(plan, took),
        Target("depth of feet below the ground", -of.gap, 1e-4, "m"),
        Target("forces over the weight, times gaps", of.complementarity, 1e-6, "m"),
        Target("forces beyond their cones, over the weight", of.cone, 1e-6),
        Target("distance of pushing feet from the gaps", of.edge, ROLLED, "m", at_least=True),
        Target("mean speed", ours["mean_speed"], 0.249, "m/s", at_least=True),
    ]
    log = plan.log(STEP)
    said = ""
    if task.tracked:
        setup.note("tracking the plan")
        log = tracked(plan)
        away = log.q - plan.sample(log.t)[0]
        missed, until = np.linalg.norm(away[:, :3], axis=1), float(log.t[-1])
        ours |= {
            "followed_seconds": until, "end_error": float(missed[-1]),
            "largest_error": float(missed.max()),
            "torque_tracked": float(np.abs(log.tau).max()),
        }  # fmt: skip
        whole = Target("time that LQR keeps the body within 2 cm", until, task.seconds - CHECK, "s")
        targets.append(replace(whole, at_least=True))
        said = (
            f" LQR keeps the body within {1e3 * missed.max():.1f} mm of the plan for {until:.2f} s."
        )
    gaps = f" over two gaps of {1e2 * (GAPS[0][1] - GAPS[0][0]):.0f} cm" if task.cycles > 3 else ""
    sentence = (
        f"The quadruped walks {way:.3g} m{gaps} at {ours['mean_speed']:.3g} m/s. IPOPT finds the "
        f"motion in {plan.iterations} iterations and {took:.0f} s.{said}"
    )
    parameters = {
        **task._asdict(), "stride": STRIDE, "swing": SWING, "gaps": GAPS, "friction": FRICTION,
        "weights": WEIGHTS, "effort": PUSHES, "contact_speed": SMOOTH, "timestep": STEP,
        "most_torque": MOST,
    }  # fmt: skip

    def record() -> Recorder:
        from robosim.viz.playback import recording

        shown = robot.with_contacts(obstacles=terrain(), ground=False)
        return recording(log, shown, others=[("plan", plan.log(STEP))] if task.tracked else [])

    return Result(
        parameters, ours, {}, tuple(targets), sentence, partial(draw_littledog, plan, log), record
    )


def draw_littledog(plan: Trajectory, log: Log, figure: Figure) -> None:
    """Plot the positions of the feet, and the tracking error of the simulation."""
    ((feet, errors),) = panels(figure, 1, 2, 6.0)
    robot, colours = plan.robot, (COLOURS["ours"], *OTHERS)
    for low, high in GAPS:
        feet.axvspan(low, high, color="0.85")
    places = [Kinematics(robot, q) for q in plan.points]
    for k, leg in enumerate(builders.DOG_LEGS):
        way = np.array([centre(robot, at, leg) for at in places])
        label = leg.replace("_", " ")
        feet.plot(way[:, 0], way[:, 2], ".-", color=colours[k], linewidth=1, label=label)
    finish(feet, "x [m]", "height of feet [m]", "plan, and gaps")
    away = log.q - plan.sample(log.t)[0]
    for k, name in enumerate("xyz"):
        errors.plot(log.t, 1e3 * away[:, k], color=colours[k], label=name)
    finish(errors, "time [s]", "simulation less plan [mm]", "tracked by LQR")


LITTLEDOG = Experiment(
    ("littledog",),
    "a quadruped walks over two gaps, by trajectory optimisation",
    "Dynamics, contacts and cones hold to their tolerances; tracked by LQR the body stays within "
    "2 cm.",
    run_littledog,
)
