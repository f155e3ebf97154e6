"""Environments through whose actions gradients pass back, for learners such as `SHAC`.

Derivatives of a sum by what an action has led to become those by the action, and by the state
before it: through reward, observation and time steps. Those of time steps are exact, with hard
contacts as well, but for one side where contacts change; see docs/gradients.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robosim.batch.tape import TapedRollout
from robosim.envs.compiled import Arrays, CompiledTask, pull_of
from robosim.envs.episodes import Episodes, Mask, Outcome, Rows
from robosim.envs.making import Robot, robot_of, spaces, task_of
from robosim.envs.task import ARRAYS, Task
from robosim.errors import OptionError
from robosim.validation import Array, count


class Slopes(NamedTuple):
    """Derivatives of a sum by the state between two actions.

    Attributes
    ----------
    q, v : (n, nv)
        By coordinates, in the tangent space of `Dynamics.difference`, and by velocities.
    action : (n, na)
        By the action before, which is observed.
    """

    q: Array
    v: Array
    action: Array


class Step(NamedTuple):
    """An action of all environments.

    Attributes
    ----------
    seen : (n, no)
        Observations; where a new episode has begun, its first one.
    final : (n, no)
        Observations before that.
    out : Outcome
    free : (n, no)
        Zero where `final` is at its bounds, and else one.
    now : Arrays
        What functions of the task got, before new episodes began.
    run : TapedRollout
    strength : (n, nu) or None
        Factors of the torques that actions gave; None: 1.
    """

    seen: Array
    final: Array
    out: Outcome
    free: Array
    now: Arrays
    run: TapedRollout
    strength: Array | None


class DifferentiableEnv:
    """n environments of a `CompiledTask` that has `Functions.pull`, in a batch.

    Episodes that are over begin anew in the same step.

    Parameters
    ----------
    robot, task, **settings
        As for `RobotEnv`. The task must have neither delays, sensors, motors with stages nor a
        domain with other masses or friction.
    num_envs : int
    threads : int or None
        As for `BatchSimulation`.
    contact_speed : float or None [m/s]
        Smoothing of contacts in the derivatives, not in the motion; see `TapedRollout.vjp`.
    tape : True or "carried"
        As for `BatchSimulation.rollout`.

    Attributes
    ----------
    num_envs : int
    single_observation_space, single_action_space : Box

    Raises
    ------
    OptionError, TaskError, ModelError
        For a robot, a task or a setting that cannot be used.
    """

    def __init__(
        self,
        robot: Robot = None,
        task: Task | type[Task] | str = "A1Trot",
        num_envs: int = 1,
        *,
        threads: int | None = None,
        contact_speed: float | None = None,
        tape: bool | str = "carried",
        **settings: Any,
    ) -> None:
        made, self.num_envs = task_of(task, settings), count("num_envs", num_envs)
        name = type(made).__name__
        if not isinstance(made, CompiledTask) or pull_of(made.functions()) is None:
            raise OptionError(f"{name} has no derivatives: its functions need `pull`")
        for method in ("observe", "reward", "done"):
            if made.overrides(method):
                raise OptionError(f"{name} overrides {method}, of which there are no derivatives")
        if made.domain is not None and made.domain.changes_robots:
            raise OptionError(f"{name}: a domain with masses or friction has no gradients yet")
        model = robot_of(robot, made)
        self.task, self.contact_speed, self._tape = made, contact_speed, tape
        self.episodes = Episodes(
            made, model, self.num_envs, threads=threads, most_steps=made.most_steps
        )
        if self.episodes.actions.come_late or self.episodes.actions.motors:
            raise OptionError(f"{name} has delays or stages of motors, which have no derivatives")
        if len(made.sensors(model)):
            raise OptionError(f"{name} observes sensors, which have no derivatives")
        self.single_observation_space, self.single_action_space = spaces(self.episodes)
        self._pull = pull_of(made.functions())

    def reset(self, *, seed: int, spread: bool = False) -> Array:
        """Begin all episodes, and return observations (n, no); see `RobotVectorEnv.reset`."""
        of, n = self.episodes, self.num_envs
        of.seed(of.everyone, [seed + i for i in range(n)])
        of.begin(of.everyone)
        if spread:
            of.spread(of.everyone)
        return self._look()[0]

    def _look(self) -> tuple[Array, Array]:
        """Observations (n, no) in double precision, with noise, and where they are not clipped."""
        of = self.episodes
        found = self.task.observe(of.now)
        if np.any(np.asarray(self.task.noise)):
            found = found + of.chance.noise(of.everyone, of.size)
        seen = np.clip(found, of.low, of.high)
        return seen, np.asarray(seen == found, dtype=float)

    def advance(self, actions: Array) -> Step:
        """Take actions (n, na), each within -1 and 1; raises as `RobotVectorEnv.step`."""
        of = self.episodes
        out, run = of.step_taped(actions, self._tape)
        final, free = self._look()
        now = self.task.arrays(of.now)
        # What the next action writes, and a new episode draws anew.
        now = now._replace(**{name: getattr(now, name).copy() for name in ARRAYS})
        strength = of.chance.motors if of.actions.pd is None else None
        strength = None if strength is None else strength.copy()
        seen = final
        if out.any_over:
            self._begin(np.flatnonzero(out.over))
            seen = np.where(out.over[:, None], self._look()[0], final)
        return Step(seen, final, out, free, now, run, strength)

    def _begin(self, rows: Rows) -> None:
        self.episodes.begin(rows)

    def back(
        self, step: Step, by_final: Array, by_reward: Array, after: Slopes
    ) -> tuple[Array, Slopes]:
        """Pass derivatives of a sum back through an action.

        Steps that failed pass back what reward and observation say of the action alone, and
        nothing through the motion.

        Parameters
        ----------
        step : Step
        by_final : (n, no)
            By the observation after the action, before a new episode began.
        by_reward : (n,)
        after : Slopes
            By the state after the action, beside what these two tell.

        Returns
        -------
        by_actions : (n, na)
        before : Slopes
            By the state before the action.

        Raises
        ------
        ConvergenceError
            If a step cannot be solved with its derivatives.
        """
        q, v, action = (one.copy() for one in after)
        before = np.zeros_like(action)
        self._pull(step.now, by_final * step.free, by_reward, q, v, action, before)
        failed: Mask = step.out.failed
        ends = np.zeros((2, self.num_envs, self.task.steps + 1, q.shape[1]))
        ends[0, ~failed, -1], ends[1, ~failed, -1] = q[~failed], v[~failed]
        found = step.run.vjp(*ends, contact_speed=self.contact_speed)
        actions = self.episodes.actions
        by_values = found.torques if actions.pd is None else found.targets
        if step.strength is not None:
            by_values = by_values * step.strength[:, None]
        return action + actions.slopes(by_values), Slopes(found.q, found.v, before)

    def nothing(self) -> Slopes:
        """Derivatives of nothing: zeros."""
        n, nv = self.num_envs, self.episodes.robot.nv
        return Slopes(*(np.zeros((n, k)) for k in (nv, nv, self.single_action_space.shape[0])))
