"""Covering arrays: few sets of features in which every pair occurs that may occur together."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

Pair = frozenset[str]


def pairs_of(features: Iterable[str]) -> set[Pair]:
    """All pairs of some features."""
    return {frozenset(pair) for pair in combinations(features, 2)}


def covering_array(
    features: Sequence[str],
    fits: Callable[[str, frozenset[str]], bool],
    most: int,
    seed: int = 0,
    tries: int = 8,
    begun: Sequence[tuple[str, ...]] = (),
) -> list[tuple[str, ...]]:
    """Rows of up to `most` features each, which cover all pairs that fit; the same for a seed.

    Greedy: a row begins with a pair that is still missing, and takes on the features that add most
    missing pairs. The best of some tries at a row is kept.

    Parameters
    ----------
    features : sequence of str
        Rows are in this order.
    fits : callable(feature, row) -> bool
        Whether a feature may be added to a row. A pair fits if its second feature may be added to
        the first.
    most : int
        Features of a row.
    seed, tries : int
    begun : sequence of tuple of str
        Rows that come first, as they are.
    """
    rng = random.Random(seed)
    order = {name: k for k, name in enumerate(features)}
    missing = sorted(
        (pair for pair in combinations(features, 2) if fits(pair[1], frozenset(pair[:1]))),
        key=lambda pair: (order[pair[0]], order[pair[1]]),
    )
    left, rows = {frozenset(pair) for pair in missing}, list(begun)
    left.difference_update(*map(pairs_of, begun))
    while left:
        open_pairs = [pair for pair in missing if frozenset(pair) in left]
        best: tuple[int, list[str]] = (-1, [])
        for _ in range(tries):
            row = list(rng.choice(open_pairs))
            while len(row) < most:
                gains = {
                    name: sum(frozenset((name, other)) in left for other in row)
                    for name in features
                    if name not in row and fits(name, frozenset(row))
                }
                top = max(gains.values(), default=0)
                if not top:
                    break
                row.append(rng.choice([name for name, gain in gains.items() if gain == top]))
            best = max(best, (len(pairs_of(row) & left), row), key=lambda one: one[0])
        rows.append(tuple(sorted(best[1], key=order.__getitem__)))
        left -= pairs_of(rows[-1])
    return rows
