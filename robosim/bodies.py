"""Rigid bodies and what is fixed to them."""

from __future__ import annotations

from robosim.description.body import (
    GEOMETRY_KINDS,
    Body,
    ContactPoint,
    Frame,
    Geometry,
    lowest_arms,
)

__all__ = ["GEOMETRY_KINDS", "Body", "ContactPoint", "Frame", "Geometry", "lowest_arms"]
