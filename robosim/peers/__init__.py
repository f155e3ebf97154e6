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
from robosim.submodules import on_first_use

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

__getattr__ = on_first_use(__name__, ("mujoco_run", "pinocchio_run"))
