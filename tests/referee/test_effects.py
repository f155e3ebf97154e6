"""What the doctor says of MuJoCo and Pinocchio, as both do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robosim.referee.doctor.diagnosis import CHECKS
from robosim.referee.doctor.effects import EFFECTS, MUJOCO, PINOCCHIO, ROBOSIM

mujoco = pytest.importorskip("mujoco")
pinocchio = pytest.importorskip("pinocchio")

LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="1"/>'
CUBE = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'


def link(
    name: str, inertia: tuple[float, float, float] | None = (0.01,) * 3, shape: str = CUBE
) -> str:
    own = "" if inertia is None else (
        f'<inertial><mass value="1"/><inertia ixx="{inertia[0]}" iyy="{inertia[1]}" '
        f'izz="{inertia[2]}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )  # fmt: skip
    return f'<link name="{name}">{own}{shape}</link>'


def joint(name: str, parent: str, child: str, more: str = LIMIT, axis: str = "0 0 1") -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 0.3"/><axis xyz="{axis}"/>{more}</joint>'
    )


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


def in_mujoco(text: str) -> Any:
    return mujoco.MjModel.from_xml_string(text)


def in_pinocchio(text: str, **options: Any) -> Any:
    return pinocchio.buildModelFromXML(text, **options)


def test_each_check_names_known_libraries() -> None:
    for told in EFFECTS.values():
        assert set(told) == {ROBOSIM, MUJOCO, PINOCCHIO}
        assert all(told.values())


@pytest.mark.parametrize("inertia", [(0.001, 0.001, 0.01), (0.001, -0.001, 0.001)])
def test_inertia(inertia: tuple[float, float, float]) -> None:
    text = robot(link("a"), link("b", inertia), joint("j", "a", "b"))
    with pytest.raises(ValueError, match="inertia"):
        in_mujoco(text)
    assert np.allclose(np.diag(in_pinocchio(text).inertias[1].inertia), inertia)


def test_massless() -> None:
    solid = robot(link("a"), link("b", None), joint("j", "a", "b"))
    assert in_mujoco(solid).body_mass[-1] == pytest.approx(1.0)  # a cube of water
    empty = robot(link("a"), link("b", None, ""), joint("j", "a", "b"))
    with pytest.raises(ValueError, match="mjMINVAL"):
        in_mujoco(empty)
    model = in_pinocchio(empty)
    found = pinocchio.aba(model, model.createData(), np.zeros(1), np.zeros(1), np.ones(1))
    assert not np.isfinite(found).all()


def test_effort() -> None:
    text = robot(link("a"), link("b"), joint("j", "a", "b", LIMIT.replace("10", "0")))
    model = in_mujoco(text)
    assert not model.jnt_actfrclimited[0]
    limited = in_mujoco(robot(link("a"), link("b"), joint("j", "a", "b")))
    assert limited.jnt_actfrcrange[0].tolist() == [-10.0, 10.0]
    assert in_pinocchio(text).upperEffortLimit.tolist() == [0.0]


@pytest.mark.parametrize("ends", [(0.0, 0.0), (1.0, -1.0)])
def test_limits(ends: tuple[float, float]) -> None:
    limit = f'<limit lower="{ends[0]}" upper="{ends[1]}" effort="1" velocity="1"/>'
    text = robot(link("a"), link("b"), joint("j", "a", "b", limit))
    assert not in_mujoco(text).jnt_limited[0]
    model = in_pinocchio(text)
    assert (model.lowerPositionLimit[0], model.upperPositionLimit[0]) == ends


def test_start() -> None:
    text = robot(link("a"), link("b"), joint("j", "a", "b", LIMIT.replace("-1", "0.5")))
    model = in_mujoco(text)
    data = mujoco.MjData(model)
    assert data.qpos[0] == 0
    mujoco.mj_step(model, data)
    assert data.qvel[0] > 0.1
    assert pinocchio.neutral(in_pinocchio(text)).tolist() == [0.0]


def test_axis() -> None:
    text = robot(link("a"), link("b"), joint("j", "a", "b", axis="0 0 2"))
    assert in_mujoco(text).jnt_axis[0].tolist() == [0, 0, 1]
    model = in_pinocchio(text)
    data = model.createData()
    pinocchio.computeJointJacobians(model, data, np.zeros(1))
    assert np.linalg.norm(data.J) == pytest.approx(1.0)


def test_mimic() -> None:
    text = robot(
        link("a"), link("b"), link("c"), joint("j", "a", "b"),
        joint("k", "a", "c", LIMIT + '<mimic joint="j" multiplier="-1"/>'),
    )  # fmt: skip
    assert in_mujoco(text).eq_type.tolist() == [int(mujoco.mjtEq.mjEQ_JOINT)]
    assert in_pinocchio(text).nv == 2
    assert in_pinocchio(text, mimic=True).nv == 1


def test_names() -> None:
    links = robot(link("a"), link("b"), link("b"), joint("j", "a", "b"))
    joints = robot(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "a", "c"))
    with pytest.raises(ValueError, match="repeated"):
        in_mujoco(links)
    assert in_mujoco(joints).njnt == 2
    for text in (links, joints):
        with pytest.raises(ValueError, match="valid URDF"):
            in_pinocchio(text)


def test_missing_mesh() -> None:
    shape = '<collision><geometry><mesh filename="no.stl"/></geometry></collision>'
    text = robot(link("a"), link("b", shape=shape), joint("j", "a", "b"))
    with pytest.raises(ValueError, match=r"no\.stl"):
        in_mujoco(text)
    assert in_pinocchio(text).nv == 1


def test_ignored(tmp_path: Path) -> None:
    text = robot(link("a"), link("b"), joint("j", "a", "b"), '<unheard of="1"/>')
    assert in_mujoco(text).nv == in_pinocchio(text).nv == 1
    with pytest.raises(ValueError, match="Schema violation"):
        in_mujoco("<mujoco><unheard/></mujoco>")


def test_base() -> None:
    text = robot(link("a"), link("b"), joint("j", "a", "b"))
    model = in_mujoco(text)
    assert (model.nv, model.body_mass.sum()) == (1, 1.0)
    assert in_pinocchio(text).nv == 1
    assert in_pinocchio(text, root_joint=pinocchio.JointModelFreeFlyer()).nv == 7


def diverges(kp: float, kv: float, damping: float, integrator: str, timestep: float) -> bool:
    """Whether a servo on a hinge of inertia 0.01 does, from a small angle."""
    model = in_mujoco(
        f'<mujoco><option timestep="{timestep}" integrator="{integrator}" gravity="0 0 0"/>'
        "<worldbody><body><joint name='j' type='hinge' axis='0 0 1' "
        f"damping='{damping}'/><inertial mass='1' pos='0 0 0' diaginertia='0.01 0.01 0.01'/>"
        f"</body></worldbody><actuator><position joint='j' kp='{kp}' kv='{kv}'/></actuator>"
        "</mujoco>"
    )
    data = mujoco.MjData(model)
    data.qpos[0] = 1e-3
    for _ in range(2000):
        mujoco.mj_step(model, data)
    unstable = data.warning[int(mujoco.mjtWarning.mjWARN_BADQACC)].number > 0
    return bool(unstable or abs(data.qpos[0]) > 1.0)


def test_timestep_and_damping() -> None:
    most = 4 * 0.01 / 0.02**2  # kp at 20 ms
    for integrator in ("Euler", "implicitfast"):
        assert diverges(1.1 * most, 0.0, 0.0, integrator, 0.02)
        assert not diverges(0.9 * most, 0.0, 0.0, integrator, 0.02)
    assert diverges(0.1, 3.0, 0.0, "Euler", 0.01)
    assert not diverges(0.1, 3.0, 0.0, "implicitfast", 0.01)
    assert not diverges(0.1, 0.0, 300.0, "Euler", 0.01)


def test_armature(tmp_path: Path) -> None:
    text = (
        "<mujoco model='m'><worldbody><body name='b'>"
        "<joint name='j' type='hinge' axis='0 0 1' armature='2'/>"
        "<inertial mass='1' pos='0 0 0' diaginertia='0.01 0.01 0.01'/></body></worldbody></mujoco>"
    )
    model = in_mujoco(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    moved = np.zeros(1)
    mujoco.mj_mulM(model, data, moved, np.ones(1))
    assert moved[0] == pytest.approx(2.01)
    file = tmp_path / "hinge.xml"
    file.write_text(text, encoding="utf-8")
    found = pinocchio.buildModelFromMJCF(str(file))
    assert pinocchio.crba(found, found.createData(), np.zeros(1))[0, 0] == pytest.approx(2.01)


def test_solref() -> None:
    """A time constant below two steps acts as one of two steps."""

    def fallen(solref: str) -> float:
        model = in_mujoco(
            "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='1 1 1' "
            f"solref='{solref}'/><body pos='0 0 0.099'><freejoint/><geom size='0.1' "
            f"solref='{solref}'/></body></worldbody></mujoco>"
        )
        data = mujoco.MjData(model)
        for _ in range(20):
            mujoco.mj_step(model, data)
        return float(data.qpos[2])

    assert fallen("0.001 1") == fallen("0.004 1")
    assert fallen("0.004 1") != fallen("0.008 1")


def test_overlap() -> None:
    """Bodies that overlap push each other; parent and child do not."""
    text = (
        "<mujoco><worldbody><body pos='0 0 1'><joint type='slide' axis='1 0 0'/><geom size='0.1'/>"
        "<body pos='0.1 0 0'><joint type='slide' axis='1 0 0'/><geom size='0.1'/>"
        "<body pos='0.05 0 0'><joint type='slide' axis='1 0 0'/><geom size='0.1'/></body>"
        "</body></body></worldbody></mujoco>"
    )
    model = in_mujoco(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data)
    assert data.ncon == 1
    assert np.abs(data.qvel).max() > 0.1


def test_checks_have_names_of_their_own() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.what for check in CHECKS)
