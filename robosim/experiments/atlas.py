"""A humanoid takes a ball while it stands on its right foot [Fan2018, Section 6.3]."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.tracking import followed, follower, targets_of
from robosim.inverse_kinematics.targets import CenterOfMassTarget, FrameTarget, PostureTarget
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

BALL = (0.55, 0.35, 0.55)  # m, the ball's centre
LIFTED = 0.1  # m, initial height of the left ankle above the right one
# Margins for feedback: smallest normal force of a corner, over the weight, and friction.
LEAST, FRICTION = 0.03, 0.5
MARGIN = 0.03  # rad, distance of a plan from the joint limits
CLEAR = 0.02  # m, smallest height of the left sole above the ground
EFFORT, RATES = 1e-5, 1e-2  # weights of the cost: torques [1/(N m)^2], velocities [s^2/rad^2]
# Weights of LQR: coordinates and velocities; torques; factor of the final state.
WEIGHTS, PUSHES, AT_END = (1000.0, 10.0), 1e-3, 10.0
SMOOTH = 1e-2  # contact_speed of LQR [m/s]
STEP = 2e-3  # time step of the simulation [s]


class Task(NamedTuple):
    """Parameters of the task."""

    seconds: float
    steps: int
    tracked: bool


FULL = Task(1.3, 13, True)
QUICK = Task(1.3, 2, False)


def standing(robot: Mechanism, *more: FrameTarget) -> Array:
    """q (nq,) on the right foot, with the centre of mass above the middle of its sole."""
    at = Kinematics(robot, np.asarray(robot.home))
    corners = np.array([p for name, p in soles(robot, at).items() if name[0] == "r"])
    ankle = np.array((corners[:, 0].mean(), corners[:, 1].mean(), 0.0))
    foot = robot.body_index("r_foot")
    place = at.x[foot] + at.R[foot] @ robot.bodies[foot].reference_position
    targets: list[FrameTarget | CenterOfMassTarget | PostureTarget] = [
        FrameTarget("r_foot", place, at.R[foot], tolerance=1e-9),
        CenterOfMassTarget(ankle, weight=(1.0, 1.0, 0.0), tolerance=1e-6),
        PostureTarget(np.asarray(robot.home), weight=0.02),
        *more,
    ]
    q = np.array(Dynamics(robot).inverse_kinematics(targets, robot.home).q)
    places = soles(robot, Kinematics(robot, q))
    q[2] -= min(place[2] for place in places.values())  # removes an error of about 1e-6 m
    return q


def away_from_limits() -> Mechanism:
    """The robot of a plan: narrower joint limits, so that feedback does not reach the limits."""
    robot = builders.atlas()
    joints = tuple(
        replace(
            joint,
            lower=np.asarray(joint.lower) + MARGIN,
            upper=np.asarray(joint.upper) - MARGIN,
        )
        if joint.kind == "revolute"
        else joint
        for joint in robot.joints
    )
    return replace(robot, joints=joints)


def soles(robot: Mechanism, at: Kinematics) -> dict[str, Array]:
    """Corners of both soles (3,) [m]."""
    found = {}
    for contact in robot.contacts:
        b = robot.body_index(contact.body)
        found[contact.name] = at.x[b] + at.R[b] @ np.asarray(contact.position)
    return found


def problem_of(robot: Mechanism, task: Task) -> tuple[Problem, Array]:
    """The problem, and an initial guess: two poses on the right foot."""
    from robosim.optimize import Problem

    lifted = Kinematics(robot, np.asarray(robot.home))
    left = robot.body_index("l_foot")
    up = lifted.x[left] + lifted.R[left] @ robot.bodies[left].reference_position + (0, 0, LIFTED)
    foot = FrameTarget("l_foot", up, lifted.R[left], tolerance=1e-3)
    begin = standing(robot, foot)
    end = standing(robot, foot, FrameTarget("l_grasp", BALL, tolerance=1e-3))
    problem = Problem(robot, task.seconds, task.steps, ignore=("contacts",))
    stands = [one.name for one in robot.contacts if one.body == "r_foot"]
    problem.contact(*stands, friction=FRICTION, holds=True)
    problem.constrain(
        lambda at: [at.contact(name)[2] for name in stands], LEAST * 9.81 * robot.total_mass,
        np.inf, name="corners bear",
    )  # fmt: skip
    problem.start(begin, np.zeros(robot.nv)).end(v=np.zeros(robot.nv))
    problem.cost(lambda at: EFFORT * sum(at.u[i] ** 2 for i in range(robot.nu)), name="effort")
    problem.cost(lambda at: RATES * sum(at.v[i] ** 2 for i in range(robot.nv)), name="rates")
    problem.constrain(
        lambda at: at.position("l_grasp") - np.array(BALL), at="end", name="the hand at the ball"
    )
    for contact in robot.contacts:
        if contact.body == "l_foot":
            height = partial(height_of, "l_foot", np.asarray(contact.position))
            problem.constrain(height, CLEAR, np.inf, name="left foot above the ground")
    return problem, np.array((begin, end))


def height_of(name: str, offset: Array, at: Moment) -> Any:
    """Height of a point of a body, as an expression."""
    return at.position(name, offset)[2]


class Measured(NamedTuple):
    """Quantities of a plan, computed from its points and forces alone."""

    gap: float  # smallest of all corners [m]
    slid: float  # largest distance of a corner of the right foot from its initial position [m]
    cone: float  # largest distance of a force from its friction cone, over the weight
    reach: float  # distance of the hand from the ball at the end [m]


def measured(robot: Mechanism, plan: Trajectory) -> Measured:
    """Evaluate the soles at all control points, and the forces there."""
    weight = 9.81 * robot.total_mass
    places = [soles(robot, Kinematics(robot, q)) for q in plan.points]
    gap = min(float(place[2]) for at in places for place in at.values())
    slid, cone = 0.0, 0.0
    for contact in robot.contacts:
        if contact.name not in plan.forces:
            continue
        way = np.array([at[contact.name] - places[0][contact.name] for at in places])
        slid = max(slid, float(np.linalg.norm(way, axis=1).max()))
        force = plan.forces[contact.name]
        slip = np.linalg.norm(force[:, :2], axis=1) - contact.friction * force[:, 2]
        cone = max(cone, float(max(slip.max(), -force[:, 2].min())) / weight)
    return Measured(gap, slid, cone, float(np.linalg.norm(grasp(robot, plan.q[-1]) - BALL)))


def grasp(robot: Mechanism, q: Array) -> Array:
    """Position of the left hand's grasp frame (3,) [m]."""
    return np.asarray(Dynamics(robot).frame(q, "l_grasp")[0])


def tracked(plan: Trajectory) -> Log:
    """Simulate tracking of the plan by LQR, with hard contacts and effort limits."""
    robot = builders.atlas()
    Q = np.repeat(WEIGHTS, robot.nv)
    sim = Simulation(robot, STEP)
    follow = follower(plan, sim, Q, PUSHES, AT_END * Q, SMOOTH)
    return followed(plan, sim, follow, float(plan.t[-1]))


def run_atlas(setup: Setup) -> Result:
    """Make a plan, check the plan, and track it in a simulation."""
    task = setup.choose(FULL, QUICK)
    robot = away_from_limits()
    begin = time.perf_counter()
    setup.note("poses at the start and the end")
    problem, guess = problem_of(robot, task)
    setup.note(f"planning {task.seconds:g} s in {task.steps} steps")
    plan = problem.solve(guess)
    took = time.perf_counter() - begin
    of = measured(robot, plan)
    ours: dict[str, Any] = {
        "status": plan.status, "iterations": plan.iterations, "cost": plan.cost,
        "plan_seconds": took, "violation": dict(plan.violation), **of._asdict(),
        "unknowns": problem.unknowns, "equations": problem.equations,
        "torque": float(np.abs(plan.u).max()),
    }  # fmt: skip
    targets = [
        *targets_of(plan, took),
        Target("depth of corners below the ground", -of.gap, 1e-4, "m"),
        Target("slip of the standing foot", of.slid, 1e-6, "m"),
        Target("forces beyond their cones, over the weight", of.cone, 1e-6),
        Target("distance of hand and ball at the end of the plan", of.reach, 1e-6, "m"),
    ]
    log = plan.log(STEP)
    said = ""
    if task.tracked:
        setup.note("tracking the plan")
        log = tracked(plan)
        missed = float(np.linalg.norm(grasp(robot, log.q[-1]) - BALL))
        ours |= {
            "hand_tracked": missed, "torque_tracked": float(np.abs(log.tau).max()),
            "error_tracked": float(np.abs(log.q - plan.sample(log.t)[0]).max()),
        }  # fmt: skip
        targets.append(Target("distance of hand and ball, tracked by LQR", missed, 0.02, "m"))
        said = f" Tracked by LQR, the hand ends {1e3 * missed:.1f} mm from the ball."
    sentence = (
        f"The humanoid takes the ball in {task.seconds:g} s. IPOPT finds the motion in "
        f"{plan.iterations} iterations. Poses and motion are found in {took:.0f} s.{said}"
    )
    parameters = {
        **task._asdict(), "ball": BALL, "weights": WEIGHTS, "effort": PUSHES,
        "contact_speed": SMOOTH, "timestep": STEP, "friction": FRICTION, "least_force": LEAST,
    }  # fmt: skip

    def record() -> Recorder:
        from robosim.viz.playback import recording

        ball = Geometry("sphere", (0.04,), BALL, rgba=(0.8, 0.1, 0.1, 1.0), name="ball")
        shown = replace(robot, world_visuals=(ball,))
        return recording(log, shown, others=[("plan", plan.log(STEP))] if task.tracked else [])

    return Result(
        parameters, ours, {}, tuple(targets), sentence, partial(draw_atlas, plan, log), record
    )


def draw_atlas(plan: Trajectory, log: Log, figure: Figure) -> None:
    """Plot the forces at the corners of the sole, and the position of the hand."""
    ((forces, hand),) = panels(figure, 1, 2, 6.0)
    colours = (COLOURS["ours"], *OTHERS)
    for k, (name, force) in enumerate(plan.forces.items()):
        forces.plot(plan.times, force[:, 2], color=colours[k], label=name)
    finish(forces, "time [s]", "normal force [N]", "corners of the right sole")
    robot = plan.robot
    for name, rows, style in (
        ("simulation", zip(log.t, log.q, strict=True), "-"),
        ("plan", zip(plan.times, plan.points, strict=True), "o"),
    ):
        times, places = zip(
            *((t, grasp(robot, q)) for t, q in list(rows)[:: 10 if style == "-" else 1]),
            strict=True,
        )
        for k, axis in enumerate("xyz"):
            hand.plot(
                times,
                np.array(places)[:, k],
                style,
                color=colours[k],
                markersize=3,
                label=f"{axis}, {name}",
            )
    finish(hand, "time [s]", "left hand [m]", "to the ball")


ATLAS = Experiment(
    ("atlas",),
    "a humanoid takes a ball on one foot, by trajectory optimisation",
    "Dynamics and cones hold to their tolerances; tracked by LQR the hand ends within 2 cm of the "
    "ball.",
    run_atlas,
)
