"""Mechanisms to URDF, with extensions of other tools for properties that URDF lacks.

The frame of a URDF link is at its joint. Loops are <loop_joint>, as in Drake and
RigidBodyDynamics.jl. Springs between points are Drake's, springs of joints Gazebo's, and rotors
Drake's transmissions.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Body, Geometry
from robosim.description.cones import pyramid
from robosim.description.contact_points import DEFAULT_FRICTION, POINT_RADIUS, link_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.names import free_name
from robosim.description.selection import selection
from robosim.description.springs import Coupling, PointSpring
from robosim.errors import SaveError
from robosim.loaders.joints import ROOT_NAMES
from robosim.loaders.loads import resting_loads
from robosim.loaders.placement import limits
from robosim.loaders.schema import UNLIMITED
from robosim.loaders.writers.mesh_files import MeshFiles
from robosim.loaders.writers.parts import (
    CONES,
    Array,
    Lost,
    bounds,
    child,
    extra_contacts,
    frame_of,
    frictions,
    is_identity,
    link_in,
    named_poses,
    note_joint,
    note_rest,
    rpy,
    springs,
    text,
)

TYPES = {
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "floating",
    "fixed": "fixed",
}
_DRAKE = "http://drake.mit.edu"


def urdf(mechanism: Mechanism, meshes: MeshFiles, lost: Lost) -> etree._Element:
    """The <robot> element of a mechanism.

    Raises
    ------
    SaveError
        For a joint that URDF does not support.
    """
    return _Writer(mechanism, meshes, lost).robot


class _Writer:
    def __init__(self, mechanism: Mechanism, meshes: MeshFiles, lost: Lost) -> None:
        self.mechanism, self.meshes, self.lost = mechanism, meshes, lost
        self.robot = etree.Element("robot", name=mechanism.name, nsmap={"drake": _DRAKE})
        # Frames of links in their bodies, from the centre of mass; the world's frame is the
        # identity.
        self.origins: dict[str | None, Array] = {
            joint.child: np.asarray(joint.child_position) for joint in mechanism.tree_joints
        }
        self.origins[None] = np.zeros(3)
        # A body named "world" that is fixed to the world, as in files that were read.
        self.ground: str | None = None
        self.world = self._world_link()
        self.extra = extra_contacts(mechanism, lost)
        for body in mechanism.bodies:
            self._body(body)
        couplings = self._couplings()
        self.limits = self._limits(couplings.values())
        for joint in mechanism.tree_joints:
            if joint.child != self.ground and (self.world is not None or joint.parent is not None):
                self._joint(joint, couplings.get(joint.name))
        for joint in mechanism.loop_joints:
            self._loop(joint)
        for spring in mechanism.springs:
            self._spring(spring)
        self._frictions()
        self._springs()
        if "home" in named_poses(mechanism):
            lost.add("that the pose 'home' is the one to start from")
        note_rest(mechanism, lost, ("excluded pairs",))
        for body in mechanism.bodies:
            if body.gravity_compensation:
                lost.add("gravity compensation", body.name)

    def _world_link(self) -> str | None:
        """The name of the link for the world; None for a floating root without such a link.

        The link is written with all frames and shapes that are fixed to the world.
        """
        roots = [joint for joint in self.mechanism.tree_joints if joint.parent is None]
        root = roots[0]
        plain = (
            len(roots) == 1
            and root.kind == "floating"
            and root.name in ROOT_NAMES[True]
            and is_identity(root.parent_position, root.offset)
            and not self.mechanism.world_frames
            and not self.mechanism.world_visuals
            and all(joint.parent is not None for joint in self.mechanism.loop_joints)
            and all(spring.parent is not None for spring in self.mechanism.springs)
        )
        if plain:
            return None
        if root.kind == "fixed" and root.child == "world":
            self.ground = "world"
        frames = self.mechanism.world_frames
        taken = {frame.name for _, frame in self.mechanism.frames()}
        taken |= {body.name for body in self.mechanism.bodies}
        taken |= {frame.name for frame in frames}
        name = "world" if self.ground else free_name("world", taken)
        if frames and is_identity(frames[0].position, frames[0].quaternion):
            name, frames = frames[0].name, frames[1:]
        links = {name: child(self.robot, "link", name=name)}
        for frame in frames:
            links[frame.name] = child(self.robot, "link", name=frame.name)
            self._fixed(name, frame.name, np.asarray(frame.position), frame.quaternion)
        places = {frame.name: frame for frame in self.mechanism.world_frames}
        for shape in self.mechanism.world_visuals:
            at = places.get(shape.name)
            R = np.eye(3) if at is None else quaternions.rotation_matrix(at.quaternion)
            p = np.zeros(3) if at is None else np.asarray(at.position)
            self._shape(links.get(shape.name, links[name]), "visual", shape, R, p)
        return name

    def _couplings(self) -> dict[str, Coupling]:
        """Joint -> the coupling that <mimic> represents."""
        tree = {joint.name for joint in self.mechanism.tree_joints}
        found: dict[str, Coupling] = {}
        for coupling in self.mechanism.couplings:
            if not {coupling.joint, coupling.source} <= tree:
                self.lost.add("couplings of joints that close loops", coupling.name)
            elif coupling.joint in found:
                self.lost.add("further couplings of a joint that has one already", coupling.name)
            else:
                found[coupling.joint] = coupling
        return found

    def _limits(self, couplings: Iterable[Coupling]) -> dict[str, Array]:
        """Joint -> limits (2, nv), with those of coupled joints, as <mimic> has none."""
        joints = self.mechanism.tree_joints
        found = limits(joints, tuple(couplings))
        for joint in joints:
            own, narrowed = bounds(joint), found[joint.name]
            if np.any(narrowed[0] >= narrowed[1]) and np.all(own[0] < own[1]):
                self.lost.add("limits of joints that follow, which leave no room", joint.name)
                found[joint.name] = own
        return found

    def _fixed(self, parent: str, link: str, p: Array, quaternion: ArrayLike) -> None:
        names = {joint.name for joint in self.mechanism.joints}
        name = free_name(f"{link}_fixed", names)
        joint = child(self.robot, "joint", name=name, type="fixed")
        self._origin(joint, p, quaternions.rotation_matrix(np.asarray(quaternion)))
        child(joint, "parent", link=parent)
        child(joint, "child", link=link)

    @staticmethod
    def _origin(element: etree._Element, p: Array, R: Array) -> None:
        child(element, "origin", xyz=text(p), rpy=text(rpy(R)))

    def _inertial(self, link: etree._Element, body: Body) -> None:
        inertial = child(link, "inertial")
        self._origin(inertial, -self.origins[body.name], np.eye(3))
        child(inertial, "mass", value=text(body.mass))
        J = np.asarray(body.inertia)
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        values = (J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2])
        child(inertial, "inertia", **dict(zip(names, map(text, values), strict=True)))

    def _body(self, body: Body) -> None:
        origin = self.origins[body.name]
        if body.name == self.ground:  # the file's root, which would float if it had a mass
            link = next(self.robot.iterchildren("link"))
            frames = {frame.name for frame in self.mechanism.world_frames}
            frames |= {frame.name for _, frame in self.mechanism.frames()}
            name = free_name("world_inertial", frames)
            heavy = child(self.robot, "link", name=name)
            self._fixed(body.name, name, np.zeros(3), quaternions.IDENTITY)
        else:
            link = heavy = child(self.robot, "link", name=body.name)
        if not body.carrier:
            self._inertial(heavy, body)
        links = {body.name: link}
        for index, frame in enumerate(body.frames):
            p = np.asarray(frame.position) - origin
            if index == 0 and frame.name == body.name:
                if np.abs(p).max() > 1e-9:
                    self.lost.add("frames that are not at their body's joint, now there", body.name)
                continue
            links[frame.name] = child(self.robot, "link", name=frame.name)
            self._fixed(body.name, frame.name, p, frame.quaternion)
        for tag, shapes in (("visual", body.visuals), ("collision", body.collisions)):
            for shape in shapes:
                self._attach(links, body, shape.name, tag, shape)
        for contact in self.extra:
            if contact.body == body.name:
                ball = Geometry("sphere", (contact.radius or POINT_RADIUS,), contact.position)
                self._attach(links, body, link_of(contact), "collision", ball)

    def _attach(
        self, links: dict[str, etree._Element], body: Body, name: str, tag: str, shape: Geometry
    ) -> None:
        """Add a shape to the link of that name, or else to the body's link."""
        link = link_in(body, name)
        if link != body.name:
            frame = frame_of(body, link)
            R = quaternions.rotation_matrix(np.asarray(frame.quaternion))
            self._shape(links[link], tag, shape, R, np.asarray(frame.position))
        else:
            self._shape(links[body.name], tag, shape, np.eye(3), self.origins[body.name])

    def _shape(self, link: etree._Element, tag: str, shape: Geometry, R: Array, p: Array) -> None:
        """Write a shape of a body in a link with the frame (R, p) in that body."""
        if shape.kind == "cone":
            self.lost.add(CONES, shape.name)
            shape = pyramid(shape)
        element = child(link, tag)
        R_s = quaternions.rotation_matrix(np.asarray(shape.quaternion))
        self._origin(element, R.T @ (np.asarray(shape.position) - p), R.T @ R_s)
        geometry = child(element, "geometry")
        match shape.kind:
            case "box":
                child(geometry, "box", size=text(shape.size))
            case "sphere":
                child(geometry, "sphere", radius=text(shape.size[0]))
            case "ellipsoid":
                a, b, c = (text(x) for x in shape.size)
                child(geometry, f"{{{_DRAKE}}}ellipsoid", a=a, b=b, c=c)
            case "mesh":
                child(geometry, "mesh", filename=self.meshes.name(shape))
            case kind:
                child(geometry, kind, radius=text(shape.size[0]), length=text(shape.size[1]))
        if tag == "visual":
            name = "rgba_" + "_".join(f"{c:.6g}" for c in shape.rgba)
            child(child(element, "material", name=name), "color", rgba=text(shape.rgba))

    def _link(self, body: str | None) -> str:
        return body if body is not None else str(self.world)

    def _joint(self, joint: Joint, coupling: Coupling | None) -> None:
        kind = TYPES.get(joint.kind)
        bounded = bool(np.any(np.isfinite(self.limits[joint.name])))
        if joint.kind == "revolute":
            kind = "revolute" if bounded else "continuous"
        if kind is None:
            known = ", ".join(("revolute", *TYPES))
            raise SaveError(
                f"joint '{joint.name}': URDF has no joint of kind '{joint.kind}' (known: {known}); "
                "MJCF has"
            )
        element = child(self.robot, "joint", name=joint.name, type=kind)
        p = np.asarray(joint.parent_position) - self.origins[joint.parent]
        self._origin(element, p, quaternions.rotation_matrix(np.asarray(joint.offset)))
        child(element, "parent", link=self._link(joint.parent))
        child(element, "child", link=joint.child)
        if kind not in ("fixed", "floating"):
            child(element, "axis", xyz=text(joint.axis))
        if kind == "fixed":
            self.lost.add("fixed joints between bodies, which become one when it is read",
                          joint.name)  # fmt: skip
        self._limit(element, joint, kind)
        self._acts(element, joint)
        if len(set(joint.has_motor)) > 1:
            self.lost.add("that only some coordinates have actuators", joint.name)
        if joint.safety is not None:
            names = ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
            told = dict(zip(names, map(text, joint.safety), strict=True))
            child(element, "safety_controller", **told)
        if coupling is not None:
            child(element, "mimic", joint=coupling.source, multiplier=text(coupling.ratio),
                  offset=text(coupling.offset))  # fmt: skip
            if joint.actuated:
                self.lost.add("actuators of joints that follow others", joint.name)
        if np.any(joint.C_T != selection(joint.kind, joint.axis).C_T):
            self.lost.add("along what the coordinates of planar joints count", joint.name)
        note_joint(joint, self.lost)

    def _limit(self, element: etree._Element, joint: Joint, kind: str) -> None:
        values: dict[str, float] = {}
        for what, each in (("effort", joint.effort_limit), ("velocity", joint.velocity_limit)):
            if np.ndim(each):
                self.lost.add(f"{what} limits that differ between coordinates, now the least",
                              joint.name)  # fmt: skip
            values[what] = float(np.min(each))
        if kind in ("revolute", "prismatic"):
            low, high = self.limits[joint.name][:, 0].tolist()
            values |= {"lower": low, "upper": high}
        elif not np.any(np.isfinite(list(values.values()))):
            return
        if kind == "planar" and np.any(np.isfinite(bounds(joint))):
            self.lost.add("limits of planar joints", joint.name)
        # Readers of the format require all four attributes.
        told = {name: text(np.clip(value, -UNLIMITED, UNLIMITED)) for name, value in values.items()}
        child(element, "limit", **told)

    def _acts(self, element: etree._Element, joint: Joint) -> None:
        """Write damping, friction, spring and rotor."""
        values = {}
        for what in ("damping", "friction", "stiffness", "rest", "armature"):
            each = joint.per_coordinate(what)
            values[what] = float(each[0]) if len(each) else 0.0
            only_one = what in ("stiffness", "rest", "armature")
            if np.any(each != values[what]) or (only_one and joint.nv > 1 and np.any(each)):
                self.lost.add(f"{what} of joints with several coordinates", joint.name)
                values[what] = 0.0
        if values["damping"] or values["friction"]:
            child(element, "dynamics", damping=text(values["damping"]),
                  friction=text(values["friction"]))  # fmt: skip
        if values["stiffness"]:
            gazebo = child(self.robot, "gazebo", reference=joint.name)
            child(gazebo, "springStiffness").text = text(values["stiffness"])
            child(gazebo, "springReference").text = text(values["rest"])
        if values["armature"]:
            transmission = child(self.robot, "transmission", name=f"{joint.name}_rotor")
            child(transmission, "type").text = "transmission_interface/SimpleTransmission"
            child(transmission, "joint", name=joint.name)
            actuator = child(transmission, "actuator", name=f"{joint.name}_actuator")
            child(actuator, f"{{{_DRAKE}}}rotor_inertia", value=text(values["armature"]))
            child(actuator, f"{{{_DRAKE}}}gear_ratio", value="1.0")

    def _loop(self, joint: Joint) -> None:
        element = child(self.robot, "loop_joint", name=joint.name, type=joint.kind)
        R = quaternions.rotation_matrix(np.asarray(joint.offset))
        p = np.asarray(joint.parent_position) - self.origins[joint.parent]
        child(element, "link1", link=self._link(joint.parent), xyz=text(p), rpy=text(rpy(R)))
        p = np.asarray(joint.child_position) - self.origins[joint.child]
        child(element, "link2", link=joint.child, xyz=text(p), rpy="0 0 0")
        child(element, "axis", xyz=text(joint.axis))
        single = joint.kind in ("revolute", "prismatic")
        for what in ("damping", "friction", "stiffness", "armature"):
            each = joint.per_coordinate(what)
            if np.any(each) and (what in ("stiffness", "armature") or len(set(each.tolist())) > 1):
                self.lost.add(f"{what} of joints that close loops", joint.name)
        told = {what: joint.per_coordinate(what) for what in ("damping", "friction")}
        if any(len(each) and each[0] for each in told.values()):
            child(element, "dynamics", **{what: text(each[0]) for what, each in told.items()})
        if np.any(np.isfinite(bounds(joint))):
            if single:
                low, high = np.clip(bounds(joint)[:, 0], -UNLIMITED, UNLIMITED)
                child(element, "limit", lower=text(low), upper=text(high))
            else:
                self.lost.add("limits of joints that close loops", joint.name)
        if joint.actuated:
            self.lost.add("actuators of joints that close loops", joint.name)
        note_joint(joint, self.lost)

    def _spring(self, spring: PointSpring) -> None:
        tag = f"{{{_DRAKE}}}linear_spring_damper"
        element = child(self.robot, tag)
        ends = (("A", "P", spring.parent, spring.parent_position),
                ("B", "Q", spring.child, spring.child_position))  # fmt: skip
        for letter, point, body, position in ends:
            child(element, f"{tag}_body_{letter}", name=self._link(body))
            p = np.asarray(position) - self.origins[body]
            child(element, f"{tag}_p_{letter}{point}", value=text(p))
        values = {"free_length": spring.rest_length, "stiffness": spring.stiffness,
                  "damping": spring.damping}  # fmt: skip
        for name, value in values.items():
            child(element, f"{tag}_{name}", value=text(value))
        self.lost.add("names of springs between points", spring.name)

    def _frictions(self) -> None:
        links = {link.get("name") for link in self.robot.iterchildren("link")}
        for link, mu in frictions(self.mechanism, self.lost).items():
            if mu == DEFAULT_FRICTION:
                continue
            if link in links:
                child(child(self.robot, "gazebo", reference=link), "mu1").text = text(mu)
            else:
                self.lost.add("friction of shapes that are not called like a link", link)

    def _springs(self) -> None:
        """Write the stiffness of links as Gazebo's kp and kd, under the load at rest."""
        links = {link.get("name") for link in self.robot.iterchildren("link")}
        loads = resting_loads(self.mechanism)
        found = springs(self.mechanism, self.lost)
        for link, (body, stiffness, dissipation) in found.items():
            if link not in links:
                self.lost.add("stiffness of shapes that are not called like a link", link)
                continue
            element = child(self.robot, "gazebo", reference=link)
            child(element, "kp").text = text(stiffness)
            child(element, "kd").text = text(dissipation * loads.get(body, 0.0))
