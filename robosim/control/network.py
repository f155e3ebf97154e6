"""A network in an ONNX file, run by onnxruntime on the CPU.

A recurrent network has its states as further inputs and outputs, such as h_in and h_out, which
begin at zero.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.errors import LoadError, MissingExtraError
from robosim.validation import Array
from robosim.version import install

ACTIONS = ("actions", "action", "continuous_actions", "mu", "mean")
"""Names of the output that has the actions, if there are several outputs."""
_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}


class Network:
    """The network of a policy, or of a learned actuator.

    Parameters
    ----------
    file : path
        An ONNX file.

    Attributes
    ----------
    file : pathlib.Path
    inputs, outputs : int
        Number of entries of an observation and of an action; 0 if the file leaves it open.
    metadata : dict of str to str
        What the file says about itself.
    states : tuple of str
        Names of the inputs for the states of a recurrent network.

    Raises
    ------
    MissingExtraError
        If onnxruntime is not installed.
    LoadError
        For a file that is missing, is no ONNX file, or has inputs of other kinds.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file).expanduser()
        session = self._session = _open(self.file)
        self.metadata = dict(session.get_modelmeta().custom_metadata_map)
        inputs, outputs = session.get_inputs(), session.get_outputs()
        states = [one for one in inputs if one.name.endswith("_in")]
        seen = [one for one in inputs if one not in states]
        if len(seen) != 1 or seen[0].type not in _FLOATS or len(seen[0].shape) != 2:
            told = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
            raise self.error(
                "must have one input of observations, a matrix of floats, and else only states "
                f"whose names end in _in; it has {told}"
            )
        there = [one.name for one in outputs]
        after = [one.name.removesuffix("_in") + "_out" for one in states]
        lost = [name for name in after if name not in there]
        if lost:
            raise self.error(f"has inputs for states, but no output {', '.join(lost)}", there)
        found = [one for one in outputs if one.name not in after]
        named = [one for name in ACTIONS for one in found if one.name == name]
        if not named and len(found) != 1:
            raise self.error(
                f"has {len(found)} outputs, none of which has one of the names "
                f"{', '.join(ACTIONS)}",
                there,
            )
        action = (named or found)[0]
        self._input, self._kind = seen[0].name, _FLOATS[seen[0].type]
        self._wanted = [action.name, *after]
        self.inputs, self.outputs = _size(seen[0].shape[1]), _size(action.shape[-1])
        self.states = tuple(one.name for one in states)
        self._shapes = [[_size(k) or 1 for k in one.shape] for one in states]
        self._batch = [_batch_axis(one.shape) for one in states]
        # A file whose batch has a fixed size is asked for so many rows at a time.
        fixed = [seen[0].shape[0], *(s.shape[b] for s, b in zip(states, self._batch, strict=True))]
        self._rows = next((rows for rows in fixed if isinstance(rows, int)), None)
        if any(one.type not in _FLOATS for one in states):
            raise self.error("has states that are no floats")

    def __reduce__(self) -> tuple[type[Network], tuple[Path]]:
        """A pickle has the name of the file, which is read again."""
        return type(self), (self.file,)

    def error(self, reason: str, alternatives: Sequence[str] = ()) -> LoadError:
        """The error to raise for this file."""
        return LoadError(reason, file=self.file, alternatives=alternatives)

    def start(self, n: int) -> list[NDArray[Any]]:
        """The states of n robots at first, each of shape (n, ...); none without recurrence."""
        return [
            np.zeros((n, *(k for axis, k in enumerate(shape) if axis != batch)), self._kind)
            for shape, batch in zip(self._shapes, self._batch, strict=True)
        ]

    def run(
        self, observations: NDArray[Any], states: Sequence[NDArray[Any]]
    ) -> tuple[Array, list[NDArray[Any]]]:
        """Actions (n, na) for observations (n, no), and the states after them."""
        n = len(observations)
        size = n if self._rows is None or self._rows == n else 1
        parts = []
        for begin in range(0, n, size):
            rows = slice(begin, begin + size)
            feed = {self._input: np.ascontiguousarray(observations[rows], dtype=self._kind)}
            for name, state, batch in zip(self.states, states, self._batch, strict=True):
                feed[name] = np.ascontiguousarray(np.moveaxis(state[rows], 0, batch))
            try:
                parts.append(self._session.run(self._wanted, feed))
            except Exception as error:  # onnxruntime raises several kinds
                raise self.error(f"cannot be evaluated: {error}") from None
        actions = np.concatenate([np.reshape(part[0], (size, -1)) for part in parts])
        after = [
            np.concatenate([np.moveaxis(part[1 + k], batch, 0) for part in parts])
            for k, batch in enumerate(self._batch)
        ]
        return np.asarray(actions, dtype=np.float64), after


def _open(file: Path) -> Any:
    """A session of onnxruntime for a file."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError(
            f"networks need onnxruntime; get it with: {install('onnx')}"
        ) from None
    if not file.is_file():
        raise LoadError("the network does not exist", file=file)
    options = onnxruntime.SessionOptions()
    # One thread: small networks take longer on several, and results do not depend on their number.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises several kinds
        hint = ""
        if file.suffix.lower() in (".pt", ".pth", ".zip", ".jit"):
            hint = " (a network of torch has to be exported to ONNX first: see docs/policies.md)"
        raise LoadError(f"is no ONNX file that can be read{hint}: {error}", file=file) from None


def _size(size: Any) -> int:
    """A size of a tensor; 0 for one that is left open."""
    return size if isinstance(size, int) else 0


def _batch_axis(shape: Sequence[Any]) -> int:
    """The axis of a state that counts robots: (layers, n, width), or (n, width)."""
    return 1 if len(shape) == 3 else 0
