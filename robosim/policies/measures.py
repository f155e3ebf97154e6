"""What a track is judged by: falls, tracking of the command, torques, slip, penetration, energy.

All values are of the time until the robot falls, or the run ends.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import lowest_arms
from robosim.description.mechanism import Mechanism
from robosim.kinematics.kinematics import Kinematics
from robosim.log.columns import Chunk
from robosim.log.falls import Falls
from robosim.policies.track import Track, touching
from robosim.simulation import Simulation
from robosim.validation import Array

TOUCH = 1.0
"""Normal force above which a body is in contact [N]."""
GRAVITY = 9.81  # [m/s^2]
SHORTEST = 0.1
"""Length of a path from which on there is a cost of transport [m]."""


@dataclass(frozen=True)
class Measures:
    """The values of a run; None for what a robot or a task does not have.

    Attributes
    ----------
    seconds : float [s]
        Time until the fall or the end.
    fell : float or None [s]
        Time of the fall.
    how : str or None
        "upside down", or "low": the base was below a third of its height over its feet.
    ended : str or None
        Why the run ended before its time.
    distance : float or None [m]
        Of the base at the end from where it began, in the plane.
    path : float or None [m]
        Length of the base's path in the plane.
    velocity_error : float or None [m/s]
        Root mean square of the error of the base's velocity, forward and sideways in its axes.
    turning_error : float or None [rad/s]
        The same of its yaw rate.
    torque : float [N m or N]
        Root mean square over all motors.
    largest_effort : float or None
        Largest torque relative to its joint's limit; None without limits.
    largest_effort_joint : str or None
    slip : float or None [m/s]
        Mean speed along the ground of bodies that touch it.
    penetration : float or None [m]
        Largest depth of a contact point below the ground.
    energy : float [J]
        Mechanical work of the motors, of both signs in size.
    cost_of_transport : float or None
        Mechanical work over weight and path.
    """

    seconds: float
    fell: float | None
    how: str | None
    ended: str | None
    distance: float | None
    path: float | None
    velocity_error: float | None
    turning_error: float | None
    torque: float
    largest_effort: float | None
    largest_effort_joint: str | None
    slip: float | None
    penetration: float | None
    energy: float
    cost_of_transport: float | None

    def to_dict(self) -> dict[str, Any]:
        """All values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Ground:
    """Lowest points of the bodies that can touch the ground, along a track.

    Attributes
    ----------
    height : (n, nt) [m]
        Of the lowest contact point of each body; below zero in the ground. On obstacles, the gap of
        the contact with the largest force, inf without one.
    speed : (n, nt) [m/s]
        Of this point along the ground.
    touches : (n, nt) of bool
    """

    height: Array
    speed: Array
    touches: NDArray[np.bool_]


def ground_of(robot: Mechanism, track: Track) -> Ground:
    """The lowest points of bodies along a track; arrays of no columns without contacts."""
    if track.nearest is not None:
        return _on_obstacles(robot, track, track.nearest)
    names = touching(robot)
    height, speed = np.zeros((2, len(track), len(names)))
    bodies = np.array([robot.body_index(contact.body) for contact in robot.contacts], dtype=int)
    of = [np.flatnonzero([contact.body == name for contact in robot.contacts]) for name in names]
    kinematics = Kinematics(robot)
    for k in range(len(track) if names else 0):
        kinematics.move_to(track.q[k])
        arms = lowest_arms(robot.contacts, kinematics.R[bodies])
        heights = kinematics.x[bodies, 2] + arms[:, 2]
        lowest = np.array([rows[np.argmin(heights[rows])] for rows in of])
        twists = kinematics.twists(track.v[k])[bodies[lowest]]
        moves = twists[:, :3] + np.cross(twists[:, 3:], arms[lowest])
        height[k], speed[k] = heights[lowest], np.hypot(moves[:, 0], moves[:, 1])
    return Ground(height, speed, track.forces > TOUCH)


def _on_obstacles(robot: Mechanism, track: Track, nearest: Array) -> Ground:
    """The same from the contacts of each body with the ground and obstacles."""
    height = np.where(np.isnan(nearest[:, :, 0]), np.inf, nearest[:, :, 0])
    speed, kinematics = np.zeros(height.shape), Kinematics(robot)
    rows = np.array([robot.body_index(name) for name in touching(robot)], dtype=int)
    for k in range(len(track)):
        kinematics.move_to(track.q[k])
        twists = kinematics.twists(track.v[k])[rows]
        point, normal = nearest[k, :, 1:4], nearest[k, :, 4:]
        moves = twists[:, :3] + np.cross(twists[:, 3:], point - kinematics.x[rows])
        moves -= (moves * normal).sum(axis=1, keepdims=True) * normal
        speed[k] = np.linalg.norm(moves, axis=1)
    return Ground(height, np.nan_to_num(speed), track.forces > TOUCH)


def fall_of(robot: Mechanism, track: Track) -> dict[str, Any] | None:
    """When and how a robot fell, as `robosim.log.falls.Falls` tells it."""
    sim = Simulation(robot, 1e-3)
    sim.set_state(track.q[0])
    falls = Falls(sim)
    n = len(track)
    zero, none = np.zeros(n, dtype=np.int64), np.zeros(n)
    falls.add(Chunk(track.t, track.q, track.v, track.tau, zero, zero, none, none))
    return falls.fell


def measures_of(robot: Mechanism, track: Track, ground: Ground | None = None) -> Measures:
    """The measures of a track.

    Parameters
    ----------
    robot : Mechanism
    track : Track
    ground : Ground or None
        Of this track, if it has been computed.
    """
    fell = fall_of(robot, track)
    ground = ground_of(robot, track) if ground is None else ground
    n = len(track) if fell is None else int(np.searchsorted(track.t, fell["time"])) + 1
    whole, track = track, track.until(n)
    step = float(whole.t[1] - whole.t[0]) if len(whole) > 1 else 0.0
    rates = track.v[:, np.minimum(np.asarray(robot.actuated, dtype=int), robot.nv - 1)]
    energy = float(np.abs(track.tau * rates).sum() * step)
    distance = path = velocity = turning = cost = None
    if robot.floating_base:
        distance = float(np.linalg.norm(track.q[-1, :2] - track.q[0, :2]))
        path = float(np.linalg.norm(np.diff(track.q[:, :2], axis=0), axis=1).sum())
        if track.command.shape[1] >= 3:
            velocity, turning = _tracking(track)
        if path > SHORTEST:
            cost = energy / (robot.total_mass * GRAVITY * path)
    limits = robot.effort_limits
    joint, effort = None, None
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.abs(track.tau).max(axis=0) / np.where(limits > 0, limits, np.inf)
    if np.isfinite(limits).any():
        joint, effort = robot.actuated_names[int(np.argmax(parts))], float(parts.max())
    touches, slip, depth = ground.touches[:n], None, None
    if ground.height.shape[1]:
        depth = max(0.0, -float(ground.height[:n].min()))
        slip = float(ground.speed[:n][touches].mean()) if touches.any() else 0.0
    return Measures(
        float(track.t[-1] - track.t[0]) + (step if fell is None else 0.0),
        None if fell is None else float(fell["time"]),
        None if fell is None else str(fell["how"]),
        track.ended,
        distance,
        path,
        velocity,
        turning,
        float(np.sqrt((track.tau**2).mean())) if track.tau.size else 0.0,
        effort,
        joint,
        slip,
        depth,
        energy,
        cost,
    )


def base_velocity(track: Track) -> Array:
    """Forward and sideways velocity and yaw rate of a floating base, in its axes, (n, 3)."""
    R_wb = quaternions.rotation_matrix(track.q[:, 3:7])
    planar = np.einsum("nij,ni->nj", R_wb, track.v[:, :3])[:, :2]
    return np.column_stack((planar, track.v[:, 5]))


def _tracking(track: Track) -> tuple[float, float]:
    """Root mean squares of the errors of velocity [m/s] and yaw rate [rad/s]."""
    off = base_velocity(track) - track.command[:, :3]
    planar = float(np.sqrt((off[:, :2] ** 2).sum(axis=1).mean()))
    return planar, float(np.sqrt((off[:, 2] ** 2).mean()))
