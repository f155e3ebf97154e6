"""Dynamics in joint coordinates, in time proportional to the number of joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from numpy.typing import ArrayLike

from robosim.simulation.constrained import ConstrainedDynamics, Multipliers
from robosim.simulation.ik_result import IKResult
from robosim.simulation.inverse_kinematics import InverseKinematics
from robosim.simulation.targets import Target
from robosim.simulation.tree_dynamics import TreeDynamics, Wrenches
from robosim.validation import Array


class Dynamics(TreeDynamics):
    """Inverse and forward dynamics, mass matrix, Jacobians and frames of a robot.

    ``M(q) a + bias(q, v) + passive(q, v) = tau + J^T wrenches`` for a tree. Conventions of q and v
    are those of `robosim.mechanism.Mechanism`. In the equations are the bodies without carriers,
    gravity, the `armature` of joints and tendons and, where a call says ``passive=True``, springs,
    dampers and potentials of joints, tendons and `PointSpring`. Contacts, limits, dry friction and
    actuators are not: their forces are part of tau and of the wrenches.

    Joints that close loops, couplings, motions, and tendons that keep their length make
    coordinates depend on each other or on time. `constrained_acceleration` and
    `constrained_inverse_dynamics` have all of them. `inverse_dynamics`, `forward_acceleration`,
    `hybrid_dynamics`, `gravity` and derivatives hold for trees alone, and refuse such a robot
    with a ModelError. All else is about places, or a term of the equations of the tree.

    Each argument is one state or a row for each of n: (nq,) or (n, nq), (nv,) or (n, nv). One row
    goes with any number of others. What is returned is new, with a row for each state if any
    argument had rows. Calls do not hold the interpreter's lock, and several threads may use the
    same object.

    Parameters
    ----------
    robot : Mechanism
    gravity : (3,) [m/s^2], world
    tree : bool
        Whether functions that hold for trees alone leave out, instead of refusing, what makes
        coordinates depend on each other or on time.

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
    Quaternions may have any length but zero, and stand for the rotation that they have at length
    one. Time and memory are O(nb) (`mass_matrix`, Jacobians: of their size), but for what acts
    along tendons and `PointSpring`, which goes through the dense Jacobians of `Kinematics`, state
    by state. With inertia of tendons, `forward_acceleration` and `solve_mass` solve with the
    dense mass matrix. Under constraints, time is O(nb) for each of their rows, state by state.
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
        stabilization: float = 0.0,
    ) -> tuple[Array, Multipliers]:
        """Joint accelerations (nv,) under tau and all constraints, and what the constraints do.

        ``M a + bias + passive = tau + J_y^T wrenches + J^T lambda`` with ``J a + J' v = c``, where
        c is zero but for motions [Sueda, Eq. 2.123]. Constraints may depend on each other, as those
        of a planar loop do in space. Nothing pulls a state back onto the constraints that is off
        them: a is such that ``J v`` stays what it is, unless there is `stabilization`.

        Parameters
        ----------
        q, v, tau : (nq,), (nv,), (nv,), or rows of them
            q must close all loops, to 1 mm or a thousandth.
        wrenches, passive
            As of `inverse_dynamics`. Springs of joints that close loops are among the passive.
        time : float [s]
            Of motions, whose second derivatives are taken there, from 9 ms before to 9 ms after.
        accelerations : mapping of names of joints of the tree to a number, (m,) or (n, m)
            As of `hybrid_dynamics`: whatever drives these joints is among the multipliers. In the
            place of a joint's motion, if it has one.
        limits : names of coordinates, of joints with one coordinate that close loops, of tendons
            These are at a bound, which pushes or is left and never pulls [Sueda, Eq. 2.125]. Equal
            bounds hold both ways.
        contacts : names of contact points or of frames
            Contact points push up or lift. Those that push stay where they are, as friction has no
            limit; one with a radius rolls on the ground. A point that would lift where it is held,
            and sink where it is let go, slides without friction. Frames stay where they are,
            whatever force that takes.
        stabilization : float [1/s]
            w of Baumgarte's ``g'' + 2 w g' + w^2 g = 0``.

        Returns
        -------
        a : (nv,)
        multipliers : Multipliers

        Raises
        ------
        StateError
            For a state that is not closed, or constraints that contradict each other.
        ModelError
            For unknown names; if something that is free moves without mass or inertia; for an
            armature of a joint that closes a loop, or a spring of its free rotation.
        """
        return self._constrained().acceleration(
            q, v, tau, wrenches, passive, time, accelerations, limits, contacts, stabilization
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
    ) -> tuple[Array, Multipliers]:
        """The least generalized forces (nv,) of actuators for accelerations a, with constraints.

        The inverse of `constrained_acceleration`. Of all efforts u of actuated coordinates that
        give a together with constraints, those of the least ``sum of weight u^2``. Limits and
        contact points do not pull, and those that a leaves do nothing.

        Parameters
        ----------
        q, v, a : (nq,), (nv,), (nv,), or rows of them
            a must be what constraints allow. Motions may accelerate in any way; their drives
            give what that takes.
        wrenches, passive, limits, contacts
            As of `constrained_acceleration`.
        actuated : names of coordinates, or None
            None for those of ``robot.actuated_names``, as a controller has them.
        weights : mapping of names of actuated coordinates to a positive number
            1 for all others.

        Returns
        -------
        tau : (nv,)
            Zero but for what is actuated, ``tau[robot.actuated]``; efforts of a joint that closes
            a loop are in the forces of the tree that do the same.
        multipliers : Multipliers

        Raises
        ------
        StateError
            For accelerations that constraints do not allow, or that no efforts give; also where
            limits or contact points would have to pull.
        ModelError
            For unknown names; for loops as of `constrained_acceleration`.
        """
        return self._constrained().inverse(
            q, v, a, wrenches, passive, actuated, weights, limits, contacts
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

    def _constrained(self) -> ConstrainedDynamics:
        if self._with_constraints is None:
            gravity = self._made[1][1]
            tree = TreeDynamics(self.robot, gravity, tree=True) if self._refuses else self
            self._with_constraints = ConstrainedDynamics(tree, self._on, self._lengths)
        return self._with_constraints
