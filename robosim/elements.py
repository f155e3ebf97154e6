"""Springs, couplings and potentials."""

from __future__ import annotations

from robosim.description.springs import Coupling, PointSpring, Potential

__all__ = ["Coupling", "PointSpring", "Potential"]
