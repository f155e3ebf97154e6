"""Joint coordinates to and from those of Pinocchio and MuJoCo.

Here, q and v follow the tree order of the model file. A floating base is the position of the base
link's origin in the world and a quaternion (w, x, y, z). Its velocity is that of the origin in
world axes, and the angular velocity in body axes. See docs/conventions.md for all three libraries.

Pinocchio visits the children of a link in the order of the names of their joints, including fixed
joints. Quaternions are (x, y, z, w), and the velocity of the base is in body axes. A continuous
joint is (cos, sin), and a planar one (x, y, cos, sin) with its velocity in the child's axes. MuJoCo
differs only in the number of joints for a planar one. Both have a joint for each coordinate of a
chart of hinges and slides, with the coordinate's name.

Neither library is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.chains import is_of_hinges_and_slides, taken_apart
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.order import depth_first
from robosim.errors import PeerError, StateError

Array = NDArray[np.float64]

_SHARED_KINDS = ("revolute", "prismatic", "spherical", "planar", "floating")
KINDS = {"Pinocchio": (*_SHARED_KINDS, "fixed_orientation"), "MuJoCo": _SHARED_KINDS}
"""Joint kinds that a peer has as one joint, or that its URDF reader makes."""
ROOT_JOINT = "root_joint"
"""What Pinocchio calls the joint to the world when it is told to add one."""
PLANAR_PARTS = ("_TX", "_TY", "_RZ")
"""Endings of the joints that MuJoCo makes of a planar one, next to each other in this order."""


class _Own(NamedTuple):
    """A joint that can move, or one of a chain that a chart stands for, with robosim's slices.

    A path consists of the names of all joints of the file from the root to the child. The
    lexicographic order of paths is the depth-first order with siblings in the order of their names.
    """

    joint: Joint
    q: slice
    v: slice
    path: tuple[str, ...]


class _Slot(NamedTuple):
    """The indices of a joint's coordinates, in robosim and in a peer."""

    joint: Joint
    q: slice
    v: slice
    peer_q: slice
    peer_v: slice


@overload
def to_pinocchio(robot: Mechanism, q: ArrayLike, v: None = None, *, model: Any = None) -> Array: ...
@overload
def to_pinocchio(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, *, model: Any = None
) -> tuple[Array, Array]: ...
def to_pinocchio(
    robot: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, model: Any = None
) -> Array | tuple[Array, Array]:
    """Coordinates, and velocities, as Pinocchio has them.

    Parameters
    ----------
    robot : Mechanism
    q : (nq,)
    v : (nv,) or None
    model : pinocchio.Model or None
        Model with the joints, which are found by name. None: the model of ``buildModelFromUrdf``
        for the file
        that the robot was loaded from, with a free flyer if the root floats.

    Returns
    -------
    (model.nq,), or with v a pair with (model.nv,)

    Raises
    ------
    StateError
        For a wrong shape or a value that is not finite.
    PeerError
        For a joint that Pinocchio does not have, a model of another robot, or closed loops: no
        URDF has them. With `model`, the coordinates are those of the tree.
    """
    q = _checked("q", q, robot.nq)
    slots = _pinocchio_slots(robot, model)
    q_peer = np.zeros(_width(slots, "peer_q"))
    for slot in slots:
        q_peer[slot.peer_q] = _to_pinocchio_q(slot, q[slot.q])
    if v is None:
        return q_peer
    return q_peer, _velocity_map(robot, slots, q).T @ _checked("v", v, robot.nv)


@overload
def from_pinocchio(
    robot: Mechanism, q: ArrayLike, v: None = None, *, model: Any = None
) -> Array: ...
@overload
def from_pinocchio(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, *, model: Any = None
) -> tuple[Array, Array]: ...
def from_pinocchio(
    robot: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, model: Any = None
) -> Array | tuple[Array, Array]:
    """Coordinates (nq,), and velocities (nv,), from Pinocchio's; the inverse of `to_pinocchio`.

    An angle that Pinocchio represents as (cos, sin) is returned in (-pi, pi].
    """
    slots = _pinocchio_slots(robot, model)
    q_peer = _checked("Pinocchio's q", q, _width(slots, "peer_q"))
    q_ours = np.zeros(robot.nq)
    for slot in slots:
        q_ours[slot.q] = _from_pinocchio_q(slot, q_peer[slot.peer_q])
    if v is None:
        return q_ours
    v_peer = _checked("Pinocchio's v", v, robot.nv)
    return q_ours, _velocity_map(robot, slots, q_ours) @ v_peer


def velocity_map_from_pinocchio(robot: Mechanism, q: ArrayLike, *, model: Any = None) -> Array:
    """T (nv, nv) with ``v = T v_pin`` at robosim's coordinates q (nq,); an orthogonal matrix.

    Generalized forces transform by ``tau_pin = T^T tau``, a mass matrix by ``M_pin = T^T M T``, and
    accelerations by ``a = T a_pin + velocity_drift_from_pinocchio``.
    """
    return _velocity_map(robot, _pinocchio_slots(robot, model), _checked("q", q, robot.nq))


def velocity_drift_from_pinocchio(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, *, model: Any = None
) -> Array:
    """dT/dt v_pin (nv,), for T of `velocity_map_from_pinocchio` at robosim's velocities v (nv,).

    The term exists because Pinocchio differentiates the base's velocity in rotating axes.
    """
    q, v = _checked("q", q, robot.nq), _checked("v", v, robot.nv)
    drift = np.zeros(robot.nv)
    for slot in _pinocchio_slots(robot, model):
        C_T, C_R = slot.joint.C_T, slot.joint.C_R
        translations = C_T.shape[1]
        if not _moves_with_child(slot.joint):
            continue
        R = slot.joint.rotation(q[slot.q])
        v_j = v[slot.v]
        omega = R @ (C_R @ v_j[translations:])
        begin = slot.v.start
        drift[begin : begin + translations] = C_T.T @ np.cross(omega, C_T @ v_j[:translations])
    return drift


@overload
def to_mujoco(robot: Mechanism, q: ArrayLike, v: None = None, *, model: Any = None) -> Array: ...
@overload
def to_mujoco(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, *, model: Any = None
) -> tuple[Array, Array]: ...
def to_mujoco(
    robot: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, model: Any = None
) -> Array | tuple[Array, Array]:
    """qpos, and qvel, as MuJoCo has them.

    Parameters
    ----------
    robot : Mechanism
    q : (nq,)
    v : (nv,) or None
        MuJoCo's means the same; accelerations, forces and mass matrices too, in its order.
    model : mujoco.MjModel or None
        Model with the joints, which are found by name. None: MuJoCo's model of the robot's URDF,
        which has the same order. A floating base is its free joint, for any name.

    Raises
    ------
    StateError, PeerError
        As for `to_pinocchio`.
    """
    slots = _mujoco_slots(robot, model)
    q_peer = _moved(_checked("q", q, robot.nq), slots, "q", "peer_q")
    if v is None:
        return q_peer
    return q_peer, _moved(_checked("v", v, robot.nv), slots, "v", "peer_v")


@overload
def from_mujoco(robot: Mechanism, q: ArrayLike, v: None = None, *, model: Any = None) -> Array: ...
@overload
def from_mujoco(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, *, model: Any = None
) -> tuple[Array, Array]: ...
def from_mujoco(
    robot: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, model: Any = None
) -> Array | tuple[Array, Array]:
    """Coordinates (nq,), and velocities (nv,), from MuJoCo's; the inverse of `to_mujoco`."""
    slots = _mujoco_slots(robot, model)
    q_ours = _moved(_checked("MuJoCo's qpos", q, robot.nq), slots, "peer_q", "q")
    if v is None:
        return q_ours
    return q_ours, _moved(_checked("MuJoCo's qvel", v, robot.nv), slots, "peer_v", "v")


def _checked(name: str, value: ArrayLike, size: int) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape != (size,):
        raise StateError(f"{name} must have shape ({size},), not {array.shape}")
    if not np.all(np.isfinite(array)):
        raise StateError(f"{name} must be finite, not {array.tolist()}")
    return array


def _ours(robot: Mechanism, order: Sequence[Joint] = ()) -> Iterator[_Own]:
    """Joints that can move, with their slices of q and v, in a given order or the robot's."""
    paths: dict[str | None, tuple[str, ...]] = {None: ()}
    at = {joint.child: j for j, joint in enumerate(robot.tree_joints)}
    for joint in order or robot.tree_joints:
        j = at[joint.child]
        q, v = robot.q_offsets[j], robot.v_offsets[j]
        path = (*paths[joint.parent], *joint.via)
        if is_of_hinges_and_slides(joint):
            names = robot.v_names[v : v + joint.nv]
            for k, part in enumerate(taken_apart(joint, names, names[:-1])):
                path = (*path, part.name)
                yield _Own(part, slice(q + k, q + k + 1), slice(v + k, v + k + 1), path)
        else:
            path = (*path, joint.name)
            if joint.nv > 0:
                yield _Own(joint, slice(q, q + joint.nq), slice(v, v + joint.nv), path)
        paths[joint.child] = path


def count_joints(robot: Mechanism) -> int:
    """Number of joints that can move, as peers count them: each joint of a chart's chain counts."""
    return sum(1 for _ in _ours(robot))


def _width(slots: list[_Slot], which: str) -> int:
    return max((getattr(slot, which).stop for slot in slots), default=0)


def _moved(values: Array, slots: list[_Slot], source: str, target: str) -> Array:
    out = np.zeros(len(values))
    for slot in slots:
        out[getattr(slot, target)] = values[getattr(slot, source)]
    return out


def _pinocchio_slots(robot: Mechanism, model: Any) -> list[_Slot]:
    slots = []
    if model is not None:
        for joint, q, v, _ in _ours(robot):
            theirs = _pinocchio_joint(joint, model)
            peer_q = slice(theirs.idx_q, theirs.idx_q + theirs.nq)
            slots.append(_Slot(joint, q, v, peer_q, slice(theirs.idx_v, theirs.idx_v + theirs.nv)))
        _refuse_others("Pinocchio", robot, model.nv)
        return slots
    refuse_loops("Pinocchio", robot)
    begin_q = begin_v = 0
    for joint, q, v, _ in sorted(_ours(robot), key=lambda own: own.path):
        peer_q = slice(begin_q, begin_q + _pinocchio_nq(joint))
        slots.append(_Slot(joint, q, v, peer_q, slice(begin_v, begin_v + joint.nv)))
        begin_q, begin_v = peer_q.stop, begin_v + joint.nv
    return slots


def _pinocchio_joint(joint: Joint, model: Any) -> Any:
    _refuse_kind("Pinocchio", joint)
    name = joint.name
    if not model.existJointName(name) and joint.parent is None and joint.kind == "floating":
        name = ROOT_JOINT
    if not model.existJointName(name):
        raise PeerError(f"the Pinocchio model '{model.name}' has no joint '{name}'")
    theirs = model.joints[model.getJointId(name)]
    sizes = {_pinocchio_nq(joint)} | ({1, 2} if joint.kind == "revolute" else set())
    if theirs.nv != joint.nv or theirs.nq not in sizes:
        raise PeerError(
            f"joint '{name}' of the Pinocchio model '{model.name}' is a {theirs.shortname()}, "
            f"not a {joint.kind} one"
        )
    return theirs


def _pinocchio_nq(joint: Joint) -> int:
    """Number of coordinates of a joint in Pinocchio; a continuous hinge has two."""
    _refuse_kind("Pinocchio", joint)
    continuous = joint.continuous
    if continuous is None:
        continuous = not np.any(np.isfinite(np.array((joint.lower, joint.upper), float)))
    if joint.kind == "planar" or (joint.kind == "revolute" and continuous):
        return joint.nq + 1
    return joint.nq


def _refuse_kind(peer: str, joint: Joint) -> None:
    if joint.kind not in KINDS[peer]:
        raise PeerError(
            f"joint '{joint.name}': {peer} has no joint of kind '{joint.kind}' "
            f"(known: {', '.join(KINDS[peer])})"
        )
    axis = np.asarray(joint.axis)
    across, down = np.abs(axis[:2]).max() > 1e-12, axis[2] < 0
    if joint.kind == "planar" and (across or (down and peer == "MuJoCo")):
        raise PeerError(
            f"joint '{joint.name}': {peer} takes z for the normal of a planar joint, whatever the "
            f"axis; it is {axis.tolist()}"
        )


def _refuse_others(peer: str, robot: Mechanism, nv: int) -> None:
    if nv != robot.nv:
        raise PeerError(
            f"the {peer} model has {nv} velocities, not {robot.nv} as robot '{robot.name}'"
        )


def refuse_loops(peer: str, robot: Mechanism) -> None:
    """Raise a PeerError that names the joints which close loops, if there are any."""
    if robot.loop_joints:
        names = ", ".join(f"'{joint.name}'" for joint in robot.loop_joints)
        raise PeerError(
            f"robot '{robot.name}' has closed loops, which a URDF file for {peer} cannot have: "
            f"joints {names}"
        )


def _moves_with_child(joint: Joint) -> bool:
    """Whether Pinocchio expresses the velocity of the joint's translation in the child's axes."""
    return joint.kind in ("floating", "planar")


def _velocity_map(robot: Mechanism, slots: list[_Slot], q: Array) -> Array:
    T = np.zeros((robot.nv, robot.nv))
    for slot in slots:
        joint = slot.joint
        block = np.eye(joint.nv)
        if _moves_with_child(joint):
            # A planar joint keeps the first two rows: its velocity stays in the plane.
            n = joint.C_T.shape[1]
            block[:n, :n] = (joint.rotation(q[slot.q]).T @ joint.C_T)[:n]
        if joint.kind == "planar":
            block[2, 2] = joint.C_R[2, 0]
        T[slot.v, slot.peer_v] = block.T
    return T


def _to_pinocchio_q(slot: _Slot, q_j: Array) -> Array:
    joint = slot.joint
    n = joint.C_T.shape[1]
    if joint.has_quaternion:
        return np.concatenate((q_j[:n], q_j[n + 1 :], q_j[n : n + 1]))
    if joint.kind == "planar":
        angle = joint.C_R[2, 0] * q_j[2]
        return np.array([*(joint.C_T @ q_j[:2])[:2], np.cos(angle), np.sin(angle)])
    if slot.peer_q.stop - slot.peer_q.start > joint.nq:
        return np.array([np.cos(q_j[0]), np.sin(q_j[0])])
    return q_j


def _from_pinocchio_q(slot: _Slot, q_j: Array) -> Array:
    joint = slot.joint
    n = joint.C_T.shape[1]
    if joint.has_quaternion:
        return np.concatenate((q_j[:n], q_j[-1:], q_j[n:-1]))
    if joint.kind == "planar":
        angle = joint.C_R[2, 0] * np.arctan2(q_j[3], q_j[2])
        return np.array([*(joint.C_T[:2].T @ q_j[:2]), angle])
    if len(q_j) > joint.nq:
        return np.array([np.arctan2(q_j[1], q_j[0])])
    return q_j


def _mujoco_slots(robot: Mechanism, model: Any) -> list[_Slot]:
    if model is None:
        refuse_loops("MuJoCo", robot)
    slots = []
    begin_q = begin_v = 0
    for joint, q, v, _ in _ours(robot, depth_first(robot.tree_joints)):
        _refuse_kind("MuJoCo", joint)
        peer_q, peer_v = slice(begin_q, begin_q + joint.nq), slice(begin_v, begin_v + joint.nv)
        begin_q, begin_v = peer_q.stop, peer_v.stop
        if model is not None:
            at_q, at_v = _mujoco_addresses(joint, model)
            peer_q, peer_v = slice(at_q, at_q + joint.nq), slice(at_v, at_v + joint.nv)
        slots.append(_Slot(joint, q, v, peer_q, peer_v))
    if model is not None:
        _refuse_others("MuJoCo", robot, model.nv)
    return slots


def _mujoco_addresses(joint: Joint, model: Any) -> tuple[int, int]:
    """First index of a joint's coordinates in qpos, and of its velocities in qvel."""
    name = joint.name + (PLANAR_PARTS[0] if joint.kind == "planar" else "")
    free = np.flatnonzero(model.jnt_type == 0)  # mjJNT_FREE
    try:
        index = int(model.joint(name).id)
    except KeyError:
        if joint.kind != "floating" or len(free) != 1:
            raise PeerError(f"the MuJoCo model has no joint '{name}'") from None
        index = int(free[0])
    return int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
