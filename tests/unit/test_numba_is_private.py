"""Only `robosim.kernels.compiler` imports what is private in numba."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import robosim
import robosim.loaders
import robosim.models
import robosim.viz

PACKAGES = (robosim, robosim.loaders, robosim.models, robosim.viz)
ROOTS = [Path(str(package.__file__)).parent for package in PACKAGES]
COMPILER = ROOTS[0] / "kernels" / "compiler"


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private(tree: ast.AST) -> set[str]:
    """Modules of numba but numba itself, and llvmlite's."""
    return {
        name
        for name in imported(tree)
        if name.split(".")[0] == "llvmlite" or name.startswith(("numba.core", "numba.extending"))
    }


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.name)
def test_only_the_compiler_imports_what_is_private(root):
    for source in sorted(root.rglob("*.py")):
        if COMPILER not in source.parents:
            assert not private(ast.parse(source.read_text(encoding="utf-8"))), source


def test_a_private_import_is_seen():
    assert private(ast.parse("def f():\n    from numba.core import event"))
    assert private(ast.parse("import llvmlite.ir"))
    assert not private(ast.parse("from numba import njit, types"))
