"""What touches what, and how hard."""

from __future__ import annotations

from robosim.simulation.readings import GROUND, Contact

__all__ = ["GROUND", "Contact"]
