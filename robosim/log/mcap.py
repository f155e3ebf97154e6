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
from robosim.log.cdr import encoded
from robosim.log.columns import INTEGERS, Chunk, LogInfo
from robosim.log.formats import METADATA, assembled, scan_column
from robosim.log.ros_messages import Message, definition, full_name, stamp
from robosim.log.ros_rays import reading_of
from robosim.log.ros_topics import ONCE, SAMPLES, Topic, told_once, topics_of
from robosim.log.stream import StreamReader
from robosim.version import install

# Of topics of one message, so that `ros2 bag play` keeps it for those who listen later.
_FOREVER = "{sec: 9223372036, nsec: 854775807}"
LATCHED = f"""- history: 1
  depth: 1
  reliability: 1
  durability: 1
  deadline: {_FOREVER}
  lifespan: {_FOREVER}
  liveliness: 1
  liveliness_lease_duration: {_FOREVER}
  avoid_ros_namespace_conventions: false
"""


def check_mcap() -> None:
    """Raise a LogError where the packages are missing that read and write MCAP files."""
    if find_spec("mcap") is None or find_spec("mcap_ros2") is None:
        raise LogError(f"an .mcap file needs two more packages: {install('mcap')}")


def write_mcap(stream: Path, target: Path, info: LogInfo, robot: Mechanism, model: str) -> None:
    """Make an MCAP file of a stream, with a robot's frames and its model as URDF."""
    from mcap.well_known import MessageEncoding, Profile, SchemaEncoding
    from mcap.writer import Writer

    topics = topics_of(robot, info)
    with open(target, "wb") as file:
        writer = Writer(file)
        writer.start(Profile.ROS2, library=f"robosim {info.version}")
        schemas: dict[str, int] = {}
        channels: dict[str, int] = {}

        def write(topic: str, kind: str, message: Message, time: int) -> None:
            if kind not in schemas:
                text = definition(kind).encode()
                schemas[kind] = writer.register_schema(full_name(kind), SchemaEncoding.ROS2, text)
            if topic not in channels:
                said = {"offered_qos_profiles": LATCHED} if topic in ONCE else {}
                channels[topic] = writer.register_channel(
                    topic, MessageEncoding.CDR, schemas[kind], said
                )
            writer.add_message(channels[topic], time, encoded(kind, message), time)

        begun = False
        for row in _shown(stream):
            time = round(1e9 * row["time"])
            if not begun:
                for name, message in told_once(robot, info, model, stamp(time)).items():
                    write(name, ONCE[name], message, time)
                begun = True
            for topic in topics:
                found = topic.message(row, stamp(time))
                if found is not None:
                    write(topic.name, topic.kind, found, time)
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
