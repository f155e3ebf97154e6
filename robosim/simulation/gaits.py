"""Gaits of quadrupeds: diagonal legs swing together [Bruedigam2023, Algorithm 6]."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ModelError, OptionError
from robosim.simulation.holding import stand
from robosim.simulation.pd import PD
from robosim.validation import Array

LEGS = ("FR", "FL", "RR", "RL")
FIRST = ("FR", "RL")  # the diagonal that begins; the other is half a period later
PARTS = ("hip", "thigh", "calf")
PARAMETERS = ("b", "a1", "d1", "a2", "d2")
# How files call the legs and their joints.
_LEG = {
    "FR": ("fr", "rf"),
    "FL": ("fl", "lf"),
    "RR": ("rr", "hr", "rh", "br", "rb"),
    "RL": ("rl", "hl", "lh", "bl", "lb"),
}
_PART = {
    "hip": ("hip", "haa", "abad", "abduction", "hipx"),
    "thigh": ("thigh", "hfe", "upper", "hipy"),
    "calf": ("calf", "kfe", "knee", "lower", "shank"),
}
STANDING = ("stand", "standing", "straight_standing", "half_sitting")  # names of poses, in order


@dataclass(frozen=True)
class Legs:
    """The joints of a quadruped's legs, and how it stands.

    Attributes
    ----------
    thighs, calves : (4,) int
        Places among the actuated coordinates, in the order of `LEGS`.
    rest : (nu,) [rad]
        How the robot stands.
    sign : (4,)
        -1 for legs whose knees bend the other way than that of the first leg.
    """

    thighs: tuple[int, ...]
    calves: tuple[int, ...]
    rest: Array
    sign: Array

    @classmethod
    def of(cls, robot: Mechanism, legs: Mapping[str, Sequence[str]] | None, rest: Array) -> Legs:
        """Of a robot, by the names of its joints or a mapping.

        Raises
        ------
        ModelError
            For a robot without such legs.
        """
        names = robot.actuated_names
        found = _by_name(names) if legs is None else _as_given(robot, legs)
        missing = [
            f"{leg} {part}" for leg in LEGS for part in PARTS[1:] if (leg, part) not in found
        ]
        if missing:
            raise ModelError(
                "a gait needs a thigh and a calf joint of each of the legs FR, FL, RR and RL; "
                f"not found: {', '.join(missing)}. Name the joints by "
                "legs={'FR': (hip, thigh, calf), ...}",
                element=f"robot '{robot.name}'",
                alternatives=names,
            )
        thighs, calves = (tuple(found[leg, part] for leg in LEGS) for part in PARTS[1:])
        knees = np.sign(rest[list(calves)])
        sign = np.where(knees * knees[0] < 0, -1.0, 1.0)
        return cls(thighs, calves, rest, sign)


def _by_name(names: Sequence[str]) -> dict[tuple[str, str], int]:
    found = {}
    for k, name in enumerate(names):
        words = set(re.split(r"[_.\-/ ]", name.lower()))
        leg = [leg for leg, known in _LEG.items() if words & set(known)]
        part = [part for part, known in _PART.items() if words & set(known)]
        if len(leg) == 1 and part:
            found[leg[0], part[-1]] = k
    return found


def _as_given(robot: Mechanism, legs: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], int]:
    if set(legs) != set(LEGS):
        raise OptionError(f"legs must have the keys {', '.join(LEGS)}, not {', '.join(legs)}")
    names, found = robot.actuated_names, {}
    for leg, joints in legs.items():
        if isinstance(joints, str) or len(joints) not in (2, 3):
            raise OptionError(f"leg {leg} must be (hip, thigh, calf) or (thigh, calf): {joints!r}")
        for part, joint in zip(PARTS[-len(joints) :], joints, strict=True):
            if joint not in names:
                raise ModelError(f"no actuated joint '{joint}'", alternatives=names)
            found[leg, part] = names.index(joint)
    return found


def standing_pose(robot: Mechanism) -> Array:
    """q (nq,) in which a robot stands: its stance, a pose that is named so, or home."""
    q = np.array(robot.home, dtype=float)
    if robot.stance is None:
        named = next((name for name in STANDING if name in robot.configurations), None)
        if named is not None:
            q = np.array(robot.configurations[named], dtype=float)
    return q


class Gait(PD):
    """Thighs and calves that swing, two diagonal legs together: [Bruedigam2023, Algorithm 6].

    Thighs follow ``a1 cos(20 pi b t) + d1``, calves ``a2 cos(20 pi b t - pi/2) + d2``, other joints
    stay as the robot stands; the diagonal FL, RR is half a period later. Legs whose knees bend the
    other way are mirrored. Gains are those that the robot stands with.

    The authors' order of parameters is b, a1, d1, a2, d2; line 2 of the algorithm is misprinted.

    Parameters
    ----------
    robot : Mechanism
        Any quadruped with legs alike.
    b : float, or (n,) for the states of a batch
        A tenth of the frequency [Hz].
    a1, d1, a2, d2 : float, or (n,) [rad]
        Amplitude and offset of thighs, then of calves.
    legs : mapping of "FR", "FL", "RR", "RL" to (hip, thigh, calf), or None
        Names of joints; hips may be left out. None: by their names, as A1, Go2, Solo and ANYmal
        have them.
    timestep : float [s] or None
        As for `stand`.
    blend : float [s]
        How long the targets take from the pose at rest to the whole gait; 0 for the algorithm as
        printed.
    begin : float [s]
        Time of the simulation at which the gait sets in.
    effort_limits : bool
        Whether torques stay within those of the joints.

    Attributes
    ----------
    parameters : (5,) or (n, 5)
    n : int or None
        Rows of parameters, None of a single one.

    Raises
    ------
    ModelError
        For a robot without such legs.
    OptionError
        For parameters or times that are not finite, or a blend below zero.
    """

    def __init__(
        self,
        robot: Mechanism,
        b: ArrayLike = 0.2,
        a1: ArrayLike = 0.2,
        d1: ArrayLike = 1.0,
        a2: ArrayLike = 0.2,
        d2: ArrayLike = -1.5,
        *,
        legs: Mapping[str, Sequence[str]] | None = None,
        timestep: float | None = None,
        blend: float = 0.0,
        begin: float = 0.0,
        effort_limits: bool = False,
    ) -> None:
        try:
            rows = np.stack(
                np.broadcast_arrays(*(np.asarray(x, float) for x in (b, a1, d1, a2, d2))), -1
            )
        except (TypeError, ValueError):
            raise OptionError("b, a1, d1, a2 and d2 must be numbers, or n of them") from None
        if rows.ndim > 2 or rows.size == 0 or not np.all(np.isfinite(rows)):
            raise OptionError(
                f"b, a1, d1, a2 and d2 must be finite numbers, or n of them, not {rows.tolist()}"
            )
        if not (np.isfinite(blend) and blend >= 0 and np.isfinite(begin)):
            raise OptionError(
                f"blend must be a time of zero or more, and begin one, not {blend!r}, {begin!r}"
            )
        self.robot, self.parameters, self.n = robot, rows, len(rows) if rows.ndim == 2 else None
        self.blend, self.begin = float(blend), float(begin)
        self._options: dict[str, Any] = {
            "legs": legs, "timestep": timestep, "blend": blend, "begin": begin,
            "effort_limits": effort_limits,
        }  # fmt: skip
        q = standing_pose(robot)
        held = stand(robot, timestep, q=q)
        self._legs = Legs.of(robot, legs, np.array(held.gains["target"]))
        limit = robot.effort_limits if effort_limits else None
        # A gait of many is taken apart before it is asked for targets.
        target = self._along_gait if self.n is None else held.gains["target"]
        super().__init__(robot, target, held.gains["kp"], held.gains["kd"], limit=limit)
        self.gains["implicit"] = held.gains["implicit"]
        self._q = q

    @classmethod
    def of(cls, robot: Mechanism, parameters: ArrayLike, **options: Any) -> Self:
        """Of parameters (5,) or (n, 5), in the order b, a1, d1, a2, d2."""
        rows = np.asarray(parameters, dtype=float)
        if rows.ndim not in (1, 2) or rows.shape[-1] != len(PARAMETERS):
            raise OptionError(
                f"parameters must have shape (5,) or (n, 5): {', '.join(PARAMETERS)}; "
                f"not {rows.shape}"
            )
        return cls(robot, *np.moveaxis(rows, -1, 0), **options)

    def each(self) -> list[Gait]:
        """A gait for each row of parameters."""
        return [type(self).of(self.robot, row, **self._options) for row in self._rows()]

    def begin_at(self, time: float) -> None:
        """Let the gait set in at this time [s] of the simulation, as one that takes over there."""
        self.begin = time

    def pose(self) -> Array:
        """Where the gait begins, (nq,) or (n, nq): the robot as it stands, its legs on the gait."""
        poses = np.tile(self._q, (len(self._rows()), 1))
        for q, row in zip(poses, self._rows(), strict=True):
            q[self.gains["q_index"]] = self._swing(row, np.array([self.begin]))[0]
        return poses if self.n is not None else poses[0]

    def __call__(self, sim: Any) -> Array:
        """Torques (nu,) for the simulation's present state."""
        if self.n is not None:
            raise ControllerError(f"{self.n} rows of parameters are for a batch of {self.n} states")
        return super().__call__(sim)

    def moving(self, times: ArrayLike) -> tuple[Array | None, Array | None]:
        """Targets of these times (n,) [s], and no velocities."""
        if self.n is not None:
            raise ControllerError(f"{self.n} rows of parameters are for a batch of {self.n} states")
        return super().moving(times)

    def _rows(self) -> Array:
        return np.atleast_2d(self.parameters)

    def _along_gait(self, times: Array) -> Array:
        return self._swing(self.parameters, times)

    def _swing(self, parameters: Array, times: Array) -> Array:
        """Targets (n, nu) of one gait at times (n,) [s]."""
        b, a1, d1, a2, d2 = parameters
        legs, angle = self._legs, 20 * np.pi * b * times[:, None]
        later = np.array([0.0 if leg in FIRST else np.pi for leg in LEGS])
        whole = np.tile(legs.rest, (len(times), 1))
        whole[:, legs.thighs] = legs.sign * (a1 * np.cos(angle + later) + d1)
        whole[:, legs.calves] = legs.sign * (a2 * np.cos(angle + later - np.pi / 2) + d2)
        if self.blend == 0:
            return whole
        part = np.clip((times[:, None] - self.begin) / self.blend, 0.0, 1.0)
        # Its rate is zero at both ends.
        part = part * part * (3.0 - 2.0 * part)
        return np.asarray(legs.rest + part * (whole - legs.rest))


def standing_gait(robot: Mechanism, legs: Mapping[str, Sequence[str]] | None = None) -> Array:
    """Parameters (5,) of a gait that stands still as the robot does: where a search may begin."""
    rest = np.array(stand(robot, q=standing_pose(robot)).gains["target"])
    found = Legs.of(robot, legs, rest)
    return np.array([0.1, 0.0, rest[found.thighs[0]], 0.0, rest[found.calves[0]]])


def trot(
    robot: Mechanism,
    timestep: float | None = None,
    *,
    b: float = 0.2,
    a1: float = 0.2,
    d1: float = 1.0,
    a2: float = 0.2,
    d2: float = -1.5,
    blend: float = 0.5,
    begin: float = 0.0,
) -> Gait:
    """A `Gait` that sets in gradually, from how the robot stands.

    With these parameters the A1 walks forward by 0.1 m/s at friction 0.2, and backward by 0.4 m/s
    at 0.5 to 1. Without the blend a robot is thrown over that does not begin in the gait's first
    pose, `Gait.pose`, on enough friction.

    Parameters
    ----------
    robot : Mechanism
    timestep, b, a1, d1, a2, d2, blend, begin
        As for `Gait`.

    Raises
    ------
    ModelError, OptionError
        As `Gait`.
    """
    return Gait(robot, b, a1, d1, a2, d2, timestep=timestep, blend=blend, begin=begin)
