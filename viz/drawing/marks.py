"""What a picture shows beside shapes: springs, soft solids, contact points and forces."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.validation import Array
from robosim.viz.drawing.parts import Gathered
from robosim.viz.scene import (
    MAX_CONTACTS,
    STANDARD_GRAVITY,
    Contacts,
    FrameEncoder,
    encode_skin,
    spring_ends,
)
from robosim.viz.shapes import Triangles, arc, turned

SPRING = (0.55, 0.57, 0.6)
SOFT = (0.3, 0.65, 0.55)
TOUCHING = (0.93, 0.42, 0.05)
FREE = (0.25, 0.5, 0.75)
# By the robot's size: radii of springs and of arrows.
SPRING_RADIUS = 0.0025
THIN = 0.0065
SEGMENTS = 12  # of the shapes of marks, which are small


class Placing(Protocol):
    """What marks are placed in."""

    @property
    def vertices(self) -> NDArray[np.float32]:
        """Vertices (nv, 3) [m] of all shapes."""
        ...

    def put(self, part: int, position: Array, axes: Array) -> None:
        """Show a part at a position (3,) [m] with scaled axes (3, 3), world."""
        ...

    def hide(self, part: int) -> None:
        """Do not show a part."""
        ...


class Marks:
    """Springs, surfaces of soft solids and, on request, contacts with their forces.

    Attributes
    ----------
    capacity : int
        Number of contacts that can be shown.
    """

    def __init__(self, gathered: Gathered, robot: Mechanism, forces: bool, world: int) -> None:
        self._robot, self._encoder = robot, FrameEncoder(robot)
        self._weight = robot.total_mass * STANDARD_GRAVITY
        self.capacity = MAX_CONTACTS if forces else 0
        rod = gathered.add_mesh(_turned_about_z([(1.0, 0.0, 1.0, 0.0), (1.0, 1.0, 1.0, 0.0)]))
        cone = gathered.add_mesh(_turned_about_z([(1.0, 0.0, 1.0, 1.0), (0.0, 1.0, 1.0, 1.0)]))
        ball = gathered.add_mesh(_ball())
        self._ends = np.array(spring_ends(robot)).reshape(-1, 8)
        self._springs = [gathered.add_part(rod, SPRING, body=world) for _ in self._ends]
        self._skins = [Skin(gathered, robot, k, world) for k in range(len(robot.soft_meshes))]
        marks = (ball, TOUCHING), (ball, FREE), (rod, TOUCHING), (cone, TOUCHING)
        self._arrows = [
            tuple(
                gathered.add_part(mesh, color, body=world, shown=False, casts=False)
                for mesh, color in marks
            )
            for _ in range(self.capacity)
        ]
        self._shown = 0

    def place(
        self,
        on: Placing,
        x: Array,
        R: Array,
        contacts: tuple[ArrayLike, ArrayLike] | None,
        size: float,
    ) -> None:
        """Place all marks for poses x (n, 3) and R (n, 3, 3), of which the world's is the last.

        Parameters
        ----------
        contacts : (positions, forces) or None
        size : float [m], of the robot
        """
        thin = SPRING_RADIUS * size
        for part, ends in zip(self._springs, self._ends, strict=True):
            a, b = (x[int(e[0])] + R[int(e[0])] @ e[1:] for e in (ends[:4], ends[4:]))
            on.put(part, a, _along(b - a, thin))
        for skin in self._skins:
            skin.place(on.vertices, x, R)
        if self.capacity:
            self._place_contacts(on, contacts, THIN * size, size)

    def _place_contacts(
        self,
        on: Placing,
        contacts: tuple[ArrayLike, ArrayLike] | None,
        thin: float,
        size: float,
    ) -> None:
        rows = np.zeros((0, 6)) if contacts is None else self._encoder.rows(Contacts(*contacts))
        for touching, free, shaft, head in self._arrows[: max(len(rows), self._shown)]:
            for part in (touching, free, shaft, head):
                on.hide(part)
        self._shown = len(rows)
        for (touching, free, shaft, head), row in zip(self._arrows, rows, strict=False):
            point, force = row[:3], row[3:]
            newtons = float(np.linalg.norm(force))
            if newtons == 0.0:
                on.put(free, point, 1.1 * thin * np.eye(3))
                continue
            on.put(touching, point, 1.6 * thin * np.eye(3))
            along = force / newtons
            length = min(0.7 * size * newtons / self._weight, 1.2 * size)
            tip = min(5 * thin, 0.5 * length)
            on.put(shaft, point, _along((length - tip) * along, thin))
            on.put(head, point + (length - tip) * along, _along(tip * along, 2.2 * thin))


class Skin:
    """The surface of a soft solid, whose vertices follow its nodes."""

    def __init__(self, gathered: Gathered, robot: Mechanism, k: int, world: int) -> None:
        skin = encode_skin(robot, robot.soft_meshes[k])
        nodes = np.array(skin["nodes"], dtype=float).reshape(-1, 4)
        self._bodies, self._points = nodes[:, 0].astype(int), nodes[:, 1:]
        none = np.zeros((len(nodes), 3), dtype=np.float32)
        faces = np.array(skin["faces"], dtype=np.uint32).reshape(-1, 3)
        mesh = gathered.add_mesh(Triangles(none, none, faces, None))
        self._begin = gathered.ranges(mesh[0][1])[0][0]
        gathered.add_part(mesh, SOFT, body=world, flat=True)

    def place(self, vertices: NDArray[np.float32], x: Array, R: Array) -> None:
        """Write the vertices for these poses."""
        at = x[self._bodies] + np.einsum("nij,nj->ni", R[self._bodies], self._points)
        vertices[self._begin : self._begin + len(at)] = at


def _along(vector: Array, radius: float) -> Array:
    """Axes (3, 3), scaled, of a mark of length 1 along z that is to go along a vector."""
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        return np.zeros((3, 3))
    z = vector / length
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.column_stack((radius * x, radius * np.cross(z, x), vector))


def _turned_about_z(profile: list[tuple[float, float, float, float]]) -> Triangles:
    return turned([np.array(profile)], SEGMENTS)


def _ball() -> Triangles:
    return turned([arc(1.0, 0.0, -90.0, 90.0, SEGMENTS // 2)], SEGMENTS)
