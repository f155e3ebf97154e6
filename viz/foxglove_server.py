"""A live view in Foxglove: a WebSocket server of the topics that MCAP files have.

Foxglove connects to ``ws://127.0.0.1:8765``. Topics are those of `robosim.log.ros_topics`, as bytes
of ROS 2, at the times of the simulation. Clients may publish targets of joints on `COMMANDS`.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError, SaveError, ViewerError
from robosim.extras import needed
from robosim.log.cdr import decoded, encoded
from robosim.log.channels import Also, channels_of
from robosim.log.columns import INTEGERS, LogInfo
from robosim.log.ros_messages import Message, definition, full_name, stamp
from robosim.log.ros_topics import MODEL, ONCE, Topic, told_once, topics_of
from robosim.viz.link import MAX_WAITING

if TYPE_CHECKING:
    from robosim.formulation import Formulation
    from robosim.log import Chunk
    from robosim.simulation.channel_reader import ChannelReader

HOST, PORT = "127.0.0.1", 8765
COMMANDS, COMMAND = "/joint_commands", "sensor_msgs/JointState"
ENCODINGS = ("cdr", "json")
LONGEST = 1 << 20  # bytes of a message from a client
log = logging.getLogger(__name__)

Targets = dict[str, float]


class FoxgloveServer:
    """Serves what a simulation does to Foxglove, at ``url``.

    Only programs on this machine can connect. They see the topics of MCAP files: joint states,
    frames, the model as URDF, and readings of `also`. On the topic ``/joint_commands`` they may
    publish targets: a ``sensor_msgs/msg/JointState`` (cdr), or JSON with `name` and `position`.

    Parameters
    ----------
    robot : Mechanism
    port : int
        TCP port; 0 for any that is free.
    also : str or sequence of str
        Further channels, as for ``Simulation.run``.
    quiet : bool
        Whether to omit the line with the address on stderr.

    Raises
    ------
    MissingExtraError
        Without foxglove-sdk.
    OptionError
        For a port that is not an integer in 0..65535.
    ViewerError
        If the server cannot be started, for example because the port is in use.
    """

    def __init__(
        self,
        robot: Mechanism,
        *,
        port: int = PORT,
        also: str | Sequence[str] = ("sensors", "contacts"),
        quiet: bool = False,
    ) -> None:
        sdk = needed("foxglove", "a live view in Foxglove needs foxglove-sdk", "foxglove")
        if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535:
            raise OptionError(f"port must be an integer in 0..65535, not {port!r}")
        self._sdk, self._asked = sdk, also
        self._context = sdk.Context()
        self._folder = tempfile.TemporaryDirectory(prefix="robosim-foxglove-")
        self._clients = _Clients()
        self._channels: dict[str, Any] = {}
        try:
            self._server = sdk.start_server(
                name=f"robosim: {robot.name}",
                host=HOST,
                port=port,
                capabilities=[sdk.Capability.ClientPublish, sdk.Capability.Time],
                supported_encodings=list(ENCODINGS),
                server_listener=self._clients,
                context=self._context,
            )
        except RuntimeError as error:
            self._folder.cleanup()
            raise ViewerError(
                f"Foxglove's server could not be started on port {port}: {error}; take another port"
            ) from None
        # Also ends it when this object is garbage collected, or Python exits.
        self._finalizer = weakref.finalize(self, _end, self._server, self._folder)
        self.replace(robot)
        if not quiet:
            print(f"for Foxglove: {self.url}", file=sys.stderr, flush=True)

    def __repr__(self) -> str:
        where = f" at {self.url}" if self._finalizer.alive else ", ended"
        return f"<FoxgloveServer of {self.robot.name!r}{where}>"

    @property
    def port(self) -> int:
        """TCP port of the server."""
        return int(self._server.port)

    @property
    def url(self) -> str:
        """Address for "Open connection" of Foxglove."""
        return f"ws://{HOST}:{self.port}"

    def replace(self, robot: Mechanism) -> None:
        """Serve another robot from now on."""
        from robosim.loaders.writers.text import urdf_text

        for channel in self._channels.values():
            channel.close()
        self.robot = robot
        self._also = Also(channels_of(robot, self._asked))
        self._read: ChannelReader | None = None
        self._info = LogInfo.of(robot, math.nan, also=self._also)
        self._topics: tuple[Topic, ...] = topics_of(robot, self._info)
        try:
            model = urdf_text(robot, Path(self._folder.name) / "robot.urdf")
        except SaveError as error:
            log.warning("Foxglove shows no model: %s", error)
            model = ""
        self._once = told_once(robot, self._info, model, stamp(0))
        if not model:
            del self._once[MODEL]
        kinds = {topic.name: topic.kind for topic in self._topics}
        kinds |= {topic: ONCE[topic] for topic in self._once}
        self._channels = {name: self._channel(name, kind) for name, kind in kinds.items()}

    def _channel(self, topic: str, kind: str) -> Any:
        schema = self._sdk.Schema(
            name=full_name(kind), encoding="ros2msg", data=definition(kind).encode()
        )
        return self._sdk.Channel(
            topic, schema=schema, message_encoding="cdr", context=self._context
        )

    def show(self, sim: Formulation, chunk: Chunk | None = None) -> None:
        """Publish the present state; never waits for a client.

        Parameters
        ----------
        sim : Simulation
        chunk : Chunk or None
            The last samples of the run, for what a step needed.
        """
        time = round(1e9 * sim.time)
        self._tell_newcomers(time)
        if self._clients.subscribed:
            row = self._row(sim, chunk)
            for topic in self._topics:
                channel = self._channels[topic.name]
                if channel.has_sinks():
                    message = topic.message(row, stamp(time))
                    if message is not None:
                        channel.log(encoded(topic.kind, message), log_time=time)
        self._server.broadcast_time(time)

    def _tell_newcomers(self, time: int) -> None:
        """Tell clients that have just come what is told once."""
        for topic in self._clients.newly_asked():
            if topic in self._once:
                data = encoded(ONCE[topic], self._once[topic])
                self._channels[topic].log(data, log_time=time)

    def _row(self, sim: Any, chunk: Chunk | None) -> dict[str, Any]:
        """The present sample by the names of columns, with large readings."""
        info = self._info
        row: dict[str, Any] = {"time": float(sim.time)}
        for names, values in (
            (info.q, sim.q),
            (info.v, sim.v),
            (info.tau, np.asarray(sim.torques)[self.robot.actuated]),
        ):
            row.update(zip(names, np.asarray(values, dtype=float).tolist(), strict=True))
        for name in (*INTEGERS, "violation", "gap"):
            there = chunk is not None and len(chunk.t) > 0
            row[name] = float(getattr(chunk, name)[-1]) if there else 0.0
        extra, scans = self._readings(sim)
        row.update(zip(info.extra, extra.tolist(), strict=True))
        row.update(zip(info.scans, scans, strict=True))
        return row

    def _readings(self, sim: Any) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
        from robosim.simulation.channel_reader import ChannelReader

        if self._read is None or self._read.sim is not sim:
            self._read = ChannelReader(sim, self._also)
        extra = np.full(self._read.width, np.nan)
        scans = np.full(self._read.scans, None, dtype=object)
        self._read(extra, scans)
        return extra, scans

    def commands(self) -> list[Targets]:
        """Targets of joints that clients have published since the last call, by their names.

        Messages that are none are dropped, and the reason is told to clients.
        """
        self._tell_newcomers(0)
        found = []
        for encoding, data in self._clients.received():
            try:
                found.append(targets_of(encoding, data))
            except ValueError as error:
                self.refuse(str(error))
        return found

    def refuse(self, reason: str) -> None:
        """Tell all clients why a command was not followed."""
        log.warning("a command from Foxglove is not followed: %s", reason)
        self._server.publish_status(reason, self._sdk.StatusLevel.Warning)

    def close(self) -> None:
        """End the server; closing again does nothing."""
        self._finalizer()

    def __enter__(self) -> FoxgloveServer:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


def targets_of(encoding: str, data: bytes) -> Targets:
    """Targets by the names of joints, of a message of a client.

    Raises
    ------
    ValueError
        If it is no JointState, or not one with a finite position for each name.
    """
    if len(data) > LONGEST:
        raise ValueError(f"a message of {len(data)} bytes is too long")
    if encoding == "cdr":
        message: Message = decoded(COMMAND, data)
    else:
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            raise ValueError("not JSON") from None
        if not isinstance(message, dict):
            raise ValueError("not a JSON object")
    names, values = message.get("name"), message.get("position")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("'name' must be a list of names of joints")
    if not isinstance(values, list) or len(values) != len(names):
        raise ValueError(f"'position' must have a number for each of the {len(names)} names")
    for name, value in zip(names, values, strict=True):
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not real or not abs(value) < sys.float_info.max:
            raise ValueError(f"the position of '{name[:60]}' is not a finite number")
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def _end(server: Any, folder: tempfile.TemporaryDirectory[str]) -> None:
    server.stop()
    folder.cleanup()


class _Clients:
    """What clients ask for, noted by threads of the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: deque[tuple[str, bytes]] = deque(maxlen=MAX_WAITING)
        self._publishing: dict[tuple[int, int], str] = {}  # encodings of their channels
        self._asked: set[str] = set()
        self.subscribed = 0

    def newly_asked(self) -> set[str]:
        with self._lock:
            found, self._asked = self._asked, set()
        return found

    def received(self) -> list[tuple[str, bytes]]:
        with self._lock:
            found = list(self._messages)
            self._messages.clear()
        return found

    # The rest has the names that foxglove-sdk calls.

    def on_subscribe(self, client: Any, channel: Any) -> None:
        with self._lock:
            self.subscribed += 1
            self._asked.add(channel.topic)

    def on_unsubscribe(self, client: Any, channel: Any) -> None:
        with self._lock:
            self.subscribed -= 1

    def on_client_advertise(self, client: Any, channel: Any) -> None:
        if channel.topic == COMMANDS and channel.encoding in ENCODINGS:
            with self._lock:
                self._publishing[client.id, channel.id] = channel.encoding

    def on_client_unadvertise(self, client: Any, client_channel_id: int) -> None:
        with self._lock:
            self._publishing.pop((client.id, client_channel_id), None)

    def on_message_data(self, client: Any, client_channel_id: int, data: bytes) -> None:
        with self._lock:
            encoding = self._publishing.get((client.id, client_channel_id))
            if encoding is not None:
                self._messages.append((encoding, bytes(data)))
