"""Slots of pairs of shapes: which are free, and what is met in a step although none are."""

from __future__ import annotations

from typing import Any

import numpy as np
from touching import box, free

from robosim import Simulation
from robosim.kernels.compiler.jit import entry
from robosim.kernels.contact.slots import find_entered, free_slot
from robosim.runtime.handles import provide_features

GRAVITY = np.array((0.0, 0.0, -9.81))
NONE = -1
OTHER = 10**12  # ids that no feature has


@entry
def first_free(ids, pairs, slot):
    """The first free slot of the first pair from `slot` on."""
    return free_slot(ids, pairs[0], slot)


@entry
def entered(model, system, work, moved, gravity, dt):
    """Features that the first pair has entered, or -1 if a shorter interval is to tell."""
    return find_entered(model, system, work, 0, moved, True, gravity, dt, 0.0)


def boxes() -> Simulation:
    return Simulation(free(box("a"), box("b"), contact_pairs=[("a", "b")]), islands=False)


def test_a_slot_is_free_where_no_feature_is() -> None:
    """Any number from 0 on is the id of one."""
    pairs = boxes().parts.model.collision.pairs
    begin, end = int(pairs["slot_begin"][0]), int(pairs["slot_end"][0])
    ids = np.full(end, NONE)
    assert first_free(ids, pairs, begin) == begin
    for n in range(begin, end):
        ids[n] = n - begin
        assert first_free(ids, pairs, begin) == n + 1
    ids[end - 1] = NONE
    assert first_free(ids, pairs, begin) == end - 1


def test_what_has_slots_already_divides_no_step() -> None:
    """Where shapes have come to overlap, all slots are taken, and all features are in them."""
    sim = boxes()
    provide_features(sim.engine.handle)
    model, system, work = sim.parts.model, sim.parts.memory.system, sim.parts.work
    pair, ids = model.collision.pairs[0], work.ids
    begin, end = int(pair["slot_begin"]), int(pair["slot_end"])
    for at, height in ((system.pose1, 0.21), (work.pose2, 0.19)):
        at["x"][0], at["x"][1] = 0.0, (0.0, 0.0, height)
        at["q"][:2], at["R"][:2] = (1.0, 0.0, 0.0, 0.0), np.eye(3)
    arguments: Any = model, system, work, 0.02, GRAVITY, 1e-2
    ids[begin:end] = OTHER
    assert entered(*arguments) == NONE
    corners = work.collision.features["id"][:4].copy()
    ids[begin : begin + 4] = corners
    assert entered(*arguments) == 0
    for n in range(4):
        ids[begin : begin + 4] = corners
        ids[begin + n] = OTHER
        assert entered(*arguments) == NONE
