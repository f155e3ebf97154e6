"""An MJCF file during writing: poses of its bodies, and data that all sections share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from robosim import quaternions
from robosim.description.body import Frame, Geometry
from robosim.description.cones import pyramid
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.poses import body_poses
from robosim.description.tendon import Tendon
from robosim.loaders.loads import trees
from robosim.loaders.writers.mesh_files import MeshFiles
from robosim.loaders.writers.mjcf.names import Names, joint_names
from robosim.loaders.writers.parts import (
    CONES,
    Array,
    Lost,
    child,
    extra_contacts,
    frictions,
    is_identity,
    springs,
    text,
)

if TYPE_CHECKING:
    from robosim.kinematics.kinematics import Kinematics

SAME = 1e-9
_GROUPS = {"visual": "2", "collision": "3"}


class Document:
    """An MJCF file during writing.

    Attributes
    ----------
    mechanism, meshes, lost
    root, assets, world : elements <mujoco>, <asset>, <worldbody>
    reference : (nq,)
        The pose of the bodies in the file.
    joints : dict of joint to list of str
        Names of the MJCF joints that represent it.
    names : dict of str to Names
        The names of sites, geoms, equalities, tendons and actuators.
    tendons : dict of str to str
        Name of the MJCF tendon of each tendon; another name if an equality has the tendon's.
    refs : mapping of str to float
        Coordinate of each hinge and slide of the file in this pose.
    poses : mapping of body to ((3, 3), (3,))
        Orientation, and centre of mass in the world, in this pose.
    friction_of : mapping of link to Coulomb coefficient
    springs : mapping of link to (body, stiffness [N/m], dissipation [s/m])
    extra : list of ContactPoint
        Contact points that the collision geometry does not have when the file is read.
    elements : dict of body to element
        Elements of the bodies that have been written; None for the world.
    geoms : dict of body to list of (str, float)
        Names and friction of the solid geoms of bodies that are in contact pairs.
    """

    def __init__(self, mechanism: Mechanism, meshes: MeshFiles, lost: Lost) -> None:
        self.mechanism, self.meshes, self.lost = mechanism, meshes, lost
        self.root = etree.Element("mujoco", model=mechanism.name)
        child(self.root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false")
        self.assets = child(self.root, "asset")
        self.world = child(self.root, "worldbody")
        self.reference = _reference(mechanism)
        self.joints = joint_names(mechanism.tree_joints)
        self.names = self._names()
        self.tendons = self._tendon_names()
        self.refs = self._refs()
        self.poses = body_poses(mechanism.tree_joints, self.reference)
        self.friction_of = frictions(mechanism, lost)
        self.springs = springs(mechanism, lost)
        self._spring_of = self._made_springs()
        # In a world with obstacles and without a floor, nothing touches the ground when the file is
        # read.
        floorless = mechanism.obstacles and not mechanism.contacts
        self.extra = extra_contacts(mechanism, Lost() if floorless else lost)
        self.elements: dict[str | None, etree._Element] = {None: self.world}
        self.geoms: dict[str, list[tuple[str, float]]] = {}
        self._meshes: set[str] = set()  # assets that exist already

    @staticmethod
    def place(element: etree._Element, frame: Frame, origin: Array | None = None) -> None:
        """Write the pose of a frame into an element, relative to an origin with the same axes."""
        p = np.asarray(frame.position) - (0.0 if origin is None else origin)
        if not is_identity(p, frame.quaternion):
            element.set("pos", text(p))
            element.set("quat", text(frame.quaternion))

    def origin(self, body: str | None) -> Array:
        """Origin of the MJCF body's frame in the body's axes, from the centre of mass."""
        if body is None:
            return np.zeros(3)
        joint = self.mechanism.tree_joints[self.mechanism.body_index(body)]
        if joint.kind == "floating":  # a free joint's coordinates are those of that frame
            return np.asarray(joint.child_position)
        return self.mechanism.body(body).reference_position

    def world_pose(self, body: str | None) -> tuple[Array, Array]:
        """Orientation (3, 3) and position (3,) of an MJCF body's frame in the world."""
        R, x = self.poses[body]
        return R, x + R @ self.origin(body)

    def shape(self, element: etree._Element, tag: str, shape: Geometry, R: Array, p: Array) -> None:
        """Write a shape of a body into an element with the frame (R, p) in that body."""
        if shape.kind == "cone":
            self.lost.add(CONES, shape.name)
            shape = pyramid(shape)
        size = np.array(shape.size)
        attributes = {"type": shape.kind, "group": _GROUPS[tag], "rgba": text(shape.rgba)}
        match shape.kind:
            case "box":
                attributes["size"] = text(size / 2)
            case "sphere" | "ellipsoid":
                attributes["size"] = text(size)
            case "mesh":
                attributes["mesh"] = self._mesh(shape)
            case _:
                attributes["size"] = text((size[0], size[1] / 2))
        at = R.T @ (np.asarray(shape.position) - p)
        R_s = quaternions.rotation_matrix(np.asarray(shape.quaternion))
        turn = quaternions.from_matrix(R.T @ R_s)
        if not is_identity(at, turn):
            attributes |= {"pos": text(at), "quat": text(turn)}
        if tag == "visual":
            attributes |= {"contype": "0", "conaffinity": "0"}
        else:
            link = shape.name or str(element.get("name"))
            touches = str(int(self.mechanism.self_collision))
            attributes |= {"contype": "1", "conaffinity": touches}
            mu = self.friction_of.get(link, shape.friction)
            attributes["friction"] = friction(mu)
            attributes |= self._spring(link, mu)
        child(element, "geom", **attributes)

    def _spring(self, link: str, mu: float) -> dict[str, str]:
        """Attributes of a geom of a link that is compliant, which count alone in its contacts."""
        if link not in self.springs:
            return {}
        solref, solimp = self._spring_of(*self.springs[link], mu)
        return {"priority": "1", "solref": text(solref), "solimp": text(solimp)}

    def _made_springs(self) -> Callable[..., tuple[tuple[float, ...], tuple[float, ...]]]:
        """(body, stiffness, dissipation, friction) -> solref and solimp."""
        if not self.springs:
            return lambda *_: ((), ())
        # Readers of files and kernels, which other files are written without.
        from robosim.loaders.mjcf.compliance import CONSTANT, Rest, as_solref

        rest = Rest.of(self.mechanism, self.reference, trees(self.mechanism))

        def spring(
            body: str, stiffness: float, dissipation: float, mu: float
        ) -> tuple[tuple[float, ...], tuple[float, ...]]:
            inverse, load = rest.inverse_mass[body], rest.load.get(body, 1.0)
            solref = as_solref(stiffness, dissipation, mu, inverse, load)
            return solref, (CONSTANT, CONSTANT, 0.001, 0.5, 2.0)

        return spring

    def limit_spring(
        self, part: Joint | Tendon, where: Callable[[Kinematics, Array], Any]
    ) -> dict[str, str]:
        """Attributes of a joint or tendon whose limits are compliant.

        `where` gives its inverse mass, or several, from kinematics in the pose of the file and the
        inverse mass matrix (nv, nv) there.
        """
        if part.limit_stiffness is None:
            return {}
        from robosim.kinematics.kinematics import Kinematics
        from robosim.loaders.mjcf.compliance import CONSTANT, limit_as_solref

        at = Kinematics(self.mechanism, self.reference)
        softness = np.asarray(np.linalg.inv(at.mass_matrix()), dtype=float)
        inverse = float(np.mean(where(at, softness)))
        if not inverse > 0:
            self.lost.add("stiffness of limits", part.name)
            return {}
        solref = limit_as_solref(part.limit_stiffness, part.limit_damping, inverse)
        solimp = CONSTANT, CONSTANT, 0.001, 0.5, 2.0
        return {"solreflimit": text(solref), "solimplimit": text(solimp)}

    def _mesh(self, shape: Geometry) -> str:
        file = self.meshes.name(shape)
        name = file.rpartition("/")[2].removesuffix(".obj")
        if name not in self._meshes:
            self._meshes.add(name)
            # As a shell, because MuJoCo otherwise refuses meshes without a volume.
            child(self.assets, "mesh", name=name, file=file, inertia="shell")
        return name

    def site(self, name: str, body: str | None, position: Array, R: Array | None = None) -> str:
        """Add a site to a body, at a position and an orientation in its axes; returns its name."""
        name = self.names["site"].made(name)
        attributes = {"name": name, "pos": text(position - self.origin(body))}
        if R is not None:
            attributes["quat"] = text(quaternions.from_matrix(R))
        child(self.elements[body], "site", **attributes)
        return name

    def _names(self) -> dict[str, Names]:
        """The names of each kind; those of the mechanism have precedence."""
        mechanism = self.mechanism
        held = [joint.name for joint in mechanism.loop_joints]
        held += [coupling.name for coupling in mechanism.couplings]
        held += [tendon.name for tendon in mechanism.tendons if tendon.motion is not None]
        free = [spring.name for spring in mechanism.springs]
        free += [tendon.name for tendon in mechanism.tendons if tendon.motion is None]
        return {
            "site": Names(),
            "geom": Names(),
            "equality": Names(held),
            "tendon": Names(free),
            "actuator": Names(name for names in self.joints.values() for name in names),
        }

    def _tendon_names(self) -> dict[str, str]:
        names = self.names["tendon"]
        return {
            tendon.name: names.own(tendon.name)
            if tendon.motion is None
            else names.made(f"{tendon.name}_path")
            for tendon in self.mechanism.tendons
        }

    def _refs(self) -> dict[str, float]:
        """The coordinate of each hinge and slide in the pose of the file."""
        mechanism = self.mechanism
        return {
            name: float(self.reference[begin + k])
            for begin, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False)
            for k, name in enumerate(self.joints[joint.name][: joint.nq - 4 * joint.has_quaternion])
        }

    def joint_names(self) -> dict[str, str]:
        """Name of the MJCF joint of each coordinate."""
        mechanism = self.mechanism
        return {
            mechanism.v_names[start + k]: name
            for start, joint in zip(mechanism.v_offsets, mechanism.tree_joints, strict=False)
            for k, name in enumerate(self.joints[joint.name])
        }


def _reference(mechanism: Mechanism) -> Array:
    """Home (nq,), with ball joints at zero: the pose of the bodies in the file."""
    q = np.array(mechanism.home)
    for begin, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False):
        if joint.has_quaternion and (joint.kind != "floating" or joint.parent is not None):
            q[begin + joint.nq - 4 : begin + joint.nq] = quaternions.IDENTITY
    return q


def friction(mu: float) -> str:
    """Coefficients of a geom: sliding, and MuJoCo's defaults for torsional and rolling."""
    return f"{text(mu)} 0.005 0.0001"
