"""What acts on links and along coordinates at a control point."""

from robosim.kernels.compiler.addresses import call_controller
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign
from robosim.kernels.equations.joint_forces import half_log, potential_slope, servo_torque
from robosim.kernels.equations.vectors import crossed, turned, turned_back
from robosim.kernels.minimal.logarithm import cotangent_factors
from robosim.kernels.minimal.place import turn_on
from robosim.kernels.minimal.twists import link_twist, world_wrench

NUDGE = 1e-7  # of coordinates [rad, m] and rates, for slopes of a law


@kernel
def add_held_wrench(model, loads, link, own, scale, out):
    """out += scale times gravity and the held wrench of a link's body, about the origin."""
    if link.body < 0:
        return
    g, m, w = model.gravity, link.gravitational_mass, loads.external[link.body].w
    a, b, c = m * g[0] + w[0], m * g[1] + w[1], m * g[2] + w[2]
    d, e, f = crossed(own.p[0], own.p[1], own.p[2], a, b, c)
    out[0] += scale * a
    out[1] += scale * b
    out[2] += scale * c
    out[3] += scale * (d + w[3])
    out[4] += scale * (e + w[4])
    out[5] += scale * (f + w[5])


@kernel
def held_answer(model, loads, link, own, scale, N):
    """N (6, 6) += scale times what turns do to the held wrench, as seen by the link itself.

    The link's axes turn, and the wrench, which does not, turns back in them.
    """
    if link.body < 0:
        return
    g, m, w, p = model.gravity, link.gravitational_mass, loads.external[link.body].w, own.p
    a, b, c = scale * (m * g[0] + w[0]), scale * (m * g[1] + w[1]), scale * (m * g[2] + w[2])
    for k in range(3):
        x, y, z = 1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2)
        d, e, f = crossed(a, b, c, x, y, z)
        h, i, j = crossed(p[0], p[1], p[2], d, e, f)
        x, y, z = crossed(scale * w[3], scale * w[4], scale * w[5], x, y, z)
        N[0, 3 + k] += d
        N[1, 3 + k] += e
        N[2, 3 + k] += f
        N[3, 3 + k] += h + x
        N[4, 3 + k] += i + y
        N[5, 3 + k] += j + z


@kernel
def drag_wrench(link, twist, scale, out):
    """out = -scale drag twist, both in the link's axes."""
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += link.drag[i, k] * twist[k]
        out[i] = -scale * total


@kernel
def add_drag(link, own, t, scale, out):
    """out += scale times the drag of a link that moves by its twist V; t is scratch."""
    link_twist(own.R, own.p, own.V, t.x)
    drag_wrench(link, t.x, scale, t.z[0])
    world_wrench(own.R, own.p, t.z[0], t.z[1])
    for k in range(6):
        out[k] += t.z[1, k]


@kernel
def drags(link):
    """Whether a link has drag."""
    total = 0.0
    for i in range(6):
        for k in range(6):
            total += abs(link.drag[i, k])
    return total > 0.0


@kernel
def coordinate_force(coordinate, pieces, q, rate):
    """Force of spring, damper and potential along a coordinate; its slopes by q and by the rate."""
    force = -coordinate.stiffness * (q - coordinate.rest) - coordinate.damping * rate
    slope = -coordinate.stiffness
    if coordinate.piece_end > coordinate.piece_begin:
        first, second = potential_slope(pieces, coordinate.piece_begin, coordinate.piece_end, q)
        force -= first
        slope -= second
    return force, slope, -coordinate.damping


@kernel
def turn_vector(on, i, a):
    """Rotation vector of a free rotation, of which i is the third hinge, at control point a."""
    work, link = on.work, on.model.segments[i]
    t, r = work.quaternion[0:3], work.quaternion[3]
    for k in range(4):
        r[k] = on.state.q[link.q + k]
    turn_on(work.x[a, i - 2], work.x[a, i - 1], work.x[a, i], t, r)
    twice = 2.0 * half_log(r)
    return twice * r[1], twice * r[2], twice * r[3]


@kernel
def spring_moment(c, v, x, y, z):
    """Moment of the springs of a free rotation at its rotation vector, as in `rotation_law`."""
    d, e, f = c[v - 2].stiffness * x, c[v - 1].stiffness * y, c[v].stiffness * z
    g, h, k = crossed(x, y, z, d, e, f)
    beta, _, _, _, _ = cotangent_factors(x * x + y * y + z * z)
    l, m, n = crossed(x, y, z, g, h, k)  # noqa: E741
    return d - 0.5 * g + beta * l, e - 0.5 * h + beta * m, f - 0.5 * k + beta * n


@kernel
def spring_slope(c, v, x, y, z, turn):
    """Change of `spring_moment` by a turn of the child, in its axes."""
    t = x * x + y * y + z * z
    beta, _, bend, _, _ = cotangent_factors(t)  # -bend is the slope of beta by t
    u, w, s = turn[0], turn[1], turn[2]
    d, e, f = crossed(x, y, z, u, w, s)
    g, h, k = crossed(x, y, z, d, e, f)
    u, w, s = u + 0.5 * d + beta * g, w + 0.5 * e + beta * h, s + 0.5 * f + beta * k
    # (u, w, s) is the change of the rotation vector; changes of k log, and of its products.
    a, b, q = c[v - 2].stiffness, c[v - 1].stiffness, c[v].stiffness
    d, e, f = crossed(x, y, z, a * x, b * y, q * z)
    g, h, k = crossed(u, w, s, a * x, b * y, q * z)
    l, m, n = crossed(x, y, z, a * u, b * w, q * s)  # noqa: E741
    g, h, k = g + l, h + m, k + n
    rate = -2.0 * bend * (x * u + y * w + z * s)
    # Of m = k log - half of the first product + beta times the second.
    o, p, r = crossed(x, y, z, d, e, f)
    l, m, n = crossed(u, w, s, d, e, f)  # noqa: E741
    d, e, f = crossed(x, y, z, g, h, k)
    return (
        a * u - 0.5 * g + beta * (l + d) + rate * o,
        b * w - 0.5 * h + beta * (m + e) + rate * p,
        q * s - 0.5 * k + beta * (n + f) + rate * r,
    )


@kernel
def rotation_rate(on, i, a):
    """Angular velocity of a free rotation, of which i is the third hinge; child axes."""
    work, link = on.work, on.model.segments[i]
    d, e, f = 0.0, 0.0, 0.0
    for j in range(i - 2, i + 1):
        S, rate = work.nodes[a, j].S, work.rates[a, j]
        d, e, f = d + rate * S[3], e + rate * S[4], f + rate * S[5]
    d, e, f = turned_back(work.nodes[a, i].R, d, e, f)
    return turned_back(link.after, d, e, f)


@kernel
def child_torque(on, i, a):
    """Torque of a free rotation, of which i is the third hinge, at control point a; child axes.

    What is held, a damper for each axis, and springs.
    """
    work, link, c = on.work, on.model.segments[i], on.model.coordinates
    tau, own, v = on.loads.tau, work.law.torques[a], link.v
    x, y, z = tau[v - 2] + own[v - 2], tau[v - 1] + own[v - 1], tau[v] + own[v]
    if c[v - 2].damping != 0.0 or c[v - 1].damping != 0.0 or c[v].damping != 0.0:
        d, e, f = rotation_rate(on, i, a)
        x, y, z = x - c[v - 2].damping * d, y - c[v - 1].damping * e, z - c[v].damping * f
    if c[v - 2].stiffness != 0.0 or c[v - 1].stiffness != 0.0 or c[v].stiffness != 0.0:
        d, e, f = turn_vector(on, i, a)
        d, e, f = spring_moment(c, v, d, e, f)
        x, y, z = x - d, y - e, z - f
    return x, y, z


@kernel
def rotation_torque(on, i, a):
    """`child_torque` in world axes."""
    x, y, z = child_torque(on, i, a)
    x, y, z = turned(on.model.segments[i].after, x, y, z)
    return turned(on.work.nodes[a, i].R, x, y, z)


@kernel
def damping_along(on, v, a):
    """By how much forces along a coordinate fall with its rate, by its damper and by a law."""
    return on.model.coordinates[v].damping - on.work.law.damping[a, v]


@kernel
def forces_along(on, i, a, x, rate):
    """All forces along the coordinate of link i at a control point but servos, and two slopes.

    Slopes of a free rotation are those of a hinge that stands alone: see
    `robosim.kernels.minimal.rotation` for how its hinges turn each other.
    """
    link = on.model.segments[i]
    coordinate = on.model.coordinates[link.v]
    if link.turn != 0:
        d, e, f = rotation_torque(on, i + 3 - link.turn, a)
        S = on.work.nodes[a, i].S
        along = S[3] * d + S[4] * e + S[5] * f
        return along, -coordinate.stiffness, -damping_along(on, link.v, a)
    force, slope, _ = coordinate_force(coordinate, on.model.pieces, on.state.q[link.q] + x, rate)
    law, v = on.work.law, link.v
    force += on.loads.tau[v] + law.torques[a, v]
    return force, slope + law.stiffness[a, v], -damping_along(on, v, a)


@kernel
def read_point(on, a):
    """law.q and law.v at control point a, where links have been placed."""
    work, law = on.work, on.work.law
    for i in range(on.model.segments.shape[0]):
        link = on.model.segments[i]
        if link.v >= 0 and link.turn == 0:
            law.q[link.q] = on.state.q[link.q] + work.x[a, i]
            law.v[link.v] = work.rates[a, i]
        if link.turn == 3:
            r = law.q[link.q : link.q + 4]
            assign(on.state.q[link.q : link.q + 4], r)
            turn_on(work.x[a, i - 2], work.x[a, i - 1], work.x[a, i], work.quaternion[0:3], r)
            d, e, f = rotation_rate(on, i, a)
            law.v[link.v - 2], law.v[link.v - 1], law.v[link.v] = d, e, f


@kernel
def find_torques(on):
    """The torques of a law at all control points, and their slopes, where links have been placed.

    Slopes are differences; the direction needs them, and the solution does not.
    """
    law, dt = on.work.law, on.options.dt
    for a in range(law.torques.shape[0]):
        time = law.time[0] + dt * part_of(on.model.rule, a)
        read_point(on, a)
        call_law(law, time, law.torques[a])
        for i in range(on.model.segments.shape[0]):
            link = on.model.segments[i]
            if link.v >= 0:
                law.damping[a, link.v] = slope_of(law, time, a, law.v, link.v, link.v)
                if link.turn == 0:
                    law.stiffness[a, link.v] = slope_of(law, time, a, law.q, link.q, link.v)


@kernel
def slope_of(law, time, a, at, n, v):
    """Slope of the torque along coordinate v by at[n], which is law.q or law.v at point a."""
    here = at[n]
    change = NUDGE * (1.0 + abs(here))
    at[n] = here + change
    call_law(law, time, law.tried)
    at[n] = here
    return (law.tried[v] - law.torques[a, v]) / change


@kernel
def call_law(law, time, out):
    """out = what the law gives at law.q and law.v."""
    for k in range(out.shape[0]):
        out[k] = 0.0
    call_controller(law.address[0], time, law.q, law.v, out)


@kernel
def part_of(rule, a):
    """Time of control point a over the timestep, from 0 to 1."""
    if rule is None:
        return 1.0 * a
    return rule.c[a]


@kernel
def weight_of(rule, a):
    """Weight of control point a in an integral over a step."""
    if rule is None:
        return 0.5
    return rule.w[a]


@kernel
def servo_impulse(on, i, x):
    """What the servo of link i gives over a step to x, all at its beginning; its slope by x."""
    link, dt = on.model.segments[i], on.options.dt
    if link.turn != 0:
        servo = on.loads.servos[link.v]
        # A damper alone: about axes that are the child's at the beginning.
        torque, free, droop = servo_torque(servo, 0.0, x / dt)
        return dt * torque, -free * servo.kd - droop
    servo = on.loads.servos[link.v]
    torque, free, droop = servo_torque(servo, on.state.q[link.q] + x, x / dt)
    return dt * torque, -free * (dt * servo.kp + servo.kd) - droop
