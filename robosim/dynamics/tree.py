"""The equations of motion of a robot's tree, in time proportional to the number of joints."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.mechanism import Mechanism
from robosim.dynamics.places import Places
from robosim.kernels.recursive import entries
from robosim.kinematics.kinematics import (
    GRAVITY,
    dependences,
    refuse_dependences,
    solved,
)
from robosim.validation import Array

Wrenches = Mapping[str, ArrayLike]


class TreeDynamics(Places):
    """Inverse and forward dynamics of a robot's tree; see `Dynamics`, which inherits all of this.

    Functions that are valid for a tree only refuse a robot with constraints among coordinates or
    motions, unless `tree`. Terms of the tree's equations are available for every robot.
    """

    def __init__(
        self, robot: Mechanism, gravity: ArrayLike = GRAVITY, *, tree: bool = False
    ) -> None:
        super().__init__(robot, gravity, tree=tree)
        self._refuses = not tree and bool(dependences(robot))

    def __repr__(self) -> str:
        robot = self.robot
        return f"<{type(self).__name__} of {robot.name!r}, nq={robot.nq}, nv={robot.nv}>"

    def _need_tree(self) -> None:
        if self._refuses:
            refuse_dependences(self.robot, "Dynamics(robot, tree=True)")

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
            External wrenches: force [N], then moment [N m], world axes. By the name of a
            body, the force acts at its centre of mass. By the name of another frame, links that
            were merged included, at the frame's origin; as in `Simulation.apply_wrench`.
        passive : bool
            Whether springs, dampers and potentials act; if so, tau is required in addition to them.
        """
        self._need_tree()
        return self._newton_euler(q, v, a, wrenches, passive)

    def _newton_euler(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches | None = None,
        passive: bool = False,
    ) -> Array:
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
            As for `inverse_dynamics`, of which this is the inverse.

        Raises
        ------
        ModelError
            If a joint moves no mass and no inertia; names its coordinate.
        """
        self._need_tree()
        if self._lengths.inert:
            tau = self._on.checked("tau", tau, self._a)
            bias = self.inverse_dynamics(q, v, self._still, wrenches, passive=passive)
            return self._solve_dense(q, tau - bias)
        tau = self._with_lengths(q, v, tau, passive)
        on, acts = self._on, 1 if passive else 0
        if wrenches is None:
            a = on.single(entries.forward_state, q, v, tau, 1.0, acts)
            if a is not None:
                return a
        pushes, n = on.pushes(wrenches)
        given = (("q", q, self._q), ("v", v, self._v), ("tau", tau, self._a))
        return on.call(entries.forward_acceleration, given, self._nv, (1.0, acts), pushes, n)[0]

    def _with_lengths(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, passive: bool) -> ArrayLike:
        """tau with what balances weights and, if passive, forces of tendons and point springs."""
        if self._lifts is not None:
            tau = self._on.checked("tau", tau, self._a) + self._lifts.forces(q)
        if not (passive and self._lengths.acts):
            return tau
        q, v = self._on.checked("q", q, self._q), self._on.checked("v", v, self._v)
        return self._on.checked("tau", tau, self._a) + self._on.each(self._lengths.forces, q, v)

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
        """Accelerations for given forces, and forces for given accelerations [Sueda, Alg. 9].

        Parameters
        ----------
        q, v, tau : (nq,), (nv,), (nv,), or rows of them
            tau of joints with given accelerations is ignored.
        accelerations : mapping of names of joints to a number, (m,) or (n, m)
            Accelerations of all m velocities of a joint.
        wrenches, passive
            As for `inverse_dynamics`.

        Returns
        -------
        a : (nv,)
        tau : (nv,), the given forces, and those of joints with given accelerations
        crossing : (nb, 6) [N, N m]
            Wrench on each body and all bodies below it through its joint, world axes: force, moment
            about the joint's point on the body. Forces of the joint with its motors and springs are
            included, and those of tendons and `PointSpring` that cross it.

        Raises
        ------
        ModelError
            If there is no such joint in the tree, or if a joint without a given acceleration moves
            no mass and no inertia.
        """
        self._need_tree()
        on, nv = self._on, self.robot.nv
        held, given = on.held(accelerations)
        tau = on.checked("tau", tau, self._a)
        beside: Array = np.zeros(nv)
        if passive and self._lengths.acts:
            beside = on.each(self._lengths.forces, q, v)
        if self._lengths.inert:
            given = self._hybrid_dense(q, v, tau, held != 0, given, wrenches, passive)
        pushes, n = on.pushes(wrenches if self._lifts is None else self._lifts.among(wrenches))
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
        M = self.mass_matrix(q)[..., free[:, None], free]
        change = solved(self.robot, M, left[..., free][..., None])
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
            If a joint moves no mass and no inertia; names its coordinate.
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
        return np.asarray(solved(self.robot, self.mass_matrix(q), x[..., None])[..., 0])

    def bias_forces(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Coriolis, centrifugal and gravity forces (nv,): ``M a + bias = tau``, nothing passive."""
        return self._newton_euler(q, v, self._still)

    def gravity(self, q: ArrayLike) -> Array:
        """Generalized forces (nv,) that balance the robot's weight at rest."""
        self._need_tree()
        return self._inverse(1.0, q, self._still, self._still)

    def transposed(self, q: ArrayLike, wrenches: Wrenches) -> Array:
        """Generalized forces (nv,) of external wrenches, J^T y.

        Parameters
        ----------
        q : (nq,) or (n, nq)
        wrenches : mapping of names to (6,) or (n, 6)
            As for `inverse_dynamics`.
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
        """Inverse dynamics by the recursions alone, with gravity times `weight`."""
        on, acts = self._on, 1 if passive else 0
        if wrenches is None:
            tau = on.single(entries.inverse_state, q, v, a, weight, acts)
            if tau is not None:
                return tau if self._lifts is None else tau - weight * self._lifts.forces(q)
        pushes, n = on.pushes(wrenches)
        given = (("q", q, self._q), ("v", v, self._v), ("a", a, self._a))
        tau = on.call(entries.inverse_dynamics, given, self._nv, (weight, acts), pushes, n)[0]
        return tau if self._lifts is None else tau - weight * self._lifts.forces(q)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, passive: bool = True
    ) -> tuple[Array, Array, Array]:
        """Derivatives of ``inverse_dynamics(q, v, a, passive=passive)`` by q, v and a.

        The derivatives are analytic, in O(nb) for each column [Singh2022].

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
        StateError
            If a tendon has no second derivatives: if it ends on the surface of a sphere or cylinder
            that it wraps around, or points at the middle of a sphere.
        """
        self._need_tree()
        given = (("q", q, self._q), ("v", v, self._v), ("a", a, self._a))
        square = self.robot.nv, self.robot.nv
        slopes = self._on.call(entries.inverse_derivatives, given, (square, square, square))
        return self._with_passive(q, v, a, slopes, passive)

    def _with_passive(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, slopes: tuple[Array, ...], passive: bool
    ) -> tuple[Array, Array, Array]:
        """Derivatives by q, v and a, with those of the inertia of tendons and of passive forces."""
        by_q, by_v, by_a = slopes
        if self._lifts is not None:
            by_q = by_q - self._lifts.slopes(q)
        if passive and self._passive.acts:
            by_q = by_q + self._passive.slope(self._on.checked("q", q, self._q))
            by_v = by_v + np.diag(self._passive.damping)
        if self._lengths.inert or (passive and self._lengths.acts):
            of_lengths = partial(self._lengths.slopes, self._on, passive)
            beside = np.moveaxis(self._on.each(of_lengths, q, v, a), -3, 0)
            by_q, by_v, by_a = by_q + beside[0], by_v + beside[1], by_a + beside[2]
        return by_q, by_v, by_a

    def forward_derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, passive: bool = True
    ) -> tuple[Array, Array, Array]:
        """Derivatives of ``forward_acceleration(q, v, tau, passive=passive)`` by q, v and tau.

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
        StateError
            As `inverse_dynamics_derivatives`.
        ModelError
            If a joint moves no inertia.
        """
        self._need_tree()
        slopes = partial(self._forward_slopes, passive)
        if max(map(np.ndim, (q, v, tau))) < 2:
            return slopes(q, v, tau)
        on = self._on
        rows = (
            on.checked("q", q, self._q),
            on.checked("v", v, self._v),
            on.checked("tau", tau, self._a),
        )
        by_q, by_v, inverse = on.blocks(slopes, *rows)
        return by_q, by_v, inverse

    def _forward_slopes(
        self, passive: bool, q: ArrayLike, v: ArrayLike, tau: ArrayLike
    ) -> tuple[Array, Array, Array]:
        if self._lengths.inert:
            a = self.forward_acceleration(q, v, tau, passive=passive)
            by_q, by_v, M = self.inverse_dynamics_derivatives(q, v, a, passive=passive)
            inverse = np.asarray(np.linalg.inv(M))
        else:
            tau = self._with_lengths(q, v, tau, passive)
            given = (("q", q, self._q), ("v", v, self._v), ("tau", tau, self._a))
            square = self.robot.nv, self.robot.nv
            shapes, acts = ((self.robot.nv,), square, square, square), 1 if passive else 0
            a, *slopes = self._on.call(entries.forward_slopes, given, shapes, (acts,))
            by_q, by_v, inverse = self._with_passive(q, v, a, tuple(slopes), passive)
        minus = -inverse
        return minus @ by_q, minus @ by_v, inverse

    def energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Kinetic and potential energy [J], a number or (n,), as `Simulation.energy` has it.

        Energy of bodies, rotors, springs and potentials; that of gravity is zero at the world's
        origin.
        """
        given = (("q", q, self._q), ("v", v, self._v))
        energy = self._on.call(entries.energy, given, ((1,),))[0][..., 0]
        if self._lifts is not None:
            energy = energy + self._lifts.energy(q)
        if self._lengths.inert or self._lengths.acts:
            energy = energy + self._on.each(self._lengths.energy, q, v)
        return energy
