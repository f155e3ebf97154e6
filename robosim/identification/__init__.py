"""Parameters of a robot from logs of its motion; see docs/gradients.md."""

from robosim.identification.fit import identify
from robosim.identification.identified import Identified

__all__ = ["Identified", "identify"]
