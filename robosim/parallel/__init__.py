"""Parallel mechanisms: maps between motors and joints, singularities, serial equivalents.

Mechanisms with parameters are in `robosim.models.builders`; see docs/parallel.md.
"""

from robosim.parallel.boxes import Box
from robosim.parallel.reach import Reach, reach
from robosim.parallel.serial import SerialEquivalent, SerialErrors, serial_equivalent
from robosim.parallel.tangent import SingularValues
from robosim.parallel.transmission import Transmission
from robosim.parallel.workspace import Workspace, workspace

__all__ = [
    "Box",
    "Reach",
    "SerialEquivalent",
    "SerialErrors",
    "SingularValues",
    "Transmission",
    "Workspace",
    "reach",
    "serial_equivalent",
    "workspace",
]
