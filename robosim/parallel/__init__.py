"""Parallel mechanisms: maps between motors and joints, singularities, serial equivalents."""

from robosim.parallel.transmission import Transmission

__all__ = ["Transmission"]
