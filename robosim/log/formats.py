"""The file formats of a log: what a run streams to, what that is made into, and reading both.

A run streams to `robosim.log.stream`, or to CSV, because both can be read up to wherever the writer
was stopped. Parquet and npz cannot, as their index is written last, so they are made from the
stream when it is complete, a piece at a time.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from robosim.errors import LogError
from robosim.log.columns import INTEGERS, NO_EXTRA, NO_SCANS, Chunk, LogInfo
from robosim.log.stream import StreamReader
from robosim.version import install

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = "robosim"
ROWS_OF, SCANS_OF = ".rows", ".scans"  # of an npz file: samples of large readings, and these
ROWS = 65536  # of a row group: 32 MB for a robot with 20 joints


def check_parquet() -> None:
    """Raise a LogError where pyarrow is missing, which reads and writes Parquet files."""
    if find_spec("pyarrow") is None:
        raise LogError(
            f"a .parquet file needs pyarrow: {install('parquet')}; .npz and .csv need nothing more"
        )


class CsvStream:
    """Samples appended to a file as CSV, numbers with all their digits, and flushed."""

    def __init__(self, file: BinaryIO, info: LogInfo) -> None:
        self._file, self._info = file, info
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(info.names)
        self._put(header.getvalue())

    def write(self, chunk: Chunk) -> None:
        columns = [column.tolist() for column in self._info.columns(chunk)]
        lines = (",".join(map(repr, row)) for row in zip(*columns, strict=True))
        self._put("".join(f"{line}\n" for line in lines))

    def _put(self, text: str) -> None:
        self._file.write(text.encode())
        self._file.flush()

    def close(self) -> None:
        self._file.flush()


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


def write_parquet(stream: Path, target: Path, info: LogInfo) -> None:
    """Make a Parquet file of a stream, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(info)
    with (
        StreamReader(stream) as samples,
        # A dictionary of a column of measurements would be as long as the column.
        pq.ParquetWriter(target, schema, compression="zstd", use_dictionary=False) as writer,
    ):
        group: list[pa.RecordBatch] = []
        first = 0
        for columns, scans in samples.blocks():
            arrays: list[Any] = list(columns.values())
            n = len(arrays[0])
            for rows, values in scans.values():
                readings: list[Any] = [None] * n
                for k, one in zip(rows - first, values, strict=True):
                    readings[k] = one
                arrays.append(pa.array(readings, type=pa.list_(pa.float32())))
            group.append(pa.record_batch(arrays, schema=schema))
            first += n
            if sum(len(part) for part in group) >= ROWS:
                writer.write_table(pa.Table.from_batches(group))
                group = []
        if group:
            writer.write_table(pa.Table.from_batches(group))


def write_npz(stream: Path, target: Path, info: LogInfo) -> None:
    """Make an npz file of a stream: an array for each column, one column at a time."""
    with (
        StreamReader(stream) as samples,
        zipfile.ZipFile(target, "w", allowZip64=True) as archive,
    ):
        for name in info.names:
            dtype = np.dtype(np.int64 if name in INTEGERS else np.float64)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                header = {"descr": dtype.str, "fortran_order": False, "shape": (len(samples),)}
                np.lib.format.write_array_header_1_0(file, header)
                for part in samples.column(name):
                    file.write(part.astype(dtype, copy=False).tobytes())
        for name, shape in info.scans.items():
            _write_scans(archive, samples, name, shape)
        with archive.open(f"{METADATA}.npy", "w") as file:
            np.lib.format.write_array(file, np.array(info.metadata()), allow_pickle=False)


def _write_scans(
    archive: zipfile.ZipFile, samples: StreamReader, name: str, shape: tuple[int, ...]
) -> None:
    """Large readings of a sensor as two arrays: samples at which they begin, and all of them."""
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in samples.scans(name))])
    with archive.open(f"{name}{ROWS_OF}.npy", "w") as file:
        np.lib.format.write_array(file, rows)
    with archive.open(f"{name}{SCANS_OF}.npy", "w", force_zip64=True) as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), *shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for _, values in samples.scans(name):
            file.write(values.tobytes())


def scan_column(n: int, rows: Any, values: Any) -> NDArray[np.object_]:
    """Readings (n,) of samples, each the last of `values` that begins at or before it."""
    column = np.full(n, None, dtype=object)
    for begin, end, value in zip(rows, [*rows[1:], n], values, strict=True):
        for k in range(begin, end):  # one object for all
            column[k] = value
    return column


def read_stream(path: Path) -> tuple[LogInfo, Chunk]:
    """What a stream holds, up to where it breaks off."""
    with StreamReader(path) as samples:
        if not len(samples):
            raise LogError(f"{path}: no sample had been written yet")
        info = samples.info
        arrays = {name: np.concatenate(list(samples.column(name))) for name in info.names}
        scans = {}
        for name, shape in info.scans.items():
            rows, values = map(np.concatenate, zip(*samples.scans(name), strict=True))
            readings = values.reshape(len(rows), *shape)
            scans[name] = scan_column(len(samples), rows.tolist(), readings)
    return assembled(arrays, info, scans)


def read_parquet(path: Path) -> tuple[LogInfo, Chunk]:
    """What a Parquet file holds."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return _samples(file.read())
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None


def read_csv(path: Path, partial: bool = False) -> tuple[LogInfo, Chunk]:
    """What a CSV file holds; of a partial one, its complete lines."""
    data = path.read_bytes()
    if partial:
        # A line without its end may have lost digits of its last number.
        data = data[: data.rfind(b"\n") + 1]
    if data.count(b"\n") < 2 and partial:
        raise LogError(f"{path}: no sample had been written yet")
    lines = io.StringIO(data.decode())
    names = next(csv.reader([lines.readline()]), [])
    info = LogInfo.from_names(names)
    # Fields by numbers, as names may be any.
    kinds = np.dtype([(f"f{k}", "<i8" if n in INTEGERS else "<f8") for k, n in enumerate(names)])
    table = np.zeros(0, kinds)
    if data.count(b"\n") > 1:
        table = np.loadtxt(lines, kinds, comments=None, delimiter=",", quotechar='"', ndmin=1)
    info, samples = assembled({n: table[f"f{k}"] for k, n in enumerate(names)}, info)
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
