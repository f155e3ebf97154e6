"""Plain YAML: without tags, anchors and aliases, by which a small file could become large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from robosim import safe_xml
from robosim.errors import LoadError

_LARGEST = 1 << 20


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Composes nodes, and refuses constructs by which a small file could become large."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(None, None, "anchors and aliases are not read",
                                       event.start_mark)  # fmt: skip
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.MarkedYAMLError(None, None, f"key '{key.value}' is used twice",
                                           key.start_mark)  # fmt: skip
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def compose(path: Path) -> Any:
    """The node at the root of a file, with the lines of all nodes; None for an empty file.

    Raises
    ------
    LoadError
        For a file that cannot be read, and malformed YAML, with file and line.
    """
    return _parsed(path, yaml.compose)


def read(path: Path) -> Any:
    """The content of a file: numbers, words, lists and mappings.

    Raises
    ------
    LoadError
        As `compose`.
    """
    return _parsed(path, yaml.load)


def _parsed(path: Path, parse: Any) -> Any:
    try:
        return parse(
            safe_xml.read_bytes(path, largest=_LARGEST).decode("utf-8"), Loader=PlainLoader
        )
    except UnicodeDecodeError as error:
        raise LoadError(f"is not UTF-8: {error.reason}", file=path) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or str(error)
        raise LoadError(f"malformed YAML: {problem}", file=path, line=line) from None
    except ValueError as error:  # of a word that looks like a date
        raise LoadError(f"malformed YAML: {error}", file=path) from None
    except RecursionError:
        raise LoadError("malformed YAML: nested too deeply", file=path) from None
