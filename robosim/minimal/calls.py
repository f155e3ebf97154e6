"""The kernels in joint coordinates that Python calls, compiled for a kind of robot and scheme.

The two schemes are that on the group and Galerkin's, each with constraints or without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from robosim.kernels.compiler.addresses import load
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import entry
from robosim.kernels.minimal import run as running
from robosim.kernels.minimal import step as stepping

Call = Callable[..., Any]


class Calls(NamedTuple):
    """Compiled entries; the first argument of each is the address of a `Minimal`."""

    run: Call  # (address of the run, done (1,), end): steps from done on, to end or a failed step
    start: Call  # (): momenta at a state that has been set; 0, or 1 + a segment, or -1
    settle: Call  # (): values at the knot of a state with momenta; 0, or a status
    energy: Call  # ()
    momentum: Call  # (out (6,))
    bodies: Call  # (x, R, v, omega)
    residual: Call  # (): at work.x
    direction: Call  # (): by Newton's method or RIQN, after `residual`; 0, or 1 + a segment
    guess: Call  # (): work.x
    solve: Call  # (gains, infos (1,)): a step from q and v, with its factors; a status


_CALLS: dict[tuple[int, int], Calls] = {}


def calls_of(kind: int, run_kind: int) -> Calls:
    """The entries for a kind of `Minimal` and of `RunBuffers`."""
    if (kind, run_kind) not in _CALLS:
        _CALLS[kind, run_kind] = _make(kind, run_kind)
    return _CALLS[kind, run_kind]


def _make(kind: int, run_kind: int) -> Calls:
    @entry
    @named(kind, run_kind)
    def run_minimal(address, run, done, end):  # type: ignore[no-untyped-def]
        running.run_steps(load(address, kind), load(run, run_kind), done, end)

    @entry
    @named(kind)
    def start_minimal(address):  # type: ignore[no-untyped-def]
        return running.start(load(address, kind))

    @entry
    @named(kind)
    def settle_minimal(address):  # type: ignore[no-untyped-def]
        return stepping.begin_knot(load(address, kind))

    @entry
    @named(kind)
    def minimal_energy(address):  # type: ignore[no-untyped-def]
        return running.energy(load(address, kind))

    @entry
    @named(kind)
    def minimal_momentum(address, out):  # type: ignore[no-untyped-def]
        running.momentum(load(address, kind), out)

    @entry
    @named(kind)
    def minimal_bodies(address, x, R, v, omega):  # type: ignore[no-untyped-def]
        running.read_bodies(load(address, kind), x, R, v, omega)

    @entry
    @named(kind)
    def minimal_residual(address):  # type: ignore[no-untyped-def]
        on = load(address, kind)
        stepping.find_equations(on.work.multipliers, on)

    @entry
    @named(kind)
    def minimal_direction(address):  # type: ignore[no-untyped-def]
        on = load(address, kind)
        return stepping.find_change(on.work.multipliers, on)

    @entry
    @named(kind)
    def minimal_guess(address):  # type: ignore[no-untyped-def]
        on = load(address, kind)
        stepping.guess_step(on.work.multipliers, on)

    @entry
    @named(kind)
    def minimal_solve(address, gains, infos):  # type: ignore[no-untyped-def]
        return running.factored_step(load(address, kind), gains, infos[0])

    return Calls(
        run_minimal,
        start_minimal,
        settle_minimal,
        minimal_energy,
        minimal_momentum,
        minimal_bodies,
        minimal_residual,
        minimal_direction,
        minimal_guess,
        minimal_solve,
    )
