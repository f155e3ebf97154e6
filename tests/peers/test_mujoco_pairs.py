"""Attributes of MJCF that count together, in all combinations: numbers against MuJoCo's model.

What MuJoCo refuses may load here; what it compiles has to load, and to come out the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Mechanism, ModelError, quaternions
from robosim.actuators import torques
from robosim.dynamics import Kinematics

mujoco = pytest.importorskip("mujoco")
pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]


def both(folder: Path, text: str) -> tuple[Mechanism, object] | None:
    """Our mechanism and MuJoCo's model of a text; None where MuJoCo refuses it."""
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        return None
    (folder / "m.xml").write_text(text)
    try:
        return robosim.load(folder / "m.xml", ground=False), model
    except ModelError as error:
        pytest.fail(f"{error.reason}: {text}")


def held(folder: Path, texts: Iterator[str], least: int) -> Iterator[tuple[str, Mechanism, object]]:
    """All that MuJoCo compiles of some texts, which are at least so many."""
    count = 0
    for text in texts:
        pair = both(folder, text)
        if pair is not None:
            count += 1
            yield text, *pair
    assert count >= least


def close(ours: object, theirs: object, text: str, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(np.ravel(ours), np.ravel(theirs), rtol=tolerance, atol=tolerance,
                               err_msg=text)  # fmt: skip


@pytest.mark.parametrize("kind", ["hinge", "slide", "ball"])
def test_joints(tmp_path, kind):
    """Type, range, limited, ref, springref and stiffness, with what the compiler says of angles."""
    joint = ('<mujoco><compiler {}/><worldbody><body pos="0 0 1" euler=".1 .2 .3"><joint name="j" '
             'type="{}" axis="0 1 .3" pos=".1 .2 .3" damping=".4" {} {} {} {} {}/>'
             '<geom size=".1 .2 .3" type="box"/></body></worldbody></mujoco>')  # fmt: skip
    springs = ["", 'stiffness="3"', *(['springdamper=".1 1"'] if kind != "ball" else [])]
    choices = product(
        ["", 'autolimits="false" angle="radian"'],
        [kind],
        ["", 'range="-.3 .4"', 'range="0 .4"'],
        ["", 'limited="true"', 'limited="false"', 'limited="auto"'],
        ["", 'ref=".2"'],
        ["", 'springref=".1"'],
        springs,
    )
    for text, robot, model in held(tmp_path, (joint.format(*one) for one in choices), 30):
        (joint_of_ours,) = robot.joints
        limits = model.jnt_range[0] if model.jnt_limited[0] else (-np.inf, np.inf)
        if kind == "ball":
            upper = max(limits[1], robosim.description.joint.LEAST_TURN)
            close(joint_of_ours.largest_turn, upper, text)
        else:
            close((joint_of_ours.lower, joint_of_ours.upper), limits, text)
            close(robot.home, np.clip(model.qpos0, *limits), text)
            if model.jnt_stiffness[0]:
                close(joint_of_ours.rest, model.qpos_spring, text)
        close(joint_of_ours.per_coordinate("stiffness"), [model.jnt_stiffness[0]] * robot.nv, text)
        close(joint_of_ours.per_coordinate("damping"), model.dof_damping, text)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        kinematics = Kinematics(robot, model.qpos0)
        close(kinematics.x[0], data.xipos[1], text)
        close(kinematics.frame(robot.bodies[0].name)[1], data.xmat[1], text)


@pytest.mark.parametrize(
    "kind", ["", "sphere", "capsule", "cylinder", "ellipsoid", "box", "mesh"]
)  # fmt: skip
def test_geoms(tmp_path, kind):
    """Type, size, fromto, place, mass, density and the fit to a mesh."""
    geom = ('<mujoco><compiler {}/><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 .3 .3 1.2"'
            '/></asset><worldbody><body name="a"><freejoint/><geom {} {} {} {} {}/>'
            '<geom pos="1 0 0" size=".1" mass=".3"/></body></worldbody></mujoco>')  # fmt: skip
    choices = product(
        ["", 'fitaabb="true"'],
        [f'type="{kind}"' if kind else ""],
        ['size=".1"', 'size=".1 .2 .3"'],
        ["", 'fromto="0 0 0 .1 .2 .3"', 'pos=".1 0 .2" euler="10 20 30"'],
        ["", 'mass="0"', 'mass="2" density="3"', 'density="0"', 'mass="2" density="0"',
         'shellinertia="true"', 'shellinertia="true" mass="2"'],
        ["", 'mesh="m"', 'mesh="m" fitscale=".5"'],
    )  # fmt: skip
    # MuJoCo has axes of inertia in millionths; its shells of ellipsoids are differences over 1 um.
    tolerance = 1e-4 if kind == "ellipsoid" else 1e-5
    for text, robot, model in held(tmp_path, (geom.format(*one) for one in choices), 20):
        body = robot.bodies[0]
        close(body.mass, model.body_mass[1], text)
        close(-body.reference_position, model.body_ipos[1], text, 1e-6)
        R = quaternions.rotation_matrix(model.body_iquat[1])
        J = (R * model.body_inertia[1]) @ R.T
        close(np.asarray(body.inertia) / np.trace(J), J / np.trace(J), text, tolerance)
        shape = (*body.collisions, *body.visuals)[0]
        size = model.geom_size[0]
        wanted = {"sphere": size[:1], "": size[:1], "capsule": (size[0], 2 * size[1]),
                  "cylinder": (size[0], 2 * size[1]), "box": 2 * size}.get(kind)  # fmt: skip
        if wanted is not None:
            close(shape.size, wanted, text, 1e-6)
            close(shape.position - body.reference_position, model.geom_pos[0], text, 1e-6)


def test_inertials(tmp_path):
    """Moments, their axes, and what the compiler makes of both and of geoms."""
    body = ('<mujoco><compiler {}/><worldbody><body name="a" euler="10 20 30"><freejoint/>'
            '<inertial pos=".1 0 .2" {} {} {}/>{}<body name="b" pos="0 0 .4"><joint/>'
            '<geom size=".1" group="1"/></body></body></worldbody></mujoco>')  # fmt: skip
    choices = product(
        ["", 'inertiafromgeom="true"', 'inertiafromgeom="false"',
         'inertiafromgeom="auto" inertiagrouprange="1 2"',
         'inertiafromgeom="true" inertiagrouprange="3 3"', 'balanceinertia="true"',
         'boundmass=".5"', 'boundinertia=".15"', 'boundinertia=".15" balanceinertia="true"',
         'settotalmass="3"', 'settotalmass="3" boundmass=".5" inertiafromgeom="true"'],
        ['mass=".01"'],
        ['diaginertia=".1 .2 .25"', 'fullinertia=".1 .2 .25 .01 .02 .03"',
         'diaginertia=".1 .1 .9"', 'fullinertia=".1 .1 .9 .01 0 0"'],
        ["", 'euler="10 20 30"'],
        ["", '<geom size=".1 .2 .3" type="box" pos=".1 .2 .3" group="3"/>'],
    )  # fmt: skip
    for text, robot, model in held(tmp_path, (body.format(*one) for one in choices), 30):
        for name in "ab":
            ours, k = robot.body(name), model.body(name).id
            close(ours.mass, model.body_mass[k], text)
            close(-ours.reference_position, model.body_ipos[k], text)
            R = quaternions.rotation_matrix(model.body_iquat[k])
            J = (R * model.body_inertia[k]) @ R.T
            close(np.asarray(ours.inertia) / np.trace(J), J / np.trace(J), text, 1e-5)


LOOP = """<mujoco><worldbody><body name="a" pos="1 0 1" euler="10 20 30"><freejoint/>
<geom size=".1 .2 .3" type="box" pos=".1 0 0"/><site name="s" pos=".1 .2 .3" euler="5 10 20"/>
</body>
<body name="b" pos="0 1 1" euler="30 10 0"><freejoint/><geom size=".2 .1 .3" type="box"/>
<site name="u" pos="0 .2 .1" euler="50 0 20"/></body><site name="w" pos="1 1 1" euler="0 0 40"/>
</worldbody><equality><{}/></equality></mujoco>"""


def posed(robot: Mechanism, rng: np.random.Generator) -> np.ndarray:
    """Coordinates of the two free bodies, with the one that the loop leads to where it holds."""
    free = [(*rng.normal(size=3), *quaternions.normalized(rng.normal(size=4))) for _ in "ab"]
    kinematics = Kinematics(robot, np.hstack(free))
    (loop,) = robot.loop_joints
    R_a, x_a = np.eye(3), np.zeros(3)
    if loop.parent is not None:
        k = robot.body_index(loop.parent)
        R_a, x_a = kinematics.R[k], kinematics.x[k]
    k = robot.body_index(loop.child)
    R_b = R_a @ quaternions.rotation_matrix(loop.offset)
    if loop.kind == "spherical":
        R_b = kinematics.R[k]
    place = x_a + R_a @ loop.parent_position
    place = place + R_b @ (robot.bodies[k].reference_position - loop.child_position)
    free[k] = (*place, *quaternions.from_matrix(R_b))
    return np.hstack(free)


def test_loops(tmp_path):
    """Pose, anchor and what is joined: where ours holds, MuJoCo's does, and nowhere else."""
    ends = ['body1="a" body2="b"', 'body1="b" body2="a"', 'body1="a"', 'site1="s" site2="u"',
            'site1="w" site2="u"', 'site1="u" site2="w"']  # fmt: skip
    anchors = ["", 'anchor=".1 .2 .3"']
    poses = ["0 0 0 0 0 0 0", "0 0 1 1 1 0 0", "0 1 0 .1 .2 .3 .4", "1 1 1 0 0 0 0"]
    poses = ["", *(f'relpose="{one}"' for one in poses)]
    choices = [" ".join(("connect", *one)) for one in product(ends, anchors)]
    choices += [" ".join(("weld", *one)) for one in product(ends, anchors, poses)]
    rng = np.random.default_rng(1)
    for text, robot, model in held(tmp_path, (LOOP.format(one) for one in choices), 30):
        data = mujoco.MjData(model)
        (loop,) = robot.loop_joints
        begin = robot.q_offsets[robot.body_index(loop.child)]
        for apart in (0.0, 0.1):
            data.qpos[:] = posed(robot, rng)
            data.qpos[begin] += apart
            mujoco.mj_forward(model, data)
            rows = 3 if loop.kind == "spherical" else 6
            assert data.ne == rows, text
            close(np.linalg.norm(data.efc_pos[:rows]), apart, text, 1e-8)


DRIVEN = """<mujoco><compiler angle="radian" {}/><worldbody><site name="w" pos="0 0 2"/>
<body name="a" pos="0 0 1"><joint name="j" axis="0 1 0" range="-2 2" limited="true" ref=".1"/>
<geom size=".1" pos=".3 0 0"/><site name="s" pos=".2 .1 .1" euler=".1 .2 .3"/>
<body name="b" pos=".5 0 0"><joint name="k" type="slide" axis="1 0 0" ref="-.2"/>
<geom size=".1 .2 .1" type="box"/><site name="s2" pos=".1 0 .1"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="j" coef="1.5"/><joint joint="k" coef="-2"/></fixed>
<spatial name="sp"><site site="w"/><site site="s2"/></spatial></tendon>
<actuator><{}/></actuator></mujoco>"""
WHERE = ['joint="j"', 'joint="k"', 'jointinparent="j"', 'tendon="t"', 'tendon="sp"', 'site="s"']
GEARS = ["", 'gear="-2"', 'gear="1 2 3 .1 .2 .3"']
ENDS = ["", 'ctrlrange="-1 .5"', 'ctrlrange="-1 .5" ctrllimited="false"',
        'forcerange="-.7 1" forcelimited="true" ctrlrange="-1 1" ctrllimited="true"']  # fmt: skip
BIASES = ["", 'biasprm="1 2 3"', 'biastype="affine" biasprm="1 2 3"']
# tag -> what its attributes may be.
ACTUATORS = {
    "general": [["", 'gainprm="3 .5 .2"', 'gaintype="affine" gainprm="3 .5 .2"'], BIASES],
    "motor": [],
    "position": [["", 'kp="7"'], ["", 'kv="2"', 'dampratio=".7"', 'inheritrange=".5"']],
    "velocity": [["", 'kv="7"']],
    "cylinder": [["", 'area="2"', 'diameter=".4"', 'area="2" diameter=".4"'],
                 ["", 'bias="1 2 3"']],
    "damper": [['ctrlrange="0 2"'], ["", 'kv="3"']],
    "intvelocity": [["", 'kp="3"'], ["", 'kv="2"'],
                    ["", 'actrange="-1 .5"', 'actrange="-1 .5" actlimited="false"',
                     'inheritrange=".3"']],
    "general dyntype": [["", 'dynprm=".3"'],
                        ["", 'actrange="-.5 .4"', 'actrange="-.5 .4" actlimited="false"'],
                        ["", 'actearly="true"'], BIASES],
}  # fmt: skip


@pytest.mark.parametrize("tag", ACTUATORS)
@pytest.mark.parametrize("autolimits", [True, False])
def test_actuators(tmp_path, tag, autolimits):
    """Kind, gear, transmission, gains, biases and ranges: forces at random states."""
    compiler = "" if autolimits else 'autolimits="false"'
    gears, ends = GEARS, ENDS
    if tag in ("damper", "general dyntype"):
        ends = [""]
    if tag == "general dyntype":
        gears = [""]
    heads = [tag]
    if tag == "general dyntype":
        heads = [f'general dyntype="{kind}"' for kind in ("integrator", "filter", "filterexact")]
    choices = (" ".join(one) for one in product(heads, WHERE, gears, ends, *ACTUATORS[tag]))
    rng = np.random.default_rng(2)
    texts = (DRIVEN.format(compiler, one) for one in choices)
    for text, robot, model in held(tmp_path, texts, 24):
        assert len(robot.actuators) == 1, text
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data = mujoco.MjData(model)
        q, v = robot.home + rng.uniform(-1, 1, robot.nq), rng.standard_normal(robot.nv)
        control, activation = rng.normal(size=1), rng.normal(size=model.na)
        data.qpos[:], data.qvel[:], data.ctrl[:], data.act[:] = q, v, control, activation
        own = robot.actuators[0].activation
        assert (own is None) == (model.na == 0), text
        told = activation if model.na else None
        if own is not None:
            limits = (
                model.actuator_actrange[0] if model.actuator_actlimited[0] else (-np.inf, np.inf)
            )
            close(own.range, limits, text)
            limits = (
                model.actuator_ctrlrange[0] if model.actuator_ctrllimited[0] else (-np.inf, np.inf)
            )
            close(robot.actuators[0].control_range, limits, text)
            if own.early:  # the force is that of the activation at the end of the step
                told = [own.advanced(float(np.clip(control[0], *limits)), activation[0],
                                     model.opt.timestep)]  # fmt: skip
        mujoco.mj_forward(model, data)
        ours, forces = torques(robot, control, q, v, told), np.zeros(robot.nv)
        forces[slice(None) if len(ours) == robot.nv else robot.actuated] = ours
        close(forces, data.qfrc_actuator, text, 1e-9)
