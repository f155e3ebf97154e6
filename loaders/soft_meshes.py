"""Tetrahedral mesh files as soft solids: .msh of Gmsh, .vtk, and others.

The package `meshio`, of the extra `soft`, reads the files. robosim has no mesher.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description.soft import Soft
from robosim.errors import LoadError
from robosim.validation import Array
from robosim.version import install

TETRAHEDRA, LEFT_OUT = "tetra", ("vertex", "line", "triangle")


def soft(
    file: str | Path,
    young: float,
    poisson: float,
    density: float,
    *,
    name: str | None = None,
    scale: float = 1.0,
    position: ArrayLike = (0.0, 0.0, 0.0),
    attached: Mapping[int, str | None] | None = None,
) -> Soft:
    """A soft solid whose nodes and tetrahedra are those of a file.

    Points, lines and triangles of the file, which mark its boundary, are ignored. Nodes without a
    tetrahedron are ignored too, so that nodes are renumbered in the order of the file.

    Parameters
    ----------
    file : str or Path
        A file that `meshio` reads, such as ``.msh`` (Gmsh) or ``.vtk``.
    young, poisson, density, attached
        As for `Soft`.
    name : str or None
        Name of the solid; None: that of the file.
    scale : float
        Factor from lengths in the file to metres.
    position : (3,) [m]
        Position of the file's origin in the world.

    Returns
    -------
    Soft

    Raises
    ------
    LoadError
        If `meshio` is not installed, or the file cannot be read. For a file without tetrahedra, or
        with other elements, such as hexahedra or curved ones.
    ModelError
        As for `Soft`, for example for a tetrahedron that is inside out, with its index.
    """
    path = Path(file)
    points, tetrahedra = _read(path)
    used, numbered = np.unique(tetrahedra, return_inverse=True)
    nodes = scale * points[used] + np.asarray(position, dtype=float)
    return Soft(
        path.stem if name is None else name,
        nodes,
        numbered.reshape(-1, 4),
        young,
        poisson,
        density,
        attached=attached or {},
    )


def _read(path: Path) -> tuple[Array, NDArray[np.int64]]:
    """Points (n, 3) and tetrahedra (m, 4) of a file."""
    try:
        import meshio
    except ImportError:
        raise LoadError(f"meshes are read by meshio: {install('soft')}", file=path) from None
    if not path.is_file():
        raise LoadError("there is no such file", file=path)
    try:
        mesh: Any = meshio.read(path)
    except (Exception, SystemExit) as error:  # meshio has different exceptions for each format
        raise LoadError(f"meshio cannot read it: {error}", file=path) from None
    kinds = [block.type for block in mesh.cells if block.type not in LEFT_OUT]
    others = sorted({kind for kind in kinds if kind != TETRAHEDRA})
    if others:
        raise LoadError(
            f"has elements of the kind {', '.join(others)}; a soft solid is of straight "
            "tetrahedra: let the mesher write these, of the first order",
            file=path,
        )
    if not kinds:
        raise LoadError("has no tetrahedra: mesh the volume, not the surface alone", file=path)
    points = np.asarray(mesh.points, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3:
        raise LoadError(f"has points of shape {points.shape}, not n x 3", file=path)
    cells = [block.data for block in mesh.cells if block.type == TETRAHEDRA]
    return points, np.concatenate(cells).astype(np.int64)
