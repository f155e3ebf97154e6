"""Rays: what they meet first of a robot and of its world, in any pose."""

from __future__ import annotations

from robosim.rays.hits import Hits
from robosim.rays.scene import Scene
from robosim.rays.targets import Target

__all__ = ["Hits", "Scene", "Target"]
