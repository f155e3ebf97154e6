"""Tendons: lengths of paths over bodies, or sums of coordinates, with springs, dampers and limits.

The length of a fixed tendon is a sum of joint coordinates. A spatial tendon is straight between
points, and wraps around spheres and cylinders without friction; pulleys divide it into branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.errors import ModelError
from robosim.validation import (
    Frozen,
    checked_limit_springs,
    checked_numbers,
    frozen_array,
    unit_quaternion,
)

WRAPS = ("sphere", "cylinder")
"""What a tendon can be wrapped around."""


@dataclass(frozen=True)
class Term:
    """A coordinate of a fixed tendon, with its factors.

    Attributes
    ----------
    coordinate : str, by its name in ``robot.q_names`` and ``v_names``
    factor : float
    higher : (3,)
        Factors of the square, the cube and the fourth power of the coordinate.
    """

    coordinate: str
    factor: float = 1.0
    higher: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        element = f"tendon's coordinate '{self.coordinate}'"
        higher = frozen_array(self.higher, (3,), "higher", element)
        object.__setattr__(self, "higher", tuple(higher.tolist()))


@dataclass(frozen=True, eq=False)
class Point(Frozen):
    """A point on the path of a spatial tendon.

    Attributes
    ----------
    body : str or None, the world
    position : (3,) [m], in body axes from the centre of mass; world coordinates for the world
    """

    body: str | None
    position: ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        element = f"tendon's point on '{self.body or 'world'}'"
        self._set(position=frozen_array(self.position, (3,), "position", element))


@dataclass(frozen=True, eq=False)
class Wrap(Frozen):
    """A sphere or cylinder around which a spatial tendon wraps, if it is in the way.

    Attributes
    ----------
    kind : "sphere" or "cylinder", which has no ends
    body : str or None, the world
    radius : float [m]
    position : (3,) [m], of its centre, as of a `Point`
    quaternion : (4,), to body axes, of the cylinder, whose axis is z
    side : Point or None
        The tendon passes on this side. If the point is inside, the tendon stays inside.
    """

    kind: str
    body: str | None
    radius: float
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY
    side: Point | None = None

    def __post_init__(self) -> None:
        element = f"tendon's {self.kind} on '{self.body or 'world'}'"
        if self.kind not in WRAPS:
            raise ModelError("is nothing to wrap around", element=element, alternatives=WRAPS)
        radius = float(frozen_array(self.radius, (), "radius", element))
        if radius <= 0:
            raise ModelError(f"radius must be positive, not {radius}", element=element)
        self._set(
            radius=radius,
            position=frozen_array(self.position, (3,), "position", element),
            quaternion=unit_quaternion(self.quaternion, "quaternion", element),
        )


@dataclass(frozen=True)
class Pulley:
    """Ends a branch of a spatial tendon; the next branch's length is divided by `divisor`.

    A negative one counts them backwards: of a tendon that is held the sum of both branches is.
    """

    divisor: float = 1.0


@dataclass(frozen=True, eq=False)
class Tendon(Frozen):
    """A tendon: a length, and forces along this length.

    Attributes
    ----------
    name : str
    path : tuple of Term, or of Point, Wrap and Pulley
    stiffness : float [N/m]
    rest_length : float or (2,) [m]
        With two values, the spring is slack between them.
    damping : float [N s/m]
    friction : float [N], dry
    armature : float [kg], inertia that moves with the length
    lower, upper : float [m]
        Limits of the length; equal limits are a constraint.
    limit_stiffness : float [N/m] or None, limit_damping : float [N s/m]
        Of compliant limits; None: hard. Beyond its limit a tendon has the force stiffness times
        depth plus damping times the rate of the depth, which never pulls it further.

    Lengths of fixed tendons over angles are in radians.

    Raises
    ------
    ModelError
        For an invalid path, negative values, or limits in the wrong order.
    """

    name: str
    path: tuple[Term | Point | Wrap | Pulley, ...]
    stiffness: float = 0.0
    rest_length: ArrayLike = 0.0
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf
    limit_stiffness: float | None = None
    limit_damping: float = 0.0

    def __post_init__(self) -> None:
        element = f"tendon '{self.name}'"
        self._set(path=tuple(self.path))
        self._check_path(element)
        others = "stiffness", "damping", "friction", "armature"
        self._set(**checked_numbers(self, element, (), others))
        rest = np.broadcast_to(np.asarray(self.rest_length, dtype=float), (2,))
        self._set(rest_length=frozen_array(rest, (2,), "rest_length", element))
        lower, upper = float(self.lower), float(self.upper)
        if rest[1] < rest[0] or not lower <= upper:
            raise ModelError(
                f"rest_length {rest.tolist()} and limits {lower} to {upper} must be from a lower "
                "to a higher number",
                element=element,
            )
        if self.limit_stiffness is not None and lower == upper:
            raise ModelError(
                f"equal limits, {lower}, are a constraint, which has no limit_stiffness: give the "
                "tendon a stiffness and a rest_length",
                element=element,
            )
        springs = checked_limit_springs(self.limit_stiffness, self.limit_damping, element)
        self._set(lower=lower, upper=upper, **springs)

    def _check_path(self, element: str) -> None:
        kinds = "".join("TPWY"[(Term, Point, Wrap, Pulley).index(type(p))] for p in self.path)
        branches = kinds.strip("Y").split("Y")
        whole = set(kinds) == {"T"} or all(
            len(b) > 1 and b[0] == b[-1] == "P" and "WW" not in b and "T" not in b for b in branches
        )
        if not whole:
            raise ModelError(
                "its path must be terms, or at least two points on every side of a pulley, with "
                "at most one thing to wrap around between two of them",
                element=element,
            )
        for pulley in (item for item in self.path if isinstance(item, Pulley)):
            if not (np.isfinite(pulley.divisor) and pulley.divisor):
                raise ModelError(
                    f"the divisor of a pulley must be a number but zero, not {pulley.divisor}",
                    element=element,
                )
        moves = any(p.factor if isinstance(p, Term) else isinstance(p, Point) and p.body is not None
                    for p in self.path)  # fmt: skip
        if not moves:
            raise ModelError("it moves with no body", element=element)

    @property
    def is_fixed(self) -> bool:
        """Whether the length is a sum of coordinates."""
        return isinstance(self.path[0], Term)

    @property
    def resists(self) -> bool:
        """Whether a passive force acts along the tendon."""
        limited = np.isfinite(self.lower) or np.isfinite(self.upper)
        return bool(limited or self.stiffness or self.damping or self.friction or self.armature)

    @property
    def motion(self) -> Callable[[float], float] | None:
        """The prescribed length [m] as a function of time [s], or None."""
        return (lambda time: self.lower) if self.lower == self.upper else None

    def bodies(self) -> Iterator[str | None]:
        """The bodies of points, wraps and their sides, in their order; None for the world."""
        for item in self.path:
            if isinstance(item, Point | Wrap):
                yield item.body
            if isinstance(item, Wrap) and item.side is not None:
                yield item.side.body
