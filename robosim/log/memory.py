"""Logs in memory, from `Simulation.run` or from a file."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import LogError, MissingExtraError, known
from robosim.log.channels import SAMPLED, Also, channels_of
from robosim.log.columns import Array, Chunk, LogInfo
from robosim.log.files import TableWriter, read_samples
from robosim.version import install

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Log:
    """The samples of a run, with names and units of their columns.

    Attributes
    ----------
    info : LogInfo
        The robot, the timestep, the names of the columns and their units.
    samples : Chunk
    note : str or None
        A remark on the log, for example that the run was killed and the log is partial.
    robot : Mechanism or None
        The robot of the run; files do not contain it.
    """

    info: LogInfo
    samples: Chunk
    note: str | None = None
    robot: Mechanism | None = None

    @classmethod
    def from_chunks(
        cls,
        robot: Mechanism,
        timestep: float,
        chunks: Iterable[Chunk],
        also: str | Sequence[str] = (),
    ) -> Log:
        """The log of a run of `robot`, from its chunks in order, with a sample each `timestep` [s].

        `also` has the additional channels of the run, as for `Simulation.run`.
        """
        info = LogInfo.of(robot, timestep, also=Also(channels_of(robot, also)))
        parts = list(chunks)
        if not parts:
            none, zero = np.zeros(0), np.zeros(0, dtype=np.int64)
            q, v, tau = (np.zeros((0, len(names))) for names in (info.q, info.v, info.tau))
            extra = np.zeros((0, len(info.extra)))
            scans = np.empty((0, len(info.scans)), dtype=object)
            found = Chunk(none, q, v, tau, zero, zero, none, none, extra, scans)
            return cls(info, found, robot=robot)
        columns = zip(*parts, strict=True)
        return cls(info, Chunk._make(np.concatenate(pieces) for pieces in columns), robot=robot)

    @classmethod
    def load(cls, path: str | Path) -> Log:
        """Read a log file. A warning is issued if the log is partial, as of a killed run.

        Raises
        ------
        LogError
            If there is no such file, or if it cannot be read.
        """
        log = read_log(path)
        if log.note:
            warnings.warn(log.note, stacklevel=2)
        return log

    def save(self, path: str | Path, robot: Mechanism | None = None) -> None:
        """Write to a file, in the format of its suffix: .parquet, .csv, .npz or .mcap.

        An .mcap file also has the robot's frames and its model. For a log from a file, which has no
        robot, `robot` must be given.

        Raises
        ------
        LogError
            For another suffix, or if the file cannot be written.
        SaveError
            If an .mcap file's robot cannot be described as URDF.
        """
        rows = 65536
        writer = TableWriter(path, self.info, robot or self.robot, steps=len(self))
        try:
            for start in range(0, len(self), rows):
                writer.write(Chunk._make(part[start : start + rows] for part in self.samples))
        except BaseException:
            writer.discard()
            raise
        writer.close()

    def plot(
        self,
        out: str | Path | None = None,
        *,
        joints: str | None = None,
        columns: str | None = None,
        robot: Mechanism | None = None,
    ) -> Figure:
        """Plot the log; see `robosim.viz.plots.plot_log` for the arguments.

        Raises
        ------
        LogError
            If there are no samples, or the picture cannot be written.
        OptionError
            If a regular expression is invalid or nothing matches it, or for an unknown format.
        """
        from robosim.viz.plots import plot_log

        return plot_log(self, out=out, joints=joints, columns=columns, robot=robot)

    def to_pandas(self) -> DataFrame:
        """A DataFrame with the time [s] as index; ``attrs["units"]`` has the units of columns.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtraError(
                f"a data frame needs pandas; get it with: {install('pandas')}"
            ) from None
        columns = {name: self.column(name) for name in self.names if name != "time"}
        frame = pandas.DataFrame(columns, index=pandas.Index(self.t, name="time"))
        frame.attrs |= {"robot": self.info.robot, "units": dict(self.info.units)}
        return frame

    def to_lerobot(
        self, folder: str | Path, *, fps: int, task: str, action: str = "torque"
    ) -> None:
        """Write the log as a dataset of LeRobot with one episode; see `robosim.log.write_lerobot`.

        Raises
        ------
        MissingExtraError, OptionError, LogError
            As for `robosim.log.write_lerobot`.
        """
        from robosim.log.lerobot import write_lerobot

        write_lerobot([self], folder, fps=fps, task=task, action=action)

    def column(self, name: str) -> NDArray[np.float64] | NDArray[np.int64]:
        """A column (n,) by its name; see `names`.

        Raises
        ------
        LogError
            For an unknown name.
        """
        if name not in self.names:
            raise LogError(f"no column '{name}' ({known(name, self.names)})")
        for group in ("q", "v", "tau", "extra"):
            names = getattr(self.info, group)
            if name in names:
                values: Array = getattr(self.samples, group)[:, names.index(name)]
                return values
        column: NDArray[np.float64] = getattr(self.samples, "t" if name == "time" else name)
        return column

    def __len__(self) -> int:
        return len(self.samples.t)

    def __repr__(self) -> str:
        span = f"{self.t[0]:.6g} to {self.t[-1]:.6g} s" if len(self) else "empty"
        return f"<Log of '{self.info.robot}': {len(self)} samples, {span}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.info.names

    @property
    def timestep(self) -> float:
        """Time from one sample to the next [s]."""
        return self.info.timestep

    @property
    def t(self) -> Array:
        """Time of each sample, (n,) [s]."""
        return self.samples.t

    @property
    def q(self) -> Array:
        """Joint coordinates, (n, nq), in the robot's order."""
        return self.samples.q

    @property
    def v(self) -> Array:
        """Joint velocities, (n, nv), in the robot's order."""
        return self.samples.v

    @property
    def tau(self) -> Array:
        """Torques held over the step from each sample, (n, nu) [N m or N]."""
        return self.samples.tau

    @property
    def extra(self) -> Mapping[str, Array]:
        """Columns (n,) of additional channels, by their names; ``info.units`` has the units."""
        return dict(zip(self.info.extra, self.samples.extra.T, strict=True))

    def scan(self, name: str) -> tuple[Array, NDArray[np.float32]]:
        """Times (k,) [s] and readings (k, ...) of a sensor whose readings are no columns.

        Each reading is there once, whatever the number of samples of the log that have it.

        Raises
        ------
        LogError
            For an unknown name.
        """
        if name not in self.info.scans:
            told = known(name, tuple(self.info.scans)) if self.info.scans else "none"
            raise LogError(f"no readings of '{name}' that are arrays ({told})")
        column = self.samples.scans[:, list(self.info.scans).index(name)]
        ids = np.array([0, *map(id, column)])
        first = np.flatnonzero(np.diff(ids) != 0)
        first = first[[column[k] is not None for k in first]]
        times = self.t
        if f"{name}{SAMPLED}" in self.info.extra:
            # Divided runs have the sample at which they are divided twice.
            times = self.extra[f"{name}{SAMPLED}"]
            again = np.diff(times[first], prepend=np.nan) == 0
            first = first[~again]
        shape = self.info.scans[name]
        values = np.array([column[k] for k in first], dtype=np.float32)
        return times[first], values.reshape(len(first), *shape)

    @property
    def iterations(self) -> NDArray[np.int64]:
        """Newton iterations of the step from each sample, (n,)."""
        return self.samples.iterations

    @property
    def substeps(self) -> NDArray[np.int64]:
        """Substeps of the step from each sample, (n,): 1 for a step that was not divided."""
        return self.samples.substeps

    @property
    def violation(self) -> Array:
        """Largest joint violation at the end of the step from each sample, (n,) [m]."""
        return self.samples.violation

    @property
    def gap(self) -> Array:
        """Smallest distance from the ground at the end of that step, (n,) [m]."""
        return self.samples.gap


def read_log(path: str | Path) -> Log:
    """Read a log file, or the partial log of a killed run, with a remark in `Log.note`.

    Raises
    ------
    LogError
        If there is no such file, or if it is damaged or not a log.
    """
    return Log(*read_samples(path))
