"""Other libraries as a reference: their answers, their coordinates, and runs of MuJoCo."""

from __future__ import annotations

from robosim.peers.libraries import (
    GRAVITY,
    PEERS,
    POLYNOMIALS,
    Answer,
    MuJoCo,
    Peer,
    Pinocchio,
    open_peer,
)

__all__ = [
    "GRAVITY",
    "PEERS",
    "POLYNOMIALS",
    "Answer",
    "MuJoCo",
    "Peer",
    "Pinocchio",
    "open_peer",
]
