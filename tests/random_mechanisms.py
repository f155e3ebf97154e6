"""Random bodies, trees and poses for tests, reproducible from a seeded generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim import Body, ContactPoint, Frame, Joint, Mechanism, Simulation
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
    rng: np.random.Generator, name: str, kind: str, parent: str | None, child: str
) -> Joint:
    """A joint of a kind with axis, offset and both points in general position."""
    return Joint(
        name,
        kind,
        parent,
        child,
        axis=rng.normal(size=3),
        parent_position=rng.uniform(-0.3, 0.3, size=3),
        child_position=rng.uniform(-0.3, 0.3, size=3),
        offset=random_quaternion(rng),
    )


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
