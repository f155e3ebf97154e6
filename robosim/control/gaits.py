"""Gaits of quadrupeds: diagonal legs swing together [Bruedigam2023, Algorithm 6]."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from robosim.control.holding import stand
from robosim.control.pd import PD
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ModelError, OptionError
from robosim.formulation import Formulation
from robosim.validation import Array

LEGS = ("FR", "FL", "RR", "RL")
FIRST = ("FR", "RL")  # first diagonal; the other one is half a period later
PARTS = ("hip", "thigh", "calf")
PARAMETERS = ("b", "a1", "d1", "a2", "d2")
# Words for legs and joints in the names of model files.
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
STANDING = ("stand", "standing", "straight_standing", "half_sitting")  # pose names, best first


@dataclass(frozen=True)
class Legs:
    """The joints of a quadruped's legs, and how it stands.

    Attributes
    ----------
    thighs, calves : (4,) int
        Indices among the actuated coordinates, in the order of `LEGS`.
    rest : (nu,) [rad]
        Joint angles of the standing robot.
    sign : (4,)
        -1 for legs whose knees bend in the other direction than the first leg's, and otherwise 1.
    """

    thighs: tuple[int, ...]
    calves: tuple[int, ...]
    rest: Array
    sign: Array

    @classmethod
    def of(cls, robot: Mechanism, legs: Mapping[str, Sequence[str]] | None, rest: Array) -> Legs:
        """Find the legs of a robot by the names of its joints, or by a mapping as of `Gait`.

        Raises
        ------
        ModelError
            If a thigh or calf is not found.
        OptionError
            For a mapping with other keys, or a wrong number of joints.
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
    """Standing pose q (nq,): the stance, a pose with one of the names in `STANDING`, or home."""
    q = np.array(robot.home, dtype=float)
    if robot.stance is None:
        named = next((name for name in STANDING if name in robot.configurations), None)
        if named is not None:
            q = np.array(robot.configurations[named], dtype=float)
    return q


class Gait(PD):
    """Gait of a quadruped: thighs and calves swing, diagonal legs together.

    The gait is [Bruedigam2023, Algorithm 6]. Thighs follow ``a1 cos(20 pi b t) + d1``, calves
    ``a2 cos(20 pi b t - pi/2) + d2``; other joints keep the standing pose. The diagonal FL, RR is
    half a period later than FR, RL. Legs whose knees bend in the other direction are mirrored.
    Gains are those of `stand`.

    The authors' order of parameters is b, a1, d1, a2, d2; line 2 of the algorithm is misprinted.

    Parameters
    ----------
    robot : Mechanism
        Any quadruped with four similar legs.
    b : float, or (n,) for the states of a batch [Hz]
        A tenth of the frequency.
    a1, d1, a2, d2 : float, or (n,) [rad]
        Amplitude and offset of the thighs, then of the calves.
    legs : mapping of "FR", "FL", "RR", "RL" to (hip, thigh, calf), or None
        Names of joints; hips may be left out. None: found by words in the joints' names, as for
        A1, Go2, Solo and ANYmal.
    timestep : float [s] or None
        As for `stand`.
    blend : float [s]
        Duration of the transition from the standing pose to the gait; 0 for the algorithm as
        printed.
    begin : float [s]
        Simulation time at which the transition begins.
    effort_limits : bool
        Whether torques are limited to the effort limits of the joints.

    Attributes
    ----------
    parameters : (5,) or (n, 5)
    n : int or None
        Number of rows of parameters; None for a single gait.
    timestep : float [s] or None

    Raises
    ------
    ModelError
        If the legs are not found.
    OptionError
        For parameters or times that are not finite, a negative blend, or other keys of `legs`.
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
        self.blend, self.begin, self.timestep = float(blend), float(begin), timestep
        self._options: dict[str, Any] = {
            "legs": legs, "timestep": timestep, "blend": blend, "begin": begin,
            "effort_limits": effort_limits,
        }  # fmt: skip
        q = standing_pose(robot)
        held = stand(robot, timestep, q=q)
        self._legs = Legs.of(robot, legs, np.array(held.gains["target"]))
        limit = robot.effort_limits if effort_limits else None
        # Targets of a gait with n rows are never computed; a batch uses `each`.
        target = self._along_gait if self.n is None else held.gains["target"]
        super().__init__(robot, target, held.gains["kp"], held.gains["kd"], limit=limit)
        self.gains["implicit"] = held.gains["implicit"]
        self._q = q

    @classmethod
    def of(cls, robot: Mechanism, parameters: ArrayLike, **options: Any) -> Self:
        """A gait with parameters (5,) or (n, 5), in the order b, a1, d1, a2, d2.

        Raises
        ------
        ModelError, OptionError
            As `Gait`, and for a wrong shape.
        """
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
        """Set the simulation time [s] at which the transition to the gait begins."""
        self.begin = time

    def pose(self) -> Array:
        """First pose of the gait, (nq,) or (n, nq): the standing pose, with legs on the gait."""
        poses = np.tile(self._q, (len(self._rows()), 1))
        for q, row in zip(poses, self._rows(), strict=True):
            q[self.gains["q_index"]] = self._swing(row, np.array([self.begin]))[0]
        return poses if self.n is not None else poses[0]

    def __call__(self, sim: Formulation) -> Array:
        """Torques (nu,) for the simulation's present state.

        Raises
        ------
        ControllerError
            If the gait has n rows of parameters, or is implicit.
        """
        if self.n is not None:
            raise ControllerError(f"{self.n} rows of parameters are for a batch of {self.n} states")
        return super().__call__(sim)

    def moving(self, times: ArrayLike) -> tuple[Array | None, Array | None]:
        """Targets (n, nu) [rad] at times (n,) [s], and None, as velocities are constant.

        Raises
        ------
        ControllerError
            If the gait has n rows of parameters.
        """
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
        # A smooth step with zero rates at both ends.
        part = part * part * (3.0 - 2.0 * part)
        return np.asarray(legs.rest + part * (whole - legs.rest))


def standing_gait(robot: Mechanism, legs: Mapping[str, Sequence[str]] | None = None) -> Array:
    """Parameters (5,) of a gait that keeps the standing pose, from which a search can begin."""
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
    """A `Gait` that begins gradually from the standing pose.

    With the default parameters the A1 walks forward at 0.1 m/s with friction 0.2, and backward at
    0.4 m/s with friction 0.5 to 1. Without the blend a robot on high friction falls over unless
    it starts in the gait's first pose, `Gait.pose`.

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
