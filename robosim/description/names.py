"""Names for what has none: they step aside for all names that there are."""

from __future__ import annotations

from collections.abc import Container


def free_name(wanted: str, taken: Container[str]) -> str:
    """`wanted`, with as many underscores behind it as it takes for it not to be `taken`."""
    while wanted in taken:
        wanted += "_"
    return wanted
