"""Joints that close loops, which files specify in several ways, as URDF has no element for them.

A loop joint connects two frames, each fixed to a link. The frames coincide, except for the motion
about or along the axis of the joint, which is given in the first frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.selection import KINDS
from robosim.errors import LoadError, ModelError

Array = NDArray[np.float64]

# Names of kinds of loop joints -> kind.
TYPES = {
    "continuous": "revolute",
    "ball": "spherical",
    **{kind: kind for kind in KINDS if kind != "floating"},
}


class Place(NamedTuple):
    """A link's pose in its body (None for the world), and in the world with joints at zero.

    R (3, 3) and p (3,) [m] are the link's frame in the body's axes, with p from the centre of mass.
    R_w and p_w are the same in the world.
    """

    body: str | None
    R: Array
    p: Array
    R_w: Array
    p_w: Array


@dataclass(frozen=True)
class End:
    """A frame fixed to a link; if R or p is None, it equals that of the other end at zero."""

    link: str
    R: Array | None = None
    p: Array | None = None


@dataclass(frozen=True)
class Loop:
    """A joint that closes a loop, as specified in a file.

    `options` are those of a `Joint`; `element`, `line` and `file` are for messages.
    """

    name: str
    kind: str
    first: End
    second: End
    axis: Array = field(default_factory=lambda: np.array((1.0, 0.0, 0.0)))
    options: Mapping[str, Any] = field(default_factory=dict)
    element: str = ""
    line: int | None = None
    file: Path | None = None

    def error(self, reason: str, alternatives: Sequence[str] = ()) -> LoadError:
        """The error to raise for this loop."""
        return LoadError(
            reason, file=self.file, line=self.line, element=self.element, alternatives=alternatives
        )


def turned(rpy: Sequence[float]) -> Array:
    """Rotation (3, 3) by roll, pitch and yaw [rad], about fixed axes in this order."""
    R = np.eye(3)
    for axis, angle in zip(np.eye(3), rpy, strict=True):
        R = quaternions.rotation_matrix(quaternions.from_axis_angle(axis, angle)) @ R
    return R


def no_link(name: str, places: Mapping[str, Place]) -> str:
    """The reason for an unknown link name, with advice if it denotes the world.

    `places` are the poses of links, with the root first.
    """
    told = f"link '{name}' does not exist"
    if name != "world":
        return told
    root, place = next(iter(places.items()))
    if place.body is None:
        return f"{told}; name '{root}', which is fixed to the world"
    return f"""{told}; add <link name="world"/> and a fixed or floating <joint> to '{root}'"""


def loop_joint(loop: Loop, places: Mapping[str, Place]) -> Joint:
    """The joint of a loop, between the bodies that contain its links.

    The joint has no actuator unless its options contain one.

    Raises
    ------
    LoadError
        For a link that does not exist, two links of one body, or invalid options.
    """
    for end in (loop.first, loop.second):
        if end.link not in places:
            raise loop.error(no_link(end.link, places), tuple(places))
    ends = []
    for end, other in ((loop.first, loop.second), (loop.second, loop.first)):
        R, p = _placed(loop, end, other, places)
        link = places[end.link]
        ends.append((link.body, link.R @ R, link.p + link.R @ p))
    if ends[0][0] == ends[1][0]:
        raise loop.error(
            f"links '{loop.first.link}' and '{loop.second.link}' are one body already, held "
            "together by fixed joints"
        )
    axis = loop.axis
    if ends[1][0] is None:  # the child must be a body: ends are exchanged
        ends, axis = ends[::-1], -axis
    (parent, R_a, p_a), (child, R_b, p_b) = ends
    try:
        return Joint(
            **{"actuated": False, **loop.options},
            name=loop.name,
            kind=loop.kind,
            parent=parent,
            child=str(child),
            axis=R_b @ axis,
            parent_position=p_a,
            child_position=p_b,
            offset=quaternions.from_matrix(R_a @ R_b.T),
        )
    except ModelError as error:
        raise loop.error(error.reason, error.alternatives) from None


def _placed(loop: Loop, end: End, other: End, places: Mapping[str, Place]) -> tuple[Array, Array]:
    """(R, p) of an end in its link; missing parts follow from the other end at zero."""
    if end.R is not None and end.p is not None:
        return end.R, end.p
    if other.R is None or other.p is None:
        raise loop.error("one of its two frames must be given")
    here, there = places[end.link], places[other.link]
    R = here.R_w.T @ there.R_w @ other.R
    p = here.R_w.T @ (there.p_w + there.R_w @ other.p - here.p_w)
    return (R if end.R is None else end.R), (p if end.p is None else end.p)
