"""Random numbers of environments, with one generator for each environment.

So the numbers of an environment depend neither on how many others there are, nor on what the
others do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.envs.compiled import empty_records
from robosim.envs.errors import TaskError
from robosim.envs.task import Task
from robosim.learning.domain import Push
from robosim.validation import Array

AHEAD = 32  # rows of noise that are drawn at a time


class Chance:
    """Random numbers of n environments.

    Attributes
    ----------
    random : list of n Generator
    drawn : mapping of a name to (n,) or (n, k)
        The numbers that `Task.draws` declares, for the present episodes; views of `records`.
    records : record array (n,)
        The same, as compiled tasks get them.
    delays : (n,) [s]
        Delays of actions in the present episodes.
    robots : (n,) of int
        Which of the domain's robots the present episodes have.
    motors : (n, nu) or None
        Factors of the motors' torques in the present episodes; None: 1.
    pushes : dict of the number of an environment to Push
        Pushes of the present episodes.
    sensing : (n,) of int, or None
        Numbers on which noise of sensors depends, in the present episodes; None: no sensor has any.
    """

    def __init__(self, task: Task, robot: Mechanism, n: int, senses: bool = False) -> None:
        self.n, self._task = n, task
        self.random: list[np.random.Generator] = [seeding.np_random(None)[0] for _ in range(n)]
        self._ranges: list[tuple[str, Array, Array]] = []
        for name, pair in task.draws(robot).items():
            try:
                low, high = np.broadcast_arrays(*(np.asarray(one, dtype=float) for one in pair))
            except (TypeError, ValueError):
                raise TaskError(f"draw '{name}' must be (least, most), not {pair!r}") from None
            if low.ndim > 1 or not np.all(np.isfinite(low) & np.isfinite(high) & (low <= high)):
                raise TaskError(
                    f"draw '{name}' must be (least, most), numbers or (k,), not {pair!r}"
                )
            self._ranges.append((name, low, high - low))
        self.records = empty_records({name: low.shape for name, low, _ in self._ranges}, n)
        self.drawn = {name: self.records[name] for name, _, _ in self._ranges}
        self.delays = np.zeros(n)
        self.robots = np.zeros(n, dtype=np.int64)
        drawn = task.domain is not None and task.domain.changes_motors
        self.motors = np.ones((n, robot.nu)) if drawn else None
        self.pushes: dict[int, Push] = {}
        self.sensing = np.zeros(n, dtype=np.int64) if senses else None
        self._noise: Array | None = None
        self._used = np.full(n, AHEAD)

    def seed(self, which: NDArray[np.int64], seeds: Sequence[int | None]) -> None:
        """Seed the generators of environments (k,); None leaves a generator as it is."""
        for i, seed in zip(which.tolist(), seeds, strict=True):
            if seed is not None:
                self.random[i] = seeding.np_random(seed)[0]

    def begin(self, which: NDArray[np.int64]) -> None:
        """Draw the numbers of episodes that begin in environments (k,)."""
        task = self._task
        wide = sum(max(1, low.size) for _, low, _ in self._ranges)
        late = float(np.max(task.delay)) > 0
        unit = np.zeros((len(which), wide + late))
        for row, i in zip(unit, which.tolist(), strict=True):
            random = self.random[i]
            if (domain := task.domain) is not None:
                self.robots[i] = random.integers(domain.robots)
                push = domain.push_within(task.seconds, random)
                self.pushes |= {} if push is None else {i: push}
                if self.motors is not None:
                    self.motors[i] = domain.motors_of(self.motors.shape[1], random)
            random.random(out=row)
            if self.sensing is not None:
                self.sensing[i] = random.integers(2**62)
        at = 0
        for name, low, span in self._ranges:
            mine = unit[:, at : at + low.size].reshape(len(which), *low.shape)
            self.drawn[name][which] = low + span * mine
            at += low.size
        if late:
            least, most = task.delay
            self.delays[which] = least + (most - least) * unit[:, -1]
        self._used[which] = AHEAD

    def noise(self, which: NDArray[np.int64], size: int) -> Array:
        """Noise (k, size) of the next observations of environments (k,)."""
        if self._noise is None:
            self._noise = np.zeros((self.n, AHEAD, size))
        for i in which[self._used[which] == AHEAD].tolist():
            self.random[i].standard_normal(out=self._noise[i])
            self._used[i] = 0
        found = self._noise[which, self._used[which]]
        self._used[which] += 1
        return np.asarray(self._task.noise, dtype=float) * found
