"""Data of a step that make the next step cheaper; forgetting them costs no accuracy.

The next motion is guessed from `Guesses`. `System` is a linear system of a step. The last system of
a step is that of the velocities at its end, and the next step begins with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned, copied, copied_rows
from robosim.compiled.model import Model
from robosim.compiled.records.body import INERTIA, POSE
from robosim.compiled.records.contact import CONTACT, CONTACT_GUESS, CONTACT_WORK
from robosim.compiled.records.graph import BLOCK
from robosim.compiled.records.joint import DIRECTIONS, JOINT_GUESS
from robosim.compiled.records.shape import LOOK
from robosim.compiled.records.sizes import TRENDS
from robosim.compiled.records.step import PACE
from robosim.compiled.records.tree import (
    ARM_WORK,
    COLUMN,
    ENTRY,
    LOOP_WORK,
    MOST_COUPLED,
    TREE_WORK,
)
from robosim.validation import Array

# Places in `System.valid`, which says which parts of a System are valid.
FACTORED = 0  # the factors are those of the velocities at the knot, with its contacts
PLACED = 1  # poses, directions and joints of a tree are those at the knot
FORESEEN = 2  # the last motion of a tree was as it had been guessed
LOOKED = 3  # looks at pairs of shapes are those of what was before the knot


class Guesses(NamedTuple):
    """Data of the last steps from which the next step is guessed."""

    joints: NDArray[np.void]  # (nj,) JOINT_GUESS
    trend: Array  # (TRENDS,) 1 for each trend in `missed` that the next guess uses, else 0
    contacts: NDArray[np.void]  # (nc,) CONTACT_GUESS, of those that are active
    active: NDArray[np.int64]  # (nc,) 1 for contacts in the last equations, 0 for the others
    contact_trend: Array  # (TRENDS,) as `trend`, for `changed` of contacts
    ids: NDArray[np.int64]  # (nc,) id of the feature in each slot, -1 for none
    features: NDArray[np.void]  # (slots for features,) CONTACT of the features in the last step
    pace: NDArray[np.void]  # (1,) PACE of steps to an accuracy


class Coupled(NamedTuple):
    """Contacts between bodies of a tree, which are no part of its elimination."""

    number: NDArray[np.int64]  # (1,) of contacts
    columns: NDArray[np.void]  # (MOST_COUPLED,) COLUMN, or (0,) if bodies cannot touch each other
    entries: NDArray[np.void]  # (n,) ENTRY
    last: NDArray[np.int64]  # (nb,) the last entry of each body's joint, or -1
    matrix: Array  # (3 MOST_COUPLED, 3 MOST_COUPLED) of the contacts' motions, in factors
    rows: NDArray[np.int64]  # (3 MOST_COUPLED,) order in which the factors take them
    motion: Array  # (3 MOST_COUPLED,) of the contacts
    known: Array  # (3 MOST_COUPLED,) the same if nothing answered


class System(NamedTuple):
    """The linear system of Newton's method, and the quantities that it is made of."""

    valid: NDArray[np.int64]  # (4,) whether it is FACTORED and PLACED, FORESEEN, and LOOKED
    pose1: NDArray[np.void]  # (nb + 1,) POSE at the first knot, the world last
    inertias: NDArray[np.void]  # (nb,) INERTIA at the first knot
    directions: NDArray[np.void]  # (nj,) DIRECTIONS at the first knot
    contacts: NDArray[np.void]  # (nc,) CONTACT_WORK
    blocks: NDArray[np.void]  # (n_blocks,) BLOCK, of the graph
    tree: NDArray[np.void]  # (nb + 1,) TREE_WORK, the world last; (0,) if it is solved as a graph
    border: NDArray[np.void]  # (nl,) LOOP_WORK of a tree's loops
    arms: NDArray[np.void]  # (nb,) ARM_WORK of a tree with loops
    coupled: Coupled
    looks: NDArray[np.void]  # (np,) LOOK at each pair of shapes
    travel: Array  # (nb + 1,) how far each body has come since the first look [m]


class Memory(NamedTuple):
    """The data of a step, beside the state, that the next step uses."""

    guesses: Guesses
    system: System


def make_guesses(model: Model) -> Guesses:
    """Empty guesses, as at a start."""
    slots = model.n_slots
    return Guesses(
        joints=np.zeros(len(model.joints), dtype=JOINT_GUESS),
        trend=np.zeros(TRENDS),
        contacts=np.zeros(slots, dtype=CONTACT_GUESS),
        active=np.zeros(slots, dtype=np.int64),
        contact_trend=np.zeros(TRENDS),
        ids=np.full(slots, -1, dtype=np.int64),
        features=np.zeros(slots - len(model.contacts), dtype=CONTACT),
        pace=np.zeros(1, dtype=PACE),
    )


def make_system(model: Model) -> System:
    """Memory for the linear system of a model, of which nothing is valid."""
    nb = len(model.bodies)
    return System(
        valid=np.zeros(4, dtype=np.int64),
        pose1=make_poses(nb),
        inertias=np.zeros(nb, dtype=INERTIA),
        directions=np.zeros(len(model.joints), dtype=DIRECTIONS),
        contacts=aligned(model.n_slots, CONTACT_WORK),
        blocks=make_blocks(model),
        tree=aligned(nb + 1 if model.tree else 0, TREE_WORK),
        border=aligned(len(model.loops.top), LOOP_WORK),
        arms=aligned(nb if len(model.loops.top) else 0, ARM_WORK),
        coupled=_make_coupled(model),
        looks=_make_looks(model),
        travel=np.zeros(nb + 1),
    )


def _make_coupled(model: Model) -> Coupled:
    """Room for contacts between bodies of a tree, where there may be such."""
    nb, pairs = len(model.bodies), model.collision.pairs
    pairs = pairs[(pairs["body_a"] < nb) & (pairs["body_b"] < nb)]
    most = MOST_COUPLED if model.tree and len(pairs) else 0
    depth = np.zeros(nb + 1, dtype=np.int64)
    for b in range(nb):
        depth[b] = depth[model.joints["parent"][b]] + 1
    joints = int((depth[pairs["body_a"]] + depth[pairs["body_b"]]).max(initial=0))
    return Coupled(
        number=np.zeros(1, dtype=np.int64),
        columns=aligned(most, COLUMN),
        entries=aligned(most * joints, ENTRY),
        last=np.zeros(nb, dtype=np.int64),
        matrix=np.zeros((3 * most, 3 * most)),
        rows=np.zeros(3 * most, dtype=np.int64),
        motion=np.zeros(3 * most),
        known=np.zeros(3 * most),
    )


def _make_looks(model: Model) -> NDArray[np.void]:
    """No look yet at any pair of shapes."""
    pairs = model.collision.pairs
    looks = aligned(len(pairs), LOOK)
    for role in ("body_a", "body_b"):
        looks[role] = pairs[role]
    return looks


def make_memory(model: Model) -> Memory:
    """Memory of a simulation that has just been started."""
    return Memory(make_guesses(model), make_system(model))


def contact_rows(memory: Memory) -> tuple[tuple[NDArray[np.void], NDArray[np.int64]], ...]:
    """Records of contacts that a step reads, as (array, rows): those of active ones.

    Heaps have thousands of slots for each contact that is active.
    """
    guesses, system = memory
    active = np.flatnonzero(guesses.active)
    first = len(guesses.contacts) - len(guesses.features)
    features = active[active >= first] - first
    return (guesses.contacts, active), (guesses.features, features), (system.contacts, active)


def copied_memory(memory: Memory) -> Memory:
    """A copy with the contacts that a step reads."""
    contacts, features, works = (copied_rows(*one) for one in contact_rows(memory))
    guesses = memory.guesses._replace(contacts=contacts[:0], features=features[:0])
    system = memory.system._replace(contacts=works[:0])
    return Memory(
        copied(guesses)._replace(contacts=contacts, features=features),
        copied(system)._replace(contacts=works),
    )


def make_blocks(model: Model) -> NDArray[np.void]:
    """Memory for the blocks of the graph's linear system."""
    return aligned(model.graph.n_blocks, BLOCK)


def make_poses(nb: int) -> NDArray[np.void]:
    """(nb + 1,) POSE, all at the world's origin, where the last one, the world's, stays."""
    poses = np.zeros(nb + 1, dtype=POSE)
    poses["q"][:, 0] = 1.0
    poses["R"][:] = np.eye(3)
    return poses
