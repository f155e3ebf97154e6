"""Four similar limbs of one robot, in the lanes of vector registers.

Each lane has the trunk, which is all bodies that the limbs hang on, and one limb. The trunk is the
same in every lane, to the last bit: wrenches and momenta that limbs pass on to the trunk are summed
over the lanes (`robosim.kernels.compiler.lanes.over_limbs`). The equations are those of the whole
robot, with sums in another order. A contact is in the equations if any of the four contacts that
correspond to each other is near the ground.
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

# Largest part of a lane's bodies that may be trunk: with more, too much is computed four times.
LARGEST_PART = 0.5
# Gap [m] of contacts that a limb lacks and other limbs have: out of reach, but not so large that
# the rounding of the gap over the timestep would show in the residual.
FAR = 100.0


class Lane(NamedTuple):
    """The robot of one lane."""

    robot: Mechanism
    model: Model
    rows: Rows  # of this lane in the whole robot's arrays


class Limbs(Together):
    """The limbs of a simulation's robot, taking steps together.

    Parameters
    ----------
    whole : Parts
        Parts of the simulation.
    lanes : sequence of Lane
        The result of `find_lanes`.
    """

    def __init__(self, whole: Parts, lanes: Sequence[Lane]) -> None:
        self.memory, self._model = whole.memory, whole.model
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
        self._contacts = [lane.rows.contacts for lane in lanes]
        super().__init__(parts, limbs)

    def is_of(self, whole: Parts) -> bool:
        """Whether these are the limbs of some parts, whose arrays they still have."""
        return self._model is whole.model and self.memory is whole.memory

    def catch_up(self) -> None:
        """Copy what readings need of the linear system: the contacts, if steps were taken since."""
        values = self.handle.values
        if not values.behind.any():
            return
        source, target = values.memory.system.contacts, self.memory.system.contacts
        for k, rows in enumerate(self._contacts):
            here = np.flatnonzero(rows >= 0)
            for name in target.dtype.names or ():
                is_float = target.dtype[name].base == np.float64
                target[name][rows[here]] = (
                    source[name][here][..., k] if is_float else source[name][here]
                )
        values.behind[:] = 0


def _hub(lanes: Sequence[Lane]) -> tuple[int, int]:
    """Index in a lane of the body that the limbs hang on, and number of bodies of the trunk."""
    one, other = (lane.rows.bodies for lane in lanes[:2])
    shared = int(np.count_nonzero(one == other))
    return int(lanes[0].model.joints["parent"][shared]), shared


def find_lanes(robot: Mechanism, whole: Parts) -> list[Lane] | None:
    """A robot of the trunk and one limb, for each limb; None without four similar limbs."""
    contacts = whole.model.contacts
    # A direction may be fixed to another limb, and a loop or a coupling may lead to one.
    others = whole.model.loops.ties, whole.model.collision.pairs
    if not suits_lanes([whole]) or any(map(len, others)):
        return None
    if np.any(contacts["companions"]) or np.any(contacts["directed"]):
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
    # Only some limbs may bounce.
    bouncing = {len(one.model.restitution) for one in out}
    alike = len(bouncing) == 1 and all(are_alike(one.model, out[0].model) for one in out)
    return out if alike else None


def find_limbs(model: Model) -> tuple[list[int], list[list[int]]] | None:
    """(bodies of the trunk, bodies of each of four limbs), or None.

    The limbs are similar branches of a tree at one body, which has exactly four of them.
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
    """A mechanism of the `chosen` bodies, which include all bodies that these hang on.

    A body with fewer than its `least` number of contacts gets further ones.
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
    """Rows of a model's arrays that belong to some bodies, in the order of these bodies.

    Rows of contacts are -1 for contacts that a body lacks of its `least` number.
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
