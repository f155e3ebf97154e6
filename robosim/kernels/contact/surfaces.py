"""Surfaces that move by themselves, as a belt and a turntable do: what that gives of slip.

A point of such a surface at the arm r moves at v + w x r. What it covers in dt is dt times the
mean, which is the series of (exp(A) - 1) / A in A = dt [w]x applied to that. On planes the points
that are touched at either knot count half: that at the first knot with what it will cover, that at
the second with what it has covered, which is the series in -A. Elsewhere only the first counts.
"""

from robosim.compiled.kinds import PLANE
from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.contact.ovals import oval_row
from robosim.kernels.equations.algebra import assign, cross, dot, fill, rotate

SERIES = 10  # terms for the turn of a surface, enough for a radian in a step


@kernel
def mean_motion(spin, speed, dt, out, more):
    """out (3,) = the series of (exp(x) - 1) / x in x = dt spin x, applied to `speed`."""
    for i in range(3):
        out[i] = speed[i]
    for n in range(SERIES):
        cross(spin, out, more)
        for i in range(3):
            out[i] = speed[i] + dt / (SERIES + 1 - n) * more[i]


@kernel
def surface_motion(pose, surface, arm, dt, t):
    """Leave in t.S_b[3] the mean motion of a surface's point over dt, in t.S_b[1] its spin."""
    speed, spin, more, out = t.S_b[0], t.S_b[1], t.S_b[2], t.S_b[3]
    rotate(pose.R, surface[:3], speed)
    rotate(pose.R, surface[3:], spin)
    cross(spin, arm, more)
    for i in range(3):
        speed[i] += more[i]
    mean_motion(spin, speed, dt, out, more)


@kernel
def find_drift(contact, a, b, frame, arm, arm_o, dt, out, t):
    """out (2,) = slip along the tangents from the points of both surfaces at some arms, over dt."""
    surface_motion(b, contact.surface, arm, dt, t)
    out[0], out[1] = dot(frame[0], t.S_b[3]), dot(frame[1], t.S_b[3])
    surface_motion(a, contact.surface_o, arm_o, dt, t)
    out[0] -= dot(frame[0], t.S_b[3])
    out[1] -= dot(frame[1], t.S_b[3])


@aside
def start_drift(contact, a, b, dt, w, t):
    """w.drift1 from what is touched at the first knot; where nothing else counts, w.drift too."""
    for i in range(3):
        w.arm_o[i] = b.x[i] + w.arm1[i] - a.x[i]
    find_drift(contact, a, b, w.frame, w.arm1, w.arm_o, dt, w.drift1, t)
    assign(w.drift1, w.drift)


@kernel
def touched_arms(contact, t):
    """t.S_a: arms of the body and of the other to the contact, and the body's part that rolls.

    At the knot of which `place_contact` has left the normal and arms in t; on a plane.
    """
    for i in range(3):
        if contact.kind != PLANE:
            t.S_a[0, i], t.S_a[1, i], t.S_a[2, i] = t.y[i], t.z[i], t.arm[i]
        else:
            t.S_a[2, i] = -contact.radius * t.w[i]
            t.S_a[0, i], t.S_a[1, i] = t.y[i] + t.S_a[2, i], t.z[i] + t.S_a[2, i]


@aside
def mean_drift(contact, a, b, dt, w, t):
    """w.drift on a plane, from what is touched at both knots; after `place_contact`."""
    touched_arms(contact, t)
    find_drift(contact, a, b, w.frame, t.S_a[0], t.S_a[1], -dt, w.drift, t)
    w.drift[0], w.drift[1] = 0.5 * (w.drift1[0] + w.drift[0]), 0.5 * (w.drift1[1] + w.drift[1])
    w.span = dt


@aside
def add_drift_rows(contact, a, b, w, t):
    """w.R and w.R_o += derivatives of `mean_drift`, after it and `place_contact`.

    Half of the mean motion q of a point at c, along e: it turns with the surface's body, and
    changes with c by (1 - exp(-A)) / dt.
    """
    touched_arms(contact, t)
    half = 0.5 * w.span
    surface_motion(b, contact.surface, t.S_a[0], -w.span, t)
    for row in range(2):
        e = w.frame[row]
        change_by_arm(e, -half, w.span, t)
        move_arm(contact, b, w.R[row], w.R_o[row], t)
        turn_surface(e, t.S_a[0], half, w.R[row], t)
    surface_motion(a, contact.surface_o, t.S_a[1], -w.span, t)
    for row in range(2):
        e = w.frame[row]
        change_by_arm(e, half, w.span, t)
        for i in range(3):
            w.R[row, i] += t.S_a[3, i]
            w.R_o[row, i] -= t.S_a[3, i]
        move_arm(contact, b, w.R[row], w.R_o[row], t)
        turn_surface(e, t.S_a[1], -half, w.R_o[row], t)


@kernel
def change_by_arm(e, factor, dt, t):
    """t.S_a[3] = `factor` times the change of a surface's q along e by its arm, over the spin."""
    speed, spin, more, out = t.S_b[0], t.S_b[1], t.S_b[2], t.S_a[3]
    cross(spin, e, speed)
    mean_motion(spin, speed, dt, out, more)
    for i in range(3):
        out[i] *= factor


@kernel
def move_arm(contact, b, R, R_o, t):
    """Rows += what t.S_a[3] has of how the arm to the contact turns with either body."""
    g, arm, rim, y, by_body = t.S_a[3], t.S_a[0], t.S_a[2], t.S_a[4], t.S_b[4]
    fill(0.0, by_body)
    if contact.kind != PLANE:
        oval_row(contact, b, t.w, g, t, by_body)
    for i in range(3):
        y[i] = arm[i] - rim[i]
    cross(y, g, t.y)
    cross(rim, g, t.f)
    for i in range(3):
        R[3 + i] += t.y[i] + by_body[i]
        R_o[3 + i] += t.f[i] - by_body[i]


@kernel
def turn_surface(e, arm, factor, R, t):
    """Row += what turns the surface along with its body, around a point that stays."""
    cross(t.S_b[3], e, t.y)
    cross(arm, t.S_a[3], t.f)
    for i in range(3):
        R[3 + i] += factor * t.y[i] - t.f[i]


@aside
def note_slip(contact, w):
    """w.slip = the slip over the interval in world axes, before the contact's frame is anew."""
    x = w.u[0] / (contact.along * contact.along)
    y = w.u[1] / (contact.across * contact.across)
    for i in range(3):
        w.slip[i] = x * w.frame[0, i] + y * w.frame[1, i]


@aside
def slip_before(contact, a, b, w, t):
    """t.w along the tangents = the slip over the interval, less that by surfaces at its end."""
    w.drift[0], w.drift[1] = 0.0, 0.0
    if contact.drifts != 0:
        find_drift(contact, a, b, w.frame, w.arm1, w.arm_o, 0.0, w.drift, t)
    for k in range(2):
        t.w[k] = dot(w.frame[k], w.slip) - w.drift[k]
