"""<compiler> and <option>: interpretation of the file, and enabled forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.orientation import Angles
from robosim.loaders.notes import Notes

# Values that robosim.Simulation has, too.
GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Compiler:
    """The settings of <compiler>; several such elements count as one.

    Attributes
    ----------
    angles : Angles
    autolimits : bool
        Whether a range alone makes a limit.
    meshes : str
        Folder of meshes and height fields, relative to the model's.
    strip_paths : bool
        Whether file names are taken without their folders.
    inertia_from_geoms : bool or None
        Whether always (True), never (False), or without <inertial> (None).
    inertia_groups : (int, int)
        The first and last group of geoms that have mass.
    balance : bool
        Whether impossible inertias are replaced by those of spheres.
    least_mass, least_inertia : float [kg], [kg m^2]
    total_mass : float [kg]
        Total mass to which all masses are scaled, if positive.
    fit_to_box : bool
        Whether shapes are fitted to the bounding boxes of meshes, not to their inertia.
    """

    angles: Angles
    autolimits: bool
    meshes: str
    strip_paths: bool
    inertia_from_geoms: bool | None
    inertia_groups: tuple[int, int]
    balance: bool
    least_mass: float
    least_inertia: float
    total_mass: float
    fit_to_box: bool

    @classmethod
    def read(cls, root: Node, notes: Notes) -> Compiler:
        """The settings of a model.

        Raises
        ------
        LoadError
            For an invalid value, and for global coordinates.
        """
        node = _joined(root, "compiler")
        if node.choice("coordinate", ("local", "global"), "local") == "global":
            raise node.error(
                "coordinate='global' is not read, nor by MuJoCo since version 2.3.3, which can "
                "save such a file with local coordinates before that"
            )
        sequence = node.attributes.get("eulerseq", "xyz")
        if len(sequence) != 3 or set(sequence.lower()) - set("xyz"):
            raise node.error(f"'eulerseq' must be three of the letters xyzXYZ, not '{sequence}'")
        degrees = node.choice("angle", ("degree", "radian"), "degree") == "degree"
        if node.flag("alignfree", False):
            notes.add(
                "alignfree is not read: floating bodies keep the frames that the file gives them"
            )
        from_geoms = node.choice("inertiafromgeom", ("true", "false", "auto"), "auto")
        first, last = node.numbers("inertiagrouprange", (0, 5))
        return cls(
            angles=Angles(np.pi / 180.0 if degrees else 1.0, sequence),
            autolimits=node.flag("autolimits", True),
            meshes=_mesh_folder(root),
            strip_paths=node.flag("strippath", False),
            inertia_from_geoms=None if from_geoms == "auto" else from_geoms == "true",
            inertia_groups=(int(first), int(last)),
            balance=node.flag("balanceinertia", False),
            least_mass=_not_negative(node, "boundmass"),
            least_inertia=_not_negative(node, "boundinertia"),
            total_mass=node.number("settotalmass", -1.0),
            fit_to_box=node.flag("fitaabb", False),
        )


def _mesh_folder(root: Node) -> str:
    """The folder of meshes; an `assetdir` has precedence over a `meshdir` before it."""
    folder = ""
    for node in root.all("compiler"):
        folder = node.attributes.get("meshdir", node.attributes.get("assetdir", folder))
    return folder


def _joined(root: Node, tag: str) -> Node:
    """All elements of a tag as one; later attributes have precedence."""
    found = list(root.all(tag))
    attributes = {key: value for node in found for key, value in node.attributes.items()}
    children = tuple(child for node in found for child in node.children)
    first = found[0] if found else Node(tag, file=root.file, line=root.line)
    return Node(tag, attributes, children, first.file, first.line)


def _not_negative(node: Node, attribute: str) -> float:
    value = node.number(attribute, 0.0)
    if value < 0:
        raise node.error(f"'{attribute}' must not be negative, not {value}")
    return value


@dataclass(frozen=True)
class Option:
    """The relevant part of <option>: enabled parts of the physics.

    Attributes
    ----------
    disabled : frozenset of str
        Names of the flags that are "disable".
    """

    disabled: frozenset[str]

    @classmethod
    def read(cls, root: Node, notes: Notes) -> Option:
        """The options of a model; notes those that `Simulation` needs, and unsupported ones."""
        node = _joined(root, "option")
        flags = _joined(node, "flag")
        disabled = frozenset(
            name
            for name in flags.attributes
            if flags.choice(name, ("enable", "disable"), "enable") == "disable"
        )
        gravity = node.numbers("gravity", GRAVITY)
        if "gravity" in disabled:
            gravity = np.zeros(3)
        wanted = []
        if node.has("timestep"):
            wanted.append(f"timestep={node.number('timestep'):g}")
        if np.any(gravity != GRAVITY):
            wanted.append(f"gravity={tuple(float(g) for g in gravity)}")
        if wanted:
            notes.add(f"<option>: Simulation takes as arguments {', '.join(wanted)}")
        for fluid in ("density", "viscosity", "wind", "magnetic"):
            if np.any(node.some_numbers(fluid, 0.0)) and fluid != "magnetic":
                notes.add("<option>: there is no fluid, so this has no effect", fluid)
        return cls(disabled)

    def acts(self, *flags: str) -> bool:
        """Whether none of these flags is disabled."""
        return not self.disabled.intersection(flags)
