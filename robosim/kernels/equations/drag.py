"""Drag of bodies: wrenches against their twists [Sueda, Sect. 1.9.1].

With C the drag in world axes at a knot, times dt / 2, a body loses C (v, 2/dt p) at either knot,
where v and the turn P = (e, p) are those of the interval. So a damper of a joint acts, half at
either knot by the mean rate (derivation.md, Sect. 7).
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import cross


@kernel
def find_drags(drags, poses, dt, out):
    """out = the drags of all bodies at `poses`, world axes, times dt / 2."""
    if drags is not None:
        for b in range(drags.shape[0]):
            turn_drag(drags[b].C, poses[b].R, 0.5 * dt, out[b].C)


@kernel
def turn_drag(C, R, scale, out):
    """out (6, 6) = scale diag(R, R) C diag(R, R)^T."""
    for i in range(6):
        for k in range(6):
            total = 0.0
            for m in range(3):
                for n in range(3):
                    part = C[m + 3 * (i // 3), n + 3 * (k // 3)]
                    total += R[i % 3, m] * part * R[k % 3, n]
            out[i, k] = scale * total


@kernel
def subtract_drag(drags, b, motion, dt, out):
    """out (6,) -= what drag at a knot takes from body b, which moves like this."""
    if drags is not None:
        C = drags[b].C
        for i in range(6):
            total = 0.0
            for k in range(3):
                total += C[i, k] * motion.v[k] + C[i, 3 + k] * 2.0 / dt * motion.P[1 + k]
            out[i] -= total


@kernel
def drag_tangent(C, P, out):
    """out (6, 6) = derivative of C (v, 2/dt p) by (d v, psi): d (2/dt p) = e psi - p x psi."""
    for i in range(6):
        for k in range(3):
            out[i, k] = C[i, k]
        # The rows of C (e - [p]x) are e c - c x p.
        cross(C[i, 3:], P[1:], out[i, 3:])
        for k in range(3):
            out[i, 3 + k] = P[0] * C[i, 3 + k] - out[i, 3 + k]


@kernel
def add_drag_block(drags, b, P, t, block):
    """Add the tangent of a body's drag to its block (6, 6) about its centre of mass."""
    if drags is not None:
        drag_tangent(drags[b].C, P, t)
        for i in range(6):
            for k in range(6):
                block[i, k] += t[i, k]


@kernel
def add_drag_at_reference(drags, b, P, rho1, rho2, t, D):
    """The same to its block in a tree, about its reference, from where rho lead to the centre."""
    if drags is not None:
        drag_tangent(drags[b].C, P, t)
        for i in range(6):
            # A turn psi moves the centre by psi x rho2: the row a of forces gives rho2 x a.
            row = t[i]
            a, c, d = row[0], row[1], row[2]
            row[3] += rho2[1] * d - rho2[2] * c
            row[4] += rho2[2] * a - rho2[0] * d
            row[5] += rho2[0] * c - rho2[1] * a
        for k in range(6):
            x, y, z = t[0, k], t[1, k], t[2, k]
            t[3, k] += rho1[1] * z - rho1[2] * y
            t[4, k] += rho1[2] * x - rho1[0] * z
            t[5, k] += rho1[0] * y - rho1[1] * x
            for i in range(6):
                D[i, k] += t[i, k]


@kernel
def take_drag_of(drags, b, P, x, t, out):
    """out (6,) -= what drag takes for the direction x (6,) of body b, at the turn P."""
    if drags is not None:
        drag_tangent(drags[b].C, P, t)
        for i in range(6):
            for k in range(6):
                out[i] -= t[i, k] * x[k]


@kernel
def drag_ahead(drags, poses, motions, dt, C, known):
    """known (nb,) -= what drag takes at the second knot, at `poses`; C (nb,) is scratch."""
    if drags is not None:
        find_drags(drags, poses, dt, C)
        for b in range(drags.shape[0]):
            subtract_drag(C, b, motions[b], dt, known[b].w)


@kernel
def without_drag(drags, b, motion, before, dt, given):
    """Twice the work that is `given` to a body, but for what drag at a knot gives of it."""
    if drags is None:
        return given
    C = drags[b].C
    for i in range(6):
        total = 0.0
        for k in range(3):
            total += C[i, k] * motion.v[k] + C[i, 3 + k] * 2.0 / dt * motion.P[1 + k]
        rate = motion.v[i] if i < 3 else 2.0 / dt * motion.P[i - 2]
        given += total * (rate + before[i])
    return given
