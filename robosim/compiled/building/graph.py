"""The nodes of a mechanism, in the order of their elimination, and the blocks that it fills."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.elimination import Blocks, constrained_order, eliminate
from robosim.compiled.fronts import Indices
from robosim.compiled.kinds import LIMIT
from robosim.compiled.model import Graph


class Parts(NamedTuple):
    """The records of a mechanism that have nodes or blocks."""

    joints: NDArray[np.void]
    spans: NDArray[np.void]
    couplings: NDArray[np.void]
    elements: NDArray[np.void]
    pairs: NDArray[np.void]  # of shapes

    def copied(self) -> Parts:
        return Parts(*(array.copy() for array in self))


def compile_graph(
    nb: int,
    parts: Parts,
    contacts: NDArray[np.void],
    driven: NDArray[np.bool_],
    near: NDArray[np.bool_] | None = None,
) -> Graph:
    """Number, order and eliminate the nodes; sets the numbers of blocks in all records.

    Bodies of pairs of shapes have blocks for each other if the pair is `near`.
    """
    joints, spans, couplings, elements, pairs = parts
    constrained = joints["n_T"] + joints["n_R"] > 0
    over = joints["span_end"] > joints["span_begin"]
    apart = np.zeros(len(joints), dtype=bool)
    apart[:nb] = _held_apart(nb, parts, contacts)
    # The driven length of a tendon counts as tied to the world, which changes nothing.
    tied = over.copy()
    tied[over] = driven[joints["v_begin"][over]]
    hard = np.flatnonzero((constrained | tied) & ~apart)
    soft = np.flatnonzero((joints["law"] != 0) & ~constrained & ~tied)
    alone = np.flatnonzero(apart)
    first_soft = nb + len(hard) + len(couplings)
    first_alone = first_soft + len(soft)
    joints["node"] = -1
    joints["node"][hard] = nb + np.arange(len(hard))
    couplings["node"] = nb + len(hard) + np.arange(len(couplings))
    joints["node"][soft] = first_soft + np.arange(len(soft))
    joints["node"][alone] = first_alone + np.arange(len(alone))

    ends = np.column_stack((joints["child"], joints["parent"])).tolist()
    for j in np.flatnonzero(over).tolist():
        own = spans["body"][joints["span_begin"][j] : joints["span_end"][j]].tolist()
        ends[j] = [*own, nb] if tied[j] else own
    held = [ends[j] for j in hard.tolist()]
    held += [ends[a] + ends[b] for a, b in couplings["joint"].tolist()]
    springs = [ends[j] for j in soft.tolist()]
    nodes = enumerate((*held, *springs), start=nb)
    edges = [(node, end) for node, own in nodes for end in dict.fromkeys(own) if end < nb]
    rows = np.full(first_alone + len(alone), 6)
    rows[:nb][apart[:nb]] = 3
    rows[couplings["node"]] = 1
    rows[joints["node"][(over | (joints["distance"] != 0)) & (joints["node"] >= 0)]] = 1
    close = np.zeros(len(pairs), dtype=bool) if near is None else near
    met = np.column_stack((pairs["body_a"][close], pairs["body_b"][close]))
    touching = sorted({*zip(*np.sort(met).T.tolist(), strict=True), *_element_pairs(elements, nb)})
    order = constrained_order(
        nb,
        [[end for end in own if end < nb] for own in held],
        [[end for end in own if end < nb] for own in springs],
        [nb in own for own in (*held, *springs)],
        touching,
    )
    beside = [(int(joints["child"][j]), int(joints["node"][j])) for j in alone]
    graph, blocks = eliminate(len(rows), edges + touching, order, rows.tolist(), beside)

    pairs["block_ab"] = pairs["block_ba"] = -1
    pairs["block_ab"][close] = blocks.numbers(met[:, 0], met[:, 1])
    pairs["block_ba"][close] = blocks.numbers(met[:, 1], met[:, 0])
    a, b = np.broadcast_arrays(elements["body"][:, :, None], elements["body"][:, None, :])
    elements["block"] = _with_bodies(blocks, a, b, (a < nb) & (b < nb))[0]
    between = np.flatnonzero((joints["node"] >= 0) & ~over & ~apart)
    for end in ("child", "parent"):
        body, node = joints[end][between], joints["node"][between]
        both = _with_bodies(blocks, body, node, body < nb)
        joints[f"{end}_joint"][between], joints[f"joint_{end}"][between] = both
    joints["child_joint"][alone] = graph.turns["body_joint"]
    joints["joint_child"][alone] = graph.turns["joint_body"]
    for j in np.flatnonzero(over & (joints["node"] >= 0)).tolist():
        own = spans[joints["span_begin"][j] : joints["span_end"][j]]
        both = _with_bodies(blocks, own["body"], np.full(len(own), joints["node"][j]), True)
        own["body_node"], own["node_body"] = both
    body = np.stack([joints[end][couplings["joint"]] for end in ("child", "parent")], axis=-1)
    body = body.reshape(-1, 4)
    node = np.broadcast_to(couplings["node"][:, None], body.shape)
    couplings["body_node"], couplings["node_body"] = _with_bodies(blocks, body, node, body < nb)

    if len(held) + len(alone) <= np.count_nonzero(constrained[:nb]):  # no loops
        joints["compliance_T"], joints["compliance_R"] = 0.0, 0.0
    # What holds a rotation alone is redundant with nothing.
    joints["compliance_R"][alone] = 0.0
    return graph


def _with_bodies(
    blocks: Blocks, bodies: Indices, nodes: Indices, inside: NDArray[np.bool_] | bool
) -> tuple[Indices, Indices]:
    """Numbers of blocks (row body, column node), and of the opposite ones; -1 if not `inside`."""
    inside = np.broadcast_to(inside, bodies.shape)
    both = np.full((2, *bodies.shape), -1)
    both[0, inside] = blocks.numbers(bodies[inside], nodes[inside])
    both[1, inside] = blocks.numbers(nodes[inside], bodies[inside])
    return both[0], both[1]


def _held_apart(nb: int, parts: Parts, contacts: NDArray[np.void]) -> NDArray[np.bool_]:
    """Bodies whose rotation their own joints hold against the world, and nothing else meets.

    So they have no rotations in their blocks with others. These are particles, in which springs
    and elements end at the centre of mass. Contacts with the world are in their own blocks.
    """
    joints, spans, couplings, elements, pairs = parts
    tree = joints[:nb]
    apart = (tree["n_T"] == 0) & (tree["n_R"] == 3) & (tree["law"] == 0) & (tree["parent"] == nb)
    apart &= ~np.any(tree["p_b"], axis=1)
    if not apart.any():
        return apart
    met = [contacts["joint"][contacts["kind"] >= LIMIT], spans["body"]]
    met += [joints[role][couplings["joint"]] for role in ("child", "parent")]
    met += [elements["body"][np.any(elements["p"], axis=2)], tree["parent"]]
    others = joints[nb:]
    for role, point in (("child", "p_b"), ("parent", "p_a")):
        met.append(others[role][(others["distance"] == 0) | np.any(others[point], axis=1)])
    moving = (pairs["body_a"] < nb) & (pairs["body_b"] < nb)
    met += [pairs["body_a"][moving], pairs["body_b"][moving]]
    touched = np.concatenate([np.ravel(bodies) for bodies in met]).astype(np.int64)
    apart[touched[touched < nb]] = False
    return apart


def _element_pairs(elements: NDArray[np.void], nb: int) -> set[tuple[int, int]]:
    """Pairs of bodies that share an element, the first one less than the second."""
    pairs: set[tuple[int, int]] = set()
    for ends in elements["body"].tolist():
        bodies = sorted({end for end in ends if end < nb})
        pairs.update(combinations(bodies, 2))
    return pairs
