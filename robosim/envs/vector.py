"""Many environments in one batch, as Gymnasium has them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from robosim.envs.episodes import Episodes, Mask, Outcome, Rows
from robosim.envs.errors import ClosedError, ResetNeededError
from robosim.envs.making import Robot, robot_of, spaces, task_of
from robosim.envs.screen import MODES, Screen
from robosim.envs.task import Task
from robosim.errors import OptionError
from robosim.kernels.compiler.lanes import WIDTH
from robosim.runtime.lanes import suits_lanes
from robosim.validation import Array, count

Seen = NDArray[np.float32]


class Advance(NamedTuple):
    """What a step of all environments has led to.

    Attributes
    ----------
    seen : (n, no)
        Of episodes that have begun anew their beginning. Not to be changed.
    out : Outcome
    stepped : (n,)
        Whether what is told of the step belongs to the episode that is seen.
    final : (k, no)
        The last that was seen of the episodes that are over, where others have begun in this step.
    """

    seen: Seen
    out: Outcome
    stepped: Mask
    final: Seen


class RobotVectorEnv(gymnasium.vector.VectorEnv[Seen, Seen, NDArray[Any]]):
    """n robots with one task in a `BatchSimulation`, as a `gymnasium.vector.VectorEnv`.

    Environment i does what a `RobotEnv` that is reset with its seed does: with ``lanes=False``
    to the last bit, with lanes as far as the simulation's tolerance goes.

    Parameters
    ----------
    robot, task, render_mode, size, open_browser, **settings
        As for `RobotEnv`. The live view shows the first environment.
    num_envs : int
        A multiple of eight where lanes are used: eight robots then share vector registers.
    max_episode_steps : int or None
        Actions after which episodes are truncated; None: the task's `seconds`.
    autoreset_mode : AutoresetMode or str
        Whether episodes that are over begin anew in the next step, in the same one, or when they
        are reset by ``options={"reset_mask": ...}``.
    lanes : bool
    threads : int or None
        As for `BatchSimulation`.

    Raises
    ------
    OptionError, TaskError, ModelError
        For a robot, a task or a setting that cannot be used.
    """

    closed = True  # until it is made: Gymnasium closes those that could not be made as well

    def __init__(
        self,
        robot: Robot = None,
        task: Task | type[Task] | str = "CartPole",
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        lanes: bool = True,
        threads: int | None = None,
        render_mode: str | None = None,
        size: tuple[int, int] = (640, 480),
        open_browser: bool = True,
        **settings: Any,
    ) -> None:
        self.num_envs = count("num_envs", num_envs)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(repr(mode.value) for mode in AutoresetMode)
            raise OptionError(
                f"autoreset_mode must be one of {modes}, not {autoreset_mode!r}"
            ) from None
        self.task = task_of(task, settings)
        self.screen = Screen(render_mode, size, open_browser)
        self.render_mode = render_mode
        self.metadata = {
            "render_modes": list(MODES),
            "render_fps": max(1, round(1 / self.task.dt)),
            "autoreset_mode": self.autoreset_mode,
        }
        most = self.task.most_steps
        if max_episode_steps is not None:
            most = count("max_episode_steps", max_episode_steps)
        model = robot_of(robot, self.task)
        self.episodes = Episodes(
            self.task, model, self.num_envs, lanes=lanes, threads=threads, most_steps=most
        )
        if lanes:
            self._tell_of_lanes()
        self.single_observation_space, self.single_action_space = spaces(self.episodes)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.closed = False
        self._begun = np.zeros(self.num_envs, dtype=bool)
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._seen: Seen = np.zeros((self.num_envs, self.episodes.size), dtype=np.float32)
        self._elapsed = 0.0

    def _tell_of_lanes(self) -> None:
        """Say what it costs where environments do not fill the registers."""
        rest = self.num_envs % WIDTH
        if rest and self.num_envs > 1 and suits_lanes([self.episodes.batch[0].parts]):
            more = self.num_envs + WIDTH - rest
            warnings.warn(
                f"num_envs = {self.num_envs} is no multiple of {WIDTH}: {rest} environments take "
                f"their steps one by one, each at about three times the cost; {more} would cost "
                "hardly more",
                stacklevel=3,
            )

    @property  # type: ignore[misc]
    def np_random(self) -> Any:
        """The random numbers of each environment, a tuple of Generators."""
        return tuple(self.episodes.chance.random)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin episodes of all environments, or of those of a mask.

        Parameters
        ----------
        seed : int, n of int or None, or None
            Of an int, environment i has the seed ``seed + i``.
        options : mapping or None
            "reset_mask" (n,) of bool: those that begin; of the others, what is seen now.

        Raises
        ------
        OptionError
            For other seeds, or another mask.
        ClosedError
            After `close`.
        """
        self._check_open()
        n = self.num_envs
        seeds: Sequence[int | None]
        if seed is None:
            seeds = [None] * n
        elif isinstance(seed, int | np.integer):
            seeds = [int(seed) + i for i in range(n)]
        else:
            seeds = list(seed)
        if len(seeds) != n:
            raise OptionError(f"there are {len(seeds)} seeds for {n} environments")
        which = self._masked((options or {}).get("reset_mask"))
        self.episodes.seed(which, [seeds[i] for i in which])
        self.episodes.begin(which)
        self._begun[which], self._over[which] = True, False
        if not self._begun.all():
            late = int(np.argmin(self._begun))
            raise ResetNeededError(f"environment {late} has not been reset yet: leave the mask out")
        self._watch()
        self._seen = self._seen.copy()  # what `advance` has given stays as it is
        self._seen[which] = self.episodes.observe(which)
        return self._seen.copy(), {}

    def _masked(self, mask: Any) -> Rows:
        """The numbers of environments of a mask, of all without one."""
        if mask is None:
            return self.episodes.everyone
        if not (isinstance(mask, np.ndarray) and mask.dtype == bool):
            raise OptionError(f"reset_mask must be an array of bool, not {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise OptionError(
                f"reset_mask must have shape ({self.num_envs},) and be true of one at least, "
                f"not {mask.tolist()}"
            )
        return np.flatnonzero(mask)

    def step(self, actions: Any) -> tuple[Seen, Array, Mask, Mask, dict[str, Any]]:
        """Act; see `gymnasium.vector.VectorEnv.step`.

        ``info`` has the terms of the reward (``reward_...``), and ``failed``: whether a step of
        the simulation could not be solved, which truncates the episode of that environment alone.

        Raises
        ------
        ActionError
            For another shape, or what is not finite or beyond the space.
        ClosedError, ResetNeededError
            After `close`, before the first `reset`, or where an episode that is over is not reset
            by itself.
        """
        done = self.advance(actions)
        out = done.out
        info = _info(out, done.stepped)
        if len(done.final):
            over = out.terminated | out.truncated
            info["final_obs"] = np.full(self.num_envs, None, dtype=object)
            for i, row in zip(np.flatnonzero(over), done.final, strict=True):
                info["final_obs"][i] = row
            info["final_info"] = _info(out, over)
            info["_final_obs"], info["_final_info"] = over, over.copy()
        return done.seen.copy(), out.reward, out.terminated, out.truncated, info

    def advance(self, actions: Any) -> Advance:
        """Act, and begin anew what is over: `step` as arrays, without dictionaries."""
        self._check_open()
        episodes, mode = self.episodes, self.autoreset_mode
        if not self._begun.all():
            raise ResetNeededError("environments have to be reset before their first step")
        live = np.ones(self.num_envs, dtype=bool)
        if mode == AutoresetMode.NEXT_STEP:
            live = ~self._over
        elif self._over.any():
            raise ResetNeededError(
                f"the episode of environment {int(np.argmax(self._over))} is over: reset it with "
                "options={'reset_mask': ...}, or choose another autoreset_mode"
            )
        out = episodes.step(episodes.actions.checked(actions, live), live)
        over = out.terminated | out.truncated
        rows = np.flatnonzero(over)
        stepped, final = live, np.zeros((0, episodes.size), dtype=np.float32)
        if mode == AutoresetMode.SAME_STEP:
            if len(rows):
                stepped, final = ~over, episodes.observe(rows)
                episodes.begin(rows)
        else:
            self._over = over
            if not live.all():
                episodes.begin(np.flatnonzero(~live))
            if len(rows):
                episodes.park(rows)
        self._elapsed += self.task.dt
        self._watch()
        self._seen = episodes.observe(episodes.everyone)
        return Advance(self._seen, out, stepped, final)

    def render(self) -> tuple[Any, ...] | None:
        """A picture (height, width, 3) of each environment in "rgb_array"; otherwise None."""
        self._check_open()
        if self.render_mode != "rgb_array":
            return None
        batch = self.episodes.batch
        return tuple(self.screen.picture(batch[i]) for i in range(self.num_envs))

    def _watch(self) -> None:
        if self.render_mode == "human":
            self.screen.show(self.episodes.batch[0], self._elapsed)

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedError("the environments have been closed: make others")

    def close_extras(self, **kwargs: Any) -> None:
        """End the view."""
        self.screen.close()


def _info(out: Outcome, rows: Mask) -> dict[str, Any]:
    """What is told of environments (n,) of a mask, as Gymnasium puts infos side by side."""
    if not rows.any():
        return {}
    told: dict[str, Any] = {f"reward_{name}": term for name, term in out.terms.items()}
    told["failed"] = out.failed
    info = {}
    for name, values in told.items():
        info[name], info[f"_{name}"] = np.where(rows, values, np.zeros_like(values)), rows.copy()
    return info
