"""Motors from a file: a law, and the stages that its commands pass, by their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from robosim.control.motors import PID, DCMotor, Delay, LearnedActuator, Motors, Rate
from robosim.description.mechanism import Mechanism
from robosim.errors import LoadError, OptionError
from robosim.loaders.plain_files import READERS, read_mapping

STAGES: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (Delay, Rate, DCMotor, LearnedActuator)
}
_KEYS = ("law", "stages")
_OTHERS = "default"  # of all joints that a table does not name


def load_motors(robot: Mechanism, path: str | os.PathLike[str], law: Any = None) -> Motors:
    """`Motors` for a robot, from a file that ends in .toml, .yaml, .yml or .json.

    ``stages`` lists the stages in the order in which commands pass. Each has a ``kind``, which is
    `Delay`, `Rate`, `DCMotor` or `LearnedActuator`, and arguments of that class by their names. A
    ``law`` has the arguments of a `PID`. A value is a number for all joints, a list in the order of
    ``robot.actuated_names``, or a table of joints. In a table, "default" stands for joints without
    a value. The ``target`` of a law may be the name of a pose, such as "home". Networks are
    searched for beside the file.

    Parameters
    ----------
    robot : Mechanism
    path : path
    law : as for `Motors`, or None
        Used unless the file has one; None: torques or targets of zero.

    Raises
    ------
    LoadError
        For a file that is missing or malformed, an unknown key, kind, joint or pose, or values that
        its classes refuse.
    OptionError
        For another ending, or a law in both places.
    ControllerError
        As `Motors`.
    """
    file, said = _read(path)
    for key in said:
        if key not in _KEYS:
            raise LoadError("is unknown", file=file, element=key, alternatives=_KEYS, wanted=key)
    stages = said.get("stages", [])
    if not isinstance(stages, Sequence) or isinstance(stages, str):
        raise LoadError(f"must be a list, not {stages!r}", file=file, element="stages")
    reading = _Reading(robot, file)
    made = [reading.stage(k, stage) for k, stage in enumerate(stages)]
    if "law" in said:
        if law is not None:
            raise OptionError(f"{file} has a law: give no other one")
        law = reading.law(said["law"])
    return Motors(robot, 0.0 if law is None else law, *made)


def has_law(path: str | os.PathLike[str]) -> bool:
    """Whether a file of motors has a law; raises as `load_motors`."""
    return "law" in _read(path)[1]


def _read(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """A file, and its keys and values."""
    file = Path(path).expanduser()
    if file.suffix.lower() not in READERS:
        raise OptionError(f"a file of motors must end in {', '.join(READERS)}, not '{file}'")
    return file, read_mapping(file)


class _Reading:
    """A file during its conversion."""

    def __init__(self, robot: Mechanism, file: Path) -> None:
        self._robot, self._file = robot, file
        self._joints = tuple(robot.actuated_names)

    def stage(self, k: int, said: Any) -> Any:
        """The stage number k."""
        element = f"stages[{k}]"
        values = self._table(said, element)
        kind = values.pop("kind", None)
        if kind not in STAGES:
            raise LoadError(
                f"kind must be one of the stages, not {kind!r}",
                file=self._file,
                element=element,
                alternatives=tuple(STAGES),
                wanted=str(kind),
            )
        if isinstance(values.get("network"), str):
            values["network"] = self._file.parent / values["network"]
        return self._made(STAGES[kind], values, f"{element} ({kind})")

    def law(self, said: Any) -> PID:
        """The law."""
        values = self._table(said, "law")
        target = values.get("target")
        if isinstance(target, str):
            poses = self._robot.poses
            if target not in poses:
                raise LoadError(
                    f"there is no pose {target!r}",
                    file=self._file,
                    element="law",
                    alternatives=tuple(poses),
                    wanted=target,
                )
            values["target"] = self._actuated(poses[target])
        return self._made(PID, values, "law")

    def _actuated(self, q: Any) -> list[float]:
        """The coordinates of the motors in a pose (nq,)."""
        place = {name: float(value) for name, value in zip(self._robot.q_names, q, strict=True)}
        lost = [name for name in self._joints if name not in place]
        if lost:
            raise LoadError(
                f"joint '{lost[0]}' has a free rotation, and a law needs angles",
                file=self._file,
                element="law",
            )
        return [place[name] for name in self._joints]

    def _table(self, said: Any, element: str) -> dict[str, Any]:
        if not isinstance(said, Mapping):
            raise LoadError(f"must have keys and values, not {said!r}",
                            file=self._file, element=element)  # fmt: skip
        return dict(said)

    def _made(self, make: Callable[..., Any], values: dict[str, Any], element: str) -> Any:
        """What a class makes of values by names."""
        parameters = signature(make).parameters
        for name in values:
            if name not in parameters:
                raise LoadError(
                    f"has no '{name}'",
                    file=self._file,
                    element=element,
                    alternatives=tuple(parameters),
                    wanted=name,
                )
        needed = [key for key, p in parameters.items() if p.default is p.empty]
        for name in needed:
            if name not in values:
                raise LoadError(f"lacks '{name}'", file=self._file, element=element)
        given = {name: self._each(value, f"{name} of {element}") for name, value in values.items()}
        try:
            return make(**given)
        except OptionError as error:
            raise LoadError(str(error), file=self._file, element=element) from None

    def _each(self, value: Any, element: str) -> Any:
        """A value, or one for each joint from a table."""
        if not isinstance(value, Mapping):
            return value
        for name in value:
            if name not in (*self._joints, _OTHERS):
                raise LoadError(
                    f"there is no motor '{name}'",
                    file=self._file,
                    element=element,
                    alternatives=self._joints,
                    wanted=str(name),
                )
        lost = [name for name in self._joints if name not in value]
        if lost and _OTHERS not in value:
            raise LoadError(
                f"has no value for {', '.join(lost)}, and no '{_OTHERS}'",
                file=self._file,
                element=element,
            )
        return np.array([value[name if name in value else _OTHERS] for name in self._joints])
