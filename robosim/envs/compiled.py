"""Tasks whose functions are compiled: those of all environments run in one call.

`Task` is a few numpy calls for each term of a reward, which cost the same for one environment as
for a hundred. The functions of a `CompiledTask` are those of one environment, row i of the arrays,
and numba compiles the loop over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.envs.errors import TaskError
from robosim.envs.task import ARRAYS, Moment, Start, Task
from robosim.kernels.compiler.content import row
from robosim.validation import Array

Rows = NDArray[np.int64]
NOTHING = -1  # row of what is not finite, where all is


class Arrays(NamedTuple):
    """What compiled functions get: the fields of a `Moment` with rows, and numbers of the task.

    Attributes
    ----------
    dt : float [s]
        Time from one action to the next.
    home : (nq,)
        The robot's home pose.
    numbers : (k,)
        What `CompiledTask.numbers` gives.
    q, v : (n, nq), (n, nv)
    q_before, v_before : (n, nq), (n, nv)
    action, action_before : (n, na)
    tau : (n, nu) [N m or N]
    time : (n,) [s]
    drawn : record array (n,)
        With a field for each name of `Task.draws`, a number or (k,): ``now.drawn[i].command[0]``.
    sensed : record array (n,)
        With a field (k,) for each sensor of `Task.sensors`: ``now.sensed[i].scan[0]``.
    """

    dt: float
    home: Array
    numbers: Array
    q: Array
    v: Array
    q_before: Array
    v_before: Array
    action: Array
    action_before: Array
    tau: Array
    time: Array
    drawn: Any
    sensed: Any


class Starts(NamedTuple):
    """What a compiled `reset` gets: ``home``, ``numbers`` and ``drawn``, as in `Arrays`."""

    home: Array
    numbers: Array
    drawn: Any


def inner(function: Callable[..., Any]) -> Any:
    """Jit a function that only compiled ones call, which have the cache.

    Code that unpacks arguments from Python takes longer to compile than most of these functions.
    """
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


@inner
def move_row(now, q, v, action, tau, live, count, i):  # type: ignore[no-untyped-def]
    """Write what an action of environment i has led to into the arrays of a moment.

    ``count`` (n,) are the actions since the episodes began.
    """
    for k in range(now.q.shape[1]):
        now.q_before[i, k] = now.q[i, k]
        now.q[i, k] = q[i, k]
    for k in range(now.v.shape[1]):
        now.v_before[i, k] = now.v[i, k]
        now.v[i, k] = v[i, k]
    for k in range(now.action.shape[1]):
        now.action_before[i, k] = now.action[i, k]
        now.action[i, k] = action[i, k]
    for k in range(now.tau.shape[1]):
        now.tau[i, k] = tau[i, k]
    count[i] += live[i]
    now.time[i] = now.dt * count[i]


@inner
def end_row(live, failed, count, most, ended, truncated, i):  # type: ignore[no-untyped-def]
    """Whether the episode of environment i is terminated or truncated.

    That follows from who has `ended`, who failed, and the counts. Nothing has happened to
    environments that are not live.
    """
    failed[i] = failed[i] and live[i]
    ended[i] = ended[i] and live[i] and not failed[i]
    truncated[i] = live[i] and (failed[i] or count[i] >= most)


@row
def move_on(now, q, v, action, tau, live, count):  # type: ignore[no-untyped-def]
    """`move_row` of all environments."""
    for i in range(count.shape[0]):
        move_row(now, q, v, action, tau, live, count, i)


@row
def tell_ends(live, failed, count, most, ended, truncated):  # type: ignore[no-untyped-def]
    """`end_row` of all environments."""
    for i in range(live.shape[0]):
        end_row(live, failed, count, most, ended, truncated, i)


class Functions(NamedTuple):
    """The functions of a `CompiledTask`, jitted by numba or such that it can jit them.

    Each is of row i of arrays, and writes into the last arguments.

    Attributes
    ----------
    observe : callable(now, i, out)
        The observation, into out (size,).
    size : int
        Number of entries of an observation.
    reward : callable(now, i, out)
        The terms of the reward, into out (terms,).
    terms : tuple of str
        Names of these terms.
    done : callable(now, i) -> bool, or None
        Whether the episode is terminated; None: never.
    reset : callable(start, i, q, v), or None
        The start, into q (nq,) and v (nv,), which are the home pose and zero before; None: these.
    pull : callable(now, i, by_seen, by_reward, q, v, action, action_before), or None
        The way back through `observe` and `reward`, for learners that follow gradients. Adds to
        the last four arguments the derivatives of a sum by the arrays of these names. The one by q
        is (nv,), in the tangent space. The sum has derivatives by_seen (size,) by the observation
        and the number by_reward by the reward. Torques are taken as constant.
    """

    observe: Callable[..., None]
    size: int
    reward: Callable[..., None]
    terms: tuple[str, ...]
    done: Callable[..., bool] | None = None
    reset: Callable[..., None] | None = None
    pull: Callable[..., None] | None = None


class Loops(NamedTuple):
    """The functions of a task for all rows, compiled.

    Attributes
    ----------
    look : callable(now, rows, noise, low, high, seen) -> int
        Observations of rows, clipped; `NOTHING`, or the place in `rows` of one that is not finite.
    judge : callable(now, live, terms, reward, ended) -> int
        Terms of the rewards (n, terms), their sums (n,), which are zero where `live` is false, and
        who is done (n,). `NOTHING`, or a live row whose reward is not finite.
    start : callable(start, q, v)
    look_at : callable(now, i, noise, k, low, high, out, seen) -> bool
        The observation of row i into out (size,); and with row k of noise, clipped, into seen
        (size,). Whether it is not finite.
    judge_at : callable(now, live, terms, total, ended, i) -> bool
        The same as `judge` of row i; whether its reward is not finite.
    """

    look: Callable[..., int]
    judge: Callable[..., int]
    start: Callable[..., None]
    look_at: Callable[..., bool]
    judge_at: Callable[..., bool]


class CompiledTask(Task):
    """A task whose functions numba compiles, a few microseconds for each environment and step.

    Subclasses give `functions`. A method of `Task` that a subclass overrides all the same, such
    as ``reward``, is taken in place of the compiled function.
    """

    def functions(self) -> Functions:
        """The functions of the task; the same objects each time, as each is compiled once."""
        raise NotImplementedError(f"{type(self).__name__} has no functions")

    def numbers(self, robot: Mechanism) -> ArrayLike:
        """Numbers that the functions need, (k,), such as settings of the task."""
        return ()

    def overrides(self, name: str) -> bool:
        """Whether a subclass has a method of this name in place of the compiled function."""
        return getattr(type(self), name) is not getattr(CompiledTask, name)

    def arrays(self, now: Moment) -> Arrays:
        """The arrays of a moment, for the functions; not copied."""
        numbers, drawn = self._numbers(now.robot), records(now.drawn, len(now.time))
        columns = {name: getattr(now, name) for name in ARRAYS}
        sensed = records(now.sensed, len(now.time))
        return Arrays(now.dt, now.home.copy(), numbers, drawn=drawn, sensed=sensed, **columns)

    def loops(self) -> Loops:
        """The functions for all rows, compiled where they are first called."""
        return loops_of(self.functions())

    def _numbers(self, robot: Mechanism) -> Array:
        return np.array(self.numbers(robot), dtype=float).reshape(-1)

    def reset(self, start: Start) -> tuple[Array, Array]:
        q, v = start.home, start.rest
        given = Starts(
            np.asarray(start.robot.home, float),
            self._numbers(start.robot),
            records(start.drawn, start.n),
        )
        try:
            self.loops().start(given, q, v)
        except Exception as error:
            raise TaskError(f"reset raises {type(error).__name__}: {error}") from error
        return q, v

    def observe(self, now: Moment) -> Array:
        n, size = len(now.time), self.functions().size
        found, all_rows = np.empty((n, size)), np.arange(n)
        wide = np.full(size, np.inf)
        self.loops().look(self.arrays(now), all_rows, np.empty((0, size)), -wide, wide, found)
        return found

    def reward(self, now: Moment) -> Mapping[str, Array]:
        return dict(zip(self.functions().terms, self._judged(now)[0].T, strict=True))

    def done(self, now: Moment) -> NDArray[np.bool_]:
        return self._judged(now)[1]

    def _judged(self, now: Moment) -> tuple[Array, NDArray[np.bool_]]:
        n = len(now.time)
        terms, ended = np.empty((n, len(self.functions().terms))), np.empty(n, dtype=np.bool_)
        live = np.ones(n, dtype=np.bool_)
        self.loops().judge(self.arrays(now), live, terms, np.empty(n), ended)
        return terms, ended

    def try_out(self, now: Moment) -> None:
        """Call the functions once without compiling them, and then compile them.

        An index that is out of range would write into other memory once it is compiled.

        Raises
        ------
        TaskError
            For a function that raises, leaves an entry as it was, or returns something else, or
            that numba cannot compile.
        """
        of, arrays = self.functions(), self.arrays(now.rows(np.arange(1)))
        for name, size in (("observe", of.size), ("reward", len(of.terms))):
            out = np.full(size, np.nan)
            given = _tried(name, getattr(of, name), arrays, 0, out)
            if given is not None:
                raise TaskError(f"{name} returns {given!r}: it must write into its last argument")
            if np.isnan(out).any():
                left = np.flatnonzero(np.isnan(out)).tolist()
                raise TaskError(f"{name} leaves entries {left} of {size} unset, or makes them nan")
        if of.done is not None:
            ended = _tried("done", of.done, arrays, 0)
            if not isinstance(ended, bool | np.bool_):
                raise TaskError(f"done must return a bool, not {ended!r}")
        if of.reset is not None:
            start, q = Starts(arrays.home, arrays.numbers, arrays.drawn), arrays.home.copy()
            _tried("reset", of.reset, start, 0, q, np.zeros(now.robot.nv))
        self._compile(now)

    def _compile(self, now: Moment) -> None:
        """Compile the functions, or take them from the cache."""
        start = Start(now.robot, 1, {name: array[:1] for name, array in now.drawn.items()})
        first = now.rows(np.arange(1))
        for names, call in (
            ("observe", lambda: CompiledTask.observe(self, first)),
            ("reward or done", lambda: CompiledTask.done(self, first)),
            ("reset", lambda: CompiledTask.reset(self, start)),
        ):
            try:
                call()
            except Exception as error:  # numba raises several kinds
                raise TaskError(
                    f"numba cannot compile {names} (what they call takes `row` as well): {error}"
                ) from error


def _tried(name: str, function: Any, *arguments: Any) -> Any:
    """The result of a function without compiling it."""
    try:
        return getattr(function, "py_func", function)(*arguments)
    except Exception as error:
        raise TaskError(f"{name} raises {type(error).__name__}: {error}") from error


def empty_records(shapes: Mapping[str, tuple[int, ...]], n: int) -> Any:
    """A record array (n,) of zeros, with numbers of these shapes by their names."""
    fields = [(name, np.float64, shape) for name, shape in shapes.items()]
    return np.zeros(n, dtype=fields or [("nothing", np.float64, ())]).view(np.recarray)


def records(drawn: Mapping[str, Array], n: int) -> Any:
    """Drawn numbers (n,) or (n, k) as a record array (n,), copied."""
    found = empty_records({name: array.shape[1:] for name, array in drawn.items()}, n)
    for name, array in drawn.items():
        found[name] = array
    return found


@lru_cache(maxsize=64)
def loops_of(of: Functions) -> Loops:
    """Compiled loops over the rows, one for each set of functions."""
    observe: Any
    reward: Any
    done: Any
    reset: Any
    observe, reward, done, reset = (  # as what numba makes of them
        row(one) if one is not None and not hasattr(one, "py_func") else one
        for one in (of.observe, of.reward, of.done, of.reset)
    )

    @inner
    def look_at(now, i, noise, k, low, high, out, seen):  # type: ignore[no-untyped-def]
        bad = False
        observe(now, i, out)
        for j in range(out.shape[0]):
            value = out[j]
            if not np.isfinite(value):
                bad = True
            if noise.shape[0] > 0:
                value += noise[k, j]
            seen[j] = min(max(value, low[j]), high[j])
        return bad

    @row
    def look(now, rows, noise, low, high, seen):  # type: ignore[no-untyped-def]
        out, bad = np.empty(seen.shape[1]), NOTHING
        for k in range(rows.shape[0]):
            if look_at(now, rows[k], noise, k, low, high, out, seen[k]) and bad == NOTHING:
                bad = k
        return bad

    if done is None:

        @row
        def ends(now, i):  # type: ignore[no-untyped-def]
            return False
    else:
        ends = done

    @inner
    def judge_at(now, live, terms, total, ended, i):  # type: ignore[no-untyped-def]
        reward(now, i, terms[i])
        ended[i] = ends(now, i)
        total[i] = 0.0
        if not live[i]:
            return False
        for k in range(terms.shape[1]):
            total[i] += terms[i, k]
        return not np.isfinite(total[i])

    @row
    def judge(now, live, terms, total, ended):  # type: ignore[no-untyped-def]
        bad = NOTHING
        for i in range(ended.shape[0]):
            if judge_at(now, live, terms, total, ended, i):
                bad = i
        return bad

    @row
    def start(given, q, v):  # type: ignore[no-untyped-def]
        for i in range(q.shape[0]):
            reset(given, i, q[i], v[i])

    def stay(given: Starts, q: Array, v: Array) -> None:
        """Starts are at home and at rest."""

    return Loops(look, judge, stay if reset is None else start, look_at, judge_at)


@lru_cache(maxsize=64)
def pull_of(of: Functions) -> Any:
    """The compiled loop of `Functions.pull` over all rows; None if there is no such function."""
    if of.pull is None:
        return None
    pull: Any = of.pull if hasattr(of.pull, "py_func") else row(of.pull)

    @row
    def pulled(now, by_seen, by_reward, q, v, action, before):  # type: ignore[no-untyped-def]
        for i in range(by_reward.shape[0]):
            pull(now, i, by_seen[i], by_reward[i], q[i], v[i], action[i], before[i])

    return pulled
