"""Files of keys and values: YAML, JSON and TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from robosim import safe_xml
from robosim.errors import LoadError
from robosim.loaders import plain_yaml

_LARGEST = 1 << 20


def read_mapping(file: Path) -> dict[str, Any]:
    """The keys and values of a file whose ending is one of `READERS`.

    Raises
    ------
    LoadError
        If the file is missing, too large, malformed, or no mapping with keys that are texts.
    """
    said = READERS[file.suffix.lower()](file)
    if not isinstance(said, Mapping) or not all(isinstance(key, str) for key in said):
        raise LoadError("must be a mapping of keys to values", file=file)
    return dict(said)


def _text(file: Path) -> str:
    try:
        return safe_xml.read_bytes(file, largest=_LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise LoadError(f"is not UTF-8: {error.reason}", file=file) from None


def _read_json(file: Path) -> Any:
    try:
        return json.loads(_text(file))
    except (ValueError, RecursionError) as error:
        raise LoadError(f"malformed JSON: {error}", file=file) from None


def _read_toml(file: Path) -> Any:
    try:
        return tomllib.loads(_text(file))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise LoadError(f"malformed TOML: {error}", file=file) from None


READERS: dict[str, Callable[[Path], Any]] = {
    ".yaml": plain_yaml.read,
    ".yml": plain_yaml.read,
    ".json": _read_json,
    ".toml": _read_toml,
}
