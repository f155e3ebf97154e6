"""Writing a log file during a run, and reading complete and partial log files.

Samples are written to ``PATH.partial`` during the run. When the log is complete, the file at PATH
is created or replaced in one move. A run that is killed leaves ``PATH.partial``, which
`read_samples` reads instead.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from robosim import locks
from robosim.description.mechanism import Mechanism
from robosim.errors import LogError
from robosim.log import formats, mcap
from robosim.log.channels import Also, channels_of
from robosim.log.columns import Chunk, LogInfo
from robosim.log.stream import StreamWriter
from robosim.validation import count

SUFFIXES = (".parquet", ".csv", ".npz", ".mcap")
PARTIAL = ".partial"
# Bytes for each number while a log is written: the stream and the file that is made of it.
BYTES = {".parquet": 16, ".npz": 16, ".csv": 20, ".mcap": 40}

Read = tuple[LogInfo, Chunk, str | None]  # of a file; and a note, of what a reader should know


def partial_path(path: str | Path) -> Path:
    """Path of the file with the samples of a log file at `path`, until the log is complete."""
    path = Path(path)
    return path.with_name(path.name + PARTIAL)


def check_log_path(path: str | Path) -> str:
    """The suffix of a path that a log can be written to, in lower case.

    Raises
    ------
    LogError
        For a suffix that is no format of a log, a directory that is not there, or a directory.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise LogError(
            f"{path}: a log cannot be of the format '{path.suffix}' (known: {', '.join(SUFFIXES)})"
        )
    if suffix == ".mcap":
        mcap.check_mcap()
    if suffix == ".parquet":
        formats.check_parquet()
    if path.is_dir():
        raise LogError(f"{path}: is a directory")
    if not path.parent.is_dir():
        raise LogError(f"{path}: the directory '{path.parent}' does not exist")
    return suffix


class TableWriter:
    """A log file of the columns that `info` names, of a robot; see `LogWriter`."""

    def __init__(
        self,
        path: str | Path,
        info: LogInfo,
        robot: Mechanism | None = None,
        *,
        steps: int | None = None,
    ) -> None:
        self.path = Path(path)
        self._robot = robot
        self.partial = partial_path(path)
        self.info = info
        self.rows = 0
        self._suffix = check_log_path(self.path)
        self._model = ""
        if self._suffix == ".csv" and info.scans:
            raise LogError(
                f"{path}: readings of {', '.join(info.scans)} are no columns of a CSV file: use "
                ".parquet, .npz or .mcap, or leave them out"
            )
        if self._suffix == ".mcap":
            if robot is None:
                raise LogError(f"{path}: has the robot's frames, too: say which, save(path, robot)")
            # Only .mcap files contain a model, which the writers of model files write.
            from robosim.loaders.writers.text import urdf_text

            self._model = urdf_text(robot, self.path)
        if steps is not None:
            self._check_space(steps)
        self._open = True
        # What is left when nobody gets to say how the run ended.
        running = info.with_end("killed")
        try:
            self._file = _open_alone(self.partial)
            self._stream: formats.CsvStream | StreamWriter = (
                formats.CsvStream(self._file, running)
                if self._suffix == ".csv"
                else StreamWriter(self._file, running)
            )
        except OSError as error:
            raise LogError(f"{self.path}: cannot be written: {_reason(error)}") from None

    def _check_space(self, steps: int) -> None:
        needed = steps * len(self.info.names) * BYTES[self._suffix]
        free = shutil.disk_usage(self.path.parent).free
        if needed > free:
            raise LogError(
                f"{self.path}: {steps} samples need about {needed / 1e9:.1f} GB while they are "
                f"written, and {free / 1e9:.1f} GB are free"
            )

    def write(self, chunk: Chunk) -> None:
        """Append samples, which can be read from then on, even if the run is killed.

        Raises
        ------
        LogError
            If the samples cannot be written or have another robot, or if the log is closed.
        """
        if not self._open:
            raise LogError(f"{self.path}: the log is closed")
        try:
            self._stream.write(chunk)
        except OSError as error:
            self._abandon()
            raise self._kept(error) from None
        self.rows += len(chunk.t)

    def close(self, ended: str = "complete") -> None:
        """Move the complete file to its path. A second call has no effect.

        Parameters
        ----------
        ended : str
            Reason for the end of the run, which the log contains.

        Raises
        ------
        LogError
            If the file cannot be written; `robosim.log.read_log` can still read the samples.
        """
        if not self._open:
            return
        try:
            self._stream.close()
            if self._suffix == ".csv":
                os.fsync(self._file.fileno())
                self._abandon()
                os.replace(self.partial, self.path)
            else:
                self._convert(self.info.with_end(ended))
                self._abandon()
                self.partial.unlink()
        except OSError as error:
            raise self._kept(error) from None
        finally:
            self._abandon()

    def discard(self) -> None:
        """Delete the samples, and leave the file at PATH as it was."""
        self._abandon()
        self.partial.unlink(missing_ok=True)

    def _convert(self, info: LogInfo) -> None:
        """Make the complete file of the stream, aside, then move it to its place."""
        aside = self.path.with_name(self.path.name + ".converting")
        try:
            if self._suffix == ".parquet":
                formats.write_parquet(self.partial, aside, info)
            elif self._suffix == ".mcap":
                assert self._robot is not None
                mcap.write_mcap(self.partial, aside, info, self._robot, self._model)
            else:
                formats.write_npz(self.partial, aside, info)
            with open(aside, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(aside, self.path)
        finally:
            aside.unlink(missing_ok=True)

    def _abandon(self) -> None:
        """Let go of the stream's file, as it is."""
        self._open = False
        with contextlib.suppress(OSError):  # what could not be written was reported already
            self._file.close()

    def _kept(self, error: OSError) -> LogError:
        return LogError(
            f"{self.path}: cannot be written: {_reason(error)}. "
            f"The {self.rows} samples until then are in {self.partial}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        elif issubclass(kind, KeyboardInterrupt):
            self.close("interrupted")
        else:
            self.close(f"{kind.__name__}: {error}")


class LogWriter(TableWriter):
    """A log file that is written during a run, in bounded memory.

    Each chunk is written to ``PATH.partial`` at once, and can be read from there even if the run
    is killed. `close` moves the complete file to PATH; a file that was there before is kept until
    then. As a context manager, a LogWriter closes the log in any case.

    Parameters
    ----------
    path : str or Path
        File to write, in the format of its suffix: .parquet, .csv, .npz or .mcap.
    robot : Mechanism
        Robot whose coordinates name the columns.
    timestep : float [s]
        Time between two samples that are added.
    steps : int, optional
        Expected number of samples, for a check of the free disk space.
    every : int
        Of so many samples only the first is kept, with the values of the worst of their steps.
    also : str or sequence of str
        Additional channels, the same as for `Simulation.stream`.

    Raises
    ------
    LogError
        For another suffix, a directory that does not exist or is not writable, too little disk
        space, or a log that another run is writing.
    OptionError, ModelError
        For unknown channels.
    SaveError
        If an .mcap file's robot cannot be described as URDF.
    """

    def __init__(
        self,
        path: str | Path,
        robot: Mechanism,
        timestep: float,
        *,
        steps: int | None = None,
        every: int = 1,
        also: str | Sequence[str] = (),
    ) -> None:
        self._every = count("every", every)
        kept = None if steps is None else -(-steps // every)
        info = LogInfo.of(robot, timestep * every, also=Also(channels_of(robot, also)))
        super().__init__(path, info, robot, steps=kept)
        self._waiting: Chunk | None = None  # fewer than `every` samples

    def write(self, chunk: Chunk) -> None:
        """Append samples. A sample that is kept can be read once all of its steps are there.

        Raises
        ------
        LogError
            If the samples cannot be written or have another robot, or if the log is closed.
        """
        if self._every == 1:
            super().write(chunk)
            return
        if self._waiting is not None:
            chunk = Chunk._make(map(np.concatenate, zip(self._waiting, chunk, strict=True)))
        whole = len(chunk.t) // self._every * self._every
        self._waiting = Chunk._make(column[whole:] for column in chunk)
        if whole:
            super().write(Chunk._make(column[:whole] for column in chunk).thinned(self._every))

    def close(self, ended: str = "complete") -> None:
        """Write the remaining samples, and move the complete file to its path."""
        if self._open and self._waiting is not None and len(self._waiting.t):
            super().write(self._waiting.thinned(self._every))
        super().close(ended)


def read_samples(path: str | Path) -> Read:
    """Read a log file, or the partial log of a killed run, with a note.

    Raises
    ------
    LogError
        If there is no such file, or if it is damaged or not a log.
    """
    path = Path(path)
    partial = partial_path(path)
    if path.suffix == PARTIAL:
        return _read_partial(path, path)
    if path.exists():
        check_log_path(path)
        note = None
        if partial.exists() and partial.stat().st_mtime > path.stat().st_mtime:
            note = f"{partial} holds a later run, {_fate(partial)}; to read it, name it"
        return _read(path, path.suffix.lower(), note)
    if partial.exists():
        check_log_path(path)
        return _read_partial(partial, path)
    raise LogError(f"{path}: there is no such file")


def _read_partial(partial: Path, path: Path) -> Read:
    if not partial.exists():
        raise LogError(f"{partial}: there is no such file")
    suffix = check_log_path(partial.with_suffix(""))
    info, samples, _ = _read(partial, suffix, None, partial=True)
    what = "" if path == partial else f"{path} is not complete: "
    n, end = len(samples.t), samples.t[-1] if len(samples.t) else 0.0
    note = f"{what}read {n} samples, to t = {end:.6g} s, from {partial}, {_fate(partial)}"
    return info.with_end("killed"), samples, note


def _read(path: Path, suffix: str, note: str | None, partial: bool = False) -> Read:
    try:
        if suffix == ".csv":
            info, samples = formats.read_csv(path, partial)
        elif partial:
            info, samples = formats.read_stream(path)
        elif suffix == ".parquet":
            info, samples = formats.read_parquet(path)
        elif suffix == ".mcap":
            info, samples = mcap.read_mcap(path)
        else:
            info, samples = formats.read_npz(path)
    except LogError as error:
        text = str(error)
        raise LogError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    except OSError as error:
        raise LogError(f"{path}: cannot be read: {_reason(error)}") from None
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        raise LogError(f"{path}: damaged, or not a log: {_reason(error)}") from None
    return info, samples, note


def _open_alone(path: Path) -> BinaryIO:
    """An empty file to write, that no other run is writing."""
    file = open(path, "ab")  # noqa: SIM115 the writer closes it
    if not locks.try_to_take(file):
        file.close()
        raise LogError(f"{path}: another run is writing it")
    file.truncate(0)
    return file


def _fate(partial: Path) -> str:
    """What became of the run that writes a partial log."""
    with open(partial, "rb") as file:
        ended = locks.try_to_take(file)
    return "left by a run that did not finish" if ended else "which a run is still writing"


def _reason(error: Exception) -> str:
    """The first line of an error's text, without the file's name."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (text or type(error).__name__).strip().splitlines()[0]
