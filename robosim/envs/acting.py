"""An action of all environments of a compiled task, in one compiled call.

The call checks actions, turns these into targets or torques, takes the time steps, and finds
rewards, ends and observations. Environments are done in units, those of a group in lanes or a
single one, so that an environment's data are in the processor's cache for all of it. Threads take
one unit after the other until none is left; an environment does not depend on which thread took it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.batch.units import Running
from robosim.envs.actions import cut_to_space
from robosim.envs.compiled import Arrays, Loops, end_row, inner, move_row
from robosim.kernels.compiler.blocks import call_group, call_states, take_number, unpack
from robosim.kernels.compiler.content import row
from robosim.validation import Array

CHECK, GO, TELL = 1, 2, 4  # stages of a call: actions, all that they lead to, what follows steps
# What a call found, as bits: steps that are left, a body that turned far, rewards and observations
# that are not finite, episodes that are over. A refused action k is -1 - k.
LEFT, TURNED, JUDGED, LOOKED, OVER = 1, 2, 4, 8, 16
MANY = 2**62  # more than there are environments
# Rows of `Telling.marks`.
ENDED, TRUNCATED, FAILED, ENDING = 0, 1, 2, 3

Act = Callable[[int, int, int], int]


class Moving(NamedTuple):
    """The arrays that time steps need, which are made once; the same types for all tasks.

    Attributes
    ----------
    running : Running
        The bound run.
    action : (n, na)
    center, scale : (na,)
        Targets or torques of actions of 0, and how far an action of 1 is from these.
    driven : (na,)
        Which motors actions drive.
    strength : (n or 0, nu)
        Factors of torques.
    torques : int
        Whether actions are torques, not targets.
    live : (n,) of bool
        Who acts.
    counter : (1,)
        The next unit.
    marks : (4, n) of bool
        Results; see `Telling`.
    tau : (n, nu)
        Results: torques over the first time step.
    """

    running: Running
    action: Array
    center: Array
    scale: Array
    driven: NDArray[np.int64]
    strength: Array
    torques: int
    live: NDArray[np.bool_]
    counter: NDArray[np.int64]
    marks: NDArray[np.bool_]
    tau: Array


class Telling(NamedTuple):
    """The arrays of what follows time steps, which are made once.

    Attributes
    ----------
    now : Arrays
        What functions of the task get.
    q, v : (n, nq), (n, nv)
    action, tau : (n, na), (n, nu)
    live : (n,) of bool
        Who acts.
    todo : (n,) of bool
        Whose steps are left to the caller, and are to be told of afterwards.
    acted : (n,)
        Actions since episodes began.
    most : float
        Number of actions after which episodes are truncated.
    noise : (n or 0, no)
    low, high : (no,)
    terms : (n, terms)
        Terms of the rewards.
    values : (1 + terms, n)
        Results: the rewards, and their terms.
    marks : (4, n) of bool
        Results: whose episode is terminated, truncated, whose steps failed, who is over.
    seen : (n, no)
        Results: observations; zero of environments that do not act.
    """

    now: Arrays
    q: Array
    v: Array
    action: Array
    tau: Array
    live: NDArray[np.bool_]
    todo: NDArray[np.bool_]
    acted: NDArray[np.int64]
    most: float
    noise: Array
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    terms: Array
    values: Array
    marks: NDArray[np.bool_]
    seen: NDArray[np.float32]


class Moves(NamedTuple):
    """Compiled functions of a block of `Moving`.

    Attributes
    ----------
    check : callable(address) -> int
        Clip actions, and begin with the first unit; -1, or which action is refused.
    next_unit : callable(address) -> int
        A unit that no other thread takes, or -1.
    rows : callable(address, unit) -> int, int
        The rows of a unit, from the first to before the second number.
    take_steps : callable(address, unit) -> int
        Take the time steps of a unit: bits that tell of steps that are left, and of turns.
    """

    check: Callable[[int], int]
    next_unit: Callable[[int], int]
    rows: Callable[[int, int], tuple[int, int]]
    take_steps: Callable[[int, int], int]


@lru_cache(maxsize=64)
def compiled_moves(kind: int) -> Moves:
    """The functions for blocks of `Moving` of a kind; all tasks share them."""

    @inner
    def check(address):  # type: ignore[no-untyped-def]
        on = unpack(address, kind)
        on.counter[0] = 0
        return cut_to_space(on.action, on.live)

    @inner
    def next_unit(address):  # type: ignore[no-untyped-def]
        on = unpack(address, kind)
        u = take_number(on.counter)
        return u if u < on.running.units.shape[0] else -1

    @inner
    def rows(address, u):  # type: ignore[no-untyped-def]
        unit = unpack(address, kind).running.units[u]
        return unit.first, unit.first + unit.count

    @inner
    def take_steps(address, u):  # type: ignore[no-untyped-def]
        on, told = unpack(address, kind), 0
        run = on.running
        unit = run.units[u]
        for i in range(unit.first, unit.first + unit.count):
            for k in range(on.driven.shape[0]):
                m = on.driven[k]
                value = on.center[k] + on.scale[k] * on.action[i, k]
                if on.torques == 0:
                    run.targets[i, m] = value
                else:
                    if on.strength.shape[0] > 0:
                        value *= on.strength[i, m]
                    run.torques[i, run.actuated[m]] = value
            run.begun[i] = run.counted[i] + run.ahead[i]
            run.starts[i, 0] = run.begin[i] + run.dt * run.begun[i]
            run.done[i] = 0
        code, solver, end = unit.code, unit.solver, run.steps
        if unit.group == 0:
            call_states(code, solver, unit.parts, unit.runs, unit.done, unit.count, end)
        else:
            call_group(
                code, solver, unit.alone, unit.group,
                unit.parts, unit.runs, unit.done, unit.count, end,
            )  # fmt: skip
        for i in range(unit.first, unit.first + unit.count):
            run.ahead[i] += run.done[i]
            run.reached[i] = run.done[i]
            run.failed[i] = on.marks[FAILED, i] = run.done[i] < end
            if run.failed[i]:
                told |= LEFT
            for k in range(run.turns.shape[1]):
                if run.turns[i, k] < run.far:
                    told |= TURNED
            for m in range(on.tau.shape[1]):
                on.tau[i, m] = run.tau[i, run.actuated[m]]
        return told

    return Moves(check, next_unit, rows, take_steps)


def compiled_act(loops: Loops, of_moving: int, of_telling: int) -> Act:
    """The call ``act(moving, telling, stages)`` for blocks of these kinds; its result is bits.

    The first two are the blocks' addresses. Stages are CHECK; GO, by one thread or several; both;
    or TELL.
    """
    look_at, judge_at = loops.look_at, loops.judge_at
    check, next_unit, rows, take_steps = compiled_moves(of_moving)

    @inner
    def tell(address, first, end, whole):  # type: ignore[no-untyped-def]
        on, told = unpack(address, of_telling), 0
        marks, terms, out = on.marks, on.terms, np.empty(on.low.shape[0])
        for i in range(first, min(end, on.todo.shape[0])):
            if whole == 0 and not on.todo[i]:
                continue
            on.todo[i] = False
            move_row(on.now, on.q, on.v, on.action, on.tau, on.live, on.acted, i)
            if judge_at(on.now, on.live, terms, on.values[0], marks[ENDED], i):
                told |= JUDGED
            for k in range(terms.shape[1]):
                on.values[1 + k, i] = terms[i, k]
            end_row(on.live, marks[FAILED], on.acted, on.most, marks[ENDED], marks[TRUNCATED], i)
            marks[ENDING, i] = marks[ENDED, i] or marks[TRUNCATED, i]
            if marks[ENDING, i]:
                told |= OVER
            if not on.live[i]:
                on.seen[i] = 0.0
            elif look_at(on.now, i, on.noise, i, on.low, on.high, out, on.seen[i]):
                told |= LOOKED
        return told

    @inner
    def leave(address, first, end):  # type: ignore[no-untyped-def]
        on = unpack(address, of_telling)
        for i in range(first, end):
            on.todo[i] = True

    @row
    def act(moving, telling, stages):  # type: ignore[no-untyped-def]
        told, first, end = 0, 0, MANY
        if stages & CHECK:
            bad = check(moving)
            if bad >= 0:
                return -1 - bad
        while stages & (GO | TELL):
            if stages & GO:
                u = next_unit(moving)
                if u < 0:
                    break
                found, (first, end) = take_steps(moving, u), rows(moving, u)
                told |= found
                if found & LEFT:
                    leave(telling, first, end)
                    continue
            told |= tell(telling, first, end, stages & GO)
            if stages & TELL:
                break
        return told

    return act  # type: ignore[no-any-return]
