"""Factors of a chart Q(q): motions along a twist, by a rotation vector, or along splines.

A motion g has G = [g^-1 dg/dq], whose columns are twists in the axes after the motion.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from robosim import quaternions, se3
from robosim.validation import Array

# Uniform cubic B-splines: weights of four control points by powers of q [Sueda, Eq. 2.61].
BASIS = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6.0
CUMULATIVE = np.cumsum(BASIS[::-1], axis=0)[::-1]  # [Sueda, Eq. 2.65]


class Factor(NamedTuple):
    """One factor of a chart, in the form that kernels read.

    The kinds are: exp(q twist); a constant pose; exp([q]) of three coordinates; the frame of a
    spline along a curve; and one of the motions of a spline over a surface.
    """

    kind: Literal["along", "stays", "turn", "curve", "surface"]
    first: int  # index of its first coordinate in the joint
    twist: Array  # (6,) for ALONG and SURFACE
    numbers: Array  # (n,) for the other kinds
    counts: tuple[int, int] = (0, 0)  # numbers of control points along both coordinates
    periodic: bool = False


def matrix_of(frame: Array) -> Array:
    """E (4, 4) of a frame (7,): position, quaternion."""
    return se3.transformation(quaternions.rotation_matrix(frame[3:]), frame[:3])


def segment(q: float, count: int, periodic: bool) -> tuple[int, float]:
    """The first of the four control points at a coordinate, and the distance from there."""
    begin = int(np.floor(q))
    if not periodic:
        begin = min(max(begin, 0), count - 4)
    return begin, q - begin


def motions_of(factor: Factor, q: Array) -> list[tuple[Array, Array, Array]]:
    """Motions g (4, 4) of a factor, each with G = [g^-1 dg/dq] (6, n) and its derivatives by q."""
    n, k = len(q), factor.first
    G, dG = np.zeros((6, n)), np.zeros((6, n, n))
    if factor.kind == "stays":
        return [(matrix_of(factor.numbers), G, dG)]
    if factor.kind == "along":
        G[:, k] = factor.twist
        return [(se3.exp(q[k] * factor.twist), G, dG)]
    if factor.kind == "turn":
        own = slice(k, k + 3)
        G[3:, own], dG[3:, own, own] = _turn(q[own])
        return [(se3.exp(np.concatenate((np.zeros(3), q[own]))), G, dG)]
    if factor.kind == "curve":
        return _curve(factor, q)
    i, u = segment(q[k], factor.counts[0], False)
    j, w = segment(q[k + 1], factor.counts[1], False)
    controls = factor.numbers.reshape(factor.counts)[i : i + 4, j : j + 4]
    a, b = (_powers(x) @ BASIS.T for x in (u, w))  # rows: values, first and second derivatives
    f = a @ controls @ b.T
    G[:, k], G[:, k + 1] = factor.twist * f[1, 0], factor.twist * f[0, 1]
    for (row, column), value in {(0, 0): f[2, 0], (0, 1): f[1, 1], (1, 1): f[0, 2]}.items():
        dG[:, k + row, k + column] = dG[:, k + column, k + row] = factor.twist * value
    return [(se3.exp(f[0, 0] * factor.twist), G, dG)]


def _curve(factor: Factor, q: Array) -> list[tuple[Array, Array, Array]]:
    n, k, count = len(q), factor.first, factor.counts[0]
    rows = factor.numbers.reshape(count, 13)
    begin, u = segment(q[k], count, factor.periodic)
    values = _powers(u) @ CUMULATIVE.T
    found = [(matrix_of(rows[begin % count, :7]), np.zeros((6, n)), np.zeros((6, n, n)))]
    for i in range(1, 4):
        twist, (f, slope, curvature) = rows[(begin + i - 1) % count, 7:], values[:, i]
        G, dG = np.zeros((6, n)), np.zeros((6, n, n))
        G[:, k], dG[:, k, k] = twist * slope, twist * curvature
        found.append((se3.exp(f * twist), G, dG))
    return found


def _powers(u: float) -> Array:
    """1, u, u^2, u^3 with first and second derivatives, (3, 4)."""
    return np.array([[1, u, u * u, u**3], [0, 1, 2 * u, 3 * u * u], [0, 0, 2, 6 * u]])


def _turn(q: Array) -> tuple[Array, Array]:
    """J (3, 3) with ``R^T dR/dt = [J dq/dt]`` for R = exp([q]), and dJ/dq (3, 3, 3)."""
    square = float(q @ q)
    b, c, db, dc = turn_series(square) if square < 0.1 else turn_factors(square)
    W = se3.cross_matrix(q)
    J, slopes = np.eye(3) - b * W + c * W @ W, np.zeros((3, 3, 3))
    for i in range(3):
        E = se3.cross_matrix(np.eye(3)[i])
        slopes[:, :, i] = -b * E + c * (E @ W + W @ E) + q[i] * (-db * W + dc * W @ W)
    return J, slopes


def turn_factors(square: float) -> tuple[float, float, float, float]:
    """(1 - cos x) / x^2, (x - sin x) / x^3, and their derivatives by x over x, for x^2."""
    x = float(np.sqrt(square))
    a, b = np.sin(x) / x, 2 * np.sin(0.5 * x) ** 2 / square
    c = (1 - a) / square
    return b, c, (a - 2 * b) / square, (b - 3 * c) / square


def turn_series(y: float) -> tuple[float, float, float, float]:
    """The same by power series in y = x^2."""

    def series(*terms: float) -> float:
        return float(np.polynomial.polynomial.polyval(y, terms))

    return (
        series(1 / 2, -1 / 24, 1 / 720, -1 / 40320, 1 / 3628800, -1 / 479001600),
        series(1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800, -1 / 6227020800),
        series(-1 / 12, 1 / 180, -1 / 6720, 1 / 453600, -1 / 47900160),
        series(-1 / 60, 1 / 1260, -1 / 60480, 1 / 4989600, -1 / 622702080),
    )
