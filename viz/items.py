"""Descriptions of markers, lines, arrows, texts and clouds of points for the page."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import OptionError

MAX_POINTS = 1_000_000
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


def marker(position: ArrayLike, radius: float, color: str) -> dict[str, Any]:
    """A ball."""
    return _item("marker", color, position=point(position, "position"), size=_size(radius))


def line(points: ArrayLike, color: str) -> dict[str, Any]:
    """A line through points."""
    return _item("line", color, points=_cloud(points))


def arrow(start: ArrayLike, vector: ArrayLike, color: str) -> dict[str, Any]:
    """An arrow."""
    begin = point(start, "start")
    return _item("arrow", color, position=begin, vector=point(vector, "vector"))


def text(position: ArrayLike, said: str, color: str) -> dict[str, Any]:
    """A text that faces the camera."""
    if not isinstance(said, str) or len(said) > 500:
        raise OptionError(f"a text must be a str of at most 500 characters, not {said!r:.60}")
    return _item("text", color, position=point(position, "position"), text=said)


def points(cloud: ArrayLike, size: float, color: str) -> dict[str, Any]:
    """A cloud of points."""
    return _item("points", color, points=_cloud(cloud), size=_size(size))


def _item(kind: str, color: str, **rest: Any) -> dict[str, Any]:
    if not isinstance(color, str) or not _COLOR.fullmatch(color):
        raise OptionError(f"a color must be of the form #rrggbb, not {color!r}")
    return {"kind": kind, "color": color, **rest}


def point(value: ArrayLike, what: str) -> list[float]:
    """Three finite numbers."""
    return _finite(value, what, (3,)).tolist()


def _cloud(value: ArrayLike) -> str:
    """Points as base64 of float32."""
    array = _finite(value, "points", (len(np.atleast_1d(np.asarray(value, dtype=object))), 3))
    if not 1 <= len(array) <= MAX_POINTS:
        raise OptionError(f"points must be 1 to {MAX_POINTS}, not {len(array)}")
    return base64.b64encode(array.astype("<f4").tobytes()).decode("ascii")


def _finite(value: ArrayLike, what: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.shape != shape or not np.isfinite(array).all():
        raise OptionError(f"{what} must be finite numbers of shape {shape}, not {value!r:.80}")
    return array


def _size(value: float) -> float:
    size = float(_finite(value, "size", ()))
    if not size > 0:
        raise OptionError(f"a size must be positive, not {value!r}")
    return size
