"""<keyframe>: named poses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.names import free_name
from robosim.loaders.mjcf.joints import Spec
from robosim.loaders.mjcf.nodes import Node

Array = NDArray[np.float64]


def read_keyframes(root: Node, reference: Array, specs: list[Spec]) -> dict[str, Array]:
    """Name -> q (nq,) of every keyframe; those without a name are named by their number.

    Parameters
    ----------
    root : Node
        The model.
    reference : (nq,)
        Pose of keyframes without one.
    specs : list of Spec
        All joints, in the order of q.

    Raises
    ------
    LoadError
        For a wrong number of coordinates, a zero quaternion, or a duplicate name.
    """
    found: dict[str, Array] = {}
    nodes = [node for section in root.all("keyframe") for node in section.all("key")]
    own = {node.name for node in nodes}
    for index, node in enumerate(nodes):
        name = node.name or free_name(f"key{index}", own)
        if name in found:
            raise node.error("the name is used twice")
        found[name] = _normalized(node.numbers("qpos", reference), specs, node)
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
