"""Logs of a run: in memory, written to a file during the run, loaded, summarized.

Sample k of a log contains the state at ``t[k]`` and the torque of the step that starts there.
Joint coordinates follow the robot's order. The coordinates of a floating base are the world
position of the base link's origin and a quaternion (w, x, y, z), local to world. The base's
velocities are that of the origin in world axes, and the angular velocity in body axes. Units are
SI units and radians.
"""

from __future__ import annotations

from robosim.log.columns import Chunk, LogInfo
from robosim.log.files import LogWriter, partial_path
from robosim.log.lerobot import write_lerobot
from robosim.log.memory import Log, read_log
from robosim.log.statistics import RunStatistics

__all__ = [
    "Chunk",
    "Log",
    "LogInfo",
    "LogWriter",
    "RunStatistics",
    "partial_path",
    "read_log",
    "write_lerobot",
]
