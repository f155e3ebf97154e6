"""Constraints between links of one coordinate each: joints that close loops, and couplings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.compiled.records.joint import COMPLIANCE
from robosim.compiled.records.minimal import CONSTRAINT, COUPLED, SLIDE, TURN
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


def constraints_of(
    mechanism: Mechanism,
    segments: NDArray[np.void],
    turns: Sequence[Array],
    last: Mapping[int, int],
) -> NDArray[np.void] | None:
    """All rows (m,), joints that close loops first; None for a tree alone.

    `turns` (3, 3) are the links' axes in those of their bodies, `last` the segments of bodies.
    """
    index = {body.name: b for b, body in enumerate(mechanism.bodies)}
    rows: list[NDArray[np.void]] = []
    for joint in mechanism.loop_joints:
        ends = [None if name is None else index[name] for name in (joint.parent, joint.child)]
        sizes = [
            (1.0 / mechanism.bodies[b].mass, 3.0 / float(np.trace(mechanism.bodies[b].inertia)))
            for b in ends
            if b is not None
        ]
        axes = [np.eye(3) if b is None else turns[b] for b in ends]
        links = [len(segments) if b is None else last[b] for b in ends]
        for kind, direction, on_child in _rows(joint):
            row = np.zeros((), dtype=CONSTRAINT)
            row["kind"], (row["a"], row["b"]) = kind, links
            frame = axes[0].T @ quaternions.rotation_matrix(np.asarray(joint.offset))
            row["direction"] = frame @ direction
            row["p_a"] = axes[0].T @ np.asarray(joint.parent_position)
            row["p_b"] = axes[1].T @ on_child
            row["compliance"] = COMPLIANCE * sum(size[int(kind == TURN)] for size in sizes)
            rows.append(row)
    for coupling in mechanism.couplings:
        row = np.zeros((), dtype=CONSTRAINT)
        row["kind"], row["ratio"], row["offset"] = COUPLED, coupling.ratio, coupling.offset
        for end, name in (("a", coupling.source), ("b", coupling.joint)):
            j = mechanism.joint_index(name)
            body, joint = mechanism.bodies[j], mechanism.joints[j]
            row[end] = _link_of(segments, mechanism.v_offsets[j])
            turns_here = joint.units[0] == "rad"
            size = float(np.trace(body.inertia)) / 3.0 if turns_here else body.mass
            row["compliance"] += COMPLIANCE / size
        rows.append(row)
    return np.array(rows, dtype=CONSTRAINT) if rows else None


def _link_of(segments: NDArray[np.void], v: int) -> int:
    """The link of a velocity."""
    return int(np.flatnonzero(segments["v"] == v)[0])


def _rows(joint: Joint) -> list[tuple[int, Array, Array]]:
    """Kind, direction in the joint frame, and point or axis in body axes, of each row of a joint.

    A turn is held by axes of the child across directions of the joint frame: of a hinge its axis,
    of a joint that does not turn two of three.
    """
    point = np.asarray(joint.child_position, dtype=float)
    rows = [(SLIDE, direction, point) for direction in joint.D_T.T]
    if joint.C_R.shape[1] == 1:
        rows += [(TURN, direction, joint.C_R[:, 0]) for direction in joint.D_R.T]
    elif joint.C_R.shape[1] == 0:
        x, y, z = np.eye(3)
        rows += [(TURN, x, y), (TURN, y, z), (TURN, z, x)]
    return rows
