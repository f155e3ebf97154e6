"""The error of motions with impacts over its CPU time: accuracies, fixed steps, peers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robosim.measuring.motions import Motion, Run, distance, run
from robosim.measuring.runs import exponent
from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
ACCURACIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
USUAL = 1e-4
FIXED = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5)  # [s]
STEP = 1e-2  # [s], that accuracies divide
OTHER = 2e-3  # [s], likewise, to check the reference
SLOPE = 0.8  # least exponent of the error over the accuracy
GAIN = 3.0  # least CPU time of fixed steps over that of steps to an accuracy


class Choice(Protocol):
    """What `motion_curves` needs of the setup of a benchmark or an experiment."""

    @property
    def note(self) -> Callable[[str], None]:
        """Called with a short text about the present part of the run."""
        ...

    def choose(self, full: Any, quick: Any) -> Any:
        """One of two values: for a full run, or for a quick one."""
        ...


@dataclass(frozen=True)
class Curves:
    """Runs of robosim of one motion, and what they are compared with.

    Attributes
    ----------
    motion : Motion
    reference : (4 nb, 3)
        Points at the end [m]: in closed form, or of the smallest accuracy.
    accurate, fixed : tuple of Run
        By accuracy and by timestep, from coarse to fine.
    doubt, again : float [m]
        Distance of the reference from the finest fixed steps, and from the smallest accuracy in
        steps of another length.
    """

    motion: Motion
    reference: Array
    accurate: tuple[Run, ...]
    fixed: tuple[Run, ...]
    doubt: float
    again: float

    def error(self, of: Run) -> float:
        """Error of a run of robosim [m]."""
        return distance(of.points, self.reference)

    def slope(self) -> float:
        """Exponent of the error over the accuracy; NaN if a run failed."""
        errors = [self.error(one) for one in self.accurate]
        if not np.isfinite(errors).all():
            return float("nan")
        return exponent([one.setting for one in self.accurate], errors)

    def worst(self) -> float:
        """Largest error over what the accuracy allows in the time of the motion."""
        parts = [self.error(one) / (one.setting * self.motion.seconds) for one in self.accurate]
        return float(np.max(parts))

    def gain(self, of: Run) -> tuple[float, bool]:
        """CPU time of fixed steps over that of a run, at its error; False: that is a least value.

        It is a least value if no fixed steps have so small an error.
        """
        runs = [(self.error(one), one.least) for one in self.fixed if one.cpu]
        time, reached = cost(runs, self.error(of))
        return time / of.least, reached


def cost(runs: Sequence[tuple[float, float]], error: float) -> tuple[float, bool]:
    """CPU time [s] for an error, by runs (error, CPU time [s]) from coarse to fine.

    Interpolated in logarithms between the last run that is not accurate enough and the next one.
    So errors that are small by chance do not count unless all finer runs are as accurate. False
    with the longest time if even the last run is not accurate enough.
    """
    large = [k for k, (found, _) in enumerate(runs) if not found <= error]
    if not large:
        return runs[0][1], True
    last = large[-1]
    if last == len(runs) - 1:
        return runs[-1][1], False
    (e0, t0), (e1, t1) = runs[last], runs[last + 1]
    if not np.isfinite((e0, t0)).all():
        return t1, True
    part = np.log(e0 / error) / np.log(e0 / max(e1, 1e-300))
    return float(t0 * (t1 / t0) ** part), True


def motion_curves(motion: Motion, setup: Choice) -> Curves:
    """Run a motion with all accuracies and all fixed steps, or in a quick run with some.

    Without a closed form, the smallest accuracy is the reference, and is left out.
    """
    accuracies, steps = ACCURACIES, FIXED[:: setup.choose(1, 4)]
    repetitions, accurate, fixed = setup.choose(3, 1), [], []
    for accuracy in accuracies:
        setup.note(f"{motion.name}: accuracy {accuracy:g}")
        accurate.append(run(motion, STEP, accuracy, repetitions))
    for timestep in steps:
        setup.note(f"{motion.name}: {1e3 * timestep:g} ms")
        fixed.append(run(motion, timestep, None, repetitions))
    reference = accurate.pop().points if motion.exact is None else motion.end()
    doubt = distance(reference, fixed[-1].points)
    again = distance(reference, run(motion, OTHER, ACCURACIES[-1], 1).points)
    return Curves(motion, reference, tuple(accurate), tuple(fixed), doubt, again)


def targets_of(found: Curves) -> tuple[Target, ...]:
    """Limits for the errors of a motion, and for the time that they take."""
    name = found.motion.name
    usual = next(one for one in found.accurate if one.setting == USUAL)
    gain, reached = found.gain(usual)
    least = "" if reached else " (no fixed steps are as accurate: at least)"
    return (
        Target(f"{name}: largest error over the accuracy times the duration", found.worst(), 1.0),
        Target(
            f"{name}: slope of the error over the accuracy", found.slope(), SLOPE, at_least=True
        ),
        Target(
            f"{name}: CPU time of fixed steps / that with accuracy {USUAL:g}, same error{least}",
            gain, GAIN, at_least=True,
        ),
    )  # fmt: skip


class Line(NamedTuple):
    """Runs of one contender: label, style, colour, and (error [m], CPU time [s]) of each run."""

    label: str
    style: str
    colour: str
    runs: Sequence[tuple[float, float]]


def grid(figure: Figure, count: int) -> Iterable[Axes]:
    """Axes of a figure, three in a row."""
    columns = min(count, 3)
    rows = -(-count // columns)
    figure.set_size_inches(4.8 * columns, 4.2 * rows + 0.4)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[count:]:
        unused.set_axis_off()
    return list(axes[:count])


def draw_errors(axes: Axes, title: str, lines: Sequence[Line]) -> None:
    """Draw errors over CPU time."""
    for line in lines:
        points = [(1e3 * time, max(error, 1e-12)) for error, time in line.runs]
        if points:
            axes.loglog(
                *zip(*points, strict=True), line.style, color=line.colour, label=line.label,
                alpha=0.9 if line.label.startswith("robosim") else 0.6, markersize=4,
            )  # fmt: skip
    axes.set(xlabel="CPU time of the run [ms]", ylabel="error at the end [m]")
    axes.set_title(title, fontsize=9)
    axes.grid(alpha=0.25, which="both", linewidth=0.5)
    axes.legend(fontsize=6)
