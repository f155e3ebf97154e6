"""Graph-ordered sparse block LDU, Algorithms 1 to 4 of [Bruedigam2023] as one program.

The symbolic part (robosim/compiled/elimination.py) lists, for each node in depth-first order from
the leaves, the blocks that eliminating it touches. On a tree every node has one neighbour left (its
parent), so nothing fills in and the work is linear in the number of nodes; a cycle only makes the
lists longer. Blocks are 6x6, those of joints with fewer rows are padded with an identity. Nodes
with many neighbours are eliminated in fronts (robosim/compiled/fronts.py), after all others.

A particle has three rows. Its joint's rows alone tell its rotation, and its own other rows alone
tell the impulse of this joint.
"""

from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.compiler.rows import add_scaled, read_row, write_row
from robosim.kernels.equations.algebra import (
    fill,
    lu,
    lu6,
    lu6_solve_matrix,
    lu6_solve_vector,
    lu_solve_matrix,
    lu_solve_vector,
    subtract_product6,
    subtract_product6_vector,
    subtract_rows,
)


@kernel
def ldu_factor(graph, blocks):
    """Factor `blocks` in place [Bruedigam2023, Algs. 1, 3]; 0, or 1 + the singular node."""
    if graph.turns.shape[0] > 0:
        open_turns(graph.turns, blocks)
    for position in range(graph.pivots.shape[0]):
        pivot = graph.pivots[position]
        if pivot.whole == 0:
            if factor_narrow(graph, pivot, blocks) != 0:
                return 1 + pivot.node
            continue
        diagonal = blocks[pivot.diagonal].F
        if lu6(diagonal) != 0:
            return 1 + pivot.node
        for n in range(pivot.neighbour_begin, pivot.neighbour_end):
            lu6_solve_matrix(diagonal, blocks[graph.neighbours[n].upper].F)
        for n in range(pivot.update_begin, pivot.update_end):
            update = graph.updates[n]
            subtract_product6(
                blocks[update.lower].F, blocks[update.upper].F, blocks[update.target].F
            )
    if graph.fronts.shape[0] > 0:
        return factor_fronts(graph, blocks)
    return 0


@kernel
def ldu_solve(graph, blocks, rhs):
    """rhs = F^-1 rhs in place, (n_nodes,) rows of 6 [Bruedigam2023, Algs. 2, 4]."""
    if graph.turns.shape[0] > 0:
        enter_turns(graph.turns, blocks, rhs)
    for position in range(graph.pivots.shape[0]):
        pivot = graph.pivots[position]
        if pivot.whole == 0:
            descend_narrow(graph, pivot, blocks, rhs)
            continue
        lu6_solve_vector(blocks[pivot.diagonal].F, rhs[pivot.node].w)
        for n in range(pivot.neighbour_begin, pivot.neighbour_end):
            neighbour = graph.neighbours[n]
            subtract_product6_vector(
                blocks[neighbour.lower].F, rhs[pivot.node].w, rhs[neighbour.node].w
            )
    if graph.fronts.shape[0] > 0:
        solve_fronts(graph, blocks, rhs)
    for position in range(graph.pivots.shape[0] - 1, -1, -1):
        pivot = graph.pivots[position]
        if pivot.whole == 0:
            ascend_narrow(graph, pivot, blocks, rhs)
            continue
        for n in range(pivot.neighbour_begin, pivot.neighbour_end):
            neighbour = graph.neighbours[n]
            subtract_product6_vector(
                blocks[neighbour.upper].F, rhs[neighbour.node].w, rhs[pivot.node].w
            )
    if graph.turns.shape[0] > 0:
        leave_turns(graph.turns, blocks, rhs)


@aside
def factor_narrow(graph, pivot, blocks):
    """Eliminate a node of fewer rows, or with neighbours of fewer rows; 1 if it is singular."""
    diagonal = blocks[pivot.diagonal].F
    if lu(diagonal, pivot.rows) != 0:
        return 1
    for n in range(pivot.neighbour_begin, pivot.neighbour_end):
        lu_solve_matrix(diagonal, blocks[graph.neighbours[n].upper].F, pivot.rows)
    for n in range(pivot.update_begin, pivot.update_end):
        update = graph.updates[n]
        A, B, C = blocks[update.lower].F, blocks[update.upper].F, blocks[update.target].F
        if pivot.rows == 1:
            x = read_row(B[0])
            for i in range(update.rows):
                write_row(add_scaled(read_row(C[i]), -A[i, 0], x), C[i])
        elif pivot.rows == 3:
            x, y, z = read_row(B[0]), read_row(B[1]), read_row(B[2])
            for i in range(update.rows):
                row = add_scaled(read_row(C[i]), -A[i, 0], x)
                write_row(add_scaled(add_scaled(row, -A[i, 1], y), -A[i, 2], z), C[i])
        else:
            for i in range(update.rows):
                write_row(subtract_rows(A, i, 0, 6, B, read_row(C[i])), C[i])
    return 0


@aside
def descend_narrow(graph, pivot, blocks, rhs):
    """A node of `factor_narrow` on the way through the order."""
    own = rhs[pivot.node].w
    lu_solve_vector(blocks[pivot.diagonal].F, own, pivot.rows)
    for n in range(pivot.neighbour_begin, pivot.neighbour_end):
        neighbour = graph.neighbours[n]
        A = blocks[neighbour.lower].F
        subtract_product_vector(A, own, rhs[neighbour.node].w, neighbour.rows, pivot.rows)


@aside
def ascend_narrow(graph, pivot, blocks, rhs):
    """A node of `factor_narrow` on the way back."""
    own = rhs[pivot.node].w
    for n in range(pivot.neighbour_begin, pivot.neighbour_end):
        neighbour = graph.neighbours[n]
        A = blocks[neighbour.upper].F
        subtract_product_vector(A, rhs[neighbour.node].w, own, pivot.rows, neighbour.rows)


@kernel
def subtract_product_vector(A, b, c, m, n):
    """The first m of c -= A b for the first n of b."""
    for i in range(m):
        for k in range(n):
            c[i] -= A[i, k] * b[k]


@aside
def factor_fronts(graph, blocks):
    """Factor all fronts; 0, or 1 + a node in the tile that is singular."""
    for n in range(graph.fronts.shape[0]):
        front = graph.fronts[n]
        gather(graph, front, blocks)
        singular = factor_front(front, blocks)
        if singular >= 0:
            for p in range(front.place_begin, front.border_begin):
                if graph.places[p].tile == singular:
                    return 1 + graph.places[p].node
    return 0


@kernel
def gather(graph, front, blocks):
    """The entries of a front, from blocks of its pivots and from the borders of those below."""
    begin, tiles = front.begin, front.tiles
    for t in range(begin, begin + tiles * tiles):
        tile = blocks[t].F
        for i in range(6):
            fill(0.0, tile[i])
    for e in range(front.entry_begin, front.entry_end):
        entry = graph.entries[e]
        source, tile = blocks[entry.block].F, blocks[entry.tile].F
        for i in range(entry.rows):
            for k in range(entry.columns):
                tile[entry.row + i, entry.column + k] = source[i, k]
    last = blocks[begin + (front.pivots - 1) * (tiles + 1)].F
    for i in range(front.used, 6):
        last[i, i] = 1.0
    below = front.first_below
    while below >= 0:
        add_border(graph.places, graph.fronts[below], front, blocks)
        below = graph.fronts[below].next_below


@kernel
def factor_front(front, blocks):
    """Eliminate the pivots of a front; -1, or the number of a tile that is singular."""
    begin, tiles = front.begin, front.tiles
    for k in range(front.pivots):
        diagonal = blocks[begin + k * (tiles + 1)].F
        if lu6(diagonal) != 0:
            return k
        for j in range(k + 1, tiles):
            lu6_solve_matrix(diagonal, blocks[begin + k * tiles + j].F)
        for i in range(k + 1, tiles):
            A = blocks[begin + i * tiles + k].F
            for j in range(k + 1, tiles):
                B, C = blocks[begin + k * tiles + j].F, blocks[begin + i * tiles + j].F
                subtract_product6(A, B, C)
    return -1


@kernel
def add_border(places, below, front, blocks):
    """Add what is left of the border of a front below."""
    for p in range(below.border_begin, below.place_end):
        a = places[p]
        source = below.begin + a.tile * below.tiles
        target = front.begin + a.up_tile * front.tiles
        for q in range(below.border_begin, below.place_end):
            b = places[q]
            own, tile = blocks[source + b.tile].F, blocks[target + b.up_tile].F
            for i in range(a.rows):
                for k in range(b.rows):
                    tile[a.up_row + i, b.up_row + k] += own[a.row + i, b.row + k]


@aside
def solve_fronts(graph, blocks, rhs):
    """The rows of all nodes in fronts, through the order and back."""
    for n in range(graph.fronts.shape[0]):
        front = graph.fronts[n]
        begin, tiles = front.begin, front.tiles
        vector = begin + tiles * tiles
        clear_vector(front, blocks)
        for p in range(front.place_begin, front.border_begin):
            take_part(graph.places[p], vector, rhs, blocks)
        for k in range(front.pivots):
            x = blocks[vector + k // 6].F[k % 6]
            lu6_solve_vector(blocks[begin + k * (tiles + 1)].F, x)
            for i in range(k + 1, tiles):
                y = blocks[vector + i // 6].F[i % 6]
                subtract_product6_vector(blocks[begin + i * tiles + k].F, x, y)
        for p in range(front.place_begin, front.border_begin):
            give_part(graph.places[p], vector, 0.0, rhs, blocks)
        for p in range(front.border_begin, front.place_end):
            give_part(graph.places[p], vector, 1.0, rhs, blocks)
    for n in range(graph.fronts.shape[0] - 1, -1, -1):
        front = graph.fronts[n]
        begin, tiles = front.begin, front.tiles
        vector = begin + tiles * tiles
        clear_vector(front, blocks)
        for p in range(front.place_begin, front.place_end):
            take_part(graph.places[p], vector, rhs, blocks)
        for k in range(front.pivots - 1, -1, -1):
            x = blocks[vector + k // 6].F[k % 6]
            for j in range(k + 1, tiles):
                y = blocks[vector + j // 6].F[j % 6]
                subtract_product6_vector(blocks[begin + k * tiles + j].F, y, x)
        for p in range(front.place_begin, front.border_begin):
            give_part(graph.places[p], vector, 0.0, rhs, blocks)


@kernel
def clear_vector(front, blocks):
    """The vector behind the tiles of a front = 0."""
    for t in range(front.tiles):
        x = blocks[front.begin + front.tiles * front.tiles + t // 6].F[t % 6]
        for k in range(6):
            x[k] = 0.0


@kernel
def take_part(place, vector, rhs, blocks):
    """Rows of a node into the vector of a front."""
    x = blocks[vector + place.tile // 6].F[place.tile % 6]
    for k in range(place.rows):
        x[place.row + k] = rhs[place.node].w[k]


@kernel
def give_part(place, vector, kept, rhs, blocks):
    """Rows of a node = `kept` times these plus those in the vector of a front."""
    x, own = blocks[vector + place.tile // 6].F[place.tile % 6], rhs[place.node].w
    for k in range(place.rows):
        own[k] = kept * own[k] + x[place.row + k]


@aside
def open_turns(turns, blocks):
    """Take the joints of particles out of the system, which have rows for nothing but these.

    Rows of a joint's coordinates, which only a start holds, yield by their own diagonals.
    """
    for n in range(turns.shape[0]):
        turn = turns[n]
        own, column = blocks[turn.joint_body].F, blocks[turn.body_joint].F
        diagonal, body = blocks[turn.joint].F, blocks[turn.body].F
        if are_held(own):
            for row in range(3, 6):
                for i in range(3):
                    for k in range(3):
                        body[i, k] -= column[i, row] * own[row, k] / diagonal[row, row]
        # Inverses of the rotations' rows and of their columns, in lines that are free of others.
        invert3(own[0, 3:], own[1, 3:], own[2, 3:], diagonal, 0)
        invert3(column[3], column[4], column[5], diagonal, 3)


@kernel
def are_held(own):
    """Whether a particle's coordinates are held: their rows are in use, all or none."""
    return abs(own[3, 0]) + abs(own[3, 1]) + abs(own[3, 2]) > 0.0


@kernel
def invert3(a, b, c, out, first):
    """Columns `first` to `first` + 2 of the upper half of `out` = inverse of rows a, b, c."""
    x = b[1] * c[2] - b[2] * c[1]
    y = b[2] * c[0] - b[0] * c[2]
    z = b[0] * c[1] - b[1] * c[0]
    scale = 1.0 / (a[0] * x + a[1] * y + a[2] * z)
    out[0, first], out[1, first], out[2, first] = scale * x, scale * y, scale * z
    out[0, first + 1] = scale * (c[1] * a[2] - c[2] * a[1])
    out[1, first + 1] = scale * (c[2] * a[0] - c[0] * a[2])
    out[2, first + 1] = scale * (c[0] * a[1] - c[1] * a[0])
    out[0, first + 2] = scale * (a[1] * b[2] - a[2] * b[1])
    out[1, first + 2] = scale * (a[2] * b[0] - a[0] * b[2])
    out[2, first + 2] = scale * (a[0] * b[1] - a[1] * b[0])


@aside
def enter_turns(turns, blocks, rhs):
    """Rotations of particles, in the place of what acts on them, which takes the joints' place."""
    for n in range(turns.shape[0]):
        turn = turns[n]
        column, diagonal, body = (
            blocks[turn.body_joint].F,
            blocks[turn.joint].F,
            blocks[turn.body].F,
        )
        x, y = rhs[turn.body].w, rhs[turn.joint].w
        x0, x1, x2 = x[3], x[4], x[5]
        for i in range(3):
            x[3 + i] = diagonal[i, 0] * y[0] + diagonal[i, 1] * y[1] + diagonal[i, 2] * y[2]
        y[0], y[1], y[2] = x0, x1, x2
        for i in range(3):
            x[i] -= body[i, 3] * x[3] + body[i, 4] * x[4] + body[i, 5] * x[5]
        if are_held(blocks[turn.joint_body].F):
            for row in range(3, 6):
                for i in range(3):
                    x[i] -= column[i, row] * y[row] / diagonal[row, row]


@aside
def leave_turns(turns, blocks, rhs):
    """Impulses of the joints of particles, by how these move."""
    for n in range(turns.shape[0]):
        turn = turns[n]
        own, diagonal, body = (
            blocks[turn.joint_body].F,
            blocks[turn.joint].F,
            blocks[turn.body].F,
        )
        x, y = rhs[turn.body].w, rhs[turn.joint].w
        for i in range(3):
            for k in range(6):
                y[i] -= body[3 + i, k] * x[k]
        y0, y1, y2 = y[0], y[1], y[2]
        for i in range(3):
            y[i] = diagonal[i, 3] * y0 + diagonal[i, 4] * y1 + diagonal[i, 5] * y2
        if are_held(own):
            for row in range(3, 6):
                push = own[row, 0] * x[0] + own[row, 1] * x[1] + own[row, 2] * x[2]
                y[row] = (y[row] - push) / diagonal[row, row]
