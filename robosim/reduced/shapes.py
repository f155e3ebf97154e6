"""Where shapes touch at a knot, by the narrow phase of `robosim.Simulation`.

[Sueda, Sect. 1.11] leaves the detection of collisions to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.building.model import compile_model
from robosim.compiled.memory import make_system
from robosim.compiled.records.contact import CONTACT_READING
from robosim.compiled.records.narrow_phase import FEATURES
from robosim.compiled.state import make_state
from robosim.compiled.workspace import make_workspace
from robosim.description.mechanism import Mechanism
from robosim.kernels.contact.readout import pair_gaps
from robosim.validation import Array


class Meeting(NamedTuple):
    """A place where two shapes touch at a knot."""

    pair: int  # index into robot.touching_shapes()
    body: int  # index of the body that is pushed along the normal
    other: int | None  # index of the other body; None for the world
    position: Array  # (3,) [m], on one of the surfaces, world
    normal: Array  # (3,), from the other to the body, world
    gap: float  # [m]
    friction: float  # Coulomb coefficient
    arm: Array  # (3,) [m], the position from the body's centre of mass, in body axes
    other_arm: Array  # (3,) [m], the same of the other; of the world the position

    def followed(self, E: Sequence[Array], near: Sequence[Meeting]) -> tuple[Array, float]:
        """Where the two shapes touch at other poses (3,) [m], and the gap there [m].

        The place among those found there, `near`, that is nearest to the body's point. If the
        shapes are far apart, that point, with the gap along the normal.
        """
        place = _placed(E[self.body], self.arm)
        there = self.other_arm if self.other is None else _placed(E[self.other], self.other_arm)
        found = [(place, self.gap + float(self.normal @ (place - there)))]
        found = [(one.position, one.gap) for one in near if one.pair == self.pair] or found
        return min(found, key=lambda one: float(np.linalg.norm(one[0] - place)))


def _placed(E: Array, arm: Array) -> Array:
    return np.asarray(E[:3, :3] @ arm + E[:3, 3])


class Detector:
    """Finds places where shapes of a robot touch each other and obstacles.

    Parameters
    ----------
    robot : Mechanism
    """

    def __init__(self, robot: Mechanism) -> None:
        self._model = compile_model(robot)
        self._state, self._system = make_state(robot, self._model), make_system(self._model)
        self._work = make_workspace(robot, self._model)
        pairs = self._model.collision.pairs
        self._gaps = np.empty(len(pairs))
        self._found = np.zeros(FEATURES * len(pairs), dtype=CONTACT_READING)
        self._using = Lock()  # copies of a simulation share a detector

    def near(self, E: Sequence[Array], within: float) -> list[Meeting]:
        """Places with a gap below `within` [m], at poses of all bodies, (4, 4), to the world."""
        with self._using:
            count = self._look(E, within, self._found)
            return [self._meeting(found, E) for found in self._found[:count]]

    def least(self, E: Sequence[Array], within: float) -> float:
        """The smallest gap of all shapes at poses E [m]; inf if none is below `within`."""
        with self._using:
            self._look(E, within, self._found[:0])
            return float(self._gaps.min())

    def _look(self, E: Sequence[Array], within: float, out: NDArray[np.void]) -> int:
        """Find gaps and places; the number of the latter, of which `out` has room for some."""
        for body, pose in zip(self._state.bodies, E, strict=True):
            body["x"], body["q"] = pose[:3, 3], quaternions.from_matrix(pose[:3, :3])
        # Without what the kernels remember, so that results depend on the poses only.
        system = self._system._replace(looks=self._system.looks.copy())
        values = self._model, self._state, system, self._work, float(within)
        return int(pair_gaps(*values, self._gaps, out))

    def _meeting(self, found: np.void, E: Sequence[Array]) -> Meeting:
        body, other = int(found["body"]), int(found["other"])
        position = found["position"].copy()
        ends = [
            position.copy() if i == len(E) else E[i][:3, :3].T @ (position - E[i][:3, 3])
            for i in (body, other)
        ]
        pair = int(found["slot"])
        return Meeting(
            pair, body, None if other == len(E) else other, position, found["normal"].copy(),
            float(found["gap"]), float(self._model.collision.pairs["mu"][pair]), *ends,
        )  # fmt: skip
