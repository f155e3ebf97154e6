"""Jacobians, frames and energy."""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.vectors import crossed, turned, turned_back
from robosim.kernels.recursive.joints import (
    move_link,
    move_point,
    place_columns,
    place_link,
    rate_columns,
)
from robosim.kernels.recursive.newton_euler import accelerate, hold_world
from robosim.kernels.recursive.passive import passive_energy


@kernel
def move_links(on, q, v):
    """Places, columns and velocities of all links."""
    links, places, columns = on.tree.links, on.places, on.columns
    charts, t = on.tree.charts, on.scratch[0]
    for b in range(links.shape[0]):
        link = links[b]
        place_link(charts, link, places[link.parent], q, places[b], t)
        move_link(charts, link, places[link.parent], places[b], columns, q, v, t)
        move_point(link, places[link.parent], places[b], columns, v)


@kernel
def place_point(on, b, point, out):
    """out (3,) = a point of a link, in its axes, from its reference point; world axes."""
    out[0], out[1], out[2] = turned(on.places[b].R, point[0], point[1], point[2])


@kernel
def point_jacobian(on, body, arm, out):
    """Jacobian (6, nv) of the twist of a link at an arm (3,) from its reference point."""
    links, columns, nb = on.tree.links, on.columns, on.tree.links.shape[0]
    for i in range(6):
        for k in range(out.shape[1]):
            out[i, k] = 0.0
    x, y, z = arm[0], arm[1], arm[2]
    b = body
    while b != nb:
        link = links[b]
        for k in range(link.v_begin, link.v_begin + link.m_T + link.m_R):
            S = columns[k].S
            d, e, f = crossed(S[3], S[4], S[5], x, y, z)
            out[0, k], out[1, k], out[2, k] = S[0] + d, S[1] + e, S[2] + f
            out[3, k], out[4, k], out[5, k] = S[3], S[4], S[5]
        r = on.places[b].r
        x, y, z = x + r[0], y + r[1], z + r[2]
        b = link.parent


@kernel
def point_jacobian_rate(on, body, arm, out):
    """Rate (6, nv) of `point_jacobian`, for a point that is fixed in the link."""
    links, columns, nb = on.tree.links, on.columns, on.tree.links.shape[0]
    for i in range(6):
        for k in range(out.shape[1]):
            out[i, k] = 0.0
    x, y, z = arm[0], arm[1], arm[2]
    w, u = on.places[body].w, on.places[body].u
    a, b, c = crossed(w[0], w[1], w[2], x, y, z)
    a, b, c = a + u[0], b + u[1], c + u[2]
    at = body
    while at != nb:
        link, own = links[at], on.places[at]
        for k in range(link.v_begin, link.v_begin + link.m_T + link.m_R):
            S, rate, u = columns[k].S, columns[k].rate, own.u
            d, e, f = crossed(rate[3], rate[4], rate[5], x, y, z)
            g, h, j = crossed(S[3], S[4], S[5], a - u[0], b - u[1], c - u[2])
            out[0, k], out[1, k], out[2, k] = rate[0] + d + g, rate[1] + e + h, rate[2] + f + j
            out[3, k], out[4, k], out[5, k] = rate[3], rate[4], rate[5]
        r = own.r
        x, y, z = x + r[0], y + r[1], z + r[2]
        at = link.parent


@kernel
def jacobian_row(on, q, out):
    """Jacobians (nb, 6, nv) of the twists of all links, of their centres of mass."""
    place_columns(on, q)
    for b in range(on.tree.links.shape[0]):
        point_jacobian(on, b, on.places[b].c, out[b])


@kernel
def find_rates(on, q, v):
    """`move_links`, and rates of all columns."""
    links, places = on.tree.links, on.places
    move_links(on, q, v)
    for b in range(links.shape[0]):
        rate_columns(links[b], places[links[b].parent], places[b], on.columns)


@kernel
def jacobian_rate_row(on, q, v, out):
    """Rates (nb, 6, nv) of `jacobian_row`."""
    find_rates(on, q, v)
    for b in range(on.tree.links.shape[0]):
        point_jacobian_rate(on, b, on.places[b].c, out[b])


@kernel
def frame_row(on, body, point, turn, q, position, rotation):
    """Position (3,) and rotation (3, 3), frame to world, of a frame fixed in a link."""
    t = on.scratch[0]
    for b in range(body + 1):
        link = on.tree.links[b]
        place_link(on.tree.charts, link, on.places[link.parent], q, on.places[b], t)
    own = on.places[body]
    place_point(on, body, point, t.arm)
    for i in range(3):
        position[i] = own.p[i] + t.arm[i]
    for k in range(3):
        rotation[0, k], rotation[1, k], rotation[2, k] = turned(
            own.R, turn[0, k], turn[1, k], turn[2, k]
        )


@kernel
def points_row(on, bodies, points, q, out):
    """Positions (c, 3) of points that are fixed in links."""
    t = on.scratch[0]
    for b in range(on.tree.links.shape[0]):
        link = on.tree.links[b]
        place_link(on.tree.charts, link, on.places[link.parent], q, on.places[b], t)
    for k in range(bodies.shape[0]):
        place_point(on, bodies[k], points[k], t.arm)
        for i in range(3):
            out[k, i] = on.places[bodies[k]].p[i] + t.arm[i]


@kernel
def frame_motion_row(on, body, point, q, v, a, out):
    """Twist and acceleration (12,) of a frame's origin and axes, without gravity."""
    links, places, columns, t = on.tree.links, on.places, on.columns, on.scratch[0]
    hold_world(on, 0.0)
    move_links(on, q, v)
    for b in range(body + 1):
        link = links[b]
        accelerate(on.tree.charts, link, places[link.parent], places[b], columns, a)
    own = places[body]
    place_point(on, body, point, t.arm)
    w, r, acc = own.w, t.arm, own.acc
    x, y, z = crossed(w[0], w[1], w[2], r[0], r[1], r[2])
    d, e, f = crossed(w[0], w[1], w[2], x, y, z)
    g, h, j = crossed(acc[3], acc[4], acc[5], r[0], r[1], r[2])
    out[0], out[1], out[2] = own.u[0] + x, own.u[1] + y, own.u[2] + z
    out[6], out[7], out[8] = acc[0] + d + g, acc[1] + e + h, acc[2] + f + j
    for i in range(3):
        out[3 + i], out[9 + i] = w[i], acc[3 + i]


@kernel
def frame_jacobian_row(on, body, point, q, out):
    """Jacobian (6, nv) of the twist of a frame."""
    t = on.scratch[0]
    place_columns(on, q)
    place_point(on, body, point, t.arm)
    point_jacobian(on, body, t.arm, out)


@kernel
def point_jacobians_row(on, bodies, points, q, out):
    """Jacobians (c, 6, nv) of the twists of points that are fixed in links."""
    t = on.scratch[0]
    place_columns(on, q)
    for k in range(bodies.shape[0]):
        place_point(on, bodies[k], points[k], t.arm)
        point_jacobian(on, bodies[k], t.arm, out[k])


@kernel
def energy_row(on, q, v):
    """Energy [J] of links in motion and gravity, of rotors, and of springs and potentials."""
    g, energy = on.tree.gravity, 0.0
    move_links(on, q, v)
    for b in range(on.tree.links.shape[0]):
        link, own = on.tree.links[b], on.places[b]
        w, c = own.w, own.c
        x, y, z = crossed(w[0], w[1], w[2], c[0], c[1], c[2])
        x, y, z = own.u[0] + x, own.u[1] + y, own.u[2] + z
        energy += 0.5 * link.mass * (x * x + y * y + z * z)
        for i in range(3):
            energy -= link.mass * g[i] * (own.p[i] + c[i])
        x, y, z = turned_back(own.R, w[0], w[1], w[2])
        moments = link.moments
        energy += 0.5 * (moments[0] * x * x + moments[1] * y * y + moments[2] * z * z)
    for k in range(on.tree.coordinates.shape[0]):
        energy += 0.5 * on.tree.coordinates[k].armature * v[k] * v[k]
    return energy + passive_energy(on, q)
