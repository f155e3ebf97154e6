"""Groups of rigidly connected bodies, and bodies on free joints."""

from __future__ import annotations

from collections.abc import Sequence

from robosim.description.body import Body
from robosim.description.joint import Joint


def rigid_groups(bodies: Sequence[Body], joints: Sequence[Joint]) -> dict[str | None, str | None]:
    """For each body's name, and None for the world, a name that identifies its rigid group.

    Two bodies are in one group if joints without degrees of freedom connect them. The group of the
    world is None.
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
    """For each body on a free joint, alone or with others between, the joint's child.

    `joints` are those of a tree, parents first.
    """
    base: dict[str | None, str] = {}
    for joint in joints:
        if joint.n_constraints == 0:
            base[joint.child] = joint.child
        elif joint.parent in base:
            base[joint.child] = base[joint.parent]
    return base
