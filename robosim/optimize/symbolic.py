"""A robot's Lagrangian in joint coordinates as casadi expressions, link by link.

The recursion and the coordinates are those of `robosim.kernels.minimal`: links with one coordinate
each, and three hinges for a free rotation, whose chart begins at a knot. Rates of these coordinates
are called theta rates, while v are the robot's velocities: those of a free rotation are in the
child's axes. World axes; quaternions (w, x, y, z).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import se3
from robosim.compiled.building.segments import compile_tree
from robosim.compiled.minimal import Tree
from robosim.compiled.records.minimal import COUPLED, SLIDE
from robosim.description.mechanism import Mechanism
from robosim.errors import MissingExtraError
from robosim.validation import Array
from robosim.version import install

try:
    ca: Any = import_module("casadi")
except ImportError as error:
    raise MissingExtraError(
        "trajectory optimisation needs casadi, which contains IPOPT; get it with: "
        f"{install('optimize')}"
    ) from error

Expression = Any  # a casadi expression
Function = Any  # a compiled casadi function


def column(numbers: ArrayLike) -> Expression:
    """Numbers as an expression (n,)."""
    return ca.SX(ca.DM(np.asarray(numbers, dtype=float)))


def cross_matrix(w: Expression) -> Expression:
    """[w] (3, 3), so that [w] a = w x a."""
    return ca.vertcat(
        ca.horzcat(0, -w[2], w[1]), ca.horzcat(w[2], 0, -w[0]), ca.horzcat(-w[1], w[0], 0)
    )


def rotation_matrix(q: Expression) -> Expression:
    """Rotation matrix (3, 3) of a unit quaternion."""
    w, x, y, z = (q[k] for k in range(4))
    return ca.vertcat(
        ca.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        ca.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def product(a: Expression, b: Expression) -> Expression:
    """Product of two quaternions."""
    return ca.vertcat(
        a[0] * b[0] - ca.dot(a[1:], b[1:]),
        a[0] * b[1:] + b[0] * a[1:] + ca.cross(a[1:], b[1:]),
    )


def hinges(x: Expression) -> Expression:
    """The quaternion of three hinges, about e1, then e2, then e3 of the child."""
    c, s = ca.cos(0.5 * x), ca.sin(0.5 * x)
    a, b, d = (
        ca.vertcat(c[k], *(s[k] if j == k else 0 for j in range(3))) for k in range(3)
    )  # fmt: skip
    return product(product(a, b), d)


def angles(R: Expression) -> Expression:
    """Hinge angles of a rotation matrix, with the second one below a quarter of a turn."""
    return ca.vertcat(
        ca.atan2(-R[1, 2], R[2, 2]),
        ca.atan2(R[0, 2], ca.sqrt(R[1, 2] ** 2 + R[2, 2] ** 2)),
        ca.atan2(-R[0, 1], R[0, 0]),
    )


def spins(x: Expression) -> Expression:
    """(3, 3): maps rates of three hinges to angular velocity in the child's axes."""
    b, d = x[1], x[2]
    first = ca.vertcat(ca.cos(b) * ca.cos(d), -ca.cos(b) * ca.sin(d), ca.sin(b))
    return ca.horzcat(first, ca.vertcat(ca.sin(d), ca.cos(d), 0), ca.vertcat(0, 0, 1))


def turned(axis: Array, angle: Expression) -> Expression:
    """Rotation matrix (3, 3) about a unit axis."""
    K = se3.cross_matrix(axis)
    return np.eye(3) + ca.sin(angle) * K + (1 - ca.cos(angle)) * (K @ K)


@dataclass
class Placed:
    """Poses and velocities of all links at one time; lists by link, with the world last.

    Attributes
    ----------
    R, p : orientation (3, 3) and origin (3,), the centre of mass of a link with a body
    omega, v : angular velocity and velocity of that origin
    """

    R: list[Expression]
    p: list[Expression]
    omega: list[Expression]
    v: list[Expression]


class Symbolic:
    """A robot as casadi expressions.

    Parameters
    ----------
    robot : Mechanism
        As for `MinimalSimulation`, with loops and couplings.
    gravity : (3,) [m/s^2]

    Attributes
    ----------
    tree : Tree
        Links, as for the integrators in joint coordinates.
    turns : list of (int, int)
        First velocity and first coordinate of each free rotation.
    plain : list of (int, int)
        Velocity and coordinate of each other degree of freedom.
    """

    def __init__(self, robot: Mechanism, gravity: Array) -> None:
        self.robot = robot
        self.tree: Tree = compile_tree(robot, gravity, {}, 1)
        segments = self.tree.segments
        self.turns = [(int(s["v"]), int(s["q"])) for s in segments if s["turn"] == 1]
        self.plain = [
            (int(s["v"]), int(s["q"])) for s in segments if s["v"] >= 0 and s["turn"] == 0
        ]
        self._links = {int(s["body"]): i for i, s in enumerate(segments) if s["body"] >= 0}

    def place(
        self,
        theta: Expression,
        rates: Expression,
        bases: list[Expression],
        turned_on: Expression | None = None,
        turning: Expression | None = None,
    ) -> Placed:
        """Links at theta (nv,) with these rates; `bases` (4,) are the origins of rotation charts.

        `turned_on` (3 nr,) rotates the bases further in their own axes, to first order. `turning`
        (3 nr,) is an angular velocity of the bases.
        """
        segments = self.tree.segments
        n = len(segments)
        R, p, omega, v = ([ca.SX(0)] * (n + 1) for _ in range(4))
        R[n], p[n] = ca.SX.eye(3), ca.SX.zeros(3, 1)
        omega[n], v[n] = ca.SX.zeros(3, 1), ca.SX.zeros(3, 1)
        for i, link in enumerate(segments):
            up = int(link["parent"])
            T, at = ca.mtimes(R[up], column(link["R"])), p[up] + ca.mtimes(R[up], column(link["p"]))
            carried = omega[up]
            if link["turn"] == 1:
                r = int(link["rotation"])
                T = ca.mtimes(T, rotation_matrix(bases[r]))
                if turned_on is not None:
                    T = T + ca.mtimes(T, cross_matrix(turned_on[3 * r : 3 * r + 3]))
                if turning is not None:
                    carried = carried + ca.mtimes(T, turning[3 * r : 3 * r + 3])
            if link["v"] < 0:
                R[i], p[i], omega[i] = T, at, omega[up]
                v[i] = v[up] + ca.cross(omega[up], at - p[up])
                continue
            x, rate = theta[int(link["v"])], rates[int(link["v"])]
            slide, turn = link["S"][:3], link["S"][3:]
            Q, shift = self.motion(link, x)
            R[i], p[i] = ca.mtimes(T, Q), at + ca.mtimes(T, shift)
            omega[i] = carried + ca.mtimes(R[i], column(turn)) * rate
            v[i] = v[up] + ca.cross(omega[up], p[i] - p[up])
            v[i] = v[i] + ca.mtimes(R[i], column(slide)) * rate
        return Placed(R, p, omega, v)

    def motion(self, link: np.void, x: Expression) -> tuple[Expression, Expression]:
        """Rotation (3, 3) and shift (3,) of a link by its own coordinate."""
        slide, turn = link["S"][:3], link["S"][3:]
        size = float(np.linalg.norm(turn))
        if size == 0.0:
            return ca.SX.eye(3), column(slide) * x
        axis, along = turn / size, slide / size
        Q = turned(axis, size * x)
        arm = np.cross(axis, along)
        straight = column(axis * (axis @ along)) * (size * x)
        return Q, column(arm) - ca.mtimes(Q, column(arm)) + straight

    def velocities(
        self, theta: Expression, rates: Expression, turning: Expression | None = None
    ) -> Expression:
        """v (nv,) from rates of theta, and from angular velocities of bases (3 nr,)."""
        parts = [rates[k] for k in range(self.robot.nv)]
        for r, (at, _) in enumerate(self.turns):
            x = theta[at : at + 3]
            spin = ca.mtimes(spins(x), rates[at : at + 3])
            if turning is not None:
                spin += ca.mtimes(rotation_matrix(hinges(x)).T, turning[3 * r : 3 * r + 3])
            parts[at : at + 3] = [spin[k] for k in range(3)]
        return ca.vertcat(*parts)

    def rates(self, theta: Expression, v: Expression) -> Expression:
        """Rates of theta (nv,) from v."""
        parts = [v[k] for k in range(self.robot.nv)]
        for at, _ in self.turns:
            b, d = theta[at + 1], theta[at + 2]
            x, y, z = (v[at + k] for k in range(3))
            first = (ca.cos(d) * x - ca.sin(d) * y) / ca.cos(b)
            second = ca.sin(d) * x + ca.cos(d) * y
            parts[at : at + 3] = [first, second, z - ca.sin(b) * first]
        return ca.vertcat(*parts)

    def link_energy(self, placed: Placed) -> Expression:
        """Kinetic minus potential energy of links in gravity [J]."""
        total = ca.SX(0)
        for i, link in enumerate(self.tree.segments):
            m = float(link["mass"])
            if m == 0.0 and not np.any(link["moments"]):
                continue
            spin = ca.mtimes(placed.R[i].T, placed.omega[i])
            total += 0.5 * m * ca.sumsqr(placed.v[i])
            total += 0.5 * ca.dot(column(link["moments"]), spin**2)
            heavy = float(link["gravitational_mass"])
            total += heavy * ca.dot(column(self.tree.gravity), placed.p[i])
        return total

    def joint_energy(self, theta: Expression, v: Expression) -> Expression:
        """Kinetic energy of rotors minus potential energy of springs [J]."""
        c = self.tree.coordinates
        total = 0.5 * ca.dot(column(c["armature"]), v**2)
        for k, _ in self.plain:
            total -= 0.5 * float(c["stiffness"][k]) * (theta[k] - float(c["rest"][k])) ** 2
        return total

    def pushes(self, v: Expression, u: Expression) -> Expression:
        """Forces along v (nv,) of motors u (nu,) and dampers."""
        total = -column(self.tree.coordinates["damping"]) * v
        for k, at in enumerate(self.robot.actuated):
            total[int(at)] += u[k]
        return total

    def coordinates(self, theta: Expression, bases: list[Expression]) -> Expression:
        """Coordinates q (nq,), with quaternions."""
        parts = [ca.SX(0)] * self.robot.nq
        for k, at in self.plain:
            parts[at] = theta[k]
        for (k, at), base in zip(self.turns, bases, strict=True):
            q = product(base, hinges(theta[k : k + 3]))
            parts[at : at + 4] = [q[j] for j in range(4)]
        return ca.vertcat(*parts)

    def body(self, placed: Placed, index: int) -> tuple[Expression, Expression, int]:
        """Orientation (3, 3) and centre of mass (3,) of a body, and the index of its link."""
        i = self._links[index]
        return ca.mtimes(placed.R[i], column(self.tree.segments[i]["after"])), placed.p[i], i

    @cached_property
    def rows(self) -> int:
        """Number of rows of loops and couplings."""
        return 0 if self.tree.constraints is None else len(self.tree.constraints)

    def closing(self, placed: Placed, theta: Expression) -> Expression:
        """Values (m,) of all rows of loops and couplings [m, sine, or rad]."""
        found = []
        segments = self.tree.segments
        for c in () if self.tree.constraints is None else self.tree.constraints:
            a, b = int(c["a"]), int(c["b"])
            if c["kind"] == COUPLED:
                leads, follows = theta[int(segments[a]["v"])], theta[int(segments[b]["v"])]
                found.append(follows - float(c["ratio"]) * leads - float(c["offset"]))
                continue
            direction = ca.mtimes(placed.R[a], column(c["direction"]))
            on_b = ca.mtimes(placed.R[b], column(c["p_b"]))
            if c["kind"] == SLIDE:
                on_a = placed.p[a] + ca.mtimes(placed.R[a], column(c["p_a"]))
                on_b = placed.p[b] + on_b - on_a
            found.append(ca.dot(direction, on_b))
        return ca.vertcat(*found) if found else ca.SX.zeros(0, 1)
