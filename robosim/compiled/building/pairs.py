"""Which shapes of a mechanism may touch each other."""

from __future__ import annotations

import numpy as np

from robosim.compiled.building.contacts import (
    MAX_FRICTION,
    add_direction,
    add_turning,
    gyration,
    surface_twist,
)
from robosim.compiled.building.shapes import compile_shapes
from robosim.compiled.kinds import CAPSULE, HEIGHT_FIELD, SPHERE
from robosim.compiled.model import Collision
from robosim.compiled.records.shape import PAIR
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, HalfSpace, TriangleMesh
from robosim.description.surfaces import WORLD, slipperiest
from robosim.validation import Array


def compile_pairs(mechanism: Mechanism, n_contacts: int) -> Collision:
    """Shapes and pairs of a mechanism, pairs writeable; none if it can touch only the ground."""
    scene = mechanism.touching_shapes()
    nb = len(mechanism.bodies)
    bodies = {body.name: i for i, body in enumerate(mechanism.bodies)} | {WORLD: nb}
    index: dict[int, int] = {}
    shapes: list[AnyShape] = []
    for sides in scene:
        for _, shape in sides:
            if id(shape) not in index:
                index[id(shape)] = len(shapes)
                shapes.append(shape)
    records, data = compile_shapes(shapes)
    pairs = np.zeros(len(scene), dtype=PAIR)
    slot = n_contacts
    for record, sides in zip(pairs, scene, strict=True):
        for letter, (body, shape) in zip("ab", sides, strict=True):
            i = index[id(shape)]
            record[f"shape_{letter}"] = i
            record[f"body_{letter}"] = nb if body is None else body
            record[f"surface_{letter}"] = _surface(shape, records[i])
            record[f"reach_{letter}"] = np.linalg.norm(records["x"][i]) + records["reach"][i]
        # The lower friction of the two counts.
        record["mu"] = min(MAX_FRICTION, *(shape.friction for _, shape in sides))
        moving = [mechanism.bodies[body] for body, _ in sides if body is not None]
        record["scale"] = gyration(max(moving, key=lambda body: body.mass))
        add_turning(record, [shape for _, shape in sides])
        found = slipperiest(shape.anisotropy for _, shape in sides)
        body, shape = sides[found or 0]
        own = nb if body is None else body
        one = None if found is None else shape.anisotropy
        add_direction(record, one, bodies, own, _turn(shape, records[index[id(shape)]]))
        record["drifts"] = np.any(record["surface_a"]) or np.any(record["surface_b"])
        kinds = [int(records["kind"][index[id(shape)]]) for _, shape in sides]
        n_slots = 1 if max(kinds) == SPHERE else 2 if max(kinds) <= CAPSULE else 8
        n_slots = 16 if max(kinds) >= HEIGHT_FIELD else n_slots  # as terrain has many edges
        record["slot_begin"], record["slot_end"] = slot, slot + n_slots
        record["block_ab"] = record["block_ba"] = -1
        slot += n_slots
    reach = np.zeros(nb + 1)
    for letter in "ab":
        np.maximum.at(reach, pairs[f"body_{letter}"], pairs[f"reach_{letter}"])
    reach[nb] = 0.0  # of the world, which does not move
    reach.setflags(write=False)
    return Collision(records, data, pairs, reach)


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
