"""Experiments and their results: numbers, a summary and a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from robosim.measuring.target import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robosim.viz import Recorder


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
