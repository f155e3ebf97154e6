"""A policy as a controller: it observes, asks its network, and sets targets or torques."""

from __future__ import annotations

import copy
import os
import weakref
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.control.controllers import PD
from robosim.control.network import Network
from robosim.control.periodic import Aims, whole_steps
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, LoadError
from robosim.formulation import Formulation
from robosim.policies.layout import Layout
from robosim.policies.observing import Observer
from robosim.policies.quantities import QUANTITIES, Reading
from robosim.policies.task import POSITION, TORQUE, VELOCITY, PolicyTask
from robosim.policies.task_file import TaskSource, task_of
from robosim.validation import Array

Command = Callable[[float], ArrayLike]
"""A function of time [s] that returns a command (k,)."""
_SLACK = 1e-6  # of a period, by which times are rounded


class Policy:
    """A controller whose network sets targets of PD control, or torques, once in each period.

    `Simulation.run`, `stream` and `step` with a viewer take a policy as they take any controller,
    and `BatchSimulation.rollout` does as well. A policy has a memory: its last action, histories,
    and states of a recurrent network. The memory begins anew with another simulation, and if time
    goes back. So one object serves one run at a time; `copy` makes another one.

    Parameters
    ----------
    robot : Mechanism
    network : Network
    task : PolicyTask
    command : (k,) or (n, k), or callable(time [s]) -> (k,), or None
        Forward and sideways velocity [m/s] and yaw rate [rad/s]; None: the task's.

    Attributes
    ----------
    robot : Mechanism
    task : PolicyTask
    layout : Layout
        The task's joints on the robot.
    command : as given; may be changed at any time
    actions : (n, na)
        The last actions, clipped, before their scale.
    aims : Aims
        The last targets, velocities and torques of all motors.

    Raises
    ------
    ModelError
        If the robot has not the joints or quantities that the task names.
    LoadError
        If the network has other numbers of inputs or outputs.
    """

    def __init__(
        self,
        robot: Mechanism,
        network: Network,
        task: PolicyTask,
        command: ArrayLike | Command | None = None,
    ) -> None:
        self.robot, self.network, self.task = robot, network, task
        self.layout = Layout(robot, task)
        self.command: Any = task.command if command is None else command
        self.__name__ = network.file.name
        self._check_sizes(Observer(self.layout))
        self._pds: dict[float, PD] = {}
        self._begin_rows(1)
        self._sim: Any = lambda: None

    def __repr__(self) -> str:
        sizes = f"{self._observer.size} observations, {len(self.layout.names)} actions"
        return f"<Policy {self.__name__!r} of {sizes}, every {self.task.period:g} s>"

    def _check_sizes(self, observer: Observer) -> None:
        network, names = self.network, self.layout.names
        if network.inputs not in (0, observer.size):
            parts = ", ".join(map("{} {}".format, observer.names, observer.sizes))
            raise network.error(
                f"takes {network.inputs} observations, and the task '{self.task.name}' has "
                f"{observer.size}: {parts}, with histories of {observer.size} in all",
                tuple(QUANTITIES),
            )
        if network.outputs not in (0, len(names)):
            raise self._other_actions(network.outputs)

    def _other_actions(self, n: int) -> LoadError:
        names = self.layout.names
        return self.network.error(
            f"has {n} actions, and the task '{self.task.name}' {len(names)} joints: "
            f"{', '.join(names)}",
            self.robot.actuated_names,
        )

    def _begin_rows(self, n: int) -> None:
        """Begin with the memory of n robots."""
        self._n = n
        self._observer = Observer(self.layout, n)
        self._states = self.network.start(n)
        self.actions = np.zeros((n, len(self.layout.names)))
        none = np.zeros((n, self.robot.nu))
        self.aims = Aims(np.tile(self.layout.rest, (n, 1)), none, none.copy())
        self._begun, self._acted, self._seen = np.full((3, n), np.nan)
        self._next = -np.inf  # the time until which a single robot does not act

    def copy(self) -> Self:
        """Another policy with the same network, whose memory begins anew."""
        other = copy.copy(self)
        other._pds = {}
        other._begin_rows(1)
        other._sim = lambda: None
        return other

    def reset(self) -> None:
        """Forget the last action, histories, and states of a recurrent network."""
        self._begin_rows(self._n)

    def begin_at(self, time: float) -> None:
        """Begin anew; called where a viewer restarts a run."""
        self.reset()

    @property
    def period(self) -> float:
        """Time from one action to the next [s]."""
        return self.task.period

    def pose(self) -> Array:
        """The robot's home q (nq,) with its joints where runs begin: in the default pose."""
        return self.layout.pose()

    def pd(self, timestep: float) -> PD:
        """The PD of all motors at a time step [s], with targets of an action of zero."""
        if timestep not in self._pds:
            self._pds[timestep] = self.layout.pd(timestep)
        return self._pds[timestep]

    def steps(self, timestep: float) -> int:
        """Number of time steps [s] of a simulation in a period.

        Raises
        ------
        ControllerError
            If that is no whole number.
        """
        found = whole_steps(self.period, timestep)
        if not found:
            raise ControllerError(
                f"policy '{self.__name__}' acts every {self.period:g} s, which is no whole number "
                f"of time steps of {timestep:g} s: simulate with its own, {self.task.timestep:g} s"
            )
        return found

    @property
    def needs_forces(self) -> bool:
        """Whether the task observes contacts."""
        return self._observer.needs_forces

    def __call__(self, sim: Formulation) -> PD | tuple[PD, Array]:
        """The PD for the next step of a simulation, or with it torques (nu,), if actions are those.

        Raises
        ------
        ControllerError
            If the network gives a number that is not finite, or the period is no whole number of
            time steps.
        """
        now = sim.time
        if self._sim() is sim and self._n == 1 and self._seen[0] <= now < self._next:
            # Between two actions, in a fraction of the time of what follows.
            self._seen[0] = now
            return self._held(self.pd(sim.timestep))
        self.serve(sim, 1, sim.timestep)
        pd, time = self.pd(sim.timestep), np.array([now])
        due = self.due(time)
        if due.any():
            forces = sim.contact_forces()[None, :, 2] if self.needs_forces else None
            aims = self.act(time, sim.q[None], sim.v[None], forces, due)
            pd.gains["target"], pd.gains["velocity"] = aims.targets[0], aims.velocities[0]
            self._next = now + (1.0 - 2.0 * _SLACK) * self.period
        return self._held(pd)

    def _held(self, pd: PD) -> PD | tuple[PD, Array]:
        return pd if self.task.control != TORQUE else (pd, self.aims.torques[0])

    def serve(self, sim: Any, n: int, timestep: float) -> None:
        """Prepare to control n states of a simulation; another one than the last begins anew.

        Raises
        ------
        ControllerError
            As `steps`.
        """
        if self._sim() is not sim or self._n != n:
            self.steps(timestep)
            self._begin_rows(n)
            self._sim = weakref.ref(sim)

    def due(self, time: Array) -> NDArray[np.bool_]:
        """Whether robots (n,) act at these times (n,) [s]: at the beginning of each period.

        The memory of a robot whose time goes back begins anew.
        """
        slack = _SLACK * self.period
        back = ~(time >= self._seen - slack) | ~(time <= self._acted + self.period + slack)
        if back.any():
            self._observer.reset(back)
            for state, first in zip(self._states, self.network.start(self._n), strict=True):
                state[back] = first[back]
            self.actions[back] = 0.0
            self._begun[back] = time[back]
        self._seen = time.copy()
        return np.asarray(back | (time >= self._acted + self.period - slack))

    def act(
        self, time: Array, q: Array, v: Array, forces: Array | None, due: NDArray[np.bool_]
    ) -> Aims:
        """What all motors follow, after robots have acted that are due.

        Parameters
        ----------
        time : (n,) [s]
        q, v : (n, nq), (n, nv)
        forces : (n, nc) [N] or None
            Normal forces on ``robot.contacts``, if the task observes contacts.
        due : (n,) of bool

        Raises
        ------
        ControllerError
            If the network gives a number that is not finite.
        """
        reading = Reading(time - self._begun, q, v, self.command_at(time), self.actions, forces)
        seen = self._observer.observe(reading, due)
        found, states = self.network.run(seen, self._states)
        if found.shape != self.actions.shape:
            raise self._other_actions(found.shape[1])
        self._check_finite(found, seen, time, due)
        if self.task.action_clip is not None:
            found = np.clip(found, *self.task.action_clip)
        for kept, new in zip(self._states, states, strict=True):
            kept[due] = new[due]
        self.actions[due] = found[due]
        self._acted[due] = time[due]
        layout, aims, scaled = self.layout, self.aims, self.layout.scale * self.actions
        if self.task.control == POSITION:
            aims.targets[:, layout.driven] = layout.default + scaled
        elif self.task.control == VELOCITY:
            aims.velocities[:, layout.driven] = scaled
        else:
            aims.torques[:, layout.driven] = np.clip(scaled, -layout.limit, layout.limit)
        return aims

    def _check_finite(
        self, found: Array, seen: NDArray[np.float32], time: Array, due: NDArray[np.bool_]
    ) -> None:
        wrong = np.argwhere(~np.isfinite(found) & due[:, None])
        if len(wrong):
            i, k = wrong[0]
            where = "" if self._n == 1 else f" of state {i}"
            raise ControllerError(
                f"policy '{self.__name__}' gave {found[i, k]} for '{self.layout.names[k]}'{where} "
                f"at t = {time[i]:g} s; its observations there are from {seen[i].min():.3g} to "
                f"{seen[i].max():.3g}"
            )

    def command_at(self, time: Array) -> Array:
        """The commands (n, k) at times (n,) [s].

        Raises
        ------
        ControllerError
            For a command of another size, or one that is not finite.
        """
        now = self.command
        values = np.stack([np.asarray(now(t), float) for t in time]) if callable(now) else now
        array = np.asarray(values, dtype=float)
        k = self.layout.commands
        if array.shape not in ((k,), (len(time), k)) or not np.isfinite(array).all():
            raise ControllerError(
                f"the command of policy '{self.__name__}' must be {k} finite numbers, "
                f"not {array.tolist()}"
            )
        return np.broadcast_to(array, (len(time), k))


def load(
    file: str | os.PathLike[str],
    robot: Mechanism,
    task: TaskSource = None,
    command: ArrayLike | Command | None = None,
) -> Policy:
    """A policy from an ONNX file, as a controller of a robot.

    Parameters
    ----------
    file : path
        An ONNX file.
    robot : Mechanism
    task : path, name of a preset, mapping, PolicyTask, or None
        The observations and actions: a task file, a preset of `PRESETS`, or the keys of a file.
        None: what the ONNX file says about itself.
    command : (k,) or (n, k), or callable(time [s]) -> (k,), or None
        Forward and sideways velocity [m/s] and yaw rate [rad/s]; None: the task's.

    Returns
    -------
    Policy

    Raises
    ------
    MissingExtraError
        If onnxruntime is not installed.
    LoadError
        For a file that cannot be read, a task with an unknown key or quantity, or a network with
        other numbers of inputs or outputs.
    ModelError
        If the robot has not the joints or quantities that the task names.
    OptionError
        If nothing describes the task.
    """
    network = Network(file)
    found = task_of(task, network.metadata, network.file.name)
    return Policy(robot, network, found, command)
