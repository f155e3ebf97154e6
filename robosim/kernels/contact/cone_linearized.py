"""Friction with the linearized cone, Eqs. (29d) to (29f): a polygon of facets b_i in the plane.

Impulses beta along the facets, with slacks c, eta and the slip speed psi:

    b_i . u + psi - eta_i = 0        beta_i eta_i = aim                  (29d), (29f)
    mu gamma - sum beta - c = 0      c psi = aim                         (29e)

All stay positive. `aim` is the barrier kappa times the weight of friction in this contact.
"""

from robosim.kernels.compiler.jit import aside
from robosim.kernels.equations.algebra import split_pair, step_to_zero


@aside
def center(mu, c, facets, aim):
    """All variables for the normal impulse c.gamma, without slip."""
    n = facets.shape[0]
    c.c = mu * c.gamma / (n + 1)
    c.psi = aim / c.c
    for i in range(n):
        c.beta[i] = c.c
        c.eta[i] = aim / c.c


@aside
def friction(beta, facets, out):
    """out (2 of 3,) = sum of beta_i b_i."""
    out[0], out[1] = 0.0, 0.0
    for i in range(facets.shape[0]):
        out[0] += facets[i, 0] * beta[i]
        out[1] += facets[i, 1] * beta[i]


@aside
def stiffness(mu, c, facets, A):
    """Friction's rows of A, whose normal A[2, 2] is known."""
    total, m0, m1 = 0.0, 0.0, 0.0
    for i in range(facets.shape[0]):
        ratio = c.beta[i] / c.eta[i]
        b0, b1 = facets[i, 0], facets[i, 1]
        total += ratio
        m0 += ratio * b0
        m1 += ratio * b1
        A[0, 0] -= ratio * b0 * b0
        A[0, 1] -= ratio * b0 * b1
        A[1, 1] -= ratio * b1 * b1
    A[1, 0] = A[0, 1]
    share = c.psi / (c.c + c.psi * total)
    A[0, 0] += share * m0 * m0
    A[0, 1] += share * m0 * m1
    A[1, 0] += share * m1 * m0
    A[1, 1] += share * m1 * m1
    A[0, 2] = share * mu * m0 * A[2, 2]
    A[1, 2] = share * mu * m1 * A[2, 2]


@aside
def violation(mu, c, facets, u, mass):
    """Largest residual of the linear equations [m/s], the cone's over the body's mass."""
    worst, cone = 0.0, mu * c.gamma - c.c
    for i in range(facets.shape[0]):
        cone -= c.beta[i]
        slip = facets[i, 0] * u[0] + facets[i, 1] * u[1] + c.psi - c.eta[i]
        worst = max(worst, abs(slip))
    return max(worst, abs(cone) / mass)


@aside
def direction(mu, c, facets, w):
    """Directions at rest for the known w.d_gamma, into w."""
    aim = w.aim
    total, sum_h, cone = 0.0, 0.0, mu * c.gamma - c.c
    for i in range(facets.shape[0]):
        slip = facets[i, 0] * w.u[0] + facets[i, 1] * w.u[1]
        w.d_eta[i] = slip + c.psi - c.eta[i]
        ratio = c.beta[i] / c.eta[i]
        w.d_beta[i] = (aim - w.second[i]) / c.eta[i] - c.beta[i] - ratio * w.d_eta[i]
        total += ratio
        sum_h += w.d_beta[i]
        cone -= c.beta[i]
    change = cone - sum_h + mu * w.d_gamma
    w.d_psi = (aim - w.second_c - c.c * c.psi - c.psi * change) / (c.c + c.psi * total)
    for i in range(facets.shape[0]):
        w.d_beta[i] -= c.beta[i] / c.eta[i] * w.d_psi
        w.d_eta[i] += w.d_psi
    # From its product rather than from the cone: that difference cancels where c is small.
    w.d_c = (aim - w.second_c - c.c * w.d_psi) / c.psi - c.c


@aside
def answer(mu, c, facets, du, d_gamma, w):
    """Add to the directions what answers a motion `du` and a change `d_gamma` of the normal."""
    total, rise = 0.0, mu * d_gamma
    for i in range(facets.shape[0]):
        ratio = c.beta[i] / c.eta[i]
        total += ratio
        rise += ratio * (facets[i, 0] * du[0] + facets[i, 1] * du[1])
    rise *= -c.psi / (c.c + c.psi * total)
    for i in range(facets.shape[0]):
        change = facets[i, 0] * du[0] + facets[i, 1] * du[1] + rise
        w.d_eta[i] += change
        w.d_beta[i] -= c.beta[i] / c.eta[i] * change
    w.d_psi += rise
    w.d_c -= c.c / c.psi * rise


@aside
def second_order(facets, on, w):
    """Products of the last direction, or zero."""
    w.second_c = on * w.d_c * w.d_psi
    for i in range(facets.shape[0]):
        w.second[i] = on * w.d_beta[i] * w.d_eta[i]


@aside
def longest_step(c, w, facets):
    """The step at which the first variable comes to zero."""
    longest = min(step_to_zero(c.c, w.d_c), step_to_zero(c.psi, w.d_psi))
    for i in range(facets.shape[0]):
        longest = min(longest, step_to_zero(c.beta[i], w.d_beta[i]))
        longest = min(longest, step_to_zero(c.eta[i], w.d_eta[i]))
    return longest


@aside
def products(c, w, facets, length):
    """(sum, largest, smallest) of c psi and the beta_i eta_i after `length`."""
    total = (c.c + length * w.d_c) * (c.psi + length * w.d_psi)
    largest, smallest = total, total
    for i in range(facets.shape[0]):
        product = (c.beta[i] + length * w.d_beta[i]) * (c.eta[i] + length * w.d_eta[i])
        total += product
        largest, smallest = max(largest, product), min(smallest, product)
    return total, largest, smallest


@aside
def land(c, facets, r, aim):
    """All pairs at the product `aim` with the differences r impulse - velocity that they have."""
    impulse, c.psi = split_pair(r * c.c - c.psi, r * aim)
    c.c = impulse / r
    for i in range(facets.shape[0]):
        impulse, c.eta[i] = split_pair(r * c.beta[i] - c.eta[i], r * aim)
        c.beta[i] = impulse / r
