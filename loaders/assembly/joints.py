"""Joints of a mechanism from those of an assembly, and coordinates at the poses of the file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.charts import Chart, Composite, Hinge, Slide
from robosim.description.inertial import Inertial
from robosim.description.joint import Joint
from robosim.errors import ModelError
from robosim.loaders.assembly.groups import Group
from robosim.loaders.assembly.parts import HINGE, Tie
from robosim.loaders.pose import Pose

Array = NDArray[np.float64]

_MOST_STEPS = 30  # of Newton's method, for coordinates of charts
_FITS = 1e-4  # [m] and [-]


def end_of(
    name: str | None, pose: Pose, groups: dict[str, Group], merged: dict[int, Inertial]
) -> tuple[str | None, Pose]:
    """(body, pose of a joint frame in its axes from its centre of mass), of a frame in a link."""
    if name is None:
        return None, pose
    group = groups[name]
    place = group.places[name] @ pose
    return group.top.name, Pose(place.R, place.p - merged[id(group)].center)


def joint_of(
    tie: Tie,
    groups: dict[str, Group],
    merged: dict[int, Inertial],
    closes: bool = False,
) -> Joint:
    """The joint of a tie.

    Raises
    ------
    LoadError
        For what a `Joint` does not accept, with the file and the element.
    """
    parent, first = end_of(tie.parent, tie.first, groups, merged)
    child, second = end_of(tie.child, tie.second, groups, merged)
    assert child is not None
    options = dict(tie.options)
    if closes:
        options["actuated"] = False
    if tie.kind == "composite":
        charts: list[Chart] = [
            (Hinge if kind == HINGE else Slide)(second.R @ axis) for kind, axis in tie.moves
        ]
        options["chart"] = Composite(*charts)
    try:
        return Joint(
            name=tie.name,
            kind=tie.kind,
            parent=parent,
            child=child,
            axis=second.R @ tie.axis,
            pitch=tie.pitch,
            parent_position=first.p,
            child_position=second.p,
            offset=quaternions.from_matrix(first.R @ second.R.T),
            **options,
        )
    except ModelError as error:
        raise tie.refusal(error.reason, error.alternatives) from None


def coordinates(
    joint: Joint, poses: Mapping[str | None, tuple[Array, Array]]
) -> tuple[Array, bool]:
    """Coordinates q (nq,) of a joint at poses of bodies, and whether these poses fit the joint.

    `poses` are those of `body_poses`: (R (3, 3), centre of mass (3,) [m]) of a body, in the world.
    """
    (R_a, x_a), (R_b, x_b) = poses[joint.parent], poses[joint.child]
    R_wj = R_a @ quaternions.rotation_matrix(np.asarray(joint.offset))
    point = x_a + R_a @ np.asarray(joint.parent_position)
    p = R_wj.T @ (x_b + R_b @ np.asarray(joint.child_position) - point)
    R = R_wj.T @ R_b
    if joint.own_chart is not None:
        q = _on_chart(joint.own_chart, p, R)
    else:
        q = joint.C_T.T @ p
        turn = quaternions.from_matrix(R)
        if joint.has_quaternion:
            q = np.concatenate((q, turn))
        elif joint.C_R.shape[1]:
            angle = 2 * np.arctan2(joint.C_R[:, 0] @ turn[1:], turn[0])
            q = np.append(q, (angle + np.pi) % (2 * np.pi) - np.pi)
    off = max(
        float(np.abs(joint.translation(q) - p).max()), float(np.abs(joint.rotation(q) - R).max())
    )
    return q, off < _FITS


def _on_chart(chart: Chart, p: Array, R: Array) -> Array:
    """The coordinates (nv,) of a chart nearest to a pose, by Newton's method from zero."""
    q = np.zeros(chart.nv)
    for _ in range(_MOST_STEPS):
        Q, S, _ = chart.follow(q)
        turn = quaternions.from_matrix(Q[:3, :3].T @ R)
        if turn[0] < 0:
            turn = -turn
        sine = float(np.linalg.norm(turn[1:]))
        angle = 2 * np.arctan2(sine, turn[0])
        vector = turn[1:] * (angle / sine if sine > 1e-14 else 2.0)
        step = np.linalg.lstsq(S, np.concatenate((Q[:3, :3].T @ (p - Q[:3, 3]), vector)))[0]
        q = q + step
        if np.abs(step).max() < 1e-14:
            break
    return q
