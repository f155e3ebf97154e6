"""One contact in the interior point: its motion, its normal, and either cone for its friction.

Contact axes are the world's: x, y in the plane, z the normal. Motion: u = (slip x, slip y,
gap / dt) at the end of the step, in m/s; impulse: gamma along z and friction in the plane, so that
all products are energies. With a slack s the perturbed normal is

    u_z - s = 0                      s gamma = kappa                     (29c)

and friction that of `cone_second_order`, or of `cone_linearized` where the model has facets.

A contact with the world is a leaf of the graph. Eliminated in closed form it leaves
``dF = F + A du`` for its impulse (x, y, z): no matrix larger than 3x3 (derivation.md, Sect. 5).
"""

from robosim.kernels import cone_linearized as linearized
from robosim.kernels import cone_second_order as second_order
from robosim.kernels.algebra import fill, rotate, step_to_zero
from robosim.kernels.jit import kernel


@kernel
def contact_start(contact, pose1, w):
    """w.arm1: from the centre of mass to where the contact would touch, at the first knot."""
    rotate(pose1.R, contact.p, w.arm1)
    w.arm1[2] -= contact.radius


@kernel
def contact_gap(contact, pose):
    """Signed distance of the contact to the ground [m]."""
    R, p = pose.R, contact.p
    return pose.x[2] + R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2] - contact.radius


@kernel
def contact_motion(contact, pose2, motion, dt, w):
    """w.u: slip of the material point that touches, and gap over dt, at the second knot.

    The slip is taken from the velocity: differences of positions would round it far from the
    origin to more than a resting contact's.
    """
    R, p, P = pose2.R, contact.p, motion.P
    rate = 1.0 / dt
    r0 = R[0, 0] * p[0] + R[0, 1] * p[1] + R[0, 2] * p[2]
    r1 = R[1, 0] * p[0] + R[1, 1] * p[1] + R[1, 2] * p[2]
    w.gap = contact_gap(contact, pose2)
    w.u[0] = motion.v[0] + rate * (r0 - w.arm1[0] - 2.0 * contact.radius * P[2])
    w.u[1] = motion.v[1] + rate * (r1 - w.arm1[1] + 2.0 * contact.radius * P[1])
    w.u[2] = rate * w.gap


@kernel
def contact_jacobian(contact, pose2, P, w):
    """w.J2: derivative of `contact_motion` by the direction (d v, psi), (3, 6)."""
    R, p, J = pose2.R, contact.p, w.J2
    r0 = R[0, 0] * p[0] + R[0, 1] * p[1] + R[0, 2] * p[2]
    r1 = R[1, 0] * p[0] + R[1, 1] * p[1] + R[1, 2] * p[2]
    r2 = R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2]
    rho = contact.radius
    for i in range(3):
        for k in range(3):
            J[i, k] = 1.0 if i == k else 0.0
    # -[r]x, and for the turning of a sphere the rows of E^T = e I - [p]x.
    J[0, 3] = rho * P[3]
    J[0, 4] = r2 - rho * P[0]
    J[0, 5] = -r1 - rho * P[1]
    J[1, 3] = -r2 + rho * P[0]
    J[1, 4] = rho * P[3]
    J[1, 5] = r0 - rho * P[2]
    J[2, 3] = r1
    J[2, 4] = -r0
    J[2, 5] = 0.0


@kernel
def contact_center(contact, c, w, facets, kappa, speed):
    """Put a contact on the central path at `kappa` for the motion w.u, its slack at least `speed`."""
    c.s = max(w.u[2], speed)
    c.gamma = kappa / c.s
    c.c, c.psi = 0.0, 0.0
    fill(0.0, c.beta)
    fill(0.0, c.eta)
    aim = w.weight * kappa
    if contact.mu == 0.0:
        return
    if facets.shape[0] == 0:
        second_order.center(contact.mu, c, aim, w.u)
    else:
        linearized.center(contact.mu, c, facets, aim)


@kernel
def contact_impulse(beta, gamma, facets, out):
    """out (3,) = impulse on the body: friction from `beta`, gamma along z."""
    out[0], out[1], out[2] = beta[0], beta[1], gamma
    if facets.shape[0] > 0:
        linearized.friction(beta, facets, out)


@kernel
def contact_stiffness(contact, c, facets, w):
    """w.A: how the impulse answers a change of motion, (3, 3), with the rest eliminated."""
    A = w.A
    for i in range(3):
        for k in range(3):
            A[i, k] = 0.0
    A[2, 2] = -c.gamma / c.s
    if contact.mu == 0.0:
        return
    if facets.shape[0] == 0:
        second_order.stiffness(contact.mu, c, A)
    else:
        linearized.stiffness(contact.mu, c, facets, A)


@kernel
def contact_violation(contact, c, facets, u, mass):
    """Largest residual of the linear equations [m/s]; impulses are divided by the body's mass."""
    worst = abs(u[2] - c.s)
    if contact.mu == 0.0:
        return worst
    if facets.shape[0] == 0:
        return max(worst, second_order.violation(c, u))
    return max(worst, linearized.violation(contact.mu, c, facets, u, mass))


@kernel
def contact_force(contact, c, facets, kappa, w):
    """w.F: the impulse's change at rest (du = 0) for target `kappa` and second-order terms."""
    fill(0.0, w.F)
    contact_direction(contact, c, facets, kappa, w.F, w)
    contact_impulse(w.d_beta, w.d_gamma, facets, w.F)


@kernel
def contact_direction(contact, c, facets, kappa, du, w):
    """Directions of all eliminated variables for the motion `du`, into w."""
    w.d_s = du[2] + w.u[2] - c.s
    w.d_gamma = (kappa - w.second_s - c.gamma * w.d_s) / c.s - c.gamma
    if contact.mu == 0.0:
        return
    aim = w.weight * kappa
    if facets.shape[0] == 0:
        second_order.direction(contact.mu, c, aim, du, w)
    else:
        linearized.direction(contact.mu, c, facets, aim, du, w)


@kernel
def contact_second_order(contact, c, facets, on, w):
    """Mehrotra's second-order terms from the last direction (`on` = 1), or zero (`on` = 0)."""
    w.second_s = on * w.d_s * w.d_gamma
    if contact.mu > 0.0 and facets.shape[0] > 0:
        linearized.second_order(facets, on, w)


@kernel
def contact_longest_step(contact, c, w, facets, fraction, longest):
    """The longest step up to `longest` that leaves the contact inside its cones."""
    longest = min(longest, fraction * step_to_zero(c.s, w.d_s))
    longest = min(longest, fraction * step_to_zero(c.gamma, w.d_gamma))
    if contact.mu == 0.0:
        return longest
    if facets.shape[0] == 0:
        return min(longest, fraction * second_order.longest_step(contact.mu, c, w))
    return min(longest, fraction * linearized.longest_step(c, w, facets))


@kernel
def contact_products(contact, c, w, facets, length):
    """(sum, largest, smallest, number) of the contact's products after `length`, w.weight out."""
    product = (c.s + length * w.d_s) * (c.gamma + length * w.d_gamma)
    if contact.mu == 0.0:
        return product, product, product, 1
    if facets.shape[0] == 0:
        total, largest, smallest = second_order.products(contact.mu, c, w, length)
        pairs = 3
    else:
        total, largest, smallest = linearized.products(c, w, facets, length)
        pairs = 2 + facets.shape[0]
    total, largest, smallest = total / w.weight, largest / w.weight, smallest / w.weight
    return product + total, max(product, largest), min(product, smallest), pairs


@kernel
def contact_follow(contact, c, w, facets):
    if contact.mu > 0.0 and facets.shape[0] == 0:
        second_order.follow(contact.mu, c, w)
