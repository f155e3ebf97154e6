"""A biped with springs at its ankles jumps over an obstacle [Fan2018, Section 6.1]."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.body import ContactPoint, Geometry
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.tracking import followed, follower, targets_of
from robosim.kinematics.kinematics import Kinematics
from robosim.measuring.target import Target
from robosim.models import builders
from robosim.simulation import Simulation
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robosim.log import Log
    from robosim.optimize import Problem, Trajectory
    from robosim.optimize.moments import Moment
    from robosim.viz import Recorder

SPEED, MEAN = 0.26, 0.9  # initial and mean speed [m/s]
HEIGHT, HALF = 0.16, 0.08  # height and half width of the obstacle, an ellipse [m]
RISES = 0.3, 0.2, 0.1  # heights of the guesses' middle [m], tried in turn until a plan is feasible
DEPTH = 1e-3  # of soles below the ground, between control points [m]
RESERVE = 28.0  # largest torque of the last plans, which leave the rest of 40 N m to feedback
SMOOTH = 0.03, 0.1, 0.3  # contact_speed of LQR [m/s], tried in turn until there are derivatives
# Weights of LQR: body pose, joints, the rates of both; then torques; factor of the final state.
WEIGHTS = (10000.0, 3000.0, 1000.0, *[30.0] * 6, *[1.0] * 3, *[0.1] * 6)
ACROSS = 100.0  # half width of the obstacle across the plane [m]
EFFORT, AT_END = 1e-2, 10.0
STEP = 1e-3  # time step of the simulation [s]
WITHIN_A_STEP = 5  # configurations of the simulation at which the clearance is read, each step


class Past(NamedTuple):
    """How a plan passes the obstacle."""

    wider: float  # of the plan's obstacle, beyond the real one [m]
    between: int  # times between each two control points at which feet are outside
    stages: tuple[float, ...]  # of the relaxation
    most: float = np.inf  # largest torque [N m]


START_PAST = Past(-0.03, 0, (1e-1, 1e-2, 1e-3))
# With `between`, soles are above the ground between control points, as well.
LAST_PAST = Past(0.03, 1, (1e-3, 1e-5, 1e-6), RESERVE)


class Task(NamedTuple):
    """Parameters of the task."""

    seconds: float
    steps: int
    distance: float  # [m]
    obstacle: bool
    stages: tuple[float, ...]


FULL = Task(1.0, 20, MEAN * 1.0, True, START_PAST.stages)
QUICK = Task(0.2, 4, 0.04, False, (1e-1, 1e-3, 1e-5))


def start_of(robot: Mechanism) -> tuple[Array, Array]:
    """Initial q and v: the body moves forwards, and the feet rest."""
    q, v, h = builders.flamingo_pose(0.0), np.zeros(robot.nv), 1e-6
    v[0] = SPEED
    foot, body = robot.body_index("left_foot"), robot.body_index("body")

    def away(change: Array) -> Array:
        at = Kinematics(robot, q + change)
        return np.asarray((at.x[foot] - at.x[body])[[0, 2]])

    rows = []
    for k in (3, 4):
        change = np.zeros(robot.nq)
        change[k], change[5] = h, -h  # the foot remains horizontal
        rows.append((away(change) - away(-change)) / (2 * h))
    hip, knee = np.linalg.solve(np.transpose(rows), (-SPEED, 0.0))
    v[3:] = np.tile((hip, knee, -hip - knee), 2)
    return q, v


def problem_of(robot: Mechanism, task: Task, past: Past = START_PAST) -> Problem:
    """The problem; `past` says how feet are kept outside the obstacle."""
    from robosim.optimize import Problem

    problem = Problem(robot, task.seconds, task.steps).contact()
    problem.start(*start_of(robot)).end(builders.flamingo_pose(task.distance))
    problem.cost(lambda at: 1e-3 * sum(at.u[i] ** 2 for i in range(robot.nu)), name="effort")
    joints = range(3, robot.nv)
    problem.cost(
        lambda at: 1e-2 * sum(at.v[i] ** 2 for i in joints) + at.q[2] ** 2, name="rates and lean"
    )
    if task.obstacle:
        for body, ends in edges_of_feet(robot):
            away = partial(off_obstacle, body, ends, task.distance / 2, past.wider)
            name = f"{body} clears the obstacle"
            problem.constrain(away, 1.0, np.inf, name=name, between=past.between)
    if past.most < np.inf:
        name = "torques that leave some to feedback"
        problem.constrain(lambda at: at.u, -past.most, past.most, name=name)
    for one in robot.contacts if past.between else ():
        above = partial(height_of, one)
        name = f"{one.name} above the ground"
        problem.constrain(above, -DEPTH, np.inf, name=name, between=past.between)
    return problem


def guess_of(task: Task, rise: float) -> Array:
    """Initial guess of q (rows, nq): a path that rises in the middle."""
    ways = np.linspace(0.0, 1.0, 30)
    guess = np.array([builders.flamingo_pose(task.distance * part) for part in ways])
    if task.obstacle:
        guess[:, 1] += rise * np.sin(np.pi * ways)
    return guess


def edges_of_feet(robot: Mechanism) -> list[tuple[str, tuple[Array, Array]]]:
    """Lower and upper edge of each foot, from its heel to its toe, in axes of the body."""
    found = []
    for side in ("left", "right"):
        body = robot.bodies[robot.body_index(f"{side}_foot")]
        (foot,) = body.visuals
        length, _, thick = foot.size
        x, _, up = np.asarray(foot.position, dtype=float)
        middle = np.array((x, 0.0, up))
        for z in (-thick / 2, thick / 2):
            heel, toe = (middle + np.array((way, 0.0, z)) for way in (-length / 2, length / 2))
            found.append((body.name, (heel, toe)))
    return found


def off_obstacle(
    body: str, ends: tuple[Array, Array], middle: float, wider: float, at: Moment
) -> Any:
    """`nearest` of an edge of a body, as an expression."""
    import casadi

    return nearest(casadi, [at.position(body, end) for end in ends], middle, wider)


def height_of(contact: ContactPoint, at: Moment) -> Any:
    """Height of a contact point [m], as an expression."""
    return at.position(contact.body, contact.position)[2]


def nearest(of: Any, ends: Sequence[Any], middle: float, wider: float = 0.0) -> Any:
    """Smallest value of the obstacle's ellipse along a straight line: 1 on it, and less inside.

    Parameters
    ----------
    of : numpy or casadi
    ends : positions (3,) of both ends [m]
    middle : float [m], of the obstacle
    wider : float [m], by which the ellipse is wider and higher than the obstacle
    """
    (a, b), (c, d) = (
        ((end[0] - middle) / (HALF + wider), end[2] / (HEIGHT + wider)) for end in ends
    )
    along, up = c - a, d - b
    part = of.fmin(1.0, of.fmax(0.0, -(a * along + b * up) / (along**2 + up**2)))
    return (a + part * along) ** 2 + (b + part * up) ** 2


class Places(NamedTuple):
    """Positions (n, nb, 3) [m] of all bodies in n configurations, and rotations (n, nb, 3, 3)."""

    x: Array
    R: Array

    def points(self, body: int, point: ArrayLike) -> Array:
        """Positions (n, 3) [m] of a point of a body."""
        return np.asarray(self.x[:, body] + self.R[:, body] @ np.asarray(point))


def places_of(robot: Mechanism, configurations: Array) -> Places:
    """Where the bodies are in configurations (n, nq)."""
    at, x, R = Kinematics(robot), [], []
    for q in configurations:
        at.move_to(q)
        x.append(at.x.copy())
        R.append(at.R.copy())
    return Places(np.array(x), np.array(R))


def clearance(robot: Mechanism, places: Places, middle: float) -> float:
    """Smallest `nearest` of whole feet, in all configurations."""
    values = [
        nearest(np, [places.points(robot.body_index(body), end).T for end in ends], middle)
        for body, ends in edges_of_feet(robot)
    ]
    return float(np.min(values))


def between_knots(log: Log, parts: int) -> Array:
    """Configurations (n, nq) of a run, those between its knots by cubics of q and v."""
    h, t = log.timestep, np.arange(parts)[:, None, None] / parts
    q1, q2, v1, v2 = log.q[:-1], log.q[1:], h * log.v[:-1], h * log.v[1:]
    found = (
        (1 + 2 * t) * (1 - t) ** 2 * q1 + t * (1 - t) ** 2 * v1
        + t**2 * (3 - 2 * t) * q2 + t**2 * (t - 1) * v2
    )  # fmt: skip
    return np.vstack((found.swapaxes(0, 1).reshape(-1, log.q.shape[1]), log.q[-1:]))


def with_obstacle(robot: Mechanism, middle: float) -> Mechanism:
    """The robot in a world with the obstacle, an ellipse across the plane, which feet may touch."""
    bodies = tuple(
        replace(body, collisions=body.visuals) if body.name.endswith("_foot") else body
        for body in robot.bodies
    )
    obstacle = Geometry("ellipsoid", (HALF, ACROSS, HEIGHT), (middle, 0.0, 0.0), name="obstacle")
    feet = [(f"{side}_foot", "obstacle") for side in ("left", "right")]
    return replace(robot, bodies=bodies).add(obstacle, contact=feet)


class Measured(NamedTuple):
    """Quantities of a plan, computed from its points and forces alone."""

    gap: float  # smallest of all contacts at control points [m]
    lowest: float  # lowest height of all contacts between them, as well [m]
    clearance: float  # smallest value of `nearest`, each millisecond
    complementarity: float  # largest product of a force over the weight and a gap [m]
    cone: float  # largest distance of a force from its friction cone, over the weight


def measured(robot: Mechanism, plan: Trajectory, middle: float) -> Measured:
    """Evaluate gaps and forces at all control points, and heights and the obstacle between them.

    A force acts over a part of a step, and complements the gap at the point that the part leads to.
    """
    weight = 9.81 * sum(body.mass for body in robot.bodies)
    places = places_of(robot, plan.points)
    gaps, cones, products, lowest = [], [], [], []
    between = plan.sample(np.linspace(plan.t[0], plan.t[-1], round(plan.t[-1] / STEP) + 1))[0]
    fine = places_of(robot, between)
    for contact in robot.contacts:
        b = robot.body_index(contact.body)
        z = places.points(b, contact.position)[:, 2]
        force = plan.forces[contact.name]
        gaps.append(z.min())
        lowest.append(float(fine.points(b, contact.position)[:, 2].min()))
        products.append((np.abs(force[:-1, 2]) * np.abs(z[1:])).max() / weight)
        slip = np.abs(force[:, 0]) - contact.friction * force[:, 2]
        cones.append(max(slip.max(), -force[:, 2].min()) / weight)
    clear = clearance(robot, fine, middle)
    return Measured(min(gaps), min(lowest), clear, max(products), max(cones))


def tracked(plan: Trajectory, task: Task) -> Log:
    """Simulate tracking of the plan by LQR, with hard contacts, effort limits and the obstacle."""
    Q = np.array(WEIGHTS)
    robot = with_obstacle(plan.robot, task.distance / 2) if task.obstacle else plan.robot
    for speed in SMOOTH:
        try:
            follow = follower(plan, Simulation(plan.robot, STEP), Q, EFFORT, AT_END * Q, speed)
            break
        except ConvergenceError:
            if speed == SMOOTH[-1]:
                raise
    return followed(plan, Simulation(robot, STEP), follow, float(plan.t[-1]))


def planned(robot: Mechanism, task: Task, setup: Setup) -> tuple[Trajectory, int, float]:
    """A plan past the obstacle, the iterations of all solutions on the way, and the guess's rise.

    A plan past a smaller obstacle is its guess, as IPOPT finds no plan past all of it from a path.
    """
    iterations = 0
    for rise in RISES:
        setup.note(f"planning {task.seconds:g} s in {task.steps} steps, from a rise of {rise:g} m")
        plan = problem_of(robot, task).solve(
            guess_of(task, rise), iterations=600, relaxation=task.stages
        )
        iterations += plan.iterations
        if task.obstacle and plan.feasible:
            setup.note("planning past all of the obstacle")
            problem = problem_of(robot, task, LAST_PAST)
            plan = problem.solve(plan, iterations=600, relaxation=LAST_PAST.stages)
            iterations += plan.iterations
        if plan.feasible:
            break
    return plan, iterations, rise


def run_flamingo(setup: Setup) -> Result:
    """Make a plan, check the plan, and track it in a simulation."""
    task = setup.choose(FULL, QUICK)
    robot = builders.flamingo()
    problem = problem_of(robot, task, LAST_PAST if task.obstacle else START_PAST)
    begin = time.perf_counter()
    plan, iterations, rise = planned(robot, task, setup)
    took = time.perf_counter() - begin
    of = measured(robot, plan, task.distance / 2)
    setup.note("tracking the plan")
    log = tracked(plan, task)
    ways = between_knots(log, WITHIN_A_STEP)
    kept = clearance(robot, places_of(robot, ways), task.distance / 2)
    away = np.abs(log.q - plan.sample(log.t)[0])
    ours: dict[str, Any] = {
        "status": plan.status, "rise": rise, "iterations": iterations, "cost": plan.cost,
        "plan_seconds": took, "violation": dict(plan.violation), **of._asdict(),
        "unknowns": problem.unknowns, "equations": problem.equations,
        "mean_speed": float(plan.q[-1, 0] - plan.q[0, 0]) / task.seconds,
        "torque": float(np.abs(plan.u).max()), "torque_tracked": float(np.abs(log.tau).max()),
        "clearance_tracked": kept,
        "end_error": float(np.hypot(away[-1, 0], away[-1, 1])),
        "end_error_of_angles": float(away[-1, 2:].max()),
        "error_on_the_way": float(np.hypot(away[:, 0], away[:, 1]).max()),
    }  # fmt: skip
    last = (LAST_PAST if task.obstacle else task).stages[-1]
    targets = [
        *targets_of(plan, took),
        Target("depth of contacts below the ground", -of.gap, 1e-4, "m"),
        Target("depth of contacts between control points", -of.lowest, 2 * DEPTH, "m"),
        Target("forces over the weight, times gaps", of.complementarity, 2 * last, "m"),
        Target("forces beyond their cones, over the weight", of.cone, 1e-6),
        Target("position error at the end, tracked by LQR", ours["end_error"], 0.02, "m"),
    ]
    if task.obstacle:
        for name, value in (("plan", of.clearance), ("tracked run", kept)):
            told = f"whole feet on the obstacle's ellipse (1) or off it, {name}"
            targets.append(Target(told, value, 1.0, at_least=True))
    over = f" over an obstacle of {HEIGHT:g} m" if task.obstacle else ""
    sentence = (
        f"The biped starts at {SPEED:g} m/s and goes {task.distance:g} m in {task.seconds:g} s"
        f"{over}. IPOPT finds the motion in {iterations} iterations and {took:.0f} s. "
        f"Tracked by LQR, the body ends {1e3 * ours['end_error']:.0f} mm from the plan."
    )
    parameters = {
        **task._asdict(), "weights": WEIGHTS, "effort": EFFORT, "contact_speed": SMOOTH,
        "timestep": STEP,
    }  # fmt: skip

    def record() -> Recorder:
        from robosim.viz.playback import recording

        return recording(log, robot, others=[("plan", plan.log(STEP))])

    return Result(
        parameters, ours, {}, tuple(targets), sentence,
        partial(draw_flamingo, plan, log, task), record,
    )  # fmt: skip


def draw_flamingo(plan: Trajectory, log: Log, task: Task, figure: Figure) -> None:
    """Plot the plan from the side, and the tracking error of the simulation."""
    ((side, errors),) = panels(figure, 1, 2, 6.0)
    robot = plan.robot
    if task.obstacle:
        turn = np.linspace(0.0, np.pi, 60)
        x = task.distance / 2 + HALF * np.cos(turn)
        side.fill(x, HEIGHT * np.sin(turn), color="#999999", label="obstacle")
    for time_, q in zip(plan.t, plan.q, strict=True):
        at = Kinematics(robot, q)
        for leg, colour in (("left", COLOURS["ours"]), ("right", OTHERS[0])):
            points = [at.x[robot.body_index("body")]]
            for part, name in (("thigh", None), ("thigh", "_end"), ("shank", "_end")):
                body = robot.bodies[robot.body_index(f"{leg}_{part}")]
                frame = next(f for f in body.frames if f.name == f"{body.name}{name or ''}")
                b = robot.body_index(body.name)
                points.append(at.x[b] + at.R[b] @ np.asarray(frame.position))
            for body_name, ends in edges_of_feet(robot)[::2]:
                if body_name == f"{leg}_foot":
                    b = robot.body_index(body_name)
                    points += [at.x[b] + at.R[b] @ end for end in ends]
            line = np.array(points)
            label = f"{leg} leg, each {plan.t[1]:g} s" if time_ == plan.t[0] else None
            side.plot(line[:, 0], line[:, 2], color=colour, alpha=0.6, linewidth=1, label=label)
    side.set_aspect("equal")
    finish(side, "x [m]", "z [m]", "plan")
    away = log.q - plan.sample(log.t)[0]
    for k, name in enumerate(("along [m]", "up [m]", "lean [rad]")):
        errors.plot(log.t, away[:, k], color=(COLOURS["ours"], *OTHERS)[k], label=name)
    finish(errors, "time [s]", "simulation less plan", "tracked by LQR")


FLAMINGO = Experiment(
    ("flamingo",),
    "a planar biped jumps over an obstacle, by trajectory optimisation",
    "Dynamics, contacts and cones hold to their tolerances; tracked by LQR the body ends within "
    "2 cm.",
    run_flamingo,
)
