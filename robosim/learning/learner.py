"""What learners that go on round by round share: the clock, the curve and steps of Adam."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import OptionError
from robosim.learning.actor_critic import ActorCritic, Floats
from robosim.validation import count, positive


@dataclass(eq=False)
class Trained:
    """A policy that `PPO` or `SHAC` has trained so far.

    Attributes
    ----------
    networks : ActorCritic
    curve : list of mappings
        A row for each round. ``seconds`` of wall time and ``cpu`` seconds of all threads are since
        the beginning, and so are ``physics`` and ``networks``, the parts of wall time. ``steps``
        are those of all environments so far. ``reward`` of a step, its terms, ``falls``,
        ``spread`` of actions and ``rate`` are of the round. `PPO` adds its ``divergence``, and
        `SHAC` its ``gradient``.
    """

    networks: ActorCritic
    curve: list[dict[str, float]] = field(default_factory=list)

    def __call__(self, seen: ArrayLike) -> Floats:
        """Actions (n, na) without noise, within -1 and 1, for observations (n, no)."""
        return np.clip(self.networks.act(np.asarray(seen, dtype=np.float32)), -1.0, 1.0)

    def layers(self) -> list[tuple[Floats, Floats]]:
        """Weights (m, n) and biases (m,) of the policy; softsign is between them."""
        return self.networks.layers()


class Adam:
    """Steps of Adam [Kingma2015] down gradients of n numbers, which are cut to a largest norm."""

    def __init__(self, n: int) -> None:
        self._moments: Floats = np.zeros((2, n), np.float32)
        self._updates = 0

    def step(self, theta: Floats, gradient: Floats, rate: float, most: float) -> float:
        """Change theta (n,) in place; the norm of the gradient before it was cut."""
        length = float(np.linalg.norm(gradient))
        gradient = gradient * np.float32(min(1.0, most / (length + 1e-8)))
        self._updates += 1
        first, second = self._moments
        first += np.float32(0.1) * (gradient - first)
        second += np.float32(0.001) * (gradient**2 - second)
        size = np.sqrt(second / (1.0 - 0.999**self._updates)) + np.float32(1e-5)
        rate = rate / (1.0 - 0.9**self._updates)
        theta -= (rate * first / size).astype(np.float32)
        return length


class Learner:
    """Learns round by round; subclasses have `_round`.

    Attributes
    ----------
    networks : ActorCritic
    trained : Trained
    """

    def __init__(self, networks: ActorCritic) -> None:
        self.networks = networks
        self.trained = Trained(networks)
        self._samples = 0
        self._left = 1.0  # of the time or the rounds for learning
        self._spent = dict.fromkeys(("seconds", "cpu", "physics", "networks"), 0.0)

    def _round(self, threads: ThreadPoolExecutor) -> dict[str, float]:
        """Act, and learn from it."""
        raise NotImplementedError

    def learn(
        self,
        seconds: float | None = None,
        rounds: int | None = None,
        watched: Callable[[dict[str, float]], None] = lambda row: None,
    ) -> Trained:
        """Learn for some time, or for a number of rounds; may be called again.

        Parameters
        ----------
        seconds : float or None
            Of wall time.
        rounds : int or None
        watched : callable(row of the curve)
            Called after each round; its time counts.

        Raises
        ------
        OptionError
            If neither or both are given.
        """
        if (seconds is None) == (rounds is None):
            raise OptionError("give either seconds or rounds")
        start, done = time.perf_counter(), 0
        lasts = np.inf if seconds is None else positive("seconds", seconds)
        most = np.inf if rounds is None else count("rounds", rounds)
        with ThreadPoolExecutor(2) as threads:
            while done < most and time.perf_counter() < start + lasts:
                begun, cpu = time.perf_counter(), time.process_time()
                self._left = 1.0 - max((begun - start) / lasts, done / most)
                physics = self._spent["physics"]
                row = self._round(threads)
                took = time.perf_counter() - begun
                self._spent["seconds"] += took
                self._spent["cpu"] += time.process_time() - cpu
                self._spent["networks"] += took - (self._spent["physics"] - physics)
                self.trained.curve.append(self._spent | row)
                watched(self.trained.curve[-1])
                done += 1
        return self.trained
