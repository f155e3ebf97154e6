"""One point contact with the ground in the interior point, Eqs. (29c) to (29f).

Contact axes are the world's: x, y in the plane, z the normal. Impulses: gamma along z and beta
along the facets b_i; motion: u = (slip x, slip y, gap / dt) at the end of the step, in m/s, so
that all products are energies. With slacks s, c and multipliers psi, eta the perturbed problem is

    u_z - s = 0                      s gamma = kappa                     (29c)
    b_i . u + psi - eta_i = 0        beta_i eta_i = kappa                (29d), (29f)
    mu gamma - sum beta - c = 0      c psi = kappa                       (29e)

A contact with the world is a leaf of the graph. Eliminated in closed form it leaves
``dF = F + A du`` for its impulse (x, y, z): no matrix larger than 3x3 (derivation.md, Sect. 5).
"""

from robosim.kernels.algebra import rotate
from robosim.kernels.jit import kernel


@kernel
def contact_start(contact, pose1, w):
    """Where the contact is at the first knot: its arm, and its centre for the slip."""
    rotate(pose1.R, contact.p, w.arm1)
    w.tangent1[0] = pose1.x[0] + w.arm1[0]
    w.tangent1[1] = pose1.x[1] + w.arm1[1]
    w.arm1[2] -= contact.radius


@kernel
def contact_gap(contact, pose):
    """Signed distance of the contact to the ground [m]."""
    R, p = pose.R, contact.p
    return pose.x[2] + R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2] - contact.radius


@kernel
def contact_motion(contact, pose2, P, dt, w):
    """w.u: slip of the material point that touches, and gap over dt, at the second knot."""
    R, p, x = pose2.R, contact.p, pose2.x
    rate = 1.0 / dt
    r0 = R[0, 0] * p[0] + R[0, 1] * p[1] + R[0, 2] * p[2]
    r1 = R[1, 0] * p[0] + R[1, 1] * p[1] + R[1, 2] * p[2]
    r2 = R[2, 0] * p[0] + R[2, 1] * p[1] + R[2, 2] * p[2]
    w.gap = x[2] + r2 - contact.radius
    w.u[0] = rate * (x[0] + r0 - w.tangent1[0] - 2.0 * contact.radius * P[2])
    w.u[1] = rate * (x[1] + r1 - w.tangent1[1] + 2.0 * contact.radius * P[1])
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
def contact_center(contact, c, facets, weight, kappa, speed):
    """Put a contact on the central path at `kappa`, its slack at least `speed`."""
    c.s = max(c.s, speed)
    c.gamma = kappa / c.s
    c.c = contact.mu * c.gamma / (facets + 1)
    c.psi = 0.0
    for i in range(facets):
        c.beta[i] = c.c
        c.eta[i] = 0.0
    if contact.mu > 0.0:
        c.psi = weight * kappa / c.c
        for i in range(facets):
            c.eta[i] = weight * kappa / c.beta[i]


@kernel
def contact_impulse(c, facets, out):
    """out (3,) = impulse on the body: beta along the facets, gamma along z."""
    out[0], out[1], out[2] = 0.0, 0.0, c.gamma
    for i in range(facets.shape[0]):
        out[0] += facets[i, 0] * c.beta[i]
        out[1] += facets[i, 1] * c.beta[i]


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
    stiffness, m0, m1 = 0.0, 0.0, 0.0
    for i in range(facets.shape[0]):
        ratio = c.beta[i] / c.eta[i]
        b0, b1 = facets[i, 0], facets[i, 1]
        stiffness += ratio
        m0 += ratio * b0
        m1 += ratio * b1
        A[0, 0] -= ratio * b0 * b0
        A[0, 1] -= ratio * b0 * b1
        A[1, 1] -= ratio * b1 * b1
    A[1, 0] = A[0, 1]
    share = c.psi / (c.c + c.psi * stiffness)
    A[0, 0] += share * m0 * m0
    A[0, 1] += share * m0 * m1
    A[1, 0] += share * m1 * m0
    A[1, 1] += share * m1 * m1
    A[0, 2] = share * contact.mu * m0 * A[2, 2]
    A[1, 2] = share * contact.mu * m1 * A[2, 2]


@kernel
def contact_violation(contact, c, facets, u, mass):
    """Largest residual of the three linear equations [m/s], the cone's over the body's mass."""
    worst = abs(u[2] - c.s)
    if contact.mu > 0.0:
        cone = contact.mu * c.gamma - c.c
        for i in range(facets.shape[0]):
            cone -= c.beta[i]
            slip = facets[i, 0] * u[0] + facets[i, 1] * u[1] + c.psi - c.eta[i]
            worst = max(worst, abs(slip))
        worst = max(worst, abs(cone) / mass)
    return worst


@kernel
def contact_force(contact, c, facets, kappa, w):
    """w.F: the impulse's change at rest (du = 0) for target `kappa` and second-order terms."""
    aim = w.weight * kappa
    gamma0 = (kappa - w.second_s) / c.s - c.gamma - c.gamma / c.s * (w.u[2] - c.s)
    w.F[0], w.F[1], w.F[2] = 0.0, 0.0, gamma0
    if contact.mu == 0.0:
        return
    stiffness, m0, m1, sum_h, cone = 0.0, 0.0, 0.0, 0.0, contact.mu * c.gamma - c.c
    for i in range(facets.shape[0]):
        b0, b1 = facets[i, 0], facets[i, 1]
        slip = b0 * w.u[0] + b1 * w.u[1] + c.psi - c.eta[i]
        ratio = c.beta[i] / c.eta[i]
        h = (aim - w.second[i]) / c.eta[i] - c.beta[i] - ratio * slip
        stiffness += ratio
        m0 += ratio * b0
        m1 += ratio * b1
        sum_h += h
        cone -= c.beta[i]
        w.F[0] += h * b0
        w.F[1] += h * b1
    scale = 1.0 / (c.c + c.psi * stiffness)
    psi0 = scale * (aim - w.second_c - c.c * c.psi - c.psi * (cone - sum_h + contact.mu * gamma0))
    w.F[0] -= m0 * psi0
    w.F[1] -= m1 * psi0


@kernel
def contact_direction(contact, c, facets, kappa, du, w):
    """Directions of all eliminated variables for the motion `du`, into w."""
    w.d_s = du[2] + w.u[2] - c.s
    w.d_gamma = (kappa - w.second_s - c.gamma * w.d_s) / c.s - c.gamma
    w.d_psi = 0.0
    w.d_c = 0.0
    aim = w.weight * kappa
    if contact.mu == 0.0:
        return
    stiffness, sum_h, cone = 0.0, 0.0, contact.mu * c.gamma - c.c
    for i in range(facets.shape[0]):
        slip = facets[i, 0] * (w.u[0] + du[0]) + facets[i, 1] * (w.u[1] + du[1])
        w.d_eta[i] = slip + c.psi - c.eta[i]
        ratio = c.beta[i] / c.eta[i]
        w.d_beta[i] = (aim - w.second[i]) / c.eta[i] - c.beta[i] - ratio * w.d_eta[i]
        stiffness += ratio
        sum_h += w.d_beta[i]
        cone -= c.beta[i]
    change = cone - sum_h + contact.mu * w.d_gamma
    w.d_psi = (aim - w.second_c - c.c * c.psi - c.psi * change) / (c.c + c.psi * stiffness)
    for i in range(facets.shape[0]):
        w.d_beta[i] -= c.beta[i] / c.eta[i] * w.d_psi
        w.d_eta[i] += w.d_psi
    # From its product rather than from the cone: that difference cancels where c is small.
    w.d_c = (aim - w.second_c - c.c * w.d_psi) / c.psi - c.c


@kernel
def longest_step(value, direction, fraction, longest):
    """min(longest, the step that keeps 1 - fraction of `value`)."""
    if direction < 0.0:
        return min(longest, -fraction * value / direction)
    return longest


@kernel
def contact_longest_step(contact, c, w, facets, fraction, longest):
    """The longest step up to `longest` that leaves every variable of the contact positive."""
    longest = longest_step(c.s, w.d_s, fraction, longest)
    longest = longest_step(c.gamma, w.d_gamma, fraction, longest)
    if contact.mu > 0.0:
        longest = longest_step(c.c, w.d_c, fraction, longest)
        longest = longest_step(c.psi, w.d_psi, fraction, longest)
        for i in range(facets):
            longest = longest_step(c.beta[i], w.d_beta[i], fraction, longest)
            longest = longest_step(c.eta[i], w.d_eta[i], fraction, longest)
    return longest
