"""robosim as one of the simulators of an audit: the same looks, in this process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robosim.control.pd import PD
from robosim.control.transmission import Drive, Transmission
from robosim.description.actuator import Actuator
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError, ModelError
from robosim.kinematics.kinematics import Kinematics
from robosim.quaternions import rotation_matrix
from robosim.referee.audit.runs import HELD, WORLD, Array, Job, Look, Opened, Touches
from robosim.simulation import Simulation
from robosim.version import __version__


def with_servos(robot: Mechanism) -> Mechanism:
    """The robot with its actuators as parts of the equations, where they can be.

    Other simulators evaluate servos within a step. So a servo here must not wait for the next one.
    """
    made: list[Actuator] = []
    for actuator in robot.actuators:
        servo = any(actuator.bias) or any(actuator.gain[1:])
        try:
            made.append(replace(actuator, implicit=True) if servo else actuator)
        except ModelError:
            made.append(actuator)
    if any(one.implicit for one in made):
        return replace(robot, actuators=tuple(made))
    return robot


def held_controls(robot: Mechanism, q: Array) -> Array:
    """Controls (number of controls,) with which servos hold a pose q (nq,), and motors rest."""
    controls = np.zeros(len(robot.control_names))
    transmission = Transmission(robot)
    transmission.move_to(q, np.zeros(robot.nv))
    for actuator, mine, _ in transmission.slots():
        gain, bias, held = actuator.gain, actuator.bias, controls[mine]
        servo = bool(gain[0] and bias[1] and np.isclose(gain[0], -bias[1]))
        if servo or (actuator.motor is not None and "pos" in actuator.motor.inputs):
            held[0] = transmission.of(actuator)[0]
        controls[mine] = np.clip(held, *actuator.control_range)
    return controls


class InRobosim:
    """A robot in robosim.

    Parameters
    ----------
    robot : Mechanism
    gravity : (3,) [m/s^2]

    Raises
    ------
    ModelError
        For a robot that cannot be simulated.
    """

    version = __version__

    def __init__(self, robot: Mechanism, gravity: Array) -> None:
        self.robot = robot
        self._gravity = gravity
        self._frames = [(index, frame) for index, frame in robot.frames()]
        self._turns = [rotation_matrix(frame.quaternion) for _, frame in self._frames]
        self.bodies = tuple(frame.name for _, frame in self._frames)
        self._kinematics = Kinematics(robot)
        self._limits_of = _limits_of(robot)
        self._bodies = {body.name for body in robot.bodies}
        self._closed = bool(robot.loop_joints or robot.couplings)
        self.sim: Simulation
        self._controls, self._torques = np.zeros(0), np.zeros(0)
        self._drive: Drive | None = None
        self._pd: PD | None = None

    def opened(self) -> Opened:
        """What robosim has made of the file."""
        return Opened("robosim", self.version, self.bodies, mass=float(self.robot.total_mass))

    def begin(self, job: Job) -> str:
        """A simulation with the time step, the settings and the state of a job."""
        robot = with_servos(self.robot) if job.kind == HELD else self.robot
        settings = dict(job.settings)
        self.sim = Simulation(robot, job.timestep, self._gravity, **settings)
        if job.q is not None:
            self.sim.set_state(job.q, job.v)
        self._drive = self._pd = None
        self._torques = np.zeros(robot.nu)
        if job.kind == HELD and len(robot.actuators):
            self._drive = Drive(robot, lambda sim: self._controls)
        if job.gains is not None:
            self._pd = PD.with_gains(job.gains)
        return ", ".join(f"{name}={value:g}" for name, value in settings.items())

    def drive(self, row: Array, kind: str) -> None:
        """Controls of the file's actuators, or torques on joints."""
        if kind == HELD:
            self._controls = row
        else:
            self._torques = row

    def step(self, steps: int) -> str | None:
        """Take time steps; why robosim could not, if it could not."""
        sim = self.sim
        try:
            if self._pd is not None:
                pd, torques = self._pd, self._torques
                sim.run(steps * sim.timestep, lambda sim: (pd, torques))
                return None
            for _ in range(steps):
                sim.step(self._torques if self._drive is None else self._drive(sim))
        except ConvergenceError as error:
            return str(error)
        return None

    def look(self) -> Look:
        """The present state."""
        sim = self.sim
        q, v = np.array(sim.q), np.array(sim.v)
        self._kinematics.move_to(q)
        x, R = self._kinematics.x, self._kinematics.R
        places = [x[index] + R[index] @ np.asarray(frame.position) for index, frame in self._frames]
        turns = [
            R[index] @ turn for (index, _), turn in zip(self._frames, self._turns, strict=True)
        ]
        touches = Touches()
        for contact in sim.contacts():
            force = float(contact.force @ contact.normal)
            other = contact.other_link if contact.other in self._bodies else WORLD
            # The velocity is that of the body relative to the other.
            touches.add(other, contact.link, -contact.gap, force, contact.normal, contact.velocity)
        limits = {}
        for name, at, lower, upper in self._limits_of:
            beyond = max(lower - q[at], q[at] - upper)
            if beyond > 0:
                limits[name] = float(beyond)
        loops = {"all": sim.constraint_violation()} if self._closed else {}
        effort = float(np.abs(sim.torques).max(initial=0.0))
        energies = sim.energy(), 0.5 * float(v @ sim.dynamics.mass_matrix(q) @ v)
        return Look(
            q, v, np.array(places), np.array(turns), *energies, touches.found, loops, limits, effort
        )


def _limits_of(robot: Mechanism) -> list[tuple[str, int, float, float]]:
    """Name, index in q and limits of each coordinate that has some."""
    found = []
    for begin, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        if joint.has_quaternion:
            continue
        lower, upper = np.asarray(joint.lower), np.asarray(joint.upper)
        for k in range(joint.nq):
            if np.isfinite([lower[k], upper[k]]).any():
                name = robot.q_names[begin + k]
                found.append((name, begin + k, float(lower[k]), float(upper[k])))
    return found
