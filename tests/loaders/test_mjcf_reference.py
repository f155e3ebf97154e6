"""What is read from MJCF, held to the model that MuJoCo compiles of the same text."""

from __future__ import annotations

import numpy as np
import pytest

import robosim

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peer

from mjcf_reference import compiled, differences  # noqa: E402

# MuJoCo turns inertias into principal axes, by a quaternion that is good to about a millionth of a
# radian; for primitives, whose axes are those of the body, nothing is lost.
TOLERANCES = {
    "bodies": 0.0,
    "nq": 0.0,
    "nv": 0.0,
    "mass": 1e-12,
    "center": 1e-12,
    "inertia": 1e-9,
    "frames": 1e-12,
    "mass_matrix": 1e-11,
    "acceleration": 1e-10,
}

PRIMITIVES = """
<mujoco model="primitives"><compiler angle="radian"/>
  <default><geom density="700"/><default class="thin"><geom size=".02 .3 .1"/></default></default>
  <worldbody>
    <body name="a" pos="0 0 2" quat="1 2 3 4"><freejoint/>
      <geom type="sphere" size=".1"/>
      <geom type="capsule" size=".05 .2" pos=".1 .2 .3" euler=".1 .2 .3"/>
      <geom type="cylinder" size=".05 .2" zaxis="1 2 3" mass=".4"/>
      <body name="b" pos=".3 0 0" axisangle="1 1 0 .7"><joint name="b" axis="1 0 1" pos="0 .1 0"/>
        <geom type="box" size=".1 .2 .3" xyaxes="1 .1 0 0 1 0"/>
        <geom type="ellipsoid" size=".1 .2 .3" pos="0 0 .5"/>
        <body name="fixed" pos="0 .2 .1" euler="1 0 0"><geom class="thin" type="capsule"/>
          <body name="c" pos=".1 .1 .1"><joint name="c" type="ball" pos=".1 0 0"/>
            <geom type="cylinder" fromto="0 0 0 .1 .2 .3" size=".05"/>
            <geom type="box" fromto="0 0 0 .1 .2 -.3" size=".05"/>
            <geom type="ellipsoid" fromto="0 0 0 -.1 .2 .3" size=".05"/>
            <geom type="capsule" size=".1 .3" shellinertia="true" mass="1"/>
            <geom type="box" size=".1 .3 .2" shellinertia="true" mass="1"/>
            <geom type="cylinder" size=".1 .3" shellinertia="true" density="3"/>
            <geom type="sphere" size=".1" shellinertia="true" density="3" pos=".3 0 0"/>
          </body></body></body></body>
  </worldbody></mujoco>"""

SEVERAL_JOINTS = """
<mujoco><option timestep=".005"/><worldbody>
  <body name="base" pos="0 0 1" euler="10 20 30">
    <joint name="x" type="slide" axis="1 0 0" ref=".3"/><joint name="z" type="slide" axis="0 0 -1"/>
    <joint name="turn" axis="0 1 0" pos=".1 0 .2" ref="20"/>
    <geom size=".1" mass="3" pos=".05 0 0"/>
    <body name="hip" pos="0 0 -.2"><joint name="h1" axis="1 0 0" armature=".01" ref="-10"/>
      <joint name="h2" axis="0 1 .1" pos="0 0 .01" armature=".02"/><joint name="h3" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05"/>
      <body name="tool" pos="0 0 -.4"><joint name="t1" type="slide" axis="0 1 1" ref=".1"/>
        <joint name="t2" axis="1 0 0"/><joint name="t3" type="slide" axis="1 0 0"/>
        <geom type="box" size=".1 .05 .02"/></body></body>
    <body name="wrist" pos="0 .3 0"><joint name="w1" type="slide" axis="0 1 0"/>
      <joint name="w2" axis="0 -1 0"/><geom size=".1" pos="0 .1 .1"/></body>
    <body name="drum" pos="0 -.3 0"><joint name="d1" type="slide" axis="0 1 0"/>
      <joint name="d2" type="slide" axis="1 0 0"/><joint name="d3" type="ball" pos=".1 0 0"/>
      <geom type="box" size=".1 .2 .3" pos="0 .1 .1"/></body>
  </body></worldbody></mujoco>"""

INERTIALS = """
<mujoco><compiler angle="degree" eulerseq="ZyX" boundmass=".2" boundinertia=".001"
    balanceinertia="true" inertiagrouprange="1 2" settotalmass="20"/>
  <worldbody><body name="a" euler="10 20 30"><freejoint/>
    <inertial pos=".1 .2 .3" mass="2" fullinertia=".2 .3 .4 .01 .02 .03"/><geom size="1"/>
    <body name="b" pos="1 0 0"><joint/>
      <inertial pos="0 .1 0" euler="30 20 10" mass="2" diaginertia=".1 .1 .9"/></body>
    <body name="c" pos="0 1 0"><joint/><geom size=".1" group="1"/><geom size=".3" group="3"/></body>
    <body name="d" pos="0 0 1"><joint/><geom size=".01" mass=".01" group="2"/></body>
  </body></worldbody></mujoco>"""

FRAMES = """
<mujoco><compiler angle="degree"/>
  <default><default class="up"><joint axis="0 0 1"/></default>
    <default class="side"><joint axis="1 0 0"/><geom size=".05" mass=".3"/></default></default>
  <worldbody>
    <frame pos="0 0 1" euler="0 30 0" childclass="side">
      <body name="a" pos=".1 0 0" childclass="up"><joint class="side"/><geom size=".1"/>
        <frame pos="0 .2 0" euler="40 0 0"><joint name="framed" axis="0 1 0" pos=".1 .2 .3"/>
          <geom size=".1 .2" type="capsule"/>
          <body name="b"><joint/><geom size=".1" pos="0 .1 .05"/></body></frame></body>
      <replicate count="11" offset=".1 0 0" euler="0 0 20" sep="_">
        <body name="leg" pos="0 .5 0"><joint name="leg"/><geom pos="0 .1 0"/></body></replicate>
    </frame>
    <body name="base"><geom size=".1"/><body name="carried" pos="0 0 .5"><joint type="hinge"/>
      <frame pos=".1 0 0"><inertial pos="0 .1 0" mass="1" diaginertia=".1 .2 .3"/></frame>
    </body></body>
  </worldbody></mujoco>"""

# A U, three by three by one.
_OUTLINE = ((0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3))
_CAP = ((4, 1, 0), (4, 2, 1), (4, 3, 2), (5, 4, 0), (7, 5, 0), (7, 6, 5))
_SIDES = [(k, (k + 1) % 8, (k + 1) % 8 + 8, k, (k + 1) % 8 + 8, k + 8) for k in range(8)]
_TOP = [(a + 8, c + 8, b + 8) for a, b, c in _CAP]
_VERTICES = " ".join(f"{x} {y} {z}" for z in (0, 1) for x, y in _OUTLINE)
_FACES = " ".join(str(index) for face in (*_CAP, *_TOP, *_SIDES) for index in face)


def mesh_text(attributes: str, geom: str = 'type="mesh"', faces: bool = True) -> str:
    """A body with a U-shaped mesh."""
    indices = f'face="{_FACES}"' if faces else ""
    return f"""<mujoco><asset><mesh name="u" vertex="{_VERTICES}" {indices} {attributes}/></asset>
      <worldbody><body name="a"><freejoint/>
        <geom mesh="u" {geom} pos=".1 .2 .3" euler="10 20 30" density="3"/></body></worldbody>
      </mujoco>"""


MESHES = {
    "default": mesh_text(""),
    "exact": mesh_text('inertia="exact"'),
    "convex": mesh_text('inertia="convex"'),
    "shell": mesh_text('inertia="shell"'),
    "mirrored": mesh_text('inertia="exact" scale="-1 2 .5"'),
    "moved": mesh_text('refpos="1 2 3" refquat="1 .5 .2 .1" scale="1 2 3"'),
    "hull": mesh_text("", faces=False),
    **{
        f"fitted {kind}": mesh_text('scale="1 2 .3"', f'type="{kind}" fitscale=".9"')
        for kind in ("sphere", "capsule", "cylinder", "ellipsoid", "box")
    },
}
TEXTS = {
    "primitives": PRIMITIVES,
    "several joints": SEVERAL_JOINTS,
    "inertials": INERTIALS,
    "frames": FRAMES,
    **MESHES,
}


@pytest.mark.parametrize("name", TEXTS)
def test_agrees_with_mujoco(name, tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(TEXTS[name])
    robot = robosim.load(path, ground=False)
    found = differences(robot, compiled(TEXTS[name]), states=5)
    worse = {what: error for what, error in found.items() if not error <= TOLERANCES[what]}
    assert worse == {}


def test_the_reference_pose_is_mujocos(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(SEVERAL_JOINTS)
    robot = robosim.load(path)
    model = compiled(SEVERAL_JOINTS)
    np.testing.assert_allclose(robot.home, model.qpos0, atol=1e-15)
    names = [model.joint(k).name for k in range(model.njnt)]
    assert [n.split(".")[0] for n in robot.v_names][:3] == ["x", "z", "turn"]
    assert "+".join(names).replace("+", "") == "".join(j.name for j in robot.joints).replace(
        "+", ""
    )
