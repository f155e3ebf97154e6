"""An audit in words: tables for the terminal and a page, and its JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from robosim.referee.audit.measures import CHECKS, Key, Measured
from robosim.referee.audit.runs import Failed, Opened, Run
from robosim.referee.audit.verdicts import of_check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from robosim.referee.audit.results import Judged, Results

Row = tuple[str, tuple[str, ...]]
WORDS = {
    "penetration": "penetration",
    "floating": "gap across which bodies push",
    "slip": "creep where contacts stick",
    "loops": "opening of loops",
    "limits": "beyond limits",
    "energy": "energy off",
    "friction": "creep under dry friction",
    "rest": "shaking at rest",
    "spikes": "forces, over robosim's",
}
_UNITS = {"m": ("mm", 1e3), "m/s": ("mm/s", 1e3), "of the kinetic energy": ("%", 100.0)}


def _cell(values: Mapping[Key, Measured], check: str, unit: str) -> str:
    """The largest value of a check in a unit, without the unit; empty if there is none."""
    found = [one.value for key, one in of_check(values, check) if one.unit == unit]
    if not found:
        return ""
    value = max(0.0, *found) * _UNITS.get(unit, (unit, 1.0))[1]
    return f"{value:.{3 if value > 1e-2 else 1}g}"


def columns(judged: Judged) -> list[str]:
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


def rows(found: Results, judged: Judged) -> list[Row]:
    """A row for each check that has values."""
    made = []
    for check in CHECKS:
        units = {one.unit for values in judged.values for key, one in of_check(values, check)}
        for unit in sorted(units):
            texts = [_cell(values, check, unit) for values in (found.values, *judged.values)]
            shown = "" if unit == "times robosim's" else f" [{_UNITS.get(unit, (unit, 1.0))[0]}]"
            made.append((f"{WORDS[check]}{shown}", tuple(texts)))
    ends = ("", *(_end(run) for run in judged.runs))
    if any(ends):
        made.append(("ended early", ends))
    return made


def _end(run: Run | Failed) -> str:
    if isinstance(run, Failed):
        return run.how
    if run.ended is None:
        return ""
    return f"at {run.t[-1]:.3g} s" if len(run) else "at once"


def to_dict(found: Results) -> dict[str, Any]:
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
        else {
            "settings": found.reference.told,
            "uncertain_m": found.uncertain,
            "values": _values(found.values),
        },
        "chaos": None
        if chaos is None
        else {"growth": chaos.growth, "rate_1_s": chaos.rate, "horizon_s": chaos.horizon},
        "peers": [_peer(one) for one in found.peers],
        "missing": list(found.missing),
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
