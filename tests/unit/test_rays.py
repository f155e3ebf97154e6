"""Rays: what they ask for, what they leave as it was, and scenes and meshes of many parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import (
    Body,
    Geometry,
    Joint,
    Mechanism,
    ModelError,
    OptionError,
    Simulation,
    StateError,
)
from robosim.batch import BatchSimulation
from robosim.collision import HalfSpace, HeightField
from robosim.models.builders import chain, cube
from robosim.rays import Hits, Scene
from robosim.rays.targets import grown

DOWN = (0.0, 0.0, -1.0)
UNSEEN = Geometry("sphere", (0.5,), rgba=(1.0, 0.0, 0.0, 0.0))


@pytest.fixture(scope="module")
def a1():
    return robosim.load("a1")


def rays(n, seed=0, middle=(0.0, 0.0, 0.3)):
    rng = np.random.default_rng(seed)
    return middle + 0.4 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))


def assert_same(a: Hits, b: Hits) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def free(*shapes, obstacles=(), visuals=()):
    body = Body("b", 1.0, np.eye(3), collisions=shapes, visuals=visuals)
    joint = Joint("j", "floating", None, "b")
    return Mechanism("m", (body,), (joint,), obstacles=obstacles)


def test_what_a_ray_meets(a1):
    scene = Scene(a1)
    hits = scene.cast([(0.0, 0, 2), (9.0, 0, 2)], DOWN)
    trunk = a1.body_index("trunk")
    assert hits.body.tolist() == [trunk, len(a1.bodies)]
    assert [scene.targets[k].body for k in hits.geometry] == [a1.bodies[trunk].name, "world"]
    assert hits.distance[1] == 2.0
    assert hits.point[1].tolist() == [9.0, 0.0, 0.0]
    assert hits.normal.tolist() == [[0, 0, 1], [0, 0, 1]]
    np.testing.assert_allclose(hits.point[0], (0, 0, 2 - hits.distance[0]))


def test_shapes_of_results(a1):
    scene = Scene(a1)
    one = scene.cast((0.0, 0, 2), DOWN)
    assert one.distance.shape == ()
    assert one.point.shape == (3,)
    origins = np.tile((0.0, 0.0, 2.0), (5, 1))
    for o, d in ((origins, DOWN), ((0, 0, 2), np.tile(DOWN, (5, 1))), (origins[:1], [DOWN] * 5)):
        many = scene.cast(o, d)
        assert many.distance.shape == (5,)
        assert many.normal.shape == (5, 3)
        assert np.all(many.distance == one.distance)
    assert scene.cast(np.zeros((0, 3)), DOWN).distance.shape == (0,)
    reversed_rows = origins[::-1]
    assert_same(scene.cast(reversed_rows, DOWN), scene.cast(origins, DOWN))
    origins.setflags(write=False)
    assert_same(scene.cast(origins, DOWN), scene.cast(origins.tolist(), DOWN))


@pytest.mark.parametrize(
    ("origins", "directions", "told"),
    [
        ((0, 0, 1), (0, 0, 0), "direction of ray 0 must not be zero"),
        ([(0, 0, 1)] * 3, [DOWN, DOWN, (0, 0, 0)], "direction of ray 2 must not be zero"),
        ([(0, 0, 1), (0, np.nan, 1)], DOWN, r"origin of ray 1 must be finite.*nan"),
        ((0, 0, 1), [DOWN, (0, 0, np.inf)], r"direction of ray 1 must be finite.*inf"),
        ((0, 0, np.inf), DOWN, "origin of ray 0 must be finite"),
        ((0, 0), DOWN, r"origins must have shape \(3,\) or \(n, 3\), not \(2,\)"),
        (1.0, DOWN, "origins must have shape"),
        ((0, 0, 1), np.zeros((2, 2, 3)), "directions must have shape"),
        (np.zeros((2, 3)), np.ones((3, 3)), "2 origins and 3 directions"),
        ("here", DOWN, "origins must be numbers"),
        ((0, 0, 1), None, "directions must"),
    ],
)
def test_bad_rays_are_refused(a1, origins, directions, told):
    sim = Simulation(a1)
    for cast in (Scene(a1).cast, sim.cast):
        with pytest.raises(StateError, match=told):
            cast(origins, directions)


@pytest.mark.parametrize("most", [0, -1.0, np.nan, "far", None])
def test_bad_distances_are_refused(a1, most):
    with pytest.raises(OptionError, match="max_distance must be a positive number"):
        Scene(a1).cast((0, 0, 1), DOWN, max_distance=most)


def test_other_bad_options_are_refused(a1):
    scene = Scene(a1)
    with pytest.raises(ModelError, match="no body or frame 'trunks'"):
        scene.cast((0, 0, 1), DOWN, exclude="trunks")
    with pytest.raises(OptionError, match="exclude must be names of bodies, not 3"):
        scene.cast((0, 0, 1), DOWN, exclude=[3])
    with pytest.raises(OptionError, match="threads"):
        scene.cast((0, 0, 1), DOWN, threads=0)
    with pytest.raises(OptionError, match="geometry must be one of collision, visual"):
        Scene(a1, "seen")
    with pytest.raises(OptionError, match="geometry must be one of collision, visual"):
        Simulation(a1).cast((0, 0, 1), DOWN, geometry="seen")
    with pytest.raises(StateError, match="q must have shape"):
        scene.at(np.zeros(3))


def test_tiny_and_huge_directions_are_directions(a1):
    scene = Scene(a1)
    for length in (1e-300, 1e-160, 1e160, 1e300):
        assert (
            scene.cast((0.0, 0, 2), (0, 0, -length)).distance
            == scene.cast((0.0, 0, 2), DOWN).distance
        )


def test_excluded_bodies_are_passed(a1):
    scene = Scene(a1)
    through = scene.cast((0.0, 0, 2), DOWN, exclude="trunk")
    assert through.body == len(a1.bodies)
    assert through.distance == 2.0
    frame = next(f.name for f in a1.body("trunk").frames[1:])
    assert scene.cast((0.0, 0, 2), DOWN, exclude=[frame]).body == len(a1.bodies)
    assert scene.cast((0.0, 0, 2), DOWN, exclude=("trunk", "world")).body == -1
    assert scene.cast((0.0, 0, 2), DOWN, exclude="world").body == a1.body_index("trunk")
    assert scene.cast((0.0, 0, 2), DOWN).body == a1.body_index("trunk")


def test_what_is_farther_counts_as_nothing(a1):
    scene = Scene(a1)
    origins, ways = rays(500)
    every = scene.cast(origins, ways)
    near = scene.cast(origins, ways, max_distance=0.5)
    within = every.distance < 0.5
    assert 0.1 < within.mean() < 0.9
    np.testing.assert_array_equal(near.distance, np.where(within, every.distance, np.inf))
    np.testing.assert_array_equal(near.geometry, np.where(within, every.geometry, -1))


def test_threads_change_nothing(a1):
    scene = Scene(a1)
    origins, ways = rays(4000)
    assert_same(scene.cast(origins, ways), scene.cast(origins, ways, threads=3))
    ways[3333] = 0.0
    ways[1111] = np.nan
    with pytest.raises(StateError, match="ray 1111"):
        scene.cast(origins, ways, threads=3)


def test_what_one_sees_is_not_what_collides():
    robot = free(Geometry("sphere", (0.2,)), visuals=(Geometry("sphere", (0.1,)), UNSEEN))
    robot = replace(robot, world_visuals=(Geometry("box", (0.2, 0.2, 0.2), (0.0, 0.0, -1.0)),))
    far = Scene(robot).cast((0, 0, 3), DOWN), Scene(robot, "visual").cast((0, 0, 3), DOWN)
    np.testing.assert_allclose([one.distance for one in far], (2.8, 2.9), rtol=1e-15)
    sim = Simulation(robot)
    assert sim.cast((0, 0, 3), DOWN, geometry="visual").distance == far[1].distance
    passed = sim.cast((0, 0, 3), DOWN, geometry="visual", exclude="b")
    assert passed.distance == pytest.approx(3.9, rel=1e-15)
    assert passed.body == 1
    assert np.isinf(sim.cast((0, 0, 3), DOWN, exclude="b").distance)


def test_soft_solids_are_met_where_their_nodes_are():
    nodes = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    held = {0: None, 1: None, 2: None}
    soft = robosim.elements.Soft("s", nodes, [(0, 1, 2, 3)], 1e5, 0.3, 1e3, held)
    robot = Mechanism("m", (), (), soft=soft, obstacles=(HalfSpace(position=(0, 0, -1)),))
    scene = Scene(robot, "visual")
    hit = scene.cast((0.2, 0.2, 3), DOWN)
    # The plane x + y + z = 1.
    assert hit.distance == pytest.approx(2.4, rel=1e-14)
    np.testing.assert_allclose(hit.normal, np.full(3, 3**-0.5), rtol=1e-14)
    assert scene.targets[hit.geometry].name == "s"
    assert robot.bodies[scene.cast((0.05, 0.05, 3), DOWN).body].name != "world"
    assert Scene(robot).cast((0.2, 0.2, 3), DOWN).distance == pytest.approx(4.0)
    sim = Simulation(robot, 1e-3)
    sim.set_state([0.1, 0.0, 1.0])
    batch = robosim.BatchSimulation(robot, 2, 1e-3, lanes=False)
    batch.set_state([[0.0, 0, 0], [0.1, 0, 1]])
    a, b, c = nodes[1], nodes[2], nodes[3] + (0.1, 0.0, 1.0)
    n = np.cross(b - a, c - a)
    height = a[2] - (n[0] * (0.2 - a[0]) + n[1] * (0.2 - a[1])) / n[2]
    for exclude in ((), "world"):
        seen = sim.cast((0.2, 0.2, 3), DOWN, geometry="visual", exclude=exclude)
        assert seen.distance == pytest.approx(3 - height, rel=1e-12)
        both = batch.cast((0.2, 0.2, 3), DOWN, geometry="all", exclude=exclude)
        np.testing.assert_allclose(both.distance, (2.4, 3 - height), rtol=1e-12)


def test_shapes_without_a_surface_are_left_out():
    flat = Geometry("mesh", vertices=np.eye(3), faces=[(0, 0, 1), (1, 1, 1)])
    scene = Scene(free(Geometry("sphere", (0.0,)), flat, Geometry("sphere", (0.1,))))
    assert [one.geometry.size for one in scene.targets] == [(0.1,)]
    assert np.isinf(Scene(free()).cast((0, 0, 1), DOWN).distance)


def test_a_body_that_is_called_world():
    body = Body("world", 1.0, np.eye(3), collisions=(Geometry("sphere", (0.2,)),))
    robot = Mechanism(
        "m", (body,), (Joint("j", "floating", None, "world"),), obstacles=(HalfSpace(),)
    )
    assert Scene(robot).cast((0, 0, 3), DOWN).body == 0
    assert Scene(robot).cast((0, 0, 3), DOWN, exclude="world").body == -1


MADE = {
    "Simulation": lambda: Simulation(cube(), 1e-3),
    "a world": lambda: Simulation(cube().add(Geometry("sphere", (0.1,)), (0, 0, 2.0), mass=1.0)),
    "MinimalSimulation": lambda: robosim.MinimalSimulation(chain(3)),
    "ReducedSimulation": lambda: robosim.ReducedSimulation(chain(3)),
}


@pytest.mark.parametrize("kind", MADE)
def test_simulations_cast_from_their_knot_and_stay_as_they_are(kind):
    sim, other = MADE[kind](), MADE[kind]()
    v = np.random.default_rng(1).normal(size=sim.robot.nv)
    for one in (sim, other):
        one.set_state(v=0.3 * v)
    for _ in range(3):
        sim.run(0.003, "zero")
        other.run(0.003, "zero")
        origins, ways = rays(300, 2, np.asarray(sim.state.x)[0])
        hits = sim.cast(origins, ways)
        there = Scene(sim.robot).at(sim.q).cast(origins, ways)
        np.testing.assert_allclose(hits.distance, there.distance, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(hits.body, there.body)
        assert sim.q.tobytes() == other.q.tobytes()
        assert sim.v.tobytes() == other.v.tobytes()
    assert np.isfinite(hits.distance).any() or kind.startswith(("Minimal", "Reduced"))


@pytest.mark.parametrize("lanes", [False, True])
def test_a_batch_casts_as_its_states_do(a1, lanes):
    terrain = HeightField(0.02 * np.random.default_rng(0).random((9, 9)), (4.0, 4.0))
    robot = a1 if lanes else a1.with_contacts([terrain])
    batch, beside = (BatchSimulation(robot, 9, 2e-3, lanes=lanes, threads=2) for _ in range(2))
    rng = np.random.default_rng(3)
    q = batch.q.copy()
    q[:, 7:] += 0.1 * rng.normal(size=(9, 12))
    for one in (batch, beside):
        one.set_state(q)
    origins, ways = rays(9 * 400)
    origins, ways = origins.reshape(9, 400, 3), ways.reshape(9, 400, 3)
    run, run_beside = batch.bind(2, controller="stand"), beside.bind(2, controller="stand")
    for _ in range(3):
        run.step()
        run_beside.step()
        hits = batch.cast(origins, ways, exclude="trunk")
        shared = batch.cast(origins[0], DOWN)
        assert batch.q.tobytes() == beside.q.tobytes()
    assert any(group.is_ahead for group in batch._stepping.groups.values()) == lanes
    for i in range(9):
        sim = beside[i]
        assert_same(Hits(*(one[i] for one in hits)), sim.cast(origins[i], ways[i], exclude="trunk"))
        assert_same(Hits(*(one[i] for one in shared)), sim.cast(origins[0], DOWN))
    assert batch.cast((0, 0, 2), DOWN).distance.shape == (9,)
    assert batch.cast((0, 0, 2), DOWN).point.shape == (9, 3)
    run.step()
    run_beside.step()
    assert batch.q.tobytes() == beside.q.tobytes()


def test_states_with_other_shapes_meet_their_own():
    radii = (0.1, 0.2, 0.2, 0.1, 0.3)
    shapes = {radius: Geometry("sphere", (radius,)) for radius in radii}
    batch = BatchSimulation([free(shapes[radius]) for radius in radii], lanes=False)
    hits = batch.cast([(0.0, 0, 3)], DOWN)
    np.testing.assert_allclose(hits.distance[:, 0], 3 - np.array(radii), rtol=1e-15)
    batch.set_robots(free(shapes[0.3]), index=0)
    assert batch.cast((0.0, 0, 3), DOWN).distance[0] == pytest.approx(2.7, rel=1e-15)


def test_a_bad_ray_of_a_batch_is_named():
    batch = BatchSimulation(free(Geometry("sphere", (0.1,))), 3, lanes=False)
    ways = np.tile(DOWN, (3, 4, 1))
    ways[2, 1] = 0.0
    with pytest.raises(StateError, match="direction of ray 1 of state 2 must not be zero"):
        batch.cast((0, 0, 1), ways)
    with pytest.raises(StateError, match=r"\(3,\), \(n, 3\) or \(3, n, 3\), not \(2, 4, 3\)"):
        batch.cast((0, 0, 1), ways[:2])


def scattered(n, rng):
    """Shapes of all kinds that are anywhere, many of them at one place."""
    made = []
    for k in range(n):
        q = rng.normal(size=4)
        place = rng.normal(size=3) if k % 4 else np.ones(3), q / np.linalg.norm(q)
        size = rng.uniform(0.05, 0.4, 3)
        kind = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh")[k % 6]
        if kind == "mesh":
            made.append(Geometry(kind, (), *place, vertices=rng.normal(size=(5, 3)) * size,
                                 faces=[(0, 1, 2), (1, 2, 3), (4, 0, 2)]))  # fmt: skip
        else:
            width = {"sphere": 1, "cylinder": 2, "capsule": 2}.get(kind, 3)
            made.append(Geometry(kind, tuple(size[:width]), *place))
    return made


def test_a_scene_of_many_shapes_is_the_nearest_of_each():
    rng = np.random.default_rng(4)
    shapes = scattered(70, rng)
    origins = 2.0 * rng.normal(size=(2000, 3))
    ways = rng.normal(size=(2000, 3)) - origins
    each = [Scene(free(shape)) for shape in shapes]
    whole = Scene(free(*shapes))
    for q in np.vstack((whole.q, [(0.5, -0.2, 0.3, 0.5, -0.5, 0.5, 0.5)])):
        hits = whole.at(q).cast(origins, ways)
        alone = np.array([one.at(q).cast(origins, ways).distance for one in each])
        np.testing.assert_array_equal(hits.distance, alone.min(axis=0))
        found = np.isfinite(hits.distance)
        assert 0.1 < found.mean() < 0.95
        np.testing.assert_array_equal(hits.geometry[found], alone.argmin(axis=0)[found])


def by_triangle(corners, o, d):
    """The least distance along unit vectors to any triangle, by barycentric coordinates."""
    e, f = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    best = np.full(len(o), np.inf)
    for k, (start, way) in enumerate(zip(o, d, strict=True)):
        p, s = np.cross(way, f), start - corners[:, 0]
        with np.errstate(all="ignore"):
            scale = 1.0 / np.sum(p * e, axis=1)
            u, q = np.sum(s * p, axis=1) * scale, np.cross(s, e)
            v, t = (q @ way) * scale, np.sum(f * q, axis=1) * scale
        inside = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
        best[k] = t[inside].min(initial=np.inf)
    return best


@pytest.mark.parametrize("n", [1, 2, 4, 5, 9, 3000])
def test_a_soup_of_triangles(n):
    rng = np.random.default_rng(n)
    corners = rng.normal(size=(n, 1, 3)) + 0.3 * rng.normal(size=(n, 3, 3))
    corners[: n // 3] = corners[0]  # the same one many times
    shape = Geometry("mesh", vertices=corners.reshape(-1, 3), faces=np.arange(3 * n).reshape(-1, 3))
    aim = corners.mean(axis=1)[rng.integers(0, n, 300)] + 0.05 * rng.normal(size=(300, 3))
    origins = 3.0 * rng.normal(size=(300, 3))
    ways = aim - origins
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    found = Scene(free(shape)).cast(origins, ways).distance
    expected = by_triangle(corners, origins, ways)
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("ratio", [1.0, 1.7, 8.0])
def test_trees_are_complete_and_not_too_deep(ratio):
    """Also of items that lie at one place, and that double their distance from one to the next."""
    n = 300
    bounds = np.zeros(n, dtype=robosim.compiled.records.ray.BOUNDS)
    places = ratio ** np.arange(n)[:, None] * np.ones(3)
    bounds["box"][:, 0], bounds["box"][:, 1] = places, 1.1 * places
    order, branches = grown(bounds, 4)
    assert sorted(order) == list(range(n))
    depth, left, seen = 0, [(0, 1)], []
    while left:
        at, level = left.pop()
        depth = max(depth, level)
        for c in range(2):
            child, count = branches["child"][at, c], branches["count"][at, c]
            items = order[child : child + count]
            seen += items.tolist()
            assert count <= 4
            if child >= 0 and count == 0:
                left.append((child, level + 1))
                below = branches["box"][child]
                assert np.all(branches["box"][at, c, 0] == below[:, 0].min(axis=0))
            elif count:
                assert np.all(branches["box"][at, c, 1] == bounds["box"][items, 1].max(axis=0))
    assert sorted(seen) == list(range(n))
    assert depth < robosim.compiled.rays.DEEPEST
