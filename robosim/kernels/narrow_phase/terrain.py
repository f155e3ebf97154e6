"""The triangles of height fields and meshes that are near another shape, one by one."""

from math import floor

from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import assign, cross, dot
from robosim.kernels.narrow_phase.place import bound, list_all
from robosim.kernels.narrow_phase.points import normalize

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

    Its vertices and `opposite` are set. It has three edges with the normals of both sides: towards
    a neighbour that bends upwards there is no normal between, and past the border one may look
    sideways.
    """
    pair, poly, other = scratch.pair[0], scratch.poly[0], scratch.poly[1]
    vertices, normals, e, g = scratch.vertices[0], scratch.normals[0], pair.e, pair.g
    poly.n_vertices, poly.n_faces, poly.n_edges = 3, 1, 3
    poly.face_begin, poly.edge_begin, poly.radius = 0, 0, 0.0
    pair.one_sided, pair.triangle = 1, index + 1
    list_all(scratch, 0)
    bound(scratch, 0)
    for c in range(3):
        if other.lower[c] - pair.margin > poly.upper[c]:
            return False
        if other.upper[c] + pair.margin < poly.lower[c]:
            return False
        e[c] = vertices[1].p[c] - vertices[0].p[c]
        g[c] = vertices[2].p[c] - vertices[0].p[c]
    N = normals[0].p
    cross(e, g, N)
    normalize(N)
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
    return True


@kernel
def grid_range(low, high, spacing, cells):
    """First and last but one of the cells that an interval from the grid's corner meets."""
    begin, end = floor(low / spacing), floor(high / spacing) + 1.0
    return int(min(max(begin, 0.0), cells)), int(min(max(end, 0.0), cells))


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
            low = poly.lower[k] - pair.margin - field.lower[k]
            high = poly.upper[k] + pair.margin - field.lower[k]
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
            a, b = i + CELL_X[half][k + 3], j + CELL_Y[half][k + 3]
            inside = load_grid_point(data.heights, field, a, b, scratch.opposite[k])
            pair.has_opposite[k] = 1 if inside else 0
        if load_triangle(scratch, (i * field.grid[1] + j) * 2 + half):
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
            if node.lower[c] > poly.upper[c] + pair.margin:
                far = True
            if node.upper[c] < poly.lower[c] - pair.margin:
                far = True
        pair.cursor = (node.skip if far else i + 1) - mesh.node_begin
        if far or node.triangle < 0:
            continue
        corners = data.triangles[node.triangle]
        for k in range(3):
            assign(data.vertices[corners[k]].p, scratch.vertices[0, k].p)
            opposite = corners[k + 3]
            pair.has_opposite[k] = 1 if opposite >= 0 else 0
            if opposite >= 0:
                assign(data.vertices[opposite].p, scratch.opposite[k].p)
        if load_triangle(scratch, node.triangle):
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
