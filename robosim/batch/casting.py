"""Rays of all states of a batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch.group import Group
from robosim.batch.showing import addresses
from robosim.batch.stepping import Stepping
from robosim.compiled.arrays import words_to
from robosim.compiled.records.body import BODY_STATE
from robosim.kernels.compiler.lanes import WIDTH, lanes
from robosim.rays.casting import Excluded, cast_states, checked_limit, excluded_bodies, rays_of
from robosim.rays.hits import Hits, reshaped
from robosim.rays.targets import Compiled, compiled
from robosim.runtime.handles import Handle
from robosim.runtime.lanes import Leaving, leave
from robosim.runtime.wide import fields_at
from robosim.validation import Array

POSE = words_to(BODY_STATE, "q")  # words of a body: x, q
Shares = list[tuple[Compiled, NDArray[np.int64] | None]]


class Casting:
    """Casts rays from the present knots of the states.

    Parameters
    ----------
    stepping : Stepping
        The steps of the batch.
    """

    def __init__(self, stepping: Stepping) -> None:
        self._stepping = stepping
        self._robots = stepping.robots
        self._shares: dict[str, Shares] = {}  # by the kind of geometry
        self._leaving: dict[int, tuple[Group, Handle]] = {}  # by the number of a group

    def cast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        geometry: str,
        max_distance: float,
        exclude: str | Iterable[str],
    ) -> Hits:
        """`BatchSimulation.cast`."""
        stepping = self._stepping
        starts, ways, shape = rays_of(origins, directions, stepping.n)
        limit = checked_limit(max_distance)
        excluded = Excluded(excluded_bodies(stepping.robot, exclude))
        shares, (x, q) = self._shares_of(geometry), self._poses()
        n = shape[0] if shape else 1
        given = n, limit, excluded, stepping.threads, stepping.do
        hits = cast_states(shares, x, q, (starts, ways), *given)
        return reshaped(hits, stepping.n, *shape)

    def _shares_of(self, geometry: str) -> Shares:
        """What rays of each state meet, for all states with the same shapes together."""
        if self._robots != self._stepping.robots:
            self._robots = self._stepping.robots
            self._shares.clear()
        if geometry not in self._shares:
            states: dict[int, tuple[Compiled, list[int]]] = {}
            for i, sim in enumerate(self._stepping.sims):
                against = compiled(sim.robot, geometry)
                states.setdefault(id(against), (against, []))[1].append(i)
            one = len(states) == 1
            self._shares[geometry] = [
                (against, None if one else np.array(some)) for against, some in states.values()
            ]
        return self._shares[geometry]

    def _poses(self) -> tuple[Array, Array]:
        """Poses (n, nb, 3) and (n, nb, 4) of the bodies, also of states that are in lanes."""
        bodies = self._stepping.states.bodies
        for g, group in self._stepping.groups.items():
            if not group.is_ahead:
                continue
            if g not in self._leaving or self._leaving[g][0] is not group:
                to = addresses(bodies["x"][g * WIDTH : (g + 1) * WIDTH, :, 0])
                fields = fields_at(group.handle.values.state.bodies, "x", to, POSE, lanes)
                self._leaving[g] = group, Handle(Leaving(fields))
            leave(self._leaving[g][1])
        return np.array(bodies["x"]), np.array(bodies["q"])
