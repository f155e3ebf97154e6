"""Friction of geoms: sliding, torsional and rolling, as `condim` enables these.

In MuJoCo there is no friction with condim 1, sliding friction from 3 on, torsional friction from 4
on, and rolling friction with 6. A <pair> may have five numbers, with two for sliding and rolling.
Of those for rolling the first one is used here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from robosim.loaders.mjcf.nodes import Node

CONDIMS = (1, 3, 4, 6)
_OF_PAIRS = (1.0, 1.0, 0.005, 0.0001, 0.0001)


class Friction(NamedTuple):
    """Coefficients between two geoms, or of one.

    Attributes
    ----------
    sliding : float
    torsional, rolling : float [m]
    """

    sliding: float
    torsional: float = 0.0
    rolling: float = 0.0

    @property
    def turns(self) -> bool:
        """Whether there is torsional or rolling friction."""
        return self.torsional > 0 or self.rolling > 0

    def acting(self, condim: int) -> Friction:
        """The friction that is active with this condim."""
        least = (3, 4, 6)
        return Friction(*(f if condim >= n else 0.0 for f, n in zip(self, least, strict=True)))

    def below(self, *others: Friction) -> bool:
        """Whether any coefficient is lower than in all others."""
        return any(own < min(rest) for own, *rest in zip(self, *others, strict=True))


def highest(several: Iterable[Friction]) -> Friction:
    """The highest of each coefficient, of at least one friction."""
    return Friction(*map(max, zip(*several, strict=True)))


def lowest(several: Iterable[Friction]) -> Friction:
    """The lowest of each coefficient, of at least one friction."""
    return Friction(*map(min, zip(*several, strict=True)))


def geom_friction(node: Node) -> tuple[Friction, int]:
    """Coefficients of a geom, and its condim.

    Raises
    ------
    LoadError
        For a negative coefficient, or an invalid condim.
    """
    numbers = node.some_numbers("friction", (1.0, 0.005, 0.0001), fill=True)
    return Friction(*_not_negative(node, numbers.tolist())), _condim(node)


def pair_friction(node: Node) -> Friction:
    """The friction of a <pair>, which replaces the coefficients of its geoms.

    The sliding friction is the larger coefficient of two.

    Raises
    ------
    LoadError
        For a negative coefficient, or an invalid condim.
    """
    one, two, torsional, rolling, _ = _of_pair(node)
    return Friction(max(one, two), torsional, rolling).acting(_condim(node))


def sliding_by_direction(node: Node) -> tuple[float, float] | None:
    """Two different coefficients of sliding friction in a <pair>: along both tangents, or None."""
    one, two, *_ = _of_pair(node)
    return (one, two) if one != two and _condim(node) >= 3 else None


def rolls_by_direction(node: Node) -> bool:
    """Whether a <pair> has other rolling friction about one tangent than about the other."""
    *_, first, second = _of_pair(node)
    return first != second and _condim(node) == 6


def _of_pair(node: Node) -> list[float]:
    return _not_negative(node, node.some_numbers("friction", _OF_PAIRS, fill=True).tolist())


def _not_negative(node: Node, numbers: list[float]) -> list[float]:
    if min(numbers) < 0:
        raise node.error(f"'friction' must not be negative, not {numbers}")
    return numbers


def _condim(node: Node) -> int:
    condim = node.integer("condim", 3)
    if condim not in CONDIMS:
        raise node.error(f"'condim' cannot be {condim}", [str(n) for n in CONDIMS])
    return condim
