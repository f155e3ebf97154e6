"""`Transmission`: maps between the motors of a parallel mechanism and its joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import ModelError, OptionError, StateError
from robosim.kinematics.kinematics import GRAVITY
from robosim.parallel.boxes import Box, box
from robosim.parallel.loops import CLOSED, Coordinate, Loops, last_of
from robosim.parallel.tangent import SingularValues, Tangent, tangent
from robosim.validation import Array, positive, read_only, shaped

ROUGH = 1e-7  # of a line, accuracy of the end that an error names
OPEN = 1e-9  # [m, sine of half an angle, or rad], of a configuration that is given
NEAR = 0.2  # [m or rad], largest correction of a home whose loops are nearly closed


class Transmission:
    """Positions, velocities and torques of motors and joints that closed loops connect.

    All other coordinates that the loops do not move, such as those of a floating base and of other
    limbs, keep their values.

    Each argument is one sample or rows of them, (n,) or (k, n); q is (nq,) or (k, nq). Positions
    and velocities are in rad and m, and the names of motors and joints are their order.

    Parameters
    ----------
    robot : Mechanism
    joints : names of n coordinates, or of joints for all of theirs
        What a controller or a learner moves. Numbers, no quaternions.
    motors : the same, or None
        None: the actuated coordinates that the loops connect with `joints`.
    fixed : names of coordinates
        Coordinates of the loops that keep their values, such as stiff springs.
    home : (nq,) or None
        A configuration with closed loops, from which all paths start; that of the robot if None.
        Loops that are nearly closed are closed with unchanged motors.
    length : float [m]
        Counts as one radian in singular values of mechanisms that have both.
    gravity : (3,) [m/s^2], world

    Attributes
    ----------
    robot : Mechanism
    motors, joints : tuple of str
    home : (nq,)

    Raises
    ------
    ModelError
        For unknown names, different numbers of motors and joints, or motors that do not determine
        the joints.
    StateError
        For a home with open loops.
    """

    def __init__(
        self,
        robot: Mechanism,
        joints: str | Iterable[str],
        motors: str | Iterable[str] | None = None,
        *,
        fixed: Iterable[str] = (),
        home: ArrayLike | None = None,
        length: float = 1.0,
        gravity: ArrayLike = GRAVITY,
    ) -> None:
        self.robot, self.length = robot, positive("length", length)
        self.fixed = (fixed,) if isinstance(fixed, str) else tuple(fixed)
        q = np.array(robot.home if home is None else shaped("home", home, robot.nq), dtype=float)
        outputs = (joints,) if isinstance(joints, str) else tuple(joints)
        inputs = _actuated(robot, outputs, self.fixed, q) if motors is None else motors
        inputs = (inputs,) if isinstance(inputs, str) else tuple(inputs)
        self.loops = Loops(robot, (*inputs, *outputs), self.fixed, q, gravity)
        self.motor_coordinates = self.loops.coordinates(inputs)
        self.joint_coordinates = self.loops.coordinates(outputs)
        self.motors = tuple(one.name for one in self.motor_coordinates)
        self.joints = tuple(one.name for one in self.joint_coordinates)
        self._check_names()
        self.n = len(self.motors)
        self.home = read_only(self._closed(q))
        self.dynamics, self.gravity_vector = Dynamics(robot, gravity, tree=True), gravity
        self._rank = self._tangent(self.home, None)[1]

    def __repr__(self) -> str:
        return f"<Transmission of {self.robot.name!r}: {self.motors} -> {self.joints}>"

    def _check_names(self) -> None:
        element = f"mechanism '{self.robot.name}'"
        if len(self.motors) != len(self.joints) or not self.motors:
            raise ModelError(
                f"{len(self.motors)} motors {self.motors} and {len(self.joints)} joints "
                f"{self.joints}: as many of both are needed",
                element=element,
            )
        for what, names in (("motor", self.motors), ("joint", self.joints)):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ModelError(f"{what} '{twice[0]}' is named twice", element=element)

    def _closed(self, q: Array) -> Array:
        """Home, with loops that are nearly closed."""
        values = self.loops.read(q, self.motor_coordinates)[0]
        found = self.loops.settled(q, self.motor_coordinates, values, NEAR)
        if found is None:
            open_by = float(np.abs(self.loops.rows(q).value).max(initial=0.0))
            if open_by <= CLOSED:
                return q  # singular
            raise StateError(
                f"home has loops that are open by {open_by:.3g} [m, sine of half an angle, or "
                "rad], and no configuration near it closes them with these motors; "
                "`Simulation.set_state` finds one"
            )
        return found

    # Positions

    def positions(self, q: ArrayLike) -> tuple[Array, Array]:
        """Positions of motors (n,) and joints (n,) at a configuration.

        Angles of joints that close loops are within half a turn.
        """
        both = [*self.motor_coordinates, *self.joint_coordinates]
        values = self._each(lambda one: self.loops.read(one, both)[0], q)
        return values[..., : self.n], values[..., self.n :]

    def joints_at(self, motors: ArrayLike, near: ArrayLike | None = None) -> Array:
        """Positions of the joints (n,) for those of the motors (n,); see `configuration`."""
        return self.positions(self.configuration(motors=motors, near=near))[1]

    def motors_at(self, joints: ArrayLike, near: ArrayLike | None = None) -> Array:
        """Positions of the motors (n,) for those of the joints (n,); see `configuration`."""
        return self.positions(self.configuration(joints=joints, near=near))[0]

    def configuration(
        self,
        *,
        motors: ArrayLike | None = None,
        joints: ArrayLike | None = None,
        near: ArrayLike | None = None,
    ) -> Array:
        """The configuration (nq,) with closed loops for positions of the motors or of the joints.

        The assembly mode is that at the end of a straight line of positions, which begins at
        `near`. Limits of joints do not count here, but in `reach` and `workspace`.

        Parameters
        ----------
        motors, joints : (n,), or rows of them
            One of both.
        near : (nq,) or None
            A configuration with closed loops; home if None.

        Raises
        ------
        StateError
            For positions out of reach along this line, with the last ones that are within.
        """
        if motors is not None and joints is None:
            what, given, of = "motors", motors, self.motor_coordinates
        elif joints is not None and motors is None:
            what, given, of = "joints", joints, self.joint_coordinates
        else:
            raise OptionError("positions of motors or of joints are needed, and not of both")
        q = self.start(near)
        return self._each(lambda to: self._moved(q, of, to, what), given, what, self.n)

    def _moved(self, q: Array, of: Sequence[Coordinate], to: Array, what: str) -> Array:
        """The configuration at the end of a line of positions of motors or joints."""
        start = self.loops.read(q, of)[0]
        done, q = last_of(self.loops.path(q, of, start, to, ROUGH), (0.0, q))
        if done < 1.0:
            last = ", ".join(f"{x:.6g}" for x in start + done * (to - start))
            raise StateError(
                f"{what} ({', '.join(f'{x:.6g}' for x in to)}) are out of reach on a straight line "
                f"from ({', '.join(f'{x:.6g}' for x in start)}): loops stay closed up to ({last})"
            )
        return q

    def start(self, near: ArrayLike | None) -> Array:
        """Where a path begins: `near` (nq,), checked, or home.

        Raises
        ------
        StateError
            For open loops.
        """
        if near is None:
            return self.home
        q = shaped("near", near, self.robot.nq)
        open_by = float(np.abs(self.loops.rows(q).value).max(initial=0.0))
        if open_by > OPEN:
            raise StateError(f"`near` has loops that are open by {open_by:.3g} [m or sine]")
        return q

    # Velocities and torques

    def tangent(self, q: ArrayLike) -> Tangent:
        """Motions of motors and joints at a configuration (nq,)."""
        return self._tangent(shaped("q", q, self.robot.nq), self._rank)[0]

    def _tangent(self, q: Array, rank: int | None) -> tuple[Tangent, int]:
        both = self.motor_coordinates, self.joint_coordinates
        return tangent(self.loops, q, *both, self.length, rank)

    def jacobian(self, q: ArrayLike) -> Array:
        """Velocities of the joints per velocity of each motor, (n, n).

        The transpose maps torques of joints to those of motors that are as strong.

        Raises
        ------
        StateError
            In a singularity where joints move with locked motors.
        """
        return self._each(lambda one: self.tangent(one).jacobian(self.joints), q)

    def inverse_jacobian(self, q: ArrayLike) -> Array:
        """Velocities of the motors per velocity of each joint, (n, n).

        Raises
        ------
        StateError
            In a singularity where motors move with locked joints.
        """
        return self._each(lambda one: self.tangent(one).jacobian(self.motors, inverse=True), q)

    def joint_velocities(self, q: ArrayLike, motors: ArrayLike) -> Array:
        """Velocities of the joints (n,) for those of the motors (n,)."""
        return _product(self.jacobian(q), self._values("motors", motors))

    def motor_velocities(self, q: ArrayLike, joints: ArrayLike) -> Array:
        """Velocities of the motors (n,) for those of the joints (n,)."""
        return _product(self.inverse_jacobian(q), self._values("joints", joints))

    def joint_torques(self, q: ArrayLike, motors: ArrayLike) -> Array:
        """Torques or forces of the joints (n,) with the power of those of the motors (n,)."""
        inverse = self.inverse_jacobian(q)
        return _product(inverse.swapaxes(-1, -2), self._values("motors", motors))

    def motor_torques(self, q: ArrayLike, joints: ArrayLike) -> Array:
        """Torques or forces of the motors (n,) with the power of those of the joints (n,)."""
        return _product(self.jacobian(q).swapaxes(-1, -2), self._values("joints", joints))

    def _values(self, name: str, values: ArrayLike) -> Array:
        return self._each(lambda one: one, values, name, self.n)

    def torque_limits(self, q: ArrayLike) -> Box:
        """Limits of the joints' torques at a configuration (nq,), from the motors' effort limits.

        For limits that differ by sign, such as MJCF's, the larger bound.
        """
        limits = np.array([one.of("effort_limit") for one in self.motor_coordinates])
        return box(self.inverse_jacobian(q).T, self.jacobian(q).T, limits)

    def velocity_limits(self, q: ArrayLike) -> Box:
        """Limits of the joints' velocities at a configuration (nq,), from those of the motors."""
        limits = np.array([one.of("velocity_limit") for one in self.motor_coordinates])
        return box(self.jacobian(q), self.inverse_jacobian(q), limits)

    def singular_values(self, q: ArrayLike) -> SingularValues:
        """Distances from singularities at a configuration (nq,); all zero where loops have more
        freedom."""
        try:
            return self.tangent(q).singular_values
        except StateError:
            shaped("q", q, self.robot.nq)
            return SingularValues(0.0, 0.0, 0.0)

    # Dynamics

    def velocities(self, q: ArrayLike, joints: ArrayLike) -> Array:
        """Velocities of the tree (nv,) for those of the joints (n,), other coordinates at rest."""
        q, rates = shaped("q", q, self.robot.nq), shaped("joints", joints, self.n)
        return np.asarray(self._motions(q) @ rates)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix (n, n) of the joints, with all links and rotors, other coordinates at rest.

        Raises
        ------
        StateError
            In a singularity where motors move with locked joints.
        """

        def reduced(one: Array) -> Array:
            P = self._motions(one)
            return np.asarray(P.T @ self.dynamics.mass_matrix(one) @ P)

        return self._each(reduced, q)

    def gravity(self, q: ArrayLike) -> Array:
        """Torques of the joints (n,) that balance the weight of all links at rest.

        `motor_torques` maps them to those of the motors.
        """
        return self._each(lambda one: self._motions(one).T @ self.dynamics.gravity(one), q)

    def _motions(self, q: Array) -> Array:
        """Velocities of the tree (nv, n) for unit velocities of the joints."""
        self.tangent(q).jacobian(self.motors, inverse=True)  # refuses singularities
        units = [self.loops.rates(q, self.joint_coordinates, row) for row in np.eye(self.n)]
        return np.stack(units, axis=1)

    def _each(
        self,
        function: Callable[[Array], Array],
        values: ArrayLike,
        name: str = "q",
        width: int | None = None,
    ) -> Array:
        """Results for one sample, or for rows of samples."""
        width = self.robot.nq if width is None else width
        if np.ndim(values) != 2:
            return function(shaped(name, values, width))
        rows = shaped(name, values, len(np.asarray(values)), width)
        found = [function(row) for row in rows]
        if not found:
            like = {"motors": 0, "joints": 1}
            one = self.positions(self.home)[like[name]] if name in like else self.home
            return np.zeros((0, *np.shape(function(one))))
        return np.array(found)


def _product(matrices: Array, vectors: Array) -> Array:
    """Products of one matrix or rows of them with one vector or rows of them."""
    return np.asarray(np.einsum("...ij,...j->...i", matrices, vectors))


def _actuated(
    robot: Mechanism, joints: tuple[str, ...], fixed: tuple[str, ...], q: Array
) -> tuple[str, ...]:
    """Actuated coordinates that the loops connect with the joints."""
    loops = Loops(robot, joints, fixed, q, GRAVITY)
    actuated = set(robot.actuated_names)
    return tuple(one.name for one in loops.measured() if one.name in actuated)
