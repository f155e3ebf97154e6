"""Bodies, joints and springs for soft elements, and their effect on other bodies.

A free node is a body on a joint that allows translations only. An attached node moves with its
body, x' = R Gamma(x_a) phi [Sueda, Eq. 2.87]. So its mass is part of that body's inertia. The
result is the M and the quadratic velocities of [Sueda, Eq. 2.92], without a separate Jacobian.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robosim.description.body import Body, Geometry
from robosim.description.centres import with_inertial
from robosim.description.inertial import Inertial, merge
from robosim.description.joint import Joint
from robosim.description.poses import body_poses
from robosim.description.soft import Soft
from robosim.description.springs import PointSpring
from robosim.description.strands import Net, Nodes, Strand
from robosim.description.whole import W, Whole, changed
from robosim.errors import ModelError
from robosim.validation import Array

AnySoft = Strand | Net | Soft
SOFT = (Strand, Net, Soft)
COLOR = (0.85, 0.55, 0.20, 1.0)
End = tuple[str | None, Array]  # a body or the world, and a point from its centre of mass [m]


def with_particles(robot: W, soft: Iterable[AnySoft]) -> W:
    """A mechanism with soft elements in series; its other coordinates q (nq,) are unchanged.

    Raises
    ------
    ModelError
        For an attached node of an unknown body, or a duplicate name.
    """
    for part in soft:
        robot = _with_nodes(robot, part)
    return robot


def _with_nodes(robot: W, part: AnySoft) -> W:
    nodes = part.particles()
    element = f"soft part '{nodes.name}'"
    taken = {body.name for body in robot.bodies} | {joint.name for joint in robot.joints}
    free = [k for k in range(len(nodes.points)) if k not in nodes.attached]
    for name in (nodes.names[k] for k in free):
        if name in taken:
            raise ModelError(f"its particle '{name}' has a name that is taken", element=element)
    robot, ends = _attached(robot, nodes, element)
    ends |= {k: (nodes.names[k], np.zeros(3)) for k in free}
    meshes = (part.mesh([ends[k] for k in range(len(ends))]),) if isinstance(part, Soft) else ()
    q, home = np.zeros(3 * len(free)), _home(robot)
    return changed(
        robot,
        bodies=(*robot.bodies, *(_particle(nodes, k) for k in free)),
        joints=(*robot.tree_joints, *(_joint(nodes, k) for k in free), *robot.loop_joints),
        springs=(*robot.springs, *_springs(nodes, ends)),
        soft_meshes=(*robot.soft_meshes, *meshes),
        home=np.concatenate((home, q)),
        configurations={name: np.concatenate((p, q)) for name, p in robot.configurations.items()},
    )


def _home(robot: Whole) -> Array:
    """Home (nq,), also for a mechanism without bodies."""
    return np.zeros(0) if robot.home is None else np.asarray(robot.home)


def _particle(nodes: Nodes, k: int) -> Body:
    """A free node; as it does not rotate, its inertia of a ball has no effect."""
    name, mass = nodes.names[k], float(nodes.masses[k])
    shape = Geometry("sphere", (nodes.size,), rgba=COLOR, name=name)
    return Body(name, mass, 0.4 * mass * nodes.size**2 * np.eye(3), visuals=(shape,))


def _joint(nodes: Nodes, k: int) -> Joint:
    name = nodes.names[k]
    at = nodes.points[k]
    return Joint(name, "fixed_orientation", None, name, parent_position=at, actuated=False)


def _attached(robot: W, nodes: Nodes, element: str) -> tuple[W, dict[int, End]]:
    """The mechanism with the masses of attached nodes on its bodies, and these nodes' places."""
    held: dict[str | None, list[int]] = {}
    frames = {frame.name for frame in robot.world_frames}
    known = {body.name: body.name for body in robot.bodies}
    known |= {frame.name: robot.bodies[i].name for i, frame in robot.frames()} | known
    for k, link in nodes.attached.items():
        if link is None or link in frames:
            held.setdefault(None, []).append(k)
            continue
        if link not in known:
            raise ModelError(
                f"node {k} is attached to '{link}', which does not exist",
                element=element,
                alternatives=tuple(known),
                wanted=str(link),
            )
        held.setdefault(known[link], []).append(k)
    for name, own in held.items():
        if name is not None:
            robot = _loaded(robot, name, nodes.points[own], nodes.masses[own])
    poses = body_poses(robot.tree_joints, _home(robot))
    ends: dict[int, End] = {}
    for name, own in held.items():
        R, x = poses[name]
        ends |= {k: (name, (nodes.points[k] - x) @ R) for k in own}
    return robot, ends


def _loaded(robot: W, name: str, points: Array, masses: Array) -> W:
    """The mechanism with point masses [kg] on a body, at points (n, 3) [m] of the world at home."""
    body = robot.body(name)
    R, x = body_poses(robot.tree_joints, _home(robot))[name]
    parts = [Inertial(body.mass, np.zeros(3), np.asarray(body.inertia))]
    parts += [
        Inertial(float(mass), (point - x) @ R, np.zeros((3, 3)))
        for point, mass in zip(points, masses, strict=True)
    ]
    whole = merge(parts)
    centre = whole.center - np.asarray(body.reference_position)
    return with_inertial(robot, name, whole.mass, centre, whole.inertia)


def _springs(nodes: Nodes, ends: dict[int, End]) -> list[PointSpring]:
    """Springs along all lines, except between two nodes of the same body or of the world."""
    found = []
    for a, b in nodes.lines:
        (parent, p), (child, c) = ends[a], ends[b]
        if parent == child:
            continue
        if child is None:
            parent, p, child, c = child, c, parent, p
        assert child is not None
        length = float(np.linalg.norm(nodes.points[a] - nodes.points[b])) / nodes.stretch
        found.append(
            PointSpring(
                f"{nodes.names[a]}-{nodes.names[b]}",
                parent,
                child,
                parent_position=p,
                child_position=c,
                stiffness=nodes.stiffness / length**2,
                rest_length=length,
                damping=nodes.damping / length**2,
            )
        )
    return found
