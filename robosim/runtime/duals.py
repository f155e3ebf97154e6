"""Steps that are taken with derivatives beside every number (`robosim.kernels.compiler.duals`)."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from robosim.compiled.arrays import in_lines
from robosim.compiled.memory import Guesses
from robosim.compiled.model import Options
from robosim.compiled.records.step import INFO
from robosim.kernels.compiler import PLAIN
from robosim.kernels.compiler.addresses import TYPES, load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.runtime.handles import Handle, Parts, scheme_of, solver
from robosim.runtime.lanes import in_lanes, laned_type, vector_of
from robosim.validation import Array

if not PLAIN:
    from robosim.kernels.compiler.duals import duals
    from robosim.kernels.step.linearize import linearized_steps


class DualParts(NamedTuple):
    """What a step with derivatives works on; all floats of the arrays have derivatives."""

    model: Any
    state: Any
    memory: Any
    loads: Any
    work: Any
    options: Options
    guesses: Guesses  # to begin with
    nq: int
    nv: int
    begins: Array  # q, v and torques of all coordinates that the step begins with
    along: Array  # (n, as many) directions
    ends: Array  # (nq + nv,) q and v where it ends
    slopes: Array  # (n, nq + nv) along the directions
    gains: NDArray[np.void]  # GAINS of a PD that acts, without derivatives
    held: NDArray[np.int64]  # coordinates that are held or driven at the start
    goal: Any
    rate: Any
    closes: bool  # whether loops, couplings or motions have to be closed at the start
    info: Any  # (1,) INFO


class DualStep:
    """A step from a start at q and v, along some directions of these and of torques.

    Parameters
    ----------
    parts : Parts
        Of the simulation.
    sizes : nq and nv of the tree
    directions : int
    gains : GAINS of a PD that acts
    closes : bool
    """

    def __init__(
        self,
        parts: Parts,
        sizes: tuple[int, int],
        directions: int,
        gains: NDArray[np.void],
        closes: bool,
    ) -> None:
        (nq, nv), rates = sizes, len(parts.model.coordinates)
        self.parts = DualParts(
            widened(parts.model),
            widened(parts.state),
            widened(parts.memory),
            widened(parts.loads),
            widened(parts.work),
            parts.options,
            widened(parts.memory.guesses),
            nq,
            nv,
            np.zeros(nq + nv + len(parts.loads.tau)),
            np.zeros((directions, nq + nv + len(parts.loads.tau))),
            np.zeros(nq + nv),
            np.zeros((directions, nq + nv)),
            gains.copy(),
            np.zeros(rates, dtype=np.int64),
            widened(np.zeros(rates)),
            widened(np.zeros(rates)),
            closes,
            widened(np.zeros(1, dtype=INFO)),
        )
        handle = Handle(self.parts)
        kind, dual = kind_of_duals(handle)
        if kind not in _RUNNERS:
            info = dual.types[DualParts._fields.index("info")].dtype
            others = types.int64, types.float64
            _RUNNERS[kind] = solver(kind, info).given_to(_make_runner(kind), others)
        self._handle, self._run = handle, _RUNNERS[kind]

    def take(self, arc: float) -> int:
        """Take the step along all directions; returns its status."""
        return int(self._run(self._handle.address, arc))


def kind_of_duals(handle: Handle) -> tuple[int, types.NamedTuple]:
    """The kind and the type by which kernels see values whose floats have derivatives."""
    dual = laned_type(handle.values, duals)
    digest = hashlib.sha256(f"{duals} {handle.kind}".encode()).digest()
    kind = int.from_bytes(digest[:7], "little")
    return kind, TYPES.setdefault(kind, dual)


_RUNNERS: dict[int, Any] = {}


def _make_runner(kind: int) -> Any:
    scheme = scheme_of(kind)

    @entry
    @named(kind)
    def run_linearized(solver, address, arc):  # type: ignore[no-untyped-def]
        return linearized_steps(scheme, load(address, kind), (solver, address), arc)

    return run_linearized


def widened(value: Any) -> Any:
    """Nested named tuples whose floats have derivatives, all of them zero."""
    if isinstance(value, tuple):
        return type(value)(*map(widened, value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names:
        wide = in_lines(np.zeros(value.shape, in_lanes(value.dtype, duals)[0]))
    elif value.dtype == np.float64:
        wide = in_lines(np.zeros(value.shape, vector_of(duals)))
    else:
        return in_lines(value)
    assign_numbers(value, wide)
    return wide


def assign_numbers(source: Any, wide: Any, slopes: Any = None, k: int = 0) -> None:
    """Numbers of nested named tuples into wide ones, without derivatives.

    With `slopes`, tuples like the source, the derivatives in direction k instead.
    """
    if isinstance(source, tuple):
        for n, (part, target) in enumerate(zip(source, wide, strict=True)):
            assign_numbers(part, target, None if slopes is None else slopes[n], k)
    elif isinstance(source, np.ndarray) and source.dtype.names:
        for name in source.dtype.names:
            if source.dtype[name].base == np.float64:
                _assign(source[name], wide[name], None if slopes is None else slopes[name], k)
            elif slopes is None:
                wide[name] = source[name]
    elif isinstance(source, np.ndarray):
        if source.dtype == np.float64:
            _assign(source, wide["value"], slopes, k)
        elif slopes is None:
            wide[...] = source


def _assign(source: Array, wide: Array, slopes: Array | None, k: int) -> None:
    if slopes is None:
        wide[...] = 0.0
        wide[..., 0] = source
    else:
        wide[..., 1 + k] = slopes
