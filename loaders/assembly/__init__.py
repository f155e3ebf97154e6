"""Links and joints with poses, in any order and direction, to a Mechanism.

URDF and MJCF files are trees; SDF and USD files are lists of links and of joints between them.
"""

from __future__ import annotations

from robosim.loaders.assembly.build import mechanism_of
from robosim.loaders.assembly.parts import Assembly, Link, Tie

__all__ = ["Assembly", "Link", "Tie", "mechanism_of"]
