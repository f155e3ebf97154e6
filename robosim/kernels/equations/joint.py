"""The two generic joint functions, their Jacobians and joint motion [Bruedigam2023, App. B].

Both functions are stated in the joint frame on the parent's side, ``R_J = R_a R(q_off)``, so
that one axis serves translation and rotation:

    g_T = R_J^T (x_b + R_b p_b - x_a - R_a p_a),    g_R = V (q_off^-1 q_a^-1 q_b).

Jacobians are by world twists (velocity of the centre of mass, angular velocity), 6 columns for
the parent and 6 for the child; their transposes map impulses to world wrenches. Rows: the
translations of D (or C), then the rotations. `q` are all coordinates near those of the poses: a
joint that is a chart is read from there on. `t` is a SCRATCH record: an allocation costs more than
a whole row.
"""

from math import atan2, cos, floor, pi, sin, sqrt

from robosim.compiled.kinds import BALL, CHART, DRIVEN, DRIVEN_CHART
from robosim.kernels.compiler.charts import charts_of
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick
from robosim.kernels.equations.algebra import (
    cross,
    dot,
    normalize_quaternion,
    quaternion_back,
    quaternion_product,
    rotate,
    rotate_back,
    rotation_matrix,
)
from robosim.kernels.equations.chart_rows import (
    chart_jacobian,
    chart_residual,
    move_on_chart,
    place_on_chart,
    read_chart,
)

TURN = 2.0 * pi


@kernel
def multiply_offset(joint, R_a, out):
    """out = R_J = R_a R(q_off)."""
    for i in range(3):
        for k in range(3):
            out[i, k] = (
                R_a[i, 0] * joint.R_offset[0, k]
                + R_a[i, 1] * joint.R_offset[1, k]
                + R_a[i, 2] * joint.R_offset[2, k]
            )


@kernel
def relative_rotation(joint, a, b, t):
    """t.r = q_off^-1 q_a^-1 q_b, child to joint frame."""
    quaternion_back(a.q, b.q, t.s)
    quaternion_back(joint.offset, t.s, t.r)


@kernel
def relative_position(joint, a, b, t):
    """t.y = g_T, the child's joint point from the parent's, joint frame; t.w the same, world."""
    rotate(b.R, joint.p_b, t.y)
    rotate(a.R, joint.p_a, t.w)
    for i in range(3):
        t.w[i] = t.y[i] + b.x[i] - a.x[i] - t.w[i]
    rotate_back(a.R, t.w, t.z)
    rotate_back(joint.R_offset, t.z, t.y)


@kernel
def is_chart(joint):
    """Whether a joint is a chart."""
    return joint.kind >= CHART


@kernel
def is_driven(joint):
    """Whether a joint follows a function of time."""
    return joint.kind == DRIVEN or joint.kind == DRIVEN_CHART


@kernel
def relative_pose(joint, a, b, t):
    """t.r and t.y: `relative_rotation` and `relative_position`."""
    relative_position(joint, a, b, t)
    relative_rotation(joint, a, b, t)


@kernel
def joint_residual(joint, a, b, q, t, out):
    """D^T g of Eq. (B.7), zero beyond its rows, (6,) [m and sines of half angles]."""
    for i in range(6):
        out[i] = 0.0
    if is_chart(joint):
        relative_pose(joint, a, b, t)
        chart_residual(
            charts_of(joint, t), joint, q[joint.q_begin : joint.q_begin + joint.m_T], t, out
        )
        return
    if joint.n_T > 0:
        relative_position(joint, a, b, t)
        for row in range(joint.n_T):
            out[row] = dot(joint.D_T[row], t.y)
    if joint.n_R > 0:
        relative_rotation(joint, a, b, t)
        for row in range(joint.n_R):
            out[joint.n_T + row] = dot(joint.D_R[row], t.r[1:])


@kernel
def joint_jacobian(joint, a, b, q, t, G_a, G_b):
    """Jacobian of `joint_residual` by world twists, (6, 6) and (6, 6), zero beyond its rows."""
    for row in range(6):
        for column in range(6):
            G_a[row, column] = 0.0
            G_b[row, column] = 0.0
    if is_chart(joint):
        relative_pose(joint, a, b, t)
        near = q[joint.q_begin : joint.q_begin + joint.m_T]
        chart_jacobian(charts_of(joint, t), joint, near, a, b, 0, joint.n_T, 0, t, G_a, G_b)
        return
    multiply_offset(joint, a.R, t.R_J)
    rotate(b.R, joint.p_b, t.arm)
    for row in range(joint.n_T):
        rotate(t.R_J, joint.D_T[row], t.w)
        translation_row(a, b, t, G_a[row], G_b[row])
    if joint.n_R > 0:
        relative_rotation(joint, a, b, t)
        for row in range(joint.n_R):
            d = joint.D_R[row]
            cross(t.r[1:], d, t.y)
            for i in range(3):
                t.y[i] = 0.5 * (t.r[0] * d[i] + t.y[i])
            rotate(t.R_J, t.y, t.w)
            for i in range(3):
                G_b[joint.n_T + row, 3 + i] = t.w[i]
                G_a[joint.n_T + row, 3 + i] = -t.w[i]


@kernel
def translation_row(a, b, t, row_a, row_b):
    """Jacobian of w . (x_b + arm_b - x_a - arm_a) for t.w and t.arm, w turning with the parent."""
    cross(t.arm, t.w, t.z)
    for i in range(3):
        row_b[i] = t.w[i]
        row_b[3 + i] = t.z[i]
        t.y[i] = b.x[i] + t.arm[i] - a.x[i]
    cross(t.y, t.w, t.z)
    for i in range(3):
        row_a[i] = -t.w[i]
        row_a[3 + i] = -t.z[i]


@kernel
def joint_motion_map(joint, a, b, q, t, first, S_a, S_b):
    """Joint velocities C^T g' by world twists: v_j = S_a twist_a + S_b twist_b, from row `first`.

    Translations in the joint frame, the angular velocity in child axes. The transpose maps joint
    forces and torques to world wrenches.
    """
    for row in range(first, first + joint.m_T + joint.m_R):
        for column in range(6):
            S_a[row, column] = 0.0
            S_b[row, column] = 0.0
    if is_chart(joint):
        relative_pose(joint, a, b, t)
        near = q[joint.q_begin : joint.q_begin + joint.m_T]
        chart_jacobian(charts_of(joint, t), joint, near, a, b, joint.n_T, 6, first, t, S_a, S_b)
        return
    if joint.distance != 0:
        relative_position(joint, a, b, t)
        length = sqrt(dot(t.w, t.w))
        for i in range(3):
            t.w[i] /= length
        rotate(b.R, joint.p_b, t.arm)
        translation_row(a, b, t, S_a[first], S_b[first])
        return
    if joint.m_T > 0:
        multiply_offset(joint, a.R, t.R_J)
        rotate(b.R, joint.p_b, t.arm)
        for row in range(joint.m_T):
            rotate(t.R_J, joint.C_T[row], t.w)
            translation_row(a, b, t, S_a[first + row], S_b[first + row])
    first += joint.m_T
    for row in range(joint.m_R):
        rotate(b.R, joint.C_R[row], t.w)
        for i in range(3):
            S_b[first + row, 3 + i] = t.w[i]
            S_a[first + row, 3 + i] = -t.w[i]


@kernel
def read_coordinates(joint, a, b, t, q):
    """Minimal coordinates C^T g into q (in: the last ones, for unwrapping), from q_begin on.

    A single rotation is the angle 2 atan2(vector, scalar), continued over turns; a free rotation
    is the quaternion r with the sign nearer to the last one.
    """
    begin = joint.q_begin
    if is_chart(joint):
        relative_pose(joint, a, b, t)
        read_chart(charts_of(joint, t), joint, q[joint.q_begin : joint.q_begin + joint.m_T], t)
        return
    if joint.distance != 0:
        relative_position(joint, a, b, t)
        q[begin] = sqrt(dot(t.w, t.w))
        return
    if joint.m_T > 0:
        relative_position(joint, a, b, t)
        for row in range(joint.m_T):
            q[begin + row] = dot(joint.C_T[row], t.y)
    if joint.m_R > 0:
        begin += joint.m_T
        relative_rotation(joint, a, b, t)
        r = t.r
        if joint.m_R == 1:
            angle = 2.0 * atan2(dot(joint.C_R[0], r[1:]), r[0])
            turns = floor((q[begin] - angle) / TURN + 0.5)
            q[begin] = angle + TURN * turns
        else:
            # One by one, as they have just been written: a vector of them would be waited for.
            w, x, y, z = r[0], r[1], r[2], r[3]
            near = (q[begin] * w + q[begin + 1] * x) + (q[begin + 2] * y + q[begin + 3] * z)
            sign = pick(near < 0.0, -1.0, 1.0)
            q[begin], q[begin + 1] = sign * w, sign * x
            q[begin + 2], q[begin + 3] = sign * y, sign * z


@kernel
def turned_on(joint, a, b, before, t):
    """By how much a single rotation has turned on from an angle, by less than half a turn.

    Whole turns are left out, so that many of them do not round it.
    """
    relative_rotation(joint, a, b, t)
    moved = 2.0 * atan2(dot(joint.C_R[0], t.r[1:]), t.r[0])
    moved -= before - TURN * floor(before / TURN + 0.5)
    return moved - TURN * floor(moved / TURN + 0.5)


@kernel
def own_rate(joint, row, v, bodies):
    """A rate as guesses have it: of a coordinate, of a ball that of its body in child axes."""
    if joint.kind == BALL:
        return bodies[joint.child].omega[row]
    return v[joint.v_begin + row]


@kernel
def read_velocities(S_a, S_b, twist_a, twist_b, joint, v):
    """Joint velocities S_a twist_a + S_b twist_b into v, from v_begin on."""
    for row in range(joint.m_T + joint.m_R):
        v[joint.v_begin + row] = rate_along(S_a[row], S_b[row], twist_a, twist_b)


@kernel
def rate_along(S_a, S_b, twist_a, twist_b):
    """The rate of one coordinate of a joint: S_a twist_a + S_b twist_b."""
    rate = 0.0
    for k in range(6):
        rate += S_a[k] * twist_a[k] + S_b[k] * twist_b[k]
    return rate


@kernel
def place_along_axes(joint, q, t):
    """t.r and t.y of the child at the joint's translations and rotations in q."""
    begin = joint.q_begin
    for i in range(3):
        t.y[i] = 0.0
        for row in range(joint.m_T):
            t.y[i] += joint.C_T[row, i] * q[begin + row]
    begin += joint.m_T
    t.r[0] = 1.0
    for i in range(3):
        t.r[i + 1] = 0.0
    if joint.m_R == 1:
        t.r[0] = cos(0.5 * q[begin])
        for i in range(3):
            t.r[i + 1] = sin(0.5 * q[begin]) * joint.C_R[0, i]
    elif joint.m_R == 3:
        for i in range(4):
            t.r[i] = q[begin + i]


@kernel
def place_child(joint, a, q, t, b):
    """Pose of the child from the parent's pose and the joint's coordinates in q."""
    if is_chart(joint):
        place_on_chart(charts_of(joint, t), joint, q[joint.q_begin : joint.q_begin + joint.m_T], t)
    else:
        place_along_axes(joint, q, t)
    quaternion_product(joint.offset, t.r, t.s)
    quaternion_product(a.q, t.s, b.q)
    normalize_quaternion(b.q)
    rotation_matrix(b.q, b.R)
    rotate(joint.R_offset, t.y, t.w)
    for i in range(3):
        t.w[i] += joint.p_a[i]
    rotate(a.R, t.w, t.y)
    rotate(b.R, joint.p_b, t.arm)
    for i in range(3):
        b.x[i] = a.x[i] + t.y[i] - t.arm[i]


@kernel
def move_child(joint, a, b, twist_a, q, v, t, twist_b):
    """World twist of the child (6,) from the parent's and the joint's velocities in v."""
    begin = joint.v_begin
    if is_chart(joint):
        own = v[begin : begin + joint.m_T]
        move_on_chart(
            charts_of(joint, t), joint, q[joint.q_begin : joint.q_begin + joint.m_T], own, t
        )
        rotate(b.R, t.w, t.z)
        rotate(b.R, t.y, t.w)
    else:
        for i in range(3):
            t.w[i] = 0.0
            t.y[i] = 0.0
            for row in range(joint.m_R):
                t.w[i] += joint.C_R[row, i] * v[begin + joint.m_T + row]
            for row in range(joint.m_T):
                t.y[i] += joint.C_T[row, i] * v[begin + row]
        rotate(b.R, t.w, t.z)
        multiply_offset(joint, a.R, t.R_J)
        rotate(t.R_J, t.y, t.w)
    rotate(b.R, joint.p_b, t.arm)
    # The joint point moves as a point of the parent; then back to the child's centre of mass.
    for i in range(3):
        twist_b[3 + i] = twist_a[3 + i] + t.z[i]
        t.y[i] = b.x[i] + t.arm[i] - a.x[i]
    cross(twist_a[3:], t.y, t.z)
    cross(twist_b[3:], t.arm, t.y)
    for i in range(3):
        twist_b[i] = twist_a[i] + t.z[i] + t.w[i] - t.y[i]
