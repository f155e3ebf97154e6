"""What the browser is told: the robot's shapes once, then small frames of poses.

Both messages are little-endian. A scene is a length (uint32), that many bytes of JSON and then
the arrays that the JSON refers to as ``[type, offset, count]``; shapes that bodies share are in
it once. A frame is float32 throughout:

    time, number of contacts m, nb poses (x, y, z, qw, qx, qy, qz), m contacts (point, force)

in world axes, of the bodies' centres of mass [m, N, s]; time is NaN where it is not known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.bodies import Body, Geometry
from robosim.errors import StateError
from robosim.mechanism import Mechanism
from robosim.quaternions import IDENTITY, from_matrix
from robosim.viz.obstacles import drawn_obstacles, draws_ground
from robosim.viz.shapes import triangles

Array = NDArray[np.float64]

STANDARD_GRAVITY = 9.81  # [m/s^2], only to scale the arrows of forces
NEAR_GROUND = 0.01  # [m]: contact points higher than this, and without a force, are not drawn
MAX_CONTACTS = 256
_NO_FORCE = 1e-4  # as a fraction of the weight: what an interior-point solver leaves behind


class _Blob:
    """Arrays laid end to end, each equal one once."""

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


def encode_scene(robot: Mechanism, *, ground: bool = True) -> bytes:
    """The scene message of a robot: its bodies with their visual shapes.

    Bodies without visuals show their collision shapes; bodies without either show, translucent,
    the box of uniform density that has their mass and inertia. Obstacles are drawn with what is
    fixed to the world; the plane z = 0 is not drawn where only obstacles hold the robot.
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
            "shapes": describe(body.visuals or body.collisions or (equivalent_box(body),)),
        }
        for body in robot.bodies
    ]
    fixed = describe((*robot.world_visuals, *drawn_obstacles(robot)))
    header = {
        "name": robot.name,
        "ground": bool(ground) and draws_ground(robot),
        "follow": robot.floating_base,
        "weight": robot.total_mass * STANDARD_GRAVITY,
        "max_contacts": MAX_CONTACTS,
        "geometries": geometries,
        "bodies": bodies,
        "fixed": fixed,
    }
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return b"".join((len(text).to_bytes(4, "little"), text, *blob.parts))


def equivalent_box(body: Body) -> Geometry:
    """The box of uniform density with the mass and the inertia of `body`, in its axes."""
    moments, axes = np.linalg.eigh(np.asarray(body.inertia))
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    # Edges a, b, c of a box: J_a = m (b^2 + c^2) / 12, and so on round.
    squares = 6.0 / body.mass * (moments.sum() - 2 * moments)
    edges = np.sqrt(np.maximum(squares, 1e-4 * squares.max()))
    return Geometry(
        "box",
        size=tuple(float(edge) for edge in edges),
        quaternion=from_matrix(axes) if np.ptp(moments) > 1e-9 * moments[2] else IDENTITY,
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


def _checked(values: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"{what} must be numbers, not {values!r}") from None
    if array.shape != shape:
        raise StateError(f"{what} must have shape {shape}, not {array.shape}")
    if not np.isfinite(array).all():
        raise StateError(f"{what} must be finite, not {array.tolist()}")
    return array


class FrameEncoder:
    """Packs the state of a robot into frames."""

    def __init__(self, robot: Mechanism) -> None:
        self.n_bodies = len(robot.bodies)
        self._no_force = _NO_FORCE * robot.total_mass * STANDARD_GRAVITY

    def encode(
        self,
        time: float | None,
        x: ArrayLike,
        q: ArrayLike,
        contact_positions: ArrayLike | None = None,
        contact_forces: ArrayLike | None = None,
    ) -> bytes:
        """The frame message.

        Parameters
        ----------
        time : [s] or None
        x : (nb, 3) [m], q : (nb, 4)
            Of the bodies' centres of mass, in the world; quaternions body to world.
        contact_positions : (nc, 3) [m], contact_forces : (nc, 3) [N], or None
            Of any number of contacts, in world axes, forces on the body. Contacts without a force
            and far from the ground are left out.

        Raises
        ------
        StateError
            For wrong shapes, values that are not finite, or forces without positions.
        """
        x = _checked(x, (self.n_bodies, 3), "x")
        q = _checked(q, (self.n_bodies, 4), "q")
        contacts = self._contacts(contact_positions, contact_forces)
        frame = np.empty(2 + 7 * self.n_bodies + contacts.size, dtype="<f4")
        frame[0] = np.nan if time is None else time
        frame[1] = len(contacts)
        poses = frame[2 : 2 + 7 * self.n_bodies].reshape(-1, 7)
        poses[:, :3] = x
        poses[:, 3:] = q
        frame[2 + 7 * self.n_bodies :] = contacts.reshape(-1)
        return frame.tobytes()

    def _contacts(self, positions: ArrayLike | None, forces: ArrayLike | None) -> Array:
        """Rows (point, force) of the contacts worth drawing, the strongest ones first."""
        if positions is None:
            if forces is not None:
                raise StateError("contact_forces need contact_positions")
            return np.zeros((0, 6))
        points = _checked(positions, (len(np.atleast_1d(positions)), 3), "contact_positions")
        acting = np.zeros_like(points)
        if forces is not None:
            acting = _checked(forces, points.shape, "contact_forces")
        size = np.sqrt(np.einsum("ij,ij->i", acting, acting))
        pressed = size > self._no_force
        drawn = np.flatnonzero(pressed | (points[:, 2] < NEAR_GROUND))
        if len(drawn) > MAX_CONTACTS:
            drawn = drawn[np.lexsort((points[drawn, 2], -size[drawn]))[:MAX_CONTACTS]]
        rows = np.empty((len(drawn), 6))
        rows[:, :3] = points[drawn]
        rows[:, 3:] = np.where(pressed[drawn, None], acting[drawn], 0.0)
        return rows
