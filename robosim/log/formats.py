"""The file formats of a log: what a run streams to, what that is made into, and reading both.

A run streams to the Arrow IPC stream format, or to CSV, because both can be read up to wherever
the writer was stopped. Parquet and npz cannot, as their index is written last, so they are made
from the Arrow stream when it is complete, a piece at a time.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from robosim.errors import LogError
from robosim.log.columns import INTEGERS, NO_EXTRA, NO_SCANS, Chunk, LogInfo

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = "robosim"
ROWS_OF, SCANS_OF = ".rows", ".scans"  # of an npz file: samples of large readings, and these
ROWS = 65536  # of a row group: 32 MB for a robot with 20 joints


class _Stream:
    """Samples appended to a file, one batch for each chunk, and flushed: a kill loses no more."""

    def __init__(self, file: BinaryIO, info: LogInfo) -> None:
        self._file = file
        self._info = info
        self._schema = _schema(info)
        self._last: dict[str, Any] = {}  # large readings of the sample before
        self._writer = self._open()
        file.flush()

    def _open(self) -> Any:
        raise NotImplementedError

    def write(self, chunk: Chunk) -> None:
        import pyarrow as pa

        columns: list[Any] = [*self._info.columns(chunk), *self._scans(chunk)]
        self._writer.write_batch(pa.record_batch(columns, schema=self._schema))
        self._file.flush()

    def _scans(self, chunk: Chunk) -> Iterator[pa.Array]:
        """Large readings as lists, with nulls where a reading is the one before."""
        import pyarrow as pa

        for name, column in zip(self._info.scans, chunk.scans.T, strict=True):
            rows: list[Any] = []
            for one in column:
                rows.append(None if one is None or one is self._last.get(name) else one.ravel())
                self._last[name] = self._last.get(name) if one is None else one
            yield pa.array(rows, type=pa.list_(pa.float32()))

    def close(self) -> None:
        self._writer.close()
        self._file.flush()


class ArrowStream(_Stream):
    """In the Arrow IPC stream format."""

    def _open(self) -> Any:
        import pyarrow as pa

        return pa.ipc.new_stream(self._file, self._schema)


class CsvStream(_Stream):
    """As CSV, numbers with all their digits."""

    def _open(self) -> Any:
        import pyarrow.csv

        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(self._info.names)
        self._file.write(header.getvalue().encode())
        options = pyarrow.csv.WriteOptions(include_header=False)
        return pyarrow.csv.CSVWriter(self._file, self._schema, write_options=options)


def _schema(info: LogInfo) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(
                name,
                pa.int64() if name in INTEGERS else pa.float64(),
                nullable=False,
                metadata={"unit": info.units[name]} if name in info.units else None,
            )
            for name in info.names
        ]
        + [pa.field(name, pa.list_(pa.float32()), metadata={"unit": "m"}) for name in info.scans],
        metadata={METADATA: info.metadata()},
    )


def arrow_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow stream that were written in full.

    They lie in the mapped file, not in memory, and must not be used once it changes.

    Raises
    ------
    LogError
        If not even the names of the columns were written.
    """
    import pyarrow as pa

    if path.stat().st_size == 0:
        raise LogError(f"{path}: nothing had been written yet")
    with pa.memory_map(str(path)) as source:
        try:
            reader = pa.ipc.open_stream(source)
        except (pa.ArrowException, OSError, EOFError):
            raise LogError(f"{path}: nothing had been written yet") from None
        while True:
            try:
                batch = reader.read_next_batch()
            except (StopIteration, pa.ArrowException, OSError):
                return  # the end, or the batch that was being written when the run was stopped
            yield batch


def write_parquet(stream: Path, target: Path, info: LogInfo) -> None:
    """Make a Parquet file of an Arrow stream, a row group at a time."""
    import pyarrow.parquet as pq

    schema = _schema(info)
    # A dictionary of a column of measurements would be as long as the column.
    with pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=False) as writer:
        group: list[pa.RecordBatch] = []
        for batch in arrow_batches(stream):
            group.append(batch)
            if sum(len(part) for part in group) >= ROWS:
                writer.write_table(_table(group, schema))
                group = []
        if group:
            writer.write_table(_table(group, schema))


def _table(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches(batches).replace_schema_metadata(schema.metadata)


def write_npz(stream: Path, target: Path, info: LogInfo) -> None:
    """Make an npz file of an Arrow stream: an array for each column, one column at a time."""
    rows = sum(len(batch) for batch in arrow_batches(stream))
    with zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        for name in info.names:
            dtype = np.dtype(np.int64 if name in INTEGERS else np.float64)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                header = {"descr": dtype.str, "fortran_order": False, "shape": (rows,)}
                np.lib.format.write_array_header_1_0(file, header)
                for batch in arrow_batches(stream):
                    file.write(batch.column(name).to_numpy().tobytes())
        for name, shape in info.scans.items():
            _write_scans(archive, stream, name, shape)
        with archive.open(f"{METADATA}.npy", "w") as file:
            np.lib.format.write_array(file, np.array(info.metadata()), allow_pickle=False)


def _write_scans(archive: zipfile.ZipFile, stream: Path, name: str, shape: tuple[int, ...]) -> None:
    """Large readings of a sensor as two arrays: samples at which they begin, and all of them."""
    rows: list[int] = []
    at = 0
    for batch in arrow_batches(stream):
        there = np.flatnonzero(batch.column(name).is_valid().to_numpy(zero_copy_only=False))
        rows += (at + there).tolist()
        at += len(batch)
    with archive.open(f"{name}{ROWS_OF}.npy", "w") as file:
        np.lib.format.write_array(file, np.array(rows, dtype=np.int64))
    with archive.open(f"{name}{SCANS_OF}.npy", "w", force_zip64=True) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), *shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for batch in arrow_batches(stream):
            values = batch.column(name).flatten()
            file.write(values.to_numpy().astype("<f4").tobytes())


def scan_column(n: int, rows: Any, values: Any) -> NDArray[np.object_]:
    """Readings (n,) of samples, each the last of `values` that begins at or before it."""
    column = np.full(n, None, dtype=object)
    for begin, end, value in zip(rows, [*rows[1:], n], values, strict=True):
        for k in range(begin, end):  # one object for all
            column[k] = value
    return column


def read_arrow(path: Path) -> tuple[LogInfo, Chunk]:
    """What an Arrow stream holds, up to where it breaks off."""
    import pyarrow as pa

    batches = list(arrow_batches(path))
    if not batches:
        raise LogError(f"{path}: no sample had been written yet")
    return _samples(pa.Table.from_batches(batches))


def read_parquet(path: Path) -> tuple[LogInfo, Chunk]:
    """What a Parquet file holds."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return _samples(file.read())


def read_csv(path: Path, partial: bool = False) -> tuple[LogInfo, Chunk]:
    """What a CSV file holds; of a partial one, its complete lines."""
    import pyarrow as pa
    import pyarrow.csv

    data = path.read_bytes()
    if partial:
        # A line without its end may have lost digits of its last number.
        data = data[: data.rfind(b"\n") + 1]
    if data.count(b"\n") < 2 and partial:
        raise LogError(f"{path}: no sample had been written yet")
    names = next(csv.reader(io.StringIO(data.split(b"\n", 1)[0].decode())), [])
    types = {name: pa.int64() if name in INTEGERS else pa.float64() for name in names}
    options = pyarrow.csv.ConvertOptions(column_types=types)
    info, samples = _samples(pyarrow.csv.read_csv(pa.BufferReader(data), convert_options=options))
    if len(samples.t) > 1:
        span = float(samples.t[-1] - samples.t[0])
        info = replace(info, timestep=span / (len(samples.t) - 1))
    return info, samples


def read_npz(path: Path) -> tuple[LogInfo, Chunk]:
    """What an npz file holds."""
    # Opened here, as np.load leaves a file open that turns out not to be one of its own.
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        metadata = str(archive[METADATA]) if METADATA in archive else None
        arrays = {name: archive[name] for name in archive if name != METADATA}
    found = {name.removesuffix(ROWS_OF) for name in arrays if name.endswith(ROWS_OF)}
    scans = {
        name: scan_column(
            len(arrays["time"]), *(arrays.pop(name + of) for of in (ROWS_OF, SCANS_OF))
        )
        for name in found
    }
    return assembled(arrays, LogInfo.from_names(list(arrays), metadata), scans)


def _samples(table: pa.Table) -> tuple[LogInfo, Chunk]:
    metadata = (table.schema.metadata or {}).get(METADATA.encode())
    names = [str(name) for name in table.column_names]
    info = LogInfo.from_names(names, metadata.decode() if metadata else None)
    scans = {name: _scans_of(table.column(name), shape) for name, shape in info.scans.items()}
    return assembled({name: table.column(name).to_numpy() for name in info.names}, info, scans)


def _scans_of(column: Any, shape: tuple[int, ...]) -> NDArray[np.object_]:
    """Large readings of a column of lists."""
    rows = np.flatnonzero(column.is_valid().to_numpy())
    values = [part.flatten().to_numpy() for part in column.chunks]
    every = np.concatenate(values or [np.zeros(0, dtype=np.float32)])
    return scan_column(len(column), rows.tolist(), every.reshape(len(rows), *shape))


def assembled(
    arrays: dict[str, Any],
    info: LogInfo,
    scans: Mapping[str, NDArray[np.object_]] | None = None,
) -> tuple[LogInfo, Chunk]:
    """Samples of columns by their names: arrays of their own, as those may lie in a mapped file.

    With large readings (n,) by the names of their sensors.
    """
    n = len(arrays["time"])

    def floats(name: str) -> np.ndarray:
        return np.array(arrays[name], dtype=np.float64).reshape(n)

    def integers(name: str) -> np.ndarray:
        values = np.array(arrays[name])
        if not np.issubdtype(values.dtype, np.integer):
            raise LogError(f"column '{name}' holds something else than whole numbers")
        return values.astype(np.int64).reshape(n)

    def table(names: tuple[str, ...]) -> np.ndarray:
        stacked = np.empty((n, len(names)))
        for k, name in enumerate(names):
            stacked[:, k] = arrays[name]
        return stacked

    return info, Chunk(
        t=floats("time"),
        q=table(info.q),
        v=table(info.v),
        tau=table(info.tau),
        iterations=integers("iterations"),
        substeps=integers("substeps"),
        violation=floats("violation"),
        gap=floats("gap"),
        extra=table(info.extra) if info.extra else NO_EXTRA,
        scans=np.stack([scans[k] for k in info.scans], axis=1) if scans else NO_SCANS,
    )
