"""Contacts, their forces, and other readings of a simulation."""

from __future__ import annotations

from robosim.simulation.readings import GROUND, Contact

__all__ = ["GROUND", "Contact"]
