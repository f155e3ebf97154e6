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

from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import OptionError
from robosim.kernels.compiler.content import row
from robosim.kernels.recursive import entries
from robosim.kinematics.recursion import Recursion
from robosim.linearization.linearizer import tangent_indices
from robosim.optimize.checks import numbers
from robosim.optimize.normal_equations import (
    assemble,
    fill_bands,
    slopes_of_turns,
    solved,
)
from robosim.optimize.soft_contacts import SoftContacts, forces_of_contacts, slopes_of_contacts
from robosim.validation import Array

LENGTHS = (
    np.array([1.0, 0.4]),
    np.array([0.15, 0.05]),
)  # of a step; those of a row are tried at once
FRESH = 1e-3  # initial regularisation of a guess
LEAST, MOST = 1e-6, 1e6  # bounds of the regularisation, relative to the diagonal
FAINT, CORRECTIONS = 1e-4, 2  # [m^2], and number, of the motions of contact points
REACHES = 4  # iterations of inverse kinematics
SUFFICIENT = 1e-3  # of the predicted decrease
# Footholds of guesses: places around a goal, the nearest first; how level [m], and how far up or
# down [m].
_PLACES = np.stack(np.meshgrid(*[0.03 * np.arange(-8.0, 9.0)] * 2), axis=-1).reshape(-1, 2)
AROUND = _PLACES[np.argsort(np.hypot(*_PLACES.T), kind="stable")]
LEVEL, REACH = 0.02, 0.25
AROUND_IT = np.array([(0, 1, -1, 0, 0), (0, 0, 0, 1, -1)], dtype=float)[:, :, None]
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
    unactuated : float, (nv - nu,) or (n, nv - nu)
        Weights of forces on coordinates without motors, which a motion does not have. With a row
        for each step, the steps that are taken before the next plan may have larger weights.
    """

    q: ArrayLike
    v: ArrayLike | None = None
    Q: ArrayLike = 0.0
    V: ArrayLike = 0.0
    R: ArrayLike = 0.0
    final: float = 1.0
    slip: float = 0.0
    clearance: float = 0.03
    unactuated: ArrayLike = 1.0


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
        places = [self._on.fixed(robot.body_index(one.body), one.position) for one in points]
        self._links = np.array([one[0] for one in places], dtype=np.int64)
        self._arms = np.array([one[1] for one in places], dtype=float)
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
        self.regularisation = FRESH

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
        free = np.delete(np.arange(nv), self.motors)
        R = np.zeros((n, nv))
        unactuated = numbers("unactuated", cost.unactuated, (), (len(free),), (n, len(free)))
        if np.any(unactuated < 0.0):
            raise OptionError(f"unactuated must be zero or more, not {unactuated.min()}")
        R[:, free] = self.h * unactuated
        R[:, self.motors] = rows[2]
        given = np.tile(self.contacts.numbers(self.h * cost.slip, cost.clearance), (n, 1))
        return Weights(q, np.broadcast_to(v, (n, nv)), rows[0], rows[1], R, given)

    def follow(self, q: Array, v0: Array, weights: Weights) -> Sequence:
        """The sequence of configurations (n + 1, nq) with the velocity v0 at the first."""
        v, tau, costs = self._evaluated(q[None], v0, weights)
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
            for lengths in LENGTHS:
                q = self._moved(at, way.reshape(n, nv), lengths)
                v, tau, costs = self._evaluated(q, at.v[0], weights)
                best = int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))
                if at.cost - costs[best] > -SUFFICIENT * lengths[best] * slope:
                    less = 0.2 if lengths[best] == 1.0 else 1.0 if lengths is LENGTHS[0] else 5.0
                    self.regularisation = min(max(less * self.regularisation, LEAST), MOST)
                    return Sequence(q[best], v[best], tau[best], float(costs[best])), True
            if -slope <= 1e-9 * abs(at.cost):
                break
            self.regularisation *= 10.0
        self.regularisation = min(self.regularisation, 1.0)
        return at, False

    def _moved(self, at: Sequence, way: Array, lengths: Array) -> Array:
        """Configurations (m, n + 1, nq) after displacements `way` (n, nv) times m lengths.

        Contact points move in straight lines, by what joints with motors do beyond their own
        displacements. Otherwise arcs of feet would end a step where contacts change.
        """
        q, n, nv, m = at.q[1:], self.n, self.robot.nv, len(lengths)
        ends = self.dynamics.integrate(
            np.tile(q, (m, 1)), (lengths[:, None, None] * way).reshape(m * n, nv)
        )
        places, J = self._placed
        straight = (J[:, :, :3] @ way[:, None, :, None])[..., 0]
        goals = (places + lengths[:, None, None, None] * straight).reshape(m * n, -1, 3)
        for _ in range(CORRECTIONS):
            more = np.zeros((m * n, nv))
            _pull(goals, self.places(ends), J, self.motors, more)
            ends = self.dynamics.integrate(ends, more)
        first = np.broadcast_to(at.q[:1], (m, *at.q[:1].shape))
        return np.concatenate((first, ends.reshape(m, n, -1)), axis=1)

    @property
    def points(self) -> int:
        """Number of contact points."""
        return len(self._links)

    def with_step(
        self,
        q: Array,
        weights: Weights,
        point: int,
        steps: int,
        aside: Array,
        clearance: float,
        edge: float = 0.04,
    ) -> Array:
        """A guess: configurations (n + 1, nq) in which a contact point makes a step at once.

        The point lands after some steps, near the place that the target has for the middle of the
        time that is left, moved `aside` (2,) [m], and no nearer to an edge than `edge` [m]. On its
        way it passes all ground with a clearance [m]. Joints with motors follow by inverse
        kinematics. Without ground where the point would land, the configurations stay.
        """
        n, motors = self.n, self.motors
        land = min(steps, n)
        middle = land + (n - land) // 2 - 1
        before = self.places(q)[:, point]
        goal = self.places(weights.q[middle : middle + 1])[0, point, :2]
        end = self._foothold(goal + aside, before[0], edge)
        part = np.minimum(np.arange(n + 1.0) / land, 1.0)
        flat = before[0, :2] + part[:, None] * (end - before[0, :2])
        radius = self._radius[point]
        x, y = flat.T[:, None] + radius * AROUND_IT
        under = self.contacts.ground(x, y)[0].max(axis=0) + radius
        if not np.isfinite(under[land]):
            return q
        low = before[0, 2] + part * (under[land] - before[0, 2])
        above = under[: land + 1].max() + clearance
        arch = np.sqrt(np.sin(np.pi * part).clip(0.0))
        path = np.column_stack((flat, low + arch * np.maximum(above - low, 0.0)))
        path[0] = before[0]
        q = q.copy()
        for _ in range(REACHES):
            J = self._jacobians(q)[:, point, :3][..., motors]
            error = path - self.places(q)[:, point]
            back = np.swapaxes(J, 1, 2)
            found = back @ np.linalg.solve(J @ back + 1e-3 * np.eye(3), error[:, :, None])
            move = np.zeros((n + 1, self.robot.nv))
            move[1:, motors] = np.clip(found[1:, :, 0], -0.5, 0.5)
            q = self.dynamics.integrate(q, move)
        return q

    def _foothold(self, goal: Array, start: Array, edge: float) -> Array:
        """The nearest level place (2,) to a goal that is not far below a start (3,)."""
        x, y = (goal + AROUND).T
        heights = self.contacts.ground(x + edge * AROUND_IT[0], y + edge * AROUND_IT[1])[0]
        with np.errstate(invalid="ignore"):  # where there is no ground
            level = np.ptp(heights, axis=0) < LEVEL
        good = level & (np.abs(heights[0] - start[2]) < REACH)
        return np.asarray(goal + AROUND[int(np.argmax(good))] if good.any() else goal)

    def gradient(self, at: Sequence, weights: Weights) -> Array:
        """Derivatives (n, nv) of the cost by the configurations after the first, in the tangent."""
        return self._gradient(at, weights)[0].reshape(self.n, -1)

    def gaps(self, q: Array) -> Array:
        """Distances (rows, points) of the contact points from the ground [m]."""
        return np.asarray(self.contacts.surface(self.places(q))[0] - self._radius)

    def places(self, q: Array) -> Array:
        """Places (rows, c, 3) [m] of the contact points, the middles of balls."""
        given, shape = (("q", q, self._on.q),), (len(self._links), 3)
        return self._on.call(entries.points_of_links, given, (shape,), (self._links, self._arms))[0]

    def _jacobians(self, q: Array) -> Array:
        """Jacobians (rows, c, 6, nv) of the twists of the points."""
        shape = len(self._links), 6, self.robot.nv
        given = (("q", q, self._on.q),)
        places = self._links, self._arms
        return self._on.call(entries.jacobians_of_links, given, (shape,), places)[0]

    def _evaluated(self, q: Array, v0: Array, weights: Weights) -> tuple[Array, Array, Array]:
        """Of sequences (m, n + 1, nq): velocities, forces, and costs (m,)."""
        m, n, nv = len(q), self.n, self.robot.nv
        v, a = self._rates(q, v0)
        ends, rates = q[:, 1:].reshape(m * n, -1), v[:, 1:].reshape(m * n, nv)
        tau = self.dynamics.inverse_dynamics(ends, rates, a.reshape(m * n, nv))
        p, J = self.places(ends), self._jacobians(ends)
        push, slips = np.zeros_like(tau), np.zeros_like(p)
        ground = self.contacts.surface(p)
        forces_of_contacts(
            p, J, rates, ground, self._mu, self._radius, weights.contacts, push, slips
        )
        tau = (tau - push).reshape(m, n, nv)
        away = self.dynamics.difference(np.tile(weights.q, (m, 1)), ends).reshape(m, n, nv)
        slower = v[:, 1:] - weights.v
        costs = 0.5 * (
            np.einsum("mkj,kj->m", away**2, weights.Q)
            + np.einsum("mkj,kj->m", slower**2, weights.V)
            + np.einsum("mkj,kj->m", tau**2, weights.R)
            + np.sum(slips.reshape(m, -1) ** 2, axis=1)
        )
        return v, tau, costs

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
        p, J = self._placed = self.places(q), self._jacobians(q)
        c = p.shape[1]
        push, Tq, Tv = np.zeros((n, nv)), np.zeros((n, nv, nv)), np.zeros((n, nv, nv))
        slips, Sq, Sv = np.zeros((n, c, 3)), np.zeros((n, c, 3, nv)), np.zeros((n, c, 3, nv))
        ground = self.contacts.surface(p)
        slopes_of_contacts(
            p, J, self._chain, v, ground, self._mu, self._radius, weights.contacts,
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
        assemble(
            by_q - Tq, by_v - Tv, by_a, ahead, behind, lean, Sq.reshape(n, 3 * c, nv),
            Sv.reshape(n, 3 * c, nv), at.tau, v - weights.v, away, slips.reshape(n, 3 * c),
            weights.R, weights.V, weights.Q, h, g, bands,
        )  # fmt: skip
        banded = np.zeros((3 * nv, n * nv))
        fill_bands(bands, banded)
        return g[2:].reshape(-1), banded


@row
def _pull(goals, places, J, motors, more):  # type: ignore[no-untyped-def]
    """Displacements by which motors pull points to goals (rows, c, 3), each as if by itself.

    J (n, c, 6, nv) has a row for each of the last rows that belong together.
    """
    rows, c, n = places.shape[0], places.shape[1], J.shape[0]
    A, e, f = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    for k in range(rows):
        for a in range(c):
            on = J[k % n, a]
            for x in range(3):
                e[x] = goals[k, a, x] - places[k, a, x]
                for y in range(3):
                    A[x, y] = FAINT if x == y else 0.0
                    for i in motors:
                        A[x, y] += on[x, i] * on[y, i]
            for x in range(3):  # the columns of the adjugate
                y, z = (x + 1) % 3, (x + 2) % 3
                f[x] = 0.0
                for r in range(3):
                    s, t = (r + 1) % 3, (r + 2) % 3
                    f[x] += (A[s, y] * A[t, z] - A[s, z] * A[t, y]) * e[r]
            whole = 0.0
            for r in range(3):
                s, t = (r + 1) % 3, (r + 2) % 3
                whole += A[0, r] * (A[1, s] * A[2, t] - A[1, t] * A[2, s])
            for i in motors:
                pull = (on[0, i] * f[0] + on[1, i] * f[1] + on[2, i] * f[2]) / whole
                more[k, i] += min(max(pull, -0.3), 0.3)
