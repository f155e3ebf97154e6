"""Surfaces of soft solids, whose triangles follow the bodies that hold their corners.

They are made anew for each state: a tree over the triangles where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.arrays import aligned
from robosim.compiled.kinds import MESH
from robosim.compiled.rays import Targets
from robosim.compiled.records.ray import BOUNDS, TARGET
from robosim.description.mechanism import Mechanism
from robosim.description.soft import SoftMesh
from robosim.rays.hits import Hits, empty_hits
from robosim.rays.trees import Tree, grown, joined, shifted, tree_over
from robosim.runtime.handles import Handle
from robosim.validation import Array


class Skin:
    """The surface of a soft solid.

    Attributes
    ----------
    mesh : SoftMesh
    bodies : (n,) int, bodies of the nodes, the number of bodies for the world
    faces : (k, 3), nodes of the triangles
    """

    def __init__(self, robot: Mechanism, mesh: SoftMesh) -> None:
        index = {body.name: k for k, body in enumerate(robot.bodies)}
        world = len(robot.bodies)
        self.mesh, self.faces = mesh, mesh.surface
        self.bodies = np.array([world if b is None else index[b] for b in mesh.bodies])
        self._points = np.asarray(mesh.positions)

    def nodes(self, x: Array, R: Array) -> Array:
        """Positions (n, 3) of the nodes, for poses of the bodies and the world."""
        turned = np.einsum("nij,nj->ni", R[self.bodies], self._points)
        return np.asarray(x[self.bodies] + turned)


class Loose:
    """Meshes in the world, to cast rays against once.

    Attributes
    ----------
    arrays : Targets
    bodies : int, no body
    free : list of Handle
    """

    def __init__(self, meshes: Sequence[Array]) -> None:
        self.bodies, self.free = 0, list[Handle]()
        records = np.zeros(len(meshes), dtype=TARGET)
        bounds, trees = aligned(len(meshes), BOUNDS), list[Tree]()
        roots, filled = 0, 0
        for record, box, corners in zip(records, bounds["box"], meshes, strict=True):
            tree = shifted(tree_over(corners), roots, filled)
            lower, upper = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
            record["kind"], record["R"], record["root"] = MESH, np.eye(3), roots
            record["center"], record["half"] = (lower + upper) / 2, (upper - lower) / 2
            box[0], box[1] = lower, upper
            roots, filled = roots + len(tree.branches), filled + len(tree.corners)
            trees.append(tree)
        order, scene = grown(bounds, 1)
        self.arrays = Targets(
            records,
            np.concatenate([tree.corners for tree in trees]),
            joined([tree.branches for tree in trees]),
            np.zeros(0),
            scene,
            order,
            np.zeros(0, dtype=np.int64),
        )
        for array in self.arrays:
            array.setflags(write=False)


def meet_skins(
    skins: Sequence[Skin],
    first: int,
    poses: tuple[Array, Array],
    excluded: NDArray[np.int64],
    cast: Callable[[Loose, Hits], None],
    hits: Hits,
    row: int,
) -> None:
    """Put hits of a state's rays with soft solids in the place of hits that are farther.

    A triangle whose corners are all on bodies that rays pass is passed.

    Parameters
    ----------
    skins : sequence of Skin
    first : int, index of the first of them among the targets
    poses : (nb, 3) and (nb, 4)
    excluded : (nb + 1,) 1 for bodies that rays pass
    cast : casts the rays against meshes, with results for one state
    hits : Hits of axes (s, n)
    row : int, the state
    """
    x = np.vstack((poses[0], np.zeros(3)))
    R = np.concatenate((quaternions.rotation_matrix(poses[1]), np.eye(3)[None]))
    there, meshes, nodes = list[int](), list[Array](), list[Array]()
    for k, skin in enumerate(skins):
        at = skin.nodes(x, R)
        faces = skin.faces[~excluded[skin.bodies][skin.faces].all(axis=1)]
        corners = at[faces]
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        corners = corners[np.any(np.cross(b - a, c - a) != 0.0, axis=1)]
        if len(corners):
            there.append(k)
            meshes.append(corners)
            nodes.append(at)
    if not there:
        return
    found = empty_hits(1, hits.distance.shape[1])
    found.distance[:] = np.inf
    cast(Loose(meshes), found)
    nearer = np.flatnonzero(found.distance[0] < hits.distance[row])
    for n in nearer.tolist():
        k = int(found.geometry[0, n])
        skin, away = skins[there[k]], nodes[k] - found.point[0, n]
        used = np.unique(skin.faces)
        corner = used[np.argmin(np.einsum("nj,nj->n", away[used], away[used]))]
        hits.body[row, n], hits.geometry[row, n] = skin.bodies[corner], first + there[k]
    hits.distance[row, nearer] = found.distance[0, nearer]
    hits.point[row, nearer] = found.point[0, nearer]
    hits.normal[row, nearer] = found.normal[0, nearer]
