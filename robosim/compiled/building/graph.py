"""The nodes of a mechanism, in the order of their elimination, and the blocks that it fills."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.elimination import constrained_order, eliminate
from robosim.compiled.model import Graph


def compile_graph(
    nb: int,
    joints: NDArray[np.void],
    spans: NDArray[np.void],
    couplings: NDArray[np.void],
    driven: NDArray[np.bool_],
    elements: NDArray[np.void],
    pairs: NDArray[np.void] | None = None,
    near: NDArray[np.bool_] | None = None,
) -> Graph:
    """Number, order and eliminate the nodes; sets the numbers of blocks in all records."""
    nodes: list[tuple[Any, list[int]]] = []
    soft: list[tuple[Any, list[int]]] = []
    for joint in joints:
        ends = [int(joint["child"]), int(joint["parent"])]
        over = spans["body"][joint["span_begin"] : joint["span_end"]].tolist()
        if joint["n_T"] + joint["n_R"] > 0:
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
    for k, (record, ends) in enumerate((*nodes, *soft)):
        record["node"] = nb + k
        edges += [(nb + k, end) for end in dict.fromkeys(ends) if end < nb]
    touching: list[tuple[int, int]] = []
    if pairs is not None and near is not None:
        ends_of = {(int(p["body_a"]), int(p["body_b"])) for p in pairs[near]}
        touching = sorted({(min(ends), max(ends)) for ends in ends_of})
    touching = sorted({*touching, *_element_pairs(elements, nb)})
    order = constrained_order(
        nb,
        [[end for end in ends if end < nb] for _, ends in nodes],
        [[end for end in ends if end < nb] for _, ends in soft],
        [nb in ends for _, ends in (*nodes, *soft)],
        touching,
    )
    graph, blocks = eliminate(nb + len(nodes) + len(soft), edges + touching, order)
    if pairs is not None and near is not None:
        pairs["block_ab"] = pairs["block_ba"] = -1
        for pair in (pairs[n] for n in np.flatnonzero(near)):
            a, b = int(pair["body_a"]), int(pair["body_b"])
            pair["block_ab"], pair["block_ba"] = blocks[a, b], blocks[b, a]
    for element in elements:
        ends = element["body"].tolist()
        element["block"] = [[blocks[a, b] if max(a, b) < nb else -1 for b in ends] for a in ends]
    loops = len(nodes) > sum(1 for joint in joints[:nb] if joint["n_T"] + joint["n_R"] > 0)
    for record, ends in (*nodes, *soft):
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
    return graph


def _element_pairs(elements: NDArray[np.void], nb: int) -> set[tuple[int, int]]:
    """Pairs of bodies that share an element, the first one less than the second."""
    pairs: set[tuple[int, int]] = set()
    for ends in elements["body"].tolist():
        bodies = sorted({end for end in ends if end < nb})
        pairs.update(combinations(bodies, 2))
    return pairs
