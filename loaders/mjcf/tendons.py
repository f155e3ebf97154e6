"""<tendon>: fixed ones, which add up joint coordinates, and spatial ones between two sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from robosim.elements import PointSpring
from robosim.loaders.mjcf.anchors import Anchors, Scalars
from robosim.loaders.mjcf.compiler import Compiler, Option
from robosim.loaders.mjcf.defaults import Defaults
from robosim.loaders.mjcf.joints import Spec
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.notes import Notes

_ACTING = ("stiffness", "damping", "frictionloss", "armature")


@dataclass(frozen=True)
class FixedTendon:
    """A sum of joint coordinates: joint name -> coefficient."""

    name: str
    coefficients: Mapping[str, float]

    def length(self, specs: Mapping[str, Spec]) -> float:
        """Its value while all joints are at their reference."""
        return sum(c * specs[name].ref for name, c in self.coefficients.items())


class Tendons:
    """The tendons of a model.

    Parameters
    ----------
    root : Node
        The model.
    compiler, option, defaults
        How to read it.
    anchors : Anchors
    scalars : Scalars
    notes : Notes
        Gets those that cannot act.

    Attributes
    ----------
    fixed : dict of str to FixedTendon
    spatial : dict of str to Node
    springs : list of PointSpring
    specs : dict of str to Spec
        The joints, those with springs, dampers and limits by tendons of a single joint.
    """

    def __init__(
        self,
        root: Node,
        compiler: Compiler,
        option: Option,
        defaults: Defaults,
        anchors: Anchors,
        scalars: Scalars,
        notes: Notes,
    ) -> None:
        self._compiler, self._option, self._notes = compiler, option, notes
        self._anchors, self._scalars = anchors, scalars
        self.fixed: dict[str, FixedTendon] = {}
        self.spatial: dict[str, Node] = {}
        self.springs: list[PointSpring] = []
        self.specs = dict(scalars.specs)
        for section in root.all("tendon"):
            for node in section.children:
                resolved = defaults.resolve(node)
                name = node.name or f"tendon{len(self.fixed) + len(self.spatial)}"
                if name in self.fixed or name in self.spatial:
                    raise node.error("the name is used twice")
                if node.tag == "fixed":
                    self._read_fixed(resolved, name)
                elif node.tag == "spatial":
                    self._read_spatial(resolved, name)
                else:
                    raise node.error("is no kind of tendon", ("fixed", "spatial"))

    def _acts(self, node: Node) -> dict[str, float]:
        values = {what: float(node.some_numbers(what, 0.0)[0]) for what in _ACTING}
        for what, value in values.items():
            if value < 0:
                raise node.error(f"'{what}' must not be negative, not {value}")
        return values

    def _read_fixed(self, node: Node, name: str) -> None:
        coefficients: dict[str, float] = {}
        for part in node.all("joint"):
            spec = self._scalars.get(part, "joint")
            coefficients[spec.name] = part.number("coef")
        if not coefficients:
            raise node.error("has no joints")
        self.fixed[name] = FixedTendon(name, coefficients)
        acts, limited = self._acts(node), self._limited(node)
        if not (any(acts.values()) or limited):
            return
        joint, coefficient = next(iter(coefficients.items()))
        if len(coefficients) > 1 or coefficient == 0:
            self._notes.add(
                "springs, dampers, friction and limits of tendons over several joints are left out",
                name,
            )
            return
        spec = self.specs[joint]
        square = coefficient**2
        rests = node.some_numbers("springlength", -1.0)
        rest = spec.rest if rests[0] < 0 else float(rests[0]) / coefficient
        stiffness = spec.stiffness + square * acts["stiffness"]
        if stiffness > 0:
            rest = (spec.stiffness * spec.rest + square * acts["stiffness"] * rest) / stiffness
        spec = replace(
            spec,
            stiffness=stiffness,
            rest=rest,
            damping=spec.damping + square * acts["damping"],
            friction=spec.friction + abs(coefficient) * acts["frictionloss"],
            armature=spec.armature + square * acts["armature"],
        )
        if limited:
            ends = sorted(node.numbers("range", count=2) / coefficient)
            spec = replace(spec, lower=max(spec.lower, ends[0]), upper=min(spec.upper, ends[1]))
        self.specs[joint] = spec

    def _limited(self, node: Node) -> bool:
        limited = node.limited("limited", "range", self._compiler.autolimits)
        return limited and self._option.acts("limit", "constraint")

    def _read_spatial(self, node: Node, name: str) -> None:
        self.spatial[name] = node
        acts = self._acts(node)
        if self._limited(node):
            self._notes.add("limits of the length of tendons are left out", name)
        if acts["frictionloss"] or acts["armature"]:
            self._notes.add("friction and armature of spatial tendons are left out", name)
        if not (acts["stiffness"] or acts["damping"]):
            return
        if [child.tag for child in node.children] != ["site", "site"]:
            self._notes.add(
                "springs and dampers of tendons that are not straight between two sites are left "
                "out",
                name,
            )
            return
        a, b = (self._anchors.site(child, "site") for child in node.children)
        length = float(np.linalg.norm(a.world.p - b.world.p))
        rests = node.some_numbers("springlength", -1.0)
        rest = length if rests[0] < 0 else float(rests[0])
        slack = len(rests) > 1 and rests[1] != rests[0]
        if a.link == b.link or rest <= 0 or slack:
            self._notes.add(
                "springs of tendons are left out that have no length at rest, a range of them, or "
                "both ends on one body",
                name,
            )
            return
        if b.link == 0:
            a, b = b, a
        self.springs.append(
            PointSpring(
                name,
                a.name,
                str(b.name),
                a.place.p,
                b.place.p,
                stiffness=acts["stiffness"],
                rest_length=rest,
                damping=acts["damping"],
            )
        )
