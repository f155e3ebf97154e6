"""Collision meshes that are not convex: divided into convex parts, measured, or refused by name."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

import robosim
from robosim import Body, Geometry, Joint, Mechanism, Simulation, quaternions
from robosim.cli import app
from robosim.controllers import PD
from robosim.errors import LoadError, MissingExtraError
from robosim.loaders import convex

EDGE = 0.1  # of the cubes that an L is made of [m]
L_PROFILE = EDGE * np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)


def l_shape() -> trimesh.Trimesh:
    """Three cubes in the shape of an L."""
    corners = np.vstack([np.column_stack((L_PROFILE, np.full(6, z))) for z in (0.0, EDGE)])
    caps = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    sides = [
        face
        for k in range(6)
        for face in ([k, (k + 1) % 6, 6 + (k + 1) % 6], [k, 6 + (k + 1) % 6, 6 + k])
    ]
    return trimesh.Trimesh(corners, np.vstack((caps[:, ::-1], caps + 6, sides)), process=False)


def cup() -> trimesh.Trimesh:
    """A cup of eight sides, 0.1 m high, with a bottom and walls of 5 mm."""
    profile = [[0, 0], [0.05, 0], [0.05, 0.1], [0.045, 0.1], [0.045, 0.005], [0, 0.005]]
    return trimesh.creation.revolve(np.array(profile), sections=8)


@pytest.fixture
def robot_of(tmp_path, monkeypatch):
    """A function that writes a robot of one link with a mesh; results are kept in a new folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(mesh: trimesh.Trimesh, link: str = "thing") -> str:
        mesh.export(tmp_path / f"{link}.obj")
        path = tmp_path / f"{link}.urdf"
        path.write_text(
            f'<robot name="{link}"><link name="{link}"><inertial><mass value="0.2"/>'
            '<inertia ixx="3e-4" iyy="3e-4" izz="3e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
            f'<collision><geometry><mesh filename="{link}.obj"/></geometry></collision>'
            "</link></robot>"
        )
        return str(path)

    return write


def inside(shape: Geometry, points: np.ndarray) -> np.ndarray:
    """Which points (n, 3) are in the hull of a mesh."""
    from scipy.spatial import ConvexHull

    equations = ConvexHull(shape.vertices).equations
    return np.all(points @ equations[:, :3].T + equations[:, 3] <= 1e-9, axis=1)


def test_parts_fill_the_mesh_and_leave_its_hollow_free(robot_of):
    mesh = l_shape()
    assert mesh.is_volume
    (body,) = robosim.load(robot_of(mesh), convex="decompose").bodies
    parts = body.collisions
    assert len(parts) >= 2
    volume = sum(convex.convex_hull(np.asarray(part.vertices)).volume for part in parts)
    assert volume == pytest.approx(3 * EDGE**3, rel=0.02)
    places = np.random.default_rng(0).uniform(0.02, 0.98, (200, 3)) * EDGE
    for corner, filled in (((0, 0), True), ((1, 0), True), ((0, 1), True), ((1, 1), False)):
        found = np.zeros(len(places), dtype=bool)
        for part in parts:
            # In the axes of the link, from its origin.
            found |= inside(part, places + EDGE * np.array([*corner, 0.0]))
        assert np.mean(found == filled) > 0.95


def test_a_shape_keeps_its_surface(robot_of):
    path = robot_of(l_shape())
    hull, parts = (
        robosim.load(path, convex=c, restitution=0.5).bodies[0].collisions
        for c in ("hull", "decompose")
    )
    for part in parts:
        assert (part.name, part.restitution) == ("thing", 0.5)
        np.testing.assert_array_equal(part.position, hull[0].position)


def test_a_number_and_a_threshold_say_how_fine(robot_of):
    path = robot_of(cup())
    count = {c: len(robosim.load(path, convex=c).bodies[0].collisions) for c in (1, 4, 0.3)}
    assert count[1] == 1
    assert 2 <= count[4] <= 4
    assert count[0.3] < len(robosim.load(path, convex=0.05).bodies[0].collisions)


def test_what_has_been_divided_is_kept(robot_of, monkeypatch):
    import coacd

    path = robot_of(l_shape())
    before = robosim.load(path, convex="decompose").bodies[0].collisions
    monkeypatch.setattr(coacd, "run_coacd", None)
    after = robosim.load(path, convex={"thing": "decompose"}).bodies[0].collisions
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a.vertices, b.vertices)


def test_a_convex_mesh_stays_as_it_is_without_coacd(robot_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    path = robot_of(trimesh.creation.icosphere(subdivisions=1))
    (shape,) = robosim.load(path, convex="decompose").bodies[0].collisions
    (same,) = robosim.load(path).bodies[0].collisions
    np.testing.assert_array_equal(shape.vertices, same.vertices)
    with pytest.raises(MissingExtraError, match=r"robosim-variational\[decompose\]"):
        robosim.load(robot_of(l_shape(), "other"), convex="decompose")


def test_distances_and_volumes_of_an_l(robot_of):
    """The hull is farthest from the L in the middle of its slanted face: half of an edge."""
    robot = robosim.load(robot_of(l_shape()))
    (fit,) = convex.fits(robot)
    assert (fit.link, fit.parts) == ("thing", 1)
    assert fit.size == pytest.approx(3 * EDGE)
    assert fit.volume == pytest.approx(3.5 / 3)
    assert fit.distance == pytest.approx(0.5 * EDGE, abs=fit.size / 50)
    assert fit.far
    (fit,) = convex.fits(robot, "decompose")
    assert fit.distance < 0.1 * EDGE
    assert not fit.far


@pytest.mark.parametrize("choice", ["hulls", 0, -2, 3.5, 1e-3, True, None, float("nan")])
def test_other_choices_are_refused(robot_of, choice):
    with pytest.raises(LoadError, match="convex cannot be"):
        robosim.load(robot_of(l_shape()), convex=choice)
    with pytest.raises(LoadError, match="convex cannot be"):
        robosim.load(robot_of(l_shape()), convex={"thing": choice})


def test_a_link_without_a_mesh_is_refused(robot_of):
    with pytest.raises(LoadError, match=r"link 'mug', which has no collision mesh \(known: thing"):
        robosim.load(robot_of(l_shape()), convex={"mug": "decompose"})


def test_meshes_that_cannot_be_divided_stay_hulls_or_are_refused(robot_of, monkeypatch):
    mesh = cup()
    mesh.update_faces(np.arange(len(mesh.faces)) > 3)
    path = robot_of(mesh)
    robot = robosim.load(path, convex="decompose")
    assert len(robot.bodies[0].collisions) == 1
    assert any("'thing' is not closed: it counts as its convex hull" in w for w in robot.warnings)
    with pytest.raises(LoadError, match=r"link 'thing': its collision mesh is not closed"):
        robosim.load(path, convex={"thing": 8})
    monkeypatch.setattr(convex, "MOST_FACES", 10)
    with pytest.raises(LoadError, match=r"has 20 triangles, of which at most 10 are taken"):
        robosim.load(robot_of(l_shape(), "other"), convex={"other": 8})


@pytest.mark.parametrize(("choice", "height"), [("hull", 0.12), ("decompose", 0.025)])
def test_a_ball_stays_in_a_cup_that_is_divided(robot_of, choice, height):
    inertia = 0.4 * 0.05 * 0.02**2 * np.eye(3)
    shape = Geometry("sphere", (0.02,), friction=0.5, rolling_friction=1e-3)
    free = Joint("free", "floating", None, "ball")
    ball = Mechanism("ball", (Body("ball", 0.05, inertia, collisions=(shape,)),), (free,))
    scene = robosim.load(robot_of(cup()), convex=choice).add(ball, position=(0.0, 0.0, 0.14))
    sim = Simulation(scene, 0.002)
    log = sim.run(1.0)
    assert log.gap.min() > -1e-6
    assert sim.q[9] == pytest.approx(height, abs=1e-3)
    assert np.linalg.norm(sim.q[7:9]) < 0.03


def rotated_torus(major: float, minor: float) -> trimesh.Trimesh:
    """A ring that stands upright, its axis along y."""
    ring = trimesh.creation.torus(major, minor, major_sections=16, minor_sections=6)
    ring.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, [1, 0, 0]))
    return ring


def test_a_chain_of_rings_hangs(robot_of):
    """Each ring goes through the one before; the first is held."""
    major, minor = 0.04, 0.006
    path = robot_of(rotated_torus(major, minor))
    link = 2 * (major - minor)
    turned = quaternions.from_rpy((0.0, 0.0, np.pi / 2))
    ring = robosim.load(path, convex=0.05, floating_base=True, ground=False)
    assert len(ring.bodies[0].collisions) > 8
    second, third = (0.0, 0.0, 2e-3 - link), (0.0, 0.0, 4e-3 - 2 * link)
    chain = ring.add(ring, second, turned, "second/").add(ring, third, prefix="third/")
    held = Joint("held", "fixed", None, "thing")
    sim = Simulation(replace(chain, joints=(*chain.joints, held)), 0.001)
    log = sim.run(1.0)
    assert log.gap.min() > -1e-6
    heights = sim.q.reshape(3, 7)[:, 2]
    np.testing.assert_allclose(np.diff(heights), -link, atol=3e-4)


def test_a_mug_is_lifted_by_its_handle(robot_of, tmp_path):
    """Two fingers close on the handle, and go up with it; nothing slips."""
    handle = rotated_torus(0.025, 0.005)
    handle.apply_translation((0.06, 0.0, 0.05))
    path = robot_of(cup())
    handle.export(tmp_path / "handle.obj")
    text = (tmp_path / "thing.urdf").read_text()
    second = '<collision><geometry><mesh filename="handle.obj"/></geometry></collision></link>'
    (tmp_path / "thing.urdf").write_text(text.replace("</link>", second))
    pad = Geometry("box", (0.012, 0.01, 0.03), friction=0.9)
    light = 1e-4 * np.eye(3)
    bodies = (
        Body("palm", 0.2, light),
        *(Body(name, 0.1, light, collisions=(pad,)) for name in ("left", "right")),
    )
    joints = (
        Joint("lift", "prismatic", None, "palm", parent_position=(0.085, 0.0, 0.05)),
        Joint("l", "prismatic", "palm", "left", axis=(0, -1, 0), parent_position=(0, 0.03, 0)),
        Joint("r", "prismatic", "palm", "right", axis=(0, 1, 0), parent_position=(0, -0.03, 0)),
    )
    scene = robosim.load(path, convex=0.05).add(Mechanism("hand", bodies, joints))
    sim = Simulation(scene, 0.002)

    def hand(heights):
        def targets(t):
            return np.column_stack((heights(t), *np.full((2, len(t)), 0.03)))

        return PD(scene, targets, kp=(4e3, 3e3, 3e3), kd=(100, 30, 30), implicit=True)

    sim.run(0.4, hand(np.zeros_like))
    height, grip = sim.q[2], sim.q[:3] - (0, 0, sim.q[7])
    log = sim.run(1.2, hand(lambda t: np.clip(0.1 * (t - 0.4), 0.0, 0.08)))
    assert log.gap.min() > -1e-6
    assert sim.q[2] == pytest.approx(height + 0.08, abs=2e-3)
    np.testing.assert_allclose(sim.q[:3] - (0, 0, sim.q[7]), grip, atol=1e-5)


def test_info_tells_how_far_shapes_are_from_their_meshes(robot_of):
    path = robot_of(l_shape())
    found = CliRunner().invoke(app, ["info", path, "--meshes", "--json"])
    (row,) = json.loads(found.stdout)["collision_meshes"]
    assert row["shapes"] == 1
    assert row["volume_over_mesh"] == pytest.approx(3.5 / 3)
    found = CliRunner().invoke(app, ["info", path, "--meshes"])
    assert "farther from their meshes than a tenth of their size: thing" in found.output
    found = CliRunner().invoke(app, ["info", path, "--meshes", "--convex", "thing=2"])
    assert "farther" not in found.output
    found = CliRunner().invoke(app, ["info", path, "--convex", "a=2", "--convex", "decompose"])
    assert found.exit_code == 1
    assert "takes a link each" in found.output
