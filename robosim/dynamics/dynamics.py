"""Dynamics in joint coordinates, in time proportional to the number of joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numpy.typing import ArrayLike

from robosim.dynamics.constrained import ConstrainedDynamics, Multipliers
from robosim.dynamics.tree import TreeDynamics, Wrenches
from robosim.inverse_kinematics.inverse_kinematics import InverseKinematics
from robosim.inverse_kinematics.result import IKResult
from robosim.inverse_kinematics.targets import Target
from robosim.validation import Array


class Dynamics(TreeDynamics):
    """Inverse and forward dynamics, mass matrix, Jacobians and frames of a robot.

    ``M(q) a + bias(q, v) + passive(q, v) = tau + J^T wrenches`` for a tree. Conventions of q and v
    are those of `robosim.mechanism.Mechanism`. The equations include bodies without carriers,
    gravity, the `armature` of joints and tendons and, with ``passive=True``, springs, dampers and
    potentials of joints, tendons and `PointSpring`. Contacts, limits, dry friction and actuators
    are not included: add their forces to tau and to the wrenches.

    Joints that close loops, couplings, motions, and tendons of constant length are constraints.
    `constrained_acceleration` and `constrained_inverse_dynamics` include all of them.
    `inverse_dynamics`, `forward_acceleration`, `hybrid_dynamics`, `gravity` and derivatives are
    for trees only, and refuse such a robot with a ModelError. All other functions are kinematics,
    or terms of the equations of the tree.

    Each argument is one state, or an array with one row for each of n states: (nq,) or (n, nq),
    (nv,) or (n, nv). Single states are broadcast. Results are new arrays, with one row per state
    if any argument has rows. Calls release the interpreter's lock, and several threads may use the
    same object.

    Parameters
    ----------
    robot : Mechanism
    gravity : (3,) [m/s^2], world
    tree : bool
        Whether functions for trees ignore constraints instead of refusing them.

    Attributes
    ----------
    robot : Mechanism

    Raises
    ------
    StateError
        For gravity of a wrong shape or not finite. From all calls: for arguments of a wrong
        shape, with different numbers of rows, not finite, or with a quaternion of length zero.

    Notes
    -----
    Quaternions may have any nonzero length, and are normalized. Time and memory are O(nb); for
    `mass_matrix` and Jacobians, linear in their size. Forces of tendons and `PointSpring` use the
    dense Jacobians of `Kinematics`, state by state. With inertia of tendons,
    `forward_acceleration` and `solve_mass` use the dense mass matrix. With constraints, time is
    O(nb) per constraint, state by state.
    """

    _with_constraints: ConstrainedDynamics | None = None
    _inverse_kinematics: InverseKinematics | None = None

    def constrained_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches | None = None,
        *,
        passive: bool = True,
        time: float = 0.0,
        accelerations: Mapping[str, ArrayLike] | None = None,
        limits: Iterable[str] = (),
        contacts: Iterable[str] = (),
        grasps: Iterable[str] = (),
        stabilization: float = 0.0,
    ) -> tuple[Array, Multipliers]:
        """Joint accelerations (nv,) under tau and all constraints, and the multipliers.

        ``M a + bias + passive = tau + J_y^T wrenches + J^T lambda`` with ``J a + J' v = c``, where
        c is zero except for motions [Sueda, Eq. 2.123]. Constraints may be redundant, such as
        those of a planar loop in 3D. There is no stabilization by default: a is such that ``J v``
        stays constant, unless `stabilization` is given.

        Parameters
        ----------
        q, v, tau : (nq,), (nv,), (nv,), or rows of them
            q must close all loops, to 1 mm or a thousandth.
        wrenches, passive
            As for `inverse_dynamics`. Springs of joints that close loops are passive forces.
        time : float [s]
            Time of motions; their second derivatives use values from 9 ms before to 9 ms after.
        accelerations : mapping of names of joints of the tree to a number, (m,) or (n, m)
            As for `hybrid_dynamics`: the forces that drive these joints are among the multipliers.
            Replaces the joint's motion, if it has one.
        limits : names of coordinates, of joints with one coordinate that close loops, of tendons
            Coordinates and lengths at a limit, which can push but not pull [Sueda, Eq. 2.125].
            Equal limits
            constrain both directions.
        contacts : names of contact points or of frames
            Contacts push up or lift off. Those that push do not slide, as friction is unbounded;
            a point with a radius rolls on the ground. A contact that would lift off if fixed,
            and penetrate if released, slides without friction.
        grasps : names of frames
            Frames whose positions are fixed in all directions.
        stabilization : float [1/s]
            w of Baumgarte's ``g'' + 2 w g' + w^2 g = 0``.

        Returns
        -------
        a : (nv,)
        multipliers : Multipliers

        Raises
        ------
        StateError
            For a state with open loops, or contradictory constraints.
        ModelError
            For unknown names, or a degree of freedom without mass or inertia. For a joint that
            closes a loop with an armature, or with a spring of its free rotation.
        """
        return self._constrained().acceleration(
            q,
            v,
            tau,
            wrenches,
            passive,
            time,
            accelerations,
            limits,
            contacts,
            grasps,
            stabilization,
        )

    def constrained_inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches | None = None,
        *,
        passive: bool = True,
        actuated: Iterable[str] | None = None,
        weights: Mapping[str, float] | None = None,
        limits: Iterable[str] = (),
        contacts: Iterable[str] = (),
        grasps: Iterable[str] = (),
    ) -> tuple[Array, Multipliers]:
        """The smallest generalized forces (nv,) of actuators for accelerations a, with
        constraints.

        The inverse of `constrained_acceleration`. Of all efforts u of actuated coordinates that
        result in a, together with constraint forces, those of the least ``sum of weight u^2``.
        Limits and contacts do not pull, and have no force if a opens them.

        Parameters
        ----------
        q, v, a : (nq,), (nv,), (nv,), or rows of them
            a must satisfy the constraints. Motions may have any acceleration; the forces that
            drive them are unbounded.
        wrenches, passive, limits, contacts, grasps
            As for `constrained_acceleration`.
        actuated : names of coordinates, or None
            None for those of ``robot.actuated_names``, as a controller has them.
        weights : mapping of names of actuated coordinates to a positive number
            1 for all others.

        Returns
        -------
        tau : (nv,)
            Zero except for actuated coordinates, ``tau[robot.actuated]``; efforts of a joint that
            closes a loop are replaced by equivalent forces of the tree.
        multipliers : Multipliers

        Raises
        ------
        StateError
            For accelerations that violate constraints, or that no efforts can produce; also if
            limits or contacts would have to pull.
        ModelError
            For unknown names; for loops as for `constrained_acceleration`.
        """
        return self._constrained().inverse(
            q, v, a, wrenches, passive, actuated, weights, limits, contacts, grasps
        )

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
        """A configuration that reaches targets, within limits, with loops and couplings satisfied.

        One set of targets per call. Equal calls return equal results.

        Parameters
        ----------
        targets : FrameTarget, CenterOfMassTarget or PostureTarget, or several of them
        q0 : (nq,) or None
            Initial guess; angles of the result are near it within whole turns. Home if None.
        fixed : names of joints
            Joints whose coordinates stay at q0: ("floating_base",) fixes the base.
        restarts : int
            Largest number of further attempts from random configurations, with floating bodies at
            q0.
        seed : int
            Seed of these configurations.
        time : float [s]
            Time at which motions are evaluated.

        Returns
        -------
        IKResult
            True in a condition if all targets are reached. If not, the best configuration that was
            found, and the remaining error of each target. A failure does not prove that a target
            is out of reach.

        Raises
        ------
        ModelError
            For unknown names of frames, joints or coordinates.
        StateError
            For wrong shapes, values that are not finite, or no target with a finite tolerance.
        """
        if self._inverse_kinematics is None:
            self._inverse_kinematics = InverseKinematics(self)
        return self._inverse_kinematics.solve(
            targets, q0, fixed=fixed, restarts=restarts, seed=seed, time=time
        )

    def _constrained(self) -> ConstrainedDynamics:
        if self._with_constraints is None:
            gravity = self._made[1][1]
            tree = TreeDynamics(self.robot, gravity, tree=True) if self._refuses else self
            self._with_constraints = ConstrainedDynamics(tree, self._on, self._lengths)
        return self._with_constraints
