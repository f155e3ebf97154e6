"""Four limbs of one robot that take their steps side by side, in the lanes of vector registers.

Each lane is a robot of its own: what the limbs hang on, and one of them. What they hang on is the
same in every lane, to the last bit, as what the limbs do to it is summed up over the lanes wherever
it is passed on (`robosim.kernels.lanes.over_limbs`). The equations are those of the whole robot;
sums are taken in another order, and a contact is in them where any of the four that correspond to
each other is near the ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import in_lines
from robosim.compiled.building.model import compile_model
from robosim.compiled.kinds import LIMIT, RATE
from robosim.compiled.loads import make_loads
from robosim.compiled.memory import make_memory
from robosim.compiled.model import Model
from robosim.compiled.state import make_state
from robosim.compiled.workspace import make_workspace
from robosim.description.body import ContactPoint
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.lanes import LIMBS, limbs
from robosim.runtime.handles import Parts
from robosim.runtime.lanes import Together, are_alike, make_parts, suits_lanes
from robosim.runtime.wide import Moved, Rows, lay_out, moved_of, widen

# Of the bodies of a lane those that all of them have: with more, too much is done four times.
LARGEST_PART = 0.5
# Above the ground, where the contacts of a limb are that only others have [m]: out of reach, but
# not so far that the rounding of its gap over the timestep would show in the residual.
FAR = 100.0


class Lane(NamedTuple):
    """The robot of one lane."""

    robot: Mechanism
    model: Model
    rows: Rows  # of the whole robot's arrays


class Limbs(Together):
    """The limbs of a simulation's robot, taking steps together.

    Parameters
    ----------
    whole : Parts
        Of the simulation.
    lanes : sequence of Lane
        As `find_lanes` gives them.
    """

    def __init__(self, whole: Parts, lanes: Sequence[Lane]) -> None:
        self.memory = whole.memory
        first = lanes[0]
        hub, shared = _hub(lanes)
        model = widen([lane.model for lane in lanes], limbs)
        moved = Moved(
            make_state(first.robot, first.model), make_memory(first.model), make_loads(first.model)
        )
        wide = Moved(*(widen([part], limbs) for part in moved))
        work = widen([make_workspace(first.robot, first.model)], limbs)
        bodies, joints, contacts = model.bodies, model.joints, model.contacts
        bodies["share"][:shared] = 1.0 / LIMBS
        bodies["floating_mass"] = whole.model.bodies["floating_mass"][first.rows.bodies, None]
        begins = joints["parent"][shared:] == hub
        joints["limb"][shared:][begins] = 1
        on_shared = np.where(contacts["joint"] >= 0, contacts["joint"], contacts["body"]) < shared
        contacts["share"][on_shared] = 1.0 / LIMBS
        absent = np.stack([lane.rows.contacts < 0 for lane in lanes], axis=-1)
        contacts["radius"][absent] = -FAR
        work = work._replace(slots=in_lines(contacts))
        states = [moved_of(whole)] * LIMBS
        layouts = [lay_out(whole.model, states[0], wide, limbs, lane.rows) for lane in lanes]
        parts = make_parts(model, wide, work, whole.options, states, layouts, limbs)
        super().__init__(parts, limbs)


def _hub(lanes: Sequence[Lane]) -> tuple[int, int]:
    """The body that limbs hang on, among those of a lane, and how many of these all have."""
    one, other = (lane.rows.bodies for lane in lanes[:2])
    shared = int(np.count_nonzero(one == other))
    return int(lanes[0].model.joints["parent"][shared]), shared


def find_lanes(robot: Mechanism, whole: Parts) -> list[Lane] | None:
    """A robot of what its limbs hang on and one of them, for each; None if it has no such limbs."""
    if not suits_lanes([whole]) or np.any(whole.model.contacts["companions"]):
        return None
    hub_and_limbs = find_limbs(whole.model)
    if hub_and_limbs is None:
        return None
    shared, each = hub_and_limbs
    bodies = whole.model.bodies
    counts = [bodies["contact_end"][limb] - bodies["contact_begin"][limb] for limb in each]
    most = [0] * len(shared) + np.max(counts, axis=0).tolist()
    facets = len(whole.model.facets)
    velocity_limits = bool(np.any(whole.model.contacts["kind"] == RATE))
    out: list[Lane] = []
    for limb in each:
        part = with_bodies(robot, [*shared, *limb], most)
        chosen = [robot.body_index(body.name) for body in part.bodies]
        if chosen != [*shared, *limb]:
            return None
        model = compile_model(part, facets, True, velocity_limits)
        rows = _rows(whole.model, chosen, most)
        out.append(Lane(part, model, rows.beside(out[0].rows) if out else rows))
    return out if all(are_alike(one.model, out[0].model) for one in out) else None


def find_limbs(model: Model) -> tuple[list[int], list[list[int]]] | None:
    """(bodies that four limbs hang on, bodies of each of these), or None.

    Limbs are four branches of a tree alike, all on one body, and there are no others like them.
    """
    nb = len(model.bodies)
    parents = model.joints["parent"][:nb]
    if np.count_nonzero(parents == nb) != 1:
        return None
    branches: list[list[int]] = [[b] for b in range(nb)]
    shapes: list[Any] = [None] * nb
    for b in range(nb - 1, -1, -1):
        children = [c for c in range(b + 1, nb) if parents[c] == b]
        branches[b] += [inner for c in children for inner in branches[c]]
        joint = model.joints[b]
        kind = tuple(int(joint[name]) for name in ("kind", "m_T", "m_R", "n_T", "n_R"))
        shapes[b] = kind, tuple(shapes[c] for c in children)
    best: list[list[int]] = []
    for b in range(nb):
        of_shape: dict[Any, list[list[int]]] = {}
        for c in range(b + 1, nb):
            if parents[c] == b:
                of_shape.setdefault(shapes[c], []).append(branches[c])
        for alike in of_shape.values():
            if len(alike) == LIMBS and (not best or len(alike[0]) > len(best[0])):
                best = alike
    if not best:
        return None
    inside = {b for limb in best for b in limb}
    shared = [b for b in range(nb) if b not in inside]
    if len(shared) > LARGEST_PART * (len(shared) + len(best[0])):
        return None
    return shared, best


def with_bodies(robot: Mechanism, chosen: Sequence[int], least: Sequence[int]) -> Mechanism:
    """Some bodies of a tree, with all bodies that these hang on, and what acts on them.

    Each has at least so many contacts, some of which it does not have in the robot.
    """
    bodies = [replace(robot.bodies[b], collisions=()) for b in chosen]
    contacts: list[ContactPoint] = []
    for body, count in zip(bodies, least, strict=True):
        of_body = [contact for contact in robot.contacts if contact.body == body.name]
        contacts += of_body
        for k in range(len(of_body), count):
            contacts.append(ContactPoint(f"absent {k} of {body.name}", body.name, (0.0, 0.0, 0.0)))
    joints = tuple(robot.joints[b] for b in chosen)
    return Mechanism(robot.name, tuple(bodies), joints, tuple(contacts))


def _rows(model: Model, bodies: Sequence[int], least: Sequence[int]) -> Rows:
    """Rows of a model's arrays that belong to some bodies, in the order that these have there.

    Those of contacts are -1 for what is missing of the `least` number of each.
    """
    contacts: list[NDArray[np.int64]] = []
    of_joint = model.contacts["kind"] >= LIMIT
    for b, count in zip(bodies, least, strict=True):
        of_body = np.flatnonzero(~of_joint & (model.contacts["body"] == b))
        contacts.append(np.pad(of_body, (0, max(0, count - len(of_body))), constant_values=-1))
    contacts += [np.flatnonzero(of_joint & (model.contacts["joint"] == b)) for b in bodies]
    q: list[int] = []
    v: list[int] = []
    for b in bodies:
        joint = model.joints[b]
        rates = int(joint["m_T"] + joint["m_R"])
        q += range(joint["q_begin"], joint["q_begin"] + rates + (1 if joint["m_R"] == 3 else 0))
        v += range(joint["v_begin"], joint["v_begin"] + rates)
    of_q, of_v = np.array(q, dtype=np.int64), np.array(v, dtype=np.int64)
    return Rows(
        np.array(bodies, dtype=np.int64),
        np.concatenate(contacts).astype(np.int64),
        of_q,
        of_v,
        of_q,
        of_v,
    )
