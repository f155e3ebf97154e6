"""Parallel mechanisms: maps between motors and joints, singularities, serial equivalents."""

from robosim.parallel import templates
from robosim.parallel.boxes import Box
from robosim.parallel.reach import Reach, reach
from robosim.parallel.serial import SerialEquivalent, SerialError, serial_equivalent
from robosim.parallel.tangent import SingularValues
from robosim.parallel.transmission import Transmission
from robosim.parallel.workspace import Workspace, workspace

__all__ = [
    "Box",
    "Reach",
    "SerialEquivalent",
    "SerialError",
    "SingularValues",
    "Transmission",
    "Workspace",
    "reach",
    "serial_equivalent",
    "templates",
    "workspace",
]
