"""How the time of a step grows with the number of links, and with that of contacts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.bench.case import Case, Setup
from robosim.bench.chains import our_errors
from robosim.bench.measure import mujoco_contender, mujoco_run, ours, race
from robosim.bench.report import OURS, Report, Row
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.measuring.runs import exponent
from robosim.measuring.starts import bent_start
from robosim.measuring.target import Target
from robosim.models.builders import chain, sphere_chain
from robosim.models.builders.parts import BLUE, rod
from robosim.peers.mujoco_run import Settings
from robosim.simulation import Simulation

# The weight of 500 links makes the first hinge turn by more than two radians in 10 ms. No time step
# without damping can follow this motion, as the tension at the top grows with the number of links.
DT = 1e-3
LONG = 50  # size from which slopes are taken; below, the cost of a call dominates
LINKS = (10, 20, 50, 100, 200, 500, 1000)
CONTACTS = (5, 10, 20, 50, 100, 200, 500)


def binary_tree(n: int) -> Mechanism:
    """n rods of 1 m and 1 kg on hinges about y, two below the lower end of each."""
    bodies = tuple(rod(f"link{k}", 1.0, 1.0, 0.02, BLUE) for k in range(n))
    joints = tuple(
        Joint(
            f"joint{k}",
            "revolute",
            None if k == 0 else f"link{(k - 1) // 2}",
            f"link{k}",
            (0, 1, 0),
            (0, 0, 0) if k == 0 else (0, 0, -0.5),
            (0, 0, 0.5),
        )
        for k in range(n)
    )
    return Mechanism("tree", bodies, joints)


def spread(robot: Mechanism) -> NDArray[np.float64]:
    """The tree's start: siblings swing apart from each other."""
    return np.where(np.arange(robot.nq) % 2 == 0, 0.3, -0.3)


def lying(n: int) -> tuple[Mechanism, NDArray[np.float64]]:
    """n spheres in a row on the ground, and their coordinates: the rising chain, laid down."""
    robot = sphere_chain(n)
    q = np.array(robot.home)
    q[3:7] = [np.cos(np.pi / 8), 0.0, np.sin(np.pi / 8), 0.0]
    return robot, q


def run_growth(setup: Setup) -> Report:
    """Chains and trees of hinges, and rows of spheres that lie on the ground, dt 1 ms."""
    steps, repetitions = 50, setup.choose(7, 3)
    links = setup.choose(LINKS, (10, 50, 100))
    contacts = setup.choose(CONTACTS, (5, 50, 100))
    rows: list[Row] = []
    for what, sizes in (("chain", links), ("tree", links), ("contacts", contacts)):
        field = []
        for n in sizes:
            setup.note(f"{what}, n = {n}")
            if what == "contacts":
                robot, q = lying(n)
            else:
                robot = chain(n) if what == "chain" else binary_tree(n)
                q = bent_start(robot) if what == "chain" else spread(robot)
            sim = Simulation(robot, timestep=DT)
            sim.set_state(q)
            errors, figures, note = our_errors(sim, steps, None)
            more: dict[str, Any] = {
                "errors": errors,
                "figures": figures,
                "size": n,
                "note": note,
                "told": what,
            }
            field.append(ours(sim, None, steps, partial(sim.set_state, q), **more))
            # A chain is written as nested elements, of which MuJoCo reads fewer than 500.
            if setup.has("mujoco") and n <= 200:
                peer = mujoco_run(robot, DT, Settings())
                field.append(mujoco_contender(peer, steps, q, what, size=n))
        rows += race(field, repetitions)
    targets = []
    for what in ("chain", "tree", "contacts"):
        slope = slope_of([row for row in rows if row.who == OURS and row.told == what])
        targets += [
            Target(f"{what}: slope from n = {LONG} on", slope, 1.1),
            Target(f"{what}: slope from n = {LONG} on", slope, 0.9, at_least=True),
        ]
    return Report((*setup.missing("mujoco"), *rows), tuple(targets), "links or contacts")


def slope_of(rows: list[Row]) -> float:
    """The exponent p of time ~ n^p, for n >= `LONG`."""
    long = [(row.size, row.timing.median) for row in rows if row.size >= LONG and row.timing]
    return exponent(*zip(*long, strict=True)) if len(long) > 1 else float("nan")


CASES = (
    Case(
        "growth",
        "time over the number of links, to 1000, and of contacts, to 500",
        ("mujoco",),
        run_growth,
    ),
)
