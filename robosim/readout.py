"""Contacts, their forces, and other readings of a simulation."""

from __future__ import annotations

from robosim.formulation import Contact
from robosim.simulation.readings import GROUND

__all__ = ["GROUND", "Contact"]
