"""A policy and a value as small networks, and the gradient of PPO's loss, compiled.

Both networks are layers with the activation softsign, y / (1 + |y|), but for the last one. All
weights, and the logarithms of the standard deviations of actions, are one array of float32.
Gradients are computed for blocks of rows, whose layers stay in the cache of a core.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.kernels.compiler.content import row

Floats = NDArray[np.float32]
ROWS = 32  # of a block: products of this size are made by one thread, whatever the machine has
PARTS = 2  # of a gradient, each of which a thread computes; sums do not depend on the threads
SUMS = 4  # of the loss of actions, that of values, the divergence, and the samples that are clipped


class Batch(NamedTuple):
    """Samples to learn from.

    Attributes
    ----------
    seen : (n, no)
    actions : (n, na)
        As drawn, before they were clipped.
    likely : (n,)
        Logarithm of the density with which they were drawn.
    better : (n,)
        Advantages, normalized.
    returns : (n,)
        Targets of the value.
    """

    seen: Floats
    actions: Floats
    likely: Floats
    better: Floats
    returns: Floats


@row
def through(theta, begin, sizes, n, out):  # type: ignore[no-untyped-def]
    """Outputs of all layers, from the inputs in out[0]; each as (n, width), one after the other."""
    at = begin
    for layer in range(len(sizes) - 1):
        a, b = sizes[layer], sizes[layer + 1]
        x, y = out[layer, : n * a].reshape(n, a), out[layer + 1, : n * b].reshape(n, b)
        np.dot(x, theta[at : at + a * b].reshape(a, b), y)
        shift = theta[at + a * b : at + a * b + b]
        if layer < len(sizes) - 2:
            for i in range(n):
                for k in range(b):
                    value = y[i, k] + shift[k]
                    y[i, k] = value / (np.float32(1) + abs(value))
        else:
            for i in range(n):
                for k in range(b):
                    y[i, k] += shift[k]
        at += a * b + b


@row
def back(theta, end, sizes, n, out, slopes, product, gradient):  # type: ignore[no-untyped-def]
    """Add to the gradient what slopes by the outputs, in slopes[-1], say; slopes are overwritten.

    ``end`` is where the network's weights end in theta.
    """
    at = end
    for layer in range(len(sizes) - 2, -1, -1):
        a, b = sizes[layer], sizes[layer + 1]
        at -= a * b + b
        x, dy = out[layer, : n * a].reshape(n, a), slopes[layer + 1, : n * b].reshape(n, b)
        by_weights = product[: a * b].reshape(a, b)
        np.dot(x.T, dy, by_weights)
        for k in range(a * b):
            gradient[at + k] += product[k]
        for i in range(n):
            for k in range(b):
                gradient[at + a * b + k] += dy[i, k]
        if layer > 0:
            dx = slopes[layer, : n * a].reshape(n, a)
            np.dot(dy, theta[at : at + a * b].reshape(a, b).T, dx)
            for i in range(n):
                for k in range(a):
                    rest = np.float32(1) - abs(x[i, k])
                    dx[i, k] *= rest * rest


@row
def outputs(theta, begin, sizes, seen, found):  # type: ignore[no-untyped-def]
    """Outputs (n, k) of a network for observations (n, no)."""
    widest = sizes.max()
    out = np.empty((len(sizes), ROWS * widest), np.float32)
    for first in range(0, seen.shape[0], ROWS):
        n = min(ROWS, seen.shape[0] - first)
        out[0, : n * sizes[0]] = seen[first : first + n].ravel()
        through(theta, begin, sizes, n, out)
        found[first : first + n] = out[-1, : n * sizes[-1]].reshape(n, sizes[-1])


@row
def slope(  # type: ignore[no-untyped-def]
    theta, actor, critic, batch, rows, images, clip, value_weight, gradient, sums
):  # fmt: skip
    """Add the gradient of PPO's loss over rows (k,) of a batch, each with the weight 1 / k.

    Rows from ``images`` on are mirror images, which do not count in the divergence.
    """
    seen, actions, likely, better, returns = batch
    no, na = seen.shape[1], actions.shape[1]
    one, half = np.float32(1), np.float32(0.5)
    share = one / np.float32(len(rows))
    widest, deep = max(actor.max(), critic.max()), max(len(actor), len(critic))
    out = np.empty((deep, ROWS * widest), np.float32)
    slopes = np.empty((deep, ROWS * widest), np.float32)
    product = np.empty(widest * widest, np.float32)
    between = ends(actor)
    spreads = between + ends(critic)
    narrow = np.exp(-theta[spreads:])
    wide = theta[spreads:].sum()
    for first in range(0, len(rows), ROWS):
        n = min(ROWS, len(rows) - first)
        for i in range(n):
            out[0, i * no : (i + 1) * no] = seen[rows[first + i]]
        through(theta, 0, actor, n, out)
        last = len(actor) - 1
        for i in range(n):
            j, now = rows[first + i], -wide
            for k in range(na):
                z = (actions[j, k] - out[last, i * na + k]) * narrow[k]
                now -= half * z * z
            change = now - likely[j]
            ratio = np.exp(change)
            bounded = min(max(ratio, one - clip), one + clip)
            acts = ratio * better[j] <= bounded * better[j]
            weight = -better[j] * ratio * share if acts else np.float32(0)
            sums[0] -= min(ratio * better[j], bounded * better[j]) * share
            if j < images:
                sums[2] += (ratio - one - change) * share
            sums[3] += share if bounded != ratio else np.float32(0)
            for k in range(na):
                z = (actions[j, k] - out[last, i * na + k]) * narrow[k]
                slopes[last, i * na + k] = weight * z * narrow[k]
                gradient[spreads + k] += weight * (z * z - one)
        back(theta, between, actor, n, out, slopes, product, gradient)
        through(theta, between, critic, n, out)
        last = len(critic) - 1
        for i in range(n):
            off = out[last, i] - returns[rows[first + i]]
            sums[1] += off * off * share
            slopes[last, i] = np.float32(2) * value_weight * off * share
        back(theta, spreads, critic, n, out, slopes, product, gradient)


@row
def ends(sizes):  # type: ignore[no-untyped-def]
    """Number of weights of a network."""
    total = 0
    for layer in range(len(sizes) - 1):
        total += sizes[layer] * sizes[layer + 1] + sizes[layer + 1]
    return total


class ActorCritic:
    """A Gaussian policy and a value of observations.

    Parameters
    ----------
    inputs, actions : int
    hidden : sequence of int
        Widths of the hidden layers of both networks.
    spread : float
        Standard deviation of actions at first, which is learned and the same everywhere.
    random : Generator
        Of the first weights. Those of the last layer of the policy are small.

    Attributes
    ----------
    mean, scale : float or (no,)
        Observations less the mean, times the scale, are what both networks get: 0 and 1 at first.
    """

    def __init__(
        self,
        inputs: int,
        actions: int,
        hidden: Sequence[int],
        spread: float,
        random: np.random.Generator,
    ) -> None:
        self.actor = np.array((inputs, *hidden, actions), dtype=np.int64)
        self.critic = np.array((inputs, *hidden, 1), dtype=np.int64)
        pieces = []
        for sizes, least in ((self.actor, 0.01), (self.critic, 1.0)):
            for layer, (a, b) in enumerate(pairwise(sizes)):
                gain = least if layer == len(sizes) - 2 else 1.5
                pieces += [gain * random.standard_normal(a * b) / np.sqrt(a), np.zeros(b)]
        pieces.append(np.full(actions, np.log(spread)))
        self.theta: Floats = np.concatenate(pieces).astype(np.float32)
        self._between = int(ends(self.actor))
        self.mean: Any = 0.0
        self.scale: Any = 1.0

    def normalized(self, seen: Any) -> Any:
        """Observations (n, no) as both networks get them."""
        if np.ndim(self.mean) == 0:
            return seen
        return ((seen - self.mean) * self.scale).astype(seen.dtype)

    @property
    def spreads(self) -> Floats:
        """Logarithms of the standard deviations of actions (na,), a view."""
        return self.theta[len(self.theta) - self.actor[-1] :]

    def act(self, seen: Floats) -> Floats:
        """Means of actions (n, na)."""
        found = np.empty((len(seen), self.actor[-1]), np.float32)
        outputs(self.theta, 0, self.actor, self.normalized(seen), found)
        return found

    def value(self, seen: Floats) -> Floats:
        """Values (n,)."""
        found = np.empty((len(seen), 1), np.float32)
        outputs(self.theta, self._between, self.critic, self.normalized(seen), found)
        return found[:, 0]

    def layers(self) -> list[tuple[Floats, Floats]]:
        """Weights (m, n) and biases (m,) of the policy's layers, copies."""
        found, at = [], 0
        for a, b in pairwise(self.actor):
            W = self.theta[at : at + a * b].reshape(a, b).T.copy()
            found.append((W, self.theta[at + a * b : at + a * b + b].copy()))
            at += a * b + b
        if np.ndim(self.mean):
            W, shift = found[0]
            W = W * self.scale
            found[0] = W.astype(np.float32), (shift - W @ self.mean).astype(np.float32)
        return found

    def gradient(
        self,
        batch: Batch,
        rows: NDArray[np.int64],
        n: int,
        clip: float,
        value_weight: float,
        threads: Executor,
    ) -> tuple[Floats, Floats]:
        """The gradient by theta of the mean loss over rows (k,), and `SUMS` means.

        A batch of more than n samples has their mirror images from there on, and those of the rows
        are learned from as well.
        """

        def part(mine: NDArray[np.int64]) -> tuple[Floats, Floats]:
            gradient, sums = np.zeros_like(self.theta), np.zeros(SUMS, np.float32)
            settings = n, np.float32(clip), np.float32(value_weight)
            all_mine = mine if len(batch.returns) == n else np.concatenate((mine, mine + n))
            slope(self.theta, self.actor, self.critic, batch, all_mine, *settings, gradient, sums)
            sums[2] *= len(all_mine) / len(mine)
            weight = np.float32(len(mine) / len(rows))
            return weight * gradient, weight * sums

        parts = list(threads.map(part, np.array_split(rows, PARTS)))
        return sum(one for one, _ in parts), sum(one for _, one in parts)  # type: ignore[return-value]
