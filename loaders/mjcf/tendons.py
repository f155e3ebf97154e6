"""<tendon>: fixed ones, which are sums of joint coordinates, and spatial ones by sites and geoms.

Forces along a fixed tendon of a single joint become the joint's. A tendon that is only a straight
spring between two sites becomes a `PointSpring`. All others are tendons here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.springs import PointSpring
from robosim.description.tendon import WRAPS, Point, Pulley, Tendon, Term, Wrap
from robosim.loaders.mjcf.anchors import Anchor, Anchors, Scalars
from robosim.loaders.mjcf.compiler import Compiler, Option
from robosim.loaders.mjcf.contacts import PlacedGeom
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.joints import Spec, read_effort_range
from robosim.loaders.mjcf.nodes import Node

Array = NDArray[np.float64]

# Forces -> the flags that disable these.
_ACTING = {
    "stiffness": ("spring", "passive"),
    "damping": ("damper", "passive"),
    "frictionloss": ("frictionloss", "constraint"),
    "armature": (),
}


@dataclass(frozen=True)
class FixedTendon:
    """A sum of joint coordinates: joint name -> coefficient."""

    name: str
    coefficients: Mapping[str, float]

    def length(self, specs: Mapping[str, Spec]) -> float:
        """The length with all joints at their reference."""
        return sum(c * specs[name].ref for name, c in self.coefficients.items())


class Tendons:
    """The tendons of a model.

    Parameters
    ----------
    root : Node
        The model.
    compiler, option, defaults
        Settings for reading it.
    anchors : Anchors
    scalars : Scalars
    placed : sequence of PlacedGeom
        Geoms around which tendons can wrap.

    Attributes
    ----------
    fixed : dict of str to FixedTendon
    spatial : dict of str to Tendon
    links : dict of str to set of int
        Links of the path of each spatial tendon; 0 is the world.
    efforts : dict of str to (float, float)
        Range of the force of all actuators of a tendon together, if limited.
    specs : dict of str to Spec
        The joints, with springs, dampers and limits of their single-joint tendons.
    """

    def __init__(
        self,
        root: Node,
        compiler: Compiler,
        option: Option,
        defaults: Defaults,
        anchors: Anchors,
        scalars: Scalars,
        placed: Sequence[PlacedGeom],
    ) -> None:
        self._compiler, self._option = compiler, option
        self._anchors, self._scalars = anchors, scalars
        self._geoms = {p.geom.node.name: p for p in placed if p.geom.node.name}
        self.fixed: dict[str, FixedTendon] = {}
        self.spatial: dict[str, Tendon] = {}
        self.links: dict[str, set[int]] = {}
        self.efforts: dict[str, tuple[float, float]] = {}
        self.specs = dict(scalars.specs)
        # Elements that limits are of: of tendons, and with coefficients of joints by tendons.
        self.nodes: dict[str, Node] = {}
        self.limiting: dict[str, tuple[Node, float]] = {}
        self._sums: dict[str, Tendon] = {}  # fixed tendons with forces on several joints
        self._springs: dict[str, PointSpring] = {}  # for spatial tendons without other uses
        self._unstretched: set[str] = set()  # springs at rest at the reference
        named = {node.name for section in root.all("tendon") for node in section.children}
        # Names of tendons that equal names of joints are changed.
        self._apart = named | set(scalars.specs)
        for section in root.all("tendon"):
            for node in section.children:
                resolved = defaults.resolve(node)
                made_up = f"tendon{len(self.fixed) + len(self.spatial)}"
                name = node.name or free_name(made_up, named | set(self.fixed) | set(self.spatial))
                if name in self.fixed or name in self.spatial:
                    raise node.error("the name is used twice")
                efforts = read_effort_range(resolved, compiler)
                if efforts is not None:
                    self.efforts[name] = efforts
                if node.tag == "fixed":
                    self._read_fixed(resolved, name)
                elif node.tag == "spatial":
                    self._read_spatial(resolved, name)
                else:
                    raise node.error("is no kind of tendon", ("fixed", "spatial"))

    def elements(self, used: Collection[str]) -> tuple[list[PointSpring], list[Tendon]]:
        """Springs and tendons with forces, or that are `used` by actuators and sensors."""
        springs = {name: s for name, s in self._springs.items() if name not in used}
        tendons = list(self._sums.values())
        tendons += [
            tendon
            for name, tendon in self.spatial.items()
            if name not in springs and (name in used or tendon.resists)
        ]
        return list(springs.values()), tendons

    def at_rest(self, mechanism: Mechanism, reference: ArrayLike) -> Mechanism:
        """The mechanism with springs of tendons at rest where those of joints are."""
        asked = {t.name for t in mechanism.tendons if not t.is_fixed} & self._unstretched
        if not asked:
            return mechanism
        # Imported here, so that numba is imported only when needed.
        from robosim.kinematics.kinematics import Kinematics

        q = np.array(reference, dtype=float)
        for k, name in enumerate(mechanism.q_names):
            if name in self._scalars.specs:
                q[k] = self._scalars.specs[name].rest
        lengths = Kinematics(mechanism, q).tendon_lengths()
        tendons = tuple(
            replace(tendon, rest_length=length) if tendon.name in asked else tendon
            for tendon, length in zip(mechanism.tendons, lengths, strict=True)
        )
        return replace(mechanism, tendons=tendons)

    def _acts(self, node: Node) -> dict[str, float]:
        values = {}
        for what, flags in _ACTING.items():
            value = float(node.some_numbers(what, 0.0)[0])
            if value < 0:
                raise node.error(f"'{what}' must not be negative, not {value}")
            values[what] = value if self._option.acts(*flags) else 0.0
        return values

    def _range(self, node: Node) -> tuple[float, float]:
        """Limits of the length."""
        limited = node.limited("limited", "range", self._compiler.autolimits)
        if not (limited and self._option.acts("limit", "constraint")):
            return -np.inf, np.inf
        lower, upper = node.ends("range")
        if lower >= upper:
            raise node.error("'range' must be from a lower to a higher number")
        return lower, upper

    def _rest(self, node: Node, name: str) -> Array:
        """The lengths between which a spring is slack; zero if they follow from the joints'."""
        rest = node.some_numbers("springlength", -1.0)
        rest = np.broadcast_to(rest, (2,)) if len(rest) < 2 else rest[:2]
        if np.all(rest == -1):
            self._unstretched.add(name)
            return np.zeros(2)
        if rest[1] < rest[0]:
            raise node.error("'springlength' must be from a lower to a higher number")
        return rest

    def _tendon(
        self, node: Node, name: str, path: Sequence[Term | Point | Wrap | Pulley]
    ) -> Tendon:
        acts, (lower, upper) = self._acts(node), self._range(node)
        friction = acts.pop("frictionloss")
        label = free_name(f"tendon:{name}", self._apart) if name in self.specs else name
        self.nodes[label] = node
        self._apart.add(label)
        rest = self._rest(node, label)
        return Tendon(
            label,
            tuple(path),
            rest_length=rest,
            friction=friction,
            lower=lower,
            upper=upper,
            **acts,
        )

    def _read_fixed(self, node: Node, name: str) -> None:
        coefficients: dict[str, float] = {}
        for part in node.all("joint"):
            spec = self._scalars.get(part, "joint")
            if spec.type not in ("hinge", "slide"):
                raise part.error(f"joint '{spec.name}' is a {spec.type}, which is no number")
            coefficients[spec.name] = part.number("coef")
        if not coefficients:
            raise node.error("has no joints")
        self.fixed[name] = FixedTendon(name, coefficients)
        tendon = self._tendon(node, name, [Term(*term) for term in coefficients.items()])
        if tendon.name in self._unstretched:
            rests = (c * self._scalars.specs[joint].rest for joint, c in coefficients.items())
            tendon = replace(tendon, rest_length=sum(rests))
        if not any(coefficients.values()):
            return
        lowest, highest = np.asarray(tendon.rest_length)
        ((joint, coefficient), *more) = coefficients.items()
        if more or (tendon.stiffness and lowest < highest):
            if tendon.resists:
                self._sums[name] = tendon
        else:
            self._add_to_joint(joint, coefficient, tendon)

    def _add_to_joint(self, joint: str, coefficient: float, tendon: Tendon) -> None:
        """Add the forces along a tendon of a single joint to the joint."""
        spec = self.specs[joint]
        square = coefficient**2
        rest = float(np.asarray(tendon.rest_length)[0]) / coefficient
        stiffness = spec.stiffness + square * tendon.stiffness
        if stiffness > 0:
            rest = (spec.stiffness * spec.rest + square * tendon.stiffness * rest) / stiffness
        else:
            rest = spec.rest
        ends = sorted((tendon.lower / coefficient, tendon.upper / coefficient))
        if ends[0] > spec.lower or ends[1] < spec.upper:
            self.limiting[joint] = self.nodes[tendon.name], abs(coefficient)
        self.specs[joint] = replace(
            spec,
            stiffness=stiffness,
            rest=rest,
            damping=spec.damping + square * tendon.damping,
            friction=spec.friction + abs(coefficient) * tendon.friction,
            armature=spec.armature + square * tendon.armature,
            lower=max(spec.lower, ends[0]),
            upper=min(spec.upper, ends[1]),
        )

    def _read_spatial(self, node: Node, name: str) -> None:
        path: list[Point | Wrap | Pulley] = []
        ends: list[Anchor] = []
        for part in node.children:
            match part.tag:
                case "site":
                    ends.append(self._anchors.site(part, "site"))
                    path.append(_point(ends[-1]))
                case "geom":
                    path.append(self._wrap(part, ends))
                case "pulley":
                    path.append(Pulley(_divisor(part)))
                case _:
                    raise part.error("is no part of a tendon", ("site", "geom", "pulley"))
        _check_path(node, path)
        self.spatial[name] = tendon = self._tendon(node, name, path)
        self.links[name] = {anchor.link for anchor in ends}
        if len(path) == len(ends) == 2 and (tendon.stiffness or tendon.damping):
            self._straight(tendon, *ends)

    def _straight(self, tendon: Tendon, a: Anchor, b: Anchor) -> None:
        """Record a tendon between two sites that can be a spring."""
        rest = np.asarray(tendon.rest_length)
        if tendon.name in self._unstretched:
            if any(spec.rest != spec.ref for spec in self._scalars.specs.values()):
                return
            rest = np.full(2, np.linalg.norm(a.world.p - b.world.p))
        limited = np.isfinite(tendon.lower) or np.isfinite(tendon.upper)
        more = limited or tendon.friction or tendon.armature or rest[0] < rest[1]
        if more or a.link == b.link or rest[0] <= 0:
            return
        if b.link == 0:
            a, b = b, a
        self._springs[tendon.name] = PointSpring(
            tendon.name,
            a.name,
            str(b.name),
            a.place.p,
            b.place.p,
            stiffness=tendon.stiffness,
            rest_length=float(rest[0]),
            damping=tendon.damping,
        )

    def _wrap(self, node: Node, ends: list[Anchor]) -> Wrap:
        placed = node.look_up("geom", self._geoms, "geom")
        geom = placed.geom
        if geom.kind not in WRAPS:
            raise node.error(f"geom '{geom.node.name}' is a {geom.kind}", WRAPS)
        anchor = self._anchors.of_body[placed.body].on(geom.place)
        ends.append(anchor)
        side = None
        if node.has("sidesite"):
            side = _point(self._anchors.site(node, "sidesite"))
        turn = quaternions.from_matrix(anchor.place.R)
        radius = float(geom.size[0])
        return Wrap(geom.kind, anchor.name, radius, anchor.place.p, turn, side)


def _point(anchor: Anchor) -> Point:
    return Point(anchor.name, anchor.place.p)


def _divisor(node: Node) -> float:
    divisor = node.number("divisor")
    if divisor <= 0:
        raise node.error(f"'divisor' must be positive, not {divisor}")
    return divisor


def _check_path(node: Node, path: Sequence[Point | Wrap | Pulley]) -> None:
    kinds = "".join("PWY"[(Point, Wrap, Pulley).index(type(part))] for part in path)
    branches = kinds.strip("Y").split("Y")
    if not all(len(b) > 1 and b[0] == b[-1] == "P" and "WW" not in b for b in branches):
        raise node.error(
            "needs two sites or more on every side of a pulley, and a site before and after every "
            "geom"
        )
