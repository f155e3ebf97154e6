"""Bodies thrown over kerbs, blocks, posts, rough fields and each other: energy from nothing.

    python -m benchmarks.edges --seeds 20
    python -m benchmarks.edges --shapes cylinder disc --grounds kerbs --seeds 100 --worst 10

A body of 1 kg and of random proportions falls on a ground, turned, moving and spinning at random,
without restitution. The time step is 1 to 10 ms. What it gains in a step is told in m g r, of its
radius, in two ways:

- `shown`: by the velocities at the knots, as `Simulation.energy` reads them;
- `moved`: by the momenta at the knots with half of what contacts give over the step that follows,
  so from the motion alone. It is compared with the highest of three knots, as at an impact it may
  be lower than after it. Only knots before steps that are not divided count.

Counted are throws in which a step gains more than 1e-3, and of those that moved so the ones in
which it is less than half as much with steps of a quarter, as errors of the integrator are. Then
come throws with a velocity at a knot that does not belong to the motion. It is to be no farther
from the mean of the rates over both steps beside than half of what these differ by, and half of a
free fall over a step. Lengths are those of the mass matrix, and 1 % of sqrt(m g r) is allowed. Then
follow throws in which shapes overlap by more than 1e-5 m, and those that end in a
`ConvergenceError`. Ends with exit code 1 if there is one of the last two kinds.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from robosim import (
    Body,
    ConvergenceError,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    Simulation,
    TriangleMesh,
)
from robosim.quaternions import conjugate, multiply, rotation_matrix, rotation_vector

SHAPES = ("cylinder", "disc", "cone", "capsule", "box")
GROUNDS = ("kerbs", "blocks", "posts", "field", "other")
TIMESTEPS = (0.001, 0.002, 0.005, 0.01)
G, FRICTION, SECONDS = 9.81, 0.6, 1.2
GAIN, DEPTH, OFF = 1e-3, 1e-5, 0.01  # [m g r], [m], [sqrt(m g r)]
WINDOW = 3  # knots: at that of an impact, momenta are those in its middle


def solid(kind: str, radius: float, length: float) -> Geometry:
    """A shape about the z-axis."""
    if kind in ("cylinder", "disc", "capsule"):
        kind = "cylinder" if kind == "disc" else kind
        return Geometry(kind, (radius, length), friction=FRICTION)
    if kind == "box":
        return Geometry("box", (1.6 * radius, 1.6 * radius, length), friction=FRICTION)
    turns = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)
    rim = np.stack([radius * np.cos(turns), radius * np.sin(turns), 0 * turns - length / 4], 1)
    points = np.vstack([rim, [0, 0, 0.75 * length]])
    return Geometry("mesh", vertices=points, faces=np.zeros((0, 3), dtype=int), friction=FRICTION)


def thrown(name: str, kind: str, rng: np.random.Generator) -> tuple[Body, float, float]:
    """A body of 1 kg with the inertia of a cylinder, its radius, and how far it reaches [m]."""
    radius = rng.uniform(0.03, 0.15)
    slender = rng.uniform(-1.3, -0.5) if kind == "disc" else rng.uniform(-0.5, 0.8)
    length = radius * 10**slender
    across, along = (3 * radius**2 + length**2) / 12, radius**2 / 2
    inertia = np.diag([across, across, along])
    body = Body(name, 1.0, inertia, collisions=(solid(kind, radius, length),))
    return body, radius, 1.2 * radius + length


def stairs(heights: np.ndarray, width: float = 0.25) -> TriangleMesh:
    """A mesh of steps along x, 2 m wide."""
    vertices: list[tuple[float, float, float]] = []
    for k, z in enumerate(heights):
        for x in (k * width, (k + 1) * width):
            vertices += [(x, -1.0, z), (x, 1.0, z)]
    faces = []
    for k in range(0, len(vertices) - 2, 2):
        faces += [(k, k + 2, k + 3), (k, k + 3, k + 1)]
    shape = Geometry("mesh", vertices=np.array(vertices), faces=np.array(faces))
    return TriangleMesh(shape, friction=FRICTION)


def scene(kind: str, ground: str, seed: int) -> tuple[Mechanism, np.ndarray, np.ndarray, float]:
    """A mechanism, where it starts (q and v), and the radius of what is thrown [m]."""
    rng = np.random.default_rng([seed, SHAPES.index(kind), GROUNDS.index(ground)])
    body, radius, half = thrown("body", kind, rng)
    bodies, obstacles = [body], []
    halves = [half]
    place = np.array([*rng.uniform(-0.1, 0.1, 2), 0.2])
    if ground == "kerbs":
        obstacles = [stairs(np.cumsum(rng.uniform(-0.12, 0.04, 10)))]
        place[0] += 0.6
    elif ground == "blocks":
        at = [(x, y) for x in (-0.31, 0.0, 0.31) for y in (-0.31, 0.0, 0.31)]
        obstacles = [
            Geometry("box", (0.3, 0.3, h), position=(*p, h / 2 - 0.3), friction=FRICTION,
                     name=f"block{p}")
            for p, h in zip(at, rng.uniform(0.1, 0.3, 9), strict=True)
        ]  # fmt: skip
    elif ground == "posts":
        thick = rng.uniform(0.02, 0.1)
        obstacles = [
            Geometry("cylinder", (thick, 0.4), position=(x, y, -0.2), friction=FRICTION,
                     name=f"post{x}{y}")
            for x in (-0.15, 0.15) for y in (-0.15, 0.15)
        ]  # fmt: skip
    elif ground == "field":
        heights = 0.018 * rng.normal(size=(21, 21)).cumsum(0)
        obstacles = [HeightField(heights, (2.0, 2.0), friction=FRICTION)]
        place[2] = 0.3
    else:
        obstacles = [HalfSpace(friction=FRICTION)]
        other, _, half = thrown("other", kind, rng)
        bodies.append(other)
        halves.append(half)
    q, v = [], []
    for k, half in enumerate(halves):
        turn = rng.normal(size=4)
        place[2] += half
        q += [*(place + k * np.array([0.02, 0.01, 0.0])), *turn / np.linalg.norm(turn)]
        place[2] += half
        v += [*rng.uniform(-1, 1, 2), 0.0, *rng.uniform(-6, 6, 3)]
    joints = tuple(Joint(f"{one.name}_base", "floating", None, one.name) for one in bodies)
    pairs = {"contact_pairs": [("body", "other")]} if len(bodies) > 1 else {}
    robot = Mechanism("scene", tuple(bodies), joints, obstacles=obstacles, **pairs)
    return robot, np.array(q), np.array(v), radius


def momenta(sim: Simulation) -> np.ndarray:
    """(n, 6), with which bodies arrive at the knot: without what contacts give there."""
    return np.array([body["p"] for body in sim.parts.state.bodies])


def energy_of(sim: Simulation, p: np.ndarray, x: np.ndarray, q: np.ndarray) -> float:
    """Of momenta (n, 6) and poses [J]."""
    total = 0.0
    for body, wrench, place, turn in zip(sim.robot.bodies, p, x, q, strict=True):
        own = rotation_matrix(turn).T @ wrench[3:]
        total += 0.5 * wrench[:3] @ wrench[:3] / body.mass + body.mass * G * place[2]
        total += 0.5 * own @ np.linalg.solve(body.inertia, own)
    return float(total)


def velocities(sim: Simulation) -> np.ndarray:
    """(n, 6) of bodies at the knot, world."""
    turns = rotation_matrix(sim.state.q)
    spins = np.einsum("bij,bj->bi", turns, sim.state.omega)
    return np.concatenate([sim.state.v, spins], axis=1)


def rates_between(x: np.ndarray, q: np.ndarray, sim: Simulation) -> np.ndarray:
    """(n, 6) of bodies over the step from poses (n, 3) and (n, 4) to those of a simulation."""
    turns = [
        rotation_vector(multiply(b, conjugate(a))) for a, b in zip(q, sim.state.q, strict=True)
    ]
    return np.concatenate([sim.state.x - x, np.array(turns)], axis=1) / sim.timestep


def off_motion(
    sim: Simulation, turns: np.ndarray, v: np.ndarray, before: np.ndarray, after: np.ndarray
) -> float:
    """How far velocities at a knot are from the motion's, beyond what is allowed [sqrt(J)]."""

    def size(motion: np.ndarray) -> float:
        square = 0.0
        for body, turn, one in zip(sim.robot.bodies, turns, motion, strict=True):
            own = rotation_matrix(turn).T @ one[3:]
            square += body.mass * one[:3] @ one[:3] + own @ body.inertia @ own
        return float(np.sqrt(square))

    fall = 0.5 * G * sim.timestep * np.sqrt(sim.robot.total_mass)
    return size(v - 0.5 * (before + after)) - 0.5 * size(after - before) - fall


@dataclass
class Throw:
    """What came of a throw; gains are the largest of a step [m g r].

    `off` is the farthest that velocities at a knot are from the motion's [sqrt(m g r)].
    """

    shape: str
    ground: str
    seed: int
    timestep: float
    shown: float = 0.0
    moved: float = 0.0
    shown_at: int = -1
    moved_at: int = -1
    off: float = 0.0
    off_at: int = -1
    depth: float = 0.0
    failed: str = ""


def throw(shape: str, ground: str, seed: int, parts: int = 1) -> Throw:
    """Let a body fly, bounce and roll until it has left the ground or the time is over."""
    robot, q, v, radius = scene(shape, ground, seed)
    timestep = TIMESTEPS[seed % len(TIMESTEPS)] / parts
    out = Throw(shape, ground, seed, timestep)
    sim = Simulation(robot, timestep)
    sim.set_state(q, v)
    shown, moved, scale = [sim.energy()], [np.inf], G * radius
    before = None
    for k in range(round(SECONDS / timestep)):
        if sim.state.x[0, 2] < -0.6 or np.abs(sim.state.x[0, :2]).max() > 2.4:
            break
        arrived, x, turn = momenta(sim), sim.state.x.copy(), sim.state.q.copy()
        v = velocities(sim)
        try:
            info = sim.step()
        except ConvergenceError as error:
            out.failed = str(error)[:80]
            break
        after = rates_between(x, turn, sim)
        if before is not None:
            off = off_motion(sim, turn, v, before, after) / np.sqrt(scale)
            if off > out.off:
                out.off, out.off_at = off, k
        before = after
        gain = (sim.energy() - shown[-1]) / scale
        if gain > out.shown:
            out.shown, out.shown_at = gain, k
        shown.append(sim.energy())
        if info.substeps == 1:
            given = momenta(sim) - arrived
            given[:, 2] += G * timestep
            moved.append(energy_of(sim, arrived + 0.5 * given, x, turn))
            gain = (moved[-1] - max(moved[-1 - WINDOW : -1])) / scale
            if gain > out.moved:
                out.moved, out.moved_at = gain, k
        out.depth = max(out.depth, -sim.min_gap())
    return out


def falls(one: Throw) -> bool:
    """Whether what is gained is less than half as much with steps of a quarter."""
    return throw(one.shape, one.ground, one.seed, 4).moved < 0.5 * one.moved


def main() -> int:
    """Throw, and print a table; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=SHAPES)
    parser.add_argument("--grounds", nargs="+", choices=GROUNDS, default=GROUNDS)
    parser.add_argument("--seeds", type=int, default=20, help="throws of each shape and ground")
    parser.add_argument("--begin", type=int, default=0, help="the first seed")
    parser.add_argument("--worst", type=int, default=0, help="how many throws to list")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console()
    table = Table("shape", "throws", "shown", "moved", "of these fall", "off", "deep", "failed")
    worse = False
    cases = [
        (shape, ground, seed)
        for shape in options.shapes
        for ground in options.grounds
        for seed in range(options.begin, options.begin + options.seeds)
    ]
    throws = [throw(*case) for case in track(cases, "throwing", console=console, transient=True)]
    for shape in options.shapes:
        own = [one for one in throws if one.shape == shape]
        moved = [one for one in own if one.moved > GAIN]
        fall = [one for one in moved if falls(one)]
        deep, failed = sum(one.depth > DEPTH for one in own), sum(bool(one.failed) for one in own)
        shown, off = sum(one.shown > GAIN for one in own), sum(one.off > OFF for one in own)
        counts = len(own), shown, len(moved), len(fall), off, deep, failed
        table.add_row(shape, *map(str, counts))
        worse = worse or deep + failed > 0
    console.print(table)
    for one in sorted(throws, key=lambda each: -max(each.moved, each.shown))[: options.worst]:
        console.print(one, soft_wrap=True)
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
