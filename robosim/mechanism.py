"""Mechanisms, standing poses of known robots, and plays of their gears."""

from __future__ import annotations

from robosim.description.backlash import with_backlash
from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance

__all__ = ["Mechanism", "Stance", "with_backlash"]
