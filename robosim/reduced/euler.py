"""A step of linearly implicit Euler in reduced coordinates [Sueda, Eqs. 2.79, 2.99, 2.107]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from robosim.kinematics.motions import difference, rates_at, value_at
from robosim.reduced import joints
from robosim.reduced.bearings import Maximal
from robosim.reduced.constraints import loop_rows
from robosim.reduced.contacts import Touching
from robosim.reduced.forces import BodyForces, symmetric
from robosim.reduced.model import JointForces, Loads, Model, within_limits
from robosim.reduced.shapes import Meeting
from robosim.reduced.solving import Equations, Gradients, Solver, check_positive
from robosim.reduced.staggered import Resisted
from robosim.reduced.tree import Placed, TreeSolver
from robosim.validation import Array

PASSES = 10  # iterations over servos that reach the limits of their motors


class Met(NamedTuple):
    """A place where shapes touched in a step."""

    meeting: Meeting
    force: Array  # (3,) [N] on the meeting's body, world


class Step(NamedTuple):
    """The result of a step."""

    q: Array
    v: Array
    iterations: int
    residual: float  # [m/s]
    tau: Array  # (nv,) forces of servos
    slip: Array  # impulses of friction, the initial guess of the next step
    forces: Array  # (nc, 3) [N] on the robot's contact points, world
    met: tuple[Met, ...] = ()  # where shapes touched


class Velocities(NamedTuple):
    """The solution of a step's equations."""

    v: Array  # (nv,)
    iterations: int
    residual: float  # [m/s]
    resisted: Resisted


def step(
    model: Model, q: Array, v: Array, time: float, h: float, loads: Loads, slip: Array
) -> Step:
    """Coordinates and velocities after a step of h seconds.

    `slip` is the impulses of friction of the previous step.

    Raises
    ------
    robosim.reduced.solving.Unsolved
        If the system has no solution.
    """
    placed = Placed(model.links, q, v)
    bodies = model.body_forces(placed.E, placed.twists, loads)
    touching = model.touching(placed.E)
    return with_servos(
        loads,
        lambda held: _velocities(model, placed, bodies, touching, time, h, held, slip),
        model,
        touching,
        q,
        h,
    )


def with_servos(
    loads: Loads,
    velocities: Callable[[Loads], Velocities],
    model: Model,
    touching: Touching,
    q: Array,
    h: float,
) -> Step:
    """A step with servos whose forces stay within the limits of their motors.

    A servo beyond these limits is removed from the equations, and its motor's limit is applied.
    """
    given = np.zeros(len(loads.tau))
    for _ in range(PASSES):
        v, iterations, residual, resisted = velocities(loads)
        after = moved(model, q, h * v)
        asked, allowed = within_limits(loads.servos, after, v)
        over = np.abs(asked - allowed) > 1e-12 * (1.0 + np.abs(asked))
        if not over.any():
            break
        at = loads.servos["v_index"][over]
        given[at] += allowed[over]
        tau = loads.tau.copy()
        tau[at] += allowed[over]
        loads = loads._replace(tau=tau, servos=loads.servos[~over])
    asked, allowed = within_limits(loads.servos, after, v)
    given[loads.servos["v_index"]] += allowed
    after, v = exchanged(model, after, v)
    forces = np.zeros((len(model.robot.contacts), 3))
    pushed, n = touching.in_world(resisted.forces / h), len(touching.points)
    forces[touching.points] = pushed[:n]
    met = tuple(map(Met, touching.meetings, pushed[n:]))
    return Step(after, v, iterations, residual, given, resisted.slip, forces, met)


def moved(model: Model, q: Array, change: Array) -> Array:
    """Coordinates (nq,) after a change (nv,)."""
    out = np.array(q, dtype=float)
    for i, joint in enumerate(model.links.joints):
        out[model.links.q[i]] = joints.advanced(
            joint, q[model.links.q[i]], change[model.links.v[i]]
        )
    return out


def exchanged(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """The same state with short rotation vectors."""
    q, v = q.copy(), v.copy()
    for i, joint in enumerate(model.links.joints):
        at, on = model.links.q[i], model.links.v[i]
        q[at], v[on] = joints.exchanged(joint, q[at], v[on])
    return q, v


def _velocities(
    model: Model,
    placed: Placed,
    bodies: BodyForces,
    touching: Touching,
    time: float,
    h: float,
    loads: Loads,
    slip: Array,
) -> Velocities:
    links, v = model.links, placed.v
    along = model.joint_forces(placed.q, v, loads)
    damped = bodies.f.copy()
    for a, b, D in symmetric(bodies.D):
        damped[a] += D @ placed.twists[b]
    momenta = np.einsum("nij,nj->ni", links.inertias, placed.twists)
    inert = np.einsum("nij,nj->ni", links.inertias, placed.bias)
    f = placed.transposed(momenta + h * (damped - inert))
    f += links.armature * v + h * (along.f + along.D * v)
    system = System(model, placed, bodies, along, h)
    mixed, wanted = rows_at(model, placed.E, placed.twists, placed.q, time, h)
    n, B = 6 * len(placed.E), model.gears.B
    J = placed.jacobian()
    G = (mixed[:, n:] + mixed[:, :n] @ J) @ B
    C, d = model.limits_at(placed.q)
    equations = Equations(system.solver, B.T @ f, G, wanted, C @ B, d, J @ B)

    def maximal() -> Maximal:
        acting = (momenta + h * damped).reshape(-1)
        return Maximal(
            placed, system.middle(), acting, h * inert.reshape(-1), mixed[:, :n], loop_places(model)
        )

    found = model.resisting.resisted(equations, touching, slip, maximal)
    left = B.T @ (system.times(B @ found.x) - f) - found.impulse
    moving = np.einsum("ki,k,ki->i", B, system.inertia(), B)
    residual = float(np.max(np.abs(left) / moving, initial=0.0))
    iterations = max(found.passes, system.iterations)
    return Velocities(B @ found.x, iterations, residual, found)


def loop_places(model: Model) -> list[slice]:
    """The rows of `rows_at` that belong to each joint that closes a loop."""
    sizes = [joint.D_T.shape[1] + joint.D_R.shape[1] for joint in model.robot.loop_joints]
    ends = np.cumsum([0, *sizes])
    return [slice(begin, end) for begin, end in pairwise(ends)]


def rows_at(
    model: Model, E: Sequence[Array], twists: Array, q: Array, time: float, h: float
) -> tuple[Array, Array]:
    """Rows (m, 6 nb + nv), for twists and velocities, and their right-hand sides (m,).

    Rows are those of loops [Sueda, Eq. 2.99] with ``-gamma g`` (1.82), of couplings that are not
    gears, and of driven joints and bodies [Sueda, Eq. 2.107].
    """
    n, nv, gamma = 6 * len(E), model.robot.nv, model.baumgarte or 0.0
    rows, wanted = [], []
    for joint in model.robot.loop_joints:
        found = loop_rows(model.robot, joint, E, twists)
        rows += [np.concatenate((row, np.zeros(nv))) for row in found.G]
        wanted += list(-gamma * found.g)
    G, g = model.gears.rows_of(model.gears.rest, q)
    rows += [np.concatenate((np.zeros(n), row)) for row in G]
    wanted += list(-gamma * g)
    for i, _ in model.led:
        own = model.links.v[i]
        rows += [np.eye(n + nv)[n + k] for k in range(own.start, own.stop)]
        wanted += list(led_rates(model, i, q, time, h))
    for drive in model.drives:
        rows += [np.eye(n + nv)[6 * drive.body + k] for k in drive.components]
        wanted += list(drive.rates(E[drive.body], time + h))
    return np.array(rows).reshape(len(rows), n + nv), np.array(wanted)


def led_rates(model: Model, i: int, q: Array, time: float, h: float) -> Array:
    """Velocities (n,) of a driven joint over a step.

    With `baumgarte`, the motion's velocities plus a share of the error [Sueda, Eqs. 1.82, 2.107].
    Otherwise those that lead the joint to the motion at the end of the step.
    """
    joint = model.links.joints[i]
    missing = difference(joint, q[model.links.q[i]], value_at(joint, time + h))
    if model.baumgarte is None:
        return missing / h
    return rates_at(joint, time + h) + model.baumgarte * missing


class System:
    """``J^T (M + h D - h^2 K) J + armature + h D_r - h^2 K_r`` of a step, and its solver.

    Alg. 10 solves it if all blocks are on the diagonal. If springs couple bodies, conjugate
    gradients do, with Alg. 10 as preconditioner. With gears the matrix is dense.

    Attributes
    ----------
    solver : from right-hand sides to solutions, for the independent coordinates
    """

    def __init__(
        self, model: Model, placed: Placed, bodies: BodyForces, along: JointForces, h: float
    ) -> None:
        self.placed, links = placed, model.links
        self.bodies = links.inertias.copy()
        self.crossing: list[tuple[int, int, Array]] = []
        terms = [(a, b, -h * h * K) for a, b, K in bodies.K]
        terms += [(a, b, h * D) for a, b, D in bodies.D]
        for i, j, half in symmetric(terms):
            if i == j:
                self.bodies[i] += half
            else:
                self.crossing.append((i, j, half))
        self.joints = []
        for i, K in enumerate(along.K):
            own = links.v[i]
            diagonal = np.diag(links.armature[own] + h * along.D[own])
            self.joints.append(diagonal - 0.5 * h * h * (K + K.T))
        self._tree: TreeSolver | None = None
        self.gradients: Gradients | None = None
        B = model.gears.B
        if model.gears.followers:
            dense = B.T @ self.matrix() @ B
            check_positive(dense)
            self.solver: Solver = lambda f: np.asarray(np.linalg.solve(dense, f))
        elif self.crossing:
            self.gradients = Gradients(self.times, self.tree)
            self.solver = self.gradients
        else:
            self.solver = self.tree

    @property
    def iterations(self) -> int:
        """Iterations of conjugate gradients; 0 for other solvers."""
        return 0 if self.gradients is None else self.gradients.iterations

    @property
    def tree(self) -> TreeSolver:
        """Alg. 10 for the blocks on the diagonal."""
        if self._tree is None:
            self._tree = TreeSolver(self.placed, self.bodies, self.joints)
        return self._tree

    def times(self, x: Array) -> Array:
        """The matrix times x (nv,), in O(n)."""
        twists = self.placed.times(x)
        wrenches = np.einsum("nij,nj->ni", self.bodies, twists)
        for i, j, block in self.crossing:
            wrenches[i] += block @ twists[j]
        out = self.placed.transposed(wrenches)
        for own, block in zip(self.placed.links.v, self.joints, strict=True):
            out[own] += block @ x[own]
        return out

    def matrix(self) -> Array:
        """The dense matrix (nv, nv)."""
        J = self.placed.jacobian()
        out = J.T @ self.middle() @ J
        for own, block in zip(self.placed.links.v, self.joints, strict=True):
            out[own, own] += block
        return np.asarray(out)

    def middle(self) -> Array:
        """``M + h D - h^2 K`` of all bodies, (6 nb, 6 nb)."""
        n = len(self.bodies)
        middle = np.zeros((6 * n, 6 * n))
        diagonal = [(i, i, block) for i, block in enumerate(self.bodies)]
        for i, j, block in (*diagonal, *self.crossing):
            middle[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] += block
        return middle

    def inertia(self) -> Array:
        """Diagonal of the mass matrix (nv,), which scales residuals to velocities."""
        links = self.placed.links
        J = self.placed.jacobian().reshape(len(links.inertias), 6, -1)
        return np.asarray(np.einsum("nik,nij,njk->k", J, links.inertias, J) + links.armature)
