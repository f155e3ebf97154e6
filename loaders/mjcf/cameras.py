"""Cameras: where they are, and how wide they see."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robosim.description.camera import Camera
from robosim.loaders.mjcf.anchors import Anchors
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.notes import Notes
from robosim.loaders.mjcf.tree import TreeBody

MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
PROJECTIONS = ("perspective", "orthographic")
FOVY = 45.0  # [deg], MuJoCo's default
_MOVING = "cameras that follow or that look at a body are fixed to their own body"
_PLAIN = "cameras are pinholes with the middle of the picture ahead"


def read_cameras(bodies: Iterable[TreeBody], anchors: Anchors, notes: Notes) -> tuple[Camera, ...]:
    """The cameras of a model, in the order of its bodies.

    Raises
    ------
    LoadError
        For an angle of view that is none.
    """
    out: list[Camera] = []
    for camera in (one for body in bodies for one in body.cameras):
        name, node = camera.name, camera.node
        if node.choice("mode", MODES, "fixed") != "fixed":
            notes.add(_MOVING, f"camera '{name}'")
        if node.choice("projection", PROJECTIONS, "perspective") != "perspective" or any(
            np.any(node.some_numbers(key, 0.0)) for key in ("principal", "principalpixel")
        ):
            notes.add(_PLAIN, f"camera '{name}'")
        out.append(Camera(anchors.cameras[name].as_place(), _fov(node), name))
    return tuple(out)


def _fov(node: Node) -> float:
    """The vertical angle of view [rad]: of the sensor and its focal length, or as given."""
    if node.has("sensorsize"):
        height = node.numbers("sensorsize", count=2)[1]
        focal = 0.0
        if node.has("focalpixel"):
            rows = node.numbers("resolution", count=2)[1] if node.has("resolution") else 1.0
            focal = node.numbers("focalpixel", count=2)[1] * height / rows
        elif node.has("focal"):
            focal = node.numbers("focal", count=2)[1]
        if not (height > 0 and focal > 0):
            raise node.error("sensorsize needs a positive focal or focalpixel")
        return float(2 * np.arctan(height / (2 * focal)))
    degrees = node.number("fovy", FOVY)
    if not 0.0 < degrees < 180.0:
        raise node.error(f"fovy must be above 0 and below 180, not {degrees:g}")
    return float(np.deg2rad(degrees))
