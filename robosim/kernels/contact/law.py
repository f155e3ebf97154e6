"""One inequality in the interior point: its normal, and either cone for its friction.

In its own axes, two tangents and the normal, with motion u = (slip, slip, gap / dt) in m/s (see
`touch`) and impulse (friction, friction, gamma), so that all products are energies. With a slack s
the perturbed normal is

    u_z - s = 0                      s gamma = kappa                     (29c)

with the deflection of what is compliant added to u_z (`compliance`),

and friction that of `cone_second_order`, or of `cone_linearized` where the model has facets. The
limit of a coordinate has no friction; dry friction of a coordinate has no normal, but a gamma that
is given and stays.

Eliminated in closed form it leaves ``dF = F + A du`` for its impulse: no matrix larger than 3x3
(derivation.md, Sect. 5).
"""

from math import inf, sqrt

from robosim.compiled.kinds import DRY, SLIP
from robosim.compiled.records.sizes import TRENDS
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, pick
from robosim.kernels.contact import cone_linearized as linearized
from robosim.kernels.contact import cone_second_order as second_order
from robosim.kernels.contact.compliance import (
    deflection,
    deflection_slope,
    friction_coefficient,
)
from robosim.kernels.equations.algebra import fill, split_pair, step_to_zero

CLOSE = 0.99  # part of the way to the surface of the cones that a step may go


@kernel
def friction_size(facets):
    """Number of impulses that friction is made of."""
    return facets.shape[0] if facets.shape[0] > 0 else 2


@kernel
def contact_lags(contact, c, w):
    """Widen a contact's gap by what its slip speed lags behind, times mu.

    With u_z + mu (lag - psi) in the place of u_z the equations of all contacts are those of a
    convex problem, which has a solution if all contacts can open at once. It is that of Coulomb's
    law where `lag` is the slip speed psi [Acary2011].
    """
    w.lags, w.lag = 0, 0.0
    if contact.kind != DRY and contact.mu > 0.0 and contact.resists == SLIP:
        w.lags = 1
        w.lag = sqrt(c.eta[0] * c.eta[0] + c.eta[1] * c.eta[1])


@kernel
def contact_follows(contact, c, w, part):
    """Let the lagging slip speed follow by a part; by how much the gap was wider [m/s]."""
    if w.lags == 0:
        return 0.0
    behind = c.psi - w.lag
    w.lag += part * behind
    return friction_coefficient(contact, w) * abs(behind)


@kernel
def contact_center(contact, c, w, facets, kappa, speed):
    """Put a contact on the central path at `kappa` for the motion w.u, slack `speed` or more.

    Dry friction has its gamma, the most that it can give, already.
    """
    if contact.kind != DRY:
        c.s = max(w.u[2], speed)
        c.gamma = w.normal_weight * kappa / c.s
    c.c, c.psi = 0.0, 0.0
    fill(0.0, c.beta)
    fill(0.0, c.eta)
    aim = w.weight * kappa
    if contact.mu == 0.0:
        return
    if facets.shape[0] == 0:
        second_order.center(friction_coefficient(contact, w), c, aim, w.u[0], w.u[1])
    else:
        linearized.center(friction_coefficient(contact, w), c, facets, aim)


@kernel
def contact_meets(contact, c, w, facets):
    """Let a contact that a motion has reached take up what it is hit with."""
    if contact.kind == DRY:
        return
    c.s, c.gamma = max(w.u[2], 0.0), contact.mass * max(-w.u[2], 0.0)
    if contact.compliant != 0:
        c.gamma = max(-w.u[2], 0.0) / (1.0 / contact.mass + w.give / w.onset)
    c.c, c.psi = friction_coefficient(contact, w) * c.gamma, 0.0
    fill(0.0, c.beta)
    fill(0.0, c.eta)
    if contact.mu > 0.0 and facets.shape[0] == 0:
        c.eta[0], c.eta[1] = w.u[0], w.u[1]


@kernel
def augmented_impulse(contact, c, i):
    """Impulse over mass less motion [m/s], of friction (i = 0, 1) and of the normal (2).

    It changes smoothly where a contact opens, closes, sticks or slides.
    """
    if i == 2:
        return c.gamma / contact.mass - c.s
    return c.beta[i] / contact.mass - c.eta[i]


@kernel
def contact_begins(contact, c):
    """Note where a contact starts from, without a past."""
    c.followed = 0.0
    for i in range(3):
        c.augmented[i] = augmented_impulse(contact, c, i)
        fill(0.0, c.changed[i])


@kernel
def contact_keeps(contact, c, regular, misses):
    """Note where an interval has left a contact, for the next guess.

    It begins anew where that interval was not like the one before it (`regular` is 0, else 1).
    """
    c.followed *= regular
    for i in range(3):
        before, changed = c.augmented[i], c.changed[i]
        c.augmented[i] = augmented_impulse(contact, c, i)
        change = c.augmented[i] - before
        misses[0] += change * change
        for n in range(TRENDS):
            before, changed[n] = changed[n], pick(c.followed > n, change, 0.0)
            change -= before
            misses[n + 1] += change * change
    c.followed += 1.0


@kernel
def contact_guess(contact, c, w, facets, trend, regular, aim):
    """Put a contact on the central path where its changes lead to, as far as `trend` says."""
    c.s = 0.0
    for i in range(3):
        ahead = 0.0
        for n in range(TRENDS):
            ahead += trend[n] * c.changed[i, n]
        impulse = contact.mass * (c.augmented[i] + regular * ahead)
        if i < 2:
            c.beta[i], c.eta[i] = impulse, 0.0
        elif contact.kind != DRY:
            c.gamma = impulse
    w.jumps, w.aim = 1.0 / contact.mass, aim
    land(contact, c, w, facets, w.jumps)


@kernel
def contact_impulse(beta, gamma, facets, out):
    """out (3,) = impulse in contact axes: friction from `beta`, gamma along the normal."""
    out[0], out[1], out[2] = beta[0], beta[1], gamma
    if facets.shape[0] > 0:
        linearized.friction(beta, facets, out)


@kernel
def contact_stiffness(contact, c, facets, w):
    """w.A: how the impulse answers a change of motion, (3, 3), with the rest eliminated.

    Directions are found with it until it is found anew, so that they fit the factors that it is in,
    be these of variables that are a little different.
    """
    A = w.A
    for i in range(3):
        for k in range(3):
            A[i, k] = 0.0
    if contact.kind != DRY:
        A[2, 2] = -c.gamma / c.s
        w.yields = 0.0
        if contact.compliant != 0:
            w.slope = deflection_slope(contact, w.pressed, w)
            w.yields = w.slope if w.sharing == 1 else 0.0 * w.slope
            A[2, 2] = -c.gamma / (c.s + c.gamma * w.yields)
    if contact.mu == 0.0:
        return
    mu = friction_coefficient(contact, w)
    if facets.shape[0] == 0:
        second_order.stiffness(mu, c, w)
        if w.lags != 0:
            second_order.lagged_stiffness(mu, c, w)
    else:
        linearized.stiffness(mu, c, facets, A)


@kernel
def contact_violation(contact, c, facets, w):
    """Largest residual of the linear equations [m/s]; impulses are divided by the body's mass."""
    u, worst = w.u, 0.0
    if contact.kind != DRY:
        worst = abs(u[2] - c.s + deflection(contact, w))
    if contact.mu == 0.0:
        return worst
    if facets.shape[0] == 0:
        return max(worst, second_order.violation(c, u))
    mu = friction_coefficient(contact, w)
    return max(worst, linearized.violation(mu, c, facets, u, contact.mass))


@kernel
def contact_force(contact, c, facets, kappa, w):
    """w.F: the impulse's change at rest for target `kappa` and second-order terms.

    Leaves in w the directions of all eliminated variables at rest; `contact_answer` adds the rest.
    """
    w.d_s, w.d_gamma, w.aim = 0.0, 0.0, w.weight * kappa
    kappa *= w.normal_weight
    mu = friction_coefficient(contact, w)
    if contact.kind != DRY:
        w.d_s = w.u[2] - c.s
        if contact.compliant == 0:
            w.d_gamma = (kappa - w.second_s) / c.s - c.gamma + w.A[2, 2] * w.d_s
        else:
            w.d_s += deflection(contact, w)
            w.d_gamma = (kappa - w.second_s - c.s * c.gamma) / (c.s + c.gamma * w.yields)
            w.d_gamma += w.A[2, 2] * w.d_s
    if contact.mu > 0.0:
        if facets.shape[0] == 0:
            if w.lags != 0:
                w.d_gamma = second_order.lagged_normal(mu, c, kappa, w)
            second_order.direction(mu, c, w)
            if w.lags != 0:
                w.d_s -= mu * w.d_psi
        else:
            linearized.direction(mu, c, facets, w)
    if contact.compliant != 0:
        w.at_rest = w.d_gamma
        w.d_s += w.yields * w.d_gamma
    contact_impulse(w.d_beta, w.d_gamma, facets, w.F)


@kernel
def contact_answer(contact, c, facets, du, w):
    """Add to the directions in w what answers the motion `du`."""
    d_gamma, d_psi = 0.0, w.d_psi
    if contact.kind != DRY:
        w.d_s += du[2]
        d_gamma = w.A[2, 2] * du[2]
        if w.lags != 0:
            d_gamma += w.A[2, 0] * du[0] + w.A[2, 1] * du[1]
        w.d_gamma += d_gamma
        if contact.compliant != 0:
            w.d_s += w.yields * d_gamma
    if contact.mu == 0.0:
        return
    mu = friction_coefficient(contact, w)
    if facets.shape[0] == 0:
        second_order.answer(mu, du, d_gamma, w)
        if w.lags != 0:
            w.d_s -= mu * (w.d_psi - d_psi)
        w.slides = second_order.slides_on(mu, c, w)
    else:
        linearized.answer(mu, c, facets, du, d_gamma, w)


@kernel
def contact_second_order(contact, c, facets, on, w):
    """Mehrotra's second-order terms from the last direction (`on` = 1), or zero (`on` = 0)."""
    w.second_s = on * w.d_s * w.d_gamma
    if contact.mu == 0.0:
        return
    if facets.shape[0] > 0:
        linearized.second_order(facets, on, w)
    else:
        second_order.second_order(friction_coefficient(contact, w), c, on, w)


@kernel
def contact_longest_step(contact, c, w, facets, fraction, longest):
    """The longest step up to `longest` that leaves the contact inside its cones."""
    if w.jumps != 0.0:
        return longest
    return longest_straight_step(contact, c, w, facets, fraction, longest)


@kernel
def longest_straight_step(contact, c, w, facets, fraction, longest):
    """The same without landing."""
    longest = min(longest, fraction * step_to_zero(c.s, w.d_s))
    longest = min(longest, fraction * step_to_zero(c.gamma, w.d_gamma))
    if contact.mu == 0.0:
        return longest
    if facets.shape[0] == 0:
        mu = friction_coefficient(contact, w)
        return min(longest, fraction * second_order.longest_step(mu, c, w))
    return min(longest, fraction * linearized.longest_step(c, w, facets))


@kernel
def contact_products(contact, c, w, facets, length):
    """(sum, largest, smallest, number) of the contact's products after `length`, weights out."""
    product = (c.s + length * w.d_s) * (c.gamma + length * w.d_gamma) / w.normal_weight
    if contact.mu == 0.0:
        return product, product, product, 1
    if facets.shape[0] == 0:
        mu = friction_coefficient(contact, w)
        total, largest, smallest = second_order.products(mu, c, w, length)
        pairs = 3
    else:
        total, largest, smallest = linearized.products(c, w, facets, length)
        pairs = 2 + facets.shape[0]
    total, largest, smallest = total / w.weight, largest / w.weight, smallest / w.weight
    if contact.kind == DRY:
        return total, largest, smallest, pairs - 1
    return product + total, max(product, largest), min(product, smallest), pairs


@kernel
def contact_stays(contact, c, w, facets, least):
    """Let a contact go straight in a jump if at least `least` of that leaves it in its cones.

    Such a contact goes straight, up to `CLOSE` of the way to where it would leave them: landing
    keeps the difference of a pair, and so brings a slip that is to vanish down by halves only.
    """
    longest = longest_straight_step(contact, c, w, facets, 1.0, 2.0)
    w.straight = CLOSE * longest if everywhere(longest >= least) else 0.0


@kernel
def contact_length(w, length):
    """How far a contact goes in a step of some length."""
    return min(length, pick(w.straight != 0.0, w.straight, inf))


@kernel
def contact_follow(contact, c, w, facets):
    """After a step: put a contact where no straight step gets it."""
    if w.jumps != 0.0 and w.straight == 0.0:
        contact_land(contact, c, w, facets)
    elif facets.shape[0] == 0 and contact.mu > 0.0:
        second_order.follow(friction_coefficient(contact, w), c, w)


@kernel
def contact_land(contact, c, w, facets):
    """Put a contact back on the central path at w.aim after a step of any length.

    Of each pair the step has told a difference, impulse over mass less velocity, whose sign says
    which of the two is to be large: a contact may open or close, stick or slide in one step.
    """
    normal = w.jumps
    if contact.compliant != 0:
        pressed = c.gamma if w.sharing == 1 else w.pressed
        normal += deflection_slope(contact, pressed, w)
    land(contact, c, w, facets, normal)


@kernel
def land(contact, c, w, facets, normal):
    """`contact_land` with an inverse mass along the `normal`: what deflects has a larger one."""
    r, aim = w.jumps, w.aim
    if contact.kind != DRY:
        impulse, c.s = split_pair(normal * c.gamma - c.s, normal * aim)
        c.gamma = impulse / normal
    if contact.mu == 0.0:
        return
    if facets.shape[0] == 0:
        second_order.land(friction_coefficient(contact, w), c, r, aim)
    else:
        linearized.land(c, facets, r, aim)
