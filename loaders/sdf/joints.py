"""Joints of SDF models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.loaders.assembly.parts import HINGE, Gear, Tie
from robosim.loaders.pose import Pose
from robosim.loaders.sdf.nodes import Node
from robosim.loaders.sdf.scopes import MODEL, WORLD, Scope

Array = NDArray[np.float64]

# Types -> (kind, number of axes)
TYPES = {
    "revolute": ("revolute", 1),
    "continuous": ("revolute", 1),
    "prismatic": ("prismatic", 1),
    "screw": ("screw", 1),
    "ball": ("spherical", 0),
    "universal": ("composite", 2),
    "revolute2": ("composite", 2),
    "fixed": ("fixed", 0),
    "gearbox": ("gearbox", 2),
}
NO_LIMIT = -1.0  # of an effort or velocity
_ALONG = 1e-6  # of the sine between axes that are the same


@dataclass(frozen=True)
class Place:
    """Where a joint is: its frame in the model, and its two ends.

    Attributes
    ----------
    scope : Scope
    frame, world : Pose
        Of the joint and of the model, in the world.
    parent, child : str or None
        Links, by their names outside of all scopes.
    """

    scope: Scope
    frame: Pose
    world: Pose
    parent: str | None
    child: str | None


class Joints:
    """Converts joints.

    Attributes
    ----------
    ties : list of Tie
    gears : list of Gear
        Those of mimics; `gearboxes` adds those of gearboxes when all joints are known.
    """

    def __init__(self) -> None:
        self.ties: list[Tie] = []
        self.gears: list[Gear] = []
        self._boxes: list[tuple[Node, Place]] = []
        self._axes: dict[str, Array] = {}  # of joints with one coordinate, in the world

    def read(self, node: Node, name: str, place: Place, links: Mapping[str, Pose]) -> None:
        """Add the joint of a <joint>.

        Parameters
        ----------
        node : Node
        name : str
            Outside of all scopes.
        place : Place
        links : mapping of link to its pose in the world

        Raises
        ------
        LoadError
            For an unknown type, and whatever is wrong with its axes, limits and dynamics.
        """
        kind = node.attribute("type") or ""
        if kind not in TYPES:
            raise node.refusal(f"unknown joint type '{kind}'", tuple(TYPES))
        own, count = TYPES[kind]
        if kind == "gearbox":
            self._boxes.append((node, place))
            node.needed("gearbox_ratio")
            node.needed("gearbox_reference_body")
            return
        axes = [self._axis(node, tag, place) for tag in ("axis", "axis2")[:count]]
        if count == 2 and kind == "universal" and abs(axes[0][0] @ axes[1][0]) > _ALONG:
            raise node.refusal("the axes of a universal joint must be perpendicular to each other")
        options = _together([options for _, options in axes])
        if count == 2:
            options["coordinate_names"] = (f"{name}.axis", f"{name}.axis2")
        if own == "spherical":
            options = self._ball(node)
        if kind == "continuous":
            for what in ("lower", "upper"):
                options.pop(what, None)
        if own == "revolute":
            options["continuous"] = kind == "continuous"
        ends = []
        for link in (place.parent, place.child):
            at = Pose.identity() if link is None else links[link]
            ends.append(at.inverse() @ place.frame)
        tie = Tie(
            name,
            own,
            place.parent,
            place.child,
            ends[0],
            ends[1],
            node.refusal,
            options=options,
            pitch=self._pitch(node) if kind == "screw" else 0.0,
        )
        if count == 1:
            tie.axis = axes[0][0]
            self._axes[name] = place.frame.R @ axes[0][0]
            self._mimic(node, name, place)
        elif count == 2:
            tie.moves = tuple((HINGE, axis) for axis, _ in axes)
        self.ties.append(tie)

    def _axis(self, node: Node, tag: str, place: Place) -> tuple[Array, dict[str, Any]]:
        """(axis in the joint frame, options of the joint) of one of its axes."""
        axis = node.needed(tag)
        xyz = axis.one("xyz")
        direction = np.array((0.0, 0.0, 1.0)) if xyz is None else xyz.numbers(3)
        length = np.linalg.norm(direction)
        if length < 1e-12:
            raise axis.refusal(f"<xyz> must not be zero, not {direction.tolist()}")
        direction = direction / length
        expressed = (xyz.attribute("expressed_in") or "") if xyz is not None else ""
        old = axis.one("use_parent_model_frame")
        if node.version <= (1, 4) or (
            old is not None and old.text and old.truth(old.text) and not expressed
        ):
            expressed = expressed or MODEL
        if expressed:
            if place.scope.is_world and expressed == WORLD:
                R = np.eye(3)
            else:
                R = (place.world @ place.scope.pose(expressed, axis)).R
            direction = place.frame.R.T @ (R @ direction)
        options: dict[str, Any] = {"actuated": True}
        limit = axis.one("limit")
        if limit is not None:
            self._limits(limit, options)
        dynamics = axis.one("dynamics")
        if dynamics is not None:
            options["damping"] = dynamics.number("damping", 0.0, least=0.0)
            options["friction"] = dynamics.number("friction", 0.0, least=0.0)
            options["stiffness"] = dynamics.number("spring_stiffness", 0.0, least=0.0)
            options["rest"] = dynamics.number("spring_reference", 0.0)
        return direction, options

    def _limits(self, limit: Node, options: dict[str, Any]) -> None:
        lower, upper = limit.bound("lower", -np.inf), limit.bound("upper", np.inf)
        if lower > upper:
            raise limit.refusal(f"limits are the wrong way round: lower {lower}, upper {upper}")
        options.update(lower=lower, upper=upper)
        for tag in ("effort", "velocity"):
            value = limit.bound(tag, np.inf)
            if value == NO_LIMIT:
                value = np.inf
            if value < 0:
                raise limit.refusal(f"<{tag}> must not be negative, not {value:g}")
            options[f"{tag}_limit"] = value
        # An effort of zero says that the joint has no motor.
        options["actuated"] = options["effort_limit"] > 0

    def _ball(self, node: Node) -> dict[str, Any]:
        """Damping of a ball joint, which other programs read of its first axis."""
        found: dict[str, Any] = {"actuated": False}
        axis = node.one("axis")
        dynamics = None if axis is None else axis.one("dynamics")
        if dynamics is not None:
            found["damping"] = dynamics.number("damping", 0.0, least=0.0)
        return found

    def _pitch(self, node: Node) -> float:
        """Translation of a screw [m] per radian.

        `screw_thread_pitch` is one per turn; `thread_pitch` [rad/m] is one of a left-handed screw.
        """
        if node.one("screw_thread_pitch") is not None:
            return node.number("screw_thread_pitch") / (2 * np.pi)
        old = node.number("thread_pitch", 1.0)
        if old == 0:
            raise node.refusal("<thread_pitch> must not be zero")
        return -1.0 / old

    def _mimic(self, node: Node, name: str, place: Place) -> None:
        """q = multiplier (q_source - reference) + offset, of SDF 1.11."""
        mimic = node.needed("axis").one("mimic")
        if mimic is None:
            return
        source = mimic.attribute("joint")
        if not source:
            raise mimic.refusal("attribute 'joint' is missing")
        if (mimic.attribute("axis") or "axis") != "axis":
            raise mimic.refusal("follows a second axis, which is not read")
        ratio = mimic.number("multiplier")
        offset = mimic.number("offset") - ratio * mimic.number("reference")
        self.gears.append(
            Gear(name, name, place.scope.prefix + source, ratio, offset, mimic.refusal)
        )

    def gearboxes(self) -> None:
        """Add a gear for each gearbox, between the hinges from its reference body to both links.

        Raises
        ------
        LoadError
            For a gearbox without such hinges, about its axes.
        """
        for node, place in self._boxes:
            scope = place.scope
            body = scope.link(node.word("gearbox_reference_body"), node)
            ratio = node.number("gearbox_ratio")
            found = []
            for tag, link in (("axis", place.parent), ("axis2", place.child)):
                axis, _ = self._axis(node, tag, place)
                found.append(self._hinge(node, tag, body, link, place.frame.R @ axis))
            (first, one), (second, two) = found
            # theta_2 = - ratio theta_1, of the angles about both axes.
            name = f"{scope.prefix}{node.name()}"
            self.gears.append(Gear(name, second, first, -ratio * one * two, 0.0, node.refusal))

    def _hinge(
        self, node: Node, tag: str, body: str | None, link: str | None, axis: Array
    ) -> tuple[str, float]:
        """(name, sign) of the hinge from a body to a link about an axis (3,) of the world."""
        for tie in self.ties:
            if tie.kind != "revolute" or {tie.parent, tie.child} != {body, link}:
                continue
            along = float(self._axes[tie.name] @ axis)
            if abs(abs(along) - 1) < _ALONG:
                return tie.name, np.sign(along) * (1.0 if tie.child == link else -1.0)
        raise node.refusal(
            f"a gearbox needs a revolute joint between '{body or WORLD}' and '{link or WORLD}' "
            f"about its <{tag}>, which the file does not have"
        )


def _together(options: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The options of one axis, or lists of those of several."""
    if len(options) < 2:
        return dict(options[0]) if options else {}
    defaults = {
        "lower": -np.inf,
        "upper": np.inf,
        "effort_limit": np.inf,
        "velocity_limit": np.inf,
    }
    names = {name for one in options for name in one}
    return {name: [one.get(name, defaults.get(name, 0.0)) for one in options] for name in names}
