"""What a step to first order begins with and comes to, and the modes of its contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.kinds import CONE, DRY, LIMIT, RATE, TURN
from robosim.compiled.model import Model
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler import PLAIN
from robosim.simulation.linearizer import ContactMode
from robosim.simulation.readings import other_name
from robosim.validation import Array

if not PLAIN:
    from robosim.runtime.duals import DualStep


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
    """A step to first order, with rows for directions."""

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
    robot: Mechanism, model: Model, told: NDArray[np.void]
) -> tuple[ContactMode, ...]:
    """Modes of all contacts, limits and dry friction in the equations of a step."""
    scene = robot.touching_shapes() if model.collision is not None else []
    found = []
    for slot, kind, resists, body, other, joint, *numbers in told.tolist():
        mass, mu, gamma, s, psi, friction, step_back = numbers
        pushes, left, inside = gamma / mass, (mu * gamma - friction) / mass, step_back < 0.0
        if kind in (LIMIT, RATE, CONE, TURN):
            what = "velocity limit" if kind == RATE else "limit"
            mode, margin = "closed" if pushes > s else "open", abs(pushes - s)
            found.append(ContactMode(robot.joints[joint].name, what, mode, margin, inside))
        elif kind == DRY:
            left = (gamma - friction) / mass
            mode, margin = "stick" if left > psi else "slide", abs(left - psi)
            found.append(ContactMode(robot.joints[joint].name, "friction", mode, margin, inside))
        elif resists == 0:
            name = robot.bodies[body].name
            beside = other_name(robot, model, scene, other, slot)
            mode, margin = "open", s - pushes
            if pushes > s:
                mode = "stick" if left > psi else "slide"
                margin = min(pushes - s, abs(left - psi))
            found.append(ContactMode(name, beside, mode, margin, inside))
    return tuple(found)
