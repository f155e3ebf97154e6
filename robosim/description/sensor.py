"""Sensors as in model files: a kind, and the coordinates, the place or the bodies to measure.

Values are in world axes and relative to the world, or to a reference place. `gyro`, `velocimeter`
and `accelerometer` measure in their own axes. Accelerations are relative to free fall, as of real
accelerometers. Quaternions are (w, x, y, z).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.place import Place
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array

KINDS = (
    "jointpos", "tendonpos", "actuatorpos", "jointvel", "tendonvel", "actuatorvel",
    "jointactuatorfrc", "actuatorfrc", "ballquat", "ballangvel",
    "framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis",
    "framelinvel", "frameangvel", "velocimeter", "gyro",
    "accelerometer", "framelinacc", "frameangacc",
    "subtreecom", "subtreelinvel", "subtreeangmom", "force", "torque", "touch", "clock",
)  # fmt: skip
"""What a sensor reads, by MJCF's names; lengths of tendons and actuators sum coordinates."""


@dataclass(frozen=True)
class Zone:
    """A volume around a place, in which a `touch` sensor measures forces.

    Attributes
    ----------
    kind : "sphere", "ellipsoid", "box", "capsule" or "cylinder"
    size : (3,) [m]
        Radius; half axes of an ellipsoid; half edges of a box; or radius and half length of the
        straight part along z.
    """

    kind: str
    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        if self.kind not in _OUTSIDE:
            raise ModelError(
                f"'{self.kind}' is no volume", element="zone", alternatives=tuple(_OUTSIDE)
            )

    def meets(self, start: Array, direction: Array) -> bool:
        """Whether the ray from a point (3,) along a unit vector (3,) meets the zone (its frame)."""
        # The distance outside is convex along a line, so ternary search finds its minimum.
        low, high = 0.0, float(np.linalg.norm(start)) + float(np.linalg.norm(self.size))
        for _ in range(80):
            third = (high - low) / 3
            a, b = low + third, high - third
            if self._outside(start + a * direction) < self._outside(start + b * direction):
                high = b
            else:
                low = a
        return min(self._outside(start), self._outside(start + low * direction)) <= 0

    def _outside(self, p: Array) -> float:
        return float(_OUTSIDE[self.kind](np.abs(p), np.asarray(self.size)))


# Evaluated at |p| (3,) for a size (3,): a convex function that is positive outside.
_OUTSIDE: dict[str, Callable[[Array, Array], Any]] = {
    "sphere": lambda p, s: np.linalg.norm(p) - s[0],
    "ellipsoid": lambda p, s: np.linalg.norm(p / s) - 1,
    "box": lambda p, s: np.max(p - s),
    "capsule": lambda p, s: np.hypot(np.hypot(p[0], p[1]), max(p[2] - s[1], 0.0)) - s[0],
    "cylinder": lambda p, s: max(np.hypot(p[0], p[1]) - s[0], p[2] - s[1]),
}


@dataclass(frozen=True, eq=False)
class Part(Frozen):
    """A part of a body that the rest of it carries, as a hand that is fixed to a forearm.

    Attributes
    ----------
    mass : float [kg]
    center : (3,) [m]
        Centre of mass of the part, in body axes from that of the body.
    inertia : (3, 3) [kg m^2]
        About the part's centre of mass, in body axes.
    links : tuple of str
        Names of the links of its collision shapes, whose contacts act on the part.
    """

    mass: float
    center: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = ((0.0, 0.0, 0.0),) * 3
    links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.mass < np.inf:
            raise ModelError(f"mass must not be negative, not {self.mass}", element="part")
        self._set(
            mass=float(self.mass),
            center=frozen_array(self.center, (3,), "center", "part"),
            inertia=frozen_array(self.inertia, (3, 3), "inertia", "part"),
            links=tuple(self.links),
        )


@dataclass(frozen=True, eq=False)
class Sensor(Frozen):
    """A sensor, which `Simulation.sensor` evaluates by name.

    Attributes
    ----------
    name : str
    kind : str
        One of ``KINDS``.
    of : mapping of str to float
        Factors of coordinates, by their names in ``robot.q_names`` and ``v_names``. The value is
        the sum of the products. For ball joints, the name of the joint.
    place, reference : Place or None
        Place of the sensor, and the place to which values are relative; None: the world.
    bodies : tuple of str
        The bodies of a subtree, for kinds that measure a subtree.
    part : Part or None
        For `force` and `torque`: a part of the body of `place` that is carried with the bodies.
        Wrenches and loops at that body act on the rest of it.
    zone : Zone or None
        For `touch`.
    cutoff : float
        Values are clipped to plus and minus this; 0: no limit.

    Raises
    ------
    ModelError
        For an unknown kind.
    """

    name: str
    kind: str
    of: Mapping[str, float] = field(default_factory=dict)
    place: Place = field(default_factory=Place)
    reference: Place = field(default_factory=Place)
    bodies: tuple[str, ...] = ()
    part: Part | None = None
    zone: Zone | None = None
    cutoff: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ModelError(
                f"'{self.kind}' is no kind of sensor",
                element=f"sensor '{self.name}'",
                alternatives=KINDS,
            )
        if self.part is not None and self.place.body is None:
            raise ModelError("a part needs a place on a body", element=f"sensor '{self.name}'")
        self._set(of=dict(self.of), bodies=tuple(self.bodies))
