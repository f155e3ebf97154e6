"""Checks of masses and inertias: against the shapes of the bodies, and against each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robosim.referee.doctor.case import Case, Hull, moving
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding, Severity
from robosim.validation import Array

OUTSIDE = 0.1  # of the size of a hull, beyond which a centre of mass is far from the shapes
ROOM = 1.1  # factor by which an inertia may exceed that of all mass at the hull's corners
UNLIKE = 4.0  # factor between an inertia and that of a filled hull that is noted
VERY_UNLIKE = 20.0
HEAVY, LIGHT = 12_000.0, 10.0  # [kg/m^3], denser than lead, lighter than foam
SPREAD = 1e4  # ratio of masses of neighbours


def shapes(case: Case) -> Iterator[Finding]:
    """Bodies whose mass cannot be, or is not likely to be, within their shapes."""
    for body in moving(case):
        hull = case.hulls.get(body.name)
        if hull is None or body.principal_moments[0] <= 0:
            continue  # the loader tells of the latter
        place = case.document.body(body.name)
        inertia = np.asarray(body.inertia)

        def found(
            severity: Severity,
            said: str,
            mend: str,
            value: float,
            name: str = body.name,
            file: str | None = place.file,
            line: int | None = place.line,
        ) -> Finding:
            return Finding(
                "shapes", severity, f"body '{name}'", said, mend, EFFECTS["shapes"], value, "",
                file, line,
            )  # fmt: skip

        beyond = hull.beyond(np.zeros(3))
        if beyond > OUTSIDE * hull.size:
            yield found(
                "warning",
                f"its centre of mass is {beyond:.3g} m outside of its shapes, whose size is "
                f"{hull.size:.3g} m",
                "check <inertial><origin>, and the scale of the meshes",
                beyond / hull.size,
            )
            continue
        excess = _excess(inertia, body.mass, hull)
        if excess > ROOM:
            yield found(
                "warning",
                f"its inertia is {excess:.3g} times what its mass has if all of it lies at the "
                "farthest corners of its shapes",
                "check the unit of the inertia (kg m^2), and the scale of the meshes",
                excess,
            )
            continue
        factor = _factor(inertia, body.mass, hull)
        if factor > UNLIKE or factor < 1 / UNLIKE:
            size = max(factor, 1 / factor)
            word = "larger" if factor > 1 else "smaller"
            yield found(
                "warning" if size > VERY_UNLIKE else "note",
                f"its inertia is {size:.3g} times {word} than that of its filled shapes with the "
                "same mass",
                "export the inertia from the drawing, or compute it from the meshes",
                size,
            )
        density = body.mass / hull.volume
        if density > HEAVY or density < LIGHT:
            word = "more than lead" if density > HEAVY else "less than foam"
            yield found(
                "note",
                f"its mass in its shapes is {density:.3g} kg/m^3, {word}",
                "check the mass, and the scale of the meshes",
                density / HEAVY if density > HEAVY else LIGHT / density,
            )


def _excess(inertia: Array, mass: float, hull: Hull) -> float:
    """The largest ratio of a principal moment to the largest one that the hull allows."""
    moments, axes = np.linalg.eigh(inertia)
    return max(
        float(moment / (mass * hull.largest_moment(axis)))
        for moment, axis in zip(moments, axes.T, strict=True)
    )


def _factor(inertia: Array, mass: float, hull: Hull) -> float:
    """The ratio of the inertia to that of a filled hull which is farthest from 1, by its trace."""
    arm = hull.center
    filled = hull.moments + (arm @ arm) * np.eye(3) - np.outer(arm, arm)
    return float(np.trace(inertia) / (mass * np.trace(filled)))


def neighbours(case: Case) -> Iterator[Finding]:
    """Joints between bodies of very different masses."""
    masses = {body.name: body.mass for body in case.model.bodies if not body.carrier}
    for joint in case.model.joints:
        if joint.parent not in masses or joint.child not in masses:
            continue
        ratio = masses[joint.child] / masses[joint.parent]
        if not 1 / SPREAD < ratio < SPREAD:
            place = case.document.joint(joint.name)
            light, heavy = sorted((joint.parent, joint.child), key=lambda name: masses[name])
            yield Finding(
                "neighbours",
                "note",
                f"joint '{joint.name}'",
                f"ties '{light}' of {masses[light]:.3g} kg to '{heavy}' of {masses[heavy]:.3g} kg: "
                "explicit motors there need very short time steps",
                "merge the lighter one, or give it the inertia of what it stands for",
                EFFECTS["neighbours"],
                max(ratio, 1 / ratio),
                "",
                place.file,
                place.line,
            )
