"""A step of linearly implicit Euler in maximal coordinates [Sueda, Eqs. 1.28 to 1.30, 1.73].

Each body has six coordinates, and joints are constraints on the twists of bodies. Joint coordinates
are those whose pose Q(q) is nearest to the bodies, with an initial guess from the velocities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robosim import se3
from robosim.description.joint import Joint
from robosim.reduced import joints
from robosim.reduced.constraints import loop_rows, relative_rows, violation
from robosim.reduced.euler import Step, Velocities, rows_at, with_servos
from robosim.reduced.forces import symmetric
from robosim.reduced.model import Loads, Model
from robosim.reduced.solving import Equations, Solver, check_positive
from robosim.validation import Array

READINGS = 20  # iterations for the coordinates nearest to a pose
READ = 1e-13  # their tolerance: metres, or relative to the distance from the origin, and rad


@dataclass
class Bodies:
    """Poses and twists of all bodies."""

    E: list[Array]  # (4, 4), body to world
    twists: Array  # (nb, 6)


class JointRows:
    """A joint of the tree, as rows for the twists of its bodies.

    Attributes
    ----------
    held : (6 - nv, 6 nb)
        Constrained components [Sueda, Eq. 1.69], orthogonal to the columns of S.
    free : (nv, 6 nb)
        Velocities of the joint, ``S^+`` times its twist.
    off : (6 - nv,)
        Constrained components of the pose error [m, rad].
    """

    def __init__(self, model: Model, i: int, bodies: Bodies, q: Array) -> None:
        joint = model.links.joints[i]
        own = joints.motion(joint, q, np.zeros(joint.nv))
        row = relative_rows(model.robot, joint, bodies.E)
        left = np.linalg.svd(own.S)[0] if joint.nv else np.eye(6)
        across = left[:, joint.nv :]
        self.held, self.free = across.T @ row, np.linalg.pinv(own.S) @ row
        self.off = across.T @ away(model, i, joint, bodies, q)


def away(model: Model, i: int, joint: Joint, bodies: Bodies, q: Array) -> Array:
    """The twist (6,) from the joint's pose at q to that of its bodies."""
    p = model.links.parents[i]
    base = np.eye(4) if p < 0 else bodies.E[p]
    there = bodies.E[i] @ se3.inverse(model.links.beyond[i])
    Q = joints.motion(joint, q, np.zeros(joint.nv)).Q
    return se3.log(se3.inverse(base @ model.links.anchors[i] @ Q) @ there)


def read(model: Model, bodies: Bodies, q: Array) -> tuple[Array, Array]:
    """Coordinates nearest to the poses of the bodies, with q as initial guess, and velocities."""
    q, v = q.copy(), np.zeros(model.robot.nv)
    size = max(1.0, *(float(np.max(np.abs(E[:3, 3]))) for E in bodies.E))
    for i, joint in enumerate(model.links.joints):
        at, on = model.links.q[i], model.links.v[i]
        for _ in range(READINGS):
            S = joints.motion(joint, q[at], np.zeros(joint.nv)).S
            change = np.linalg.pinv(S) @ away(model, i, joint, bodies, q[at])
            q[at] = joints.advanced(joint, q[at], change)
            if np.max(np.abs(change), initial=0.0) < READ * size:
                break
        v[on] = JointRows(model, i, bodies, q[at]).free @ bodies.twists.reshape(-1)
        q[at], v[on] = joints.exchanged(joint, q[at], v[on])
    return q, v


def step(
    model: Model,
    bodies: Bodies,
    q: Array,
    v: Array,
    time: float,
    h: float,
    loads: Loads,
    slip: Array,
) -> tuple[Step, Bodies]:
    """The bodies after a step of h seconds, and their joint coordinates.

    `slip` is the impulses of friction of the previous step.
    """
    acting = model.body_forces(bodies.E, bodies.twists, loads)
    rows = [
        JointRows(model, i, bodies, q[model.links.q[i]]) for i in range(len(model.links.joints))
    ]
    free = np.vstack([np.zeros((0, 6 * len(rows))), *(row.free for row in rows)])
    n = 6 * len(rows)
    A, f = np.zeros((n, n)), np.zeros(n)
    for i, M in enumerate(model.links.inertias):
        own = slice(6 * i, 6 * i + 6)
        A[own, own] += M
        f[own] = M @ bodies.twists[i] + h * acting.f[i]
    for a, b, K in symmetric(acting.K):
        A[6 * a : 6 * a + 6, 6 * b : 6 * b + 6] -= h * h * K
    for a, b, D in symmetric(acting.D):
        A[6 * a : 6 * a + 6, 6 * b : 6 * b + 6] += h * D
        f[6 * a : 6 * a + 6] += h * D @ bodies.twists[b]
    G, wanted = _equalities(model, rows, free, bodies, q, time, h)
    C, least = model.limits_at(q)
    touching = model.touching(bodies.E)
    led: list[Array] = []

    def velocities(held: Loads) -> Velocities:
        along = model.joint_forces(q, v, held)
        implicit = np.diag(h * along.D)
        for own, K in zip(model.links.v, along.K, strict=True):
            implicit[own, own] -= h * h * K
        system = A + free.T @ implicit @ free
        system = 0.5 * (system + system.T)
        check_positive(system)
        right = f + free.T @ (h * (along.f + along.D * v))
        solver: Solver = lambda x: np.asarray(np.linalg.solve(system, x))  # noqa: E731
        equations = Equations(solver, right, G, wanted, C @ free, least, np.eye(n))
        found = model.resisting.resisted(equations, touching, slip)
        led[:] = [found.x]
        left = system @ found.x - right - found.impulse
        residual = float(np.max(np.abs(left) / np.diag(A)))
        return Velocities(free @ found.x, found.passes, residual, found)

    taken = with_servos(loads, velocities, model, touching, q, h)
    phi = led[0].reshape(-1, 6)
    after = Bodies([E @ se3.exp(h * own) for E, own in zip(bodies.E, phi, strict=True)], phi)
    read_q, read_v = read(model, after, taken.q)
    return taken._replace(q=read_q, v=read_v), after


def _equalities(
    model: Model,
    rows: list[JointRows],
    free: Array,
    bodies: Bodies,
    q: Array,
    time: float,
    h: float,
) -> tuple[Array, Array]:
    """Rows (m, 6 nb) of all constraints, and their right-hand sides (m,)."""
    n, gamma = 6 * len(rows), model.baumgarte or 0.0
    mixed, wanted = rows_at(model, bodies.E, bodies.twists, q, time, h)
    followers = [c for c in model.robot.couplings if c not in model.gears.rest]
    gears, g = model.gears.rows_of(followers, q)
    G = np.vstack((*(row.held for row in rows), mixed[:, :n] + mixed[:, n:] @ free, gears @ free))
    held = -gamma * np.concatenate([np.zeros(0), *(row.off for row in rows)])
    return G, np.concatenate((held, wanted, -gamma * g))


def open_by(model: Model, bodies: Bodies, q: Array) -> float:
    """Largest violation of a joint or coupling [m, or the sine of half an angle]."""
    worst = 0.0
    for i, joint in enumerate(model.links.joints):
        off = away(model, i, joint, bodies, q[model.links.q[i]])
        worst = max(worst, *np.abs(off[:3]), *np.abs(np.sin(0.5 * off[3:])))
    for joint in model.robot.loop_joints:
        worst = max(worst, violation(loop_rows(model.robot, joint, bodies.E, bodies.twists), joint))
    _, g = model.gears.rows_of(model.robot.couplings, q)
    return max(worst, float(np.max(np.abs(np.sin(0.5 * g)), initial=0.0)))
