"""Motions as sequences of configurations, by Gauss-Newton steps on inverse dynamics [Kurtz2023].

The unknowns are the configurations of n steps, from which velocities, accelerations and torques
follow. Torques of coordinates without motors are penalized, and contacts are smooth functions of
place and velocity. So a sequence need not be a motion at first, and no contact schedule is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim import se3
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import OptionError
from robosim.kernels.compiler.content import row
from robosim.kernels.recursive import entries
from robosim.kinematics.recursion import Recursion
from robosim.linearization.linearizer import tangent_indices
from robosim.optimize.checks import numbers
from robosim.optimize.soft_contacts import SoftContacts, forces_of_contacts, slopes_of_contacts
from robosim.validation import Array

LENGTHS = np.array([1.0, 0.5, 0.2, 0.05])  # of a step, all of which are evaluated at once
LEAST, MOST = 1e-6, 1e6  # bounds of the regularisation, relative to the diagonal
FAINT, CORRECTIONS = 1e-4, 2  # [m^2], and number
SUFFICIENT = 1e-3  # of the predicted decrease
KINDS = ("revolute", "continuous", "prismatic", "floating", "fixed")


@dataclass(frozen=True)
class ContactCost:
    """What a plan of `ContactMPC` is to do: squared deviations, with diagonal weights.

    The cost is half of the sum over all steps, times the time step.

    Attributes
    ----------
    q : (nq,) or (n, nq), targets of the configurations at the ends of n steps
    v : (nv,) or (n, nv), or None for zero
        Targets of the velocities.
    Q, V : (nv,) or float
        Weights of the deviations from q, in the tangent of `Dynamics.difference`, and from v.
    R : (nu,) or float
        Weights of the torques [1/(N m)^2].
    final : float
        Factor of Q and V at the last step.
    slip : float
        Weight of the sliding velocities of contacts near the ground, so that feet are raised to
        move.
    clearance : float [m]
        Gap at which half of this weight is left.
    unactuated : float
        Weight of forces on coordinates without motors, which a motion does not have.
    """

    q: ArrayLike
    v: ArrayLike | None = None
    Q: ArrayLike = 0.0
    V: ArrayLike = 0.0
    R: ArrayLike = 0.0
    final: float = 1.0
    slip: float = 0.0
    clearance: float = 0.03
    unactuated: float = 1.0


class Weights(NamedTuple):
    """Targets and weights with a row for each of n steps: (n, nq), and (n, nv) each."""

    q: Array
    v: Array
    Q: Array
    V: Array
    R: Array
    contacts: Array


class Sequence(NamedTuple):
    """n steps: configurations (n + 1, nq), velocities (n + 1, nv) and forces (n, nv), and costs."""

    q: Array
    v: Array
    tau: Array
    cost: float


class Configurations:
    """The program: evaluates sequences, and improves them.

    Parameters
    ----------
    robot : Mechanism
        Of revolute, prismatic and floating joints.
    steps : int
    timestep : float [s]
    contacts : SoftContacts

    Raises
    ------
    OptionError
        For a robot with loops, couplings or other joints, or contacts that it does not have.
    """

    def __init__(
        self, robot: Mechanism, steps: int, timestep: float, contacts: SoftContacts
    ) -> None:
        others = [joint for joint in robot.tree_joints if joint.kind not in KINDS]
        if others or robot.loop_joints or robot.couplings:
            raise OptionError(
                f"robot '{robot.name}' must be a tree of revolute, prismatic and floating joints"
                + (f", and '{others[0].name}' is {others[0].kind}" if others else "")
            )
        self.robot, self.n, self.h, self.contacts = robot, steps, timestep, contacts
        self.dynamics = Dynamics(robot)
        points = contacts.points(robot)
        self._on = Recursion(robot, (0.0, 0.0, 0.0))
        self._places = [
            self._on.fixed(robot.body_index(one.body), one.position) for one in points
        ]
        self._radius = np.array([one.radius for one in points], dtype=float)
        mu = [one.friction if contacts.friction is None else contacts.friction for one in points]
        self._mu = np.array(mu, dtype=float)
        self._turns = [at for at, _ in tangent_indices(robot)[1]]
        chain = []
        for j, joint in enumerate(robot.tree_joints):
            # Translations of a floating joint come before its rotation, which does not turn them.
            chain += [2 * j + (joint.has_quaternion and k >= joint.nv - 3) for k in range(joint.nv)]
        self._chain = np.array(chain, dtype=np.int64)
        self.motors = np.asarray(robot.actuated, dtype=np.int64)
        self.regularisation = 1e-3

    def weights(self, cost: ContactCost) -> Weights:
        """Rows of targets and weights, times the time step.

        Raises
        ------
        OptionError
            For wrong shapes, or weights below zero.
        """
        robot, n = self.robot, self.n
        nq, nv, nu = robot.nq, robot.nv, robot.nu
        q = np.broadcast_to(numbers("q of the cost", cost.q, (nq,), (n, nq)), (n, nq))
        v = np.zeros(nv) if cost.v is None else numbers("v of the cost", cost.v, (nv,), (n, nv))
        rows = []
        for name, value, width in (("Q", cost.Q, nv), ("V", cost.V, nv), ("R", cost.R, nu)):
            one = np.broadcast_to(numbers(name, value, (), (width,)), (width,))
            if np.any(one < 0.0):
                raise OptionError(f"{name} of the cost must be zero or more, not {one.min()}")
            rows.append(np.tile(self.h * one, (n, 1)))
        for one in rows[:2]:
            one[-1] *= cost.final
        R = np.full((n, nv), self.h * cost.unactuated)
        R[:, self.motors] = rows[2]
        given = self.contacts.numbers(self.h * cost.slip, cost.clearance)
        return Weights(q, np.broadcast_to(v, (n, nv)), rows[0], rows[1], R, given)

    def follow(self, q: Array, v0: Array, weights: Weights) -> Sequence:
        """The sequence of configurations (n + 1, nq) with the velocity v0 at the first."""
        v, tau, _, costs = self._evaluated(q[None], v0, weights)
        return Sequence(q, v[0], tau[0], float(costs[0]))

    def improve(self, at: Sequence, weights: Weights) -> tuple[Sequence, bool]:
        """One Gauss-Newton step, regularized; whether a better sequence was found."""
        g, H = self._gradient(at, weights)
        n, nv = self.n, self.robot.nv
        diagonal = H[-1].copy()
        while self.regularisation <= MOST:
            H[-1] = diagonal * (1.0 + self.regularisation) + LEAST
            try:
                way = -solved(H, g)
            except np.linalg.LinAlgError:
                self.regularisation = max(10.0 * self.regularisation, LEAST)
                continue
            slope = float(g @ way)
            m = len(LENGTHS)
            ends = self._moved(at.q[1:], LENGTHS[:, None, None] * way.reshape(n, nv))
            q = np.concatenate((np.broadcast_to(at.q[:1], (m, *at.q[:1].shape)), ends), axis=1)
            v, tau, _, costs = self._evaluated(q, at.v[0], weights)
            best = int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))
            if at.cost - costs[best] > -SUFFICIENT * LENGTHS[best] * slope:
                less = 0.2 if best == 0 else 1.0 if best < 2 else 5.0
                self.regularisation = min(max(less * self.regularisation, LEAST), MOST)
                return Sequence(q[best], v[best], tau[best], float(costs[best])), True
            if -slope <= 1e-9 * abs(at.cost):
                break
            self.regularisation *= 10.0
        self.regularisation = min(self.regularisation, 1.0)
        return at, False

    def _moved(self, q: Array, moves: Array) -> Array:
        """Configurations (m, n, nq) after displacements (m, n, nv) of those in q (n, nq).

        Contact points move in straight lines, by what joints with motors do beyond their own
        displacements. Otherwise arcs of feet would end a step where contacts change.
        """
        m, n, nv = moves.shape
        ends = self.dynamics.integrate(np.tile(q, (m, 1)), moves.reshape(m * n, nv))
        J = self._jacobians(q)[0].reshape(n, -1, nv)
        goals = self._points(q).reshape(n, -1) + (J @ moves[..., None])[..., 0]
        goals = goals.reshape(m * n, -1)
        on = self._jacobians(ends)[0].reshape(m * n, -1, nv)[..., self.motors]
        back = np.swapaxes(on, 1, 2)
        inverse = back @ np.linalg.inv(on @ back + FAINT * np.eye(on.shape[1]))
        more = np.zeros((m * n, nv))
        for _ in range(CORRECTIONS):
            error = goals - self._points(ends).reshape(m * n, -1)
            more[:, self.motors] = np.clip((inverse @ error[..., None])[..., 0], -0.3, 0.3)
            ends = self.dynamics.integrate(ends, more)
        return np.asarray(ends.reshape(m, n, -1))

    def with_step(
        self, q: Array, weights: Weights, points: list[int], first: int, steps: int, aside: Array,
        height: float,
    ) -> Array:
        """A guess: configurations (n + 1, nq) in which some contact points make a step.

        Points are where they are up to the configuration `first`, and land `steps` later, where
        the target at the middle of the time that is left has them, moved `aside` (points, 2) [m].
        They pass all ground on their way with a clearance `height` [m].
        """
        n = self.n
        q = q.copy()
        land = min(first + steps, n)
        late = min(land + (n - land) // 2, n) - 1
        p = self._points(q)
        goal = self._points(weights.q[late : late + 1])[0]
        path = p.copy()
        part = np.clip((np.arange(n + 1) - first) / max(land - first, 1), 0.0, 1.0)
        for a, move in zip(points, aside, strict=True):
            # Where the plan has carried the body beside its target, the foot is as far beside it.
            end = goal[a, :2] + move
            flat = p[first, a, :2] + part[:, None] * (end - p[first, a, :2])
            path[first:, a, :2] = flat[first:]
            under = self.contacts.ground(flat[:, 0], flat[:, 1])[0] + self._radius[a]
            above = under[first : land + 1].max() + height
            low = p[first, a, 2] + part * (under[land] - p[first, a, 2])
            arch = np.sqrt(np.sin(np.pi * part))
            z = low + arch * np.maximum(above - low, 0.0)
            path[first:, a, 2] = z[first:]
        motors = self.motors
        for _ in range(4):
            J = self._jacobians(q)[0][:, points][..., motors]
            J = J.reshape(n + 1, 3 * len(points), -1)
            error = (path - self._points(q))[:, points].reshape(n + 1, -1)
            square = J @ np.swapaxes(J, 1, 2) + 1e-3 * np.eye(J.shape[1])
            found = (np.swapaxes(J, 1, 2) @ np.linalg.solve(square, error[:, :, None]))[:, :, 0]
            move = np.zeros((n + 1, self.robot.nv))
            move[first + 1 :, motors] = np.clip(found, -0.5, 0.5)[first + 1 :]
            q = self.dynamics.integrate(q, move)
        return q

    def gradient(self, at: Sequence, weights: Weights) -> Array:
        """Derivatives (n, nv) of the cost by the configurations after the first, in the tangent."""
        return self._gradient(at, weights)[0].reshape(self.n, -1)

    def gaps(self, q: Array) -> Array:
        """Heights (rows, points) of the contact points above the ground [m]."""
        p = self._points(q)
        return np.asarray(p[..., 2] - self.contacts.ground(p[..., 0], p[..., 1])[0] - self._radius)

    def _points(self, q: Array) -> Array:
        """Contact points (rows, c, 3)."""
        given, shapes = (("q", q, self._on.q),), ((3,), (3, 3))
        found = [self._on.call(entries.frame_place, given, shapes, at)[0] for at in self._places]
        return np.ascontiguousarray(np.stack(found, axis=1))

    def _jacobians(self, q: Array) -> tuple[Array, Array]:
        """Jacobians (rows, c, 3, nv) of the points, and of the turns of their bodies."""
        given, shapes = (("q", q, self._on.q),), ((6, self.robot.nv),)
        found = [
            self._on.call(entries.frame_jacobian, given, shapes, at[:2])[0] for at in self._places
        ]
        both = np.stack(found, axis=1)
        return np.ascontiguousarray(both[:, :, :3]), np.ascontiguousarray(both[:, :, 3:])

    def _evaluated(
        self, q: Array, v0: Array, weights: Weights
    ) -> tuple[Array, Array, Array, Array]:
        """Of sequences (m, n + 1, nq): velocities, forces, slips, and costs (m,)."""
        m, n, nv = len(q), self.n, self.robot.nv
        v, a = self._rates(q, v0)
        ends, rates = q[:, 1:].reshape(m * n, -1), v[:, 1:].reshape(m * n, nv)
        tau = self.dynamics.inverse_dynamics(ends, rates, a.reshape(m * n, nv))
        p, (J, _) = self._points(ends), self._jacobians(ends)
        push, slips = np.zeros_like(tau), np.zeros_like(p)
        ground = np.ascontiguousarray(self.contacts.ground(p[..., 0], p[..., 1]))
        forces_of_contacts(p, J, rates, ground, self._mu, self._radius, weights.contacts, push, slips)
        tau = (tau - push).reshape(m, n, nv)
        away = self.dynamics.difference(np.tile(weights.q, (m, 1)), ends).reshape(m, n, nv)
        slower = v[:, 1:] - weights.v
        costs = 0.5 * (
            np.einsum("mkj,kj->m", away**2, weights.Q)
            + np.einsum("mkj,kj->m", slower**2, weights.V)
            + np.einsum("mkj,kj->m", tau**2, weights.R)
            + np.sum(slips.reshape(m, -1) ** 2, axis=1)
        )
        return v, tau, slips, costs

    def _rates(self, q: Array, v0: Array) -> tuple[Array, Array]:
        """Velocities (m, n + 1, nv), and accelerations (m, n, nv)."""
        m, n, nv = len(q), self.n, self.robot.nv
        moved = self.dynamics.difference(
            q[:, :-1].reshape(m * n, -1), q[:, 1:].reshape(m * n, -1)
        ).reshape(m, n, nv)
        v = np.concatenate((np.broadcast_to(v0, (m, 1, nv)), moved / self.h), axis=1)
        return v, np.diff(v, axis=1) / self.h

    def _gradient(self, at: Sequence, weights: Weights) -> tuple[Array, Array]:
        """The gradient (n nv,), and the matrix of Gauss and Newton in the upper banded form."""
        n, nv, h = self.n, self.robot.nv, self.h
        q, v = np.ascontiguousarray(at.q[1:]), np.ascontiguousarray(at.v[1:])
        a = np.diff(at.v, axis=0) / h
        by_q, by_v, by_a = self.dynamics.inverse_dynamics_derivatives(q, v, a)
        p, (J, W) = self._points(q), self._jacobians(q)
        c = p.shape[1]
        push, Tq, Tv = np.zeros((n, nv)), np.zeros((n, nv, nv)), np.zeros((n, nv, nv))
        slips, Sq, Sv = np.zeros((n, c, 3)), np.zeros((n, c, 3, nv)), np.zeros((n, c, 3, nv))
        ground = np.ascontiguousarray(self.contacts.ground(p[..., 0], p[..., 1]))
        slopes_of_contacts(
            p, J, W, self._chain, v, ground, self._mu, self._radius, weights.contacts,
            push, Tq, Tv, slips, Sq, Sv,
        )  # fmt: skip
        # How velocities follow from the configurations at both ends of a step.
        ahead, behind = np.zeros((n, nv, nv)), np.zeros((n, nv, nv))
        away = self.dynamics.difference(weights.q, q)
        lean = np.zeros((n, nv, nv))
        single = np.ones(nv, dtype=bool)
        for t in self._turns:
            single[t : t + 3] = False
            some = slice(t, t + 3)
            turn = slopes_of_turns(h * v[:, some])
            ahead[:, some, some], behind[:, some, some] = turn / h, -np.swapaxes(turn, 1, 2) / h
            lean[:, some, some] = slopes_of_turns(away[:, some])
        at_once = np.flatnonzero(single)
        ahead[:, at_once, at_once], behind[:, at_once, at_once] = 1 / h, -1 / h
        lean[:, at_once, at_once] = 1.0
        g = np.zeros((n + 2, nv))
        bands = np.zeros((n, 3 * nv, 3 * nv))
        _assemble(
            by_q - Tq, by_v - Tv, by_a, ahead, behind, lean, Sq.reshape(n, 3 * c, nv),
            Sv.reshape(n, 3 * c, nv), at.tau, v - weights.v, away, slips.reshape(n, 3 * c),
            weights.R, weights.V, weights.Q, h, g, bands,
        )  # fmt: skip
        banded = np.zeros((3 * nv, n * nv))
        _fill_bands(bands, banded)
        return g[2:].reshape(-1), banded


@row
def _assemble(Iq, Iv, M, ahead, behind, lean, Sq, Sv, tau, slower, away, slips, R, V, Q, h, g, bands):  # type: ignore[no-untyped-def]
    """Gradient and curvature of each step by three configurations: two steps, one, and none before.

    g (n + 2, nv) has rows of zero for the configurations before the first unknown one.
    """
    n, nv, ns = tau.shape[0], tau.shape[1], slips.shape[1]
    rows = 2 * nv + ns
    D, e = np.zeros((rows + nv, 3 * nv)), np.zeros(rows + nv)
    w = np.zeros(rows + nv)
    by_v, last = np.zeros((nv, nv)), np.zeros((nv, nv))
    for k in range(n):
        D[:] = 0.0
        # Forces: by the velocities of this step and, by its acceleration, of the one before.
        by_v[:] = Iv[k] + M[k] / h
        last[:] = M[k] / h
        D[:nv, 2 * nv :] = Iq[k] + by_v @ ahead[k]
        D[:nv, nv : 2 * nv] = by_v @ behind[k]
        if k > 0:
            D[:nv, nv : 2 * nv] -= last @ ahead[k - 1]
            D[:nv, :nv] = -(last @ behind[k - 1])
        D[nv : 2 * nv, 2 * nv :] = ahead[k]
        D[nv : 2 * nv, nv : 2 * nv] = behind[k]
        if ns > 0:
            D[2 * nv : rows, 2 * nv :] = Sq[k] + Sv[k] @ ahead[k]
            D[2 * nv : rows, nv : 2 * nv] = Sv[k] @ behind[k]
        D[rows:, 2 * nv :] = lean[k]
        e[:nv], w[:nv] = tau[k], R[k]
        e[nv : 2 * nv], w[nv : 2 * nv] = slower[k], V[k]
        e[2 * nv : rows], w[2 * nv : rows] = slips[k], 1.0
        e[rows:], w[rows:] = away[k], Q[k]
        if k == 0:
            D[:, : 2 * nv] = 0.0
        elif k == 1:
            D[:, :nv] = 0.0
        wD = w.reshape(-1, 1) * D
        bands[k] = D.T @ wD
        slope = wD.T @ e
        for i in range(3):
            g[k + i] += slope[i * nv : (i + 1) * nv]


@row
def _fill_bands(bands, banded):  # type: ignore[no-untyped-def]
    """Sum the curvatures of all steps in the upper banded form of a symmetric matrix."""
    n, width, last = bands.shape[0], bands.shape[1], banded.shape[0] - 1
    nv = width // 3
    for k in range(n):
        base = (k - 2) * nv
        for i in range(width):
            if base + i < 0:
                continue
            for j in range(i, width):
                banded[last + i - j, base + j] += bands[k, i, j]


def solved(H: Array, g: Array) -> Array:
    """x with H x = g, for a matrix in the upper banded form.

    LAPACK's threads would wait for each other longer than so small a system takes.

    Raises
    ------
    numpy.linalg.LinAlgError
        For an H that is not positive definite.
    """
    factor, x = H.T.copy(), g.copy()
    if not _solve_bands(factor, x):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return x


@row
def _solve_bands(factor, x):  # type: ignore[no-untyped-def]
    """Factorize a banded matrix, U^T U, whose columns are the rows of `factor`; solve for x."""
    N, last = factor.shape[0], factor.shape[1] - 1
    for j in range(N):
        first = max(0, j - last)
        for i in range(first, j + 1):
            # Entry (i, j): both columns from the first row that they share.
            low = max(first, i - last)
            total = factor[j, last + i - j]
            m = i - low
            a, b = factor[i, last - m : last], factor[j, last - j + low : last - j + i]
            one = two = three = four = 0.0
            r = 0
            while r + 4 <= m:
                one += a[r] * b[r]
                two += a[r + 1] * b[r + 1]
                three += a[r + 2] * b[r + 2]
                four += a[r + 3] * b[r + 3]
                r += 4
            while r < m:
                one += a[r] * b[r]
                r += 1
            total -= one + two + three + four
            if i < j:
                factor[j, last + i - j] = total / factor[i, last]
            else:
                if not total > 0.0:
                    return False
                factor[j, last] = np.sqrt(total)
    for j in range(N):
        for i in range(max(0, j - last), j):
            x[j] -= factor[j, last + i - j] * x[i]
        x[j] /= factor[j, last]
    for j in range(N - 1, -1, -1):
        x[j] /= factor[j, last]
        for i in range(max(0, j - last), j):
            x[i] -= factor[j, last + i - j] * x[j]
    return True


def slopes_of_turns(turns: Array) -> Array:
    """(n, 3, 3): map angular velocities in the child's axes to rates of rotation vectors (n, 3)."""
    angle = np.linalg.norm(turns, axis=1)
    across = np.array([se3.cross_matrix(turn) for turn in turns])
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    second = np.where(small, 1 / 12, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    return np.asarray(np.eye(3) + 0.5 * across + second[:, None, None] * (across @ across))

