"""A page on what is wrong with a model: one file of HTML that fetches nothing."""

from __future__ import annotations

import html
from contextlib import suppress
from pathlib import Path

import numpy as np

from robosim import quaternions
from robosim.description.poses import body_poses
from robosim.errors import RobosimError
from robosim.referee.doctor.diagnosis import Diagnosis
from robosim.referee.finding import SEVERITIES
from robosim.referee.sections import Section, sections
from robosim.version import __version__
from robosim.viz import pages

WIDTH, HEIGHT = 1080, 480  # of the picture
_STYLE = """
section { border: 1px solid #d9e0e6; border-radius: 6px; padding: 4px 16px 12px; margin: 14px 0; }
section h2 { margin: 8px 0; } section table { width: 100%; }
td { vertical-align: top; overflow-wrap: anywhere; }
td + td, th + th { text-align: left; }
td:first-child { width: 30%; } td.at { white-space: nowrap; color: #5b6a78; }
.chip { display: inline-block; border-radius: 10px; padding: 0 10px; color: #fff;
  font-size: 13px; margin-right: 8px; }
.error { background: #b3261e; } .warning { background: #8a5a00; } .note { background: #46627a; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 10px 0 0; }
dt { color: #5b6a78; } dd { margin: 0; }
img { border-radius: 6px; margin: 10px 0; }
"""


def write_page(found: Diagnosis, file: str | Path) -> Path:
    """Write the page; returns its path.

    Raises
    ------
    ViewerError
        If the file cannot be written.
    """
    return pages.written(page(found), file)


def page(found: Diagnosis) -> str:
    """The page, as HTML."""
    title = f"robosim doctor: {found.model if found.robot is None else found.robot.name}"
    parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{_counts(found)}</p>", _picture(found)]
    parts += [_section(one) for one in sections(found.findings, found.file)]
    if not found.findings:
        parts.append("<p>Nothing was found.</p>")
    told = f"{found.file or 'a built model'}; robosim {__version__}; checks: "
    parts.append(f"<p><small>{html.escape(told + ', '.join(found.checks))}</small></p>")
    return pages.document(title, "\n".join(parts), _STYLE)


def _counts(found: Diagnosis) -> str:
    chips = []
    for severity in SEVERITIES:
        n = found.count(severity)
        word = severity if n == 1 else f"{severity}s"
        chips.append(f'<span class="chip {severity}">{n} {word}</span>')
    return "".join(chips)


def _picture(found: Diagnosis) -> str:
    """The robot at home; nothing for a model that cannot be drawn."""
    robot = found.robot
    if robot is None or not any(body.visuals or body.collisions for body in robot.bodies):
        return ""
    from robosim.viz.drawing import Drawer

    poses = body_poses(robot.tree_joints, np.asarray(robot.home))
    places = [poses[body.name] for body in robot.bodies]
    turns = [quaternions.from_matrix(turn) for turn, _ in places]
    with suppress(RobosimError):
        drawn = Drawer(robot, WIDTH, HEIGHT).draw([x for _, x in places], turns)
        return pages.pixels(drawn, "the robot at home")
    return ""


def _section(one: Section) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(row.elements)}</td><td>{html.escape(row.said)}</td>"
        f'<td class="at">{html.escape(row.lines)}</td></tr>'
        for row in one.rows
    )
    told = [*one.effects.items(), *(("to mend it", mend) for mend in one.mends)]
    terms = "".join(f"<dt>{html.escape(a)}</dt><dd>{html.escape(b)}</dd>" for a, b in told)
    chip = f'<span class="chip {one.severity}">{one.severity}</span>'
    return (
        f"<section><h2>{chip}{html.escape(one.check)}</h2><table>{rows}</table>"
        f"<dl>{terms}</dl></section>"
    )
