"""Forces from accelerations: the recursive Newton-Euler algorithm."""

from robosim.compiled.kinds import ANY_CHART
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, dot6, turned, turned_back
from robosim.kernels.recursive.joints import move_link, place_link
from robosim.kernels.recursive.passive import add_gyroscopic, add_passive


@kernel
def hold_world(on, weight):
    """The world's place: it stays, and is accelerated against gravity times `weight`."""
    world = on.places[on.tree.links.shape[0]]
    for i in range(3):
        world.acc[i] = -weight * on.tree.gravity[i]
    for i in range(6):
        world.f[i] = 0.0


@kernel
def follow_parent(parent, own):
    """Acceleration of a link at none of its joint, from the parent's; after `move_link`."""
    acc = parent.acc
    x, y, z = crossed(acc[3], acc[4], acc[5], own.r[0], own.r[1], own.r[2])
    own.acc[0] = acc[0] + x + own.bias[0]
    own.acc[1] = acc[1] + y + own.bias[1]
    own.acc[2] = acc[2] + z + own.bias[2]
    for i in range(3, 6):
        own.acc[i] = acc[i] + own.bias[i]


@kernel
def accelerate(charts, link, parent, own, columns, a):
    """Acceleration of a link, from the parent's and those of the joint; after `move_link`."""
    begin = link.v_begin
    follow_parent(parent, own)
    if charts is not None and link.kind == ANY_CHART:
        for k in range(begin, begin + link.m_T):
            for i in range(6):
                own.acc[i] += a[k] * columns[k].S[i]
        return
    for k in range(begin, begin + link.m_T):
        for i in range(3):
            own.acc[i] += a[k] * columns[k].S[i]
    for k in range(begin + link.m_T, begin + link.m_T + link.m_R):
        for i in range(3, 6):
            own.acc[i] += a[k] * columns[k].S[i]


@kernel
def inertial_force(link, own):
    """own.f = what it takes to accelerate the link as it is, about its reference point."""
    a, b, c = own.w[0], own.w[1], own.w[2]
    l, m, n = own.acc[3], own.acc[4], own.acc[5]  # noqa: E741
    e, f, g = crossed(a, b, c, own.c[0], own.c[1], own.c[2])
    e, f, g = crossed(a, b, c, e, f, g)
    x, y, z = crossed(l, m, n, own.c[0], own.c[1], own.c[2])
    x = link.mass * (own.acc[0] + x + e)
    y = link.mass * (own.acc[1] + y + f)
    z = link.mass * (own.acc[2] + z + g)
    own.f[0], own.f[1], own.f[2] = x, y, z
    # Euler's equations in link axes, where the inertia is diagonal.
    a, b, c = turned_back(own.R, a, b, c)
    l, m, n = turned_back(own.R, l, m, n)  # noqa: E741
    A, B, C = link.moments[0], link.moments[1], link.moments[2]
    l, m, n = turned(  # noqa: E741
        own.R, A * l + (C - B) * b * c, B * m + (A - C) * c * a, C * n + (B - A) * a * b
    )
    x, y, z = crossed(own.c[0], own.c[1], own.c[2], x, y, z)
    own.f[3], own.f[4], own.f[5] = l + x, m + y, n + z


@kernel
def push_links(on, bodies, points, wrenches):
    """Take wrenches from outside off the forces: at points of links, in link axes."""
    for k in range(bodies.shape[0]):
        own, F = on.places[bodies[k]], wrenches[k]
        x, y, z = turned(own.R, points[k, 0], points[k, 1], points[k, 2])
        x, y, z = crossed(x, y, z, F[0], F[1], F[2])
        for i in range(3):
            own.f[i] -= F[i]
        own.f[3] -= F[3] + x
        own.f[4] -= F[4] + y
        own.f[5] -= F[5] + z


@kernel
def pass_force(own, parent):
    """Add a link's force to the parent's."""
    f = own.f
    x, y, z = crossed(own.r[0], own.r[1], own.r[2], f[0], f[1], f[2])
    for i in range(3):
        parent.f[i] += f[i]
    parent.f[3] += f[3] + x
    parent.f[4] += f[4] + y
    parent.f[5] += f[5] + z


@kernel
def inverse_row(on, weight, passive, q, v, a, bodies, points, wrenches, tau):
    """tau (nv,) of one state: M a + bias, and what passive forces take."""
    links, places, columns = on.tree.links, on.places, on.columns
    charts, t = on.tree.charts, on.scratch[0]
    hold_world(on, weight)
    for b in range(links.shape[0]):
        link = links[b]
        place_link(charts, link, places[link.parent], q, places[b], t)
        move_link(charts, link, places[link.parent], places[b], columns, q, v, t)
        accelerate(charts, link, places[link.parent], places[b], columns, a)
        inertial_force(link, places[b])
    push_links(on, bodies, points, wrenches)
    for up in range(1, links.shape[0] + 1):
        b = links.shape[0] - up
        link = links[b]
        for k in range(link.v_begin, link.v_begin + link.m_T + link.m_R):
            tau[k] = dot6(columns[k].S, places[b].f) + on.tree.coordinates[k].armature * a[k]
        if link.gyro != 0:
            add_gyroscopic(on, link, v, 1.0, tau)
        pass_force(places[b], places[link.parent])
    if passive != 0:
        add_passive(on, q, v, -1.0, tau)
