"""Plots of a log: joint positions, velocities and torques, and the pose of the base."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import LogError, OptionError
from robosim.log import Log
from robosim.viz import plot_groups
from robosim.viz.plot_extra import ACROSS, MOST, draw_extra, panels, rows_of
from robosim.viz.plot_groups import LINES, short
from robosim.viz.plot_robot import contact_phases, draw_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[Any]

# Okabe and Ito's palette for colour-blind readers, without yellow, which is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MOST_NAMES = 24  # in a legend
POINTS = 4000  # of a line; more than the width of a figure in pixels
SMALLEST_SPAN = 1e-3  # of an axis in its unit, so that rounding errors are not magnified
PANEL = (3.4, 2.0)  # [in]
QUANTITIES = ("position", "velocity", "torque")
_SUFFIX = re.compile(r"\.(t\d|[xyz]|v[xyz]|q[wxyz]|w[xyz]|r)$")
_EITHER_UNIT = {"position": "rad or m", "velocity": "rad/s or m/s", "torque": "N m or N"}


def plot_log(
    log: Log,
    out: str | Path | None = None,
    joints: str | None = None,
    robot: Mechanism | None = None,
    columns: str | None = None,
) -> Figure:
    """Plot a log; no display is needed.

    A notebook shows the returned figure; elsewhere call its `show`.

    The figure has a column of panels for each group of joints, and a row for each of position,
    velocity and torque. Joints with similar names are grouped, such as the four hips of a
    quadruped. Left and right limbs have columns beside each other, each with its own limits. Joint
    limits near the data are dashed lines.

    For a floating base, a row of panels shows the height, the tilt, the smallest gap to the
    ground, and the times of ground contact. Channels that were logged in addition
    to the motion (`also`) have panels below.

    Parameters
    ----------
    log : Log
    out : str or Path, optional
        Picture to write, in the format of its suffix, such as .png, .pdf or .svg.
    joints : str, optional
        A regular expression. Only joints whose names match it are drawn.
    robot : Mechanism or None
        Robot whose limits and contacts are drawn. None: the robot of the log; a log from a file
        has none, and limits and contacts are then omitted.
    columns : str, optional
        A regular expression. Only additional channels whose columns match it are drawn. None: all
        that are not zero, in at most 24 panels.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    LogError
        If the log has no samples, or the picture cannot be written.
    OptionError
        If `joints` or `columns` is not a regular expression, if nothing matches it, or for an
        unknown format of `out`.
    """
    from robosim.viz.figures import ShownFigure

    if len(log) == 0:
        raise LogError(f"the log of '{log.info.robot}' has no samples to draw")
    chosen = _choose(_joint_columns(log), joints)
    groups = plot_groups.groups(chosen, lambda joint: _unit(log, chosen[joint]))
    quantities = [
        quantity
        for quantity in QUANTITIES
        if any(name.endswith(f".{quantity}") for names in chosen.values() for name in names)
    ]
    extra = panels(log, columns) if log.info.extra or columns is not None else {}
    shown = dict(islice(extra.items(), None if columns is not None else MOST))
    floating = log.info.floating_base
    heights = [n for n in (len(quantities), int(floating), rows_of(shown)) if n]
    across = max(len(groups), min(ACROSS, len(shown)) if shown else 0)
    figure = ShownFigure(
        figsize=(max(PANEL[0] * across, 2.6 * PANEL[0]), PANEL[1] * sum(heights) + 1.0),
        layout="constrained",
    )
    figure.get_layout_engine().set(h_pad=0.06, w_pad=0.06)  # type: ignore[union-attr, call-arg]
    hidden = len(extra) - len(shown)
    rest = f"; {hidden} more panels: choose by columns" if hidden else ""
    figure.suptitle(_title(log) + rest, fontsize=13)
    parts: Any = iter(
        figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        if heights
        else ()
    )
    robot = log.robot if robot is None else robot
    if quantities:
        axes = _draw_joints(next(parts), log, groups, chosen, quantities)
        if robot is not None:
            draw_limits(axes, log, robot)
    if floating:
        _draw_base(next(parts), log, robot)
    if shown:
        draw_extra(
            next(parts), log, shown, lambda ax, names, labels: _draw(ax, log, names, labels, labels)
        )
    if out is not None:
        _save(figure, Path(out))
    return figure


def _save(figure: Figure, path: Path) -> None:
    formats = figure.canvas.get_supported_filetypes()
    if path.suffix.lower().lstrip(".") not in formats:
        raise OptionError(
            f"{path}: a picture cannot be of the format '{path.suffix}' "
            f"(known: {', '.join('.' + name for name in sorted(formats))})"
        )
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise LogError(f"{path}: cannot be written: {error.strerror or error}") from None


def _joint_columns(log: Log) -> dict[str, list[str]]:
    """The columns of each joint, in the robot's order, a floating base left out."""
    joints: dict[str, list[str]] = {}
    for name in (*log.info.q, *log.info.v, *log.info.tau):
        stem, dot, quantity = name.rpartition(".")
        if dot and quantity in QUANTITIES:
            joints.setdefault(_SUFFIX.sub("", stem), []).append(name)
    return joints


def _choose(joints: dict[str, list[str]], pattern: str | None) -> dict[str, list[str]]:
    if pattern is None:
        return joints
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise OptionError(f"'{pattern}' is not a regular expression: {error}") from None
    chosen = {joint: names for joint, names in joints.items() if wanted.search(joint)}
    if not chosen:
        raise OptionError(f"no joint matches '{pattern}' (known: {', '.join(joints)})")
    return chosen


def _unit(log: Log, names: Iterable[str]) -> str:
    """The units of a joint's columns; joints with different units share no panel."""
    return " ".join(sorted({log.info.units.get(name, "") for name in names}))


def _draw_joints(
    part: Any,
    log: Log,
    groups: list[tuple[str, list[str]]],
    columns: dict[str, list[str]],
    quantities: list[str],
) -> dict[str, Axes]:
    """Draw the panels of joints, and return the panel of each column of the log."""
    panels: dict[str, Axes] = {}
    axes = part.subplots(len(quantities), len(groups), sharex=True, squeeze=False)
    said: dict[str, str] = {}  # the last label of each row, which is repeated only if it changes
    tops: list[Axes] = []  # the highest panel of each column: joints that close loops have no q
    for k, (title, joints) in enumerate(groups):
        lowest = axes[0, k]
        known: list[str] = []  # labels of the column's first panel, which are in the legend
        for row, quantity in enumerate(quantities):
            ax = axes[row, k]
            names = [n for j in joints for n in columns[j] if n.endswith(f".{quantity}")]
            if not names:
                ax.set_axis_off()
                continue
            lowest = ax
            panels |= dict.fromkeys(names, ax)
            if len(tops) == k:
                tops.append(ax)
            labels = [plot_groups.label(name, title) for name in names]
            known = known or labels
            _draw(ax, log, names, labels, known)
            if not set(labels) <= set(known):
                handles, shown = _some(*ax.get_legend_handles_labels())
                ax.legend(handles, shown, fontsize=8, framealpha=0.7, handlelength=1.4)
            units = sorted({log.info.units.get(name, _EITHER_UNIT[quantity]) for name in names})
            label = f"{quantity} [{', '.join(units)}]"
            if said.get(quantity) != label:
                ax.set_ylabel(label)
                said[quantity] = label
        lowest.set_xlabel("time [s]")
        lowest.tick_params(labelbottom=True)
    _legends(part, tops, [title for title, _ in groups])
    part.align_ylabels()
    return panels


def _some(handles: Sequence[Any], labels: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Entries of a legend; of many entries the first ones, and the number of the others."""
    if len(labels) <= MOST_NAMES:
        return list(handles), list(labels)
    rest = f"and {len(labels) - MOST_NAMES + 1} more"
    return [*handles[:MOST_NAMES]], [*labels[: MOST_NAMES - 1], rest]


def _legends(part: Any, top: Sequence[Axes], titles: Sequence[str]) -> None:
    """One legend for all columns if they have the same names, otherwise one above each."""
    entries = [_some(*ax.get_legend_handles_labels()) for ax in top]
    handles, names = entries[0]
    if len(top) > 1 and all(labels == names for _, labels in entries):
        for ax, title in zip(top, titles, strict=True):
            ax.set_title(title, fontsize=11)
        place = "outside upper center"
        part.legend(handles, names, loc=place, ncols=len(names), fontsize=9, frameon=False)
        return
    # Legends are as wide as their columns: some 26 letters across for each panel's width.
    across = 26 * max(1.0, 2.6 / len(top))
    for ax, title, (handles, labels) in zip(top, titles, entries, strict=True):
        ax.legend(
            handles,
            labels,
            title=title or None,
            title_fontsize=11,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=max(1, min(len(labels), int(across / (5 + max(map(len, labels)))))),
            fontsize=8,
            frameon=False,
            handlelength=1.4,
        )


def _draw_base(part: Any, log: Log, robot: Mechanism | None) -> None:
    """Height, tilt and gap of a floating base, and the phases of its contacts."""
    w, x, y, z = (log.column(f"base_q{axis}") for axis in "wxyz")
    # Angle of the base's z axis from the vertical; atan2 is accurate near zero.
    sine = 2 * np.hypot(y * z - w * x, x * z + w * y)
    tilt = np.degrees(np.arctan2(sine, 1 - 2 * (x * x + y * y)))
    panels: list[tuple[str, str, Array]] = [
        ("base height", "m", log.column("base_z")),
        ("base tilt", "deg", tilt),
    ]
    if np.any(np.isfinite(log.gap)):
        panels.append(("smallest gap to the ground", "mm", 1e3 * log.gap))
    phases = {} if robot is None else contact_phases(log, robot)
    axes = part.subplots(1, len(panels) + bool(phases), squeeze=False)[0]
    if phases:
        ax = axes[-1]
        ax.set_title("touching the ground", fontsize=11)
        _style(ax, log)
        for row, spans in enumerate(phases.values()):
            ax.broken_barh(spans, (row - 0.35, 0.7), color=COLOURS[0])
        ax.set_yticks(range(len(phases)), [short(name) for name in phases], fontsize=8)
        ax.set_ylim(len(phases) - 0.4, -0.6)
        ax.set_xlabel("time [s]")
    for ax, (title, unit, values) in zip(axes[: len(panels)], panels, strict=True):
        ax.set_title(title, fontsize=11)
        _style(ax, log)
        marker = "." if len(log) == 1 else None
        ax.plot(*_thinned(log.t, values), color=COLOURS[0], linewidth=1.3, marker=marker)
        ax.set_ylabel(f"[{unit}]")
        ax.set_xlabel("time [s]")
        _widen(ax)


def _draw(
    ax: Axes, log: Log, names: Sequence[str], labels: Sequence[str], known: Sequence[str]
) -> None:
    """Draw a line for each column; a label in `known` has the same style as in its panel."""
    _style(ax, log)
    for place, (name, label) in enumerate(zip(names, labels, strict=True)):
        k = known.index(label) if label in known else place
        ax.plot(
            *_thinned(log.t, log.column(name)),
            color=COLOURS[k % LINES],
            # Later lines are thinner, so that earlier ones are visible where both coincide.
            linewidth=1.0 + min(0.5 * max(len(known) - 1 - k, 0), 2.0),
            linestyle="-" if k < LINES else "--",
            marker="." if len(log) == 1 else None,
            label=label,
        )
    _widen(ax)


def _style(ax: Axes, log: Log) -> None:
    ax.grid(True, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.ticklabel_format(axis="y", useOffset=False)
    if len(log) > 1:
        ax.set_xlim(float(log.t[0]), float(log.t[0]) + _span(log))


def _widen(ax: Axes) -> None:
    low, high = ax.get_ylim()
    if high - low < SMALLEST_SPAN:
        middle = (low + high) / 2
        ax.set_ylim(middle - SMALLEST_SPAN / 2, middle + SMALLEST_SPAN / 2)


def _thinned(t: Array, y: Array) -> tuple[Array, Array]:
    """At most about `POINTS` points that look the same: minimum and maximum of short spans."""
    y = np.where(np.isfinite(y), y, np.nan)
    size = len(t) // (POINTS // 2)
    if size < 3:
        return t, y
    n = len(t) // size
    spans = y[: n * size].reshape(n, size)
    extremes = np.column_stack((spans.min(axis=1), spans.max(axis=1))).ravel()
    times = t[: n * size].reshape(n, size)
    return (
        np.append(np.column_stack((times[:, 0], times[:, size // 2])).ravel(), t[-1]),
        np.append(extremes, y[-1]),
    )


def _span(log: Log) -> float:
    """Time from the first knot to the end of the last step [s]."""
    return float(log.t[-1] - log.t[0]) + (log.timestep if np.isfinite(log.timestep) else 0.0)


def _title(log: Log) -> str:
    title = f"{log.info.robot}: " if log.info.robot else ""
    title += f"{_span(log):.4g} s"
    if np.isfinite(log.timestep):
        title += f", sampled every {1e3 * log.timestep:.4g} ms"
    if log.info.ended not in ("complete", ""):
        title += f" ({log.info.ended.split(':')[0]} at {log.t[-1]:.4g} s)"
    return title
