"""Variational dynamics of one rigid body, Eqs. (10) and (16) of [Bruedigam2023].

World axes and impulse units (the printed rotational equation times dt/2, which removes its
factor 2). Over an interval dt a body moves by ``x2 = x1 + dt v`` and turns by the unit
quaternion ``P = (e, p)``, ``q2 = P q1``; its discrete angular velocity is ``2 p / dt``. With
``E = e I + [p]x`` and the world inertia J at the first knot, the angular momentum that enters at
the first knot and leaves unchanged at the second is ``2/dt E J p``. Newton directions are
``(d v, psi)``, psi the rate of a turn of the second knot: ``d q2 = dt/2 psi q2``.
"""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick, somewhere
from robosim.kernels.equations.algebra import (
    dot,
    keep_unit,
    quaternion_product,
    rotation_matrix,
)

FARTHEST = 0.9  # tangent of a quarter of a turn in one step of a search: 168 degrees


@kernel
def angular_momentum(J, P, dt, out):
    """Discrete angular momentum 2/dt E J p, (3,), world axes; derivation.md, Sect. 2."""
    p = P[1:]
    scale = 2.0 / dt
    j0 = J[0, 0] * p[0] + J[0, 1] * p[1] + J[0, 2] * p[2]
    j1 = J[1, 0] * p[0] + J[1, 1] * p[1] + J[1, 2] * p[2]
    j2 = J[2, 0] * p[0] + J[2, 1] * p[1] + J[2, 2] * p[2]
    out[0] = scale * (P[0] * j0 + p[1] * j2 - p[2] * j1)
    out[1] = scale * (P[0] * j1 + p[2] * j0 - p[0] * j2)
    out[2] = scale * (P[0] * j2 + p[0] * j1 - p[1] * j0)


@kernel
def angular_momentum_tangent(J, P, out):
    """Derivative of `angular_momentum` by psi, (3, 3): E J E^T - (p . J p) I - [E J p]x."""
    e, a, b, c = P[0], P[1], P[2], P[3]
    j0 = J[0, 0] * a + J[0, 1] * b + J[0, 2] * c
    j1 = J[1, 0] * a + J[1, 1] * b + J[1, 2] * c
    j2 = J[2, 0] * a + J[2, 1] * b + J[2, 2] * c
    l0 = e * j0 + b * j2 - c * j1
    l1 = e * j1 + c * j0 - a * j2
    l2 = e * j2 + a * j1 - b * j0
    twice_energy = a * j0 + b * j1 + c * j2
    for k in range(3):
        # Column k of E J, then row by row times E^T.
        y0 = e * J[0, k] - c * J[1, k] + b * J[2, k]
        y1 = c * J[0, k] + e * J[1, k] - a * J[2, k]
        y2 = -b * J[0, k] + a * J[1, k] + e * J[2, k]
        out[0, k], out[1, k], out[2, k] = y0, y1, y2
    # The rest is symmetric.
    xx = out[0, 0] * e - out[0, 1] * c + out[0, 2] * b
    xy = out[0, 0] * c + out[0, 1] * e - out[0, 2] * a
    xz = -out[0, 0] * b + out[0, 1] * a + out[0, 2] * e
    yy = out[1, 0] * c + out[1, 1] * e - out[1, 2] * a
    yz = -out[1, 0] * b + out[1, 1] * a + out[1, 2] * e
    zz = -out[2, 0] * b + out[2, 1] * a + out[2, 2] * e
    out[0, 0], out[1, 1], out[2, 2] = xx - twice_energy, yy - twice_energy, zz - twice_energy
    out[0, 1], out[1, 0] = xy + l2, xy - l2
    out[0, 2], out[2, 0] = xz - l1, xz + l1
    out[1, 2], out[2, 1] = yz + l0, yz - l0


@kernel
def turn_by(P_old, psi, scale, out):
    """out = the unit quaternion P_old turned by `scale * psi`, by less where that is far.

    Exact to second order, and needs no root: half of half of the turn has the tangent g.
    """
    quarter = 0.25 * scale
    a, b, c = quarter * psi[0], quarter * psi[1], quarter * psi[2]
    square = a * a + b * b + c * c
    if somewhere(square > FARTHEST * FARTHEST):
        shorter = pick(square > FARTHEST * FARTHEST, FARTHEST / sqrt(square), 1.0)
        a, b, c, square = shorter * a, shorter * b, shorter * c, shorter * shorter * square
    twice = 2.0 / (1.0 + square)
    e, a, b, c = twice - 1.0, twice * a, twice * b, twice * c
    w, x, y, z = P_old[0], P_old[1], P_old[2], P_old[3]
    out[0] = e * w - a * x - b * y - c * z
    out[1] = e * x + a * w + b * z - c * y
    out[2] = e * y + b * w + c * x - a * z
    out[3] = e * z + c * w + a * y - b * x


@kernel
def turn_hinge(Q_old, rate, scale, out):
    """The same for (cosine, sine) of half an angle."""
    g = min(max(0.25 * scale * rate, -FARTHEST), FARTHEST)
    twice = 2.0 / (1.0 + g * g)
    e, a = twice - 1.0, twice * g
    out[0], out[1] = e * Q_old[0] - a * Q_old[1], e * Q_old[1] + a * Q_old[0]


@kernel
def turn_from_rate(omega, dt, out):
    """Unit quaternion of a discrete angular velocity, Eq. (A.14), clipped below half a turn."""
    half = 0.5 * dt
    square = half * half * dot(omega, omega)
    if square > 0.81:
        half *= sqrt(0.81 / square)
        square = 0.81
    out[0] = sqrt(1.0 - square)
    for i in range(3):
        out[i + 1] = half * omega[i]


@kernel
def end_pose(pose1, v, P, dt, pose2):
    """The pose at the second knot, Eqs. (11) and (17)."""
    for i in range(3):
        pose2.x[i] = pose1.x[i] + dt * v[i]
    quaternion_product(P, pose1.q, pose2.q)
    keep_unit(pose2.q)
    rotation_matrix(pose2.q, pose2.R)
