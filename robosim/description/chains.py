"""Chains of joints converted to one joint with all their coordinates, and back.

With p_a, R_off, M(q), p_b of each joint, the child of a chain is at the product of all

    [R_off, p_a] M(q) [1, p_b]^-1

in the parent's axes. The constant factors between two motions M are an `Offset` of the chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robosim import quaternions, se3
from robosim.description.chart_factors import matrix_of
from robosim.description.charts import Chart, Composite, Hinge, Offset, Slide
from robosim.description.joint import Joint
from robosim.errors import ModelError
from robosim.validation import Array

# Properties of single coordinates.
_ACTS = ("stiffness", "rest", "damping", "friction", "armature", "velocity_limit", "effort_limit")


def chart_of(joints: Sequence[Joint]) -> Composite:
    """The chart of a chain of joints without free rotations.

    The joint frame is that of the first joint, and the child's point that of the last one.
    """
    parts: list[Chart] = []
    for before, joint in zip((None, *joints), joints, strict=False):
        if before is not None:
            gap = np.asarray(joint.parent_position) - np.asarray(before.child_position)
            if np.any(gap) or np.any(np.asarray(joint.offset)[1:]):
                parts.append(Offset(gap, joint.offset))
        if joint.own_chart is not None:
            parts.append(joint.own_chart)
        parts += [Slide(column) for column in joint.C_T.T]
        parts += [Hinge(column) for column in joint.C_R.T]
    return Composite(*parts)


def united(joints: Sequence[Joint], name: str) -> Joint:
    """A chain of joints as one `composite` joint; see `chart_of`.

    Coordinates have the order and the names of the chain's.

    Raises
    ------
    ModelError
        For a joint with a bearing.
    """
    for joint in joints:
        if joint.bearing is not None:
            raise ModelError(
                "has a bearing, which a composite joint cannot have",
                element=f"joint '{joint.name}'",
            )
    first, last = joints[0], joints[-1]
    acts: dict[str, Any] = {
        what: np.concatenate([joint.per_coordinate(what) for joint in joints]) for what in _ACTS
    }
    for side in ("lower", "upper"):
        acts[side] = np.concatenate([np.asarray(getattr(joint, side)) for joint in joints])
    potentials = [each for joint in joints for each in joint.potentials]
    return Joint(
        name,
        "composite",
        first.parent,
        last.child,
        parent_position=first.parent_position,
        child_position=last.child_position,
        offset=first.offset,
        chart=chart_of(joints),
        coordinate_names=tuple(n for j in joints for n in j.coordinate_names or (j.name,)),
        actuated=[driven for joint in joints for driven in joint.has_motor],
        potential=potentials if any(potentials) else None,
        via=first.via,
        **acts,
    )


def is_of_hinges_and_slides(joint: Joint) -> bool:
    """Whether a joint is a chart in which each coordinate is a rotation or a translation."""
    if joint.own_chart is None:
        return False
    return all(
        factor.kind == "stays" or (factor.kind == "along" and _is_plain(factor.twist))
        for factor in joint.own_chart.factors()
    )


def _is_plain(twist: Array) -> bool:
    return not (np.any(twist[:3]) and np.any(twist[3:]))


def taken_apart(joint: Joint, names: Sequence[str], between: Sequence[str]) -> list[Joint]:
    """A joint of hinges and slides as a chain of joints with one coordinate each.

    Parameters
    ----------
    joint : Joint
        A chart for which `is_of_hinges_and_slides` is true.
    names : sequence of str
        Names of the joints (nv,).
    between : sequence of str
        Names of the bodies (nv - 1,) between the joints, whose frames are at their joints.
    """
    assert joint.own_chart is not None
    moves: list[tuple[Array, Array]] = []  # constant pose before each motion, and its twist
    E = se3.transformation(
        quaternions.rotation_matrix(np.asarray(joint.offset)), np.asarray(joint.parent_position)
    )
    for factor in joint.own_chart.factors():
        if factor.kind == "stays":
            E = E @ matrix_of(factor.numbers)
        else:
            moves.append((E, factor.twist))
            E = np.eye(4)
    # A constant pose after the last motion is moved before it, which changes the axis.
    before, twist = moves[-1]
    axis = E[:3, :3].T @ (twist[3:] if np.any(twist[3:]) else twist[:3])
    turned = se3.transformation(before[:3, :3] @ E[:3, :3], before[:3, 3])
    end = np.asarray(joint.child_position) - E[:3, :3].T @ E[:3, 3]
    found = []
    for k, (frame, own) in enumerate(moves):
        is_last, turns = k == len(moves) - 1, bool(np.any(own[3:]))
        frame = turned if is_last else frame
        found.append(
            Joint(
                names[k],
                "revolute" if turns else "prismatic",
                joint.parent if k == 0 else between[k - 1],
                joint.child if is_last else between[k],
                axis=axis if is_last else own[3:] if turns else own[:3],
                parent_position=frame[:3, 3],
                child_position=end if is_last else np.zeros(3),
                offset=quaternions.from_matrix(frame[:3, :3]),
                lower=np.asarray(joint.lower)[k],
                upper=np.asarray(joint.upper)[k],
                actuated=joint.has_motor[k],
                potential=joint.potentials[k],
                motion=joint.motion,
                via=joint.via if k == 0 else (),
                **{what: joint.per_coordinate(what)[k] for what in _ACTS},
            )
        )
    return found
