"""Trees of bounds: made by areas of surfaces [Wald2007], and fitted to bounds that have moved."""

from math import inf

from robosim.kernels.compiler.jit import entry, kernel

BINS = 16
# Beyond this depth items are halved as they come, so that no tree is deeper than this and the
# logarithm of their number.
DEEP = 60


@kernel
def clear_box(box):
    for k in range(3):
        box[0, k], box[1, k] = inf, -inf


@kernel
def widen(box, other):
    """Extend a box around another one."""
    for k in range(3):
        box[0, k] = min(box[0, k], other[0, k])
        box[1, k] = max(box[1, k], other[1, k])


@kernel
def area_of(box):
    """Half of the surface of a box; 0 of nothing."""
    x, y, z = box[1, 0] - box[0, 0], box[1, 1] - box[0, 1], box[1, 2] - box[0, 2]
    return x * y + y * z + z * x if x >= 0.0 else 0.0


@kernel
def middle_of(box, k):
    return 0.5 * (box[0, k] + box[1, k])


@kernel
def bin_of(middle, low, scale):
    return min(int((middle - low) * scale), BINS - 1)


@kernel
def fill_bins(bounds, order, begin, end, k, low, scale, bins):
    for n in range(BINS):
        bins[n].count = 0
        clear_box(bins[n].box)
    for n in range(begin, end):
        box = bounds[order[n]].box
        into = bins[bin_of(middle_of(box, k), low, scale)]
        into.count += 1
        widen(into.box, box)


@kernel
def best_cut(bins, total):
    """(cost, number of bins on the left) of the cheapest cut between the bins of an axis.

    Two bins beyond those are scratch memory.
    """
    right, left = bins[BINS], bins[BINS + 1]
    best, cut = inf, 0
    # The costs of what lies on the right of each cut are noted in the bin before it.
    clear_box(right.box)
    count = 0
    for back in range(1, BINS):
        n = BINS - back
        widen(right.box, bins[n].box)
        count += bins[n].count
        bins[n - 1].cost = count * area_of(right.box)
    clear_box(left.box)
    count = 0
    for n in range(BINS - 1):
        widen(left.box, bins[n].box)
        count += bins[n].count
        cost = count * area_of(left.box) + bins[n].cost
        if 0 < count < total and cost < best:
            best, cut = cost, n + 1
    return best, cut


@kernel
def split(bounds, order, begin, end, bins):
    """Sort items to either side of the best cut; the first index of those on the right."""
    spread = bins[BINS + 2].box
    clear_box(spread)
    for n in range(begin, end):
        box = bounds[order[n]].box
        for k in range(3):
            middle = middle_of(box, k)
            spread[0, k], spread[1, k] = min(spread[0, k], middle), max(spread[1, k], middle)
    axis, cut, least = 0, 0, inf
    for k in range(3):
        if spread[1, k] > spread[0, k]:
            scale = BINS / (spread[1, k] - spread[0, k])
            fill_bins(bounds, order, begin, end, k, spread[0, k], scale, bins)
            cost, bins_left = best_cut(bins, end - begin)
            if cost < least:
                axis, cut, least = k, bins_left, cost
    if cut == 0:
        return (begin + end) // 2
    scale, at = BINS / (spread[1, axis] - spread[0, axis]), begin
    for n in range(begin, end):
        item = order[n]
        if bin_of(middle_of(bounds[item].box, axis), spread[0, axis], scale) < cut:
            order[n], order[at] = order[at], item
            at += 1
    return at


@entry
def make_tree(bounds, order, most, branches, spans, bins):
    """A tree over items with bounds; returns the number of its branches.

    Parameters
    ----------
    bounds : (n,) BOUNDS
    order : (n,), all items; sorted so that those of a branch follow each other
    most : items of a leaf
    branches : (n,) BRANCH, result
    spans : (n,) SPAN, scratch
    bins : (BINS + 3,) BIN, scratch
    """
    made, left = 1, 1
    spans[0].branch, spans[0].begin, spans[0].end, spans[0].depth = 0, 0, order.shape[0], 0
    while left > 0:
        left -= 1
        at, begin, end, depth = (
            spans[left].branch, spans[left].begin, spans[left].end, spans[left].depth
        )  # fmt: skip
        if end - begin <= most:
            middle = end
        elif depth > DEEP:
            middle = (begin + end) // 2
        else:
            middle = split(bounds, order, begin, end, bins)
        branch = branches[at]
        for c in range(2):
            first, last = (begin, middle) if c == 0 else (middle, end)
            clear_box(branch.box[c])
            for n in range(first, last):
                widen(branch.box[c], bounds[order[n]].box)
            if last == first:
                branch.child[c], branch.count[c] = -1, 0
            elif last - first <= most:
                branch.child[c], branch.count[c] = first, last - first
            else:
                branch.child[c], branch.count[c] = made, 0
                spans[left].branch, spans[left].begin, spans[left].end = made, first, last
                spans[left].depth = depth + 1
                left, made = left + 1, made + 1
    return made


@kernel
def fit_tree(branches, order, bounds):
    """Bounds of all branches of a tree over items with bounds."""
    for back in range(1, branches.shape[0] + 1):
        branch = branches[branches.shape[0] - back]
        for c in range(2):
            child, count = branch.child[c], branch.count[c]
            clear_box(branch.box[c])
            for n in range(child, child + count):
                widen(branch.box[c], bounds[order[n]].box)
            if count == 0 and child >= 0:
                below, box = branches[child], branch.box
                for k in range(3):
                    box[c, 0, k] = min(below.box[0, 0, k], below.box[1, 0, k])
                    box[c, 1, k] = max(below.box[0, 1, k], below.box[1, 1, k])
