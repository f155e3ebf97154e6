"""Where a shape may come to within a step, as its body goes on: of a terrain, all else is left out.

A bound by the speed of a body alone holds in all directions. Most of a terrain lies where a body
does not go. So each point of a shape counts twice as far as it goes along a direction, like the
speed in the bound, and a part of that bound beside it, for what the step will change. Features that
are met nevertheless are looked for after the step has been solved, as those beyond the bound are:
where shapes overlap then, and where the body may have come through (`contact.reach.strays`).
"""

from math import inf, sqrt

from robosim.compiled.kinds import CYLINDER, ELLIPSOID
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, dot, fill, rotate_back

SHARE = 0.1  # of how far a body may move in any direction, that counts in all of them


@kernel
def leeway(margin, fall):
    """How far points may move against what was foretold, of a bound that gravity has a part of."""
    return fall + SHARE * (margin - fall)


@kernel
def forget_motion(pair):
    """Let features be found within the margin in all directions."""
    pair.heeds = 0


@kernel
def note_motion(pair, twist, dt, fall):
    """Let features be found where a body's motion (6,), in world axes, leads within dt."""
    pair.heeds, pair.ahead, pair.fall = 1, 2.0 * dt, fall
    assign(twist, pair.twist)


@kernel
def place_motion(scratch, pose):
    """The motion that has been noted, of the second shape's body, in the frame of the first."""
    pair = scratch.pair[0]
    for i in range(3):
        pair.e[i] = pose.x[i] - pair.ba[i]
    rotate_back(pair.R_1, pair.e, pair.center)
    rotate_back(pair.R_1, pair.twist[:3], pair.speed)
    rotate_back(pair.R_1, pair.twist[3:], pair.spin)


@kernel
def least_way(scratch):
    """How far any point of the second shape may move against what has been noted of it [m].

    That of a round shape beside its core, which turns by itself, is a part of it.
    """
    pair, other = scratch.pair[0], scratch.poly[1]
    way = leeway(pair.margin, pair.fall)
    if other.kind == CYLINDER or other.kind == ELLIPSOID:
        way += abs(pair.ahead) * other.radius * sqrt(dot(pair.spin, pair.spin))
    return way


@kernel
def bound_ways(scratch):
    """pair.down, pair.up (3,): how far the second shape may come along each axis of the frame."""
    pair, other, vertices = scratch.pair[0], scratch.poly[1], scratch.vertices[1]
    fill(pair.margin, pair.down)
    fill(pair.margin, pair.up)
    if pair.heeds == 0:
        return
    least, spin = least_way(scratch), pair.spin
    for c in range(3):
        i, j = (c + 1) % 3, (c + 2) % 3
        low, high = 0.0, 0.0
        for k in range(other.listed_vertices):
            p = vertices[scratch.listed.vertices[1, k]].p
            turn = spin[i] * (p[j] - pair.center[j]) - spin[j] * (p[i] - pair.center[i])
            way = pair.ahead * (pair.speed[c] + turn)
            low, high = min(low, way), max(high, way)
        pair.down[c] = min(pair.margin, least - low)
        pair.up[c] = min(pair.margin, least + high)


@kernel
def height_left(scratch, N, origin):
    """How far the second core stays at least over a plane [m], negative if it may come through.

    The plane is through a point `origin` (3,), and has the normal N (3,).
    """
    pair, other, vertices = scratch.pair[0], scratch.poly[1], scratch.vertices[1]
    least, spin, left = least_way(scratch), pair.spin, inf
    for k in range(other.listed_vertices):
        p = vertices[scratch.listed.vertices[1, k]].p
        height, rate = 0.0, 0.0
        for c in range(3):
            i, j = (c + 1) % 3, (c + 2) % 3
            turn = spin[i] * (p[j] - pair.center[j]) - spin[j] * (p[i] - pair.center[i])
            height += N[c] * (p[c] - origin[c])
            rate += N[c] * (pair.speed[c] + turn)
        way = min(pair.margin, least + max(-pair.ahead * rate, 0.0))
        left = min(left, height - other.radius - way)
    return left
