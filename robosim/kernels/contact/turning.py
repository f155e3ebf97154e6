"""Torsional and rolling friction: what resists turning where two things touch.

Either is a companion of a contact, with a record and variables of its own. It shares the contact's
normal motion, slack and normal impulse gamma, and obeys the same law (`law`), but its normal
impulse acts on nothing. Instead of slip it resists turns of the body as seen from the other,

    u = scale (turn about the normal, 0)  or  scale (turns about both tangents),

with turns in rad/s and `scale`, a radius of gyration, in m, so that impulses f are in N s and
moments are scale f. The coefficient mu is the most moment over the normal force [m], over `scale`.

As both turns are taken from the bodies' motions, friction never gives energy: it works along what
it resists. Companions come after their contact in the list of those in the equations, and take
from it what it has found.
"""

from robosim.compiled.kinds import PLANE, SLIP, TORSION
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.rows import read_row, row_of, write_row
from robosim.kernels.contact.compliance import copy_deflection
from robosim.kernels.contact.law import friction_size
from robosim.kernels.equations.algebra import dot, fill, rotate


@kernel
def is_companion(contact):
    """Whether this resists turning, where another contact is."""
    return contact.resists != SLIP


@kernel
def describe_companion(slots, k, n):
    """Slot of the n-th companion of contact k, and its record."""
    contact = slots[k]
    j = contact.companion + n
    companion = slots[j]
    companion.kind, companion.joint, companion.leader = PLANE, -1, k
    companion.resists = contact.first_resists + n
    companion.body, companion.other = contact.body, contact.other
    companion.body_other, companion.other_body = contact.body_other, contact.other_body
    companion.mass, companion.scale, companion.share = contact.mass, contact.scale, contact.share
    most = contact.torsion if companion.resists == TORSION else contact.rolling
    companion.mu = most / contact.scale
    companion.drifts, companion.directed = contact.drifts, contact.directed
    companion.along, companion.across = contact.along, contact.across
    companion.compliant, companion.dissipation = contact.compliant, contact.dissipation
    companion.spring_begin, companion.spring_end = contact.spring_begin, contact.spring_end
    for i in range(6):
        companion.surface[i], companion.surface_o[i] = contact.surface[i], contact.surface_o[i]
    return j


@kernel
def start_companion(slots, contacts, j, poses, t):
    """L of a companion at the first knot, and what surfaces turn by themselves."""
    companion, w, leader = slots[j], contacts[j], contacts[slots[j].leader]
    w.step_back = leader.step_back
    if companion.compliant != 0:
        copy_deflection(leader, w)
    turning_rows(companion, leader.frame, (1.0, 0.0, 0.0, 0.0), 1.0, w.L)
    turning_rows(companion, leader.frame, (1.0, 0.0, 0.0, 0.0), -1.0, w.L_o)
    fill(0.0, w.L[2])
    fill(0.0, w.L_o[2])
    w.drift[0], w.drift[1] = 0.0, 0.0
    if companion.drifts != 0:
        rotate(poses[companion.body].R, companion.surface[3:], t.y)
        rotate(poses[companion.other].R, companion.surface_o[3:], t.z)
        for i in range(3):
            t.y[i] -= t.z[i]
        add_turn(companion, leader.frame, t.y, w.drift)


@kernel
def hold_companion(slots, contacts, j):
    """w.R and w.R_o at a knot: what it has started with, and the normal of the contact there."""
    w, leader = contacts[j], contacts[slots[j].leader]
    for i in range(2):
        write_row(read_row(w.L[i]), w.R[i])
        write_row(read_row(w.L_o[i]), w.R_o[i])
    write_row(read_row(leader.L[2]), w.R[2])
    write_row(read_row(leader.L_o[2]), w.R_o[2])


@kernel
def follow_leader(contacts, j, leader, facets):
    """Give a companion the normal impulse of its contact; its friction keeps its part of that.

    Both have the same already, unless one of them had to stop short of where a step led.
    """
    c, before = contacts[j], contacts[leader]
    ratio = before.gamma / c.gamma
    c.s, c.gamma = before.s, before.gamma
    c.c *= ratio
    for i in range(friction_size(facets)):
        c.beta[i] *= ratio


@kernel
def move_companion(slots, contacts, j, motions, dt, t):
    """w.u and w.gap of a companion, whose contact has been moved."""
    companion, w, leader = slots[j], contacts[j], contacts[slots[j].leader]
    P, P_o = motions[companion.body].P, motions[companion.other].P
    w.gap, w.u[2] = leader.gap, leader.u[2]
    w.u[0], w.u[1] = w.drift[0], w.drift[1]
    rate = 2.0 / dt
    for i in range(3):
        t.y[i] = rate * (P[1 + i] - P_o[1 + i])
    add_turn(companion, leader.frame, t.y, w.u)


@kernel
def differentiate_companion(slots, contacts, j, motions):
    """w.R and w.R_o of a companion, whose contact has been differentiated."""
    companion, w, leader = slots[j], contacts[j], contacts[slots[j].leader]
    P, P_o = motions[companion.body].P, motions[companion.other].P
    turning_rows(companion, leader.frame, (P[0], P[1], P[2], P[3]), 1.0, w.R)
    turning_rows(companion, leader.frame, (P_o[0], P_o[1], P_o[2], P_o[3]), -1.0, w.R_o)
    write_row(read_row(leader.R[2]), w.R[2])
    write_row(read_row(leader.R_o[2]), w.R_o[2])


@kernel
def add_turn(companion, frame, turn, out):
    """out (2 of 3,) += scale times what a companion resists of a turn [rad/s]."""
    if companion.resists == TORSION:
        out[0] += companion.scale * dot(frame[2], turn)
    else:
        out[0] += companion.scale * dot(frame[0], turn) / companion.along
        out[1] += companion.scale * dot(frame[1], turn) / companion.across


@kernel
def turn_to_world(contact, torsion, frame, f, out):
    """out (3,) = the impulse f (3,) of a contact's companion in world axes."""
    for i in range(3):
        out[i] = frame[2, i] * f[0]
        if not torsion:
            x, y = frame[0, i] / contact.along, frame[1, i] / contact.across
            out[i] = x * f[0] + y * f[1]


@kernel
def turning_rows(companion, frame, P, sign, out):
    """out (2 of 3, 6) = derivative of u by the direction of one of the two, `sign` 1 for the body.

    P turns by psi at its end, so 2 / dt times its vector by P_0 psi + psi x p.
    """
    size = sign * companion.scale
    if companion.resists == TORSION:
        turning_row(frame[2], P, size, out[0])
        fill(0.0, out[1])
    else:
        turning_row(frame[0], P, size / companion.along, out[0])
        turning_row(frame[1], P, size / companion.across, out[1])


@kernel
def turning_row(e, P, size, out):
    """out (6,) = size times the derivative of the turn about e by a direction (d v, psi)."""
    x = P[0] * e[0] + P[2] * e[2] - P[3] * e[1]
    y = P[0] * e[1] + P[3] * e[0] - P[1] * e[2]
    z = P[0] * e[2] + P[1] * e[1] - P[2] * e[0]
    write_row(row_of(0.0, 0.0, 0.0, size * x, size * y, size * z), out)
