"""From controls of actuators to joint torques.

Controllers in robosim return joint torques (nu,). If the model file has motors, servos and muscles
with their own controls, `torques` converts these to joint torques. Each actuator contributes gear
times force (see `robosim.description.actuator`), a tendon's by its moment arms. The sum at a
coordinate is clipped to the mechanism's `effort_ranges`. `Drive` is a controller that keeps
activations from step to step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.actuator import Actuator
from robosim.description.mechanism import Mechanism
from robosim.description.place import Place
from robosim.description.rigid import floating_bases
from robosim.errors import ControllerError, StateError
from robosim.validation import Array

TOUCHING = 1e-4
"""Gap [m] up to which a contact is one that adheres."""
_SLACK = 1e-6  # of a time step, by which times are rounded

if TYPE_CHECKING:
    from robosim.formulation import Contact, Formulation
    from robosim.kinematics.kinematics import Kinematics


def torques(
    robot: Mechanism,
    controls: ArrayLike,
    q: ArrayLike,
    v: ArrayLike,
    activations: ArrayLike | None = None,
    implicit: bool = False,
) -> Array:
    """Joint torques (nu,), in the order of ``robot.actuated``, for controls of `robot.actuators`.

    If actuators push bodies, or turn free rotations that are not actuated, or tendons pull at free
    joints, the result is generalized forces (nv,) instead. `Simulation.step` and `run` take these
    as well.

    Parameters
    ----------
    robot : Mechanism
    controls : (number of controls,)
        In the order of ``robot.control_names``; most actuators have one.
    q : (nq,)
    v : (nv,)
    activations : (number of activations,) or None
        In the order of ``robot.activation_names``. None: they have settled at the controls.
    implicit : bool
        Whether to include forces of implicit actuators, which are part of a step's equations.

    Raises
    ------
    StateError
        For a wrong number of controls, activations, coordinates or velocities.
    """
    return Transmission(robot).torques(controls, q, v, activations, implicit)


class Drive:
    """A controller that sets the controls of a robot's actuators, and keeps their activations.

    Activations are integrated by Euler's method, from step to step. Activations, and forces of
    actuators that are not implicit, are constant over a step. Delayed controls (`ControlDelay`) are
    kept as well, and begin anew where the simulation's time is not a step after the last call.
    `Simulation.save` and `load` take a `Drive`, which then continues from both.

    Parameters
    ----------
    robot : Mechanism
    policy : callable(sim) -> controls (number of controls,)
        In the order of ``robot.control_names``; most actuators have one.
    activations : (number of activations,) or None
        Initial values, in the order of ``robot.activation_names``; zeros if None.

    Attributes
    ----------
    activations : (number of activations,), at the simulation's knot

    Raises
    ------
    StateError
        For a wrong number of activations; when called, of controls.
    """

    def __init__(
        self,
        robot: Mechanism,
        policy: Callable[[Any], ArrayLike],
        activations: ArrayLike | None = None,
    ) -> None:
        self._transmission, self._policy = Transmission(robot), policy
        n = len(robot.activation_names)
        given = np.zeros(n) if activations is None else activations
        self.activations = _shaped("activations", given, n).copy()
        self._lines = [None if one.delay is None else DelayLine(one) for one in robot.actuators]

    def memory(self) -> dict[str, Array]:
        """A copy of activations and delayed controls, for `recall`."""
        return {name: array.copy() for name, array in self._memory().items()}

    def recall(self, sim: Formulation, memory: Mapping[str, ArrayLike]) -> None:
        """Continue with a memory, with a simulation in the state that belongs to it.

        Raises
        ------
        ControllerError
            For a memory of another robot's actuators.
        """
        own = self._memory()
        given = {name: np.asarray(array, dtype=float) for name, array in memory.items()}
        for name in dict.fromkeys((*own, *given)):
            if name not in own or name not in given or own[name].shape != given[name].shape:
                raise ControllerError(f"this memory is not of these actuators: '{name}' differs")
        for name, array in own.items():
            array[...] = given[name]

    def _memory(self) -> dict[str, Array]:
        found = {"activations": self.activations}
        for actuator, line in zip(self._transmission.robot.actuators, self._lines, strict=True):
            if line is not None:
                found |= {f"{actuator.name} past": line.past, f"{actuator.name} next": line.next}
        return found

    def __call__(self, sim: Formulation) -> Array:
        """As `torques`; activations advance by a time step."""
        transmission = self._transmission
        robot, h = transmission.robot, sim.timestep
        controls = _shaped("controls", self._policy(sim), len(robot.control_names)).copy()
        for line, mine in zip(self._lines, transmission.controls, strict=True):
            if line is not None:
                controls[mine] = line.through(controls[mine], sim.time, h)
        acting, after = self.activations.copy(), self.activations.copy()
        for actuator, mine, own in transmission.slots():
            if actuator.has_activations:
                length, rate = 0.0, 0.0
                if actuator.motor is not None:
                    transmission.move_to(sim.q, sim.v)
                    length, rate, _ = transmission.of(actuator)
                after[own], acting[own] = actuator.advanced(
                    controls[mine], length, rate, self.activations[own], h
                )
        tau = transmission.torques(controls, sim.q, sim.v, acting)
        for actuator, mine, own in transmission.slots():
            if actuator.adheres is not None:
                active = acting[own] if actuator.has_activations else None
                pull = actuator.force(controls[mine], 0.0, 0.0, active)
                tau = tau + transmission.adhesion(actuator, pull, sim.contacts())
        if any(actuator.implicit for actuator in robot.actuators):
            sim.set_controls([
                0.0 if not actuator.implicit
                else float((acting[own] if actuator.has_activations else controls[mine])[0])
                for actuator, mine, own in transmission.slots()
            ])  # fmt: skip
        self.activations = after
        return tau


class DelayLine:
    """The last controls of an actuator with a delay; zeros before the first.

    Attributes
    ----------
    past : (samples, number of controls)
        The newest first.
    next : (1,) [s]
        When the next one is due.
    """

    def __init__(self, actuator: Actuator) -> None:
        assert actuator.delay is not None
        self._delay = actuator.delay
        self.past = np.zeros((actuator.delay.samples, len(actuator.control_names)))
        self.next = np.full(1, np.nan)

    def through(self, controls: Array, time: float, h: float) -> Array:
        """The controls that act at a time [s], as these enter; h is the time step [s].

        The memory begins anew where a time is not a step after the last one.
        """
        past, delay = self.past, self._delay
        if not abs(time - self.next[0]) <= _SLACK * h:
            past[:] = 0.0
        self.next[0] = time + h
        # The present control is no sample yet, so that any delay is a step or more.
        steps = min(max(delay.seconds / h, 1.0), float(delay.samples))
        later, earlier = int(steps + _SLACK), int(np.ceil(steps - _SLACK))
        found = past[earlier - 1].copy()
        if earlier > later and delay.interpolation != "zoh":
            found = self._between(later, earlier - steps)
        past[1:] = past[:-1].copy()
        past[0] = controls
        return found

    def _between(self, later: int, x: float) -> Array:
        """Controls at a share x of the way from the sample before one to that one."""
        past, samples = self.past, len(self.past)
        begin, end = past[later], past[later - 1]
        if self._delay.interpolation == "linear":
            return np.asarray(begin + x * (end - begin))
        flat = np.zeros(past.shape[1])
        leaving = (end - past[later + 1]) / 2 if later + 1 < samples else flat
        arriving = (past[later - 2] - begin) / 2 if later > 1 else flat
        bend = x * (1.0 - x) * ((1.0 - x) * leaving - x * arriving)
        return np.asarray(begin + x**2 * (3.0 - 2.0 * x) * (end - begin) + bend)


class Transmission:
    """Lengths, rates and moment arms of a robot's actuators, at one state after another.

    Parameters
    ----------
    robot : Mechanism

    Attributes
    ----------
    controls, activations : list of slice
        Where those of each actuator are among all.
    """

    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self.controls = _slices([len(one.control_names) for one in robot.actuators])
        self.activations = _slices([len(one.activation_names) for one in robot.actuators])
        self._places = {
            name: (robot.q_names.index(name), v_index)
            for v_index, name in enumerate(robot.v_names)
            if name in robot.q_names
        }
        # Where the quaternions of free rotations and their velocities begin.
        self._turns = {
            joint.name: (q + joint.numbers, v + joint.numbers)
            for joint, q, v in zip(
                robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False
            )
            if joint.has_quaternion
        }
        self._tendons = {tendon.name: k for k, tendon in enumerate(robot.tendons)}
        self._efforts = [(robot.v_names.index(k), ends) for k, ends in robot.effort_ranges.items()]
        self._kinematics: Kinematics | None = None
        pulling = {name for a in robot.actuators for name in a.gears if name in self._tendons}
        pushing = any(actuator.place is not None for actuator in robot.actuators)
        bases = floating_bases(robot.tree_joints)
        turning = {name for a in robot.actuators for name, gear in a.gears.items()
                   if isinstance(gear, tuple)}  # fmt: skip
        undriven = {joint.name for joint in robot.tree_joints if not all(joint.has_motor)}
        self._beyond = (
            pushing
            or bool(turning & undriven)
            or any(
                len({bases.get(body) for body in tendon.bodies()}) > 1
                for tendon in robot.tendons
                if tendon.name in pulling
            )
        )
        if pulling or pushing:
            # Imported here, so that numba is imported only when needed.
            from robosim.kinematics.kinematics import Kinematics

            self._kinematics = Kinematics(robot)

    def torques(
        self,
        controls: ArrayLike,
        q: ArrayLike,
        v: ArrayLike,
        activations: ArrayLike | None = None,
        implicit: bool = False,
    ) -> Array:
        """See `torques`."""
        robot = self.robot
        controls = _shaped("controls", controls, len(robot.control_names))
        if activations is not None:
            activations = _shaped("activations", activations, len(robot.activation_names))
        self.move_to(_shaped("q", q, robot.nq), _shaped("v", v, robot.nv))
        generalized = np.zeros(robot.nv)
        for actuator, mine, own in self.slots():
            if actuator.implicit and not implicit:
                continue
            length, rate, arms = self.of(actuator)
            activation = None if activations is None else activations[own]
            generalized += arms * actuator.force(controls[mine], length, rate, activation)
        for k, ends in self._efforts:
            generalized[k] = np.clip(generalized[k], *ends)
        return generalized if self._beyond else np.asarray(generalized[robot.actuated])

    def slots(self) -> Iterator[tuple[Actuator, slice, slice]]:
        """Each actuator, with the places of its controls and activations among all."""
        yield from zip(self.robot.actuators, self.controls, self.activations, strict=True)

    def move_to(self, q: Array, v: Array) -> None:
        """Set the state q (nq,), v (nv,)."""
        self._q, self._v = q, v
        if self._kinematics is not None:
            self._kinematics.move_to(q)
            self._lengths = self._kinematics.tendon_lengths()
            self._arms = self._kinematics.tendon_jacobian()

    def of(self, actuator: Actuator) -> tuple[float, float, Array]:
        """Length of an actuator, its rate, and its derivatives (nv,) by joint velocities."""
        length, arms = 0.0, np.zeros(self.robot.nv)
        for name, gear in actuator.gears.items():
            if isinstance(gear, tuple):
                q_index, v_index = self._turns[name]
                turn, axis = self._q[q_index : q_index + 4], np.array(gear)
                length += float(axis @ quaternions.rotation_vector(turn))
                if actuator.in_parent:
                    axis = quaternions.rotation_matrix(turn).T @ axis
                arms[v_index : v_index + 3] += axis
            elif name in self._places:
                q_index, v_index = self._places[name]
                length += gear * float(self._q[q_index])
                arms[v_index] += gear
            else:
                k = self._tendons[name]
                length += gear * float(self._lengths[k])
                arms += gear * self._arms[k]
        if actuator.place is not None:
            arms += self._push(actuator.place, np.array(actuator.wrench))
        return length, float(arms @ self._v), arms

    def adhesion(self, actuator: Actuator, pull: float, contacts: Sequence[Contact]) -> Array:
        """Generalized forces (nv,) that pull a link [N] towards all that it touches, at this state.

        Contacts with a gap of more than `TOUCHING` do not count.
        """
        link, robot, forces = actuator.adheres, self.robot, np.zeros(self.robot.nv)
        assert self._kinematics is not None
        touching = [one for one in contacts
                    if link in (one.link, one.other_link) and one.gap < TOUCHING]  # fmt: skip
        names = {body.name: k for k, body in enumerate(robot.bodies)}
        jacobian = self._kinematics.jacobian()
        for one in touching:
            for name, sign in ((one.body, -1.0), (one.other, 1.0)):
                if name in names:
                    force = sign * pull / len(touching) * one.normal
                    arm = one.position - self._kinematics.x[names[name]]
                    wrench = np.concatenate((force, np.cross(arm, force)))
                    forces += wrench @ jacobian[names[name]]
        return forces

    def _push(self, place: Place, wrench: Array) -> Array:
        """Generalized forces (nv,) of a wrench (6,) at a place, in the place's axes."""
        if place.body is None or self._kinematics is None:
            return np.zeros(self.robot.nv)
        body = self.robot.body_index(place.body)
        R = self._kinematics.R[body]
        R_p = R @ quaternions.rotation_matrix(np.asarray(place.quaternion))
        force, arm = R_p @ wrench[:3], R @ np.asarray(place.position)
        moment = R_p @ wrench[3:] + np.cross(arm, force)
        return np.concatenate((force, moment)) @ self._kinematics.jacobian()[body]


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(*pair) for pair in itertools.pairwise(ends)]


def _shaped(name: str, value: ArrayLike, size: int) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape != (size,):
        raise StateError(f"{name} must have shape ({size},), not {array.shape}")
    return array
