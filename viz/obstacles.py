"""Obstacles of the world as shapes to draw, in world coordinates."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, HalfSpace, HeightField, TriangleMesh

COLOUR = (0.62, 0.67, 0.58, 1.0)
SEE_THROUGH = (*COLOUR[:3], 0.65)
HALF_WIDTH = 10.0  # [m], of the square that is drawn of a half-space


def is_ground(obstacle: AnyShape) -> bool:
    """Whether an obstacle is the half-space below z = 0, which the viewer draws as the ground."""
    if not isinstance(obstacle, HalfSpace):
        return False
    upright = np.allclose(obstacle.normal, (0, 0, 1), atol=1e-12)
    return upright and abs(np.asarray(obstacle.point)[2]) < 1e-12


def is_solid(robot: Mechanism) -> bool:
    """Whether the plane z = 0 supports something."""
    return bool(robot.contacts) or any(is_ground(obstacle) for obstacle in robot.obstacles)


def draws_ground(robot: Mechanism) -> bool:
    """Whether the ground is drawn: it is solid, or there is nothing else to stand on."""
    return is_solid(robot) or not robot.obstacles


def drawn_obstacles(robot: Mechanism) -> tuple[Geometry, ...]:
    """Shapes to draw without the ground; a half-space is a large square of its surface."""
    return tuple(_drawn(obstacle) for obstacle in robot.obstacles if not is_ground(obstacle))


def _drawn(obstacle: AnyShape) -> Geometry:
    if isinstance(obstacle, HalfSpace):
        return _square(obstacle)
    if isinstance(obstacle, HeightField):
        return _field(obstacle)
    return obstacle.geometry if isinstance(obstacle, TriangleMesh) else obstacle


def _square(plane: HalfSpace) -> Geometry:
    normal = np.asarray(plane.normal)
    across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    across /= np.linalg.norm(across)
    axes = np.column_stack((across, np.cross(normal, across), normal))
    return Geometry(
        "mesh",
        position=plane.point,
        quaternion=quaternions.from_matrix(axes),
        vertices=HALF_WIDTH * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]),
        faces=np.array([[0, 1, 2], [0, 2, 3]]),
        rgba=SEE_THROUGH,
        name=plane.name,
    )


def _field(field: HeightField) -> Geometry:
    """Two triangles for each cell, with the same diagonal as in contact detection."""
    heights = np.asarray(field.heights)
    nx, ny = heights.shape
    x, y = (np.linspace(-s / 2, s / 2, n) for s, n in zip(field.size, (nx, ny), strict=True))
    grid = np.stack((*np.meshgrid(x, y, indexing="ij"), heights), axis=-1)
    corner = (np.arange(nx - 1)[:, None] * ny + np.arange(ny - 1)).reshape(-1, 1)
    lower, upper = corner + np.array([0, ny, ny + 1]), corner + np.array([0, ny + 1, 1])
    return Geometry(
        "mesh",
        position=field.position,
        quaternion=field.quaternion,
        vertices=grid.reshape(-1, 3),
        faces=np.vstack((lower, upper)),
        rgba=COLOUR,
        name=field.name,
    )
