"""The results of a benchmark: rows of times with their errors, targets, and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.measuring.target import Target, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "robosim"
# Names of errors that several cases share.
ENERGY = "largest |E - E0| / A"
CLOSURE = "joint violation [m]"
PENETRATION = "penetration [m]"


@dataclass(frozen=True)
class Timing:
    """Times of a time step [us], one for each repetition.

    Attributes
    ----------
    cpu : tuple of float
        CPU time of the whole process, summed over its threads.
    wall : tuple of float
    """

    cpu: tuple[float, ...]
    wall: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median CPU time of a time step [us]."""
        return float(np.median(self.cpu))

    def to_dict(self) -> dict[str, float]:
        """The entries of the JSON file."""
        out = {}
        for name, values in (("cpu_us", self.cpu), ("wall_us", self.wall)):
            out[name] = float(np.median(values))
            out[f"{name}_min"], out[f"{name}_max"] = min(values), max(values)
        return out


@dataclass(frozen=True)
class Row:
    """One contender at one size.

    Attributes
    ----------
    who : str
        The simulator.
    told : str
        Settings of the simulator, and the timed part if it is not a whole time step.
    timing : Timing or None
        None without a time: for a peer that is not installed, or a run that failed.
    errors : mapping of str to float
        Errors of the answer; each name includes its unit.
    size : int
        Number of links, contacts and the like; 0 where there is only one size.
    figures : mapping of str to float
        Other numbers that belong to the run, such as iterations per step.
    note : str
    """

    who: str
    told: str
    timing: Timing | None
    errors: Mapping[str, float] = field(default_factory=dict)
    size: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The entries of the JSON file."""
        return {
            "who": self.who,
            "settings": self.told,
            "size": self.size,
            **(self.timing.to_dict() if self.timing else {}),
            "errors": plain(self.errors),
            "figures": plain(self.figures),
            "note": self.note,
        }


@dataclass(frozen=True)
class Report:
    """The results of a case.

    Attributes
    ----------
    rows : tuple of Row
    targets : tuple of Target
    size : str
        The quantity that the rows' sizes count.
    draw : callable(figure) or None
        Draws the picture instead of bars or lines over the size.
    """

    rows: tuple[Row, ...]
    targets: tuple[Target, ...] = ()
    size: str = ""
    draw: Callable[[Figure], None] | None = None


def paired(times: Sequence[float], others: Sequence[float]) -> float:
    """Median over the repetitions of one contender's time over another's.

    Runs of one repetition follow each other closely, so a change of clock rate affects both.
    """
    return float(np.median(np.divide(times, others)))


def ratio_target(
    rows: tuple[Row, ...], limit: float, size: int = 0, told: str | None = None
) -> tuple[Target, ...]:
    """robosim's CPU time over that of the fastest MuJoCo row, by `paired`, and its upper limit.

    The row of robosim is its fastest, or the one with the settings `told`.
    """
    timed = [(row, row.timing) for row in rows if row.size == size and row.timing]
    ours = [timing for row, timing in timed if row.who == OURS and told in (None, row.told)]
    theirs = [timing for row, timing in timed if row.who.startswith("MuJoCo")]
    if not ours or not theirs:
        return ()
    mine, other = (min(found, key=lambda timing: timing.median) for found in (ours, theirs))
    at = f"n = {size}: " if size else f"{told}: " if told else ""
    return (Target(f"{at}robosim's time / MuJoCo's", paired(mine.cpu, other.cpu), limit),)


def draw_rows(report: Report, figure: Figure) -> None:
    """Draw bars for one size, or lines over the sizes, with the errors beside these."""
    if report.draw is not None:
        report.draw(figure)
    elif report.size:
        _draw_lines(report, figure)
    else:
        _draw_bars(report, figure)


def _draw_bars(report: Report, figure: Figure) -> None:
    rows = [row for row in report.rows if row.timing is not None][::-1]
    if not rows:
        figure.text(0.5, 0.5, "no run was completed", ha="center")
        return
    figure.set_size_inches(11, 1.2 + 0.55 * len(rows))
    axes = figure.subplots()
    medians = np.array([row.timing.median for row in rows if row.timing])
    low = medians - [min(row.timing.cpu) for row in rows if row.timing]
    high = [max(row.timing.cpu) for row in rows if row.timing] - medians
    colours = [colour_of(row.who) for row in rows]
    axes.barh(range(len(rows)), medians, xerr=(low, high), color=colours, height=0.6, capsize=3)
    axes.set_yticks(range(len(rows)), [f"{row.who}\n{row.told}" for row in rows], fontsize=8)
    for k, row in enumerate(rows):
        told = ", ".join(f"{name} {value:.2g}" for name, value in row.errors.items())
        axes.annotate(
            f"  {medians[k]:.3g} us   {told}", (medians[k] + high[k], k), va="center", fontsize=8
        )
    axes.set_xlim(0, 2.4 * float(medians.max()))
    axes.set_xlabel("CPU time of a step [us]: median, least and most")
    axes.grid(axis="x", alpha=0.25)


def _draw_lines(report: Report, figure: Figure) -> None:
    figure.set_size_inches(12, 4.6)
    left, right = figure.subplots(1, 2)
    names = list(dict.fromkeys((row.who, row.told) for row in report.rows))
    for k, name in enumerate(names):
        rows = [row for row in report.rows if (row.who, row.told) == name and row.timing]
        if not rows:
            continue
        style = {"color": colour_of(name[0]), "ls": ("-", "--", ":")[k % 3], "marker": "o"}
        label = f"{name[0]}, {name[1]}" if name[1] else name[0]
        sizes = [row.size for row in rows]
        left.loglog(sizes, [row.timing.median for row in rows if row.timing], label=label, **style)
        for measure in dict.fromkeys(key for row in rows for key in row.errors):
            points = [(row.size, abs(row.errors[measure])) for row in rows if measure in row.errors]
            shown = [(n, max(e, 1e-17)) for n, e in points if np.isfinite(e)]
            right.loglog(*zip(*shown, strict=True), label=f"{name[0]}: {measure}", **style)
    left.set(xlabel=report.size, ylabel="CPU time of a step [us], median")
    right.set(xlabel=report.size, ylabel="error")
    for axes in (left, right):
        axes.grid(alpha=0.25, which="both", linewidth=0.5)
        axes.legend(fontsize=7)


def colour_of(who: str) -> str:
    """The colour of a simulator in all pictures."""
    for name, colour in (
        (OURS, "#0072B2"),
        ("MuJoCo", "#D55E00"),
        ("Pinocchio", "#009E73"),
        ("PyBullet", "#CC79A7"),
        ("Drake", "#56B4E9"),
        ("Newton", "#E69F00"),
    ):
        if who.startswith(name):
            return colour
    return "#000000"
