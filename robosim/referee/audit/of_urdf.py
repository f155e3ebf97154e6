"""What all simulators of a robot's own URDF share: robosim's torques, servos and frictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.referee.audit.runs import Array


def on_coordinates(robot: Mechanism, row: Array) -> Array:
    """Torques (nv,) of a row for all coordinates (nv,), or for the motors (nu,)."""
    if len(row) == robot.nv:
        return np.asarray(row)
    torques = np.zeros(robot.nv)
    torques[np.asarray(robot.actuated, dtype=int)] = row
    return torques


def servo_torques(gains: Any, q: Array, v: Array) -> Array:
    """Torques (nv,) of the rows of a PD that are implicit, at q (nq,) and v (nv,)."""
    torques = np.zeros(len(v))
    for row in gains:
        if row["implicit"]:
            begin = row["v_index"]
            asked = row["kp"] * (row["target"] - q[row["q_index"]])
            torques[begin] = asked + row["kd"] * (row["velocity"] - v[begin])
    return torques


def frictions_of(robot: Mechanism) -> Callable[[str], float]:
    """The friction of a link with the ground, by the link's name; zero without contacts."""
    frictions = {contact.body: contact.friction for contact in robot.contacts}
    owners = {frame.name: robot.bodies[k].name for k, frame in robot.frames()}
    return lambda link: frictions.get(owners.get(link, link), 0.0)
