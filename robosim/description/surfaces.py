"""Surface properties: restitution, compliance, friction by direction and against turning, velocity.

For two touching shapes the lower coefficient counts, as for friction. If one of them has no
coefficient (None), that of the other one counts; without any there is no such friction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError
from robosim.validation import Array, Frozen, checked_stiffness, frozen_array, not_negative

WORLD = "world"
"""What `Anisotropy.axes` is called for directions in the world."""

TURNING = ("torsional_friction", "rolling_friction")


@dataclass(frozen=True, eq=False)
class Anisotropy(Frozen):
    """Friction by direction: factors of the coefficient along a direction and across it.

    Coulomb's cone is then elliptic. The force is the one in this cone that takes the most energy.
    The direction is projected onto the plane of contact at the beginning of each time step. If it
    is normal to this plane, any tangent takes its place.

    Attributes
    ----------
    direction : (3,), of any nonzero length
    along, across : float
        Factors of the coefficient of friction, along the direction and perpendicular to it.
    axes : str or None
        Name of the body or link that the direction is fixed to, or "world". None: the shape itself,
        or the body of a contact point.
    """

    direction: ArrayLike
    along: float = 1.0
    across: float = 1.0
    axes: str | None = None

    def __post_init__(self) -> None:
        element = "anisotropy"
        direction = frozen_array(self.direction, (3,), "direction", element)
        length = float(np.linalg.norm(direction))
        if length == 0:
            raise ModelError("direction must not be zero", element=element)
        self._set(direction=frozen_array(direction / length, (3,), "direction", element))
        for what in ("along", "across"):
            self._set(**{what: not_negative(getattr(self, what), what, element)})

    @classmethod
    def between(
        cls, along: float, across: float, direction: ArrayLike, axes: str | None = None
    ) -> tuple[float, Anisotropy | None]:
        """(coefficient, anisotropy) of two coefficients; no anisotropy if they are equal."""
        if along == across:
            return along, None
        most = max(along, across)
        return most, cls(direction, along / most, across / most, axes)

    def turned(self, turn: Callable[[ArrayLike], Array], axes: str | None = None) -> Anisotropy:
        """The same with its direction in the axes of something else."""
        return replace(self, direction=turn(self.direction), axes=axes)


def slipperiest(anisotropies: Iterable[Anisotropy | None]) -> int | None:
    """Index of the anisotropy with the lowest factor, None if there is none."""
    found = [(min(one.along, one.across), k) for k, one in enumerate(anisotropies) if one]
    return min(found)[1] if found else None


def checked_surface(shape: Any, element: str) -> dict[str, Any]:
    """The eight surface fields of a shape, by name, checked: coefficients or None, arrays (3,).

    Raises
    ------
    ModelError
        For a negative coefficient, a restitution above 1, or an invalid number or vector. For an
        anisotropy of another type. For a stiffness that is not positive, and for a dissipation
        without a stiffness or a restitution with one.
    """
    restitution = float(frozen_array(shape.restitution, (), "restitution", element))
    if not 0.0 <= restitution <= 1.0:
        raise ModelError(f"restitution must be from 0 to 1, not {restitution}", element=element)
    found: dict[str, Any] = {"restitution": restitution} | _checked_compliance(shape, element)
    for what in TURNING:
        value = getattr(shape, what)
        found[what] = None if value is None else not_negative(value, what, element)
    for what in ("surface_velocity", "surface_spin"):
        found[what] = frozen_array(getattr(shape, what), (3,), what, element)
    found["anisotropy"] = shape.anisotropy
    if not isinstance(shape.anisotropy, Anisotropy | None):
        told = f"anisotropy must be an Anisotropy or None, not {shape.anisotropy!r}"
        raise ModelError(told, element=element)
    return found


def _checked_compliance(shape: Any, element: str) -> dict[str, Any]:
    """Stiffness and dissipation of a shape, checked."""
    dissipation = not_negative(shape.dissipation, "dissipation", element)
    if shape.stiffness is None:
        if dissipation:
            told = f"dissipation is of compliant surfaces: {dissipation} s/m needs a stiffness"
            raise ModelError(told, element=element)
        return {"stiffness": None, "dissipation": 0.0}
    stiffness = checked_stiffness(shape.stiffness, "stiffness", "a hard surface", element)
    if shape.restitution:
        raise ModelError(
            f"restitution is of hard surfaces: {shape.restitution} and a stiffness exclude each "
            "other, and `dissipation` tells how a compliant one bounces",
            element=element,
        )
    return {"stiffness": stiffness, "dissipation": dissipation}


def in_series(surfaces: Iterable[Any]) -> tuple[float, float] | None:
    """(stiffness [N/m], dissipation [s/m]) of surfaces that touch; None if all are hard.

    As two springs in series, each with the dissipation of its own deflection, as in Drake.
    """
    soft = [(one.stiffness, one.dissipation) for one in surfaces if one.stiffness is not None]
    if not soft:
        return None
    stiffness = 1.0 / sum(1.0 / k for k, _ in soft)
    return stiffness, sum(d * stiffness / k for k, d in soft)


def lowest(*values: float | None) -> float:
    """The lowest of the given coefficients; 0 without any."""
    return min((value for value in values if value is not None), default=0.0)
