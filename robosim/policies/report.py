"""A page on a policy in one or two simulators: tables, plots, and a replay of both robots.

The page is one file, which fetches nothing.
"""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.errors import ViewerError
from robosim.log import Log
from robosim.log.columns import Chunk
from robosim.policies import telling
from robosim.policies.measures import base_velocity
from robosim.policies.sim_to_sim import SimToSim
from robosim.policies.track import Track
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.viz import Recorder

COLOURS = ("#0072B2", "#D55E00")  # Okabe and Ito's, as in all plots
FPS = 30.0  # of the replay
POINTS = 2000  # of a line
_COMMANDS = (("forward [m/s]", 0), ("sideways [m/s]", 1), ("yaw rate [rad/s]", 2))
_STYLE = """
body { margin: 0 auto; max-width: 1080px; padding: 16px; background: #fff; color: #24303c;
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 8px 0; } h2 { font-size: 17px; margin: 26px 0 8px; }
table { border-collapse: collapse; } caption { text-align: left; color: #5b6a78; }
th, td { text-align: left; padding: 3px 22px 3px 0; border-bottom: 1px solid #d9e0e6; }
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }
p { max-width: 75ch; } small { color: #5b6a78; }
img { width: 100%; } iframe { width: 100%; height: 540px; border: 1px solid #d9e0e6; }
"""
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-src 'self'"
)


def write_report(found: SimToSim, file: str | Path) -> Path:
    """Write the page; see `page`.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Raises
    ------
    ViewerError
        If the file cannot be written.
    """
    path = Path(file)
    try:
        path.write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise ViewerError(f"{path}: cannot write the page: {error.strerror or error}") from None
    return path


def page(found: SimToSim) -> str:
    """The page on a policy, as HTML."""
    names = " and ".join(track.name for track in found.tracks)
    title = f"{found.policy}: {found.robot.name} in {names}"
    parts = [f"<h1>{html.escape(title)}</h1>"]
    told = telling.parting(found)
    if told:
        mark = " Dotted lines mark this time." if found.parting is not None else ""
        parts.append(f"<p>{html.escape(told)}.{mark}</p>")
    parts.append(_table("until the fall, or the end of the run", found, telling.rows(found)))
    contacts = telling.contact_rows(found)
    if contacts and found.parting is not None:
        when = f"contacts with the ground at {found.parting.time:.4g} s"
        parts += ["<h2>Where they part</h2>", _table(when, found, contacts)]
    parts += ["<h2>Motion</h2>", _picture(_motion(found), "plots of the motion")]
    if found.touches:
        parts.append("<h2>Contacts</h2>")
        parts.append(_picture(_contacts(found), "bars where bodies touch the ground"))
    played = html.escape(replay(found).page(), quote=True)
    parts.append("<h2>Replay</h2>")
    if len(found.tracks) > 1:
        solid, ghost = (html.escape(track.name) for track in found.tracks)
        parts.append(f"<p>The robot in {solid} is solid, that in {ghost} translucent.</p>")
    parts += [f'<iframe title="replay" srcdoc="{played}"></iframe>']
    settings = "; ".join(f"{track.name} {track.settings}" for track in found.tracks)
    parts.append(f"<p><small>{html.escape(settings)}</small></p>")
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _table(caption: str, found: SimToSim, rows: list[telling.Row]) -> str:
    head = "".join(f"<th>{html.escape(track.name)}</th>" for track in found.tracks)
    lines = [f"<table>\n<caption>{html.escape(caption)}</caption>\n<tr><th></th>{head}</tr>"]
    for what, texts in rows:
        cells = "".join(f"<td>{html.escape(text)}</td>" for text in texts)
        lines.append(f"<tr><td>{html.escape(what)}</td>{cells}</tr>")
    return "\n".join((*lines, "</table>"))


def _picture(figure: Any, alt: str) -> str:
    """A figure as an image, whose names cannot collide with those of others on the page."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "robosim"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'


def _figure(height: float) -> Any:
    from robosim.viz.figures import ShownFigure

    return ShownFigure(figsize=(10.8, height), layout="constrained")


def _thinned(track: Track) -> slice:
    return slice(None, None, max(1, len(track) // POINTS))


def _motion(found: SimToSim) -> Any:
    """Path, distance, velocities beside the command, height and torques."""
    floating = found.robot.floating_base
    figure = _figure(8.6 if floating else 3.2)
    panels = figure.subplots(3 if floating else 1, 2, squeeze=False).ravel().tolist()
    if floating:
        path, *speeds, height, torque = panels
        for track, colour in zip(found.tracks, COLOURS, strict=False):
            some = _thinned(track)
            path.plot(track.q[some, 0], track.q[some, 1], color=colour, label=track.name)
            height.plot(track.t[some], track.q[some, 2], color=colour)
            moved = base_velocity(track)[some]
            for ax, (_, k) in zip(speeds, _COMMANDS, strict=True):
                ax.plot(track.t[some], moved[:, k], color=colour, linewidth=0.9)
        first = found.tracks[0]
        if first.command.shape[1] >= 3:
            for ax, (_, k) in zip(speeds, _COMMANDS, strict=True):
                ax.plot(first.t, first.command[:, k], "--", color="#444444", label="command")
            speeds[0].legend(frameon=False, fontsize=8)
        path.set(xlabel="x [m]", ylabel="y [m]", title="path of the base")
        path.set_aspect("equal", adjustable="datalim")
        path.legend(frameon=False, fontsize=8)
        for ax, (title, _) in zip(speeds, _COMMANDS, strict=True):
            ax.set(xlabel="t [s]", title=title)
        height.set(xlabel="t [s]", title="height of the base [m]")
    else:
        distance, torque = panels
        _distance(distance, found)
    for track, colour in zip(found.tracks, COLOURS, strict=False):
        some = _thinned(track)
        size = np.sqrt((track.tau**2).mean(axis=1)) if track.tau.size else np.zeros(len(track))
        torque.plot(track.t[some], size[some], color=colour, linewidth=0.9, label=track.name)
    torque.set(xlabel="t [s]", title="torque, RMS of the motors [N m]")
    for ax in panels:
        _plain(ax)
        if ax is not panels[0] or not floating:
            _mark(ax, found)
    return figure


def _contacts(found: SimToSim) -> Any:
    """Bars where bodies touch the ground, and the distance of both runs."""
    names = found.tracks[0].touching
    ever = np.any([ground.touches.any(axis=0) for ground in found.grounds], axis=0)
    shown = [j for j in range(len(names)) if ever[j]]
    # The plots of the motion of a fixed base have the distance of both.
    two = len(found.tracks) == 2 and found.robot.floating_base
    figure = _figure(1.2 + 0.3 * max(1, len(shown)) + (2.2 if two else 0.0))
    ratios = [max(1.0, 0.3 * len(shown) + 0.6), 2.0][: 1 + two]
    axes = figure.subplots(len(ratios), 1, squeeze=False, height_ratios=ratios).ravel().tolist()
    bars = axes[0]
    for row, j in enumerate(shown):
        for k, (track, ground) in enumerate(zip(found.tracks, found.grounds, strict=True)):
            bars.broken_barh(
                _spans(track.t, ground.touches[:, j]),
                (row - 0.4 + 0.42 * k, 0.38),
                facecolors=COLOURS[k],
            )
    bars.set_yticks(range(len(shown)), [names[j] for j in shown], fontsize=8)
    bars.set(xlabel="t [s]", title="contacts with the ground", ylim=(len(shown) - 0.4, -0.6))
    if two:
        _distance(axes[1], found)
    for ax in axes:
        _plain(ax)
        _mark(ax, found)
        ax.set_xlim(0.0, max(float(track.t[-1]) for track in found.tracks))
    return figure


def _distance(ax: Any, found: SimToSim) -> None:
    if not len(found.distance):
        ax.set_visible(False)
        return
    t = found.tracks[0].t[: len(found.distance)]
    ax.plot(t, found.distance, color="#444444")
    ax.axhline(found.apart, color="#999999", linestyle=":")
    title = f"distance between both [{found.unit}]"
    ax.set(xlabel="t [s]", title=title, ylim=(0.0, None))


def _mark(ax: Any, found: SimToSim) -> None:
    """A line where both runs part."""
    if found.parting is not None:
        ax.axvline(found.parting.time, color="#999999", linestyle=":", linewidth=1.0)


def _plain(ax: Any) -> None:
    ax.grid(True, color="#e3e8ec", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.title.set_fontsize(10)


def _spans(t: Array, touches: Any) -> list[tuple[float, float]]:
    """Begin and length of each time in which a body touches."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], touches, [False])).astype(int)))
    step = float(t[1] - t[0]) if len(t) > 1 else 0.0
    return [(float(t[a]), (b - a) * step) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def replay(found: SimToSim, seconds: float = np.inf) -> Recorder:
    """A recording of the runs until a time [s], the second one as a ghost."""
    from robosim.viz.playback import recording

    tracks = [track.until(int(np.searchsorted(track.t, seconds))) for track in found.tracks]
    logs = [(track.name, _log(found, track)) for track in tracks]
    return recording(logs[0][1], found.robot, others=logs[1:], fps=FPS)


def _log(found: SimToSim, track: Track) -> Log:
    n = len(track)
    zero, none = np.zeros(n, dtype=np.int64), np.zeros(n)
    step = float(track.t[1] - track.t[0]) if n > 1 else 1e-3
    chunk = Chunk(track.t, track.q, track.v, track.tau, zero, zero, none, none)
    return Log.from_chunks(found.robot, step, [chunk])
