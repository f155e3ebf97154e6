"""Mechanisms, their keyframes, standing poses of known robots, and plays of gears."""

from __future__ import annotations

from robosim.description.backlash import with_backlash
from robosim.description.keyframe import Instant, Keyframe
from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance

__all__ = ["Instant", "Keyframe", "Mechanism", "Stance", "with_backlash"]
