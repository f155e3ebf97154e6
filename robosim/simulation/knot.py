"""Readings of a simulation at its present knot: coordinates, forces, contacts, energies."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from robosim.compiled.order import driven_elements
from robosim.description.ray_sensor import RaySensor
from robosim.formulation import Contact, StepSizes
from robosim.kinematics.kinematics import Kinematics
from robosim.runtime.handles import Parts
from robosim.simulation import energy, readings
from robosim.simulation.base import SimulationBase
from robosim.simulation.engine import Engine
from robosim.simulation.frames import Frames
from robosim.simulation.readings import BearingForces
from robosim.simulation.sensors import Ends
from robosim.simulation.sensors import read as read_sensor
from robosim.simulation.views import BodyState, LastStep, last_step
from robosim.validation import Array, read_only

if TYPE_CHECKING:
    from robosim.rays.sensing import Sample, Samples

T = TypeVar("T")


class IslandInfo(NamedTuple):
    """What is solved by itself.

    Attributes
    ----------
    bodies : tuple of str
    solver : str
        The solver in use.
    asleep : bool
        Whether it takes no steps, as it is at rest.
    """

    bodies: tuple[str, ...]
    solver: str
    asleep: bool


class Knot(Frames, SimulationBase):
    """Quantities of a simulation that can be read between two steps.

    Attributes
    ----------
    robot : Mechanism
    state : BodyState
        The bodies at the knot.
    engine, held : Engine, Held
        Internal objects that take the steps and hold the loads.
    """

    state: BodyState
    number: int = 0  # of the state in a batch, on which noise of sensors depends
    engine: Engine  # or one with the same readings, `robosim.simulation.worlds.Worlds`

    @property
    def parts(self) -> Parts:
        """The data that kernels work on: model, state, memory, loads, workspace and options."""
        return self.engine.parts

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world, read-only."""
        return self.parts.options.gravity

    def kinematics(self) -> Kinematics:
        """Poses, Jacobians and tendons in joint coordinates at the present knot."""
        return Kinematics(self.robot, self.q)

    @property
    def islands(self) -> list[IslandInfo]:
        """The systems that are solved by themselves: a single one, or the islands of a world."""
        return [
            IslandInfo(tuple(body.name for body in one.robot.bodies), one.solver, one.asleep)
            for one in self.engine.systems
        ]

    @property
    def order(self) -> int:
        """Order of steps: 2, or 4 if requested and if the motion is smooth."""
        return self.parts.options.order

    @property
    def fourth_order_steps(self) -> int:
        """Number of these steps that were of order four."""
        return self.engine.counters.fourth_order_steps

    @property
    def q(self) -> Array:
        """Joint coordinates (nq,), a read-only copy; angles count full turns.

        To change them, use `set_state`.
        """
        return read_only(self.engine.state.q[: self.robot.nq].copy())

    @property
    def v(self) -> Array:
        """Joint velocities (nv,) at the knot, a read-only copy."""
        return read_only(self.engine.state.v[: self.robot.nv].copy())

    @property
    def torques(self) -> Array:
        """Torques or forces of the last step, (nv,) [N m or N]; 0 before the first step.

        A read-only copy: torques are passed to `step`, or returned by a controller.

        For implicit PD, the mean torques over the step.
        """
        counters = self.engine.counters
        if counters.steps == 0:
            return read_only(np.zeros(self.robot.nv))
        if counters.drove is not None and counters.drove[0] == counters.steps:
            return read_only(counters.drove[1].copy())
        return read_only(self.held.given(self.engine.state.q, self.timestep)[: self.robot.nv])

    @property
    def last_step(self) -> LastStep | None:
        """Results of the last step: factors, active contacts, impulses; None before the first
        step, and of a world in several islands.

        The arrays are views of the step's memory, for derivatives without another run of the step.
        """
        if not self.steps or len(list(self.engine.systems)) > 1:
            return None
        return last_step(next(self.engine.systems).parts)

    def sensor(self, name: str) -> float | Array:
        """The reading of one of ``robot.sensors`` at the knot: a number, or (3,) or (4,).

        Of a sensor with rays, such as a `Lidar`, an array of its shape; see `sample`.

        Raises
        ------
        ModelError
            If there is no sensor of that name.
        OptionError, ModelError
            As for `sample`.
        """
        sensor = self.robot.sensor(name)
        if isinstance(sensor, RaySensor):
            values = self._samples().read(sensor).values[0]
            return float(values) if values.ndim == 0 else values.copy()
        return read_sensor(self, sensor)

    def sample(self, name: str) -> Sample:
        """The reading of a sensor with rays, with its time, its pose and the measured points.

        The reading is that of the last sample that is older than the sensor's delay. A sensor with
        a delay or a rate is switched on where it is first read, logged or given to `switch_on`. A
        state that has been set counts as if it had been so before. A sensor that is switched on
        later reads nan until its first sample.

        Raises
        ------
        ModelError
            For an unknown name.
        StateError
            For a sensor without rays.
        OptionError
            For a rate of more than one sample a time step.
        """
        from robosim.rays.sensing import ray_sensor, sample_of  # compiled, as for `cast`

        sensor = ray_sensor(self.robot, name)
        return sample_of(sensor, self._samples().read(sensor))

    def switch_on(self, name: str) -> None:
        """Take samples of a sensor with a delay or a rate from now on; see `sample`."""
        sensor = self.robot.sensor(name)
        if isinstance(sensor, RaySensor):
            self._samples().switch_on(sensor)

    def _samples(self) -> Samples:
        """The samples of sensors with rays, which exist once one has been asked for."""
        if self._driver.samples is None:
            from robosim.simulation.sensing import samples_of

            self._driver.samples = samples_of(self, self.number)
        return self._driver.samples

    def wrench(self, body: str) -> Array:
        """The wrench of `apply_wrench` on a body about its centre of mass, (6,) [N, N m], world.

        By the name of the body, or of one of its frames. A read-only copy.
        """
        index = self.robot.body_index(body)
        return read_only(np.array(self.parts.loads.external["w"][index]))

    def joint_wrenches(self) -> dict[str, Array]:
        """Wrench of each joint's constraints on its child, (6,): force [N] and torque [N m],
        world.

        At the joint's point on the child; the mean over the last step. The mean is of second order,
        but of first order for joints that carry contacts. Forces along free coordinates (springs,
        limits, actuators) are not included. If constraints are redundant, the distribution of a
        load among them is undetermined, and depends on the solver.
        """
        each = [readings.joint_wrenches(*one[:2], self.timestep) for one in self.engine.systems]
        return _in_order(each, [joint.name for joint in self.robot.joints])

    def accelerations(self) -> Array:
        """Accelerations (nb, 6) of centres of mass [m/s^2], and angular ones [rad/s^2]; world.

        Means over the last step, from the velocities at both of its ends, which contain impacts.
        Zero before the first step, and after a run that failed with its second step or later.
        """
        return readings.accelerations(self.parts.state.bodies, self.timestep)

    @property
    def before(self) -> Ends:
        """Orientations and velocities of the bodies where the last step began."""
        bodies = self.parts.state.bodies
        return Ends(bodies["q_before"], bodies["v_before"], bodies["omega_before"])

    def energy(self) -> float:
        """Kinetic and potential energy at the knot [J], of bodies, rotors and springs.

        Compliant contacts and limits are springs. The potential of gravity is zero at the world's
        origin.
        """
        springs = sum(energy.spring_energy(one.parts) for one in self.engine.systems)
        return energy.energy(self.robot, self.parts) + springs

    def momentum(self) -> tuple[Array, Array]:
        """Linear [kg m/s] and angular [kg m^2/s] momentum at the knot, about the world's origin."""
        return energy.momentum(self.parts)

    @property
    def step_sizes(self) -> StepSizes:
        """What steps to an accuracy have come to since the state was set.

        Of a world, all islands together; one that has met another one counts from there on.
        """
        paces = [one.parts.memory.guesses.pace[0] for one in self.engine.systems]
        taken = [pace for pace in paces if pace["intervals"]]
        return StepSizes(
            sum(int(pace["intervals"]) for pace in taken),
            min((float(pace["shortest"]) for pace in taken), default=np.inf),
            sum(float(pace["error"]) for pace in taken),
            sum(int(pace["events"]) for pace in taken),
        )

    def _tell_sizes(self) -> None:
        sizes = self.step_sizes
        if sizes.intervals:
            print(
                f"{sizes.intervals} intervals, the shortest {sizes.shortest:.3g} s; estimated "
                f"error {sizes.error:.2g} m",
                file=sys.stderr,
            )

    def constraint_violation(self) -> float:
        """Largest violation of a joint [m, or the sine of half an angle] at the knot."""
        return max(energy.constraint_violation(one.parts) for one in self.engine.systems)

    def contact_positions(self) -> Array:
        """Where each contact would touch, (nc, 3) [m], world, in the order of robot.contacts."""
        return readings.contact_positions(self.robot, self.parts.state)

    def min_gap(self, within: float = 0.1) -> float:
        """Smallest gap at the knot [m]: of contact points, and of shapes nearer than `within`.

        Infinite without contacts, or if no shapes are that near.
        """
        return readings.min_gap(self.robot, self.engine.whole_parts(), within)

    def shape_gaps(self, within: float = 0.1) -> Array:
        """Smallest gap of each pair of ``robot.touching_shapes()``, (np,) [m].

        Infinite for pairs that are not nearer than `within` [m].
        """
        return readings.shape_gaps(self.engine.whole_parts(), within)

    def contacts(self, ground: bool = True) -> list[Contact]:
        """All active contacts of the last step, closed or near.

        Contact points with the ground (unless `ground` is False), shapes with obstacles and with
        each other; none before the first step.
        """
        return [
            contact
            for one in self.engine.systems
            if ground or len(one.parts.model.collision.pairs)
            for contact in one.contacts()
            if ground or not contact.is_point
        ]

    def limit_forces(self) -> Array:
        """Generalized forces of joint limits, dry joint friction and bearings, (nv,) [N, N m].

        The mean over the last interval, along the coordinates of the tree. For joints that close
        loops, and for tendons, see `limit_forces_of`; for constraints of joints, see
        `joint_wrenches`.
        """
        out = np.zeros(len(self.engine.state.v))
        for one in self.engine.systems:
            parts, places = one.parts, one.places
            values = parts.model, parts.state, parts.memory.guesses, one.interval
            out[slice(None) if places is None else places.v] = readings.limit_forces(*values)
        return out[: self.robot.nv]

    def limit_forces_of(self, name: str) -> Array:
        """Limit forces of one joint, which may close a loop, (joint.nv,), or along a tendon, (1,).

        Along a tendon's length: negative at an upper limit.

        Raises
        ------
        ModelError
            If there is no such joint or tendon.
        """
        robot, parts, interval, *_ = self._system_of(name)
        return readings.limit_forces_of(robot, parts, name, interval)

    def bearing_forces(self, name: str) -> BearingForces:
        """Normal forces of the pads of a joint's bearing, and their friction [Sueda, Eq. 2.118].

        Means over the last interval, from the impulses at its beginning; 0 before the first step.

        Raises
        ------
        ModelError
            If there is no such joint, or if it has no bearing.
        """
        robot, parts, interval, *_ = self._system_of(name)
        return readings.bearing_forces(robot, parts, name, interval)

    def coupling_forces(self) -> dict[str, float]:
        """Generalized force of each coupling on the coordinate of its joint [N m or N].

        The force on the coordinate of its source is minus the ratio times this force. The
        mean over the last step, of second order; 0 before the first step.
        """
        of = self.parts.state.couplings
        impulses = of["total"] - of["ahead_before"] + of["ahead"]
        names = [coupling.name for coupling in self.robot.couplings]
        forces = (impulses / self.timestep).tolist()
        return dict(zip(names, forces, strict=True))

    def drive_forces(self) -> dict[str, float | Array]:
        """Force or torque that drives each joint along its `motion` [N or N m].

        For a joint with several coordinates, (nv,); for a free rotation, in child axes.

        Forces that lock joints or tendons with equal limits are included. The force acts along the
        coordinate, from the parent on the child. The value is the total force of the motion without
        the torques given to the step; the joint's own spring, damper and rotor are part of the
        drive. This force is the mean over the last step, of second order, and 0 before the first
        step. Times the distance it is the energy that the drive gives.
        """
        each = [readings.drive_forces(*one[:2], self.timestep) for one in self.engine.systems]
        return _in_order(each, [element.name for element in driven_elements(self.robot)])

    def contact_forces(self) -> Array:
        """Force of the ground on each contact, (nc, 3) [N], world, mean of the last interval.

        Zero before the first step.
        """
        out = np.zeros((len(self.robot.contacts), 3))
        for one in self.engine.systems:
            names = {body.name for body in one.robot.bodies}
            mine = [point.body in names for point in self.robot.contacts]
            out[mine] = readings.contact_forces(*one[:3])
        return out

    def _system_of(self, name: str) -> readings.IslandParts:
        """The system that has a joint or tendon."""
        systems = list(self.engine.systems)
        for one in systems:
            names = {joint.name for joint in one.robot.joints}
            if name in names | {tendon.name for tendon in one.robot.tendons}:
                return one
        return systems[0]._replace(robot=self.robot)  # which tells what there is


def _in_order(each: Sequence[Mapping[str, T]], names: Sequence[str]) -> dict[str, T]:
    """Values by name of several systems, in the order of the whole mechanism."""
    known = {name: value for one in each for name, value in one.items()}
    return {name: known[name] for name in names}
