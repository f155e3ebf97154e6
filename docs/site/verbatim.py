"""Docstrings' types as they are written: ``(3,) [m/s^2], world`` is no expression."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Verbatim(griffe.Extension):
    """Keeps the text of a parameter's or attribute's type, which griffe takes for Python."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Of an object that has been collected, with all that its docstring says."""
        if obj.docstring is None:
            return
        written = _types(obj.docstring.value)
        sections = obj.docstring.parse("numpy")
        for section in sections:
            if section.kind.value in ("parameters", "other parameters", "attributes"):
                for item in section.value:
                    if item.name in written:
                        item.annotation = written[item.name]
        obj.docstring.__dict__["parsed"] = sections


def _types(text: str) -> dict[str, str]:
    """Each name with the text behind its colon; several may share a line."""
    found: dict[str, str] = {}
    for line in re.findall(r"^[\w*]+(?:, [\w*]+)* : .+$", text, re.M):
        names, _, told = line.partition(" : ")
        # "x : (3,) [m], v : (3,) [m/s]" is two names on a line.
        if " : " not in told:
            written = told.replace("`", "")
            found |= dict.fromkeys((name.strip("*") for name in names.split(", ")), written)
    return found
