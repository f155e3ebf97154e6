"""A finding about a model or a run: what is wrong, how much, who says so, and how to mend it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From the most to the least severe."""


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes
    ----------
    check : str
        Name of the check, as in ``--skip``.
    severity : "error", "warning" or "note"
        An error makes a simulation wrong or impossible. A warning makes it doubtful. A note is
        what one should know.
    element : str
        What is at fault, such as "link 'trunk'".
    said : str
        One sentence, with the number.
    mend : str
        What to do.
    effects : mapping of library to str
        What each library does with the fault.
    value : float or None
        The number by which findings of one check are compared; larger is worse.
    unit : str
        Of `value`.
    file : str or None
    line : int or None
        From 1.
    cause : str
        Of a finding about a motion: whose fault it is.
    numbers : mapping of str to float
        Further values, such as those at other settings, in the same unit.
    """

    check: str
    severity: Severity
    element: str
    said: str
    mend: str = ""
    effects: Mapping[str, str] = field(default_factory=dict)
    value: float | None = None
    unit: str = ""
    file: str | None = None
    line: int | None = None
    cause: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """All values, ready for JSON."""
        return {
            "check": self.check,
            "severity": self.severity,
            "element": self.element,
            "said": self.said,
            "mend": self.mend,
            "effects": dict(self.effects),
            "value": self.value,
            "unit": self.unit,
            "file": self.file,
            "line": self.line,
            "cause": self.cause,
            "numbers": dict(self.numbers),
        }


def by_severity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings, the most severe first; those of one check together, the worst first."""
    ranked = list(findings)
    first: dict[str, int] = {}
    for one in ranked:
        first[one.check] = min(first.get(one.check, 9), SEVERITIES.index(one.severity))
    return tuple(
        sorted(
            ranked,
            key=lambda one: (
                SEVERITIES.index(one.severity),
                first[one.check],
                one.check,
                -(one.value or 0.0),
                one.line or 0,
            ),
        )
    )


def at_least(findings: Iterable[Finding], severity: Severity) -> tuple[Finding, ...]:
    """Those findings that are as severe as `severity`, or more."""
    allowed = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return tuple(one for one in findings if one.severity in allowed)
