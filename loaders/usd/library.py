"""The modules of usd-core, which is imported when the first stage is opened."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

from robosim.extras import needed

_MODULES = ("Ar", "Gf", "Sdf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade", "UsdUtils")


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
