"""Velocities at a knot: what the momenta show is measured along chords, what is read along arcs.

A body that turns by an angle theta in every interval has the discrete momentum of the angular
velocity sin(theta) / dt, and points on it have positions whose central differences are as much too
short. Its angular velocity is theta / dt. So each body's is read as an arc, and the centres of mass
follow in the joints' manner: the rates of slides stay as they are, and so does the linear momentum
of what floats (derivation.md, Sect. 4). An interval of length 0 leaves all as it is.
"""

from math import asin, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.compiler.lanes import everywhere, over_limbs, pick
from robosim.kernels.equations.algebra import cross, dot, fill, rotate

# Bodies that turn by more in an interval [rad] rarely do so steadily: an arc drawn through such a
# chord would blow up what is uneven, so that it stays the multiple of it that it is here.
LARGEST_TURN = 0.5
ITS_SINE = 0.479425538604203
SMALLEST_TURN = 2e-8  # [rad], below which chord and arc are the same to rounding


@kernel
def arc_excess(square):
    """(arc - chord) / chord, for the square of a chord, the sine of an angle."""
    small = square * (1.0 / 6.0 + square * (3.0 / 40.0 + square * (15.0 / 336.0)))
    if everywhere(square < 1e-4):
        return small
    chord = min(sqrt(square), ITS_SINE)
    return pick(square < 1e-4, small, asin(chord) / chord - 1.0)


@kernel
def find_changes(model, poses, twists, dt, work):
    """work.rhs = what leads the twists from chords to arcs; whether that is anything."""
    if everywhere(farthest_turn(model, twists, dt) < SMALLEST_TURN * SMALLEST_TURN):
        return False
    for b in range(model.bodies.shape[0]):
        square, change = turn_squared(twists[b].w, dt), work.rhs[b].w
        excess = arc_excess(square)
        fill(0.0, change)
        for k in range(3):
            change[3 + k] = excess * twists[b].w[3 + k]
    follow_turns(model, poses, work)
    return True


@kernel
def farthest_turn(model, twists, dt):
    """Square of how far twists turn the body in dt that they turn the farthest."""
    largest = 0.0
    for b in range(model.bodies.shape[0]):
        largest = max(largest, turn_squared(twists[b].w, dt))
    return largest


@kernel
def turn_squared(twist, dt):
    """Square of how far a twist turns a body in dt."""
    return dt * dt * dot(twist[3:], twist[3:])


@kernel
def add_changes(model, work, twists):
    """twists += what has been found in work.rhs."""
    for b in range(model.bodies.shape[0]):
        for k in range(6):
            twists[b].w[k] += work.rhs[b].w[k]


@kernel
def follow_turns(model, poses, work):
    """Let the centres of mass follow the changes of the angular velocities in work.rhs."""
    nb, t = model.bodies.shape[0], work.scratch[0]
    for j in range(nb):
        joint = model.joints[j]
        body, change = model.bodies[joint.child], work.rhs[joint.child].w
        if body.floats_with == joint.child:
            fill(0.0, work.correction[joint.child].w)
            continue
        a, b = poses[joint.parent], poses[joint.child]
        rotate(b.R, joint.p_b, t.arm)
        cross(t.arm, change[3:], change[:3])
        if joint.parent < nb:
            parent = work.rhs[joint.parent].w
            for k in range(3):
                t.y[k] = b.x[k] + t.arm[k] - a.x[k]
            cross(parent[3:], t.y, t.z)
            for k in range(3):
                change[k] += parent[k] + t.z[k]
        if body.floats_with >= 0:
            for k in range(3):
                work.correction[body.floats_with].w[k] += body.share * body.mass * change[k]
    for i in range(nb):
        body = model.bodies[i]
        if body.floats_with == i:
            moved = work.correction[i].w
            for k in range(3):
                moved[k] = over_limbs(moved[k])
        if body.floats_with >= 0:
            for k in range(3):
                work.rhs[i].w[k] -= work.correction[body.floats_with].w[k] / body.floating_mass
