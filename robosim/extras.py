"""Packages of optional extras: imported where they are used, or an error that says how to get them.

The extra "all" brings those that files, plots and pictures need.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from robosim.errors import MissingExtraError
from robosim.version import install


def is_there(module: str) -> bool:
    """Whether a package is installed; it is not imported."""
    try:
        return find_spec(module) is not None
    except ValueError:  # taken away by `sys.modules[module] = None`
        return False


def needed(module: str, what: str, extra: str) -> Any:
    """A module of an optional extra.

    Parameters
    ----------
    module : str
        Name of the module, such as "PIL.Image".
    what : str
        What needs which package, as "plots need matplotlib".
    extra : str
        The extra that brings the package.

    Raises
    ------
    MissingExtraError
        If it is not installed: `what`, and the line of pip that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(f"{what}; get it with: {install(extra)}") from None
