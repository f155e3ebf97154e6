"""Pictures by the processor: depths and labels against rays, and what colours show."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

import robosim
from robosim import quaternions
from robosim.collision import HeightField
from robosim.description.body import Geometry
from robosim.description.camera import Camera
from robosim.description.place import Place
from robosim.errors import ModelError, OptionError, StateError
from robosim.models import builders
from robosim.rays import Scene
from robosim.viz import Recorder
from robosim.viz.drawing import Drawer
from robosim.viz.drawing.levels import is_solid
from robosim.viz.realtime import live
from robosim.viz.rendering import render

WIDTH, HEIGHT = 60, 44
RED = (1.0, 0.0, 0.0, 1.0)


def rays_of(camera: Camera, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """The origin and the rays (height, width, 3) of a camera in the world, of depth 1."""
    eye, axes = camera.pose(np.zeros(3), np.eye(3))
    focal = height / 2 / math.tan(camera.fov / 2)
    u = (np.arange(width) + 0.5 - width / 2) / focal
    v = (np.arange(height) + 0.5 - height / 2) / focal
    ways = np.stack((*np.meshgrid(u, -v), -np.ones((height, width))), axis=-1)
    return eye, ways @ axes.T


def depths_by_rays(robot, q, camera, geometry="visual") -> tuple[np.ndarray, np.ndarray]:
    """Depths and bodies that rays meet; -1 for nothing."""
    eye, ways = rays_of(camera, WIDTH, HEIGHT)
    hits = Scene(robot, geometry).at(q).cast(eye, ways.reshape(-1, 3))
    depth = hits.distance.reshape(HEIGHT, WIDTH) / np.linalg.norm(ways, axis=-1)
    return depth, hits.body.reshape(HEIGHT, WIDTH)


def same_inside(found, expected, bodies, labels, tolerance) -> None:
    """Equal but for pixels at outlines, which both may give to either side."""
    inside = (bodies == labels) & (np.isfinite(found) == np.isfinite(expected))
    assert inside.mean() > 0.985
    there = inside & np.isfinite(expected)
    apart = np.abs(found[there] - expected[there]) / expected[there]
    assert np.mean(apart > tolerance) < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_depths_and_labels_are_those_of_rays(seed):
    """The A1 is of boxes, spheres, cylinders and capsules; of these, pictures have polyhedra."""
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot)
    sim.place()
    rng = np.random.default_rng(seed)
    eye = sim.q[:3] + rng.uniform(0.5, 1.2, 3) * np.sign(rng.uniform(-1, 1, 3)) * (1, 1, 0)
    eye[2] += rng.uniform(0.0, 0.5)
    camera = Camera.looking(eye, sim.q[:3] + rng.uniform(-0.1, 0.1, 3), fov=0.8)
    depth = sim.render(camera, WIDTH, HEIGHT, "depth")
    labels = sim.render(camera, WIDTH, HEIGHT, "segmentation")
    assert (depth.dtype, labels.dtype) == (np.float32, np.int32)
    expected, bodies = depths_by_rays(robot, sim.q, camera)
    same_inside(depth, expected, bodies, labels[..., 0], 2e-3)


def test_a_box_is_exact_also_where_it_reaches_behind_the_camera():
    """A wall beside the camera is cut at the near plane."""
    wall = Geometry("box", (8.0, 0.2, 3.0), position=(0.0, 1.0, 1.0), rgba=RED)
    robot = builders.cube().with_contacts([wall])
    sim = robosim.Simulation(robot)
    camera = Camera.looking((0.5, 0.3, 0.8), (3.0, 0.6, 0.6), fov=1.4)
    depth = sim.render(camera, WIDTH, HEIGHT, "depth")
    labels = sim.render(camera, WIDTH, HEIGHT, "segmentation")
    expected, bodies = depths_by_rays(robot, sim.q, camera)
    assert (labels[..., 0] == bodies).all()
    there = np.isfinite(expected)
    np.testing.assert_allclose(depth[there], expected[there], rtol=2e-6)
    assert np.isinf(depth[~there]).all()
    drawer = Drawer(robot, WIDTH, HEIGHT)
    names = {drawer.shapes[k][0] for k in np.unique(labels[..., 1]) if k >= 0}
    assert "world" in names


def test_terrain_is_exact():
    heights = 0.2 * np.random.default_rng(0).random((12, 9))
    field = HeightField(heights, (4.0, 3.0), position=(0.0, 0.0, 0.1))
    robot = builders.cube().with_contacts([field], ground=False)
    sim = robosim.Simulation(robot)
    camera = Camera.looking((2.5, -1.8, 1.6), (0.0, 0.0, 0.2))
    expected, bodies = depths_by_rays(robot, sim.q, camera)
    depth = sim.render(camera, WIDTH, HEIGHT, "depth")
    labels = sim.render(camera, WIDTH, HEIGHT, "segmentation")
    same_inside(depth, expected, bodies, labels[..., 0], 1e-5)


def test_a_camera_moves_with_its_body():
    robot = builders.cube().add(Geometry("sphere", (0.3,), position=(2.0, 0.0, 1.0), rgba=RED))
    sim = robosim.Simulation(robot)
    place = Place(robot.bodies[0].name, (0.0, 0.0, 0.5), quaternions.from_rpy((np.pi / 2, 0, 0)))
    camera = Camera(place, fov=0.9)
    turn = quaternions.from_rotation_vector((0.0, 0.0, -np.pi / 2))  # from y ahead to x ahead
    sim.set_state([0.0, 0.0, 0.5, *turn])
    depth = sim.render(camera, 41, 41, "depth")
    assert depth[20, 20] == pytest.approx(1.7, abs=2e-3)
    sim.set_state([0.5, 0.0, 0.5, *turn])
    assert sim.render(camera, 41, 41, "depth")[20, 20] == pytest.approx(1.2, abs=2e-3)


@pytest.fixture
def ball() -> robosim.Mechanism:
    return builders.cube().add(Geometry("sphere", (0.4,), position=(3.0, 0.0, 1.0), rgba=RED))


AHEAD = Camera.looking((0.0, -3.0, 1.0), (3.0, 0.0, 1.0), fov=0.6)


def test_colours_are_lit_and_shadows_fall(ball):
    sim = robosim.Simulation(ball)
    picture = sim.render(AHEAD, 120, 120).astype(int)
    assert picture.dtype == int
    red = (picture[..., 0] > 60) & (picture[..., 1] < 60)
    rows, columns = np.nonzero(red)
    assert rows.mean() == pytest.approx(59.5, abs=2)
    assert columns.mean() == pytest.approx(59.5, abs=2)
    # The sun is above: the upper half is brighter.
    upper, lower = picture[..., 0][red & (np.indices(red.shape)[0] < 50)], picture[75:][red[75:]]
    assert upper.mean() > lower[:, 0].mean() + 20


def test_shadows_fall_away_from_the_sun():
    robot = builders.cube()
    sim = robosim.Simulation(robot)
    x, y, z = sim.q[:3]
    above = Camera.looking((x, y, z + 6.0), (x, y, z), up=(0, 1, 0), fov=0.6)
    lit, dark = (
        Drawer(robot, 120, 120, shadows=shadows).picture(sim, above).astype(int)
        for shadows in (False, True)
    )
    shaded = (lit - dark).max(axis=2) > 25
    assert 100 < shaded.sum() < 6000
    rows, columns = np.nonzero(shaded)
    # The sun is at +x and -y, so the shadow is to the left and above.
    assert columns.mean() < 58
    assert rows.mean() < 58


def test_edges_are_smooth(ball):
    sim = robosim.Simulation(ball)
    hard = Drawer(ball, 80, 80, smooth=False, shadows=False).picture(sim, AHEAD)
    soft = Drawer(ball, 80, 80, shadows=False).picture(sim, AHEAD)
    differ = np.abs(hard.astype(int) - soft).max(axis=2) > 12
    assert 0 < differ.sum() < 400
    assert len(np.unique(soft[differ], axis=0)) > len(np.unique(hard[differ], axis=0))


def test_what_is_translucent_shows_what_is_behind(ball):
    pane = Geometry("box", (0.02, 4.0, 4.0), position=(1.5, -1.5, 1.0), rgba=(0.0, 0.0, 1.0, 0.5))
    clear = robosim.Simulation(ball).render(AHEAD, 60, 60).astype(int)
    robot = ball.add(pane)
    sim = robosim.Simulation(robot)
    picture = sim.render(AHEAD, 60, 60).astype(int)
    assert picture[30, 30, 2] > clear[30, 30, 2] + 30  # bluer
    assert picture[30, 30, 0] < clear[30, 30, 0]
    assert picture[30, 30, 0] > picture[30, 30, 1] + 15  # still reddish
    # Depths and labels are of the pane.
    labels = sim.render(AHEAD, 60, 60, "segmentation")
    assert sim.render(AHEAD, 60, 60, "depth")[30, 30] < 2.2
    assert Drawer(robot, 60, 60).shapes[labels[30, 30, 1]][0] == "world"
    # A pane behind the ball does not show on it.
    behind = ball.add(
        Geometry("box", (0.02, 4.0, 4.0), position=(5.0, 0.0, 1.0), rgba=(0.0, 0.0, 1.0, 0.5))
    )
    np.testing.assert_allclose(
        robosim.Simulation(behind).render(AHEAD, 60, 60)[30, 30], clear[30, 30], atol=1
    )


def test_textures_are_drawn():
    """Left half red and right half green, upright: a square that the camera sees from ahead."""
    image = np.zeros((4, 4, 3), dtype=np.uint8)
    image[:, :2, 0] = image[:, 2:, 1] = 255
    image[:1, :, 2] = 255
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    square = Geometry(
        "mesh",
        vertices=np.array([[-1.0, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]]),
        faces=np.array([[0, 1, 2], [0, 2, 3]]),
        uv=np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]),
        texture=file.getvalue(),
        position=(0.0, 0.0, 1.0),
    )
    cube = builders.cube()
    body = replace(cube.bodies[0], visuals=(square,))
    robot = replace(cube, bodies=(body,), home=(0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0))
    camera = Camera.looking((0.0, -4.0, 1.5), (0.0, 0.0, 1.5), fov=0.45)
    picture = robosim.Simulation(robot).render(camera, 80, 80).astype(int)
    left, right, top = picture[50, 15], picture[50, 65], picture[4, 15]
    assert left[0] > 2 * left[1]
    assert right[1] > 2 * right[0]
    assert top[2] > left[2] + 60


def test_a_part_of_a_mesh_that_is_inside_out_is_seen_from_outside():
    """As on the page, whose materials have two sides."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]) - 0.5
    hull = trimesh.convex.convex_hull(corners)
    beside = hull.vertices * 0.5 + (0.0, 0.0, 1.0)
    pictures = []
    for turned in (1, -1):
        mesh = Geometry(
            "mesh",
            vertices=np.vstack((hull.vertices, beside)),
            faces=np.vstack((hull.faces, 8 + hull.faces[:, ::turned])),
        )
        assert is_solid(np.asarray(mesh.vertices), np.asarray(mesh.faces)) == (turned == 1)
        cube = builders.cube()
        sim = robosim.Simulation(replace(cube, bodies=(replace(cube.bodies[0], visuals=(mesh,)),)))
        pictures.append(sim.render(width=80, height=80, what="depth"))
    np.testing.assert_allclose(pictures[0], pictures[1], rtol=1e-6)


def test_threads_draw_the_same():
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot)
    sim.place()
    one, two = (Drawer(robot, 200, 150, threads=t).picture(sim) for t in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_what_is_drawn_first_leaves_room_for_finer_levels():
    """Depths and colours have memory of their own, made when a coarse level was chosen."""
    made = trimesh.creation.icosphere(subdivisions=5, radius=0.05)
    geometry = Geometry("mesh", vertices=made.vertices, faces=made.faces)
    body = robosim.Body("ball", 1.0, np.eye(3), visuals=(geometry,))
    robot = robosim.Mechanism("ball", (body,), (robosim.Joint("free", "floating", None, "ball"),))
    far, near = (Camera.looking((distance, 0.0, 0.0), (0.0, 0.0, 0.0)) for distance in (20.0, 0.3))
    drawer, other = (Drawer(robot, 200, 150, ground=False) for _ in range(2))
    still = np.zeros((1, 3)), [[1.0, 0.0, 0.0, 0.0]]
    fine = other.draw(*still, near)
    drawer.draw(*still, far, what="depth")
    drawer.draw(*still, far)
    shapes = [drawer._memory(samples)[1].placed.shape for samples in (1, 2)]
    assert shapes == [other._memory(2)[1].placed.shape] * 2
    assert shapes[0][0] >= len(made.vertices)
    np.testing.assert_array_equal(drawer.draw(*still, near), fine)


def test_a_picture_changes_nothing_of_the_motion():
    robot = robosim.load("a1", contacts="feet")
    a, b = (robosim.Simulation(robot) for _ in range(2))
    for _ in range(5):
        a.step()
        b.step()
        a.render(width=16, height=16, forces=True)
    np.testing.assert_array_equal(a.q, b.q)


def test_forces_are_arrows_on_request():
    robot = robosim.load("a1", contacts="feet")
    sim = robosim.Simulation(robot)
    sim.place()
    sim.run(0.2, "stand")
    orange = [
        ((picture[..., 0] > 200) & (picture[..., 2] < 90)).sum()
        for picture in (sim.render(forces=True), sim.render())
    ]
    assert orange[0] > 100
    assert orange[1] == 0


def test_springs_and_soft_solids_are_drawn():
    net = robosim.Simulation(robosim.load("hanging_net"))
    labels = net.render(what="segmentation")
    body, shape = labels[..., 0], labels[..., 1]
    world = len(net.robot.bodies)
    assert ((body == world) & (shape == -1)).any()
    depth = net.render(what="depth")
    plain = Drawer(net.robot, ground=False)
    hung = np.isfinite(plain.picture(net, what="depth"))
    assert 1000 < hung.sum() < depth.size / 3


def test_ghosts_are_translucent_copies():
    robot = builders.cube()
    sim = robosim.Simulation(robot)
    x = np.array([[0.0, 0.0, 0.5], [2.0, 0.0, 0.5]])
    q = np.array([[1.0, 0, 0, 0]] * 2)
    camera = Camera.looking((1.0, -6.0, 1.0), (1.0, 0.0, 0.5))
    drawer = Drawer(robot, 80, 60, ghosts=1)
    both = drawer.draw(x, q, camera)
    alone = Drawer(robot, 80, 60).draw(sim.state.x[:1] * 0 + x[0], q[:1], camera)
    differ = np.abs(both.astype(int) - alone).max(axis=2) > 10
    assert differ[:, 40:].sum() > 20
    assert differ[:, :38].sum() == 0


def test_bodies_can_be_hidden():
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot)
    sim.place()
    base = robot.bodies[0].name
    labels = sim.render(what="segmentation", hide=base)
    assert 0 not in np.unique(labels[..., 0])
    inside = Camera(Place(base, (0.0, 0.0, 0.0)), name="within")
    with pytest.raises(OptionError, match=rf"camera 'within' lies inside of.*hide='{base}'"):
        sim.render(inside)
    assert sim.render(inside, hide=base).shape == (480, 640, 3)


def test_the_camera_follows_a_robot_that_moves():
    robot = robosim.load("a1", contacts="feet")
    sim = robosim.Simulation(robot)
    before = sim.render(what="segmentation")
    q = sim.q.copy()
    q[:2] += 40.0
    sim.set_state(q)
    after = sim.render(what="segmentation")
    assert ((before[..., 0] == 0) != (after[..., 0] == 0)).mean() < 1e-3


def test_a_recording_becomes_a_picture_a_gif_and_a_video(tmp_path: Path):
    sim = robosim.Simulation(robosim.load("double_pendulum"))
    sim.set_state([1.5, 0.3])
    recorder = Recorder(sim.robot, fps=10)
    live(sim, seconds=0.3, recorder=recorder, speed=math.inf)
    size = (320, 260)
    with Image.open(render(recorder, tmp_path / "run.png", size=size)) as picture:
        assert picture.size == size
        last = np.asarray(picture.convert("RGB")).astype(int)
    with Image.open(render(recorder, tmp_path / "run.gif", fps=10, size=size)) as moving:
        assert moving.n_frames == len(recorder)
        first = np.asarray(moving.convert("RGB")).astype(int)
    assert (np.abs(first - last).max(axis=2) > 40).mean() > 1e-3
    assert last[15:70, 15:120].min() < 80  # the caption's letters
    pytest.importorskip("imageio_ffmpeg")
    video = render(recorder, tmp_path / "run.mp4", fps=10, size=size).read_bytes()
    assert video[4:8] == b"ftyp"


def test_cameras_of_a_model_file(tmp_path: Path):
    """Where MuJoCo has them."""
    mujoco = pytest.importorskip("mujoco")
    file = tmp_path / "seen.xml"
    file.write_text(
        """<mujoco><compiler angle="degree"/><worldbody>
        <camera name="high" pos="1 -2 2" xyaxes="1 0.2 0 0 0.5 1" fovy="30"/>
        <body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/>
          <camera pos="0.2 0 0.1" euler="90 0 20" mode="track"/>
          <body name="b" pos="0.3 0 0"><geom size="0.05"/>
            <camera name="lens" pos="0 0.1 0" sensorsize="0.02 0.01" focal="0.01 0.02"
              resolution="64 48"/>
          </body>
        </body></worldbody></mujoco>"""
    )
    robot = robosim.load(file)
    assert any("follow or that look at a body" in told for told in robot.warnings)
    assert [camera.name for camera in robot.cameras] == ["high", "camera1", "lens"]
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    data.qpos[:] = [0.4, 0.1, 0.9, *quaternions.from_rpy((0.3, -0.2, 0.7))]
    mujoco.mj_forward(model, data)
    sim = robosim.Simulation(robot)
    sim.set_state(data.qpos)
    for k, name in ((0, "high"), (2, "lens")):
        camera = robot.camera(name)
        at = 0 if camera.place.body else None
        x = np.zeros(3) if at is None else sim.state.x[at]
        R = np.eye(3) if at is None else quaternions.rotation_matrix(sim.state.q[at])
        eye, axes = camera.pose(x, R)
        np.testing.assert_allclose(eye, data.cam_xpos[k], atol=1e-12)
        np.testing.assert_allclose(axes.ravel(), data.cam_xmat[k], atol=1e-12)
        assert camera.fov == pytest.approx(np.deg2rad(model.cam_fovy[k]), rel=1e-6)
    assert sim.render("high", 32, 24).shape == (24, 32, 3)
    both = robot.add(robot, position=(2.0, 0.0, 0.0), prefix="second/")
    assert [camera.name for camera in both.cameras][3:] == [
        "second/high",
        "second/camera1",
        "second/lens",
    ]
    assert both.camera("second/lens").place.body == "second/a"
    np.testing.assert_allclose(both.camera("second/high").place.position, (3.0, -2.0, 2.0))
    with pytest.raises(ModelError, match=r"no camera 'lense'.*lens"):
        sim.render("lense")


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"width": 0}, OptionError, "width must be 1 to 4096"),
        ({"height": 10**9}, OptionError, "height must be 1 to 4096"),
        ({"width": 2.5}, OptionError, "width must be 1 to 4096"),
        ({"what": "normals"}, OptionError, "what"),
        ({"geometry": "inertia"}, OptionError, "geometry"),
        ({"camera": "head"}, ModelError, "camera"),
        ({"camera": 3}, OptionError, "camera must be a Camera or a name"),
        ({"hide": "nobody"}, ModelError, "nobody"),
    ],
)
def test_bad_input_is_told(given, error, told):
    with pytest.raises(error, match=told):
        robosim.Simulation(builders.cube()).render(**given)


def test_bad_cameras_and_poses_are_told():
    with pytest.raises(OptionError, match="fov must be above 0"):
        Camera(fov=4.0)
    with pytest.raises(OptionError, match="cannot look from"):
        Camera.looking((0, 0, 1), (0, 0, 0))
    with pytest.raises(OptionError, match="three numbers"):
        Camera.looking((0, np.nan, 1), (0, 0, 0))
    with pytest.raises(ModelError, match="body 'nobody' does not exist"):
        replace(builders.cube(), cameras=(Camera(Place("nobody"), name="c"),))
    with pytest.raises(StateError, match="finite"):
        Drawer(builders.cube()).draw([[np.nan, 0, 0]], [[1, 0, 0, 0]])
