"""What is done around the steps of a bound run, for all its states in one call each."""

from __future__ import annotations

from typing import Any

from robosim.kernels.compiler.jit import entry


@entry
def begin_steps(counted: Any, ahead: Any, begin: Any, dt: float, begun: Any, starts: Any) -> None:
    """Count the steps before those that are taken now, and find at which times these begin.

    Parameters
    ----------
    counted, ahead : (n,)
        Steps from the starts, and those of bound runs that no simulation has counted yet.
    begin : (n,) [s]
        Times of the starts.
    begun : (n,)
        Result: the steps.
    starts : (n, 1) [s]
        Result: the times.
    """
    for i in range(begun.shape[0]):
        begun[i] = counted[i] + ahead[i]
        starts[i, 0] = begin[i] + dt * begun[i]


@entry
def end_steps(done: Any, steps: int, infos: Any, far: float, failed: Any) -> Any:
    """Who has not taken all steps; whether all have, and whether a body has turned far in one.

    Parameters
    ----------
    done : (n,)
        Steps that were taken.
    infos : (n, steps) INFO
    far : float
        Cosine of half of the least angle that is far.
    failed : (n,) of bool
        Result.
    """
    all_done, turned = True, False
    for i in range(done.shape[0]):
        failed[i] = done[i] < steps
        all_done = all_done and not failed[i]
        for k in range(infos.shape[1]):
            if infos[i, k].turn < far:
                turned = True
    return all_done, turned
