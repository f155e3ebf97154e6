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
def upright(q, i):  # type: ignore[no-untyped-def]
    """Cosine of the tilt of row i's base: 1 if it is upright."""
    x, y = q[i, 4], q[i, 5]
    return 1 - 2 * (x * x + y * y)


@row
def turn_to(yaw, quaternion):  # type: ignore[no-untyped-def]
    """A turn [rad] about z, into quaternion (4,)."""
    quaternion[0], quaternion[1], quaternion[2] = np.cos(yaw / 2), 0.0, 0.0
    quaternion[3] = np.sin(yaw / 2)
