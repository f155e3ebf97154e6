"""Friction against turning and velocities of surfaces in MJCF, against MuJoCo's compiled model."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Anisotropy, Geometry, HalfSpace, Mechanism
from robosim.quaternions import rotation_matrix

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

FLOORS = ("", 'condim="1"', 'condim="4" friction=".5 .01 .001"',
          'condim="6" friction=".5 .01 .001"',
          'condim="6" priority="1" friction=".5 .01 .001"')  # fmt: skip
BALLS = ('', 'condim="6"', 'condim="4" friction=".7 .02 .0005"', 'friction=".7 .02 .0005"',
         'condim="3" priority="1" friction=".7 .02 .0005"')  # fmt: skip
PAIRS = ("", "<pair geom1='floor' geom2='ball'/>",
         "<pair geom1='floor' geom2='ball' condim='6' friction='.2 .3 .1'/>",
         "<pair geom1='floor' geom2='ball' condim='4' friction='.2'/>")  # fmt: skip


def loaded(folder: Path, text: str) -> tuple[Mechanism, object]:
    path = folder / "m.xml"
    path.write_text(text)
    return robosim.load(path), mujoco.MjModel.from_xml_path(str(path))


def scene(floor: str, ball: str, pair: str = "", height: float = 0.0) -> str:
    return f"""<mujoco><worldbody>
<geom name="floor" type="plane" size="1 1 1" pos="0 0 {height}" {floor}/>
<body pos="0 0 {height + 0.0999}"><freejoint/><geom name="ball" size=".1" {ball}/></body>
</worldbody><contact>{pair}</contact></mujoco>"""


@pytest.mark.parametrize(("floor", "ball", "pair"), [*product(FLOORS, BALLS, PAIRS)])
def test_friction_is_that_of_mujoco(tmp_path, floor, ball, pair):
    robot, model = loaded(tmp_path, scene(floor, ball, pair))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    (contact,) = data.contact
    one, two, torsional, rolling, _ = contact.friction
    expected = [f if contact.dim >= n else 0.0
                for f, n in ((one, 3), (two, 3), (torsional, 4), (rolling, 6))]  # fmt: skip
    (ours,) = robot.contacts
    directed = ours.anisotropy or Anisotropy((0, 1, 0))
    told = (ours.friction * directed.along, ours.friction * directed.across,
            ours.torsional_friction or 0.0, ours.rolling_friction or 0.0)  # fmt: skip
    np.testing.assert_allclose(told, expected, rtol=1e-12)


@pytest.mark.parametrize(("floor", "ball"), [*product(FLOORS, BALLS)])
def test_between_an_obstacle_and_a_shape_the_lower_is_that_of_mujoco(tmp_path, floor, ball):
    robot, model = loaded(tmp_path, scene(floor, ball, height=0.5))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    (contact,) = data.contact
    (obstacle,), (shape,) = robot.obstacles, robot.bodies[0].collisions
    for what, value, least in (("friction", contact.friction[0], 3),
                               ("torsional_friction", contact.friction[2], 4),
                               ("rolling_friction", contact.friction[3], 6)):  # fmt: skip
        both = [f for f in (getattr(obstacle, what), getattr(shape, what)) if f is not None]
        assert min(both, default=0.0) == pytest.approx(value if contact.dim >= least else 0.0)


def test_what_resists_turning_only_on_some_things(tmp_path):
    """One obstacle with condim 6 and one with 3: shapes with less have none on the second."""
    text = """<mujoco><worldbody>
<geom name="rough" type="box" size="1 1 .1" condim="6" friction="1 .03 .02"/>
<geom name="smooth" type="box" size="1 1 .1" pos="5 0 0" friction="1 .03 .02"/>
<body pos="0 0 2"><freejoint/><geom name="ball" size=".1"/></body></worldbody></mujoco>"""
    robot, _ = loaded(tmp_path, text)
    assert [o.rolling_friction for o in robot.obstacles] == [0.02, 0.0]
    assert [o.torsional_friction for o in robot.obstacles] == [0.03, 0.0]
    assert robot.bodies[0].collisions[0].rolling_friction == 0.02


GEOMS = {
    "box": 'type="box" size="1 2 .5"',
    "sphere": 'size="1"',
    "capsule": 'type="capsule" fromto="0 0 0 1 2 3" size=".1"',
    "mesh": 'type="mesh" mesh="m"',
    "fitted": 'type="box" mesh="m"',
}
MESH = '<asset><mesh name="m" vertex="0 0 0  1 0 0  0 .5 0  0 0 .2"/></asset>'


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("kind", GEOMS)
def test_surfaces_move_as_in_mujoco(tmp_path, kind, moving):
    """As fields of velocity over points of the world."""
    place = "" if "fromto" in GEOMS[kind] else 'pos=".3 -.2 .4" euler="20 30 50"'
    geom = f'<geom {GEOMS[kind]} {place} surfacevel="1 2 3 -.5 .7 .2"/>'
    world = f"<body pos='1 2 3' euler='0 40 0'><freejoint/>{geom}</body>" if moving else geom
    other = "<body pos='9 9 9'><freejoint/><geom size='.1'/></body>"
    text = f"<mujoco>{MESH}<worldbody>{world}{other}</worldbody></mujoco>"
    robot, model = loaded(tmp_path, text)
    assert not any("surface" in warning for warning in robot.warnings)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    R, x = data.geom_xmat[0].reshape(3, 3), data.geom_xpos[0]
    twist = model.geom_surfacevel[0]
    if moving:
        shape, R_b = robot.bodies[0].collisions[0], data.xmat[1].reshape(3, 3)
        center = data.xipos[1]
    else:
        (shape,), R_b, center = robot.obstacles, np.eye(3), np.zeros(3)
    R_s, x_s = R_b @ rotation_matrix(shape.quaternion), center + R_b @ shape.position
    for point in np.random.default_rng(0).normal(size=(3, 3)):
        expected = R @ twist[:3] + np.cross(R @ twist[3:], point - x)
        ours = R_s @ shape.surface_velocity + np.cross(R_s @ shape.surface_spin, point - x_s)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-6)


def test_a_plane_that_moves_is_an_obstacle(tmp_path):
    """Also at z = 0, where it would be the ground otherwise, which does not move."""
    robot, _ = loaded(tmp_path, scene('euler="0 0 90" surfacevel="1 0 0"', ""))
    (belt,) = robot.obstacles
    assert isinstance(belt, HalfSpace)
    assert robot.contacts == ()
    np.testing.assert_allclose(belt.surface_velocity, (0, 1, 0), rtol=0, atol=1e-12)
    assert isinstance(robot.bodies[0].collisions[0], Geometry)


@pytest.mark.parametrize(
    ("floor", "geom"),
    [("", 'type="box" size=".1 .1 .1"'), ("", 'type="capsule" size=".1 .2" euler="90 20 0"'),
     ('euler="20 0 0"', 'size=".1"'), ('euler="60 0 0"', 'size=".1"')],
)  # fmt: skip
def test_directions_are_those_of_mujoco(tmp_path, floor, geom):
    """The tangents of MuJoCo's contacts, which the coefficients of a pair belong to in turn."""
    pair = '<contact><pair geom1="floor" geom2="g" friction=".5 .1 0 0 0"/></contact>'
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" {floor}/>
<body name="b" pos="0 0 .09" euler="0 0 30"><freejoint/><geom name="g" {geom}/></body>
</worldbody>{pair}</mujoco>"""
    robot, model = loaded(tmp_path, text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    frame = data.contact[0].frame.reshape(3, 3)
    parts = robot.contacts or robot.bodies[0].collisions
    one = parts[0].anisotropy
    R = np.eye(3) if one.axes == "world" else data.xmat[1].reshape(3, 3)
    if isinstance(parts[0], Geometry) and one.axes is None:
        R = R @ rotation_matrix(parts[0].quaternion)
    direction = R @ one.direction
    direction -= frame[0] * (frame[0] @ direction)
    cosine = frame[1] @ direction / np.linalg.norm(direction)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-9)
    assert (one.along, one.across) == pytest.approx((1.0, 0.2))
