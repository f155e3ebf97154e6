"""The ROS 2 topics that a log becomes, and the messages that a sample becomes on them.

Quaternions of messages are (x, y, z, w). What is fixed to the world has the frame "world".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.place import Place
from robosim.description.poses import body_poses
from robosim.description.ray_sensor import HeightScan, RangeFinder
from robosim.description.sensor import Sensor
from robosim.log.channels import FORCE, POSE, QUATERNION, SCALAR, TWIST, VECTOR, WRENCH
from robosim.log.columns import POSITION, TORQUE, VELOCITY, Array, LogInfo
from robosim.log.ros_messages import Message
from robosim.log.ros_rays import columns_of, frame_of, logged, moving_pose, topics, turn_of

SAMPLES, WORLD = "/robosim/samples", "world"
# Topics of one message, and their kinds.
MODEL, FIXED = "/robot_description", "/tf_static"
ONCE = {MODEL: "std_msgs/String", FIXED: "tf2_msgs/TFMessage"}
# Sensors that read in the axes of their own place.
IN_OWN_AXES = ("gyro", "velocimeter", "accelerometer", "force", "torque")

Row = Mapping[str, Any]  # a sample, by the names of its columns, and large readings


@dataclass(frozen=True)
class Topic:
    """Messages of one kind, one for each sample."""

    name: str
    kind: str  # "package/Name"
    message: Callable[[Row, Message], Message | None]  # of a sample, and its time; None: no new one
    sensor: str = ""  # whose readings the messages have, of sensors with rays


def topics_of(robot: Mechanism, info: LogInfo) -> tuple[Topic, ...]:
    """What is written of each sample of a log."""
    found = [_joint_states(robot, info), _moving_frames(robot, info), _samples(info)]
    found += _felt(robot, info)
    taken: set[str] = set()
    topics = []
    for topic in found:
        name = free_name(re.sub(r"[^A-Za-z0-9_/]", "_", topic.name), taken)
        taken.add(name)
        topics.append(Topic(name, topic.kind, topic.message, topic.sensor))
    return tuple(topics)


def _header(stamp: Message, frame: str) -> Message:
    return {"stamp": stamp, "frame_id": frame}


def _vector(values: Sequence[float] | Array) -> Message:
    return dict(zip("xyz", map(float, values), strict=True))


def _quaternion(values: Sequence[float] | Array) -> Message:
    """From (w, x, y, z)."""
    return dict(zip("wxyz", map(float, values), strict=True))


def _array(data: list[float]) -> Message:
    size = {"label": "column", "size": len(data), "stride": len(data)}
    return {"layout": {"dim": [size], "data_offset": 0}, "data": data}


def _samples(info: LogInfo) -> Topic:
    def message(row: Row, stamp: Message) -> Message:
        return _array([row[name] for name in info.names])

    return Topic(SAMPLES, "std_msgs/Float64MultiArray", message)


def _joint_states(robot: Mechanism, info: LogInfo) -> Topic:
    """Of all coordinates that are numbers; quaternions have no place in a JointState."""
    names = [name for name in robot.q_names if f"{name}{POSITION}" in info.q]
    names = [name for name in names if f"{name}{VELOCITY}" in info.v]

    def message(row: Row, stamp: Message) -> Message:
        return {
            "header": _header(stamp, ""),
            "name": names,
            "position": [row[f"{name}{POSITION}"] for name in names],
            "velocity": [row[f"{name}{VELOCITY}"] for name in names],
            "effort": [row.get(f"{name}{TORQUE}", 0.0) for name in names],
        }

    return Topic("/joint_states", "sensor_msgs/JointState", message)


def _transform(stamp: Message, frame: str, child: str, p: Array, q: Array) -> Message:
    return {
        "header": _header(stamp, frame),
        "child_frame_id": child,
        "transform": {"translation": _vector(p), "rotation": _quaternion(q)},
    }


def _moving_frames(robot: Mechanism, info: LogInfo) -> Topic:
    """The frame of each body in the world, and those of height scans."""
    scans = [one for one in logged(robot, info) if isinstance(one, HeightScan)]

    def message(row: Row, stamp: Message) -> Message:
        poses = body_poses(robot.tree_joints, np.array([row[name] for name in info.q]))
        found = []
        for body in robot.bodies:
            R, x = poses[body.name]
            p, q = x + R @ np.asarray(body.frames[0].position), quaternions.from_matrix(R)
            found.append(_transform(stamp, WORLD, body.frames[0].name, p, q))
        found += [
            _transform(stamp, WORLD, frame_of(robot, one), *moving_pose(one, poses))
            for one in scans
        ]
        return {"transforms": found}

    return Topic("/tf", "tf2_msgs/TFMessage", message)


def told_once(robot: Mechanism, info: LogInfo, model: str, stamp: Message) -> dict[str, Message]:
    """The messages of the topics `ONCE`, of a robot and its model as URDF."""
    return {MODEL: {"data": model}, FIXED: fixed_frames(robot, info, stamp)}


def fixed_frames(robot: Mechanism, info: LogInfo, stamp: Message) -> Message:
    """All other frames on the first one of their body, as a TFMessage; those of sensors, too."""
    found = []
    for body in robot.bodies:
        first = body.frames[0]
        for frame in body.frames[1:]:
            away = np.asarray(frame.position) - np.asarray(first.position)
            turn = np.asarray(frame.quaternion)
            found.append(_transform(stamp, first.name, frame.name, away, turn))
    for sensor in logged(robot, info):
        if isinstance(sensor, HeightScan):
            continue
        place, frame_name = sensor.place, frame_of(robot, sensor)
        turn = quaternions.multiply(place.quaternion, quaternions.from_matrix(turn_of(sensor)))
        on, away = WORLD, np.asarray(place.position)
        if place.body is not None:
            first = robot.body(place.body).frames[0]
            on, away = first.name, away - np.asarray(first.position)
        found.append(_transform(stamp, on, frame_name, away, turn))
    return {"transforms": found}


def _felt(robot: Mechanism, info: LogInfo) -> Iterator[Topic]:
    """What was logged beside the motion."""
    there = set(info.extra)
    names = dict.fromkeys(name.rpartition(".")[0] for name in info.extra)
    for one in logged(robot, info):
        yield from (Topic(*told, one.name) for told in topics(robot, one))
    sensors = {
        sensor.name: sensor
        for sensor in robot.sensors
        if sensor.name in names and isinstance(sensor, Sensor)
    }
    others = [one for one in robot.sensors if isinstance(one, RangeFinder) and one.name in names]
    yield from (_range_finder(one) for one in others if set(columns_of(one)) & there)
    together = _together(robot, list(sensors.values()))
    yield from (topic for topic, _ in together)
    done = {name for _, pair in together for name in pair}
    for name in names:
        if f"{name}{FORCE[0]}" in there:
            yield _wrench(f"/contact/{name}", WORLD, [f"{name}{s}" for s in FORCE], ())
        if f"{name}{POSE[0]}" in there:
            yield from _frame(name)
        if f"{name}{WRENCH[0]}" in there:
            columns = [f"{name}{suffix}" for suffix in WRENCH]
            yield _wrench(f"/joint_wrench/{name}", WORLD, columns[:3], columns[3:])
        if name in sensors and name not in done:
            yield _sensor(robot, sensors[name], there)


def _range_finder(sensor: RangeFinder) -> Topic:
    """What a range finder tells: a number, or several."""
    columns = columns_of(sensor)

    def number(row: Row, stamp: Message) -> Message:
        return {"data": row[columns[0]]}

    def numbers(row: Row, stamp: Message) -> Message:
        return _array([row[name] for name in columns])

    if len(columns) == 1:
        return Topic(f"/sensor/{sensor.name}", "std_msgs/Float64", number)
    return Topic(f"/sensor/{sensor.name}", "std_msgs/Float64MultiArray", numbers)


def _together(robot: Mechanism, sensors: Sequence[Sensor]) -> list[tuple[Topic, tuple[str, str]]]:
    """Gyros with the accelerometers at their place, and forces with torques; with their names."""
    found = []
    for one in sensors:
        beside = [other for other in sensors if _same_place(one.place, other.place)]
        for other in beside:
            if (one.kind, other.kind) == ("gyro", "accelerometer"):
                turned = [s for s in beside if s.kind == "framequat" and s.reference.body is None]
                topic = _imu(robot, one, other, turned[0] if turned else None)
                found.append((topic, (one.name, other.name)))
            elif (one.kind, other.kind) == ("force", "torque"):
                columns = [[f"{sensor.name}{axis}" for axis in VECTOR] for sensor in (one, other)]
                topic = _wrench(f"/wrench/{one.name}", _frame_of(robot, one.place), *columns)
                found.append((topic, (one.name, other.name)))
    return found


def _same_place(one: Place, other: Place) -> bool:
    same = [
        np.array_equal(np.asarray(a), np.asarray(b))
        for a, b in ((one.position, other.position), (one.quaternion, other.quaternion))
    ]
    return one.body == other.body and all(same)


def _frame_of(robot: Mechanism, place: Place) -> str:
    """The frame of a place, the last one that is just there; otherwise that of its body."""
    if place.body is None:
        return WORLD
    frames = robot.body(place.body).frames
    for frame in reversed(frames):
        if _same_place(place, Place(place.body, frame.position, frame.quaternion)):
            return frame.name
    return frames[0].name


def _imu(robot: Mechanism, gyro: Sensor, felt: Sensor, turned: Sensor | None) -> Topic:
    frame = _frame_of(robot, gyro.place)
    # A covariance that begins with -1 says that there is no orientation.
    unknown = [-1.0 if turned is None else 0.0, *[0.0] * 8]

    def message(row: Row, stamp: Message) -> Message:
        q = (1.0, 0.0, 0.0, 0.0)
        if turned is not None:
            q = tuple(row[f"{turned.name}{axis}"] for axis in QUATERNION)  # type: ignore[assignment]
        return {
            "header": _header(stamp, frame),
            "orientation": _quaternion(q),
            "orientation_covariance": unknown,
            "angular_velocity": _vector([row[f"{gyro.name}{axis}"] for axis in VECTOR]),
            "angular_velocity_covariance": [0.0] * 9,
            "linear_acceleration": _vector([row[f"{felt.name}{axis}"] for axis in VECTOR]),
            "linear_acceleration_covariance": [0.0] * 9,
        }

    return Topic(f"/imu/{gyro.name}", "sensor_msgs/Imu", message)


def _wrench(topic: str, frame: str, force: Sequence[str], torque: Sequence[str]) -> Topic:
    def message(row: Row, stamp: Message) -> Message:
        moment = [row[name] for name in torque] or [0.0] * 3
        values = {"force": _vector([row[name] for name in force]), "torque": _vector(moment)}
        return {"header": _header(stamp, frame), "wrench": values}

    return Topic(topic, "geometry_msgs/WrenchStamped", message)


def _frame(name: str) -> Iterator[Topic]:
    def pose(row: Row, stamp: Message) -> Message:
        values = [row[f"{name}{suffix}"] for suffix in POSE]
        placed = {"position": _vector(values[:3]), "orientation": _quaternion(values[3:])}
        return {"header": _header(stamp, WORLD), "pose": placed}

    def twist(row: Row, stamp: Message) -> Message:
        values = [row[f"{name}{suffix}"] for suffix in TWIST]
        moved = {"linear": _vector(values[:3]), "angular": _vector(values[3:])}
        return {"header": _header(stamp, WORLD), "twist": moved}

    yield Topic(f"/frame/{name}/pose", "geometry_msgs/PoseStamped", pose)
    yield Topic(f"/frame/{name}/twist", "geometry_msgs/TwistStamped", twist)


def _sensor(robot: Mechanism, sensor: Sensor, there: set[str]) -> Topic:
    """A sensor by itself."""
    name = sensor.name
    frame = _frame_of(robot, sensor.place if sensor.kind in IN_OWN_AXES else sensor.reference)

    def number(row: Row, stamp: Message) -> Message:
        return {"data": row[f"{name}{SCALAR}"]}

    def vector(row: Row, stamp: Message) -> Message:
        values = _vector([row[f"{name}{axis}"] for axis in VECTOR])
        return {"header": _header(stamp, frame), "vector": values}

    def quaternion(row: Row, stamp: Message) -> Message:
        values = _quaternion([row[f"{name}{axis}"] for axis in QUATERNION])
        return {"header": _header(stamp, frame), "quaternion": values}

    if f"{name}{SCALAR}" in there:
        return Topic(f"/sensor/{name}", "std_msgs/Float64", number)
    if f"{name}{QUATERNION[0]}" in there:
        return Topic(f"/sensor/{name}", "geometry_msgs/QuaternionStamped", quaternion)
    return Topic(f"/sensor/{name}", "geometry_msgs/Vector3Stamped", vector)
