"""Cameras: where they are, and how wide they see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from robosim.description.camera import Camera
from robosim.description.ray_sensor import Pixels
from robosim.loaders.mjcf.anchors import Anchors
from robosim.loaders.mjcf.nodes import Node
from robosim.loaders.mjcf.tree import TreeBody
from robosim.loaders.notes import Notes

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
        pixels = pixels_of(node)
        beside = (node.some_numbers(what, 0.0) for what in ("principal", "principalpixel"))
        if pixels.extent > 0 or any(map(np.any, beside)):
            notes.add(_PLAIN, f"camera '{name}'")
        out.append(Camera(anchors.cameras[name].as_place(), _fov(pixels), name))
    return tuple(out)


def _fov(pixels: Pixels) -> float:
    """The vertical angle of view [rad]; that of MuJoCo's default for an orthographic camera."""
    if pixels.extent > 0:
        return float(np.deg2rad(FOVY))
    return float(2 * np.arctan(pixels.height / (2 * pixels.focal[1])))


def pixels_of(node: Node) -> Pixels:
    """The picture of a camera, with MuJoCo's numbers in single precision."""
    size = node.some_numbers("resolution", (1.0, 1.0))
    if len(size) != 2 or np.any(size < 1) or np.any(size != np.round(size)):
        raise node.error(f"resolution must be two whole numbers above zero, not {size.tolist()}")
    width, height = (int(one) for one in size)
    if node.choice("projection", PROJECTIONS, "perspective") == "orthographic":
        extent = node.number("fovy", FOVY)
        if not extent > 0:
            raise node.error(f"fovy must be positive, not {extent:g}")
        # In pixels per metre: MuJoCo has one extent for both directions.
        scale = width / extent, height / extent
        return Pixels(width, height, scale, (width / 2, height / 2), extent)
    if not node.has("sensorsize"):
        fovy = np.radians(node.number("fovy", FOVY))
        if not 0 < fovy < np.pi:
            raise node.error(f"fovy must be between 0 and 180, not {np.degrees(fovy):g}")
        focal = height / 2 / float(np.tan(fovy / 2))
        return Pixels(width, height, (focal, focal), (width / 2, height / 2))
    length = _single(node, "sensorsize", (0.0, 0.0))
    if not np.all(length > 0):
        raise node.error(f"sensorsize must be positive, not {length.tolist()}")
    pixels = size.astype(np.float32)
    found = []
    for what, of_pixels in (("focal", "focalpixel"), ("principal", "principalpixel")):
        if node.has(of_pixels):
            given = _single(node, of_pixels, (0.0, 0.0)) / pixels * length
        else:
            given = _single(node, what, (0.0, 0.0))
        found.append((given / length * pixels).astype(float))
    if not np.all(found[0] > 0):
        raise node.error("a camera with a sensorsize needs a positive focal or focalpixel")
    (fx, fy), (cx, cy) = (pair.tolist() for pair in found)
    return Pixels(width, height, (fx, fy), (cx, cy))


def _single(node: Node, what: str, default: Sequence[float]) -> Any:
    """Two numbers in single precision."""
    given = node.some_numbers(what, default)
    if len(given) != 2:
        raise node.error(f"{what} must be two numbers, not {given.tolist()}")
    return given.astype(np.float32)
