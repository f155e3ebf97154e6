"""Worlds of many: robots under random torques, and heaps of boxes, some metres apart."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.legged import above
from robosim.bench.measure import Contender, mujoco_run, ours, race
from robosim.bench.report import OURS, PENETRATION, Report, Row
from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ConvergenceError
from robosim.loaders.writers import save
from robosim.measuring.target import Target
from robosim.peers.mujoco_run import Settings, quiet
from robosim.simulation import Simulation

Array = NDArray[np.float64]
DT = 2e-3
MOST = 15.0  # [N m]
APART = 3.0  # [m]
TOGETHER = 8  # largest number that is also solved as one system
ONE_SYSTEM = "as one system"
LIMIT = 1.1  # most of the time of n, over n times that of one


def row_of(one: Mechanism, n: int) -> Mechanism:
    """A world of n equal mechanisms, in rows of eight."""
    world = one
    for k in range(1, n):
        world = world.add(one, (APART * (k % 8), APART * (k // 8), 0.0), prefix=f"{k}/")
    return world


def under_torques(
    world: Mechanism, q: Array, torques: Array, size: int, islands: bool
) -> Contender:
    """robosim under a row of torques in each step, one call from Python a step."""
    sim = Simulation(world, DT, islands=islands)
    sim.set_state(q)
    start, figures = sim.copy(), {"islands": float(len(sim.islands))}

    def run() -> bool:
        try:
            for tau in torques:
                sim.step(tau)
        except ConvergenceError:
            return False
        return True

    run()  # so that both solvers are compiled
    told = "" if islands else ONE_SYSTEM
    begin = partial(sim.restore, start)
    return Contender(OURS, told, len(torques), run, begin, size=size, figures=figures)


def mujoco_under_torques(world: Mechanism, q: Array, torques: Array, size: int) -> Contender:
    """The same in MuJoCo."""
    import mujoco

    peer = mujoco_run(world, DT, Settings())
    driven = np.asarray(world.actuated)

    def run() -> bool:
        with quiet(mujoco):
            for tau in torques:
                peer.data.qfrc_applied[driven] = tau
                mujoco.mj_step(peer.model, peer.data)
        return bool(np.isfinite(peer.data.qpos).all())

    return Contender("MuJoCo", "Euler", len(torques), run, partial(peer.set_state, q), size=size)


def run_worlds(setup: Setup) -> Report:
    """A1 with all their geometry as contacts, each under random torques of its own, dt 2 ms."""
    robot = robosim.load("a1")
    q = above(robot, np.array(robot.home), 0.0)
    sizes, steps = setup.choose((1, 4, 8, 16, 32, 64), (1, 4)), setup.choose(400, 50)

    def field(n: int) -> list[Contender]:
        world = row_of(robot, n)
        home = np.array(world.home)
        home[2 :: robot.nq] = q[2]
        # The same torques for all, so that the time of one says what that of n has to be.
        torques = np.random.default_rng(0).uniform(-MOST, MOST, (steps, robot.nu))
        torques = np.tile(torques, (1, n))
        found = [under_torques(world, home, torques, n, True)]
        if n <= TOGETHER:
            found.append(under_torques(world, home, torques, n, False))
        if setup.has("mujoco"):
            found.append(mujoco_under_torques(world, home, torques, n))
        return found

    return report(setup, sizes, field, "robots")


def heap(boxes: int) -> Mechanism:
    """Boxes of 0.2 m above each other, turned at random, which fall to a heap."""
    random = np.random.default_rng(0)
    world: Mechanism | None = None
    for k in range(boxes):
        shape = Geometry("box", (0.2, 0.2, 0.2), name=f"box {k}", friction=0.6)
        body = Body.of_shape(shape, mass=1.0, collides=True)
        turn = random.normal(size=4)
        place = (*random.uniform(-0.1, 0.1, 2), 0.2 + 0.25 * k)
        joint = Joint(f"free {k}", "floating", None, body.name)
        home = (*place, *(turn / np.linalg.norm(turn)))
        part = Mechanism(body.name, (body,), (joint,), home=home)
        world = part if world is None else world.add(part)
    assert world is not None
    return world


def mujoco_heaps(world: Mechanism, steps: int, size: int) -> Contender:
    """Heaps in MuJoCo, as written to a file."""
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "heaps.xml"
        save(world, file)
        model = mujoco.MjModel.from_xml_path(str(file))
    model.opt.timestep = DT
    data: Any = mujoco.MjData(model)

    def begin() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = world.home

    def run() -> bool:
        with quiet(mujoco):
            mujoco.mj_step(model, data, nstep=steps)
        return bool(np.isfinite(data.qpos).all())

    begin()
    run()
    errors = {PENETRATION: max(0.0, -float(data.contact.dist.min(initial=0.0)))}
    return Contender("MuJoCo", "Euler", steps, run, begin, errors=errors, size=size)


def run_heaps(setup: Setup) -> Report:
    """Heaps of six boxes that fall on a floor and come to rest, 1 s, dt 2 ms."""
    sizes, steps = setup.choose((1, 4, 8, 16), (1, 2)), setup.choose(500, 250)
    floor = Geometry("box", (200.0, 200.0, 1.0), (0.0, 0.0, -0.5), name="floor", friction=0.6)

    def field(n: int) -> list[Contender]:
        world = row_of(heap(6), n).add(floor)
        found = []
        for islands in (True, False) if n <= TOGETHER // 2 else (True,):
            sim = Simulation(world, DT, islands=islands)
            log = sim.run(steps * DT)
            errors = {PENETRATION: max(0.0, -float(log.gap.min()))}
            figures = {"islands": float(len(sim.islands))}
            told = "" if islands else ONE_SYSTEM
            more: dict[str, Any] = {"errors": errors, "figures": figures, "size": n}
            found.append(ours(sim, None, steps, sim.set_state, told, **more))
        if setup.has("mujoco"):
            found.append(mujoco_heaps(world, steps, n))
        return found

    return report(setup, sizes, field, "heaps")


def report(
    setup: Setup, sizes: tuple[int, ...], field: Callable[[int], list[Contender]], what: str
) -> Report:
    """Times of all sizes, and the time of n over n times that of one."""
    rows: list[Row] = list(setup.missing("mujoco"))
    for n in sizes:
        setup.note(f"{n} {what}")
        rows += race(field(n), setup.choose(5, 2))
    mine = {row.size: row.timing for row in rows if row.who == OURS and not row.told}
    first = mine[1]
    targets = [
        Target(f"{n} {what} over {n} times one", timing.median / (n * first.median), LIMIT)
        for n, timing in mine.items()
        if n > 1 and timing is not None and first is not None
    ]
    return Report(tuple(rows), tuple(targets), what)


CASES = (
    Case(
        "worlds",
        "1 to 64 A1 in one world under random torques, dt 2 ms",
        ("mujoco",),
        run_worlds,
    ),
    Case("heaps", "1 to 16 heaps of six boxes in one world, dt 2 ms", ("mujoco",), run_heaps),
)
