"""A page on a policy in one or two simulators: tables, plots, and a replay of both robots.

The page is one file, which fetches nothing.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.log import Log
from robosim.log.columns import Chunk
from robosim.policies import telling
from robosim.policies.measures import base_velocity
from robosim.policies.sim_to_sim import SimToSim
from robosim.policies.track import Track
from robosim.validation import Array
from robosim.viz import pages

if TYPE_CHECKING:
    from robosim.viz import Recorder

FPS = 30.0  # of the replay
POINTS = 2000  # of a line
_COMMANDS = (("forward [m/s]", 0), ("sideways [m/s]", 1), ("yaw rate [rad/s]", 2))


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
    return pages.written(page(found), file)


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
    parts += ["<h2>Motion</h2>", pages.picture(_motion(found), "plots of the motion")]
    if found.touches:
        parts.append("<h2>Contacts</h2>")
        parts.append(pages.picture(_contacts(found), "bars where bodies touch the ground"))
    played = html.escape(replay(found).page(), quote=True)
    parts.append("<h2>Replay</h2>")
    if len(found.tracks) > 1:
        solid, ghost = (html.escape(track.name) for track in found.tracks)
        parts.append(f"<p>The robot in {solid} is solid, that in {ghost} translucent.</p>")
    parts += [f'<iframe title="replay" srcdoc="{played}"></iframe>']
    settings = "; ".join(f"{track.name} {track.settings}" for track in found.tracks)
    parts.append(f"<p><small>{html.escape(settings)}</small></p>")
    return pages.document(title, "\n".join(parts))


def _table(caption: str, found: SimToSim, rows: list[telling.Row]) -> str:
    return pages.table(caption, [track.name for track in found.tracks], rows)


def _thinned(track: Track) -> slice:
    return slice(None, None, max(1, len(track) // POINTS))


def _motion(found: SimToSim) -> Any:
    """Path, distance, velocities beside the command, height and torques."""
    floating = found.robot.floating_base
    figure = pages.figure(8.6 if floating else 3.2)
    panels = figure.subplots(3 if floating else 1, 2, squeeze=False).ravel().tolist()
    if floating:
        path, *speeds, height, torque = panels
        for track, colour in zip(found.tracks, pages.COLOURS, strict=False):
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
    for track, colour in zip(found.tracks, pages.COLOURS, strict=False):
        some = _thinned(track)
        size = np.sqrt((track.tau**2).mean(axis=1)) if track.tau.size else np.zeros(len(track))
        torque.plot(track.t[some], size[some], color=colour, linewidth=0.9, label=track.name)
    torque.set(xlabel="t [s]", title="torque, RMS of the motors [N m]")
    for ax in panels:
        pages.plain(ax)
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
    figure = pages.figure(1.2 + 0.3 * max(1, len(shown)) + (2.2 if two else 0.0))
    ratios = [max(1.0, 0.3 * len(shown) + 0.6), 2.0][: 1 + two]
    axes = figure.subplots(len(ratios), 1, squeeze=False, height_ratios=ratios).ravel().tolist()
    bars = axes[0]
    for row, j in enumerate(shown):
        for k, (track, ground) in enumerate(zip(found.tracks, found.grounds, strict=True)):
            bars.broken_barh(
                _spans(track.t, ground.touches[:, j]),
                (row - 0.4 + 0.42 * k, 0.38),
                facecolors=pages.COLOURS[k],
            )
    bars.set_yticks(range(len(shown)), [names[j] for j in shown], fontsize=8)
    bars.set(xlabel="t [s]", title="contacts with the ground", ylim=(len(shown) - 0.4, -0.6))
    if two:
        _distance(axes[1], found)
    for ax in axes:
        pages.plain(ax)
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
