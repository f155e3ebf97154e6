"""Findings from measured values: one sentence each, with the number and what mends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robosim.referee.audit.measures import Key, Measured
from robosim.referee.audit.parting import (
    CHAOTIC,
    OTHER_START,
    Chaos,
    Mode,
    Parting,
    largest,
    parting,
)
from robosim.referee.audit.runs import Run
from robosim.referee.finding import Finding

Values = Mapping[Key, Measured]
STEP, SETTINGS, MODEL, CHAOS, READER = "time step", "settings", "model", "chaos", "reader"
"""Causes: what falls with the time step; what stays and settings mend; what is in all simulators;
what no simulator could foretell; what a reader of files has dropped."""
FALLS = 0.5
"""Part of a value that must fall from the time step to a quarter of it, to be blamed on it."""
_MENDED = 0.1
_SAYS = {
    "penetration": "{element} is {value} deep",
    "floating": "{element} is pushed across a gap of {value}",
    "slip": "{element} creeps by {value} where it should stick",
    "loops": "{element} is open by {value}",
    "limits": "joint {element} is {value} beyond its limit",
    "energy": "the energy is off by {value}",
    "friction": "joint {element} creeps by {value} where dry friction should hold it",
    "rest": "{element} shakes with {value} where it should rest",
    "spikes": "the force of {element} is {value}",
}


@dataclass(frozen=True)
class Tried:
    """A run at other settings, and what it measured.

    Attributes
    ----------
    told : str
        The settings, as they stand in a file, or what they are called.
    values : mapping of Key to Measured
    ended : str or None
    distance : (n,) [m] or None
        To robosim's motion.
    settings : str
        The settings, if `told` is only what they are called.
    """

    told: str
    values: Values
    ended: str | None
    distance: np.ndarray | None = None
    settings: str = ""

    @property
    def whole(self) -> str:
        """The settings, as they stand in a file."""
        return self.settings or self.told


def size(value: float, unit: str) -> str:
    """A value with its unit, in numbers that one reads."""
    if unit in ("m", "m/s"):
        value, unit = 1e3 * value, f"m{unit}"
    if unit.startswith("of "):
        value, unit = 100 * value, f"% {unit}"
    return f"{value:.{3 if abs(value) > 1e-2 else 1}g} {unit}"


def of_check(values: Values, check: str) -> list[tuple[Key, Measured]]:
    """All values of a check, the worst in its own threshold first."""
    found = [(key, one) for key, one in values.items() if key.check == check]
    return sorted(found, key=lambda item: -item[1].value / item[1].threshold)


def worst(values: Values, check: str, unit: str) -> float:
    """The largest value of a check in a unit, not below zero."""
    return max([one.value for key, one in of_check(values, check) if one.unit == unit] + [0.0])


def mending(
    check: str, first: Measured, tried: Sequence[Tried]
) -> tuple[Tried, float, bool] | None:
    """The mildest settings that mend a finding, what they leave, and whether that is enough."""
    best: tuple[Tried, float] | None = None
    for one in tried:
        if one.ended is not None:
            continue
        left = worst(one.values, check, first.unit)
        if left <= max(_MENDED * first.value, min(first.threshold, 0.5 * first.value)):
            return one, left, True
        if best is None or left < best[1]:
            best = one, left
    if best is None or best[1] > 0.8 * first.value:
        return None
    return *best, False


def of_values(
    name: str,
    file: Values,
    finer: Sequence[tuple[str, Values]],
    reference: Values,
    tried: Mapping[str, Sequence[Tried]],
    checks: Sequence[str],
    lost: Sequence[str],
) -> list[Finding]:
    """Findings about what one simulator does.

    Parameters
    ----------
    name : str
        Of the simulator.
    file : mapping of Key to Measured
        At the file's own settings.
    finer : sequence of (name, values)
        At shorter time steps.
    reference : mapping of Key to Measured
        Of robosim.
    tried : mapping of check to sequence of Tried
    checks : sequence of str
    lost : sequence of str
        What readers have dropped of the file.
    """
    found = []
    for check in checks:
        ranked = [item for item in of_check(file, check) if item[1].matters]
        if not ranked:
            continue
        key, first = ranked[0]
        numbers = {"file": first.value}
        for label, values in finer:
            numbers[label] = worst(values, check, first.unit)
        last = numbers[finer[-1][0]] if finer else float("nan")
        falls = max(0.0, 1.0 - last / first.value) if finer else float("nan")
        cause = STEP if falls >= FALLS else SETTINGS
        said = _SAYS[check].format(element=key.element, value=size(first.value, first.unit))
        parts = [f"in {name} {said}"]
        if len(ranked) > 1:
            parts[0] += f" (and {len(ranked) - 1} more)"
        mend, mended = mending(check, first, tried.get(check, ())), ""
        if mend is not None:
            one, left, enough = mend
            numbers["mended"] = left
            parts.append(f"{one.told} leaves {size(left, first.unit)}")
            mended = f"set {one.whole}" if enough else ""
        elif cause == SETTINGS and check == "energy" and lost:
            cause = READER
            parts.append(lost[0])
        has = any(k.check == check for k in reference)
        if has:
            own = worst(reference, check, first.unit)
            numbers["robosim"] = own
            parts.append(f"robosim has {size(own, first.unit)}")
            if own > 0.5 * first.value:
                cause = MODEL
        if finer:
            parts.append(_share(falls))
        text = "; ".join(parts)
        found.append(
            Finding(
                check,
                "note" if cause == MODEL else "warning",
                f"{key.element} in {name}",
                text[0].upper() + text[1:],
                mended,
                {name: said},
                first.value,
                first.unit,
                cause=cause,
                numbers=numbers,
            )
        )
    return found


def of_parting(
    name: str,
    part: Parting,
    finer: Sequence[tuple[str, np.ndarray]],
    tried: Sequence[Tried],
    unpredictable: Chaos | None,
    at: int,
    lost: Sequence[str],
) -> Finding:
    """The finding where the motion of a simulator and that of robosim part.

    Parameters
    ----------
    name : str
    part : Parting
    finer : sequence of (label, distances (n,))
        At shorter time steps.
    tried : sequence of Tried
    unpredictable : Chaos or None
    at : int
        The sample at which they part.
    lost : sequence of str
        What a reader has dropped.
    """
    numbers = {"file": part.distance}
    for label, distance in finer:
        numbers[label] = float(distance[min(at, len(distance) - 1)])
    last = numbers[finer[-1][0]] if finer else float("nan")
    falls = max(0.0, 1.0 - last / part.distance) if finer else 0.0
    cause = SETTINGS
    away = size(part.distance, "m")
    parts = [f"{name} and robosim part at {part.time:.3g} s: '{part.body}' is {away} away"]
    horizon = None if unpredictable is None else unpredictable.horizon
    if horizon is not None and horizon <= part.time:
        cause = CHAOS
        parts.append(f"no forecast holds beyond {horizon:.3g} s, as the motion is chaotic")
    elif falls >= FALLS:
        cause = STEP
    if part.contacts:
        parts.append(mode_text(part.contacts[0], name))
    best = None
    for one in tried:
        if one.ended is None and one.distance is not None and cause != CHAOS:
            left = float(one.distance[min(at, len(one.distance) - 1)])
            if left < _MENDED * part.distance:
                best = one
                numbers["mended"] = left
                parts.append(f"{one.told} leaves {size(left, 'm')} then")
                break
    grown = 0.0
    if unpredictable is not None and at < len(unpredictable.distance):
        grown = float(unpredictable.distance[: at + 1].max()) / OTHER_START
    if best is None and cause == SETTINGS and lost and not part.contacts:
        cause = READER
        parts.append(lost[0])
    elif best is None and cause != CHAOS and grown >= CHAOTIC:
        cause = CHAOS
        parts.append(f"until then small differences have grown {grown:.1g} times")
    if finer:
        parts.append(_share(falls))
    return Finding(
        "parting",
        "note" if cause == CHAOS else "warning",
        f"'{part.body}' in {name}",
        "; ".join(parts),
        "" if best is None else f"set {best.whole}",
        {},
        part.distance,
        "m",
        cause=cause,
        numbers=numbers,
    )


def _share(falls: float) -> str:
    share = f"{100 * falls:.0f} %" if falls > 0.005 else "none"
    return f"{share} of it is the time step's"


def of_log(
    logged: Run, runs: Sequence[tuple[str, Run]], apart: float, weight: float
) -> list[Finding]:
    """How long each simulator stays with the motion of a log."""
    found = []
    for title, run in runs:
        part = parting(logged, run, apart, weight)
        most = float(largest(logged, run).max(initial=0.0))
        if part is None:
            said = f"{title} stays with the log: at most {size(most, 'm')} away"
        else:
            away = size(part.distance, "m")
            said = f"{title} and the log part at {part.time:.3g} s: '{part.body}' is {away} away"
            said += f"; at most {size(most, 'm')}"
        found.append(Finding("log", "note", f"the log in {title}", said, value=most, unit="m"))
    return found


def mode_text(mode: Mode, name: str) -> str:
    """A contact that differs, in words."""
    from robosim.referee.audit.measures import pair_name

    ours, theirs = mode.modes
    verbs = {"open": "is open", "sticks": "sticks", "slides": "slides"}
    return (
        f"from {mode.time:.3g} s on, the contact of {pair_name(mode.pair)} {verbs[theirs]} in "
        f"{name} and {verbs[ours]} in robosim"
    )


def of_chaos(found: Chaos) -> Finding | None:
    """The note on a chaotic motion."""
    if found.horizon is None:
        return None
    tenfold = np.log(10.0) / found.rate
    return Finding(
        "chaos",
        "note",
        "the motion",
        f"The motion is chaotic or unstable: a start that differs by {OTHER_START:g} ends "
        f"{size(found.growth * OTHER_START, 'm')} away; errors grow tenfold in {tenfold:.2g} s, "
        f"and no forecast from a start that is known to 1 um holds beyond {found.horizon:.3g} s",
        "compare statistics of many runs, not single motions",
        {},
        found.horizon,
        "s",
        cause=CHAOS,
        numbers={"growth": found.growth, "rate_1_s": found.rate},
    )


def of_doubt(uncertain: float, unpredictable: Chaos | None) -> Finding:
    """The note that robosim's own motion is uncertain."""
    wild = unpredictable is not None and unpredictable.growth >= CHAOTIC
    why = ", as the motion is chaotic or unstable" if wild else ""
    said = f"robosim ends up to {size(uncertain, 'm')} away if it is ten times as accurate{why}"
    return Finding(
        "doubt",
        "note",
        "the motion in robosim",
        said,
        "do not read more into a parting" if wild else "",
        value=uncertain,
        unit="m",
        cause=CHAOS if wild else "",
    )


def of_divergence(
    name: str, ended: str, finer: Sequence[tuple[str, str | None]], tried: Sequence[Tried]
) -> Finding:
    """The finding that a simulator did not get to the end."""
    parts = [f"{name} diverges at the file's settings: {ended}"]
    mend = ""
    whole = [label for label, why in finer if why is None]
    for one in tried:
        if one.ended is None:
            mend = one.whole
            parts.append(f"{one.told} gets to the end")
            break
    if whole:
        parts.append(f"{whole[0]} gets to the end")
    elif finer:
        parts.append("shorter time steps do not help")
    return Finding(
        "diverged",
        "error",
        f"the run in {name}",
        "; ".join(parts),
        f"set {mend}" if mend else (f"take {whole[0]}" if whole else ""),
        {name: ended},
        cause=STEP if whole else SETTINGS,
    )
