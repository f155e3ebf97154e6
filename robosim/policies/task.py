"""The task of a policy: its observations, actions, joints, default pose, gains and rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from robosim.errors import LoadError
from robosim.policies.quantities import ORDERINGS, QUANTITIES, Term, quantity

PerJoint = float | tuple[float, ...] | Mapping[str, float]
"""A number for all joints, one for each, or numbers by regular expressions of joint names."""

MODEL, DEPTH, BREADTH = ORDERS = ("model", "depth_first", "breadth_first")
"""Orders of all joints: of the model file, or of a tree with siblings in the order of names."""
POSITION, VELOCITY, TORQUE = CONTROLS = ("position", "velocity", "torque")
"""What actions are: targets of joint positions, of joint velocities, or torques."""
TERM, FRAME = STACKS = ("term", "frame")
_OPTIONS = ("scale", "offset", "clip", "history")
_HISTORY = ("length", "by", "newest_first")


@dataclass(frozen=True)
class PolicyTask:
    """The observations and actions of a policy.

    An action a acts for `decimation` steps of `timestep`. With the control "position" it becomes
    targets ``default_joint_pos + action_scale * clip(a)`` of PD control. With "velocity",
    ``action_scale * clip(a)`` are velocities that the damping drives towards. With "torque" they
    are torques.

    Attributes
    ----------
    observations : tuple of Term
        Values of terms follow each other in this order.
    joints : tuple of str, or str
        The actuated joints, in the order of actions; or the order of all actuated joints. "model"
        is that of the model file. "depth_first" goes leg by leg, "breadth_first" level by level,
        both with siblings by name.
    default_joint_pos : float, (na,) or mapping, or None [rad or m]
        None: the robot's home pose, also of joints that no pattern of a mapping matches.
    start_joint_pos : float, (na,) or mapping, or None [rad or m]
        The pose in which runs begin; None: the default pose.
    control : str
        One of `CONTROLS`.
    action_scale : float, (na,) or mapping [rad or m, rad/s or m/s, N m or N]
    action_clip : (least, most) or None
        Of actions, before their scale.
    stiffness, damping : float, (na,) or mapping, or None
        [N m/rad, N m s/rad; N/m, N s/m]. Targets of positions need both, of velocities the damping
        alone, and torques neither.
    effort_limits : bool, float, (na,) or mapping [N m or N]
        Largest torques; True: those of the robot's joints.
    no_load_speed : float, (na,) or mapping, or None [rad/s or m/s]
        As `speed` of a `PD`; None: torques do not depend on the speed.
    implicit : bool or None
        Whether PD torques are part of the equations of a step. None: only where explicit torques
        would be unstable.
    timestep : float [s]
    decimation : int
        Number of time steps for each action.
    history : int
        Number of values of terms that have no history of their own.
    history_by : str
        "term": values of a term follow each other; "frame": observations of an instant do.
    newest_first : bool
        Whether a history begins with the present values.
    clip_observations : float or None
        Largest absolute value of an entry.
    command : tuple of float
        The command at first: forward, sideways [m/s], yaw rate [rad/s].
    name : str
        For messages.
    file : pathlib.Path or None
        Where the task was read from.
    """

    observations: tuple[Term, ...]
    joints: tuple[str, ...] | str = MODEL
    default_joint_pos: PerJoint | None = None
    start_joint_pos: PerJoint | None = None
    control: str = POSITION
    action_scale: PerJoint = 1.0
    action_clip: tuple[float, float] | None = None
    stiffness: PerJoint | None = None
    damping: PerJoint | None = None
    effort_limits: bool | PerJoint = True
    no_load_speed: PerJoint | None = None
    implicit: bool | None = None
    timestep: float = 5e-3
    decimation: int = 4
    history: int = 1
    history_by: str = TERM
    newest_first: bool = False
    clip_observations: float | None = None
    command: tuple[float, ...] = (0.0, 0.0, 0.0)
    name: str = "task"
    file: Path | None = None

    @property
    def period(self) -> float:
        """Time from one action to the next [s]."""
        return self.timestep * self.decimation

    def error(self, reason: str, key: str, alternatives: Sequence[str] = ()) -> LoadError:
        """The error to raise for a key of this task."""
        element = key if self.file is not None else f"{self.name}: {key}"
        return LoadError(reason, file=self.file, element=element, alternatives=alternatives)

    @classmethod
    def of(cls, said: Mapping[str, Any], name: str = "task", file: Path | None = None) -> Self:
        """A task from a mapping, as from a task file without its preset.

        Raises
        ------
        LoadError
            For an unknown key or quantity, or a value that is not allowed.
        """
        reader = _Reader(name, file)
        for key in said:
            if key not in KEYS:
                raise reader.error(f"there is no key '{key}'", "", KEYS)
        if not said.get("observations"):
            raise reader.error("the task has no observations", "observations", tuple(QUANTITIES))
        values = {key: READERS[key](reader, key, value) for key, value in said.items()}
        stack = values.pop("history", {})
        return cls(**values, **stack, name=name, file=file)

    def to_dict(self) -> dict[str, Any]:
        """The task as a mapping, which `of` reads and which is ready for JSON."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in KEYS and value != field.default:
                found[field.name] = _plain(value)
        found["observations"] = [_said(term) for term in self.observations]
        if (self.history, self.history_by, self.newest_first) != (1, TERM, False):
            found["history"] = {
                "length": self.history, "by": self.history_by, "newest_first": self.newest_first,
            }  # fmt: skip
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def _said(term: Term) -> Any:
    """A term as in a task file."""
    options = {}
    for field in fields(term):
        value = getattr(term, field.name)
        if field.name != "name" and value != field.default:
            one = isinstance(value, tuple) and len(value) == 1 and field.name in _OPTIONS[:2]
            options[field.name] = value[0] if one else _plain(value)
    return {term.name: options} if options else term.name


class _Reader:
    """Checks values of a task, and names key and file in errors."""

    def __init__(self, name: str, file: Path | None) -> None:
        self.name, self.file = name, file

    def error(self, reason: str, key: str, alternatives: Sequence[str] = ()) -> LoadError:
        where = (
            key if self.file is not None else ": ".join(part for part in (self.name, key) if part)
        )
        return LoadError(reason, file=self.file, element=where or None, alternatives=alternatives)

    def number(self, key: str, value: Any) -> float:
        # YAML takes 1e-3, without a point, for a word.
        try:
            found = np.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            found = np.nan
        if not np.isfinite(found):
            raise self.error(f"must be a finite number, not {value!r}", key)
        return found

    def positive(self, key: str, value: Any) -> float:
        found = self.number(key, value)
        if not found > 0:
            raise self.error(f"must be positive, not {value!r}", key)
        return found

    def count(self, key: str, value: Any) -> int:
        found = self.number(key, value)
        if found < 1 or found != int(found):
            raise self.error(f"must be a whole number of at least 1, not {value!r}", key)
        return int(found)

    def flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.error(f"must be true or false, not {value!r}", key)
        return value

    def choice(self, key: str, value: Any, allowed: Sequence[str]) -> str:
        if value not in allowed:
            raise self.error(f"must be one of them, not {value!r}", key, allowed)
        return str(value)

    def words(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) == 0:
            raise self.error(f"must be a list of names, not {value!r}", key)
        for k, word in enumerate(value):
            if not isinstance(word, str):
                raise self.error(f"must be a name, not {word!r}", f"{key}[{k}]")
        twice = {word for word in value if list(value).count(word) > 1}
        if twice:
            raise self.error(f"names {', '.join(sorted(twice))} twice", key)
        return tuple(value)

    def numbers(self, key: str, value: Any) -> tuple[float, ...]:
        listed = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
        if not listed:
            raise self.error("must be numbers", key)
        return tuple(self.number(f"{key}[{k}]", one) for k, one in enumerate(listed))

    def ends(self, key: str, value: Any) -> tuple[float, float]:
        """The least and the most; one number is for both signs."""
        found = self.numbers(key, value)
        least, most = (-abs(found[0]), abs(found[0])) if len(found) == 1 else found[:2]
        if len(found) > 2 or not least < most:
            raise self.error(f"must be [least, most] or one number, not {value!r}", key)
        return least, most

    def per_joint(self, key: str, value: Any) -> PerJoint:
        if isinstance(value, Mapping):
            return {str(name): self.number(f"{key}.{name}", one) for name, one in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return self.numbers(key, value)
        return self.number(key, value)

    def limits(self, key: str, value: Any) -> bool | PerJoint:
        return value if isinstance(value, bool) else self.per_joint(key, value)

    def joints(self, key: str, value: Any) -> tuple[str, ...] | str:
        return self.choice(key, value, ORDERS) if isinstance(value, str) else self.words(key, value)

    def sides(self, key: str, value: Any) -> tuple[float, ...]:
        """Length and width."""
        found = self.numbers(key, value)
        if len(found) != 2 or min(found) < 0:
            raise self.error(f"must be [length, width], not {value!r}", key)
        return found

    def ordering(self, key: str, value: Any) -> str:
        return self.choice(key, value, ORDERINGS)

    def control(self, key: str, value: Any) -> str:
        return self.choice(key, value, CONTROLS)

    def stack(self, key: str, value: Any) -> dict[str, Any]:
        """The fields of a history of all terms."""
        if not isinstance(value, Mapping):
            return {"history": self.count(key, value)}
        for name in value:
            if name not in _HISTORY:
                raise self.error(f"there is no key '{name}'", key, _HISTORY)
        found: dict[str, Any] = {"history": self.count(f"{key}.length", value.get("length"))}
        if "by" in value:
            found["history_by"] = self.choice(f"{key}.by", value["by"], STACKS)
        if "newest_first" in value:
            found["newest_first"] = self.flag(f"{key}.newest_first", value["newest_first"])
        return found

    def observations(self, key: str, value: Any) -> tuple[Term, ...]:
        if isinstance(value, Mapping):
            value = [{name: options} for name, options in value.items()]
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.error(f"must be a list of quantities, not {value!r}", key, tuple(QUANTITIES))
        return tuple(self.term(f"{key}[{k}]", one) for k, one in enumerate(value))

    def term(self, key: str, value: Any) -> Term:
        """A term: a name, or a mapping of a name to its scale or its options."""
        options: Any = {}
        if isinstance(value, Mapping) and len(value) == 1:
            ((value, options),) = value.items()
        if not isinstance(value, str):
            raise self.error(f"must be a name with its options, not {value!r}", key)
        try:
            name = quantity(value)
        except LoadError as error:
            raise self.error(error.reason, key) from None
        key = f"{key} {value}"
        if options is None:
            options = {}
        if not isinstance(options, Mapping):
            options = {"scale": options}
        allowed = (*_OPTIONS, *QUANTITIES[name].options)
        for option in options:
            if option not in allowed:
                raise self.error(f"there is no key '{option}'", key, allowed)
        found = {
            option: _TERM_READERS[option](self, f"{key}.{option}", one)
            for option, one in options.items()
        }
        return Term(name, **found)


def _word(reader: _Reader, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise reader.error(f"must be a name, not {value!r}", key)
    return value


_TERM_READERS: dict[str, Any] = {
    "scale": _Reader.numbers,
    "offset": _Reader.numbers,
    "clip": _Reader.ends,
    "history": _Reader.count,
    "at": _word,
    "period": _Reader.positive,
    "links": _Reader.words,
    "threshold": _Reader.number,
    "points": _Reader.count,
    "size": _Reader.sides,
    "resolution": _Reader.positive,
    "ordering": _Reader.ordering,
}
READERS: dict[str, Any] = {
    "observations": _Reader.observations,
    "joints": _Reader.joints,
    "default_joint_pos": _Reader.per_joint,
    "start_joint_pos": _Reader.per_joint,
    "control": _Reader.control,
    "action_scale": _Reader.per_joint,
    "action_clip": _Reader.ends,
    "stiffness": _Reader.per_joint,
    "damping": _Reader.per_joint,
    "effort_limits": _Reader.limits,
    "no_load_speed": _Reader.per_joint,
    "implicit": _Reader.flag,
    "timestep": _Reader.positive,
    "decimation": _Reader.count,
    "history": _Reader.stack,
    "clip_observations": _Reader.positive,
    "command": _Reader.numbers,
}
KEYS = tuple(READERS)
"""The keys of a task file, beside its preset."""
