"""Many environments in one batch, as Gymnasium has them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
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
from robosim.validation import Array, count, read_only

Seen = NDArray[np.float32]


class Advance(NamedTuple):
    """The result of one step of all environments.

    Attributes
    ----------
    seen : (n, no)
        Observations; where a new episode has begun, its first one.
    out : Outcome
    stepped : (n,) of bool
        Whether the outcome belongs to the episode that is observed.
    final : (k, no)
        With SAME_STEP, the last observations of the k episodes that have ended in this step.
    """

    seen: Seen
    out: Outcome
    stepped: Mask
    final: Seen


class RobotVectorEnv(gymnasium.vector.VectorEnv[Seen, Seen, NDArray[Any]]):
    """n robots with one task in a `BatchSimulation`, as a `gymnasium.vector.VectorEnv`.

    Environment i behaves as a `RobotEnv` that is reset with the seed of environment i. With
    ``lanes=False`` both are equal to the bit, and with lanes within the simulation's tolerance.

    Parameters
    ----------
    robot, task, render_mode, size, open_browser, **settings
        As for `RobotEnv`. The live view shows the first environment.
    num_envs : int
        Best a multiple of eight: with lanes, groups of eight environments are stepped together,
        and the rest one by one. Otherwise a warning is issued.
    max_episode_steps : int or None
        Number of actions after which episodes are truncated; None: the task's `seconds`.
    autoreset_mode : AutoresetMode or str
        Whether an episode that has ended is reset in the next step ("NextStep"), in the same one
        ("SameStep"), or by ``reset(options={"reset_mask": ...})`` ("Disabled").
    lanes : bool
    threads : int or None
        As for `BatchSimulation`.

    Raises
    ------
    OptionError, TaskError, ModelError
        For a robot, a task or a setting that cannot be used.
    """

    closed = True  # until __init__ has succeeded: Gymnasium closes other objects as well

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
        self._all_begun = self._any_over = False
        self._none: Seen = np.zeros((0, self.episodes.size), dtype=np.float32)
        self._all = read_only(np.ones(self.num_envs, dtype=bool))
        self._elapsed = 0.0

    def _tell_of_lanes(self) -> None:
        """Issue a warning if the number of environments does not fill all lanes."""
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
        """The random number generators of the environments, a tuple of Generators."""
        return tuple(self.episodes.chance.random)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin episodes in all environments, or in those of a mask.

        Parameters
        ----------
        seed : int, sequence of n int or None, or None
            With an int, environment i has the seed ``seed + i``.
        options : mapping or None
            "reset_mask", (n,) of bool: the environments to reset. The others return their present
            observations. "spread", bool: whether the time of each episode begins at random within
            its length, so that not all end at once.

        Raises
        ------
        OptionError
            For a wrong number of seeds, or a mask of another type or shape.
        ClosedError
            After `close`.
        ResetNeededError
            If the first reset leaves out an environment.
        TaskError
            If the task gives wrong shapes, or a start that is not possible.
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
        if (options or {}).get("spread", False):
            self.episodes.spread(which)
        self._over = self._over.copy()  # arrays that `advance` has returned must not change
        self._begun[which], self._over[which] = True, False
        self._all_begun, self._any_over = bool(self._begun.all()), bool(self._over.any())
        if not self._all_begun:
            late = int(np.argmin(self._begun))
            raise ResetNeededError(f"environment {late} has not been reset yet: leave the mask out")
        self._watch()
        self.episodes.seen[which] = self.episodes.observe(which)
        return self.episodes.seen.copy(), {}

    def _masked(self, mask: Any) -> Rows:
        """The indices of the environments of a mask, or of all if the mask is None."""
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
        """Take one action in each environment; see `gymnasium.vector.VectorEnv.step`.

        ``info`` has the terms of the reward (``reward_...``), and ``failed``: whether a time step
        of the simulation could not be solved. Such a failure truncates the episode of that
        environment alone.

        Raises
        ------
        ActionError
            For a wrong shape, or an entry that is not finite or not within -1 and 1.
        ClosedError
            After `close`.
        ResetNeededError
            Before the first `reset`, or after the end of an episode with "Disabled".
        TaskError
            If the task gives a wrong shape, or a value that is not finite, or if one of its
            compiled functions raises an error. All environments have acted all the same.
        """
        done = self.advance(actions)
        out = done.out
        info = _info(out, done.stepped)
        if len(done.final):
            over = out.over.copy()
            info["final_obs"] = np.full(self.num_envs, None, dtype=object)
            for i, row in zip(np.flatnonzero(over), done.final, strict=True):
                info["final_obs"][i] = row
            info["final_info"] = _info(out, over)
            info["_final_obs"], info["_final_info"] = over, over.copy()
        return done.seen, out.reward, out.terminated, out.truncated, info

    def advance(self, actions: Any) -> Advance:
        """Do the same as `step`, and return arrays instead of dictionaries; raises as `step`."""
        self._check_open()
        episodes, mode = self.episodes, self.autoreset_mode
        if not self._all_begun:
            raise ResetNeededError("environments have to be reset before their first step")
        live, acting = self._all, episodes.everyone
        if not self._any_over:
            pass
        elif mode == AutoresetMode.NEXT_STEP:
            live = ~self._over
            acting = np.flatnonzero(live)
        else:
            raise ResetNeededError(
                f"the episode of environment {int(np.argmax(self._over))} is over: reset it with "
                "options={'reset_mask': ...}, or choose another autoreset_mode"
            )
        out = episodes.step(actions, live, acting)
        rows = np.flatnonzero(out.over) if out.any_over else episodes.everyone[:0]
        stepped, final = live, self._none
        if mode == AutoresetMode.SAME_STEP:
            if out.any_over:
                stepped, final = ~out.over, episodes.seen[rows]
                self._begin(rows)
        else:
            self._over, self._any_over = out.over, out.any_over
            if len(acting) < self.num_envs:
                self._begin(np.flatnonzero(~live))
            if out.any_over:
                episodes.park(rows)
        self._elapsed += self.task.dt
        self._watch()
        return Advance(episodes.seen.copy(), out, stepped, final)

    def _begin(self, rows: Rows) -> None:
        """Begin episodes, and observe the beginnings in place of what was observed."""
        self.episodes.begin(rows)
        self.episodes.seen[rows] = self.episodes.observe(rows)

    def render(self) -> tuple[Any, ...] | None:
        """Pictures, n of (height, width, 3) uint8, with render_mode="rgb_array"; else None."""
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
        """Close the view; Gymnasium's `close` calls this method."""
        self.screen.close()


def _info(out: Outcome, rows: Mask) -> dict[str, Any]:
    """Infos of the environments of a mask (n,), in the form of Gymnasium's vector environments."""
    n, some = len(rows), int(np.count_nonzero(rows))
    if not some:
        return {}
    names, masked = _names(tuple(out.terms))
    values = [*out.terms.values(), out.failed]
    if some < n:
        values = [np.where(rows, one, np.zeros_like(one)) for one in values]
    masks = np.empty((len(names), n), dtype=bool)
    masks[:] = rows
    return {**dict(zip(names, values, strict=True)), **dict(zip(masked, masks, strict=True))}


@lru_cache(maxsize=64)
def _names(terms: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names in infos of the terms of a reward and of failures, and those of their masks."""
    names = (*(f"reward_{name}" for name in terms), "failed")
    return names, tuple(f"_{name}" for name in names)
