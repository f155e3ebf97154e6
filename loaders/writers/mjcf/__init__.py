"""Mechanisms to MJCF, each section by a module of its own.

Bodies are in the home pose, and `ref` contains the coordinates of their joints there: MuJoCo starts
in this pose. Only ball joints have no `ref`, and are at zero.
"""

from __future__ import annotations

import numpy as np
from lxml import etree

from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance
from robosim.loaders.placement import in_stance
from robosim.loaders.writers.mesh_files import MeshFiles
from robosim.loaders.writers.mjcf.actuators import write_actuators
from robosim.loaders.writers.mjcf.bodies import write_bodies, write_exclusions, write_world
from robosim.loaders.writers.mjcf.document import SAME, Document
from robosim.loaders.writers.mjcf.equalities import write_equalities
from robosim.loaders.writers.mjcf.obstacles import write_obstacles
from robosim.loaders.writers.mjcf.tendons import write_tendons
from robosim.loaders.writers.parts import Lost, child, named_poses, note_joint, note_rest, text


def mjcf(
    mechanism: Mechanism, meshes: MeshFiles, lost: Lost, stance: Stance | None = None
) -> etree._Element:
    """The <mujoco> element of a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
    meshes : MeshFiles
        Receives the meshes to which the file refers.
    lost : Lost
        Receives the elements that the file cannot represent.
    stance : Stance or None
        The stance of `robosim.load` for a robot of this name.

    Raises
    ------
    SaveError
        For a loop that MJCF does not support.
    """
    document = Document(mechanism, meshes, lost)
    write_world(document)
    write_obstacles(document)
    write_bodies(document)
    write_exclusions(document)
    write_equalities(document)
    write_tendons(document)
    write_actuators(document)
    _write_poses(document)
    _note_what_is_lost(document, stance)
    if not len(document.assets):
        document.root.remove(document.assets)
    return document.root


def _write_poses(document: Document) -> None:
    poses = named_poses(document.mechanism)
    if not poses:
        return
    keyframe = child(document.root, "keyframe")
    for name, q in poses.items():
        child(keyframe, "key", name=name, qpos=text(q), **_moving(document, name))


def _moving(document: Document, name: str) -> dict[str, str]:
    """What a keyframe has beside its pose, as attributes."""
    mechanism = document.mechanism
    if name not in mechanism.keyframes:
        return {}
    now = mechanism.keyframe(name)
    written = {node.get("name") for node in document.root.iterfind("actuator/*")}
    there = [one for one in mechanism.actuators if one.name in written]
    controls = dict(zip(mechanism.control_names, now.controls.tolist(), strict=True))
    activations = dict(zip(mechanism.activation_names, now.activations.tolist(), strict=True))
    acting = [one for one in there if one.has_activations]
    values = {
        "qvel": now.v.tolist(),
        "ctrl": [controls[name] for one in there for name in one.control_names],
        "act": [activations[name] for one in acting for name in one.activation_names],
    }
    told = {what: text(array) for what, array in values.items() if np.any(array)}
    return told | ({"time": text(now.time)} if now.time else {})


def _note_what_is_lost(document: Document, stance: Stance | None) -> None:
    mechanism, lost = document.mechanism, document.lost
    start = document.reference if stance is None else in_stance(mechanism, stance)
    if np.abs(start - np.asarray(mechanism.home)).max(initial=0.0) > SAME:
        lost.add("that the pose 'home' is the one to start from")
    for joint in mechanism.joints:
        note_joint(joint, lost, mjcf=True)
        if np.any(np.isfinite(joint.velocity_limit)):
            lost.add("velocity limits", joint.name)
        if joint.safety is not None:
            lost.add("safety limits", joint.name)
    kept = (
        "self-collision",
        "excluded pairs",
        "pairs of bodies that touch",
        "tendons",
        "obstacles",
        "actuators, whose joints are driven by torques",
    )
    note_rest(mechanism, lost, kept)
