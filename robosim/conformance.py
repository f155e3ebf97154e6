"""Model files loaded by robosim, compared with the reference library of their format."""

from __future__ import annotations

from robosim.loaders.peers import check_file, simulate_file
from robosim.peers.conformance import (
    STATES,
    TOLERANCE,
    TOLERANCES,
    Check,
    Moving,
    Report,
    Structure,
    of_peer,
    structure,
    structure_checks,
)

__all__ = [
    "STATES",
    "TOLERANCE",
    "TOLERANCES",
    "Check",
    "Moving",
    "Report",
    "Structure",
    "check_file",
    "of_peer",
    "simulate_file",
    "structure",
    "structure_checks",
]
