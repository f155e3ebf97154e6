"""Rays beside `mj_multiRay`, against robots with meshes; and scans of a terrain by many robots."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.batch import BatchSimulation
from robosim.bench.case import Case, Setup
from robosim.bench.legged import G1
from robosim.bench.measure import Contender, race
from robosim.bench.report import OURS, Report, Row, paired
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HeightField
from robosim.loaders.packages import example_robot_data
from robosim.measuring.target import Target
from robosim.peers.mujoco_geoms import as_geoms, moved
from robosim.rays import Scene

Array = NDArray[np.float64]
MUJOCO = "MuJoCo"
HALF = 0.5  # of MuJoCo's time
ROBOTS = {
    "Panda, visual": ("panda_description/panda", "visual"),
    "Panda, collision": ("panda_description/panda", "collision"),
    "G1, collision": (G1, "collision"),
    "Go2, collision": ("go2_description", "collision"),
}
SCAN, STATES, RATE = 64, 64, 50.0  # rays along each side, robots, scans per second


def bundle(n: int, low: Array, high: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """An origin beside a box, and unit vectors to points in the box and around it."""
    middle, size = (low + high) / 2, high - low
    origin = middle + 1.5 * np.array((size.max(), 0.3 * size.max(), 0.5 * size.max()))
    ways = rng.uniform(low - 0.1 * size, high + 0.1 * size, (n, 3)) - origin
    return origin, ways / np.linalg.norm(ways, axis=1, keepdims=True)


def beside_mujoco(told: str, robot: Mechanism, kind: str, n: int) -> list[Contender]:
    """The same rays against the same meshes at home, by both."""
    import mujoco

    robot, model = as_geoms(mujoco, robot, f"{kind}s")
    q = np.array(robot.home)
    data = moved(mujoco, model, robot, q)
    low, high = data.geom_xpos.min(axis=0) - 0.05, data.geom_xpos.max(axis=0) + 0.05
    origin, ways = bundle(n, low, high, np.random.default_rng(1))
    scene = Scene(robot, kind).at(q)
    flat, found, distance = ways.ravel(), np.zeros(n, dtype=np.int32), np.zeros(n)
    normals = np.zeros(3 * n)

    def theirs() -> bool:
        given = None, True, -1, found, distance, normals, n, 1e10
        mujoco.mj_multiRay(model, data, origin, flat, *given)
        return True

    theirs()
    hits = scene.cast(origin, ways)
    there = distance >= 0
    apart = np.where(there, np.abs(hits.distance - distance), 0.0).max()
    differ = float(np.mean(np.isfinite(hits.distance) != there))
    errors = {"distance from MuJoCo's [m]": float(apart), "other hits": differ}
    figures: dict[str, Any] = {"triangles": int(model.nmeshface), "hits [%]": 100 * there.mean()}

    def own() -> bool:
        scene.cast(origin, ways)
        return True

    return [
        Contender(OURS, told, n, own, errors=errors, figures=figures),
        Contender(MUJOCO, told, n, theirs),
    ]


def scans(setup: Setup) -> tuple[Row, Target]:
    """Vertical rays on a grid around each of many A1 on a rough terrain, by one thread."""
    rng = np.random.default_rng(0)
    terrain = HeightField(0.05 * rng.random((200, 200)), (20.0, 20.0))
    robot = robosim.load("a1").with_contacts([terrain], ground=False)
    n = setup.choose(STATES, 8)
    batch = BatchSimulation(robot, n, threads=1, lanes=False)
    q = batch.q.copy()
    q[:, :2] = rng.uniform(-8.0, 8.0, (n, 2))
    batch.set_state(q)
    side = np.linspace(-0.8, 0.8, SCAN)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
    origins = np.concatenate((q[:, None, :2] + grid, np.full((n, len(grid), 1), 2.0)), axis=-1)
    names = [body.name for body in robot.bodies]

    def run() -> bool:
        hits = batch.cast(origins, (0.0, 0.0, -1.0), exclude=names)
        return bool(hits.distance.max() < 2.1)

    told = f"{n} A1 on a height field, {SCAN} x {SCAN} rays down from each"
    (row,) = race([Contender(OURS, told, n * len(grid), run)], setup.repetitions)
    assert row.timing is not None
    load = 1e-6 * row.timing.median * STATES * SCAN**2 * RATE
    what = f"height scans of {STATES} A1 at {RATE:.0f} Hz: time of one core"
    return row, Target(what, 100 * load, 100.0, "%")


def run_rays(setup: Setup) -> Report:
    """Bundles of rays at robots at home, and height scans."""
    rows: list[Row] = list(setup.missing("mujoco"))
    targets: list[Target] = []
    robots = ROBOTS if setup.has("mujoco") and example_robot_data() is not None else {}
    for told, (name, kind) in robots.items():
        setup.note(told)
        robot = robosim.load(name, floating_base=False, ground=False)
        raced = race(
            beside_mujoco(told, robot, kind, setup.choose(20_000, 2000)), setup.repetitions
        )
        own, peer = (row.timing for row in raced)
        assert own is not None
        assert peer is not None
        targets.append(Target(f"{told}: a ray / MuJoCo's", paired(own.cpu, peer.cpu), HALF))
        rows += raced
    setup.note("height scans")
    row, target = scans(setup)
    return Report((*rows, row), (*targets, target))


CASES = (
    Case(
        "rays",
        "rays at the Panda, the G1 and the Go2 beside mj_multiRay, and height scans of 64 A1",
        ("mujoco",),
        run_rays,
    ),
)
