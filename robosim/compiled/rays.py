"""What rays are cast against, as flat arrays, and the scratch memory for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.records.ray import BOUNDS, BRANCH, FRAME, RAY, TARGET, WAITING
from robosim.validation import Array

DEEPEST = 128  # branches that wait while a ray looks at others; no tree is deeper


class Targets(NamedTuple):
    """The shapes of a robot and of its world, read-only."""

    shapes: NDArray[np.void]  # (m,) TARGET
    corners: Array  # (nt, 3, 3) [m], of the triangles of all meshes, in the axes of their shapes
    branches: NDArray[np.void]  # BRANCH of all meshes, whose items are triangles
    heights: Array  # [m] of all height fields
    scene: NDArray[np.void]  # BRANCH of shapes, whose bounds follow from the poses of the bodies
    order: NDArray[np.int64]  # items of these: shapes with bounds
    open: NDArray[np.int64]  # shapes without bounds


class Casting(NamedTuple):
    """The data of one call. No value in the scratch memory outlives the call."""

    targets: Targets
    bodies: NDArray[np.void]  # (nb + 1,) FRAME; the world is the last
    frames: NDArray[np.void]  # (m,) FRAME of the shapes
    bounds: NDArray[np.void]  # (m,) BOUNDS of the shapes, world
    scene: NDArray[np.void]  # BRANCH, with bounds
    rays: NDArray[np.void]  # (2,) RAY in world axes, and in those of a shape
    waiting: NDArray[np.void]  # (2, DEEPEST) WAITING, of the scene and of a mesh
    excluded: NDArray[np.int64]  # (m,) 1 for shapes that rays pass


def make_casting(targets: Targets, bodies: int) -> Casting:
    """Scratch memory for targets on a number of bodies."""
    frames = aligned(bodies + 1, FRAME)
    frames["R"][bodies] = np.eye(3)
    scene = aligned(len(targets.scene), BRANCH)
    scene[:] = targets.scene
    return Casting(
        targets,
        frames,
        aligned(len(targets.shapes), FRAME),
        aligned(len(targets.shapes), BOUNDS),
        scene,
        aligned(2, RAY),
        aligned((2, DEEPEST), WAITING),
        np.zeros(len(targets.shapes), dtype=np.int64),
    )


def empty_casting() -> Casting:
    """A casting without shapes, with the types of all others."""
    none = Targets(
        np.zeros(0, dtype=TARGET),
        np.zeros((0, 3, 3)),
        np.zeros(0, dtype=BRANCH),
        np.zeros(0),
        np.zeros(0, dtype=BRANCH),
        np.zeros(0, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
    )
    for array in none:
        array.setflags(write=False)
    return make_casting(none, 0)
