"""Data of a body that is selected on the page: mass, pose, velocity and contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.formulation import Formulation
from robosim.viz.scene import NO_FORCE, STANDARD_GRAVITY

Array = NDArray[np.float64]
MOST = 8  # contacts that are listed


def inspect(sim: Formulation, index: int) -> dict[str, Any]:
    """The present data of a body, for the page.

    Returns
    -------
    dict
        ``mass`` [kg]; ``position`` (3,) [m] and ``velocity`` (3,) [m/s] of the centre of mass, and
        ``omega`` (3,) [rad/s], all in world axes; ``quaternion`` (w, x, y, z), body to world.
        ``links`` are the merged links. ``contacts`` are the strongest contacts, each with the
        link, the other link, the force on the body (3,) [N], world axes, and the gap [m].
        ``touching`` is the number of all contacts, ``force`` (3,) [N] the sum of their forces.
    """
    body = sim.robot.bodies[index]
    state = sim.state
    R = quaternions.rotation_matrix(state.q[index])
    contacts = _contacts(sim, body.name)
    total = sum((force for _, _, force, _ in contacts), np.zeros(3))
    contacts.sort(key=lambda contact: -float(np.linalg.norm(contact[2])))
    return {
        "body": index,
        "name": body.name,
        "links": [frame.name for frame in body.frames if frame.name != body.name],
        "mass": float(body.mass),
        "position": state.x[index].tolist(),
        "quaternion": state.q[index].tolist(),
        "velocity": state.v[index].tolist(),
        "omega": (R @ state.omega[index]).tolist(),
        "touching": len(contacts),
        "force": total.tolist(),
        "contacts": [
            {"link": link, "other": other, "force": force.tolist(), "gap": gap}
            for link, other, force, gap in contacts[:MOST]
        ],
    }


def _contacts(sim: Formulation, name: str) -> list[tuple[str, str, Array, float]]:
    """(link, other link, force on the body, gap) of the contacts with a force on a body."""
    found = []
    least = NO_FORCE * sim.robot.total_mass * STANDARD_GRAVITY
    for contact in sim.contacts():
        force = np.asarray(contact.force, dtype=float)
        if np.linalg.norm(force) <= least:
            continue
        if contact.body == name:
            found.append((contact.link, contact.other_link, force, float(contact.gap)))
        elif contact.other == name:
            found.append((contact.other_link, contact.link, -force, float(contact.gap)))
    return found
