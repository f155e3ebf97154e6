"""What an environment is about: a task, as functions of arrays with a row for each environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, OptionError, known
from robosim.learning.domain import Domain
from robosim.validation import Array, count

Draws = Mapping[str, tuple[ArrayLike, ArrayLike]]


@dataclass(frozen=True, eq=False)
class Torques:
    """Actions are torques, held over a step of the environment.

    Attributes
    ----------
    scale : float, (na,) [N m or N], or None
        The torque of an action of 1; None: the effort limit of each joint.
    joints : tuple of names, or None
        Of the actuated coordinates that actions drive; None: all. The others get no torque.
    """

    scale: ArrayLike | None = None
    joints: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Targets:
    """Actions are targets of PD control, held over a step of the environment.

    Attributes
    ----------
    kp, kd : float or (na,) [N m/rad, N m s/rad; N/m, N s/m]
    scale : float or (na,) [rad or m]
        How far an action of 1 moves a target from the centre.
    center : (na,) [rad or m], or None
        Targets of an action of 0; None: the robot's home pose.
    joints : as of `Torques`
    effort_limits : bool
        Whether torques stay within those of the joints.
    implicit : bool
        Whether the gains act within the equations of a step; see `PD`.
    """

    kp: ArrayLike
    kd: ArrayLike
    scale: ArrayLike
    center: ArrayLike | None = None
    joints: tuple[str, ...] | None = None
    effort_limits: bool = True
    implicit: bool = False


class Start(NamedTuple):
    """The beginning of n episodes.

    Attributes
    ----------
    robot : Mechanism
    n : int
    drawn : mapping of a name to (n,) or (n, k)
        What `Task.draws` declares, of each episode.
    """

    robot: Mechanism
    n: int
    drawn: Mapping[str, Array]

    @property
    def home(self) -> Array:
        """The robot's home pose for each (n, nq), to change at will."""
        return np.tile(np.asarray(self.robot.home, dtype=float), (self.n, 1))

    @property
    def rest(self) -> Array:
        """No velocity for each (n, nv), to change at will."""
        return np.zeros((self.n, self.robot.nv))


class Moment(NamedTuple):
    """Where n environments are after an action, or after a reset.

    Attributes
    ----------
    robot : Mechanism
    dt : float [s]
        From one action to the next.
    q, v : (n, nq), (n, nv)
        Joint coordinates and velocities.
    q_before, v_before : as these
        Before the action; after a reset the same as now.
    action, action_before : (n, na)
        The last action and the one before; zero before there is one.
    tau : (n, nu) [N m or N]
        Torques at the beginning of the action; zero after a reset.
    time : (n,) [s]
        Since the episode began.
    drawn : mapping of a name to (n,) or (n, k)
        What `Task.draws` declares.
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

    @property
    def home(self) -> Array:
        """The robot's home pose (nq,)."""
        return np.asarray(self.robot.home, dtype=float)

    def rows(self, which: NDArray[Any]) -> Moment:
        """Of these environments alone."""
        arrays = {name: getattr(self, name)[which] for name in ARRAYS}
        return self._replace(**arrays, drawn={k: a[which] for k, a in self.drawn.items()})


# The fields of a Moment with a row for each environment, in its order.
ARRAYS = ("q", "v", "q_before", "v_before", "action", "action_before", "tau", "time")


class Task:
    """What an environment is about: how it begins, what is seen of it, what counts, when it ends.

    A task of one's own overrides `observe`, `reward`, `done` and `reset`, as far as it needs them.
    Each is a function of arrays with a row for each environment, so that a few calls of numpy
    serve all of them. A row must depend on that row alone: then environments do the same whether
    there is one or a thousand. (Products by ``@`` round differently for other numbers of rows.)

    Attributes are settings, which keyword arguments change for one task.

    Attributes
    ----------
    timestep : float [s]
        Of the simulation.
    steps : int
        Of the simulation for each action.
    seconds : float [s]
        After which an episode is truncated.
    gap : float [m] or None
        Starts are moved up or down until the lowest contact is that far above what it may touch;
        None: they are taken as `reset` gives them, which is much faster.
    domain : Domain or None
        Masses, friction and pushes, drawn for each episode; the masses and friction are those of
        one of ``domain.robots`` robots.
    delay : (least, most) [s]
        Of actions, drawn for each episode; rounded to steps of the simulation.
    noise : float or (no,)
        Standard deviation of what is added to observations, normal and independent.
    options : mapping
        Of the `Simulation`, but for its timestep and lanes.
    sizes : (nq, nv, nu) or None
        Those of the robots that the task is for; None: any.

    Raises
    ------
    OptionError
        For a setting that there is not, or a value that is not allowed.
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
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise OptionError(f"{name} must be a positive number, not {value!r}")
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
        """Names of the settings: class attributes that are no methods."""
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
        """Refuse a robot that the task is not for: ModelError."""
        sizes = robot.nq, robot.nv, robot.nu
        if self.sizes is not None and sizes != self.sizes:
            raise ModelError(
                f"{type(self).__name__} is for robots with nq, nv and nu of {self.sizes}, not of "
                f"{sizes}",
                element=f"robot '{robot.name}'",
            )

    @property
    def dt(self) -> float:
        """From one action to the next [s]."""
        return self.timestep * self.steps

    @property
    def most_steps(self) -> int:
        """Actions of an episode, until it is truncated."""
        return max(1, round(self.seconds / self.dt))

    def robot(self) -> Mechanism:
        """The robot, where an environment is made without one."""
        raise OptionError(
            f"{type(self).__name__} has no default robot: pass one to the environment"
        )

    def control(self, robot: Mechanism) -> Torques | Targets:
        """What actions mean."""
        return Torques()

    def draws(self, robot: Mechanism) -> Draws:
        """What is drawn for each episode, uniformly: a name to (least, most), numbers or (k,)."""
        return {}

    def bounds(self, robot: Mechanism) -> tuple[ArrayLike, ArrayLike]:
        """Least and most of observations, numbers or (no,); what is beyond is cut to them."""
        return -np.inf, np.inf

    def reset(self, start: Start) -> tuple[Array, Array]:
        """Coordinates (n, nq) and velocities (n, nv) at which episodes begin."""
        return start.home, start.rest

    def observe(self, now: Moment) -> Array:
        """What is seen (n, no); q and v as they are, if it is not overridden."""
        return np.concatenate((now.q, now.v), axis=1)

    def reward(self, now: Moment) -> Mapping[str, Array]:
        """Terms of the reward by name, each (n,); their sum is the reward."""
        raise NotImplementedError(f"{type(self).__name__} has no reward")

    def done(self, now: Moment) -> NDArray[np.bool_]:
        """Whether episodes have come to an end (n,), as by a fall; never of time."""
        return np.zeros(len(now.time), dtype=bool)
