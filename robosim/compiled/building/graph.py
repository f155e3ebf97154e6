"""The nodes of a mechanism, in the order of their elimination, and the blocks that it fills."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.elimination import constrained_order, eliminate
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
    apart = _held_apart(nb, parts, contacts)
    nodes: list[tuple[Any, list[int]]] = []
    soft: list[tuple[Any, list[int]]] = []
    beside: list[tuple[Any, list[int]]] = []
    constrained = joints["n_T"] + joints["n_R"] > 0
    for j in np.flatnonzero(constrained | (joints["law"] != 0)).tolist():
        joint = joints[j]
        ends = [int(joint["child"]), int(joint["parent"])]
        over = spans["body"][joint["span_begin"] : joint["span_end"]].tolist()
        if j < nb and apart[j]:
            beside.append((joint, ends))
        elif constrained[j]:
            nodes.append((joint, ends))
        elif over and driven[joint["v_begin"]]:
            # The driven length of a tendon counts as tied to the world, which changes nothing.
            nodes.append((joint, [*over, nb]))
        elif joint["law"]:
            soft.append((joint, over or ends))
    for coupling in couplings:
        ends = [int(joints[j][role]) for j in coupling["joint"] for role in ("child", "parent")]
        nodes.append((coupling, ends))
    edges: list[tuple[int, int]] = []
    rows = [3 if alone else 6 for alone in apart.tolist()]
    for k, (record, ends) in enumerate((*nodes, *soft, *beside)):
        record["node"] = nb + k
        edges += [(nb + k, end) for end in dict.fromkeys(ends) if end < nb]
        rows.append(1 if _has_one_row(record) else 6)
    n_nodes = len(rows)
    ordered = n_nodes - len(beside)
    edges = [edge for edge in edges if edge[0] < ordered]
    near = np.zeros(len(pairs), dtype=bool) if near is None else near
    close = np.column_stack((pairs["body_a"], pairs["body_b"]))[near].tolist()
    touching = sorted({(min(ends), max(ends)) for ends in close} | _element_pairs(elements, nb))
    order = constrained_order(
        nb,
        [[end for end in ends if end < nb] for _, ends in nodes],
        [[end for end in ends if end < nb] for _, ends in soft],
        [nb in ends for _, ends in (*nodes, *soft)],
        touching,
    )
    held = [(ends[0], int(record["node"])) for record, ends in beside]
    graph, blocks = eliminate(n_nodes, edges + touching, order, rows, held)
    pairs["block_ab"] = pairs["block_ba"] = -1
    for name, (a, b) in (("block_ab", "ab"), ("block_ba", "ba")):
        ends = zip(
            pairs[f"body_{a}"][near].tolist(), pairs[f"body_{b}"][near].tolist(), strict=True
        )
        pairs[name][near] = [blocks[pair] for pair in ends]
    elements["block"] = [
        [[blocks[a, b] if max(a, b) < nb else -1 for b in ends] for a in ends]
        for ends in elements["body"].tolist()
    ] or np.zeros((0, 4, 4))
    loops = len(nodes) + len(beside) > np.count_nonzero(constrained[:nb])
    for record, ends in (*nodes, *soft, *beside):
        node = int(record["node"])
        if "body_node" in record.dtype.names:
            for k, end in enumerate(ends):
                if end < nb:
                    record["body_node"][k], record["node_body"][k] = (
                        blocks[end, node],
                        blocks[node, end],
                    )
            continue
        if record["span_end"] > record["span_begin"]:
            for n in range(record["span_begin"], record["span_end"]):
                end = int(spans["body"][n])
                spans["body_node"][n], spans["node_body"][n] = blocks[end, node], blocks[node, end]
            continue
        child, parent = ends
        record["child_joint"], record["joint_child"] = blocks[child, node], blocks[node, child]
        if parent < nb:
            record["parent_joint"] = blocks[parent, node]
            record["joint_parent"] = blocks[node, parent]
    if not loops:
        joints["compliance_T"], joints["compliance_R"] = 0.0, 0.0
    # What holds a rotation alone is redundant with nothing.
    joints["compliance_R"][:nb][apart] = 0.0
    return graph


def _has_one_row(record: Any) -> bool:
    """Whether an element has one row at most: a spring between points, a tendon, a coupling."""
    return "distance" not in record.dtype.names or bool(
        record["distance"] or record["span_end"] > record["span_begin"]
    )


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
