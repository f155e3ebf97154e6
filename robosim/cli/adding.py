"""``--add``: models in addition to the one of a command."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, NamedTuple

from robosim import quaternions
from robosim.cli.options import option
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError

_DEGREES = "deg"

Added = Annotated[
    list[str] | None,
    option(
        "--add",
        help="Add another model (a name or a path) to the world, at a position in m and "
        "with a rotation about z in rad, or 90deg; may be given several times.",
        metavar="MODEL@X,Y,Z[,YAW]",
        rich_help_panel="Loading",
    ),
]


class Addition(NamedTuple):
    """A model to add: its name or path, position (3,) [m] and rotation about z [rad]."""

    model: str
    position: tuple[float, float, float]
    yaw: float


def addition(text: str) -> Addition:
    """The model, position and rotation in one ``--add``.

    Raises
    ------
    OptionError
        For text that is not MODEL@X,Y,Z or MODEL@X,Y,Z,YAW.
    """
    model, at, place = text.rpartition("@")
    values = place.split(",")
    if not (model and at) or len(values) not in (3, 4):
        raise OptionError(
            f"--add takes MODEL@X,Y,Z or MODEL@X,Y,Z,YAW, as in cube@0.5,0,0.3; not '{text}'"
        )
    found = [_number(text, value) for value in values[:3]]
    yaw = values[3] if len(values) == 4 else "0"
    turn = _number(text, yaw.removesuffix(_DEGREES))
    turn *= math.pi / 180 if yaw.endswith(_DEGREES) else 1.0
    return Addition(model, (found[0], found[1], found[2]), turn)


def _number(text: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise OptionError(f"--add {text}: '{value}' is no number")
    return number


def prefix_of(robot: Mechanism, model: str) -> str:
    """The prefix of an added model's names: its name, with a number from the second one on."""
    base = Path(model).name.partition(".")[0].rpartition(":")[2]
    names = [body.name for body in robot.bodies] + [frame.name for frame in robot.world_frames]
    prefix, k = f"{base}/", 2
    while any(name.startswith(prefix) for name in names):
        prefix, k = f"{base}{k}/", k + 1
    return prefix


def with_added(robot: Mechanism, other: Mechanism, wanted: Addition) -> Mechanism:
    """The robot with another model at the position of `--add`."""
    turn = quaternions.from_axis_angle((0.0, 0.0, 1.0), wanted.yaw)
    return robot.add(other, wanted.position, turn, prefix_of(robot, wanted.model))
