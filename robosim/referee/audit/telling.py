"""An audit in words: tables for the terminal and a page, and its JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from robosim.referee.audit.measures import CHECKS, Key, Measured
from robosim.referee.audit.runs import Failed, Opened, Run
from robosim.referee.audit.verdicts import of_check, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from robosim.referee.audit.auditing import Audit, Judged

Row = tuple[str, tuple[str, ...]]
WORDS = {
    "penetration": "penetration",
    "floating": "gap of contacts that push",
    "slip": "creep of contacts that stick",
    "loops": "opening of loops",
    "limits": "beyond limits",
    "energy": "energy off",
    "friction": "creep against dry friction",
    "rest": "shaking at rest",
    "spikes": "spikes of force",
}


def told(values: Mapping[Key, Measured], check: str) -> str:
    """The worst value of a check; empty without one."""
    ranked = of_check(values, check)
    if not ranked:
        return ""
    one = ranked[0][1]
    return size(max(one.value, 0.0), one.unit.removeprefix("of the kinetic energy") and one.unit)


def columns(found: Audit, judged: Judged) -> list[str]:
    """Heads of the table of one simulator."""
    return ["robosim", *(_head(run) for run in judged.runs)]


def _head(run: Run | Failed) -> str:
    label = run.label if isinstance(run, Failed) else run.job.label
    return {
        "the file's settings": "file",
        "half the time step": "dt / 2",
        "a quarter of the time step": "dt / 4",
        "the best settings known": "best",
    }.get(label, label)


def rows(found: Audit, judged: Judged) -> list[Row]:
    """A row for each check that has values."""
    made = []
    for check in CHECKS:
        texts = (told(found.values, check), *(told(values, check) for values in judged.values))
        if any(texts[1:]):
            made.append((WORDS[check], tuple(text.replace(" of the kinetic energy", "") for text in texts)))
    ends = ("", *(_end(run) for run in judged.runs))
    if any(ends):
        made.append(("ended early", ends))
    return made


def _end(run: Run | Failed) -> str:
    if isinstance(run, Failed):
        return run.how
    return "" if run.ended is None else f"at {run.t[-1]:.3g} s"


def to_dict(found: Audit) -> dict[str, Any]:
    """All values but the samples, ready for JSON."""
    chaos = found.chaos
    return {
        "robot": found.source if found.robot is None else found.robot.name,
        "file": found.source,
        "seconds": found.seconds,
        "timestep_s": found.timestep,
        "control": found.control,
        "apart_m": found.scales.apart,
        "robosim": None
        if found.reference is None
        else {"settings": found.reference.told, "values": _values(found.values)},
        "chaos": None
        if chaos is None
        else {"growth": chaos.growth, "rate_1_s": chaos.rate, "horizon_s": chaos.horizon},
        "peers": [_peer(one) for one in found.peers],
        "findings": [one.to_dict() for one in found.findings],
    }


def _values(values: Mapping[Key, Measured]) -> list[dict[str, Any]]:
    return [
        {
            "check": key.check,
            "element": key.element,
            "value": one.value,
            "unit": one.unit,
            "time_s": one.time,
        }
        for key, one in values.items()
        if one.value == one.value and abs(one.value) != float("inf")
    ]


def _peer(judged: Judged) -> dict[str, Any]:
    opened = judged.opened
    part = judged.parting
    return {
        "name": judged.name,
        "version": opened.version if isinstance(opened, Opened) else None,
        "loaded": judged.how,
        "failed": opened.why if isinstance(opened, Failed) else None,
        "parting": None if part is None else asdict(part),
        "runs": [
            {
                "label": run.label if isinstance(run, Failed) else run.job.label,
                "timestep_s": None if isinstance(run, Failed) else run.job.timestep,
                "settings": None if isinstance(run, Failed) else run.told,
                "failed": run.why if isinstance(run, Failed) else run.ended,
                "values": _values(values),
            }
            for run, values in zip(judged.runs, judged.values, strict=True)
        ],
    }
