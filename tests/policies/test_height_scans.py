"""Scans of the ground: closed forms beside triangles, and beside what robots stand on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robosim import quaternions
from robosim.collision import HalfSpace, HeightField, TriangleMesh
from robosim.description.body import Geometry
from robosim.envs.tasks.a1_stairs import BEGIN, DEPTH, stairs
from robosim.errors import LoadError, ModelError
from robosim.policies import PolicyTask
from robosim.policies.layout import Layout
from robosim.policies.observing import Observer
from robosim.policies.quantities import Reading
from robosim.rays.ground import Ground

TILTED = quaternions.from_rotation_vector(np.array((0.2, -0.3, 0.5)))


def on(robot: Any, *obstacles: Any) -> Ground:
    return Ground(robot.with_contacts(obstacles=obstacles, ground=False))


def test_a_height_field_is_where_its_heights_are(a1: Any) -> None:
    random = np.random.default_rng(1)
    heights = random.uniform(-0.2, 0.3, (9, 6))
    yaw = quaternions.from_rotation_vector(np.array((0.0, 0.0, 0.7)))
    R = quaternions.rotation_matrix(yaw)
    field = HeightField(heights, (4.0, 2.5), position=(1.0, -2.0, 0.4), quaternion=yaw)
    x, y = np.meshgrid(np.linspace(-2, 2, 9), np.linspace(-1.25, 1.25, 6), indexing="ij")
    at = np.stack((x.ravel(), y.ravel(), heights.ravel()), axis=1) @ R.T + np.array((1.0, -2, 0.4))
    found = on(a1, field).heights(at[:, 0], at[:, 1])
    np.testing.assert_allclose(found, at[:, 2], atol=1e-12)
    # Between them, the triangles that the narrow phase has.
    places = random.uniform(-2.5, 2.5, (2, 500))
    places[0] += 1.0
    places[1] -= 2.0
    local = (np.stack(places, axis=1) - (1.0, -2.0)) @ R[:2, :2]
    u = (local / (4.0, 2.5) + 0.5) * (8, 5)
    inside = np.all((u >= 0) & (u <= (8, 5)), axis=1)
    expected = np.full(500, -np.inf)
    for k in np.flatnonzero(inside):
        i, j = np.minimum(u[k].astype(int), (7, 4))
        a, b = u[k] - (i, j)
        corner = heights[i + 1, j] if a >= b else heights[i, j + 1]
        first, last = heights[i, j], heights[i + 1, j + 1]
        low, high = (b, a) if a >= b else (a, b)
        expected[k] = 0.4 + first + (high - low) * (corner - first) + low * (last - first)
    np.testing.assert_allclose(on(a1, field).heights(*places), expected, atol=1e-12)
    assert 50 < np.isfinite(expected).sum() < 450


def test_a_ball_rests_where_the_scan_says() -> None:
    """A ball on a slope of a height field touches the plane that the scan finds."""
    from robosim import Simulation
    from robosim.models.builders import sphere

    slope = np.add.outer(0.1 * np.arange(5), 0.05 * np.arange(5))
    for quaternion in (quaternions.IDENTITY, TILTED):
        robot = sphere(radius=0.1).with_contacts(
            obstacles=HeightField(slope, (4.0, 4.0), quaternion=quaternion), ground=False
        )
        sim = Simulation(robot, 1e-3)
        q = np.array(robot.home)
        q[:2] = 0.13, -0.21
        q[2] = 3.0
        sim.place(q, gap=1e-3)
        scan = Ground(robot)
        x = sim.q[:3]
        dx, dy = (
            (scan.heights(x[0] + s, x[1] + t) - scan.heights(x[0] - s, x[1] - t)) / 2e-3
            for s, t in ((1e-3, 0.0), (0.0, 1e-3))
        )
        # The centre is a radius from the plane, along its normal.
        above = (x[2] - scan.heights(x[0], x[1])) / np.sqrt(1.0 + dx**2 + dy**2)
        assert above == pytest.approx(0.101, abs=1e-6)


VERTICES, FACES = (
    0.3 * np.random.default_rng(0).normal(size=(20, 3)),
    np.array([(0, 1, 2)]),
)  # a hull, of points
SHAPES = [
    Geometry("box", (0.6, 0.4, 0.3), (0.1, 0.2, 0.3), TILTED),
    Geometry("sphere", (0.4,), (0.1, 0.0, 0.3)),
    Geometry("ellipsoid", (0.5, 0.3, 0.2), (0.0, 0.1, 0.2), TILTED),
    Geometry("cylinder", (0.2, 0.7), (0.0, 0.1, 0.2), TILTED),
    Geometry("cylinder", (0.3, 0.5), (0.0, 0.1, 0.2)),
    Geometry("capsule", (0.2, 0.5), (0.0, 0.1, 0.2), TILTED),
    Geometry("mesh", (), (0.0, 0.1, 0.2), TILTED, vertices=VERTICES, faces=FACES),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
def test_shapes_are_hit_where_points_of_them_end(a1: Any, shape: Geometry) -> None:
    """The top is inside of the shape, and nothing above it is."""
    R = quaternions.rotation_matrix(np.asarray(shape.quaternion))

    def depth(points: np.ndarray) -> np.ndarray:
        """Positive inside."""
        p, size = (points - np.asarray(shape.position)) @ R, np.asarray(shape.size)
        if shape.kind == "box":
            return (size / 2 - np.abs(p)).min(axis=1)
        if shape.kind in ("sphere", "ellipsoid"):
            return 1.0 - np.linalg.norm(p / size, axis=1)
        if shape.kind == "mesh":
            from scipy.spatial import ConvexHull

            planes = ConvexHull(shape.vertices).equations
            return -(p @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        radial, along = np.hypot(p[:, 0], p[:, 1]), np.abs(p[:, 2])
        if shape.kind == "cylinder":
            return np.minimum(size[0] - radial, size[1] / 2 - along)
        return size[0] - np.hypot(radial, np.maximum(along - size[1] / 2, 0.0))

    x, y = np.random.default_rng(2).uniform(-0.8, 0.8, (2, 400))
    top = on(a1, shape).heights(x, y)
    hit = np.isfinite(top)
    assert 10 < hit.sum() < 390
    places = np.stack((x, y, np.where(hit, top, 0.0)), axis=1)
    np.testing.assert_allclose(depth(places[hit]), 0.0, atol=1e-9)
    for z in np.linspace(-1.5, 1.5, 301):
        places[:, 2] = z
        assert not (depth(places)[~hit | (z > top)] > 1e-9).any()


@pytest.mark.peer
def test_mujoco_has_the_same_surfaces(a1: Any) -> None:
    """Rays of MuJoCo, on obstacles that are written for it; heights of fields are floats there."""
    mujoco = pytest.importorskip("mujoco")
    from robosim.peers.mujoco_run import MuJoCoRun, Settings

    random = np.random.default_rng(3)
    field = HeightField(random.uniform(-0.2, 0.3, (6, 4)), (4.0, 2.5), (0.5, 0.5, -0.4), TILTED)
    for obstacle in (*SHAPES, field, HalfSpace((0.1, 0.2, 1.0), (0.0, 0.0, 0.3))):
        robot = a1.with_contacts(obstacles=obstacle, ground=False)
        run, q = MuJoCoRun(robot, 1e-3, Settings()), np.array(robot.home)
        q[2] = 60.0
        run.set_state(q)
        x, y = random.uniform(-0.8, 0.8, (2, 100))
        down, geom = np.array((0.0, 0.0, -1.0)), np.zeros(1, dtype=np.int32)
        ray = [mujoco.mj_ray(run.model, run.data, np.array((a, b, 20.0)), down, None, 1, -1, geom)
               for a, b in zip(x, y, strict=True)]  # fmt: skip
        there = np.where(np.array(ray) >= 0, 20.0 - np.array(ray), -np.inf)
        np.testing.assert_allclose(Ground(robot).heights(x, y), there, atol=1e-6)


def test_the_highest_surface_counts(a1: Any) -> None:
    plane = HalfSpace((0.0, -0.1, 1.0), (0.0, 0.0, 0.2))
    square = np.array([(0, 0, 0.5), (1, 0, 0.5), (1, 1, 0.9), (0, 1, 0.9)], dtype=float)
    mesh = TriangleMesh(
        Geometry("mesh", vertices=square, faces=np.array([(0, 1, 2), (0, 2, 3)]), name="ramp")
    )
    found = on(a1, plane, mesh).heights([0.5, 0.5, 3.0], [0.5, -1.0, 2.0])
    np.testing.assert_allclose(found, [0.7, 0.1, 0.4], atol=1e-12)
    # From below, and beside, there is nothing.
    under = TriangleMesh(
        Geometry("mesh", vertices=square, faces=np.array([(0, 2, 1), (0, 3, 2)]), name="lid")
    )
    assert on(a1, under).heights(0.5, 0.5) == -np.inf
    assert Ground(a1).heights(4.0, 5.0) == 0.0


def observed(robot: Any, q: np.ndarray, **options: Any) -> np.ndarray:
    task = PolicyTask.of({"observations": [{"height_scan": options}]})
    layout = Layout(robot, task)
    n = len(q)
    reading = Reading(np.zeros(n), q, np.zeros((n, 18)), np.zeros((n, 3)), np.zeros((n, 12)))
    return Observer(layout, n).observe(reading, np.ones(n, dtype=bool))


def test_a_robot_sees_the_stairs_before_it(a1: Any) -> None:
    robot = stairs(a1, 3, 0.1)
    q = np.tile(robot.home, (2, 1))
    q[:, :3] = [(0.3, 0.2, 0.4), (0.5, 0.0, 0.5)]
    q[1, 3:7] = quaternions.multiply(
        quaternions.from_rotation_vector(np.array((0.0, 0.0, np.pi / 2))),
        quaternions.from_rotation_vector(np.array((0.1, 0.2, 0.0))),
    )
    R = quaternions.rotation_matrix(q[1, 3:7])
    yaw = np.arctan2(R[1, 0], R[0, 0])
    for ordering in ("xy", "yx"):
        seen = observed(robot, q, size=[1.6, 1.0], resolution=0.1, ordering=ordering)
        x, y = np.linspace(-0.8, 0.8, 17), np.linspace(-0.5, 0.5, 11)
        grid = (
            [(a, b) for b in y for a in x] if ordering == "xy" else [(a, b) for a in x for b in y]
        )
        for i, turn in enumerate((0.0, yaw)):
            along = np.array([q[i, 0] + np.cos(turn) * a - np.sin(turn) * b for a, b in grid])
            ground = 0.1 * np.clip(np.floor((along - BEGIN) / DEPTH) + 1, 0, 3)
            edge = np.abs((along - BEGIN) / DEPTH - np.round((along - BEGIN) / DEPTH)) < 1e-9
            expected = (q[i, 2] - ground)[~edge]
            np.testing.assert_allclose(seen[i][~edge], expected, atol=1e-6)
    clipped = observed(robot, q, size=[0.2, 0.0], scale=5.0, offset=0.5, clip=[-0.05, 0.05])
    np.testing.assert_allclose(clipped[0], -0.25, atol=1e-6)


def test_what_a_scan_lacks_is_told(a1: Any) -> None:
    q = np.array([a1.home])
    np.testing.assert_allclose(observed(a1, q, points=5), a1.home[2], rtol=1e-6)
    with pytest.raises(LoadError, match="one of the keys 'size'"):
        observed(a1, q)
    with pytest.raises(LoadError, match=r"must be \[length, width\]"):
        observed(a1, q, size=[1.0])
    with pytest.raises(LoadError, match="xy, yx"):
        observed(a1, q, size=[1.0, 1.0], ordering="zx")
    with pytest.raises(ModelError, match="'points' are of level ground"):
        observed(stairs(a1, 2, 0.1), q, points=5)
