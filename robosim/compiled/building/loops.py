"""Ties between joints of a tree, as borders of the tree's elimination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.model import Loops
from robosim.compiled.records.tree import COUPLED, TIE
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism

MOST_ROWS = 6  # of the ties that share joints
MOST_LOOSE = 4  # loose bodies beside a robot, as one that it holds; more of them make a heap


@dataclass
class Loop:
    """Ties that share joints.

    Attributes
    ----------
    ties : list of int
        Indices among joints that close loops, followed by couplings.
    ends : list of int
        Bodies from which its joints lead down to the top.
    top : int
        The body that all these joints hang on, which is not part of the loop.
    """

    ties: list[int]
    ends: list[int]
    top: int


def _bodies(pair: Sequence[tuple[int | None, Any]]) -> list[int | None]:
    """The bodies of two shapes, None for the world."""
    return [body for body, _ in pair]


def is_tree_with_loops(mechanism: Mechanism, velocity_limits: bool = False) -> bool:
    """Whether a mechanism is a tree, the ties of which can be borders of its elimination."""
    if mechanism.springs or mechanism.tendons or mechanism.soft_meshes:
        return False
    if not _ties(mechanism):
        return True
    if any(None not in _bodies(pair) for pair in mechanism.touching_shapes()):
        return False
    return separate_loops(mechanism, velocity_limits) is not None


def is_heap(mechanism: Mechanism) -> bool:
    """Whether what may touch each other is mostly loose bodies, which have no joints to go along.

    Their contacts are too many for the elimination of a tree.
    """
    meeting = [_bodies(pair) for pair in mechanism.touching_shapes()]
    moving = {body for bodies in meeting if None not in bodies for body in bodies}
    carrying = {joint.parent for joint in mechanism.joints}
    loose = {
        b
        for b, joint in enumerate(mechanism.tree_joints)
        if b in moving and joint.n_constraints == 0 and joint.child not in carrying
    }
    return bool(moving) and (len(loose) > MOST_LOOSE or len(loose) == len(mechanism.bodies))


def separate_loops(mechanism: Mechanism, velocity_limits: bool = False) -> list[Loop] | None:
    """The loops of a mechanism; None where ties that share joints have more than six rows.

    Also None if forces act along a joint that closes a loop, or if a floating base is tied.
    Velocity limits of these joints count only if `velocity_limits` act.
    """
    if any(v >= mechanism.nv for v in mechanism.actuated):
        return None
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    above = [nb if joint.parent is None else index[joint.parent] for joint in mechanism.tree_joints]
    above.append(nb)
    floats = {b for b, joint in enumerate(mechanism.tree_joints) if joint.n_constraints == 0}
    single_loops: list[Loop] = []
    for k, joint in enumerate(mechanism.loop_joints):
        if _acts(joint) or (velocity_limits and joint.is_limited_in_velocity):
            return None
        ends = [index[joint.child], nb if joint.parent is None else index[joint.parent]]
        single_loops.append(Loop([k], ends, _common(ends, above)))
    bodies = {joint.name: b for b, joint in enumerate(mechanism.tree_joints)}
    for k, coupling in enumerate(mechanism.couplings, start=len(mechanism.loop_joints)):
        if not {coupling.joint, coupling.source} <= bodies.keys():
            return None
        ends = [bodies[coupling.joint], bodies[coupling.source]]
        single_loops.append(Loop([k], ends, _common([above[end] for end in ends], above)))
    loops: list[Loop] = []
    for loop in single_loops:
        # One that has been joined with another may share joints with a third.
        while shared := [one for one in loops if _path(one, above) & _path(loop, above)]:
            loops = [one for one in loops if one not in shared]
            for one in shared:
                top = _common([loop.top, one.top], above)
                loop = Loop([*loop.ties, *one.ties], [*loop.ends, *one.ends], top)
        loops.append(loop)
    rows = [1 if joint is None else joint.n_constraints for joint in _ties(mechanism)]
    for loop in loops:
        if sum(rows[k] for k in loop.ties) > MOST_ROWS or _path(loop, above) & floats:
            return None
    return sorted(loops, key=lambda loop: loop.top)


def compile_loops(
    mechanism: Mechanism,
    joints: NDArray[np.void],
    couplings: NDArray[np.void],
    velocity_limits: bool,
    articulated: bool,
) -> Loops:
    """The loops of a mechanism from its JOINT and COUPLING records; none if it is no tree."""
    ties = bool(_ties(mechanism)) and articulated
    loops = (separate_loops(mechanism, velocity_limits) if ties else None) or []
    nb, n_closing = len(mechanism.bodies), len(mechanism.loop_joints) if loops else 0
    over = np.full(nb, -1, dtype=np.int64)
    records: list[tuple[object, ...]] = []
    coupled: list[tuple[int, tuple[int, int, float]]] = []
    above = [int(joint["parent"]) for joint in joints[:nb]] + [nb]
    rows = []
    for n, loop in enumerate(loops):
        over[list(_path(loop, above))] = n
        begin = 0
        for k in sorted(loop.ties):
            compliance = np.zeros(6)
            if k < n_closing:
                record, ends = joints[nb + k], (nb + k, -1)
                count, translations = int(record["n_T"] + record["n_R"]), int(record["n_T"])
                compliance[:translations] = record["compliance_T"]
                compliance[translations:] = record["compliance_R"]
            else:
                record, ends, count = couplings[k - n_closing], (-1, k - n_closing), 1
                compliance[0] = record["compliance"]
                for j, row, factor in zip(
                    record["joint"], record["row"], record["factor"], strict=True
                ):
                    first = int(joints[j]["n_T"] + joints[j]["n_R"])
                    coupled.append((int(j), (int(row) - first, begin, float(factor))))
            records.append((*ends, int(record["node"]), n, begin, count, compliance))
            begin += count
        rows.append(begin)
    coupled.sort(key=lambda one: one[0])
    tops = np.array([loop.top for loop in loops], dtype=np.int64)
    return Loops(
        ties=np.array(records, dtype=TIE),
        joint=np.arange(nb, nb + n_closing, dtype=np.int64),
        rows=np.array(rows, dtype=np.int64),
        top=tops,
        first=np.searchsorted(tops, np.arange(nb + 2)).astype(np.int64),
        over=over,
        coupled=np.array([one for _, one in coupled], dtype=COUPLED),
        coupled_begin=np.searchsorted([j for j, _ in coupled], np.arange(nb + 1)).astype(np.int64),
    )


def _ties(mechanism: Mechanism) -> list[Joint | None]:
    """The joints that close loops, and None for each coupling."""
    return [*mechanism.loop_joints, *(None for _ in mechanism.couplings)]


def _acts(joint: Joint) -> bool:
    """Whether forces act along a joint that closes a loop, or it has no constraints."""
    laws = (joint.per_coordinate(name).any() for name in ("stiffness", "damping", "armature"))
    acts = joint.resists or joint.motion is not None or any(joint.potentials) or any(laws)
    return acts or joint.n_constraints == 0


def _down(body: int, above: list[int]) -> list[int]:
    """A body and all bodies that it hangs on, down to the world."""
    way = [body]
    while way[-1] != above[-1]:
        way.append(above[way[-1]])
    return way


def _common(bodies: list[int], above: list[int]) -> int:
    """The nearest body that each of some bodies is or hangs on."""
    ways = [set(_down(body, above)) for body in bodies[1:]]
    return next(b for b in _down(bodies[0], above) if all(b in way for way in ways))


def _path(loop: Loop, above: list[int]) -> set[int]:
    """The bodies whose joints are part of a loop."""
    ways = (_down(end, above) for end in loop.ends)
    return {body for way in ways for body in way[: way.index(loop.top)]}
