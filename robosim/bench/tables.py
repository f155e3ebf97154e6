"""The numbers of a run as tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TIMES = "cpu_us", "cpu_us_min", "cpu_us_max", "wall_us"
HEADS = "CPU us", "least", "most", "wall us"


def markdown(told: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown text with a section for each case, from the results of `to_dict`."""
    parts = ["# Benchmarks", *(_machine(case) for case in told[:1])]
    for case in told:
        quick = ", a quick run" if case["quick"] else ""
        parts += [f"## {case['name']}: {case['title']}{quick}", _table(case["rows"])]
        if case["targets"]:
            parts.append("\n".join(f"- {_told_target(target)}" for target in case["targets"]))
    return "\n\n".join(parts) + "\n"


def _machine(case: Mapping[str, Any]) -> str:
    machine = case["machine"]
    used = {"robosim": machine["robosim"], "Python": machine["python"], **machine["peers"]}
    versions = [f"{name} {version}" for name, version in used.items() if version]
    return (
        f"{', '.join(versions)}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['system']}. CPU time of a step of the whole process: median, least and most of "
        "the repetitions, and the wall time."
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    sized = any(row["size"] for row in rows)
    names = [*(["n"] if sized else []), "who", "settings", *HEADS, "errors", ""]
    lines = [names, ["---:" if name in ("n", *HEADS) else "---" for name in names]]
    for row in rows:
        errors, more = named(row["errors"], 3), [*named(row["figures"], 3), row["note"]]
        size = [str(row["size"] or "")] if sized else []
        told = [*size, row["who"], row["settings"], *times(row)]
        told += [", ".join(errors), "; ".join(filter(None, more))]
        lines.append([cell.replace("|", "\\|") for cell in told])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def times(told: Mapping[str, Any]) -> list[str]:
    """The entries below `HEADS`; empty for a row without times."""
    return [f"{told[key]:.3g}" if key in told else "" for key in TIMES]


def named(values: Mapping[str, float | None], digits: int) -> list[str]:
    """Each value after its name."""
    return [f"{name} {_number(value, digits)}" for name, value in values.items()]


def _number(value: float | None, digits: int) -> str:
    return "not finite" if value is None else f"{value:.{digits}g}"


def _told_target(target: Mapping[str, Any]) -> str:
    unit = f" {target['unit']}" if target["unit"] else ""
    how = "reached" if target["reached"] else "missed"
    return (
        f"{target['what']}: {_number(target['measured'], 3)}{unit} "
        f"({target['sense']} {target['limit']:g}{unit}: {how})"
    )
