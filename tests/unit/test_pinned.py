"""Contacts between which a body fits exactly get room, and no others."""

from __future__ import annotations

import numpy as np
import pytest
from touching import box, free

from robosim import Geometry, Simulation
from robosim.kernels.compiler.jit import entry
from robosim.kernels.contact.pinned import SLACK, loosen


@entry
def loosened(system, work):
    loosen(system, work, system.pose1)


def wall(side: int, inside: float = 0.2) -> Geometry:
    """A box beside the y-z plane."""
    return Geometry("box", (1.0, 4.0, 4.0), (side * (0.5 + 0.5 * inside), 0.0, 0.0))


def knob(side: int) -> Geometry:
    """A ball that touches a face of the block; walls have faces that the block touches."""
    return Geometry("sphere", (0.3,), (side * 0.4, 0.0, 0.0))


@pytest.mark.filterwarnings("ignore:body .block. starts inside")  # by the room
@pytest.mark.parametrize(
    ("walls", "x", "expected"),
    [
        ((wall(-1), wall(1)), 0.0, True),
        ((wall(-1), knob(1)), 0.0, True),
        ((wall(-1),), 0.0, False),
        ((wall(-1, 0.20001), wall(1, 0.20001)), 5e-6, False),
        ((wall(-1, 0.20001), wall(1, 0.20001)), -5e-6, False),
    ],
    ids=["exactly", "a face and a ball", "one wall", "at the right", "at the left"],
)
def test_what_fits_exactly_between_faces_gets_room(walls, x, expected) -> None:
    sim = Simulation(free(box("block"), obstacles=walls), 5e-3)
    sim.set_state([x, 0, 0, 1, 0, 0, 0])
    sim.step()
    system, work = sim.parts.memory.system, sim.parts.work
    active = work.active[1 : work.active[0] + 1]
    normals, moving = system.contacts["frame"][active, 2, 0], work.slots["body"][active] == 0
    sides = set(np.where(moving, normals, -normals).round().tolist())
    assert len(sides) == len(walls)
    # Where it was at first: with a single wall it has drifted off.
    system.pose1["x"][0], system.pose1["R"][0] = (x, 0.0, 0.0), np.eye(3)
    system.contacts["step_back"] = 0.0
    loosened(system, work)
    room = system.contacts["step_back"][active]
    np.testing.assert_array_equal(room, -SLACK if expected else 0.0)
