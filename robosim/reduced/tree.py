"""A tree of bodies in reduced coordinates: Jacobians and their products [Sueda, Algs. 1 to 6, 10].

Bodies are in the order of the mechanism, joint i leads to body i. The twist of a body is that of
its centre of mass in its own axes, velocity first. E_i is body to world.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robosim import quaternions, se3
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.reduced.joints import Motion, motion
from robosim.reduced.solving import check_positive
from robosim.validation import Array


class Links:
    """Constant data of a tree.

    Attributes
    ----------
    robot : Mechanism
    joints : sequence of Joint, of the tree
    parents : list of int, -1 for the world
    q, v : list of slices, of a joint's coordinates and velocities
    inertias : (nb, 6, 6)
        M_i of each body [Sueda, Eq. 1.21].
    armature : (nv,) [kg m^2, kg]
    anchors, beyond : list of (4, 4)
        The joint frame in the parent's axes, with all coordinates at zero; and the body's centre of
        mass relative to the joint's point.
    """

    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self.joints: Sequence[Joint] = robot.tree_joints
        self.parents = [
            -1 if joint.parent is None else robot.body_index(joint.parent) for joint in self.joints
        ]
        n = len(robot.bodies)
        self.q = [slice(robot.q_offsets[i], robot.q_offsets[i + 1]) for i in range(n)]
        self.v = [slice(robot.v_offsets[i], robot.v_offsets[i + 1]) for i in range(n)]
        self.inertias = np.zeros((n, 6, 6))
        self.gravitational_masses = np.zeros(n)
        for i, body in enumerate(robot.bodies):
            if not body.carrier:
                M, self.gravitational_masses[i] = self.inertias[i], body.gravitational_mass
                M[:3, :3], M[3:, 3:] = body.mass * np.eye(3), body.inertia
        none = np.zeros(0)
        self.armature = np.concatenate(
            (none, *(joint.per_coordinate("armature") for joint in self.joints))
        )

        self.anchors = [
            se3.transformation(
                quaternions.rotation_matrix(np.asarray(joint.offset)), joint.parent_position
            )
            for joint in self.joints
        ]
        self.beyond = [
            se3.transformation(np.eye(3), -np.asarray(joint.child_position))
            for joint in self.joints
        ]


class Placed:
    """A tree at coordinates q (nq,) and velocities v (nv,).

    Attributes
    ----------
    E : list of (4, 4), body to world
    twists : (nb, 6)
    columns, slopes : list of (6, n)
        Of each joint, S and its rate in the axes of its body, ``Ad S`` and ``Ad dS/dt``.
    into, turning : list of (6, 6)
        Ad from the parent's twists to the body's, and its rate [Sueda, Eq. 2.17].
    bias : (nb, 6)
        dJ/dt v: accelerations of the bodies at constant v [Sueda, Alg. 5].
    """

    def __init__(self, links: Links, q: Array, v: Array) -> None:
        self.links, self.q, self.v = links, q, v
        n = len(links.parents)
        self.E: list[Array] = []
        self.columns: list[Array] = []
        self.slopes: list[Array] = []
        self.into: list[Array] = []
        self.turning: list[Array] = []
        self.twists, self.bias = np.zeros((n, 6)), np.zeros((n, 6))
        for i, joint in enumerate(links.joints):
            self._place(i, motion(joint, q[links.q[i]], v[links.v[i]]))

    def _place(self, i: int, own: Motion) -> None:
        p, rate = self.links.parents[i], self.v[self.links.v[i]]
        # From the joint's point, at Q, to the body's centre of mass.
        beyond = self.links.beyond[i]
        relative = self.links.anchors[i] @ own.Q @ beyond
        self.E.append(relative if p < 0 else self.E[p] @ relative)
        to_body = se3.adjoint(se3.inverse(beyond))
        self.columns.append(to_body @ own.S)
        self.slopes.append(to_body @ own.S_dot)
        self.twists[i] = self.columns[i] @ rate
        self.bias[i] = self.slopes[i] @ rate
        into, turning = np.zeros((6, 6)), np.zeros((6, 6))
        if p >= 0:
            into = se3.adjoint(se3.inverse(relative))
            # d Ad / dt = -ad(xi) Ad, where xi is the twist by the joint alone.
            turning = -se3.ad(self.twists[i]) @ into
            self.bias[i] += into @ self.bias[p] + turning @ self.twists[p]
            self.twists[i] += into @ self.twists[p]
        self.into.append(into)
        self.turning.append(turning)

    def jacobian(self) -> Array:
        """J (6 nb, nv), reduced velocities to twists of all bodies [Sueda, Alg. 1]."""
        J = np.zeros((6 * len(self.E), len(self.v)))
        for i, p in enumerate(self.links.parents):
            rows = slice(6 * i, 6 * i + 6)
            if p >= 0:
                J[rows] = self.into[i] @ J[6 * p : 6 * p + 6]
            J[rows, self.links.v[i]] = self.columns[i]
        return J

    def jacobian_rate(self) -> Array:
        """dJ/dt (6 nb, nv) [Sueda, Alg. 2]."""
        J = self.jacobian()
        out = np.zeros_like(J)
        for i, p in enumerate(self.links.parents):
            rows = slice(6 * i, 6 * i + 6)
            if p >= 0:
                above = slice(6 * p, 6 * p + 6)
                out[rows] = self.into[i] @ out[above] + self.turning[i] @ J[above]
            out[rows, self.links.v[i]] = self.slopes[i]
        return out

    def mass_matrix(self) -> Array:
        """M_r = J^T M J with the rotors (nv, nv) [Sueda, Eq. 2.18]."""
        links = self.links
        J = self.jacobian().reshape(len(links.inertias), 6, -1)
        M = np.einsum("nki,nkl,nlj->ij", J, links.inertias, J)
        return np.asarray(0.5 * (M + M.T) + np.diag(links.armature))

    def inertia_solver(self) -> TreeSolver:
        """A solver for the mass matrix, in O(n)."""
        links = self.links
        return TreeSolver(self, links.inertias, [np.diag(links.armature[own]) for own in links.v])

    def times(self, x: Array) -> Array:
        """J x (nb, 6), in one pass from the root [Sueda, Alg. 5]."""
        out = np.zeros((len(self.links.parents), 6))
        for i, p in enumerate(self.links.parents):
            out[i] = self.columns[i] @ x[self.links.v[i]]
            if p >= 0:
                out[i] += self.into[i] @ out[p]
        return out

    def transposed(self, wrenches: Array) -> Array:
        """J^T f (nv,) of wrenches (nb, 6), in one pass from the leaves [Sueda, Alg. 6].

        The factor for the parent is Ad^T; [Sueda, Eq. 2.112] has an additional S.
        """
        below, out = np.array(wrenches, dtype=float), np.zeros(len(self.v))
        for i in range(len(below) - 1, -1, -1):
            out[self.links.v[i]] = self.columns[i].T @ below[i]
            if (p := self.links.parents[i]) >= 0:
                below[p] += self.into[i].T @ below[i]
        return out


class TreeSolver:
    """Solves ``(J^T blkdiag(B) J + R) y = x`` in O(n) [Sueda, Alg. 10].

    The sign of K is that of [Sueda, Eq. 2.79], ``B_i = M_i + h D_i - h^2 K_i`` with K = df/dq;
    in Eqs. 2.77 and 2.78 it is the opposite one.

    Parameters
    ----------
    placed : Placed
    bodies : (nb, 6, 6)
        B_i, of each body.
    joints : list of (n, n)
        Blocks of R, of the coordinates of each joint.

    Raises
    ------
    robosim.reduced.solving.Unsolved
        If the matrix is not positive definite.
    """

    def __init__(self, placed: Placed, bodies: Array, joints: Sequence[Array]) -> None:
        self.placed = placed
        self.hat = np.array(bodies, dtype=float)
        self.psi: list[Array] = [np.zeros((0, 0))] * len(self.hat)
        for i in range(len(self.hat) - 1, -1, -1):
            S, M = placed.columns[i], self.hat[i]
            own = S.T @ M @ S + joints[i]
            check_positive(own)
            self.psi[i] = np.linalg.inv(own)
            if (p := placed.links.parents[i]) >= 0:
                MS = M @ S
                left = M - MS @ self.psi[i] @ MS.T
                self.hat[p] += placed.into[i].T @ left @ placed.into[i]

    def __call__(self, x: Array) -> Array:
        """y (nv,) of x (nv,), or (nv, m) of (nv, m)."""
        placed, links = self.placed, self.placed.links
        shape = (len(self.hat), 6, *x.shape[1:])
        below, moved, y = np.zeros(shape), np.zeros(shape), np.zeros_like(x, dtype=float)
        left = [np.zeros(0)] * len(self.hat)
        for i in range(len(self.hat) - 1, -1, -1):
            S = placed.columns[i]
            left[i] = self.psi[i] @ (x[links.v[i]] - S.T @ below[i])
            if (p := links.parents[i]) >= 0:
                below[p] += placed.into[i].T @ (below[i] + self.hat[i] @ (S @ left[i]))
        for i, p in enumerate(links.parents):
            S = placed.columns[i]
            above = placed.into[i] @ moved[p] if p >= 0 else np.zeros(shape[1:])
            y[links.v[i]] = left[i] - self.psi[i] @ (S.T @ (self.hat[i] @ above))
            moved[i] = above + S @ y[links.v[i]]
        return y
