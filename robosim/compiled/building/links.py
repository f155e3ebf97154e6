"""Links of a mechanism's tree for recursions over it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.building.charts import chart_records
from robosim.compiled.building.joints import add_pieces
from robosim.compiled.kinds import ANY_CHART, ANY_JOINT, ONE_HINGE, ONE_SLIDE
from robosim.compiled.links import Links
from robosim.compiled.records.chart import Charts
from robosim.compiled.records.joint import COORDINATE, PIECE
from robosim.compiled.records.link import LINK
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.se3 import cross_matrix
from robosim.validation import Array

PASSIVE = ("stiffness", "damping")
PER_COORDINATE = (*PASSIVE, "rest", "armature")


def compile_links(
    mechanism: Mechanism, gravity: ArrayLike, masses: ArrayLike | None = None
) -> tuple[Links, Array]:
    """Parameters of the tree, and (nb, 3, 3) link axes to body axes of its bodies.

    Carriers have no mass. With `masses` (nb,), links are points of such masses at the centres of
    mass of the bodies, with nothing else that is inert or acts.
    """
    joints, bodies = mechanism.tree_joints, mechanism.bodies
    nb = len(bodies)
    index = {body.name: b for b, body in enumerate(bodies)}
    massive = np.array([0.0 if body.carrier else 1.0 for body in bodies])
    inertias = np.stack([np.asarray(body.inertia) for body in bodies]) * massive[:, None, None]
    if masses is not None:
        inertias *= 0.0
    moments, turns = np.linalg.eigh(inertias)
    turns[:, :, 0] *= np.where(np.linalg.det(turns) < 0, -1.0, 1.0)[:, None]
    parents = [nb if joint.parent is None else index[joint.parent] for joint in joints]
    # The world is the last link, with its own axes and origin.
    axes = np.concatenate((turns, np.eye(3)[None]))
    child_points = np.array([joint.child_position for joint in joints], dtype=float)
    points = np.concatenate((child_points, np.zeros((1, 3))))
    arms = np.array([joint.parent_position for joint in joints], dtype=float) - points[parents]
    offsets = quaternions.rotation_matrix(np.array([joint.offset for joint in joints]))
    before = np.swapaxes(axes[parents], 1, 2) @ offsets

    links = np.zeros(nb, dtype=LINK)
    links["parent"], links["moments"] = parents, moments
    links["mass"] = massive * [body.mass for body in bodies] if masses is None else masses
    links["center"] = -np.einsum("bij,bi->bj", turns, child_points)
    links["point"] = np.einsum("bij,bi->bj", axes[parents], arms)
    links["before"], links["after"] = before, turns
    links["q_begin"], links["v_begin"] = mechanism.q_offsets[:nb], mechanism.v_offsets[:nb]
    charts, links["chart_begin"], links["chart_end"] = _charts(joints)
    coordinates = np.zeros(mechanism.nv, dtype=COORDINATE)
    pieces: list[tuple[float, Array]] = []
    first = 0
    for b, joint in enumerate(joints):
        link = links[b]
        m_T, m_R = joint.C_T.shape[1], joint.C_R.shape[1]
        if joint.own_chart is not None:
            m_T, m_R = joint.nv, 0
        link["m_T"], link["m_R"] = m_T, m_R
        if joint.own_chart is not None:
            link["kind"] = ANY_CHART
        else:
            link["slides"][:m_T] = (before[b] @ joint.C_T).T
            link["spins"][:m_R] = (turns[b].T @ joint.C_R).T
            link["kind"] = {(0, 1): ONE_HINGE, (1, 0): ONE_SLIDE}.get((m_T, m_R), ANY_JOINT)
        if link["kind"] == ONE_SLIDE:
            link["axis"] = link["slides"][0]
        _set_turn(link, joint.C_R, before[b], turns[b])
        if masses is not None:
            continue
        mine = coordinates[first : first + joint.nv]
        for name in PER_COORDINATE:
            mine[name] = joint.per_coordinate(name)
        add_pieces(joint.potentials, mine, pieces)
        acts = any(mine[name].any() for name in PASSIVE)
        link["law"] = acts or any(joint.potentials)
        if joint.has_quaternion:
            link["gyro"] = np.ptp(mine["armature"][m_T:]) > 0
        first += joint.nv
    tree = Links(
        links,
        coordinates,
        np.array(pieces, dtype=PIECE),
        charts,
        np.array(gravity, dtype=float),
    )
    for array in (tree.links, tree.coordinates, tree.pieces, tree.gravity):
        array.setflags(write=False)
    return tree, turns


def _charts(joints: Sequence[Joint]) -> tuple[Charts | None, NDArray[np.int64], NDArray[np.int64]]:
    """Charts of joints, None without any; where the factors of each begin and end."""
    charts = [joint.own_chart for joint in joints]
    chart_arrays, ranges = chart_records(charts)
    none = all(chart is None for chart in charts)
    return None if none else chart_arrays, ranges[:, 0], ranges[:, 1]


def _set_turn(link: NDArray[np.void], C_R: Array, before: Array, after: Array) -> None:
    """K0, K1 and K2 of no rotation or of a single one, by Rodrigues' formula."""
    if C_R.shape[1] == 0:
        link["K0"] = before @ after
    elif C_R.shape[1] == 1:
        axis = C_R[:, 0]
        along = np.outer(axis, axis)
        link["K0"] = before @ along @ after
        link["K1"] = before @ cross_matrix(axis) @ after
        link["K2"] = before @ (np.eye(3) - along) @ after
        link["axis"] = before @ axis
