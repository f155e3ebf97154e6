"""Limits of a file as springs: `solreflimit` and `solimplimit` of joints and tendons.

A limit is a contact without friction (`loaders.mjcf.compliance`). In place of an inverse mass there
is that of its coordinate at qpos0, all others being free, and in place of the weight the force of
gravity at the limit, with all other joints at home.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.loaders.mjcf.compliance import Impedance, Solver
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.notes import Notes

Array = NDArray[np.float64]


def with_limit_springs(
    mechanism: Mechanism,
    reference: Array,
    nodes: Mapping[str, tuple[Node, float]],
    solver: Solver,
    notes: Notes,
) -> Mechanism:
    """The mechanism with compliant limits.

    Parameters
    ----------
    mechanism : Mechanism
    reference : (nq,)
        MuJoCo's qpos0.
    nodes : mapping of a name to (Node, float)
        The element whose limit that of a joint or tendon is, and the change of its length with the
        coordinate.
    solver : Solver
    notes : Notes
    """
    # Imported here, so that numba is imported only when needed.
    from robosim.kinematics.kinematics import Kinematics

    at = Kinematics(mechanism, reference)
    softness = np.linalg.inv(at.mass_matrix())
    home, moved = np.asarray(mechanism.home, dtype=float), Kinematics(mechanism, mechanism.home)
    still = np.zeros(mechanism.nv)
    v = {name: k for k, name in enumerate(mechanism.v_names)}
    q = {name: k for k, name in enumerate(mechanism.q_names)}

    def load(name: str, ends: tuple[float, ...]) -> float:
        """The largest force of gravity along a coordinate at its limits."""
        found = [0.0]
        for end in filter(np.isfinite, ends):
            pose = home.copy()
            pose[q[name]] = end
            moved.move_to(pose)
            found.append(abs(float(moved.bias_forces(still)[v[name]])))
        return max(found)

    def spring(name: str, inverse: float, load: float) -> tuple[float, float]:
        """Stiffness and damping along a coordinate with an inverse mass, under a load."""
        node, slope = nodes[name]
        impedance, square = Impedance.read(node, "limit"), slope * slope
        stiffness, damping = solver.limit(impedance, square * inverse, load / slope)
        return square * stiffness, square * damping

    def springs(joint: Joint, first: int) -> Joint:
        names = joint.coordinate_names or (joint.name,) * joint.nv
        ends = (np.asarray(end, dtype=float) for end in (joint.lower, joint.upper))
        lower, upper = (np.broadcast_to(end, joint.nv) for end in ends)
        limited = [
            (name, range_) for name, *range_ in zip(names, lower, upper, strict=True)
            if np.isfinite(range_).any() and range_[0] < range_[1]
        ]  # fmt: skip
        found = [
            spring(name, float(softness[v[name], v[name]]), load(name, tuple(range_)))
            for name, range_ in limited
            if name in nodes
        ]
        if np.isfinite(joint.largest_turn) and names[-1] in nodes:
            turns = np.arange(first + joint.nv - 3, first + joint.nv)
            found.append(spring(names[-1], float(softness[turns, turns].mean()), 0.0))
        if not found:
            return joint
        if len(found) > 1:
            notes.add("limits of several coordinates of a joint have one stiffness", joint.name)
        stiffness, damping = max(found)
        return replace(joint, limit_stiffness=stiffness, limit_damping=damping)

    begins = dict(zip(mechanism.tree_joints, mechanism.v_offsets, strict=False))
    joints = tuple(
        springs(joint, begins[joint]) if joint in begins else joint for joint in mechanism.joints
    )
    tendons = list(mechanism.tendons)
    rows = at.tendon_jacobian() if tendons else np.zeros((0, len(softness)))
    for k, tendon in enumerate(tendons):
        limited = np.isfinite(tendon.lower) or np.isfinite(tendon.upper)
        if limited and tendon.lower < tendon.upper and tendon.name in nodes:
            inverse = float(rows[k] @ softness @ rows[k])
            if inverse > 0:
                stiffness, damping = spring(tendon.name, inverse, 0.0)
                tendons[k] = replace(tendon, limit_stiffness=stiffness, limit_damping=damping)
    return replace(mechanism, joints=joints, tendons=tuple(tendons))
