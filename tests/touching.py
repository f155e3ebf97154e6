"""Bodies of one shape and scenes of them, for tests of what touches what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import Body, Geometry, HalfSpace, Joint, Mechanism

G = 9.81


def box(
    name: str, edges: ArrayLike = (0.2, 0.2, 0.2), mass: float = 1.0, friction: float = 0.8
) -> Body:
    """A box of uniform density."""
    a, b, c = np.asarray(edges, dtype=float)
    inertia = mass / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    return Body(name, mass, inertia, collisions=(Geometry("box", (a, b, c), friction=friction),))


def ball(name: str, radius: float = 0.1, mass: float = 1.0, friction: float = 0.8) -> Body:
    """A ball of uniform density."""
    shape = Geometry("sphere", (radius,), friction=friction)
    return Body(name, mass, 0.4 * mass * radius**2 * np.eye(3), collisions=(shape,))


def roller(
    name: str,
    kind: str,
    radius: float = 0.1,
    length: float = 0.2,
    mass: float = 1.0,
    friction: float = 0.8,
) -> Body:
    """A cylinder or a capsule along z, of the inertia of the cylinder in either case."""
    across, along = mass * (3 * radius**2 + length**2) / 12, mass * radius**2 / 2
    shape = Geometry(kind, (radius, length), friction=friction)
    return Body(name, mass, np.diag([across, across, along]), collisions=(shape,))


def hull(name: str, rng: np.random.Generator, size: float = 0.08) -> Body:
    """The convex hull of random points, with some inertia."""
    points = size * rng.normal(size=(14, 3))
    points -= points.mean(axis=0)
    shape = Geometry("mesh", vertices=points, faces=np.zeros((0, 3), dtype=int))
    return Body(name, 1.0, 0.6 * size**2 * np.eye(3), collisions=(shape,))


def free(*bodies: Body, **options) -> Mechanism:
    """Bodies that float; options as of `Mechanism`."""
    joints = [Joint(f"{body.name}_base", "floating", None, body.name) for body in bodies]
    return Mechanism("scene", bodies, tuple(joints), **options)


def clapping(kind: str, base: str) -> Mechanism:
    """A trunk with two arms of two links, whose hands may meet."""
    trunk = box("trunk", (0.4, 0.7, 0.1), 3.0)
    bodies, joints = [trunk], [Joint("base", base, None, "trunk")]
    for side, y in (("left", 0.3), ("right", -0.3)):
        arm, hand = box(f"{side} arm", (0.04, 0.04, 0.2), 0.5), ball(f"{side} hand", 0.06, 0.4)
        turn = -np.sign(y) * 0.4
        offset = (np.cos(turn / 2), np.sin(turn / 2) * -1.0, 0.0, 0.0)
        joints.append(
            Joint(
                f"{side} shoulder",
                "revolute",
                "trunk",
                arm.name,
                (1, 0, 0),
                (0, y, 0.06),
                (0, 0, -0.11),
                offset=offset,
            )
        )
        joints.append(
            Joint(
                f"{side} wrist", kind, arm.name, hand.name, (1, 0, 0), (0, 0, 0.11), (0, 0, -0.08)
            )
        )
        bodies += [arm, hand]
    return Mechanism(
        "clapping", tuple(bodies), tuple(joints), self_collision=True, obstacles=(HalfSpace(),)
    )


def about_y(angle: float) -> NDArray[np.float64]:
    """The turn (w, x, y, z) about y that tips the z axis towards x."""
    return np.array([np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0])


def poses(*rows: Sequence[float]) -> NDArray[np.float64]:
    """q of bodies that float: (x, y, z) at identity, or all seven coordinates."""
    return np.concatenate([[*row, 1.0, 0, 0, 0] if len(row) == 3 else row for row in rows])


def flat_mesh(width: float, n: int) -> Geometry:
    """A square in z = 0 about the origin, of 2 n^2 triangles that face up."""
    x = np.linspace(-width / 2, width / 2, n + 1)
    vertices = np.array([[a, b, 0.0] for a in x for b in x])
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1, 1)
    lower, upper = corner + np.array([0, n + 1, n + 2]), corner + np.array([0, n + 2, 1])
    return Geometry("mesh", vertices=vertices, faces=np.vstack((lower, upper)), name="flat")
