"""Gradients of policies by backpropagation through the steps of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.batch import BatchSimulation
from robosim.batch.tape import TapedRollout
from robosim.envs.actions import Actions
from robosim.envs.task import Moment, Start, Task
from robosim.errors import OptionError
from robosim.validation import Array

STEP = 1e-6  # of the central differences of observations and rewards


class Network:
    """A network of tanh layers, from observations (n, no) to actions (n, na) within -1 and 1.

    Parameters
    ----------
    sizes : numbers of inputs, of each hidden layer, and of actions
    random : Generator
        Random numbers of the initial weights. Those of the last layer are small, so that initial
        actions are small.
    scale : float or (no,)
        Divisor of the observations.
    """

    def __init__(
        self, sizes: tuple[int, ...], random: np.random.Generator, scale: ArrayLike = 1.0
    ) -> None:
        shapes = [*pairwise(sizes)]
        layers = [random.standard_normal(shape) / np.sqrt(shape[0]) for shape in shapes]
        layers[-1] *= 0.01
        pieces = [part for W in layers for part in (W, np.zeros(W.shape[1]))]
        self.parameters = np.concatenate([part.ravel() for part in pieces])
        self._shapes, self._scale = [part.shape for part in pieces], np.asarray(scale)

    def _layers(self) -> list[tuple[Array, Array]]:
        """Views of weights and biases."""
        pieces, at = [], 0
        for shape in self._shapes:
            size = int(np.prod(shape))
            pieces.append(self.parameters[at : at + size].reshape(shape))
            at += size
        return list(zip(pieces[::2], pieces[1::2], strict=True))

    def __call__(self, seen: Array) -> list[Array]:
        """Outputs of all layers, from the observations to the actions."""
        out = [seen / self._scale]
        for W, b in self._layers():
            out.append(np.tanh(out[-1] @ W + b))
        return out

    def back(self, out: list[Array], by_actions: Array) -> tuple[Array, Array]:
        """Gradients by parameters, summed over rows, and by `seen`, from those by actions."""
        found: list[Array] = []
        for (W, _), before, after in zip(
            reversed(self._layers()), out[-2::-1], out[:0:-1], strict=True
        ):
            by_actions = by_actions * (1.0 - after**2)
            found = [(before.T @ by_actions).ravel(), by_actions.sum(axis=0), *found]
            by_actions = by_actions @ W.T
        return np.concatenate(found), by_actions / self._scale


class Adam:
    """Steps uphill, scaled by moments of the gradients [Kingma and Ba, 2015, Algorithm 1]."""

    def __init__(self, n: int) -> None:
        self._mean, self._square, self._steps = np.zeros(n), np.zeros(n), 0

    def __call__(self, gradient: Array, rate: float) -> Array:
        """The next step."""
        self._steps += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.99 * self._square + 0.01 * gradient**2
        mean = self._mean / (1.0 - 0.9**self._steps)
        square = self._square / (1.0 - 0.99**self._steps)
        return np.asarray(rate * mean / (np.sqrt(square) + 1e-8))


class Taken(NamedTuple):
    """An action, the state before it, and the state after it."""

    q: Array
    v: Array
    layers: list[Array]
    run: TapedRollout


class Episodes:
    """Episodes of a task under a policy, with the gradient of the mean reward of an action.

    Parameters
    ----------
    task : Task
        A task without delays and noise. Its `observe` and `reward` must depend only on the present
        coordinates, velocities and action, and on what is drawn.
    n : int
        Number of episodes at once.
    threads : int
    most : float
        Largest norm of the gradient of an episode's rewards by the state. During backpropagation,
        longer gradients are scaled down. Otherwise unstable motions and contacts would dominate
        the sum over all episodes and actions.
    contact_speed : float or None [m/s]
        Smoothing of contacts in the derivatives; see `TapedRollout.vjp`.

    Attributes
    ----------
    sizes : (int, int)
        Sizes of an observation and of an action.
    """

    def __init__(
        self,
        task: Task,
        n: int,
        threads: int = 1,
        most: float = np.inf,
        contact_speed: float | None = None,
    ) -> None:
        self.task, self.n, self.robot = task, n, task.robot()
        if task.sensors(self.robot):
            raise OptionError(
                f"{type(task).__name__} observes sensors with rays, which have no derivatives"
            )
        self.batch = BatchSimulation(
            self.robot, n, timestep=task.timestep, threads=threads, **task.options
        )
        self._dynamics = self.batch[0].dynamics
        self._actions = Actions(task, self.robot, n)
        self._most, self._speed = most, contact_speed
        self.drawn: Mapping[str, Array] = {}
        self.begin(np.random.default_rng(0))
        na = len(self._actions.names)
        seen = self._seen(self.batch.q, self.batch.v, np.zeros((n, na)))[0]
        self.sizes = seen.shape[1], na

    def begin(self, random: np.random.Generator) -> None:
        """Begin new episodes."""
        task, robot = self.task, self.robot
        self.drawn = {
            name: random.uniform(
                np.asarray(least, float), np.asarray(most, float), (self.n, *np.shape(least))
            )
            for name, (least, most) in task.draws(robot).items()
        }
        q, v = task.reset(Start(robot, self.n, self.drawn))
        if task.gap is not None:
            self.batch.place(q, task.gap)
            q = self.batch.q.copy()
        self.batch.set_state(q, v)

    def values(self, policy: Network, actions: int) -> tuple[Array, Array]:
        """Mean rewards (n,) of so many actions from where the batch is, and their mean's gradient.

        Raises
        ------
        ConvergenceError
            If a step is not solved, or not with its derivatives.
        """
        nv = self.robot.nv
        taken, total = [], np.zeros(self.n)
        none = np.zeros((self.n, len(self._actions.names)))
        for _ in range(actions):
            q, v = self.batch.q.copy(), self.batch.v.copy()
            layers = policy(self._seen(q, v, none)[0])
            run = self._run(layers[-1])
            total += self._seen(run.q[:, -1], run.v[:, -1], layers[-1])[1]
            taken.append(Taken(q, v, layers, run))
        adjoint, gradient = np.zeros((self.n, 2 * nv)), np.zeros_like(policy.parameters)
        scale = 1.0 / (actions * self.n)
        for one in reversed(taken):
            of_end = self._slopes(one.run.q[:, -1], one.run.v[:, -1], one.layers[-1])[1] * scale
            ends = np.zeros((2, self.n, self.task.steps + 1, nv))
            adjoint += of_end[:, : 2 * nv]
            ends[0][:, -1], ends[1][:, -1] = adjoint[:, :nv], adjoint[:, nv:]
            found = one.run.vjp(*ends, contact_speed=self._speed)
            by_actions = self._actions.slopes(
                found.torques if self._actions.pd is None else found.targets
            )
            by_policy, by_seen = policy.back(one.layers, by_actions + of_end[:, 2 * nv :])
            gradient += by_policy
            seen = self._slopes(one.q, one.v, none)[0][:, : 2 * nv]
            adjoint = np.hstack((found.q, found.v)) + (seen @ by_seen[:, :, None])[:, :, 0]
            lengths = np.linalg.norm(adjoint, axis=1)
            longest = self._most * scale
            adjoint *= (longest / np.maximum(lengths, longest))[:, None] if longest < np.inf else 1
        return total / actions, gradient

    def _run(self, actions: Array) -> TapedRollout:
        steps, pd = self.task.steps, self._actions.pd
        values = np.repeat(self._actions.values(actions), steps, axis=1)
        given = {"torques": values} if pd is None else {"controller": pd, "targets": values}
        run = self.batch.rollout(steps, tape=True, **given)
        assert isinstance(run, TapedRollout)
        for i in np.flatnonzero(run.failed)[:1]:
            raise run.tape.failures[int(i)]
        return run

    def _seen(self, q: Array, v: Array, action: Array, times: int = 1) -> tuple[Array, Array]:
        """Observations and rewards; rows of the same episode are consecutive."""
        task, robot, n = self.task, self.robot, len(q)
        drawn = {name: np.repeat(array, times, axis=0) for name, array in self.drawn.items()}
        forces, time = np.zeros((n, robot.nu)), np.zeros(n)
        now = Moment(robot, task.dt, q, v, q, v, action, action, forces, time, drawn)
        rewards = np.sum(list(task.reward(now).values()), axis=0)
        return np.clip(task.observe(now), *task.bounds(robot)), rewards

    def _slopes(self, q: Array, v: Array, action: Array) -> tuple[Array, Array]:
        """Derivatives of both (n, 2 nv + na, ...) by state, in the tangent space, and action."""
        n, nv = self.n, self.robot.nv
        width = 2 * nv + action.shape[1]
        ways = np.tile(STEP * np.eye(width), (n, 1))
        q, v, action = (np.repeat(array, width, axis=0) for array in (q, v, action))
        ends = [
            self._seen(
                self._dynamics.integrate(q, way * ways[:, :nv]),
                v + way * ways[:, nv : 2 * nv],
                action + way * ways[:, 2 * nv :],
                width,
            )
            for way in (1.0, -1.0)
        ]
        of = [(above - below) / (2.0 * STEP) for above, below in zip(*ends, strict=True)]
        return of[0].reshape(n, width, -1), of[1].reshape(n, width)
