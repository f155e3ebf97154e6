"""Networks as in `actor_critic`, with derivatives by what they get, by numpy in any precision."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.learning.actor_critic import ROWS

Numbers = NDArray[Any]
Layers = list[tuple[Numbers, Numbers]]


def layers_of(theta: Numbers, begin: int, sizes: Sequence[int] | Numbers) -> Layers:
    """Views of weights (a, b) and biases (b,) of a network whose numbers begin at a place."""
    found, at = [], begin
    for a, b in pairwise(sizes):
        end = at + a * b
        found.append((theta[at:end].reshape(a, b), theta[end : end + b]))
        at = end + b
    return found


def outputs_of(layers: Layers, x: Numbers) -> list[Numbers]:
    """What all layers give, from the inputs (n, no) to the outputs; softsign is between them."""
    out = [x]
    for k, (W, b) in enumerate(layers):
        y = times(out[-1], W)
        y += b
        out.append(y / (1.0 + abs(y)) if k < len(layers) - 1 else y)
    return out


def pull_layers(layers: Layers, out: list[Numbers], by: Numbers, gradient: Layers) -> Numbers:
    """Derivatives by the inputs, of those by the outputs (n, na); adds to the gradient's views."""
    for k in range(len(layers) - 1, -1, -1):
        if k < len(layers) - 1:
            by = by * (1.0 - abs(out[k + 1])) ** 2
        for at in range(0, len(by), ROWS):
            gradient[k][0][:] += out[k][at : at + ROWS].T @ by[at : at + ROWS]
        gradient[k][1][:] += by.sum(axis=0)
        by = times(by, layers[k][0].T)
    return by


def times(x: Numbers, W: Numbers) -> Numbers:
    """The product x W, a block of rows at a time."""
    return np.concatenate([x[at : at + ROWS] @ W for at in range(0, len(x), ROWS)])
