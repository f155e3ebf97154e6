"""Drag of bodies: wrenches against their twists [Sueda, Sect. 1.9.1].

With C the drag in world axes at a knot, times dt / 2, a body loses C (v, 2/dt p) at either knot,
where v and the turn P = (e, p) are those of the interval. So a damper of a joint acts, half at
either knot by the mean rate (derivation.md, Sect. 7).
"""

from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import cross


@aside
def find_drags(drags, poses, dt, out):
    """out = all drags at `poses` of their bodies, world axes, times dt / 2."""
    for n in range(drags.shape[0]):
        turn_drag(drags[n].C, poses[drags[n].body].R, 0.5 * dt, out[n].C)


@aside
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


@aside
def subtract_drags(drags, motions, dt, out):
    """out -= what drags at a knot take from their bodies, which move like this."""
    for n in range(drags.shape[0]):
        C, b = drags[n].C, drags[n].body
        motion, left = motions[b], out[b].w
        for i in range(6):
            total = 0.0
            for k in range(3):
                total += C[i, k] * motion.v[k] + C[i, 3 + k] * 2.0 / dt * motion.P[1 + k]
            left[i] -= total


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


@aside
def add_drag_blocks(drags, motions, t, blocks):
    """Add the tangents of drags to the blocks F of their bodies about the centres of mass."""
    for n in range(drags.shape[0]):
        b = drags[n].body
        drag_tangent(drags[n].C, motions[b].P, t)
        block = blocks[b].F
        for i in range(6):
            for k in range(6):
                block[i, k] += t[i, k]


@aside
def add_drags_at_references(drags, motions, t, tree):
    """The same to the blocks D of a tree, about references, from where rho lead to the centres."""
    for n in range(drags.shape[0]):
        b = drags[n].body
        w = tree[b]
        rho1, rho2, D = w.rho1, w.rho2, w.D
        drag_tangent(drags[n].C, motions[b].P, t)
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


@aside
def take_drags(drags, motions, x, t, out):
    """out -= what drags take for the directions x of their bodies, at the turns of `motions`."""
    for n in range(drags.shape[0]):
        b = drags[n].body
        drag_tangent(drags[n].C, motions[b].P, t)
        direction, left = x[b].w, out[b].w
        for i in range(6):
            for k in range(6):
                left[i] -= t[i, k] * direction[k]


@aside
def drag_ahead(drags, poses, motions, dt, C, known):
    """known (nb,) -= what drag takes at the second knot, at `poses`; C is as `drags`, scratch."""
    find_drags(drags, poses, dt, C)
    subtract_drags(C, motions, dt, known)


@aside
def work_of_drags(drags, bodies, motions, knots, dt):
    """Twice the work that drags at the first knot do, by the motions before and after it."""
    total = 0.0
    for n in range(drags.shape[0]):
        C, b = drags[n].C, drags[n].body
        motion, before = motions[b], knots[b].v_mid
        for i in range(6):
            push = 0.0
            for k in range(3):
                push += C[i, k] * motion.v[k] + C[i, 3 + k] * 2.0 / dt * motion.P[1 + k]
            rate = motion.v[i] if i < 3 else 2.0 / dt * motion.P[i - 2]
            total -= bodies[b].share * push * (rate + before[i])
    return total
