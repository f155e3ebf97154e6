"""The result of a search for a gait, which can be saved, loaded and plotted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from robosim.control.gaits import PARAMETERS
from robosim.errors import LoadError, SaveError
from robosim.validation import Array
from robosim.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "robosim gait"


class Walked(Protocol):
    """How gaits walked, in all draws: whether robots fell, and whether steps failed."""

    @property
    def fell(self) -> Array: ...
    @property
    def failed(self) -> NDArray[np.bool_]: ...


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of `learn_gait`.

    Attributes
    ----------
    robot : str
        Name of the robot.
    parameters : (5,)
        Parameters of the gait that got farthest: b, a1, d1, a2, d2, as of `Gait`.
    distance : float [m]
        How far this gait got along x; 0 if no gait got anywhere.
    values : (episodes, learners) [m]
        The value of each learner's gait in each episode: the distance, or, with a domain, the mean
        or the smallest distance over the draws. NaN if the robot fell or a step failed.
    fell, failed : int
        Number of runs in which the robot fell, and in which a step failed.
    each : (learners, 5)
        The best parameters of each learner.
    options : mapping
        The options of the search.
    search : mapping or None
        State of the `RandomSearch`, from which ``learn_gait(resume=...)`` continues; None for
        another search.
    complete : bool
        Whether all episodes were done; False after ctrl-C.
    version : str
        Version of robosim.
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
        """The result before the first episode, with all learners at the parameters (5,)."""
        each = np.tile(start, (learners, 1))
        return cls(robot, start, 0.0, np.zeros((0, learners)), 0, 0, each, options)

    @property
    def named(self) -> dict[str, float]:
        """The parameters of the best gait, by their names."""
        return dict(zip(PARAMETERS, self.parameters.tolist(), strict=True))

    @property
    def curves(self) -> Array:
        """The best value of each learner so far, (episodes, learners) [m]; at first 0."""
        return np.maximum.accumulate(np.fmax(np.nan_to_num(self.values, nan=0.0), 0.0), axis=0)

    def after(self, asked: Array, values: Array, walks: Walked) -> Self:
        """The result after one more episode.

        ``asked`` (learners, 5) are the parameters that were tried, ``values`` (learners,) [m] what
        they were worth.
        """
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
        """The same result with the state of the search."""
        return replace(self, search=search, complete=complete)

    def to_dict(self) -> dict[str, Any]:
        """All values, ready for JSON; NaN is None."""
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
        """Write a JSON file; if writing fails, a file that was there before is kept.

        Raises
        ------
        SaveError
            If the file cannot be written.
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
        """Read a file that `save` has written.

        Raises
        ------
        LoadError
            If the file cannot be read, or has no learned gait.
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
        """Plot the distance over the episodes, as in [Bruedigam2023, Fig. 13b].

        Parameters
        ----------
        path : str, Path or None
            Picture to write, such as a .png; None: write none.

        Returns
        -------
        Figure
            A figure of matplotlib, which shows itself in a notebook. No display is needed.

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
