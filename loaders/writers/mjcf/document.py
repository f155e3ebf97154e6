"""Mechanisms to MJCF.

A joint of several coordinates is several MJCF joints on one body, slides before the turn. A body
that only carries others, without a mass of its own in the model file, is left out: its joints move
to the body that it carries. Loops are equality constraints between sites, springs between points
spatial tendons.

Bodies are where they are at home, and `ref` tells what their joints' coordinates are there: that is
where MuJoCo starts. Only ball joints have no `ref`, and are as at zero.
"""

from __future__ import annotations

import numpy as np
from lxml import etree
from numpy.polynomial import Polynomial

from robosim import quaternions
from robosim.description.actuator import Actuator
from robosim.description.body import Body, Frame, Geometry
from robosim.description.contact_points import link_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.muscle import Muscle
from robosim.description.obstacles import TriangleMesh, obstacle_name
from robosim.description.springs import PointSpring
from robosim.description.tendon import Point, Pulley, Tendon, Term, Wrap
from robosim.errors import SaveError
from robosim.loaders.placement import body_poses
from robosim.loaders.writers.mesh_files import MeshFiles
from robosim.loaders.writers.mjcf_obstacles import TOUCHED, friction, is_drawn, surface_of, touching
from robosim.loaders.writers.parts import (
    POINT_RADIUS,
    Array,
    Lost,
    bounds,
    child,
    extra_contacts,
    frictions,
    is_identity,
    link_in,
    named_poses,
    note_joint,
    note_rest,
    text,
)
from robosim.models import stances

_GROUPS = {"visual": "2", "collision": "3"}
# Between the two points that hold the axis of a hinge which closes a loop [m].
_AXIS = 0.1
_SAME = 1e-9


def mjcf(mechanism: Mechanism, meshes: MeshFiles, lost: Lost) -> etree._Element:
    """The <mujoco> element of a mechanism.

    Raises
    ------
    SaveError
        For a loop that MJCF does not have.
    """
    return _Writer(mechanism, meshes, lost).root


class _Writer:
    def __init__(self, mechanism: Mechanism, meshes: MeshFiles, lost: Lost) -> None:
        self.mechanism, self.meshes, self.lost = mechanism, meshes, lost
        self.root = etree.Element("mujoco", model=mechanism.name)
        child(self.root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false")
        self.assets = child(self.root, "asset")
        self.world = child(self.root, "worldbody")
        self.reference = _reference(mechanism)
        self.refs = self._refs()
        self.poses = body_poses(mechanism.tree_joints, self.reference)
        self.mu = frictions(mechanism, lost)
        # In a world that has obstacles and no floor nothing touches the ground when it is read.
        floorless = mechanism.obstacles and not mechanism.contacts
        self.extra = extra_contacts(mechanism, Lost() if floorless else lost)
        self.elements: dict[str | None, etree._Element] = {None: self.world}
        self.used: set[str] = set()  # mesh assets
        self.geoms: set[str] = set()  # their names
        if mechanism.contacts:
            name = self._geom_name("floor")
            child(self.world, "geom", name=name, type="plane", size="0 0 1", **TOUCHED)
        for frame in mechanism.world_frames:
            if frame.name != "world":
                self._place(child(self.world, "body", name=frame.name), frame)
            elif not is_identity(frame.position, frame.quaternion):
                lost.add("frames called world that are elsewhere", frame.name)
        for shape in mechanism.world_visuals:
            self._shape(self.world, "visual", shape, np.eye(3), np.zeros(3))
        self._obstacles()
        self._bodies()
        self._exclusions()
        self._equalities()
        self._tendons()
        self._actuators()
        self._poses()
        # A robot that is known by its name is put into its stance when it is read.
        stance = stances.stance(mechanism)
        start = self.reference if stance is None else stances.posed(mechanism, stance)
        if np.abs(start - np.asarray(mechanism.home)).max(initial=0.0) > _SAME:
            lost.add("that the pose 'home' is the one to start from")
        for joint in mechanism.joints:
            note_joint(joint, lost, mjcf=True)
            if np.isfinite(joint.velocity_limit):
                lost.add("velocity limits", joint.name)
            if joint.safety is not None:
                lost.add("safety limits", joint.name)
        kept = ("self-collision", "excluded pairs", "tendons", "obstacles",
                "actuators, whose joints are driven by torques")  # fmt: skip
        note_rest(mechanism, lost, kept)
        if not len(self.assets):
            self.root.remove(self.assets)

    @staticmethod
    def _place(element: etree._Element, frame: Frame, origin: Array | None = None) -> None:
        p = np.asarray(frame.position) - (0.0 if origin is None else origin)
        if not is_identity(p, frame.quaternion):
            element.set("pos", text(p))
            element.set("quat", text(frame.quaternion))

    def _bodies(self) -> None:
        """All bodies, depth first; the joints of carriers wait for the body that they carry."""
        waiting: dict[str, list[Joint]] = {}
        parents: dict[str, str | None] = {}
        for joint in self.mechanism.tree_joints:
            chain, parent = [joint], joint.parent
            if parent in waiting:
                chain, parent = [*waiting[str(parent)], joint], parents[str(parent)]
            body = self.mechanism.body(joint.child)
            if body.carrier and any(j.parent == body.name for j in self.mechanism.tree_joints):
                waiting[body.name], parents[body.name] = chain, parent
            else:
                self._body(body, chain, parent)

    def _origin(self, body: str | None) -> Array:
        """Where the MJCF body's frame is in the body's axes, from the centre of mass."""
        if body is None:
            return np.zeros(3)
        joint = self.mechanism.tree_joints[self.mechanism.body_index(body)]
        if joint.kind == "floating":  # a free joint tells where that frame is
            return np.asarray(joint.child_position)
        return self.mechanism.body(body).reference_position

    def _world_pose(self, body: str | None) -> tuple[Array, Array]:
        R, x = self.poses[body]
        return R, x + R @ self._origin(body)

    def _body(self, body: Body, chain: list[Joint], parent: str | None) -> None:
        if body.name == "world":  # which the worldbody is called, and is fixed to it
            self.lost.add("the mass of what is fixed to the world")
            self.elements[body.name] = self.world
            self._contents(self.world, body)
            return
        element = child(self.elements[parent], "body", name=body.name)
        self.elements[body.name] = element
        R_a, p_a = self._world_pose(parent)
        R, p = self._world_pose(body.name)
        quaternion = quaternions.from_matrix(R_a.T @ R)
        self._place(element, Frame(body.name, R_a.T @ (p - p_a), quaternion))
        for joint in chain:
            self._joint(element, joint, body)
        origin = self._origin(body.name)
        J = np.asarray(body.inertia)
        full = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
        child(element, "inertial", pos=text(-origin), mass=text(body.mass), fullinertia=text(full))
        if body.triangle_violation():
            self.lost.add("inertias that no real body has, for which MuJoCo refuses the file",
                          body.name)  # fmt: skip
        self._contents(element, body)

    def _contents(self, element: etree._Element, body: Body) -> None:
        """The frames and shapes of a body."""
        origin = self._origin(body.name)
        # Frame (R, p) in the body's axes and element of each link that the body is made of.
        links = {body.name: (np.eye(3), origin, element)}
        for index, frame in enumerate(body.frames):
            if index == 0 and frame.name == body.name:
                if np.abs(np.asarray(frame.position) - origin).max() > 1e-9:
                    self.lost.add("frames that are not at their body's joint, now there", body.name)
                continue
            inner = child(element, "body", name=frame.name)
            self._place(inner, frame, origin)
            R_f = quaternions.rotation_matrix(np.asarray(frame.quaternion))
            links[frame.name] = R_f, np.asarray(frame.position), inner
        shapes = [("visual", shape) for shape in body.visuals]
        shapes += [("collision", shape) for shape in body.collisions]
        for contact in self.extra:
            if contact.body == body.name:
                size = (contact.radius or POINT_RADIUS,)
                ball = Geometry("sphere", size, contact.position, name=link_of(contact))
                shapes.append(("collision", ball))
        solid = {shape.name for shape in body.collisions}
        for tag, shape in shapes:
            link = link_in(body, shape.name)
            R_f, p_f, inner = links[link]
            self._shape(inner, tag, shape, R_f, p_f)
            # What is called like its link has the name from there; solids come before what is seen.
            if shape.name not in ("", link) and (tag == "collision" or shape.name not in solid):
                inner[-1].set("name", self._geom_name(shape.name))

    def _joint(self, element: etree._Element, joint: Joint, body: Body) -> None:
        """The MJCF joints of a joint, in the axes of the body with all coordinates at zero."""
        if joint.kind == "fixed":
            return
        if joint.kind == "floating" and joint.parent is None:
            if not is_identity(joint.parent_position, joint.offset):
                self.lost.add("where the coordinates of a floating base begin", joint.name)
            acts = self._free_acts(joint)
            if acts:
                child(element, "joint", name=joint.name, type="free", **acts)
            else:
                child(element, "freejoint", name=joint.name)
            return
        R_b, p_b = self._world_pose(body.name)
        R_c, x_c = self.poses[joint.child]
        begin = self.mechanism.q_offsets[self.mechanism.body_index(joint.child)]
        q = self.reference[begin : begin + joint.nq]
        turn = R_b.T @ R_c @ joint.rotation(q).T
        anchor = R_b.T @ (x_c + R_c @ np.asarray(joint.child_position) - p_b)
        for k, name in enumerate(_names(joint)):
            slides = joint.C_T.shape[1]
            attributes = {"name": name, "pos": text(anchor)}
            rows = slice(k, k + 1)
            if k < slides:
                attributes |= {"type": "slide", "axis": text(turn @ joint.C_T[:, k])}
            elif joint.has_quaternion:
                attributes |= {"type": "ball"}
                rows = slice(slides, slides + 3)
            else:
                attributes |= {"type": "hinge", "axis": text(turn @ joint.C_R[:, 0])}
            if self.refs.get(name):
                attributes["ref"] = text(self.refs[name])
            child(element, "joint", **attributes, **self._acts(joint, rows))

    def _free_acts(self, joint: Joint) -> dict[str, str]:
        """What acts on a free body, as attributes: its spring rests where the file has the body."""
        told = self._acts(joint, slice(0, joint.nv), spring=False)
        stiffness, rest = joint.per_coordinate("stiffness"), joint.per_coordinate("rest")
        if not np.any(stiffness):
            return told
        R, p = self._world_pose(joint.child)
        # One that starts turned has none for its turns when it is read.
        upright = np.abs(R - np.eye(3)).max() < _SAME
        turns = stiffness[0] if upright else 0.0
        wanted = np.concatenate((p, np.zeros(3)))
        held = stiffness != 0
        if np.any(stiffness != [stiffness[0]] * 3 + [turns] * 3):
            self.lost.add("springs of free bodies that are not alike along all axes", joint.name)
        elif np.abs(rest - wanted)[held].max() > _SAME:
            self.lost.add("springs of free bodies that do not rest where these start", joint.name)
        else:
            told["stiffness"] = text(stiffness[0])
        return told

    def _acts(self, joint: Joint, rows: slice, spring: bool = True) -> dict[str, str]:
        """What acts on some of a joint's coordinates, as attributes."""
        told = {}
        kinds = [("damping", "damping"), ("friction", "frictionloss"), ("armature", "armature")]
        if spring:
            kinds += [("stiffness", "stiffness"), ("rest", "springref")]
        for ours, theirs in kinds:
            values = joint.per_coordinate(ours)[rows]
            if np.any(values != values[0]):
                kind = "floating" if joint.kind == "floating" else "ball"
                self.lost.add(f"different {ours} of the axes of a {kind} joint", joint.name)
            if values[0]:
                told[theirs] = text(values[0])
        low, high = bounds(joint)[:, rows.start]
        if rows.start == joint.C_T.shape[1] and np.isfinite(joint.largest_turn):
            low, high = 0.0, joint.largest_turn
        if low != high and (np.isfinite(low) or np.isfinite(high)):
            told |= {"limited": "true", "range": text(np.clip((low, high), -1e9, 1e9))}
        if joint.effort_limit == 0:
            self.lost.add("effort limits of zero", joint.name)
        efforts = self._efforts(joint, rows.start)
        if efforts is not None:
            told |= {"actuatorfrclimited": "true", "actuatorfrcrange": text(efforts)}
        return told

    def _efforts(self, joint: Joint, row: int) -> tuple[float, float] | None:
        """What all actuators of a coordinate can do together, unless that follows from theirs."""
        mechanism = self.mechanism
        name = mechanism.v_names[mechanism.v_offsets[mechanism.body_index(joint.child)] + row]
        if name in mechanism.effort_ranges:
            return mechanism.effort_ranges[name]
        limit, driven = joint.effort_limit, any(name in a.gears for a in mechanism.actuators)
        return None if driven or not 0 < limit < np.inf else (-limit, limit)

    def _shape(
        self, element: etree._Element, tag: str, shape: Geometry, R: Array, p: Array
    ) -> None:
        """A shape of a body in an element with the frame (R, p) in that body."""
        size = np.array(shape.size)
        attributes = {"type": shape.kind, "group": _GROUPS[tag], "rgba": text(shape.rgba)}
        match shape.kind:
            case "box":
                attributes["size"] = text(size / 2)
            case "sphere":
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
            attributes["friction"] = friction(self.mu.get(link, shape.friction))
        child(element, "geom", **attributes)

    def _mesh(self, shape: Geometry) -> str:
        file = self.meshes.name(shape)
        name = file.rpartition("/")[2].removesuffix(".obj")
        if name not in self.used:
            self.used.add(name)
            # As a shell, since MuJoCo refuses meshes without a volume otherwise.
            child(self.assets, "mesh", name=name, file=file, inertia="shell")
        return name

    def _obstacles(self) -> None:
        for obstacle in self.mechanism.obstacles:
            if isinstance(obstacle, TriangleMesh):
                self.lost.add("obstacles whose mesh MuJoCo would take the hull of",
                              obstacle_name(obstacle))  # fmt: skip
                continue
            name = self._geom_name(obstacle.name or "obstacle")
            attributes = {"name": name} | touching(obstacle, self.mechanism, self.lost)
            if not isinstance(obstacle, Geometry):
                attributes |= surface_of(obstacle, name, self.assets)
                child(self.world, "geom", **attributes)
                continue
            self._shape(self.world, "collision", obstacle, np.eye(3), np.zeros(3))
            geom = self.world[-1]
            geom.attrib.update(attributes)
            geom.set("group", "3" if is_drawn(obstacle, self.mechanism) else "0")
        names = set(map(obstacle_name, self.mechanism.obstacles))
        for pair in self.mechanism.excluded_pairs:
            if not names.isdisjoint(pair):
                self.lost.add("excluded pairs with obstacles", " - ".join(pair))

    def _geom_name(self, name: str) -> str:
        """A name that no other geom has."""
        while name in self.geoms:
            name += "_"
        self.geoms.add(name)
        return name

    def _exclusions(self) -> None:
        if not self.mechanism.self_collision:
            return
        contact = child(self.root, "contact")
        apart = {(str(j.parent), j.child) for j in self.mechanism.joints if j.parent is not None}
        for a, b in dict.fromkeys((*self.mechanism.excluded_pairs, *sorted(apart))):
            if "world" in (a, b):  # where the ground is as well, which is not meant
                self.lost.add("excluded pairs with what is fixed to the world", f"{a} - {b}")
            elif a in self.elements and b in self.elements:
                child(contact, "exclude", body1=a, body2=b)

    def _site(self, name: str, body: str | None, position: Array, R: Array | None = None) -> str:
        attributes = {"name": name, "pos": text(position - self._origin(body))}
        if R is not None:
            attributes["quat"] = text(quaternions.from_matrix(R))
        child(self.elements[body], "site", **attributes)
        return name

    def _equalities(self) -> None:
        locked = [
            (name, low)
            for joint in self.mechanism.tree_joints
            if not joint.has_quaternion
            for name, low, high in zip(_names(joint), *bounds(joint), strict=True)
            if low == high
        ]
        held = any(tendon.motion is not None for tendon in self.mechanism.tendons)
        if not (self.mechanism.loop_joints or self.mechanism.couplings or held or locked):
            return
        equality = child(self.root, "equality")
        for name, value in locked:
            constant = value - self.refs[name]
            child(equality, "joint", joint1=name, polycoef=text((constant, 0, 0, 0, 0)))
        for joint in self.mechanism.loop_joints:
            self._loop(equality, joint)
        self._held_tendons(equality)
        for coupling in self.mechanism.couplings:
            if not {coupling.joint, coupling.source} <= self.refs.keys():
                self.lost.add("couplings of joints that close loops", coupling.name)
                continue
            led = Polynomial((coupling.offset, coupling.ratio))
            child(equality, "joint", name=coupling.name, joint1=coupling.joint,
                  joint2=coupling.source,
                  polycoef=self._curve(led, coupling.joint, coupling.source))  # fmt: skip

    def _refs(self) -> dict[str, float]:
        """The coordinate of each hinge and slide of the file where it has put the bodies."""
        mechanism = self.mechanism
        return {
            name: float(self.reference[begin + k])
            for begin, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False)
            for k, name in enumerate(_names(joint)[: joint.nq - 4 * joint.has_quaternion])
        }

    def _curve(self, led: Polynomial, name: str, source: str) -> str:
        """The five coefficients of q = led(source), both counted from their `ref`."""
        moved = np.asarray(led(Polynomial((self.refs[source], 1.0))).coef, dtype=float)
        moved[0] -= self.refs[name]
        return text(np.append(moved, np.zeros(4))[:5])

    def _held_tendons(self, equality: etree._Element) -> None:
        """Lengths that stay, which MJCF counts from those where the file has put the bodies."""
        mechanism = self.mechanism
        if not any(tendon.motion is not None for tendon in mechanism.tendons):
            return
        # Here, so that numba is imported only where it is needed.
        from robosim.dynamics import Kinematics

        lengths = Kinematics(mechanism, self.reference).tendon_lengths()
        joints = self._joint_names()
        for tendon, length in zip(mechanism.tendons, lengths, strict=True):
            if _is_curve(tendon):
                first, second = (part for part in tendon.path if isinstance(part, Term))
                values = (-tendon.upper, second.factor, *second.higher)
                names = joints[first.coordinate], joints[second.coordinate]
                curve = Polynomial(-np.array(values) / first.factor)
                child(equality, "joint", name=tendon.name, joint1=names[0], joint2=names[1],
                      polycoef=self._curve(curve, *names))  # fmt: skip
            elif tendon.motion is not None and not _counts_backwards(tendon):
                more = text((tendon.upper - length, 0, 0, 0, 0))
                child(equality, "tendon", name=tendon.name, tendon1=_path_of(tendon),
                      polycoef=more)  # fmt: skip

    def _loop(self, equality: etree._Element, joint: Joint) -> None:
        for what in ("damping", "friction", "stiffness", "armature"):
            if np.any(joint.per_coordinate(what)):
                self.lost.add(f"{what} of joints that close loops", joint.name)
        if np.any(np.isfinite(bounds(joint))) or np.isfinite(joint.largest_turn):
            self.lost.add("limits of joints that close loops", joint.name)
        if joint.actuated and joint.nv:
            self.lost.add("actuators of joints that close loops", joint.name)
        R = quaternions.rotation_matrix(np.asarray(joint.offset))
        p_a, p_b = np.asarray(joint.parent_position), np.asarray(joint.child_position)
        match joint.kind:
            case "spherical":
                ends = [(joint.name, np.zeros(3))]
            case "revolute":  # held by two points of its axis
                step = _AXIS / 2 * np.asarray(joint.axis)
                ends = [(joint.name, -step), (f"{joint.name}_axis", step)]
            case "fixed":
                first = self._site(f"{joint.name}_1", joint.parent, p_a, R)
                second = self._site(f"{joint.name}_2", joint.child, p_b, np.eye(3))
                child(equality, "weld", name=joint.name, site1=first, site2=second)
                return
            case kind:
                raise SaveError(
                    f"joint '{joint.name}': MJCF has no loop closed by a joint of kind '{kind}' "
                    "(known: spherical, revolute, fixed); URDF with <loop_joint> has"
                )
        for name, step in ends:
            first = self._site(f"{name}_1", joint.parent, p_a + R @ step)
            second = self._site(f"{name}_2", joint.child, p_b + step)
            child(equality, "connect", name=name, site1=first, site2=second)

    def _tendons(self) -> None:
        if not (self.mechanism.springs or self.mechanism.tendons):
            return
        tendons = child(self.root, "tendon")
        for spring in self.mechanism.springs:
            self._spring(tendons, spring)
        for tendon in self.mechanism.tendons:
            if _counts_backwards(tendon):
                self.lost.add("tendons with pulleys that count backwards", tendon.name)
            elif not _is_curve(tendon):
                self._tendon(tendons, tendon)

    def _tendon(self, tendons: etree._Element, tendon: Tendon) -> None:
        rest = np.asarray(tendon.rest_length)
        attributes = {"name": _path_of(tendon), "springlength": text(rest)}
        for ours, theirs in (("stiffness", "stiffness"), ("damping", "damping"),
                             ("friction", "frictionloss"), ("armature", "armature")):  # fmt: skip
            if getattr(tendon, ours):
                attributes[theirs] = text(getattr(tendon, ours))
        if tendon.motion is None and np.any(np.isfinite((tendon.lower, tendon.upper))):
            told = np.clip((tendon.lower, tendon.upper), -1e9, 1e9)
            attributes |= {"limited": "true", "range": text(told)}
        element = child(tendons, "fixed" if tendon.is_fixed else "spatial", **attributes)
        joints = self._joint_names()
        for k, part in enumerate(tendon.path):
            name = f"{tendon.name}_{k + 1}"
            match part:
                case Term():
                    if any(part.higher):
                        self.lost.add("higher powers of coordinates in tendons", tendon.name)
                    coefficient = text(part.factor)
                    child(element, "joint", joint=joints[part.coordinate], coef=coefficient)
                case Point():
                    site = self._site(name, part.body, np.asarray(part.position))
                    child(element, "site", site=site)
                case Pulley():
                    child(element, "pulley", divisor=text(part.divisor))
                case Wrap():
                    names = {"geom": self._wrap(name, part)}
                    if part.side is not None:
                        side = part.side
                        at = np.asarray(side.position)
                        names["sidesite"] = self._site(f"{name}_side", side.body, at)
                    child(element, "geom", **names)

    def _wrap(self, name: str, wrap: Wrap) -> str:
        """The name of a geom to wrap around: of a shape that is there already, or of a new one."""
        element = self.elements[wrap.body]
        position = np.asarray(wrap.position) - self._origin(wrap.body)
        place = (*position, *np.asarray(wrap.quaternion))
        for geom in element.findall("geom"):
            size = float(geom.get("size", "0").split()[0])
            pos, quat = geom.get("pos", "0 0 0"), geom.get("quat", "1 0 0 0")
            there = np.array(f"{pos} {quat}".split(), dtype=float)
            same = np.abs(there - place).max() < _SAME and abs(size - wrap.radius) < _SAME
            if geom.get("type") == wrap.kind and same:
                geom.set("name", geom.get("name", name))
                return str(geom.get("name"))
        shape = Geometry(wrap.kind, (wrap.radius, wrap.radius)[: 1 + (wrap.kind == "cylinder")],
                         wrap.position, wrap.quaternion)  # fmt: skip
        self._shape(element, "visual", shape, np.eye(3), self._origin(wrap.body))
        element[-1].set("name", name)
        return name

    def _spring(self, tendons: etree._Element, spring: PointSpring) -> None:
        tendon = child(
            tendons, "spatial", name=spring.name, springlength=text(spring.rest_length),
            stiffness=text(spring.stiffness), damping=text(spring.damping),
        )  # fmt: skip
        ends = ((spring.parent, spring.parent_position), (spring.child, spring.child_position))
        for k, (body, position) in enumerate(ends):
            name = self._site(f"{spring.name}_{k + 1}", body, np.asarray(position))
            child(tendon, "site", site=name)

    def _actuators(self) -> None:
        if self.mechanism.actuators:
            actuators = child(self.root, "actuator")
            for actuator in self.mechanism.actuators:
                self._actuator(actuators, actuator)
            return
        actuated = [joint for joint in self.mechanism.tree_joints if joint.actuated and joint.nv]
        if not actuated:
            return
        actuators = child(self.root, "actuator")
        for joint in actuated:
            for name in _names(joint):
                if joint.has_quaternion and name == _names(joint)[-1]:
                    for k, gear in enumerate(np.eye(3)):
                        child(actuators, "motor", name=f"{name}_{'xyz'[k]}", joint=name,
                              gear=text((*gear, 0, 0, 0)))  # fmt: skip
                else:
                    child(actuators, "motor", name=name, joint=name)

    def _joint_names(self) -> dict[str, str]:
        """What the MJCF joint of each coordinate is called."""
        mechanism = self.mechanism
        return {
            mechanism.v_names[start + k]: name
            for start, joint in zip(mechanism.v_offsets, mechanism.tree_joints, strict=False)
            for k, name in enumerate(_names(joint))
        }

    def _actuator(self, actuators: etree._Element, actuator: Actuator) -> None:
        joints = self._joint_names()
        attributes = {"name": actuator.name}
        (name, gear), *more = actuator.gears.items() or [("", 0.0)]
        if actuator.place is not None:
            place = actuator.place
            R = quaternions.rotation_matrix(np.asarray(place.quaternion))
            position = np.asarray(place.position)
            attributes["site"] = self._site(f"{actuator.name}_at", place.body, position, R)
            attributes["gear"] = text(actuator.wrench)
        elif not more:
            kind = "joint" if name in joints else "tendon"
            attributes |= {kind: joints.get(name, name), "gear": text(gear)}
        else:
            tendons = self.root.find("tendon")
            tendons = child(self.root, "tendon") if tendons is None else tendons
            tendon = child(tendons, "fixed", name=f"{actuator.name}_gears")
            for name, gear in actuator.gears.items():
                child(tendon, "joint", joint=joints[name], coef=text(gear))
            attributes["tendon"] = f"{actuator.name}_gears"
        kind, gain, bias = "affine", np.array(actuator.gain), np.array(actuator.bias)
        if actuator.muscle is not None:
            kind, gain = "muscle", _curves(actuator.muscle)
            bias = gain
            attributes["lengthrange"] = text(actuator.muscle.length_range)
        attributes |= {"gaintype": kind, "gainprm": text(gain)}
        attributes |= {"biastype": kind, "biasprm": text(bias)}
        if actuator.activation is not None:
            activation = actuator.activation
            attributes |= {"dyntype": activation.kind, "dynprm": text(activation.constants)}
            if activation.early:
                attributes["actearly"] = "true"
            if np.any(np.isfinite(activation.range)):
                told = text(np.clip(activation.range, -1e9, 1e9))
                attributes |= {"actlimited": "true", "actrange": told}
        for what, limits in (("ctrl", actuator.control_range), ("force", actuator.force_range)):
            if np.any(np.isfinite(limits)):
                told = text(np.clip(limits, -1e9, 1e9))
                attributes |= {f"{what}limited": "true", f"{what}range": told}
        child(actuators, "general", **attributes)

    def _poses(self) -> None:
        poses = named_poses(self.mechanism)
        if not poses:
            return
        keyframe = child(self.root, "keyframe")
        for name, q in poses.items():
            child(keyframe, "key", name=name, qpos=text(q))


def _reference(mechanism: Mechanism) -> Array:
    """Home (nq,), with ball joints at zero: the pose in which the file has the bodies."""
    q = np.array(mechanism.home)
    for begin, joint in zip(mechanism.q_offsets, mechanism.tree_joints, strict=False):
        if joint.has_quaternion and (joint.kind != "floating" or joint.parent is not None):
            q[begin + joint.nq - 4 : begin + joint.nq] = quaternions.IDENTITY
    return q


def _is_curve(tendon: Tendon) -> bool:
    """Whether it does no more than to hold one coordinate on a curve over another one."""
    match tendon.path:
        case (Term() as first, Term() as second) if tendon.motion is not None:
            acts = tendon.stiffness or tendon.damping or tendon.armature
            return any(second.higher) and not any(first.higher) and first.factor != 0 and not acts
    return False


def _counts_backwards(tendon: Tendon) -> bool:
    """Whether a tendon takes lengths off others, as no tendon of MJCF does."""
    return any(isinstance(part, Pulley) and part.divisor < 0 for part in tendon.path)


def _path_of(tendon: Tendon) -> str:
    """The name of an MJCF tendon: another one if an equality has the tendon's own."""
    return tendon.name if tendon.motion is None else f"{tendon.name}_path"


def _curves(muscle: Muscle) -> Array:
    """MuJoCo's parameters of a muscle; the fourth is of no use where the force is told."""
    m = muscle
    curves = (m.shortest, m.longest, m.fastest, m.passive, m.lengthening)
    return np.array((*m.range, m.force, 1.0, *curves))


def _names(joint: Joint) -> list[str]:
    """A name for each MJCF joint that a joint becomes."""
    if joint.coordinate_names:
        return list(joint.coordinate_names)
    slides, turns = joint.C_T.shape[1], min(joint.C_R.shape[1], 1)
    if slides + turns == 1:
        return [joint.name]
    return [f"{joint.name}_t{k}" for k in range(slides)] + [f"{joint.name}_r"] * turns
