"""Sensors with rays as ROS 2 messages: LaserScan, PointCloud2, Image and CameraInfo.

A message has the time of its sample, and is written once for each sample. The frame of a sensor
has its name: of a camera the optical frame, z ahead and y down; of a height scan that of its
heading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.ray_sensor import AXES, DepthCamera, HeightScan, Lidar, RaySensor
from robosim.log.channels import RAY, SAMPLED, SCALAR, scan_shape
from robosim.log.columns import Array, LogInfo
from robosim.log.ros_messages import Message, stamp

FLOAT32 = 7  # of a PointField
CLOUD = ("x", "y", "z", "range")

Poses = Mapping[str | None, tuple[Array, Array]]  # axes and positions of bodies
Row = Mapping[str, Any]
Say = Callable[[Row, Message], Message | None]


def logged(robot: Mechanism, info: LogInfo) -> list[RaySensor]:
    """Sensors with rays that a log has, and that have messages of their own."""
    kinds = Lidar, HeightScan, DepthCamera
    return [
        sensor
        for sensor in robot.sensors
        if isinstance(sensor, kinds)
        and (sensor.name in info.scans or set(columns_of(sensor)) & set(info.extra))
    ]


def columns_of(sensor: RaySensor) -> list[str]:
    """Columns of a sensor's readings."""
    if sensor.size == 1:
        return [f"{sensor.name}{SCALAR}"]
    return [f"{sensor.name}{RAY}{k}" for k in range(sensor.size)]


def turn_of(sensor: RaySensor) -> Array:
    """Axes (3, 3) of the frame of its messages, in those of its own."""
    if isinstance(sensor, DepthCamera):
        ahead, right, down = AXES[sensor.axes]
        return np.array((right, down, ahead)).T
    return np.eye(3)


def frame_of(robot: Mechanism, sensor: RaySensor) -> str:
    """The frame of its messages: its own name, unless a link has it."""
    frames = {frame.name for _, frame in robot.frames()}
    return free_name(sensor.name, frames | {frame.name for frame in robot.world_frames})


def topics(robot: Mechanism, sensor: RaySensor) -> Iterator[tuple[str, str, Say]]:
    """(topic, kind, message) of a sensor."""
    frame = frame_of(robot, sensor)
    if isinstance(sensor, DepthCamera):
        yield f"/{sensor.name}/image", "sensor_msgs/Image", _once(sensor, frame, _image)
        yield f"/{sensor.name}/camera_info", "sensor_msgs/CameraInfo", _once(sensor, frame, _camera)
    elif isinstance(sensor, Lidar) and sensor.rings == 1 and sum(sensor.vertical) == 0:
        yield f"/{sensor.name}", "sensor_msgs/LaserScan", _once(sensor, frame, _scan)
    else:
        yield f"/{sensor.name}", "sensor_msgs/PointCloud2", _once(sensor, frame, _points)


def _once(sensor: RaySensor, frame: str, message: Callable[[Any, Array], Message]) -> Say:
    """Messages of new samples only."""
    last: list[float] = [np.nan]
    columns = [] if scan_shape(sensor) else columns_of(sensor)

    def say(row: Row, now: Message) -> Message | None:
        time = float(row.get(f"{sensor.name}{SAMPLED}", row["time"]))
        if np.isnan(time) or time == last[0]:
            return None
        values = [row[name] for name in columns] if columns else row[sensor.name]
        if values is None:
            return None
        last[0] = time
        head = {"stamp": stamp(round(1e9 * time)), "frame_id": frame}
        array = np.asarray(values, dtype=np.float32).astype(np.float64).reshape(sensor.shape)
        return {"header": head, **message(sensor, array)}

    return say


def _scan(sensor: Lidar, values: Array) -> Message:
    around, _ = sensor.angles
    step = float(around[1] - around[0]) if len(around) > 1 else 0.0
    least, most = sensor.limits
    return {
        "angle_min": float(around[0]),
        "angle_max": float(around[-1]),
        "angle_increment": step,
        "time_increment": 0.0,
        "scan_time": 0.0 if sensor.rate is None else 1.0 / sensor.rate,
        "range_min": least,
        "range_max": most,
        "ranges": values.ravel().tolist(),
        "intensities": [],
    }


def _points(sensor: RaySensor, values: Array) -> Message:
    height, width = sensor.shape
    data = np.empty((height, width, 4), dtype="<f4")
    data[..., :3], data[..., 3] = sensor.points(values), values
    fields = [
        {"name": name, "offset": 4 * k, "datatype": FLOAT32, "count": 1}
        for k, name in enumerate(CLOUD)
    ]
    return {
        "height": height,
        "width": width,
        "fields": fields,
        "is_bigendian": False,
        "point_step": 16,
        "row_step": 16 * width,
        "data": data.tobytes(),
        "is_dense": bool(np.isfinite(data).all()),
    }


def _image(sensor: DepthCamera, values: Array) -> Message:
    return {
        "height": sensor.height,
        "width": sensor.width,
        "encoding": "32FC1",
        "is_bigendian": 0,
        "step": 4 * sensor.width,
        "data": values.astype("<f4").tobytes(),
    }


def _camera(sensor: DepthCamera, values: Array) -> Message:
    (fx, fy), cx, cy = sensor.focal, sensor.width / 2 - 0.5, sensor.height / 2 - 0.5
    none = {"x_offset": 0, "y_offset": 0, "height": 0, "width": 0, "do_rectify": False}
    return {
        "height": sensor.height,
        "width": sensor.width,
        "distortion_model": "plumb_bob",
        "d": [0.0] * 5,
        "k": [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        "r": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "p": [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
        "binning_x": 0,
        "binning_y": 0,
        "roi": none,
    }


def reading_of(sensor_shape: Sequence[int], kind: str, message: Any) -> NDArray[np.float32]:
    """The reading that a message was made of."""
    if kind.endswith("LaserScan"):
        values = np.array(message.ranges, dtype=np.float32)
    else:
        values = np.frombuffer(bytes(message.data), dtype="<f4")
        if kind.endswith("PointCloud2"):
            values = values[3::4]
    return values.reshape(tuple(sensor_shape))


def moving_pose(sensor: HeightScan, poses: Poses) -> tuple[Array, Array]:
    """Position (3,) and quaternion (4,) in the world of the axes of a heading."""
    R, x = _world_pose(sensor, poses)
    yaw = np.arctan2(R[1, 0], R[0, 0])
    return x, np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])


def _world_pose(sensor: RaySensor, poses: Poses) -> tuple[Array, Array]:
    """Axes (3, 3) and position (3,) of a sensor."""
    place = sensor.place
    own = quaternions.rotation_matrix(np.asarray(place.quaternion))
    if place.body is None:
        return own, np.asarray(place.position)
    R, x = poses[place.body]
    return R @ own, x + R @ np.asarray(place.position)
