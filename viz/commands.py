"""Commands from browsers, which are checked before they are executed.

A message is a JSON object with a ``do`` and exactly the fields of this command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

MIN_SPEED, MAX_SPEED = 0.02, 10.0
MIN_TIMESTEP, MAX_TIMESTEP = 1e-5, 0.1  # [s]
_LONGEST_NAME = 200
_FARTHEST = 1e6  # [m, rad]

Command = dict[str, Any]


def _number(low: float, high: float) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        # Not converted: an integer may be too large for a float. NaN fails both comparisons.
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        return real and low <= value <= high

    return check


def _integer(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def _name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_NAME


def _point(value: Any) -> bool:
    near = _number(-_FARTHEST, _FARTHEST)
    return isinstance(value, list) and len(value) == 3 and all(near(x) for x in value)


def _shown(value: Any) -> str:
    """The beginning of a value in ASCII, for the log."""
    try:
        return ascii(value)[:40]
    except (RecursionError, ValueError):  # too deeply nested lists, or too long integers
        return f"a {type(value).__name__} that cannot be shown"


_INDEX = _integer(0, 10_000)
CONTROLS = ("slider", "press")  # commands for a script's controls, not for the run
FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "play": {},
    "pause": {},
    "reset": {},
    "release": {},
    "step": {"count": _integer(1, 1000)},
    "speed": {"value": _number(MIN_SPEED, MAX_SPEED)},
    "joint": {"index": _INDEX, "value": _number(-_FARTHEST, _FARTHEST)},
    "configuration": {"name": _name},
    "controller": {"name": _name},
    "timestep": {"value": _number(MIN_TIMESTEP, MAX_TIMESTEP)},
    "drag": {"body": _INDEX, "point": _point, "target": _point},
    "select": {"body": _INDEX},
    "deselect": {},
    "torque": {"index": _INDEX, "value": _number(-_FARTHEST, _FARTHEST)},
    "relax": {},
    "slider": {"name": _name, "value": _number(-sys.float_info.max, sys.float_info.max)},
    "press": {"name": _name},
    "choose": {"name": _name},
}


def parse(line: bytes) -> Command:
    """The command in a line of JSON.

    Raises
    ------
    ValueError
        With the reason, if the line is not a valid command.
    """
    try:
        command = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(command, dict):
        raise ValueError("not a JSON object")
    fields = FIELDS.get(command["do"]) if isinstance(command.get("do"), str) else None
    if fields is None:
        raise ValueError(f"unknown command: {_shown(command.get('do'))}")
    if set(command) != {"do", *fields}:
        raise ValueError(f"'{command['do']}' has the fields {sorted(fields)}")
    for name, check in fields.items():
        if not check(command[name]):
            raise ValueError(f"'{command['do']}' cannot have the {name} {_shown(command[name])}")
    return command
