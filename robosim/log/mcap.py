"""Logs as MCAP files of ROS 2 messages, for Foxglove, PlotJuggler, `ros2 bag` and the like.

A sample becomes messages of its time (`robosim.log.ros_topics`), and all of its columns once more
on `SAMPLES`, from which `read_mcap` reads the log back. No ROS is needed, neither to write nor to
read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.errors import LogError
from robosim.log.columns import INTEGERS, Chunk, LogInfo
from robosim.log.formats import METADATA, assembled, scan_column
from robosim.log.ros_messages import Message, definition, full_name, stamp
from robosim.log.ros_rays import reading_of
from robosim.log.ros_topics import SAMPLES, Topic, fixed_frames, topics_of
from robosim.log.stream import StreamReader
from robosim.version import install

MODEL = "/robot_description"


def check_mcap() -> None:
    """Raise a LogError where the packages are missing that read and write MCAP files."""
    if find_spec("mcap") is None or find_spec("mcap_ros2") is None:
        raise LogError(f"an .mcap file needs two more packages: {install('mcap')}")


def write_mcap(stream: Path, target: Path, info: LogInfo, robot: Mechanism, model: str) -> None:
    """Make an MCAP file of a stream, with a robot's frames and its model as URDF."""
    from mcap_ros2.writer import Writer

    topics = topics_of(robot, info)
    with open(target, "wb") as file:
        writer = Writer(file)
        schemas: dict[str, Any] = {}

        def write(topic: str, kind: str, message: Message, time: int) -> None:
            if kind not in schemas:
                schemas[kind] = writer.register_msgdef(full_name(kind), definition(kind))
            writer.write_message(topic, schemas[kind], message, time)

        begun = False
        for row in _shown(stream):
            time = round(1e9 * row["time"])
            if not begun:
                write(MODEL, "std_msgs/String", {"data": model}, time)
                fixed = fixed_frames(robot, info, stamp(time))
                write("/tf_static", "tf2_msgs/TFMessage", fixed, time)
                begun = True
            for topic in topics:
                message = topic.message(row, stamp(time))
                if message is not None:
                    write(topic.name, topic.kind, message, time)
        said = {"metadata": info.metadata(), "columns": json.dumps(info.names)}
        said |= {"scans": json.dumps(_scan_topics(topics, info))} if info.scans else {}
        writer.add_metadata(METADATA, said)
        writer.finish()


def _scan_topics(topics: Sequence[Topic], info: LogInfo) -> dict[str, str]:
    """The topics from which large readings are read back."""
    first = {topic.sensor: topic.name for topic in reversed(topics) if topic.sensor}
    return {name: first[name] for name in info.scans}


def _shown(stream: Path) -> Iterator[dict[str, Any]]:
    """The samples of a stream by the names of columns, with a bar where someone waits.

    A large reading is one of them where it is new, and None otherwise.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with (
        StreamReader(stream) as samples,
        Progress(console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("writing messages", total=len(samples))
        first = 0
        for columns, scans in samples.blocks():
            n = len(columns["time"])
            new = {
                name: dict(zip((rows - first).tolist(), values, strict=True))
                for name, (rows, values) in scans.items()
            }
            for k in range(n):
                row: dict[str, Any] = {name: float(column[k]) for name, column in columns.items()}
                yield row | {name: readings.get(k) for name, readings in new.items()}
            first += n
            bar.advance(task, n)


def read_mcap(path: Path) -> tuple[LogInfo, Chunk]:
    """The log that an MCAP file was written of.

    Raises
    ------
    LogError
        Without the packages that read it, or where it is no log of robosim.
    """
    check_mcap()
    from mcap.exceptions import McapError
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    try:
        with open(path, "rb") as file:
            reader = make_reader(file, decoder_factories=[DecoderFactory()])
            said = next((m.metadata for m in reader.iter_metadata() if m.name == METADATA), None)
            if said is None:
                raise LogError("has no samples of robosim")
            names = json.loads(said["columns"])
            rows = [
                list(message.data) for *_, message in reader.iter_decoded_messages(topics=[SAMPLES])
            ]
            scans = {
                name: [
                    (raw.log_time, str(schema and schema.name), message)
                    for schema, _, raw, message in reader.iter_decoded_messages(topics=[topic])
                ]
                for name, topic in json.loads(said.get("scans", "{}")).items()
            }
    except McapError as error:
        raise LogError(f"damaged, or not a log: {error or type(error).__name__}") from None
    table = np.array(rows, dtype=float).reshape(len(rows), len(names))
    info = LogInfo.from_names(names, said["metadata"])
    columns = {name: table[:, k] for k, name in enumerate(names)}
    columns |= {name: columns[name].astype(np.int64) for name in INTEGERS}
    times = np.rint(1e9 * columns["time"]).astype(np.int64)
    large = {
        name: scan_column(
            len(table),
            np.searchsorted(times, [time for time, *_ in told]).tolist(),
            [reading_of(info.scans[name], kind, message) for _, kind, message in told],
        )
        for name, told in scans.items()
    }
    return assembled(columns, info, large)
