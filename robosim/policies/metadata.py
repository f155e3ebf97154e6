"""What ONNX files say about their task: keys of robosim, and keys that mjlab writes.

mjlab writes lists as words between commas, and lists within them as words between semicolons.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from robosim.errors import LoadError
from robosim.policies.layout import Layout
from robosim.policies.presets import PRESETS
from robosim.policies.task import PolicyTask

OWN = "robosim_task"
"""The key of ONNX metadata whose value is a task of robosim, in JSON."""


def described(metadata: Mapping[str, str], name: str) -> dict[str, Any]:
    """The keys of a task that the metadata of a policy's file give; none if there are none.

    Raises
    ------
    LoadError
        For metadata that are malformed.
    """
    if OWN in metadata:
        try:
            return dict(json.loads(metadata[OWN]))
        except (ValueError, TypeError) as error:
            raise LoadError(
                f"its metadata are malformed: {error}", element=f"{name}: {OWN}"
            ) from None
    found: dict[str, Any] = {}
    for key, (ours, read) in _KEYS.items():
        if key in metadata:
            try:
                found[ours] = read(metadata[key])
            except ValueError:
                raise LoadError(
                    f"its metadata are malformed: '{metadata[key][:80]}'", element=f"{name}: {key}"
                ) from None
    if "observation_names" in metadata:
        found["observations"] = _observations(metadata, name)
        found = {key: PRESETS["mjlab"][key] for key in ("timestep", "decimation")} | found
    return found


def told(task: PolicyTask, layout: Layout | None = None) -> dict[str, str]:
    """The metadata that describe a task, for an ONNX file.

    With the layout on a robot, other programs find joints, default pose and gains as well, by the
    keys that mjlab writes.
    """
    found = {OWN: json.dumps(task.to_dict())}
    if layout is None:
        return found
    found["joint_names"] = ",".join(layout.names)
    found["default_joint_pos"] = _joined(layout.default)
    found["action_scale"] = _joined(layout.scale)
    for key, what in (("joint_stiffness", task.stiffness), ("joint_damping", task.damping)):
        if what is not None:
            found[key] = _joined(layout.each(key, what))
    found["observation_names"] = ",".join(term.name for term in task.observations)
    return found


def _joined(values: Any) -> str:
    return ",".join(f"{float(value):.9g}" for value in values)


def _words(text: str) -> list[str]:
    # A list of one version is a word between brackets in another one.
    return [word.strip(" []'\"") for word in text.split(",") if word.strip(" []'\"")]


def _numbers(text: str) -> Any:
    found = [float(word) for word in _words(text)]
    return found[0] if len(found) == 1 else found


def _listed(text: str) -> list[list[float]]:
    """The numbers of each word, which semicolons part."""
    return [[float(one) for one in word.split(";")] for word in _words(text)]


_KEYS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "joint_names": ("joints", _words),
    "joint_stiffness": ("stiffness", _numbers),
    "joint_damping": ("damping", _numbers),
    "default_joint_pos": ("default_joint_pos", _numbers),
    "action_scale": ("action_scale", _numbers),
}


def _observations(metadata: Mapping[str, str], name: str) -> list[Any]:
    """The observations by the keys of mjlab, with scale, clip and history of each."""
    names = _words(metadata["observation_names"])
    options: dict[str, list[list[float]]] = {}
    for key in ("scale", "clip", "history_length"):
        text = metadata.get(f"observation_terms_{key}", "")
        try:
            options[key] = _listed(text)
        except ValueError:
            options[key] = [[]]
        if options[key] and len(options[key]) != len(names):
            raise LoadError(
                f"its metadata are malformed: '{text[:80]}' is not for {len(names)} observations",
                element=f"{name}: observation_terms_{key}",
            )
    found: list[Any] = []
    for k, one in enumerate(names):
        term: dict[str, Any] = {}
        if options["scale"] and options["scale"][k] != [1.0]:
            term["scale"] = options["scale"][k]
        if options["clip"] and abs(options["clip"][k][0]) != float("inf"):
            term["clip"] = options["clip"][k]
        if options["history_length"] and options["history_length"][k][0] > 1:
            term["history"] = int(options["history_length"][k][0])
        found.append({one: term} if term else one)
    return found
