"""Springs, couplings and potentials, which act in addition to joints and contacts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError
from robosim.validation import Array, Frozen, checked_numbers, frozen_array


@dataclass(frozen=True, eq=False)
class Potential(Frozen):
    """An energy V(x) [J] of one coordinate, twice differentiable, as a cubic spline.

    The force is exactly minus the spline's derivative, so that the integrator conserves the energy
    of the spline. Beyond the ends, the outermost pieces of the spline are continued.

    Attributes
    ----------
    x : (n,) [rad or m], increasing, at least two
    energy : (n,) [J]
    pieces : (n - 1, 4), coefficients of 1, d, d^2, d^3 from the piece's beginning

    Raises
    ------
    ModelError
        For numbers that are not finite or x that does not increase.
    """

    x: ArrayLike
    energy: ArrayLike
    pieces: Array = field(init=False)

    def __post_init__(self) -> None:
        element = "potential"
        x = frozen_array(self.x, np.shape(self.x), "x", element)
        if x.ndim != 1 or len(x) < 2 or np.any(np.diff(x) <= 0):
            raise ModelError("x must be at least two increasing numbers", element=element)
        energy = frozen_array(self.energy, x.shape, "energy", element)
        # Imported here, because scipy.interpolate takes longer to import than all of robosim.
        from scipy.interpolate import CubicSpline

        spline = CubicSpline(x, energy, bc_type="natural" if len(x) < 4 else "not-a-knot")
        pieces = np.ascontiguousarray(spline.c[::-1].T)
        pieces.setflags(write=False)
        self._set(x=x, energy=energy, pieces=pieces)

    @classmethod
    def sample(
        cls, function: Callable[[Array], ArrayLike], lower: float, upper: float, n: int = 257
    ) -> Potential:
        """The spline through n samples of a function of x, evenly spaced from lower to upper."""
        x = np.linspace(lower, upper, n)
        return cls(x, np.asarray(function(x), dtype=float))

    def __call__(self, x: ArrayLike) -> Array:
        """V(x) [J]."""
        x = np.asarray(x, dtype=float)
        begins = np.asarray(self.x)
        piece = np.clip(np.searchsorted(begins, x, side="right") - 1, 0, len(begins) - 2)
        c, d = self.pieces[piece], x - begins[piece]
        return np.asarray(c[..., 0] + d * (c[..., 1] + d * (c[..., 2] + d * c[..., 3])))


@dataclass(frozen=True, eq=False)
class PointSpring(Frozen):
    """A spring and damper along the line between a point of one body and a point of another.

    Attributes
    ----------
    name : str
    parent : str or None, the world
    child : str
    parent_position, child_position : (3,) [m]
        In body axes from the centre of mass; world coordinates for the world.
    stiffness : float [N/m]
    rest_length : float [m]
        0 for a spring that pulls its ends together at any distance [Sueda, Eq. 1.35].
    damping : float [N s/m], against the change of length
    potential : Potential or None
        An additional energy as a function of the length.

    Raises
    ------
    ModelError
        For a negative length, stiffness or damping.
    """

    name: str
    parent: str | None
    child: str
    parent_position: ArrayLike = (0.0, 0.0, 0.0)
    child_position: ArrayLike = (0.0, 0.0, 0.0)
    stiffness: float = 0.0
    rest_length: float = 1.0
    damping: float = 0.0
    potential: Potential | None = None

    def __post_init__(self) -> None:
        element = f"spring '{self.name}'"
        for what in ("parent_position", "child_position"):
            self._set(**{what: frozen_array(getattr(self, what), (3,), what, element)})
        others = "stiffness", "rest_length", "damping"
        self._set(**checked_numbers(self, element, (), others))
        if self.parent == self.child:
            raise ModelError("connects a body with itself", element=element)


@dataclass(frozen=True, eq=False)
class Coupling(Frozen):
    """A gear: ``q_joint = ratio * q_source + offset``, between joints with one coordinate each.

    Attributes
    ----------
    name : str
    joint, source : str
    ratio : float
    offset : float [rad or m]
    """

    name: str
    joint: str
    source: str
    ratio: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        element = f"coupling '{self.name}'"
        for what in ("ratio", "offset"):
            value = float(frozen_array(getattr(self, what), (), what, element))
            self._set(**{what: value})
        if self.joint == self.source:
            raise ModelError(f"couples joint '{self.joint}' with itself", element=element)
