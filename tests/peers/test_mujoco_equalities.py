"""Where MuJoCo's <connect> and <weld> hold bodies: poses that our joints allow leave no error."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import robosim
from robosim import quaternions

pytestmark = pytest.mark.peer
mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco><worldbody><site name="w" pos=".1 .2 .3" euler="10 0 0"/>
<body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom size=".1" pos=".2 .1 0"/>
  <site name="s" pos=".3 0 .1" euler="0 40 0"/></body>
<body name="b" pos="1 0 1" euler="0 0 40"><freejoint/><geom size=".1" pos="0 .3 .1"/>
  <site name="t" pos="0 .2 0" euler="0 0 50"/>
  <body name="c" pos=".1 .2 .3" euler="70 0 10"><geom size=".05"/></body></body>
</worldbody><equality>{}</equality></mujoco>"""
BODIES = ('body1="a" body2="b"', 'body1="b" body2="a"', 'body1="a"', 'body1="c" body2="a"',
          'body1="a" body2="c"')  # fmt: skip
SITES = ('site1="s" site2="t"', 'site1="t" site2="s"', 'site1="s" site2="w"',
         'site1="w" site2="t"')  # fmt: skip
POSES = ("", 'relpose=".3 .1 0  1 1 0 .5"', 'relpose=".3 0 0  0 0 0 0"')
ANCHORS = ("", 'anchor=".1 .5 -.2"')
WELDS = [f"<weld {' '.join(parts)}/>" for parts in product(BODIES, POSES, ANCHORS)]
WELDS += [f"<weld {sites}/>" for sites in SITES]
CONNECTS = [f'<connect {bodies} anchor=".1 .5 -.2"/>' for bodies in BODIES]
CONNECTS += [f"<connect {sites}/>" for sites in SITES]


@pytest.mark.parametrize("text", WELDS + CONNECTS)
def test_what_a_joint_allows_mujoco_finds_no_fault_with(text, tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(MODEL.format(text))
    robot = robosim.load(path)
    (joint,) = robot.loop_joints
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    for _ in range(5):
        poses = {None: (np.eye(3), np.zeros(3))}
        for body in robot.bodies:
            R = quaternions.rotation_matrix(quaternions.normalized(rng.standard_normal(4)))
            poses[body.name] = R, rng.standard_normal(3)
        turn = np.eye(3)
        if joint.kind == "spherical":
            turn = quaternions.rotation_matrix(quaternions.normalized(rng.standard_normal(4)))
        R_a, x_a = poses[joint.parent]
        R_b = R_a @ quaternions.rotation_matrix(np.asarray(joint.offset)) @ turn
        x_b = x_a + R_a @ np.asarray(joint.parent_position) - R_b @ np.asarray(joint.child_position)
        poses[joint.child] = R_b, x_b
        for k, body in enumerate(robot.bodies):
            R, x = poses[body.name]
            data.qpos[7 * k : 7 * k + 3] = x + R @ body.reference_position
            data.qpos[7 * k + 3 : 7 * k + 7] = quaternions.from_matrix(R)
        mujoco.mj_forward(model, data)
        held = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        assert held.sum() == (3 if joint.kind == "spherical" else 6)
        np.testing.assert_allclose(data.efc_pos[held], 0, atol=1e-12)
