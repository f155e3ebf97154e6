"""Steps in joint coordinates with derivatives of every number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.minimal import Elimination, Minimal, Multipliers, Options, Rotations
from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.minimal.linearize import linearized_steps
from robosim.runtime.duals import kind_of_duals, widened
from robosim.runtime.handles import Handle
from robosim.validation import Array


class MinimalDuals(NamedTuple):
    """Memory of a step with derivatives; for the common fields see `Minimal` and `DualParts`.

    In the eliminations only the right-hand sides have derivatives. The factors are those of the
    step in plain numbers.
    """

    model: Any
    state: Any
    loads: Any
    work: Any
    options: Options
    nq: int
    nv: int
    begins: Array
    along: Array
    ends: Array
    slopes: Array
    gains: NDArray[np.void]
    pd: NDArray[np.void]
    solution: Array  # (s + 1, n) coordinates at the control points of the plain step
    velocities: Array  # (nv,) velocities at its end
    answers: Array | None  # (m, n) and
    factors: Array | None  # (m, m) of the constraints at its beginning, in `Multipliers`
    impulse: Array | None  # (m,) impulses of the constraints at its beginning,
    kept: Array | None  # (m,) and at its end


class MinimalDualStep:
    """A step from a start at q and v, with derivatives along directions of q, v and torques.

    Parameters
    ----------
    parts : Minimal
        The parts in which `Calls.solve` has taken the same step.
    directions : int
    gains : GAINS of an active PD
    """

    def __init__(self, parts: Minimal, directions: int, gains: NDArray[np.void]) -> None:
        state, loads, work = parts.state, parts.loads, parts.work
        nq, nv = len(state.q), len(state.v)
        width = nq + nv + len(loads.tau)
        # Without the eliminations, whose factors are large.
        held, wide_held, known = work.multipliers, None, (None,) * 4
        if held is not None:
            wide_held = widened(held)._replace(
                answers=held.answers,
                factors=held.factors,
                columns=held.columns,
                matrix=held.matrix,
            )
            begun = np.zeros_like(held.answers), np.zeros_like(held.factors)
            known = *begun, held.impulse, held.kept  # type: ignore[assignment]
        bare = work._replace(mass=None, step=None, rotations=None, multipliers=None)  # type: ignore[arg-type]
        wide = widened(bare)
        turning = work.rotations
        if turning is not None:
            turning = Rotations(_sides(turning.links), widened(turning.points))
        self.parts = MinimalDuals(
            widened(parts.model),
            widened(state),
            widened(loads),
            wide._replace(
                mass=_sides(work.mass),
                step=_sides(work.step),
                rotations=turning,
                multipliers=wide_held,
            ),
            parts.options,
            nq,
            nv,
            np.zeros(width),
            np.zeros((directions, width + 3 * len(gains))),
            np.zeros(nq + nv),
            np.zeros((directions, nq + nv)),
            gains.copy(),
            widened(gains),
            work.x,
            state.v,
            *known,
        )
        self._handle = Handle(self.parts)
        kind, _ = kind_of_duals(self._handle)
        if kind not in _STEP_FUNCTIONS:
            _STEP_FUNCTIONS[kind] = _make_step_function(kind)
        self._run = _STEP_FUNCTIONS[kind]

    def begin(self, held: Multipliers | None) -> None:
        """Take over the constraints at the beginning of the step."""
        if held is not None and self.parts.answers is not None:
            self.parts.answers[:] = held.answers
            self.parts.factors[:] = held.factors  # type: ignore[index]

    def take(self) -> int:
        """Take the step along all directions; returns its status."""
        return int(self._run(self._handle.address))


def _sides(of: Elimination) -> Elimination:
    """An elimination with the same factors, and with right-hand sides that have derivatives."""
    return of._replace(r=widened(of.r), l=widened(of.l), z=widened(of.z), dx=widened(of.dx))


_STEP_FUNCTIONS: dict[int, Any] = {}


def _make_step_function(kind: int) -> Any:
    @entry
    @named(kind)
    def run_linearized_minimal(address):  # type: ignore[no-untyped-def]
        return linearized_steps(load(address, kind))

    return run_linearized_minimal
