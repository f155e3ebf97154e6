"""Rows of joints in the equations of a step [Bruedigam2023, Eq. 29b], and their impulses."""

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick, somewhere
from robosim.kernels.equations.algebra import assign, fill, quaternion_back, rotate
from robosim.kernels.equations.joint import joint_jacobian, joint_motion_map, joint_residual
from robosim.kernels.equations.tendon import follow_tendon, is_tendon

OPEN = 1e-7  # [m/s, rad/s], how far joints may open in a step or its parts, over the timestep
WEDGED = 1e-6  # the same with contacts, between which bodies can wedge


@kernel
def joint_equations(joint, w, poses, q2, t, dt, residual):
    """Rows of one joint into `residual` (6,); what is left of its constraints in m/s.

    Constraints and driven coordinates are held at the second knot; other coordinates get the
    impulse that their law asks for.
    """
    worst, n = 0.0, joint.n_T + joint.n_R
    joint_residual(joint, poses[joint.parent], poses[joint.child], q2, t, w.g)
    for row in range(n):
        compliance = joint.compliance_T if row < joint.n_T else joint.compliance_R
        residual[row] = -w.g[row] / dt - compliance * w.impulse[row]
        worst = max(worst, abs(residual[row]))
    for row in range(w.rows - n):
        if w.held[row] != 0:
            compliance = joint.compliance_R if row >= joint.m_T else joint.compliance_T
            value = off_goal(joint, w, row, q2, t) / dt
            residual[n + row] = -value - compliance * w.impulse[n + row]
            worst = max(worst, abs(residual[n + row]))
        else:
            residual[n + row] = w.law[row] - w.impulse[n + row]
    return worst


@kernel
def off_goal(joint, w, row, q, t):
    """How far a coordinate in q is beyond its goal; of a free rotation by a turn in child axes."""
    if joint.m_R != 3 or row < joint.m_T:
        return q[joint.q_begin + row] - w.goal[row]
    at = joint.q_begin + joint.m_T
    quaternion_back(w.turn, q[at : at + 4], t.s)
    return pick(t.s[0] < 0.0, -2.0, 2.0) * t.s[1 + row - joint.m_T]


@kernel
def add_joint_impulses(joint, way, w, impulses):
    """What a joint does to its bodies at the first knot."""
    parent, child = impulses[joint.parent].w, impulses[joint.child].w
    for row in range(w.rows):
        for k in range(6):
            parent[k] += way.G_a[row, k] * w.impulse[row]
            child[k] += way.G_b[row, k] * w.impulse[row]


@kernel
def joint_jacobians(joint, poses, q, t, w):
    """w.G_a, w.G_b at `poses`: rows of the constraints, then of the coordinates if in use."""
    a, b, n = poses[joint.parent], poses[joint.child], joint.n_T + joint.n_R
    joint_jacobian(joint, a, b, q, t, w.G_a, w.G_b)
    if w.rows > n:
        joint_motion_map(joint, a, b, q, t, n, w.G_a, w.G_b)


@kernel
def rows_ahead(model, work, j):
    """Directions of joint j, or of a tendon, at the second knot."""
    joint, t = model.joints[j], work.scratch[0]
    if is_tendon(joint):
        follow_tendon(model, joint, work.pose2, work.q2, work.span2, t)
    joint_jacobians(joint, work.pose2, work.q2, t, work.joints[j])


@kernel
def assign_laws(joint, w, out):
    """Rows of a joint's coordinates = what its laws ask for."""
    n = joint.n_T + joint.n_R
    for row in range(joint.m_T + joint.m_R):
        out[n + row] = w.law[row]


@kernel
def add_coordinate_impulse(bearings, joint, w, f, out):
    """Rows of a joint's coordinates += what an inequality asks of them.

    Only pads of bearings resist along both of their tangents.
    """
    n = joint.n_T + joint.n_R
    for row in range(joint.m_T + joint.m_R):
        out[n + row] += w.L[0, row] * f[0] + w.L[2, row] * f[2]
    if bearings.joint.shape[0] > 0:
        for row in range(joint.m_T + joint.m_R):
            out[n + row] += w.L[1, row] * f[1]


@kernel
def add_joint_momenta(model, system, work, j, out):
    """out += what the direction's multipliers of joint j do to its bodies."""
    joint, way, nb = model.joints[j], system.directions[j], model.bodies.shape[0]
    impulse = work.rhs[joint.node].w
    for row in range(work.joints[j].rows):
        for k in range(6):
            out[joint.child].w[k] += way.G_b[row, k] * impulse[row]
            if joint.parent < nb:
                out[joint.parent].w[k] += way.G_a[row, k] * impulse[row]


@kernel
def place_directions(way, w):
    """Directions of a joint at the second knot, for the interval that begins there."""
    way.rows = w.rows
    for k in range(6):
        assign(w.G_a[k], way.G_a[k])
        assign(w.G_b[k], way.G_b[k])


@kernel
def keeps_closed(first, model, work, most):
    """Whether no joint from the `first` on, and no coupling, yields by more than `most`.

    Redundant constraints with vast impulses that balance each other are a solution of the equations
    with compliance, but of no others.
    """
    for j in range(first, model.joints.shape[0]):
        for row in range(model.joints[j].n_T + model.joints[j].n_R):
            if somewhere(abs(work.joints[j].g[row]) > abs(most)):
                return False
    for n in range(model.couplings.shape[0]):
        if somewhere(abs(work.couplings[n].g) > abs(most)):
            return False
    return True


@kernel
def constraint_wrench(joint, G_b, impulse, pose, arm, out):
    """out (6,) = wrench of a joint's multipliers on its child at `pose`, at its point; world."""
    fill(0.0, out)
    if joint.node < 0:
        return
    for row in range(joint.n_T + joint.n_R):
        for k in range(6):
            out[k] += G_b[row, k] * impulse[row]
    rotate(pose.R, joint.p_b, arm)
    out[3] -= arm[1] * out[2] - arm[2] * out[1]
    out[4] -= arm[2] * out[0] - arm[0] * out[2]
    out[5] -= arm[0] * out[1] - arm[1] * out[0]
