"""Random bodies, trees and poses for tests, reproducible from a seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import (
    Body,
    ContactPoint,
    Coupling,
    Frame,
    Joint,
    Mechanism,
    PointSpring,
    Simulation,
)
from robosim.joints import KINDS
from robosim.quaternions import from_axis_angle, normalized, rotation_matrix

Array = NDArray[np.float64]


def random_quaternion(rng: np.random.Generator) -> Array:
    """A unit quaternion (4,), uniform over all rotations."""
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def random_body(rng: np.random.Generator, name: str) -> Body:
    """A solid ellipsoid in general orientation whose link frame is away from its centre."""
    mass = rng.uniform(0.5, 2.0)
    squares = rng.uniform(0.05, 0.3, size=3) ** 2
    R = rotation_matrix(random_quaternion(rng))
    inertia = R @ np.diag(mass / 5 * (squares.sum() - squares)) @ R.T
    frame = Frame(name, rng.uniform(-0.2, 0.2, size=3))
    return Body(name, mass, (inertia + inertia.T) / 2, frames=(frame,))


def random_joint(
    rng: np.random.Generator, name: str, kind: str, parent: str | None, child: str, **given: Any
) -> Joint:
    """A joint of a kind with axis, offset and both points in general position, unless given."""
    places = {
        "axis": rng.normal(size=3),
        "parent_position": rng.uniform(-0.3, 0.3, size=3),
        "child_position": rng.uniform(-0.3, 0.3, size=3),
        "offset": random_quaternion(rng),
    }
    return Joint(name, kind, parent, child, **{**places, **given})


def random_tree(
    rng: np.random.Generator,
    n: int,
    base: str = "floating",
    kinds: Sequence[str] = tuple(KINDS),
    contacts: int = 0,
) -> Mechanism:
    """A tree of n bodies, each on a random earlier one; `contacts` points on every body."""
    bodies = tuple(random_body(rng, f"b{i}") for i in range(n))
    joints = [random_joint(rng, "j0", base, None, "b0")]
    for i in range(1, n):
        kind = str(rng.choice(list(kinds)))
        parent = f"b{rng.integers(0, i)}"
        joints.append(random_joint(rng, f"j{i}", kind, parent, f"b{i}"))
    points = tuple(
        ContactPoint(
            f"c{i}{k}",
            f"b{i}",
            rng.uniform(-0.2, 0.2, size=3),
            radius=float(rng.choice([0.0, 0.05])),
            friction=float(rng.uniform(0.2, 1.0)),
        )
        for i in range(n)
        for k in range(contacts)
    )
    return Mechanism("random", bodies, tuple(joints), points)


def random_coordinates(rng: np.random.Generator, robot: Mechanism) -> Array:
    """q (nq,) in general position, angles within half a turn."""
    q = rng.uniform(-1.0, 1.0, size=robot.nq)
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        if joint.has_quaternion:
            begin = start + joint.C_T.shape[1]
            q[begin : begin + 4] = random_quaternion(rng)
    return q


def turned(q: Array, rotation: Array) -> Array:
    """The quaternion q after a turn by the rotation vector (3,), world axes."""
    angle = float(np.linalg.norm(rotation))
    if angle == 0.0:
        return q.copy()
    return np.array(multiply(from_axis_angle(rotation, angle), q))


def multiply(a: Array, b: Array) -> Array:
    """Hamilton product, written with matrices: independent of the code under test."""
    w, x, y, z = a
    left = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    return left @ b


def closing_joint(
    rng: np.random.Generator,
    name: str,
    kind: str,
    ends: tuple[str | None, str],
    poses: dict[str | None, tuple[Array, Array]],
    **components: Any,
) -> Joint:
    """A joint between two bodies that is satisfied, at its zero, where they are.

    `poses` are (centre of mass, orientation) by the name of the body.
    """
    parent, child = ends
    (x_a, q_a), (x_b, q_b) = poses[parent], poses[child]
    p_b = rng.uniform(-0.3, 0.3, size=3)
    point = x_b + rotation_matrix(q_b) @ p_b - x_a
    return Joint(
        name,
        kind,
        parent,
        child,
        axis=rng.normal(size=3),
        parent_position=rotation_matrix(q_a).T @ point,
        child_position=p_b,
        offset=normalized(multiply(q_a * [1, -1, -1, -1], q_b)),
        **components,
    )


def body_poses(robot: Mechanism, q: Array) -> dict[str | None, tuple[Array, Array]]:
    """(centre of mass, orientation) of all bodies and the world at tree coordinates q."""
    tree = replace(robot, joints=robot.tree_joints, couplings=(), home=None)
    sim = Simulation(tree)
    sim.set_state(q)
    poses: dict[str | None, tuple[Array, Array]] = {None: (np.zeros(3), np.array([1.0, 0, 0, 0]))}
    for body, x, turn in zip(tree.bodies, sim.state.x, sim.state.q, strict=True):
        poses[body.name] = (x.copy(), turn.copy())
    return poses


def close_at(
    rng: np.random.Generator,
    robot: Mechanism,
    q: Array,
    loops: Sequence[tuple[str, str | None, str]],
) -> Mechanism:
    """The tree `robot` with joints (kind, parent, child) added that are satisfied at q."""
    poses = body_poses(robot, q)
    joints = [
        closing_joint(rng, f"loop{k}", kind, (parent, child), poses)
        for k, (kind, parent, child) in enumerate(loops)
    ]
    return replace(robot, joints=(*robot.joints, *joints), home=q)


def sprung(rng: np.random.Generator, joint: Joint) -> Joint:
    """With a spring, and sometimes a rotor, on each coordinate of a joint between bodies."""
    if joint.parent is None or rng.random() < 0.5:
        return joint
    return replace(
        joint,
        stiffness=rng.uniform(0.1, 2.0, size=joint.nv),
        armature=rng.uniform(0.0, 0.05, size=joint.nv),
    )


def random_mechanism(seed: int, n: int, loops: int, copies: int) -> tuple[Mechanism, Array, Array]:
    """A floating mechanism with loops closed at the pose that is returned; none to the world.

    `copies` of its joints are given twice, so that each of their constraints is redundant.
    """
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n)
    tree = replace(tree, joints=tuple(sprung(rng, joint) for joint in tree.joints))
    q = random_coordinates(rng, tree)
    closing = []
    for _ in range(loops if n > 1 else 0):
        a, b = rng.choice(n, size=2, replace=False)
        # Those of few constraints leave something to move.
        kind = rng.choice(["spherical", "cylindrical_free_orientation", "planar_free_orientation"])
        closing.append((str(rng.choice([kind, rng.choice(list(KINDS))])), f"b{a}", f"b{b}"))
    robot = close_at(rng, tree, q, closing)
    chosen = rng.choice(len(robot.joints), size=min(copies, len(robot.joints)), replace=False)
    twice = [replace(robot.joints[j], name=f"copy{j}", stiffness=0.0, armature=0.0) for j in chosen]
    springs = []
    if n > 1:
        a, b = rng.choice(n, size=2, replace=False)
        ends = rng.uniform(-0.2, 0.2, size=(2, 3))
        springs.append(PointSpring("s", f"b{a}", f"b{b}", *ends, 5.0, 1.0))
    single = [joint.name for joint in robot.tree_joints if joint.nv == 1]
    couplings = []
    if not loops and len(single) > 1:
        # At the pose as it is.
        at = [float(q[robot.q_offsets[robot.joint_index(name)]]) for name in single[:2]]
        couplings.append(Coupling("gear", *single[:2], -1.5, at[0] + 1.5 * at[1]))
    robot = replace(
        robot, joints=(*robot.joints, *twice), springs=tuple(springs), couplings=tuple(couplings)
    )
    return robot, q, rng.normal(size=robot.nv)
