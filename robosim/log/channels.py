"""Additional channels of a log: sensors, contacts, frames, wrenches of joints, steps, motors.

The words ``sensors``, ``contacts``, ``frames``, ``joint_wrenches``, ``steps`` and ``motors`` select
all channels of a kind; ``frame:FR_foot`` selects one. A channel has one or several columns, named
after the sensor, link, frame or joint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from robosim.description.body import ContactPoint, Geometry
from robosim.description.contact_points import link_of
from robosim.description.mechanism import Mechanism
from robosim.description.ray_sensor import FIELDS, RangeFinder, RaySensor
from robosim.description.sensor import Sensor
from robosim.errors import ModelError, OptionError

SENSOR, CONTACT, FRAME, JOINT_WRENCH = "sensor", "contact", "frame", "joint_wrench"
STEP, MOTOR = "step", "motor"
KINDS = (SENSOR, CONTACT, FRAME, JOINT_WRENCH, STEP, MOTOR)
# For all of a kind.
WORDS = {
    "sensors": SENSOR,
    "contacts": CONTACT,
    "frames": FRAME,
    "joint_wrenches": JOINT_WRENCH,
    "steps": STEP,
    "motors": MOTOR,
}

# No two kinds share a suffix, and a name's last dot is before it: all columns differ.
VECTOR, QUATERNION = (".x", ".y", ".z"), (".w", ".x", ".y", ".z")
FORCE = tuple(f".contact_f{axis}" for axis in "xyz")
WRENCH = tuple(f".{part}{axis}" for part in "fm" for axis in "xyz")
POSE = (*(f".p{axis}" for axis in "xyz"), *(f".q{axis}" for axis in "wxyz"))
TWIST = tuple(f".{part}{axis}" for part in "vw" for axis in "xyz")
SCALAR = ".value"
# Of sensors with rays: numbers of a reading, and when its sample was taken.
RAY, SAMPLED = ".r", ".time"
MOST_COLUMNS = 64  # numbers of a reading that are columns; larger readings are arrays
# Of the step that led to a sample.
SIZES = "sizes"
MOTOR_UNITS = {".current": "A", ".voltage": "V", ".temperature": "deg C"}
STEP_UNITS = {"step.shortest": "s", "step.error": "m", "step.events": "1"}

# What the columns of a kind of sensor are called, and their unit; the rest is sums of coordinates.
SENSORS: dict[str, tuple[tuple[str, ...], str]] = {
    "ballquat": (QUATERNION, "1"),
    "ballangvel": (VECTOR, "rad/s"),
    "framepos": (VECTOR, "m"),
    "framequat": (QUATERNION, "1"),
    "framexaxis": (VECTOR, "1"),
    "frameyaxis": (VECTOR, "1"),
    "framezaxis": (VECTOR, "1"),
    "framelinvel": (VECTOR, "m/s"),
    "frameangvel": (VECTOR, "rad/s"),
    "velocimeter": (VECTOR, "m/s"),
    "gyro": (VECTOR, "rad/s"),
    "accelerometer": (VECTOR, "m/s^2"),
    "framelinacc": (VECTOR, "m/s^2"),
    "frameangacc": (VECTOR, "rad/s^2"),
    "subtreecom": (VECTOR, "m"),
    "subtreelinvel": (VECTOR, "m/s"),
    "subtreeangmom": (VECTOR, "kg m^2/s"),
    "force": (VECTOR, "N"),
    "torque": (VECTOR, "N m"),
    "touch": ((SCALAR,), "N"),
    "clock": ((SCALAR,), "s"),
}
# Of an effort along a coordinate, by the coordinate's unit.
EFFORTS = {"m": "N", "rad": "N m", "1": "J"}


@dataclass(frozen=True)
class Channel:
    """The columns of one sensor, link, frame, joint or motor in a log.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name : str
        Name of the sensor, link, frame or joint.
    units : mapping of str to str
        Unit of each column, in the order of the columns.
    scan : tuple of int
        Shape of readings that are kept as arrays beside the columns; empty without any.
    """

    kind: str
    name: str
    units: dict[str, str]
    scan: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.units)


class Also(NamedTuple):
    """Additional channels of a log, and how often they are evaluated.

    Attributes
    ----------
    channels : tuple of Channel
    every : int
        Number of steps between evaluations, a multiple of that between samples. Samples in between
        have NaN.
    """

    channels: tuple[Channel, ...]
    every: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(name for channel in self.channels for name in channel.columns)

    @property
    def scans(self) -> dict[str, tuple[int, ...]]:
        """Shapes of readings that are kept as arrays, by the names of their sensors."""
        return {channel.name: channel.scan for channel in self.channels if channel.scan}

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column."""
        return {name: unit for channel in self.channels for name, unit in channel.units.items()}


def channels_of(robot: Mechanism, also: str | Sequence[str]) -> tuple[Channel, ...]:
    """The requested channels, each once, in the requested order.

    Parameters
    ----------
    robot : Mechanism
    also : str or sequence of str
        "sensors", "contacts", "frames", "joint_wrenches", "steps", "motors", or one of a kind,
        such as "frame:FR_foot".

    Raises
    ------
    OptionError
        For another kind.
    ModelError
        For a sensor, link, frame or joint that the robot does not have.
    """
    asked = (also,) if isinstance(also, str) else tuple(also)
    found: dict[tuple[str, str], Channel] = {}
    for word in asked:
        kind, colon, name = str(word).partition(":")
        if word in WORDS:
            kind, names = WORDS[word], _names(robot, WORDS[word])
        elif colon and kind in KINDS:
            names = (name,)
        else:
            known = ", ".join(f"'{word}'" for word in WORDS)
            raise OptionError(
                f"also takes {known}, or one of a kind, such as 'frame:NAME', not {word!r}"
            )
        for name in names:
            scan = scan_shape(robot.sensor(name)) if kind == SENSOR else ()
            found[kind, name] = Channel(kind, name, MAKERS[kind](robot, name), scan)
    return tuple(found.values())


def contact_links(robot: Mechanism) -> tuple[str, ...]:
    """The links that can touch something, in the order of the robot's frames."""
    touching = {contact_link(robot, point) for point in robot.contacts}
    for pair in robot.touching_shapes():
        touching |= {
            shape_link(robot, robot.bodies[index].name, shape.name)
            for index, shape in pair
            if index is not None and isinstance(shape, Geometry)
        }
    order = [frame.name for body in robot.bodies for frame in body.frames]
    return tuple(sorted(touching, key=order.index))


def contact_link(robot: Mechanism, point: ContactPoint) -> str:
    """The link of a contact point, if it has the name of one; otherwise its body."""
    return shape_link(robot, point.body, link_of(point))


def shape_link(robot: Mechanism, body: str, shape: str) -> str:
    """The link of a shape of a body, if it has the name of one; otherwise the body's own frame."""
    frames = [frame.name for frame in robot.body(body).frames]
    return shape if shape in frames else frames[0]


def _names(robot: Mechanism, kind: str) -> tuple[str, ...]:
    """All that a robot has of a kind."""
    if kind == SENSOR:
        return tuple(sensor.name for sensor in robot.sensors)
    if kind == CONTACT:
        return contact_links(robot)
    if kind == FRAME:
        return tuple(frame.name for body in robot.bodies for frame in body.frames)
    if kind == STEP:
        return (SIZES,)
    if kind == MOTOR:
        return tuple(robot.actuated_names)
    return tuple(joint.name for joint in robot.joints)


def scan_shape(sensor: Sensor | RaySensor) -> tuple[int, ...]:
    """The shape of a sensor's readings, if they are too large for columns; else empty."""
    large = isinstance(sensor, RaySensor) and sensor.size > MOST_COLUMNS
    return sensor.shape if large else ()  # type: ignore[union-attr]


def _ray_sensor(sensor: RaySensor) -> dict[str, str]:
    units = {f"{sensor.name}{SAMPLED}": "s"} if sensor.keeps else {}
    if scan_shape(sensor):
        return units
    each = ["m"]
    if isinstance(sensor, RangeFinder):
        each = ["1" if what in ("dir", "normal") else "m"
                for what in sensor.data for _ in range(FIELDS[what])]  # fmt: skip
    if sensor.size == 1:
        return units | {f"{sensor.name}{SCALAR}": each[0]}
    return units | {f"{sensor.name}{RAY}{k}": each[k % len(each)] for k in range(sensor.size)}


def _sensor(robot: Mechanism, name: str) -> dict[str, str]:
    sensor = robot.sensor(name)
    if isinstance(sensor, RaySensor):
        return _ray_sensor(sensor)
    if sensor.kind not in SENSORS:
        return {f"{name}{SCALAR}": _sum_unit(robot, sensor)}
    suffixes, unit = SENSORS[sensor.kind]
    return {f"{name}{suffix}": unit for suffix in suffixes}


def _sum_unit(robot: Mechanism, sensor: Sensor) -> str:
    """The unit of a sum of coordinates, rates or efforts; "" where they are of several."""
    along = [unit for joint in robot.tree_joints for unit in joint.units]
    units = dict(zip(robot.v_names, along, strict=True))
    units |= {tendon.name: "m" for tendon in robot.tendons}
    of = {units.get(name, "") for name in sensor.of}
    unit = of.pop() if len(of) == 1 else ""
    if sensor.kind.endswith("frc"):
        return EFFORTS.get(unit, "")
    return f"{unit}/s" if unit and sensor.kind.endswith("vel") else unit


def _contact(robot: Mechanism, name: str) -> dict[str, str]:
    known = contact_links(robot)
    if name not in known:
        robot.body_or_frame(name)
        raise ModelError(f"link '{name}' touches nothing", alternatives=known)
    return {f"{name}{suffix}": "N" for suffix in FORCE}


def _frame(robot: Mechanism, name: str) -> dict[str, str]:
    robot.frame(name)
    units = ("m",) * 3 + ("1",) * 4 + ("m/s",) * 3 + ("rad/s",) * 3
    return {f"{name}{suffix}": unit for suffix, unit in zip((*POSE, *TWIST), units, strict=True)}


def _joint_wrench(robot: Mechanism, name: str) -> dict[str, str]:
    robot.joint_index(name)
    units = ("N",) * 3 + ("N m",) * 3
    return {f"{name}{suffix}": unit for suffix, unit in zip(WRENCH, units, strict=True)}


def _step(robot: Mechanism, name: str) -> dict[str, str]:
    if name != SIZES:
        raise ModelError(f"of steps, '{name}' is not logged", alternatives=(SIZES,))
    return dict(STEP_UNITS)


def _motor(robot: Mechanism, name: str) -> dict[str, str]:
    if name not in robot.actuated_names:
        raise ModelError(f"'{name}' has no motor", alternatives=tuple(robot.actuated_names))
    return {f"{name}{suffix}": unit for suffix, unit in MOTOR_UNITS.items()}


MAKERS: dict[str, Callable[[Mechanism, str], dict[str, str]]] = {
    SENSOR: _sensor,
    CONTACT: _contact,
    FRAME: _frame,
    JOINT_WRENCH: _joint_wrench,
    STEP: _step,
    MOTOR: _motor,
}
