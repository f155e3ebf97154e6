"""Loops in a file beside an unchanged model file: ``robot.loops.yaml`` next to robot.urdf.

    loops:
      - name: closing_pin
        type: revolute
        link1: {link: crank, xyz: [0.1, 0, 0], rpy: [0, 0, 0]}
        link2: {link: rod, xyz: [0, 0, 0.2]}
        axis: [0, 1, 0]
    passive: [knee, ankle]

Only plain YAML is read, without tags, anchors and aliases, which could grow without bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from robosim.errors import LoadError
from robosim.loaders import plain_yaml
from robosim.loaders.loops import TYPES, Array, End, Loop, turned
from robosim.loaders.schema import is_number

SUFFIX = ".loops.yaml"
_TOP = ("loops", "passive")
_LOOP = ("name", "type", "link1", "link2", "axis", "actuated")
# Options of a `Joint`.
_NUMBERS = ("lower", "upper", "damping", "friction", "stiffness", "rest", "armature")
_END = ("link", "xyz", "rpy")


class Sidecar(NamedTuple):
    """The content of the file: loops, and names of joints without an actuator."""

    loops: list[Loop]
    passive: list[str]


def read(path: Path) -> Sidecar:
    """The content of a file of loops.

    Raises
    ------
    LoadError
        For malformed YAML, and for anything that is not described above; with file, line, key and
        value.
    """
    root = plain_yaml.compose(path)
    reader = _Reader(path)
    top = reader.mapping(root, "", _TOP) if root is not None else {}
    loops = [
        reader.loop(node, f"loops[{k}]")
        for k, node in enumerate(reader.sequence(top.get("loops"), "loops"))
    ]
    passive = [
        reader.text(node, f"passive[{k}]")
        for k, node in enumerate(reader.sequence(top.get("passive"), "passive"))
    ]
    return Sidecar(loops, passive)


class _Reader:
    """Converts YAML nodes, which contain their lines, to values."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(
        self, node: Any, key: str, reason: str, alternatives: Sequence[str] = ()
    ) -> LoadError:
        line = node.start_mark.line + 1
        return LoadError(
            reason, file=self.path, line=line, element=key or None, alternatives=alternatives
        )

    def mapping(
        self, node: Any, key: str, keys: Sequence[str], needed: Sequence[str] = ()
    ) -> dict[str, Any]:
        """key -> node of a mapping that has only the given keys, each once."""
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, key, "must be a mapping", keys)
        found: dict[str, Any] = {}
        for name_node, value in node.value:
            name = str(name_node.value) if isinstance(name_node, yaml.ScalarNode) else "?"
            if name not in keys:
                raise self.error(name_node, key, f"unknown key '{name}'", keys)
            if name in found:
                raise self.error(name_node, key, f"key '{name}' is used twice")
            found[name] = value
        for name in needed:
            if name not in found:
                raise self.error(node, key, f"key '{name}' is missing", keys)
        return found

    def sequence(self, node: Any, key: str) -> list[Any]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, key, "must be a list")
        return list(node.value)

    def text(self, node: Any, key: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self.error(node, key, "must be a name")
        return str(node.value)

    def number(self, node: Any, key: str) -> float:
        word = node.value if isinstance(node, yaml.ScalarNode) else "a list or mapping"
        if not is_number(word):
            raise self.error(node, key, f"must be a finite number, not '{word}'")
        return float(word)

    def vector(self, node: Any, key: str) -> Array:
        """Three numbers; zeros for a missing key."""
        if node is None:
            return np.zeros(3)
        words = self.sequence(node, key)
        if len(words) != 3:
            raise self.error(node, key, f"must be 3 numbers, not {len(words)}")
        return np.array([self.number(word, key) for word in words])

    def loop(self, node: Any, key: str) -> Loop:
        keys = self.mapping(node, key, _LOOP + _NUMBERS, ("name", "type", "link1", "link2"))
        name, kind = (
            self.text(keys["name"], f"{key}: name"),
            self.text(keys["type"], f"{key}: type"),
        )
        key = f"{key} '{name}'"
        if kind not in TYPES:
            raise self.error(
                keys["type"], f"{key}: type", f"unknown type of joint '{kind}'", tuple(TYPES)
            )
        axis = self.vector(keys["axis"], f"{key}: axis") if "axis" in keys else np.eye(3)[0]
        if np.linalg.norm(axis) < 1e-12:
            raise self.error(keys["axis"], f"{key}: axis", "must not be zero")
        options: dict[str, Any] = {
            what: self.number(keys[what], f"{key}: {what}") for what in _NUMBERS if what in keys
        }
        if "actuated" in keys:
            word = self.text(keys["actuated"], f"{key}: actuated")
            if word not in ("true", "false"):
                raise self.error(
                    keys["actuated"], f"{key}: actuated", f"must be true or false, not '{word}'"
                )
            options["actuated"] = word == "true"
        return Loop(
            name=name,
            kind=TYPES[kind],
            first=self.end(keys["link1"], f"{key}: link1"),
            second=self.end(keys["link2"], f"{key}: link2"),
            axis=axis,
            options=options,
            element=key,
            line=node.start_mark.line + 1,
            file=self.path,
        )

    def end(self, node: Any, key: str) -> End:
        keys = self.mapping(node, key, _END, ("link",))
        xyz, rpy = (self.vector(keys.get(what), f"{key}: {what}") for what in ("xyz", "rpy"))
        return End(self.text(keys["link"], f"{key}: link"), turned(list(rpy)), xyz)
