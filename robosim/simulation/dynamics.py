"""Dynamics in joint coordinates, in time proportional to the number of joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, StateError
from robosim.kernels.recursive import entries
from robosim.simulation.ik_result import IKResult
from robosim.simulation.inverse_kinematics import InverseKinematics
from robosim.simulation.kinematics import GRAVITY, refuse_dependences, without_inverse
from robosim.simulation.lengths import Lengths
from robosim.simulation.random_pose import random_coordinates
from robosim.simulation.recursion import Recursion
from robosim.simulation.targets import Target
from robosim.validation import Array, finite

Wrenches = Mapping[str, ArrayLike]


class Dynamics:
    """Inverse and forward dynamics, mass matrix, Jacobians and frames of a robot's tree.

    ``M(q) a + bias(q, v) + passive(q, v) = tau + J^T wrenches``. Conventions of q and v are those
    of `robosim.mechanism.Mechanism`. In the equations are the bodies without carriers, gravity,
    the `armature` of joints and tendons and, where a call says ``passive=True``, springs, dampers
    and potentials of joints, tendons and `PointSpring`. Contacts, limits, dry friction and
    actuators are not: their forces are part of tau and of the wrenches.

    Each argument is one state or a row for each of n: (nq,) or (n, nq), (nv,) or (n, nv). One row
    goes with any number of others. What is returned is new, with a row for each state if any
    argument had rows. Calls do not hold the interpreter's lock, and several threads may use the
    same object.

    Parameters
    ----------
    robot : Mechanism
    gravity : (3,) [m/s^2], world
    tree : bool
        Whether to leave out what makes coordinates depend on each other or on time: joints that
        close loops, couplings, motions, and tendons that keep their length.

    Attributes
    ----------
    robot : Mechanism

    Raises
    ------
    ModelError
        For a robot with any of these, unless `tree`.
    StateError
        For gravity of a wrong shape or not finite. From all calls: for arguments of a wrong
        shape, with different numbers of rows, not finite, or with a quaternion of length zero.

    Notes
    -----
    Quaternions may have any length but zero, and stand for the rotation that they have at length
    one. Time and memory are O(nb) (`mass_matrix`, Jacobians: of their size), but for what acts
    along tendons and `PointSpring`, which goes through the dense Jacobians of `Kinematics`, state
    by state. With inertia of tendons, `forward_acceleration` and `solve_mass` solve with the
    dense mass matrix.
    """

    def __init__(
        self, robot: Mechanism, gravity: ArrayLike = GRAVITY, *, tree: bool = False
    ) -> None:
        if not tree:
            refuse_dependences(robot, "Dynamics(robot, tree=True)")
        down = finite(gravity, (3,))
        if down is None:
            raise StateError(f"gravity must be three finite numbers, not {gravity!r}")
        self.robot, self._made = robot, (partial(Dynamics, tree=tree), (robot, down))
        self._on = Recursion(robot, down)
        self._q, self._v, self._a = self._on.q, self._on.v, self._on.a
        self._nv = ((robot.nv,),)
        self._jacobians = len(robot.bodies), 6, robot.nv
        self._lengths = Lengths(robot)
        self._still = np.zeros(robot.nv)
        self._inverse_kinematics: InverseKinematics | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made  # copies are made anew, as kernels know memory by its address

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches | None = None,
        *,
        passive: bool = True,
    ) -> Array:
        """Generalized forces tau (nv,) [N or N m] that accelerate the joints by a.

        Parameters
        ----------
        q, v, a : (nq,), (nv,), (nv,), or rows of them
        wrenches : mapping of names to (6,) or (n, 6)
            What pushes from outside: force [N], then moment [N m], world axes. By the name of a
            body, the force acts at its centre of mass, as in `Simulation.apply_wrench`. By the
            name of another frame, links that were merged included, at the frame's origin.
        passive : bool
            Whether springs, dampers and potentials act; if so, tau is what is needed beside them.
        """
        tau = self._inverse(1.0, q, v, a, wrenches, passive)
        if self._lengths.inert:
            tau += self._on.each(self._lengths.inertial_forces, q, v, a)
        if passive and self._lengths.acts:
            tau -= self._on.each(self._lengths.forces, q, v)
        return tau

    def forward_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches | None = None,
        *,
        passive: bool = True,
    ) -> Array:
        """Joint accelerations (nv,) under generalized forces tau: the articulated-body algorithm.

        Parameters
        ----------
        q, v, tau : (nq,), (nv,), (nv,), or rows of them
        wrenches, passive
            As of `inverse_dynamics`, of which this is the inverse.

        Raises
        ------
        ModelError
            If a joint moves nothing that has mass or inertia; names its coordinate.
        """
        if self._lengths.inert:
            tau = self._on.checked("tau", tau, self._a)
            bias = self.inverse_dynamics(q, v, self._still, wrenches, passive=passive)
            return self._solve_dense(q, tau - bias)
        if passive and self._lengths.acts:
            q, v = self._on.checked("q", q, self._q), self._on.checked("v", v, self._v)
            tau = self._on.checked("tau", tau, self._a)
            tau = tau + self._on.each(self._lengths.forces, q, v)
        on, acts = self._on, 1 if passive else 0
        if wrenches is None:
            a = on.single(entries.forward_state, q, v, tau, 1.0, acts)
            if a is not None:
                return a
        pushes, n = on.pushes(wrenches)
        given = (("q", q, self._q), ("v", v, self._v), ("tau", tau, self._a))
        return on.call(entries.forward_acceleration, given, self._nv, (1.0, acts), pushes, n)[0]

    def hybrid_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        accelerations: Mapping[str, ArrayLike],
        wrenches: Wrenches | None = None,
        *,
        passive: bool = True,
    ) -> tuple[Array, Array, Array]:
        """Accelerations where forces are known, and forces where accelerations are [Sueda, Alg. 9].

        Parameters
        ----------
        q, v, tau : (nq,), (nv,), (nv,), or rows of them
            tau of joints whose accelerations are given does not count.
        accelerations : mapping of names of joints to a number, (m,) or (n, m)
            Of all m velocities of a joint.
        wrenches, passive
            As of `inverse_dynamics`.

        Returns
        -------
        a : (nv,)
        tau : (nv,), as given, and what the other joints need
        crossing : (nb, 6) [N, N m]
            What acts on each body and all beyond it across its joint, world axes: force, moment
            about the joint's point on the body. From the joint with its motors and springs, and
            from tendons and `PointSpring` that cross it.

        Raises
        ------
        ModelError
            If there is no such joint in the tree; if a joint moves nothing that has mass or
            inertia, and its acceleration is not given.
        """
        on, nv = self._on, self.robot.nv
        held, given = on.held(accelerations)
        tau = on.checked("tau", tau, self._a)
        beside: Array = np.zeros(nv)
        if passive and self._lengths.acts:
            beside = on.each(self._lengths.forces, q, v)
        if self._lengths.inert:
            given = self._hybrid_dense(q, v, tau, held != 0, given, wrenches, passive)
        pushes, n = on.pushes(wrenches)
        arguments = (
            ("q", q, self._q),
            ("v", v, self._v),
            ("tau", tau + beside, self._a),
            ("accelerations", given, on.given),
        )
        all_held = np.ones(nv, dtype=np.int64) if self._lengths.inert else held
        shapes = (nv,), (nv,), (len(self.robot.bodies), 6)
        before = 1.0, 1 if passive else 0, all_held
        a, forces, crossing = on.call(entries.hybrid_dynamics, arguments, shapes, before, pushes, n)
        forces = forces - beside
        if self._lengths.inert:
            forces = forces + on.each(self._lengths.inertial_forces, q, v, a)
        return a, np.where(held != 0, forces, tau), crossing

    def _hybrid_dense(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: Array,
        held: NDArray[np.bool_],
        given: Array,
        wrenches: Wrenches | None,
        passive: bool,
    ) -> Array:
        """All accelerations, by the dense mass matrix."""
        left = tau - self.inverse_dynamics(q, v, given, wrenches, passive=passive)
        free = np.flatnonzero(~held)
        try:
            change = np.linalg.solve(
                self.mass_matrix(q)[..., free[:, None], free], left[..., free][..., None]
            )
        except np.linalg.LinAlgError:
            raise without_inverse(self.robot) from None
        a = np.zeros(left.shape) + given
        a[..., free] += change[..., 0]
        return a

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix (nv, nv), symmetric, with the inertia of rotors and tendons."""
        nv = self.robot.nv
        M = self._on.of_pose(entries.mass_matrix, q, (nv, nv))
        if self._lengths.inert:
            M += self._on.each(self._lengths.inertia, q)
        return M

    def solve_mass(self, q: ArrayLike, x: ArrayLike) -> Array:
        """M(q)^-1 x (nv,), without the matrix.

        Raises
        ------
        ModelError
            If a joint moves nothing that has mass or inertia; names its coordinate.
        """
        if self._lengths.inert:
            return self._solve_dense(q, self._on.checked("x", x, self._a))
        given = (("q", q, self._q), ("v", self._still, self._v), ("x", x, self._a))
        a = self._on.single(entries.forward_state, q, self._still, x, 0.0, 0)
        if a is not None:
            return a
        before, pushes = (0.0, 0), self._on.no_pushes
        return self._on.call(entries.forward_acceleration, given, self._nv, before, pushes)[0]

    def _solve_dense(self, q: ArrayLike, x: Array) -> Array:
        try:
            return np.asarray(np.linalg.solve(self.mass_matrix(q), x[..., None])[..., 0])
        except np.linalg.LinAlgError:
            raise without_inverse(self.robot) from None

    def bias_forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Coriolis, centrifugal and gravity forces (nv,): ``M a + bias = tau``, nothing passive."""
        return self.inverse_dynamics(q, v, self._still, passive=False)

    def gravity(self, q: ArrayLike) -> Array:
        """Generalized forces (nv,) that hold the robot at rest against its weight alone."""
        return self._inverse(1.0, q, self._still, self._still)

    def transposed(self, q: ArrayLike, wrenches: Wrenches) -> Array:
        """Generalized forces (nv,) of wrenches from outside, J^T y.

        Parameters
        ----------
        q : (nq,) or (n, nq)
        wrenches : mapping of names to (6,) or (n, 6)
            As of `inverse_dynamics`.
        """
        return -self._inverse(0.0, q, self._still, self._still, wrenches)

    def _inverse(
        self,
        weight: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches | None = None,
        passive: bool = False,
    ) -> Array:
        """By the recursions alone, with gravity times `weight`."""
        on, acts = self._on, 1 if passive else 0
        if wrenches is None:
            tau = on.single(entries.inverse_state, q, v, a, weight, acts)
            if tau is not None:
                return tau
        pushes, n = on.pushes(wrenches)
        given = (("q", q, self._q), ("v", v, self._v), ("a", a, self._a))
        return on.call(entries.inverse_dynamics, given, self._nv, (weight, acts), pushes, n)[0]

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Derivatives of ``inverse_dynamics(q, v, a, passive=False)`` by q, v and a.

        Analytic, in O(nb) for each column [Singh2022].

        Parameters
        ----------
        q, v, a : (nq,), (nv,), (nv,), or rows of them

        Returns
        -------
        by_q : (nv, nv), along the tangent, as `integrate` moves q
        by_v : (nv, nv)
        by_a : (nv, nv), the mass matrix

        Raises
        ------
        ModelError
            For a robot with inertia of tendons.
        """
        if self._lengths.inert:
            raise ModelError(
                "has tendons with inertia, whose derivatives are not known",
                element=f"mechanism '{self.robot.name}'",
            )
        given = (("q", q, self._q), ("v", v, self._v), ("a", a, self._a))
        square = self.robot.nv, self.robot.nv
        by_q, by_v, M = self._on.call(entries.inverse_derivatives, given, (square, square, square))
        return by_q, by_v, M

    def forward_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Derivatives of ``forward_acceleration(q, v, tau, passive=False)`` by q, v and tau.

        Parameters
        ----------
        q, v, tau : (nq,), (nv,), (nv,), or rows of them

        Returns
        -------
        by_q : (nv, nv), along the tangent, as `integrate` moves q
        by_v : (nv, nv)
        by_tau : (nv, nv), the inverse of the mass matrix

        Raises
        ------
        ModelError
            For a robot with inertia of tendons; if a joint moves nothing that has inertia.
        """
        a = self.forward_acceleration(q, v, tau, passive=False)
        by_q, by_v, M = self.inverse_dynamics_derivatives(q, v, a)
        inverse = np.asarray(np.linalg.inv(M), dtype=np.float64)
        return -inverse @ by_q, -inverse @ by_v, inverse

    def energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic and potential energy [J], a number or (n,), as `Simulation.energy` has it.

        Of bodies, rotors, springs and potentials; that of gravity is zero at the world's origin.
        """
        given = (("q", q, self._q), ("v", v, self._v))
        energy = self._on.call(entries.energy, given, ((1,),))[0][..., 0]
        if self._lengths.inert or self._lengths.acts:
            energy = energy + self._on.each(self._lengths.energy, q, v)
        return energy

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass of all bodies together, (3,) [m], world.

        Raises
        ------
        ModelError
            For a robot without mass.
        """
        self._need_mass()
        return self._on.of_pose(entries.center_of_mass, q, (3,))

    def centroidal(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Momentum (6,) about the centre of mass of all bodies, and its matrix (6, nv).

        Linear [kg m/s], then angular [kg m^2/s], world axes; momentum = matrix @ v, without what
        rotors have of their own.

        Raises
        ------
        ModelError
            For a robot without mass.
        """
        self._need_mass()
        given = (("q", q, self._q), ("v", v, self._v))
        shapes = (3,), (6,), (6, self.robot.nv)
        _, momentum, matrix = self._on.call(entries.centroidal, given, shapes)
        return momentum, matrix

    def _need_mass(self) -> None:
        if not self.robot.total_mass > 0:
            raise ModelError("has no mass", element=f"mechanism '{self.robot.name}'")

    def jacobian(self, q: ArrayLike) -> Array:
        """Jacobian (nb, 6, nv) of all bodies' world twists: of the COM [m/s], angular [rad/s]."""
        return self._on.of_pose(entries.jacobian, q, self._jacobians)

    def jacobian_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Its rate (nb, 6, nv) where the joints move at v."""
        given = (("q", q, self._q), ("v", v, self._v))
        return self._on.call(entries.jacobian_rate, given, (self._jacobians,))[0]

    def frame(self, q: ArrayLike, name: str) -> tuple[Array, Array]:
        """Position (3,) [m] and rotation (3, 3), frame to world, of a frame by its name.

        Raises
        ------
        ModelError
            If there is no frame of that name, or if the world has it.
        """
        return self._on.call(  # type: ignore[return-value]
            entries.frame_place, (("q", q, self._q),), ((3,), (3, 3)), self._on.frame(name)
        )

    def frame_velocity(self, q: ArrayLike, v: ArrayLike, name: str) -> Array:
        """Twist (6,) of a frame: of its origin [m/s], angular [rad/s], world axes.

        Raises
        ------
        ModelError
            As `frame`.
        """
        return self._frame_motion(q, v, self._still, name)[..., :6]

    def frame_acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, name: str) -> Array:
        """Acceleration (6,) of a frame: of its origin [m/s^2], angular [rad/s^2], world axes.

        The rate of the twist, without gravity; an accelerometer shows this less gravity.

        Raises
        ------
        ModelError
            As `frame`.
        """
        return self._frame_motion(q, v, a, name)[..., 6:]

    def _frame_motion(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, name: str) -> Array:
        given = (("q", q, self._q), ("v", v, self._v), ("a", a, self._a))
        before = self._on.frame(name)[:2]
        return self._on.call(entries.frame_motion, given, ((12,),), before)[0]

    def frame_jacobian(self, q: ArrayLike, name: str) -> Array:
        """Jacobian (6, nv) of a frame's twist: of its origin [m/s], angular [rad/s], world axes.

        Raises
        ------
        ModelError
            As `frame`.
        """
        before = self._on.frame(name)[:2]
        shapes = ((6, self.robot.nv),)
        return self._on.call(entries.frame_jacobian, (("q", q, self._q),), shapes, before)[0]

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> Array:
        """q (nq,) moved on along dv (nv,), a velocity times a time.

        Quaternions turn by the exponential of dv, in child axes, and come out with length one.
        """
        given = (("q", q, self._q), ("dv", dv, self._v))
        return self._on.call(entries.integrate, given, ((self.robot.nq,),))[0]

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """dv (nv,) with ``integrate(q0, dv)`` the pose q1; quaternions turn by half a turn at most.

        Angles of hinges are subtracted as they are, whole turns included.
        """
        given = (("q0", q0, self._q), ("q1", q1, self._on.q1))
        return self._on.call(entries.difference, given, self._nv)[0]

    def random(self, seed: int | np.random.Generator | None = None) -> Array:
        """A random pose q (nq,), within the limits of all joints, but not of tendons.

        Translations without limits are within 1 m, angles within half a turn; quaternions are
        uniform over all rotations, or within cones and largest turns.
        """
        return random_coordinates(self.robot, seed)

    def inverse_kinematics(
        self,
        targets: Target | Sequence[Target],
        q0: ArrayLike | None = None,
        *,
        fixed: Sequence[str] = (),
        restarts: int = 30,
        seed: int = 0,
        time: float = 0.0,
    ) -> IKResult:
        """A pose that reaches targets, within limits, with loops and couplings closed.

        One set of targets at a time. Equal calls give equal poses.

        Parameters
        ----------
        targets : FrameTarget, CenterOfMassTarget or PostureTarget, or several of them
        q0 : (nq,) or None
            Where to begin, and what angles are to be near to within whole turns; home if None.
        fixed : names of joints
            They stay where q0 has them: ("floating_base",) keeps a base.
        restarts : int
            Further tries at most, at random poses, where floating bodies stay as they are in q0.
        seed : int
            Of these poses.
        time : float [s]
            At which to take the motions of joints and tendons.

        Returns
        -------
        IKResult
            True in a condition if all targets are reached. If not, the nearest pose that was
            found, and what is left of each target. That a target is out of reach is not proven.

        Raises
        ------
        ModelError
            For names of no frames, joints or coordinates.
        StateError
            For wrong shapes, values that are not finite, or no target with a finite tolerance.
        """
        if self._inverse_kinematics is None:
            self._inverse_kinematics = InverseKinematics(self)
        return self._inverse_kinematics.solve(
            targets, q0, fixed=fixed, restarts=restarts, seed=seed, time=time
        )
