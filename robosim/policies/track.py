"""What a robot did while a policy controlled it, sample by sample, in robosim or in a peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.formulation import Formulation
from robosim.policies.policy import Policy
from robosim.validation import Array


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
    ended: str | None = None

    def __len__(self) -> int:
        return len(self.t)

    def until(self, n: int) -> Track:
        """The first n samples."""
        names = ("t", "q", "v", "tau", "forces", "command", "action")
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

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def last(self) -> float:
        """Time of the last sample [s]; minus infinity before the first one."""
        return float(self._rows[-1][0]) if self._rows else -np.inf

    def clear(self) -> None:
        """Discard all samples."""
        self._rows.clear()
        self._tau.clear()

    def add(self, time: float, q: Array, v: Array, forces: Array) -> None:
        """Add the state at which a step begins, after the policy has looked at it."""
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
        tau = np.array(self._tau)
        return Track(name, settings, t, q, v, tau, forces, command, action, self.touching, ended)


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
        self._of_body = of_bodies(robot)
        self._sim: Formulation | None = None

    def begin_at(self, time: float) -> None:
        """Begin anew; called where a viewer restarts a run."""
        self.policy.begin_at(time)
        self.samples.clear()

    def __call__(self, sim: Formulation) -> PD:
        """The policy's PD for the next step."""
        if self._sim is not sim or sim.time <= self.samples.last:
            self.samples.clear()
        self._sim = sim
        if len(self.samples):
            self.samples.acted(self._torques(sim))
        pd = self.policy(sim)
        forces = self._of_body(sim.contact_forces()[:, 2])
        self.samples.add(sim.time, sim.q, sim.v, forces)
        return pd

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
    """Names of the bodies with contacts with the ground."""
    return tuple(dict.fromkeys(contact.body for contact in robot.contacts))


def of_bodies(robot: Mechanism) -> Callable[[NDArray[Any]], Array]:
    """A function that sums values (nc,) of ``robot.contacts`` for each body of `touching`."""
    names = touching(robot)
    which = np.array([names.index(contact.body) for contact in robot.contacts], dtype=int)

    def summed(values: NDArray[Any]) -> Array:
        return np.bincount(which, weights=values, minlength=len(names)).astype(float)

    return summed
