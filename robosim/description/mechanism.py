"""What people build and read: bodies, joints and contact points, validated once.

The world is written as ``None`` where a body's name is expected. SI units and radians.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.actuators import Actuator
from robosim.bodies import Body, ContactPoint, Frame, Geometry
from robosim.collision import AnyShape, as_obstacles, obstacle_name
from robosim.elements import Coupling, PointSpring
from robosim.errors import ModelError
from robosim.joints import Joint
from robosim.sensors import Sensor
from robosim.tendons import Tendon, Term
from robosim.validation import Frozen, frozen_array, parts

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stance(Frozen):
    """Joint targets and PD gains that a robot is known to stand with.

    Attributes
    ----------
    target : (nu,) [rad or m]
    kp, kd : (nu,) [N m/rad, N m s/rad]
    """

    target: ArrayLike
    kp: ArrayLike
    kd: ArrayLike

    def __post_init__(self) -> None:
        shape = np.shape(self.target)
        for what in ("target", "kp", "kd"):
            self._set(**{what: frozen_array(getattr(self, what), shape, what, "stance")})


@dataclass(frozen=True, eq=False)
class Mechanism(Frozen):
    """Bodies connected by joints, with contact points; belongs to no simulation.

    Bodies and joints are put in tree order: joint i leads to body i, and a parent comes before
    its children. A joint into a body that an earlier one leads to closes a loop; those follow
    behind the tree's. Coordinates q and velocities v are those of the tree's joints, in that
    order; a loop makes them depend on each other. A joint holds,
    in q, its translations (m), then its angle (rad) or its quaternion (w, x, y, z), child to
    joint frame; in v, the rate of the translations in the parent's joint axes and the angular
    velocity in the child's axes. A floating base is thus: position of the reference frame in the
    world, quaternion; velocity of that point in world axes, angular velocity in body axes.

    Attributes
    ----------
    name : str
    bodies : tuple of Body
    joints : tuple of Joint
    contacts : tuple of ContactPoint
        All against the ground, the half-space z >= 0.
    springs : tuple of PointSpring
    tendons : tuple of Tendon
    couplings : tuple of Coupling
    obstacles : tuple of HalfSpace, HeightField, TriangleMesh or Geometry
        Things of the world that the bodies' collision geometry cannot pass, in world coordinates.
    contact_pairs : tuple of pairs of names
        Bodies whose collision geometries cannot pass each other.
    self_collision : bool
        Whether that holds for all pairs of bodies without a joint between them.
    excluded_pairs : tuple of pairs of names
        Bodies that may pass through each other nevertheless, or a body and an obstacle, by its
        name.
    warnings : tuple of str
        What was noticed while building or loading, one sentence each.
    source : str or None
        The file that it was loaded from.
    package_dirs : tuple of str
        Where ``package://`` addresses of that file were looked up.
    home : (nq,) or None
        The pose to start from: all joints at zero, or what the model file or builder says.
    configurations : mapping of name to q (nq,)
        Poses that the model file names, such as "standing".
    actuators : tuple of Actuator
        The model file's motors and servos; `robosim.actuators.torques` makes torques of controls.
    effort_ranges : mapping of coordinate to (lower, upper) [N m or N]
        What all actuators together can do along a coordinate of `v_names`, which those torques
        are kept within.
    sensors : tuple of Sensor
        What `Simulation.sensor` reads by name.
    stance : Stance or None
        What it is known to stand with.
    world_frames : tuple of Frame
    world_visuals : tuple of Geometry
        Of links without mass that are fixed to the world, and so are part of no body: where they
        are and what they look like, in world coordinates.

    Raises
    ------
    ModelError
        For names that are not unique or not there, a body that no joint leads to from the world,
        a coupling of joints with several coordinates, or a pose of the wrong length.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    contacts: tuple[ContactPoint, ...] = ()
    warnings: tuple[str, ...] = ()
    source: str | None = None
    package_dirs: tuple[str, ...] = ()
    home: ArrayLike | None = None
    stance: Stance | None = None
    world_frames: tuple[Frame, ...] = ()
    world_visuals: tuple[Geometry, ...] = ()
    springs: tuple[PointSpring, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    obstacles: tuple[AnyShape, ...] = ()
    contact_pairs: tuple[tuple[str, str], ...] = ()
    self_collision: bool = False
    excluded_pairs: tuple[tuple[str, str], ...] = ()
    configurations: Mapping[str, ArrayLike] = field(default_factory=dict)
    actuators: tuple[Actuator, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    effort_ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = {
            "bodies": Body,
            "joints": Joint,
            "contacts": ContactPoint,
            "springs": PointSpring,
            "couplings": Coupling,
            "tendons": Tendon,
        }
        element = f"mechanism '{self.name}'"
        for what, kind in kinds.items():
            self._set(**{what: parts(getattr(self, what), kind, what, element)})
        self._set(
            obstacles=as_obstacles(self.obstacles),
            actuators=tuple(self.actuators),
            sensors=tuple(self.sensors),
            effort_ranges={k: (float(a), float(b)) for k, (a, b) in self.effort_ranges.items()},
            contact_pairs=tuple((str(a), str(b)) for a, b in self.contact_pairs),
            excluded_pairs=tuple((str(a), str(b)) for a, b in self.excluded_pairs),
        )
        if not self.bodies:
            raise ModelError("has no bodies", element=f"mechanism '{self.name}'")
        _check_unique("body", (body.name for body in self.bodies))
        _check_unique("joint", (joint.name for joint in self.joints))
        _check_unique("spring", (spring.name for spring in self.springs))
        _check_unique("tendon", (tendon.name for tendon in self.tendons))
        _check_unique("coupling", (coupling.name for coupling in self.couplings))
        _check_unique("actuator", (actuator.name for actuator in self.actuators))
        _check_unique("sensor", (sensor.name for sensor in self.sensors))
        frames = [*self.world_frames, *(frame for _, frame in self.frames())]
        _check_unique("frame", (frame.name for frame in frames))
        self._check_references()
        self._sort_tree()
        self._check_tendons()
        self._check_actuators()
        for sensor in self.sensors:
            sensor.check(self)
        noticed = [body.triangle_violation() for body in self.bodies]
        # Each sentence once: a mechanism that is rebuilt from another notices the same things.
        noticed_once = dict.fromkeys((*self.warnings, *(text for text in noticed if text)))
        self._set(warnings=tuple(noticed_once))
        home = self.neutral() if self.home is None else self.home
        element = f"mechanism '{self.name}'"
        self._set(
            home=frozen_array(home, (self.nq,), "home", element),
            configurations={
                name: frozen_array(q, (self.nq,), f"configuration '{name}'", element)
                for name, q in self.configurations.items()
            },
        )

    def _check_references(self) -> None:
        names = {body.name: body for body in self.bodies}
        for what, elements in (("joint", self.joints), ("spring", self.springs)):
            for element in elements:
                for role, body in (("parent", element.parent), ("child", element.child)):
                    if body not in names and not (role == "parent" and body is None):
                        hint = "; the world is None" if (role, body) == ("parent", "world") else ""
                        raise ModelError(
                            f"{role} '{body}' does not exist{hint}",
                            element=f"{what} '{element.name}'",
                            alternatives=tuple(names),
                        )
        for joint in self.joints:
            if joint.parent == joint.child:
                raise ModelError("connects a body with itself", element=f"joint '{joint.name}'")
        for contact in self.contacts:
            if contact.body not in names:
                raise ModelError(
                    f"body '{contact.body}' does not exist",
                    element=f"contact '{contact.name}'",
                    alternatives=tuple(names),
                )
        self._check_what_touches(names)
        kinds = {joint.name: joint for joint in self.joints}
        for coupling in self.couplings:
            for name in (coupling.joint, coupling.source):
                element_name = f"coupling '{coupling.name}'"
                if name not in kinds:
                    raise ModelError(
                        f"joint '{name}' does not exist",
                        element=element_name,
                        alternatives=tuple(kinds),
                    )
                if kinds[name].nv != 1:
                    raise ModelError(
                        f"joint '{name}' is '{kinds[name].kind}'; a coupling needs joints with a "
                        "single coordinate",
                        element=element_name,
                    )

    def _check_tendons(self) -> None:
        names = (*self.v_names, *(tendon.name for tendon in self.tendons))
        _check_unique("coordinate or tendon", names)
        coordinates = sorted(set(self.q_names).intersection(self.v_names))
        bodies = [body.name for body in self.bodies]
        for tendon in self.tendons:
            named = [("coordinate", p.coordinate, coordinates) for p in tendon.path
                     if isinstance(p, Term)]  # fmt: skip
            named += [("body", name, bodies) for name in tendon.bodies() if name is not None]
            for what, name, known in named:
                if name not in known:
                    raise ModelError(
                        f"{what} '{name}' does not exist",
                        element=f"tendon '{tendon.name}'",
                        alternatives=known,
                    )

    def _check_actuators(self) -> None:
        names = set(self.q_names).intersection(self.v_names)
        names |= {tendon.name for tendon in self.tendons}
        for actuator in self.actuators:
            for name in actuator.gears:
                if name not in names:
                    raise ModelError(
                        f"'{name}' is no coordinate of the joints and no tendon",
                        element=f"actuator '{actuator.name}'",
                        alternatives=sorted(names),
                    )
            body = None if actuator.place is None else actuator.place.body
            if body is not None and all(body != other.name for other in self.bodies):
                raise ModelError(
                    f"body '{body}' does not exist",
                    element=f"actuator '{actuator.name}'",
                    alternatives=[other.name for other in self.bodies],
                )
        for name, (lower, upper) in self.effort_ranges.items():
            if name not in self.v_names or not lower < upper:
                raise ModelError(
                    f"'{name}': {lower} to {upper} must be of a coordinate, from a lower to a "
                    "higher number",
                    element="effort_ranges",
                    alternatives=self.v_names,
                )

    def _check_what_touches(self, names: Mapping[str, Body]) -> None:
        for obstacle in self.obstacles:
            if not isinstance(obstacle, AnyShape):
                raise ModelError(
                    f"an obstacle cannot be {obstacle!r}",
                    element=f"mechanism '{self.name}'",
                    alternatives=("HalfSpace", "HeightField", "TriangleMesh", "Geometry"),
                )
        known_names = dict.fromkeys((*names, *map(obstacle_name, self.obstacles)))
        bodies = dict.fromkeys(names)
        pairs = [("contact pair", pair, bodies) for pair in self.contact_pairs]
        pairs += [("excluded pair", pair, known_names) for pair in self.excluded_pairs]
        for what, pair, known in pairs:
            element = f"{what} {pair}"
            for body in pair:
                if body not in known:
                    raise ModelError(
                        f"body '{body}' does not exist", element=element, alternatives=tuple(known)
                    )
            if pair[0] == pair[1]:
                raise ModelError("a body cannot touch itself", element=element)
        for pair in self.contact_pairs:
            for name in pair:
                if not names[name].collisions:
                    raise ModelError(
                        f"body '{name}' has no collision geometry; give it some, or leave the "
                        "pair out",
                        element=f"contact pair {pair}",
                    )
        solid = any(body.collisions for body in self.bodies)
        if (self.obstacles or self.self_collision) and not solid:
            what = "obstacles are" if self.obstacles else "self-collision is"
            text = f"no body has collision geometry: {what} without effect"
            self._set(warnings=(*self.warnings, text))

    def with_contacts(
        self,
        obstacles: AnyShape | Iterable[AnyShape] = (),
        pairs: Iterable[tuple[str, str]] = (),
        self_collision: bool | None = None,
        ground: bool = True,
    ) -> Mechanism:
        """The same mechanism with more that its bodies' collision geometry cannot pass.

        Self-collision is of use only for bodies that do not touch at home. Pairs that do, as
        neighbours often overlap in model files, become `excluded_pairs`, and a warning lists
        them. That compiles the kernels which find them, some ten seconds in the first run.

        Parameters
        ----------
        obstacles : HalfSpace, HeightField, TriangleMesh or Geometry, or an iterable of them
            In world coordinates, in addition to those that there are.
        pairs : iterable of pairs of bodies' names
            In addition to those that there are, and not excluded any more.
        self_collision : bool or None
            Whether all pairs of bodies without a joint between them touch; None leaves it as
            it is.
        ground : bool
            False takes the contact points with the ground z = 0 away, as for a robot that
            stands on an obstacle with its collision geometry.

        Raises
        ------
        ModelError
            For an unknown body, or one without collision geometry in `pairs`.
        """
        added = tuple((str(a), str(b)) for a, b in pairs)
        wanted = {frozenset(pair) for pair in added}
        mechanism = replace(
            self,
            contacts=self.contacts if ground else (),
            obstacles=(*self.obstacles, *as_obstacles(obstacles)),
            contact_pairs=(*self.contact_pairs, *added),
            excluded_pairs=tuple(p for p in self.excluded_pairs if frozenset(p) not in wanted),
            self_collision=self.self_collision if self_collision is None else self_collision,
        )
        if not self_collision:
            return mechanism
        # Here, so that numba is imported only where it is needed.
        from robosim.readout import overlapping_pairs

        asked = {frozenset(pair) for pair in mechanism.contact_pairs}
        found = [pair for pair in overlapping_pairs(mechanism) if frozenset(pair) not in asked]
        if not found:
            return mechanism
        listed = ", ".join(f"{a} - {b}" for a, b in found)
        return replace(
            mechanism,
            excluded_pairs=(*mechanism.excluded_pairs, *found),
            warnings=(
                *mechanism.warnings,
                f"self-collision leaves out what overlaps at home: {listed}",
            ),
        )

    def _sort_tree(self) -> None:
        """Depth-first order from the world, children in the order given; then the loops' joints."""
        children: dict[str | None, list[Joint]] = {}
        into: dict[str, Joint] = {}
        loops: list[Joint] = []
        for joint in self.joints:
            if joint.child in into:
                loops.append(joint)
                continue
            into[joint.child] = joint
            children.setdefault(joint.parent, []).append(joint)
        for body in self.bodies:
            if body.name not in into:
                raise ModelError(
                    "has no joint to the world or to another body; add a 'floating' one",
                    element=f"body '{body.name}'",
                )
        order: list[Joint] = []
        stack = list(reversed(children.get(None, [])))
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(children.get(joint.child, [])))
        if len(order) < len(self.bodies):
            reached = {joint.name for joint in order}
            cycle = [j.name for j in into.values() if j.name not in reached]
            raise ModelError(
                f"joints {cycle} form a cycle that does not lead to the world: of the joints into "
                "a body the first one given must lead there from the world; the others close loops",
                element=f"mechanism '{self.name}'",
            )
        by_name = {body.name: body for body in self.bodies}
        self._set(joints=(*order, *loops), bodies=tuple(by_name[joint.child] for joint in order))

    @property
    def tree_joints(self) -> tuple[Joint, ...]:
        """The joints that lead to the bodies, one each, in the same order."""
        return self.joints[: len(self.bodies)]

    @property
    def loop_joints(self) -> tuple[Joint, ...]:
        """The joints that close loops."""
        return self.joints[len(self.bodies) :]

    def touching_shapes(
        self,
    ) -> list[tuple[tuple[int | None, AnyShape], tuple[int | None, AnyShape]]]:
        """All pairs ((body, shape), (body, shape)) that may touch; the world's body is None."""
        index = {body.name: i for i, body in enumerate(self.bodies)}
        pairs = {tuple(sorted((index[a], index[b]))) for a, b in self.contact_pairs}
        apart: set[frozenset[str | None]] = {frozenset(pair) for pair in self.excluded_pairs}
        if self.self_collision:
            # Bodies with only carriers between them are neighbours.
            beyond: dict[str | None, str | None] = {
                joint.child: joint.parent
                for joint, body in zip(self.tree_joints, self.bodies, strict=True)
                if body.carrier
            }
            for joint in self.joints:
                parent = joint.parent
                while parent in beyond:
                    parent = beyond[parent]
                apart.add(frozenset((parent, joint.child)))
            for a, first in enumerate(self.bodies):
                for b in range(a + 1, len(self.bodies)):
                    if frozenset((first.name, self.bodies[b].name)) not in apart:
                        pairs.add((a, b))
        found: list[tuple[tuple[int | None, AnyShape], tuple[int | None, AnyShape]]] = []
        for obstacle in self.obstacles:
            for i, body in enumerate(self.bodies):
                if frozenset((obstacle_name(obstacle), body.name)) not in apart:
                    found += [((None, obstacle), (i, shape)) for shape in body.collisions]
        for a, b in sorted(pairs):
            for shape in self.bodies[a].collisions:
                found += [((a, shape), (b, other)) for other in self.bodies[b].collisions]
        return found

    def frames(self) -> Iterator[tuple[int, Frame]]:
        """(body index, frame) of every frame, body by body."""
        for index, body in enumerate(self.bodies):
            for frame in body.frames:
                yield index, frame

    @cached_property
    def _frame_index(self) -> dict[str, tuple[int, Frame]]:
        return {frame.name: (index, frame) for index, frame in self.frames()}

    def frame(self, name: str) -> tuple[int, Frame]:
        """(body index, frame) of a frame by name, merged links included.

        Raises
        ------
        ModelError
            If there is no frame of that name.
        """
        if any(frame.name == name for frame in self.world_frames):
            raise ModelError(f"frame '{name}' is fixed to the world: see world_frames")
        if name not in self._frame_index:
            raise ModelError(f"no frame '{name}'", alternatives=tuple(self._frame_index))
        return self._frame_index[name]

    def body(self, name: str) -> Body:
        """A body by its name, or ModelError."""
        return self.bodies[self.body_index(name)]

    def body_index(self, name: str) -> int:
        """Index of a body by its name, or ModelError."""
        return _index("body", [body.name for body in self.bodies], name)

    def joint_index(self, name: str) -> int:
        """Index of a joint by its name, or ModelError."""
        return _index("joint", [joint.name for joint in self.joints], name)

    @cached_property
    def q_offsets(self) -> tuple[int, ...]:
        """Where each joint's coordinates begin; one more entry, their number, at the end.

        Those of the joints that close loops come after the nq of q.
        """
        return tuple(int(n) for n in np.cumsum([0, *(joint.nq for joint in self.joints)]))

    @cached_property
    def v_offsets(self) -> tuple[int, ...]:
        """Where each joint's velocities begin; one more entry, their number, at the end.

        Those of the joints that close loops come after the nv of v.
        """
        return tuple(int(n) for n in np.cumsum([0, *(joint.nv for joint in self.joints)]))

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.q_offsets[len(self.bodies)]

    @property
    def nv(self) -> int:
        """Length of v: the degrees of freedom of the tree, from which loops take some."""
        return self.v_offsets[len(self.bodies)]

    @cached_property
    def actuated(self) -> NDArray[np.int64]:
        """Indices of the velocities that an actuator drives, (nu,).

        Into v; beyond its nv for joints that close loops.
        """
        return np.array(
            [
                start + k
                for start, joint in zip(self.v_offsets, self.joints, strict=False)
                if joint.actuated
                for k in range(joint.nv)
            ],
            dtype=np.int64,
        )

    @cached_property
    def actuated_names(self) -> tuple[str, ...]:
        """A name for each entry of a torque vector (nu,)."""
        rates = [n for joint in self.joints for n in _coordinate_names(joint, velocity=True)]
        return tuple(rates[k] for k in self.actuated)

    @property
    def effort_limits(self) -> Array:
        """What the motors of the joints can give, either way, (nu,) [N m or N]; inf for no limit.

        The larger one of a range of MJCF that is not alike in both directions (`effort_ranges`).
        What a controller answers is not held against them; `PD(limit=)` is.
        """
        joints = [joint for joint in self.joints if joint.actuated for _ in range(joint.nv)]
        return np.array([joint.effort_limit for joint in joints], dtype=np.float64)

    @property
    def nu(self) -> int:
        """Number of actuated velocities: the length of a torque vector."""
        return len(self.actuated)

    @cached_property
    def v_names(self) -> tuple[str, ...]:
        """A name for each entry of v: the joint's, with a suffix where a joint has several."""
        return tuple(
            name for joint in self.tree_joints for name in _coordinate_names(joint, velocity=True)
        )

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """A name for each entry of q: the joint's, with a suffix where a joint has several."""
        return tuple(
            name for joint in self.tree_joints for name in _coordinate_names(joint, velocity=False)
        )

    @property
    def poses(self) -> dict[str, ArrayLike]:
        """Joint coordinates (nq,) that have names: home, and the configurations."""
        return {"home": np.asarray(self.home), **self.configurations}

    @property
    def floating_base(self) -> bool:
        """Whether the first joint is a floating one."""
        return self.joints[0].kind == "floating"

    @property
    def total_mass(self) -> float:
        """Sum of the masses [kg], without carriers."""
        return float(sum(body.mass for body in self.bodies if not body.carrier))

    def sensor(self, name: str) -> Sensor:
        """A sensor by its name, or ModelError."""
        return self.sensors[_index("sensor", [sensor.name for sensor in self.sensors], name)]

    def neutral(self) -> Array:
        """q (nq,) with every joint at zero, quaternions at identity."""
        q = np.zeros(self.nq)
        for start, joint in zip(self.q_offsets, self.tree_joints, strict=False):
            if joint.has_quaternion:
                q[start + joint.C_T.shape[1]] = 1.0
        return q


def _coordinate_names(joint: Joint, *, velocity: bool) -> list[str]:
    translations, rotations = joint.C_T.shape[1], joint.C_R.shape[1]
    suffixes = [f"t{k}" for k in range(translations)]
    if translations == 3:
        suffixes = ["vx", "vy", "vz"] if velocity else ["x", "y", "z"]
    if rotations == 3:
        suffixes += ["wx", "wy", "wz"] if velocity else ["qw", "qx", "qy", "qz"]
    elif rotations == 1:
        suffixes.append("r")
    if joint.coordinate_names:
        return list(joint.coordinate_names)
    if len(suffixes) == 1:
        return [joint.name]
    return [f"{joint.name}.{suffix}" for suffix in suffixes]


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError("the name is used twice", element=f"{what} '{name}'")
        seen.add(name)


def _index(what: str, names: list[str], name: str) -> int:
    if name not in names:
        raise ModelError(f"no {what} '{name}'", alternatives=names)
    return names.index(name)
