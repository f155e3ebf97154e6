"""The few of many candidates that hold two shapes best."""

from math import inf, sqrt

from robosim.compiled.records.narrow_phase import FEATURES, SIDES
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import dot
from robosim.kernels.narrow_phase.points import normalize

BETTER = 1.00001  # times as much, from which on a candidate adds more than one before it
ALIKE = 0.7  # cosine of the angle of two normals from which on they are of one side


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
def worth(scratch, begin, n, i):
    """What candidate i adds to n that are chosen: length, then area, then area beside it.

    Those are picks from `begin` on.
    """
    pair, all_c, picks = scratch.pair[0], scratch.candidates, scratch.pair[0].picks
    c = all_c[i]
    lonely = inf
    for k in range(n):
        lonely = min(lonely, apart(c, all_c[picks[begin + k]], pair.scale))
    if lonely < 1e-4 * pair.scale:
        return -1.0
    # A far candidate will hardly touch in this step.
    weight = min(max(1.0 - c.gap / pair.margin, 0.1), 1.0)
    if n == 1:
        return weight * lonely
    gained = 0.0
    p0, p1 = all_c[picks[begin]].point, all_c[picks[begin + 1]].point
    if n == 2:
        area(p0, p1, c.point, pair.e)
        gained = sqrt(dot(pair.e, pair.e))
    else:
        p2 = all_c[picks[begin + 2]].point
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
    """The candidates that hold two shapes best, into picks; their count.

    Up to four for each side on which they touch. A terrain may touch on several sides, such as the
    walls of a corner; all that two convex shapes touch with is on one.
    """
    pair, total = scratch.pair[0], 0
    for i in range(pair.count):
        scratch.candidates[i].side = 0 if pair.one_sided == 0 else -1
    for side in range(SIDES):
        if pair.one_sided == 1 and not begin_side(scratch, side):
            break
        total += choose_four(scratch, side, total)
        if pair.one_sided == 0:
            break
    return choose_kept(scratch, total)


@kernel
def choose_kept(scratch, total):
    """Candidates that are kept in any case into picks from `total` on; the count of all picks."""
    pair, candidates = scratch.pair[0], scratch.candidates
    for k in range(pair.keeps):
        picked, index = False, -1
        for n in range(total):
            picked = picked or candidates[pair.picks[n]].id == pair.kept[k]
        for i in range(pair.count):
            if candidates[i].id == pair.kept[k]:
                index = i
        if index >= 0 and not picked and total < FEATURES:
            pair.picks[total] = index
            total += 1
    return total


@kernel
def begin_side(scratch, side):
    """Mark the deepest candidate of none of the sides, and those whose normals are like its own."""
    pair, candidates = scratch.pair[0], scratch.candidates
    deepest, leader = inf, -1
    for i in range(pair.count):
        if candidates[i].side < 0 and candidates[i].gap < deepest:
            deepest, leader = candidates[i].gap, i
    if leader < 0:
        return False
    for i in range(pair.count):
        like = dot(candidates[i].normal, candidates[leader].normal) > ALIKE
        if candidates[i].side < 0 and (like or i == leader):
            candidates[i].side = side
    return True


@kernel
def choose_four(scratch, side, begin):
    """Up to four candidates of a side into picks from `begin` on; their count.

    They are the deepest, and those that span most. Those that are as deep come first.
    """
    pair, picks, smallest, count = scratch.pair[0], scratch.pair[0].picks, inf, 0
    for k in range(3):
        pair.e[k] = 0.0
    for i in range(pair.count):
        count += 1 if scratch.candidates[i].side == side else 0
    for i in range(pair.count):
        if scratch.candidates[i].side != side:
            continue
        smallest = min(smallest, scratch.candidates[i].gap)
        for k in range(3):
            pair.e[k] += scratch.candidates[i].point[k] / count
    if count == 0:
        return 0
    farthest, enough = -1.0, smallest + pair.level * pair.scale
    for i in range(pair.count):
        c, square = scratch.candidates[i], 0.0
        for k in range(3):
            square += (c.point[k] - pair.e[k]) ** 2
        # Of those that are as deep but for rounding, one at the rim.
        if c.side == side and c.gap < enough and square > BETTER * farthest:
            farthest, picks[begin] = square, i
    for n in range(1, 4):
        found = choose_one(scratch, side, begin, n, enough)
        if not found and not choose_one(scratch, side, begin, n, inf):
            return n
    return 4


@kernel
def choose_one(scratch, side, begin, n, enough):
    """Pick what adds most to n that are chosen, of gaps below `enough`; whether there is any."""
    best = 0.0
    for i in range(scratch.pair[0].count):
        c = scratch.candidates[i]
        if c.side == side and c.gap < enough:
            value = worth(scratch, begin, n, i)
            if value > BETTER * best:
                best, scratch.pair[0].picks[begin + n] = value, i
    return best > 0.0


@kernel
def reduce(scratch):
    """Keep the best candidates only."""
    pair, candidates = scratch.pair[0], scratch.candidates
    count = choose(scratch)
    for k in range(count):
        scratch.chosen[k] = candidates[scratch.pair[0].picks[k]]
    for k in range(count):
        candidates[k] = scratch.chosen[k]
    pair.count = count
