"""An action of all environments of a compiled task, in one compiled call.

The call checks actions, turns these into targets or torques, takes the time steps, and finds
rewards, ends and observations. Environments are done in units, those of a group in lanes or a
single one, so that an environment's data are in the processor's cache for all of it. Threads take
one unit after the other until none is left; an environment does not depend on which thread took it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.batch.units import Running
from robosim.envs.actions import cut_to_space
from robosim.envs.compiled import Arrays, Loops, end_row, move_row
from robosim.kernels.compiler.blocks import call_group, call_states, take_number, unpack
from robosim.kernels.compiler.content import row
from robosim.validation import Array

CHECK, GO, TELL = 1, 2, 4  # stages of a call: actions, all that they lead to, what follows steps
# What a call found, as bits: steps that are left, a body that turned far, rewards and observations
# that are not finite, episodes that are over. A refused action k is -1 - k.
LEFT, TURNED, JUDGED, LOOKED, OVER = 1, 2, 4, 8, 16
# Rows of `Acting.marks`.
ENDED, TRUNCATED, FAILED, ENDING = 0, 1, 2, 3

Act = Callable[[int, int], int]


class Acting(NamedTuple):
    """The arrays of an action of n environments, which are made once.

    Attributes
    ----------
    now : Arrays
        What functions of the task get.
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
    todo : (n,) of bool
        Whose steps are left to the caller, and are to be told of afterwards.
    counter : (1,)
        The next unit.
    count : (n,)
        Actions since episodes began.
    most : float
        Number of actions after which episodes are truncated.
    noise : (n or 0, no)
    low, high : (no,)
    tau : (n, nu)
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
    running: Running
    action: Array
    center: Array
    scale: Array
    driven: NDArray[np.int64]
    strength: Array
    torques: int
    live: NDArray[np.bool_]
    todo: NDArray[np.bool_]
    counter: NDArray[np.int64]
    count: NDArray[np.int64]
    most: float
    noise: Array
    low: Array
    high: Array
    tau: Array
    terms: Array
    values: Array
    marks: NDArray[np.bool_]
    seen: NDArray[np.float32]


@row
def drive(on, i):  # type: ignore[no-untyped-def]
    """Write the targets or torques of environment i."""
    run = on.running
    for k in range(on.driven.shape[0]):
        m = on.driven[k]
        value = on.center[k] + on.scale[k] * on.action[i, k]
        if on.torques == 0:
            run.targets[i, m] = value
        else:
            if on.strength.shape[0] > 0:
                value *= on.strength[i, m]
            run.torques[i, run.actuated[m]] = value


@row
def take_steps(on, unit):  # type: ignore[no-untyped-def]
    """Take the time steps of a unit: bits that tell of steps that are left, and of turns."""
    run, told = on.running, 0
    for i in range(unit.first, unit.first + unit.count):
        drive(on, i)
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


def compiled_act(loops: Loops, kind: int) -> Act:
    """The call ``act(address, stages)`` for a block of `Acting` of this kind; its result is bits.

    Stages are done in order: CHECK, then GO, by one thread or several, or TELL.
    """
    look_at, judge_at = loops.look_at, loops.judge_at

    @row
    def tell(on, i, out):  # type: ignore[no-untyped-def]
        run, told = on.running, 0
        move_row(on.now, run.q, run.v, on.action, on.tau, on.live, on.count, i)
        marks, terms = on.marks, on.terms
        if judge_at(on.now, on.live, terms, on.values[0], marks[ENDED], i):
            told |= JUDGED
        for k in range(terms.shape[1]):
            on.values[1 + k, i] = terms[i, k]
        end_row(on.live, marks[FAILED], on.count, on.most, marks[ENDED], marks[TRUNCATED], i)
        marks[ENDING, i] = marks[ENDED, i] or marks[TRUNCATED, i]
        if marks[ENDING, i]:
            told |= OVER
        if not on.live[i]:
            on.seen[i] = 0.0
        elif look_at(on.now, i, on.noise, i, on.low, on.high, out, on.seen[i]):
            told |= LOOKED
        return told

    @row
    def act(address, stages):  # type: ignore[no-untyped-def]
        on, told = unpack(address, kind), 0
        out = np.empty(on.low.shape[0])
        if stages & CHECK:
            on.counter[0] = 0
            bad = cut_to_space(on.action, on.live)
            if bad >= 0:
                return -1 - bad
        if stages & GO:
            units = on.running.units
            while True:
                u = take_number(on.counter)
                if u >= units.shape[0]:
                    break
                unit = units[u]
                found = take_steps(on, unit)
                for i in range(unit.first, unit.first + unit.count):
                    on.todo[i] = found & LEFT
                    if not found & LEFT:
                        told |= tell(on, i, out)
                told |= found
        if stages & TELL:
            for i in range(on.todo.shape[0]):
                if on.todo[i]:
                    told |= tell(on, i, out)
        return told

    return act  # type: ignore[no-any-return]
