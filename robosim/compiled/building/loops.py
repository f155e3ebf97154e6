"""Which loops a tree may have: those that share no joints."""

from __future__ import annotations

import numpy as np

from robosim.compiled.model import Loops
from robosim.description.mechanism import Mechanism


def is_tree_with_loops(mechanism: Mechanism, velocity_limits: bool = False) -> bool:
    """Whether nothing ties bodies to each other but a tree's joints, and loops that share none."""
    if mechanism.couplings or mechanism.springs or mechanism.tendons:
        return False
    if any(joint.motion is not None for joint in mechanism.joints):
        return False
    if any(None not in (a[0], b[0]) for a, b in mechanism.touching_shapes()):
        return False
    return not mechanism.loop_joints or separate_loops(mechanism, velocity_limits) is not None


def separate_loops(mechanism: Mechanism, velocity_limits: bool = False) -> Loops | None:
    """The loops of a mechanism; None if two share a joint, or anything acts where one is closed.

    Limits of velocities there only count if these act.
    """
    if any(v >= mechanism.nv for v in mechanism.actuated):
        return None
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    above, floats = np.full(nb, nb), np.zeros(nb, dtype=bool)
    for joint in mechanism.tree_joints:
        child = index[joint.child]
        above[child] = nb if joint.parent is None else index[joint.parent]
        floats[child] = joint.n_constraints == 0
    over = np.full(nb, -1, dtype=np.int64)
    found: list[tuple[int, int, list[int]]] = []
    for k, joint in enumerate(mechanism.loop_joints):
        acts = (joint.per_coordinate(name).any() for name in ("stiffness", "damping", "armature"))
        if joint.n_constraints == 0 or joint.resists or any(joint.potentials) or any(acts):
            return None
        if velocity_limits and joint.is_limited_in_velocity:
            return None
        sides = []
        for end in (index[joint.child], nb if joint.parent is None else index[joint.parent]):
            side = [end]
            while side[-1] < nb:
                side.append(int(above[side[-1]]))
            sides.append(side)
        top = next(body for body in sides[0] if body in sides[1])
        path = [body for side in sides for body in side[: side.index(top)]]
        found.append((top, nb + k, path))
    found.sort(key=lambda loop: loop[0])
    for n, (_, _, path) in enumerate(found):
        if np.any(over[path] >= 0) or np.any(floats[path]):
            return None
        over[path] = n
    tops = np.array([loop[0] for loop in found], dtype=np.int64)
    first = np.searchsorted(tops, np.arange(nb + 2)).astype(np.int64)
    return Loops(np.array([loop[1] for loop in found], dtype=np.int64), tops, first, over)
