"""The audit: one robot in robosim and in other simulators, and what differs, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robosim.description.mechanism import Mechanism
from robosim.errors import LoadError, ModelError, OptionError, RobosimError
from robosim.loaders import load
from robosim.loaders.sources import file_of
from robosim.loaders.texts import text_of
from robosim.referee.audit.adapters import PEERS, why_not
from robosim.referee.audit.files import NONE, Described, described
from robosim.referee.audit.judging import Judge, cannot_load
from robosim.referee.audit.report import page
from robosim.referee.audit.results import Results
from robosim.referee.audit.runs import (
    Opened,
)
from robosim.referee.audit.stage import Stage
from robosim.referee.audit.telling import to_dict
from robosim.referee.finding import Finding
from robosim.validation import check_choice, positive

if TYPE_CHECKING:
    from robosim.policies import Policy


TIMEOUT = 60.0
"""Longest time for a run in another simulator [s]."""


@dataclass(frozen=True, eq=False)
class Audit(Results):
    """What an audit has found; see `Results` for its attributes."""

    def to_dict(self) -> dict[str, Any]:
        """All values but the samples, ready for JSON."""
        return to_dict(self)

    def page(self) -> str:
        """A page with findings, tables, plots and a replay, as HTML that fetches nothing."""
        return page(self)


def audit(
    source: Any,
    *,
    seconds: float = 2.0,
    controller: Any = None,
    controls: Any = None,
    policy: Policy | None = None,
    log: str | Path | None = None,
    peers: Sequence[str] | None = None,
    timestep: float | None = None,
    q: Any = None,
    v: Any = None,
    pose: str | None = None,
    apart: float | None = None,
    timeout: float = TIMEOUT,
    robot: Mechanism | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Audit:
    """Run a robot in robosim and in other simulators; find what differs, and why.

    Parameters
    ----------
    source : str or path
        A model file, or a name as `robosim.load` takes it.
    seconds : float [s]
    controller : str, callable or None
        As `Simulation.run` takes it; its torques act on joints in all simulators, and are held
        over a time step of the file. None: the file's actuators hold the initial pose. A robot
        with a floating base and without such actuators stands.
    controls : (n, number of actuators) or (number of actuators,) or None
        Controls of the file's actuators at each time step of the file; the last row holds on.
    policy : robosim.policies.Policy or None
        A policy as the controller; the start is its own, and the time step its task's.
    log : path or None
        A log whose commands are replayed, from its first state if it has one. Columns are found
        by the names of robosim's own logs; see the guide.
    peers : sequence of str or None
        "mujoco", "drake", "pybullet", "newton"; None: those that are installed.
    timestep : float [s] or None
        None: the file's, or 2 ms.
    q, v : (nq,), (nv,) or None
        The start; None: the home pose, at rest.
    pose : str or None
        A named pose for the start, with the controls of its keyframe.
    apart : float [m] or None
        Distance of a body from which on motions have parted; None: 1 cm, less for small robots.
    timeout : float [s]
        Longest time of a run in another simulator.
    robot : Mechanism or None
        The robot in robosim; None: as `robosim.load` loads the source.
    tell : callable(text)
        Is told what is being done.

    Returns
    -------
    Audit

    Raises
    ------
    OptionError
        For an unknown peer, or options that contradict each other.
    ModelError
        For a file that neither robosim nor any of the peers can load.
    ControllerError
        For a controller that cannot be resolved, or a policy that observes contact forces. One
        that raises ends its run only.
    LogError
        For a log of another robot, or without commands.
    """
    positive("seconds", seconds)
    positive("timeout", timeout)
    for name in peers or ():
        check_choice("peer", name, tuple(PEERS))
    drives = {"controller": controller, "controls": controls, "policy": policy, "log": log}
    drives = {name: one for name, one in drives.items() if one is not None}
    if len(drives) > 1:
        raise OptionError(f"an audit takes one of {', '.join(drives)}, not several")
    chosen = [name for name in PEERS if why_not(name) is None] if peers is None else list(peers)
    missing = tuple(str(why_not(name)) for name in PEERS if peers is None and why_not(name))
    findings: list[Finding] = []
    refusal: RobosimError | None = None
    if robot is None:
        tell("loading the robot")
        try:
            robot = load(source)
        except ModelError as error:
            if not path_of(source, robot).is_file():
                raise
            refusal = error
            findings.append(cannot_load("robosim", str(error)))
    path = path_of(source, robot)
    said = described(path) if path.is_file() else Described(NONE)
    step = said.timestep if timestep is None else positive("timestep", timestep)
    if policy is not None and timestep is None:
        step = policy.task.timestep
    stage = Stage(source, path, said, robot, seconds, step, timeout, tell)
    if robot is not None:
        if log is not None:
            stage.replay(log, q, v, pose)
        elif policy is not None:
            stage.follow(policy, q, v, pose)
        else:
            stage.start(q, v, pose)
            stage.control(controller, controls, pose)
    elif drives or q is not None or v is not None or pose is not None:
        raise OptionError("robosim cannot load the file, so there is no start or controller for it")
    found = Judge(stage, findings, apart).results(chosen)
    if refusal is not None and not any(isinstance(one.opened, Opened) for one in found.peers):
        raise refusal
    known = {one.name: getattr(found, one.name) for one in fields(found)}
    return Audit(**{**known, "missing": missing})


def path_of(source: Any, robot: Mechanism | None) -> Path:
    """The model file of a source; the working directory, which is no file, if it has none."""
    if robot is not None and robot.source:
        return Path(robot.source)
    if text_of(source) is None:
        with suppress(LoadError):
            return file_of(source) or Path()
    return Path()
