"""Compliant contacts and limits: springs with dissipation, as rows of the complementarity problem.

The force is that of [Hunt1975] in a contact, and of a damped spring at a limit,

    F = k depth (1 + d rate)  or  F = k depth + c rate,    no less than 0,

with depth and rate at a point of the interval, from the gaps at both knots, g1 and g2:

    depth = -(early g1 + late g2),    rate = (g1 - g2) / dt,    late = 1 - early.

Its impulse dt F acts by the part `late` at the first knot and by `early` at the second. With halves
that is the midpoint rule: of second order, and energy is kept where nothing dissipates. Such a
spring rings where it is stiffer than the interval is short, so `early` then goes to 0, where the
spring acts as its end of the interval has it: stable at any stiffness, and in the limit hard.

The force sets in at a known gap g2, and grows from there on. So with gamma, the impulse at the
first knot, the row of a hard contact has a deflection, which is a concave function of gamma alone,

    (g2 - onset) / dt + deflection(gamma) - s = 0,    s gamma = kappa.
"""

from math import sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import pick

STIFF = 2.0  # dt^2 k / m from which on a spring is rather held at the end of an interval
LEAST = 1e-12  # part of its force that a contact gives at least for a deflection where it sets in
NEVER = 1e-300  # in place of a dissipation that is zero [s/m]


@kernel
def begin_deflection(contact, gap, dt, w, t):
    """Where the force of a compliant contact sets in over an interval that begins with `gap`."""
    w.sharing = 1
    if contact.spring_end != 0:
        gap = min(gap, -w.depth)
    h, k, damping, dissipation = abs(dt), contact.stiffness, contact.damping, contact.dissipation
    depth = max(-gap, 0.0)
    a = h * (h * k + damping + dissipation * k * depth) / contact.moved
    w.held = a * a / (a * a + STIFF * STIFF)
    early = 0.5 * STIFF * STIFF / (a * a + STIFF * STIFF)
    late = 1.0 - early
    # A start has half of the knot's impulse ahead, as of all other forces.
    first = pick(t.before == 0.0, 0.5, late)
    w.later, w.lacks = early / first, (0.5 - early) / first
    w.earlier = w.later * t.before
    slope = late * k + damping / h
    # What damps acts from the surface on.
    onset = pick(gap < 0.0, (damping / h - early * k) / slope * gap, -early / late * gap)
    # What comes out faster than 1 / d is not followed.
    left = 1.0 + dissipation * gap / (late * h)
    w.step_back = pick(left > 0.0, onset, gap + h / max(dissipation, NEVER))
    w.onset = max(abs(left), LEAST)
    w.give = 1.0 / (h * h * first * slope)


@kernel
def deflection(contact, w):
    """How much a contact gives, over the interval [m/s]; nothing if it is hard."""
    if contact.compliant == 0:
        return 0.0
    linear = w.give * w.pressed
    root = sqrt(w.onset * w.onset + 4.0 * contact.dissipation * linear)
    return 2.0 * linear / (w.onset + root)


@kernel
def deflection_slope(contact, pressed, w):
    """Derivative of the deflection of a compliant contact by the impulse on its spring [1/kg]."""
    linear = w.give * max(pressed, 0.0)
    return w.give / sqrt(w.onset * w.onset + 4.0 * contact.dissipation * linear)


@kernel
def friction_coefficient(contact, w):
    """Largest friction over the normal impulse at the first knot.

    Friction acts there alone, of which the knot has what the interval before left there as well.
    """
    if contact.compliant == 0:
        return contact.mu
    return contact.mu + contact.mu * w.earlier


@kernel
def copy_deflection(source, w):
    """Let a companion give as its contact does."""
    w.give, w.onset, w.held = source.give, source.onset, source.held
    w.later, w.earlier, w.lacks = source.later, source.earlier, source.lacks
    w.sharing = source.sharing


@kernel
def is_soft(contact, w):
    """1 where a contact is rather a spring than held, as a mask for `pick`."""
    return pick(w.held < 0.5, 1.0 * contact.compliant, 0.0)
