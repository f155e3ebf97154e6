"""What a step to first order begins with and comes to, and the modes of its contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.kinds import CONE, DRY, LIMIT, RATE, TURN
from robosim.compiled.model import Model
from robosim.compiled.order import all_joints
from robosim.description.mechanism import Mechanism
from robosim.linearization.linearizer import ContactMode
from robosim.runtime.duals import DualStep
from robosim.simulation.readings import other_name
from robosim.validation import Array

LIMITS = LIMIT, RATE, CONE, TURN
ON_JOINTS = *LIMITS, DRY
# The last of them is that of what another contact has besides, against turning.
MODES = "open", "closed", "stick", "slide", ""
OPEN, CLOSED, STICK, SLIDE, RESISTS = range(len(MODES))


class Given(NamedTuple):
    """Where a step begins, and what acts over it."""

    q: Array
    v: Array
    torques: Array  # of all coordinates
    external: Array
    gains: NDArray[np.void]  # GAINS of a PD, or none
    time: float
    controls: Array | None  # of implicit actuators


class Solved(NamedTuple):
    """A step that has been taken in plain numbers."""

    given: Given
    mid: Array  # (nj, 6) rates of the joints where it begins
    substeps: int


class Step(NamedTuple):
    """A step to first order, with rows for directions.

    Of several its changes are overwritten when their linearizer takes as many again.
    """

    ends: Array  # (nq + nv,)
    changes: Array  # (directions, 2 nv) by the state, torques and, if asked for, a PD
    by: Array  # (np, 2 nv) by the parameters
    contacts: tuple[Model, NDArray[np.void]]  # what `contact_modes` are told


class ByModel(NamedTuple):
    """Steps of a model along directions of the state, along none, and of its parameters."""

    model: Model
    by_state: DualStep
    plain: DualStep
    by_parameters: list[DualStep]


def contact_modes(
    robot: Mechanism, model: Model, contacts: NDArray[np.void]
) -> tuple[ContactMode, ...]:
    """Modes of all contacts, limits and dry friction in the equations of a step.

    Also of tendons, which are compiled to joints.
    """
    scene = robot.touching_shapes() if len(model.collision.pairs) else []
    found, elements = [], all_joints(robot)
    modes, margins = modes_of(contacts)
    rows = zip(contacts.tolist(), modes.tolist(), margins.tolist(), strict=True)
    for (slot, kind, _, body, other, joint, *_, step_back), mode, margin in rows:
        if mode == RESISTS:
            continue
        if kind in ON_JOINTS:
            what = "friction" if kind == DRY else "velocity limit" if kind == RATE else "limit"
            names = elements[joint].name, what
        else:
            names = robot.bodies[body].name, other_name(robot, model, scene, other, slot)
        found.append(ContactMode(*names, MODES[mode], margin, step_back < 0.0))
    return tuple(found)


def closed_contacts(model: Model, contacts: NDArray[np.void]) -> tuple[NDArray[np.bool_], Array]:
    """Which contacts are not open, and (n, 6) numbers that tell these and their modes apart."""
    modes, _ = modes_of(contacts)
    names = "kind", "resists", "body", "other", "joint"
    # Of shapes also the pair, as all obstacles are one body.
    pairs = np.zeros(len(contacts), dtype=np.int64)
    if len(model.collision.pairs):
        ends = model.collision.pairs["slot_end"]
        pairs = 1 + np.searchsorted(ends, contacts["slot"], side="right")
        pairs[contacts["slot"] < model.n_ground] = 0
    numbers = np.stack((*(contacts[name] for name in names), pairs, modes), axis=1)
    return (modes != OPEN) & (modes != RESISTS), numbers


def modes_of(contacts: NDArray[np.void]) -> tuple[NDArray[np.int64], Array]:
    """Numbers in MODES of contacts, and their margins."""
    mass, gamma, s, psi = (contacts[name] for name in ("mass", "gamma", "s", "psi"))
    kind, pushes = contacts["kind"], gamma / mass
    dry = kind == DRY
    left = (np.where(dry, 1.0, contacts["mu"]) * gamma - contacts["friction"]) / mass
    rubs, closes = dry | (pushes > s), np.isin(kind, LIMITS)
    grip, bears = np.where(left > psi, STICK, SLIDE), np.where(pushes > s, CLOSED, OPEN)
    modes = np.where(closes, bears, np.where(rubs, grip, OPEN))
    away, slips = np.abs(pushes - s), np.abs(left - psi)
    margins = np.where(dry, slips, np.where(rubs & ~closes, np.minimum(away, slips), away))
    return np.where((contacts["resists"] != 0) & ~dry & ~closes, RESISTS, modes), margins
