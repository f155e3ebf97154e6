"""The four of many candidates that hold two shapes best."""

from math import inf, sqrt

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import dot
from robosim.kernels.narrow_phase.clip import drop_stand_ins
from robosim.kernels.narrow_phase.points import normalize


@kernel
def apart(c, d, scale):
    """How far apart two candidates are, by place and by normal [m]."""
    place, turn = 0.0, 0.0
    for k in range(3):
        place += (c.point[k] - d.point[k]) ** 2
        turn += (c.normal[k] - d.normal[k]) ** 2
    return sqrt(place) + 0.1 * scale * sqrt(turn)


@kernel
def area(a, b, p, out):
    """out = (b - a) x (p - a)."""
    x0, x1, x2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    y0, y1, y2 = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    out[0], out[1], out[2] = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


@kernel
def worth(scratch, n, i):
    """What candidate i adds to the n that are chosen: length, then area, then area beside it."""
    pair, all_c, picks = scratch.pair[0], scratch.candidates, scratch.pair[0].picks
    c = all_c[i]
    lonely = inf
    for k in range(n):
        lonely = min(lonely, apart(c, all_c[picks[k]], pair.scale))
    if lonely < 1e-4 * pair.scale:
        return -1.0
    # A far candidate will hardly touch in this step.
    weight = min(max(1.0 - c.gap / pair.margin, 0.1), 1.0)
    if n == 1:
        return weight * lonely
    gained = 0.0
    p0, p1 = all_c[picks[0]].point, all_c[picks[1]].point
    if n == 2:
        area(p0, p1, c.point, pair.e)
        gained = sqrt(dot(pair.e, pair.e))
    else:
        p2 = all_c[picks[2]].point
        area(p0, p1, p2, pair.g)
        normalize(pair.g)
        for k in range(3):
            a, b = (
                p0 if k == 0 else (p1 if k == 1 else p2),
                p1 if k == 0 else (p2 if k == 1 else p0),
            )
            area(a, b, c.point, pair.e)
            gained = max(gained, -dot(pair.e, pair.g))
    return weight * (gained + 1e-3 * pair.scale * lonely)


@kernel
def choose(scratch):
    """Up to four candidates into picks: the deepest, and those that span most; their count."""
    pair, picks = scratch.pair[0], scratch.pair[0].picks
    if pair.count == 0:
        return 0
    smallest = inf
    for k in range(3):
        pair.e[k] = 0.0
    for i in range(pair.count):
        smallest = min(smallest, scratch.candidates[i].gap)
        for k in range(3):
            pair.e[k] += scratch.candidates[i].point[k] / pair.count
    farthest = -1.0
    for i in range(pair.count):
        c, square = scratch.candidates[i], 0.0
        for k in range(3):
            square += (c.point[k] - pair.e[k]) ** 2
        # Of those that are as deep but for rounding, one at the rim.
        if c.gap < smallest + 1e-10 * pair.scale and square > farthest:
            farthest, picks[0] = square, i
    for n in range(1, 4):
        best = 0.0
        for i in range(pair.count):
            value = worth(scratch, n, i)
            if value > best:
                best, picks[n] = value, i
        if best == 0.0:
            return n
    return 4


@kernel
def reduce(scratch):
    """Keep the four best candidates only."""
    pair, candidates = scratch.pair[0], scratch.candidates
    drop_stand_ins(scratch)
    count = choose(scratch)
    for k in range(count):
        scratch.chosen[k] = candidates[scratch.pair[0].picks[k]]
    for k in range(count):
        candidates[k] = scratch.chosen[k]
    pair.count = count
