"""Computed torque of an arm at 1 kHz: the cost of a period, with its controller in Python."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, ours, race
from robosim.bench.report import OURS, Report
from robosim.description.mechanism import Mechanism
from robosim.loaders.packages import example_robot_data
from robosim.measuring.target import Target
from robosim.models.builders import chain
from robosim.simulation import Simulation
from robosim.validation import Array

DT, RATE = 1e-3, np.pi  # [s], [rad/s]
LEAST = 20.0  # times faster than real time


def arm() -> Mechanism:
    """The Panda on a table, with a motor for each finger; else a chain of nine hinges."""
    if example_robot_data() is None:
        return chain(9)
    robot = robosim.load("panda", floating_base=False, ground=False)
    joints = tuple(replace(joint, actuated=True) for joint in robot.joints)
    return replace(robot, joints=joints, couplings=(), home=robot.configurations["default"])


class ComputedTorque:
    """Computed torques of a periodic motion: inverse dynamics plus feedback of the errors."""

    def __init__(self, robot: Mechanism) -> None:
        sizes = {"revolute": 0.3, "prismatic": 0.01}  # [rad], [m]
        self.start = np.array(robot.home)
        self.size = np.array([sizes[joint.kind] for joint in robot.joints if joint.nv])

    def path(self, t: float) -> tuple[Array, Array, Array]:
        """Coordinates, velocities and accelerations at a time [s], each (nv,)."""
        s, c = self.size * np.sin(RATE * t), self.size * np.cos(RATE * t)
        return self.start + self.size - c, RATE * s, RATE**2 * c

    def __call__(self, sim: Simulation) -> Array:
        q, v, a = self.path(sim.time)
        a = a + 400 * (q - sim.q) + 40 * (v - sim.v)
        return sim.dynamics.inverse_dynamics(sim.q, sim.v, a)


def run_computed_torque(setup: Setup) -> Report:
    """Time steps with the controller, time steps alone, and inverse dynamics alone."""
    robot, steps = arm(), setup.choose(2000, 400)
    told, control, sim = robot.name, ComputedTorque(robot), Simulation(robot, timestep=DT)
    log = sim.run(2.0, control)
    worst = float(np.abs(log.q - [control.path(t)[0] for t in log.t]).max())
    q, v, a = control.path(0.3)

    def inverse() -> bool:
        for _ in range(steps):
            sim.dynamics.inverse_dynamics(q, v, a)
        return True

    start = partial(sim.set_state, robot.home)
    errors = {"tracking error [rad or m]": worst}
    controlled, *others = race(
        (
            ours(sim, control, steps, start, f"{told}: a period of 1 ms", errors=errors),
            ours(sim, None, steps, start, f"{told}: its step alone"),
            Contender(OURS, f"{told}: its inverse dynamics alone", steps, inverse),
        ),
        setup.repetitions,
    )
    assert controlled.timing is not None
    speed = 1e6 * DT / controlled.timing.median
    controlled = replace(controlled, figures={"real time / CPU time": speed})
    target = Target(f"{told}: real time over CPU time", speed, LEAST, at_least=True)
    return Report((controlled, *others), (target,))


CASES = (
    Case(
        "computed_torque",
        "a Panda at 1 kHz under computed torque, with its controller in Python",
        (),
        run_computed_torque,
    ),
)
