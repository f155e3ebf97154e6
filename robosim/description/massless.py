"""Bodies without mass, and the elements that move them if no body with mass follows.

Such bodies are carriers (`Body.carrier`). Between joints they are parts of a joint with several
axes. At the end of a chain their motion is undetermined without a loop, a coupling, a rotor or a
prescribed motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robosim.errors import ModelError

if TYPE_CHECKING:
    from robosim.description.mechanism import Mechanism


def carried_by(robot: Mechanism) -> dict[str, list[str]]:
    """Carrier -> the nearest bodies with mass that follow it, directly or by other carriers."""
    carriers = {body.name for body in robot.bodies if body.carrier}
    found: dict[str, list[str]] = {name: [] for name in carriers}
    # Children come after their parents.
    for joint in reversed(robot.tree_joints):
        if joint.parent in carriers:
            beyond = found[joint.child] if joint.child in carriers else [joint.child]
            found[str(joint.parent)] = [*beyond, *found[str(joint.parent)]]
    return found


def idle_ends(robot: Mechanism) -> list[str]:
    """Massless bodies that no body with mass follows, and that no other element moves."""
    carried = carried_by(robot)
    ends = {name for name, bodies in carried.items() if not bodies}
    if not ends:
        return []
    tied = {name for joint in robot.loop_joints for name in (joint.parent, joint.child)}
    led = {coupling.joint for coupling in robot.couplings}
    below: set[str | None] = set()  # bodies with an element at them or beyond
    for joint in reversed(robot.tree_joints):
        if joint.child in tied | below:
            below.add(joint.parent)
    return [
        joint.child
        for joint in robot.tree_joints
        if joint.child in ends
        and joint.child not in tied | below
        and joint.name not in led
        and joint.motion is None
        and joint.nv > 0
        and not np.all(joint.per_coordinate("armature") > 0)
    ]


def without_inertia(coordinate: str) -> ModelError:
    """The error for a coordinate along which the mass matrix has no inverse."""
    return ModelError(
        "the mass matrix has no inverse: this coordinate moves no mass or inertia; give the links "
        "beyond it an inertia, or the joint an armature",
        element=f"coordinate '{coordinate}'",
    )
