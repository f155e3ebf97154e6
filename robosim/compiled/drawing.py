"""What pictures are drawn of, as flat arrays, and the scratch memory for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import aligned
from robosim.compiled.records.drawing import PART, TEXTURE, VIEW

SHADES = 4096  # steps of the table from linear values to sRGB
CORNERS = 8  # rows of scratch memory of a thread


class Meshes(NamedTuple):
    """The triangles of all shapes. Triangles of parts follow each other in the order of parts."""

    vertices: NDArray[np.float32]  # (nv, 3) [m], in the axes of their shapes
    normals: NDArray[np.float32]  # (nv, 3)
    uv: NDArray[np.float32]  # (nv, 2)
    faces: NDArray[np.int32]  # (nf, 3), counted from the first vertex of their shape
    textures: NDArray[np.void]  # TEXTURE of all levels
    texels: NDArray[np.float32]  # (nt, 3), linear


class Drawing(NamedTuple):
    """The data of a picture."""

    meshes: Meshes
    parts: NDArray[np.void]  # (np,) PART
    owners: NDArray[np.int32]  # (n,), the part of each triangle
    views: NDArray[np.void]  # (1,) VIEW
    placed: NDArray[np.float32]  # (m, 3) [m], vertices of all parts in the camera's axes
    seen: NDArray[np.float32]  # (m, 3), where they are seen [samples], and 1 / depth
    toward_sun: NDArray[np.float32]  # (m, 3), the same in the map of shadows
    shadows: NDArray[np.float32]  # (s, s), heights towards the sun; -inf for nothing
    gamma: NDArray[np.float32]  # (SHADES + 1,), sRGB of linear values
    # Of all samples the inverse depth of the nearest triangle, and its number; 0 and -1 for none.
    nearness: NDArray[np.float32]
    numbers: NDArray[np.int32]
    # The same of one part that is not opaque.
    nearness_over: NDArray[np.float32]
    numbers_over: NDArray[np.int32]
    work: NDArray[np.float64]  # (threads, CORNERS, 3)


def make_drawing(
    meshes: Meshes,
    parts: NDArray[np.void],
    shape: tuple[int, int],
    samples: int,
    shadow: int,
    threads: int,
) -> Drawing:
    """Memory for pictures of (height, width), with samples along each edge of a pixel.

    `shadow` is the width of the map of shadows.
    """
    counts = parts["faces"][:, 1] - parts["faces"][:, 0]
    m = int(np.sum(parts["vertices"][:, 1] - parts["vertices"][:, 0]))
    grid = samples * shape[0], samples * shape[1]
    linear = np.linspace(0.0, 1.0, SHADES + 1)
    return Drawing(
        meshes,
        parts,
        np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        aligned(1, VIEW),
        np.zeros((m, 3), dtype=np.float32),
        np.zeros((m, 3), dtype=np.float32),
        np.zeros((m, 3), dtype=np.float32),
        np.full((shadow, shadow), -np.inf, dtype=np.float32),
        to_srgb(linear).astype(np.float32),
        np.zeros(grid, dtype=np.float32),
        np.full(grid, -1, dtype=np.int32),
        np.zeros(grid, dtype=np.float32),
        np.full(grid, -1, dtype=np.int32),
        np.zeros((threads, CORNERS, 3)),
    )


def to_srgb(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """sRGB of linear values, both 0 to 1 [IEC 61966-2-1]."""
    curved = 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, 12.92 * linear, curved)


def to_linear(encoded: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear values of sRGB, both 0 to 1 [IEC 61966-2-1]."""
    curved = ((encoded + 0.055) / 1.055) ** 2.4
    return np.where(encoded <= 0.04045, encoded / 12.92, curved)


def empty_meshes() -> Meshes:
    """Meshes without triangles, with the types of all others."""
    return Meshes(
        np.zeros((0, 3), dtype=np.float32),
        np.zeros((0, 3), dtype=np.float32),
        np.zeros((0, 2), dtype=np.float32),
        np.zeros((0, 3), dtype=np.int32),
        np.zeros(0, dtype=TEXTURE),
        np.zeros((0, 3), dtype=np.float32),
    )


def empty_drawing() -> Drawing:
    """A drawing of nothing, with the types of all others."""
    return make_drawing(empty_meshes(), np.zeros(0, dtype=PART), (1, 1), 1, 1, 1)
