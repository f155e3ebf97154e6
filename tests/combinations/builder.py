"""What features build a mechanism with, and the case that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from closed_mechanisms import poses
from numpy.typing import NDArray
from random_mechanisms import random_body, random_joint

from robosim import Body, Geometry, Joint, Mechanism, Simulation
from robosim.controllers import PD, Motors
from robosim.mechanism import with_backlash
from robosim.quaternions import rotation_matrix

from .drawn import Drawn

Array = NDArray[np.float64]
UP = np.array([0.0, 0.0, 1.0])


def hold(kept: bool, told: str) -> None:
    """Raise an AssertionError unless what is promised is kept."""
    if not kept:
        raise AssertionError(told)


@dataclass(frozen=True)
class Wave:
    """A prescribed coordinate, which begins at rest."""

    middle: float
    size: float
    rate: float

    def __call__(self, time: float) -> float:
        return self.middle + self.size * (1.0 - np.cos(self.rate * time))


@dataclass
class Builder:
    """Parts of a mechanism that features add to and change, in the order of the registry.

    The bodies of `chain` hang on each other; those of `solids` are free, and made to touch.
    """

    drawn: Drawn
    row: frozenset[str]
    bodies: dict[str, Body] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    home: dict[str, Array] = field(default_factory=dict)
    chain: list[str] = field(default_factory=list)
    solids: list[str] = field(default_factory=list)
    below: str | None = None
    friction: float = 0.5
    surface: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, list[Any]] = field(default_factory=dict)
    plays: dict[str, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    control: Callable[[Mechanism], PD] | None = None
    drive: Callable[[Mechanism], Motors] | None = None
    controls: list[float] = field(default_factory=list)
    grounded: bool = False
    ideal: bool = False

    def add(self, what: str, part: Any) -> None:
        """Add an element of the mechanism: `what` is the name of its field."""
        self.parts.setdefault(what, []).append(part)

    def hang(self, name: str, kind: str, parent: str | None = "", **options: Any) -> Joint:
        """A body on a joint of a kind, on the last of the chain unless another one is given."""
        if parent == "":
            parent = self.chain[-1] if self.chain else None
        self.bodies[name] = random_body(self.drawn, name)  # type: ignore[arg-type]
        joint = random_joint(self.drawn, f"{name}_joint", kind, parent, name, **options)  # type: ignore[arg-type]
        self.joints[joint.name] = joint
        self.home[joint.name] = self._somewhere(joint)
        self.chain.append(name)
        return joint

    def _somewhere(self, joint: Joint) -> Array:
        """Coordinates of a joint, near the middle of what it can do."""
        if joint.has_quaternion:
            free = joint.C_T.shape[1]
            turn = self.drawn.normal(4)
            slid = self.drawn.uniform(-0.2, 0.2, size=free)
            return np.concatenate((slid, turn / np.linalg.norm(turn)))
        # The middle between limits on both sides, as the ends of a spline are.
        sides = np.array((joint.lower, joint.upper))
        middle = np.where(np.isfinite(sides).all(axis=0), sides, 0.0).mean(axis=0)
        return np.asarray(middle + self.drawn.uniform(-0.4, 0.4, size=joint.nv))

    def solid(self, name: str, shape: Geometry) -> None:
        """A free body with a shape of uniform density."""
        self.bodies[name] = replace(
            Body.of_shape(replace(shape, name=name), mass=self.drawn.uniform(0.5, 1.5)),
            name=name, frames=(), visuals=(), collisions=(replace(shape, name=name),),
        )  # fmt: skip
        self.joints[f"{name}_joint"] = Joint(f"{name}_joint", "floating", None, name)
        turn = self.drawn.normal(4)
        self.home[f"{name}_joint"] = np.concatenate((np.zeros(3), turn / np.linalg.norm(turn)))
        self.solids.append(name)

    def moving(self, n: int = 1) -> list[Joint]:
        """All joints of the chain that can move; at least n of them."""
        while len(found := [j for j in self._of_chain() if j.nv and j.motion is None]) < n:
            self.hinge()
        return found

    def single(self, n: int = 1) -> list[Joint]:
        """Those with a single coordinate."""
        while len(found := [j for j in self._of_chain() if j.nv == 1 and j.motion is None]) < n:
            self.hinge()
        return found

    def hinge(self) -> None:
        """One more body of the chain, on a hinge."""
        name = f"more{len(self.chain)}"
        raised = self.grounded and not self.chain
        self.hang(name, "revolute")
        if raised:
            joint = self.joints[f"{name}_joint"]
            self.joints[joint.name] = replace(joint, parent_position=(0, 0, 1))

    def _of_chain(self) -> Iterator[Joint]:
        # The newest first, so that it is the plainest choice.
        return (self.joints[f"{name}_joint"] for name in reversed(self.chain))

    def some(self, joints: Sequence[Joint]) -> Sequence[Joint]:
        """All of them, or one."""
        which = self.drawn.whole(0, len(joints))
        return joints if which == 0 else joints[which - 1 : which]

    def change(self, joint: Joint, **values: Any) -> None:
        """Give a joint of the chain other values."""
        self.joints[joint.name] = replace(self.joints[joint.name], **values)

    def coordinate(self, joint: Joint) -> float:
        """The single coordinate of a joint at home."""
        return float(self.home[joint.name][0])

    def mechanism(self) -> Mechanism:
        """The mechanism of what there is."""
        rest = {what: found for what, found in self.parts.items() if what != "soft"}
        hard = with_backlash(self._at_home(**rest), self.plays)
        # Particles are where a mechanism without them is at home.
        return replace(hard, soft=self.parts["soft"]) if "soft" in self.parts else hard

    def _at_home(self, **parts: Any) -> Mechanism:
        bodies, joints = tuple(self.bodies.values()), tuple(self.joints.values())
        robot = Mechanism("drawn", bodies, joints, **parts)
        q = [self.home[joint.name] for joint in robot.tree_joints]
        return replace(robot, home=np.concatenate(q))

    def places(self) -> dict[str | None, tuple[Array, Array]]:
        """Centres of mass and orientations of the bodies at home, and of the world."""
        tree = self._at_home()
        return poses(tree, np.asarray(tree.home))

    def point(self, body: str, place: Array) -> Array:
        """A point of a body, in world coordinates at home."""
        x, turn = self.places()[body]
        return np.asarray(x + rotation_matrix(turn) @ place)

    def extent(self, names: Sequence[str], along: Array) -> tuple[float, float]:
        """How far the shapes of bodies reach along a direction at home: from, and to."""
        places, low, high = self.places(), np.inf, -np.inf
        for name in names:
            x, turn = places[name]
            R = rotation_matrix(turn)
            for shape in self.bodies[name].collisions:
                points, radius = corners(shape)
                reach = (x + (points @ R.T)) @ along
                low, high = min(low, reach.min() - radius), max(high, reach.max() + radius)
        return float(low), float(high)

    def lift(self, names: Sequence[str], height: float) -> None:
        """Raise bodies of a chain, or a solid, until their shapes begin at a height."""
        low, _ = self.extent(names, UP)
        if np.isfinite(low):
            for joint in self.joints.values():
                if joint.parent is None and joint.child in names:
                    at = np.asarray(joint.parent_position) + (height - low) * UP
                    self.joints[joint.name] = replace(joint, parent_position=at)


def corners(shape: Geometry) -> tuple[Array, float]:
    """Points (n, 3) in axes of the body, and the radius of balls around these with the shape.

    The ball of an ellipsoid is around it.
    """
    size = np.asarray(shape.size)
    radius = 0.0
    if shape.kind == "mesh":
        points = np.asarray(shape.vertices)
    elif shape.kind in ("sphere", "ellipsoid"):
        points, radius = np.zeros((1, 3)), float(size.max())
    elif shape.kind == "capsule":
        points, radius = np.array([[0, 0, -size[1] / 2], [0, 0, size[1] / 2]]), float(size[0])
    else:
        a, b, c = size / 2 if shape.kind == "box" else (size[0], size[0], size[1] / 2)
        signs = np.array(np.meshgrid((-1, 1), (-1, 1), (-1, 1))).reshape(3, -1).T
        points = signs * (a, b, c)
    R = rotation_matrix(np.asarray(shape.quaternion))
    return np.asarray(shape.position) + points @ R.T, radius


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """A mechanism in motion, as a row of features and its numbers gave it.

    Attributes
    ----------
    features : tuple of str
    numbers : dict of feature to list of int
        What `Drawn.again` takes.
    robot : Mechanism
    q, v : (nq,), (nv,)
    options : dict
        Of `Simulation`.
    pd : PD or None
    controls : list of float
        Of implicit actuators.
    motors : bool
        Whether anything may give energy.
    twin : callable(str) -> Case
        The same, but "ideal", without what gives or takes energy; "smooth", without what touches,
        controllers and other forces that are not smooth; or "laned" and "limbs", with what states
        and limbs in lanes can have.
    drive : Motors or None
        Of which each simulation has a copy.
    """

    features: tuple[str, ...]
    numbers: dict[str, list[int]]
    robot: Mechanism
    q: Array
    v: Array
    options: dict[str, Any]
    pd: PD | None
    controls: list[float]
    motors: bool
    twin: Callable[[str], Case]
    drive: Motors | None = None
    _drives: WeakKeyDictionary[Any, Motors] = field(default_factory=WeakKeyDictionary)

    def controller(self, sim: Any) -> PD | Motors | None:
        """What controls a simulation, which has motors of its own."""
        if self.drive is None:
            return self.pd
        if sim not in self._drives:
            self._drives[sim] = self.drive.copy()
        return self._drives[sim]

    def follow(self, sim: Any, other: Any) -> None:
        """Let the motors of a simulation go on as those of another one."""
        if self.drive is not None:
            self._drives[sim] = self.drive.copy()
            self._drives[sim].recall(sim, self._drives[other].memory())

    @property
    def driven(self) -> bool:
        """Whether a controller acts."""
        return self.pd is not None or self.drive is not None

    @property
    def timestep(self) -> float:
        """[s]"""
        return float(self.options["timestep"])

    @property
    def touches(self) -> bool:
        """Whether anything can touch."""
        return bool(self.robot.contacts or self.robot.touching_shapes())

    def simulation(self, **options: Any) -> Simulation:
        """A simulation at the start, with other options if some are given."""
        sim = Simulation(self.robot, **{**self.options, **options})
        self.start(sim)
        return sim

    def start(self, sim: Any) -> None:
        """Put a simulation at the start."""
        sim.set_state(self.q, self.v)
        if self.controls:
            sim.set_controls(self.controls)

    def run(self, sim: Any, steps: int, **options: Any) -> Any:
        """The log of some steps."""
        return sim.run(steps * sim.timestep, self.controller(sim), **options)
