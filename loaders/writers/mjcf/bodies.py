"""Bodies to MJCF: frames, inertias and shapes, and excluded pairs.

A body that only carries others, without a mass in the model file, is omitted: its joints move to
the body that it carries.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from lxml import etree

from robosim import quaternions
from robosim.description.body import Body, Frame, Geometry
from robosim.description.contact_points import POINT_RADIUS, link_of
from robosim.description.joint import Joint
from robosim.errors import SaveError
from robosim.loaders.writers.mjcf.document import Document
from robosim.loaders.writers.mjcf.joints import write_joint
from robosim.loaders.writers.mjcf.obstacles import TOUCHED
from robosim.loaders.writers.parts import child, is_identity, link_in, text


def write_world(document: Document) -> None:
    """Write the floor, and everything that is fixed to the world."""
    mechanism, world = document.mechanism, document.world
    if mechanism.contacts:
        name = document.names["geom"].made("floor")
        child(world, "geom", name=name, type="plane", size="0 0 1", **TOUCHED)
    for frame in mechanism.world_frames:
        if frame.name != "world":
            document.place(child(world, "body", name=frame.name), frame)
        elif not is_identity(frame.position, frame.quaternion):
            document.lost.add("frames called world that are elsewhere", frame.name)
    for shape in mechanism.world_visuals:
        document.shape(world, "visual", shape, np.eye(3), np.zeros(3))


def write_bodies(document: Document) -> None:
    """Write all bodies, depth first; joints of carriers are moved to the body that they carry.

    Raises
    ------
    SaveError
        For a robot without any mass, of which the masses of its links could be a share.
    """
    bodies = document.mechanism.bodies
    if all(body.carrier for body in bodies):
        raise SaveError(
            f"no link of '{document.mechanism.name}' has a mass, and MuJoCo refuses links without "
            f"one: {', '.join(body.name for body in bodies)}; URDF has such links"
        )
    waiting: dict[str, list[Joint]] = {}
    parents: dict[str, str | None] = {}
    for joint in document.mechanism.tree_joints:
        chain, parent = [joint], joint.parent
        if parent in waiting:
            chain, parent = [*waiting[str(parent)], joint], parents[str(parent)]
        body = document.mechanism.body(joint.child)
        if _only_between(document, body):
            waiting[body.name], parents[body.name] = chain, parent
        else:
            _body(document, body, chain, parent)


def _only_between(document: Document, body: Body) -> bool:
    """Whether a body is only a place between two joints of another one."""
    ends = [end for joint in document.mechanism.tree_joints for end in (joint.parent, joint.child)]
    bare = len(body.frames) == 1 and not body.visuals and not body.collisions
    held = body.name in _referred_to(document)
    if body.carrier and not (bare and ends.count(body.name) == 2 and not held):
        what = "that links have no mass, for which MuJoCo refuses a file, and so have some in this"
        document.lost.add(what, f"{body.name} ({body.mass:g} kg)")
        return False
    return body.carrier


def _referred_to(document: Document) -> set[str | None]:
    """Bodies to which elements other than joints of the tree refer."""
    mechanism = document.mechanism
    found = {end for joint in mechanism.loop_joints for end in (joint.parent, joint.child)}
    found |= {end for spring in mechanism.springs for end in (spring.parent, spring.child)}
    found |= {body for tendon in mechanism.tendons for body in tendon.bodies()}
    found |= {one.place.body for one in mechanism.actuators if one.place is not None}
    for sensor in mechanism.sensors:
        found |= {sensor.place.body, sensor.reference.body, *sensor.bodies}
    return found | {contact.body for contact in mechanism.contacts}


def _body(document: Document, body: Body, chain: list[Joint], parent: str | None) -> None:
    if body.name == "world":  # the worldbody has this name, and is fixed to the world
        document.lost.add("the mass of what is fixed to the world")
        document.elements[body.name] = document.world
        _contents(document, document.world, body)
        return
    element = child(document.elements[parent], "body", name=body.name)
    document.elements[body.name] = element
    R_a, p_a = document.world_pose(parent)
    R, p = document.world_pose(body.name)
    quaternion = quaternions.from_matrix(R_a.T @ R)
    document.place(element, Frame(body.name, R_a.T @ (p - p_a), quaternion))
    for joint in chain:
        write_joint(document, element, joint, body)
    origin = document.origin(body.name)
    if body.gravity_compensation:
        element.set("gravcomp", text(body.gravity_compensation))
    J = np.asarray(body.inertia)
    full = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])
    child(element, "inertial", pos=text(-origin), mass=text(body.mass), fullinertia=text(full))
    if body.impossible_inertia():
        document.lost.add("inertias that no real body has, for which MuJoCo refuses the file",
                      body.name)  # fmt: skip
    _contents(document, element, body)


def _contents(document: Document, element: etree._Element, body: Body) -> None:
    """Write the frames and shapes of a body."""
    origin = document.origin(body.name)
    # Frame (R, p) in the body's axes, and element, of each link of the body.
    links = {body.name: (np.eye(3), origin, element)}
    for index, frame in enumerate(body.frames):
        if index == 0 and frame.name == body.name:
            if np.abs(np.asarray(frame.position) - origin).max() > 1e-9:
                document.lost.add("frames that are not at their body's joint, now there", body.name)
            continue
        inner = child(element, "body", name=frame.name)
        document.place(inner, frame, origin)
        R_f = quaternions.rotation_matrix(np.asarray(frame.quaternion))
        links[frame.name] = R_f, np.asarray(frame.position), inner
    shapes = [("visual", shape) for shape in body.visuals]
    shapes += [("collision", shape) for shape in body.collisions]
    for contact in document.extra:
        if contact.body == body.name:
            size = (contact.radius or POINT_RADIUS,)
            ball = Geometry("sphere", size, contact.position, name=link_of(contact))
            shapes.append(("collision", ball))
    solid = {shape.name for shape in body.collisions}
    paired = {name for pair in document.mechanism.contact_pairs for name in pair}
    for tag, shape in shapes:
        link = link_in(body, shape.name)
        R_f, p_f, inner = links[link]
        document.shape(inner, tag, shape, R_f, p_f)
        # Shapes with the name of their link use it; solids come before visuals.
        if shape.name not in ("", link) and (tag == "collision" or shape.name not in solid):
            inner[-1].set("name", document.names["geom"].own(shape.name))
        if tag == "collision" and body.name in paired and shape in body.collisions:
            if inner[-1].get("name") is None:
                inner[-1].set("name", document.names["geom"].made(f"{link}_{shape.kind}"))
            mu = document.friction_of.get(shape.name or link, shape.friction)
            document.geoms.setdefault(body.name, []).append((str(inner[-1].get("name")), mu))


def write_exclusions(document: Document) -> None:
    """Write pairs of bodies that collide, and excluded pairs."""
    if document.mechanism.self_collision or document.mechanism.contact_pairs:
        contact = child(document.root, "contact")
    for a, b in document.mechanism.contact_pairs:
        for (one, mu_a), (other, mu_b) in product(*(document.geoms.get(x, ()) for x in (a, b))):
            mu = text((min(mu_a, mu_b), min(mu_a, mu_b), 0.005, 0.0001, 0.0001))
            child(contact, "pair", geom1=one, geom2=other, friction=mu)
    if not document.mechanism.self_collision:
        return
    apart = {(str(j.parent), j.child) for j in document.mechanism.joints if j.parent is not None}
    for a, b in dict.fromkeys((*document.mechanism.excluded_pairs, *sorted(apart))):
        if "world" in (a, b):  # would also exclude the ground
            document.lost.add("excluded pairs with what is fixed to the world", f"{a} - {b}")
        elif a in document.elements and b in document.elements:
            child(contact, "exclude", body1=a, body2=b)
