"""MCAP files against ROS 2 itself: hashes of its types, another writer's bytes, frames of links.

`HASHES` are first digits of the RIHS01 hashes (REP-2011) of definitions in ROS 2, which name each
field and its type. They were computed from those of Humble and Jazzy, not from the ones here.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from mcap_ros2.writer import Writer

import robosim
from robosim import Place, Sensor
from robosim.log.cdr import NUMBERS, decoded, encoded
from robosim.log.ros_messages import FIELDS, definition, full_name
from robosim.sensors import DepthCamera, HeightScan, Lidar

HASHES = {
    "builtin_interfaces/Time": "b106235e25a4c5ed",
    "std_msgs/Header": "f49fb3ae2cf070f7",
    "std_msgs/String": "df668c740482bbd4",
    "std_msgs/Float64": "705ba9c3d1a09df4",
    "std_msgs/MultiArrayDimension": "5e773a60a4c7fc8a",
    "std_msgs/MultiArrayLayout": "4c66e6f78e740ac1",
    "std_msgs/Float64MultiArray": "1025ddc6b9552d19",
    "geometry_msgs/Point": "6963084842a9b044",
    "geometry_msgs/Vector3": "cc12fe83e4c02719",
    "geometry_msgs/Quaternion": "8a765f66778c8ff7",
    "geometry_msgs/Pose": "d501954e9476cea2",
    "geometry_msgs/Twist": "9c45bf16fe0983d8",
    "geometry_msgs/Wrench": "018e8519d57c16ad",
    "geometry_msgs/Transform": "beb83fbe69863635",
    "geometry_msgs/PoseStamped": "10f3786d7d40fd2b",
    "geometry_msgs/TwistStamped": "5f0fcd4f81d5d06a",
    "geometry_msgs/WrenchStamped": "8dc3deaf06b2ab28",
    "geometry_msgs/Vector3Stamped": "d4829622288cbb44",
    "geometry_msgs/QuaternionStamped": "381add86c6c31606",
    "geometry_msgs/TransformStamped": "0a241f87d04668d9",
    "tf2_msgs/TFMessage": "e369d0f05a23ae52",
    "sensor_msgs/JointState": "a13ee3a330e346c9",
    "sensor_msgs/Imu": "7d9a00ff13108089",
    "sensor_msgs/LaserScan": "64c191398013af96",
    "sensor_msgs/PointField": "5c6a4750728c2bcf",
    "sensor_msgs/PointCloud2": "9198cabf7da3796a",
    "sensor_msgs/Image": "d31d41a9a4c4bc8e",
    "sensor_msgs/RegionOfInterest": "ad16bcba5f9131dc",
    "sensor_msgs/CameraInfo": "b3dfd68ff46c9d56",
}
# What REP-2011 calls types: plain ones, messages; arrays add 48, sequences without a bound 144.
NUMBERS_OF_TYPES = {
    "uint8": 3, "int32": 6, "uint32": 7, "float32": 10, "float64": 11, "bool": 15, "string": 17,
}  # fmt: skip


def of_text(name: str, text: str) -> dict[str, list[str]]:
    """The lines of each message in a schema of MCAP's encoding `ros2msg`."""
    first, *others = text.split("=" * 80 + "\n")
    found = {name: first.split("\n")}
    for other in others:
        head, _, rest = other.partition("\n")
        found[head.removeprefix("MSG: ")] = rest.split("\n")
    return {kind: [line for line in lines if line] for kind, lines in found.items()}


def rihs01(name: str, text: str) -> str:
    """The hash of a type by what a schema says."""
    messages = of_text(name, text)

    def field(line: str) -> dict[str, Any]:
        kind, called = line.split()
        kind, bracket, length = kind.partition("[")
        more = 0 if not bracket else 48 if length != "]" else 144
        told = {
            "type_id": NUMBERS_OF_TYPES.get(kind, 1) + more,
            "capacity": int(length[:-1] or 0) if bracket else 0,
            "string_capacity": 0,
            "nested_type_name": "" if kind in NUMBERS_OF_TYPES else full_name(kind),
        }
        return {"name": called, "type": told}

    described = {
        kind: {"type_name": full_name(kind), "fields": [field(line) for line in lines]}
        for kind, lines in messages.items()
    }
    others = sorted((one for kind, one in described.items() if kind != name),
                    key=lambda one: one["type_name"])  # fmt: skip
    whole = {"type_description": described[name], "referenced_type_descriptions": others}
    return sha256(json.dumps(whole).encode()).hexdigest()[:16]


@pytest.mark.parametrize("kind", FIELDS)
def test_definitions_are_those_of_ros_2(kind: str) -> None:
    assert rihs01(kind, definition(kind)) == HASHES[kind]


def test_a_hash_notices_an_order_a_name_and_a_type() -> None:
    text = definition("sensor_msgs/JointState")
    for old, new in (
        ("float64[] position\nfloat64[] velocity", "float64[] velocity\nfloat64[] position"),
        ("string[] name", "string[] names"),
        ("float64[] effort", "float32[] effort"),
        ("int32 sec", "uint32 sec"),
    ):
        assert old in text
        changed = text.replace(old, new)
        assert rihs01("sensor_msgs/JointState", changed) != HASHES["sensor_msgs/JointState"]


@pytest.fixture(scope="module")
def robot() -> robosim.Mechanism:
    a1 = robosim.load("a1")
    imu, foot = Place.of_frame(a1, "imu_link"), Place.of_frame(a1, "FR_foot")
    below = ("FR_calf",)
    return a1.with_sensors(
        (
            Sensor("gyro", "gyro", place=imu),
            Sensor("felt", "accelerometer", place=imu),
            Sensor("turned", "framequat", place=imu),
            Sensor("knee", "jointpos", of={"FR_calf_joint": 2.0}),
            Sensor("pull", "force", place=foot, bodies=below),
            Sensor("bend", "torque", place=foot, bodies=below),
            Sensor("height", "framepos", place=foot),
            Lidar("ring", "base", 1, 40, (-1.0, 1.0), position=(0.0, 0.0, 0.1)),
            Lidar("spin", "base", 8, 16, (-1.0, 1.0), (-0.6, 0.2), position=(0.0, 0.0, 0.1)),
            HeightScan("scan", "base", (np.linspace(-0.2, 0.2, 5), np.linspace(-0.1, 0.1, 3))),
            DepthCamera("eye", "base", 12, 8, 1.0, position=(0.3, 0.0, 0.0)),
        )
    )


ALSO = ("sensors", "contacts", "frame:FR_foot", "joint_wrenches")


@pytest.fixture(scope="module")
def log(robot: robosim.Mechanism) -> robosim.Log:
    return robosim.Simulation(robot).run(0.03, "stand", also=ALSO)


Told = tuple[str, str, int, bytes, Any]  # topic, kind, time, bytes, message


@pytest.fixture(scope="module")
def file(log: robosim.Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ros") / "run.mcap"
    log.save(path)
    return path


def told(file: Path) -> Iterator[Told]:
    with file.open("rb") as opened:
        reader = make_reader(opened, decoder_factories=[DecoderFactory()])
        for schema, channel, raw, message in reader.iter_decoded_messages():
            assert (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
            package, _, kind = schema.name.split("/")
            yield channel.topic, f"{package}/{kind}", raw.log_time, raw.data, message


KINDS = {
    "/robot_description": "std_msgs/String",
    "/tf_static": "tf2_msgs/TFMessage",
    "/tf": "tf2_msgs/TFMessage",
    "/joint_states": "sensor_msgs/JointState",
    "/robosim/samples": "std_msgs/Float64MultiArray",
    "/imu/gyro": "sensor_msgs/Imu",
    "/wrench/pull": "geometry_msgs/WrenchStamped",
    "/contact/FR_foot": "geometry_msgs/WrenchStamped",
    "/joint_wrench/FR_hip_joint": "geometry_msgs/WrenchStamped",
    "/frame/FR_foot/pose": "geometry_msgs/PoseStamped",
    "/frame/FR_foot/twist": "geometry_msgs/TwistStamped",
    "/sensor/knee": "std_msgs/Float64",
    "/sensor/height": "geometry_msgs/Vector3Stamped",
    "/sensor/turned": "geometry_msgs/QuaternionStamped",
    "/ring": "sensor_msgs/LaserScan",
    "/spin": "sensor_msgs/PointCloud2",
    "/scan": "sensor_msgs/PointCloud2",
    "/eye/image": "sensor_msgs/Image",
    "/eye/camera_info": "sensor_msgs/CameraInfo",
}


def test_topics_have_the_kinds_that_tools_expect(file: Path) -> None:
    found = {topic: kind for topic, kind, *_ in told(file)}
    assert {topic: found.get(topic) for topic in KINDS} == KINDS
    assert set(found.values()) == set(KINDS.values())


def test_schemas_in_the_file_are_those_of_ros_2(file: Path) -> None:
    with file.open("rb") as opened:
        summary = make_reader(opened).get_summary()
    assert summary is not None
    for schema in summary.schemas.values():
        package, _, kind = schema.name.split("/")
        name = f"{package}/{kind}"
        assert rihs01(name, schema.data.decode()) == HASHES[name]
    with file.open("rb") as opened:
        assert make_reader(opened).get_header().profile == "ros2"


def test_what_is_told_once_is_kept_for_those_who_come_later(file: Path) -> None:
    import yaml

    with file.open("rb") as opened:
        channels = make_reader(opened).get_summary().channels.values()  # type: ignore[union-attr]
    said = {channel.topic: channel.metadata.get("offered_qos_profiles") for channel in channels}
    for topic in ("/tf_static", "/robot_description"):
        (profile,) = yaml.safe_load(said.pop(topic) or "")
        assert (profile["durability"], profile["reliability"], profile["depth"]) == (1, 1, 1)
    assert not any(said.values())


def test_times_and_frames(file: Path, log: robosim.Log) -> None:
    """Stamps are times of samples, and each frame that is named is one of the tree of `/tf`."""
    frames, named = {"world"}, set()
    times = {round(1e9 * time) for time in log.t}
    count: dict[str, int] = {}
    for topic, kind, time, data, message in told(file):
        assert time in times
        count[topic] = count.get(topic, 0) + 1
        if kind == "tf2_msgs/TFMessage":
            frames |= {one.child_frame_id for one in message.transforms}
            named |= {one.header.frame_id for one in message.transforms}
        header = decoded(kind, data).get("header")
        if header is not None:
            assert header["stamp"] == {"sec": time // 10**9, "nanosec": time % 10**9}
            named |= {header["frame_id"]} - {""}
    assert named <= frames
    assert {count.pop(topic) for topic in ("/tf_static", "/robot_description")} == {1}
    assert set(count.values()) == {len(log)}


def test_frames_of_all_links_are_where_kinematics_says(
    file: Path, robot: robosim.Mechanism, log: robosim.Log
) -> None:
    dynamics = robosim.Dynamics(robot)
    links = [frame.name for _, frame in robot.frames()]
    fixed: dict[str, Any] = {}
    k = 0
    for topic, _, _, _, message in told(file):
        if topic == "/tf_static":
            fixed = {one.child_frame_id: one for one in message.transforms}
        if topic != "/tf":
            continue
        tree = fixed | {one.child_frame_id: one for one in message.transforms}

        def pose(name: str, tree: dict[str, Any] = tree) -> np.ndarray:
            if name == "world":
                return np.eye(4)
            one, found = tree[name], np.eye(4)
            t, q = one.transform.translation, one.transform.rotation
            found[:3, :3] = robosim.quaternions.rotation_matrix(np.array([q.w, q.x, q.y, q.z]))
            found[:3, 3] = t.x, t.y, t.z
            return pose(one.header.frame_id) @ found

        for link in links:
            x, R = dynamics.frame(log.q[k], link)
            np.testing.assert_allclose(pose(link)[:3, 3], x, atol=1e-12)
            np.testing.assert_allclose(pose(link)[:3, :3], R, atol=1e-12)
        k += 1
    assert k == len(log)
    assert len(links) > 20


def test_points_and_depths_are_those_of_the_sensors(
    file: Path, robot: robosim.Mechanism, log: robosim.Log
) -> None:
    """In the sensor's frame, whose z is ahead for a camera: points on the ground are at z = 0."""
    tf: dict[str, Any] = {}
    for topic, kind, _, _, message in told(file):
        if kind == "tf2_msgs/TFMessage":
            tf |= {one.child_frame_id: one.transform for one in message.transforms}
        if topic == "/spin":
            cloud = np.frombuffer(bytes(message.data), dtype="<f4").reshape(-1, 4)
            assert message.row_step == 16 * message.width
            assert len(message.data) == message.row_step * message.height
            assert [f.name for f in message.fields] == ["x", "y", "z", "range"]
            seen = cloud[np.isfinite(cloud).all(axis=1)].astype(float)
            base, on = tf["base"], tf["spin"]
            q = np.array([getattr(base.rotation, i) for i in "wxyz"])
            R = robosim.quaternions.rotation_matrix(q)
            heights = (
                base.translation.z
                + (R @ [on.translation.x, on.translation.y, on.translation.z])[2]
                + seen[:, :3] @ R[2]
            )
            np.testing.assert_allclose(np.linalg.norm(seen[:, :3], axis=1), seen[:, 3], rtol=1e-5)
            assert np.abs(heights).min() < 1e-5
        if topic == "/eye/image":
            assert (message.encoding, message.step) == ("32FC1", 4 * message.width)
            assert len(message.data) == message.step * message.height
            assert message.is_bigendian == 0


def test_bytes_are_those_of_another_writer(file: Path) -> None:
    """mcap-ros2-support writes the same, of what was decoded; of zero and of many elements."""
    seen = set()
    for _, kind, _, data, _ in told(file):
        if kind not in seen:
            assert data == by_others(kind, decoded(kind, data))
            seen.add(kind)
    assert seen == set(KINDS.values())


def by_others(kind: str, message: Any) -> bytes:
    buffer = io.BytesIO()
    writer = Writer(buffer)
    schema = writer.register_msgdef(full_name(kind), definition(kind))
    writer.write_message("/x", schema, message, 0)
    writer.finish()
    buffer.seek(0)
    ((_, _, raw),) = make_reader(buffer).iter_messages()
    return raw.data


@pytest.mark.parametrize("order", ["<", ">"])
def test_either_order_of_bytes_is_read(order: str) -> None:
    names = ["a", "bcd", ""]
    head = {"stamp": {"sec": -1, "nanosec": 5}, "frame_id": "world"}
    state = {"header": head, "name": names, "position": [0.5, -1.0, 2.0], "velocity": [],
             "effort": []}  # fmt: skip
    data = encoded("sensor_msgs/JointState", state)
    if order == ">":
        import struct

        words, at = bytearray(), 0

        def swap(letter: str, count: int = 1) -> tuple[Any, ...]:
            nonlocal at
            size = NUMBERS[letter][1]
            words.extend(bytes(-at % size))
            at += -at % size
            code = NUMBERS[letter][0]
            found = struct.unpack_from(f"<{count}{code}", data, 4 + at)
            words.extend(struct.pack(f">{count}{code}", *found))
            at += count * size
            return found

        def text() -> None:
            nonlocal at
            (length,) = swap("uint32")
            words.extend(data[4 + at : 4 + at + length])
            at += length

        swap("int32"), swap("uint32"), text()
        for _ in range(swap("uint32")[0]):
            text()
        for _ in range(3):
            (count,) = swap("uint32")
            if count:
                swap("float64", count)
        data = b"\x00\x00\x00\x00" + bytes(words)
    assert decoded("sensor_msgs/JointState", data) == state


def test_what_is_no_message_is_told() -> None:
    good = encoded("std_msgs/String", {"data": "hello"})
    for bad in (b"", good[:3], b"\x00\x03" + good[2:], good[:-3], good[:4] + b"\xff" * 8):
        with pytest.raises(ValueError, match=r"CDR|beyond|no std_msgs"):
            decoded("std_msgs/String", bad)
    many = encoded("sensor_msgs/JointState", {
        "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}, "name": [], "position": [],
        "velocity": [], "effort": []})  # fmt: skip
    with pytest.raises(ValueError, match="4294967295 of string"):
        decoded("sensor_msgs/JointState", many[:20] + b"\xff" * 4 + many[24:])
