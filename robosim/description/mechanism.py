"""The description that users build and loaders return: bodies, joints and contact points.

The world is written as ``None`` where a body's name is expected. SI units and radians.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.description import checks, links, overview
from robosim.description.actuator import Actuator
from robosim.description.bearing import unfelt
from robosim.description.body import Body, ContactPoint, Frame, Geometry
from robosim.description.camera import Camera
from robosim.description.composing import Composable
from robosim.description.joint import Joint
from robosim.description.keyframe import Instant, Keyframe, instant
from robosim.description.obstacles import AnyShape, as_obstacles, obstacle_name
from robosim.description.order import coordinate_names, tree_order
from robosim.description.particles import SOFT, AnySoft, with_particles
from robosim.description.ray_sensor import RaySensor
from robosim.description.rigid import rigid_groups
from robosim.description.sensor import Sensor
from robosim.description.soft import SoftMesh
from robosim.description.springs import Coupling, PointSpring
from robosim.description.stance import Stance
from robosim.description.tendon import Tendon
from robosim.errors import ModelError
from robosim.validation import Array, Frozen, frozen_array, parts, read_only


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Composable, Frozen):
    """Bodies connected by joints, with contact points; belongs to no simulation.

    Bodies and joints are sorted in tree order: the child of joint i is body i, and a parent comes
    before its children, depth first. A joint whose child is already the child of an earlier joint
    closes a loop; such joints follow those of the tree. Coordinates q and velocities v are those
    of the tree's joints, in that order; loops are constraints among them.

    In q a joint has its translations [m], then its angle [rad] or its quaternion (w, x, y, z),
    child to joint frame. In v a joint has the rate of the translations, in the parent's joint axes,
    then the angular velocity in the child's axes. So q of a floating base is the position of the
    reference frame in the world and a quaternion. The velocity v of a floating base is that of the
    frame's origin in world axes, and the angular velocity in body axes.

    Attributes
    ----------
    name : str
    bodies : tuple of Body
    joints : tuple of Joint
    contacts : tuple of ContactPoint
        Contact points with the ground, whose surface is the plane z = 0.
    springs : tuple of PointSpring
    tendons : tuple of Tendon
    couplings : tuple of Coupling
    obstacles : tuple of HalfSpace, HeightField, TriangleMesh or Geometry
        Fixed objects that collide with the bodies' collision geometry, in world coordinates.
    contact_pairs : tuple of pairs of names
        Bodies whose collision geometries collide. Here and in all parts of a mechanism, the name
        of a merged link denotes its body. Positions on such a link are given in the link's frame.
    self_collision : bool
        Whether all pairs of bodies without a joint between them collide.
    excluded_pairs : tuple of pairs of names
        Pairs of bodies, or of a body and an obstacle, that do not collide.
    warnings : tuple of str
        Warnings of building or loading, one sentence each.
    source : str or None
        The model file.
    package_dirs : tuple of str
        Folders where ``package://`` addresses of that file were found.
    home : (nq,) or None
        The initial configuration: all joints at zero, or that of the model file or builder.
    configurations : mapping of name to q (nq,)
        Poses that the model file names, such as "standing".
    actuators : tuple of Actuator
        The model file's motors and servos; `robosim.actuators.torques` converts controls into
        torques.
    effort_ranges : mapping of coordinate to (lower, upper) [N m or N]
        Limits of the sum of all actuator forces along a coordinate of `v_names`.
    sensors : tuple of Sensor, Lidar, HeightScan, DepthCamera or RangeFinder
        Sensors that `Simulation.sensor` reads by name.
    stance : Stance or None
        A standing pose with PD gains, for known robots.
    as_given : bool
        Whether the given order of the tree is kept if parents come before their children, as in
        combined mechanisms.
    soft_meshes : tuple of SoftMesh
    cameras : tuple of Camera
        Cameras that `render` knows by name.
    keyframes : mapping of name to Keyframe
        Velocities, controls and activations beside the configurations of the same names; `keyframe`
        gives all of these as arrays.
    soft : Strand, Net or Soft, or several, given only
        Of which particles, springs and meshes are made; home is that without them.
    world_frames : tuple of Frame
    world_visuals : tuple of Geometry
        Frames and visual shapes of massless links that are fixed to the world, in world
        coordinates.

    Raises
    ------
    ModelError
        For duplicate or unknown names, or a pose of a wrong length. For a body without a chain of
        joints to the world, or a coupling of joints with several coordinates.
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
    sensors: tuple[Sensor | RaySensor, ...] = ()
    tendons: tuple[Tendon, ...] = ()
    effort_ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    as_given: bool = False
    soft_meshes: tuple[SoftMesh, ...] = ()
    cameras: tuple[Camera, ...] = ()
    keyframes: Mapping[str, Keyframe] = field(default_factory=dict)
    soft: InitVar[AnySoft | Iterable[AnySoft]] = ()

    def __post_init__(self, soft: AnySoft | Iterable[AnySoft]) -> None:
        element = f"mechanism '{self.name}'"
        if soft := parts(soft, SOFT, "soft", element):
            whole = with_particles(replace(self) if self.bodies else self, soft)
            for one in fields(self):
                object.__setattr__(self, one.name, getattr(whole, one.name))
            return
        kinds = {
            "bodies": Body,
            "joints": Joint,
            "contacts": ContactPoint,
            "springs": PointSpring,
            "couplings": Coupling,
            "tendons": Tendon,
            "soft_meshes": SoftMesh,
            "cameras": Camera,
        }
        for what, kind in kinds.items():
            self._set(**{what: parts(getattr(self, what), kind, what, element)})
        self._set(obstacles=as_obstacles(self.obstacles))
        merged = links.links_of(self.bodies, self.world_frames)
        self._set(
            bodies=tuple(links.body_on(body, merged) for body in self.bodies),
            obstacles=tuple(links.surface_on(shape, merged) for shape in self.obstacles),
            joints=tuple(links.on_parent(joint, merged) for joint in self.joints),
            contacts=tuple(links.contact_on(contact, merged) for contact in self.contacts),
            springs=tuple(links.between(spring, merged) for spring in self.springs),
            tendons=tuple(links.tendon_on(tendon, merged) for tendon in self.tendons),
            soft_meshes=tuple(links.mesh_on(mesh, merged) for mesh in self.soft_meshes),
            actuators=tuple(
                one if one.place is None else replace(one, place=links.place_on(one.place, merged))
                for one in self.actuators
            ),
            sensors=tuple(
                links.ray_sensor_on(sensor, merged, self.bodies, self.world_frames)
                if isinstance(sensor, RaySensor)
                else links.sensor_on(sensor, merged)
                for sensor in parts(self.sensors, (Sensor, RaySensor), "sensors", element)
            ),
            cameras=tuple(links.camera_on(camera, merged) for camera in self.cameras),
            effort_ranges={k: (float(a), float(b)) for k, (a, b) in self.effort_ranges.items()},
            contact_pairs=self._pairs(self.contact_pairs),
            excluded_pairs=self._pairs(self.excluded_pairs),
        )
        self._check_parts(element)
        bodies, joints = tree_order(self.bodies, self.joints, element, self.as_given)
        self._set(bodies=bodies, joints=joints)
        self._check_coordinates()
        noticed = [body.impossible_inertia() for body in self.bodies]
        noticed += [unfelt(j.bearing, j.kind, f"joint '{j.name}'") for j in self.joints]
        # Without duplicates, as a mechanism rebuilt from another one gives the same warnings.
        noticed_once = dict.fromkeys((*self.warnings, *(text for text in noticed if text)))
        self._set(warnings=tuple(noticed_once))
        home = self.neutral() if self.home is None else self.home
        self._set(
            home=frozen_array(home, (self.nq,), "home", element),
            configurations={
                name: frozen_array(q, (self.nq,), f"configuration '{name}'", element)
                for name, q in self.configurations.items()
            },
            keyframes=dict(self.keyframes),
        )

    def __repr__(self) -> str:
        return overview.line(self)

    def _repr_html_(self) -> str:
        """The tables of `robosim info`, for notebooks."""
        return overview.html(self)

    def _pairs(self, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Pairs with the names of bodies in place of those of their frames."""
        body_of = {frame.name: body.name for body in self.bodies for frame in body.frames}
        body_of |= {name: name for name in map(obstacle_name, self.obstacles)}
        body_of |= {body.name: body.name for body in self.bodies}
        return tuple((body_of.get(a, str(a)), body_of.get(b, str(b))) for a, b in pairs)

    def _check_parts(self, element: str) -> None:
        """Checks that do not need the order of the joints."""
        if not self.bodies:
            raise ModelError("has no bodies", element=element)
        frames = [*self.world_frames, *(frame for _, frame in self.frames())]
        named: dict[str, Sequence[Any]] = {
            "body": self.bodies,
            "joint": self.joints,
            "spring": self.springs,
            "tendon": self.tendons,
            "soft": self.soft_meshes,
            "coupling": self.couplings,
            "actuator": self.actuators,
            "sensor": self.sensors,
            "camera": self.cameras,
            "frame": frames,
        }
        for what, elements in named.items():
            checks.check_unique(what, (one.name for one in elements))
        checks.check_ends(self.joints, self.springs, self.bodies)
        checks.check_meshes(self.soft_meshes, self.bodies)
        checks.check_contacts(self.contacts, self.bodies)
        checks.check_anisotropies(self.contacts, self.bodies, self.obstacles)
        checks.check_pairs(self.contact_pairs, self.excluded_pairs, self.bodies, self.obstacles)
        solid = any(body.collisions for body in self.bodies)
        if (self.obstacles or self.self_collision) and not solid:
            what = "obstacles are" if self.obstacles else "self-collision is"
            text = f"no body has collision geometry: {what} without effect"
            self._set(warnings=(*self.warnings, text))
        checks.check_couplings(self.couplings, self.joints)

    def _check_coordinates(self) -> None:
        """Checks of coordinates, by name."""
        for joint in self.loop_joints:
            checks.check_loop_motion(joint)
        q_names, v_names, bodies, tendons = self.q_names, self.v_names, self.bodies, self.tendons
        checks.check_tendons(tendons, q_names, v_names, bodies)
        checks.check_actuators(self.actuators, q_names, v_names, tendons, bodies, self.tree_joints)
        checks.check_effort_ranges(self.effort_ranges, v_names)
        checks.check_implicit(self.actuators, self.effort_ranges)
        checks.check_sensors(self.sensors, v_names, tendons, bodies, self.tree_joints)
        checks.check_cameras(self.cameras, bodies)

    def with_contacts(
        self,
        obstacles: AnyShape | Iterable[AnyShape] = (),
        pairs: Iterable[tuple[str, str]] = (),
        self_collision: bool | None = None,
        ground: bool = True,
    ) -> Mechanism:
        """A copy of the mechanism with further collisions of its bodies' collision geometry.

        Bodies that overlap at home would push each other apart, and neighbours often overlap in
        model files: `robosim.overlaps.without_overlaps` excludes such pairs.

        Parameters
        ----------
        obstacles : HalfSpace, HeightField, TriangleMesh or Geometry, or an iterable of them
            In world coordinates, in addition to existing ones.
        pairs : iterable of pairs of bodies' names
            In addition to existing ones; they are removed from the excluded pairs.
        self_collision : bool or None
            Whether all pairs of bodies without a joint between them collide; None for no change.
        ground : bool
            False removes the contact points with the ground z = 0, for a robot that stands on an
            obstacle with its collision geometry.

        Raises
        ------
        ModelError
            For an unknown body, or one without collision geometry in `pairs`.
        """
        added = self._pairs(pairs)
        wanted = {frozenset(pair) for pair in added}
        return replace(
            self,
            contacts=self.contacts if ground else (),
            obstacles=(*self.obstacles, *as_obstacles(obstacles)),
            contact_pairs=(*self.contact_pairs, *added),
            excluded_pairs=tuple(p for p in self.excluded_pairs if frozenset(p) not in wanted),
            self_collision=self.self_collision if self_collision is None else self_collision,
        )

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
        """All pairs ((body, shape), (body, shape)) that may touch; the world's body is None.

        Rigidly connected bodies never collide, even if such a pair is given.
        """
        return list(self._touching)

    @cached_property
    def _touching(
        self,
    ) -> list[tuple[tuple[int | None, AnyShape], tuple[int | None, AnyShape]]]:
        rigid = self.rigid_groups
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
                asked = frozenset((obstacle_name(obstacle), body.name)) not in apart
                if asked and rigid[body.name] is not None:
                    found += [((None, obstacle), (i, shape)) for shape in body.collisions]
        for a, b in sorted(pairs):
            if rigid[self.bodies[a].name] == rigid[self.bodies[b].name]:
                continue
            for shape in self.bodies[a].collisions:
                found += [((a, shape), (b, other)) for other in self.bodies[b].collisions]
        return found

    @cached_property
    def rigid_groups(self) -> dict[str | None, str | None]:
        """The rigid group of each body's name, and of the world, whose name is None."""
        return rigid_groups(self.bodies, self.joints)

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
            known = tuple(self._frame_index)
            raise ModelError(f"no frame '{name}'", alternatives=known, wanted=name)
        return self._frame_index[name]

    def body_or_frame(self, name: str) -> tuple[int, Frame]:
        """(body index, frame): the centre of mass of a body by its name, in body axes, or a frame.

        Links that were merged into a body are frames of that body.

        Raises
        ------
        ModelError
            If there is no body and no frame of that name, or if the world has that frame.
        """
        if name in self._body_index:
            return self._body_index[name], Frame(name)
        try:
            return self.frame(name)
        except ModelError as error:
            if not error.alternatives:
                raise
            known = dict.fromkeys((*self._body_index, *error.alternatives))
            told = f"no body or frame '{name}'"
            raise ModelError(told, alternatives=tuple(known), wanted=name) from None

    def body(self, name: str) -> Body:
        """The body of that name, or with the frame of that name, or ModelError."""
        return self.bodies[self.body_index(name)]

    def body_index(self, name: str) -> int:
        """Index of the body of that name, or with the frame of that name, or ModelError."""
        index = self._body_index.get(name)
        return self.body_or_frame(name)[0] if index is None else index

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {body.name: index for index, body in enumerate(self.bodies)}

    def joint_index(self, name: str) -> int:
        """Index of a joint by its name, or ModelError."""
        return checks.index_of("joint", [joint.name for joint in self.joints], name)

    @cached_property
    def q_offsets(self) -> tuple[int, ...]:
        """Index of each joint's first coordinate in q, and the total number at the end.

        Coordinates of joints that close loops follow after the nq of q.
        """
        return tuple(int(n) for n in np.cumsum([0, *(joint.nq for joint in self.joints)]))

    @cached_property
    def v_offsets(self) -> tuple[int, ...]:
        """Index of each joint's first velocity in v, and the total number at the end.

        Velocities of joints that close loops follow after the nv of v.
        """
        return tuple(int(n) for n in np.cumsum([0, *(joint.nv for joint in self.joints)]))

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.q_offsets[len(self.bodies)]

    @property
    def nv(self) -> int:
        """Length of v: the degrees of freedom of the tree, before loops are closed."""
        return self.v_offsets[len(self.bodies)]

    @cached_property
    def actuated(self) -> NDArray[np.int64]:
        """Indices of the velocities that an actuator drives, (nu,).

        Indices of joints that close loops are nv or more.
        """
        indices = [
            start + k
            for start, joint in zip(self.v_offsets, self.joints, strict=False)
            for k, driven in enumerate(joint.has_motor)
            if driven
        ]
        return read_only(np.array(indices, dtype=np.int64))

    @cached_property
    def actuated_names(self) -> tuple[str, ...]:
        """A name for each entry of a torque vector (nu,)."""
        rates = [name for names in self._coordinates(True) for name in names]
        return tuple(rates[k] for k in self.actuated)

    @property
    def effort_limits(self) -> Array:
        """Largest torques or forces of the motors, (nu,) [N m or N]; inf for no limit.

        For asymmetric ranges of MJCF (`effort_ranges`), the larger bound. Torques of a controller
        are not limited; those of `PD(limit=)` are.
        """
        each = [joint.per_coordinate("effort_limit") for joint in self.joints]
        return read_only(np.concatenate((*each, np.zeros(0)))[self.actuated])

    @property
    def nu(self) -> int:
        """Number of actuated velocities: the length of a torque vector."""
        return len(self.actuated)

    @cached_property
    def v_names(self) -> tuple[str, ...]:
        """A name for each entry of v: the joint's, with a suffix where a joint has several."""
        return self._tree_coordinates(velocity=True)

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """A name for each entry of q: the joint's, with a suffix where a joint has several."""
        return self._tree_coordinates(velocity=False)

    def _tree_coordinates(self, velocity: bool) -> tuple[str, ...]:
        return tuple(n for names in self._coordinates(velocity)[: len(self.bodies)] for n in names)

    def _coordinates(self, velocity: bool) -> list[list[str]]:
        """Names of the coordinates of each joint."""
        tendons = (tendon.name for tendon in self.tendons)
        return coordinate_names(self.joints, tendons, velocity=velocity)

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

    def with_sensors(self, sensors: Sensor | RaySensor | Iterable[Sensor | RaySensor]) -> Mechanism:
        """A copy of the mechanism with further sensors, or with others of the same names.

        Raises
        ------
        ModelError
            For an unknown frame, body or coordinate, or two sensors of one name.
        """
        added = parts(sensors, (Sensor, RaySensor), "sensors", f"mechanism '{self.name}'")
        names = {sensor.name for sensor in added}
        kept = tuple(sensor for sensor in self.sensors if sensor.name not in names)
        return replace(self, sensors=(*kept, *added))

    def sensor(self, name: str) -> Sensor | RaySensor:
        """A sensor by its name, or ModelError."""
        names = [sensor.name for sensor in self.sensors]
        return self.sensors[checks.index_of("sensor", names, name)]

    def camera(self, name: str) -> Camera:
        """A camera by its name, or ModelError."""
        names = [camera.name for camera in self.cameras]
        return self.cameras[checks.index_of("camera", names, name)]

    @property
    def control_names(self) -> tuple[str, ...]:
        """Names of all controls of `actuators`: one of each, or several as "motor:pos"."""
        return tuple(name for one in self.actuators for name in one.control_names)

    @property
    def activation_names(self) -> tuple[str, ...]:
        """Names of all activations of `actuators`; those without have one that is zero."""
        return tuple(name for one in self.actuators for name in one.activation_names)

    def keyframe(self, name: str) -> Instant:
        """A pose of `poses` with the velocities, controls and activations of that keyframe.

        `Simulation.set_state` takes `q`, `v` and `time`, and `robosim.actuators.Drive` the controls
        and activations. What a keyframe does not say is zero.

        Raises
        ------
        ModelError
            For an unknown name.
        """
        return instant(self, name)

    def neutral(self) -> Array:
        """q (nq,) with every joint at zero, quaternions at identity."""
        q = np.zeros(self.nq)
        for start, joint in zip(self.q_offsets, self.tree_joints, strict=False):
            if joint.has_quaternion:
                q[start + joint.numbers] = 1.0
        return q
