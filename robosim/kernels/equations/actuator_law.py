"""Implicit actuators: forces that are laws of a coordinate or of a tendon's length.

A law gives the force along a growing length and its slopes by the length and by its rate. In a step
it is taken at the middle of the interval and acts half at either knot, as that of a spring does:
``half = dt/2 F((q1 + q2) / 2, (q2 - q1) / dt)`` (derivation.md, Sect. 7). The control, or the
activation of a muscle, is held over the step.
"""

from robosim.compiled.kinds import BUMPS, HILL
from robosim.kernels.compiler.jit import aside, kernel


@kernel
def piece_at(pieces, begin, end, x):
    """The piece, of those from begin to end, that x is in; the outermost ones go on."""
    low, high = begin, end - 1
    while low < high:
        middle = (low + high + 1) // 2
        if pieces[middle].begin <= x:
            low = middle
        else:
            high = middle - 1
    return low


@aside
def curve_at(pieces, begin, end, x):
    """(value, slope) of a curve at x."""
    piece = pieces[piece_at(pieces, begin, end, x)]
    d, c = x - piece.begin, piece.c
    return (
        c[0] + d * (c[1] + d * (c[2] + d * c[3])),
        c[1] + d * (2.0 * c[2] + 3.0 * d * c[3]),
    )


@kernel
def hill_law(law, pieces, activation, length, rate):
    """Force of a muscle of the Hill type [Sueda, Eq. 1.38], negative, and its slopes."""
    x, y, at = (length - law.slack) / law.optimal, rate / law.fastest, law.curve
    active, by_length = curve_at(pieces, at[0], at[1], x)
    moving, by_rate = curve_at(pieces, at[1], at[2], y)
    passive, stretching = curve_at(pieces, at[2], at[3], x)
    slope = (activation * by_length * moving + stretching) / law.optimal
    return (
        -law.force * (activation * active * moving + passive),
        -law.force * slope,
        -law.force * activation * active * by_rate / law.fastest,
    )


@kernel
def bump(x):
    """(value, slope) of what rises from 0 at 0 to 1 at 1 by two parabolas; 0 before that."""
    if x <= 0.0:
        return 0.0 * x, 0.0 * x
    if x <= 0.5:
        return 2.0 * x * x, 4.0 * x
    return 1.0 - 2.0 * (1.0 - x) * (1.0 - x), 4.0 * (1.0 - x)


@kernel
def moving_force(law, rate):
    """(value, slope) over a rate of what one of MuJoCo's muscles gives of its force."""
    y, more = rate / law.fastest, law.lengthening - 1.0
    if y <= -1.0 or (y >= more and y > 0.0):
        return (law.lengthening if y > 0.0 else 0.0) + 0.0 * y, 0.0 * y
    if y <= 0.0:
        return (1.0 + y) * (1.0 + y), 2.0 * (1.0 + y) / law.fastest
    left = more - y
    return law.lengthening - left * left / more, 2.0 * left / more / law.fastest


@kernel
def stretched_force(law, x):
    """(value, slope) over the length in optimal ones of one of MuJoCo's muscles at rest."""
    half = 0.5 * (law.longest - 1.0)
    z = (x - 1.0) / half
    if z <= 0.0:
        return 0.0 * z, 0.0 * z
    if z <= 1.0:
        return law.passive * 0.5 * z * z, law.passive * z / half
    return law.passive * (z - 0.5), law.passive / half + 0.0 * z


@kernel
def bumps_law(law, activation, length, rate):
    """Force of one of MuJoCo's muscles, negative, and its slopes."""
    x = law.begin + (length - law.slack) / law.optimal
    span = 1.0 - law.shortest if x <= 1.0 else law.longest - 1.0
    side = x - law.shortest if x <= 1.0 else law.longest - x
    active, by_length = bump(side / span)
    by_length *= (1.0 if x <= 1.0 else -1.0) / span
    moving, by_rate = moving_force(law, rate)
    passive, stretching = stretched_force(law, x)
    slope = (activation * by_length * moving + stretching) / law.optimal
    return (
        -law.force * (activation * active * moving + passive),
        -law.force * slope,
        -law.force * activation * active * by_rate,
    )


@kernel
def affine_law(law, control, length, rate):
    """Force of a motor or servo, and its slopes."""
    a, b = law.gain, law.bias
    stiffness, damping = a[1] * control + b[1], a[2] * control + b[2]
    force = a[0] * control + b[0] + stiffness * length + damping * rate
    return force, stiffness, damping


@aside
def actuator_law(law, pieces, control, q, u):
    """Force along a coordinate q of the rate u, and its slopes by q and by u."""
    length, rate = law.gear * q, law.gear * u
    if law.kind == HILL:
        force, stiffness, damping = hill_law(law, pieces, control, length, rate)
    elif law.kind == BUMPS:
        force, stiffness, damping = bumps_law(law, control, length, rate)
    else:
        force, stiffness, damping = affine_law(law, control, length, rate)
    inside = 1.0 if law.lower <= force and force <= law.upper else 0.0
    slopes = law.gear * law.gear * inside
    force = min(max(force, law.lower), law.upper)
    return law.gear * force, slopes * stiffness, slopes * damping


@kernel
def add_actuators(actuators, controls, joint, q, q2, w, dt):
    """Add what implicit actuators ask of a joint's coordinates to its law, half and A."""
    if actuators.laws.shape[0] > 0:
        for row in range(joint.m_T + (joint.m_R if joint.m_R == 1 else 0)):
            v, at = joint.v_begin + row, joint.q_begin + row
            middle, u = 0.5 * (q[at] + q2[at]), (q2[at] - q[at]) / dt
            for n in range(actuators.begin[v], actuators.begin[v + 1]):
                force, stiffness, damping = actuator_law(
                    actuators.laws[n], actuators.pieces, controls[n], middle, u
                )
                w.half[row] += 0.5 * dt * force
                w.law[row] += 0.5 * dt * force
                w.A[row, row] += 0.5 * dt * (0.5 * dt * stiffness + damping)
