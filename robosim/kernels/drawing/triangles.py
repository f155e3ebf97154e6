"""Which triangle is the nearest one at each sample of a picture."""

from math import ceil, floor

from robosim.kernels.compiler.jit import aside, kernel

# A sample this far outside of a triangle belongs to it, so that rounding leaves no gaps [samples].
MARGIN = 1e-6


@kernel
def fill(
    x0, y0, z0, x1, y1, z1, x2, y2, z2, number, first_row, end_row, nearness, numbers
):  # fmt: skip
    """Note a triangle where it is the nearest one.

    Parameters
    ----------
    x0, ..., z2 : of three corners the places in samples, and nearness, which is linear in between
    number : of the triangle; below zero it is not noted
    first_row, end_row : rows of samples that are filled
    nearness : (height, width), of the nearest surface so far
    numbers : (height, width), of the nearest triangle so far
    """
    # Samples are in the middle of their squares.
    top = max(min(y0, y1, y2) - 0.5 - MARGIN, first_row + 0.0)
    bottom = min(max(y0, y1, y2) - 0.5 + MARGIN, end_row - 1.0)
    left = max(min(x0, x1, x2) - 0.5, 0.0)
    right = min(max(x0, x1, x2) - 0.5, nearness.shape[1] - 1.0)
    if not (top <= bottom and left <= right + 2.0 * MARGIN):
        return
    first, last = ceil(top), floor(bottom)
    if first > last or ceil(left - MARGIN) > floor(right + MARGIN):
        return
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if area == 0.0:
        return
    if area < 0.0:
        x1, y1, z1, x2, y2, z2 = x2, y2, z2, x1, y1, z1
        area = -area
    scale = 1.0 / area
    across = ((z1 - z0) * (y2 - y0) - (z2 - z0) * (y1 - y0)) * scale
    down = ((z2 - z0) * (x1 - x0) - (z1 - z0) * (x2 - x0)) * scale
    slope0, at0, way0 = edge(x0, y0, x1, y1)
    slope1, at1, way1 = edge(x1, y1, x2, y2)
    slope2, at2, way2 = edge(x2, y2, x0, y0)
    nearest = z0 + across * (0.5 - x0) + down * (0.5 - y0)
    most = nearness.shape[1] - 1
    for row in range(first, last + 1):
        begin, end = left, right
        begin, end = cut(slope0, at0, way0, row, begin, end)
        begin, end = cut(slope1, at1, way1, row, begin, end)
        begin, end = cut(slope2, at2, way2, row, begin, end)
        if not begin <= end + 2.0 * MARGIN:
            continue
        z = nearest + down * row
        a, b = ceil(begin - MARGIN), floor(end + MARGIN)
        for column in range(max(a, 0), min(b, most) + 1):
            here = z + across * column
            if here > nearness[row, column]:
                nearness[row, column] = here
                if number >= 0:
                    numbers[row, column] = number


@kernel
def edge(xa, ya, xb, yb):
    """(slope, start, way) of an edge: at row r it is in column start + slope r.

    The inner side is on its left for a way above zero, and on its right for one below. A level
    edge limits no row.
    """
    height = yb - ya
    slope = (xb - xa) / height if height != 0.0 else 0.0
    return slope, xa + (0.5 - ya) * slope - 0.5, height


@kernel
def cut(slope, at, way, row, begin, end):
    """The part of a row of samples that lies on the inner side of an edge."""
    x = at + slope * row
    if way > 0.0:
        return begin, min(end, x)
    return (max(begin, x), end) if way < 0.0 else (begin, end)


@kernel
def fill_part(part, on, focal, middle, near, first, last, nearness, numbers, corners):
    """Fill all triangles of a part; `focal` and `middle` are in samples.

    Rows go down in a picture, so what is seen from behind has a positive area.
    """
    seen, faces = on.seen, on.meshes.faces
    for face in range(part.faces[0], part.faces[1]):
        number = part.number + face - part.faces[0]
        a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
        a, b, c = part.placed + a, part.placed + b, part.placed + c
        if seen[a, 2] > 0.0 and seen[b, 2] > 0.0 and seen[c, 2] > 0.0:
            fill_seen(seen, a, b, c, part.closed, number, first, last, nearness, numbers)
        else:
            clip(
                on.placed,
                a,
                b,
                c,
                number,
                focal,
                middle,
                near,
                (first, last),
                nearness,
                numbers,
                corners,
            )


@kernel
def fill_seen(seen, a, b, c, cull, number, first, last, nearness, numbers):
    """Fill the triangle between three vertices.

    `cull` is 1 or -1: a triangle with an area of this sign, in rows and columns, is left out.
    """
    y0, y1, y2 = seen[a, 1] + 0.0, seen[b, 1] + 0.0, seen[c, 1] + 0.0
    if max(y0, y1, y2) < first or min(y0, y1, y2) > last + 1.0:
        return
    x0, x1, x2 = seen[a, 0] + 0.0, seen[b, 0] + 0.0, seen[c, 0] + 0.0
    if cull != 0 and cull * ((x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)) > 0.0:
        return
    z0, z1, z2 = seen[a, 2] + 0.0, seen[b, 2] + 0.0, seen[c, 2] + 0.0
    fill(x0, y0, z0, x1, y1, z1, x2, y2, z2, number, first, last, nearness, numbers)


@aside
def clip(placed, a, b, c, number, focal, middle, near, rows, nearness, numbers, corners):
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
    p = corners[3]
    for k in range(2, count):
        q, r = corners[2 + k], corners[3 + k]
        fill(
            p[0] + 0.0, p[1] + 0.0, p[2] + 0.0, q[0] + 0.0, q[1] + 0.0, q[2] + 0.0,
            r[0] + 0.0, r[1] + 0.0, r[2] + 0.0, number, rows[0], rows[1], nearness, numbers,
        )  # fmt: skip


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
