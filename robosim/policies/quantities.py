"""Quantities that policies observe: a table of names, each with one function of the robots' state.

Arrays have one row for each robot. Axes of the base are those of its link. The base's velocity is
that of the link's origin, of its centre of mass, or of a frame on it, such as an IMU. Joints are
those of the task, in its order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from robosim import quaternions
from robosim.description.mechanism import Mechanism
from robosim.errors import LoadError, ModelError, known
from robosim.rays.ground import Ground

Array = NDArray[np.float64]
ORIGIN, CENTRE = "origin", "com"
ORDERINGS = ("xy", "yx")
ROUNDED = 1e-9  # [m], by which a grid may be longer than its size


class Joints(Protocol):
    """What quantities need to know of a task on a robot; see `robosim.policies.layout.Layout`."""

    robot: Mechanism
    names: tuple[str, ...]
    q_index: NDArray[np.int64]
    v_index: NDArray[np.int64]
    default: Array
    commands: int

    @property
    def terrain(self) -> Ground: ...
    def base_frame(self, at: str) -> tuple[Array, Array]: ...
    def contacts_of(self, links: Sequence[str]) -> list[NDArray[np.int64]]: ...


@dataclass(frozen=True, eq=False)
class Reading:
    """The state of n robots at the beginning of a period of a policy.

    Attributes
    ----------
    time : (n,) [s]
        Time since the policy began.
    q, v : (n, nq), (n, nv)
        Joint coordinates and velocities in the robot's order.
    command : (n, k)
        Usually forward and sideways velocity [m/s], and yaw rate [rad/s].
    action : (n, na)
        The last action, clipped, before its scale; zero before the first one.
    forces : (n, nc) [N] or None
        Normal forces on ``robot.contacts``; None if the task does not observe any.
    """

    time: Array
    q: Array
    v: Array
    command: Array
    action: Array
    forces: Array | None = None

    @cached_property
    def R_wb(self) -> Array:
        """Rotations (n, 3, 3) from the bases' axes to the world's."""
        return quaternions.rotation_matrix(self.q[:, 3:7])


@dataclass(frozen=True)
class Term:
    """A quantity in an observation.

    The observed value is ``scale * clip(value - offset)``.

    Attributes
    ----------
    name : str
        One of `QUANTITIES`.
    scale, offset : tuple of float
        One number, or one for each entry.
    clip : (least, most) or None
    history : int
        Number of values, of which the last one is the present one.
    at : str
        Of velocities of the base: "origin" or "com", or a frame of the base, which also gives the
        axes.
    period : float [s]
        Of a clock.
    links : tuple of str
        Of contacts.
    threshold : float [N]
        Force above which a link is in contact.
    points : int
        Number of points of a height scan on level ground, which may lie anywhere.
    size : (length, width) or () [m]
        Of the grid of a height scan, along x and y of the base's heading, about its origin.
    resolution : float [m]
        Distance of neighbouring points of this grid.
    ordering : str
        "xy": points along x follow each other; "yx": those along y.
    """

    name: str
    scale: tuple[float, ...] = (1.0,)
    offset: tuple[float, ...] = (0.0,)
    clip: tuple[float, float] | None = None
    history: int = 1
    at: str = ORIGIN
    period: float = 1.0
    links: tuple[str, ...] = ()
    threshold: float = 1.0
    points: int = 0
    size: tuple[float, ...] = ()
    resolution: float = 0.1
    ordering: str = "xy"


class Quantity(NamedTuple):
    """A quantity that a policy may observe.

    Attributes
    ----------
    read : callable(layout, term, reading) -> (n, size)
    size : callable(layout, term) -> int
    unit : str
    what : str
        A description for tables.
    options : tuple of str
        Names of the fields of `Term` that this quantity has beside scale, offset, clip and history.
    of_base : bool
        Whether the robot needs a floating base.
    """

    read: Callable[[Joints, Term, Reading], Array]
    size: Callable[[Joints, Term], int]
    unit: str
    what: str
    options: tuple[str, ...] = ()
    of_base: bool = False


def _turned(R: Array, vectors: Array) -> Array:
    """Vectors (n, 3), turned by R (3, 3)."""
    # Sums of three: a matrix product would be rounded differently for each number of rows.
    return np.asarray((R * vectors[:, None]).sum(axis=2))


def _base_lin_vel(layout: Joints, term: Term, reading: Reading) -> Array:
    R_fb, arm = layout.base_frame(term.at)
    velocity = (reading.R_wb * reading.v[:, :3, None]).sum(axis=1)
    if term.at == ORIGIN:
        return np.asarray(velocity)
    return _turned(R_fb, velocity + np.cross(reading.v[:, 3:6], arm))


def _base_ang_vel(layout: Joints, term: Term, reading: Reading) -> Array:
    return _turned(layout.base_frame(term.at)[0], reading.v[:, 3:6])


def _projected_gravity(layout: Joints, term: Term, reading: Reading) -> Array:
    return _turned(layout.base_frame(term.at)[0], -reading.R_wb[:, 2])


def _base_euler(layout: Joints, term: Term, reading: Reading) -> Array:
    R = reading.R_wb
    roll = np.arctan2(R[:, 2, 1], R[:, 2, 2])
    pitch = np.arcsin(np.clip(-R[:, 2, 0], -1.0, 1.0))
    return np.stack((roll, pitch, np.arctan2(R[:, 1, 0], R[:, 0, 0])), axis=1)


def _base_height(layout: Joints, term: Term, reading: Reading) -> Array:
    return reading.q[:, 2:3]


def _commands(layout: Joints, term: Term, reading: Reading) -> Array:
    return reading.command


def _joint_pos(layout: Joints, term: Term, reading: Reading) -> Array:
    return np.asarray(reading.q[:, layout.q_index] - layout.default)


def _joint_pos_abs(layout: Joints, term: Term, reading: Reading) -> Array:
    return reading.q[:, layout.q_index]


def _joint_vel(layout: Joints, term: Term, reading: Reading) -> Array:
    return reading.v[:, layout.v_index]


def _actions(layout: Joints, term: Term, reading: Reading) -> Array:
    return reading.action


def _clock(layout: Joints, term: Term, reading: Reading) -> Array:
    angle = 2.0 * np.pi * reading.time / term.period
    return np.stack((np.sin(angle), np.cos(angle)), axis=1)


def _foot_contacts(layout: Joints, term: Term, reading: Reading) -> Array:
    assert reading.forces is not None
    touching = [reading.forces[:, which].sum(axis=1) for which in layout.contacts_of(term.links)]
    return (np.stack(touching, axis=1) > term.threshold).astype(float)


def scan_points(term: Term) -> tuple[Array, Array]:
    """Places x, y (m,) [m] of the grid of a height scan, in axes of the base's heading."""
    x, y = (np.arange(-side / 2, side / 2 + ROUNDED, term.resolution) for side in term.size)
    grid = np.meshgrid(x, y, indexing="xy" if term.ordering == "xy" else "ij")
    return grid[0].ravel(), grid[1].ravel()


def _height_scan(layout: Joints, term: Term, reading: Reading) -> Array:
    high = reading.q[:, 2:3]
    if not term.size:
        return np.tile(high, (1, term.points))
    return layout.terrain.heights_over(reading.q[:, :3], reading.R_wb, *scan_points(term))


def _three(layout: Joints, term: Term) -> int:
    return 3


def _each_joint(layout: Joints, term: Term) -> int:
    return len(layout.names)


QUANTITIES: dict[str, Quantity] = {
    "base_lin_vel": Quantity(
        _base_lin_vel, _three, "m/s", "velocity of the base, in its axes", ("at",), True
    ),
    "base_ang_vel": Quantity(
        _base_ang_vel, _three, "rad/s", "angular velocity of the base, in its axes", ("at",), True
    ),
    "projected_gravity": Quantity(
        _projected_gravity, _three, "1", "direction of gravity in axes of the base", ("at",), True
    ),
    "base_euler": Quantity(
        _base_euler, _three, "rad", "roll, pitch and yaw of the base", (), True
    ),
    "base_height": Quantity(
        _base_height, lambda layout, term: 1, "m", "height of the base's origin", (), True
    ),
    "velocity_commands": Quantity(
        _commands, lambda layout, term: layout.commands, "m/s, rad/s", "the command"
    ),
    "joint_pos": Quantity(
        _joint_pos, _each_joint, "rad or m", "joint coordinates, relative to the default pose"
    ),
    "joint_pos_abs": Quantity(_joint_pos_abs, _each_joint, "rad or m", "joint coordinates"),
    "joint_vel": Quantity(_joint_vel, _each_joint, "rad/s or m/s", "joint velocities"),
    "actions": Quantity(_actions, _each_joint, "1", "the last action, before its scale"),
    "clock": Quantity(
        _clock, lambda layout, term: 2, "1", "sine and cosine of the phase", ("period",)
    ),
    "foot_contacts": Quantity(
        _foot_contacts, lambda layout, term: len(term.links), "1",
        "1 for each link that touches the ground", ("links", "threshold"),
    ),
    "height_scan": Quantity(
        _height_scan, lambda layout, term: len(scan_points(term)[0]) if term.size else term.points,
        "m", "height of the base over points of the ground",
        ("size", "resolution", "ordering", "points"), True,
    ),
}  # fmt: skip
"""What a policy may observe, by name."""

ALIASES: dict[str, str] = {
    "lin_vel": "base_lin_vel",
    "ang_vel": "base_ang_vel",
    "gravity": "projected_gravity",
    "gravity_vec": "projected_gravity",
    "command": "velocity_commands",
    "commands": "velocity_commands",
    "joint_pos_rel": "joint_pos",
    "dof_pos": "joint_pos",
    "joint_vel_rel": "joint_vel",
    "dof_vel": "joint_vel",
    "last_action": "actions",
    "last_actions": "actions",
    "phase": "clock",
    "foot_contact": "foot_contacts",
}
"""Other names of the same quantities, as libraries for learning use them."""


def quantity(name: str) -> str:
    """The name in `QUANTITIES` of a quantity that is given by one of its names.

    Raises
    ------
    LoadError
        For an unknown name.
    """
    found = ALIASES.get(name, name)
    if found not in QUANTITIES:
        names = known(name, tuple(QUANTITIES), most=len(QUANTITIES))
        raise LoadError(f"there is no quantity '{name}' to observe ({names})")
    return found


def check_term(layout: Joints, term: Term) -> int:
    """The number of entries of a term, without history, for a robot that can have it.

    Raises
    ------
    ModelError
        For a robot without what the quantity is read from.
    LoadError
        For a wrong number of scales or offsets, or a missing option.
    """
    what, robot = QUANTITIES[term.name], layout.robot
    element = f"observation '{term.name}'"
    if what.of_base and not robot.floating_base:
        there = [name for name, other in QUANTITIES.items() if not other.of_base]
        raise ModelError(
            f"robot '{robot.name}' has no floating base", element=element, alternatives=there
        )
    if term.name == "height_scan":
        if bool(term.points) == bool(term.size):
            raise LoadError(
                "needs one of the keys 'size', of a grid, and 'points', the number of points on "
                "level ground",
                element=element,
            )
        if term.points and robot.obstacles:
            raise ModelError(
                f"'points' are of level ground, and robot '{robot.name}' has obstacles: give "
                "'size' and 'resolution' of the grid",
                element=element,
            )
    if "links" in what.options and not term.links:
        raise LoadError("needs the key 'links'", element=element)
    if "at" in what.options:
        layout.base_frame(term.at)
    if term.links:
        layout.contacts_of(term.links)
    size = what.size(layout, term)
    for option in ("scale", "offset"):
        values = getattr(term, option)
        if len(values) not in (1, size):
            raise LoadError(
                f"{option} must be one number or {size}, not {len(values)}", element=element
            )
    return size
