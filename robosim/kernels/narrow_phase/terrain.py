"""The triangles of height fields and meshes that are near another shape, one by one."""

from math import floor, inf

from robosim.compiled.kinds import CYLINDER, ELLIPSOID
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, cross, dot
from robosim.kernels.narrow_phase.motion import height_left
from robosim.kernels.narrow_phase.place import list_all
from robosim.kernels.narrow_phase.points import normalize, offset_dot

ROUNDING = 1e-9  # part of a distance, for the rounding of what is compared here
MOST_POINTS = 100  # of a height field that are looked at to tell how far a shape is over it
BEHIND = 1e-8  # part of the shapes from which on what is behind a triangle is taken to be

# Steps from a point of a height field to those around it.
RING_X = (1, 0, -1, 0, 1, -1)
RING_Y = (0, 1, 0, -1, 1, -1)
# Corners of the two triangles of a cell of a height field, then those of their neighbours that
# lie opposite of each edge, as steps along x and y.
CELL_X = ((0, 1, 1, 0, 2, 0), (0, 1, 0, 1, 1, -1))
CELL_Y = ((0, 0, 1, -1, 1, 1), (0, 1, 1, 0, 2, 0))


@kernel
def load_triangle(scratch, index):
    """Finish the first piece as a triangle of a terrain, and say whether the second is near.

    Its vertices are set. What is told here of a pair that is apart is what its distance would tell,
    so that most triangles cost no more.
    """
    pair, poly, other = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    vertices, e, g = scratch.vertices[0], pair.e, pair.g
    for c in range(3):
        x, y, z = vertices[0].p[c], vertices[1].p[c], vertices[2].p[c]
        low, high = min(x, min(y, z)), max(x, max(y, z))
        if other.lower[c] - pair.down[c] > high or other.upper[c] + pair.up[c] < low:
            return False
        poly.lower[c], poly.upper[c] = low, high
        e[c], g[c] = y - x, z - x
    N = scratch.normals[0, 0].p
    cross(e, g, N)
    normalize(N)
    if is_clear(scratch, N):
        return False
    poly.n_vertices, poly.n_faces, poly.n_edges = 3, 1, 3
    poly.face_begin, poly.edge_begin, poly.radius = 0, 0, 0.0
    pair.one_sided, pair.triangle = 1, index + 1
    list_all(scratch, 0)
    return True


@kernel
def is_clear(scratch, N):
    """Whether the plane of a triangle, with the normal N (3,), tells that nothing touches it.

    The second shape is farther from there than it may come, or all of its core lies behind.
    """
    pair, other, vertices = scratch.pair[0], scratch.poly[1], scratch.vertices[1]
    low, high = inf, -inf
    for k in range(other.listed_vertices):
        p = vertices[scratch.listed.vertices[1, k]].p
        height = offset_dot(N, p, scratch.vertices[0, 0].p)
        low, high = min(low, height), max(high, height)
    near = pair.margin + other.radius
    if low > near * (1.0 + ROUNDING) or high < -near * (1.0 + ROUNDING):
        return True
    if pair.heeds != 0 and height_left(scratch, N, scratch.vertices[0, 0].p) > 0.0:
        return True
    # A shape without a core of its own may reach through from behind.
    if other.kind == CYLINDER or other.kind == ELLIPSOID:
        return False
    return high < -BEHIND * (near + pair.scale)


@kernel
def load_sides(scratch):
    """Normals of a triangle of a terrain at its three edges, on both sides of which they may lie.

    `opposite` is set. Towards a neighbour that bends upwards there is no normal between, and past
    the border one may look sideways.
    """
    pair, vertices, normals = scratch.pair[0], scratch.vertices[0], scratch.normals[0]
    e, g, N = pair.e, pair.g, scratch.normals[0, 0].p
    for k in range(3):
        v, w, side = vertices[k].p, vertices[0 if k == 2 else k + 1].p, normals[k + 1].p
        for c in range(3):
            e[c] = w[c] - v[c]
            g[c] = scratch.opposite[k].p[c] - v[c]
        if pair.has_opposite[k] == 0:
            cross(e, N, side)
        elif dot(N, g) < 0.0:
            cross(g, e, side)
        else:
            assign(N, side)
        normalize(side)


@kernel
def grid_range(low, high, spacing, cells):
    """First and last but one of the cells that an interval from the grid's corner meets."""
    begin, end = floor(low / spacing), floor(high / spacing) + 1.0
    return int(min(max(begin, 0.0), cells)), int(min(max(end, 0.0), cells))


@kernel
def over_field(scratch, data, field, shape, margin):
    """How far the box of a shape is at least over a height field [m], or -inf if it is not told.

    Over the highest point below or beside it, and no farther than what is beyond those points. The
    shape has been placed in the frame of the field.
    """
    pair, place = scratch.pair[0], scratch.poly[1]
    R, low, high, cells = place.R, pair.pa, pair.pb, pair.cells
    for c in range(3):
        low[c], high[c] = place.x[c], place.x[c]
        for i in range(3):
            at_low, at_high = R[c, i] * shape.lower[i], R[c, i] * shape.upper[i]
            low[c] += min(at_low, at_high)
            high[c] += max(at_low, at_high)
    if low[2] - field.upper[2] > margin:
        return low[2] - field.upper[2]
    room = margin + shape.reach
    for k in range(2):
        begin, end = low[k] - room - field.lower[k], high[k] + room - field.lower[k]
        cells[2 * k], cells[2 * k + 1] = grid_range(
            begin, end, field.spacing[k], field.grid[k] - 1.0
        )
    if (cells[1] - cells[0] + 1) * (cells[3] - cells[2] + 1) > MOST_POINTS:
        return -inf
    highest = -inf
    for i in range(cells[0], cells[1] + 1):
        row = field.height_begin + i * field.grid[1]
        for j in range(cells[2], cells[3] + 1):
            highest = max(highest, data.heights[row + j])
    return min(low[2] - highest, room)


@kernel
def load_grid_point(heights, field, i, j, out):
    """A point of a height field into out.p; whether there is one."""
    inside = i >= 0 and i < field.grid[0] and j >= 0 and j < field.grid[1]
    if inside:
        out.p[0] = field.lower[0] + i * field.spacing[0]
        out.p[1] = field.lower[1] + j * field.spacing[1]
        out.p[2] = heights[field.height_begin + i * field.grid[1] + j]
    return inside


@kernel
def load_field_ring(pair, around, heights, field, i, j, half):
    """The points around the corners of a triangle of a height field."""
    ring, count = pair.ring, 0
    for k in range(3):
        ring[k] = count
        for step in range(6):
            a, b = i + CELL_X[half][k] + RING_X[step], j + CELL_Y[half][k] + RING_Y[step]
            if load_grid_point(heights, field, a, b, around[count]):
                count += 1
    ring[3] = count


@kernel
def next_of_field(scratch, data, field):
    """`next_piece` of a height field."""
    pair, poly, cells = scratch.pair[0], scratch.poly[1], scratch.pair[0].cells
    if pair.cursor == 0:
        for k in range(2):
            low = poly.lower[k] - pair.down[k] - field.lower[k]
            high = poly.upper[k] + pair.up[k] - field.lower[k]
            begin, end = grid_range(low, high, field.spacing[k], field.grid[k] - 1.0)
            cells[2 * k], cells[2 * k + 1] = begin, end
    width = cells[3] - cells[2]
    while pair.cursor < 2 * width * (cells[1] - cells[0]):
        half, cell = pair.cursor % 2, pair.cursor // 2
        i, j = cells[0] + cell // width, cells[2] + cell % width
        pair.cursor += 1
        for k in range(3):
            a, b = i + CELL_X[half][k], j + CELL_Y[half][k]
            load_grid_point(data.heights, field, a, b, scratch.vertices[0, k])
        if load_triangle(scratch, (i * field.grid[1] + j) * 2 + half):
            for k in range(3):
                a, b = i + CELL_X[half][k + 3], j + CELL_Y[half][k + 3]
                inside = load_grid_point(data.heights, field, a, b, scratch.opposite[k])
                pair.has_opposite[k] = 1 if inside else 0
            load_sides(scratch)
            load_field_ring(pair, scratch.around, data.heights, field, i, j, half)
            return True
    return False


@kernel
def next_of_mesh(scratch, data, mesh):
    """`next_piece` of a triangle mesh, by its tree of bounds."""
    pair, poly = scratch.pair[0], scratch.poly[1]
    while mesh.node_begin + pair.cursor < mesh.node_end:
        i = mesh.node_begin + pair.cursor
        node = data.nodes[i]
        far = False
        for c in range(3):
            if node.lower[c] > poly.upper[c] + pair.up[c]:
                far = True
            if node.upper[c] < poly.lower[c] - pair.down[c]:
                far = True
        pair.cursor = (node.skip if far else i + 1) - mesh.node_begin
        if far or node.triangle < 0:
            continue
        corners = data.triangles[node.triangle]
        for k in range(3):
            assign(data.vertices[corners[k]].p, scratch.vertices[0, k].p)
        if load_triangle(scratch, node.triangle):
            for k in range(3):
                opposite = corners[k + 3]
                pair.has_opposite[k] = 1 if opposite >= 0 else 0
                if opposite >= 0:
                    assign(data.vertices[opposite].p, scratch.opposite[k].p)
            load_sides(scratch)
            count, topology = 0, data.topology
            for k in range(3):
                pair.ring[k] = count
                begin, end = topology.ring_begin[corners[k]], topology.ring_begin[corners[k] + 1]
                for m in range(begin, end):
                    assign(data.vertices[topology.rings[m]].p, scratch.around[count].p)
                    count += 1
            pair.ring[3] = count
            return True
    return False
