"""Functions of higher layers that descriptions call; `robosim/__init__.py` sets them here.

So no layer imports a higher one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

# The URDF of a mechanism as text; meshes that are in no file yet are written into a folder.
urdf_text: Callable[[Any, Path], str]
# A figure of a log, as `robosim.viz.plots.plot_log` draws it.
plot_log: Callable[..., Any]
# Pairs of names of a mechanism whose geometries overlap at home; found by a simulation's kernels.
overlapping_pairs: Callable[[Any], list[tuple[str, str]]]
