"""Elastic solids of tetrahedra, stable neo-Hookean [Smith2018].

Nodes are particles, or points of bodies, as those of a `Strand`. With nodes x_a of an element, and
gradients g_a of their shape functions, F = sum x_a g_a^T maps the rest shape to the element. The
energy of the element is its volume times

    psi(F) = mu/2 (|F|^2 - 3) + lambda/2 (J - alpha)^2 - mu/2 log(|F|^2 + 1),   J = det F,

with alpha = 1 + 3 mu / (4 lambda), so that the rest shape is in equilibrium. The energy is finite
for flat and inverted elements, which recover. The energy's mu and lambda are 4/3 and 5/6 of the
shear modulus (lambda above Lame's), so that small strains have the given Young's modulus and
Poisson's ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.strands import Nodes, check_spacing, checked_points, index
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, checked_numbers, frozen_array, read_only

_FACES = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))  # counterclockwise from outside


@dataclass(frozen=True, eq=False)
class Soft(Frozen):
    """An elastic solid of tetrahedra, whose nodes are particles called ``<name>_<node>``.

    Attributes
    ----------
    name : str
    nodes : (n, 3) [m]
        In world coordinates, where the mechanism is at home and the solid without stress.
    tetrahedra : (m, 4)
        Nodes of each element: from outside of the face that the last one is opposite to, the
        others go round clockwise.
    young : float [Pa], Young's modulus
    poisson : float, Poisson's ratio, from 0 to below 0.5
    density : float [kg/m^3]
        Each node has a quarter of the masses of its elements.
    attached : mapping of node to the name of a body or link, or to None for the world
        These nodes move with their body and add to its inertia, as those of a `Strand`.

    Raises
    ------
    ModelError
        For an element that is inside out, flat or of unknown nodes, with its index. For a node of
        no element, numbers out of range, or a solid without free nodes.
    """

    name: str
    nodes: ArrayLike
    tetrahedra: ArrayLike
    young: float
    poisson: float
    density: float
    attached: Mapping[int, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        element = f"soft '{self.name}'"
        points = checked_points(self.nodes, 1, 4, element)
        numbers = checked_numbers(self, element, ("young", "density"), ("poisson",))
        if numbers["poisson"] >= 0.5:
            raise ModelError(
                f"poisson must be from 0 to below 0.5, not {numbers['poisson']:g}", element=element
            )
        self._set(
            nodes=points,
            tetrahedra=_elements(self.tetrahedra, len(points), element),
            attached={index(k, len(points), element): b for k, b in self.attached.items()},
            **numbers,
        )
        check_shapes(np.asarray(self.tetrahedra), points, element)
        check_spacing(self.particles(), element)

    def particles(self) -> Nodes:
        """Particles and springs of the solid, without its `SoftMesh`."""
        points = np.asarray(self.nodes)
        tetrahedra = np.asarray(self.tetrahedra)
        _, volumes = shapes_of(tetrahedra, points)
        masses = np.zeros(len(points))
        np.add.at(masses, tetrahedra, self.density * volumes[:, None] / 4)
        return Nodes(
            self.name,
            tuple(f"{self.name}_{k}" for k in range(len(points))),
            points,
            masses,
            self.attached,
            size=0.1 * float(np.cbrt(6 * volumes.min())),
        )

    def mesh(self, ends: Sequence[tuple[str | None, Array]]) -> SoftMesh:
        """The `SoftMesh` with nodes at these points of bodies."""
        return SoftMesh(
            self.name,
            tuple(body for body, _ in ends),
            np.array([point for _, point in ends]),
            self.tetrahedra,
            self.nodes,
            self.young,
            self.poisson,
            self.density,
        )


@dataclass(frozen=True, eq=False)
class SoftMesh(Frozen):
    """Elements between points of bodies; a mechanism creates it for a `Soft`.

    Attributes
    ----------
    name : str
    bodies : tuple of str or None (n,)
        The body of each node; None for the world.
    positions : (n, 3) [m]
        Positions of nodes, in axes of these bodies from the centre of mass, or in the world.
    tetrahedra : (m, 4), rest : (n, 3) [m]
        Nodes of each element, and their positions without stress.
    young, poisson, density : float, as those of a `Soft`
    """

    name: str
    bodies: tuple[str | None, ...]
    positions: ArrayLike
    tetrahedra: ArrayLike
    rest: ArrayLike
    young: float
    poisson: float
    density: float

    def __post_init__(self) -> None:
        element = f"soft '{self.name}'"
        n = len(self.bodies)
        rest = frozen_array(self.rest, (n, 3), "rest", element)
        self._set(
            bodies=tuple(self.bodies),
            positions=frozen_array(self.positions, (n, 3), "positions", element),
            tetrahedra=_elements(self.tetrahedra, n, element),
            rest=rest,
        )
        check_shapes(np.asarray(self.tetrahedra), rest, element)

    @property
    def moduli(self) -> tuple[float, float, float]:
        """mu [Pa], lambda [Pa] and alpha of the energy [Smith2018]."""
        shear = self.young / (2 * (1 + self.poisson))
        lame = self.young * self.poisson / ((1 + self.poisson) * (1 - 2 * self.poisson))
        mu, lam = 4 / 3 * shear, lame + 5 / 6 * shear
        return mu, lam, 1 + 0.75 * mu / lam

    @cached_property
    def shapes(self) -> tuple[Array, Array]:
        """Gradients (m, 4, 3) [1/m] of the shape functions, and volumes (m,) [m^3], at rest."""
        return shapes_of(np.asarray(self.tetrahedra), np.asarray(self.rest))

    def energy(self, points: ArrayLike) -> float:
        """Elastic energy [J] with the nodes at `points` (n, 3) [m]; zero without stress."""
        mu, lam, alpha = self.moduli
        gradients, volumes = self.shapes
        F = np.einsum("eai,eaj->eij", np.asarray(points)[np.asarray(self.tetrahedra)], gradients)
        square, J = np.einsum("eij,eij->e", F, F), np.linalg.det(F)
        strained = mu / 2 * (square - 3 - np.log((square + 1) / 4))
        strained += lam / 2 * ((J - alpha) ** 2 - (1 - alpha) ** 2)
        return float(volumes @ strained)

    @cached_property
    def surface(self) -> NDArray[np.int64]:
        """Triangles (k, 3) of nodes that belong to one element alone, seen from outside."""
        faces = np.asarray(self.tetrahedra)[:, np.array(_FACES)].reshape(-1, 3)
        _, inverse, counts = np.unique(
            np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True
        )
        return read_only(faces[counts[inverse.ravel()] == 1])


def shapes_of(tetrahedra: NDArray[np.int64], points: Array) -> tuple[Array, Array]:
    """Gradients (m, 4, 3) of the shape functions of elements, and their volumes (m,)."""
    corners = points[tetrahedra]
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)  # columns
    inner = np.linalg.inv(edges)
    gradients = np.concatenate((-inner.sum(axis=1, keepdims=True), inner), axis=1)
    return read_only(gradients), read_only(np.linalg.det(edges) / 6)


def _elements(value: Any, n: int, element: str) -> NDArray[np.int64]:
    try:
        found = np.array(value, dtype=np.int64)
        same = found.ndim == 2 and bool(np.all(found == np.asarray(value)))
    except (TypeError, ValueError, OverflowError):
        same = False
    if not same or found.shape[1] != 4 or not len(found):
        raise ModelError(
            "tetrahedra must be whole numbers of shape m x 4, the nodes of each", element=element
        )
    wrong = np.flatnonzero(np.any((found < 0) | (found >= n), axis=1))
    if len(wrong):
        k = int(wrong[0])
        raise ModelError(
            f"tetrahedron {k} has the nodes {found[k].tolist()}, and nodes are 0 to {n - 1}",
            element=element,
        )
    return read_only(found)


def check_shapes(tetrahedra: NDArray[np.int64], points: Array, element: str) -> None:
    """Refuse elements without a positive volume, and nodes of no element."""
    corners = points[tetrahedra]
    edges = corners[:, 1:] - corners[:, :1]
    volumes = np.linalg.det(edges) / 6
    size = np.linalg.norm(edges, axis=2).max(axis=1)
    for k in np.flatnonzero(volumes <= 1e-9 * size**3).tolist():
        nodes = tetrahedra[k].tolist()
        flat = abs(volumes[k]) <= 1e-9 * size[k] ** 3
        what = "is flat" if flat else "is inside out: exchange two of its nodes"
        raise ModelError(
            f"tetrahedron {k}, of the nodes {nodes}, {what} (its volume is {volumes[k]:.6g} m^3)",
            element=element,
        )
    idle = np.setdiff1d(np.arange(len(points)), tetrahedra)
    if len(idle):
        raise ModelError(
            f"node {idle[0]} is part of no tetrahedron, and so has no mass: leave it out",
            element=element,
        )
