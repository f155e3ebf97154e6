"""Datasets of LeRobot, version 3.0, out of logs: an episode for each log.

A dataset is a folder: frames as Parquet files, what is known of episodes and tasks as Parquet files
too, and features with their statistics as JSON. There are no videos, as logs have no pictures.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robosim.errors import LogError, OptionError
from robosim.extras import needed
from robosim.log.columns import POSITION, TORQUE, LogInfo
from robosim.validation import positive

VERSION = "v3.0"
FILES_IN_CHUNK, MEGABYTES = 1000, 100  # of data, in a folder and a file, at most
PLACE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
STATE, ACTION = "observation.state", "action"
TORQUES, POSITIONS = "torque", "position"
ACTIONS = (TORQUES, POSITIONS)
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
# What each frame has in every dataset.
COUNTED = ("frame_index", "episode_index", "index", "task_index")

Array = NDArray[Any]
Values = dict[str, Array]  # of features, a row for each frame


class Samples(Protocol):
    """What is asked of a log; see `robosim.log.Log`."""

    @property
    def info(self) -> LogInfo: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def t(self) -> NDArray[np.float64]: ...
    def column(self, name: str) -> Array: ...
    def __len__(self) -> int: ...


class Feature(NamedTuple):
    """A vector of float32 of each frame, made of columns of a log."""

    name: str
    columns: tuple[str, ...]
    ahead: bool = False  # whether the value is that of the next frame


def write_lerobot(
    logs: Iterable[Samples],
    folder: str | Path,
    *,
    fps: int,
    task: str | Sequence[str],
    action: str = TORQUES,
) -> None:
    """Write logs of one robot as a dataset of LeRobot, in which each log is an episode.

    `observation.state` has coordinates and velocities. Further channels of a log are features by
    their own names, as `observation.gyro`. Large readings of sensors with rays are left out.

    Parameters
    ----------
    logs : iterable of Log
    folder : str or path
        A folder that does not exist yet.
    fps : int
        Frames per second. A frame is the sample that is nearest to its time.
    task : str or sequence of str
        What is done, in words: for all episodes, or for each of them.
    action : "torque" or "position"
        "torque": torques of actuated joints at the frame. "position": coordinates of actuated
        joints at the next frame, at the last one its own.

    Raises
    ------
    MissingExtraError
        Without pyarrow.
    OptionError
        For fps above the rate of a log, another number of tasks than of logs, or another action.
    LogError
        For no logs, an empty one, logs with different columns, values that are not finite, or a
        folder that exists or cannot be written.
    """
    pq = needed("pyarrow.parquet", "a dataset needs pyarrow", "parquet")
    logs, folder = list(logs), Path(folder)
    tasks = _tasks(task, len(logs))
    if not isinstance(fps, int) or isinstance(fps, bool):
        raise OptionError(f"fps must be an integer, not {fps!r}")
    positive("fps", fps)
    features = _features(logs, action)
    if folder.exists():
        raise LogError(f"{folder}: exists already; a dataset is written into a new folder")
    if not folder.absolute().parent.is_dir():
        raise LogError(f"{folder}: the directory {folder.absolute().parent} does not exist")
    episodes = [_frames(log, features, fps) for log in logs]
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        _write(pq, aside, logs[0].info, features, episodes, tasks, fps)
        os.chmod(aside, 0o777 & ~_umask())
        aside.rename(folder)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, OSError):
            raise LogError(f"{folder}: cannot be written: {error.strerror or error}") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _tasks(task: str | Sequence[str], count: int) -> list[str]:
    if count == 0:
        raise LogError("a dataset needs a log")
    tasks = [task] * count if isinstance(task, str) else list(task)
    if len(tasks) != count:
        raise OptionError(f"there are {len(tasks)} tasks for {count} logs")
    if not all(isinstance(one, str) and one for one in tasks):
        raise OptionError("a task is a text that says what is done")
    return tasks


def _features(logs: Sequence[Samples], action: str) -> list[Feature]:
    if action not in ACTIONS:
        raise OptionError(f"action must be one of {', '.join(ACTIONS)}, not {action!r}")
    info = logs[0].info
    for log in logs:
        if log.names != info.names:
            raise LogError(
                f"the logs of '{info.robot}' and '{log.info.robot}' have different columns"
            )
    found = [Feature(STATE, (*info.q, *info.v))]
    if info.tau:
        columns = info.tau
        if action == POSITIONS:
            columns = tuple(name.removesuffix(TORQUE) + POSITION for name in info.tau)
            missing = [name for name in columns if name not in info.q]
            if missing:
                raise LogError(f"no column '{missing[0]}': take action='{TORQUES}'")
        found.append(Feature(ACTION, columns, action == POSITIONS))
    groups: dict[str, list[str]] = {}
    for name in info.extra:
        groups.setdefault(name.rpartition(".")[0] or name, []).append(name)
    # LeRobot allows no slash in names of features.
    found += [Feature(f"observation.{name.replace('/', '.')}", tuple(columns))
              for name, columns in groups.items()]  # fmt: skip
    names = [feature.name for feature in found]
    again = [name for name in names if names.count(name) > 1]
    if again:
        raise LogError(f"two features would be called '{again[0]}': log fewer channels")
    return found


def _frames(log: Samples, features: Sequence[Feature], fps: int) -> Values:
    """The values of features, of one episode."""
    if len(log) == 0:
        raise LogError(f"the log of '{log.info.robot}' has no samples")
    t = log.t - log.t[0]
    if len(t) > 1 and (t[-1] / (len(t) - 1)) * fps > 1 + 1e-6:
        raise OptionError(f"fps must be at most the log's {(len(t) - 1) / t[-1]:.6g}, not {fps}")
    times = np.arange(int(t[-1] * fps + 1e-6) + 1) / fps
    after = np.clip(np.searchsorted(t, times), 1, max(len(t) - 1, 1)) if len(t) > 1 else times * 0
    after = after.astype(int)
    rows = after if len(t) == 1 else after - (times - t[after - 1] < t[after] - times)
    found: Values = {}
    for feature in features:
        taken = np.append(rows[1:], rows[-1]) if feature.ahead else rows
        values = np.stack([log.column(name)[taken] for name in feature.columns], axis=1)
        values = values.astype(np.float32)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            frame, column = bad[0]
            raise LogError(
                f"'{feature.columns[column]}' is {values[frame, column]} at {times[frame]:.6g} s: "
                "a dataset needs finite values at all of its frames"
            )
        found[feature.name] = values
    found["timestamp"] = times.astype(np.float32)
    return found


def _write(
    pq: Any,
    folder: Path,
    info: LogInfo,
    features: Sequence[Feature],
    episodes: Sequence[Values],
    tasks: Sequence[str],
    fps: int,
) -> None:
    import pyarrow as pa

    known = list(dict.fromkeys(tasks))
    numbered: list[Values] = []
    begin = 0
    for index, (values, task) in enumerate(zip(episodes, tasks, strict=True)):
        n = len(values["timestamp"])
        numbers = (np.arange(n), np.full(n, index), np.arange(begin, begin + n),
                   np.full(n, known.index(task)))  # fmt: skip
        numbered.append(values | dict(zip(COUNTED, numbers, strict=True)))
        begin += n
    rows = []
    for number, (first, last) in enumerate(_files(numbered)):
        place = folder / "data" / _place(number)
        place.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_table(pa, features, _joined(numbered[first:last])), place)
        for index in range(first, last):
            frames = numbered[index]["index"]
            stats = {name: statistics(values) for name, values in numbered[index].items()}
            rows.append({
                "episode_index": index, "tasks": [tasks[index]], "length": len(frames),
                "data/chunk_index": number // FILES_IN_CHUNK,
                "data/file_index": number % FILES_IN_CHUNK,
                "dataset_from_index": int(frames[0]), "dataset_to_index": int(frames[-1]) + 1,
                **{f"stats/{name}/{what}": value for name, found in stats.items()
                   for what, value in found.items()},
                "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0,
            })  # fmt: skip
    meta = folder / "meta"
    (meta / "episodes/chunk-000").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), meta / "episodes" / _place(0))
    pq.write_table(_task_table(pa, known), meta / "tasks.parquet")
    whole = _joined(numbered)
    _json(meta / "stats.json", {name: statistics(values) for name, values in whole.items()})
    described: dict[str, Any] = {
        one.name: {"dtype": "float32", "shape": [len(one.columns)], "names": list(one.columns)}
        for one in features
    }
    described["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    described |= {name: {"dtype": "int64", "shape": [1], "names": None} for name in COUNTED}
    _json(meta / "info.json", {
        "codebase_version": VERSION, "robot_type": info.robot,
        "total_episodes": len(episodes), "total_frames": begin, "total_tasks": len(known),
        "chunks_size": FILES_IN_CHUNK, "data_files_size_in_mb": MEGABYTES,
        "video_files_size_in_mb": 2 * MEGABYTES, "fps": fps,
        "splits": {"train": f"0:{len(episodes)}"}, "data_path": f"data/{PLACE}", "video_path": None,
        "features": described,
    })  # fmt: skip


def _place(number: int) -> str:
    return PLACE.format(chunk_index=number // FILES_IN_CHUNK, file_index=number % FILES_IN_CHUNK)


def _files(episodes: Sequence[Values]) -> Iterator[tuple[int, int]]:
    """The first episode of each file of data, and the one after its last."""
    first, size = 0, 0
    for index, values in enumerate(episodes):
        more = sum(value.nbytes for value in values.values())
        if index > first and size + more > MEGABYTES * 2**20:
            yield first, index
            first, size = index, 0
        size += more
    yield first, len(episodes)


def _joined(episodes: Sequence[Values]) -> Values:
    return {name: np.concatenate([values[name] for values in episodes]) for name in episodes[0]}


def statistics(values: Array) -> dict[str, list[Any]]:
    """Statistics of a feature over frames (n,) or (n, m), a list each."""
    rows = values.reshape(len(values), -1)
    found = {"min": rows.min(axis=0), "max": rows.max(axis=0)}
    rows = rows.astype(np.float64)
    found |= {"mean": rows.mean(axis=0), "std": rows.std(axis=0), "count": np.array([len(rows)])}
    found |= {name: np.quantile(rows, part, axis=0) for name, part in QUANTILES.items()}
    return {name: value.tolist() for name, value in found.items()}


def _table(pa: Any, features: Sequence[Feature], values: Values) -> Any:
    """Frames as a table, whose metadata tell the types to the library `datasets`."""
    plain = {"float32": pa.float32(), "int64": pa.int64()}
    dtypes = {"timestamp": "float32"} | dict.fromkeys(COUNTED, "int64")
    columns: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for one in features:
        width, rows = len(one.columns), values[one.name]
        flat = pa.array(rows.ravel(), type=pa.float32())
        told[one.name] = number = {"dtype": "float32", "_type": "Value"}
        columns[one.name] = flat
        if width > 1:
            columns[one.name] = pa.FixedSizeListArray.from_arrays(flat, width)
            told[one.name] = {"feature": number, "length": width, "_type": "List"}
    for name, dtype in dtypes.items():
        columns[name] = pa.array(values[name], type=plain[dtype])
        told[name] = {"dtype": dtype, "_type": "Value"}
    said = {"huggingface": json.dumps({"info": {"features": told}})}
    return pa.table(columns).replace_schema_metadata(said)


def _task_table(pa: Any, tasks: Sequence[str]) -> Any:
    """Numbers of tasks, with their words as the index that pandas reads."""
    index = "__index_level_0__"
    column = {"metadata": None, "name": None}
    said = {
        "index_columns": [index],
        "column_indexes": [],
        "columns": [
            column | {"name": "task_index", "field_name": "task_index", "pandas_type": "int64",
                      "numpy_type": "int64"},
            column | {"field_name": index, "pandas_type": "unicode", "numpy_type": "object"},
        ],
        "pandas_version": "2.0.0",
    }  # fmt: skip
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), index: list(tasks)})
    return table.replace_schema_metadata({"pandas": json.dumps(said)})


def _json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=4, allow_nan=False) + "\n", encoding="utf-8")
