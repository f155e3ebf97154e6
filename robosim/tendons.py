"""Tendons and the elements of their paths."""

from __future__ import annotations

from robosim.description.tendon import WRAPS, Point, Pulley, Tendon, Term, Wrap

__all__ = ["WRAPS", "Point", "Pulley", "Tendon", "Term", "Wrap"]
