"""The modules of usd-core, which is imported when the first stage is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

from robosim.extras import needed

_MODULES = ("Ar", "Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade", "UsdUtils")


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps what USD has to say of a file from the terminal; errors are told as our own."""
    delegate = library().UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    finally:
        delegate.TakeUncoalescedDiagnostics()
        del delegate


@cache
def library() -> Any:
    """The modules of usd-core by their names.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    found = {
        name: needed(f"pxr.{name}", "USD files need the package usd-core", "usd")
        for name in _MODULES
    }
    return SimpleNamespace(**found)
