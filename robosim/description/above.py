"""What descriptions are asked for and layers above them do; the package puts it here.

So no layer imports a higher one: `robosim/__init__.py` knows all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

# The URDF of a mechanism as text; meshes that it refers to and that are nowhere yet are written
# into a folder beside a file.
urdf_text: Callable[[Any, Path], str]
# A figure of a log, as `robosim.viz.plots.plot_log` draws it.
plot_log: Callable[..., Any]
# Pairs of names of a mechanism whose geometries overlap at home, which kernels of a simulation
# find.
overlapping_pairs: Callable[[Any], list[tuple[str, str]]]
