"""Soft solids from files of meshers."""

from __future__ import annotations

import builtins
from pathlib import Path

import numpy as np
import pytest

from robosim import LoadError, Mechanism, ModelError
from robosim.loaders import soft

meshio = pytest.importorskip("meshio")

# Two elements on a common face, a node of none, and the boundary as Gmsh writes it.
POINTS = np.array(((0, 0, 0), (9, 9, 9), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1.0)))
ELEMENTS = np.array(((0, 2, 3, 4), (2, 3, 4, 5)))
CELLS = [("triangle", np.array(((0, 3, 2),))), ("tetra", ELEMENTS[:1]), ("tetra", ELEMENTS[1:])]


@pytest.mark.parametrize(
    ("file", "form", "cells"),
    [
        ("x.msh", "gmsh22", CELLS),
        ("x.msh", "gmsh", [("tetra", ELEMENTS)]),
        ("x.vtk", "vtk", CELLS),
    ],
)
def test_nodes_and_tetrahedra_of_a_file(
    tmp_path: Path, file: str, form: str, cells: list[tuple[str, np.ndarray]]
) -> None:
    path = tmp_path / file
    meshio.Mesh(POINTS * 1000, cells).write(path, file_format=form)
    part = soft(path, 1e4, 0.3, 600.0, scale=1e-3, position=(0, 0, 2), attached={0: None})
    assert part.name == "x"
    lifted = np.array((0.0, 0.0, 2.0))
    np.testing.assert_allclose(part.nodes - lifted, np.delete(POINTS, 1, axis=0), atol=1e-12)
    np.testing.assert_array_equal(part.tetrahedra, ((0, 1, 2, 3), (1, 2, 3, 4)))
    robot = Mechanism("m", (), (), soft=part)
    # Volumes of 1/6 and 1/3; a quarter of the first, 25 kg, belongs to the world.
    assert robot.total_mass == pytest.approx(600 * (1 / 6 + 1 / 3) - 25, rel=1e-12)
    assert len(robot.soft_meshes[0].surface) == 6


def test_what_is_no_mesh_of_tetrahedra_is_refused(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(LoadError, match="no such file"):
        soft(tmp_path / "none.msh", 1.0, 0.3, 1.0)
    (tmp_path / "text.msh").write_text("nothing")
    with pytest.raises(LoadError, match="meshio cannot read it"):
        soft(tmp_path / "text.msh", 1.0, 0.3, 1.0)
    meshio.Mesh(POINTS, CELLS[:1]).write(tmp_path / "skin.vtk")
    with pytest.raises(LoadError, match="has no tetrahedra"):
        soft(tmp_path / "skin.vtk", 1.0, 0.3, 1.0)
    box = np.array(list(np.ndindex(2, 2, 2)), dtype=float)[[0, 4, 6, 2, 1, 5, 7, 3]]
    meshio.Mesh(box, [("hexahedron", np.arange(8)[None])]).write(tmp_path / "box.vtk")
    with pytest.raises(LoadError, match="elements of the kind hexahedron"):
        soft(tmp_path / "box.vtk", 1.0, 0.3, 1.0)
    meshio.Mesh(POINTS, [("tetra", ELEMENTS[:, [0, 2, 1, 3]])]).write(tmp_path / "turned.vtk")
    with pytest.raises(ModelError, match=r"tetrahedron 0, of the nodes .* is inside out"):
        soft(tmp_path / "turned.vtk", 1.0, 0.3, 1.0)

    own = builtins.__import__

    def without(name: str, *args: object) -> object:
        if name == "meshio":
            raise ImportError(name)
        return own(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LoadError, match=r"robosim-variational\[soft\]"):
        soft(tmp_path / "box.vtk", 1.0, 0.3, 1.0)
