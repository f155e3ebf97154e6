"""<hfield>: heights from an image, from a binary file, or in the element."""

from __future__ import annotations

import io
import struct

import numpy as np
from numpy.typing import NDArray

from robosim import safe_xml
from robosim.extras import needed
from robosim.loaders.mjcf.compiler import Compiler
from robosim.loaders.mjcf.files import Files, stem
from robosim.loaders.mjcf.nodes import Node

Array = NDArray[np.float64]

MOST_POINTS = 4_000_000
_HEADER = struct.Struct("<2i")


class HeightFields:
    """The height fields of a model by name; each is read on first use."""

    def __init__(self, root: Node, compiler: Compiler, files: Files) -> None:
        self._compiler, self._files = compiler, files
        self._nodes = {
            node.name or stem(node.attributes.get("file", "")): node
            for asset in root.all("asset")
            for node in asset.all("hfield")
        }

    def get(self, geom: Node) -> tuple[Array, Array]:
        """Heights (nx, ny) [m] along x and y, and half sizes (2,) [m], of a geom's field.

        Raises
        ------
        LoadError
            If the field does not exist, cannot be read, or is too large.
        """
        node = geom.look_up("hfield", self._nodes, "hfield")
        size = node.numbers("size", count=4)
        if np.any(size <= 0):
            raise node.error(f"'size' must be positive, not {size.tolist()}")
        rows = self._file(node) if node.has("file") else self._inline(node)
        if rows.size > MOST_POINTS or min(rows.shape) < 2:
            raise node.error(f"must have from 2 by 2 to {MOST_POINTS} points, not {rows.shape}")
        span = np.ptp(rows)
        unit = (rows - rows.min()) / span if span > 0 else np.zeros(rows.shape)
        # Rows are along y; heights of the file are scaled to the range from 0 to the third size.
        return size[2] * unit.T, size[:2]

    def _inline(self, node: Node) -> Array:
        rows, columns = node.integer("nrow"), node.integer("ncol")
        if rows < 2 or columns < 2 or rows * columns > MOST_POINTS:
            raise node.error(f"must have from 2 by 2 to {MOST_POINTS} points, not {rows, columns}")
        if not node.has("elevation"):
            return np.zeros((rows, columns))
        return node.numbers("elevation", count=rows * columns).reshape(rows, columns)[::-1]

    def _file(self, node: Node) -> Array:
        address = node.text("file")
        path = self._files.asset(node, self._compiler.meshes, self._compiler.strip_paths)
        data = safe_xml.read_bytes(path, "height field")
        if path.suffix.lower() == ".png":
            return self._image(node, data)
        if len(data) < _HEADER.size:
            raise node.error(f"'{address}' is shorter than its header")
        rows, columns = _HEADER.unpack_from(data)
        if rows < 2 or columns < 2 or _HEADER.size + 4 * rows * columns != len(data):
            raise node.error(f"'{address}' is not as long as its header says")
        values = np.frombuffer(data, "<f4", rows * columns, _HEADER.size).astype(float)
        if not np.all(np.isfinite(values)):
            raise node.error(f"'{address}' has heights that are not finite")
        return values.reshape(rows, columns)

    def _image(self, node: Node, data: bytes) -> Array:
        Image = needed("PIL.Image", "height fields in .png files need Pillow", "pictures")
        try:
            with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
                if image.width * image.height > MOST_POINTS:
                    raise node.error(f"must have at most {MOST_POINTS} points")
                # The first row of an image is the top one, with the largest y.
                return np.asarray(image.convert("L"), dtype=float)[::-1]
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise node.error(f"'{node.text('file')}' cannot be read: {error}") from None
