"""The knot: momenta from velocities, and back by the factors of its mass matrix."""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import dot6
from robosim.kernels.minimal.elimination import clear_answers, factor_tree, solve_tree
from robosim.kernels.minimal.forces import (
    add_drag,
    add_held_wrench,
    drags,
    forces_along,
)
from robosim.kernels.minimal.place import (
    add_inertia,
    momentum_of,
    move_segment,
    place_at_knot,
)
from robosim.kernels.minimal.twists import bracket_back

SINGULAR = 1e-13  # of an inertia along a coordinate, over that of all that hangs on it


@kernel
def move_at_knot(on):
    """Twists and momenta at the knot, by its velocities."""
    nodes, n = on.work.nodes, on.work.bases.shape[0]
    for i in range(n):
        link, own = on.model.segments[i], nodes[0, i]
        rate = on.state.v[link.v] if link.v >= 0 else 0.0
        move_segment(nodes[0, link.parent], own, rate)
        momentum_of(link, own, own.V, own.alone)
        for k in range(6):
            own.mu[k] = own.alone[k]
    pass_momenta(on, 0)


@kernel
def pass_momenta(on, a):
    """Momenta of links and all beyond them, at control point a."""
    nodes, n = on.work.nodes, on.work.bases.shape[0]
    for k in range(6):
        nodes[a, n].mu[k] = 0.0
    for up in range(1, n + 1):
        i = n - up
        above = nodes[a, on.model.segments[i].parent]
        for k in range(6):
            above.mu[k] += nodes[a, i].mu[k]


@kernel
def find_momenta(on):
    """p = M v."""
    move_at_knot(on)
    for i in range(on.work.bases.shape[0]):
        link, own = on.model.segments[i], on.work.nodes[0, i]
        if link.v >= 0:
            rotor = on.model.coordinates[link.v].armature * on.state.v[link.v]
            on.state.p[link.v] = dot6(own.S, own.mu) + rotor


@kernel
def factor_mass(on):
    """Factors of the mass matrix at the knot; 0, or 1 + a link that moves nothing with inertia."""
    e, n = on.work.mass, on.work.bases.shape[0]
    clear_answers(e)
    for i in range(n):
        link, own = on.model.segments[i], on.work.nodes[0, i]
        add_inertia(link, own, 1.0, e.N[i])
        for k in range(6):
            e.A[i, 0, k] = e.B[i, 0, k] = own.S[k]
            e.C[i, 0, k] = e.H[i, 0, k] = 0.0
        if link.v >= 0:
            e.L[i, 0, 0] = on.model.coordinates[link.v].armature
    failed = factor_tree(on.model.segments, e, None)
    if failed != 0:
        return failed
    for i in range(n):
        link, per = on.model.segments[i], e.L[i, 0, 0]
        if link.v >= 0:
            if not (per > 0.0 and per * SINGULAR * at_the_most(e.N[i], e.A[i, 0]) < 1.0):
                return 1 + i
            on.work.scale[i] = sqrt(per / link.beyond) if link.beyond > 0.0 else sqrt(per)
    return 0


@kernel
def at_the_most(N, S):
    """What an inertia would be along a twist S if nothing of it were lost or eliminated."""
    move = S[0] * S[0] + S[1] * S[1] + S[2] * S[2]
    turn = S[3] * S[3] + S[4] * S[4] + S[5] * S[5]
    return (N[0, 0] + N[1, 1] + N[2, 2]) * move + (N[3, 3] + N[4, 4] + N[5, 5]) * turn


@kernel
def solve_mass(on):
    """work.mass.dx = -M^-1 r, for the r that is there; along the links' coordinates."""
    solve_tree(on.model.segments, on.work.mass, None)


@kernel
def find_velocities(on):
    """v = M^-1 p."""
    e = on.work.mass
    for i in range(on.work.bases.shape[0]):
        link = on.model.segments[i]
        e.r[i, 0] = -on.state.p[link.v] if link.v >= 0 else 0.0
    solve_mass(on)
    for i in range(on.work.bases.shape[0]):
        link = on.model.segments[i]
        if link.v >= 0:
            on.state.v[link.v] = e.dx[i, 0]


@kernel
def find_accelerations(on):
    """work.acceleration, of the links' coordinates at the knot."""
    nodes, n, e = on.work.nodes, on.work.bases.shape[0], on.work.mass
    move_at_knot(on)
    for k in range(6):
        nodes[0, n].acc[k] = nodes[0, n].f[k] = 0.0
    for i in range(n):
        link, own = on.model.segments[i], nodes[0, i]
        above = nodes[0, link.parent]
        rate = on.state.v[link.v] if link.v >= 0 else 0.0
        on.work.rates[0, i], on.work.x[0, i] = rate, 0.0
        for k in range(6):
            own.acc[k] = above.acc[k] + rate * own.rate[k]
        # d/dt (M V) = M V' - ad(V)^T M V.
        momentum_of(link, own, own.acc, own.f)
        bracket_back(own.V, own.alone, own.mu)
        for k in range(6):
            own.f[k] -= own.mu[k]
        add_held_wrench(on.model, on.loads, link, own, -1.0, own.f)
        if drags(link):
            add_drag(link, own, on.work.chords[i], -1.0, own.f)
    for up in range(1, n + 1):
        i = n - up
        link, own = on.model.segments[i], nodes[0, i]
        above = nodes[0, link.parent]
        e.r[i, 0] = 0.0
        if link.v >= 0:
            force, _, _ = forces_along(on, i, 0, 0.0, on.state.v[link.v])
            e.r[i, 0] = dot6(own.S, own.f) - force
        for k in range(6):
            above.f[k] += own.f[k]
    solve_mass(on)
    for i in range(n):
        on.work.acceleration[i] = e.dx[i, 0] if on.model.segments[i].v >= 0 else 0.0


@kernel
def settle(on):
    """Place the knot and factor its mass matrix; 0, or 1 + a link without inertia."""
    place_at_knot(on)
    return factor_mass(on)
