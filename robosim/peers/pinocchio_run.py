"""Accelerations by Pinocchio's articulated-body algorithm, for the same mechanism."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import PeerError
from robosim.peers import conversions
from robosim.peers.libraries import GRAVITY
from robosim.validation import Array


def available() -> bool:
    """Whether Pinocchio is installed."""
    return importlib.util.find_spec("pinocchio") is not None


def model_of(robot: Mechanism) -> Any:
    """Pinocchio's model of a tree with hinges, slides, ball joints and floating joints.

    Springs, dampers, rotors and limits are omitted.

    Raises
    ------
    PeerError
        For a loop, a joint of another kind, or a body with gravity compensation.
    """
    import pinocchio as pin

    conversions.refuse_loops("Pinocchio", robot)
    for body in robot.bodies:
        if body.gravity_compensation:
            raise PeerError(f"body '{body.name}': Pinocchio has no gravity compensation")
    model = pin.Model()
    index: dict[str | None, int] = {None: 0}
    after: dict[str | None, Array] = {
        None: np.zeros(3)
    }  # positions of joints in their children, from the centre of mass
    for joint, body in zip(robot.tree_joints, robot.bodies, strict=True):
        kind = _kind(pin, joint)
        turn = quaternions.rotation_matrix(np.asarray(joint.offset, dtype=float))
        at = np.asarray(joint.parent_position, dtype=float) - after[joint.parent]
        own = model.addJoint(index[joint.parent], kind, pin.SE3(turn, at), joint.name)
        place = np.asarray(joint.child_position, dtype=float)
        inertia = pin.Inertia(body.mass, -place, np.asarray(body.inertia, dtype=float))
        model.appendBodyToJoint(own, inertia, pin.SE3.Identity())
        index[body.name], after[body.name] = own, place
    model.gravity.linear[:] = GRAVITY
    return model


def _kind(pin: Any, joint: Joint) -> Any:
    axis = np.asarray(joint.axis, dtype=float)
    axis = axis / np.linalg.norm(axis)
    if joint.kind == "revolute":
        return pin.JointModelRevoluteUnaligned(axis)
    if joint.kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(axis)
    if joint.kind == "spherical":
        return pin.JointModelSpherical()
    if joint.kind == "floating":
        return pin.JointModelFreeFlyer()
    raise PeerError(f"joint '{joint.name}' is {joint.kind}: Pinocchio's model has no such joint")


def accelerations(robot: Mechanism, model: Any = None) -> Callable[[Array, Array], Array]:
    """A function from robosim's q (nq,) and v (nv,) to accelerations (nv,) without torques.

    Parameters
    ----------
    robot : Mechanism
    model : pinocchio.Model or None
        That of `model_of` if None.
    """
    import pinocchio as pin

    model = model_of(robot) if model is None else model
    data, none = model.createData(), np.zeros(model.nv)

    def found(q: Array, v: Array) -> Array:
        q_pin, v_pin = conversions.to_pinocchio(robot, q, v, model=model)
        T = conversions.velocity_map_from_pinocchio(robot, q, model=model)
        drift = conversions.velocity_drift_from_pinocchio(robot, q, v, model=model)
        return np.asarray(T @ pin.aba(model, data, q_pin, v_pin, none) + drift)

    return found
