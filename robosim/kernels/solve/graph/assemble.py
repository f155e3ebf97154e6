"""The Newton matrix of any mechanism, in blocks of its graph [Bruedigam2023, Eq. 32]."""

from robosim.compiled.memory import FACTORED
from robosim.kernels.compiler.jit import kernel
from robosim.kernels.equations.algebra import fill, similarity
from robosim.kernels.equations.constraints import rows_ahead
from robosim.kernels.equations.tendon import is_tendon, place_tendon_blocks, span_rate


@kernel
def place_joint_blocks(nb, joint, left_a, left_b, w, blocks):
    """Blocks of one joint: -left^T in its column; in its row w.G for what is constrained.

    The row of a coordinate with a law reads d impulse - A w.G = residual; rows that are not in
    use are an identity.
    """
    n, with_parent = joint.n_T + joint.n_R, joint.parent < nb
    diagonal, own = blocks[joint.node].F, blocks[joint.joint_child].F
    for row in range(6):
        diagonal[row, row] = 1.0
    for row in range(n):
        diagonal[row, row] = joint.compliance_T if row < joint.n_T else joint.compliance_R
    for row in range(w.rows):
        for k in range(6):
            blocks[joint.child_joint].F[k, row] = -left_b[row, k]
            if with_parent:
                blocks[joint.parent_joint].F[k, row] = -left_a[row, k]
        if row < n or w.held[row - n] != 0:
            if row >= n:
                turns = row - n >= joint.m_T
                diagonal[row, row] = joint.compliance_R if turns else joint.compliance_T
            for k in range(6):
                own[row, k] = w.G_b[row, k]
                if with_parent:
                    blocks[joint.joint_parent].F[row, k] = w.G_a[row, k]
            continue
        for i in range(n, w.rows):
            slope = w.A[row - n, i - n]
            for k in range(6):
                own[row, k] -= slope * w.G_b[i, k]
                if with_parent:
                    blocks[joint.joint_parent].F[row, k] -= slope * w.G_a[i, k]


@kernel
def place_coupling_blocks(model, coupling, left, right, blocks):
    """Blocks of one coupling: the coordinates' rows of its two joints, times their factors."""
    blocks[coupling.node].F[0, 0] = coupling.compliance
    for row in range(1, 6):
        blocks[coupling.node].F[row, row] = 1.0
    for i in range(2):
        j, row, factor = coupling.joint[i], coupling.row[i], coupling.factor[i]
        joint, L, R = model.joints[j], left[j], right[j]
        for k in range(6):
            blocks[coupling.body_node[2 * i]].F[k, 0] -= factor * L.G_b[row, k]
            blocks[coupling.node_body[2 * i]].F[0, k] += factor * R.G_b[row, k]
            if joint.parent < model.bodies.shape[0]:
                blocks[coupling.body_node[2 * i + 1]].F[k, 0] -= factor * L.G_a[row, k]
                blocks[coupling.node_body[2 * i + 1]].F[0, k] += factor * R.G_a[row, k]


@kernel
def coordinate_rates(model, joint, system, work, j, x, out):
    """Rates (6,) of a joint's coordinates in the direction x; zero beyond them.

    A limit's answer to a rate is so stiff that the rounding of a difference of motions would show
    in it. The row of the law that was solved, d impulse - A rate = asked, gives the same rate the
    more exactly the stiffer A is.
    """
    n, with_parent = joint.n_T + joint.n_R, joint.parent < model.bodies.shape[0]
    w, way = work.joints[j], system.directions[j]
    # Factors that are left from the knot's projection have its directions.
    known = system.valid[FACTORED] != 0
    child, own = x[joint.child].w, x[joint.node].w
    parent = x[joint.parent if with_parent else joint.child].w
    fill(0.0, out)
    along, along_size = span_rate(model, joint, work.span1 if known else work.span2, x)
    for row in range(joint.m_T + joint.m_R):
        out[row], size = along, along_size
        for k in range(6):
            term = (way.G_b[n + row, k] if known else w.G_b[n + row, k]) * child[k]
            out[row] += term
            size += abs(term)
            if with_parent:
                term = (way.G_a[n + row, k] if known else w.G_a[n + row, k]) * parent[k]
                out[row] += term
                size += abs(term)
        single = row < joint.m_T or joint.m_R == 1
        stiffness = abs(w.A[row, row])
        fresh = single and not known and w.held[row] == 0
        if fresh and abs(own[n + row]) + abs(w.asked[n + row]) < stiffness * size:
            out[row] = (own[n + row] - w.asked[n + row]) / w.A[row, row]


@kernel
def close_blocks(model, system, work):
    """Blocks of joints and couplings at the unknowns [Bruedigam2023, Eq. 32]."""
    for j in range(model.joints.shape[0]):
        joint, w = model.joints[j], work.joints[j]
        if joint.node >= 0:
            rows_ahead(model, work, j)
            way = system.directions[j]
            if is_tendon(joint):
                place_tendon_blocks(model, joint, work.span1, work.span2, w, system.blocks)
            else:
                nb = model.bodies.shape[0]
                place_joint_blocks(nb, joint, way.G_a, way.G_b, w, system.blocks)
    for n in range(model.couplings.shape[0]):
        coupling = model.couplings[n]
        place_coupling_blocks(model, coupling, system.directions, work.joints, system.blocks)


@kernel
def place_masses(model, blocks):
    """Masses of the bodies for their translations, and nothing else in the blocks."""
    for n in range(model.graph.rows.shape[0]):
        for i in range(model.graph.rows[n]):
            fill(0.0, blocks[n].F[i])
    for i in range(model.bodies.shape[0]):
        for k in range(3):
            blocks[i].F[k, k] = model.bodies[i].mass


@kernel
def place_inertias(model, system, work):
    """Masses and inertias of the bodies at the second knot, and nothing else in the blocks."""
    place_masses(model, system.blocks)
    for i in range(model.bodies.shape[0]):
        similarity(work.pose2[i].R, model.bodies[i].inertia, system.blocks[i].F[3:, 3:])
