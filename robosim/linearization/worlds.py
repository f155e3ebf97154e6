"""Derivatives of steps of a world of several units: those of each island by itself.

Islands do not act on each other within a step, so the matrices of a world have a block for each.
The islands of a step are found as `robosim.simulation.worlds` finds them: units are apart unless
what their bodies sweep overlaps. The derivatives are those of a start, and so they do not depend on
which islands there were before. Units with the same numbers share the memory for their steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.control.controllers import PD
from robosim.control.pd import check_motors
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError, OptionError
from robosim.linearization.linearized import Given, Step, contact_modes
from robosim.linearization.linearizer import ContactMode, Linearization, Linearizer
from robosim.linearization.parameters import parameter
from robosim.runtime.islands import Indices, Places, indices
from robosim.simulation.digest import digest
from robosim.simulation.islands import islands_made
from robosim.simulation.meetings import connected
from robosim.simulation.simulation import Simulation
from robosim.simulation.worlds import KEPT, Worlds
from robosim.validation import Array


class OfUnits(Protocol):
    """Takes steps of some units to first order, as a `MaximalLinearizer` does."""

    def of_given(self, given: Sequence[Given]) -> list[Step | ConvergenceError]: ...
    def placed(self, q: Array, v: Array, time: float) -> Array: ...
    def centres(self) -> Array: ...


class Group(NamedTuple):
    """Units whose steps are taken together.

    Attributes
    ----------
    robot : Mechanism
        The part of the world that has these units.
    places : Places
        Of its elements in the world.
    rows : of A and B that it has in the world, those of q and those of v
    motors : columns of B
    parameters : columns of P
    """

    robot: Mechanism
    places: Places
    linearizer: OfUnits
    rows: Indices
    motors: Indices
    parameters: Indices


class WorldLinearizer(Linearizer[Simulation]):
    """Memory for the derivatives of steps of a world of islands.

    Parameters
    ----------
    make : callable
        Returns what takes steps of one system to first order.

    Raises
    ------
    OptionError
        For a parameter that is unknown or not part of the equations.
    """

    def __init__(
        self,
        sim: Simulation,
        contact_speed: float | None,
        parameters: tuple[str, ...],
        pd: bool,
        make: Callable[[Simulation, float | None, tuple[str, ...], bool], OfUnits],
    ) -> None:
        robot = sim.robot
        super().__init__(robot, parameters, [])
        for name in parameters:
            parameter(robot, name)
        # Without the engine itself, with which the memory is kept.
        worlds = cast(Worlds, cast(Any, sim.engine))
        self._units, self._elements = worlds.units, worlds.elements
        self._radii, self._partners = worlds.radii, worlds.partners
        self._options = sim.options | {"islands": False, "sleep": None}
        self._make: Callable[[Simulation, tuple[str, ...]], OfUnits] = lambda one, names: make(
            one, contact_speed, names, pd
        )
        self._gains = sim.held.no_gains.copy() if pd else sim.held.no_gains[:0]
        self._bodies = np.concatenate(self._units)
        self._begins = np.cumsum([0, *map(len, self._units[:-1])])
        self._alike: dict[tuple[str, bytes], OfUnits] = {}
        self._merged: dict[tuple[int, ...], Group] = {}
        self._singles = [self._group((u,)) for u in range(len(self._units))]
        self._last: list[tuple[Group, Given]] = []

    def at(
        self, sim: Simulation, torques: ArrayLike | None, controller: PD | None
    ) -> Linearization:
        """See `Linearizer`."""
        gains = self._gains.copy()
        if controller is not None:
            check_motors(controller, self.robot)
            gains[:] = controller.gains
            controller.aim(gains, sim.time)
        forces, loads = self._forces(sim, torques, controller), sim.parts.loads
        given = Given(sim.q, sim.v, forces, loads.external["w"], gains, sim.time, loads.controls)
        found = self._of(given, sim.parts.state.bodies["x"])
        if isinstance(found, ConvergenceError):
            raise found
        return found

    def of_rows(
        self, sim: Simulation, q: Array, v: Array, torques: Array, times: Array
    ) -> list[Linearization | ConvergenceError]:
        """Of states q (n, nq), v (n, nv) that need no start there."""
        robot, loads = self.robot, sim.parts.loads
        forces = np.zeros((len(q), robot.nv))
        forces[:, robot.actuated] = torques
        # A start removes external forces.
        held = np.zeros_like(loads.external["w"])
        rows = [
            Given(here, rate, tau, held, self._gains, time, loads.controls)
            for here, rate, tau, time in zip(q, v, forces, times.tolist(), strict=True)
        ]
        return [self._of(row, self._centres(row)) for row in rows]

    def repeat(self) -> bool:
        """See `Linearizer`."""
        found = [group.linearizer.of_given((own,))[0] for group, own in self._last]
        return not any(isinstance(one, ConvergenceError) for one in found)

    def _centres(self, given: Given) -> Array:
        """Centres of mass (nb, 3) of all bodies where a step begins."""
        centres = np.zeros((len(self._radii), 3))
        for one in self._singles:
            own = one.robot
            q, v = given.q[one.places.q[: own.nq]], given.v[one.places.v[: own.nv]]
            centres[one.places.bodies] = one.linearizer.placed(q, v, given.time)
        return centres

    def _of(self, given: Given, before: Array) -> Linearization | ConvergenceError:
        """A step to first order, of islands that do not meet in it; or what one fails with.

        `before` are the centres of mass where it begins.
        """
        after = np.zeros_like(before)
        islands: list[tuple[int, ...]] = [(u,) for u in range(len(self._units))]
        taken: dict[tuple[int, ...], tuple[Group, Given, Step]] = {}
        pairs = self._meetings(before, before, islands)
        while True:
            islands = connected(islands, pairs)
            for units in islands:
                if units in taken:
                    continue
                group = self._found(units)
                own_given = _part_of(given, group)
                (step,) = group.linearizer.of_given((own_given,))
                if isinstance(step, ConvergenceError):
                    return step
                taken[units] = group, own_given, step
                after[group.places.bodies] = group.linearizer.centres()
            pairs = self._meetings(before, after, islands)
            if not pairs:
                break
        chosen = [taken[units] for units in islands]
        self._last = [(group, own_given) for group, own_given, _ in chosen]
        return self._joined([(group, step) for group, _, step in chosen])

    def _joined(self, steps: Sequence[tuple[Group, Step]]) -> Linearization:
        """The step of the world."""
        robot, base = self.robot, 2 * self.robot.nv
        q, v = np.zeros(robot.nq), np.zeros(robot.nv)
        A, B = np.zeros((base, base)), np.zeros((base, robot.nu))
        P = np.zeros((base, len(self.parameters)))
        for group, step in steps:
            own, places, rows = group.robot, group.places, group.rows
            changes = step.changes.T
            q[places.q[: own.nq]] = step.ends[: own.nq]
            v[places.v[: own.nv]] = step.ends[own.nq :]
            A[rows[:, None], rows] = changes[:, : 2 * own.nv]
            B[rows[:, None], group.motors] = changes[:, 2 * own.nv :]
            P[rows[:, None], group.parameters] = step.by.T
        contacts = [(group.robot, step.contacts) for group, step in steps]
        modes = partial(_modes, contacts)
        return Linearization(q, v, A, B, P, tuple(robot.actuated_names), self.parameters, modes)

    def _found(self, units: tuple[int, ...]) -> Group:
        """The group of these units."""
        if len(units) == 1:
            return self._singles[units[0]]
        group = self._merged.pop(units, None) or self._group(units)
        self._merged[units] = group  # most recent last
        while len(self._merged) > KEPT:
            del self._merged[next(iter(self._merged))]
        return group

    def _group(self, units: tuple[int, ...]) -> Group:
        """A new group of some units."""
        bodies = sorted(b for u in units for b in self._units[u])
        robot, places = islands_made(self._elements, bodies)
        mine = [k for k, name in enumerate(self.parameters) if _has(robot, name)]
        v = places.v[: robot.nv]
        rows = np.concatenate((v, self.robot.nv + v))
        linearizer = self._linearizer(robot, tuple(self.parameters[k] for k in mine))
        return Group(robot, places, linearizer, rows, places.gains[:, 0], indices(mine))

    def _linearizer(self, robot: Mechanism, parameters: tuple[str, ...]) -> OfUnits:
        """What takes steps of a part of the world, shared by parts with the same numbers."""
        sim = Simulation(robot, **self._options)
        parts = sim.engine.parts
        # Motions are functions, which numbers do not tell.
        if parameters or len(parts.model.charts.factors) or len(parts.loads.motion):
            return self._make(sim, parameters)
        key = digest(parts.model), np.asarray(robot.actuated, dtype=np.int64).tobytes()
        if key not in self._alike:
            self._alike[key] = self._make(sim, parameters)
        return self._alike[key]

    def _meetings(
        self, before: Array, after: Array, islands: Sequence[tuple[int, ...]]
    ) -> list[tuple[int, int]]:
        """Pairs of units of two islands that meet while bodies move between centres (nb, 3).

        Boxes are around what balls around the bodies sweep, and half as far beyond.
        """
        size = self._radii[:, None] + 0.5 * np.abs(after - before)
        alone = self._radii[:, None] < 0.0
        lower = np.where(alone, np.inf, np.minimum(before, after) - size)
        upper = np.where(alone, -np.inf, np.maximum(before, after) + size)
        first = np.minimum.reduceat(lower[self._bodies], self._begins)
        last = np.maximum.reduceat(upper[self._bodies], self._begins)
        island_of = np.zeros(len(self._units), dtype=np.int64)
        for n, units in enumerate(islands):
            island_of[list(units)] = n
        near = island_of[:, None] < island_of
        for k in range(3):
            near &= first[:, None, k] <= last[:, k]
            near &= first[:, k] <= last[:, None, k]
        return [(a, b) for a, b in np.argwhere(near).tolist() if self._overlap(lower, upper, a, b)]

    def _overlap(self, lower: Array, upper: Array, a: int, b: int) -> bool:
        """Whether boxes overlap of bodies of two units that may touch each other."""
        theirs = set(self._units[b])
        for i in self._units[a]:
            others = [j for j in self._partners[i] if j in theirs]
            inside = (lower[others] <= upper[i]) & (lower[i] <= upper[others])
            if inside.all(axis=1).any():
                return True
        return False


def _part_of(given: Given, group: Group) -> Given:
    """What a step of a group begins with, of that of its world."""
    robot, to = group.robot, group.places
    external = np.zeros((len(robot.bodies) + 1, 6))
    external[:-1] = given.external[to.bodies]
    gains = given.gains
    if len(gains):
        gains = gains[to.gains[:, 0]].copy()
        for k, name in enumerate(("q_index", "v_index", "turn"), start=1):
            gains[name] = to.gains[:, k]
    controls: Array | None = None if given.controls is None else given.controls[to.controls]
    return Given(
        given.q[to.q[: robot.nq]],
        given.v[to.v[: robot.nv]],
        given.torques[to.v[: robot.nv]],
        external,
        gains,
        given.time,
        controls,
    )


def _modes(
    contacts: Sequence[tuple[Mechanism, tuple[Any, NDArray[np.void]]]],
) -> tuple[ContactMode, ...]:
    """Modes of the contacts of islands, one island after the other."""
    return tuple(mode for robot, some in contacts for mode in contact_modes(robot, *some))


def _has(robot: Mechanism, name: str) -> bool:
    """Whether a part of a world has what a parameter names."""
    try:
        parameter(robot, name)
    except OptionError:
        return False
    return True
