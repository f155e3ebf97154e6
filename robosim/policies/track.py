"""What a robot did while a policy controlled it, sample by sample, in robosim or in a peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.formulation import Formulation
from robosim.policies.policy import Policy
from robosim.validation import Array

Felt = tuple[Array, Array | None]
"""Normal forces (nt,) on bodies, and their contacts (nt, 7) with obstacles as in a `Track`."""


@dataclass(frozen=True, eq=False)
class Track:
    """The samples of a run: the states at which steps begin, and what acted over these steps.

    Attributes
    ----------
    name : str
        The simulator.
    settings : str
        What is special about it.
    t : (n,) [s]
    q, v : (n, nq), (n, nv)
    tau : (n, nu) [N m or N]
        Torques of the motors over the step from each sample.
    forces : (n, nt) [N]
        Normal force of the ground on each of `touching`, over the step to each sample.
    command : (n, k)
    action : (n, na)
        The policy's action that holds from each sample, clipped, before its scale.
    touching : tuple of str
        Bodies with contacts.
    nearest : (n, nt, 7) or None
        For a robot with obstacles, the contact of each body with the largest force: gap [m], point
        and normal (world); nan without one. None on level ground alone.
    ended : str or None
        Why the run ended before its time.
    """

    name: str
    settings: str
    t: Array
    q: Array
    v: Array
    tau: Array
    forces: Array
    command: Array
    action: Array
    touching: tuple[str, ...]
    nearest: Array | None = None
    ended: str | None = None

    def __len__(self) -> int:
        return len(self.t)

    def until(self, n: int) -> Track:
        """The first n samples."""
        names = ["t", "q", "v", "tau", "forces", "command", "action"]
        names += [] if self.nearest is None else ["nearest"]
        return replace(self, **{name: getattr(self, name)[:n] for name in names})


class Samples:
    """Collects the samples of a track.

    Parameters
    ----------
    robot : Mechanism
    policy : Policy
    """

    def __init__(self, robot: Mechanism, policy: Policy) -> None:
        self._policy = policy
        self.touching = touching(robot)
        self._rows: list[tuple[Any, ...]] = []
        self._tau: list[Array] = []
        self._nearest: list[Array | None] = []

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def last(self) -> float:
        """Time of the last sample [s]; minus infinity before the first one."""
        return float(self._rows[-1][0]) if self._rows else -np.inf

    def clear(self) -> None:
        """Discard all samples."""
        for one in (self._rows, self._tau, self._nearest):
            one.clear()

    def add(self, time: float, q: Array, v: Array, felt: Felt) -> None:
        """Add the state at which a step begins, after the policy has looked at it."""
        forces, nearest = felt
        self._nearest.append(nearest)
        policy = self._policy
        command = policy.command_at(np.array([time]))[0]
        row = time, q.copy(), v.copy(), forces.copy(), command.copy(), policy.actions[0].copy()
        self._rows.append(row)

    def acted(self, tau: Array) -> None:
        """Add the torques (nu,) of the step from the last sample."""
        self._tau.append(np.array(tau))

    def track(self, name: str, settings: str, ended: str | None = None) -> Track:
        """The track of all samples whose steps have been taken."""
        n = len(self._tau)
        columns = [np.array(column) for column in zip(*self._rows[:n], strict=True)]
        if not columns:
            raise RuntimeError("a track needs a step at least")
        t, q, v, forces, command, action = columns
        tau, kept = np.array(self._tau), [one for one in self._nearest[:n] if one is not None]
        nearest = np.array(kept) if kept else None
        of_motion = t, q, v, tau, forces, command, action
        return Track(name, settings, *of_motion, self.touching, nearest, ended)


class Watched:
    """A policy whose run in robosim is recorded; a controller as the policy itself.

    A run that begins again discards what was recorded before.

    Parameters
    ----------
    policy : Policy
    """

    def __init__(self, policy: Policy) -> None:
        self.policy, robot = policy, policy.robot
        self.__name__ = policy.__name__
        self.samples = Samples(robot, policy)
        self._felt = felt_by(robot)
        self._sim: Formulation | None = None

    def begin_at(self, time: float) -> None:
        """Begin anew; called where a viewer restarts a run."""
        self.policy.begin_at(time)
        self.samples.clear()

    def __call__(self, sim: Formulation) -> Any:
        """What the policy gives for the next step."""
        if self._sim is not sim or sim.time <= self.samples.last:
            self.samples.clear()
        self._sim = sim
        if len(self.samples):
            self.samples.acted(self._torques(sim))
        answer = self.policy(sim)
        self.samples.add(sim.time, sim.q, sim.v, self._felt(sim))
        return answer

    def _torques(self, sim: Formulation) -> Array:
        """Torques (nu,) of the last step."""
        robot = sim.robot
        forces = np.zeros(robot.v_offsets[-1])  # zero for motors of joints that close loops
        forces[: robot.nv] = sim.torques
        return forces[np.asarray(robot.actuated, dtype=int)]

    def track(self, ended: str | None = None) -> Track:
        """What was recorded until now."""
        assert self._sim is not None
        if len(self.samples) and self._sim.time > self.samples.last:
            self.samples.acted(self._torques(self._sim))
        settings = f"steps of {1e3 * self._sim.timestep:g} ms"
        return self.samples.track("robosim", settings, ended)


def touching(robot: Mechanism) -> tuple[str, ...]:
    """Names of the bodies that can touch the ground or obstacles."""
    names = [contact.body for contact in robot.contacts]
    if robot.obstacles:
        names += [body.name for body in robot.bodies if body.collisions]
    return tuple(dict.fromkeys(names))


class Contacts:
    """Sums of the normal forces on bodies, and for each body the contact with the largest force.

    Parameters
    ----------
    names : tuple of str
        Bodies, as `touching` lists them.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._rows = {name: k for k, name in enumerate(names)}
        self._largest = np.full(len(names), -np.inf)
        self.forces, self.nearest = np.zeros(len(names)), np.full((len(names), 7), np.nan)

    def add(self, body: str, force: float, gap: float, point: Any, normal: Any) -> None:
        """Add a contact of a body with the ground or an obstacle; others are ignored."""
        k = self._rows.get(body)
        if k is None:
            return
        self.forces[k] += force
        if force > self._largest[k]:
            self._largest[k] = force
            self.nearest[k, 0], self.nearest[k, 1:4], self.nearest[k, 4:] = gap, point, normal


def felt_by(robot: Mechanism) -> Callable[[Formulation], Felt]:
    """A function that reads the forces on each body of `touching`, and contacts with obstacles."""
    names = touching(robot)
    which = np.array([names.index(contact.body) for contact in robot.contacts], dtype=int)
    bodies = {body.name for body in robot.bodies}

    def of_points(sim: Formulation) -> Felt:
        forces = sim.contact_forces()[:, 2]
        return np.bincount(which, weights=forces, minlength=len(names)).astype(float), None

    def of_all(sim: Formulation) -> Felt:
        found = Contacts(names)
        for one in sim.contacts():
            if one.other not in bodies:
                force = float(one.force @ one.normal)
                found.add(one.body, force, one.gap, one.position, one.normal)
        return found.forces, found.nearest

    return of_all if robot.obstacles else of_points
