"""Only `robosim.kernels.compiler` imports what is private in numba.

numba promises nothing about its inner modules, so what a new version may break lies in one place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = "robosim", "loaders", "models", "viz"
COMPILER = ROOT / "robosim" / "kernels" / "compiler"
PRIVATE = "numba.core", "numba.np", "numba.experimental", "numba.extending", "numba._", "llvmlite"


def imported(tree: ast.AST) -> Iterator[str]:
    """All names that are imported anywhere, inside functions and for types alone as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private(source: str) -> list[str]:
    """Those of numba's internals."""
    return [name for name in imported(ast.parse(source)) if name.startswith(PRIVATE)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_only_the_compiler_imports_what_is_private(folder):
    sources = sorted((ROOT / folder).rglob("*.py"))
    assert sources
    for source in sources:
        if COMPILER not in source.parents:
            assert private(source.read_text(encoding="utf-8")) == [], source


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    from numba.core import event",
        "from numba import core",
        "from numba.extending import intrinsic",
        "from numba import _helperlib",
        "if TYPE_CHECKING:\n    import numba.np.ufunc as u",
        "import llvmlite.ir",
    ],
)
def test_a_private_import_is_seen(source):
    assert len(private(source)) == 1


@pytest.mark.parametrize("source", ["from numba import njit, types, from_dtype", "import numba"])
def test_public_names_are_no_private_ones(source):
    assert private(source) == []
