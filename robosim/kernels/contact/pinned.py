"""Contacts without room: those that joints, or two contacts face to face, hold where they are.

The interior point needs a gap that can open, be it by next to nothing. A wheel of a planar base
that just touches the floor has none: no coordinate of the tree opens or closes it, no impulse can
act on it, and nothing tells its normal force. Such a contact stays out of the equations. A body
that fits exactly between two walls may move by `SLACK` beyond either. So may whatever else touches
in a step that nothing else solves: several walls, or a loop, may hold gaps at zero together.
"""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, pick, somewhere
from robosim.kernels.contact.kinematics import on_joint, place_contact
from robosim.kernels.contact.turning import is_companion
from robosim.kernels.equations.algebra import cross, dot, rotate
from robosim.kernels.equations.joint import is_chart, multiply_offset

DEEP = 1e-6  # [m], from which on a contact is an overlap, which is no matter of room
STILL = 1e-9  # [m/rad, or m/m] that rounding may leave of a motion
SLACK = 1e-8  # [m]
OPPOSITE = -1.0 + 1e-9  # cosine between two normals


@kernel
def is_pinned(model, poses, contact, w, t):
    """Whether no coordinate of the tree opens or closes a contact, which has been started in `w`.

    `poses` are those of the first knot.
    """
    if anchor_of(model, contact.body) != anchor_of(model, contact.other):
        return False
    if somewhere(w.step_back < -DEEP):
        return False
    for i in range(3):
        t.f[i] = poses[contact.body].x[i] + w.arm1[i]
    one, other = contact.body, contact.other
    return not (
        chain_moves(model, poses, one, other, w.frame[2], t)
        or chain_moves(model, poses, other, one, w.frame[2], t)
    )


@kernel
def anchor_of(model, body):
    """The body whose free joint carries this one; -1 if none does, as for the world."""
    return model.bodies[body].floats_with if body < model.bodies.shape[0] else -1


@kernel
def chain_moves(model, poses, body, other, normal, t):
    """Whether a joint that carries `body`, and not the other, moves t.f along a normal."""
    while body < model.bodies.shape[0] and not carries(model, body, other):
        joint = model.joints[body]
        if joint_moves(joint, poses[joint.parent], poses[body], normal, t):
            return True
        body = joint.parent
    return False


@kernel
def carries(model, body, other):
    """Whether another body is this one, or hangs on it by joints of the tree."""
    while other < model.bodies.shape[0]:
        if other == body:
            return True
        other = model.joints[other].parent
    return False


@kernel
def joint_moves(joint, a, b, normal, t):
    """Whether a coordinate of a joint moves the point t.f of its child along a normal.

    Of a joint that is a chart that is taken to be so.
    """
    if is_chart(joint):
        return True
    multiply_offset(joint, a.R, t.R_J)
    for row in range(joint.m_T):
        rotate(t.R_J, joint.C_T[row], t.w)
        if not everywhere(abs(dot(t.w, normal)) <= STILL):
            return True
    rotate(b.R, joint.p_b, t.y)
    for i in range(3):
        t.y[i] = t.f[i] - b.x[i] - t.y[i]
    for row in range(joint.m_R):
        rotate(b.R, joint.C_R[row], t.w)
        cross(t.w, t.y, t.z)
        if not everywhere(abs(dot(t.z, normal)) <= STILL):
            return True
    return False


@kernel
def loosen(system, work, poses):
    """Give contacts face to face, between which a body fits exactly, some room."""
    for n in range(2, work.active[0] + 1):
        k = work.active[n]
        one, w = work.slots[k], system.contacts[k]
        if on_joint(one) or is_companion(one):
            continue
        for m in range(1, n):
            j = work.active[m]
            other = work.slots[j]
            alike = other.body == one.body and other.other == one.other
            if not alike and (other.body != one.other or other.other != one.body):
                continue
            if is_companion(other):
                continue
            if one.compliant != 0 or other.compliant != 0:
                continue
            cosine = dot(w.frame[2], system.contacts[j].frame[2])
            if (cosine if alike else -cosine) > OPPOSITE:
                continue
            room = place_contact(one, poses, work.scratch[0])
            room += place_contact(other, poses, work.scratch[0])
            if abs(room) < SLACK:
                w.step_back, system.contacts[j].step_back = -SLACK, -SLACK


@kernel
def give_room(system, work):
    """Let all that touches at the first knot enter by `SLACK`; whether there is anything.

    For gaps that several contacts, or a loop, hold at zero together.
    """
    found = False
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = work.slots[k], system.contacts[k]
        if on_joint(contact) or contact.compliant != 0:
            continue
        if is_companion(contact):
            w.step_back = system.contacts[contact.leader].step_back
            continue
        touches = abs(place_contact(contact, system.pose1, work.scratch[0])) < SLACK
        w.step_back = pick(touches, min(w.step_back, -SLACK), w.step_back)
        found = found or somewhere(touches)
    return found
