"""Findings in sections: those of one check and severity together, as terminal and page show them.

Elements of which the same sentence is true share a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from robosim.referee.finding import Finding, Severity, by_severity

MOST_NAMES = 6  # that a row lists
PLURALS = {"body": "bodies", "joint": "joints", "link": "links"}


@dataclass(frozen=True)
class Row:
    """Elements of which one sentence is true.

    Attributes
    ----------
    elements : str
    lines : str
        Where they are in their file, such as "line 12"; empty if nowhere.
    said : str
    """

    elements: str
    lines: str
    said: str


@dataclass(frozen=True)
class Section:
    """The findings of one check.

    Attributes
    ----------
    check : str
    severity : Severity
    rows : tuple of Row
    effects : mapping of library to str
        What each does; empty if an earlier section of the check has said so.
    mends : tuple of str
    """

    check: str
    severity: Severity
    rows: tuple[Row, ...]
    effects: Mapping[str, str]
    mends: tuple[str, ...]


def sections(findings: Iterable[Finding], file: str | None = None) -> list[Section]:
    """Findings by severity and check; the name of `file` is left out of rows."""
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for one in by_severity(findings):
        groups.setdefault((one.severity, one.check), []).append(one)
    found, told = [], set()
    for (severity, check), ones in groups.items():
        same: dict[str, list[Finding]] = {}
        for one in ones:
            same.setdefault(one.said, []).append(one)
        rows = tuple(
            Row(_elements(alike), _lines(alike, file), said) for said, alike in same.items()
        )
        effects = {} if check in told else ones[0].effects
        told.add(check)
        mends = tuple(dict.fromkeys(one.mend for one in ones if one.mend))
        found.append(Section(check, severity, rows, effects, mends))
    return found


def _elements(ones: list[Finding]) -> str:
    """The elements, with the word for their kind once."""
    shown = [one.element for one in ones[:MOST_NAMES]]
    parted = [element.partition(" '") for element in shown]
    words = {word for word, quote, _ in parted if quote and " " not in word}
    words -= set(PLURALS.values())  # pairs
    if len(shown) > 1 and len(words) == 1 and all(quote for _, quote, _ in parted):
        word = words.pop()
        names = ", ".join(f"'{rest}" for _, _, rest in parted)
        listed = f"{PLURALS.get(word, f'{word}s')} {names}"
    else:
        listed = "; ".join(shown)
    more = len(ones) - len(shown)
    return f"{listed} and {more} more" if more else listed


def _lines(ones: list[Finding], file: str | None) -> str:
    lines: list[str] = []
    for one in ones[:MOST_NAMES]:
        if one.line is None:
            continue
        if one.file is not None and one.file != file:
            lines.append(f"{Path(one.file).name}:{one.line}")
        else:
            lines.append(str(one.line))
    if not lines:
        return ""
    lines = list(dict.fromkeys(lines))
    more = ", ..." if len(ones) > MOST_NAMES else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {', '.join(lines)}{more}"
