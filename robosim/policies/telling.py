"""The results of a policy in words, for tables in the terminal and on a page."""

from __future__ import annotations

from collections.abc import Callable

from robosim.policies.measures import Measures
from robosim.policies.sim_to_sim import SimToSim

Row = tuple[str, tuple[str, ...]]
"""What was measured, and its value in each simulator."""


def rows(found: SimToSim) -> list[Row]:
    """A row for each measure that a robot has."""
    told = [(what, tuple(tell(one) for one in found.measures)) for what, tell in _ROWS.items()]
    return [(what, texts) for what, texts in told if any(texts)]


def contact_rows(found: SimToSim) -> list[Row]:
    """A row for each body that touches the ground where both runs part."""
    if found.parting is None:
        return []
    return [
        (
            touch.body,
            tuple(
                _contact(force, height)
                for force, height in zip(touch.forces, touch.heights, strict=True)
            ),
        )
        for touch in found.parting.contacts
    ]


def _contact(force: float, height: float | None) -> str:
    if force > 0:
        return f"{force:.3g} N"
    return "open" if height is None else f"open, {1e3 * height:.2g} mm above"


def parting(found: SimToSim) -> str:
    """A sentence on where both runs part; empty for one run."""
    if len(found.tracks) < 2:
        return ""
    names = " and ".join(track.name for track in found.tracks)
    if found.parting is None:
        most = float(found.distance.max(initial=0.0))
        return f"{names} stay within {found.apart:g} {found.unit} of each other: at most {most:.3g}"
    part = found.parting
    told = f"{names} part by more than {found.apart:g} {found.unit} at {part.time:.4g} s"
    if not found.touches:
        return told
    return f"{told}; until then {100 * part.agreement:.0f} % of the contacts agree"


def _fell(one: Measures) -> str:
    if one.fell is None:
        return "" if one.distance is None else "no"  # what stands on no legs cannot fall
    return f"at {one.fell:.3g} s, {one.how}"


def _effort(one: Measures) -> str:
    if one.largest_effort is None:
        return ""
    return f"{100 * one.largest_effort:.0f} % of {one.largest_effort_joint}"


def _number(name: str, unit: str) -> Callable[[Measures], str]:
    def tell(one: Measures) -> str:
        value = getattr(one, name)
        return "" if value is None else f"{value:.3g} {unit}".strip()

    return tell


def _depth(one: Measures) -> str:
    return "" if one.penetration is None else f"{1e3 * one.penetration:.2g} mm"


def _slip(one: Measures) -> str:
    return "" if one.slip is None else f"{1e3 * one.slip:.3g} mm/s"


_ROWS: dict[str, Callable[[Measures], str]] = {
    "time": _number("seconds", "s"),
    "fell": _fell,
    "ended early": lambda one: one.ended or "",
    "distance from the start": _number("distance", "m"),
    "length of the path": _number("path", "m"),
    "velocity error, RMS": _number("velocity_error", "m/s"),
    "yaw rate error, RMS": _number("turning_error", "rad/s"),
    "torque, RMS": _number("torque", "N m"),
    "largest torque": _effort,
    "slip of contacts": _slip,
    "penetration": _depth,
    "mechanical work": _number("energy", "J"),
    "cost of transport": _number("cost_of_transport", ""),
}
