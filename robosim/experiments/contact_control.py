"""The A1 is pushed, and crosses a step and a gap, by contact-implicit predictive control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.description.geometry import Geometry
from robosim.description.mechanism import Mechanism
from robosim.experiments.drawing import finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.log.falls import Falls
from robosim.measuring.target import Target
from robosim.optimize import (
    Blocks,
    ContactCost,
    ContactMPC,
    Exploration,
    Plateaus,
    SoftContacts,
)
from robosim.optimize.soft_contacts import Ground, level
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
PLANT, STEPS, STEP = 1e-3, 20, 0.04  # step of the robot [s], and of a plan, with their number
PERIOD = 0.02  # between plans [s]
HEIGHT, GAP, EDGE = 0.12, 0.20, 0.5  # of the step, of the gap, and where both begin [m]
GOAL = 1.6  # where the trunk is to stop [m]
ARRIVED = 1.4  # from where on all feet are beyond both [m]
PUSH, PUSHED = 60.0, 0.1  # force on the trunk [N] and its time [s]: 6 N s
WAYS = {"left": (0, 1, 0), "right": (0, -1, 0), "ahead": (1, 0, 0), "back": (-1, 0, 0)}
STARTS = -0.05, -0.03, -0.01, 0.01, 0.03, 0.05  # of the trunk [m]
TRIES = 4  # guesses of steps for each plan
LEAD, SPAN = 0.03, 0.09  # of the trunk before the middle of its feet, and before pairs of them [m]


@dataclass(frozen=True)
class Course:
    """What the robot is to cross, and how its plans see that.

    Attributes
    ----------
    ground : as of `SoftContacts`
    edge, clearance : float [m]
        Least distance of footholds from edges, and from the ground on the way.
    raised : height of the far side [m]
    speed : float [m/s]
    ahead : float, weight of the place of the trunk
    unactuated : float, weight of forces on the trunk; torques have ten times this weight
    first : factors of this weight in the first steps of a plan
    """

    ground: Ground = level
    edge: float = 0.04
    clearance: float = 0.02
    raised: float = 0.0
    speed: float = 0.0
    ahead: float = 50.0
    unactuated: float = 0.03
    first: tuple[float, ...] = ()


INF = np.inf
FLAT = Course()
STAIR = Blocks([(-INF, INF, -INF, INF, -INF, 0.0), (EDGE, EDGE + 2.0, -2.0, 2.0, -INF, HEIGHT)])
ONTO = Course(STAIR, 0.02, 0.04, HEIGHT, 0.35, 50.0, 0.02, (10.0, 10.0, 5.0, 5.0, 2.0))
# The pit of plans is shallower than that of the robot, which has no ground there.
PIT = Plateaus([(EDGE, EDGE + GAP, -INF, INF, -0.15)], 0.004)
OVER = Course(PIT, 0.04, 0.02, 0.0, 0.5, 100.0, 0.03)


def onto_step(robot: Mechanism) -> Mechanism:
    """The robot before a step."""
    box = Geometry("box", size=(2.0, 4.0, HEIGHT), position=(EDGE + 1.0, 0, HEIGHT / 2))
    return robot.with_contacts([box])


def over_gap(robot: Mechanism) -> Mechanism:
    """The robot before a gap between two blocks; there is no other ground."""
    blocks = [
        Geometry("box", size=(4.0, 4.0, 0.5), position=(x, 0, -0.25), name=name)
        for name, x in (("near", EDGE - 2.0), ("far", EDGE + GAP + 2.0))
    ]
    return robot.with_contacts(blocks, ground=False)


def standing(robot: Mechanism) -> Array:
    """The standing pose, level and above the origin."""
    sim = Simulation(robot, PLANT)
    sim.run(1.0, "stand")
    q = sim.q.copy()
    q[:2], q[2], q[3:7] = 0.0, q[2] + 0.002, (1.0, 0.0, 0.0, 0.0)
    return q


def controller(robot: Mechanism, stance: Array, course: Course) -> ContactMPC:
    """The controller: the trunk moves ahead of where it is; feet are left to the plan.

    Targets have neither footholds nor times of contacts.
    """
    times = STEP * np.arange(1.0, STEPS + 1.0)
    early = np.concatenate((course.first, np.ones(STEPS - len(course.first))))
    broad = Plateaus([(EDGE, INF, -INF, INF, course.raised)], 0.15)
    weights: dict[str, Any] = {
        "Q": [course.ahead, 50, 200, 200, 200, 200, *[3] * 12],
        "V": [1, 5, 1, 2, 2, 2, *[0.02] * 12],
        "R": 2e-5,
        "slip": 2.0,
        "clearance": 0.06,
        "final": 5.0,
        "unactuated": course.unactuated * early[:, None] * np.array([1, 1, 1, 10, 10, 10]),
    }

    def begin(q: Array) -> float:
        """Where the trunk is, or where it waits for its feet [m]."""
        feet = mpc.program.places(q[None])[0, :, 0] - middle
        front, back = feet[:2].mean(), feet[2:].mean()
        waits = min(0.5 * (front + back) + LEAD, front - 0.18 + SPAN, back + 0.18 + SPAN)
        return float(min(q[0], waits))

    def cost(sim: Any) -> ContactCost:
        q, v = np.tile(stance, (STEPS, 1)), np.zeros((STEPS, robot.nv))
        if course.speed > 0.0:
            first = begin(np.array(sim.q)) if course.raised else float(sim.q[0])
            q[:, 0] = np.minimum(first + course.speed * times, GOAL)
            v[:, 0] = np.where(q[:, 0] < GOAL, course.speed, 0.0)
        front, back = (broad(q[:, 0] + side, 0.0 * times)[0] for side in (0.2, -0.2))
        pitch = -np.arctan2(front - back, 0.4)
        q[:, 2] += 0.5 * (front + back)
        q[:, 3], q[:, 5] = np.cos(pitch / 2), np.sin(pitch / 2)
        return ContactCost(q, v, **weights)

    contacts = SoftContacts(stiffness=4860.0, softness=0.01, stiction=0.1, ground=course.ground)
    exploration = Exploration(
        TRIES if course.speed else 0, iterations=3, clearance=course.clearance, edge=course.edge
    )
    mpc = ContactMPC(
        robot, cost, STEPS, STEP, contacts, period=PERIOD, kp=20.0, kd=0.5,
        exploration=exploration,
    )  # fmt: skip
    middle = float(mpc.program.places(stance[None])[0, :, 0].mean() - stance[0])
    return mpc


@dataclass(frozen=True)
class Run:
    """A run: coordinates, whether the trunk turned over, where it ended, and times of plans."""

    q: Array
    fell: bool
    seconds: list[float]

    @property
    def arrived(self) -> bool:
        """Whether the robot stands beyond a step or gap."""
        return not self.fell and bool(self.q[-1, 0] > ARRIVED)


def pushed(robot: Mechanism, stance: Array, way: tuple[int, int, int], after: float) -> Run:
    """A standing robot, and a push of 6 N s."""
    sim, mpc = Simulation(robot, PLANT), controller(robot, stance, FLAT)
    sim.set_state(stance)
    rows = []
    for seconds, force in ((0.3, 0.0), (PUSHED, PUSH), (after, 0.0)):
        sim.apply_wrench(robot.bodies[0].name, force=force * np.array(way))
        rows.append(sim.run(seconds, mpc).q)
    q = np.concatenate(rows)
    return Run(q, bool(Falls(sim).fallen(q).any()), mpc.seconds)


def crossed(
    robot: Mechanism, scene: Mechanism, stance: Array, course: Course, start: float, most: float
) -> Run:
    """A run over a course, until the robot has turned over."""
    sim, mpc = Simulation(scene, PLANT), controller(robot, stance, course)
    begin = stance.copy()
    begin[0] += start
    sim.set_state(begin)
    rows, fell = [], False
    while sim.time < most - 1e-6 and not fell:
        rows.append(sim.run(min(0.5, most), mpc).q)
        upright = 1.0 - 2.0 * np.sum(rows[-1][:, 4:6] ** 2, axis=1)
        fell = bool(upright.min() < 0.5) or bool(rows[-1][-1, 2] < 0.12)
    return Run(np.concatenate(rows), fell, mpc.seconds)


def run_contacts(setup: Setup) -> Result:
    """Pushes from four sides, a step and a gap from several starts."""
    robot = robosim.load("a1")
    stance = standing(robot)
    most, after = setup.choose(9.0, 0.1), setup.choose(3.0, 0.1)
    ways = dict(list(WAYS.items())[: setup.choose(4, 1)])
    starts = setup.choose(STARTS, STARTS[:1])
    pushes: dict[str, Any] = {}
    courses: dict[str, Any] = {}
    for name, way in ways.items():
        setup.note(f"a push to the {name}")
        pushes[name] = pushed(robot, stance, way, after)
    for name, scene, course in (
        ("step", onto_step(robot), ONTO),
        ("gap", over_gap(robot), OVER),
    ):
        courses[name] = []
        for start in starts:
            setup.note(f"the {name} from {start:g} m")
            courses[name].append(crossed(robot, scene, stance, course, start, most))
    falls = sum(one.fell for one in pushes.values())
    missing = {name: sum(not run.arrived for run in runs) for name, runs in courses.items()}
    later = {
        name: 1e3 * np.array([s for run in runs for s in run.seconds[1:]])
        for name, runs in {"push": list(pushes.values()), **courses}.items()
    }
    aside = max(float(np.abs(one.q[:, :2]).max()) for one in pushes.values())
    ours = {
        "falls_after_pushes": falls,
        "aside": aside,
        "pushes": {name: {"fell": one.fell, "end": one.q[-1, :3].tolist()}
                   for name, one in pushes.items()},
        **{name: [{"start": start, "arrived": run.arrived, "fell": run.fell,
                   "seconds": len(run.q) * PLANT, "end": run.q[-1, :3].tolist()}
                  for start, run in zip(starts, runs, strict=True)]
           for name, runs in courses.items()},
        "plan_milliseconds": {name: {"median": float(np.median(ms)),
                                     "quantile_95": float(np.quantile(ms, 0.95))}
                              for name, ms in later.items()},
    }  # fmt: skip
    n = len(starts)
    targets = (
        Target(f"falls after {len(pushes)} pushes of 6 N s", falls, 0),
        Target(f"starts that do not get onto the step, of {n}", missing["step"], 0, full_only=True),
        Target(f"starts that do not get over the gap, of {n}", missing["gap"], 0, full_only=True),
        *(Target(f"median time of a plan ({name}), of 20 ms", float(np.median(ms)), 20.0, "ms")
          for name, ms in later.items()),
    )  # fmt: skip
    medians = ", ".join(f"{np.median(ms):.0f} ms ({name})" for name, ms in later.items())
    sentence = (
        f"After {len(pushes)} pushes of 6 N s the A1 falls {falls} times. It gets onto a step of "
        f"{100 * HEIGHT:g} cm from {n - missing['step']} of {n} starts, and over a gap of "
        f"{100 * GAP:g} cm from {n - missing['gap']}. Plans are made at {1 / PERIOD:g} Hz, and "
        f"take {medians}."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3, width=4.0)[0]
        for name, one in pushes.items():
            axes[0].plot(one.q[:, 0], one.q[:, 1], label=name)
        for ax, runs in zip(axes[1:], courses.values(), strict=True):
            for start, run in zip(starts, runs, strict=True):
                ax.plot(run.q[:, 0], run.q[:, 2], label=f"from {start:g} m")
        finish(axes[0], "pushed: x [m]", "y [m]")
        finish(axes[1], "step: x [m]", "height of the trunk [m]")
        finish(axes[2], "gap: x [m]", "height of the trunk [m]")

    parameters = {"height": HEIGHT, "gap": GAP, "push": PUSH * PUSHED, "starts": list(starts)}
    return Result(parameters, ours, {}, targets, sentence, draw)


MPC_CONTACTS = Experiment(
    ("mpc-contacts",),
    "the A1 is pushed, gets onto a step and over a gap; nobody schedules contacts",
    "It does not fall, arrives from all starts, and a plan takes less than the 20 ms it is for.",
    run_contacts,
)
