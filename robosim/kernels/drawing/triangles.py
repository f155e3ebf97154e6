"""Which triangle is the nearest one at each sample of a picture."""

from math import ceil, floor

from robosim.kernels.compiler.jit import aside, kernel

# A sample this far outside of a triangle belongs to it, so that rounding leaves no gaps [samples].
MARGIN = 1e-6


@kernel
def fill(corners, number, first_row, end_row, nearness, numbers):
    """Note a triangle where it is the nearest one.

    Parameters
    ----------
    corners : (4, 3), of which three are used: places x, y in samples, and nearness, which is
        linear between them
    number : of the triangle; below zero it is not noted
    first_row, end_row : rows of samples that are filled
    nearness : (height, width), of the nearest surface so far
    numbers : (height, width), of the nearest triangle so far
    """
    x0, y0, z0 = corners[0, 0], corners[0, 1], corners[0, 2]
    x1, y1, z1 = corners[1, 0], corners[1, 1], corners[1, 2]
    x2, y2, z2 = corners[2, 0], corners[2, 1], corners[2, 2]
    # Samples are in the middle of their squares.
    top = max(min(y0, y1, y2) - 0.5, first_row + 0.0)
    bottom = min(max(y0, y1, y2) - 0.5, end_row - 1.0)
    left = max(min(x0, x1, x2) - 0.5, 0.0)
    right = min(max(x0, x1, x2) - 0.5, nearness.shape[1] - 1.0)
    first, last = ceil(top - MARGIN), floor(bottom + MARGIN)
    if first > last or ceil(left - MARGIN) > floor(right + MARGIN):
        return
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if area == 0.0:
        return
    if area < 0.0:
        x1, y1, z1, x2, y2, z2 = x2, y2, z2, x1, y1, z1
        area = -area
    across = ((z1 - z0) * (y2 - y0) - (z2 - z0) * (y1 - y0)) / area
    down = ((z2 - z0) * (x1 - x0) - (z1 - z0) * (x2 - x0)) / area
    for row in range(max(first, first_row), min(last, end_row - 1) + 1):
        y = row + 0.5
        begin, end = left, right
        begin, end = cut(x0, y0, x1, y1, y, begin, end)
        begin, end = cut(x1, y1, x2, y2, y, begin, end)
        begin, end = cut(x2, y2, x0, y0, y, begin, end)
        if not begin <= end + 2.0 * MARGIN:
            continue
        z = z0 + across * (0.5 - x0) + down * (y - y0)
        a, b = ceil(begin - MARGIN), floor(end + MARGIN)
        for column in range(max(a, 0), min(b, nearness.shape[1] - 1) + 1):
            here = z + across * column
            if here > nearness[row, column]:
                nearness[row, column] = here
                if number >= 0:
                    numbers[row, column] = number


@kernel
def cut(xa, ya, xb, yb, y, begin, end):
    """The part of a row of samples at y that lies on the inner side of an edge from a to b."""
    height = yb - ya
    if height == 0.0:
        outside = (xb - xa) * (y - ya) < 0.0
        return (1.0, -1.0) if outside else (begin, end)
    x = xa + (y - ya) * ((xb - xa) / height) - 0.5
    if height > 0.0:
        return begin, min(end, x)
    return max(begin, x), end


@kernel
def fill_part(part, on, focal, middle, near, first, last, nearness, numbers, corners):
    """Fill all triangles of a part; `focal` and `middle` are in samples."""
    placed, seen, faces = on.placed, on.seen, on.meshes.faces
    for face in range(part.faces[0], part.faces[1]):
        number = part.number + face - part.faces[0]
        a = part.placed + faces[face, 0]
        b = part.placed + faces[face, 1]
        c = part.placed + faces[face, 2]
        if placed[a, 2] < near or placed[b, 2] < near or placed[c, 2] < near:
            window = first, last
            clip(placed, a, b, c, number, focal, middle, near, window, nearness, numbers, corners)
            continue
        below = max(seen[a, 1], seen[b, 1], seen[c, 1]) < first
        above = min(seen[a, 1], seen[b, 1], seen[c, 1]) > last
        if not (below or above):
            for k in range(3):
                corners[0, k], corners[1, k], corners[2, k] = seen[a, k], seen[b, k], seen[c, k]
            fill(corners, number, first, last, nearness, numbers)


@aside
def clip(placed, a, b, c, number, focal, middle, near, window, nearness, numbers, corners):
    """Fill what of a triangle lies beyond the near plane: nothing, a triangle or a quadrangle."""
    count = 0
    for k in range(3):
        p = a if k == 0 else (b if k == 1 else c)
        q = b if k == 0 else (c if k == 1 else a)
        inside, next_inside = placed[p, 2] >= near, placed[q, 2] >= near
        if inside:
            see(placed[p, 0], placed[p, 1], placed[p, 2], focal, middle, corners[3 + count])
            count += 1
        if inside != next_inside:
            s = (near - placed[p, 2]) / (placed[q, 2] - placed[p, 2])
            x = placed[p, 0] + s * (placed[q, 0] - placed[p, 0])
            y = placed[p, 1] + s * (placed[q, 1] - placed[p, 1])
            see(x, y, near, focal, middle, corners[3 + count])
            count += 1
    for k in range(2, count):
        for i in range(3):
            corners[0, i] = corners[3, i]
            corners[1, i], corners[2, i] = corners[2 + k, i], corners[3 + k, i]
        fill(corners, number, window[0], window[1], nearness, numbers)


@kernel
def see(x, y, z, focal, middle, out):
    """Where a point in the camera's axes is seen [samples], and the inverse of its depth."""
    nearness = 1.0 / z
    out[0] = middle[0] + focal * x * nearness
    out[1] = middle[1] + focal * y * nearness
    out[2] = nearness


@kernel
def move(R, x, vertices, begin, end, first, out):
    """Vertices `begin` to `end` in other axes, from `out[first]` on."""
    for n in range(begin, end):
        a, b, c = vertices[n, 0], vertices[n, 1], vertices[n, 2]
        for k in range(3):
            out[first + n - begin, k] = x[k] + R[k, 0] * a + R[k, 1] * b + R[k, 2] * c
