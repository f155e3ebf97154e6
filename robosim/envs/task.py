"""Tasks: start, observation, reward and end of episodes, as functions of arrays.

Each array has one row for each environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.description.ray_sensor import RaySensor
from robosim.errors import ModelError, OptionError, known
from robosim.learning.domain import Domain
from robosim.policies.task import PolicyTask
from robosim.validation import Array, count, positive

Draws = Mapping[str, tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True, eq=False)
class Torques:
    """Actions are torques, held over a step of the environment.

    Attributes
    ----------
    scale : float, (na,) [N m or N], or None
        The torque of an action of 1; None: the effort limit of each joint.
    joints : tuple of names, or None
        The actuated coordinates that actions drive; None: all. The others get no torque.
    motors : tuple of Delay, Rate and DCMotor
        Stages that the torques pass in each time step, as of `robosim.controllers.Motors`. The
        memory of stages begins anew with each episode.
    """

    scale: ArrayLike | None = None
    joints: tuple[str, ...] | None = None
    motors: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Targets:
    """Actions are targets of PD control, held over a step of the environment.

    Attributes
    ----------
    kp, kd : float or (na,) [N m/rad, N m s/rad; N/m, N s/m]
        Gains of the PD control.
    scale : float or (na,) [rad or m]
        How far an action of 1 moves a target from the centre.
    center : (na,) [rad or m], or None
        Targets of an action of 0; None: the robot's home pose.
    joints : tuple of names, or None
        The actuated coordinates that actions drive; None: all. The others get no torque.
    effort_limits : bool
        Whether torques are limited to the effort limits of the joints.
    implicit : bool
        Whether the gains act within the equations of a step; see `PD`.
    motors : tuple of Delay, Rate, DCMotor and LearnedActuator
        Stages that the torques of the PD pass, as of `Torques`. A `LearnedActuator` takes the
        targets, and the gains have no effect. Not with `implicit`.
    """

    kp: ArrayLike
    kd: ArrayLike
    scale: ArrayLike
    center: ArrayLike | None = None
    joints: tuple[str, ...] | None = None
    effort_limits: bool = True
    implicit: bool = False
    motors: tuple[Any, ...] = ()


class Start(NamedTuple):
    """The beginning of n episodes.

    Attributes
    ----------
    robot : Mechanism
    n : int
    drawn : mapping of a name to (n,) or (n, k)
        The random numbers that `Task.draws` declares, for each episode.
    """

    robot: Mechanism
    n: int
    drawn: Mapping[str, Array]

    @property
    def home(self) -> Array:
        """The robot's home pose for each episode, (n, nq): a new array that may be changed."""
        return np.tile(np.asarray(self.robot.home, dtype=float), (self.n, 1))

    @property
    def rest(self) -> Array:
        """Zero velocities for each episode, (n, nv): a new array that may be changed."""
        return np.zeros((self.n, self.robot.nv))


class Moment(NamedTuple):
    """The state of n environments after an action, or after a reset.

    Attributes
    ----------
    robot : Mechanism
    dt : float [s]
        Time from one action to the next.
    q, v : (n, nq), (n, nv)
        Joint coordinates and velocities.
    q_before, v_before : (n, nq), (n, nv)
        The same before the action; after a reset, equal to q and v.
    action, action_before : (n, na)
        The last action and the one before; zero before there is one.
    tau : (n, nu) [N m or N]
        Torques over the first time step of the action; zero after a reset.
    time : (n,) [s]
        Time since the episode began.
    drawn : mapping of a name to (n,) or (n, k)
        The random numbers that `Task.draws` declares, for the present episodes.
    sensed : mapping of a name to (n, k)
        Readings of the sensors of `Task.sensors`, one row each: what is beyond the range, and what
        was lost, is at the range.
    """

    robot: Mechanism
    dt: float
    q: Array
    v: Array
    q_before: Array
    v_before: Array
    action: Array
    action_before: Array
    tau: Array
    time: Array
    drawn: Mapping[str, Array]
    sensed: Mapping[str, Array] = MappingProxyType({})

    @property
    def home(self) -> Array:
        """The robot's home pose (nq,)."""
        return np.asarray(self.robot.home, dtype=float)

    def rows(self, which: NDArray[Any]) -> Moment:
        """The same for a selection of environments, (k,) of int or (n,) of bool."""
        arrays = {name: getattr(self, name)[which] for name in ARRAYS}
        drawn, sensed = (
            {name: array[which] for name, array in of.items()} for of in (self.drawn, self.sensed)
        )
        return self._replace(**arrays, drawn=drawn, sensed=sensed)


# The fields of a Moment with a row for each environment, in its order.
ARRAYS = ("q", "v", "q_before", "v_before", "action", "action_before", "tau", "time")


class Task:
    """The task of an environment: start, observation, reward and end of an episode.

    Subclasses override `reward`, and `observe`, `done`, `reset` and others as needed. All are
    functions of arrays with one row for each environment, so that a few numpy calls serve all
    environments. Each row of a result must depend on the same row of the arguments only. An
    environment then behaves the same, whatever the number of environments. (Matrix products by
    ``@`` are rounded differently for different numbers of rows.)

    Class attributes are settings; keyword arguments change them for one task.

    Attributes
    ----------
    timestep : float [s]
        Time step of the simulation.
    steps : int
        Time steps of the simulation for each action.
    seconds : float [s]
        Time after which an episode is truncated.
    gap : float or None [m]
        If given, robots are moved up or down at the start until their lowest contact has this
        gap. None: starts are taken as `reset` gives them, which is much faster.
    domain : Domain or None
        Masses, friction and pushes, drawn for each episode. Masses and friction are those of one
        of ``domain.robots`` robots.
    delay : (least, most) [s]
        Delay of actions, drawn for each episode, and rounded to time steps of the simulation.
    noise : float or (no,)
        Standard deviation of the normal noise that is added to each entry of an observation.
    options : mapping
        Options of the `Simulation`, without timestep, lanes and threads.
    sizes : (nq, nv, nu) or None
        Sizes of the robots that the task is for; None: any.

    Raises
    ------
    OptionError
        For an unknown setting, or a value that is not allowed.
    """

    timestep: float = 2e-3
    steps: int = 10
    seconds: float = 10.0
    gap: float | None = None
    domain: Domain | None = None
    delay: tuple[float, float] = (0.0, 0.0)
    noise: ArrayLike = 0.0
    options: Mapping[str, Any] = {}
    sizes: tuple[int, int, int] | None = None

    def __init__(self, **settings: Any) -> None:
        for name, value in settings.items():
            if name not in self.settings():
                raise OptionError(
                    f"{type(self).__name__} has no setting '{name}' "
                    f"({known(name, self.settings())})"
                )
            setattr(self, name, value)
        count("steps", self.steps)
        for name in ("timestep", "seconds"):
            positive(name, getattr(self, name))
        for name in ("timestep", "lanes", "threads"):
            if name in self.options:
                raise OptionError(f"options must not have '{name}', which is given elsewhere")
        pair = np.asarray(self.delay, dtype=float)
        if pair.shape != (2,) or not np.all(np.isfinite(pair)) or not 0 <= pair[0] <= pair[1]:
            raise OptionError(f"delay must be (least, most) [s], not {self.delay!r}")
        noise = np.asarray(self.noise, dtype=float)
        if not np.all(np.isfinite(noise) & (noise >= 0)):
            raise OptionError(f"noise must be zero or more, not {self.noise!r}")

    @classmethod
    def settings(cls) -> tuple[str, ...]:
        """Names of the settings: all public class attributes that are not methods."""
        found: dict[str, None] = {}
        for one in reversed(cls.__mro__[:-1]):
            found.update(
                dict.fromkeys(
                    name
                    for name, value in vars(one).items()
                    if not name.startswith("_")
                    and not callable(value)
                    and not isinstance(value, classmethod | staticmethod | property)
                )
            )
        return tuple(found)

    def check(self, robot: Mechanism) -> None:
        """Raise a ModelError if the robot does not have the task's `sizes`."""
        sizes = robot.nq, robot.nv, robot.nu
        if self.sizes is not None and sizes != self.sizes:
            raise ModelError(
                f"{type(self).__name__} is for robots with nq, nv and nu of {self.sizes}, not of "
                f"{sizes}",
                element=f"robot '{robot.name}'",
            )

    @property
    def dt(self) -> float:
        """Time from one action to the next [s]."""
        return self.timestep * self.steps

    @property
    def most_steps(self) -> int:
        """Number of actions after which an episode is truncated."""
        return max(1, round(self.seconds / self.dt))

    def robot(self) -> Mechanism:
        """The robot of environments that are made without one.

        Raises
        ------
        OptionError
            If the task has no default robot.
        """
        raise OptionError(
            f"{type(self).__name__} has no default robot: pass one to the environment"
        )

    def control(self, robot: Mechanism) -> Torques | Targets:
        """The meaning of actions: torques, which is the default, or targets of PD control."""
        return Torques()

    def policy_task(self, robot: Mechanism) -> PolicyTask:
        """The observations and actions of the task by the names of quantities.

        `robosim.policies.export` writes a policy with this description. Tasks override this method
        if they observe nothing else than quantities of `robosim.policies.QUANTITIES`.

        Raises
        ------
        OptionError
            If the task has no such description.
        """
        raise OptionError(
            f"{type(self).__name__} does not describe its observations: override `policy_task`"
        )

    def draws(self, robot: Mechanism) -> Draws:
        """Random numbers of each episode: names to (least, most), each a number or (k,).

        The numbers are drawn uniformly between both; see `Start.drawn` and `Moment.drawn`.
        """
        return {}

    def sensors(self, robot: Mechanism) -> Sequence[str | RaySensor]:
        """Sensors with rays that are read after each action, for `Moment.sensed`.

        Names of the robot's sensors, or sensors that it is given. With noise, it is drawn anew in
        each episode. Samples of a rate or a delay must be between actions.
        """
        return ()

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        """Smallest and largest observations, numbers or (no,); others are clipped to these."""
        return -np.inf, np.inf

    def reset(self, start: Start) -> tuple[Array, Array]:
        """Coordinates (n, nq) and velocities (n, nv) at which episodes begin."""
        return start.home, start.rest

    def observe(self, now: Moment) -> Array:
        """Observations (n, no): q and v, if not overridden."""
        return np.concatenate((now.q, now.v), axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        """Terms of the reward by name, each (n,); the reward is the sum of all terms."""
        raise NotImplementedError(f"{type(self).__name__} has no reward")

    def done(self, now: Moment) -> NDArray[np.bool_]:
        """Whether episodes are terminated, (n,), for example by a fall; not for the time limit."""
        return np.zeros(len(now.time), dtype=bool)
