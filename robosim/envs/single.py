"""One environment, as Gymnasium has it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from robosim.envs.episodes import Episodes
from robosim.envs.errors import ClosedError, ResetNeededError
from robosim.envs.making import Robot, robot_of, spaces, task_of
from robosim.envs.screen import MODES, Screen
from robosim.envs.task import Task

Seen = NDArray[np.float32]


class RobotEnv(gymnasium.Env[Seen, Seen]):
    """A robot and a task as a `gymnasium.Env`.

    Parameters
    ----------
    robot : Mechanism, path of a model file, name of a robot, or None
        None: the task's default robot.
    task : Task, its class, or the name of one of `robosim.envs.TASKS`
    render_mode : "human", "rgb_array" or None
        A live view in the browser, or pictures as arrays.
    limited : bool
        Whether episodes are truncated after the task's `seconds`. `gymnasium.make` sets False,
        and wraps the environment in Gymnasium's `TimeLimit` instead.
    lanes : bool
        Whether four similar limbs, if the robot has such, are computed in SIMD lanes, as by
        `Simulation`. An action of an A1 takes about 0.7 of the time, and the kernels are compiled
        once more. Results agree with those without lanes within the simulation's tolerance.
    size : (width, height) [pixels], even
        Size of pictures.
    open_browser : bool
        Whether the live view opens the default browser; its address is ``screen.url``.
    **settings
        Settings of a task that is given by its class or its name.

    Attributes
    ----------
    episodes : Episodes
        The batch of one environment below this interface; ``episodes.batch[0]`` is the
        `Simulation`.

    Raises
    ------
    OptionError, TaskError, ModelError
        For a robot, a task or a setting that cannot be used.
    """

    def __init__(
        self,
        robot: Robot = None,
        task: Task | type[Task] | str = "CartPole",
        *,
        render_mode: str | None = None,
        limited: bool = True,
        lanes: bool = False,
        size: tuple[int, int] = (640, 480),
        open_browser: bool = True,
        **settings: Any,
    ) -> None:
        self.task = task_of(task, settings)
        self.screen = Screen(render_mode, size, open_browser)
        self.render_mode = render_mode
        self.metadata = {"render_modes": list(MODES), "render_fps": max(1, round(1 / self.task.dt))}
        most = self.task.most_steps if limited else None
        model = robot_of(robot, self.task)
        self.episodes = Episodes(self.task, model, 1, threads=1, most_steps=most, limbs=lanes)
        self.observation_space, self.action_space = spaces(self.episodes)
        self.closed = False
        self._begun = False
        self._one = np.zeros(1, dtype=np.int64)
        self._elapsed = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode; see `gymnasium.Env.reset`.

        The same seed gives the same start and the same random numbers.

        Raises
        ------
        ClosedError
            After `close`.
        TaskError
            If the task gives wrong shapes, or a start that is not possible.
        """
        self._check_open()
        super().reset(seed=seed)
        self.episodes.seed(self._one, (seed,))
        self.episodes.chance.random[0] = self.np_random
        self.episodes.begin(self._one)
        self._begun = True
        self._watch()
        return self.episodes.observe(self._one)[0], {}

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Take one action; see `gymnasium.Env.step`.

        ``info`` has the terms of the reward (``reward_...``), and ``failed``: whether a time step
        of the simulation could not be solved. Such a failure truncates the episode.

        Raises
        ------
        ActionError
            For a wrong shape, or an entry that is not finite or not within -1 and 1.
        ClosedError, ResetNeededError
            After `close`, or before the first `reset`.
        TaskError
            If the task gives a wrong shape, or a value that is not finite, or if one of its
            compiled functions raises an error.
        """
        self._check_open()
        if not self._begun:
            raise ResetNeededError("an environment has to be reset before its first step")
        result = self.episodes.step_one(action)
        self._elapsed += self.task.dt
        self._watch()
        return result

    def render(self) -> Any:
        """A picture, (height, width, 3) of uint8, with render_mode="rgb_array"; else None."""
        self._check_open()
        if self.render_mode == "rgb_array":
            return self.screen.picture(self.episodes.batch[0])
        return None

    def _watch(self) -> None:
        if self.render_mode == "human":
            self.screen.show(self.episodes.batch[0], self._elapsed)

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedError("the environment has been closed: make another one")

    def close(self) -> None:
        """Close the view. The environment cannot be used afterwards."""
        self.closed = True
        self.screen.close()
