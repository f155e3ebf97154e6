"""What an audit returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robosim.description.mechanism import Mechanism
from robosim.referee.audit.measures import Key, Measured, Scales
from robosim.referee.audit.parting import (
    Chaos,
    Parting,
)
from robosim.referee.audit.runs import (
    Failed,
    Opened,
    Run,
)
from robosim.referee.finding import Finding


@dataclass(frozen=True, eq=False)
class Judged:
    """One simulator in an audit.

    Attributes
    ----------
    name : str
        Of `PEERS`.
    title : str
        With its version.
    how : str
        What it has loaded.
    opened : Opened or Failed
    runs : tuple of Run or Failed
        At the file's settings, at shorter time steps, at the best settings known, and at others.
    values : tuple of mapping
        The measured values of each run.
    parting : Parting or None
    """

    name: str
    title: str
    how: str
    opened: Opened | Failed
    runs: tuple[Run | Failed, ...] = ()
    values: tuple[Mapping[Key, Measured], ...] = ()
    parting: Parting | None = None

    @property
    def run(self) -> Run | None:
        """The run at the file's settings; None if it failed."""
        first = self.runs[0] if self.runs else None
        return first if isinstance(first, Run) else None


@dataclass(frozen=True, eq=False)
class Results:
    """What an audit has found.

    Attributes
    ----------
    source : str
        The robot's file or name.
    robot : Mechanism or None
        In robosim; None if that cannot load the file.
    seconds, timestep : float [s]
    control : str
        What controls the robot, in words.
    reference : Run or None
        The run in robosim.
    values : mapping of Key to Measured
        Of the reference.
    chaos : Chaos or None
    peers : tuple of Judged
    logged : Run or None
        The motion of the log whose commands are replayed.
    scales : Scales
    findings : tuple of Finding
        The most severe first.
    missing : tuple of str
        Simulators that were not asked for and are not installed, and how to get each.
    uncertain : float or None [m]
        Largest distance of a body in robosim from a run that is ten times as accurate.
    """

    source: str
    robot: Mechanism | None
    seconds: float
    timestep: float
    control: str
    reference: Run | None
    values: Mapping[Key, Measured]
    chaos: Chaos | None
    peers: tuple[Judged, ...]
    logged: Run | None
    scales: Scales
    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
    uncertain: float | None = None
