"""Mass, centre and inertia of bodies: from <inertial>, or from their geoms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robosim.description.inertial import Inertial
from robosim.loaders import inertials
from robosim.loaders.mjcf.compiler import Compiler
from robosim.loaders.mjcf.links import NOTHING
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose, rotation
from robosim.loaders.mjcf.tree import TreeBody

Array = NDArray[np.float64]


def read_inertials(bodies: Sequence[TreeBody], compiler: Compiler) -> list[Inertial]:
    """The inertial of each body in its frame; that of the world, the first one, is zero.

    Raises
    ------
    LoadError
        For a negative mass, or missing numbers.
    """
    found = [NOTHING, *(_bounded(_inertial(body, compiler), compiler) for body in bodies[1:])]
    total = sum(inertial.mass for inertial in found)
    if compiler.total_mass <= 0 or total <= 0:
        return found
    factor = compiler.total_mass / total
    return [Inertial(m * factor, center, factor * inertia) for m, center, inertia in found]


def _inertial(body: TreeBody, compiler: Compiler) -> Inertial:
    parts = [geom.inertial for geom in body.geoms if geom.inertial is not None]
    wanted = compiler.inertia_from_geoms
    if wanted is None:
        wanted = body.inertial is None
    if wanted and parts:
        return inertials.merge(parts)
    if body.inertial is not None:
        return _explicit(*body.inertial, compiler)
    return NOTHING


def _explicit(node: Node, frame: Pose, compiler: Compiler) -> Inertial:
    mass = node.number("mass")
    if mass < 0:
        raise node.error(f"mass must not be negative, not {mass}")
    place = frame @ Pose(rotation(node, compiler.angles), node.numbers("pos", count=3))
    if node.has("fullinertia"):
        if node.has("diaginertia"):
            raise node.error("has both 'diaginertia' and 'fullinertia'")
        xx, yy, zz, xy, xz, yz = node.numbers("fullinertia", count=6)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        inertia = np.diag(node.numbers("diaginertia", np.zeros(3)))
    inertia = place.R @ inertia @ place.R.T
    return Inertial(mass, place.p, (inertia + inertia.T) / 2)


def _bounded(inertial: Inertial, compiler: Compiler) -> Inertial:
    """An inertial with the smallest mass and moments of the file, corrected if the file says so."""
    mass = max(inertial.mass, compiler.least_mass)
    moments, axes = np.linalg.eigh(inertial.inertia)
    # Simulation refuses inertias that are not positive definite.
    bounded = np.maximum(moments, compiler.least_inertia) if compiler.least_inertia else moments
    if compiler.balance and bounded[0] + bounded[1] < bounded[2]:
        bounded = np.full(3, bounded.mean())
    if np.all(bounded == moments):
        return Inertial(mass, inertial.center, inertial.inertia)
    return Inertial(mass, inertial.center, (axes * bounded) @ axes.T)
