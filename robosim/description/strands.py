"""Strands and nets of particles with springs between them [Sueda, Sect. 2.7].

A particle is a body that does not rotate. `Mechanism(soft=...)` converts strands and nets to
bodies, joints and springs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError
from robosim.validation import Array, Frozen, checked_numbers, frozen_array


class Nodes(NamedTuple):
    """Data from which a mechanism creates particles, springs and elements.

    Attributes
    ----------
    name : str
    names : tuple of str
        Name of each node, and of its particle.
    points : (n, 3) [m], in the world, at home
    masses : (n,) [kg]
    attached : mapping of node to body, or to None for the world
    lines : tuple of pairs of nodes
        Pairs of nodes with a spring between them.
    stretch : float
        Distances at home over rest lengths.
    stiffness, damping : float [J], [J s]
        Stiffness by the strain of a line, and damping by the strain's rate.
    size : float [m]
        Radius of the ball that a particle is drawn as.
    """

    name: str
    names: tuple[str, ...]
    points: Array
    masses: Array
    attached: Mapping[int, str | None]
    lines: tuple[tuple[int, int], ...] = ()
    stretch: float = 1.0
    stiffness: float = 0.0
    damping: float = 0.0
    size: float = 0.0


def checked_points(value: ArrayLike, n_axes: int, least: int, element: str) -> Array:
    """Points (..., 3) [m] along `n_axes` axes, each with at least `least` points."""
    shape = np.shape(value)
    if len(shape) != n_axes + 1 or shape[-1] != 3 or min(shape[:-1]) < least:
        wanted = " x ".join(["n"] * n_axes + ["3"])
        raise ModelError(
            f"points must be numbers of shape {wanted}, n at least {least}, not {shape}",
            element=element,
        )
    return frozen_array(value, shape, "points", element)


def check_spacing(nodes: Nodes, element: str) -> None:
    """Refuse springs without length, and elements without free nodes."""
    for a, b in nodes.lines:
        if np.array_equal(nodes.points[a], nodes.points[b]):
            raise ModelError(
                f"nodes {a} and {b} are at the same point {nodes.points[a].tolist()}: "
                "a spring between them has no length to be strained from",
                element=element,
            )
    if len(nodes.attached) == len(nodes.points):
        raise ModelError("all of its nodes are attached: leave one of them free", element=element)


@dataclass(frozen=True, eq=False)
class Strand(Frozen):
    """Particles in series, with a spring from each to the next [Sueda, Eqs. 2.84 to 2.86].

    A spring with the rest length L and the strain e = (l - L) / L has the energy K e^2 / 2. The
    spring equals a `PointSpring` with the stiffness K / L^2 and the damping D / L^2. Particles and
    their joints are called ``<name>_0``, ``<name>_1`` and so on; attached nodes have none.

    Attributes
    ----------
    name : str
    points : (n, 3) [m]
        Nodes in world coordinates, where the mechanism is at home.
    stiffness : float [J]
        K of each spring: the axial stiffness E A [N] times the rest length of a spring.
    mass : float [kg]
        Of all nodes together, each of which has as much. An attached node moves with its body and
        adds to the inertia of that [Sueda, Eqs. 2.87 to 2.89].
    damping : float [J s]
        D: force against a rate of the strain, as K is against the strain.
    attached : mapping of node to the name of a body or link, or to None for the world
        Nodes count from 0, or from -1 backwards. Ends that are not attached are free.
    stretch : float
        Distances between `points` over rest lengths: above 1 the strand is taut.

    Raises
    ------
    ModelError
        For points that coincide, numbers out of range, or unknown nodes. For a strand without free
        nodes, or with both ends on the same body, at which it cannot pull.
    """

    name: str
    points: ArrayLike
    stiffness: float
    mass: float
    damping: float = 0.0
    attached: Mapping[int, str | None] = field(default_factory=dict)
    stretch: float = 1.0

    def __post_init__(self) -> None:
        element = f"strand '{self.name}'"
        points = checked_points(self.points, 1, 2, element)
        self._set(points=points)
        self._set(
            **checked_numbers(self, element, ("stiffness", "mass", "stretch"), ("damping",)),
            attached={index(k, len(points), element): b for k, b in self.attached.items()},
        )
        ends = [self.attached.get(k) for k in (0, len(points) - 1)]
        if ends[0] is not None and ends[0] == ends[1]:
            raise ModelError(
                f"both of its ends are on body '{ends[0]}': attach one of them elsewhere, "
                "or leave it free",
                element=element,
            )
        check_spacing(self.particles(), element)

    def particles(self) -> Nodes:
        """Particles and springs for a mechanism."""
        points = np.asarray(self.points)
        n = len(points)
        return Nodes(
            self.name,
            tuple(f"{self.name}_{k}" for k in range(n)),
            points,
            np.full(n, self.mass / n),
            self.attached,
            tuple((k, k + 1) for k in range(n - 1)),
            self.stretch,
            self.stiffness,
            self.damping,
            0.1 * float(np.linalg.norm(np.diff(points, axis=0), axis=1).min()),
        )


@dataclass(frozen=True, eq=False)
class Net(Frozen):
    """Particles in rows and columns, with a spring from each to its neighbours.

    As a `Strand` in two directions. Particles are called ``<name>_<row>_<column>``.

    Attributes
    ----------
    name : str
    points : (rows, columns, 3) [m]
    stiffness, mass, damping, stretch : float
        As those of a `Strand`; the mass is that of all nodes together.
    attached : mapping of (row, column) to the name of a body or link, or to None for the world
        There are no springs between two nodes of the same body, or of the world.
    diagonals : bool
        Whether there are springs across each mesh as well, which resist shear.

    Raises
    ------
    ModelError
        As for a `Strand`.
    """

    name: str
    points: ArrayLike
    stiffness: float
    mass: float
    damping: float = 0.0
    attached: Mapping[tuple[int, int], str | None] = field(default_factory=dict)
    stretch: float = 1.0
    diagonals: bool = False

    def __post_init__(self) -> None:
        element = f"net '{self.name}'"
        points = checked_points(self.points, 2, 2, element)
        rows, columns = points.shape[:2]
        self._set(points=points)
        attached: dict[tuple[int, int], str | None] = {}
        for key, body in self.attached.items():
            if not isinstance(key, tuple) or len(key) != 2:
                raise ModelError(
                    f"nodes are (row, column), not {key!r}", element=element,
                )  # fmt: skip
            at = index(key[0], rows, element), index(key[1], columns, element)
            attached[at] = body
        numbers = checked_numbers(self, element, ("stiffness", "mass", "stretch"), ("damping",))
        self._set(attached=attached, **numbers)
        check_spacing(self.particles(), element)

    def particles(self) -> Nodes:
        """Particles and springs for a mechanism, row by row."""
        points = np.asarray(self.points)
        rows, columns = points.shape[:2]
        number = np.arange(rows * columns).reshape(rows, columns)
        pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
        if self.diagonals:
            pairs += [(number[:-1, :-1], number[1:, 1:]), (number[:-1, 1:], number[1:, :-1])]
        lines = [
            (int(a), int(b)) for p, q in pairs for a, b in zip(p.ravel(), q.ravel(), strict=True)
        ]
        flat = points.reshape(-1, 3)
        apart = [float(np.linalg.norm(flat[a] - flat[b])) for a, b in lines]
        return Nodes(
            self.name,
            tuple(f"{self.name}_{r}_{c}" for r in range(rows) for c in range(columns)),
            flat,
            np.full(len(flat), self.mass / len(flat)),
            {int(number[at]): body for at, body in self.attached.items()},
            tuple(lines),
            self.stretch,
            self.stiffness,
            self.damping,
            0.1 * min(apart),
        )


def index(key: Any, n: int, element: str) -> int:
    """An index among n, counted from 0, or backwards from -1."""
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or not -n <= key < n:
        raise ModelError(
            f"attaches node {key!r}, and nodes are 0 to {n - 1}, or -1 to {-n} from the end",
            element=element,
        )
    return int(key) % n
