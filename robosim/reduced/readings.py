"""Contacts with the ground and their forces, read from a reduced simulation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.formulation import Contact
from robosim.log.channels import contact_link
from robosim.reduced.contacts import TOUCHING
from robosim.simulation.readings import GROUND
from robosim.simulation.views import BodyState
from robosim.validation import Array, read_only


def contacts_at(
    robot: Mechanism, points: NDArray[np.int64], state: BodyState, places: Array, forces: Array
) -> list[Contact]:
    """Contact points that touch the ground, or had a force in the last step.

    Parameters
    ----------
    points : (n,), active points, indices into robot.contacts
    state : BodyState
    places : (nc, 3) [m], places where all points would touch
    forces : (nc, 3) [N], of the last step
    """
    found = []
    for k in points:
        point, place, force = robot.contacts[k], places[k].copy(), forces[k].copy()
        if place[2] > TOUCHING and not force.any():
            continue
        i = robot.body_index(point.body)
        spin = quaternions.rotation_matrix(state.q[i]) @ state.omega[i]
        speed = state.v[i] + np.cross(spin, place - state.x[i])
        up, none, gap = np.array([0.0, 0.0, 1.0]), np.zeros(3), float(place[2])
        vectors = [read_only(one) for one in (place, up, force, speed, none)]
        found.append(
            Contact(
                point.body, GROUND, vectors[0], vectors[1], gap, vectors[2], vectors[3], True,
                vectors[4], contact_link(robot, point), GROUND,
            )
        )  # fmt: skip
    return found
