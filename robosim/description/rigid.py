"""Which bodies are joined rigidly, to each other or to the world, and what carries them freely."""

from __future__ import annotations

from collections.abc import Sequence

from robosim.description.body import Body
from robosim.description.joint import Joint


def rigid_groups(bodies: Sequence[Body], joints: Sequence[Joint]) -> dict[str | None, str | None]:
    """From each body's name, and None for the world, to one that stands for its rigid group.

    Two bodies are of one group if joints without any freedom lead from one to the other. What is
    joined to the world has None.
    """
    of: dict[str | None, str | None] = {body.name: body.name for body in bodies}
    of[None] = None
    for joint in joints:
        if joint.nv == 0:
            parent, child = of[joint.parent], of[joint.child]
            stays, goes = (child, parent) if child is None else (parent, child)
            of = {name: stays if group == goes else group for name, group in of.items()}
    return of


def floating_bases(joints: Sequence[Joint]) -> dict[str | None, str]:
    """From each body that a free joint carries, alone or with others between, to the joint's child.

    `joints` are those of a tree, parents first.
    """
    base: dict[str | None, str] = {}
    for joint in joints:
        if joint.n_constraints == 0:
            base[joint.child] = joint.child
        elif joint.parent in base:
            base[joint.child] = base[joint.parent]
    return base
