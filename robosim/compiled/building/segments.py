"""Links of one coordinate each, for integrators in joint coordinates; control points of a step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions, se3
from robosim.compiled.building.joints import add_pieces
from robosim.compiled.building.segment_constraints import constraints_of
from robosim.compiled.minimal import Rule, Tree
from robosim.compiled.records.joint import COORDINATE, PIECE
from robosim.compiled.records.minimal import SEGMENT
from robosim.description.chart_factors import matrix_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.validation import Array

PER_COORDINATE = ("stiffness", "damping", "rest", "armature")
Factor = tuple[Array | None, Array, int, int]  # twist, frame before it, coordinate, place in a turn


def compile_tree(
    mechanism: Mechanism, gravity: ArrayLike, drags: Mapping[str, Array], stages: int | None
) -> Tree:
    """Parameters of a tree; `stages` s of a Galerkin integrator, None for that on the group.

    `drags` are (6, 6) by names of bodies, in body axes.
    """
    joints, bodies = mechanism.tree_joints, mechanism.bodies
    index = {body.name: b for b, body in enumerate(bodies)}
    last: dict[int, int] = {}  # segment of each body
    frames = [_principal(body.inertia) for body in bodies]
    records: list[NDArray[np.void]] = []
    coordinates = np.zeros(mechanism.nv, dtype=COORDINATE)
    pieces: list[tuple[float, Array]] = []
    for b, (joint, body) in enumerate(zip(joints, bodies, strict=True)):
        q, v = mechanism.q_offsets[b], mechanism.v_offsets[b]
        of_joint = coordinates[v : v + joint.nv]
        for name in PER_COORDINATE:
            of_joint[name] = joint.per_coordinate(name)
        add_pieces(joint.potentials, of_joint, pieces)
        above = None if joint.parent is None else index[joint.parent]
        moments, turn = frames[b]
        frame = _pose(np.eye(3) if above is None else frames[above][1].T, joint)
        after = se3.transformation(turn, -np.asarray(joint.child_position, dtype=float))
        factors = _factors(joint)
        parent = -1 if above is None else last[above]
        for k, (twist, before, row, place) in enumerate(factors):
            record = np.zeros((), dtype=SEGMENT)
            frame = frame @ before
            is_last = k == len(factors) - 1
            if is_last:
                frame = frame @ after
                twist = None if twist is None else se3.adjoint(se3.inverse(after)) @ twist
            record["parent"], record["body"], record["owner"] = parent, -1, b
            record["v"], record["q"], record["turn"] = -1, -1, place
            if twist is not None:
                record["S"], record["v"], record["q"] = twist, v + row, q + row
                if place:
                    record["q"] = q + joint.numbers
            record["R"], record["p"] = frame[:3, :3], frame[:3, 3]
            record["after"] = turn.T
            if is_last:
                record["body"] = b
                if not body.carrier:
                    record["mass"], record["moments"] = body.mass, moments
                    record["gravitational_mass"] = body.gravitational_mass
                _set_drag(record, drags.get(body.name), turn)
            parent, frame = len(records), np.eye(4)
            records.append(record)
        last[b] = parent
    segments = np.array(records, dtype=SEGMENT)
    segments["parent"][segments["parent"] < 0] = len(segments)
    segments["rotation"] = np.cumsum(segments["turn"] == 1) - 1
    segments["beyond"] = segments["mass"]
    for i in range(len(segments) - 1, -1, -1):
        above = int(segments["parent"][i])
        if above < len(segments):
            segments["beyond"][above] += segments["beyond"][i]
    tree = Tree(
        segments,
        coordinates,
        np.array(pieces, dtype=PIECE),
        np.array(gravity, dtype=float),
        None if stages is None else lobatto(stages),
        constraints_of(mechanism, segments, [turn for _, turn in frames], last),
    )
    for array in (tree.segments, tree.coordinates, tree.pieces, tree.gravity, tree.constraints):
        if array is not None:
            array.setflags(write=False)
    return tree


def _principal(inertia: ArrayLike) -> tuple[Array, Array]:
    """Principal moments, and axes of the link in body axes (3, 3)."""
    moments, turn = np.linalg.eigh(np.asarray(inertia))
    if np.linalg.det(turn) < 0:
        turn[:, 0] *= -1.0
    return moments, turn


def _pose(axes: Array, joint: Joint) -> Array:
    """Joint frame on the parent's side (4, 4) in a link with these axes, (3, 3) from body axes."""
    offset = quaternions.rotation_matrix(np.asarray(joint.offset, dtype=float))
    return se3.transformation(axes @ offset, axes @ np.asarray(joint.parent_position, dtype=float))


def _factors(joint: Joint) -> list[Factor]:
    """The motions of a joint, one for each coordinate; a fixed one without coordinates."""
    same = np.eye(4)
    factors: list[Factor] = []
    if joint.own_chart is not None:
        before = same
        for factor in joint.own_chart.factors():
            if factor.kind == "stays":
                before = before @ matrix_of(factor.numbers)
            else:
                factors.append((factor.twist, before, factor.first, 0))
                before = same
        # A constant pose behind the last coordinate is a link without motion.
        if before is not same:
            factors.append((None, before, -1, 0))
        return factors or [(None, same, -1, 0)]
    slides, first = joint.C_T.T, joint.C_T.shape[1]
    spins = np.eye(3) if joint.has_quaternion else joint.C_R.T
    factors += [(np.append(d, np.zeros(3)), same, k, 0) for k, d in enumerate(slides)]
    for k, axis in enumerate(spins):
        place = k + 1 if joint.has_quaternion else 0
        factors.append((np.append(np.zeros(3), axis), same, first + k, place))
    return factors or [(None, same, -1, 0)]


def _set_drag(record: NDArray[np.void], drag: Array | None, turn: Array) -> None:
    """A body's drag in the axes of its link."""
    if drag is not None:
        both = np.kron(np.eye(2), turn)
        record["drag"] = both.T @ drag @ both


def lobatto(stages: int) -> Rule:
    """Lobatto's quadrature on s + 1 points, and rates by interpolation through them.

    Exact for polynomials of degree 2 s - 1, so that the integrator is of order 2 s
    [Fan2018, Section 2.1].
    """
    inner = np.polynomial.legendre.Legendre.basis(stages).deriv().roots()
    points = np.concatenate(([-1.0], np.sort(np.real(inner)), [1.0]))
    slope = np.polynomial.legendre.Legendre.basis(stages).deriv()
    if stages > 1:
        for _ in range(3):  # roots of a companion matrix are good to some digits less
            points[1:-1] -= slope(points[1:-1]) / slope.deriv()(points[1:-1])
    values = np.polynomial.legendre.Legendre.basis(stages)(points)
    w = 1.0 / (stages * (stages + 1) * values**2)  # 2 / (s (s + 1) P^2) on (-1, 1), halved
    n = stages + 1
    b = np.zeros((n, n))
    for j in range(n):
        for i in range(n):
            if i != j:
                # Slopes of Lagrange's polynomials at Lobatto's points.
                b[i, j] = values[i] / values[j] / (points[i] - points[j])
    b[np.arange(n), np.arange(n)] = -b.sum(axis=1)
    b *= 2.0
    rule = Rule(0.5 * (points + 1.0), w, b, np.ascontiguousarray((w[:, None] * b).T))
    for array in rule:
        array.setflags(write=False)
    return rule
