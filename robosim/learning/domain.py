"""Domain randomization: masses, friction, motors and pushes that differ between episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.validation import Array, count


def with_friction(robot: Mechanism, friction: float) -> Mechanism:
    """A robot whose contact points and collision shapes have this Coulomb coefficient."""
    bodies = tuple(
        replace(body, collisions=tuple(replace(s, friction=friction) for s in body.collisions))
        for body in robot.bodies
    )
    points = tuple(replace(point, friction=friction) for point in robot.contacts)
    return replace(robot, bodies=bodies, contacts=points)


def with_masses(robot: Mechanism, factors: Sequence[float]) -> Mechanism:
    """A robot whose masses and inertias are multiplied by a factor for each body, (nb,)."""
    bodies = tuple(
        replace(body, mass=float(f) * body.mass, inertia=float(f) * np.asarray(body.inertia))
        for f, body in zip(factors, robot.bodies, strict=True)
    )
    return replace(robot, bodies=bodies)


class Push(NamedTuple):
    """A force on the base for some time.

    Attributes
    ----------
    begin : float [s], since the episode began
    force : (3,) [N], world axes
    """

    begin: float
    force: Array


class Numbers(NamedTuple):
    """The numbers of one draw.

    Attributes
    ----------
    factors : (nb,), factors of the bodies' masses and inertias
    friction : float or None, Coulomb coefficient
    push : Push or None
    motors : (nu,) or None, factors of the motors' torques; None: 1
    """

    factors: Array
    friction: float | None
    push: Push | None
    motors: Array | None = None


class Drawn(NamedTuple):
    """One draw: the robot, how it is pushed, and factors (nu,) of its motors' torques, or None."""

    robot: Mechanism
    push: Push | None
    motors: Array | None = None


@dataclass(frozen=True)
class Domain:
    """Ranges from which masses, friction, motors and a push are drawn, uniformly, per episode.

    Delays of actions and noise of observations are settings of a `robosim.envs.Task`.

    Attributes
    ----------
    mass : (least, most)
        Factor of mass and inertia, drawn for each body.
    friction : (least, most) or None
        Coulomb coefficient of all contact points and collision shapes of the robot. None: as the
        robot has it.
    motors : (least, most)
        Factor of torque for each motor: of the gains kp and kd of a PD, or of given torques. Effort
        limits stay as they are.
    push : float [N]
        Largest horizontal force on the base; size, direction and time are drawn.
    push_seconds : float [s]
        Duration of the push.
    draws : int
        For `learn_gait`: number of draws with which each gait is tried.
    worst : bool
        For `learn_gait`: whether the value of a gait is the smallest over the draws, instead of
        the mean.
    robots : int
        For environments: number of robots that are drawn. Each episode takes one of these.

    Raises
    ------
    OptionError
        For a range whose ends are not finite, too small or in the wrong order. For a negative push
        or duration, or a number of draws or robots below one.
    """

    mass: tuple[float, float] = (1.0, 1.0)
    friction: tuple[float, float] | None = None
    push: float = 0.0
    push_seconds: float = 0.1
    draws: int = 4
    worst: bool = False
    robots: int = 64
    motors: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        for name, given, low in (
            ("mass", self.mass, 1e-6),
            ("friction", self.friction, 0.0),
            ("motors", self.motors, 0.0),
        ):
            if given is None:
                continue
            pair = np.asarray(given, dtype=float)
            if pair.shape != (2,) or not np.all(np.isfinite(pair)) or not low <= pair[0] <= pair[1]:
                raise OptionError(f"{name} must be (least, most), not {given!r}")
        for name, value in (("push", self.push), ("push_seconds", self.push_seconds)):
            if not (np.isfinite(value) and value >= 0):
                raise OptionError(f"{name} must be zero or more, not {value!r}")
        count("draws", self.draws)
        count("robots", self.robots)

    def draw(self, robot: Mechanism, seconds: float, random: np.random.Generator) -> Drawn:
        """A robot and a push for an episode of this length [s]."""
        numbers = self.numbers(robot, seconds, random)
        return Drawn(self.applied(robot, numbers), numbers.push, numbers.motors)

    def numbers(self, robot: Mechanism, seconds: float, random: np.random.Generator) -> Numbers:
        """The numbers of a draw, as of `draw`, without building a robot."""
        factors = random.uniform(*self.mass, size=len(robot.bodies))
        friction = None if self.friction is None else float(random.uniform(*self.friction))
        push = self.push_within(seconds, random)
        return Numbers(factors, friction, push, self.motors_of(robot.nu, random))

    def motors_of(self, nu: int, random: np.random.Generator) -> Array | None:
        """Factors of the motors' torques (nu,), or None if all are 1."""
        return random.uniform(*self.motors, size=nu) if self.changes_motors else None

    @property
    def changes_motors(self) -> bool:
        """Whether motors are drawn."""
        return tuple(self.motors) != (1.0, 1.0)

    def push_within(self, seconds: float, random: np.random.Generator) -> Push | None:
        """A push in an episode of this length [s], or None if the largest force is zero."""
        size, angle = random.uniform(0.0, self.push), random.uniform(0.0, 2 * np.pi)
        begin = random.uniform(0.0, max(0.0, seconds - self.push_seconds))
        if self.push == 0:
            return None
        return Push(float(begin), size * np.array([np.cos(angle), np.sin(angle), 0.0]))

    def robot_of(self, robot: Mechanism, number: int) -> Mechanism:
        """One of the robots of environments, by its number, which is the seed of its draw."""
        return self.applied(robot, self.numbers(robot, 0.0, np.random.default_rng(number)))

    @property
    def changes_robots(self) -> bool:
        """Whether masses or friction are drawn."""
        return self.mass != (1.0, 1.0) or self.friction is not None

    def applied(self, robot: Mechanism, numbers: Numbers) -> Mechanism:
        """The robot with the drawn masses and friction."""
        if self.mass != (1.0, 1.0):
            robot = with_masses(robot, numbers.factors.tolist())
        if numbers.friction is not None:
            robot = with_friction(robot, numbers.friction)
        return robot
