"""Small ONNX networks, and the tasks that the tests of policies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DEFAULT = {
    "F[LR]_thigh_joint": 0.8,
    "R[LR]_thigh_joint": 1.0,
    ".*_calf_joint": -1.5,
    ".*L_hip_joint": 0.1,
    ".*R_hip_joint": -0.1,
}
"""The default pose of the A1 in libraries for learning [rad]."""
LEGGED = {"preset": "legged_gym", "default_joint_pos": DEFAULT, "stiffness": 20.0, "damping": 0.5}


def linear(
    path: Path,
    W: Any,
    b: Any = None,
    *,
    batch: int | str = "n",
    metadata: Mapping[str, str] | None = None,
    kind: int = TensorProto.FLOAT,
    names: tuple[str, str] = ("obs", "actions"),
) -> Path:
    """A network ``y = W x + b`` in a file."""
    W = np.asarray(W)
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    b = np.zeros(len(W)) if b is None else np.asarray(b)
    weights = [
        numpy_helper.from_array(np.asarray(value, dtype=dtype), name)
        for name, value in (("W", W), ("b", b))
    ]
    node = helper.make_node("Gemm", [names[0], "W", "b"], [names[1]], transB=1)
    ends = [
        helper.make_tensor_value_info(name, kind, [batch, size])
        for name, size in zip(names, W.shape[::-1], strict=True)
    ]
    return _saved(path, [node], ends[:1], ends[1:], weights, metadata or {})


def integrating(path: Path, inputs: int, actions: int) -> Path:
    """A recurrent network whose action is the sum of the first observations until now."""
    W = np.eye(actions, inputs, dtype=np.float32)
    nodes = [
        helper.make_node("MatMul", ["obs", "W"], ["seen"]),
        helper.make_node("Unsqueeze", ["seen", "zero"], ["layer"]),
        helper.make_node("Add", ["layer", "h_in"], ["h_out"]),
        helper.make_node("Squeeze", ["h_out", "zero"], ["actions"]),
    ]
    info = helper.make_tensor_value_info
    given = [
        info("obs", TensorProto.FLOAT, [1, inputs]),
        info("h_in", TensorProto.FLOAT, [1, 1, actions]),
    ]
    found = [
        info("actions", TensorProto.FLOAT, [1, actions]),
        info("h_out", TensorProto.FLOAT, [1, 1, actions]),
    ]
    constants = [
        numpy_helper.from_array(W.T.copy(), "W"),
        numpy_helper.from_array(np.zeros(1, dtype=np.int64), "zero"),
    ]
    return _saved(path, nodes, given, found, constants, {})


def _saved(
    path: Path,
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    constants: Sequence[Any],
    metadata: Mapping[str, str],
) -> Path:
    graph = helper.make_graph(nodes, "policy", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for key, value in metadata.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.save(model, path)
    return path
