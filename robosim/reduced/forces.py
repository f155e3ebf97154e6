"""Forces and their derivatives by poses and rates: K = df/dq, D = -df/dphi [Sueda, Sect. 1.9].

Wrenches, K and D of bodies are in body axes, about centres of mass, linear part first. As in the
paper, K is symmetrized where it enters the equations. Functions here return the whole K, which
tests compare with finite differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from robosim import quaternions, se3
from robosim.description.chart_factors import turn_factors, turn_series
from robosim.description.joint import Joint
from robosim.description.springs import PointSpring, Potential
from robosim.reduced.tree import Links
from robosim.validation import Array

DIFFERENCE = 1e-5  # [rad], angle of the finite differences of rotational springs
Block = tuple[int, int, Array]  # body, body, (6, 6)


@dataclass
class BodyForces:
    """Forces on bodies.

    Attributes
    ----------
    f : (nb, 6)
        Wrenches at the beginning of the step, including those of dampers.
    K, D : list of (body, body, (6, 6))
        Blocks for the wrench on a body and the motion of another one, or itself.
    """

    f: Array
    K: list[Block]
    D: list[Block]


def symmetric(blocks: Sequence[Block]) -> Iterator[Block]:
    """The symmetric part of a list of blocks: half of each block, and of its transpose.

    The antisymmetric part of D acts by f, at the beginning of a step, and so does that of K.
    """
    for a, b, block in blocks:
        yield a, b, 0.5 * block
        yield b, a, 0.5 * block.T


def coriolis_and_weight(links: Links, E: Sequence[Array], twists: Array, gravity: Array) -> Array:
    """``ad(phi)^T M phi`` and the weight, (nb, 6) [Sueda, Eqs. 1.21, 1.22]."""
    out = np.zeros_like(twists)
    for i, M in enumerate(links.inertias):
        out[i] = se3.ad(twists[i]).T @ (M @ twists[i])
        out[i, :3] += links.gravitational_masses[i] * (E[i][:3, :3].T @ gravity)
    return out


def point_force(E: Array, x: Array, along: Array) -> tuple[Array, Array]:
    """Wrench (6,) and K (6, 6) of a force (3,), world axes, at a local point [Sueda, Eq. 1.33]."""
    local = E[:3, :3].T @ along
    arm, K = se3.cross_matrix(x), np.zeros((6, 6))
    K[:3, 3:] = se3.cross_matrix(local)
    K[3:, 3:] = arm @ K[:3, 3:]
    return np.concatenate((local, arm @ local)), K


class Ends:
    """Two points, each on a body or the world, with positions and rates.

    Attributes
    ----------
    bodies : (body, body), None for the world
    E : two (4, 4)
    points : two (3,)
        In body axes.
    """

    def __init__(
        self,
        bodies: tuple[int | None, int | None],
        points: tuple[Array, Array],
        E: Sequence[Array],
        twists: Array,
    ) -> None:
        self.bodies, self.points = bodies, points
        self.E = [np.eye(4) if i is None else E[i] for i in bodies]
        moving = [np.zeros(6) if i is None else twists[i] for i in bodies]
        self.gammas = [se3.point_jacobian(F, x) for F, x in zip(self.E, points, strict=True)]
        first, second = (F[:3, :3] @ x + F[:3, 3] for F, x in zip(self.E, points, strict=True))
        self.across = second - first
        self.rates = [G @ phi for G, phi in zip(self.gammas, moving, strict=True)]
        self.rate = self.rates[1] - self.rates[0]


def pull(ends: Ends, spring: PointSpring) -> tuple[Array, Array, Array]:
    """Wrenches (12,), K and D (12, 12) of a spring and damper between two points.

    Formulas of [Sueda, Eqs. 1.35 to 1.37, 1.65 to 1.68], for a force ``k (l - L) + c dl/dt``, or
    that of a potential. K has the terms of Eq. 1.67, and also the change of dl/dt by rotations of
    the bodies.
    """
    dx, l = ends.across, float(np.linalg.norm(ends.across))  # noqa: E741
    size, slope = tension(spring, l)
    n = dx / l if l > 0.0 else np.zeros(3)
    closing = float(n @ ends.rate)
    # Force on the first point, and its derivatives by the distance and its rate.
    if spring.rest_length == 0.0 and spring.potential is None:
        force, by_dx = spring.stiffness * dx, spring.stiffness * np.eye(3)
    else:
        force, by_dx = size * n, slope * np.outer(n, n)
        by_dx += size / l * (np.eye(3) - np.outer(n, n))
    by_rate = spring.damping * np.outer(n, n)
    if spring.damping:
        across = (np.eye(3) - np.outer(n, n)) / l
        force = force + spring.damping * closing * n
        by_dx = by_dx + spring.damping * (np.outer(n, ends.rate @ across) + closing * across)
    f, K, D = np.zeros(12), np.zeros((12, 12)), np.zeros((12, 12))
    for a, sign in ((0, 1.0), (1, -1.0)):
        rows, G = slice(6 * a, 6 * a + 6), ends.gammas[a]
        f[rows] = sign * G.T @ force
        for b, other in ((0, -1.0), (1, 1.0)):
            columns, H = slice(6 * b, 6 * b + 6), ends.gammas[b]
            # A rotation also changes the rate of a point, as the twist is constant in body axes.
            turned = np.zeros((3, 6))
            turned[:, 3:] = -se3.cross_matrix(ends.rates[b]) @ ends.E[b][:3, :3]
            K[rows, columns] = sign * other * G.T @ (by_dx @ H + by_rate @ turned)
            D[rows, columns] = -sign * other * G.T @ by_rate @ H
        _, K_turn = point_force(ends.E[a], ends.points[a], sign * force)
        K[rows, rows] += K_turn
    return f, K, D


def tension(spring: PointSpring, length: float) -> tuple[float, float]:
    """Force that pulls the ends together [N] without damping, and its derivative by the length."""
    size = spring.stiffness * (length - spring.rest_length)
    slope = spring.stiffness
    if spring.potential is not None:
        more, steeper = slopes(spring.potential, length)
        size, slope = size + more, slope + steeper
    return size, slope


def spring_energy(spring: PointSpring, length: float) -> float:
    """Energy [J] of a spring at a length [m]."""
    energy = 0.5 * spring.stiffness * (length - spring.rest_length) ** 2
    return energy + (0.0 if spring.potential is None else float(spring.potential(length)))


def slopes(potential: Potential, x: float) -> tuple[float, float]:
    """dV/dx and d2V/dx2."""
    begins = np.asarray(potential.x)
    piece = int(np.clip(np.searchsorted(begins, x, side="right") - 1, 0, len(begins) - 2))
    _, b, c, d = potential.pieces[piece]
    u = x - begins[piece]
    return float(b + u * (2 * c + 3 * u * d)), float(2 * c + 6 * u * d)


def joint_forces(joint: Joint, q: Array) -> tuple[Array, Array]:
    """Forces (nv,) of a joint's springs and potentials, and K (nv, nv) [Sueda, Eqs. 2.72, 2.78].

    Here as in Eq. 2.79, K = df/dq.
    """
    n = joint.numbers
    k, rest = joint.per_coordinate("stiffness"), joint.per_coordinate("rest")
    f, K = np.zeros(joint.nv), np.zeros((joint.nv, joint.nv))
    f[:n] = -k[:n] * (q[:n] - rest[:n])
    K[range(n), range(n)] = -k[:n]
    for i, potential in enumerate(joint.potentials):
        if potential is not None:
            slope, steeper = slopes(potential, float(q[i]))
            f[i] -= slope
            K[i, i] -= steeper
    if joint.has_quaternion and np.any(k[n:]):
        f[n:], K[n:, n:] = _turned_spring(k[n:], q[n:])
    return f, K


def joint_energy(joint: Joint, q: Array) -> float:
    """Energy [J] of a joint's springs and potentials."""
    n, k = joint.numbers, joint.per_coordinate("stiffness")
    away = q[:n] - joint.per_coordinate("rest")[:n]
    energy = 0.5 * float(k[:n] @ away**2)
    energy += sum(float(V(q[i])) for i, V in enumerate(joint.potentials) if V is not None)
    if joint.has_quaternion:
        energy += 0.5 * float(k[n:] @ quaternions.rotation_vector(q[n:]) ** 2)
    return energy


def _turned_spring(k: Array, q: Array) -> tuple[Array, Array]:
    """Torque (3,) in child axes of ``sum k r^2 / 2``, r a rotation vector, and its derivative."""
    turns = DIFFERENCE * np.vstack((np.eye(3), -np.eye(3)))
    sides = [
        _torque(k, quaternions.multiply(q, quaternions.from_rotation_vector(turn)))
        for turn in turns
    ]
    slope = (np.array(sides[:3]) - np.array(sides[3:])).T / (2 * DIFFERENCE)
    return _torque(k, q), slope


def _torque(k: Array, q: Array) -> Array:
    r = quaternions.rotation_vector(q)
    square = float(r @ r)
    b, c, _, _ = turn_series(square) if square < 0.1 else turn_factors(square)
    W = se3.cross_matrix(r)
    # R^T dR/dt = [J dr/dt] for R = exp([r]).
    J = np.eye(3) - b * W + c * W @ W
    return np.asarray(-np.linalg.solve(J.T, k * r))
