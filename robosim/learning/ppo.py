"""Proximal policy optimization [Schulman2017] of environments in a batch, without other libraries.

The rate of Adam follows the divergence between policies of one round, as in legged_gym.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.errors import OptionError
from robosim.learning.actor_critic import ActorCritic, Batch, Floats
from robosim.learning.learner import Adam, Learner
from robosim.validation import count, positive


class Environments(Protocol):
    """What is asked of environments: a `robosim.envs.RobotVectorEnv` has it."""

    num_envs: int
    single_observation_space: Any
    single_action_space: Any
    autoreset_mode: Any

    def reset(self, *, seed: int, options: dict[str, Any]) -> tuple[Floats, dict[str, Any]]: ...
    def advance(self, actions: Any) -> Any: ...


class Mirror(NamedTuple):
    """A robot's symmetry: entries of a mirrored vector, and their signs.

    A sample's mirror image is learned from as well, as if it had been drawn.

    Attributes
    ----------
    seen, seen_signs : (no,)
        Of observations: ``mirrored = signs * seen[entries]``.
    actions, action_signs : (na,)
    """

    seen: NDArray[np.int64]
    seen_signs: Floats
    actions: NDArray[np.int64]
    action_signs: Floats

    @classmethod
    def of(
        cls, seen: ArrayLike, seen_signs: ArrayLike, actions: ArrayLike, action_signs: ArrayLike
    ) -> Mirror:
        """A symmetry from sequences of entries and signs.

        Raises
        ------
        OptionError
            If mirroring twice does not give back the same vector.
        """
        pairs: list[Any] = []
        for name, entries, signs in (("seen", seen, seen_signs),
                                     ("actions", actions, action_signs)):  # fmt: skip
            at, sign = np.asarray(entries, dtype=np.int64), np.asarray(signs, dtype=np.float32)
            n = len(at)
            fits = sign.shape == (n,) and sorted(at.tolist()) == list(range(n))
            if not (fits and (at[at] == np.arange(n)).all() and (sign * sign[at] == 1).all()):
                raise OptionError(f"a mirror image of a mirror image must be the same: {name}")
            pairs += [at, sign]
        return cls(*pairs)


@dataclass(frozen=True)
class Settings:
    """How to learn; the values are those with which an A1 walks in a minute.

    Attributes
    ----------
    steps : int
        Actions of each environment in a round.
    epochs, batches : int
        Times that a round is learned from, and parts of it that are learned from at once.
    discount, trace : float
        Of rewards, and of errors of the value: gamma and lambda.
    clip : float
        How far a ratio of densities may be from one.
    spread : float
        Standard deviation of actions at first.
    hidden : tuple of int
        Widths of the hidden layers.
    value_weight : float
    rate, rates : float, (least, most)
        Of Adam, at first and bounds.
    divergence : float
        Of a policy from that of the round: the rate is changed if it is half or twice this.
    most_gradient : float
        Largest norm of a gradient, to which others are cut.
    reward_scale : float
        Factor of rewards, such that values are about one.
    fall : float
        Reward of an episode's end before its time, after `reward_scale`.

    Raises
    ------
    OptionError
        For numbers that are not positive, or a discount, trace or clip that is not within 0 and 1.
    """

    steps: int = 24
    epochs: int = 4
    batches: int = 4
    discount: float = 0.98
    trace: float = 0.95
    clip: float = 0.2
    spread: float = 0.4
    hidden: tuple[int, ...] = (128, 64)
    value_weight: float = 0.5
    rate: float = 1e-3
    rates: tuple[float, float] = (2e-4, 3e-3)
    divergence: float = 0.012
    most_gradient: float = 1.0
    reward_scale: float = 0.05
    fall: float = -0.5

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "batches"):
            count(name, getattr(self, name))
        for width in self.hidden:
            count("hidden", width)
        for name in ("spread", "value_weight", "rate", "divergence", "most_gradient"):
            positive(name, getattr(self, name))
        for name in ("discount", "trace", "clip"):
            if not 0 < getattr(self, name) <= 1:
                raise OptionError(f"{name} must be within 0 and 1, not {getattr(self, name)!r}")
        if not 0 < self.rates[0] <= self.rates[1]:
            raise OptionError(f"rates must be (least, most), not {self.rates!r}")


class PPO(Learner):
    """Learns to act in environments, round by round.

    Parameters
    ----------
    envs : RobotVectorEnv
        With ``autoreset_mode="SameStep"``. Best some hundred environments.
    settings : Settings
    seed : int
        Of the environments, the first weights and the actions. Rounds are the same to the bit for
        the same seed on the same machine, whatever the number of threads.
    mirror : Mirror or None
        The symmetry of observations and actions.

    Raises
    ------
    OptionError
        For another mode of the environments, or a mirror of another size.
    """

    def __init__(
        self,
        envs: Environments,
        settings: Settings | None = None,
        *,
        seed: int = 0,
        mirror: Mirror | None = None,
    ) -> None:
        mode = getattr(envs.autoreset_mode, "value", envs.autoreset_mode)
        if mode != "SameStep":
            raise OptionError(f"PPO needs autoreset_mode='SameStep', not '{mode}'")
        self.envs, self.settings, self.mirror = envs, settings or Settings(), mirror
        self._random = np.random.default_rng(seed)
        (no,), (na,) = envs.single_observation_space.shape, envs.single_action_space.shape
        if mirror is not None and (len(mirror.seen), len(mirror.actions)) != (no, na):
            raise OptionError(
                f"the mirror is of {len(mirror.seen)} observations and {len(mirror.actions)} "
                f"actions, and the environments have {no} and {na}"
            )
        of = self.settings
        if of.batches > of.steps * envs.num_envs:
            raise OptionError(f"a round has less than {of.batches} samples: take fewer batches")
        super().__init__(ActorCritic(no, na, of.hidden, of.spread, self._random))
        self.rate = of.rate
        self._adam = Adam(len(self.networks.theta))
        self._seen, _ = envs.reset(seed=seed, options={"spread": True})

    def _round(self, threads: ThreadPoolExecutor) -> dict[str, float]:
        """Act, and learn from it."""
        batch, row = self._acted()
        return row | self._improve(batch, threads)

    def _acted(self) -> tuple[Batch, dict[str, float]]:
        """A round of actions, and what they have led to."""
        of, n = self.settings, self.envs.num_envs
        no, na = self.networks.actor[0], self.networks.actor[-1]
        seen: Floats = np.empty((of.steps, n, no), np.float32)
        actions: Floats = np.empty((of.steps, n, na), np.float32)
        rewards: Floats = np.empty((of.steps, n), np.float32)
        going: Floats = np.empty((of.steps, n), np.float32)
        terms: dict[str, float] = {}
        falls, total = 0, 0.0
        noise = self._random.standard_normal(actions.shape, dtype=np.float32)
        spread = np.exp(self.networks.spreads)
        for t in range(of.steps):
            seen[t] = self._seen
            actions[t] = self.networks.act(seen[t]) + spread * noise[t]
            begun = time.perf_counter()
            done = self.envs.advance(np.clip(actions[t], -1.0, 1.0))
            self._spent["physics"] += time.perf_counter() - begun
            out, self._seen = done.out, done.seen
            over = out.terminated | out.truncated
            rewards[t] = of.reward_scale * out.reward + of.fall * out.terminated
            late = out.truncated[over] & ~out.terminated[over]
            if late.any():
                # Time alone has ended these episodes, which would have gone on as they are valued.
                value = self.networks.value(np.ascontiguousarray(done.final[late]))
                rewards[t, np.flatnonzero(over)[late]] += of.discount * value
            going[t] = ~over
            falls += int(out.terminated.sum())
            total += float(out.reward.mean()) / of.steps
            for name, term in out.terms.items():
                terms[name] = terms.get(name, 0.0) + float(term.mean()) / of.steps
        self._samples += of.steps * n
        likely = -(0.5 * noise**2 + self.networks.spreads).sum(axis=2)
        values = self.networks.value(np.concatenate((seen.reshape(-1, no), self._seen)))
        better = self._advantages(rewards, going, values.reshape(of.steps + 1, n))
        returns = better + values[:-n].reshape(of.steps, n)
        better = (better - better.mean()) / (better.std() + 1e-8)
        numbers = (array.astype(np.float32).ravel() for array in (likely, better, returns))
        batch = Batch(seen.reshape(-1, no), actions.reshape(-1, na), *numbers)
        told = {"steps": self._samples, "reward": total, "falls": falls}
        return batch, told | {f"reward_{name}": value for name, value in terms.items()}

    def _advantages(self, rewards: Floats, going: Floats, values: Floats) -> Floats:
        """Advantages (steps, n) by generalized estimation, from values (steps + 1, n)."""
        of, found = self.settings, np.zeros_like(rewards)
        after = np.zeros(rewards.shape[1], np.float32)
        for t in reversed(range(len(rewards))):
            off = rewards[t] + of.discount * going[t] * values[t + 1] - values[t]
            found[t] = after = off + of.discount * of.trace * going[t] * after
        return found

    def _improve(self, batch: Batch, threads: ThreadPoolExecutor) -> dict[str, float]:
        """Learn from a round."""
        of, n = self.settings, len(batch.returns)
        if (m := self.mirror) is not None:
            # Images keep the density of what they are images of: those that the policy would not
            # have drawn then have little weight.
            seen = m.seen_signs * batch.seen[:, m.seen]
            images = batch._replace(seen=seen, actions=m.action_signs * batch.actions[:, m.actions])
            batch = Batch(*(np.concatenate(pair) for pair in zip(batch, images, strict=True)))
        divergences = []
        for _ in range(of.epochs):
            for rows in np.array_split(self._random.permutation(n), of.batches):
                found = self.networks.gradient(batch, rows, n, of.clip, of.value_weight, threads)
                self._adam.step(self.networks.theta, found[0], self.rate, of.most_gradient)
                divergences.append(float(found[1][2]))
                if divergences[-1] > 2 * of.divergence:
                    self.rate = max(self.rate / 1.5, of.rates[0])
                elif divergences[-1] < of.divergence / 2:
                    self.rate = min(self.rate * 1.5, of.rates[1])
        return {
            "divergence": float(np.mean(divergences)),
            "rate": self.rate,
            "spread": float(np.exp(self.networks.spreads).mean()),
        }
