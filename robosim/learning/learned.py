"""What a search for a gait has found, as numbers, a file and a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from robosim.errors import LoadError, SaveError
from robosim.simulation.gaits import PARAMETERS
from robosim.validation import Array
from robosim.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "robosim gait"


class Walked(Protocol):
    """What is kept of how gaits walked, of all draws."""

    @property
    def fell(self) -> Array: ...
    @property
    def failed(self) -> NDArray[np.bool_]: ...


@dataclass(frozen=True, eq=False)
class Learned:
    """A search's result.

    Attributes
    ----------
    robot : str
    parameters : (5,), of the gait that got farthest: b, a1, d1, a2, d2
    distance : float [m]
        How far it got; 0 where none got anywhere.
    values : (episodes, learners) [m]
        What each learner's gait was worth; nan where the robot fell or a step failed.
    fell, failed : int
        Runs that ended so.
    each : (learners, 5)
        The best parameters of each learner.
    options : mapping
        What was asked for.
    search : mapping or None
        What a `RandomSearch` goes on from.
    complete : bool
        Whether all episodes were done.
    version : str
        Of robosim.
    """

    robot: str
    parameters: Array
    distance: float
    values: Array
    fell: int
    failed: int
    each: Array
    options: Mapping[str, Any]
    search: Mapping[str, Any] | None = None
    complete: bool = True
    version: str = __version__

    @classmethod
    def none(cls, robot: str, options: Mapping[str, Any], learners: int, start: Array) -> Self:
        """Before the first episode."""
        each = np.tile(start, (learners, 1))
        return cls(robot, start, 0.0, np.zeros((0, learners)), 0, 0, each, options)

    @property
    def named(self) -> dict[str, float]:
        """The parameters by their names."""
        return dict(zip(PARAMETERS, self.parameters.tolist(), strict=True))

    @property
    def curves(self) -> Array:
        """(episodes, learners) [m]: the best of each learner so far, 0 before anything is."""
        return np.maximum.accumulate(np.fmax(np.nan_to_num(self.values, nan=0.0), 0.0), axis=0)

    def after(self, asked: Array, values: Array, walks: Walked) -> Self:
        """With one episode more: parameters (n, 5), their values (n,), and how they walked."""
        before = self.curves[-1] if len(self.values) else np.zeros(len(values))
        better = np.nan_to_num(values, nan=-np.inf) > before
        each = np.where(better[:, None], asked, self.each)
        parameters, distance = self.parameters, self.distance
        gains = np.where(better, values, -np.inf)
        k = int(np.argmax(gains))
        if gains[k] > distance:
            parameters, distance = asked[k].copy(), float(gains[k])
        return replace(
            self,
            parameters=parameters,
            distance=distance,
            values=np.vstack((self.values, values)),
            fell=self.fell + int(np.count_nonzero(np.isfinite(walks.fell))),
            failed=self.failed + int(np.count_nonzero(walks.failed)),
            each=each,
        )

    def with_search(self, search: Mapping[str, Any] | None, complete: bool) -> Self:
        """With what to go on from."""
        return replace(self, search=search, complete=complete)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        values = [[v if np.isfinite(v) else None for v in row] for row in self.values.tolist()]
        return {
            "format": FORMAT,
            "version": self.version,
            "robot": self.robot,
            "parameters": self.named,
            "distance": self.distance,
            "complete": self.complete,
            "fell": self.fell,
            "failed": self.failed,
            "options": dict(self.options),
            "values": values,
            "learners": self.each.tolist(),
            "search": self.search,
        }

    def save(self, path: str | Path) -> None:
        """Write a JSON file, as a whole or not at all.

        Raises
        ------
        SaveError
            If it cannot be written.
        """
        path = Path(path)
        scratch = path.with_name(f".{path.name}.tmp")
        try:
            scratch.write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False))
            scratch.replace(path)
        except OSError as error:
            scratch.unlink(missing_ok=True)
            raise SaveError(f"{path}: cannot be written: {error.strerror or error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        LoadError
            If there is no such file, or it is none of a gait.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text"
            raise LoadError(f"cannot be read: {reason}", file=path) from None
        try:
            said = json.loads(text)
            if said["format"] != FORMAT:
                raise ValueError(f"its format is {said['format']!r}")
            parameters = np.array([said["parameters"][name] for name in PARAMETERS], dtype=float)
            each = np.array(said["learners"], dtype=float)
            values = np.array(
                [[np.nan if v is None else v for v in row] for row in said["values"]], dtype=float
            ).reshape(-1, len(each))
            if not np.all(np.isfinite(parameters)) or each.shape[1:] != parameters.shape:
                raise ValueError("its parameters are no numbers")
            return cls(
                str(said["robot"]), parameters, float(said["distance"]), values, int(said["fell"]),
                int(said["failed"]), each, dict(said["options"]), said["search"],
                bool(said["complete"]), str(said["version"]),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError) as error:
            reason = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
            raise LoadError(f"is not a gait that robosim learned: {reason}", file=path) from None

    def plot(self, path: str | Path | None = None) -> Figure:
        """The distance over the episodes, as [Bruedigam2023, Fig. 13b]; no display is needed.

        Raises
        ------
        SaveError
            If the picture cannot be written.
        """
        from robosim.viz.figures import ShownFigure

        figure = ShownFigure(figsize=(6.4, 4.0), layout="constrained")
        ax = figure.subplots()
        curves = self.curves
        episodes = np.arange(1, len(curves) + 1)
        for curve in curves.T:
            ax.plot(episodes, curve, color="#999999", linewidth=0.7, alpha=0.6)
        if len(curves):
            low, middle, high = np.quantile(curves, (0.25, 0.5, 0.75), axis=1)
            ax.fill_between(episodes, low, high, color="#0072B2", alpha=0.25, label="quartiles")
            ax.plot(episodes, middle, color="#0072B2", linewidth=2.0, label="median")
            ax.plot(episodes, curves.max(axis=1), color="#D55E00", linewidth=1.2, label="best")
            ax.legend(frameon=False)
        learners = curves.shape[1]
        ax.set_title(f"{self.robot}: {learners} learner{'s' * (learners != 1)}", fontsize=11)
        ax.set_xlabel("episode")
        ax.set_ylabel(f"distance walked in {self.options['seconds']:g} s [m]")
        ax.grid(True, color="#dddddd", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(bottom=0)
        if path is not None:
            try:
                figure.savefig(path, dpi=150)
            except (OSError, ValueError) as error:
                raise SaveError(f"{path}: cannot be written: {error}") from None
        return figure
