"""All checks of a model, and what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from robosim import loaders
from robosim.description.mechanism import Mechanism
from robosim.errors import LoadError, ModelError, OptionError, known
from robosim.loaders.sources import file_of
from robosim.loaders.texts import text_of
from robosim.referee.doctor import (
    collisions,
    joints,
    libraries,
    loops,
    masses,
    stiffness,
    symmetry,
    text,
    told,
)
from robosim.referee.doctor.case import Case
from robosim.referee.doctor.document import Document
from robosim.referee.finding import SEVERITIES, Finding, Severity, at_least, by_severity


class Check(NamedTuple):
    """A check: its name, what it looks for, and whether it needs a robot that can be loaded."""

    name: str
    what: str
    find: Callable[[Case], Iterator[Finding]]
    needs_robot: bool = True


CHECKS = (
    Check("names", "names that occur twice", text.names, False),
    Check("axes", "axes of joints that are no unit vectors", text.axes, False),
    Check("mimics", "mimic joints, which libraries read differently", text.mimics, False),
    Check("base", "a base that other libraries fix", text.base),
    Check("loader", "what is ignored, repaired or guessed", told.loader_warnings),
    Check("shapes", "masses and inertias that do not fit the shapes", masses.shapes),
    Check("neighbours", "neighbours of very different masses", masses.neighbours),
    Check("no-collision", "bodies that are drawn and touch nothing", collisions.missing),
    Check("hulls", "collision meshes far from their hulls", collisions.fit),
    Check("overlaps", "bodies that overlap at home or at a limit", collisions.overlaps),
    Check("limits", "limits without the start, or in degrees", joints.limits),
    Check("efforts", "motors without effort, or with too much", joints.efforts),
    Check("damping", "damping, friction and rotors out of proportion", joints.damping),
    Check("timestep", "time steps too long for motors and springs", stiffness.motors),
    Check("solref", "contacts faster than two time steps", stiffness.contacts),
    Check("loops", "loops that do not close", loops.closed),
    Check("symmetry", "left and right that differ", symmetry.sides),
    Check("libraries", "what MuJoCo and Pinocchio make of the file", libraries.readers, False),
)
"""All checks, in the order in which they run."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is wrong with a model.

    Attributes
    ----------
    model : str
        The name or path that was asked for, or what it is if it is no file.
    file : str or None
        The file of the model.
    robot : Mechanism or None
        None if the file cannot be loaded; an error among the findings says why.
    findings : tuple of Finding
        The most severe first.
    checks : tuple of str
        Names of the checks that ran.
    """

    model: str
    file: str | None
    robot: Mechanism | None
    findings: tuple[Finding, ...]
    checks: tuple[str, ...]

    def count(self, severity: Severity) -> int:
        """Number of findings of a severity."""
        return sum(one.severity == severity for one in self.findings)

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """Findings that are as severe as `severity`, or more."""
        return at_least(self.findings, severity)

    def to_dict(self) -> dict[str, Any]:
        """All findings, ready for JSON."""
        return {
            "model": self.model,
            "file": self.file,
            "loaded": self.robot is not None,
            "checks": list(self.checks),
            "counts": {severity: self.count(severity) for severity in SEVERITIES},
            "findings": [one.to_dict() for one in self.findings],
        }


def diagnose(
    model: Any,
    *,
    skip: Iterable[str] = (),
    advance: Callable[[str], None] = lambda name: None,
    load: Callable[[], Mechanism] | None = None,
    **options: Any,
) -> Diagnosis:
    """Look for what is wrong with a model, before any step.

    Parameters
    ----------
    model : str, path or object
        As for `robosim.load`.
    skip : names of checks
        See `CHECKS`.
    advance : callable(name of a check)
        Called before each check, and before loading.
    load : callable() or None
        Loads the model; None: `robosim.load` with the options.
    **options
        Those of `robosim.load`.

    Raises
    ------
    OptionError
        For the name of a check that does not exist.
    LoadError
        If there is no such model. A file that exists and cannot be loaded is a finding.
    """
    names = [check.name for check in CHECKS]
    left_out = set(skip)
    for name in left_out:
        if name not in names:
            raise OptionError(f"there is no check '{name}' ({known(name, names)})")
    advance("load")
    path: Path | None = None
    source = text_of(model)
    if source is None:
        with suppress(LoadError):
            path = file_of(model)
    findings: list[Finding] = []
    robot = None
    try:
        robot = loaders.load(model, **options) if load is None else load()
    except (LoadError, ModelError) as error:
        if path is None or not path.is_file():
            raise
        findings.append(
            Finding(
                "load",
                "error",
                error.element or "the file",
                f"cannot be loaded: {error.reason}",
                "mend the file",
                file=str(error.file or path),
                line=error.line,
            )
        )
    if robot is not None and robot.source is not None:
        path = Path(robot.source)
    case = Case(robot, Document(path, None if source is None else source.data))
    done = []
    for check in CHECKS:
        if check.name in left_out or (check.needs_robot and robot is None):
            continue
        advance(check.name)
        findings += check.find(case)
        done.append(check.name)
    file = None if path is None else str(path)
    name = str(model) if source is None else source.whose
    return Diagnosis(name, file, robot, by_severity(findings), tuple(done))
