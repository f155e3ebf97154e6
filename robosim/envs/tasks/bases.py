"""Motion of floating bases in their own axes, for tasks: of row i of arrays."""

from __future__ import annotations

import numpy as np

from robosim.kernels.compiler.content import row


@row
def look_from_base(q, v, i, out):  # type: ignore[no-untyped-def]
    """Velocity, turning rate and direction of gravity of row i in axes of its base, out (9,)."""
    a, x, y, z = q[i, 3], q[i, 4], q[i, 5], q[i, 6]
    u = v[i]
    out[0] = (1 - 2 * (y * y + z * z)) * u[0] + 2 * (x * y + a * z) * u[1]
    out[0] += 2 * (x * z - a * y) * u[2]
    out[1] = 2 * (x * y - a * z) * u[0] + (1 - 2 * (x * x + z * z)) * u[1]
    out[1] += 2 * (y * z + a * x) * u[2]
    out[2] = 2 * (x * z + a * y) * u[0] + 2 * (y * z - a * x) * u[1]
    out[2] += (1 - 2 * (x * x + y * y)) * u[2]
    out[3:6] = u[3:6]
    out[6] = -2 * (x * z - a * y)
    out[7] = -2 * (y * z + a * x)
    out[8] = -(1 - 2 * (x * x + y * y))


@row
def pull_from_base(q, v, i, by, out_q, out_v):  # type: ignore[no-untyped-def]
    """Add derivatives by the pose, in the tangent space, and velocity; ``by`` (9,) as they look."""
    a, x, y, z = q[i, 3], q[i, 4], q[i, 5], q[i, 6]
    R = np.empty((3, 3))
    R[0, 0], R[0, 1], R[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - a * z), 2 * (x * z + a * y)
    R[1, 0], R[1, 1], R[1, 2] = 2 * (x * y + a * z), 1 - 2 * (x * x + z * z), 2 * (y * z - a * x)
    R[2, 0], R[2, 1], R[2, 2] = 2 * (x * z - a * y), 2 * (y * z + a * x), 1 - 2 * (x * x + y * y)
    for k in range(3):
        out_v[k] += R[k, 0] * by[0] + R[k, 1] * by[1] + R[k, 2] * by[2]
        out_v[3 + k] += by[3 + k]
        m, n = (k + 1) % 3, (k + 2) % 3
        # A turn d in axes of the base changes what is seen as w by w x d.
        w_m = R[0, m] * v[i, 0] + R[1, m] * v[i, 1] + R[2, m] * v[i, 2]
        w_n = R[0, n] * v[i, 0] + R[1, n] * v[i, 1] + R[2, n] * v[i, 2]
        out_q[3 + k] += by[m] * w_n - by[n] * w_m
        out_q[3 + k] += by[6 + n] * R[2, m] - by[6 + m] * R[2, n]


@row
def upright(q, i):  # type: ignore[no-untyped-def]
    """Cosine of the tilt of row i's base: 1 if it is upright."""
    x, y = q[i, 4], q[i, 5]
    return 1 - 2 * (x * x + y * y)


@row
def turn_to(yaw, quaternion):  # type: ignore[no-untyped-def]
    """A turn [rad] about z, into quaternion (4,)."""
    quaternion[0], quaternion[1], quaternion[2] = np.cos(yaw / 2), 0.0, 0.0
    quaternion[3] = np.sin(yaw / 2)
