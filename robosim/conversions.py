"""Joint coordinates to and from those of Pinocchio and MuJoCo."""

from __future__ import annotations

from robosim.peers.conversions import (
    KINDS,
    PLANAR_PARTS,
    ROOT_JOINT,
    from_mujoco,
    from_pinocchio,
    refuse_loops,
    to_mujoco,
    to_pinocchio,
    velocity_drift_from_pinocchio,
    velocity_map_from_pinocchio,
)

__all__ = [
    "KINDS",
    "PLANAR_PARTS",
    "ROOT_JOINT",
    "from_mujoco",
    "from_pinocchio",
    "refuse_loops",
    "to_mujoco",
    "to_pinocchio",
    "velocity_drift_from_pinocchio",
    "velocity_map_from_pinocchio",
]
