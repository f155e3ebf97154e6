"""One spring for all contacts of a pair of shapes.

Two shapes touch with more points or with fewer as they turn over each other. Were each point a
spring, energy would come and go with them. So the points of a pair press on one spring, like a
plate on it that follows the deepest of them,

    g_i / dt + z(sum of gamma_j) - s_i = 0,    s_i gamma_i = kappa,

with the same deflection z for all. How deep the deepest is does not jump where others come and go.

Each contact is condensed as a hard one, dF_i = F_i + A_i (du_i + z e), whose third row be n_i and
whose normal answers by -a_i. The spring adds the change of its deflection

    z = y sum(dgamma_j) = together (sum of at_rest_j + n_j du_j),   together = y / (1 + y sum(a_j)),

with y the derivative of the deflection. So together they answer like one contact more, of a single
row: its impulses lead to wrenches as C = sum(L_i^T A_i e), its motion is R = sum(n_i R_i).
"""

from math import inf

from robosim.kernels.compiler.jit import aside, kernel
from robosim.kernels.contact.answers import add_transposed
from robosim.kernels.contact.ground import ground_gap
from robosim.kernels.contact.kinematics import place_contact
from robosim.kernels.equations.algebra import fill


@kernel
def shares(contact, w):
    """Whether a contact is not alone on its spring."""
    return contact.compliant != 0 and w.sharing > 1


@kernel
def press(work, k, w):
    """What presses on the spring of contact k: w.pressed and w.sharing."""
    contact = work.slots[k]
    w.pressed, w.sharing = work.contacts[k].gamma, 1
    if contact.spring_end == 0:
        return
    w.pressed, w.sharing = 0.0, 0
    for j in range(contact.spring_begin, contact.spring_end):
        if work.entered[j] != 0:
            w.pressed += work.contacts[j].gamma
            w.sharing += 1


@kernel
def is_first(work, k):
    """Whether contact k is the first one on its spring."""
    contact = work.slots[k]
    for j in range(contact.spring_begin, k):
        if work.entered[j] != 0:
            return False
    return k < contact.spring_end


@aside
def join(work, contacts, k):
    """work.joined = the contact that all on the spring of contact k add; w.together of these.

    Its sides are those of contact k.
    """
    contact, joined, t, total = work.slots[k], work.joined[0], work.scratch[0], 0.0
    clear_rows_of(joined)
    for j in range(contact.spring_begin, contact.spring_end):
        if work.entered[j] == 0:
            continue
        one, other = contacts[j], work.slots[j]
        flipped = other.body != contact.body
        total -= one.A[2, 2]
        add_transposed(one.R_o if flipped else one.R, one.A[2], joined.R[2])
        add_transposed(one.R if flipped else one.R_o, one.A[2], joined.R_o[2])
        add_answer(one, flipped, joined, t)
        for n in range(other.companions):
            add_answer(contacts[other.companion + n], flipped, joined, t)
    slope = contacts[k].slope
    joined.A[2, 2] = slope / (1.0 + slope * total)
    for j in range(contact.spring_begin, contact.spring_end):
        if work.entered[j] == 0:
            continue
        contacts[j].together = joined.A[2, 2]
        other = work.slots[j]
        for n in range(other.companions):
            contacts[other.companion + n].together = joined.A[2, 2]


@kernel
def clear_rows_of(joined):
    """Begin the contact that several are together."""
    for i in range(3):
        fill(0.0, joined.A[i])
        fill(0.0, joined.L[i])
        fill(0.0, joined.L_o[i])
        fill(0.0, joined.R[i])
        fill(0.0, joined.R_o[i])


@kernel
def add_answer(one, flipped, joined, t):
    """Add the wrenches by which a contact answers a motion of its spring."""
    for i in range(3):
        t.w[i] = one.A[i, 2]
    add_transposed(one.L_o if flipped else one.L, t.w, joined.L[2])
    add_transposed(one.L if flipped else one.L_o, t.w, joined.L_o[2])


@kernel
def spring_answer(work, contacts, k):
    """How much the spring of contact k gives more [m/s], by what is `at_rest` of all on it."""
    contact, total = work.slots[k], 0.0
    for j in range(contact.spring_begin, contact.spring_end):
        if work.entered[j] != 0:
            total += contacts[j].at_rest
    return contacts[k].together * total


@aside
def find_depth(work, contacts, pair, poses):
    """Tell the contacts of a pair how deep their spring is at the first knot."""
    depth, known = -inf, False
    for j in range(pair.slot_begin, pair.slot_end):
        if work.ids[j] >= 0 and work.entered[j] != 0:
            depth, known = contacts[j].depth, True
    for j in range(pair.slot_begin, pair.slot_end):
        if work.ids[j] >= 0 and not known:
            depth = max(depth, -place_contact(work.slots[j], poses, work.scratch[0]))
    for j in range(pair.slot_begin, pair.slot_end):
        contacts[j].depth = depth


@aside
def find_depth_on_ground(work, contacts, k, pose):
    """Tell the points of a cylinder how deep their spring is at the first knot.

    Contact k is one of them.
    """
    contact = work.slots[k]
    depth = -ground_gap(contact, pose)
    for j in range(contact.spring_begin, contact.spring_end):
        depth = max(depth, -ground_gap(work.slots[j], pose))
    for j in range(contact.spring_begin, contact.spring_end):
        contacts[j].depth = depth
