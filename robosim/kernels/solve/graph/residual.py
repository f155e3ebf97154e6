"""What is left of the equations of a step, for any mechanism, with all multipliers."""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere
from robosim.kernels.equations.algebra import dot, rotate_back
from robosim.kernels.equations.body import angular_momentum
from robosim.kernels.equations.constraints import (
    add_joint_impulses,
    add_joint_momenta,
    joint_equations,
)
from robosim.kernels.equations.coordinates import measure_ahead
from robosim.kernels.equations.drag import subtract_drags
from robosim.kernels.equations.joint_forces import joint_law
from robosim.kernels.equations.tendon import add_span_impulses


@kernel
def constraint_equations(model, state, system, loads, work, dt):
    """Rows of joints and couplings into work.residual, their impulses into work.impulse [m/s]."""
    worst, t = 0.0, work.scratch[0]
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            if w.rows > joint.n_T + joint.n_R:
                measure_ahead(model, j, state.q, work)
                joint_law(model, state, loads, work, j, dt)
            way, residual = system.directions[j], work.residual[joint.node].w
            left = joint_equations(joint, w, work.pose2, work.q2, t, dt, residual)
            worst = max(worst, left)
            add_joint_impulses(joint, way, w, work.impulse)
            add_span_impulses(model, joint, work.span1, w.impulse[0], work.impulse)
    for n in range(model.couplings.shape[0]):
        worst = max(worst, coupling_equation(model, system, work, n, dt))
    return worst


@kernel
def law_residual(joint, w, residual):
    """What is left of the laws of a joint, limits and friction included, as a velocity."""
    n, worst = joint.n_T + joint.n_R, 0.0
    for row in range(w.rows - n):
        if w.held[row] == 0:
            scale = joint.scale_R if row >= joint.m_T else joint.scale_T
            worst = max(worst, scale * abs(residual[n + row]))
    return worst


@kernel
def coupling_equation(model, system, work, n, dt):
    """The row of coupling n into work.residual and its impulse on the bodies; its residual."""
    coupling, w = model.couplings[n], work.couplings[n]
    w.g = -coupling.offset
    for i in range(2):
        joint, way = model.joints[coupling.joint[i]], system.directions[coupling.joint[i]]
        w.g += coupling.factor[i] * work.q2[joint.q_begin]
        impulse, row = coupling.factor[i] * w.impulse, coupling.row[i]
        for k in range(6):
            work.impulse[joint.parent].w[k] += way.G_a[row, k] * impulse
            work.impulse[joint.child].w[k] += way.G_b[row, k] * impulse
    value = w.g / dt + coupling.compliance * w.impulse
    work.residual[coupling.node].w[0] = -value
    return abs(value)


@kernel
def dynamics_residual(model, system, work, dt, info):
    """Rows of Eq. (29a) into work.residual; their size as a velocity in the mass metric."""
    t = work.scratch[0]
    total, mass, largest = 0.0, 0.0, -1.0
    for i in range(model.bodies.shape[0]):
        body, w, r = model.bodies[i], work.bodies[i], work.residual[i].w
        angular_momentum(system.inertias[i].J, w.P, dt, t.w)
        for k in range(3):
            r[k] = work.known[i].w[k] + work.impulse[i].w[k] - body.mass * w.v[k]
            r[3 + k] = work.known[i].w[3 + k] + work.impulse[i].w[3 + k] - t.w[k]
    if model.drags.shape[0] > 0:
        subtract_drags(work.drags, work.bodies, dt, work.residual)
    for i in range(model.bodies.shape[0]):
        body, r = model.bodies[i], work.residual[i].w
        rotate_back(system.pose1[i].R, r[3:], t.y)
        for k in range(3):
            t.z[k] = dot(body.inertia_inverse[k], t.y)
        size = dot(r, r) / body.mass + dot(t.y, t.z)
        if everywhere(size > largest):
            largest = size
            info.worst_body = i
        total += size
        mass += body.mass
    return sqrt(total / mass)


@kernel
def add_constraint_momenta(model, system, work, out):
    """out += what the direction's multipliers of all constraints do to bodies."""
    nb = model.bodies.shape[0]
    for j in range(model.joints.shape[0]):
        node = model.joints[j].node
        if node >= 0:
            add_joint_momenta(model, system, work, j, out)
            impulse = work.rhs[node].w[0]
            add_span_impulses(model, model.joints[j], work.span1, impulse, out)
    for n in range(model.couplings.shape[0]):
        coupling = model.couplings[n]
        for i in range(2):
            joint, way = model.joints[coupling.joint[i]], system.directions[coupling.joint[i]]
            impulse, row = coupling.factor[i] * work.rhs[coupling.node].w[0], coupling.row[i]
            for k in range(6):
                out[joint.child].w[k] += way.G_b[row, k] * impulse
                if joint.parent < nb:
                    out[joint.parent].w[k] += way.G_a[row, k] * impulse
