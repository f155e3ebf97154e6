"""Friction with the exact cone: of all impulses up to mu gamma the one that opposes the slip most.

The impulse is beta (2,), and eta (2,) the slip, with its speed psi beside it:

    u_t - eta = 0        x o y = aim (1, 0, 0),   x = (mu gamma, beta),  y = (psi, eta)

with the product of the second-order cone, x o y = (x . y, x_0 y_t + y_0 x_t), and x and y inside
the cone. In the limit aim -> 0 that is Coulomb's law: no slip where |beta| < mu gamma, and beta =
-mu gamma eta / |eta| where there is. `aim` is the barrier kappa times the weight of friction in
this contact.

The product is linearized in the axes of Nesterov and Todd, in which friction answers the slip by
a symmetric negative definite matrix wherever x and y are in their cones. With det x = x_0^2 -
|x_t|^2, J = diag(1, -1, -1), and r, w such that H takes x to y and det w = 1,

    H dx + dy = aim J x / det x - y,    H = r (2 w w^T - J)
"""

from math import inf, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, pick, somewhere


@kernel
def determinant(a0, a1, a2):
    """det a = a_0^2 - a_1^2 - a_2^2, as exact near the surface of the cone as it can be."""
    length = sqrt(a1 * a1 + a2 * a2)
    return (a0 - length) * (a0 + length)


@kernel
def scaling(x0, c):
    """(r, 1 / (r d), 1 / d, w_0, w_1, w_2) of H, with d = w_0^2 + w_1^2 + w_2^2."""
    beta, psi, eta = c.beta, c.psi, c.eta
    size_x = sqrt(determinant(x0, beta[0], beta[1]))
    size_y = sqrt(determinant(psi, eta[0], eta[1]))
    # Divisions take as long as all the rest.
    per_x, per_y = 1.0 / size_x, 1.0 / size_y
    cosine = (x0 * psi + beta[0] * eta[0] + beta[1] * eta[1]) * per_x * per_y
    scale = 1.0 / sqrt(2.0 + 2.0 * max(1.0, cosine))
    w0 = scale * (psi * per_y + x0 * per_x)
    w1 = scale * (eta[0] * per_y - beta[0] * per_x)
    w2 = scale * (eta[1] * per_y - beta[1] * per_x)
    per_d = 1.0 / (1.0 + 2.0 * (w1 * w1 + w2 * w2))
    return size_y * per_x, per_d * size_x * per_y, per_d, w0, w1, w2


@kernel
def center(mu, c, aim, x, y):
    """All variables for the normal impulse c.gamma and a slip (x, y)."""
    c.eta[0], c.eta[1] = x, y
    c.psi, c.beta[0], c.beta[1] = sliding(mu * c.gamma, aim, x, y)


@kernel
def sliding(x0, aim, x, y):
    """(psi, beta) on the central path at the slip (x, y)."""
    half = 0.5 * aim / x0
    psi = half + sqrt(half * half + x * x + y * y)
    return psi, -x0 / psi * x, -x0 / psi * y


@kernel
def stiffness(mu, c, w):
    """Friction's rows of w.A, whose normal A[2, 2] is known, and the scaling they come from."""
    r, per_rd, per_d, w0, w1, w2 = scaling(mu * c.gamma, c)
    A, H = w.A, w.scaling
    H[0], H[1], H[2], H[3], H[4], H[5] = r, per_rd, per_d, w0, w1, w2
    A[0, 0] = -(1.0 + 2.0 * w2 * w2) * per_rd
    A[1, 1] = -(1.0 + 2.0 * w1 * w1) * per_rd
    A[0, 1] = 2.0 * w1 * w2 * per_rd
    A[1, 0] = A[0, 1]
    A[0, 2] = -2.0 * mu * w0 * w1 * per_d * A[2, 2]
    A[1, 2] = -2.0 * mu * w0 * w2 * per_d * A[2, 2]


@kernel
def lagged_stiffness(mu, c, w):
    """w.A where mu times the change of psi narrows the gap: symmetric, and negative definite."""
    A, H = w.A, w.scaling
    r, per_d, w0, w1, w2 = H[0], H[2], H[3], H[4], H[5]
    h1, h2 = 2.0 * mu * w0 * w1 * per_d, 2.0 * mu * w0 * w2 * per_d
    normal = -c.gamma / (c.s + c.gamma * mu * mu * r * per_d + c.gamma * w.yields)
    A[2, 0], A[2, 1], A[2, 2] = -normal * h1, -normal * h2, normal
    A[0, 2], A[1, 2] = A[2, 0], A[2, 1]
    A[0, 0] -= h1 * A[2, 0]
    A[0, 1] -= h1 * A[2, 1]
    A[1, 0] -= h2 * A[2, 0]
    A[1, 1] -= h2 * A[2, 1]


@kernel
def lagged_normal(mu, c, kappa, w):
    """The change of the normal impulse at rest for the known w.d_s without that of psi."""
    x0, H = mu * c.gamma, w.scaling
    r, per_d, w0, w1, w2 = H[0], H[2], H[3], H[4], H[5]
    h1, h2 = 2.0 * w0 * w1 * per_d, 2.0 * w0 * w2 * per_d
    ratio = w.aim / determinant(x0, c.beta[0], c.beta[1])
    g1 = -ratio * c.beta[0] - w.u[0] - w.second[1]
    g2 = -ratio * c.beta[1] - w.u[1] - w.second[2]
    d_psi = ratio * x0 - c.psi - w.second[0] - h1 * g1 - h2 * g2
    left = kappa - w.second_s - c.gamma * (c.s + w.d_s - mu * d_psi)
    return left / (c.s + c.gamma * mu * mu * r * per_d + c.gamma * w.yields)


@kernel
def violation(c, u):
    """Largest residual of the linear equations [m/s]."""
    return max(abs(u[0] - c.eta[0]), abs(u[1] - c.eta[1]))


@kernel
def direction(mu, c, w):
    """Directions at rest for the known w.d_gamma, into w, in the axes that w.A is of."""
    x0, d_x0, H = mu * c.gamma, mu * w.d_gamma, w.scaling
    r, per_rd, per_d, w0, w1, w2 = H[0], H[1], H[2], H[3], H[4], H[5]
    h1, h2 = 2.0 * w0 * w1 * per_d, 2.0 * w0 * w2 * per_d
    ratio = w.aim / determinant(x0, c.beta[0], c.beta[1])
    # The right-hand side less d eta, in which eta cancels.
    g1 = -ratio * c.beta[0] - w.u[0] - w.second[1]
    g2 = -ratio * c.beta[1] - w.u[1] - w.second[2]
    across = 2.0 * (w1 * g2 - w2 * g1)
    w.d_beta[0] = (g1 - w2 * across) * per_rd - h1 * d_x0
    w.d_beta[1] = (g2 + w1 * across) * per_rd - h2 * d_x0
    w.d_psi = ratio * x0 - c.psi - w.second[0] - h1 * g1 - h2 * g2 - r * per_d * d_x0
    for i in range(2):
        w.d_eta[i] = w.u[i] - c.eta[i]


@kernel
def answer(mu, du, d_gamma, w):
    """Add to the directions what answers a motion `du` and a change `d_gamma` of the normal."""
    H = w.scaling
    r, per_rd, per_d, w0, w1, w2 = H[0], H[1], H[2], H[3], H[4], H[5]
    h1, h2 = 2.0 * w0 * w1 * per_d, 2.0 * w0 * w2 * per_d
    across = 2.0 * (w2 * du[0] - w1 * du[1])
    w.d_beta[0] -= (du[0] + w2 * across) * per_rd + h1 * mu * d_gamma
    w.d_beta[1] -= (du[1] - w1 * across) * per_rd + h2 * mu * d_gamma
    w.d_psi += h1 * du[0] + h2 * du[1] - r * per_d * mu * d_gamma
    w.d_eta[0] += du[0]
    w.d_eta[1] += du[1]


@kernel
def second_order(mu, c, on, w):
    """w.second: what the product of both changes adds to the equations, of the last direction.

    With T T = H both are l = T x = T^-1 y in the axes of Nesterov and Todd. There it is the z of
    l o z = T dx o T^-1 dy, and here T z.
    """
    if everywhere(on == 0.0):
        w.second[0], w.second[1], w.second[2] = 0.0, 0.0, 0.0
        return
    x0, dx0 = mu * c.gamma, mu * w.d_gamma
    w0, w1, w2 = w.scaling[3], w.scaling[4], w.scaling[5]
    per = 1.0 / sqrt(2.0 + 2.0 * w0)
    v0, v1, v2 = (w0 + 1.0) * per, w1 * per, w2 * per
    # T is 2 v v^T - J times the root of r, which cancels; in its inverse v_t is turned around.
    along = 2.0 * (v0 * x0 + v1 * c.beta[0] + v2 * c.beta[1])
    l0, l1, l2 = along * v0 - x0, along * v1 + c.beta[0], along * v2 + c.beta[1]
    along = 2.0 * (v0 * dx0 + v1 * w.d_beta[0] + v2 * w.d_beta[1])
    a0, a1, a2 = along * v0 - dx0, along * v1 + w.d_beta[0], along * v2 + w.d_beta[1]
    along = 2.0 * (v0 * w.d_psi - v1 * w.d_eta[0] - v2 * w.d_eta[1])
    b0, b1, b2 = along * v0 - w.d_psi, -along * v1 + w.d_eta[0], -along * v2 + w.d_eta[1]
    c0 = a0 * b0 + a1 * b1 + a2 * b2
    c1, c2 = a0 * b1 + b0 * a1, a0 * b2 + b0 * a2
    z0 = (l0 * c0 - l1 * c1 - l2 * c2) / determinant(l0, l1, l2)
    z1, z2 = (c1 - z0 * l1) / l0, (c2 - z0 * l2) / l0
    along = 2.0 * (v0 * z0 + v1 * z1 + v2 * z2)
    w.second[0] = pick(on == 0.0, 0.0, along * v0 - z0)
    w.second[1] = pick(on == 0.0, 0.0, along * v1 + z1)
    w.second[2] = pick(on == 0.0, 0.0, along * v2 + z2)


@kernel
def slides_on(mu, c, w):
    """1 where a contact is on the central path, slides, and will in much the same direction, or 0.

    Only in a warm start. Then x lies so near to the surface of the cone that no straight step
    could turn it. It is moved along the path instead, on which the slip tells all else (`follow`).
    """
    if w.warm == 0:
        return 0.0
    x0 = mu * c.gamma
    slip = c.eta[0] * c.eta[0] + c.eta[1] * c.eta[1]
    change = w.d_eta[0] * w.d_eta[0] + w.d_eta[1] * w.d_eta[1]
    inside = determinant(x0, c.beta[0], c.beta[1])
    slides = pick(change > 0.25 * slip, 0.0, pick(inside > 0.01 * x0 * x0, 0.0, 1.0))
    if everywhere(slides == 0.0):
        return 0.0
    _, largest, smallest = eigenvalues(x0, c.beta, c.psi, c.eta)
    return pick(largest < 10.0 * w.aim, pick(smallest > 0.1 * w.aim, slides, 0.0), 0.0)


@kernel
def follow(mu, c, w):
    """After a step: put a contact that slides on back on the central path."""
    slides = w.slides != 0.0
    if somewhere(slides):
        psi, x, y = sliding(mu * c.gamma, w.aim, c.eta[0], c.eta[1])
        c.psi = pick(slides, psi, c.psi)
        c.beta[0], c.beta[1] = pick(slides, x, c.beta[0]), pick(slides, y, c.beta[1])


@kernel
def land(mu, c, r, aim):
    """Friction on the central path with the difference r beta - eta that it has.

    With its size d that is (psi - 2 k) (psi + r x_0)^2 = d^2 psi for the slip speed psi. Newton's
    method comes down to the root from psi = 2 k + d without fail, as from anywhere between: from
    where a step from psi = 2 k leads if r x_0 is larger than d (it sticks), or from what
    psi + r x_0 = d sqrt(psi / (psi - 2 k)) gives for the psi = d - r x_0 of a contact that slides.
    """
    x0 = mu * c.gamma
    least, x, y = aim / x0, r * c.beta[0] - c.eta[0], r * c.beta[1] - c.eta[1]
    square = x * x + y * y
    size = sqrt(square)
    slip = size - r * x0
    left = least - slip
    sticks = least + square * least / (left * (left + 2.0 * size))
    slides = slip - 0.5 * size * least / left
    near = pick(left > 0.0, sticks, pick(slip > 2.0 * least, slides, inf))
    c.psi = min(least + size, near)
    for _ in range(50):
        arm, above = c.psi + r * x0, c.psi - least
        value = above * arm * arm - square * c.psi
        change = value / (arm * arm + 2.0 * above * arm - square)
        c.psi = max(least, c.psi - change)
        if not somewhere(change > 1e-14 * c.psi):
            break
    share = c.psi / (c.psi + r * x0)
    c.eta[0], c.eta[1] = -share * x, -share * y
    c.beta[0], c.beta[1] = x0 / c.psi * share * x, x0 / c.psi * share * y


@kernel
def step_to_surface(a0, a, d0, d):
    """The step from (a0, a) inside the cone along (d0, d) to its surface; inf if there is none."""
    square = determinant(d0, d[0], d[1])
    half = a0 * d0 - a[0] * d[0] - a[1] * d[1]
    constant = determinant(a0, a[0], a[1])
    root = half * half - square * constant
    step = pick(root < 0.0, inf, constant / (sqrt(root) - half))
    return pick(half >= 0.0, pick(square >= 0.0, inf, step), step)


@kernel
def longest_step(mu, c, w):
    """The step at which x or y comes to the surface of the cone."""
    if everywhere(w.slides != 0.0):
        return inf
    straight = min(
        step_to_surface(mu * c.gamma, c.beta, mu * w.d_gamma, w.d_beta),
        step_to_surface(c.psi, c.eta, w.d_psi, w.d_eta),
    )
    return pick(w.slides != 0.0, inf, straight)


@kernel
def products(mu, c, w, length):
    """(sum, largest, smallest) eigenvalue of x o y after a straight step of `length`."""
    x0, y0 = mu * (c.gamma + length * w.d_gamma), c.psi + length * w.d_psi
    x1, y1 = c.beta[0] + length * w.d_beta[0], c.eta[0] + length * w.d_eta[0]
    x2, y2 = c.beta[1] + length * w.d_beta[1], c.eta[1] + length * w.d_eta[1]
    return eigenvalues(x0, (x1, x2), y0, (y1, y2))


@kernel
def eigenvalues(x0, x, y0, y):
    """(sum, largest, smallest) eigenvalue of x o y in the axes of Nesterov and Todd.

    All are positive inside the cones: their sum is 2 x . y, their product det x det y.
    """
    mean = x0 * y0 + x[0] * y[0] + x[1] * y[1]
    both = determinant(x0, x[0], x[1]) * determinant(y0, y[0], y[1])
    largest = mean + sqrt(max(mean * mean - both, 0.0))
    return 2.0 * mean, largest, both / largest
