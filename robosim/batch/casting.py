"""Rays of all states of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch.group import Group
from robosim.batch.showing import addresses
from robosim.batch.stepping import Stepping
from robosim.compiled.arrays import words_to
from robosim.compiled.records.body import BODY_STATE
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.lanes import WIDTH, lanes
from robosim.rays.casting import Excluded, cast_states, checked_limit, excluded_bodies, rays_of
from robosim.rays.hits import Hits, reshaped
from robosim.rays.sensing import Placed
from robosim.rays.targets import Compiled, compiled
from robosim.runtime.handles import Handle
from robosim.runtime.lanes import Leaving, leave
from robosim.runtime.wide import fields_at
from robosim.validation import Array

POSE = words_to(BODY_STATE, "q")  # words of a body: x, q
Shares = list[tuple[Compiled, NDArray[np.int64] | None]]


class Casting:
    """Casts rays of the states; a source of samples, see `robosim.rays.sensing.Source`.

    Parameters
    ----------
    stepping : Stepping
        The steps of the batch.
    """

    def __init__(self, stepping: Stepping) -> None:
        self._stepping = stepping
        self._robots = self._changes = stepping.robots
        self._each: Sequence[Mechanism] | None = None
        self.places: dict[str, Placed] = {}
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
        n = shape[0] if shape else 1
        hits = self._cast(self.poses(), (starts, ways), n, limit, excluded, geometry)
        return reshaped(hits, stepping.n, *shape)

    def _cast(
        self,
        poses: tuple[Array, Array],
        rays: tuple[Array, Array],
        n: int,
        limit: float,
        excluded: Excluded,
        geometry: str,
    ) -> Hits:
        stepping = self._stepping
        shares = self._shares_of(geometry)
        return cast_states(shares, *poses, rays, n, limit, excluded, stepping.threads, stepping.do)

    def from_poses(
        self,
        poses: tuple[Array, Array],
        rays: tuple[Array, Array],
        limit: float,
        excluded: Excluded,
        geometry: str,
    ) -> Hits:
        """See `Source`."""
        n = max(one.shape[1] for one in rays)
        return self._cast(poses, rays, n, limit, excluded, geometry)

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        return self._stepping.timestep

    @property
    def robots(self) -> Sequence[Mechanism]:
        """The robot of each state, or one for all."""
        if self._each is None or self._changes != self._stepping.robots:
            self._changes = self._stepping.robots
            self.places.clear()
            each = [sim.robot for sim in self._stepping.sims]
            self._each = each[:1] if all(one is each[0] for one in each) else each
        return self._each

    def times(self) -> Array:
        """Times (n,) [s] of the present knots."""
        return self._stepping.time

    def steps(self) -> NDArray[np.int64]:
        """Steps (n,) since the starts."""
        counted = [sim.steps for sim in self._stepping.sims]
        return np.array(counted, dtype=np.int64) + self._stepping.ahead

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

    def poses(self) -> tuple[Array, Array]:
        """Poses (n, nb, 3) and (n, nb, 4) of the bodies, also of states that are in lanes."""
        bodies = self._stepping.states.bodies
        self._stepping.gather()
        for g, group in self._stepping.groups.items():
            if not group.is_ahead:
                continue
            if g not in self._leaving or self._leaving[g][0] is not group:
                to = addresses(bodies["x"][g * WIDTH : (g + 1) * WIDTH, :, 0])
                fields = fields_at(group.handle.values.state.bodies, "x", to, POSE, lanes)
                self._leaving[g] = group, Handle(Leaving(fields))
            leave(self._leaving[g][1])
        return np.array(bodies["x"]), np.array(bodies["q"])
