"""What a file of links and joints contains, before a tree is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.actuator import Actuator
from robosim.description.body import Geometry
from robosim.description.inertial import Inertial
from robosim.description.obstacles import AnyShape
from robosim.errors import LoadError
from robosim.loaders.notes import Notes
from robosim.loaders.pose import Pose

Array = NDArray[np.float64]

HINGE, SLIDE = "hinge", "slide"
Refusal = Callable[..., LoadError]
"""From a reason, and alternatives, to the error that names file and element."""


@dataclass
class Link:
    """A rigid link.

    Attributes
    ----------
    name : str
    place : Pose
        Of its frame in the world, as the file has it.
    refusal : callable
    inertial : Inertial or None
        In the link's frame.
    frames : mapping of name to Pose
        Further frames, in the link's frame.
    visuals, collisions : list of Geometry
        In the link's frame; the names of those of one friction are the link's.
    robot : str
        Name of what it is a part of. Links of different robots collide.
    static : bool
        Whether it is a part of the world, so that its shapes are obstacles.
    collides : bool
        Whether it collides with other such links of the same robot.
    gravity_compensation : float
    """

    name: str
    place: Pose
    refusal: Refusal
    inertial: Inertial | None = None
    frames: dict[str, Pose] = field(default_factory=dict)
    visuals: list[Geometry] = field(default_factory=list)
    collisions: list[Geometry] = field(default_factory=list)
    robot: str = ""
    static: bool = False
    collides: bool = False
    gravity_compensation: float = 0.0

    @property
    def mass(self) -> float:
        """Its mass [kg]; 0 without an inertial."""
        return 0.0 if self.inertial is None else self.inertial.mass


@dataclass
class Tie:
    """A joint between two links, or a link and the world (None).

    The two frames coincide where all coordinates are zero.

    Attributes
    ----------
    name, kind : str
        A kind of `Joint`. Of a `composite` joint, `moves` are hinges and slides in series.
    parent, child : str or None
    first, second : Pose
        The joint frame in the frames of parent and child; of the world, in the world's.
    refusal : callable
    axis : (3,)
        In the joint frame.
    moves : sequence of (HINGE or SLIDE, axis (3,))
    pitch : float [m/rad]
    options : mapping
        Further arguments of `Joint`, (nv,) each where there are several coordinates.
    last : bool
        Whether it closes a loop rather than another joint.
    """

    name: str
    kind: str
    parent: str | None
    child: str | None
    first: Pose
    second: Pose
    refusal: Refusal
    axis: Array = field(default_factory=lambda: np.array((0.0, 0.0, 1.0)))
    moves: Sequence[tuple[str, Array]] = ()
    pitch: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    last: bool = False


@dataclass
class Gear:
    """Two joints of one coordinate each: ``q_joint = ratio q_source + offset``."""

    name: str
    joint: str
    source: str
    ratio: float
    offset: float
    refusal: Refusal


@dataclass
class Cord:
    """A tendon between two points, each (link or None, position (3,) in the link's frame)."""

    name: str
    first: tuple[str | None, Array]
    second: tuple[str | None, Array]
    lower: float
    upper: float


@dataclass
class Assembly:
    """All links, joints and obstacles of a file.

    Attributes
    ----------
    name : str
    links, ties, gears
    obstacles : list of shapes
        Those of no link, in the world; without the ground.
    ground : float or None
        Friction of the plane z = 0; None: the file has no such plane.
    world : bool
        Whether the file describes the world, and so the ground as well.
    apart : list of pairs of names
        Links that do not collide.
    frames : list of (name, Pose)
    visuals : list of Geometry
        Frames and drawn shapes of the world.
    cords : list of Cord
    actuators : list of Actuator
    targets : mapping of actuator to its control
    notes : Notes
    package_dirs : list of str
        Folders in which files were found.
    source : str
    """

    name: str
    source: str
    notes: Notes
    links: list[Link] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    gears: list[Gear] = field(default_factory=list)
    obstacles: list[AnyShape] = field(default_factory=list)
    ground: float | None = None
    world: bool = False
    apart: list[tuple[str, str]] = field(default_factory=list)
    frames: list[tuple[str, Pose]] = field(default_factory=list)
    visuals: list[Geometry] = field(default_factory=list)
    cords: list[Cord] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    targets: dict[str, float] = field(default_factory=dict)
    package_dirs: list[str] = field(default_factory=list)
