"""The inertia that the motors of a standing robot have to move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.description.rigid import floating_bases
from robosim.validation import Array

if TYPE_CHECKING:
    from robosim.kinematics.kinematics import Kinematics


def home_inertia(robot: Mechanism) -> Array:
    """Mass matrix of the tree at its home pose, (nv, nv)."""
    # Imported here, so that naming a controller does not import numba.
    from robosim.kinematics.kinematics import mass_matrix

    return mass_matrix(robot, np.asarray(robot.home))


def carried_inertia(robot: Mechanism, q: Array) -> Array:
    """The inertia that each motor has to move when the robot stands at q (nq,).

    Returns
    -------
    carried : (nv,) [kg m^2 or kg]
        The diagonal of the mass matrix, or, for joints above a foot, the joint's share of the rest
        of the robot if that is larger.
    """
    from robosim.kinematics.kinematics import Kinematics

    kinematics = Kinematics(robot, q)
    carried = np.diag(kinematics.mass_matrix()).copy()
    index = {body.name: b for b, body in enumerate(robot.bodies)}
    below = np.eye(len(index), dtype=bool)  # row b: the bodies below body b, and b itself
    for b in range(len(index) - 1, -1, -1):
        parent = robot.tree_joints[b].parent
        if parent is not None:
            below[index[parent]] |= below[b]
    touching = np.zeros(len(index), dtype=bool)
    touching[[index[contact.body] for contact in robot.contacts]] = True
    if robot.obstacles:
        touching |= [len(body.collisions) > 0 for body in robot.bodies]
    feet = touching & (below[:, touching].sum(axis=1) == 1)
    masses = np.array([body.mass for body in robot.bodies])
    bases = floating_bases(robot.tree_joints)
    for base in dict.fromkeys(bases.values()):
        # Of several robots, each has its own feet.
        own = np.array([bases.get(body.name) == base for body in robot.bodies])
        if (feet & own).any():
            _carry(robot, kinematics, own, feet & own, below, masses, carried)
    return carried


def _carry(
    robot: Mechanism,
    kinematics: Kinematics,
    own: NDArray[np.bool_],
    feet: NDArray[np.bool_],
    below: NDArray[np.bool_],
    masses: Array,
    carried: Array,
) -> None:
    """Raise the inertia of joints above feet to their share of the bodies that are not below.

    ``own`` and ``feet`` (nb,) mark the bodies of one robot; ``carried`` (nv,) is changed.
    """
    J, inertias = kinematics.jacobian(), kinematics.inertias()
    for b in np.flatnonzero(own)[1:]:
        share = np.count_nonzero(feet & below[b]) / np.count_nonzero(feet)
        rest = np.flatnonzero(own & ~below[b])
        for v in range(robot.v_offsets[b], robot.v_offsets[b + 1]):
            # As if all other bodies rotated with the child about the joint.
            turn = J[b, 3:, v]
            moves = J[b, :3, v] + np.cross(turn, kinematics.x[rest] - kinematics.x[b])
            whole = masses[rest] @ np.sum(moves**2, axis=1)
            whole += np.einsum("i,bij,j->", turn, inertias[rest], turn)
            carried[v] = max(carried[v], share * whole)
