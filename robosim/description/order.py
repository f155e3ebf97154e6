"""The order of a mechanism's bodies, joints and coordinates, and names of coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.names import free_name
from robosim.errors import ModelError


def tree_order(
    bodies: Sequence[Body], joints: Sequence[Joint], element: str, as_given: bool = False
) -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
    """Depth-first order from the world, children in the given order, then joints that close loops.

    With `as_given`, the order of the tree is kept if parents come before their children.

    Raises
    ------
    ModelError
        For a body without a chain of joints to the world; names the element.
    """
    into: dict[str, Joint] = {}
    loops: list[Joint] = []
    for joint in joints:
        if joint.child in into:
            loops.append(joint)
            continue
        into[joint.child] = joint
    for body in bodies:
        if body.name not in into:
            raise ModelError(
                "has no joint to the world or to another body; add a 'floating' one",
                element=f"body '{body.name}'",
            )
    by_name = {body.name: body for body in bodies}
    given = list(into.values())
    if as_given and _parents_first(given):
        return tuple(by_name[joint.child] for joint in given), (*given, *loops)
    order = depth_first(given)
    if len(order) < len(bodies):
        reached = {joint.name for joint in order}
        cycle = [j.name for j in into.values() if j.name not in reached]
        raise ModelError(
            f"joints {cycle} form a cycle that does not lead to the world: of the joints into "
            "a body the first one given must lead there from the world; the others close loops",
            element=element,
        )
    return tuple(by_name[joint.child] for joint in order), (*order, *loops)


def depth_first(joints: Iterable[Joint]) -> list[Joint]:
    """Joints of a tree from the world on, depth first, children in the given order."""
    children: dict[str | None, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    order: list[Joint] = []
    stack = list(reversed(children.get(None, [])))
    while stack:
        joint = stack.pop()
        order.append(joint)
        stack.extend(reversed(children.get(joint.child, [])))
    return order


def _parents_first(joints: Sequence[Joint]) -> bool:
    placed: set[str | None] = {None}
    for joint in joints:
        if joint.parent not in placed:
            return False
        placed.add(joint.child)
    return True


def coordinate_names(
    joints: Sequence[Joint], others: Iterable[str] = (), *, velocity: bool
) -> list[list[str]]:
    """Names of the coordinates of each joint: the joint's, with a suffix if there are several.

    Names with a suffix are changed if they equal names of joints, of their coordinates, or
    `others`.
    """
    taken = {joint.name for joint in joints}.union(others)
    taken.update(name for joint in joints for name in joint.coordinate_names)
    found = []
    for joint in joints:
        suffixes = _suffixes(joint, velocity)
        if joint.coordinate_names:
            found.append(list(joint.coordinate_names))
        elif len(suffixes) == 1:
            found.append([joint.name])
        else:
            names = [free_name(f"{joint.name}.{suffix}", taken) for suffix in suffixes]
            taken.update(names)
            found.append(names)
    return found


def _suffixes(joint: Joint, velocity: bool) -> list[str]:
    if joint.own_chart is not None:
        return [f"q{k}" for k in range(joint.nv)]
    translations, rotations = joint.C_T.shape[1], joint.C_R.shape[1]
    suffixes = [f"t{k}" for k in range(translations)]
    if translations == 3:
        suffixes = ["vx", "vy", "vz"] if velocity else ["x", "y", "z"]
    if rotations == 3:
        suffixes += ["wx", "wy", "wz"] if velocity else ["qw", "qx", "qy", "qz"]
    elif rotations == 1:
        suffixes.append("r")
    return suffixes
