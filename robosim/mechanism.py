"""What people build and read: bodies, joints and contact points, validated once.

Frames. A body's own frame has its origin at the centre of mass; positions "in body axes" are
given from there. Quaternions are scalar first (w, x, y, z), Hamilton, local to world. SI units
and radians throughout. The world is written as ``None`` where a body's name is expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.errors import ModelError
from robosim.joints import selection

Array = NDArray[np.float64]

GEOMETRY_KINDS = ("box", "sphere", "cylinder", "capsule", "mesh")


def _frozen_array(value: ArrayLike, shape: tuple[int, ...], what: str, element: str) -> Array:
    """`value` as a read-only float64 array, or a ModelError that names what is wrong with it.

    It is copied, unless it is such an array already: legs of one kind share their mesh.
    """
    frozen = isinstance(value, np.ndarray) and not value.flags.writeable and value.base is None
    try:
        array = np.array(value, dtype=np.float64, copy=None if frozen else True)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers, not {value!r}", element=element) from None
    if array.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, not {array.shape}", element=element)
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be finite, not {array.tolist()}", element=element)
    array.setflags(write=False)
    return array


def _unit_quaternion(value: ArrayLike, what: str, element: str) -> Array:
    q = _frozen_array(value, (4,), what, element)
    norm = float(np.linalg.norm(q))
    if abs(norm - 1.0) > 1e-6:
        raise ModelError(f"{what} must have unit norm, not {norm:.6g}", element=element)
    q = q / norm
    q.setflags(write=False)
    return q


class _Frozen:
    """Lets a frozen dataclass normalise its own fields while it is constructed."""

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Frame(_Frozen):
    """A named frame fixed to a body.

    Attributes
    ----------
    name : str
    position : (3,) [m], of the frame's origin, in body axes from the centre of mass
    quaternion : (4,), frame to body axes
    """

    name: str
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY

    def __post_init__(self) -> None:
        element = f"frame '{self.name}'"
        self._set(
            position=_frozen_array(self.position, (3,), "position", element),
            quaternion=_unit_quaternion(self.quaternion, "quaternion", element),
        )


@dataclass(frozen=True, eq=False)
class Geometry(_Frozen):
    """A shape fixed to a body, for drawing or for contact.

    Attributes
    ----------
    kind : str
        One of ``GEOMETRY_KINDS``.
    size : tuple of float [m]
        box: full edge lengths (x, y, z); sphere: (radius,); cylinder: (radius, length) along z;
        capsule: (radius, length of the straight part) along z; mesh: ().
    position : (3,) [m], of the shape's origin, in body axes from the centre of mass
    quaternion : (4,), shape to body axes
    vertices : (n, 3) [m] or None, faces : (m, 3) int or None
        Of a mesh, in the shape's frame, scale applied.
    rgba : (4,), each 0..1
    name : str
        For messages: the link that it came from.
    uv : (n, 2) or None, texture : encoded image bytes or None
        Texture coordinates of the vertices and a PNG or JPEG image, where a mesh has them.
    """

    kind: str
    size: tuple[float, ...] = ()
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = quaternions.IDENTITY
    vertices: NDArray[np.float64] | None = None
    faces: NDArray[np.int64] | None = None
    rgba: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)
    name: str = ""
    uv: NDArray[np.float64] | None = None
    texture: bytes | None = None

    def __post_init__(self) -> None:
        element = f"geometry of '{self.name}'" if self.name else "geometry"
        lengths = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "mesh": 0}
        if self.kind not in lengths:
            raise ModelError(
                f"unknown geometry kind '{self.kind}'",
                element=element,
                alternatives=GEOMETRY_KINDS,
            )
        size = _frozen_array(self.size, (lengths[self.kind],), f"size of a {self.kind}", element)
        if np.any(size <= 0):
            raise ModelError(
                f"size of a {self.kind} must be positive, not {size.tolist()}", element=element
            )
        if self.kind == "mesh":
            if self.vertices is None or self.faces is None:
                raise ModelError("a mesh needs vertices and faces", element=element)
            vertices = np.asarray(self.vertices, dtype=np.float64)
            self._set(
                vertices=_frozen_array(vertices, (len(vertices), 3), "vertices", element),
                faces=np.asarray(self.faces, dtype=np.int64),
            )
        self._set(
            size=tuple(float(s) for s in size),
            position=_frozen_array(self.position, (3,), "position", element),
            quaternion=_unit_quaternion(self.quaternion, "quaternion", element),
        )


@dataclass(frozen=True, eq=False)
class Body(_Frozen):
    """A rigid body, described about its centre of mass.

    Attributes
    ----------
    name : str
    mass : float [kg]
    inertia : (3, 3) [kg m^2], about the centre of mass, in body axes
    frames : tuple of Frame
        The first one is the body's reference frame (a link's frame), of the body's name, with
        the axes of the body. Without any, it is put at the centre of mass.
    visuals, collisions : tuple of Geometry
    """

    name: str
    mass: float
    inertia: ArrayLike
    frames: tuple[Frame, ...] = ()
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()

    def __post_init__(self) -> None:
        element = f"body '{self.name}'"
        mass = float(_frozen_array(self.mass, (), "mass", element))
        if mass <= 0:
            raise ModelError(f"mass must be positive, not {mass}", element=element)
        inertia = _frozen_array(self.inertia, (3, 3), "inertia", element)
        if not np.allclose(inertia, inertia.T, rtol=1e-9, atol=1e-15):
            raise ModelError(f"inertia must be symmetric, not {inertia.tolist()}", element=element)
        moments = np.linalg.eigvalsh(inertia)
        if moments[0] <= 0:
            raise ModelError(
                f"inertia must be positive definite; its principal moments are {moments.tolist()}",
                element=element,
            )
        frames = tuple(self.frames) or (Frame(self.name),)
        if not np.allclose(frames[0].quaternion, quaternions.IDENTITY):
            raise ModelError(
                f"reference frame '{frames[0].name}' must have the axes of the body",
                element=element,
            )
        self._set(
            mass=mass,
            inertia=inertia,
            frames=frames,
            visuals=tuple(self.visuals),
            collisions=tuple(self.collisions),
        )

    @property
    def reference_position(self) -> Array:
        """Origin of the reference frame, (3,) [m], in body axes from the centre of mass."""
        return np.asarray(self.frames[0].position)

    def triangle_violation(self) -> str | None:
        """A sentence if no mass distribution has this inertia (J1 + J2 < J3), else None."""
        moments = np.linalg.eigvalsh(np.asarray(self.inertia))
        if moments[0] + moments[1] < moments[2] * (1 - 1e-9):
            return (
                f"body '{self.name}': the principal moments of inertia {moments.tolist()} break "
                "the triangle inequality; no real body has them"
            )
        return None


@dataclass(frozen=True, eq=False)
class Joint(_Frozen):
    """A joint of Table B.2 between a parent (or the world, None) and a child body.

    Attributes
    ----------
    name, kind : str
        The kind is a key of ``robosim.joints.KINDS``.
    parent : str or None
    child : str
    axis : (3,)
        In the joint frame, which is the child's body frame.
    parent_position : (3,) [m]
        p_a, from the parent's centre of mass, in its axes (world coordinates for the world).
    child_position : (3,) [m]
        p_b, from the child's centre of mass, in its axes.
    offset : (4,)
        q_off: joint frame to parent axes at zero.
    lower, upper : (nv,) [rad or m]
        Limits of the coordinates, in the order translations, rotations.
    velocity_limit, effort_limit : float [rad/s or m/s], [N m or N]
    damping, friction, armature : float
        Read and kept: [N m s/rad], [N m], [kg m^2] about a rotation axis, and the like for slides.
    actuated : bool
        Whether the joint takes a torque or force from the controller.
    via : tuple of str
        Names of the fixed joints of the model file that were merged between the parent's
        reference frame and this joint, outermost first; Pinocchio's order depends on them.
    """

    name: str
    kind: str
    parent: str | None
    child: str
    axis: ArrayLike = (0.0, 0.0, 1.0)
    parent_position: ArrayLike = (0.0, 0.0, 0.0)
    child_position: ArrayLike = (0.0, 0.0, 0.0)
    offset: ArrayLike = quaternions.IDENTITY
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    actuated: bool = True
    via: tuple[str, ...] = ()
    D_T: Array = field(init=False)
    D_R: Array = field(init=False)
    C_T: Array = field(init=False)
    C_R: Array = field(init=False)

    def __post_init__(self) -> None:
        element = f"joint '{self.name}'"
        axis = _frozen_array(self.axis, (3,), "axis", element)
        try:
            chosen = selection(self.kind, axis)
        except ModelError as error:
            raise ModelError(
                error.reason, element=element, alternatives=error.alternatives
            ) from None
        for matrix in chosen:
            matrix.setflags(write=False)
        self._set(
            axis=axis / np.linalg.norm(axis),
            D_T=chosen.D_T,
            D_R=chosen.D_R,
            C_T=chosen.C_T,
            C_R=chosen.C_R,
            parent_position=_frozen_array(self.parent_position, (3,), "parent_position", element),
            child_position=_frozen_array(self.child_position, (3,), "child_position", element),
            offset=_unit_quaternion(self.offset, "offset", element),
            actuated=self.actuated and self.kind != "floating",
            via=tuple(self.via),
        )
        self._set(
            lower=self._limit(self.lower, -np.inf, "lower", element),
            upper=self._limit(self.upper, np.inf, "upper", element),
        )
        if np.any(np.asarray(self.lower) > np.asarray(self.upper)):
            raise ModelError(
                f"limits are the wrong way round: lower {np.asarray(self.lower).tolist()}, "
                f"upper {np.asarray(self.upper).tolist()}",
                element=element,
            )

    def _limit(self, value: ArrayLike | None, default: float, what: str, element: str) -> Array:
        if value is None:
            value = np.full(self.nv, default)
        array = np.array(value, dtype=np.float64).reshape(-1)
        if array.shape != (self.nv,) or np.any(np.isnan(array)):
            raise ModelError(
                f"{what} limits must be {self.nv} numbers, not {array.tolist()}", element=element
            )
        array.setflags(write=False)
        return array

    @property
    def n_constraints(self) -> int:
        """Number of constraint rows, 0..6."""
        return int(self.D_T.shape[1] + self.D_R.shape[1])

    @property
    def nv(self) -> int:
        """Number of velocities: 6 minus the constraints."""
        return 6 - self.n_constraints

    @property
    def nq(self) -> int:
        """Number of coordinates: one more than nv where the rotation is free (a quaternion)."""
        return self.nv + (1 if self.C_R.shape[1] == 3 else 0)

    @property
    def has_quaternion(self) -> bool:
        """Whether the rotation is free, and so is kept as a quaternion in q."""
        return int(self.C_R.shape[1]) == 3


@dataclass(frozen=True, eq=False)
class ContactPoint(_Frozen):
    """A point of a body, with a radius, that cannot pass through the ground.

    Attributes
    ----------
    name : str
    body : str
    position : (3,) [m], in body axes from the centre of mass
    radius : float [m], 0 for a corner
    friction : float, Coulomb coefficient
    """

    name: str
    body: str
    position: ArrayLike
    radius: float = 0.0
    friction: float = 0.8

    def __post_init__(self) -> None:
        element = f"contact '{self.name}'"
        self._set(position=_frozen_array(self.position, (3,), "position", element))
        for what in ("radius", "friction"):
            value = float(_frozen_array(getattr(self, what), (), what, element))
            if value < 0:
                raise ModelError(f"{what} must not be negative, not {value}", element=element)
            self._set(**{what: value})


@dataclass(frozen=True, eq=False)
class Stance(_Frozen):
    """Joint targets and PD gains that a robot is known to stand with.

    Attributes
    ----------
    target : (nu,) [rad or m]
    kp, kd : (nu,) [N m/rad, N m s/rad]
    """

    target: ArrayLike
    kp: ArrayLike
    kd: ArrayLike

    def __post_init__(self) -> None:
        shape = np.shape(self.target)
        for what in ("target", "kp", "kd"):
            self._set(**{what: _frozen_array(getattr(self, what), shape, what, "stance")})


@dataclass(frozen=True, eq=False)
class Mechanism(_Frozen):
    """Bodies connected by joints, with contact points; belongs to no simulation.

    Bodies and joints are given in tree order: joint i leads to body i, and a parent comes before
    its children. Coordinates q and velocities v follow the joints in that order. A joint holds,
    in q, its translations (m), then its angle (rad) or its quaternion (w, x, y, z), child to
    joint frame; in v, the rate of the translations in the parent's joint axes and the angular
    velocity in the child's axes. A floating base is thus: position of the reference frame in the
    world, quaternion; velocity of that point in world axes, angular velocity in body axes.

    Attributes
    ----------
    name : str
    bodies : tuple of Body
    joints : tuple of Joint
    contacts : tuple of ContactPoint
        All against the ground, the half-space z >= 0.
    warnings : tuple of str
        What was noticed while building or loading, one sentence each.
    source : str or None
        The file that it was loaded from.
    package_dirs : tuple of str
        Where ``package://`` addresses of that file were looked up.
    home : (nq,) or None
        The pose to start from: all joints at zero, or what the model file or builder says.
    stance : Stance or None
        What it is known to stand with.
    world_frames : tuple of Frame
    world_visuals : tuple of Geometry
        Of links without mass that are fixed to the world, and so are part of no body: where they
        are and what they look like, in world coordinates.

    Raises
    ------
    ModelError
        For names that are not unique or not there, a body without a joint or with two, a cycle.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    contacts: tuple[ContactPoint, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str | None = None
    package_dirs: tuple[str, ...] = ()
    home: ArrayLike | None = None
    stance: Stance | None = None
    world_frames: tuple[Frame, ...] = ()
    world_visuals: tuple[Geometry, ...] = ()

    def __post_init__(self) -> None:
        self._set(
            bodies=tuple(self.bodies), joints=tuple(self.joints), contacts=tuple(self.contacts)
        )
        if not self.bodies:
            raise ModelError("has no bodies", element=f"mechanism '{self.name}'")
        _check_unique("body", (body.name for body in self.bodies))
        _check_unique("joint", (joint.name for joint in self.joints))
        frames = [*self.world_frames, *(frame for _, frame in self.frames())]
        _check_unique("frame", (frame.name for frame in frames))
        self._check_references()
        self._sort_tree()
        noticed = [body.triangle_violation() for body in self.bodies]
        # Each sentence once: a mechanism that is rebuilt from another notices the same things.
        noticed_once = dict.fromkeys((*self.warnings, *(text for text in noticed if text)))
        self._set(warnings=tuple(noticed_once))
        home = self.neutral() if self.home is None else self.home
        self._set(home=_frozen_array(home, (self.nq,), "home", f"mechanism '{self.name}'"))

    def _check_references(self) -> None:
        names = [body.name for body in self.bodies]
        for joint in self.joints:
            for role, body in (("parent", joint.parent), ("child", joint.child)):
                if body not in names and not (role == "parent" and body is None):
                    raise ModelError(
                        f"{role} '{body}' does not exist",
                        element=f"joint '{joint.name}'",
                        alternatives=names,
                    )
        for contact in self.contacts:
            if contact.body not in names:
                raise ModelError(
                    f"body '{contact.body}' does not exist",
                    element=f"contact '{contact.name}'",
                    alternatives=names,
                )

    def _sort_tree(self) -> None:
        """Depth-first order from the world, children in the order given."""
        children: dict[str | None, list[Joint]] = {}
        into: dict[str, Joint] = {}
        for joint in self.joints:
            if joint.child in into:
                raise ModelError(
                    f"child '{joint.child}' already hangs on joint '{into[joint.child].name}'; "
                    "closed loops are not supported yet",
                    element=f"joint '{joint.name}'",
                )
            into[joint.child] = joint
            children.setdefault(joint.parent, []).append(joint)
        for body in self.bodies:
            if body.name not in into:
                raise ModelError(
                    "has no joint to the world or to another body; add a 'floating' one",
                    element=f"body '{body.name}'",
                )
        order: list[Joint] = []
        stack = list(reversed(children.get(None, [])))
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(children.get(joint.child, [])))
        if len(order) < len(self.joints):
            reached = {joint.name for joint in order}
            cycle = [joint.name for joint in self.joints if joint.name not in reached]
            raise ModelError(
                f"joints {cycle} form a cycle that does not lead to the world",
                element=f"mechanism '{self.name}'",
            )
        by_name = {body.name: body for body in self.bodies}
        self._set(joints=tuple(order), bodies=tuple(by_name[joint.child] for joint in order))

    def frames(self) -> Iterator[tuple[int, Frame]]:
        """(body index, frame) of every frame, body by body."""
        for index, body in enumerate(self.bodies):
            for frame in body.frames:
                yield index, frame

    @cached_property
    def _frame_index(self) -> dict[str, tuple[int, Frame]]:
        return {frame.name: (index, frame) for index, frame in self.frames()}

    def frame(self, name: str) -> tuple[int, Frame]:
        """(body index, frame) of a frame by name, merged links included.

        Raises
        ------
        ModelError
            If there is no frame of that name.
        """
        if any(frame.name == name for frame in self.world_frames):
            raise ModelError(f"frame '{name}' is fixed to the world: see world_frames")
        if name not in self._frame_index:
            raise ModelError(f"no frame '{name}'", alternatives=tuple(self._frame_index))
        return self._frame_index[name]

    def body_index(self, name: str) -> int:
        """Index of a body by its name, or ModelError."""
        return _index("body", [body.name for body in self.bodies], name)

    def joint_index(self, name: str) -> int:
        """Index of a joint by its name, or ModelError."""
        return _index("joint", [joint.name for joint in self.joints], name)

    @cached_property
    def q_offsets(self) -> tuple[int, ...]:
        """Where each joint's coordinates begin in q; one more entry, nq, at the end."""
        return tuple(int(n) for n in np.cumsum([0, *(joint.nq for joint in self.joints)]))

    @cached_property
    def v_offsets(self) -> tuple[int, ...]:
        """Where each joint's velocities begin in v; one more entry, nv, at the end."""
        return tuple(int(n) for n in np.cumsum([0, *(joint.nv for joint in self.joints)]))

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.q_offsets[-1]

    @property
    def nv(self) -> int:
        """Length of v: the degrees of freedom."""
        return self.v_offsets[-1]

    @cached_property
    def actuated(self) -> NDArray[np.int64]:
        """Indices into v of the velocities that an actuator drives, (nu,)."""
        return np.array(
            [
                start + k
                for start, joint in zip(self.v_offsets, self.joints, strict=False)
                if joint.actuated
                for k in range(joint.nv)
            ],
            dtype=np.int64,
        )

    @property
    def nu(self) -> int:
        """Number of actuated velocities: the length of a torque vector."""
        return len(self.actuated)

    @cached_property
    def v_names(self) -> tuple[str, ...]:
        """A name for each entry of v: the joint's, with a suffix where a joint has several."""
        return tuple(
            name for joint in self.joints for name in _coordinate_names(joint, velocity=True)
        )

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """A name for each entry of q: the joint's, with a suffix where a joint has several."""
        return tuple(
            name for joint in self.joints for name in _coordinate_names(joint, velocity=False)
        )

    @property
    def floating_base(self) -> bool:
        """Whether the first joint is a floating one."""
        return self.joints[0].kind == "floating"

    @property
    def total_mass(self) -> float:
        """Sum of the masses [kg]."""
        return float(sum(body.mass for body in self.bodies))

    def neutral(self) -> Array:
        """q (nq,) with every joint at zero, quaternions at identity."""
        q = np.zeros(self.nq)
        for start, joint in zip(self.q_offsets, self.joints, strict=False):
            if joint.has_quaternion:
                q[start + joint.C_T.shape[1]] = 1.0
        return q


def _coordinate_names(joint: Joint, *, velocity: bool) -> list[str]:
    translations, rotations = joint.C_T.shape[1], joint.C_R.shape[1]
    suffixes = [f"t{k}" for k in range(translations)]
    if translations == 3:
        suffixes = ["vx", "vy", "vz"] if velocity else ["x", "y", "z"]
    if rotations == 3:
        suffixes += ["wx", "wy", "wz"] if velocity else ["qw", "qx", "qy", "qz"]
    elif rotations == 1:
        suffixes.append("r")
    if len(suffixes) == 1:
        return [joint.name]
    return [f"{joint.name}.{suffix}" for suffix in suffixes]


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError("the name is used twice", element=f"{what} '{name}'")
        seen.add(name)


def _index(what: str, names: list[str], name: str) -> int:
    if name not in names:
        raise ModelError(f"no {what} '{name}'", alternatives=names)
    return names.index(name)
