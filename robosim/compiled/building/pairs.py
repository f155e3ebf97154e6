"""Which shapes of a mechanism may touch each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.building.contacts import (
    MAX_FRICTION,
    POINTS_AT_REST,
    add_compliance,
    add_direction,
    add_turning,
    gyration,
    surface_twist,
)
from robosim.compiled.building.shapes import compile_shapes
from robosim.compiled.kinds import CAPSULE, CYLINDER, HEIGHT_FIELD, ROLLING, SPHERE
from robosim.compiled.model import Collision
from robosim.compiled.records.shape import PAIR
from robosim.description.geometry import Geometry
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, HalfSpace, TriangleMesh
from robosim.description.surfaces import TURNING, WORLD, slipperiest
from robosim.validation import Array, read_only

Side = tuple[int | None, AnyShape]


def compile_pairs(mechanism: Mechanism, n_contacts: int) -> Collision:
    """Shapes and pairs of a mechanism, pairs writeable; none if it can touch only the ground."""
    scene = mechanism.touching_shapes()
    nb = len(mechanism.bodies)
    index: dict[int, int] = {}
    shapes: list[AnyShape] = []
    for _, shape in chain.from_iterable(scene):
        if id(shape) not in index:
            index[id(shape)] = len(shapes)
            shapes.append(shape)
    records, data = compile_shapes(shapes)
    pairs = np.zeros(len(scene), dtype=PAIR)
    if not scene:
        return Collision(records, data, pairs, read_only(np.zeros(nb + 1)))
    twists = np.array([_surface(*one) for one in zip(shapes, records, strict=True)])
    from_centre = np.array([np.linalg.norm(x) for x in records["x"]]) + records["reach"]
    for side, letter in enumerate("ab"):
        of_shape = np.array([index[id(sides[side][1])] for sides in scene])
        pairs[f"shape_{letter}"] = of_shape
        pairs[f"body_{letter}"] = [nb if (b := sides[side][0]) is None else b for sides in scene]
        pairs[f"surface_{letter}"] = twists[of_shape]
        pairs[f"reach_{letter}"] = from_centre[of_shape]
    sides_of = np.column_stack((pairs["shape_a"], pairs["shape_b"]))
    # The lower friction of the two counts.
    friction = np.array([shape.friction for shape in shapes])
    pairs["mu"] = np.minimum(MAX_FRICTION, friction[sides_of].min(axis=1))
    masses = np.array([*(body.mass for body in mechanism.bodies), -1.0])
    sizes = np.array([*map(gyration, mechanism.bodies), 0.0])
    first_is_heavier = masses[pairs["body_a"]] >= masses[pairs["body_b"]]
    pairs["scale"] = sizes[np.where(first_is_heavier, pairs["body_a"], pairs["body_b"])]
    _add_special(mechanism, scene, shapes, records, pairs)
    compliant = np.array([shape.stiffness is not None for shape in shapes])
    for p in np.flatnonzero(compliant[sides_of].any(axis=1)).tolist():
        moved = [mechanism.bodies[b].mass for b, _ in scene[p] if b is not None]
        surfaces = [shape for _, shape in scene[p]]
        add_compliance(pairs[p], surfaces, moved)
        pairs["stiffness"][p] *= min(map(_points_at_rest, surfaces))
    pairs["drifts"] = np.any(twists, axis=1)[sides_of].any(axis=1)
    kinds = records["kind"][sides_of]
    most = kinds.max(axis=1)
    slots = np.select((most == SPHERE, most == CAPSULE, most < HEIGHT_FIELD), (1, 2, 8), 16)
    # Nearly parallel ones touch at both ends of where they overlap and between, and may elsewhere.
    slots[(kinds == CAPSULE).all(axis=1)] = 4
    slots[(kinds == CYLINDER).any(axis=1) & (slots == 8)] = 12
    pairs["slot_end"] = n_contacts + np.cumsum(slots)  # terrain has many edges, and so many slots
    pairs["slot_begin"] = pairs["slot_end"] - slots
    pairs["block_ab"] = pairs["block_ba"] = -1
    reach = np.zeros(nb + 1)
    for letter in "ab":
        np.maximum.at(reach, pairs[f"body_{letter}"], pairs[f"reach_{letter}"])
    reach[nb] = 0.0  # of the world, which does not move
    return Collision(records, data, pairs, read_only(reach))


def _add_special(
    mechanism: Mechanism,
    scene: Sequence[tuple[Side, Side]],
    shapes: Sequence[AnyShape],
    records: NDArray[np.void],
    pairs: NDArray[np.void],
) -> None:
    """Set the friction by direction and against turning of those pairs that have it."""
    nb = len(mechanism.bodies)
    bodies = {body.name: i for i, body in enumerate(mechanism.bodies)} | {WORLD: nb}
    pairs["along"] = pairs["across"] = 1.0
    pairs["first_resists"] = ROLLING
    special = np.array([one.anisotropy is not None or _resists(one) for one in shapes])
    either = special[pairs["shape_a"]] | special[pairs["shape_b"]]
    for p in np.flatnonzero(either).tolist():
        record, sides = pairs[p], scene[p]
        add_turning(record, [shape for _, shape in sides])
        found = slipperiest(shape.anisotropy for _, shape in sides)
        body, shape = sides[found or 0]
        own = nb if body is None else body
        one = None if found is None else shape.anisotropy
        turn = _turn(shape, records[record["shape_b" if found else "shape_a"]])
        add_direction(record, one, bodies, own, turn)


def _resists(shape: AnyShape) -> bool:
    """Whether a surface has coefficients of friction against turning."""
    return any(getattr(shape, what) is not None for what in TURNING)


def _turn(shape: AnyShape, record: np.void) -> Array:
    """Rotation (3, 3) of the axes that a surface is described in to those of its body."""
    return np.eye(3) if isinstance(shape, HalfSpace) else np.asarray(record["R"])


def _surface(shape: AnyShape, record: np.void) -> Array:
    """Velocity and spin of a surface by itself, (6,), about the centre of mass in body axes."""
    R = _turn(shape, record)
    velocity, spin = (R @ np.asarray(v) for v in (shape.surface_velocity, shape.surface_spin))
    place = shape.geometry if isinstance(shape, TriangleMesh) else shape
    origin = place.point if isinstance(place, HalfSpace) else place.position
    return surface_twist(velocity, spin, origin)


def _points_at_rest(shape: AnyShape) -> float:
    """The number of points that a shape lies on where it is flat."""
    return POINTS_AT_REST.get(shape.kind, 4.0) if isinstance(shape, Geometry) else 4.0
