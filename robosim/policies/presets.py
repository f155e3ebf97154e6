"""Layouts of observations and actions as libraries for learning have them.

The presets are those of the velocity tasks: a base that follows a commanded velocity. Default
pose and gains belong to a robot, and have to be given. Velocities are those of the centre of mass
of the base in both libraries on PhysX, and those at the base's origin in mjlab, whose robots have a
frame for the IMU.
"""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "legged_gym": {
        "observations": [
            {"base_lin_vel": {"scale": 2.0, "at": "com"}},
            {"base_ang_vel": 0.25},
            "projected_gravity",
            {"velocity_commands": [2.0, 2.0, 0.25]},
            "joint_pos",
            {"joint_vel": 0.05},
            "actions",
        ],
        "clip_observations": 100.0,
        "joints": "depth_first",
        "action_scale": 0.25,
        "action_clip": 100.0,
        "timestep": 0.005,
        "decimation": 4,
    },
    "isaaclab": {
        "observations": [
            {"base_lin_vel": {"at": "com"}},
            "base_ang_vel",
            "projected_gravity",
            "velocity_commands",
            "joint_pos",
            "joint_vel",
            "actions",
        ],
        "joints": "breadth_first",
        "action_scale": 0.5,
        "timestep": 0.005,
        "decimation": 4,
    },
    "mjlab": {
        "observations": [
            "base_lin_vel",
            "base_ang_vel",
            "projected_gravity",
            "joint_pos",
            "joint_vel",
            "actions",
            "velocity_commands",
        ],
        "joints": "model",
        "action_scale": 0.25,
        "timestep": 0.005,
        "decimation": 4,
    },
}
"""Task files without default pose and gains, by the library whose policies they are for."""
