"""The logarithm of a motion, and the momentum of the mean twist that it gives.

A link's action over a step is x^T G x / (2 dt), with x = log(dT) in its frame at the beginning. Its
derivative by a twist of dT is mu = dexp^-1(x)^T G x / dt [Lee2016, Eq. 21b], with

    dexp^-1(x) = 1 - ad(x) / 2 + c2 ad(x)^2 + c4 ad(x)^4

whose factors follow from half the angle times its cotangent, g, by t = angle^2.
"""

from math import atan2, cos, sin, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, turned_back
from robosim.kernels.minimal.twists import bracket_back

# |B_2n| / (2 n)!, Bernoulli's numbers, for n from 1.
SERIES = (
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000, 43867 / 5109094217170944000, 174611 / 802857662698291200000,
)  # fmt: skip


@kernel
def cotangent_factors(t):
    """(1 - g) / t, c2, c4 and the slopes of c2 and c4, by t = angle^2."""
    if t < 1.0:
        beta = c2 = c4 = d2 = d4 = 0.0
        for back in range(len(SERIES)):
            n = len(SERIES) - back  # of b_n t^(n - 1) in beta
            b = SERIES[n - 1]
            beta = beta * t + b
            # c2 = sum (2 - n) b_n t^(n - 1), c4 = sum (1 - n) b_n t^(n - 2)
            c2 = c2 * t + (2 - n) * b
            if n >= 2:
                c4 = c4 * t + (1 - n) * b
                d2 = d2 * t + (n - 1) * (2 - n) * b
            if n >= 3:
                d4 = d4 * t + (n - 2) * (1 - n) * b
        return beta, c2, c4, d2, d4
    half = 0.5 * sqrt(t)
    g = half * cos(half) / sin(half)
    y = g - 1.0
    first = (g - g * g - 0.25 * t) / (2.0 * t)  # slopes of g by t
    second = (first * (1.0 - 2.0 * g) - 0.25) / (2.0 * t) - first / t
    c4 = (first - y / t) / t
    d2 = second - 2.0 * first / t + 2.0 * y / (t * t)
    d4 = (second - first / t + y / (t * t) - c4) / t
    return -y / t, first - 2.0 * y / t, c4, d2, d4


@kernel
def find_chord(begin, end, chord):
    """chord.x = log of the motion from one place of a link to another; chord.c."""
    A, B, x, c = begin.R, end.R, chord.x, chord.c
    # Rotation vector of A^T B: its sine from the part that is not symmetric, its cosine from the
    # trace.
    sa = sb = sc = trace = 0.0
    for i in range(3):
        trace += A[i, 0] * B[i, 0] + A[i, 1] * B[i, 1] + A[i, 2] * B[i, 2]
        sa += 0.5 * (A[i, 2] * B[i, 1] - A[i, 1] * B[i, 2])
        sb += 0.5 * (A[i, 0] * B[i, 2] - A[i, 2] * B[i, 0])
        sc += 0.5 * (A[i, 1] * B[i, 0] - A[i, 0] * B[i, 1])
    sine = sqrt(sa * sa + sb * sb + sc * sc)
    angle = atan2(sine, 0.5 * (trace - 1.0))
    scale = angle / sine if sine > 1e-9 else 1.0
    u, v, w = scale * sa, scale * sb, scale * sc
    p, q = begin.p, end.p
    d, e, f = turned_back(A, q[0] - p[0], q[1] - p[1], q[2] - p[2])
    beta, c[0], c[1], c[2], c[3] = cotangent_factors(u * u + v * v + w * w)
    j, k, l = crossed(u, v, w, d, e, f)  # noqa: E741
    m, n, o = crossed(u, v, w, j, k, l)
    x[0], x[1], x[2] = d - 0.5 * j + beta * m, e - 0.5 * k + beta * n, f - 0.5 * l + beta * o
    x[3], x[4], x[5] = u, v, w


@kernel
def chord_momentum(link, chord, dt, out):
    """out = mu, in the link's frame at the beginning; leaves the powers of ad(x)^T."""
    x, z, c, per = chord.x, chord.z, chord.c, 1.0 / dt
    for i in range(3):
        z[0, i], z[0, 3 + i] = per * link.mass * x[i], per * link.moments[i] * x[3 + i]
    for n in range(4):
        bracket_back(x, z[n], z[n + 1])
    for i in range(6):
        out[i] = z[0, i] - 0.5 * z[1, i] + c[0] * z[2, i] + c[1] * z[4, i]


@kernel
def chord_answer(link, chord, dt, out):
    """out (6, 6) = derivative of mu and of half of the drag's impulse, by twists of the end.

    Of the end as seen in the frame at the beginning; after `chord_momentum`.
    """
    x, z, c, D, E = chord.x, chord.z, chord.c, chord.D, chord.E
    # Columns of the derivatives of z[n] by x, one power after the other.
    for i in range(6):
        for k in range(6):
            D[i, k] = 0.0
            out[i, k] = 0.5 * link.drag[i, k]
    for i in range(3):
        D[i, i], D[3 + i, 3 + i] = link.mass / dt, link.moments[i] / dt
    for n in range(5):
        part = 1.0 if n == 0 else (-0.5 if n == 1 else (c[0] if n == 2 else c[1]))
        if n != 3:
            for i in range(6):
                for k in range(6):
                    out[i, k] += part * D[i, k]
        if n < 4:
            raise_power(x, z[n], D, E)
            for i in range(6):
                for k in range(6):
                    D[i, k] = E[i, k]
    for i in range(6):
        slope = 2.0 * (c[2] * z[2, i] + c[3] * z[4, i])
        for k in range(3):
            out[i, 3 + k] += slope * x[3 + k]
    # Times dexp^-1(x), row by row.
    for i in range(6):
        for k in range(6):
            D[0, k] = out[i, k]
        for n in range(4):
            bracket_back(x, D[n], D[n + 1])
        for k in range(6):
            out[i, k] = D[0, k] - 0.5 * D[1, k] + c[0] * D[2, k] + c[1] * D[4, k]


@kernel
def raise_power(x, z, D, out):
    """out = derivative of ad(x)^T z by x, where D is that of z."""
    for k in range(6):
        F, G, H = D[0, k], D[1, k], D[2, k]
        L, M, N = D[3, k], D[4, k], D[5, k]
        a, b, c = crossed(F, G, H, x[3], x[4], x[5])
        d, e, f = crossed(F, G, H, x[0], x[1], x[2])
        g, h, i = crossed(L, M, N, x[3], x[4], x[5])
        out[0, k], out[1, k], out[2, k] = a, b, c
        out[3, k], out[4, k], out[5, k] = d + g, e + h, f + i
    # ad(dx)^T z: [F] dw in the forces, [F] dv + [N] dw in the moments.
    for first, row, column in ((0, 0, 3), (0, 3, 0), (3, 3, 3)):
        a, b, c = z[first], z[first + 1], z[first + 2]
        out[row, column + 1] -= c
        out[row, column + 2] += b
        out[row + 1, column] += c
        out[row + 1, column + 2] -= a
        out[row + 2, column] -= b
        out[row + 2, column + 1] += a
