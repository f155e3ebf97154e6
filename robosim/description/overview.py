"""A description of a mechanism in words: one line, or tables of its elements."""

from __future__ import annotations

import html as web
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robosim.description.joint import Joint
from robosim.description.ray_sensor import RaySensor
from robosim.description.sensor import Sensor
from robosim.description.tendon import Term
from robosim.description.whole import Whole


class Section(NamedTuple):
    """A table: headings, which end in ``>`` for numbers, and rows of text."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def line(robot: Whole) -> str:
    """Name, sizes and mass of a mechanism."""
    loops = f" ({len(robot.loop_joints)} in loops)" if robot.loop_joints else ""
    return (
        f"Mechanism({robot.name!r}, {len(robot.bodies)} bodies, {len(robot.joints)} joints{loops}, "
        f"nq={robot.nq}, nv={robot.nv}, nu={robot.nu}, {robot.total_mass:.6g} kg)"
    )


def html(robot: Whole) -> str:
    """The sections as tables in HTML."""
    return "\n".join(_table(section) for section in sections(robot))


def _table(section: Section) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        made = []
        for text, heading in zip(cells, section.headings, strict=True):
            align = "right" if heading.endswith(">") else "left"
            shown = web.escape(text.removesuffix(">") if tag == "th" else text)
            made.append(f'<{tag} style="text-align:{align}">{shown}</{tag}>')
        return f"<tr>{''.join(made)}</tr>"

    caption = f"<caption>{web.escape(section.title)}</caption>" if section.title else ""
    head = row(section.headings, "th") if any(section.headings) else ""
    return f"<table>{caption}{head}{''.join(row(cells, 'td') for cells in section.rows)}</table>"


def sections(robot: Whole) -> list[Section]:
    """The tables of ``robosim info``."""
    found = [_summary(robot), _bodies(robot), _joints(robot)]
    more = _springs(robot), _tendons(robot), _couplings(robot), _soft(robot), _sensors(robot)
    return found + [section for section in more if section.rows]


def _summary(robot: Whole) -> Section:
    rows = [
        ("loaded from", robot.source or "a builder"),
        ("base", "floating" if robot.floating_base else "fixed"),
        ("degrees of freedom", _freedom_told(robot)),
        ("coordinates", str(robot.nq)),
        ("mass", f"{robot.total_mass:.6g} kg in {len(robot.bodies)} bodies"),
        ("contacts", _contacts_told(robot)),
    ]
    return Section(robot.name, ("", ""), rows)


def _bodies(robot: Whole) -> Section:
    rows = [
        (
            body.name,
            f"{0.0 if body.carrier else body.mass:.6g}",
            " ".join(f"{moment:.3g}" for moment in np.linalg.eigvalsh(np.asarray(body.inertia))),
            ", ".join(frame.name for frame in body.frames[1:]),
        )
        for body in robot.bodies
    ]
    heads = ("body", "mass [kg]>", "moments of inertia [kg m^2]>", "merged links")
    return Section("", heads, rows)


def _joints(robot: Whole) -> Section:
    home = np.asarray(robot.home)
    rows = [
        (
            joint.name,
            _kind(joint),
            joint.parent or "the world",
            joint.child,
            _limits(joint),
            _efforts(joint),
            " ".join(f"{value:.4g}" for value in home[start : start + joint.nq])
            if start < robot.nq
            else "closes a loop",
        )
        for start, joint in zip(robot.q_offsets, robot.joints, strict=False)
    ]
    heads = ("joint", "kind", "parent", "child", "limits", "effort>", "home")
    return Section("", heads, rows)


def _springs(robot: Whole) -> Section:
    rows = [
        (
            spring.name,
            spring.parent or "the world",
            spring.child,
            f"{spring.stiffness:.4g}",
            f"{spring.rest_length:.4g}",
            f"{spring.damping:.4g}",
        )
        for spring in robot.springs
    ]
    return Section("", ("spring", "parent", "child", "N/m>", "rest length [m]>", "N s/m>"), rows)


def _tendons(robot: Whole) -> Section:
    rows = []
    for tendon in robot.tendons:
        over = [p.coordinate for p in tendon.path if isinstance(p, Term)]
        over += dict.fromkeys(name or "the world" for name in tendon.bodies())
        rest = dict.fromkeys(np.asarray(tendon.rest_length).tolist())
        rows.append(
            (
                tendon.name,
                ", ".join(over),
                f"{tendon.stiffness:.4g}",
                " to ".join(f"{length:.4g}" for length in rest),
                f"{tendon.damping:.4g}",
                f"{tendon.lower:.4g} to {tendon.upper:.4g}",
            )
        )
    heads = ("tendon", "over", "N/m>", "rest length [m]>", "N s/m>", "limits")
    return Section("", heads, rows)


def _couplings(robot: Whole) -> Section:
    rows = [
        (one.name, one.joint, one.source, f"{one.ratio:.4g}", f"{one.offset:.4g}")
        for one in robot.couplings
    ]
    return Section("", ("coupling", "joint", "follows", "ratio>", "offset>"), rows)


def _soft(robot: Whole) -> Section:
    rows = [
        (
            mesh.name,
            str(len(mesh.bodies)),
            str(len(np.asarray(mesh.tetrahedra))),
            f"{mesh.young:.4g}",
            f"{mesh.poisson:.4g}",
            f"{mesh.density:.4g}",
        )
        for mesh in robot.soft_meshes
    ]
    heads = ("soft", "nodes>", "tetrahedra>", "Young [Pa]>", "Poisson>", "kg/m^3>")
    return Section("", heads, rows)


def _sensors(robot: Whole) -> Section:
    rows = [
        (
            sensor.name,
            sensor.kind,
            _measured(sensor),
            (sensor.reference.body or "the world") if sensor.kind.startswith("frame") else "",
            f"{sensor.rate:.4g}" if isinstance(sensor, RaySensor) and sensor.rate else "",
        )
        for sensor in robot.sensors
    ]
    return Section("", ("sensor", "kind", "of", "relative to", "Hz>"), rows)


def _measured(sensor: Sensor | RaySensor) -> str:
    """Coordinates, a subtree, or the body that a sensor is on."""
    if sensor.of:
        return ", ".join(sensor.of)
    if sensor.bodies and sensor.kind.startswith("subtree"):
        return f"{sensor.bodies[0]} and all below"
    return "" if sensor.kind == "clock" else sensor.place.body or "the world"


def _freedom_told(robot: Whole) -> str:
    told = f"{robot.nv}, of which {robot.nu} actuated"
    match len(robot.loop_joints):
        case 0:
            return told
        case 1:
            return f"{told}; a closed loop takes some"
        case n:
            return f"{told}; {n} closed loops take some"


def _contacts_told(robot: Whole) -> str:
    if not robot.contacts:
        return "none"
    touching = {contact.body for contact in robot.contacts}
    frictions = sorted({contact.friction for contact in robot.contacts})
    told = " to ".join(f"{mu:.3g}" for mu in sorted({frictions[0], frictions[-1]}))
    return f"{len(robot.contacts)} points of {len(touching)} bodies, friction {told}"


def _limits(joint: Joint) -> str:
    lower, upper = np.asarray(joint.lower), np.asarray(joint.upper)
    if not np.any(np.isfinite(lower) | np.isfinite(upper)):
        return ""
    return ", ".join(f"{a:.4g} to {b:.4g}" for a, b in zip(lower, upper, strict=True))


def _kind(joint: Joint) -> str:
    if joint.kind == "floating" or all(joint.has_motor):
        return joint.kind
    return f"{joint.kind}, {'partly ' if joint.actuated else ''}passive"


def _efforts(joint: Joint) -> str:
    each = np.atleast_1d(joint.effort_limit)
    told = [f"{effort:.4g}" if math.isfinite(effort) else "-" for effort in each]
    return ", ".join(told) if np.any(np.isfinite(each)) else ""
