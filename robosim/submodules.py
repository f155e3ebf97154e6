"""Submodules of a package that are imported when they are first named."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any


def on_first_use(package: str, names: Collection[str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package, which imports its submodules of these names."""

    def find(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return find
