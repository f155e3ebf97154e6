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

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.chains import is_of_hinges_and_slides, taken_apart
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.order import depth_first
from robosim.errors import PeerError
from robosim.validation import Array, shaped

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


class _Conversion(Protocol):
    """A function of q, or of q and v, which returns as much."""

    @overload
    def __call__(
        self, robot: Mechanism, q: ArrayLike, v: None = None, *, model: Any = None
    ) -> Array: ...
    @overload
    def __call__(
        self, robot: Mechanism, q: ArrayLike, v: ArrayLike, *, model: Any = None
    ) -> tuple[Array, Array]: ...


def _conversion(function: Callable[..., Any]) -> _Conversion:
    """The function, with the types of a conversion."""
    return function


@_conversion
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
        for the file that the robot was loaded from, with a free flyer if the root floats.

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
    return _converted(_PINOCCHIO, robot, model, q, v)


@_conversion
def from_pinocchio(
    robot: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, model: Any = None
) -> Array | tuple[Array, Array]:
    """Coordinates (nq,), and velocities (nv,), from Pinocchio's; the inverse of `to_pinocchio`.

    An angle that Pinocchio represents as (cos, sin) is returned in (-pi, pi].
    """
    return _converted(_PINOCCHIO, robot, model, q, v, back=True)


def velocity_map_from_pinocchio(robot: Mechanism, q: ArrayLike, *, model: Any = None) -> Array:
    """T (nv, nv) with ``v = T v_pin`` at robosim's coordinates q (nq,); an orthogonal matrix.

    Generalized forces transform by ``tau_pin = T^T tau``, a mass matrix by ``M_pin = T^T M T``, and
    accelerations by ``a = T a_pin + velocity_drift_from_pinocchio``.
    """
    slots = _slots(_PINOCCHIO, robot, model)
    return _velocity_map(_PINOCCHIO, robot, slots, shaped("q", q, robot.nq))


def velocity_drift_from_pinocchio(
    robot: Mechanism, q: ArrayLike, v: ArrayLike, *, model: Any = None
) -> Array:
    """dT/dt v_pin (nv,), for T of `velocity_map_from_pinocchio` at robosim's velocities v (nv,).

    The term exists because Pinocchio differentiates the base's velocity in rotating axes.
    """
    q, v = shaped("q", q, robot.nq), shaped("v", v, robot.nv)
    drift = np.zeros(robot.nv)
    for slot in _slots(_PINOCCHIO, robot, model):
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


@_conversion
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
    return _converted(_MUJOCO, robot, model, q, v)


@_conversion
def from_mujoco(
    robot: Mechanism, q: ArrayLike, v: ArrayLike | None = None, *, model: Any = None
) -> Array | tuple[Array, Array]:
    """Coordinates (nq,), and velocities (nv,), from MuJoCo's; the inverse of `to_mujoco`."""
    return _converted(_MUJOCO, robot, model, q, v, back=True)


def _converted(
    peer: _Peer,
    robot: Mechanism,
    model: Any,
    q: ArrayLike,
    v: ArrayLike | None,
    back: bool = False,
) -> Array | tuple[Array, Array]:
    """q, and v, as a peer has them, or `back` from these."""
    slots = _slots(peer, robot, model)
    sizes = robot.nq, max((slot.peer_q.stop for slot in slots), default=0)
    q_name, v_name = peer.names if back else ("q", "v")
    given, found = shaped(q_name, q, sizes[back]), np.zeros(sizes[not back])
    for slot in slots:
        source, target = (slot.peer_q, slot.q) if back else (slot.q, slot.peer_q)
        found[target] = peer.coordinates(slot, given[source], back)
    if v is None:
        return found
    T = _velocity_map(peer, robot, slots, found if back else given)
    return found, (T if back else T.T) @ shaped(v_name, v, robot.nv)


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


def _slots(peer: _Peer, robot: Mechanism, model: Any) -> list[_Slot]:
    if model is None:
        refuse_loops(peer.name, robot)
    slots = []
    begin_q = begin_v = 0
    for joint, q, v, _ in peer.order(robot) if model is None else _ours(robot):
        _refuse_kind(peer.name, joint)
        if model is None:
            nq = peer.width(joint)
        else:
            begin_q, begin_v, nq = peer.find(joint, model)
        end_q, end_v = begin_q + nq, begin_v + joint.nv
        slots.append(_Slot(joint, q, v, slice(begin_q, end_q), slice(begin_v, end_v)))
        begin_q, begin_v = end_q, end_v
    if model is not None and model.nv != robot.nv:
        raise PeerError(
            f"the {peer.name} model has {model.nv} velocities, not {robot.nv} as robot "
            f"'{robot.name}'"
        )
    return slots


def _pinocchio_place(joint: Joint, model: Any) -> tuple[int, int, int]:
    """First indices of a joint's q and v in a Pinocchio model, and the number of its q."""
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
    return theirs.idx_q, theirs.idx_v, theirs.nq


def _pinocchio_nq(joint: Joint) -> int:
    """Number of coordinates of a joint in Pinocchio; a continuous hinge has two."""
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


def _velocity_map(peer: _Peer, robot: Mechanism, slots: list[_Slot], q: Array) -> Array:
    """T (nv, nv) of ``v = T v_peer``."""
    T = np.zeros((robot.nv, robot.nv))
    for slot in slots:
        joint = slot.joint
        block = np.eye(joint.nv)
        if peer is _PINOCCHIO and _moves_with_child(joint):
            # A planar joint keeps the first two rows: its velocity stays in the plane.
            n = joint.C_T.shape[1]
            block[:n, :n] = (joint.rotation(q[slot.q]).T @ joint.C_T)[:n]
            if joint.kind == "planar":
                block[2, 2] = joint.C_R[2, 0]
        T[slot.v, slot.peer_v] = block.T
    return T


def _pinocchio_q(slot: _Slot, q_j: Array, back: bool) -> Array:
    """A joint's coordinates as Pinocchio has them, or `back` from these."""
    joint = slot.joint
    n = joint.C_T.shape[1]
    if joint.has_quaternion:
        return np.concatenate((q_j[:n], np.roll(q_j[n:], 1 if back else -1)))
    if slot.peer_q.stop - slot.peer_q.start == joint.nq:
        return q_j
    # The hinge of a planar joint follows two translations; one by itself follows none.
    plane, sense = joint.C_T[:n], joint.C_R[2, 0] if joint.kind == "planar" else 1.0
    if back:
        return np.array([*(plane.T @ q_j[:n]), sense * np.arctan2(q_j[n + 1], q_j[n])])
    angle = sense * q_j[n]
    return np.array([*(plane @ q_j[:n]), np.cos(angle), np.sin(angle)])


def _mujoco_place(joint: Joint, model: Any) -> tuple[int, int, int]:
    """First indices of a joint's q and v in a MuJoCo model, and the number of its q."""
    name = joint.name + (PLANAR_PARTS[0] if joint.kind == "planar" else "")
    free = np.flatnonzero(model.jnt_type == 0)  # mjJNT_FREE
    try:
        index = int(model.joint(name).id)
    except KeyError:
        if joint.kind != "floating" or len(free) != 1:
            raise PeerError(f"the MuJoCo model has no joint '{name}'") from None
        index = int(free[0])
    return int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index]), joint.nq


class _Peer(NamedTuple):
    """What a peer's coordinates differ by from robosim's.

    Attributes
    ----------
    names : of its q and v, in errors
    order : the joints of a robot in the order of the peer's URDF reader
    width : number of coordinates of a joint without a model
    find : indices of a joint in a model
    coordinates : those of a joint, to the peer or back
    """

    name: str
    names: tuple[str, str]
    order: Callable[[Mechanism], Iterable[_Own]]
    width: Callable[[Joint], int]
    find: Callable[[Joint, Any], tuple[int, int, int]]
    coordinates: Callable[[_Slot, Array, bool], Array]


_PINOCCHIO = _Peer(
    "Pinocchio",
    ("Pinocchio's q", "Pinocchio's v"),
    lambda robot: sorted(_ours(robot), key=lambda own: own.path),
    _pinocchio_nq,
    _pinocchio_place,
    _pinocchio_q,
)
_MUJOCO = _Peer(
    "MuJoCo",
    ("MuJoCo's qpos", "MuJoCo's qvel"),
    lambda robot: _ours(robot, depth_first(robot.tree_joints)),
    lambda joint: joint.nq,
    _mujoco_place,
    lambda slot, q_j, back: q_j,
)
