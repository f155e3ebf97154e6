"""Inverse kinematics of random targets in reach: two arms, legs with and without loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, race
from robosim.bench.report import OURS, Report, Row
from robosim.dynamics.dynamics import Dynamics
from robosim.inverse_kinematics.result import IKResult
from robosim.inverse_kinematics.targets import FrameTarget
from robosim.loaders.packages import example_robot_data
from robosim.measuring.target import Target
from robosim.models.builders import minitaur
from robosim.models.builders.legged import HIP_X, HIP_Y, LEGS, LOWER, UPPER

Array = NDArray[np.float64]
BASE = ("floating_base",)
FEET = "FR_foot", "FL_foot", "RR_foot", "RL_foot"
MOST_MISSED = 1.0  # [%] of the targets
ARMS = {
    "Panda, pose of the hand": ("panda_description/panda", "panda_hand_tcp"),
    "UR5, pose of the flange": ("ur_description/ur5_robot", "tool0"),
}
INNERMOST = 1e-3  # [m], distance kept from folded and stretched legs


class Question(NamedTuple):
    """Targets, and where to begin."""

    targets: Sequence[FrameTarget]
    q0: Array
    fixed: tuple[str, ...] = ()


def arm(dynamics: Dynamics, frame: str, k: int) -> Question:
    """The pose of a frame at a random configuration, to be reached from another random one."""
    rng = np.random.default_rng(k)
    position, R = dynamics.frame(dynamics.random(rng), frame)
    return Question((FrameTarget(frame, position, R),), dynamics.random(rng))


def feet(dynamics: Dynamics, fixed: tuple[str, ...], k: int) -> Question:
    """The positions of all feet at a random configuration, to be reached with the base at home."""
    rng = np.random.default_rng(k)
    q, q0 = dynamics.random(rng), dynamics.random(rng)
    q[:7] = q0[:7] = np.asarray(dynamics.robot.home)[:7]
    targets = [FrameTarget(foot, dynamics.frame(q, foot)[0]) for foot in FEET]
    return Question(targets, q0, fixed)


def looped_feet(dynamics: Dynamics, k: int) -> Question:
    """Positions of all feet in reach of their hips, from a random configuration with open loops."""
    rng = np.random.default_rng(k)
    home, q0 = np.asarray(dynamics.robot.home), dynamics.random(rng)
    q0[:7] = home[:7]
    targets = []
    for leg in LEGS:
        distance = rng.uniform(LOWER - UPPER + INNERMOST, LOWER + UPPER - INNERMOST)
        angle = rng.uniform(-np.pi, np.pi)
        signs = (1 if leg[0] == "F" else -1), (1 if leg[1] == "L" else -1)
        hip = home[:3] + np.array((HIP_X * signs[0], HIP_Y * signs[1], 0.0))
        foot = hip + distance * np.array((np.sin(angle), 0.0, -np.cos(angle)))
        targets.append(FrameTarget(f"{leg}_front_lower_end", foot))
    return Question(targets, q0, BASE)


def fields() -> Iterator[tuple[str, Dynamics, Callable[[int], Question]]]:
    """The problems of each robot: a description, its dynamics, and the k-th question."""
    if example_robot_data() is not None:
        for told, (name, frame) in ARMS.items():
            made = Dynamics(robosim.load(name, floating_base=False))
            yield told, made, lambda k, made=made, frame=frame: arm(made, frame, k)  # type: ignore[misc]
    a1 = Dynamics(robosim.load("a1", ground=False))
    yield "A1, feet, base fixed", a1, lambda k: feet(a1, BASE, k)
    yield "A1, feet, base free", a1, lambda k: feet(a1, (), k)
    looped = Dynamics(minitaur())
    yield "Minitaur, feet, base fixed", looped, lambda k: looped_feet(looped, k)


def answers(dynamics: Dynamics, questions: Sequence[Question]) -> list[IKResult]:
    """The answer of inverse kinematics to each question."""
    return [dynamics.inverse_kinematics(one.targets, one.q0, fixed=one.fixed) for one in questions]


def run_inverse_kinematics(setup: Setup) -> Report:
    """Targets of random configurations, each from another random configuration within limits."""
    rows: list[Row] = []
    targets: list[Target] = []
    for told, dynamics, ask in fields():
        setup.note(told)
        questions = [ask(k) for k in range(setup.choose(1000, 40))]
        found = answers(dynamics, questions)
        reached = [one for one in found if one]
        errors: dict[str, Any] = {}
        if reached:
            left = [part for one in reached for part in one.residuals]
            errors["distance, reached [m]"] = max(part.distance for part in left)
            errors["angle, reached [rad]"] = max(part.angle for part in left)
            errors["loops open by [m]"] = max(one.open_by for one in reached)
        missed = 100 * (1 - len(reached) / len(found))
        figures = {
            "not reached [%]": missed,
            "reached without restart [%]": 100
            * float(np.mean([bool(one) and not one.restarts for one in found])),
            "restarts": float(np.mean([one.restarts for one in found])),
            "iterations": float(np.mean([one.iterations for one in found])),
        }
        timed = questions[: setup.choose(100, 10)]

        def run(dynamics: Dynamics = dynamics, timed: Sequence[Question] = timed) -> bool:
            return len(answers(dynamics, timed)) == len(timed)

        contender = Contender(OURS, told, len(timed), run, errors=errors, figures=figures)
        rows += race([contender], setup.repetitions)
        targets.append(Target(f"{told}: not reached", missed, MOST_MISSED, "%"))
    return Report(tuple(rows), tuple(targets))


CASES = (
    Case(
        "inverse_kinematics",
        "random targets that can be reached: Panda, UR5, feet of the A1 and of the Minitaur",
        (),
        run_inverse_kinematics,
    ),
)
