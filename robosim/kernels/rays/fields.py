"""Rays against height fields, from cell to cell.

The two triangles of a cell share the edge from its corner at the lowest x and y to that at the
highest, as for contacts.
"""

from math import floor, inf

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.rays.triangles import meet_triangle

WIDER = 1e-9  # [cells], by which a ray is looked for beside its cell, for rounding
ROUNDING = 1e-12  # of coordinates and distances


@kernel
def line_of(shape, k, i):
    """Where a line of the grid is along axis k."""
    return shape.center[k] - shape.half[k] + i * shape.spacing[k]


@kernel
def cell_of(x, cells):
    """The cell at a place [cells] from the field's corner, or the nearest one."""
    return int(min(max(floor(x), 0.0), cells - 1.0))


@kernel
def place_corner(ray, shape, n, i, j, height):
    corner = ray.corners[0, n]
    corner[0], corner[1], corner[2] = line_of(shape, 0, i), line_of(shape, 1, j), height


@kernel
def find_corners(ray, shape, heights, triangle):
    """The corners of a triangle of a field."""
    cell, width = triangle // 2, shape.grid[1]
    i, j, at = cell // width, cell % width, shape.height_begin + cell
    place_corner(ray, shape, 0, i, j, heights[at])
    if triangle % 2 == 0:
        place_corner(ray, shape, 1, i + 1, j, heights[at + width])
        place_corner(ray, shape, 2, i + 1, j + 1, heights[at + width + 1])
    else:
        place_corner(ray, shape, 1, i + 1, j + 1, heights[at + width + 1])
        place_corner(ray, shape, 2, i, j + 1, heights[at + 1])


@kernel
def meet_cell(ray, shape, heights, i, j, low, high, most):
    """Distance to the triangles of a cell, in which the ray is between two heights."""
    at, width = shape.height_begin + i * shape.grid[1] + j, shape.grid[1]
    a, b = heights[at], heights[at + 1]
    c, d = heights[at + width], heights[at + width + 1]
    if min(min(a, b), min(c, d)) > high or max(max(a, b), max(c, d)) < low:
        return most
    best = most
    for half in range(2):
        triangle = 2 * (i * width + j) + half
        find_corners(ray, shape, heights, triangle)
        t = meet_triangle(ray, ray.corners, 0, best)
        if t < best:
            best, ray.found = t, triangle
    return best


@kernel
def meet_upright(ray, shape, heights, most):
    """`meet_field` for a ray along z, as most are that scan a terrain: in a single triangle."""
    x = (ray.o[0] - line_of(shape, 0, 0)) * shape.density[0]
    y = (ray.o[1] - line_of(shape, 1, 0)) * shape.density[1]
    if not (0.0 <= x <= shape.grid[0] - 1.0 and 0.0 <= y <= shape.grid[1] - 1.0):
        return inf
    i, j, width = cell_of(x, shape.grid[0] - 1.0), cell_of(y, shape.grid[1] - 1.0), shape.grid[1]
    cell, at, x, y = i * width + j, shape.height_begin + i * width + j, x - i, y - j
    low, high = heights[at], heights[at + width + 1]
    middle = heights[at + width] if x >= y else heights[at + 1]
    more, less = (x, y) if x >= y else (y, x)
    height = low + more * (middle - low) + less * (high - middle)
    t = (height - ray.o[2]) * ray.d[2]
    if not 0.0 <= t < most:
        return inf
    ray.found = 2 * cell + (0 if x >= y else 1)
    return t


@kernel
def meet_field(ray, shape, heights, most):
    """Distance to the first triangle of a field, which is noted, if below `most`; else inf.

    The columns of cells across the axis that the ray is nearer to are visited one after the other,
    of each the few cells that the ray crosses.
    """
    if ray.d[0] == 0.0 and ray.d[1] == 0.0:
        return meet_upright(ray, shape, heights, most)
    begin, end = 0.0, most
    for k in range(3):
        o = ray.o[k] - shape.center[k]
        half = shape.half[k] + ROUNDING * (abs(o) + abs(shape.center[k]) + shape.half[k])
        side = half if ray.d[k] >= 0.0 else -half
        near, far = (-side - o) * ray.inverse[k], (side - o) * ray.inverse[k]
        begin, end = (near if near > begin else begin), (far if far < end else end)
    if not begin <= end:
        return inf
    x = abs(ray.d[0]) * shape.density[0] >= abs(ray.d[1]) * shape.density[1]
    m, n = (0 if x else 1), (1 if x else 0)
    # In cells from the field's corner, along both axes.
    from_m = (ray.o[m] - line_of(shape, m, 0)) * shape.density[m]
    from_n = (ray.o[n] - line_of(shape, n, 0)) * shape.density[n]
    along_m, along_n = ray.d[m] * shape.density[m], ray.d[n] * shape.density[n]
    a, b = from_m + begin * along_m, from_m + end * along_m
    first = cell_of(min(a, b) - WIDER, shape.grid[m] - 1.0)
    last = cell_of(max(a, b) + WIDER, shape.grid[m] - 1.0)
    rounding, best = ROUNDING * (abs(ray.o[2]) + end), most
    for count in range(last - first + 1):
        column = first + count if along_m >= 0.0 else last - count
        near, far = begin, end
        if last > first and along_m != 0.0:
            backwards = ray.inverse[m] * shape.spacing[m]
            a = (column - WIDER - from_m) * backwards
            b = (column + 1.0 + WIDER - from_m) * backwards
            near, far = max(begin, min(a, b)), min(end, max(a, b))
        if near > best:
            break
        a, b = from_n + near * along_n, from_n + far * along_n
        c, d = ray.o[2] + near * ray.d[2], ray.o[2] + far * ray.d[2]
        low, high = min(c, d) - rounding, max(c, d) + rounding
        begin_n = cell_of(min(a, b) - WIDER, shape.grid[n] - 1.0)
        end_n = cell_of(max(a, b) + WIDER, shape.grid[n] - 1.0)
        for row in range(begin_n, end_n + 1):
            i, j = (column, row) if x else (row, column)
            best = meet_cell(ray, shape, heights, i, j, low, high, best)
    return best if best < most else inf
