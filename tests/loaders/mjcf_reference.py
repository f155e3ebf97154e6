"""An MJCF file as MuJoCo compiles it, against the mechanism that was loaded from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np

from robosim import Mechanism, quaternions
from robosim.dynamics import Kinematics


def compiled(source: Path | str) -> mujoco.MjModel:
    """MuJoCo's model of a file or a text."""
    text = str(source)
    if text.lstrip().startswith("<"):
        return mujoco.MjModel.from_xml_string(text)
    return mujoco.MjModel.from_xml_path(text)


def free_motion(model: mujoco.MjModel) -> mujoco.MjModel:
    """The model without constraints, springs, dampers and fluid, under the usual gravity."""
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    model.opt.gravity[:] = (0.0, 0.0, -9.81)
    model.opt.density = model.opt.viscosity = 0.0
    for array in (model.dof_damping, model.jnt_stiffness, model.tendon_stiffness):
        array[:] = 0.0
    for array in (model.tendon_damping, model.tendon_armature, model.body_gravcomp):
        array[:] = 0.0
    return model


def body_name(model: mujoco.MjModel, index: int) -> str:
    """What the loader calls a body, which numbers those without a name as MuJoCo does."""
    return model.body(index).name or f"body{index}"


def random_q(robot: Mechanism, rng: np.random.Generator) -> np.ndarray:
    """Coordinates about the home pose, any orientation."""
    q = np.array(robot.home) + rng.uniform(-1.0, 1.0, robot.nq)
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        if joint.has_quaternion:
            begin = start + joint.C_T.shape[1]
            q[begin : begin + 4] = quaternions.normalized(rng.standard_normal(4))
    return q


def differences(robot: Mechanism, model: mujoco.MjModel, states: int = 20) -> dict[str, float]:
    """The largest differences, each in the unit that it is held to.

    Lengths and rotation matrices absolutely; masses, inertias, mass matrices and accelerations as
    `robosim.comparison` takes them, in the mass metric. Counts are compared exactly: 0 or inf.
    """
    free_motion(model)
    data = mujoco.MjData(model)
    own = [body for body in robot.bodies if not body.carrier]
    # Mocap bodies are their own roots, though nothing moves them.
    roots = [k for k in sorted(set(model.body_weldid.tolist())) if model.body_dofnum[k] > 0]
    found = {
        "bodies": _counted(len(own), len(roots)),
        "nq": _counted(robot.nq, model.nq),
        "nv": _counted(robot.nv, model.nv),
    }
    if any(found.values()):
        return found
    found |= _inertials(robot, model, data, roots)
    rng = np.random.default_rng(0)
    rows: dict[str, list[float]] = {"frames": [], "mass_matrix": [], "acceleration": []}
    bare = tuple(replace(tendon, armature=0.0) for tendon in robot.tendons)
    kinematics = Kinematics(replace(robot, tendons=bare))
    for _ in range(states):
        q, v = random_q(robot, rng), rng.standard_normal(robot.nv)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        kinematics.move_to(q)
        rows["frames"].append(_frames(robot, model, data, kinematics))
        theirs = np.zeros((model.nv, model.nv))
        for column, unit in zip(theirs, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        ours = kinematics.mass_matrix()
        scale = np.sqrt(np.diag(theirs))
        rows["mass_matrix"].append(np.abs((ours - theirs) / np.outer(scale, scale)).max())
        a = np.linalg.solve(ours, -kinematics.bias_forces(v))
        error, largest = np.abs((a - data.qacc) * scale).max(), np.abs(data.qacc * scale).max()
        rows["acceleration"].append(error / largest if largest > 0 else error)
    return found | {what: max(values) for what, values in rows.items()}


def _counted(ours: int, theirs: int) -> float:
    return 0.0 if ours == theirs else np.inf


def _inertials(
    robot: Mechanism, model: mujoco.MjModel, data: mujoco.MjData, roots: list[int]
) -> dict[str, float]:
    """Masses, centres and inertias of bodies that move as one."""
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    errors: dict[str, list[float]] = {"mass": [], "center": [], "inertia": []}
    for root in roots:
        body = robot.body(body_name(model, root))
        members = np.flatnonzero(model.body_weldid == root)
        R, p = data.xmat[root].reshape(3, 3), data.xpos[root]
        masses = model.body_mass[members]
        center = masses @ data.xipos[members] / masses.sum()
        inertia = np.zeros((3, 3))
        for member in members:
            axes, r = data.ximat[member].reshape(3, 3), data.xipos[member] - center
            inertia += (axes * model.body_inertia[member]) @ axes.T
            inertia += model.body_mass[member] * (r @ r * np.eye(3) - np.outer(r, r))
        errors["mass"].append(abs(body.mass / masses.sum() - 1))
        errors["center"].append(np.abs(R.T @ (center - p) + body.reference_position).max())
        local = R.T @ inertia @ R
        errors["inertia"].append(np.abs(np.asarray(body.inertia) - local).max() / local.max())
    return {what: max(values) for what, values in errors.items()}


def _frames(
    robot: Mechanism, model: mujoco.MjModel, data: mujoco.MjData, kinematics: Kinematics
) -> float:
    """The largest difference of the bodies' frames, in metres and in rotation matrices."""
    world = {frame.name: frame for frame in robot.world_frames}
    error = 0.0
    for index in range(1, model.nbody):
        name = body_name(model, index)
        if name in world:
            frame = world[name]
            p, R = np.asarray(frame.position), quaternions.rotation_matrix(frame.quaternion)
        else:
            p, R = kinematics.frame(name)
        error = max(error, np.abs(p - data.xpos[index]).max())
        error = max(error, np.abs(R - data.xmat[index].reshape(3, 3)).max())
    return error
