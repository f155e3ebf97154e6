"""The ROS 2 messages that an MCAP file of robosim has, as their packages define them.

A definition is that of the message, and after it those of all messages that it consists of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]

FIELDS = {
    "builtin_interfaces/Time": ("int32 sec", "uint32 nanosec"),
    "std_msgs/Header": ("builtin_interfaces/Time stamp", "string frame_id"),
    "std_msgs/String": ("string data",),
    "std_msgs/Float64": ("float64 data",),
    "std_msgs/MultiArrayDimension": ("string label", "uint32 size", "uint32 stride"),
    "std_msgs/MultiArrayLayout": ("std_msgs/MultiArrayDimension[] dim", "uint32 data_offset"),
    "std_msgs/Float64MultiArray": ("std_msgs/MultiArrayLayout layout", "float64[] data"),
    "geometry_msgs/Point": ("float64 x", "float64 y", "float64 z"),
    "geometry_msgs/Vector3": ("float64 x", "float64 y", "float64 z"),
    "geometry_msgs/Quaternion": ("float64 x", "float64 y", "float64 z", "float64 w"),
    "geometry_msgs/Pose": ("geometry_msgs/Point position", "geometry_msgs/Quaternion orientation"),
    "geometry_msgs/Twist": ("geometry_msgs/Vector3 linear", "geometry_msgs/Vector3 angular"),
    "geometry_msgs/Wrench": ("geometry_msgs/Vector3 force", "geometry_msgs/Vector3 torque"),
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation",
        "geometry_msgs/Quaternion rotation",
    ),
    "geometry_msgs/PoseStamped": ("std_msgs/Header header", "geometry_msgs/Pose pose"),
    "geometry_msgs/TwistStamped": ("std_msgs/Header header", "geometry_msgs/Twist twist"),
    "geometry_msgs/WrenchStamped": ("std_msgs/Header header", "geometry_msgs/Wrench wrench"),
    "geometry_msgs/Vector3Stamped": ("std_msgs/Header header", "geometry_msgs/Vector3 vector"),
    "geometry_msgs/QuaternionStamped": (
        "std_msgs/Header header",
        "geometry_msgs/Quaternion quaternion",
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header",
        "string child_frame_id",
        "geometry_msgs/Transform transform",
    ),
    "tf2_msgs/TFMessage": ("geometry_msgs/TransformStamped[] transforms",),
    "sensor_msgs/JointState": (
        "std_msgs/Header header",
        "string[] name",
        "float64[] position",
        "float64[] velocity",
        "float64[] effort",
    ),
    "sensor_msgs/Imu": (
        "std_msgs/Header header",
        "geometry_msgs/Quaternion orientation",
        "float64[9] orientation_covariance",
        "geometry_msgs/Vector3 angular_velocity",
        "float64[9] angular_velocity_covariance",
        "geometry_msgs/Vector3 linear_acceleration",
        "float64[9] linear_acceleration_covariance",
    ),
    "sensor_msgs/LaserScan": (
        "std_msgs/Header header",
        "float32 angle_min",
        "float32 angle_max",
        "float32 angle_increment",
        "float32 time_increment",
        "float32 scan_time",
        "float32 range_min",
        "float32 range_max",
        "float32[] ranges",
        "float32[] intensities",
    ),
    "sensor_msgs/PointField": (
        "string name",
        "uint32 offset",
        "uint8 datatype",
        "uint32 count",
    ),
    "sensor_msgs/PointCloud2": (
        "std_msgs/Header header",
        "uint32 height",
        "uint32 width",
        "sensor_msgs/PointField[] fields",
        "bool is_bigendian",
        "uint32 point_step",
        "uint32 row_step",
        "uint8[] data",
        "bool is_dense",
    ),
    "sensor_msgs/Image": (
        "std_msgs/Header header",
        "uint32 height",
        "uint32 width",
        "string encoding",
        "uint8 is_bigendian",
        "uint32 step",
        "uint8[] data",
    ),
    "sensor_msgs/RegionOfInterest": (
        "uint32 x_offset",
        "uint32 y_offset",
        "uint32 height",
        "uint32 width",
        "bool do_rectify",
    ),
    "sensor_msgs/CameraInfo": (
        "std_msgs/Header header",
        "uint32 height",
        "uint32 width",
        "string distortion_model",
        "float64[] d",
        "float64[9] k",
        "float64[9] r",
        "float64[12] p",
        "uint32 binning_x",
        "uint32 binning_y",
        "sensor_msgs/RegionOfInterest roi",
    ),
}
_BETWEEN = "=" * 80


def definition(name: str) -> str:
    """The definition of a message, "package/Name", as MCAP's encoding `ros2msg` has it."""
    needed = [name]
    for known in needed:
        types = (kind for kind, _, _ in fields(known))
        needed += [kind for kind in types if kind in FIELDS and kind not in needed]
    parts = ["\n".join(FIELDS[name])]
    parts += [f"{_BETWEEN}\nMSG: {kind}\n" + "\n".join(FIELDS[kind]) for kind in needed[1:]]
    return "\n".join(parts) + "\n"


def fields(name: str) -> Iterator[tuple[str, str, str]]:
    """(type, length, field) of a message; "" if it is no array, "*" if of any length."""
    for field in FIELDS[name]:
        kind, called = field.split()
        kind, bracket, length = kind.partition("[")
        yield kind, (length.rstrip("]") or "*") if bracket else "", called


def full_name(name: str) -> str:
    """How ROS 2 calls a message: "package/msg/Name"."""
    package, _, kind = name.partition("/")
    return f"{package}/msg/{kind}"


def stamp(time: int) -> Message:
    """A time [ns] as builtin_interfaces/Time."""
    return {"sec": time // 10**9, "nanosec": time % 10**9}
