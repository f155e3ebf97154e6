"""Motions with impacts, and runs of them with fixed steps or with steps to an accuracy.

The error of a run is the largest distance of a body's points from where they belong, at the end
[m]. These points are the centre of mass and three others, along the body's axes, as far from it as
a solid ball of the same inertia reaches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.control.controllers import PD, stand
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.loaders import load
from robosim.models.builders import cube, sphere, three_link_loop
from robosim.simulation import Simulation

Array = NDArray[np.float64]
G = 9.81
BALL = 2.5  # square of a solid ball's radius, over that of its gyration
FALL, RESTITUTION = 0.5, 0.9  # [m], of the ball
SPEED, FRICTION = 1.0, 0.5  # [m/s], of the block that slides


@dataclass(frozen=True)
class Motion:
    """A motion whose end is computed.

    Attributes
    ----------
    name : str
    robot : Mechanism
    q, v : (nq,), (nv,)
        The start.
    seconds : float
    pd : PD or None
        Implicit, so that it is the same controller at all timesteps.
    exact : (nb, 3) or None
        Centres of mass at the end in closed form [m], of bodies that do not turn.
    """

    name: str
    robot: Mechanism
    q: Array
    v: Array
    seconds: float
    pd: PD | None = None
    exact: Array | None = None

    def end(self) -> Array:
        """Points (4 nb, 3) at the end, in closed form [m]."""
        x = np.asarray(self.exact)
        return points_of(self.robot, x, np.broadcast_to(np.eye(3), (len(x), 3, 3)))


@dataclass(frozen=True)
class Run:
    """One run of a motion.

    Attributes
    ----------
    who, told : str
        The simulator, and its settings.
    setting : float
        The accuracy [m/s], the peer's own accuracy, or the timestep [s].
    cpu : tuple of float
        CPU time of the whole run [s], one for each repetition; empty if it failed.
    points : (4 nb, 3)
        Points of the bodies at the end [m]; NaN if the run failed.
    figures : mapping
        Other numbers that belong to the run.
    """

    who: str
    told: str
    setting: float
    cpu: tuple[float, ...]
    points: Array
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """Least CPU time [s]; inf if the run failed."""
        return min(self.cpu, default=float("inf"))


def landing() -> Motion:
    """The A1 that falls from 0.3 m, tilted by 0.3 rad, and stands up within 0.6 s."""
    robot = load("a1")
    sim = Simulation(robot)
    sim.place(gap=0.3)
    q, half = sim.q.copy(), 0.15
    q[3:7] = [np.cos(half), 0.8 * np.sin(half), 0.6 * np.sin(half), 0.0]
    return Motion("A1 landing", robot, q, np.zeros(robot.nv), 0.6, stand(robot, implicit=True))


def tumbling() -> Motion:
    """A cube of 1 kg with edges of 0.1 m that falls on its corners and tumbles for 1 s."""
    q = np.array([0.0, 0.0, 0.3, 0.9, 0.3, 0.2, 0.1])
    q[3:] /= np.linalg.norm(q[3:])
    return Motion(
        "tumbling cube", cube(0.1, 1.0, 0.5), q, np.array([1.0, 0.2, 0.0, 3.0, 2.0, 1.0]), 1.0
    )


def four_bar(restitution: float = 0.5) -> Motion:
    """A four-bar that falls onto the stop of its first crank; two bounces within 0.8 s."""
    robot = three_link_loop()
    q = np.array(robot.home)
    stop = replace(robot.joints[0], upper=q[0] + 0.5, limit_restitution=restitution)
    robot = replace(robot, joints=(stop, *robot.joints[1:]))
    return Motion("four-bar on its stop", robot, q, np.zeros(robot.nv), 0.8)


def bouncing() -> Motion:
    """A ball with a restitution of 0.9 that falls 0.5 m, and is in the air after ten bounces."""
    robot, seconds = sphere(0.1, 1.0, 0.0), 4.0
    contacts = tuple(replace(one, restitution=RESTITUTION) for one in robot.contacts)
    robot = replace(robot, contacts=contacts)
    q = np.array([0.0, 0.0, 0.1 + FALL, 1.0, 0.0, 0.0, 0.0])
    end = np.array([[0.0, 0.0, 0.1 + height(RESTITUTION, FALL, seconds)]])
    return Motion("ball, ten bounces", robot, q, np.zeros(6), seconds, exact=end)


def sliding() -> Motion:
    """A cube that slides to rest from 1 m/s: it comes v^2 / (2 mu g) far."""
    q = np.array([0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0])
    v = np.array([SPEED, 0.0, 0.0, 0.0, 0.0, 0.0])
    end = np.array([[SPEED**2 / (2 * FRICTION * G), 0.0, 0.05]])
    return Motion("sliding to rest", cube(0.1, 1.0, FRICTION), q, v, 0.4, exact=end)


def swinging() -> Motion:
    """A double pendulum that is let go at 1 and 0.5 rad, and swings for 3 s."""
    robot = load("double_pendulum")
    return Motion("double pendulum", robot, np.array([1.0, 0.5]), np.zeros(2), 3.0)


def motions() -> tuple[Motion, ...]:
    """All motions whose error is measured over the CPU time."""
    return landing(), tumbling(), four_bar(), bouncing()


def height(restitution: float, fall: float, seconds: float) -> float:
    """Height over the ground [m] after a fall from rest at `fall` [m], with bounces in between."""
    speed, begin = np.sqrt(2 * G * fall), np.sqrt(2 * fall / G)
    if seconds < begin:
        return float(fall - 0.5 * G * seconds**2)
    while True:
        speed *= restitution
        if seconds < begin + 2 * speed / G:
            t = seconds - begin
            return float(speed * t - 0.5 * G * t**2)
        begin += 2 * speed / G


def points_of(robot: Mechanism, x: ArrayLike, R: ArrayLike) -> Array:
    """Points (4 nb, 3) of bodies at places x (nb, 3) [m], with rotations R (nb, 3, 3)."""
    found = []
    for body, place, turn in zip(robot.bodies, np.asarray(x), np.asarray(R), strict=True):
        size = np.sqrt(BALL * np.trace(body.inertia) / (3.0 * body.mass))
        found += [place, *(place + size * turn.T)]
    return np.array(found)


def distance(points: Array, others: Array) -> float:
    """Largest distance of two points with the same index [m]; NaN if a run failed."""
    return float(np.linalg.norm(points - others, axis=1).max())


def run(
    motion: Motion, timestep: float, accuracy: float | None, repetitions: int, order: int = 2
) -> Run:
    """A motion in robosim, with fixed steps or with steps to an accuracy."""
    sim = Simulation(motion.robot, timestep, accuracy=accuracy, order=order)
    steps = round(motion.seconds / timestep)

    def take() -> None:
        for _ in sim.stream(steps * timestep, motion.pd, chunk_steps=steps, every=steps):
            pass

    told = "fixed steps" if accuracy is None else "accuracy"
    setting = timestep if accuracy is None else accuracy
    try:
        cpu = timed(take, lambda: sim.set_state(motion.q, motion.v), repetitions)
    except ConvergenceError:
        lost = np.full((4 * len(motion.robot.bodies), 3), np.nan)
        return Run("robosim", told, setting, (), lost)
    sizes, state = sim.step_sizes, sim.state
    turns = [quaternions.rotation_matrix(q) for q in state.q]
    figures = {"intervals": float(steps)}
    if accuracy is not None:
        figures = {"intervals": float(sizes.intervals), "events": float(sizes.events)}
    return Run("robosim", told, setting, cpu, points_of(motion.robot, state.x, turns), figures)


def timed(
    take: Callable[[], Any], prepare: Callable[[], Any], repetitions: int
) -> tuple[float, ...]:
    """CPU times of a call [s]; a first one, which may compile kernels, is not counted."""
    times = []
    for _ in range(repetitions + 1):
        prepare()
        begin = time.process_time()
        take()
        times.append(time.process_time() - begin)
    return tuple(times[1:])
