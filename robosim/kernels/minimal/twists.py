"""Products of twists x = (v, w) and wrenches f = (F, N), six numbers each, and motions exp(x S)."""

from math import cos, sin, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, turned, turned_back


@kernel
def bracket_back(x, f, out):
    """out = ad(x)^T f = (F x w, F x v + N x w)."""
    a, b, c = crossed(f[0], f[1], f[2], x[0], x[1], x[2])
    d, e, g = crossed(f[3], f[4], f[5], x[3], x[4], x[5])
    out[0], out[1], out[2] = crossed(f[0], f[1], f[2], x[3], x[4], x[5])
    out[3], out[4], out[5] = a + d, b + e, c + g


@kernel
def size6(a, b):
    """Sum of the sizes of what a . b is the sum of."""
    total = 0.0
    for i in range(6):
        total += abs(a[i] * b[i])
    return total


@kernel
def screw(S, x):
    """exp(x S): its rotation row by row and its translation, 12 numbers."""
    a, b, c = S[3], S[4], S[5]
    d, e, f = S[0], S[1], S[2]
    square = a * a + b * b + c * c
    if square == 0.0:
        return 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, x * d, x * e, x * f
    rate = sqrt(square)
    angle = rate * x
    sine, half = sin(angle) / rate, sin(0.5 * angle)
    twice = 2.0 * half * half / square  # (1 - cos) / rate^2
    late = (x - sine) / square
    cosine = cos(angle)
    j, k, l = crossed(a, b, c, d, e, f)  # noqa: E741
    m, n, o = crossed(a, b, c, j, k, l)
    return (
        cosine + twice * a * a, twice * a * b - sine * c, twice * a * c + sine * b,
        twice * a * b + sine * c, cosine + twice * b * b, twice * b * c - sine * a,
        twice * a * c - sine * b, twice * b * c + sine * a, cosine + twice * c * c,
        x * d + twice * j + late * m, x * e + twice * k + late * n, x * f + twice * l + late * o,
    )  # fmt: skip


@kernel
def move_frame(R, S, x, out, p):
    """(out, p) = (R, p) exp(x S)."""
    a, b, c, d, e, f, g, h, i, x, y, z = screw(S, x)
    out[0, 0], out[1, 0], out[2, 0] = turned(R, a, d, g)
    out[0, 1], out[1, 1], out[2, 1] = turned(R, b, e, h)
    out[0, 2], out[1, 2], out[2, 2] = turned(R, c, f, i)
    x, y, z = turned(R, x, y, z)
    p[0], p[1], p[2] = p[0] + x, p[1] + y, p[2] + z


@kernel
def world_twist(R, p, x, out):
    """out = a twist x in a frame, in world axes about the origin."""
    a, b, c = turned(R, x[3], x[4], x[5])
    d, e, f = turned(R, x[0], x[1], x[2])
    g, h, i = crossed(p[0], p[1], p[2], a, b, c)
    out[0], out[1], out[2], out[3], out[4], out[5] = d + g, e + h, f + i, a, b, c


@kernel
def link_twist(R, p, V, out):
    """out = a twist V in world axes about the origin, in a frame: `world_twist` back."""
    a, b, c = crossed(V[3], V[4], V[5], p[0], p[1], p[2])
    out[0], out[1], out[2] = turned_back(R, V[0] + a, V[1] + b, V[2] + c)
    out[3], out[4], out[5] = turned_back(R, V[3], V[4], V[5])


@kernel
def world_wrench(R, p, f, out):
    """out = a wrench f in a frame, in world axes about the origin."""
    a, b, c = turned(R, f[0], f[1], f[2])
    d, e, g = turned(R, f[3], f[4], f[5])
    h, i, j = crossed(p[0], p[1], p[2], a, b, c)
    out[0], out[1], out[2], out[3], out[4], out[5] = a, b, c, d + h, e + i, g + j


@kernel
def world_answer(R, p, K):
    """K, which leads twists in a frame to wrenches in it, in world axes about the origin."""
    for k in range(6):
        a, b, c = turned(R, K[0, k], K[1, k], K[2, k])
        d, e, g = turned(R, K[3, k], K[4, k], K[5, k])
        h, i, j = crossed(p[0], p[1], p[2], a, b, c)
        K[0, k], K[1, k], K[2, k], K[3, k], K[4, k], K[5, k] = a, b, c, d + h, e + i, g + j
    for k in range(6):
        a, b, c = turned(R, K[k, 0], K[k, 1], K[k, 2])
        d, e, g = turned(R, K[k, 3], K[k, 4], K[k, 5])
        h, i, j = crossed(p[0], p[1], p[2], a, b, c)
        K[k, 0], K[k, 1], K[k, 2], K[k, 3], K[k, 4], K[k, 5] = a, b, c, d + h, e + i, g + j
