"""Where links are and how they move at a control point."""

from math import cos, sin

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import (
    normalize_quaternion,
    quaternion_product,
    rotation_matrix,
)
from robosim.kernels.equations.vectors import bracket, crossed, turned, turned_back
from robosim.kernels.minimal.twists import move_frame, world_twist


@kernel
def find_bases(on):
    """Frames of links in their parents' where coordinates are those of the knot."""
    q = on.state.q
    for i in range(on.work.bases.shape[0]):
        link, base = on.model.segments[i], on.work.bases[i]
        for j in range(3):
            base.p[j] = link.p[j]
        if link.v < 0 or link.turn > 1:
            copy_matrix(link.R, base.R)
        elif link.turn == 1:
            at, t = link.q, on.work.quaternion
            for j in range(4):
                t[0, j] = q[at + j]
            normalize_quaternion(t[0])
            node = on.work.nodes[0, i]
            rotation_matrix(t[0], node.T)
            multiply(link.R, node.T, base.R)
        else:
            move_frame(link.R, link.S, q[link.q], base.R, base.p)


@kernel
def copy_matrix(A, out):
    """out = A, (3, 3)."""
    for i in range(3):
        for k in range(3):
            out[i, k] = A[i, k]


@kernel
def multiply(A, B, out):
    """out = A B, (3, 3)."""
    for k in range(3):
        out[0, k], out[1, k], out[2, k] = turned(A, B[0, k], B[1, k], B[2, k])


@kernel
def place_segment(link, base, parent, own, x):
    """Frame of a link at its coordinate x, and its twist by this."""
    multiply(parent.R, base.R, own.T)
    a, b, c = turned(parent.R, base.p[0], base.p[1], base.p[2])
    own.p[0], own.p[1], own.p[2] = parent.p[0] + a, parent.p[1] + b, parent.p[2] + c
    if x == 0.0:
        copy_matrix(own.T, own.R)
    else:
        move_frame(own.T, link.S, x, own.R, own.p)
    world_twist(own.R, own.p, link.S, own.S)


@kernel
def move_segment(parent, own, rate):
    """Twist of a link, and the rate of that by its coordinate."""
    for i in range(6):
        own.V[i] = parent.V[i] + rate * own.S[i]
    bracket(own.V, own.S, own.rate)


@kernel
def place_at_knot(on):
    """Bases and nodes[0], about where the first body is."""
    work, n = on.work, on.work.bases.shape[0]
    find_bases(on)
    world, origin = work.nodes[0, n], work.origin
    for i in range(3):
        world.p[i] = 0.0
    first = -1
    for i in range(n):
        link = on.model.segments[i]
        place_segment(link, work.bases[i], work.nodes[0, link.parent], work.nodes[0, i], 0.0)
        if first < 0 and link.body >= 0:
            first = i
    for i in range(3):
        origin[i] = work.nodes[0, first].p[i]
    for a in range(work.nodes.shape[0]):
        for i in range(3):
            work.nodes[a, n].p[i] = -origin[i]
    for i in range(n):
        link = on.model.segments[i]
        place_segment(link, work.bases[i], work.nodes[0, link.parent], work.nodes[0, i], 0.0)


@kernel
def momentum_of(link, own, V, out):
    """out = momentum of a link alone that moves by a twist V."""
    p, m, M = own.p, link.mass, link.moments
    a, b, c = crossed(V[3], V[4], V[5], p[0], p[1], p[2])
    a, b, c = m * (V[0] + a), m * (V[1] + b), m * (V[2] + c)
    x, y, z = turned_back(own.R, V[3], V[4], V[5])
    x, y, z = turned(own.R, M[0] * x, M[1] * y, M[2] * z)
    d, e, f = crossed(p[0], p[1], p[2], a, b, c)
    out[0], out[1], out[2], out[3], out[4], out[5] = a, b, c, x + d, y + e, z + f


@kernel
def add_inertia(link, own, scale, N):
    """N (6, 6) += scale times the inertia of a link, which leads twists to momenta."""
    m, M, R = scale * link.mass, link.moments, own.R
    x, y, z = own.p[0], own.p[1], own.p[2]
    for i in range(3):
        N[i, i] += m
        for k in range(3):
            total = 0.0
            for j in range(3):
                total += R[i, j] * M[j] * R[k, j]
            N[3 + i, 3 + k] += scale * total
    N[3, 3] += m * (y * y + z * z)
    N[4, 4] += m * (x * x + z * z)
    N[5, 5] += m * (x * x + y * y)
    N[3, 4] -= m * x * y
    N[4, 3] -= m * x * y
    N[3, 5] -= m * x * z
    N[5, 3] -= m * x * z
    N[4, 5] -= m * y * z
    N[5, 4] -= m * y * z
    # Moments by velocities [p], forces by turns -[p].
    N[3, 1] -= m * z
    N[3, 2] += m * y
    N[4, 0] += m * z
    N[4, 2] -= m * x
    N[5, 0] -= m * y
    N[5, 1] += m * x
    N[1, 3] -= m * z
    N[2, 3] += m * y
    N[0, 4] += m * z
    N[2, 4] -= m * x
    N[0, 5] -= m * y
    N[1, 5] += m * x


@kernel
def turn_on(x, y, z, t, q):
    """q (4,) = q exp(x e1) exp(y e2) exp(z e3), of length one; t (3, 4) is scratch."""
    from_axis(x, 0, t[0])
    quaternion_product(q, t[0], t[1])
    from_axis(y, 1, t[0])
    quaternion_product(t[1], t[0], t[2])
    from_axis(z, 2, t[0])
    quaternion_product(t[2], t[0], q)
    normalize_quaternion(q)


@kernel
def from_axis(angle, axis, out):
    """out (4,) = a turn about one of the three axes."""
    out[0], out[1], out[2], out[3] = cos(0.5 * angle), 0.0, 0.0, 0.0
    out[1 + axis] = sin(0.5 * angle)


@kernel
def hinges_torque(nodes, a, i, x, y, z):
    """The torque in world axes that has x, y, z along the three hinges up to link i at point a."""
    A, B, C = nodes[a, i - 2].S, nodes[a, i - 1].S, nodes[a, i].S
    d, e, f = crossed(B[3], B[4], B[5], C[3], C[4], C[5])
    per = 1.0 / (A[3] * d + A[4] * e + A[5] * f)
    g, h, j = crossed(C[3], C[4], C[5], A[3], A[4], A[5])
    k, l, m = crossed(A[3], A[4], A[5], B[3], B[4], B[5])  # noqa: E741
    x, y, z = per * x, per * y, per * z
    return x * d + y * g + z * k, x * e + y * h + z * l, x * f + y * j + z * m
