"""<keyframe>: named poses, with velocities, controls and activations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.keyframe import Keyframe
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.loaders.mjcf.joints import Spec
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.notes import Notes

Array = NDArray[np.float64]


def read_keyframes(
    root: Node, reference: Array, specs: list[Spec], mocap: Collection[str] = ()
) -> dict[str, Array]:
    """Name -> q (nq,) of every keyframe; those without a name are named by their number.

    Parameters
    ----------
    root : Node
        The model.
    reference : (nq,)
        Pose of keyframes without one.
    specs : list of Spec
        All joints, in the order of q.
    mocap : collection of str
        Joints of mocap bodies, which have no numbers in keyframes and are at the reference.

    Raises
    ------
    LoadError
        For a wrong number of coordinates, a zero quaternion, or a duplicate name.
    """
    sizes = {"ball": 4, "free": 7}
    own = np.repeat(
        [spec.name not in mocap for spec in specs], [sizes.get(spec.type, 1) for spec in specs]
    )
    found = {}
    for name, node in _named(root).items():
        q = reference.copy()
        q[own] = node.numbers("qpos", reference[own])
        found[name] = _normalized(q, specs, node)
    return found


def _named(root: Node) -> dict[str, Node]:
    """The <key> elements by name."""
    found: dict[str, Node] = {}
    nodes = [node for section in root.all("keyframe") for node in section.all("key")]
    own = {node.name for node in nodes}
    for index, node in enumerate(nodes):
        name = node.name or free_name(f"key{index}", own)
        if name in found:
            raise node.error("the name is used twice")
        found[name] = node
    return found


class Slots(NamedTuple):
    """How many controls and activations an actuator has in keyframes of the file; None: unknown."""

    name: str
    controls: int | None
    activations: int | None


def with_keyframes(
    mechanism: Mechanism,
    root: Node,
    slots: Sequence[Slots],
    mocap: Collection[str],
    notes: Notes,
) -> Mechanism:
    """The mechanism with all that its keyframes have beside poses; joints of mocap have nothing.

    Raises
    ------
    LoadError
        For a wrong number of values.
    """
    nodes = _named(root)
    names = [
        name
        for joint, start in zip(mechanism.tree_joints, mechanism.v_offsets, strict=False)
        if joint.name not in mocap
        for name in mechanism.v_names[start : start + joint.nv]
    ]
    keys = {}
    for name, node in nodes.items():
        v = node.numbers("qvel", np.zeros(len(names))).tolist()
        found = {"velocities": {k: x for k, x in zip(names, v, strict=True) if x}}
        for attribute, what in (("ctrl", "controls"), ("act", "activations")):
            found[what] = _of_actuators(node, attribute, what, slots, mechanism, notes)
        keys[name] = Keyframe(**found, time=node.number("time", 0.0))
    return replace(mechanism, keyframes=keys)


def _of_actuators(
    node: Node,
    attribute: str,
    what: str,
    slots: Sequence[Slots],
    mechanism: Mechanism,
    notes: Notes,
) -> dict[str, float]:
    """Values of a keyframe by the names of actuators that are read."""
    if not node.has(attribute):
        return {}
    sizes = [getattr(slot, what) for slot in slots]
    if None in sizes:
        notes.add(
            f"{what} of keyframes are not read beside actuators with unknown numbers of these",
            node.name,
        )
        return {}
    values = node.numbers(attribute, np.zeros(sum(sizes))).tolist()
    there = {
        one.name: one.control_names if what == "controls" else one.activation_names
        for one in mechanism.actuators
        if what == "controls" or one.has_activations
    }
    found: dict[str, float] = {}
    start = 0
    for slot, size in zip(slots, sizes, strict=True):
        own = values[start : start + size]
        start += size
        names = there.get(slot.name, ())
        if len(names) == size:
            found |= {name: value for name, value in zip(names, own, strict=True) if value}
    return found


def _normalized(q: Array, specs: list[Spec], node: Node) -> Array:
    start = 0
    for spec in specs:
        if spec.type in ("ball", "free"):
            begin = start + (3 if spec.type == "free" else 0)
            if not np.any(q[begin : begin + 4]):
                raise node.error(f"'qpos' has a zero quaternion for joint '{spec.name}'")
            q[begin : begin + 4] = quaternions.normalized(q[begin : begin + 4])
        start += {"ball": 4, "free": 7}.get(spec.type, 1)
    return q
