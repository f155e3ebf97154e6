"""Contacts and their forces, read from a reduced simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import obstacle_name
from robosim.formulation import Contact
from robosim.log.channels import contact_link, shape_link
from robosim.reduced.contacts import TOUCHING
from robosim.reduced.euler import Met
from robosim.reduced.shapes import Meeting
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
        speed = _speed(state, i, place)
        up, none, gap = np.array([0.0, 0.0, 1.0]), np.zeros(3), float(place[2])
        vectors = [read_only(one) for one in (place, up, force, speed, none)]
        found.append(
            Contact(
                point.body, GROUND, vectors[0], vectors[1], gap, vectors[2], vectors[3], True,
                vectors[4], contact_link(robot, point), GROUND,
            )
        )  # fmt: skip
    return found


def meetings_at(
    robot: Mechanism,
    met: Sequence[Met],
    state: BodyState,
    E: Sequence[Array],
    near: Sequence[Meeting],
) -> list[Contact]:
    """Where shapes touched in the last step, followed to the poses E of the knot.

    Normals and forces are those of the step; `near` has all places at the knot.
    """
    scene, found = robot.touching_shapes() if met else [], []
    for one, force in met:
        place, gap = one.followed(E, near)
        speed = _speed(state, one.body, place)
        sides: dict[int | None, Any] = dict(scene[one.pair])
        body = robot.bodies[one.body].name
        if one.other is None:
            other = other_link = obstacle_name(sides[None])
        else:
            speed -= _speed(state, one.other, place)
            other = robot.bodies[one.other].name
            other_link = shape_link(robot, other, sides[one.other].name)
        vectors = [read_only(each.copy()) for each in (place, one.normal, force, speed)]
        found.append(
            Contact(
                body, other, vectors[0], vectors[1], gap, vectors[2], vectors[3], False,
                read_only(np.zeros(3)), shape_link(robot, body, sides[one.body].name), other_link,
            )
        )  # fmt: skip
    return found


def _speed(state: BodyState, i: int, place: Array) -> Array:
    """Velocity (3,) of the point of body i at a place, world."""
    spin = quaternions.rotation_matrix(state.q[i]) @ state.omega[i]
    return np.asarray(state.v[i] + np.cross(spin, place - state.x[i]))
