"""Where limits and the dry friction of coordinates are, and how they move.

They are what a contact is (`kinematics`), with the joint's coordinates in the place of the bodies:
L and R then have a column for each of them. The limit of a rate has as its motion by how much the
rate over the interval stays below the bound.
"""

from robosim.compiled.kinds import CONE, DRY, LIMIT, RATE, TURN
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick
from robosim.kernels.contact.kinematics import step_back
from robosim.kernels.equations.algebra import fill, quaternion_back
from robosim.kernels.equations.joint import joint_motion_map


@kernel
def coordinate_gap(contact, joint, q):
    """How far a coordinate, or a free rotation, is from its limit [m], as an arc."""
    if contact.kind == CONE:
        x, y = q[joint.q_begin + joint.m_T + 1], q[joint.q_begin + joint.m_T + 2]
        return contact.scale * (1.0 - 2.0 * (x * x + y * y) - contact.bound)
    if contact.kind == TURN:
        return 2.0 * contact.scale * (abs(q[joint.q_begin + joint.m_T]) - contact.bound)
    return contact.sign * (q[joint.q_begin + contact.row] - contact.bound)


@kernel
def cone_slope(joint, q, out):
    """Derivative of the cosine of `coordinate_gap` by the angular velocity in child axes, (3,)."""
    w, x, y, z = (
        q[joint.q_begin + joint.m_T],
        q[joint.q_begin + joint.m_T + 1],
        q[joint.q_begin + joint.m_T + 2],
        q[joint.q_begin + joint.m_T + 3],
    )
    # (0, 0, 1) x R[2, :], with the third row of the rotation from child to joint frame.
    out[0] = -2.0 * (y * z + w * x)
    out[1] = 2.0 * (x * z - w * y)
    out[2] = 0.0


@kernel
def start_coordinate(contact, joint, q, dt, w, t):
    """L of a limit or of dry friction at the first knot."""
    w.step_back = 0.0
    for i in range(3):
        fill(0.0, w.L[i])
        fill(0.0, w.R[i])
    coordinate_rows(contact, joint, q, w.L, t)
    if contact.kind != DRY and contact.kind != RATE:
        step_back(contact, coordinate_gap(contact, joint, q), dt, w, t)


@kernel
def coordinate_rows(contact, joint, q, out, t):
    """Derivative of u by the rates of the joint's coordinates, into the rows that are not zero."""
    if contact.kind == DRY:
        out[0, contact.row] = contact.scale
    elif contact.kind == LIMIT or contact.kind == RATE:
        out[2, contact.row] = contact.sign
    elif contact.kind == TURN:
        # Of the cosine of half of the angle: -v / 2 for the quaternion (w, v) with w > 0.
        at = joint.q_begin + joint.m_T
        scale = pick(q[at] >= 0.0, contact.scale, -contact.scale)
        for k in range(3):
            out[2, joint.m_T + k] = -scale * q[at + 1 + k]
    else:
        cone_slope(joint, q, t.y)
        for k in range(3):
            out[2, joint.m_T + k] = contact.scale * t.y[k]


@kernel
def start_stop(contact, joint, poses, q, w, t):
    """w.L and w.L_o of a limit at a knot, by the twists of the joint's child and parent."""
    for i in range(3):
        fill(0.0, w.L[i])
        fill(0.0, w.L_o[i])
        fill(0.0, w.R[i])
    coordinate_rows(contact, joint, q, w.R, t)
    joint_motion_map(joint, poses[joint.parent], poses[joint.child], q, t, 0, t.S_a, t.S_b)
    for row in range(joint.m_T + joint.m_R):
        for k in range(6):
            w.L[2, k] += w.R[2, row] * t.S_b[row, k]
            w.L_o[2, k] += w.R[2, row] * t.S_a[row, k]


@kernel
def move_coordinate(contact, joint, q1, q2, dt, w, t):
    """w.u and w.gap of a limit or of dry friction, and w.R."""
    coordinate_rows(contact, joint, q2, w.R, t)
    fill(0.0, w.u)
    if contact.kind != DRY:
        w.gap = coordinate_gap(contact, joint, q2)
        w.u[2] = (w.gap - w.step_back) / dt
        w.rate = (w.gap - coordinate_gap(contact, joint, q1)) / dt
        return
    if is_free_turn(contact, joint):
        at, axis = joint.q_begin + joint.m_T, contact.row - joint.m_T
        w.u[0] = contact.scale * 2.0 / dt * relative_vector(q1, q2, at, axis)
    else:
        at = joint.q_begin + contact.row
        w.u[0] = contact.scale * (q2[at] - q1[at]) / dt
    w.rate = w.u[0]


@kernel
def is_free_turn(contact, joint):
    """Whether a coordinate's rate is one of the three of a free rotation."""
    return joint.m_R == 3 and contact.row >= joint.m_T


@kernel
def rate_over(scheme, model, state, system, work, contact, dt):
    """The rate of a contact's coordinate over the interval, at the coordinates in work.q2."""
    joint = model.joints[contact.joint]
    if is_free_turn(contact, joint):
        at, axis = joint.q_begin + joint.m_T, contact.row - joint.m_T
        return 2.0 / dt * relative_vector(state.q, work.q2, at, axis)
    return scheme.coordinate_rate(model, state, system, work, contact.joint, contact.row, dt)


@kernel
def move_rate(contact, joint, q1, q2, rate, dt, w, t):
    """w.u and w.gap of the limit of a rate [m/s], and w.R."""
    coordinate_rows(contact, joint, q2, w.R, t)
    if is_free_turn(contact, joint):
        # The vector p of r1^-1 r2 = (e, p) changes by dt/2 (e I + [p]x) times the rates.
        first = joint.q_begin + joint.m_T
        quaternion_back(q1[first : first + 4], q2[first : first + 4], t.s)
        i = contact.row - joint.m_T
        k, m = (i + 1) % 3, (i + 2) % 3
        w.R[2, contact.row] = contact.sign * t.s[0]
        w.R[2, joint.m_T + k] = -contact.sign * t.s[1 + m]
        w.R[2, joint.m_T + m] = contact.sign * t.s[1 + k]
    fill(0.0, w.u)
    w.u[2], w.rate = contact.sign * (rate - contact.bound), contact.sign * rate
    w.gap = abs(dt) * w.u[2]


@kernel
def relative_vector(q1, q2, at, axis):
    """Entry `axis` of the vector of r1^-1 r2, for quaternions that begin at `at`."""
    i, j = at + 1 + (axis + 1) % 3, at + 1 + (axis + 2) % 3
    k = at + 1 + axis
    return q1[at] * q2[k] - q2[at] * q1[k] - q1[i] * q2[j] + q1[j] * q2[i]
