"""Common parts of the pictures: colours, axes, legends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette; a formulation has the same colour in all pictures.
COLOURS = {"ours": "#0072B2", "mujoco_default": "#D55E00", "mujoco_best": "#E69F00"}
OTHERS = ("#009E73", "#CC79A7", "#56B4E9", "#000000")
PANEL = (5.0, 3.4)  # [in]


def panels(figure: Figure, rows: int, columns: int, width: float = PANEL[0]) -> Any:
    """Axes (rows, columns) on a figure that is sized for them, each `width` [in] wide."""
    figure.set_size_inches(width * columns, PANEL[1] * rows + 0.5)
    return figure.subplots(rows, columns, squeeze=False)


def finish(axes: Axes, xlabel: str, ylabel: str, title: str = "", legend: bool = True) -> None:
    """Labels, a light grid and the legend."""
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axes.grid(alpha=0.25, linewidth=0.6)
    if legend:
        axes.legend(fontsize=8)


def tick_finely(axes: Axes) -> None:
    """Ticks at 1, 2 and 5 of each decade of a logarithmic x axis that spans few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
