"""<equality>: joints that close loops, and couplings of joints, both exact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.springs import Coupling
from robosim.description.tendon import Pulley, Tendon, Term
from robosim.loaders.mjcf.anchors import Anchor, Anchors, Scalars
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.hinges import with_hinges
from robosim.loaders.mjcf.joints import Spec
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Pose
from robosim.loaders.mjcf.tendons import Tendons
from robosim.loaders.notes import Notes

_LEFT_OUT = "equalities that no joint or gear here can hold are left out"


@dataclass
class Equalities:
    """The equalities of a file.

    Attributes
    ----------
    joints : list of Joint
        Joints that close loops.
    couplings : list of Coupling
    held : dict of str to float
        Joints with a fixed coordinate.
    tendons : list of Tendon
        Tendons with a fixed length.
    stretched : dict of str to float
        Tendons whose length is that at the reference plus this value.
    """

    joints: list[Joint] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    held: dict[str, float] = field(default_factory=dict)
    tendons: list[Tendon] = field(default_factory=list)
    stretched: dict[str, float] = field(default_factory=dict)

    def at_reference(self, mechanism: Mechanism, reference: ArrayLike) -> Mechanism:
        """The mechanism, with tendons fixed at their length at q (nq,)."""
        if not self.stretched:
            return mechanism
        # Imported here, so that numba is imported only when needed.
        from robosim.kinematics.kinematics import Kinematics

        lengths = Kinematics(mechanism, np.array(reference, dtype=float)).tendon_lengths()
        tendons = []
        for tendon, length in zip(mechanism.tendons, lengths, strict=True):
            if tendon.name in self.stretched:
                kept = float(length) + self.stretched[tendon.name]
                tendon = replace(tendon, lower=kept, upper=kept)
            tendons.append(tendon)
        return replace(mechanism, tendons=tuple(tendons))


def read_equalities(
    root: Node,
    defaults: Defaults,
    anchors: Anchors,
    scalars: Scalars,
    tendons: Tendons,
    notes: Notes,
) -> Equalities:
    """The equalities of a model; those that cannot be satisfied exactly are noted.

    Raises
    ------
    LoadError
        For unknown bodies, sites, joints or tendons, or invalid numbers.
    """
    found = Equalities()
    names = {*scalars.specs, *tendons.fixed, *tendons.spatial}
    names |= {tendon.name for tendon in tendons.spatial.values()}
    # Equalities with names come first.
    own = {node.name for section in root.all("equality") for node in section.children}
    for section in root.all("equality"):
        for node in section.children:
            node = defaults.resolve(node, tag="equality")
            label = node.name or f"{node.tag} in line {node.line}"
            if not node.flag("active", True):
                notes.add("equalities that are not active are left out", label)
                continue
            made_up = f"{node.tag}{len(found.joints) + len(found.couplings)}"
            if node.tag == "weld" and node.number("torquescale", 1.0) == 0:
                notes.add("a torquescale of 0 is not read: these hold rotations as well", label)
            name = free_name(node.name or made_up, names if node.name else names | own)
            names.add(name)
            match node.tag:
                case "connect":
                    joint = _connect(node, name, anchors)
                    _add_joint(joint, label, found, notes)
                case "weld":
                    _add_joint(_weld(node, name, anchors), label, found, notes)
                case "joint":
                    _couple_joints(node, name, scalars, found, notes)
                case "tendon":
                    _couple_tendons(node, name, scalars, tendons, found, notes)
                case _:
                    notes.add(_LEFT_OUT, label)
    found.joints = with_hinges(found.joints)
    return found


def _add_joint(joint: Joint | None, label: str, found: Equalities, notes: Notes) -> None:
    if joint is None:
        notes.add("equalities between bodies that cannot move against each other", label)
    else:
        found.joints.append(joint)


def _ends(node: Node, anchors: Anchors) -> tuple[Anchor, Anchor, bool]:
    """The two frames of a <connect> or <weld>, and whether they are sites."""
    if node.has("site1") or node.has("site2"):
        return anchors.site(node, "site1"), anchors.site(node, "site2"), True
    node.text("body1")
    return anchors.body(node, "body1"), anchors.body(node, "body2"), False


def _connect(node: Node, name: str, anchors: Anchors) -> Joint | None:
    a, b, sites = _ends(node, anchors)
    if not sites:
        # The point is given on the first body; on the second it is at the same place at the
        # reference.
        a = a.on(Pose(np.eye(3), node.numbers("anchor", count=3)))
        b = b.on(Pose(np.eye(3), b.world.R.T @ (a.world.p - b.world.p)))
    if b.link == 0:
        a, b = b, a
    return _closing(name, "spherical", a, b, a.world.R.T @ b.world.R)


def _weld(node: Node, name: str, anchors: Anchors) -> Joint | None:
    a, b, sites = _ends(node, anchors)
    if not sites:
        pose = node.numbers("relpose", (0, 0, 0, 0, 0, 0, 0))
        if np.any(pose[3:]):
            # The pose is that of the anchor, a point of the second body.
            R = quaternions.rotation_matrix(quaternions.normalized(pose[3:]))
            a = a.on(Pose(R, pose[:3]))
            b = b.on(Pose(np.eye(3), node.numbers("anchor", np.zeros(3))))
        else:
            R = a.world.R.T
            a = a.on(Pose(R @ b.world.R, R @ (b.world.p - a.world.p)))
    if b.link == 0:
        a, b = b, a
    return _closing(name, "fixed", a, b, np.eye(3))


def _closing(name: str, kind: str, a: Anchor, b: Anchor, turn: NDArray[np.float64]) -> Joint | None:
    """The joint that fixes b's frame to a's, rotated by `turn` (3, 3); None within one link."""
    if a.link == b.link:
        return None
    return Joint(
        name,
        kind,
        a.name,
        str(b.name),
        parent_position=a.place.p,
        child_position=b.place.p,
        offset=quaternions.from_matrix(a.place.R @ turn @ b.place.R.T),
        actuated=False,
    )


def _polynomial(node: Node) -> tuple[float, float, bool]:
    """(constant, slope, whether higher powers are zero)."""
    values = node.some_numbers("polycoef", (0.0, 1.0, 0.0, 0.0, 0.0), fill=True)
    return float(values[0]), float(values[1]), not np.any(values[2:])


def _couple_joints(
    node: Node, name: str, scalars: Scalars, found: Equalities, notes: Notes
) -> None:
    parts = [scalars.get(node, key) for key in ("joint1", "joint2") if node.has(key)]
    for spec in parts:
        if spec.type not in ("hinge", "slide"):
            raise node.error(f"joint '{spec.name}' is a {spec.type}, which is no number")
    first = scalars.get(node, "joint1")
    constant, slope, linear = _polynomial(node)
    if not node.has("joint2"):
        _hold({first.name: 1.0}, first.ref + constant, name, scalars, found, notes)
        return
    second = scalars.get(node, "joint2")
    if first.name == second.name:
        raise node.error(f"joint '{first.name}' is coupled with itself")
    if not linear:
        _hold_curve(node, first, second, name, found)
        return
    total = first.ref + constant - slope * second.ref
    _hold({first.name: 1.0, second.name: -slope}, total, name, scalars, found, notes)


def _hold_curve(node: Node, first: Spec, second: Spec, name: str, found: Equalities) -> None:
    """Constrain a coordinate to a polynomial of another one, both relative to their references."""
    given = Polynomial(node.some_numbers("polycoef"))
    around = np.asarray(given(Polynomial((-second.ref, 1.0))).coef, dtype=float)
    total, a, b, c, d = np.append(around, np.zeros(4))[:5].tolist()
    path = (Term(first.name), Term(second.name, -a, (-b, -c, -d)))
    length = total + first.ref
    found.tendons.append(Tendon(name, path, lower=length, upper=length))


def _couple_tendons(
    node: Node,
    name: str,
    scalars: Scalars,
    tendons: Tendons,
    found: Equalities,
    notes: Notes,
) -> None:
    known: dict[str, object] = {**tendons.spatial, **tendons.fixed}
    keys = [key for key in ("tendon1", "tendon2") if node.has(key) or key == "tendon1"]
    for key in keys:
        node.look_up(key, known, "tendon")
    parts = [tendons.fixed.get(node.text(key)) for key in keys]
    constant, slope, linear = _polynomial(node)
    if len(parts) > 1 and not linear:
        notes.add(_LEFT_OUT, name)
        return
    if None in parts:
        spatial = [tendons.spatial[t] for t in map(node.text, keys) if t in tendons.spatial]
        if len(spatial) < len(keys):
            notes.add("equalities of a fixed and a spatial tendon are left out", name)
            return
        path = spatial[0].path
        if len(spatial) > 1 and slope != 0:
            path = (*path, Pulley(-1 / slope), *spatial[1].path)
        found.tendons.append(Tendon(name, path))
        found.stretched[name] = constant
        return
    coefficients: dict[str, float] = {}
    total = constant
    for tendon, factor in zip(parts, (1.0, -slope), strict=False):
        if tendon is not None:
            total += factor * tendon.length(scalars.specs)
            for joint, c in tendon.coefficients.items():
                coefficients[joint] = coefficients.get(joint, 0.0) + factor * c
    _hold(coefficients, total, name, scalars, found, notes)


def _hold(
    coefficients: dict[str, float],
    total: float,
    name: str,
    scalars: Scalars,
    found: Equalities,
    notes: Notes,
) -> None:
    """Constrain a sum of joint coordinates, times coefficients, to a value."""
    terms = [(joint, c) for joint, c in coefficients.items() if c != 0]
    alone = all(joint in scalars.single for joint, _ in terms)
    led = {coupling.joint for coupling in found.couplings}
    if len(terms) == 1 and alone:
        found.held[terms[0][0]] = total / terms[0][1]
    elif len(terms) == 2 and alone and terms[0][0] not in led:
        (joint, c1), (source, c2) = terms
        found.couplings.append(Coupling(name, joint, source, -c2 / c1, total / c1))
    elif terms:
        path = tuple(Term(joint, c) for joint, c in terms)
        found.tendons.append(Tendon(name, path, lower=total, upper=total))
    else:
        notes.add(_LEFT_OUT, name)


def single_joints(groups: Iterable[Iterable[Spec]]) -> frozenset[str]:
    """Names of joints that are single hinges or slides, among groups of joints."""
    alone = [list(run) for run in groups]
    return frozenset(
        run[0].name for run in alone if len(run) == 1 and run[0].type in ("hinge", "slide")
    )
