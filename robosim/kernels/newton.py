"""The step equations (29a) to (29f) over one interval, and their solution by Newton's method.

All rows are in impulse units (bodies) or m/s (joints, contacts). Without active contacts this is
a plain Newton method; with them a primal-dual interior point whose contact variables have been
eliminated into 3x3 blocks. Three attempts are made, each slower and surer than the one before.
"""

from math import inf, isfinite, sqrt

from robosim.kernels.algebra import (
    assign,
    clear_blocks,
    clear_rows,
    dot,
    fill,
    rotate_back,
)
from robosim.kernels.body import (
    add_wrench,
    angular_momentum,
    angular_momentum_tangent,
    end_pose,
    turn_by,
)
from robosim.kernels.contact import (
    contact_center,
    contact_direction,
    contact_force,
    contact_impulse,
    contact_jacobian,
    contact_longest_step,
    contact_motion,
    contact_stiffness,
    contact_violation,
)
from robosim.kernels.jit import kernel
from robosim.kernels.joint import joint_jacobian, joint_residual
from robosim.kernels.ldu import ldu_factor, ldu_solve

CONVERGED = 0
SINGULAR = 1
STALLED = 2
OUT_OF_ITERATIONS = 3
NOT_FINITE = 4

WARM = 0  # from the last step's variables, at the final barrier
COLD = 1  # from far inside the cones, by Mehrotra's predictor and corrector
CAREFUL = 2  # the same start, staying near the central path
LAST = 6  # and from CAREFUL on along other paths


@kernel
def evaluate(model, state, work, dt, info):
    """work.residual of Eqs. (29a), (29b) at the current unknowns; returns the residual in m/s."""
    nb = model.bodies.shape[0]
    clear_rows(work.impulse)
    t = work.scratch[0]
    worst = 0.0
    for i in range(nb):
        end_pose(work.pose1[i], work.bodies[i].v, work.bodies[i].P, dt, work.pose2[i])
    for j in range(nb):
        joint = model.joints[j]
        if joint.node < 0:
            continue
        knot, w = state.joints[j], work.joints[j]
        joint_residual(joint, work.pose2[joint.parent], work.pose2[joint.child], t, w.g)
        for row in range(joint.n_T + joint.n_R):
            value = w.g[row] / dt
            work.residual[joint.node].w[row] = -value
            worst = max(worst, abs(value))
            for k in range(6):
                work.impulse[joint.parent].w[k] += knot.G_a[row, k] * w.impulse[row]
                work.impulse[joint.child].w[k] += knot.G_b[row, k] * w.impulse[row]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
        mass = model.bodies[contact.body].mass
        contact_motion(contact, work.pose2[contact.body], work.bodies[contact.body].P, dt, w)
        contact_impulse(c, model.facets, t.w)
        add_wrench(t.w, w.arm1, 1.0, work.impulse[contact.body].w)
        worst = max(worst, contact_violation(contact, c, model.facets, w.u, mass))
    dynamics = dynamics_residual(model, work, dt, info)
    if not isfinite(dynamics):
        return dynamics
    return max(worst, dynamics)


@kernel
def dynamics_residual(model, work, dt, info):
    """Rows of Eq. (29a) into work.residual; their size as a velocity in the mass metric."""
    t = work.scratch[0]
    total, mass, largest = 0.0, 0.0, -1.0
    for i in range(model.bodies.shape[0]):
        body, w, r = model.bodies[i], work.bodies[i], work.residual[i].w
        angular_momentum(w.J, w.P, dt, t.w)
        for k in range(3):
            r[k] = work.known[i].w[k] + work.impulse[i].w[k] - body.mass * w.v[k]
            r[3 + k] = work.known[i].w[3 + k] + work.impulse[i].w[3 + k] - t.w[k]
        rotate_back(work.pose1[i].R, r[3:], t.y)
        for k in range(3):
            t.z[k] = dot(body.inertia_inverse[k], t.y)
        size = dot(r, r) / body.mass + dot(t.y, t.z)
        if size > largest:
            largest = size
            info.worst_body = i
        total += size
        mass += body.mass
    return sqrt(total / mass)


@kernel
def assemble(model, state, work):
    """work.blocks of the Newton system at the current unknowns [Bruedigam2023, Eq. 32]."""
    clear_blocks(work.blocks)
    t = work.scratch[0]
    for i in range(model.bodies.shape[0]):
        D = work.blocks[i].F
        for k in range(3):
            D[k, k] = model.bodies[i].mass
        angular_momentum_tangent(work.bodies[i].J, work.bodies[i].P, D[3:, 3:])
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            a, b = work.pose2[joint.parent], work.pose2[joint.child]
            joint_jacobian(joint, a, b, t, w.G_a, w.G_b)
            place_joint_blocks(model, joint, state.joints[j], w, work.blocks)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, w = model.contacts[k], work.contacts[k]
        contact_jacobian(contact, work.pose2[contact.body], work.bodies[contact.body].P, w)
        contact_stiffness(contact, state.contacts[k], model.facets, w)
        condense_contact(w, work.blocks[contact.body].F)


@kernel
def place_joint_blocks(model, joint, left, right, blocks):
    """Blocks of one joint: -left.G^T in its column, right.G in its row, identity where unused."""
    for row in range(joint.n_T + joint.n_R, 6):
        blocks[joint.node].F[row, row] = 1.0
    with_parent = joint.parent < model.bodies.shape[0]
    for row in range(joint.n_T + joint.n_R):
        for k in range(6):
            blocks[joint.child_joint].F[k, row] = -left.G_b[row, k]
            blocks[joint.joint_child].F[row, k] = right.G_b[row, k]
            if with_parent:
                blocks[joint.parent_joint].F[k, row] = -left.G_a[row, k]
                blocks[joint.joint_parent].F[row, k] = right.G_a[row, k]


@kernel
def condense_contact(w, D):
    """D -= J1^T A J2: the contact's answer to the motion of its body."""
    r, A, J = w.arm1, w.A, w.J2
    for column in range(6):
        f0 = A[0, 0] * J[0, column] + A[0, 1] * J[1, column] + A[0, 2] * J[2, column]
        f1 = A[1, 0] * J[0, column] + A[1, 1] * J[1, column] + A[1, 2] * J[2, column]
        f2 = A[2, 0] * J[0, column] + A[2, 1] * J[1, column] + A[2, 2] * J[2, column]
        D[0, column] -= f0
        D[1, column] -= f1
        D[2, column] -= f2
        D[3, column] -= r[1] * f2 - r[2] * f1
        D[4, column] -= r[2] * f0 - r[0] * f2
        D[5, column] -= r[0] * f1 - r[1] * f0


@kernel
def find_direction(model, state, work, kappa):
    """Newton direction for the barrier `kappa` into work.rhs and the contacts' d_ fields."""
    for n in range(work.rhs.shape[0]):
        assign(work.residual[n].w, work.rhs[n].w)
    t = work.scratch[0]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
        contact_force(contact, c, model.facets, kappa, w)
        add_wrench(w.F, w.arm1, 1.0, work.rhs[contact.body].w)
    ldu_solve(model.graph, work.blocks, work.rhs)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        contact, c, w = model.contacts[k], state.contacts[k], work.contacts[k]
        for i in range(3):
            t.w[i] = 0.0
            for column in range(6):
                t.w[i] += w.J2[i, column] * work.rhs[contact.body].w[column]
        contact_direction(contact, c, model.facets, kappa, t.w, w)


@kernel
def longest_feasible_step(model, state, work, dt, fraction):
    """The longest step up to 1 that keeps contact variables positive and turns below a radian."""
    longest = 1.0
    for i in range(model.bodies.shape[0]):
        turn = dt * sqrt(dot(work.rhs[i].w[3:], work.rhs[i].w[3:]))
        if turn * longest > 1.0:
            longest = 1.0 / turn
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        facets = model.facets.shape[0]
        longest = contact_longest_step(
            model.contacts[k], state.contacts[k], work.contacts[k], facets, fraction, longest
        )
    return longest


@kernel
def remember(model, state, work):
    """Keep the unknowns, to step from them by different lengths."""
    for i in range(model.bodies.shape[0]):
        w = work.bodies[i]
        assign(w.v, w.v_old)
        assign(w.P, w.P_old)
        assign(work.joints[i].impulse, work.joints[i].impulse_old)
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, w = state.contacts[k], work.contacts[k]
        w.s_old, w.gamma_old, w.c_old, w.psi_old = c.s, c.gamma, c.c, c.psi
        for i in range(model.facets.shape[0]):
            w.beta_old[i] = c.beta[i]
            w.eta_old[i] = c.eta[i]


@kernel
def take_step(model, state, work, dt, length):
    """Unknowns = remembered unknowns + length * direction."""
    for i in range(model.bodies.shape[0]):
        w, direction = work.bodies[i], work.rhs[i].w
        for k in range(3):
            w.v[k] = w.v_old[k] + length * direction[k]
        turn_by(w.P_old, direction[3:], dt * length, w.P)
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        for row in range(joint.n_T + joint.n_R):
            w.impulse[row] = w.impulse_old[row] + length * work.rhs[joint.node].w[row]
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, w = state.contacts[k], work.contacts[k]
        c.s = w.s_old + length * w.d_s
        c.gamma = w.gamma_old + length * w.d_gamma
        c.c = w.c_old + length * w.d_c
        c.psi = w.psi_old + length * w.d_psi
        for i in range(model.facets.shape[0]):
            c.beta[i] = w.beta_old[i] + length * w.d_beta[i]
            c.eta[i] = w.eta_old[i] + length * w.d_eta[i]


@kernel
def complementarity(model, state, work, length):
    """(mean, largest, smallest) weighted product of the contacts' pairs after `length`."""
    total, largest, smallest, pairs = 0.0, 0.0, inf, 0
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, w = state.contacts[k], work.contacts[k]
        product = (c.s + length * w.d_s) * (c.gamma + length * w.d_gamma)
        total += product
        largest, smallest = max(largest, product), min(smallest, product)
        pairs += 1
        if model.contacts[k].mu > 0.0:
            product = (c.c + length * w.d_c) * (c.psi + length * w.d_psi) / w.weight
            total += product
            largest, smallest = max(largest, product), min(smallest, product)
            for i in range(model.facets.shape[0]):
                product = (c.beta[i] + length * w.d_beta[i]) * (c.eta[i] + length * w.d_eta[i])
                product /= w.weight
                total += product
                largest, smallest = max(largest, product), min(smallest, product)
            pairs += 1 + model.facets.shape[0]
    return total / max(pairs, 1), largest, smallest


@kernel
def set_second_order(model, state, work, on):
    """Mehrotra's second-order terms from the predictor's direction, or zero."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = work.contacts[k]
        w.second_s = on * w.d_s * w.d_gamma
        w.second_c = on * w.d_c * w.d_psi
        for i in range(model.facets.shape[0]):
            w.second[i] = on * w.d_beta[i] * w.d_eta[i]


@kernel
def clear_directions(work):
    """Forget the last directions of the contacts, which may not even be finite."""
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        w = work.contacts[k]
        w.d_s, w.d_gamma, w.d_c, w.d_psi = 0.0, 0.0, 0.0, 0.0
        fill(0.0, w.d_beta)
        fill(0.0, w.d_eta)


@kernel
def predict_barrier(model, state, work, dt, kappa_end):
    """Mehrotra's predictor: the barrier to aim at; leaves the second-order terms set."""
    set_second_order(model, state, work, 0.0)
    find_direction(model, state, work, 0.0)
    length = longest_feasible_step(model, state, work, dt, 1.0)
    mean = complementarity(model, state, work, 0.0)[0]
    ahead = complementarity(model, state, work, length)[0]
    ratio = max(ahead, 0.0) / mean
    set_second_order(model, state, work, 1.0 if length > 0.1 else 0.0)
    return max(kappa_end, min(1.0, ratio * ratio * ratio) * mean)


@kernel
def central_step(model, state, work, length):
    """Shorten a step until no product falls far behind the others.

    A pair that has come to zero on both sides cannot be moved by Newton's method any more, so the
    path has to be followed inside the wide neighbourhood of the central path.
    """
    for _ in range(20):
        mean, _, smallest = complementarity(model, state, work, length)
        if smallest >= 1e-3 * mean:
            break
        length *= 0.8
    return length


@kernel
def rests_above_ground(work):
    """Whether every contact in the equations has a positive gap."""
    for n in range(1, work.active[0] + 1):
        if not work.contacts[work.active[n]].gap > 0.0:
            return False
    return True


@kernel
def center_contacts(model, state, work, kappa, speed, attempt):
    """Put all contacts in the equations on the central path, their slacks from the motion.

    Sliding contacts that jam can make the path turn back before the barrier is down. From the
    second careful attempt on, friction's products are weighted differently in each contact, which
    leads along another path to the same equations.
    """
    for n in range(1, work.active[0] + 1):
        k = work.active[n]
        c, facets = state.contacts[k], model.facets.shape[0]
        c.s = work.contacts[k].u[2]
        w = work.contacts[k]
        w.weight = 1.0
        if attempt > CAREFUL:
            # Spread over 1e-2..1e2 by a multiplicative hash: the same in every run.
            w.weight = 10.0 ** (4.0 * ((0.618034 * (k + 1) * attempt) % 1.0) - 2.0)
        contact_center(model.contacts[k], c, facets, w.weight, kappa, speed)


@kernel
def final_barrier(model, state, work, options, dt):
    """The barrier [J] at which the interior point stops, for the largest impulse at present.

    A contact with that impulse then has the slack `contact_speed`. The scale must follow impacts:
    with s gamma fixed, a large gamma would ask for slacks below the rounding of the gap.
    """
    mass = 0.0
    for i in range(model.bodies.shape[0]):
        mass += model.bodies[i].mass
    impulse = mass * dt * max(1.0, sqrt(dot(options.gravity, options.gravity)))
    for n in range(1, work.active[0] + 1):
        impulse = max(impulse, state.contacts[work.active[n]].gamma)
    return options.contact_speed * impulse


@kernel
def solve(model, state, work, options, dt, attempt, info):
    """Solve the step equations from the unknowns in `work`; returns a status."""
    clear_directions(work)
    merit = evaluate(model, state, work, dt, info)
    for _ in range(options.max_iterations):
        info.residual = merit
        if not isfinite(merit):
            return NOT_FINITE
        kappa_end = final_barrier(model, state, work, options, dt)
        mean, largest, _ = complementarity(model, state, work, 0.0)
        if merit < options.tolerance and largest <= 10.0 * kappa_end and rests_above_ground(work):
            return CONVERGED
        info.iterations += 1
        assemble(model, state, work)
        if ldu_factor(model.graph, work.blocks) != 0:
            return SINGULAR
        kappa = kappa_end
        set_second_order(model, state, work, 0.0)
        if attempt == COLD and work.active[0] > 0:
            kappa = predict_barrier(model, state, work, dt, kappa_end)
        elif attempt >= CAREFUL:
            kappa = max(kappa_end, (0.3 if largest < 3.0 * mean else 1.0) * mean)
        find_direction(model, state, work, kappa)
        length = longest_feasible_step(model, state, work, dt, 0.99)
        if attempt != WARM:
            length = central_step(model, state, work, length)
        remember(model, state, work)
        accepted = False
        for _ in range(10):
            take_step(model, state, work, dt, length)
            trial = evaluate(model, state, work, dt, info)
            if trial <= max((1.0 - 1e-4 * length) * merit, options.tolerance):
                accepted = True
                break
            length *= 0.5
        if not accepted:
            return STALLED
        merit = trial
    info.residual = merit
    return OUT_OF_ITERATIONS
