"""Graph-ordered sparse block LDU, Algorithms 1 to 4 of [Bruedigam2023] as one program.

The symbolic part (robosim/compiled/elimination.py) lists, for each node in depth-first order from
the leaves, the blocks that eliminating it touches. On a tree every node has one neighbour left (its
parent), so nothing fills in and the work is linear in the number of nodes; a cycle only makes the
lists longer. Blocks are 6x6, those of joints with fewer rows are padded with an identity.
"""

from robosim.kernels.algebra import (
    lu6,
    lu6_solve_matrix,
    lu6_solve_vector,
    subtract_product6,
    subtract_product6_vector,
)
from robosim.kernels.jit import kernel


@kernel
def ldu_factor(graph, blocks):
    """Factor `blocks` in place [Bruedigam2023, Algs. 1, 3]; 0, or 1 + the singular node."""
    for position in range(graph.pivots.shape[0]):
        pivot = graph.pivots[position]
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
    return 0


@kernel
def ldu_solve(graph, blocks, rhs):
    """rhs = F^-1 rhs in place, (n_nodes,) rows of 6 [Bruedigam2023, Algs. 2, 4]."""
    for position in range(graph.pivots.shape[0]):
        pivot = graph.pivots[position]
        lu6_solve_vector(blocks[pivot.diagonal].F, rhs[pivot.node].w)
        for n in range(pivot.neighbour_begin, pivot.neighbour_end):
            neighbour = graph.neighbours[n]
            subtract_product6_vector(
                blocks[neighbour.lower].F, rhs[pivot.node].w, rhs[neighbour.node].w
            )
    for position in range(graph.pivots.shape[0] - 1, -1, -1):
        pivot = graph.pivots[position]
        for n in range(pivot.neighbour_begin, pivot.neighbour_end):
            neighbour = graph.neighbours[n]
            subtract_product6_vector(
                blocks[neighbour.upper].F, rhs[neighbour.node].w, rhs[pivot.node].w
            )
