"""Two random bodies of every pair of shapes dropped on the ground and on each other.

    python -m benchmarks.drop_pairs --seeds 6 --timestep 0.005

A box, a ball, a cylinder, a capsule, an ellipsoid and the hull of random points, of random sizes,
are let go one above the other, turned and moving at random. Told of each pair: runs that ended in a
`ConvergenceError`, runs that gained energy anywhere, the deepest penetration, and the Newton
iterations of a step. Ends with exit code 1 if a run failed or gained energy.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np
from rich.console import Console
from rich.progress import track

import robosim
from benchmarks.outcomes import Outcome, add_row, follow, table_of
from robosim import Body, Geometry, HalfSpace, Joint, Mechanism, Simulation

SHAPES = ("box", "ball", "cylinder", "capsule", "ellipsoid", "hull")
HEIGHTS = (0.35, 0.85)  # of the centres above the ground [m]


def random_shape(kind: str, rng: np.random.Generator) -> tuple[Geometry, np.ndarray]:
    """A shape, and the edges of the box whose inertia its body gets."""
    if kind == "box":
        edges = rng.uniform(0.06, 0.3, 3)
        return Geometry("box", tuple(edges), friction=0.8), edges
    if kind == "ball":
        radius = rng.uniform(0.05, 0.15)
        return Geometry("sphere", (radius,), friction=0.8), np.full(3, 1.5 * radius)
    if kind in ("cylinder", "capsule"):
        radius, length = rng.uniform(0.04, 0.12), rng.uniform(0.08, 0.3)
        edges = np.array([1.7 * radius, 1.7 * radius, length])
        return Geometry(kind, (radius, length), friction=0.8), edges
    if kind == "ellipsoid":
        half = rng.uniform(0.04, 0.15, 3)
        # A solid ellipsoid has the inertia of a box of these edges.
        return Geometry(kind, tuple(half), friction=0.8), 2 * np.sqrt(0.6) * half
    points = 0.08 * rng.normal(size=(14, 3))
    points -= points.mean(axis=0)
    faces = np.zeros((0, 3), dtype=int)
    return Geometry("mesh", vertices=points, faces=faces, friction=0.8), np.full(3, 0.15)


def random_scene(kinds: tuple[str, str], seed: int) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Two bodies of 1 kg above the ground, with q and v."""
    rng = np.random.default_rng([seed, *(SHAPES.index(kind) for kind in kinds)])
    bodies, joints, q = [], [], []
    for name, kind, height in zip(("lower", "upper"), kinds, HEIGHTS, strict=True):
        shape, (a, b, c) = random_shape(kind, rng)
        inertia = np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) / 12
        bodies.append(Body(name, 1.0, inertia, collisions=(shape,)))
        joints.append(Joint(f"{name}_base", "floating", None, name))
        turn = rng.normal(size=4)
        q += [*rng.uniform(-0.05, 0.05, 2), height, *turn / np.linalg.norm(turn)]
    robot = Mechanism(
        "drop", tuple(bodies), tuple(joints), obstacles=[HalfSpace()], self_collision=True
    )
    return robot, np.array(q), 0.5 * rng.normal(size=12)


def drop(kinds: tuple[str, str], seed: int, timestep: float, seconds: float) -> Outcome:
    """Let a pair fall."""
    robot, q, v = random_scene(kinds, seed)
    sim = Simulation(robot, timestep=timestep)
    sim.set_state(q, v)
    return follow(sim, seconds)


def main() -> int:
    """Drop all pairs and print a table; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=6, help="drops of each pair")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--timestep", type=float, default=5e-3, help="[s]")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each drop")
    options = parser.parse_args()
    pairs = list(itertools.combinations_with_replacement(SHAPES, 2))
    table = table_of("pair", "drops")
    console = Console()
    bad = 0
    for pair in track(pairs, "dropping", console=console, transient=True):
        seeds = range(options.first, options.first + options.seeds)
        outcomes = [drop(pair, seed, options.timestep, options.seconds) for seed in seeds]
        bad += sum(o.failed + o.gained for o in outcomes)
        add_row(table, " on ".join(reversed(pair)), seeds, outcomes)
    console.print(table)
    console.print(f"robosim {robosim.__version__}, timestep {options.timestep} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
