"""SRDF, a file of MoveIt and Pinocchio beside a URDF: named poses, pairs that never collide.

Quaternions of SRDF are (x, y, z, w).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from robosim import safe_xml
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import LoadError
from robosim.loaders import placement
from robosim.loaders.schema import numbers, refusal, text

Array = NDArray[np.float64]

SUFFIX = ".srdf"
# Groups are for planners; adjacent or disabled collisions of one link with itself have no effect.
_USED = {"group_state", "disable_collisions", "passive_joint", "virtual_joint"}
_SILENT = {"group", "end_effector", "chain", "link_sphere_approximation"}
# Pinocchio's name of the joint between the world and a floating base.
_BASE = "root_joint"


@dataclass
class Semantics:
    """The content of an SRDF file.

    Attributes
    ----------
    file : pathlib.Path
    states : dict of name to (joint -> its values)
    apart : list of pairs of links that do not collide
    passive : list of joints without an actuator
    base : set of names that stand for the joint between the world and the base
    """

    file: Path
    states: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    apart: list[tuple[str, str]] = field(default_factory=list)
    passive: list[str] = field(default_factory=list)
    base: set[str] = field(default_factory=lambda: {_BASE})


def beside(path: Path, name: str) -> tuple[Path | None, str | None]:
    """The SRDF file of a model file and, if it is a guess, a warning.

    The file has the same stem, and is in the same folder, or in a folder "srdf" in it or beside it.
    Otherwise the file is the only one there for a robot of that `name`.
    """
    stem = path.name.partition(".")[0]
    own = path.absolute().parent
    # Without duplicates: a model file may itself be in a folder called "srdf".
    folders = dict.fromkeys((own, own / "srdf", own.parent / "srdf"))
    for folder in folders:
        if safe_xml.is_file(folder / f"{stem}{SUFFIX}"):
            return folder / f"{stem}{SUFFIX}", None
    found = [file for folder in folders for file in sorted(folder.glob(f"*{SUFFIX}"))]
    same = [file for file in found if _robot_name(file) == name]
    if len(same) != 1:
        return None, None
    return same[0], f"read with it, as the only one for a robot called '{name}': {same[0]}"


def _robot_name(file: Path) -> str | None:
    try:
        data = safe_xml.read_bytes(file, largest=safe_xml.LARGEST_MODEL)
        root = safe_xml.parse_model(data, file, [])
    except LoadError:  # no error, as the user has not asked for that file
        return None
    name = root.get("name")
    return None if name is None else str(name)


def read(file: Path, warnings: list[str]) -> Semantics:
    """The content of an SRDF file.

    Raises
    ------
    LoadError
        For malformed or missing data; with file, line and element.
    """
    data = safe_xml.read_bytes(file, largest=safe_xml.LARGEST_MODEL)
    root = safe_xml.parse_model(data, file, warnings)
    try:
        if root.tag != "robot":
            raise refusal(root, "root element", f"is <{root.tag}>, not <robot>")
        found = Semantics(file)
        for element in root.iterchildren("virtual_joint"):
            found.base.add(text(element, "name", "<virtual_joint>"))
        for element in root.iterchildren("group_state"):
            name = text(element, "name", "<group_state>")
            state = found.states.setdefault(name, {})
            for joint in element.iterchildren("joint"):
                where = f"group_state '{name}': <joint>"
                of = text(joint, "name", where)
                state[of] = numbers(joint, "value", f"{where} '{of}'", range(1, 8))
        for element in root.iterchildren("disable_collisions"):
            pair = [text(element, which, "<disable_collisions>") for which in ("link1", "link2")]
            found.apart.append((pair[0], pair[1]))
        for element in root.iterchildren("passive_joint"):
            found.passive.append(text(element, "name", "<passive_joint>"))
        found.passive = [name for name in found.passive if name not in found.base]
    except LoadError as error:
        raise error.in_file(file) from None
    others = sorted({str(child.tag) for child in root} - _USED - _SILENT)
    if others:
        listed = ", ".join(f"<{tag}>" for tag in others)
        warnings.append(f"{file.name}: the simulation does not use: {listed}")
    return found


def without_actuators(
    joints: Sequence[Joint],
    passive: Sequence[str],
    root: etree._Element,
    file: str,
    warnings: list[str],
) -> list[Joint]:
    """The joints, with passive ones without an actuator.

    A warning lists names of joints that the URDF tree `root` does not have.
    """
    lost = _missing(passive, root, "joint")
    if lost:
        warnings.append(f"{file}: passive joints that do not exist: {', '.join(lost)}")
    return [replace(joint, actuated=False) if joint.name in passive else joint for joint in joints]


def _missing(names: Iterable[str], root: etree._Element, tag: str) -> list[str]:
    """Those of some names for which the URDF has no element of this kind."""
    known = {element.get("name") for element in root.iterchildren(tag)}
    return [name for name in names if name not in known]


def configurations(mechanism: Mechanism, found: Semantics, warnings: list[str]) -> dict[str, Array]:
    """Name -> q (nq,): home, with the joints of a group state at its values.

    A floating base that is not in the state is placed on the ground.

    Raises
    ------
    LoadError
        For a joint with a wrong number of values.
    """
    result: dict[str, Array] = {}
    lost: dict[str, None] = {}
    for name, state in found.states.items():
        q = np.array(mechanism.home, dtype=float)
        base_given = False
        starts = zip(mechanism.q_offsets, mechanism.tree_joints, strict=False)
        places = {joint.name: (start, joint) for start, joint in starts}
        for joint_name, values in state.items():
            base = mechanism.joints[0]
            if joint_name not in places and joint_name in found.base:
                if base.kind == "fixed":
                    continue
                joint_name, base_given = base.name, True
            if joint_name not in places:
                lost[joint_name] = None
                continue
            start, joint = places[joint_name]
            q[start : start + joint.nq] = _coordinates(joint, values, found.file, name)
        q = placement.following(mechanism, q)
        if not base_given:
            q = placement.place_on_ground(mechanism.joints, mechanism.contacts, q)
        result[name] = q
    fixed = [name for name in lost if name not in found.base]
    if fixed:
        warnings.append(
            f"{found.file.name}: poses of joints that do not move are left out: {', '.join(fixed)}"
        )
    return result


def _coordinates(joint: Joint, values: list[float], file: Path, state: str) -> Array:
    """Coordinates (nq,) of a joint from SRDF's values."""
    array = np.array(values)
    if joint.nq == 1 and joint.continuous and len(array) == 2:  # Pinocchio's (cos, sin)
        return np.array([np.arctan2(array[1], array[0])])
    if len(array) != joint.nq:
        raise LoadError(
            f"'{joint.kind}' has {joint.nq} coordinate(s), not {len(array)}",
            file=file,
            element=f"group_state '{state}': <joint> '{joint.name}'",
        )
    if joint.has_quaternion:
        array = np.concatenate((array[:-4], array[-1:], array[-4:-1]))
        length = np.linalg.norm(array[-4:])
        if length < 1e-12:
            raise LoadError(
                "the quaternion must not be of length zero",
                file=file,
                element=f"group_state '{state}': <joint> '{joint.name}'",
            )
        array[-4:] /= length
    return array


def excluded(
    mechanism: Mechanism, found: Semantics, root: etree._Element, warnings: list[str]
) -> list[tuple[str, str]]:
    """Pairs of bodies whose links with collision shapes are all excluded from collisions.

    A warning lists names of links that the URDF tree `root` does not have.
    """
    lost = _missing(sorted({name for pair in found.apart for name in pair}), root, "link")
    if lost:
        warnings.append(
            f"{found.file.name}: pairs of links that do not exist are left out: {', '.join(lost)}"
        )
    body_of = {frame.name: mechanism.bodies[k].name for k, frame in mechanism.frames()}
    free: dict[frozenset[str], set[frozenset[str]]] = {}
    for a, b in found.apart:
        if a in body_of and b in body_of and body_of[a] != body_of[b]:
            pair = frozenset((body_of[a], body_of[b]))
            free.setdefault(pair, set()).add(frozenset((a, b)))
    solid: Mapping[str, set[str]] = {
        body.name: {shape.name for shape in body.collisions} for body in mechanism.bodies
    }
    pairs = []
    for pair, links in free.items():
        a, b = sorted(pair)
        if all(frozenset((x, y)) in links for x in solid[a] for y in solid[b]):
            pairs.append((a, b))
    return pairs
