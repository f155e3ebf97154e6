"""Elastic elements between four points of bodies, stable neo-Hookean [Smith2018].

An element has the energy V psi(F) of F = sum x_a g_a^T at the mean of its nodes' places at both
knots. Its impulse on a node, -dt/2 V dpsi/dF g_a, is the same at either knot, where it acts by the
arm that the node has there: derivation.md, Sect. 7. The energy is in `description/soft.py`.
"""

from math import sqrt

from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.equations.algebra import cross, rotate

SWEEPS = 5  # of Jacobi's method, for a 3 x 3 matrix


@aside
def add_element_impulses(elements, own, poses1, poses2, dt, impulses):
    """impulses += those of all elements at the first knot, which `own` keeps."""
    for n in range(elements.shape[0]):
        element, w = elements[n], own[n]
        w.half = 0.5 * dt
        deform(element, poses1, poses2, w)
        strain(element, w)
        for a in range(4):
            add_at_node(w.f[a], w.r1[a], impulses[element.body[a]].w)


@aside
def push_elements(elements, own, known):
    """known += impulses of all elements at the second knot."""
    for n in range(elements.shape[0]):
        element, w = elements[n], own[n]
        for a in range(4):
            add_at_node(w.f[a], w.r2[a], known[element.body[a]].w)


@kernel
def add_at_node(f, arm, out):
    """out (6,) += impulse f at an arm from the centre of mass."""
    for k in range(3):
        out[k] += f[k]
    out[3] += arm[1] * f[2] - arm[2] * f[1]
    out[4] += arm[2] * f[0] - arm[0] * f[2]
    out[5] += arm[0] * f[1] - arm[1] * f[0]


@kernel
def deform(element, poses1, poses2, w):
    """Arms of the nodes at both knots, and w.F of the means of their places."""
    for a in range(4):
        body = element.body[a]
        rotate(poses1[body].R, element.p[a], w.r1[a])
        rotate(poses2[body].R, element.p[a], w.r2[a])
        for k in range(3):
            at = poses1[body].x[k] + w.r1[a, k] + poses2[body].x[k] + w.r2[a, k]
            # From the first node, so that rounding does not grow with how far away it all is.
            w.x[a, k] = 0.5 * at if a == 0 else 0.5 * at - w.x[0, k]
    for i in range(3):
        for j in range(3):
            w.F[i, j] = (
                w.x[1, i] * element.g[1, j]
                + w.x[2, i] * element.g[2, j]
                + w.x[3, i] * element.g[3, j]
            )


@kernel
def strain(element, w):
    """w.h = F g_a, w.c = cofactors of F times g_a, and the impulses w.f on the nodes."""
    F = w.F
    cross(F[1], F[2], w.C[0])
    cross(F[2], F[0], w.C[1])
    cross(F[0], F[1], w.C[2])
    w.J = F[0, 0] * w.C[0, 0] + F[0, 1] * w.C[0, 1] + F[0, 2] * w.C[0, 2]
    square = 0.0
    for i in range(3):
        for j in range(3):
            square += F[i, j] * F[i, j]
    w.once = 1.0 / (square + 1.0)
    w.shear = element.mu * (1.0 - w.once)
    w.press = element.lam * (w.J - element.alpha)
    for a in range(4):
        for i in range(3):
            h, c = 0.0, 0.0
            for j in range(3):
                h += F[i, j] * element.g[a, j]
                c += w.C[i, j] * element.g[a, j]
            w.h[a, i], w.c[a, i] = h, c
            w.f[a, i] = -w.half * element.volume * (w.shear * h + w.press * c)


@aside
def add_element_blocks(elements, own, nb, blocks):
    """How the impulses at the first knot answer to motions, into blocks of pairs of bodies."""
    for n in range(elements.shape[0]):
        element, w = elements[n], own[n]
        stiffen(element, w)
        for a in range(4):
            for b in range(4):
                if element.body[a] < nb and element.body[b] < nb:
                    block, K = blocks[element.block[a, b]].F, w.K[3 * a :, 3 * b :]
                    if element.arms != 0:
                        add_node_block(K, w.r1[a], w.r2[b], block)
                        continue
                    for i in range(3):
                        for k in range(3):
                            block[i, k] += K[i, k]


@kernel
def stiffen(element, w):
    """w.K (12, 12): minus the derivatives of the impulses by the nodes' velocities.

    That is dt^2 / 4 times the Hessian of the energy, which need not be positive. So much of the
    identity is added to that of psi as it lacks, but for what masses of the nodes make up for.
    """
    least = least_curvature(element, w)
    square = 4.0 * w.half * w.half
    shift = max(0.0, -least - 0.5 * element.ease / square)
    scale, bent = w.half * w.half * element.volume, 2.0 * element.mu * w.once * w.once
    for a in range(4):
        for b in range(a, 4):
            inner = 0.0
            for j in range(3):
                inner += element.g[a, j] * element.g[b, j]
            for i in range(3):
                for k in range(3):
                    value = bent * w.h[a, i] * w.h[b, k] + element.lam * w.c[a, i] * w.c[b, k]
                    w.K[3 * a + i, 3 * b + k] = scale * value
                w.K[3 * a + i, 3 * b + i] += scale * (w.shear + shift) * inner
            # The derivative of the cofactors: a turn by F (g_a x g_b).
            cross(element.g[a], element.g[b], w.y)
            rotate(w.F, w.y, w.z)
            turn = scale * w.press
            w.K[3 * a, 3 * b + 1] += turn * w.z[2]
            w.K[3 * a + 1, 3 * b + 2] += turn * w.z[0]
            w.K[3 * a + 2, 3 * b] += turn * w.z[1]
            w.K[3 * a + 1, 3 * b] -= turn * w.z[2]
            w.K[3 * a + 2, 3 * b + 1] -= turn * w.z[0]
            w.K[3 * a, 3 * b + 2] -= turn * w.z[1]
            for i in range(3):
                for k in range(3):
                    w.K[3 * b + k, 3 * a + i] = w.K[3 * a + i, 3 * b + k]


@kernel
def least_curvature(element, w):
    """The least eigenvalue of the Hessian of psi by F [Smith2019].

    Six belong to turns of two axes, at most the largest stretch times the pressure below the shear
    part. Three belong to stretches along the axes.
    """
    for i in range(3):
        for j in range(3):
            w.S[i, j] = w.F[0, i] * w.F[0, j] + w.F[1, i] * w.F[1, j] + w.F[2, i] * w.F[2, j]
    diagonalize(w.S)
    least = 0
    for i in range(1, 3):
        if w.S[i, i] < w.S[least, least]:
            least = i
    for i in range(3):
        w.y[i] = sqrt(max(w.S[i, i], 0.0))
    if w.J < 0.0:
        w.y[least] = -w.y[least]
    s, bent = w.y, 2.0 * element.mu * w.once * w.once
    turning = w.shear - abs(w.press) * max(abs(s[0]), abs(s[1]), abs(s[2]))
    for i in range(3):
        for j in range(3):
            pair = s[(i + 1) % 3] * s[(i + 2) % 3] * s[(j + 1) % 3] * s[(j + 2) % 3]
            w.S[i, j] = bent * s[i] * s[j] + element.lam * pair
            if i == j:
                w.S[i, j] += w.shear
            else:
                w.S[i, j] += w.press * s[3 - i - j]
    diagonalize(w.S)
    return min(turning, w.S[0, 0], w.S[1, 1], w.S[2, 2])


@kernel
def diagonalize(S):
    """Eigenvalues of a symmetric (3, 3) onto its diagonal, by Jacobi's rotations."""
    for _ in range(SWEEPS):
        for p in range(2):
            for q in range(p + 1, 3):
                size = abs(S[p, p]) + abs(S[q, q])
                if abs(S[p, q]) > 1e-13 * size:
                    away = (S[q, q] - S[p, p]) / (2.0 * S[p, q])
                    t = 1.0 / (abs(away) + sqrt(away * away + 1.0))
                    if away < 0.0:
                        t = -t
                    c = 1.0 / sqrt(t * t + 1.0)
                    k = 3 - p - q
                    x, y = S[p, k], S[q, k]
                    S[p, p] -= t * S[p, q]
                    S[q, q] += t * S[p, q]
                    S[p, q] = S[q, p] = 0.0
                    S[p, k] = S[k, p] = c * (x - t * y)
                    S[q, k] = S[k, q] = c * (y + t * x)


@kernel
def add_node_block(K, arm1, arm2, block):
    """block (6, 6) += (1, [arm1]x)^T K (1, -[arm2]x) for the first (3, 3) of K."""
    for k in range(3):
        add_node_column(K[0, k], K[1, k], K[2, k], arm1, k, block)
        # A turn along axis k moves a node at arm2 by e_k x arm2.
        u, v = (k + 1) % 3, (k + 2) % 3
        x = K[0, v] * arm2[u] - K[0, u] * arm2[v]
        y = K[1, v] * arm2[u] - K[1, u] * arm2[v]
        z = K[2, v] * arm2[u] - K[2, u] * arm2[v]
        add_node_column(x, y, z, arm1, 3 + k, block)


@kernel
def add_node_column(x, y, z, arm, k, block):
    """Column k of a block += force (x, y, z) at an arm."""
    block[0, k] += x
    block[1, k] += y
    block[2, k] += z
    block[3, k] += arm[1] * z - arm[2] * y
    block[4, k] += arm[2] * x - arm[0] * z
    block[5, k] += arm[0] * y - arm[1] * x


@aside
def take_element_answers(elements, own, nb, motions, out):
    """out -= what elements answer to motions of their bodies, as `add_element_blocks` has it."""
    for n in range(elements.shape[0]):
        element, w = elements[n], own[n]
        for b in range(4):
            arm, moved = w.r2[b], motions[element.body[b]].w
            for k in range(3):
                w.x[b, k] = 0.0
            if element.body[b] < nb:
                cross(moved[3:], arm, w.x[b])
                for k in range(3):
                    w.x[b, k] += moved[k]
        for a in range(4):
            if element.body[a] < nb:
                for i in range(3):
                    w.z[i] = 0.0
                    for b in range(4):
                        for k in range(3):
                            w.z[i] -= w.K[3 * a + i, 3 * b + k] * w.x[b, k]
                add_at_node(w.z, w.r1[a], out[element.body[a]].w)
