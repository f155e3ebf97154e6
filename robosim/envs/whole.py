"""Actions of the environments of a compiled task: the call of compiled code, and what is around it.

If an action has to stop within, for sensors, for motors with stages or for actions that come late,
Python takes the time steps, and compiled code does what follows these.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from robosim.batch.bound import Bound, Plan
from robosim.description.mechanism import Mechanism
from robosim.envs.acting import (
    CHECK,
    FAILED,
    GO,
    JUDGED,
    LEFT,
    LOOKED,
    OVER,
    RAISED,
    TELL,
    TURNED,
    Act,
    Moving,
    Telling,
    compiled_act,
)
from robosim.envs.actions import Actions
from robosim.envs.chance import Chance
from robosim.envs.compiled import Arrays, CompiledTask, Functions, loops_of
from robosim.envs.errors import TaskError
from robosim.envs.task import Task
from robosim.kernels.compiler.blocks import Block
from robosim.validation import Array

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class Acted(Protocol):
    """What actions need of `robosim.envs.episodes.Episodes`."""

    task: Task
    robot: Mechanism
    n: int
    size: int
    actions: Actions
    chance: Chance
    bound: Bound
    count: Rows
    most_steps: float
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    def push(self) -> None: ...
    def sense(self) -> None: ...
    def advance(self, actions: Array, tau: Array) -> Mask: ...
    def refuse_reward(self, values: Array, live: Mask) -> NoReturn: ...
    def refuse_observation(self, which: Rows) -> None: ...


@lru_cache(maxsize=64)
def act_of(of: Functions, of_moving: int, of_telling: int) -> Act:
    """The compiled call for blocks of these kinds, one for each set of functions."""
    return compiled_act(loops_of(of), of_moving, of_telling)


class Whole:
    """Actions of n environments.

    Parameters
    ----------
    episodes : Episodes
        Of a `CompiledTask` whose compiled functions observe, judge and end.
    arrays : Arrays
        What the functions get.
    simple : bool
        Whether nothing stops within an action.

    Attributes
    ----------
    terms : (n, terms)
        Terms of the rewards of the last action. Arrays of results stay the same.
    values : (1 + terms, n)
        The rewards, and their terms.
    marks : (4, n) of bool
        Whose episode is terminated, truncated, whose steps failed, whose episode is over.
    any_over : bool
        Whether an episode is over.
    seen : (n, no)
        Observations; zero of environments that did not act.
    tau : (n, nu)
        Torques over the first time step.
    """

    def __init__(self, episodes: Acted, arrays: Arrays, simple: bool) -> None:
        self._of, self._arrays, self._simple = episodes, arrays, simple
        n, task = episodes.n, episodes.task
        assert isinstance(task, CompiledTask)
        self._functions = task.functions()
        count = len(self._functions.terms)
        self.terms, self.values = np.zeros((n, count)), np.zeros((1 + count, n))
        self.marks, self.any_over = np.zeros((4, n), dtype=bool), False
        self.seen = np.zeros((n, episodes.size), dtype=np.float32)
        self.tau = np.zeros((n, episodes.robot.nu))
        self._live, self._todo = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self._counter = np.zeros(1, dtype=np.int64)
        self._noisy = bool(np.any(np.asarray(task.noise)))
        self._noise = np.zeros((n if self._noisy else 0, episodes.size))
        # Whether something is done between the check of actions and the steps.
        pushes = task.domain is not None and task.domain.push != 0
        self._apart = self._noisy or pushes or episodes.bound.threads > 1
        self._plan: Plan | None = None
        self._blocks: tuple[Block, ...] = ()
        self._addresses = 0, 0
        self._call: Act
        self._error: Exception | None = None  # the first one of the functions in this action

    def take(self, live: Mask, rows: Rows) -> None:
        """Let live environments do the actions that are in ``episodes.actions.given``.

        ``rows`` (k,) are their numbers. Results are then in the arrays of this object.

        Raises
        ------
        ActionError
            For an action that is not finite or not within -1 and 1.
        TaskError
            If a reward or an observation is not finite, or a function raises an error. All
            environments have acted all the same.
        """
        of, bound = self._of, self._of.bound
        self._live[:] = live
        plan = bound.prepare() if self._simple else None
        if not self._blocks or plan is not self._plan:
            self._make_blocks(plan)
        if plan is None:
            told = self._by_steps(rows)
        elif self._apart:
            self._checked(self._call(*self._addresses, CHECK))
            of.push()
            self._draw(rows)
            plan = self._again(plan)
            told = self._in_threads(plan)
        else:
            told = self._checked(self._called(CHECK | GO))
        if plan is not None and told & RAISED and bound.done.min() < bound.steps:
            told |= LEFT
        if plan is not None and (told & (LEFT | TURNED) or bound.has_lent):
            bound.end(plan, not told & LEFT, bool(told & TURNED))
        elif plan is not None:
            bound.all_done = True
        if plan is not None and told & (LEFT | RAISED):
            told |= self._left()
        self.any_over = bool(told & OVER)
        if self._error is not None:
            error, self._error = self._error, None
            raise TaskError(
                f"a compiled function raises {type(error).__name__}: {error}"
            ) from error
        if told & JUDGED:
            of.refuse_reward(self.terms, live)
        elif told & LOOKED:
            of.refuse_observation(rows)

    def _again(self, plan: Plan) -> Plan:
        """The plan after pushes, which may have changed states."""
        again = self._of.bound.prepare()
        assert again is not None
        if again is not plan:
            self._make_blocks(again)
        return again

    def _called(self, stages: int) -> int:
        """What a call finds; if functions of the task raise errors, it goes on behind their row."""
        told = 0
        while True:
            try:
                return told | self._call(*self._addresses, stages)
            except Exception as error:
                if not self._call.signatures:  # type: ignore[attr-defined]
                    raise  # numba could not compile it
                self._error = self._error or error
                told, stages = RAISED, stages & ~CHECK

    def _in_threads(self, plan: Plan) -> int:
        """Let threads take the units."""
        count = min(self._of.bound.threads, len(plan.units))
        if count < 2:
            return self._called(GO)
        told = [0] * count

        def work(k: int) -> None:
            told[k] = self._called(GO)

        self._of.bound.do([partial(work, k) for k in range(count)])
        return int(np.bitwise_or.reduce(told))

    def _by_steps(self, rows: Rows) -> int:
        """Take the steps by calls from Python, and then do the rest."""
        of = self._of
        self._checked(self._call(*self._addresses, CHECK))
        of.push()
        self.marks[FAILED] = of.advance(of.actions.given, self.tau)
        of.sense()
        self._draw(rows)
        self._todo[:] = True
        return self._called(TELL)

    def _left(self) -> int:
        """What follows the steps of environments that compiled code has not finished."""
        bound, todo = self._of.bound, self._todo
        self.marks[FAILED, todo] = bound.failed[todo]
        self.tau[todo] = np.nan_to_num(bound.tau[:, bound.actuated][todo])
        return self._called(TELL)

    def _checked(self, told: int) -> int:
        if told < 0:
            self._of.actions.refuse(-1 - told)
        return told

    def _draw(self, rows: Rows) -> None:
        """Noise of the observations that follow."""
        if self._noisy:
            self._noise[rows] = self._of.chance.noise(rows, self._of.size)

    def _make_blocks(self, plan: Plan | None) -> None:
        """Blocks for steps by this plan, or by Python."""
        of = self._of
        strength = of.chance.motors
        running, given = of.bound.running(plan), of.actions.given
        moving = Moving(
            running,
            given,
            *of.actions.scales,
            np.zeros((0, of.robot.nu)) if strength is None else strength,
            int(of.actions.pd is None),
            self._live,
            self._counter,
            self.marks,
            self.tau,
        )
        telling = Telling(
            self._arrays,
            running.q,
            running.v,
            given,
            self.tau,
            self._live,
            self._todo,
            of.count,
            of.most_steps,
            self._noise,
            of.low,
            of.high,
            self.terms,
            self.values,
            self.marks,
            self.seen,
        )
        self._plan, self._blocks = plan, (Block(moving), Block(telling))
        self._addresses = self._blocks[0].address, self._blocks[1].address
        kinds = (block.kind for block in self._blocks)
        self._call = act_of(self._functions, *kinds)
