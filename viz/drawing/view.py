"""Where a picture is taken from, and its light: what the viewer's page has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.drawing import to_linear
from robosim.validation import Array

PAGE_FOV = float(np.deg2rad(40.0))
DIRECTION = np.array([1.0, -0.95, 0.48])  # from the robot to the page's camera
MARGIN = 1.2  # by which the page shows more than the robot
TO_SUN = np.array([0.55, -0.65, 1.0])
REACH = 1.3  # half of what the map of shadows covers, by the size of the robot
# How closely the page's camera follows a robot along the ground, and up and down [s].
LAGS = np.array([0.15, 0.15, 1.0])
FARTHEST_FALL = 0.1  # of the robot's size, by which it may leave the middle of a picture


class Theme(NamedTuple):
    """Colours in sRGB and intensities."""

    haze: tuple[float, float, float] = (0.88, 0.91, 0.94)
    zenith: tuple[float, float, float] = (0.6, 0.71, 0.82)
    light_tile: tuple[float, float, float] = (0xCF / 255, 0xD6 / 255, 0xDD / 255)
    dark_tile: tuple[float, float, float] = (0xBA / 255, 0xC5 / 255, 0xCF / 255)
    sun: float = 0.72
    sky: float = 0.62
    # Linear colours of the light.
    sun_color: tuple[float, float, float] = (1.0, 0xFA / 255, 0xF2 / 255)
    sky_color: tuple[float, float, float] = (0xF4 / 255, 0xF8 / 255, 1.0)
    earth_color: tuple[float, float, float] = (0x98 / 255, 0xA0 / 255, 0xA8 / 255)


LIGHT = Theme()


class Extent(NamedTuple):
    """How large a robot is where it stands, and where its floor is."""

    lower: Array  # (3,) [m]
    upper: Array
    floor: float  # [m]

    @property
    def center(self) -> Array:
        return (self.lower + self.upper) / 2

    @property
    def size(self) -> float:
        """Length of the diagonal [m]."""
        return max(float(np.linalg.norm(self.upper - self.lower)), 1e-3)


def extent_of(lower: Array, upper: Array, solid: bool) -> Extent:
    """The extent between two corners; a floor that nothing touches is lower than what swings."""
    box = Extent(lower, upper, 0.0)
    if solid or lower[2] >= -0.02 * box.size:
        return box
    return box._replace(floor=float(box.center[2] - 1.1 * box.size))


class Sight(NamedTuple):
    """A camera in the world."""

    eye: Array  # (3,) [m]
    R: Array  # (3, 3), axes right, down, ahead, to world
    fov: float  # [rad], vertical


def looking(eye: Array, target: Array, fov: float) -> Sight:
    """From an eye to a target, z up."""
    ahead = target - eye
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    R = np.column_stack((right, np.cross(ahead, right), ahead))
    return Sight(eye, R / np.linalg.norm(R, axis=0), fov)


def sight_of_page(extent: Extent, ground: bool, aspect: float, moved: Array) -> Sight:
    """What the page shows at first, from where the robot has moved to (3,) [m] since."""
    sides = extent.upper - extent.lower
    across = 0.5 * float(np.hypot(sides[0], sides[1]))
    slope = float(np.tan(PAGE_FOV / 2))
    distance = MARGIN * max(0.5 * sides[2] / slope, across / (slope * aspect)) + across
    eye = extent.center + DIRECTION * (distance / np.linalg.norm(DIRECTION))
    if ground:
        eye[2] = max(eye[2], extent.floor + 0.2 * extent.size)
    return looking(eye + moved, extent.center + moved, PAGE_FOV)


class Following:
    """How the page's camera moves with a robot that walks: closely, but lazily up and down."""

    def __init__(self, start: Array) -> None:
        self._start, self._at = start.copy(), start.copy()

    def move(self, base: Array, size: float, passed: float) -> Array:
        """How far (3,) [m] the camera has moved when the base is at (3,), `passed` [s] later."""
        step = (base - self._at) * (1.0 - np.exp(-passed / LAGS))
        # A fall is not left to go out of the picture.
        limit, behind = FARTHEST_FALL * size, base[2] - self._at[2] - step[2]
        step[2] = base[2] - self._at[2] - np.clip(behind, -limit, limit)
        self._at = self._at + step
        return self._at - self._start


def set_view(
    view: NDArray[np.void],
    sight: Sight,
    extent: Extent,
    shape: tuple[int, int],
    shadow: int,
    center: Array,
    theme: Theme = LIGHT,
) -> tuple[Array, Array]:
    """Set a VIEW (1,) but for its ground; returns how points of the world lead to the shadows.

    Parameters
    ----------
    shadow : pixels along an edge of the map of shadows
    center : (3,) [m], the middle of what casts shadows

    Returns
    -------
    (matrix (3, 3), origin (3,))
        From the world into pixels of that map, and heights towards the sun.
    """
    height, width = shape
    size, R = extent.size, sight.R
    view["focal"] = height / 2 / np.tan(sight.fov / 2)
    view["step"] = 1 / view["focal"]
    view["middle"] = width / 2, height / 2
    view["near"] = size / 200
    view["R"], view["eye"] = R, sight.eye
    view["floor"] = extent.floor
    view["tiles"] = 1 / _tile(size)
    for name in ("haze", "zenith", "light_tile", "dark_tile"):
        view[name] = to_linear(np.array(getattr(theme, name)))
    distance = float(np.linalg.norm(center - sight.eye))
    view["fog"] = distance + 3 * size, 1 / (4 * distance + 11 * size)
    sun = TO_SUN / np.linalg.norm(TO_SUN)
    view["sun"], view["sun_color"] = sun @ R, theme.sun * np.array(theme.sun_color)
    view["sky"] = np.array([0.0, 1.0, 0.0]) @ R
    view["sky_color"] = theme.sky * np.array(theme.sky_color)
    view["earth_color"] = theme.sky * np.array(theme.earth_color)
    view["fog_color"] = theme.haze
    # The sky's light comes from the side, so that the ground gets the mean of both colours.
    view["ground_light"] = (view["sky_color"] + view["earth_color"]) / 2
    view["ground_sun"] = sun[2] * view["sun_color"]
    across = np.cross((0.0, 0.0, 1.0), sun)
    across /= np.linalg.norm(across)
    scale = shadow / (2 * REACH * size)
    world = np.stack((scale * across, scale * np.cross(sun, across), sun))
    origin = np.array([shadow / 2, shadow / 2, 0.0]) - world @ center
    view["camera_to_light"], view["light_origin"] = world @ R, origin + world @ sight.eye
    view["bias"] = 1.5 / scale
    return world, origin


def _tile(size: float) -> float:
    """The edge of a square of the ground: 1, 2 or 5 times a power of ten near 0.4 of a size."""
    goal = 0.4 * size
    steps = np.array([1, 2, 5, 10]) * 10 ** np.floor(np.log10(goal))
    return float(steps[np.argmin(np.abs(steps - goal))])
