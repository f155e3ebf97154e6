"""Messages to the browser: the robot's shapes once, then small frames of poses.

Both messages are little-endian. A scene is a length (uint32), that many bytes of JSON and then
the arrays that the JSON refers to as ``[type, offset, count]``; shapes that bodies share are in
it once. A frame is float32 throughout:

    time, number of contacts m, of pulls p, of violations v,
    nb poses (x, y, z, qw, qx, qy, qz), m contacts (point, force),
    p pulls (point, force, what it pulls to), v violations of joints

in world axes, for the bodies' centres of mass [m, N, s]; time is NaN if unknown. If the scene has
ghosts, the poses of their bodies follow those of the robot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.body import Body, Geometry
from robosim.description.inertias import turnable
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.soft import SoftMesh
from robosim.errors import StateError
from robosim.quaternions import IDENTITY, from_matrix
from robosim.validation import shaped
from robosim.viz.obstacles import drawn_obstacles, draws_ground, is_solid
from robosim.viz.shapes import triangles

Array = NDArray[np.float64]

STANDARD_GRAVITY = 9.81  # [m/s^2], only to scale the arrows of forces
NEAR_GROUND = 0.01  # [m]: contact points higher than this, and without a force, are not drawn
MAX_CONTACTS = 256
SMALL = 1e-9  # norm of a column of a joint's chart below which there is no motion
NO_FORCE = 1e-4  # of the weight: smaller forces are left by the interior-point method
# The layers that can be switched on and off, and whether they are on at first.
LAYERS = {
    "visual": True,
    "collision": False,
    "contacts": True,
    "forces": True,
    "inertia": False,
    "axes": False,
    "frames": False,
    "com": False,
    "trails": False,
    "violation": False,
    "names": False,
    "ground": True,
    "shadows": True,
}
HEAD = 4  # numbers at the beginning of a frame


class _Blob:
    """Concatenated arrays; equal arrays are stored once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.length = 0
        self.known: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """Offset of `data` in the blob, aligned to 4 bytes."""
        digest = hashlib.sha1(data, usedforsecurity=False).digest()
        if digest not in self.known:
            self.known[digest] = self.length
            padded = data + bytes(-len(data) % 4)
            self.parts.append(padded)
            self.length += len(padded)
        return self.known[digest]

    def array(self, values: NDArray[Any]) -> list[Any]:
        """The reference [type, offset, count] to a copy of `values`."""
        names = {"f4": "Float32Array", "u4": "Uint32Array", "u2": "Uint16Array", "i2": "Int16Array"}
        flat = np.ascontiguousarray(values).reshape(-1)
        little = flat.astype(flat.dtype.newbyteorder("<"))
        return [names[flat.dtype.str[1:]], self.add(little.tobytes()), len(flat)]


class Contacts(NamedTuple):
    """Positions of contacts, (nc, 3) [m], and forces on the bodies, (nc, 3) [N]; world axes."""

    positions: ArrayLike | None = None
    forces: ArrayLike | None = None


def encode_scene(robot: Mechanism, *, ground: bool = True, ghosts: Sequence[str] = ()) -> bytes:
    """The scene message of a robot: bodies with their shapes, and data of the layers.

    Bodies without visuals show their collision shapes. Bodies without either show a translucent
    box of uniform density with their mass and inertia, unless they are carriers. Obstacles and
    shapes fixed to the world are drawn too. The plane z = 0 is omitted if only obstacles support
    the robot.
    """
    blob = _Blob()
    shapes: dict[bytes, int] = {}
    geometries: list[dict[str, Any]] = []

    def describe(drawn: Iterable[Geometry]) -> list[dict[str, Any]]:
        described = []
        for geometry in drawn:
            key = _fingerprint(geometry)
            if key not in shapes:
                shapes[key] = len(geometries)
                geometries.append(_encode_geometry(geometry, blob))
            described.append(
                {
                    "geometry": shapes[key],
                    "position": np.asarray(geometry.position).tolist(),
                    "quaternion": np.asarray(geometry.quaternion).tolist(),
                    "rgba": [float(c) for c in geometry.rgba],
                    "texture": _encode_texture(geometry, blob),
                }
            )
        return described

    bodies = [
        {
            "name": body.name,
            "mass": body.mass,
            "shapes": describe(drawn_shapes(body)),
            "collisions": describe(body.collisions),
            "carrier": body.carrier,
            "inertia": _encode_ellipsoid(body),
            "frame": np.asarray(body.reference_position).tolist(),
        }
        for body in robot.bodies
    ]
    fixed = describe((*robot.world_visuals, *drawn_obstacles(robot)))
    header = {
        "name": robot.name,
        "ground": bool(ground) and draws_ground(robot),
        "solid": is_solid(robot),
        "follow": robot.floating_base,
        "weight": robot.total_mass * STANDARD_GRAVITY,
        "max_contacts": MAX_CONTACTS,
        "geometries": geometries,
        "bodies": bodies,
        "joints": [_encode_joint(robot, joint) for joint in robot.joints],
        "trails": _encode_trails(robot),
        "lines": spring_ends(robot),
        "skins": [encode_skin(robot, mesh) for mesh in robot.soft_meshes],
        "fixed": fixed,
        "ghosts": list(ghosts),
        "layers": LAYERS,
    }
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return b"".join((len(text).to_bytes(4, "little"), text, *blob.parts))


def _encode_joint(robot: Mechanism, joint: Joint) -> dict[str, Any]:
    """Where a joint is on its child, and the directions that it leaves free, in the child's axes.

    Translations are free along axes of the joint frame, which are the child's where it is. A chart
    moves its child along the columns of S, of which those at home are drawn.
    """
    slides, turns = joint.C_T.T, joint.C_R.T
    if joint.kind == "floating":
        slides = turns = np.zeros((0, 3))
    if joint.own_chart is not None:
        slides, turns = _columns_at_home(robot, joint)
    return {
        "name": joint.name,
        "body": robot.body_index(joint.child),
        "position": np.asarray(joint.child_position).tolist(),
        "slides": slides.tolist(),
        "turns": turns.tolist(),
    }


def _columns_at_home(robot: Mechanism, joint: Joint) -> tuple[Array, Array]:
    """Unit vectors (m, 3) that a chart slides along and turns about; none if it closes a loop."""
    slides, turns = [np.zeros((0, 3))], [np.zeros((0, 3))]
    if joint.own_chart is not None and joint in robot.tree_joints:
        begin = robot.q_offsets[robot.joint_index(joint.name)]
        q = np.asarray(robot.home)[begin : begin + joint.nq]
        for column in joint.own_chart.columns(q).T:
            speed, spin = np.linalg.norm(column[:3]), np.linalg.norm(column[3:])
            if spin > SMALL:
                turns.append(column[None, 3:] / spin)
            elif speed > SMALL:
                slides.append(column[None, :3] / speed)
    return np.vstack(slides), np.vstack(turns)


def _encode_trails(robot: Mechanism) -> list[dict[str, Any]]:
    """Points that leave trails: of each body at an end of the tree, its foot or its centre."""
    parents = {joint.parent for joint in robot.tree_joints}
    found = []
    for k, body in enumerate(robot.bodies):
        if body.name not in parents:
            feet = [np.asarray(c.position) for c in robot.contacts if c.body == body.name]
            farthest = max(feet, key=np.linalg.norm, default=np.zeros(3))
            found.append({"body": k, "point": farthest.tolist()})
    return found


def spring_ends(robot: Mechanism) -> list[list[float]]:
    """Springs between points: of either end the body, -1 for the world, and a point in its axes."""
    index = {body.name: k for k, body in enumerate(robot.bodies)}
    return [
        [
            -1 if spring.parent is None else index[spring.parent],
            *np.asarray(spring.parent_position).tolist(),
            index[spring.child],
            *np.asarray(spring.child_position).tolist(),
        ]
        for spring in robot.springs
    ]


def encode_skin(robot: Mechanism, mesh: SoftMesh) -> dict[str, Any]:
    """The surface of a soft solid: its nodes, each [body, x, y, z] as of lines, and triangles."""
    index = {body.name: k for k, body in enumerate(robot.bodies)}
    used, faces = np.unique(mesh.surface, return_inverse=True)
    on = [-1 if name is None else index[name] for name in mesh.bodies]
    points = np.asarray(mesh.positions).tolist()
    nodes = [[on[k], *points[k]] for k in used]
    return {"name": mesh.name, "nodes": nodes, "faces": faces.ravel().tolist()}


def _principal(body: Body) -> tuple[Array, Array, ArrayLike]:
    """Squares of the edges of a body's equivalent box, its axes, and those as a quaternion."""
    moments, axes = np.linalg.eigh(turnable(body.inertia, body.mass))
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    # Edges a, b, c of a box: J_a = m (b^2 + c^2) / 12, and so on round.
    squares = 6.0 / body.mass * (moments.sum() - 2 * moments)
    squares = np.maximum(squares, 1e-4 * squares.max())
    return squares, axes, from_matrix(axes) if np.ptp(moments) > 1e-9 * moments[2] else IDENTITY


def _encode_ellipsoid(body: Body) -> dict[str, Any]:
    """The ellipsoid of uniform density with the mass and the inertia of `body`: its half axes."""
    squares, _, quaternion = _principal(body)
    # J_a = m (b^2 + c^2) / 5 with half axes: those of the box times the root of 5 / 12.
    return {
        "radii": np.sqrt(5.0 / 12.0 * squares).tolist(),
        "quaternion": np.asarray(quaternion).tolist(),
    }


def drawn_shapes(body: Body) -> tuple[Geometry, ...]:
    """What is drawn of a body: nothing of one that only stands between the hinges of a joint."""
    if body.visuals or body.collisions:
        return body.visuals or body.collisions
    return () if body.carrier else (equivalent_box(body),)


def equivalent_box(body: Body) -> Geometry:
    """The box of uniform density with the mass and the inertia of `body`, in its axes."""
    squares, _, quaternion = _principal(body)
    edges = np.sqrt(squares)
    return Geometry(
        "box",
        size=tuple(float(edge) for edge in edges),
        quaternion=quaternion,
        rgba=(0.45, 0.6, 0.75, 0.8),
        name=body.name,
    )


def _fingerprint(geometry: Geometry) -> bytes:
    digest = hashlib.sha1(repr((geometry.kind, geometry.size)).encode(), usedforsecurity=False)
    for values in (geometry.vertices, geometry.faces, geometry.uv):
        digest.update(b"|")
        if values is not None:
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.digest()


def _encode_geometry(geometry: Geometry, blob: _Blob) -> dict[str, Any]:
    shape = triangles(geometry)
    small = len(shape.positions) < 2**16
    return {
        "position": blob.array(shape.positions),
        "normal": blob.array(np.round(shape.normals * 32767).astype(np.int16)),
        "index": blob.array(shape.faces.astype(np.uint16 if small else np.uint32)),
        "uv": None if shape.uv is None else blob.array(shape.uv),
    }


def _encode_texture(geometry: Geometry, blob: _Blob) -> list[Any] | None:
    if geometry.texture is None or geometry.uv is None:
        return None
    image = bytes(geometry.texture)
    kind = "image/jpeg" if image[:2] == b"\xff\xd8" else "image/png"
    return [kind, blob.add(image), len(image)]


class FrameEncoder:
    """Packs states of a robot into frames; `copies` counts the robot and its ghosts."""

    def __init__(self, robot: Mechanism, copies: int = 1) -> None:
        self.n_bodies = copies * len(robot.bodies)
        self.n_joints = len(robot.joints)
        self._no_force = NO_FORCE * robot.total_mass * STANDARD_GRAVITY

    def encode(
        self,
        time: float | None,
        x: ArrayLike,
        q: ArrayLike,
        contacts: Contacts = Contacts(),  # noqa: B008
        *,
        pulls: ArrayLike | None = None,
        violations: ArrayLike | None = None,
    ) -> bytes:
        """The frame message.

        Parameters
        ----------
        time : [s] or None
        x : (nb, 3) [m], q : (nb, 4)
            Positions of the centres of mass in world axes, and quaternions, body to world.
        contacts : Contacts
            Any number. Contacts without a force and far from the ground are left out.
        pulls : (n, 9) or None
            Point of action [m], force [N], other end of the string [m]; world axes.
        violations : (nj,) [m] or None
            Violations of the joints.

        Raises
        ------
        StateError
            For wrong shapes, values that are not finite, or forces without positions.
        """
        touching = self.rows(contacts)
        pulled = np.zeros((0, 9))
        if pulls is not None:
            pulled = shaped("pulls", pulls, len(np.atleast_1d(pulls)), 9)
        violated = np.zeros(0)
        if violations is not None:
            violated = shaped("violations", violations, self.n_joints)
        x = shaped("x", x, self.n_bodies, 3)
        poses = np.hstack((x, shaped("q", q, self.n_bodies, 4)))
        head = (np.nan if time is None else time, len(touching), len(pulled), len(violated))
        parts = (np.array(head), poses.ravel(), touching.ravel(), pulled.ravel(), violated)
        return np.concatenate(parts).astype("<f4").tobytes()

    def rows(self, contacts: Contacts) -> Array:
        """Rows (point, force) of the contacts worth drawing, the strongest ones first."""
        positions, forces = contacts
        if positions is None:
            if forces is not None:
                raise StateError("contact_forces need contact_positions")
            return np.zeros((0, 6))
        points = shaped("contact_positions", positions, len(np.atleast_1d(positions)), 3)
        acting = np.zeros_like(points)
        if forces is not None:
            acting = shaped("contact_forces", forces, *points.shape)
        size = np.sqrt(np.einsum("ij,ij->i", acting, acting))
        pressed = size > self._no_force
        drawn = np.flatnonzero(pressed | (points[:, 2] < NEAR_GROUND))
        if len(drawn) > MAX_CONTACTS:
            drawn = drawn[np.lexsort((points[drawn, 2], -size[drawn]))[:MAX_CONTACTS]]
        rows = np.empty((len(drawn), 6))
        rows[:, :3] = points[drawn]
        rows[:, 3:] = np.where(pressed[drawn, None], acting[drawn], 0.0)
        return rows
