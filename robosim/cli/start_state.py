"""The start of a run: a named pose, coordinates and velocities by name, a height."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from robosim.cli.options import option
from robosim.errors import OptionError, known

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism

START = "Start"
_option = partial(option, rich_help_panel=START)
_DEGREES = "deg"
_MOST_LISTED = 30  # coordinates: those of a quadruped

Pose = Annotated[
    str | None,
    _option(
        "--from",
        help="Start in a named pose of the robot (a keyframe, an SRDF state).",
        metavar="POSE",
    ),
]
Q = Annotated[
    list[str] | None,
    _option(
        "--q",
        help="Initial value of a coordinate: joint1=0.5 or joint1=30deg; may be given several "
        "times.",
        metavar="NAME=VALUE",
    ),
]
V = Annotated[
    list[str] | None,
    _option(
        "--v",
        help="Initial value of a velocity: joint1=2 (rad/s or m/s) or joint1=30deg; may be given "
        "several times.",
        metavar="NAME=VALUE",
    ),
]
Drop = Annotated[
    float,
    typer.Option(help="Start that many metres higher.", metavar="HEIGHT", rich_help_panel=START),
]


def start_state(
    robot: Mechanism, pose: str | None, q: Sequence[str], v: Sequence[str], drop: float
) -> dict[str, Any] | None:
    """Arguments of `Simulation.set_state` for these options; None for the default start.

    Loops are closed with the named coordinates held.

    Raises
    ------
    OptionError
        For unknown names, and values that are not finite numbers.
    """
    # Imported here, because logs take long to import.
    from robosim.log.columns import base_columns

    if not math.isfinite(drop):
        raise OptionError(f"--drop must be a finite number, not {drop}")
    if drop and not robot.floating_base:
        raise OptionError(f"--drop needs a floating base, which '{robot.name}' does not have")
    if pose is None and not (q or v or drop):
        return None
    if pose is not None and pose not in robot.poses:
        poses = known(pose, list(robot.poses))
        raise OptionError(f"--from {pose}: '{robot.name}' has no such pose ({poses})")
    positions = np.array(robot.home if pose is None else robot.poses[pose])
    names = robot.q_names
    base = base_columns(robot)
    given = _values("--q", q, names, base[0])
    for index, value in given.items():
        positions[index] = value
    _normalize(robot, positions, given)
    if drop:
        positions[2] += drop
    velocities = np.zeros(robot.nv)
    for index, value in _values("--v", v, robot.v_names, base[1]).items():
        velocities[index] = value
    # Joints with several coordinates cannot be held.
    singles = {joint.name for joint in robot.tree_joints if joint.nq == 1}
    hold = [names[index] for index in given if names[index] in singles]
    return {"q": positions, "v": velocities, "hold": hold}


def _values(
    option: str, texts: Sequence[str], names: Sequence[str], bases: Mapping[int, str]
) -> dict[int, float]:
    """Index -> value of each NAME=VALUE; `bases` have other names, as in logs."""
    found: dict[int, float] = {}
    base = {name: index for index, name in bases.items()}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not equals or not name:
            raise OptionError(f"{option} takes NAME=VALUE, not '{text}'")
        if name not in names and name not in base:
            there = [bases.get(index, own) for index, own in enumerate(names)]
            raise OptionError(f"{option} {text}: no such name ({known(name, there, _MOST_LISTED)})")
        unit = math.pi / 180 if number.endswith(_DEGREES) else 1.0
        try:
            value = unit * float(number.removesuffix(_DEGREES))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise OptionError(f"{option} {text}: '{number}' is no number")
        found[names.index(name) if name in names else base[name]] = value
    return found


def _normalize(robot: Mechanism, q: Any, given: dict[int, float]) -> None:
    """Normalize the quaternions of which entries were set."""
    for begin, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        part = slice(begin + joint.nq - 4, begin + joint.nq)
        if joint.has_quaternion and any(part.start <= index < part.stop for index in given):
            size = np.linalg.norm(q[part])
            if size < 1e-9:
                raise OptionError(f"--q: the quaternion of joint '{joint.name}' is zero")
            q[part] /= size
