"""Bearings: dry friction of a joint's coordinates whose bound follows what the joint carries.

Pads of a sleeve slip along the one coordinate of a hinge or slide, as all dry friction of
coordinates does. Those of a socket slip in a plane, by the three rates of a ball.
"""

from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.contact.limits import relative_vector
from robosim.kernels.equations.algebra import assign, dot, fill, quaternion_back


@kernel
def is_bearing(contact):
    """Whether dry friction is that of a bearing."""
    return contact.sign != 0.0


@kernel
def is_socket(contact):
    """Whether this is a pad of a socket."""
    return contact.row < 0


@aside
def pad_rows(contact, joint, out):
    """Derivative of a pad's slip by the rates of a ball, (2 of 3, m)."""
    for k in range(3):
        out[0, joint.m_T + k] = contact.scale * contact.p[k]
        out[1, joint.m_T + k] = contact.scale * contact.p_end[k]


@aside
def start_pad(contact, joint, w):
    """L of a pad of a socket at the first knot."""
    w.step_back = 0.0
    for i in range(3):
        fill(0.0, w.L[i])
        fill(0.0, w.R[i])
    pad_rows(contact, joint, w.L)


@aside
def move_pad(contact, joint, q1, q2, dt, w, t):
    """w.u of a pad of a socket, and w.R."""
    at = joint.q_begin + joint.m_T
    fill(0.0, w.u)
    for k in range(3):
        rate = 2.0 / dt * relative_vector(q1, q2, at, k)
        w.u[0] += contact.scale * contact.p[k] * rate
        w.u[1] += contact.scale * contact.p_end[k] * rate
    w.rate = w.u[0]
    # The vector p of r1^-1 r2 = (e, p) changes by dt/2 (e I + [p]x) times the rates.
    quaternion_back(q1[at : at + 4], q2[at : at + 4], t.s)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        about_x = contact.p[i] * t.s[1 + j] - contact.p[j] * t.s[1 + i]
        about_y = contact.p_end[i] * t.s[1 + j] - contact.p_end[j] * t.s[1 + i]
        w.R[0, joint.m_T + k] = contact.scale * (t.s[0] * contact.p[k] + about_x)
        w.R[1, joint.m_T + k] = contact.scale * (t.s[0] * contact.p_end[k] + about_y)


@kernel
def own_share(work, contact, k):
    """The part of the friction at the first knot that belongs to the interval after it.

    That is half of it between intervals of one length, and all of it where this one is the first.
    What bearings have had of impulses that are over is not in it.
    """
    if is_bearing(contact):
        return work.bearings.own[k]
    return 1.0 / (1.0 + work.scratch[0].before)


@aside
def hold_pad(contact, joint, fraction, w, law):
    """w.F of a pad of a socket against a change of the interval's slip, and into `law`.

    What slides on is held back by the part `fraction` of the friction, that of the interval.
    """
    fill(0.0, w.F)
    for i in range(2):
        w.F[i] = fraction * w.f[i] - dot(w.A[i], w.u)  # whose third entry is 0
    for row in range(3):
        at = joint.m_T + row
        law[at] += w.L[0, at] * w.F[0] + w.L[1, at] * w.F[1]


@kernel
def bearing_bound(work, contact, k, most, least):
    """The most that dry friction is started with: `most`, or what a bearing has pressed with."""
    if is_bearing(contact):
        return max(least, work.bearings.bounds[k])
    return most


@kernel
def bounds_of(bearings, contacts, pressed, out):
    """out (nc,) = bounds of friction in bearings for the impulses along their normals (m,)."""
    fill(0.0, out)
    for n in range(bearings.contact.shape[0]):
        k = bearings.contact[n]
        out[k] += contacts[k].bound * abs(pressed[n])


@aside
def start_bearings(bearings, contacts, state, work, dt):
    """Bounds to begin with: those of the last interval."""
    work.bearings.fraction[0] = abs(dt) / (abs(dt) + abs(state.last_dt[0]))
    fill(work.bearings.fraction[0], work.bearings.own)
    assign(state.pressed, work.bearings.pressed)
    bounds_of(bearings, contacts, state.pressed, work.bearings.bounds)
