"""Scenes in which many bodies touch: bins, walls of cards, wedges, limp robots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import AnyShape, HalfSpace
from robosim.simulation import Simulation

Array = NDArray[np.float64]

FRICTION = 0.5
EDGE = 0.1  # of a box [m]
SHAPES = ("box", "ball", "capsule", "cylinder")


def free_bodies(bodies: list[Body], places: list[Array], name: str) -> Mechanism:
    """Bodies that move freely, which start at coordinates (7,)."""
    joints = tuple(Joint(f"of {one.name}", "floating", None, one.name) for one in bodies)
    return Mechanism(name, tuple(bodies), joints, home=np.concatenate(places))


def among(pile: Mechanism, obstacles: Sequence[AnyShape]) -> Mechanism:
    """A pile whose bodies touch each other and obstacles."""
    return pile.with_contacts(obstacles, ground=False, self_collision=True)


def turned(rng: np.random.Generator) -> Array:
    """A random quaternion (4,)."""
    turn = rng.normal(size=4)
    return turn / np.linalg.norm(turn)


def one_of(kind: str, name: str, mass: float) -> Body:
    """A body of a shape that is about as large as a box of `EDGE`."""
    sizes = {
        "box": ("box", (EDGE, EDGE, EDGE)),
        "ball": ("sphere", (0.55 * EDGE,)),
        "capsule": ("capsule", (0.3 * EDGE, 0.8 * EDGE)),
        "cylinder": ("cylinder", (0.5 * EDGE, EDGE)),
    }
    shape = Geometry(*sizes[kind], name=name, friction=FRICTION)
    return Body.of_shape(shape, mass=mass, collides=True)


def bin_of(
    count: int, seed: int, masses: float = 1.0, shapes: tuple[str, ...] = ("box",)
) -> Mechanism:
    """A bin into which `count` bodies fall, turned at random, layer by layer.

    Parameters
    ----------
    masses : float
        Largest over smallest mass, all between them as likely; 1 for 1 kg each.
    shapes : of `SHAPES`
        Drawn from for each body.
    """
    rng = np.random.default_rng(seed)
    side = 2 * EDGE * max(1, round((count / 2) ** (1 / 3)))
    across = max(1, int(side / (1.8 * EDGE)))
    bodies, places = [], []
    for k in range(count):
        mass = masses ** rng.uniform(-0.5, 0.5)
        bodies.append(one_of(str(rng.choice(shapes)), f"body {k}", mass))
        layer, rest = divmod(k, across * across)
        place = (np.array([rest % across, rest // across]) - (across - 1) / 2) * 1.8 * EDGE
        height = 1.2 * EDGE + 1.8 * EDGE * layer
        places.append(np.array([*place, height, *turned(rng)]))
    walls = []
    for n, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        size = (0.1, side + 0.4, 40 * EDGE) if x else (side + 0.4, 0.1, 40 * EDGE)
        at = (x * (side / 2 + 0.1), y * (side / 2 + 0.1), 20 * EDGE)
        walls.append(Geometry("box", size, position=at, friction=FRICTION, name=f"wall {n}"))
    pile = free_bodies(bodies, places, f"bin of {count}")
    return pile.with_contacts(
        [HalfSpace(friction=FRICTION), *walls], ground=False, self_collision=True
    )


def house_of_cards(levels: int, seed: int) -> Mechanism:
    """Pairs of cards that lean on each other, with flat cards between the levels."""
    rng = np.random.default_rng(seed)
    size, lean = (0.06, 0.002, 0.09), 0.35
    high, half = size[2] * np.cos(lean), size[2] * np.sin(lean)
    bodies, places = [], []

    def put(name: str, at: tuple[float, float], angle: float) -> None:
        shape = Geometry("box", size, name=name, friction=0.6)
        bodies.append(Body.of_shape(shape, mass=0.002, collides=True))
        bent = angle + rng.normal(scale=1e-4)
        turn = [np.cos(bent / 2), np.sin(bent / 2), 0.0, 0.0]
        places.append(np.array([0.0, *at, *turn]))

    thick = size[1] / np.cos(lean)
    for level in range(levels):
        base = level * (high + 2.5 * size[1]) + 0.5 * high + size[1]
        for k in range(levels - level):
            y = (k - 0.5 * (levels - level - 1)) * 2.0 * (half + thick)
            put(f"left {level} {k}", (y - 0.5 * half - 0.5 * thick, base), -lean)
            put(f"right {level} {k}", (y + 0.5 * half + 0.5 * thick, base), lean)
            if k > 0:
                flat = y - half - thick
                put(f"flat {level} {k}", (flat, base + 0.5 * high + 1.5 * size[1]), np.pi / 2)
    cards = free_bodies(bodies, places, f"house of {len(bodies)} cards")
    return among(cards, [HalfSpace(friction=0.6)])


def wedge(seed: int, masses: float = 1.0) -> Mechanism:
    """Balls and a box that fall between two walls that lean towards each other."""
    rng = np.random.default_rng(seed)
    lean, walls = 0.15, []
    for n, sign in enumerate((-1, 1)):
        turn = (np.cos(lean / 2), 0.0, sign * np.sin(lean / 2), 0.0)
        at, name = (sign * 0.22, 0.0, 1.0), f"wall {n}"
        size = (0.1, 1.0, 2.0)
        walls.append(Geometry("box", size, at, quaternion=turn, friction=0.8, name=name))
    bodies, places = [], []
    for k in range(4):
        mass = masses ** rng.uniform(-0.5, 0.5)
        bodies.append(one_of("ball" if k else "box", f"body {k}", mass))
        places.append(np.array([*rng.uniform(-0.02, 0.02, 2), 1.0 + 0.16 * k, *turned(rng)]))
    return free_bodies(bodies, places, "wedge").with_contacts(
        walls, ground=False, self_collision=True
    )


def limp(name: str, seed: int) -> Mechanism:
    """A robot that starts 0.3 m up, turned and bent at random, whose links may touch."""
    robot = robosim.load(name, self_collision=True)
    rng = np.random.default_rng(seed)
    q = np.array(robot.home)
    q[3:7] = turned(rng)
    q[7:] += rng.normal(scale=0.2, size=len(q) - 7)
    sim = Simulation(robot)
    sim.set_state(q)
    q[2] += 0.3 - sim.min_gap(10.0)
    return replace(robot, home=tuple(q))
