"""Output of the commands: tables, and dictionaries for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from robosim.description import overview
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Term

if TYPE_CHECKING:
    from pathlib import Path

    from robosim.learning import Learned
    from robosim.loaders.convex import Fit
    from robosim.measuring.target import Target

VERDICTS = {
    True: "[green]reached[/green]",
    False: "[bold red]missed[/bold red]",
    None: "[dim]not judged in quick runs[/dim]",
}


def plain_table(*headings: str, title: str | None = None) -> Table:
    """An empty table without lines; headings that end in ``>`` are for numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in headings:
        number = heading.endswith(">")
        table.add_column(
            heading.removesuffix(">"), justify="right" if number else "left", overflow="fold"
        )
    return table


def targets_table(targets: Mapping[str, Sequence[Target]]) -> Table:
    """Targets by experiment, and whether they were reached."""
    table = plain_table("experiment", "target", "limit>", "measured>", "")
    for name, rows in targets.items():
        for k, target in enumerate(rows):
            sign = ">=" if target.at_least else "<="
            table.add_row(
                name if k == 0 else "",
                escape(target.what),
                f"{sign} {_number(target.limit)} {target.unit}".strip(),
                f"{_number(target.measured)} {target.unit}".strip(),
                VERDICTS[target.reached],
            )
    return table


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else str(value)


def outcome_table(summary: dict[str, Any], plot: str) -> Table:
    """The results of a run, from the summary of its statistics; `plot` is a command for its log."""
    table = plain_table("", "")
    table.show_header = False

    def row(what: str, told: str) -> None:
        table.add_row(f"[dim]{what}[/dim]", escape(told))

    s = summary
    row("robot", s["robot"])
    factor = f", {s['real_time_factor']:.3g} x real time" if s["real_time_factor"] else ""
    row("simulated", f"{s['seconds']:.6g} s in {s['wall_seconds']:.3g} s{factor}")
    each = f", {s['us_per_step']:.3g} us each" if s["us_per_step"] is not None else ""
    row("steps", f"{s['steps']} of {1e3 * s['timestep']:.4g} ms{each}")
    if s["steps_above_tolerance"]:
        row("above tolerance", f"{s['steps_above_tolerance']} steps, by rounding")
    if s["newton_iterations_mean"] is not None:
        row(
            "Newton iterations",
            f"{s['newton_iterations_mean']:.2f} a step, {s['newton_iterations_max']} at most",
        )
    if s["fourth_order_fraction"] is not None:
        row("order", f"4 in {100 * s['fourth_order_fraction']:.3g} % of the steps, 2 in the others")
    if s["accuracy"] is not None:
        row(
            "intervals",
            f"{s['intervals']}, the shortest {s['shortest_interval']:.3g} s; {s['events']} end "
            "where something closes",
        )
        row(
            "estimated error",
            f"{s['estimated_error']:.2g} m, of {s['accuracy'] * s['seconds']:.2g} m allowed",
        )
    row("failed steps", str(s["failed_steps"]))
    if s["divided_steps"] and s["accuracy"] is None:
        row("divided steps", f"{s['divided_steps']}, into {s['substeps']} substeps together")
    if s["max_constraint_violation_m"] is not None:
        row("joint violation", f"{s['max_constraint_violation_m']:.2g} m at most")
    if s["min_gap_m"] is not None:
        row("smallest gap", f"{s['min_gap_m']:.3g} m")
    if s["largest_effort"] is not None:
        largest, beyond = s["largest_effort"], s["steps_beyond_effort_limits"]
        told = f"{largest['effort']:.3g} of {largest['limit']:.3g} {largest['unit']}"
        too_much = f", limits exceeded in {beyond} steps (see --effort-limits)" if beyond else ""
        row("largest effort", f"{told}, {largest['joint']}{too_much}")
    if s["fell"] is not None:
        fell = s["fell"]
        how = "its base was upside down" if fell["how"] == "upside down" else "its base came down"
        row("fell", f"at {fell['time']:.4g} s: {how}, {fell['height']:.3g} m over the ground")
    if s["energy_initial"] is not None and s["energy_final"] is not None:
        row("energy", f"{s['energy_initial']:.6g} J to {s['energy_final']:.6g} J")
    if s["final_base_position"] is not None:
        row("base at", ", ".join(f"{x:.4f}" for x in s["final_base_position"]) + " m")
    if s.get("log"):
        row("log", f"{s['log']}  ({plot})")
    if s.get("record"):
        row("recording", s["record"])
    return table


def robot_dictionary(robot: Mechanism) -> dict[str, Any]:
    """The output of ``robosim info --json``."""
    return {
        "name": robot.name,
        "source": robot.source,
        "floating_base": robot.floating_base,
        "nq": robot.nq,
        "nv": robot.nv,
        "nu": robot.nu,
        "total_mass": robot.total_mass,
        "bodies": [
            {
                "name": body.name,
                "mass": 0.0 if body.carrier else body.mass,
                "inertia": np.asarray(body.inertia).tolist(),
                "frames": [frame.name for frame in body.frames],
                "visuals": len(body.visuals),
                "collisions": len(body.collisions),
            }
            for body in robot.bodies
        ],
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind,
                "parent": joint.parent,
                "child": joint.child,
                "closes_loop": j >= len(robot.bodies),
                "actuated": _plain(joint.actuated),
                "lower": [_finite(x) for x in np.asarray(joint.lower)],
                "upper": [_finite(x) for x in np.asarray(joint.upper)],
                "velocity_limit": _plain(joint.velocity_limit),
                "effort_limit": _plain(joint.effort_limit),
            }
            for j, joint in enumerate(robot.joints)
        ],
        "contacts": [
            {
                "name": contact.name,
                "body": contact.body,
                "position": np.asarray(contact.position).tolist(),
                "radius": contact.radius,
                "friction": contact.friction,
            }
            for contact in robot.contacts
        ],
        "springs": [
            {
                "name": spring.name,
                "parent": spring.parent,
                "child": spring.child,
                "stiffness": spring.stiffness,
                "rest_length": spring.rest_length,
                "damping": spring.damping,
            }
            for spring in robot.springs
        ],
        "tendons": [
            {
                "name": tendon.name,
                "coordinates": [p.coordinate for p in tendon.path if isinstance(p, Term)],
                "bodies": list(dict.fromkeys(tendon.bodies())),
                "stiffness": tendon.stiffness,
                "rest_length": np.asarray(tendon.rest_length).tolist(),
                "damping": tendon.damping,
                "lower": _finite(tendon.lower),
                "upper": _finite(tendon.upper),
            }
            for tendon in robot.tendons
        ],
        "couplings": [
            {
                "name": coupling.name,
                "joint": coupling.joint,
                "source": coupling.source,
                "ratio": coupling.ratio,
                "offset": coupling.offset,
            }
            for coupling in robot.couplings
        ],
        "sensors": [
            {
                "name": sensor.name,
                "kind": sensor.kind,
                "of": dict(sensor.of),
                "body": sensor.place.body,
                "relative_to": sensor.reference.body,
            }
            for sensor in robot.sensors
        ],
        "home": dict(zip(robot.q_names, np.asarray(robot.home).tolist(), strict=True)),
        "warnings": list(robot.warnings),
    }


def robot_tables(robot: Mechanism) -> list[Table]:
    """The tables of ``robosim info``."""
    tables = []
    for section in overview.sections(robot):
        table = plain_table(*map(escape, section.headings), title=escape(section.title) or None)
        table.show_header = any(section.headings)
        for first, *row in section.rows:
            told = escape(first) if table.show_header else f"[dim]{escape(first)}[/dim]"
            table.add_row(told, *map(escape, row))
        tables.append(table)
    return tables


def contacts_table(links: list[dict[str, Any]]) -> Table:
    """The table of ``robosim info --contacts``, from `robosim.loaders.contacts.reasons`."""
    table = plain_table("link with collision shapes", "body", "points>", "why")
    for link in links:
        table.add_row(
            escape(link["link"]), escape(link["body"]), str(link["points"]), escape(link["why"])
        )
    return table


def fits_table(found: Sequence[Fit]) -> Table:
    """The table of ``robosim info --meshes``, from `robosim.loaders.convex.fits`."""
    table = plain_table("link with a collision mesh", "shapes>", "largest distance>", "volume>")
    for fit in found:
        volume = "open" if math.isnan(fit.volume) else f"{100 * fit.volume:.0f} %"
        table.add_row(escape(fit.link), str(fit.parts), f"{1e3 * fit.distance:.3g} mm", volume)
    return table


def fit_dictionary(fit: Fit) -> dict[str, Any]:
    """A row of that table for JSON."""
    return {
        "link": fit.link,
        "shapes": fit.parts,
        "distance_m": fit.distance,
        "size_m": fit.size,
        "volume_over_mesh": _finite(fit.volume),
    }


def _plain(value: Any) -> Any:
    """A value, or one for each coordinate, for JSON."""
    if np.ndim(value):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool) else _finite(value)


def _finite(value: float) -> float | None:
    """The value for JSON: None instead of an infinite limit."""
    return float(value) if math.isfinite(value) else None


def learned_table(found: Learned, files: Mapping[str, Path]) -> Table:
    """The results of a search for a gait."""
    table = plain_table("", "")
    table.show_header = False

    def row(what: str, told: str) -> None:
        table.add_row(f"[dim]{what}[/dim]", escape(told))

    row("robot", found.robot)
    row("episodes", f"{len(found.values)} of {found.values.shape[1]} learners")
    row("best distance", f"{found.distance:.2f} m in {found.options['seconds']:g} s")
    if len(found.values):
        low, middle, high = np.quantile(found.curves[-1], (0.25, 0.5, 0.75))
        row("all learners", f"median {middle:.2f} m, half of them {low:.2f} to {high:.2f} m")
    row("falls", f"{found.fell}, and {found.failed} runs that could not be solved")
    row("parameters", ", ".join(f"{k} {v:.4f}" for k, v in found.named.items()))
    for what, file in files.items():
        row(what, str(file))
    return table
