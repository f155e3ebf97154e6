"""What an experiment is, and what it leaves: targets, numbers, a sentence and a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from robosim.viz import Recorder


@dataclass(frozen=True)
class Target:
    """A number that ours must keep to.

    Attributes
    ----------
    what : str
        What is measured, with the conditions.
    measured, limit : float
    unit : str
        Of both; empty for a plain number.
    at_least : bool
        Whether the limit is the smallest value allowed rather than the largest.
    """

    what: str
    measured: float
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def reached(self) -> bool:
        """Whether it was kept to; a measurement that is not a number never is."""
        if self.at_least:
            return self.measured >= self.limit
        return self.measured <= self.limit

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the JSON file."""
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
    """How an experiment is to be run.

    Attributes
    ----------
    quick : bool
        Shorter runs and fewer points, for tests.
    mujoco : bool
        Whether MuJoCo is there and shall run beside ours.
    note : callable
        Told what is being run, in a few words.
    """

    quick: bool = False
    mujoco: bool = True
    note: Callable[[str], None] = field(default=lambda text: None)

    def choose(self, full: Any, quick: Any) -> Any:
        """The value for this length of run."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Result:
    """What a run of an experiment came to.

    Attributes
    ----------
    parameters, ours : mapping
        Numbers and strings, lists and mappings of them.
    peers : mapping of str to mapping
        ``mujoco_default`` and ``mujoco_best``, each with its ``settings``; empty without MuJoCo.
    targets : tuple of Target
        What ours must keep to.
    sentence : str
        What the run shows, made from the numbers.
    draw : callable(figure) or None
        Draws the picture; None where there is nothing to draw.
    record : callable() -> recording, or None
        Makes what NAME.html replays.
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
        """Whether every target was."""
        return all(target.reached for target in self.targets)


@dataclass(frozen=True)
class Experiment:
    """A figure of a paper, or a claim, that can be run again.

    Attributes
    ----------
    names : tuple of str
        The first is its own; the others are the same figure in another paper.
    title : str
        One line for a listing.
    claim : str
        What ours must show, in a sentence.
    run : callable(setup) -> Result
    """

    names: tuple[str, ...]
    title: str
    claim: str
    run: Callable[[Setup], Result]


def plain(value: Any) -> Any:
    """The value as JSON can hold it: numpy's numbers and arrays too, what is not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
