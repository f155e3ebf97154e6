"""Parts of plots that need the robot: limits of joints, and times of contact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.log import Log, LogInfo

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 0.6  # of the drawn range: limits farther away would only flatten the lines
TOUCHING = 1e-4  # [m]
SAMPLES = 1500  # largest number for which contacts are computed
_GREY = "#777777"


def limits(log: Log, robot: Mechanism) -> dict[str, tuple[float, float]]:
    """Limits of the columns of joint positions, velocities and torques.

    Empty if the robot has other coordinates than the log.
    """
    info = LogInfo.of(robot, log.timestep)
    if (info.q, info.v, info.tau) != (log.info.q, log.info.v, log.info.tau):
        return {}
    found: dict[str, tuple[float, float]] = {}
    for name, effort in zip(info.tau, robot.effort_limits.tolist(), strict=True):
        found[name] = (-effort, effort)
    for j, joint in enumerate(robot.tree_joints):
        if joint.has_quaternion:
            continue
        for k in range(joint.nv):
            lower, upper = float(np.asarray(joint.lower)[k]), float(np.asarray(joint.upper)[k])
            found[info.q[robot.q_offsets[j] + k]] = (lower, upper)
            speed = float(joint.per_coordinate("velocity_limit")[k])
            found[info.v[robot.v_offsets[j] + k]] = (-speed, speed)
    return found


def draw_limits(panels: Mapping[str, Axes], log: Log, robot: Mechanism) -> None:
    """Draw dashed lines for limits that are near the data of a panel."""
    drawn: dict[Axes, set[float]] = {}
    for name, bounds in limits(log, robot).items():
        if name in panels:
            drawn.setdefault(panels[name], set()).update(bounds)
    for ax, values in drawn.items():
        low, high = ax.get_ylim()
        spare = NEAR * (high - low)
        for value in sorted(values):
            if low - spare <= value <= high + spare:
                ax.axhline(value, color=_GREY, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1)
                ax.annotate(
                    "limit",
                    (1.0, value),
                    xycoords=("axes fraction", "data"),
                    xytext=(-2, 1.5),
                    textcoords="offset points",
                    ha="right",
                    fontsize=7,
                    color=_GREY,
                )


def contact_phases(log: Log, robot: Mechanism) -> dict[str, list[tuple[float, float]]]:
    """Intervals (begin, duration) [s] in which bodies touch the ground, by the bodies' names.

    Computed from the poses: a contact point nearer to the ground than 0.1 mm touches it.
    """
    if not robot.contacts or not len(log) or log.q.shape[1] != robot.nq:
        return {}
    # Imported here, as these import numba, which plots without a robot do not need.
    from robosim.kinematics.kinematics import Kinematics
    from robosim.viz.playback import lowest_points

    kinematics = Kinematics(robot)
    chosen = np.arange(0, len(log), -(-len(log) // SAMPLES))
    gaps = np.empty((len(chosen), len(robot.contacts)))
    for row, k in zip(gaps, chosen, strict=True):
        kinematics.move_to(log.q[k])
        row[:] = lowest_points(robot, kinematics.x, kinematics.R)[:, 2]
    times = log.t[chosen]
    step = float(times[1] - times[0]) if len(times) > 1 else 0.0
    found = {}
    for body in dict.fromkeys(contact.body for contact in robot.contacts):
        own = [k for k, contact in enumerate(robot.contacts) if contact.body == body]
        touching = np.concatenate(([False], (gaps[:, own] < TOUCHING).any(axis=1), [False]))
        edges = np.flatnonzero(np.diff(touching.astype(int)))
        begins, ends = edges[::2], edges[1::2]
        if len(begins):
            lengths = (ends - begins) * step
            found[body] = list(zip(times[begins].tolist(), lengths.tolist(), strict=True))
    return found
