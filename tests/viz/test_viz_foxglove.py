"""Foxglove's live view, by a client of its protocol: topics, their bytes, and commands back."""

from __future__ import annotations

import asyncio
import json
import math
import re
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tornado.websocket

import robosim
from robosim import Mechanism, OptionError, ViewerError
from robosim.controllers import PD
from robosim.errors import MissingExtraError
from robosim.log.cdr import decoded, encoded
from robosim.log.ros_messages import definition, full_name
from robosim.viz import live
from robosim.viz.foxglove_server import COMMAND, COMMANDS, FoxgloveServer, targets_of

PROTOCOLS = ("foxglove.sdk.v1", "foxglove.websocket.v1")
DATA, TIME = 1, 2  # first bytes of messages that are no text


@pytest.fixture
def server(robot: Mechanism) -> Iterator[FoxgloveServer]:
    pytest.importorskip("foxglove")
    with FoxgloveServer(robot, port=0, quiet=True) as server:
        yield server


class Client:
    """A client that notes all it hears, driven by hand between frames of the run."""

    def __init__(self, url: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.url = url
        self.told: list[dict[str, Any]] = []
        self.heard: dict[str, list[tuple[int, bytes]]] = {}
        self.times: list[int] = []
        self._topics: dict[int, str] = {}

    def __enter__(self) -> Client:
        async def connect() -> Any:
            asked = list(PROTOCOLS)
            return await tornado.websocket.websocket_connect(self.url, subprotocols=asked)

        self.socket: Any = self.loop.run_until_complete(connect())
        return self

    def __exit__(self, *args: object) -> None:
        self.socket.close()
        self.listen(0.1)
        self.loop.close()

    def listen(self, seconds: float) -> None:
        """Take all that arrives in this time."""

        async def take() -> None:
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                try:
                    found = await asyncio.wait_for(self.socket.read_message(), left)
                except TimeoutError:
                    return
                if found is None:
                    return
                self._note(found)

        self.loop.run_until_complete(take())

    def until(self, done: Callable[[], bool], each: Callable[[], None] = lambda: None) -> None:
        """Listen until something is there, and fail after a while."""
        for _ in range(100):
            each()
            self.listen(0.05)
            if done():
                return
        raise AssertionError(f"heard only {list(self.heard)}, {self.told[-3:]}")

    def _note(self, found: str | bytes) -> None:
        if isinstance(found, str):
            self.told.append(json.loads(found))
        elif found[0] == DATA:
            number, stamp = struct.unpack_from("<IQ", found, 1)
            self.heard.setdefault(self._topics[number], []).append((stamp, found[13:]))
        elif found[0] == TIME:
            self.times.append(struct.unpack_from("<Q", found, 1)[0])

    @property
    def channels(self) -> dict[str, dict[str, Any]]:
        found = [one for told in self.told if told["op"] == "advertise" for one in told["channels"]]
        return {one["topic"]: one for one in found}

    def say(self, **told: Any) -> None:
        self.loop.run_until_complete(self._send(json.dumps(told), False))

    async def _send(self, content: str | bytes, binary: bool) -> None:
        await self.socket.write_message(content, binary)

    def subscribe(self, *topics: str) -> None:
        self.until(lambda: set(topics) <= set(self.channels))
        asked = []
        for topic in topics:
            number = len(self._topics)
            self._topics[number] = topic
            asked.append({"id": number, "channelId": self.channels[topic]["id"]})
        self.say(op="subscribe", subscriptions=asked)

    def publish(self, encoding: str, data: bytes, topic: str = COMMANDS) -> None:
        channel = {"id": 7, "topic": topic, "encoding": encoding, "schemaName": full_name(COMMAND)}
        channel |= {"schema": definition(COMMAND), "schemaEncoding": "ros2msg"}
        self.say(op="advertise", channels=[channel])
        self.loop.run_until_complete(self._send(b"\x01" + struct.pack("<I", 7) + data, True))
        self.say(op="unadvertise", channelIds=[7])


def test_clients_see_the_topics_of_files(robot: Mechanism, server: FoxgloveServer) -> None:
    sim, again = robosim.Simulation(robot), robosim.Simulation(robot)
    for one in (sim, again):
        one.place()
    with Client(server.url) as client:
        client.listen(0.2)
        (info,) = [told for told in client.told if told["op"] == "serverInfo"]
        assert {"clientPublish", "time"} <= set(info["capabilities"])
        assert set(info["supportedEncodings"]) == {"cdr", "json"}
        assert robot.name in info["name"]
        client.subscribe("/joint_states", "/tf", "/tf_static", "/robot_description")

        def step() -> None:
            sim.run(0.01)
            server.show(sim)

        client.until(
            lambda: {"/joint_states", "/tf", "/robot_description"} <= set(client.heard), step
        )
        for topic, kind in (
            ("/joint_states", "sensor_msgs/JointState"),
            ("/tf", "tf2_msgs/TFMessage"),
            ("/tf_static", "tf2_msgs/TFMessage"),
            ("/robot_description", "std_msgs/String"),
            ("/robosim/samples", "std_msgs/Float64MultiArray"),
            ("/contact/box", "geometry_msgs/WrenchStamped"),
        ):
            channel = client.channels[topic]
            assert (channel["encoding"], channel["schemaEncoding"]) == ("cdr", "ros2msg")
            assert channel["schemaName"] == full_name(kind)
            assert channel["schema"] == definition(kind)
        when, data = client.heard["/joint_states"][-1]
        said = decoded("sensor_msgs/JointState", data)
        assert said["name"] == ["hinge"]
        stamp = said["header"]["stamp"]
        assert stamp["sec"] * 10**9 + stamp["nanosec"] == when
        assert when in client.times
        while round(1e9 * again.time) < when:
            again.run(0.01)
        assert said["position"] == [again.q[7]]
        assert said["velocity"] == [again.v[6]]
        model = decoded("std_msgs/String", client.heard["/robot_description"][0][1])["data"]
        assert robosim.load(model).total_mass == pytest.approx(robot.total_mass)
        moved = decoded("tf2_msgs/TFMessage", client.heard["/tf"][-1][1])["transforms"]
        assert [one["child_frame_id"] for one in moved] == ["box", "arm"]


def driven(
    robot: Mechanism, server: FoxgloveServer, client: Client, tell: Callable[[], None]
) -> float:
    """The target of the hinge some time after a client has told something."""
    # No gravity: the base has no motor, and shall not fall.

    joints = tuple(replace(j, actuated=j.kind == "revolute") for j in robot.joints)
    moved = replace(robot, joints=joints, contacts=())
    server.replace(moved)
    control = PD(moved, [0.1], kp=5.0, kd=0.5, implicit=True)
    frames = 0

    def stop() -> bool:
        nonlocal frames
        frames += 1
        if frames == 3:
            tell()
        client.listen(0.01)
        return frames > 25

    live(robosim.Simulation(moved, gravity=(0, 0, 0)), control, stop=stop, foxglove=server)
    return float(control.gains["target"][0])


def state(names: list[str], positions: list[float]) -> dict[str, Any]:
    head = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}
    return {"header": head, "name": names, "position": positions, "velocity": [], "effort": []}


@pytest.mark.parametrize("encoding", ["json", "cdr"])
def test_a_client_moves_targets(robot: Mechanism, server: FoxgloveServer, encoding: str) -> None:
    message = state(["hinge"], [0.7])
    data = encoded(COMMAND, message) if encoding == "cdr" else json.dumps(message).encode()
    with Client(server.url) as client:
        assert driven(robot, server, client, lambda: client.publish(encoding, data)) == 0.7


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"name": ["hinges"], "position": [0.7]}', "no target of 'hinges' (known: hinge)"),
        (b'{"name": ["hinge"], "position": []}', "a number for each of the 1 names"),
        (b'{"name": ["hinge"], "position": [NaN]}', "not a finite number"),
        (b"[[[", "not JSON"),
    ],
)
def test_what_cannot_be_followed_is_told(
    robot: Mechanism, server: FoxgloveServer, data: bytes, why: str
) -> None:
    with Client(server.url) as client:
        assert driven(robot, server, client, lambda: client.publish("json", data)) == 0.1
        told = [one for one in client.told if one["op"] == "status"]
        assert any(why in one["message"] for one in told), told


def test_other_topics_of_clients_are_left_alone(robot: Mechanism, server: FoxgloveServer) -> None:
    data = json.dumps(state(["hinge"], [0.7])).encode()
    with Client(server.url) as client:
        tell = lambda: client.publish("json", data, "/move_base")  # noqa: E731
        assert driven(robot, server, client, tell) == 0.1


def test_a_port_that_is_taken_is_told_in_a_sentence(
    robot: Mechanism, server: FoxgloveServer
) -> None:
    with pytest.raises(ViewerError, match=rf"on port {server.port}: .*; take another port$"):
        FoxgloveServer(robot, port=server.port, quiet=True)
    with pytest.raises(OptionError, match=r"integer in 0\.\.65535"):
        FoxgloveServer(robot, port=70000)


def test_closing_ends_it(robot: Mechanism) -> None:
    pytest.importorskip("foxglove")
    first = FoxgloveServer(robot, port=0, quiet=True)
    port = first.port
    first.close()
    first.close()
    assert "ended" in repr(first)
    with FoxgloveServer(robot, port=port, quiet=True) as second:
        assert second.url == f"ws://127.0.0.1:{port}"


def test_without_the_package_it_is_said_how_to_get_it(
    robot: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "foxglove", None)
    with pytest.raises(MissingExtraError, match=r"needs foxglove-sdk; .*\[foxglove\]"):
        FoxgloveServer(robot)


def test_targets_stay_within_limits_of_joints() -> None:
    from robosim.viz.rig import Rig

    a1 = robosim.load("a1")
    rig = Rig(robosim.Simulation(a1), "stand")
    name = "FR_calf_joint"
    rig.aim_by_name({name: 9.0})
    target = rig.control.gains["target"][list(a1.actuated_names).index(name)]
    assert target == np.asarray(a1.joints[a1.joint_index(name)].upper)[0] < 9.0
    with pytest.raises(OptionError, match="no target of 'base'"):
        rig.aim_by_name({name: -1.0, "base": 0.0})
    assert rig.control.gains["target"][list(a1.actuated_names).index(name)] == target
    with pytest.raises(OptionError, match="'zero' has no targets to move"):
        Rig(robosim.Simulation(a1), "zero").aim_by_name({name: 0.0})


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, True, "1", None, 1e400])
def test_positions_are_finite_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match="'hinge' is not a finite number"):
        targets_of("json", json.dumps({"name": ["hinge"], "position": [value]}).encode())


def on_command_line(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "robosim", "simulate", "pendulum", "--seconds", "0.2", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=300)


def test_the_command_line_serves_a_run(server: FoxgloveServer) -> None:
    done = on_command_line("--foxglove", "--foxglove-port", "0")
    assert done.returncode == 0, done.stderr
    assert re.search(r"for Foxglove: ws://127\.0\.0\.1:\d+\n", done.stderr)
    taken = on_command_line("--foxglove", "--foxglove-port", str(server.port))
    assert taken.returncode == 1
    assert f"on port {server.port}" in " ".join(taken.stderr.split())
    assert "Traceback" not in taken.stderr


def test_a_port_alone_is_refused() -> None:
    done = on_command_line("--foxglove-port", "8765")
    assert done.returncode == 1
    assert "--foxglove-port is for --foxglove" in " ".join(done.stderr.split())
