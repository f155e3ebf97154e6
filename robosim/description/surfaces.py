"""Surface properties: restitution, torsional and rolling friction, surface velocity.

For two touching shapes the lower coefficient counts, as for friction. If one of them has no
coefficient (None), that of the other one counts; without any there is no such friction.
"""

from __future__ import annotations

from typing import Any

from robosim.errors import ModelError
from robosim.validation import frozen_array, not_negative

TURNING = ("torsional_friction", "rolling_friction")


def checked_surface(shape: Any, element: str) -> dict[str, Any]:
    """The five surface fields of a shape, by name, checked: coefficients or None, arrays (3,).

    Raises
    ------
    ModelError
        For a negative coefficient, a restitution above 1, or an invalid number or vector.
    """
    restitution = float(frozen_array(shape.restitution, (), "restitution", element))
    if not 0.0 <= restitution <= 1.0:
        raise ModelError(f"restitution must be from 0 to 1, not {restitution}", element=element)
    found: dict[str, Any] = {"restitution": restitution}
    for what in TURNING:
        value = getattr(shape, what)
        found[what] = None if value is None else not_negative(value, what, element)
    for what in ("surface_velocity", "surface_spin"):
        found[what] = frozen_array(getattr(shape, what), (3,), what, element)
    return found


def lowest(*values: float | None) -> float:
    """The lowest of the given coefficients; 0 without any."""
    return min((value for value in values if value is not None), default=0.0)
