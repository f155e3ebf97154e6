"""Panels of a log's additional channels: forces of contacts, frames, sensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robosim.errors import OptionError, known
from robosim.log import Log

ACROSS = 4  # panels in a row
MOST = 24  # panels, unless columns are chosen
# Columns that differ in the axis only share a panel.
_AXES = re.compile(r"(?P<stem>.*\.(?:contact_)?[a-z]?)(?P<axis>[wxyz])$")
_SAYS = {"contact_f": "contact", "f": "force", "m": "moment", "p": "position", "q": "orientation",
         "v": "velocity", "w": "angular velocity", "value": "", "": ""}  # fmt: skip

Draw = Callable[[Any, Sequence[str], Sequence[str]], None]


def panels(log: Log, pattern: str | None) -> dict[str, dict[str, str]]:
    """Panels by their titles, each a mapping of columns to labels of their lines.

    Without a pattern, columns that are always zero are left out.

    Raises
    ------
    OptionError
        If the pattern is not a regular expression, or matches no column.
    """
    names = log.info.extra
    if pattern is None:
        names = tuple(name for name in names if np.any(np.nan_to_num(log.column(name))))
    else:
        try:
            wanted = re.compile(pattern)
        except re.error as error:
            raise OptionError(f"'{pattern}' is not a regular expression: {error}") from None
        names = tuple(name for name in names if wanted.search(name))
        if not names:
            told = known(pattern, log.info.extra) if log.info.extra else "none: log with also="
            raise OptionError(f"no column beside the motion matches '{pattern}' ({told})")
    found: dict[str, dict[str, str]] = {}
    for name in names:
        match = _AXES.match(name)
        stem, axis = (match["stem"], match["axis"]) if match else (name, "")
        thing, _, what = stem.rpartition(".")
        title = f"{thing} {_SAYS.get(what, what)}".strip()
        found.setdefault(title, {})[name] = axis
    return found


def draw_extra(part: Any, log: Log, found: dict[str, dict[str, str]], draw: Draw) -> None:
    """Draw the panels into a part of a figure."""
    rows = rows_of(found)
    axes = part.subplots(rows, min(ACROSS, len(found)), sharex=True, squeeze=False).ravel()
    for ax in axes[len(found) :]:
        ax.set_axis_off()
    for ax, (title, columns) in zip(axes, found.items(), strict=False):
        ax.set_title(title, fontsize=10)
        draw(ax, list(columns), list(columns.values()))
        units = sorted({log.info.units.get(name, "") for name in columns} - {"", "1"})
        if units:
            ax.set_ylabel(f"[{', '.join(units)}]")
        if any(columns.values()):
            ax.legend(fontsize=7, framealpha=0.7, handlelength=1.2, ncols=2)
        ax.tick_params(labelbottom=True)
    for ax in axes[max(0, len(found) - ACROSS) : len(found)]:
        ax.set_xlabel("time [s]")


def rows_of(found: dict[str, dict[str, str]]) -> int:
    """Number of rows of panels."""
    return -(-len(found) // ACROSS)
