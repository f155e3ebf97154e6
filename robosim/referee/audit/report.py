"""The page of an audit: findings, tables, plots over time, and a replay of all simulators.

The page is one file, which fetches nothing.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.log import Log
from robosim.log.columns import Chunk
from robosim.referee.audit import telling
from robosim.referee.audit.parting import OTHER_START, largest
from robosim.referee.audit.runs import Failed, Run
from robosim.referee.audit.verdicts import mode_text
from robosim.viz import pages

if TYPE_CHECKING:
    from robosim.referee.audit.results import Judged, Results
    from robosim.viz import Recorder

FPS = 30.0  # of the replay
_STYLES = (
    "Solid lines are at the file's settings, dashed ones at half the time step, dotted ones at a "
    "quarter of it, and the others at the best settings known."
)
STYLE = """
li { margin: 6px 0; max-width: 85ch; } li b { padding: 1px 6px; border-radius: 3px;
  font-weight: 600; font-size: 13px; color: #fff; margin-right: 6px; }
b.error { background: #b3261e; } b.warning { background: #b26a00; } b.note { background: #5b6a78; }
ul { padding-left: 18px; } li small { display: block; }
"""


def write_report(found: Results, file: str | Path) -> Path:
    """Write the page; returns its path.

    Raises
    ------
    ViewerError
        If the file cannot be written.
    """
    return pages.written(page(found), file)


def page(found: Results) -> str:
    """The page of an audit, as HTML."""
    name = Path(found.source).name
    title = f"Audit of {name}"
    parts = [f"<h1>{html.escape(title)}</h1>", f"<p>{html.escape(summary(found))}</p>"]
    parts += ["<h2>Findings</h2>", _findings(found)]
    if found.missing:
        parts.append(f"<p><small>{html.escape('; '.join(found.missing))}</small></p>")
    for judged in found.peers:
        if judged.runs:
            parts.append(f"<h2>{html.escape(judged.title)}</h2>")
            parts.append(_table(found, judged))
    drawn = [judged for judged in found.peers if judged.run is not None]
    if drawn:
        parts += ["<h2>Over time</h2>", f"<p>{_STYLES}</p>"]
        parts += [pages.picture(_plots(found, drawn), "plots over time")]
    if found.robot is not None and found.reference is not None:
        played = html.escape(_replay(found, drawn).page(), quote=True)
        parts.append("<h2>Replay</h2>")
        if drawn:
            others = ", ".join(one.title for one in drawn)
            parts.append(f"<p>robosim is solid, and translucent {html.escape(others)}.</p>")
        parts.append(f'<iframe title="replay" srcdoc="{played}"></iframe>')
    return pages.document(title, "\n".join(parts), STYLE)


def summary(found: Results) -> str:
    """What was run, in one sentence."""
    names = [one.title for one in found.peers if one.runs]
    names = ["robosim"] * (found.reference is not None) + names
    beside = ", ".join(names[:-1]) + " and " * (len(names) > 1) + "".join(names[-1:])
    return (
        f"{found.seconds:g} s in {beside}, at time steps of {1e3 * found.timestep:g} ms, with "
        f"{found.control}."
    )


def _findings(found: Results) -> str:
    if not found.findings:
        return "<p>Nothing was found.</p>"
    lines = []
    for one in found.findings:
        mend = f"<small>{html.escape(one.mend)}</small>" if one.mend else ""
        lines.append(
            f'<li><b class="{one.severity}">{one.severity}</b>{html.escape(one.said)}.{mend}</li>'
        )
    return "<ul>\n" + "\n".join(lines) + "\n</ul>"


def _table(found: Results, judged: Judged) -> str:
    caption = f"It has loaded {judged.how}."
    text = pages.table(caption, telling.columns(judged), telling.rows(found, judged))
    if judged.parting is not None and judged.parting.contacts:
        modes = [mode_text(mode, judged.title) for mode in judged.parting.contacts[:8]]
        text += "<ul>" + "".join(f"<li>{html.escape(mode)}</li>" for mode in modes) + "</ul>"
    return text


def _plots(found: Results, drawn: list[Judged]) -> Any:
    """Distance to robosim, energy, depth, creep and openings over time."""
    panels = [panel for panel in _PANELS if any(panel[1](found, one.run) for one in drawn)]
    rows = -(-len(panels) // 2)
    figure = pages.figure(2.9 * rows)
    axes = figure.subplots(rows, 2, squeeze=False).ravel().tolist()
    for ax, (title, lines, scale) in zip(axes, panels, strict=False):
        for judged, colour in zip(drawn, pages.COLOURS[1:], strict=False):
            styles = zip(judged.runs, ("-", "--", ":", "-."), strict=False)
            for run, style in styles:
                if isinstance(run, Failed):
                    continue
                for k, (t, values) in enumerate(lines(found, run)):
                    label = judged.title if k == 0 and style == "-" else None
                    ax.plot(t, values, style, color=colour, linewidth=1.0, label=label)
        if found.reference is not None and title != _AWAY:
            for k, (t, values) in enumerate(lines(found, found.reference)):
                label = "robosim" if k == 0 else None
                ax.plot(t, values, color=pages.COLOURS[0], linewidth=1.2, label=label)
        if title == _AWAY:
            _marks(ax, found)
        ax.set(xlabel="t [s]", title=title, yscale=scale)
        pages.plain(ax)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    axes[0].legend(frameon=False, fontsize=7)
    return figure


def _marks(ax: Any, found: Results) -> None:
    """The other start, and the distance from which on motions have parted."""
    if found.chaos is not None and found.reference is not None:
        n = len(found.chaos.distance)
        label = f"robosim, a start {OTHER_START:g} away"
        t, away = found.reference.t[:n], np.maximum(found.chaos.distance, 1e-13)
        ax.plot(t, away, color="#999999", linewidth=1.0, label=label)
    ax.axhline(found.scales.apart, color="#444444", linewidth=0.8, linestyle=":")
    for judged in found.peers:
        if judged.parting is not None:
            ax.axvline(judged.parting.time, color="#444444", linewidth=0.8, linestyle=":")


def _away(found: Results, run: Run | None) -> list[Any]:
    if run is None or found.reference is None:
        return []
    away = largest(found.reference, run)
    return [(run.t[: len(away)], np.maximum(away, 1e-13))]


def _energy(found: Results, run: Run | None) -> list[Any]:
    if run is None or np.isnan(run.energy).all():
        return []
    return [(run.t, run.energy - run.energy[0])]


def _depth(found: Results, run: Run | None) -> list[Any]:
    if run is None or not run.touches:
        return []
    depths = np.array([np.nan_to_num(one.depth, nan=-np.inf) for one in run.touches.values()])
    deepest = depths.max(axis=0)
    return [(run.t, 1e3 * np.where(np.isfinite(deepest), deepest, np.nan))]


def _creep(found: Results, run: Run | None) -> list[Any]:
    if run is None or not run.touches:
        return []
    speeds = [np.linalg.norm(one.slip, axis=1) for one in run.touches.values()]
    fastest = np.max(np.nan_to_num(speeds), axis=0)
    return [(run.t, np.maximum(1e3 * fastest, 1e-9))]


def _loops(found: Results, run: Run | None) -> list[Any]:
    if run is None or not run.loops:
        return []
    return [(run.t, np.maximum(1e3 * np.max(list(run.loops.values()), axis=0), 1e-10))]


def _limits(found: Results, run: Run | None) -> list[Any]:
    if run is None or not run.limits:
        return []
    return [(run.t, 1e3 * np.max(list(run.limits.values()), axis=0))]


_AWAY = "largest distance of a body from robosim [m]"
_PANELS = (
    (_AWAY, _away, "log"),
    ("energy since the start [J]", _energy, "linear"),
    ("deepest contact [mm]", _depth, "linear"),
    ("fastest slip of a contact [mm/s]", _creep, "log"),
    ("widest opening of a loop [mm, mrad]", _loops, "log"),
    ("farthest beyond a limit [mm, mrad]", _limits, "linear"),
)


def _replay(found: Results, drawn: list[Judged]) -> Recorder:
    """A recording of robosim's run, with the other simulators as ghosts."""
    from robosim.viz.playback import recording

    assert found.reference is not None
    logs = [(one.title, _log(found, one.run)) for one in drawn if one.run is not None]
    same = [(name, log) for name, log in logs if log is not None]
    first = _log(found, found.reference)
    assert first is not None
    return recording(first, found.robot, others=same, fps=FPS)


def _log(found: Results, run: Run) -> Log | None:
    """A run as a log; None if its coordinates are not robosim's."""
    robot, n = found.robot, len(run)
    assert robot is not None
    if run.q.shape != (n, robot.nq):
        return None
    zero, none, tau = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros((n, robot.nu))
    step = float(run.t[1] - run.t[0]) if n > 1 else found.timestep
    chunk = Chunk(run.t, run.q, run.v, tau, zero, zero, none, none)
    return Log.from_chunks(robot, step, [chunk])
