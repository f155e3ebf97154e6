"""MJCF joints, several on a body, to the generic joints of `robosim.joints`.

The joints of a body act in series, the first one next to the parent. Slides in orthogonal
directions, followed by a suitable hinge, are a joint of Table B.1. Other hinges and slides are a
chart of all of these. With a ball joint among several joints, or with dependent coordinates, each
joint of the table except for the last one needs a body, a carrier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.body import Body, Frame
from robosim.description.chains import chart_of, united
from robosim.description.charts import is_independent
from robosim.description.inertial import Inertial
from robosim.description.inertias import turnable
from robosim.description.joint import LEAST_TURN, Joint
from robosim.description.names import free_name
from robosim.loaders.mjcf.compiler import Compiler, Option
from robosim.loaders.mjcf.links import Link, Links
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.tree import PlacedJoint
from robosim.loaders.notes import Notes

Array = NDArray[np.float64]

TYPES = ("free", "ball", "slide", "hinge")
NV = {"free": 6, "ball": 3}  # numbers of velocities, where there are several
_PARALLEL = 1e-9
# (number of slides, following joint) -> kind
_KINDS = {
    (0, "hinge"): "revolute",
    (0, "ball"): "spherical",
    (0, "free"): "floating",
    (1, ""): "prismatic",
    (2, ""): "planar_fixed_orientation",
    (3, ""): "fixed_orientation",
    (1, "hinge"): "cylindrical",
    (2, "hinge"): "planar",
    (3, "hinge"): "axis_rotation",
}


@dataclass(frozen=True)
class Spec:
    """A joint of the file, in the frame of its body; lengths in metres, angles in radians.

    Attributes
    ----------
    node : Node
    name, type : str
    axis, anchor : (3,)
    ref, rest : float
        Coordinate in the pose of the file, and at rest of its spring.
    stiffness, damping, armature, friction : float
    springdamper : (2,) [s, -]
        Time constant and damping ratio, from which stiffness and damping are computed.
    lower, upper : float
        Limits; for a ball joint, `upper` is that of its angle.
    efforts : tuple of float
        Largest force of all its actuators together [N m or N].
    effort_range : (float, float) or None
        Range of this force in the file.
    """

    node: Node
    name: str
    type: str
    axis: Array
    anchor: Array
    ref: float
    rest: float
    stiffness: float
    damping: float
    armature: float
    friction: float
    springdamper: Array
    lower: float
    upper: float
    efforts: tuple[float, ...]
    effort_range: tuple[float, float] | None

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return NV.get(self.type, 1)


def read_joint(placed: PlacedJoint, compiler: Compiler, option: Option, notes: Notes) -> Spec:
    """A joint from its element, with default class applied.

    Raises
    ------
    LoadError
        For an unknown type, a zero axis, reversed limits, or negative coefficients.
    """
    node = placed.node
    kind = node.choice("type", TYPES, "hinge")
    axis = placed.frame.R @ node.numbers("axis", (0.0, 0.0, 1.0))
    if np.linalg.norm(axis) < 1e-12:
        raise node.error("'axis' must not be zero")
    unit = compiler.angles.unit if kind in ("hinge", "ball") else 1.0
    scalar = kind in ("hinge", "slide")
    acts = {
        "stiffness": option.acts("spring", "passive"),
        "damping": option.acts("damper", "passive"),
        "armature": True,
        "frictionloss": option.acts("frictionloss", "constraint"),
    }
    values = {what: _coefficient(node, what, notes) * on for what, on in acts.items()}
    springdamper = node.numbers("springdamper", np.zeros(2))
    if not scalar and np.all(springdamper > 0):
        notes.add("springdamper is left out of joints that are no hinge or slide", placed.name)
    lower, upper = _limits(node, placed.name, kind, compiler, notes)
    if not option.acts("limit", "constraint"):
        lower, upper = -np.inf, np.inf
    efforts = read_effort_range(node, compiler) if scalar else None
    return Spec(
        node=node,
        name=placed.name,
        type=kind,
        axis=axis / np.linalg.norm(axis),
        anchor=placed.frame.p + placed.frame.R @ node.numbers("pos", np.zeros(3)),
        ref=node.number("ref", 0.0) * unit if scalar else 0.0,
        rest=node.number("springref", 0.0) * unit if scalar else 0.0,
        stiffness=values["stiffness"],
        damping=values["damping"],
        armature=values["armature"],
        friction=values["frictionloss"],
        springdamper=springdamper if scalar else np.zeros(2),
        lower=lower * unit,
        upper=upper * unit,
        efforts=(np.inf if efforts is None else max(map(abs, efforts)),) * NV.get(kind, 1),
        effort_range=efforts,
    )


def read_effort_range(node: Node, compiler: Compiler) -> tuple[float, float] | None:
    """The range of the force of all actuators of a joint or tendon together, if limited."""
    if not node.limited("actuatorfrclimited", "actuatorfrcrange", compiler.autolimits):
        return None
    lower, upper = node.ends("actuatorfrcrange")
    if lower >= upper:
        raise node.error("'actuatorfrcrange' must be from a lower to a higher number")
    return lower, upper


def _coefficient(node: Node, attribute: str, notes: Notes) -> float:
    values = node.some_numbers(attribute, 0.0)
    if not len(values) or values[0] < 0:
        raise node.error(f"'{attribute}' must not be negative, not {node.attributes[attribute]}")
    if np.any(values[1:]):
        notes.add(f"{attribute} is taken as linear, without its higher powers", node.name)
    return float(values[0])


def _limits(
    node: Node, name: str, kind: str, compiler: Compiler, notes: Notes
) -> tuple[float, float]:
    if kind == "free" or not node.limited("limited", "range", compiler.autolimits):
        return -np.inf, np.inf
    lower, upper = node.ends("range", (0.0, 0.0))
    if kind == "ball":
        # An angle of pi or more equals one in the opposite direction.
        if lower != 0 or upper < 0:
            raise node.error(f"'range' of a ball joint must begin at 0, not be {lower} to {upper}")
        if upper * compiler.angles.unit < LEAST_TURN:
            notes.add(f"ball joints without room to turn may turn by {LEAST_TURN:g} rad", name)
            return -np.inf, LEAST_TURN * (1 + 1e-12) / compiler.angles.unit
        return -np.inf, upper if upper * compiler.angles.unit < np.pi else np.inf
    if lower >= upper:
        raise node.error(f"'range' must be from a lower to a higher number, not {lower} to {upper}")
    return lower, upper


def check_order(specs: Sequence[Spec], link: Link) -> None:
    """Raise a LoadError for joints that cannot be on one body."""
    if any(spec.type == "free" for spec in specs):
        if link.top.parent != 0:
            raise specs[0].node.error("a free joint must be on a body of the world")
        if len(specs) > 1:
            raise specs[1].node.error("a body with a free joint can have no other joint")
    if sum(spec.nv for spec in specs) > 6:
        raise specs[-1].node.error(f"body '{link.top.name}' has more than 6 degrees of freedom")
    for spec, following in pairwise(specs):
        if spec.type == "ball" and following.type != "slide":
            raise following.node.error("a rotation cannot follow a ball joint")


def runs(specs: Sequence[Spec]) -> list[list[Spec]]:
    """The joints of a body, in groups that become one joint each."""
    found = _of_the_table(specs)
    if len(found) < 2 or any(spec.type not in ("hinge", "slide") for spec in specs):
        return found
    if not is_independent(chart_of(_chain(found, None, "", Pose.identity(), np.zeros(3)))):
        return found
    return [list(specs)]


def _of_the_table(specs: Sequence[Spec]) -> list[list[Spec]]:
    """The joints of a body, in groups that become one joint of Table B.1 each."""
    found: list[list[Spec]] = []
    waiting = list(specs)
    while waiting:
        run: list[Spec] = []
        while waiting and waiting[0].type == "slide" and _across(run, waiting[0]):
            run.append(waiting.pop(0))
        if waiting and _fits(run, waiting[0]):
            run.append(waiting.pop(0))
        found.append(run)
    return found


def _across(run: list[Spec], spec: Spec) -> bool:
    return all(abs(other.axis @ spec.axis) < _PARALLEL for other in run)


def _fits(run: list[Spec], spec: Spec) -> bool:
    """Whether a joint and the slides before it are one kind of joint."""
    if spec.type == "slide":
        return False
    if spec.type == "hinge" and len(run) == 1:
        return float(np.linalg.norm(np.cross(run[0].axis, spec.axis))) < _PARALLEL
    if spec.type == "hinge" and len(run) == 2:
        return _across(run, spec)
    return (len(run), spec.type) in _KINDS


def keeps_height(links: Links, specs: Sequence[Sequence[Spec]], link: int, normal: Array) -> bool:
    """Whether no joint between the world and a link moves the link along a world direction."""
    places = links.world_places()
    while link > 0:
        for spec in specs[link]:
            along = float((places[link].R @ spec.axis) @ normal)
            still = {"slide": abs(along), "hinge": 1 - abs(along)}.get(spec.type, np.inf)
            if still > _PARALLEL:
                return False
        link = links.links[link].parent
    return True


def make_joint(
    run: Sequence[Spec], parent: str | None, child: str, place: Pose, center: Array
) -> Joint:
    """The joint for a group of joints.

    Parameters
    ----------
    run : sequence of Spec
    parent : str or None
    child : str
    place : Pose
        Pose of the body's frame with joints at their reference, in the parent's axes from its
        centre of mass.
    center : (3,) [m]
        The child's centre of mass in the frame of the joints' body, which has its axes.
    """
    chain = _chain(_of_the_table(run), parent, child, place, center)
    return chain[0] if len(chain) == 1 else united(chain, _name(run))


def _chain(
    groups: Sequence[Sequence[Spec]], parent: str | None, child: str, place: Pose, center: Array
) -> list[Joint]:
    """A chart of several joints of the table, as for `make_joint`."""
    found = []
    for run in groups[:-1]:
        found.append(_joint(run, parent, child, place, run[-1].anchor))
        place = Pose(np.eye(3), -run[-1].anchor)
    return [*found, _joint(groups[-1], parent, child, place, center)]


def _joint(
    run: Sequence[Spec], parent: str | None, child: str, place: Pose, center: Array
) -> Joint:
    """A joint of the table, as for `make_joint`."""
    turn = run[-1] if run[-1].type != "slide" else None
    slides = [spec for spec in run if spec.type == "slide"]
    kind = _KINDS[len(slides), "" if turn is None else turn.type]
    acts = _per_coordinate(run)
    if kind == "floating":
        if run[0].stiffness:
            acts |= _free_spring(run[0].stiffness, place)
        place = Pose.identity()  # its coordinates are the body's pose in the world
    anchor = center if turn is None else turn.anchor
    if kind == "floating":
        anchor = np.zeros(3)
    # From the reference back to zero coordinates.
    start = anchor - sum((spec.ref * spec.axis for spec in slides), np.zeros(3))
    back, axis = np.eye(3), np.array((0.0, 0.0, 1.0))
    if turn is not None and turn.type == "hinge":
        axis = turn.axis
        back = quaternions.rotation_matrix(quaternions.from_axis_angle(axis, -turn.ref))
    elif len(slides) == 1:
        axis = slides[0].axis
    elif len(slides) == 2:
        axis = np.cross(slides[0].axis, slides[1].axis)
    return Joint(
        name=_name(run),
        kind=kind,
        parent=parent,
        child=child,
        axis=axis,
        parent_position=place.p + place.R @ start,
        child_position=anchor - center,
        offset=quaternions.from_matrix(place.R @ back),
        directions=[back.T @ spec.axis for spec in slides] if slides else None,
        coordinate_names=tuple(spec.name for spec in run) if len(run) > 1 else (),
        effort_limit=[effort for spec in run for effort in spec.efforts],
        largest_turn=run[-1].upper if run[-1].type == "ball" else np.inf,
        continuous=None if kind != "revolute" else not np.isfinite(run[0].lower),
        **acts,
    )


def _name(run: Sequence[Spec]) -> str:
    return "+".join(spec.name for spec in run)


def _free_spring(stiffness: float, place: Pose) -> dict[str, Any]:
    """A spring that holds a free body in the pose of the file; rotations only from world axes.

    The spring of a free rotation is at rest at zero, in world axes.
    """
    turns = stiffness if _is_upright(place) else 0.0
    return {"stiffness": [stiffness] * 3 + [turns] * 3, "rest": [*place.p, 0.0, 0.0, 0.0]}


def _is_upright(place: Pose) -> bool:
    return bool(np.abs(place.R - np.eye(3)).max() < _PARALLEL)


def _per_coordinate(run: Sequence[Spec]) -> dict[str, Any]:
    """Limits, springs, dampers, friction and rotors for each velocity of a joint."""
    values: dict[str, list[float]] = {}
    for what in ("stiffness", "damping", "armature", "friction", "rest", "lower", "upper"):
        values[what] = [getattr(spec, what) for spec in run for _ in range(spec.nv)]
    if run[-1].type == "ball":
        values["upper"][-3:] = [np.inf] * 3  # the limit of its angle is another one
    return {what: value[0] if len(value) == 1 else value for what, value in values.items()}


def make_joints(
    specs: Sequence[Spec],
    link: Link,
    parent: str | None,
    parent_center: Array,
    share: float,
    taken: set[str],
    notes: Notes,
) -> tuple[list[Body], list[Joint]]:
    """The joints that lead to a link, and carriers between them.

    Parameters
    ----------
    specs : sequence of Spec
        All joints of the link.
    link : Link
    parent : str or None
        Name of the parent, None for the world.
    parent_center : (3,) [m]
        The parent's centre of mass in its frame.
    share : float
        Mass and inertia of a carrier, as a fraction of the carried body's.
    taken : set of str
        Names in use; those of new carriers and joints are added.
    notes : Notes
    """
    carriers: list[Body] = []
    joints: list[Joint] = []
    groups = runs(specs)
    if specs and specs[0].type == "free" and specs[0].stiffness and not _is_upright(link.place):
        notes.add("springs of free joints whose body is turned hold its place alone", specs[0].name)
    place = Pose(link.place.R, link.place.p - parent_center)
    if len(groups) > 1:
        notes.add(
            "their joints need bodies in between, which have "
            f"{100 * share:g} % of their mass and inertia in simulations",
            link.top.name,
        )
    for k, run in enumerate(groups[:-1]):
        name = free_name(f"{link.top.name}/carrier{k}", taken)
        taken.add(name)
        carrier = _carrier(name, run[-1].anchor, link.inertial, share)
        joints.append(make_joint(run, parent, carrier.name, place, run[-1].anchor))
        carriers.append(carrier)
        parent, place = carrier.name, Pose(np.eye(3), -run[-1].anchor)
    joints.append(make_joint(groups[-1], parent, link.top.name, place, link.inertial.center))
    for k, run in enumerate(groups):
        if len(run) > 1:
            joints[k] = replace(joints[k], name=free_name(joints[k].name, taken))
            taken.add(joints[k].name)
    return carriers, joints


def _carrier(name: str, anchor: Array, carried: Inertial, share: float) -> Body:
    inertia = share * np.trace(turnable(carried.inertia, carried.mass)) / 3 * np.eye(3)
    frame = Frame(name, -anchor)
    return Body(name, share * carried.mass, inertia, frames=(frame,), carrier=True)


def has_springdamper(spec: Spec) -> bool:
    """Whether a joint's spring and damper follow from a time constant and a damping ratio."""
    return bool(np.all(spec.springdamper > 0))


def with_springdamper(spec: Spec, inertias: Mapping[str, float]) -> Spec:
    """A joint with the spring and damper from these two, if it has them.

    Parameters
    ----------
    spec : Spec
    inertias : mapping of joint to float
        Inertia at the joint in the reference pose, with its rotor [kg m^2 or kg].
    """
    if not has_springdamper(spec):
        return spec
    (time, ratio), inertia = spec.springdamper, inertias[spec.name]
    return replace(spec, stiffness=inertia / (time * ratio) ** 2, damping=2 * inertia / time)
