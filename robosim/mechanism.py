"""Mechanisms, and standing poses of known robots."""

from __future__ import annotations

from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance

__all__ = ["Mechanism", "Stance"]
