"""Names for elements without one, different from all existing names."""

from __future__ import annotations

from collections.abc import Container


def free_name(wanted: str, taken: Container[str]) -> str:
    """`wanted`, followed by as many underscores as are needed to differ from `taken` names."""
    while wanted in taken:
        wanted += "_"
    return wanted
