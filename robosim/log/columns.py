"""Samples of a log, and the names of its columns.

The columns are ``time``, coordinates, velocities, torques, four numbers about the step, and
additional channels (`robosim.log.channels`). Names of columns suffice to read a log, as is needed
for CSV files: ``base_x`` to ``base_qz`` and ``<joint>.position`` are q, ``base_vx`` to ``base_wz``
and ``<joint>.velocity`` are v, ``<joint>.torque`` is tau. The base of a robot that was added with a
prefix has the prefix too: ``second/base_x``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import LogError
from robosim.log.channels import EFFORTS, Also
from robosim.version import __version__

Array = NDArray[np.float64]

BASE_POSE = ("base_x", "base_y", "base_z", "base_qw", "base_qx", "base_qy", "base_qz")
BASE_TWIST = ("base_vx", "base_vy", "base_vz", "base_wx", "base_wy", "base_wz")
POSITION, VELOCITY, TORQUE = ".position", ".velocity", ".torque"
INTEGERS = ("iterations", "substeps")
STEP = (*INTEGERS, "violation", "gap")
# Of the steps from one sample to the next, a sample has the worst.
WORST = {name: np.minimum if name == "gap" else np.maximum for name in STEP}
KNOT = ("t", "q", "v", "tau", "extra", "scans")
NO_EXTRA = np.zeros((0, 0))
NO_SCANS = np.empty((0, 0), dtype=object)


class Chunk(NamedTuple):
    """Some consecutive samples of a run.

    If samples are several steps apart, `iterations`, `substeps` and `violation` are the largest
    values up to the next sample. `gap` is the smallest one.

    Attributes
    ----------
    t : (n,) [s]
    q : (n, nq), v : (n, nv)
        Coordinates and velocities at t, in the robot's order.
    tau : (n, nu) [N m or N]
        Torques over the step that starts at t.
    iterations, substeps : (n,) int64
        Newton iterations of that step, and the substeps that it took: 1 if it was not divided.
    violation : (n,) [m]
        Largest violation of a joint at the end of the step.
    gap : (n,) [m]
        Smallest distance of a contact from the ground at the end of the step.
    extra : (n, m)
        Additional channels at t; (0, 0) without any.
    scans : (n, k) of arrays
        Large readings of sensors at t, one object for all samples with the same reading; (0, 0)
        without any.
    """

    t: Array
    q: Array
    v: Array
    tau: Array
    iterations: NDArray[np.int64]
    substeps: NDArray[np.int64]
    violation: Array
    gap: Array
    extra: Array = NO_EXTRA
    scans: NDArray[np.object_] = NO_SCANS

    def __repr__(self) -> str:
        span = f", t = {self.t[0]:.6g} to {self.t[-1]:.6g} s" if len(self.t) else ""
        return f"<Chunk of {len(self.t)} samples{span}>"

    def thinned(self, every: int) -> Self:
        """The first sample and each `every`-th after it, with the worst of the steps between."""
        if every == 1 or len(self.t) == 0:
            return self
        worst = {name: worst_of(name, getattr(self, name), every) for name in STEP}
        knots = {name: getattr(self, name)[::every] for name in KNOT}
        return self._replace(**knots, **worst)


def worst_of(name: str, steps: NDArray[Any], every: int) -> NDArray[Any]:
    """The worst of each `every` steps, and of what is left of them, in a column of `STEP`."""
    return steps if every == 1 else WORST[name].reduceat(steps, np.arange(0, len(steps), every))


def effort_units(robot: Mechanism) -> list[str]:
    """The unit of each entry of a torque vector (nu,)."""
    units: list[str] = []
    for joint in robot.joints:
        units += [EFFORTS[unit] for unit in joint.units]
    return [units[k] for k in robot.actuated]


def base_columns(robot: Mechanism) -> tuple[dict[int, str], dict[int, str]]:
    """What the entries of q, and of v, are called that are those of bases.

    The base of the first robot if that floats, and of each that was added with a prefix: the first
    joint of all that have the prefix, up to the last slash, if that floats.
    """
    found: tuple[dict[int, str], dict[int, str]] = ({}, {})
    seen: set[str] = set()
    for joint, q, v in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
        first, slash, _ = joint.name.rpartition("/")
        prefix = first + slash
        fresh = prefix not in seen and (prefix or not seen)
        seen.add(prefix)
        if fresh and joint.kind == "floating" and joint.parent is None:
            found[0].update({q + k: prefix + name for k, name in enumerate(BASE_POSE)})
            found[1].update({v + k: prefix + name for k, name in enumerate(BASE_TWIST)})
    return found


def _is_base(name: str, columns: Sequence[str]) -> bool:
    return name.rpartition("/")[2] in columns


@dataclass(frozen=True)
class LogInfo:
    """Information about a log.

    Attributes
    ----------
    robot : str
        Name of the robot; empty if unknown (CSV).
    timestep : float [s]
        Time from one sample to the next; NaN if unknown (a CSV file with fewer than two samples).
    q, v, tau : tuple of str
        Names of the columns of q, v and tau, in the robot's order.
    units : mapping of str to str
        Unit of each column; empty if unknown (CSV).
    version : str
        Version of robosim that wrote the log.
    ended : str
        "complete", or the reason for an early end of the run; empty if unknown (CSV).
    extra : tuple of str
        Names of the columns of additional channels.
    scans : mapping of str to tuple of int
        Shapes of readings that are kept as arrays, by the names of their sensors.
    """

    robot: str
    timestep: float
    q: tuple[str, ...]
    v: tuple[str, ...]
    tau: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)
    version: str = __version__
    ended: str = "complete"
    extra: tuple[str, ...] = ()
    scans: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        columns = f"{len(self.names)} columns every {self.timestep:.6g} s"
        return f"<LogInfo of {self.robot!r}: {columns}, {self.ended or 'end unknown'}>"

    @classmethod
    def of(
        cls,
        robot: Mechanism,
        timestep: float,
        version: str = __version__,
        also: Also | None = None,
    ) -> LogInfo:
        """The information for a new log of `robot` with a sample each `timestep` [s]."""
        q_units: list[str] = []
        v_units: list[str] = []
        for joint in robot.tree_joints:
            q_units += joint.units[: joint.numbers]
            q_units += ["1"] * 4 if joint.has_quaternion else []
            v_units += [f"{unit}/s" for unit in joint.units]
        bases = base_columns(robot)
        q = [bases[0].get(k, name + POSITION) for k, name in enumerate(robot.q_names)]
        v = [bases[1].get(k, name + VELOCITY) for k, name in enumerate(robot.v_names)]
        tau = [name + TORQUE for name in robot.actuated_names]
        units = dict(zip((*q, *v), (*q_units, *v_units), strict=True))
        units |= dict(zip(tau, effort_units(robot), strict=True))
        units |= {"time": "s", "iterations": "1", "substeps": "1", "violation": "m", "gap": "m"}
        extra: tuple[str, ...] = ()
        scans: dict[str, tuple[int, ...]] = {}
        if also is not None:
            extra, units, scans = also.columns, units | also.units, also.scans
        columns = tuple(q), tuple(v), tuple(tau)
        return cls(robot.name, float(timestep), *columns, units, version, extra=extra, scans=scans)

    @classmethod
    def from_names(cls, names: Sequence[str], metadata: str | None = None) -> LogInfo:
        """The information from the names of a file's columns, and from its metadata (JSON), if any.

        Raises
        ------
        LogError
            If these are not names of a log.
        """
        missing = [name for name in ("time", *STEP) if name not in names]
        if missing:
            raise LogError(f"no column '{missing[0]}': not a log of robosim")
        try:
            says: dict[str, Any] = json.loads(metadata) if metadata else {}
            scans = {str(k): tuple(map(int, v)) for k, v in says.get("scans", {}).items()}
            names = [name for name in names if name not in scans]
            info = cls(
                robot=str(says.get("robot", "")),
                timestep=float(says.get("timestep", np.nan)),
                q=tuple(n for n in names if _is_base(n, BASE_POSE) or n.endswith(POSITION)),
                v=tuple(n for n in names if _is_base(n, BASE_TWIST) or n.endswith(VELOCITY)),
                tau=tuple(n for n in names if n.endswith(TORQUE)),
                units=dict(says.get("units", {})),
                version=str(says.get("version", "")),
                ended=str(says.get("ended", "")),
                scans=scans,
            )
            return replace(info, extra=tuple(n for n in names if n not in info.names))
        except (ValueError, TypeError, AttributeError):
            raise LogError("its metadata cannot be understood") from None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return ("time", *self.q, *self.v, *self.tau, *STEP, *self.extra)

    @property
    def floating_base(self) -> bool:
        """Whether the pose and twist of a floating base are among the columns."""
        return set(BASE_POSE) <= set(self.q)

    def metadata(self) -> str:
        """The metadata as JSON, which `from_names` reads."""
        return json.dumps(
            {
                "robot": self.robot,
                "timestep": self.timestep,
                "units": dict(self.units),
                "version": self.version,
                "ended": self.ended,
                **({"scans": dict(self.scans)} if self.scans else {}),
            }
        )

    def with_end(self, ended: str) -> LogInfo:
        """The same information with another `ended`."""
        return replace(self, ended=ended)

    def columns(self, chunk: Chunk) -> list[Array | NDArray[np.int64]]:
        """The columns of some samples, each (n,) and contiguous, in the order of `names`.

        Raises
        ------
        LogError
            If the chunk has another robot.
        """
        n = len(chunk.t)
        widths = {name: len(getattr(self, name)) for name in ("q", "v", "tau")}
        if self.extra or chunk.extra.size:
            widths["extra"] = len(self.extra)
        if self.scans or chunk.scans.size:
            widths["scans"] = len(self.scans)
        for name, width in widths.items():
            shape = np.shape(getattr(chunk, name))
            if shape != (n, width):
                raise LogError(
                    f"{name} of the samples has shape {shape}, not {(n, width)} as the log of "
                    f"'{self.robot}' needs"
                )
        table = np.ascontiguousarray(np.hstack((chunk.q, chunk.v, chunk.tau)).T, dtype=np.float64)
        return [
            np.ascontiguousarray(chunk.t, dtype=np.float64),
            *table,
            np.ascontiguousarray(chunk.iterations, dtype=np.int64),
            np.ascontiguousarray(chunk.substeps, dtype=np.int64),
            np.ascontiguousarray(chunk.violation, dtype=np.float64),
            np.ascontiguousarray(chunk.gap, dtype=np.float64),
            *np.ascontiguousarray(chunk.extra.T[: len(self.extra)], dtype=np.float64),
        ]
