"""Short-horizon actor-critic [Xu2022]: policies that learn by gradients through simulation.

A round is a window of some actions of all environments. The policy follows the gradient of the
rewards in it and of the value of where it ends, which passes back through observations, actions,
time steps and contacts. The value is learned by regression to returns of the same window.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from robosim.errors import ConvergenceError, OptionError
from robosim.learning.actor_critic import ActorCritic
from robosim.learning.layers import Numbers, layers_of, outputs_of, pull_layers
from robosim.learning.learner import Adam, Learner
from robosim.validation import Array, count, positive


class Differentiable(Protocol):
    """What is asked of environments: a `robosim.envs.DifferentiableEnv` has it."""

    num_envs: int
    single_observation_space: Any
    single_action_space: Any

    def reset(self, *, seed: int, spread: bool) -> Array: ...
    def advance(self, actions: Array) -> Any: ...
    def back(self, step: Any, by_final: Array, by_reward: Array, after: Any) -> Any: ...
    def nothing(self) -> Any: ...


@dataclass(frozen=True)
class SHACSettings:
    """How to learn.

    Attributes
    ----------
    horizon : int
        Actions of each environment in a window.
    discount, trace : float
        Of rewards, and of errors of the value: gamma and lambda.
    spread : float
        Standard deviation of actions while the policy learns.
    hidden : tuple of int
        Widths of the hidden layers of policy and value.
    rate, value_rate : float
        Of Adam, for the policy and for the value.
    last : float
        The part of both rates that is left at the end of the time for learning.
    epochs, batches : int
        Times that the value learns from a window, and parts that it learns from at once.
    follow : float
        Part by which the value that judges where windows end moves to the one that learns.
    most_gradient : float
        Largest norm of the policy's gradient, to which others are cut.
    most_slope : float
        Largest norm of an environment's derivatives by its state, over those of an equal share.
    normalize : bool
        Whether observations are normalized by the mean and deviation of those so far.
    reward_scale : float
        Factor of rewards, such that values are about one.
    fall : float
        Reward of an episode's end before its time, after `reward_scale`.

    Raises
    ------
    OptionError
        For numbers that are not positive, or not within 0 and 1 where they have to be.
    """

    horizon: int = 24
    discount: float = 0.98
    trace: float = 0.95
    spread: float = 0.15
    hidden: tuple[int, ...] = (128, 64)
    rate: float = 4e-3
    value_rate: float = 2e-3
    last: float = 0.1
    epochs: int = 4
    batches: int = 4
    follow: float = 0.2
    most_gradient: float = 1.0
    most_slope: float = np.inf
    normalize: bool = False
    reward_scale: float = 0.05
    fall: float = -0.5

    def __post_init__(self) -> None:
        for name in ("horizon", "epochs", "batches"):
            count(name, getattr(self, name))
        for width in self.hidden:
            count("hidden", width)
        for name in ("rate", "value_rate", "most_gradient", "reward_scale"):
            positive(name, getattr(self, name))
        if not self.most_slope > 0:
            raise OptionError(f"most_slope must be positive, not {self.most_slope!r}")
        if not (np.isfinite(self.spread) and self.spread >= 0):
            raise OptionError(f"spread must be zero or more, not {self.spread!r}")
        for name in ("discount", "trace", "last", "follow"):
            if not 0 < getattr(self, name) <= 1:
                raise OptionError(f"{name} must be within 0 and 1, not {getattr(self, name)!r}")


@dataclass
class Window:
    """Some actions of all environments; lists have an entry for each action.

    Attributes
    ----------
    seen : (n, no), observations before the action
    outs : outputs of the policy's layers
    free : (n, na), zero where the action was clipped, and else one
    steps : what `DifferentiableEnv.advance` returned
    rewards : (n,), scaled, with falls
    ends : outputs of the value's layers for the observations after the action
    weights : (n,), of a reward in the loss
    """

    seen: list[Array] = field(default_factory=list)
    outs: list[list[Numbers]] = field(default_factory=list)
    free: list[Array] = field(default_factory=list)
    steps: list[Any] = field(default_factory=list)
    rewards: list[Array] = field(default_factory=list)
    ends: list[list[Numbers]] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)


class SHAC(Learner):
    """Learns to act by gradients through environments, round by round.

    Parameters
    ----------
    envs : DifferentiableEnv
        Best some ten environments.
    settings : SHACSettings
    seed : int
        Of the environments, the first weights and the actions.
    """

    def __init__(
        self, envs: Differentiable, settings: SHACSettings | None = None, *, seed: int = 0
    ) -> None:
        self.envs, self.settings = envs, settings or SHACSettings()
        of = self.settings
        if of.batches > of.horizon * envs.num_envs:
            raise OptionError(f"a window has less than {of.batches} samples: take fewer batches")
        (no,), (na,) = envs.single_observation_space.shape, envs.single_action_space.shape
        self._random = np.random.default_rng(seed)
        super().__init__(ActorCritic(no, na, of.hidden, max(of.spread, 1e-6), self._random))
        nets = self.networks
        self._between = sum(W.size + b.size for W, b in layers_of(nets.theta, 0, nets.actor))
        self._judge = nets.theta[self._between :].copy()  # the value that follows
        self._adams = Adam(self._between), Adam(len(self._judge))
        self._sums = np.zeros((2, no))  # of observations and of their squares
        self._seen = envs.reset(seed=seed, spread=True)

    @property
    def policy(self) -> Numbers:
        """The policy's numbers, a view."""
        return self.networks.theta[: self._between]

    def _round(self, threads: ThreadPoolExecutor) -> dict[str, float]:
        """Act, and learn from it."""
        of, na = self.settings, self.envs.single_action_space.shape[0]
        noise = self._random.standard_normal((of.horizon, self.envs.num_envs, na))
        begun = time.perf_counter()
        window = self.act(noise)
        self._samples += of.horizon * self.envs.num_envs
        length, failed = 0.0, 0.0
        share = of.last + (1.0 - of.last) * self._left
        try:
            gradient = self.gradient(window)
        except ConvergenceError:
            gradient = np.full(self._between, np.nan)
        with np.errstate(over="ignore"):
            single = gradient.astype(np.float32)
        if np.isfinite(single).all():
            length = self._adams[0].step(self.policy, single, share * of.rate, of.most_gradient)
        else:
            failed = 1.0  # nothing is learned from this window but its value
        self._spent["physics"] += time.perf_counter() - begun
        off = self._learn_value(window, share * of.value_rate)
        if of.normalize:
            self._normalize(np.concatenate(window.seen))
        outs = [step.out for step in window.steps]
        row = {
            "steps": float(self._samples),
            "reward": float(np.mean([out.reward for out in outs])),
            "falls": float(sum(out.terminated.sum() for out in outs)),
            "gradient": length,
            "failed": failed,
            "value_error": off,
            "rate": share * of.rate,
            "spread": of.spread,
        }
        for name in outs[0].terms:
            row[f"reward_{name}"] = float(np.mean([out.terms[name] for out in outs]))
        return row

    def act(self, noise: Array) -> Window:
        """Take actions with noise (horizon, n, na) of standard deviation one."""
        of, nets, window = self.settings, self.networks, Window()
        policy = layers_of(nets.theta, 0, nets.actor)
        judge = layers_of(self._judge, 0, nets.critic)
        share = 1.0 / (len(noise) * self.envs.num_envs)
        weights = np.full(self.envs.num_envs, share)
        for row in noise:
            seen = self._seen
            out = outputs_of(policy, nets.normalized(seen))
            wanted = out[-1] + of.spread * row
            actions = np.clip(wanted, -1.0, 1.0)
            step = self.envs.advance(actions)
            self._seen = step.seen
            window.seen.append(seen)
            window.outs.append(out)
            window.free.append(np.asarray(actions == wanted, dtype=float))
            window.steps.append(step)
            window.rewards.append(of.reward_scale * step.out.reward + of.fall * step.out.terminated)
            window.ends.append(outputs_of(judge, nets.normalized(step.final)))
            window.weights.append(weights)
            # What a new episode brings counts in full.
            weights = np.where(step.out.over, share, of.discount * weights)
        return window

    def loss(self, window: Window) -> float:
        """Negative mean of the discounted rewards, and of values where episodes or windows end."""
        total = 0.0
        for t, (weights, rewards) in enumerate(zip(window.weights, window.rewards, strict=True)):
            total -= float(weights @ (rewards + self._valued(window, t) * window.ends[t][-1][:, 0]))
        return total

    def _valued(self, window: Window, t: int) -> Array:
        """Weight (n,) of the value after an action, over that of its reward: mostly zero."""
        out, last = window.steps[t].out, t == len(window.steps) - 1
        ends = ~out.terminated if last else out.over & ~out.terminated
        return self.settings.discount * np.asarray(ends, dtype=float)

    def gradient(self, window: Window) -> Array:
        """Derivatives of the loss by the policy's numbers; nan if they are too large for numbers.

        Raises
        ------
        ConvergenceError
            If a step cannot be solved with its derivatives.
        """
        of, nets = self.settings, self.networks
        policy = layers_of(nets.theta, 0, nets.actor)
        judge = layers_of(self._judge, 0, nets.critic)
        gradient = np.zeros(self._between)
        into = layers_of(gradient, 0, nets.actor)
        unused = layers_of(np.zeros(len(self._judge)), 0, nets.critic)
        by_seen, after = np.zeros_like(window.seen[0], dtype=float), self.envs.nothing()
        for t in range(len(window.steps) - 1, -1, -1):
            step, weights = window.steps[t], window.weights[t]
            goes_on = np.asarray(~step.out.over, dtype=float)[:, None]
            by_value = -(weights * self._valued(window, t))[:, None]
            by_final = by_seen * goes_on
            by_final += nets.scale * pull_layers(judge, window.ends[t], by_value, unused)
            after = type(after)(*(goes_on * one for one in after))
            by_reward = -of.reward_scale * weights
            by_actions, before = self.envs.back(step, by_final, by_reward, after)
            by_outputs = window.free[t] * by_actions
            by_seen = nets.scale * pull_layers(policy, window.outs[t], by_outputs, into)
            after = self._cut(before)
            if not all(np.isfinite(one).all() for one in after):
                gradient[:] = np.nan
                break
        return gradient

    def _cut(self, slopes: Any) -> Any:
        """Derivatives of environments by their states, the longest of which are cut."""
        most = self.settings.most_slope / (self.settings.horizon * self.envs.num_envs)
        if not np.isfinite(most):
            return slopes
        lengths = np.sqrt(sum((one**2).sum(axis=1) for one in slopes))
        factors = (most / np.maximum(lengths, most))[:, None]
        return type(slopes)(*(factors * one for one in slopes))

    def returns(self, window: Window) -> Array:
        """What the value is to be at the observations before the actions (horizon, n)."""
        of = self.settings
        found = np.zeros((len(window.steps), self.envs.num_envs))
        for t in range(len(window.steps) - 1, -1, -1):
            out, value = window.steps[t].out, window.ends[t][-1][:, 0]
            after = value if t == len(window.steps) - 1 else found[t + 1]
            after = np.where(out.over, value, (1.0 - of.trace) * value + of.trace * after)
            found[t] = window.rewards[t] + of.discount * ~out.terminated * after
        return found

    def _learn_value(self, window: Window, rate: float) -> float:
        """Regression of the value to returns; the mean square of the last errors."""
        of, nets = self.settings, self.networks
        seen = nets.normalized(np.concatenate(window.seen)).astype(np.float32)
        returns = self.returns(window).astype(np.float32).ravel()[:, None]
        theta = nets.theta[self._between :]
        critic, gradient = layers_of(theta, 0, nets.critic), np.zeros_like(theta)
        into, off = layers_of(gradient, 0, nets.critic), 0.0
        for _ in range(of.epochs):
            off = 0.0
            for rows in np.array_split(self._random.permutation(len(seen)), of.batches):
                out = outputs_of(critic, seen[rows])
                error = out[-1] - returns[rows]
                off += float((error**2).mean()) / of.batches
                gradient[:] = 0.0
                pull_layers(critic, out, 2.0 * error / np.float32(len(rows)), into)
                self._adams[1].step(theta, gradient, rate, 1.0)
        self._judge += of.follow * (theta - self._judge)
        return off

    def _normalize(self, seen: Array) -> None:
        """Let means and deviations follow from all observations so far."""
        self._sums += seen.sum(axis=0), (seen**2).sum(axis=0)
        mean, square = self._sums / self._samples
        self.networks.mean = mean
        self.networks.scale = 1.0 / np.sqrt(np.maximum(square - mean**2, 1e-4))
