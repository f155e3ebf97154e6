"""What MuJoCo and Pinocchio make of the file, where they are installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from robosim.referee.doctor.case import Case, moving
from robosim.referee.doctor.effects import MUJOCO, PINOCCHIO
from robosim.referee.finding import Finding

PROGRAM = (sys.executable, "-m", "robosim.referee.doctor.in_library")
SECONDS = 60.0  # that a library may take
# Module, name, and distributions that may have it.
LIBRARIES = (
    ("mujoco", MUJOCO, ("mujoco", "mujoco-core")),
    ("pinocchio", PINOCCHIO, ("pin", "pinocchio")),
)
DIFFERENT = 1e-6  # relative, of masses


def readers(case: Case) -> Iterator[Finding]:
    """Libraries that refuse the file, or make another robot of it."""
    document = case.document
    if document.path is None or not document.kind:
        return
    floating = case.robot is not None and case.robot.floating_base
    for module, name, distributions in LIBRARIES:
        if importlib.util.find_spec(module) is None:
            continue
        label = f"{name} {_version(distributions)}".strip()
        told = _told(module, str(document.path), document.kind, floating)
        if "error" in told:
            # Pinocchio's errors begin with a place in its own source.
            text = told["error"].rpartition("message:\n")[2]
            lines = [line for line in text.splitlines() if line.strip()]
            yield _finding(
                case, "warning", label, f"does not load the file: {'; '.join(lines[:3])}"
            )
        elif case.robot is not None:
            yield from _compared(case, label, told)


def _compared(case: Case, label: str, told: dict[str, Any]) -> Iterator[Finding]:
    robot = case.model
    if told["nv"] != robot.nv:
        said = f"makes {told['nv']} degrees of freedom of it, and robosim {robot.nv}"
        if case.document.kind == "urdf" and robot.nv - told["nv"] == 6 and robot.floating_base:
            said += ": it fixes the base"
        yield _finding(case, "note", label, said)
        return
    mass = sum(body.mass for body in moving(case))
    if abs(told["mass"] - mass) > DIFFERENT * max(mass, told["mass"]):
        said = f"makes {told['mass']:.6g} kg of what moves, and robosim {mass:.6g} kg"
        yield _finding(case, "note", label, said)


def _finding(case: Case, severity: Any, label: str, said: str) -> Finding:
    path = case.document.path
    mend = "robosim convert writes a file that it loads" if severity == "warning" else ""
    file = None if path is None else str(path)
    return Finding("libraries", severity, label, said, mend, file=file)


def _version(distributions: tuple[str, ...]) -> str:
    for name in distributions:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def _told(module: str, file: str, kind: str, floating: bool) -> dict[str, Any]:
    """What a process that loads the file prints, or why it does not."""
    try:
        done = subprocess.run(
            [*PROGRAM, module, file, kind, "floating" if floating else "fixed"],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"it takes longer than {SECONDS:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        try:
            told = json.loads(lines[-1])
        except json.JSONDecodeError:
            told = None
        if isinstance(told, dict):
            return told
    if done.returncode < 0:
        return {"error": f"it crashes, by signal {-done.returncode}"}
    last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
    return {"error": last[0]}
