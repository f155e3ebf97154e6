"""Experiments and their results: targets, numbers, a summary and a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robosim.viz import Recorder


@dataclass(frozen=True)
class Target:
    """A limit for a measured number of robosim.

    Attributes
    ----------
    what : str
        What is measured, with the conditions.
    measured, limit : float
    unit : str
        Unit of both; empty for a plain number.
    at_least : bool
        Whether the limit is the smallest allowed value instead of the largest.
    full_only : bool
        Whether only a full run can be expected to reach the limit, such as one that has the time
        to learn.
    quick : bool
        Whether the run was a quick one; set by `Experiment.judged`.
    """

    what: str
    measured: float
    limit: float
    unit: str = ""
    at_least: bool = False
    full_only: bool = False
    quick: bool = False

    @property
    def reached(self) -> bool | None:
        """Whether the measured number is within the limit; NaN never is.

        None if the run was quick, and cannot be judged by this target.
        """
        if self.full_only and self.quick and not math.isnan(self.measured):
            return None
        if self.at_least:
            return self.measured >= self.limit
        return self.measured <= self.limit

    def to_dict(self) -> dict[str, Any]:
        """The target in the form of the JSON file."""
        return {
            "what": self.what,
            "sense": "at least" if self.at_least else "at most",
            "limit": self.limit,
            "measured": self.measured,
            "unit": self.unit,
            "reached": self.reached,
        }


@dataclass(frozen=True)
class Setup:
    """Options of a run of an experiment.

    Attributes
    ----------
    quick : bool
        Shorter runs and fewer points, for tests.
    mujoco : bool
        Whether MuJoCo is installed, and runs beside robosim.
    note : callable(str)
        Called with a short text about the present part of the run.
    """

    quick: bool = False
    mujoco: bool = True
    note: Callable[[str], None] = field(default=lambda text: None)

    def choose(self, full: Any, quick: Any) -> Any:
        """One of two values: for a full run, or for a quick one."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Result:
    """The result of an experiment.

    Attributes
    ----------
    parameters, ours : mapping
        Parameters, and results of robosim: numbers and strings, lists and mappings of these.
    peers : mapping of str to mapping
        Results of ``mujoco_default`` and ``mujoco_best``, each with its ``settings``; empty without
        MuJoCo.
    targets : tuple of Target
        Limits for results of robosim.
    sentence : str
        A summary with the main numbers.
    draw : callable(figure) or None
        Draws the picture; None: there is none.
    record : callable() -> Recorder, or None
        Makes the recording for NAME.html.
    """

    parameters: Mapping[str, Any]
    ours: Mapping[str, Any]
    peers: Mapping[str, Mapping[str, Any]]
    targets: tuple[Target, ...]
    sentence: str
    draw: Callable[[Figure], None] | None = None
    record: Callable[[], Recorder] | None = None

    @property
    def reached(self) -> bool:
        """Whether no target is missed."""
        return all(target.reached is not False for target in self.targets)


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper, or a claim, that can be reproduced.

    Attributes
    ----------
    names : tuple of str
        The experiment's name, then names of the same figure in other papers.
    title : str
        One line for a list of experiments.
    claim : str
        The expected result of robosim, in a sentence.
    run : callable(setup) -> Result
    """

    names: tuple[str, ...]
    title: str
    claim: str
    run: Callable[[Setup], Result]

    def judged(self, setup: Setup) -> Result:
        """Run the experiment; targets know whether the run was quick."""
        result = self.run(setup)
        targets = tuple(replace(target, quick=setup.quick) for target in result.targets)
        return replace(result, targets=targets)


def plain(value: Any) -> Any:
    """A value for JSON: numpy's numbers and arrays are converted; NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
