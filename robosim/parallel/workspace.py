"""The workspace of a parallel mechanism: samples of its motors' positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from robosim.errors import OptionError, StateError
from robosim.parallel.reach import reach
from robosim.parallel.tangent import SingularValues
from robosim.validation import Array, count

if TYPE_CHECKING:
    from robosim.parallel.transmission import Transmission

BEYOND = 1e-9  # [m or rad], of a limit


@dataclass(frozen=True)
class Workspace:
    """Samples of the workspace, reached from home on straight lines.

    Attributes
    ----------
    motors, joints : (k, n) [rad or m]
    configurations : (k, nq)
    singular_values : (k, 3), of `SingularValues`
    unreached : (u, n)
        Positions of motors where loops cannot be closed.
    limited : mapping of names to int
        How many samples each limit of another coordinate excludes.
    """

    motors: Array
    joints: Array
    configurations: Array
    singular_values: Array
    unreached: Array
    limited: Mapping[str, int]

    @property
    def joint_ranges(self) -> Array:
        """Smallest and largest positions of the joints among the samples, (n, 2).

        The corners of this box need not be within reach.
        """
        return np.stack((self.joints.min(axis=0), self.joints.max(axis=0)), axis=1)

    @property
    def least_singular_values(self) -> SingularValues:
        """The smallest values among the samples."""
        return SingularValues(*map(float, self.singular_values.min(axis=0)))

    def nearest_to_singular(self, kind: str) -> Array:
        """The configuration (nq,) with the smallest value of a kind: a name in `SingularValues`."""
        if kind not in SingularValues._fields:
            raise OptionError(f"kind must be one of {SingularValues._fields}, not {kind!r}")
        column = self.singular_values[:, SingularValues._fields.index(kind)]
        return np.asarray(self.configurations[np.argmin(column)])


def workspace(
    of: Transmission,
    samples: int = 200,
    seed: int = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> Workspace:
    """Samples of motor positions within limits: home, all corners and random ones.

    Corners are among them if there are fewer than half of the samples. Samples at which another
    coordinate of the loops is beyond its limit are left out, and counted. The limits of each joint
    on a line from home, with the others at home, are further samples.

    Parameters
    ----------
    of : Transmission
    samples : int
        Number of motor positions to try.
    seed : int
    ranges : mapping of motors to (lower, upper)
        In place of their limits.

    Raises
    ------
    OptionError
        For a motor without limits that is not in `ranges`, or unknown names there.
    """
    ends = _ranges(of, ranges or {})
    size, rng = count("samples", samples), np.random.default_rng(seed)
    home = of.positions(of.home)[0]
    tried = [home]
    if 2**of.n < size / 2:
        tried += [np.array(corner) for corner in product(*ends)]
    tried += list(rng.uniform(ends[:, 0], ends[:, 1], (max(size - len(tried), 0), of.n)))
    limits = [one for one in of.loops.measured() if one.name not in of.motors]
    bounds = np.array([one.range for one in limits]).reshape(-1, 2)
    kept: list[Array] = []
    unreached: list[Array] = []
    limited: dict[str, int] = {}
    for motors in tried[:size]:
        try:
            q = of.configuration(motors=motors)
        except StateError:
            unreached.append(motors)
            continue
        values = of.loops.read(q, limits)[0]
        out = (values < bounds[:, 0] - BEYOND) | (values > bounds[:, 1] + BEYOND)
        if not out.any():
            kept.append(q)
        for k in np.flatnonzero(out):
            limited[limits[k].name] = limited.get(limits[k].name, 0) + 1
    for way in (*np.eye(of.n), *-np.eye(of.n)):
        found = reach(of, way, along="joints", ranges=ranges)
        if found.cause == "limit":
            kept.append(found.q)
    if not kept:
        raise StateError(f"no sample is within the limits of {', '.join(limited) or 'the motors'}")
    configurations = np.array(kept)
    return Workspace(
        *of.positions(configurations),
        configurations,
        np.array([of.singular_values(q) for q in kept]),
        np.array(unreached).reshape(-1, of.n),
        limited,
    )


def _ranges(of: Transmission, given: Mapping[str, tuple[float, float]]) -> Array:
    """Lower and upper positions of the motors, (n, 2)."""
    for name in given:
        if name not in of.motors:
            raise OptionError(f"no motor '{name}' (known: {', '.join(of.motors)})")
    ends = np.array([given.get(one.name, one.range) for one in of.motor_coordinates], dtype=float)
    for name, (lower, upper) in zip(of.motors, ends, strict=True):
        if not (np.isfinite(lower) and np.isfinite(upper) and lower <= upper):
            raise OptionError(
                f"motor '{name}' needs a range for samples, with a lower end and an upper one, not "
                f"({lower:g}, {upper:g}): give it in `ranges`"
            )
    return ends
