"""Between bodies and joint coordinates, both ways, over the whole tree."""

from robosim.compiled.kinds import TERM
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.equations.algebra import assign, fill, rotate, rotation_matrix
from robosim.kernels.equations.joint import (
    is_chart,
    joint_jacobian,
    joint_motion_map,
    joint_residual,
    move_child,
    place_child,
    read_coordinates,
    read_velocities,
)
from robosim.kernels.equations.tendon import add_span_impulses, follow_tendon, is_tendon, span_rate


@kernel
def load_poses(model, state, poses):
    """Poses of all bodies at the knot, with rotation matrices; the world, last, stays."""
    for i in range(state.bodies.shape[0]):
        body, pose = state.bodies[i], poses[i]
        for k in range(3):
            pose.x[k] = body.x[k]
        for k in range(4):
            pose.q[k] = body.q[k]
        rotation_matrix(body.q, pose.R)


@kernel
def place_bodies(model, q, work, poses):
    """Poses of all bodies from joint coordinates q."""
    t = work.scratch[0]
    for j in range(model.bodies.shape[0]):
        joint = model.joints[j]
        place_child(joint, poses[joint.parent], q, t, poses[joint.child])


@kernel
def move_bodies(model, poses, q, v, work, twists):
    """World twists (nb + 1,) of all bodies from joint velocities v; the world's, last, is 0."""
    t = work.scratch[0]
    fill(0.0, twists[model.bodies.shape[0]].w)
    for j in range(model.bodies.shape[0]):
        joint = model.joints[j]
        move_child(
            joint,
            poses[joint.parent],
            poses[joint.child],
            twists[joint.parent].w,
            q,
            v,
            t,
            twists[joint.child].w,
        )


@entry
def find_poses(model, q, work, poses):
    """`place_bodies` alone."""
    place_bodies(model, q, work, poses)


@entry
def find_twists(model, poses, q, v, work, twists):
    """`move_bodies` alone."""
    move_bodies(model, poses, q, v, work, twists)


@kernel
def begin_charts(joints, q, q2):
    """Coordinates in work.q2, near which joints that are charts are read within a step."""
    for j in range(joints.shape[0]):
        joint = joints[j]
        if is_chart(joint):
            for k in range(joint.q_begin, joint.q_begin + joint.m_T):
                q2[k] = q[k]


@kernel
def load_directions(model, first, system, work):
    """Directions at the first knot of all joints from the `first` on."""
    for j in range(first, model.joints.shape[0]):
        if model.joints[j].node >= 0:
            way, t = system.directions[j], work.scratch[0]
            start_directions(model.joints[j], way, system.pose1, work.q2, t)


@kernel
def start_directions(joint, way, poses, q, t):
    """All directions of one joint at the knot."""
    a, b, n = poses[joint.parent], poses[joint.child], joint.n_T + joint.n_R
    joint_jacobian(joint, a, b, q, t, way.G_a, way.G_b)
    joint_motion_map(joint, a, b, q, t, n, way.G_a, way.G_b)
    way.rows = 6


@kernel
def read_joints(model, state, work, poses, twists, first):
    """Coordinates and velocities of the joints from `first` on into state.q, state.v."""
    t = work.scratch[0]
    fill(0.0, twists[model.bodies.shape[0]].w)
    for j in range(first, model.joints.shape[0]):
        joint = model.joints[j]
        if is_tendon(joint):
            length = follow_tendon(model, joint, poses, state.q, work.span2, t)
            state.q[joint.q_begin] = length
            state.v[joint.v_begin], _ = span_rate(model, joint, work.span2, twists)
            continue
        a, b = poses[joint.parent], poses[joint.child]
        read_coordinates(joint, a, b, t, state.q)
        joint_motion_map(joint, a, b, state.q, t, 0, t.S_a, t.S_b)
        read_velocities(t.S_a, t.S_b, twists[joint.parent].w, twists[joint.child].w, joint, state.v)


@kernel
def read_ahead(joint, q, work, t):
    """Coordinates of one joint at the second knot into work.q2, continued from those in q."""
    for k in range(joint.m_T + joint.m_R + (1 if joint.m_R == 3 else 0)):
        work.q2[joint.q_begin + k] = q[joint.q_begin + k]
    read_coordinates(joint, work.pose2[joint.parent], work.pose2[joint.child], t, work.q2)


@kernel
def measure_ahead(model, j, q, work):
    """`read_ahead` of joint j, or of a tendon, whose rows go into work.span2."""
    joint, t = model.joints[j], work.scratch[0]
    if not is_tendon(joint):
        read_ahead(joint, q, work, t)
        return
    for k in range(joint.path_begin, joint.path_end):
        if model.paths[k].kind == TERM:
            read_ahead(model.joints[model.paths[k].joint], q, work, t)
    length = follow_tendon(model, joint, work.pose2, work.q2, work.span2, t)
    work.q2[joint.q_begin] = length


@entry
def measure_tendons(model, q, work, lengths):
    """Lengths of all tendons at work.pose2 and q, their rows into work.span2."""
    n = 0
    for j in range(model.bodies.shape[0], model.joints.shape[0]):
        if is_tendon(model.joints[j]):
            lengths[n] = follow_tendon(
                model, model.joints[j], work.pose2, q, work.span2, work.scratch[0]
            )
            n += 1


@entry
def joint_violations(model, state, work, out):
    """Largest entry of each joint's residual at the knot, (nj,) [m, or sine of half an angle]."""
    load_poses(model, state, work.pose2)
    t = work.scratch[0]
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        a, b = work.pose2[joint.parent], work.pose2[joint.child]
        joint_residual(joint, a, b, state.q, t, t.f)
        out[j] = 0.0
        for row in range(joint.n_T + joint.n_R):
            out[j] = max(out[j], abs(t.f[row]))


@entry
def read_bodies(model, state, work):
    """Joint coordinates and velocities of the bodies, wherever they were put, into q and v."""
    load_poses(model, state, work.pose2)
    for i in range(state.bodies.shape[0]):
        twist = work.twists[i].w
        assign(state.bodies[i].v, twist[:3])
        rotate(work.pose2[i].R, state.bodies[i].omega, twist[3:])
    read_joints(model, state, work, work.pose2, work.twists, 0)


@kernel
def add_joint_forces(model, poses, spans, tau, scale, work, impulses):
    """impulses (nb + 1,) += scale * world wrenches of the generalized forces tau (nv,).

    `spans` are the rows of tendons at `poses`.
    """
    t = work.scratch[0]
    for j in range(model.joints.shape[0]):
        joint = model.joints[j]
        rows = joint.m_T + joint.m_R
        size = 0.0
        for row in range(rows):
            size += abs(tau[joint.v_begin + row])
        if size == 0.0:
            continue
        if is_tendon(joint):
            add_span_impulses(model, joint, spans, scale * tau[joint.v_begin], impulses)
            continue
        a, b = poses[joint.parent], poses[joint.child]
        joint_motion_map(joint, a, b, work.q2, t, 0, t.S_a, t.S_b)
        for row in range(rows):
            force = scale * tau[joint.v_begin + row]
            for k in range(6):
                impulses[joint.parent].w[k] += t.S_a[row, k] * force
                impulses[joint.child].w[k] += t.S_b[row, k] * force
