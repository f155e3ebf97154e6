"""n environments of one task in a batch: starts of episodes, and steps by actions.

This module does not depend on Gymnasium's interfaces. `RobotEnv` uses `Episodes` with n = 1, and
`RobotVectorEnv` with any n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from robosim.batch import BatchSimulation
from robosim.batch.tape import TapedRollout
from robosim.description.mechanism import Mechanism
from robosim.envs.actions import Actions
from robosim.envs.chance import Chance
from robosim.envs.compiled import NOTHING, Arrays, CompiledTask, move_on, tell_ends
from robosim.envs.errors import TaskError
from robosim.envs.motors import Driven
from robosim.envs.sensing import Senses, with_sensors
from robosim.envs.task import ARRAYS, Moment, Start, Task
from robosim.envs.whole import Whole
from robosim.errors import StateError
from robosim.validation import Array

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class Outcome(NamedTuple):
    """The result of one action of each environment.

    Attributes
    ----------
    reward : (n,)
        Zero for environments that did not act.
    terms : mapping of a name to (n,)
        Terms of the reward.
    terminated, truncated : (n,) of bool
    failed : (n,) of bool
        Whether a time step of the simulation could not be solved.
    over : (n,) of bool
        Whether the episode is terminated or truncated.
    any_over : bool
    """

    reward: Array
    terms: dict[str, Array]
    terminated: Mask
    truncated: Mask
    failed: Mask
    over: Mask
    any_over: bool


class Episodes:
    """n environments, side by side.

    Parameters
    ----------
    task : Task
    robot : Mechanism
    n : int
    lanes, threads
        As for `BatchSimulation`.
    most_steps : int or None
        Number of actions after which an episode is truncated; None: never.
    limbs : bool
        As for `BatchSimulation.bind`.

    Raises
    ------
    TaskError, OptionError, ModelError
        For a task whose functions give wrong shapes, for wrong options, or for another robot than
        the task is for.
    """

    def __init__(
        self,
        task: Task,
        robot: Mechanism,
        n: int,
        *,
        lanes: bool = True,
        threads: int | None = None,
        most_steps: int | None = None,
        limbs: bool = False,
    ) -> None:
        task.check(robot)
        robot, sensors = with_sensors(task, robot)
        self.task, self.robot, self.n = task, robot, n
        self._senses = Senses(sensors, n)
        self.most_steps = np.inf if most_steps is None else float(most_steps)
        self.actions = Actions(task, robot, n)
        self.chance = Chance(task, robot, n, self._senses.noisy)
        options = {**task.options, "lanes": lanes, "threads": threads}
        self.batch = BatchSimulation(robot, n, task.timestep, **options)
        # If actions are delayed, another one may begin to act in each time step.
        stages, pd = self.actions.motors, self.actions.pd
        self._calls = task.steps if self.actions.come_late or stages else 1
        self.bound = self.batch.bind(
            task.steps // self._calls, controller=None if stages else pd, limbs=limbs
        )
        self._motors = Driven(robot, stages, pd, self.batch) if stages else None
        self._gains = self.bound.kp.copy(), self.bound.kd.copy()
        # The domain's robots that have been built, and which of them each environment has.
        self._robots: dict[int, Mechanism] = {}
        self._has = np.full(n, -1)
        self._pushed = np.zeros(n, dtype=bool)
        self.count = np.zeros(n, dtype=np.int64)
        nq, nv, na = robot.nq, robot.nv, len(self.actions.names)
        self._starts = np.zeros((n, nq)), np.zeros((n, nv))
        sizes = {"time": (n,), "tau": (n, robot.nu), "action": (n, na), "action_before": (n, na)}
        sizes |= {name: (n, nq if name[0] == "q" else nv) for name in ARRAYS if name[0] in "qv"}
        arrays = {name: np.zeros(sizes[name]) for name in ARRAYS}
        drawn, sensed = self.chance.drawn, self._senses.sensed
        self.now = Moment(robot, task.dt, **arrays, drawn=drawn, sensed=sensed)
        self.now.q[:], self.now.v[:] = self.batch.q, self.batch.v
        self.sense()
        self.everyone, self._one_live = np.arange(n), np.ones(1, dtype=bool)
        self._tau = np.zeros((n, robot.nu))  # over the first time step of an action
        # Whether observations, and rewards with ends, are those of compiled functions.
        self._looks = self._judges = False
        none = np.zeros(0)
        columns = {name: getattr(self.now, name) for name in ARRAYS}
        self._plain = Arrays(task.dt, none, none, drawn=none, sensed=none, **columns)
        if isinstance(task, CompiledTask):
            task.try_out(self.now)
            self._loops, self._terms = task.loops(), task.functions().terms
            # numba looks at a record array for ten times as long as at one of plain records.
            self._arrays = task.arrays(self.now)._replace(
                drawn=_plain(self.chance.records), sensed=_plain(self._senses.records)
            )
            self._looks = not task.overrides("observe")
            self._judges = not (task.overrides("reward") or task.overrides("done"))
        first = np.asarray(task.observe(self.now.rows(self.everyone[:1])))
        if first.ndim != 2 or len(first) != 1:
            raise TaskError(f"observe must give (n, no), not {first.shape} for n = 1")
        self.size = first.shape[1]
        bounds = []
        for value in task.bounds(robot):
            try:
                bounds.append(np.array(np.broadcast_to(np.asarray(value, float), self.size)))
            except ValueError:
                raise TaskError(
                    f"bounds must be numbers or {self.size} of them, not {value!r}"
                ) from None
        self.low, self.high = (bound.astype(np.float32) for bound in bounds)
        self._cuts = bool(np.isfinite(bounds).any())
        try:
            np.broadcast_to(np.asarray(task.noise, dtype=float), self.size)
        except ValueError:
            raise TaskError(f"noise must be a number or {self.size} of them") from None
        self._noisy = bool(np.any(np.asarray(task.noise)))
        self._quiet = np.empty((0, self.size))
        # Present observations (n, no); later steps change them.
        self.seen: NDArray[np.float32] = np.zeros((n, self.size), dtype=np.float32)
        self.whole: Whole | None = None
        if self._looks and self._judges:
            simple = not (sensors or stages or self.actions.come_late)
            self.whole = Whole(self, self._arrays, simple)
            self.seen = self.whole.seen
            self._told = [f"reward_{name}" for name in self._terms]

    def seed(self, which: Rows, seeds: Sequence[int | None]) -> None:
        """Seed the generators of environments (k,); None leaves a generator as it is."""
        self.chance.seed(which, seeds)

    def begin(self, which: Rows) -> None:
        """Begin episodes in environments (k,).

        Raises
        ------
        TaskError
            If `Task.reset` gives wrong shapes, or a start that is not possible.
        """
        task = self.task
        self.chance.begin(which)
        self._change_robots(which)
        drawn = {name: array[which] for name, array in self.chance.drawn.items()}
        poses = task.reset(Start(self.robot, len(which), drawn))
        for name, value, width in zip(
            ("q", "v"), poses, (self.robot.nq, self.robot.nv), strict=True
        ):
            if np.shape(value) != (len(which), width):
                raise TaskError(
                    f"reset must give {name} of shape {(len(which), width)}, not {np.shape(value)}"
                )
        q, v = poses
        if task.gap is not None:
            self.batch.place(q, task.gap, index=which)
            q = self.batch.q[which]
        self._starts[0][which], self._starts[1][which] = q, v
        self._put(which)
        self.actions.begin(which, self.chance.delays[which])
        if (motors := self.chance.motors) is not None:
            self.bound.kp[which] = self._gains[0][which] * motors[which]
            self.bound.kd[which] = self._gains[1][which] * motors[which]
        self.count[which] = 0
        now = self.now
        for name in ARRAYS:
            getattr(now, name)[which] = 0.0
        now.q[which], now.v[which] = self.batch.q[which], self.batch.v[which]
        now.q_before[which], now.v_before[which] = now.q[which], now.v[which]
        self.sense()

    def sense(self) -> None:
        """Read the task's sensors."""
        if self.chance.sensing is not None:
            self.batch.number_states(self.chance.sensing)
        self._senses.read(self.batch)

    def spread(self, which: Rows) -> None:
        """Let the time of episodes that have begun in environments (k,) be random."""
        if np.isfinite(self.most_steps):
            random = self.chance.random
            self.count[which] = [random[i].integers(int(self.most_steps)) for i in which.tolist()]
            self.now.time[which] = self.now.dt * self.count[which]

    def park(self, which: Rows) -> None:
        """Put environments whose episodes are over back to their starts.

        They take part in the steps of the batch, and a fallen robot could take many iterations.
        """
        self._put(which)

    def _put(self, which: Rows) -> None:
        q, v = self._starts
        try:
            self.batch.set_state(q[which], v[which], index=which)
        except StateError as error:
            raise TaskError(f"reset gives a start that cannot be taken: {error}") from error
        self._pushed[which] = False  # a start takes forces away
        if self._motors is not None:
            self._motors.begin(which)

    def _change_robots(self, which: Rows) -> None:
        """Give environments the masses and friction that have been drawn for their episodes."""
        domain, drawn = self.task.domain, self.chance.robots
        new = which[self._has[which] != drawn[which]]
        if domain is None or not domain.changes_robots or not len(new):
            return
        for k in set(drawn[new].tolist()) - self._robots.keys():
            self._robots[k] = domain.robot_of(self.robot, k)
        self.batch.set_robots([self._robots[k] for k in drawn[new].tolist()], index=new)
        self._has[new] = drawn[new]

    def push(self) -> None:
        """Apply the domain's pushes that begin now, and remove those that end."""
        domain = self.task.domain
        if domain is None or domain.push == 0:
            return
        base = self.robot.bodies[0].name
        for i, push in self.chance.pushes.items():
            since = self.count[i] * self.task.dt - push.begin
            acts = 0 <= since < max(domain.push_seconds, self.task.dt)
            if acts != self._pushed[i]:
                self.batch[i].apply_wrench(base, force=push.force if acts else np.zeros(3))
                self._pushed[i] = acts

    def step(self, actions: Array, live: Mask, rows: Rows) -> Outcome:
        """Let live environments act; results of the others have no meaning.

        ``actions`` are (n, na) within -1 and 1, ``rows`` (k,) the numbers of the live ones,
        ``live`` (n,) their mask. What they observe is then in `seen`.

        Raises
        ------
        ActionError
            For a wrong shape, or an entry that is not finite or not within -1 and 1.
        TaskError
            If the task's functions give wrong shapes, or a value that is not finite, or if a
            compiled one raises an error.
        """
        self.actions.take(actions)
        if self.whole is None:
            return self._step_by_arrays(live, rows)
        whole = self.whole
        whole.take(live, rows)
        reward, *terms = whole.values.copy()
        named = dict(zip(self._terms, terms, strict=True))
        terminated, truncated, failed, over = whole.marks.copy()
        return Outcome(reward, named, terminated, truncated, failed, over, whole.any_over)

    def step_one(
        self, action: Any
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """`step` of the only environment: as `RobotEnv.step` returns it; raises as `step`.

        The arrays of a compiled task are not made anew, but for the observation.
        """
        self.actions.take_one(action)
        live, rows = self._one_live, self.everyone
        if (whole := self.whole) is not None:
            whole.take(live, rows)
            info: dict[str, Any] = dict(zip(self._told, whole.terms[0].tolist(), strict=True))
            (ended,), (truncated,), (info["failed"],), _ = whole.marks.tolist()
            return whole.seen[0].copy(), whole.values[0].item(), ended, truncated, info
        out = self._step_by_arrays(live, rows)
        info = {f"reward_{name}": float(term[0]) for name, term in out.terms.items()}
        info["failed"] = bool(out.failed[0])
        ends = bool(out.terminated[0]), bool(out.truncated[0])
        return self.seen[0].copy(), float(out.reward[0]), *ends, info

    def _step_by_arrays(self, live: Mask, rows: Rows) -> Outcome:
        """`step` with the actions that are taken, by functions of arrays."""
        checked = self.actions.checked(live)
        self.push()
        failed = self.advance(checked, self._tau)
        out = self._after(self.bound.q, self.bound.v, failed, live)
        self.seen = seen = self.observe(rows)
        if len(rows) < self.n:
            self.seen = np.zeros((self.n, self.size), dtype=np.float32)
            self.seen[rows] = seen
        return out

    def step_taped(self, actions: Array, tape: bool | str = True) -> tuple[Outcome, TapedRollout]:
        """`step` of all environments by a rollout with a tape; `seen` stays as it is.

        ``tape`` is as for `BatchSimulation.rollout`. The task must have neither delays nor motors
        with stages.
        """
        self.actions.take(actions)
        live = np.ones(self.n, dtype=bool)
        checked = self.actions.checked(live)
        self.push()
        values, pd = self.actions.values(checked)[:, 0], self.actions.pd
        if pd is None:
            strength = self.chance.motors
            given: dict[str, Any] = {"torques": values if strength is None else strength * values}
        else:
            given = {"targets": values, "kp": self.bound.kp, "kd": self.bound.kd}
        run = self.batch.rollout(self.task.steps, controller=pd, tape=tape, **given)
        assert isinstance(run, TapedRollout)
        self._tau[:] = np.nan_to_num(run.tau[:, 0])
        return self._after(self.batch.q.copy(), self.batch.v.copy(), run.failed, live), run

    def _after(self, q: Array, v: Array, failed: Mask, live: Mask) -> Outcome:
        """What the actions of live environments have led to, with q and v after them."""
        self.sense()
        move_on(self._plain, q, v, self.actions.given, self._tau, live, self.count)
        reward, terms, ended = self._judged(live)
        truncated = np.empty(self.n, dtype=bool)
        tell_ends(live, failed, self.count, self.most_steps, ended, truncated)
        over = ended | truncated
        return Outcome(reward, terms, ended, truncated, failed, over, bool(over.any()))

    def _judged(self, live: Mask) -> tuple[Array, dict[str, Array], Mask]:
        """Rewards (n,), their terms, and whose episode the task terminates, (n,)."""
        task, now, reward = self.task, self.now, np.zeros(self.n)
        if self._judges:
            names, ended = self._terms, np.empty(self.n, dtype=bool)
            values = np.empty((self.n, len(names)))
            bad = self._loops.judge(self._arrays, live, values, reward, ended)
            if bad != NOTHING:
                self.refuse_reward(values, live)
            return reward, dict(zip(names, values.T.copy(), strict=True)), ended
        terms = {name: self._numbers(f"reward '{name}'", value) for name, value in
                 task.reward(now).items()}  # fmt: skip
        for name, term in terms.items():
            self._finite(f"reward '{name}'", term, live)
            with np.errstate(over="ignore"):
                reward += np.where(live, term, 0.0)
        self._finite("the sum of a reward's terms", reward, live)
        ended = np.array(task.done(now)).astype(bool)
        if ended.shape != (self.n,):
            raise TaskError(f"done must give shape ({self.n},), not {ended.shape}")
        return reward, terms, ended

    def refuse_reward(self, values: Array, live: Mask) -> NoReturn:
        """Raise a TaskError for the terms of rewards (n, terms), whose sums are not all finite."""
        for name, term in zip(self._terms, values.T, strict=True):
            self._finite(f"reward '{name}'", term, live)
        raise TaskError("the sum of a reward's terms is not finite")

    def advance(self, actions: Array, tau: Array) -> Mask:
        """Take the steps of actions: who failed, (n,); torques over the first go to `tau`."""
        bound, values = self.bound, self.actions.values(actions)
        strength, torques = self.chance.motors, self.actions.pd is None
        driven = bound.torques if torques or self._motors is not None else bound.targets
        if torques and self._motors is None and strength is not None:
            values = values * strength[:, None]
        solved = True
        for k in range(self._calls):
            now = values[:, min(k, values.shape[1] - 1)]
            if self._motors is not None:
                now = self._motors.torques(now)
                now = now if strength is None else now * strength
            driven[:] = now
            bound.step()
            solved = solved and bound.all_done
            if k == 0:
                failed = bound.failed.copy()
                # In order of rows, as sums round by the order of what they add.
                tau[:] = bound.tau[:, bound.actuated]
            else:
                failed |= bound.failed
        if not solved:
            tau[:] = np.nan_to_num(tau)
        return failed

    def _numbers(self, what: str, value: object) -> Array:
        found = np.array(value, dtype=float)  # a copy, which users may change
        if found.shape != (self.n,):
            raise TaskError(f"{what} must have shape ({self.n},), not {found.shape}")
        return found

    def _finite(self, what: str, values: NDArray[Any], rows: Mask | Rows) -> None:
        """Raise a TaskError if chosen rows of values (n, ...) are not finite."""
        if not np.isfinite(values[rows]).all():
            bad = np.zeros(values.shape, dtype=bool)
            bad[rows] = ~np.isfinite(values[rows])
            i, *k = np.argwhere(bad)[0].tolist()
            entry = f"entry {k[0]} of " if k else ""
            raise TaskError(f"{entry}{what} is {values[(i, *k)]} in row {i}")

    def observe(self, which: Rows) -> NDArray[np.float32]:
        """Observations (k, no) of environments (k,), with noise, clipped to the bounds.

        Raises
        ------
        TaskError
            If `Task.observe` gives a wrong shape, or a value that is not finite.
        """
        if self._looks:
            return self._looked(which)
        now = self.now if len(which) == self.n else self.now.rows(which)
        found = np.asarray(self.task.observe(now), dtype=float)
        if found.shape != (len(which), self.size):
            raise TaskError(f"observe must give shape {(len(which), self.size)}, not {found.shape}")
        self._finite("what is observed", found, np.arange(len(which)))
        if self._noisy:
            found = found + self.chance.noise(which, self.size)
        seen = found.astype(np.float32)
        if self._cuts:
            np.clip(seen, self.low, self.high, out=seen)
        return seen

    def _looked(self, which: Rows) -> NDArray[np.float32]:
        """The same by a compiled task."""
        noise = self.chance.noise(which, self.size) if self._noisy else self._quiet
        seen = np.empty((len(which), self.size), dtype=np.float32)
        bad = self._loops.look(self._arrays, which, noise, self.low, self.high, seen)
        if bad != NOTHING:
            self.refuse_observation(which)
        return seen

    def refuse_observation(self, which: Rows) -> None:
        """Raise a TaskError for the observations of environments (k,), one of which is not finite.

        Bounds and noise hide it in what is returned.
        """
        found = self.task.observe(self.now.rows(which))
        self._finite("what is observed", found, np.arange(len(which)))


def _plain(records: Any) -> NDArray[np.void]:
    """A record array as one of plain records, with the same memory."""
    return np.asarray(records.view(np.dtype((np.void, records.dtype))))
