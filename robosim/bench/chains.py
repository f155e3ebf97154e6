"""Chains: hinges, balls, four-link segments, spheres that fall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.bench import others
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, mujoco_contender, mujoco_run, ours, race
from robosim.bench.report import CLOSURE, ENERGY, OURS, PENETRATION, Report, Row, ratio_target
from robosim.description.mechanism import Mechanism
from robosim.measuring.runs import largest, sample
from robosim.measuring.starts import OPENING, TILT, bent_start, lowest_segments
from robosim.measuring.target import Target
from robosim.models.builders import chain, segments, sphere_chain
from robosim.peers.mujoco_run import MuJoCoRun, Settings
from robosim.simulation import Simulation

DT, G = 0.01, 9.81
HINGES = {10: 0.7, 50: 0.7, 100: 0.25, 200: 0.15}  # most of robosim's time over MuJoCo's
BALLS = {10: 0.4, 100: 0.025}


def our_errors(
    sim: Simulation, steps: int, scale: float | None
) -> tuple[dict[str, float], dict[str, float], str]:
    """(errors, figures, note) of a run of robosim from its present state; `scale` is A [J]."""
    run = sample(sim, steps * sim.timestep, 1, sim.energy)
    errors = {CLOSURE: run.violation}
    if scale is not None:
        errors = {ENERGY: largest(run.values[0] - run.values[0][0]) / scale, **errors}
    if np.isfinite(run.gap):
        errors = {PENETRATION: max(0.0, -run.gap), **errors}
    figures = {"iterations": run.iterations, "divided steps": float(run.divided)}
    return errors, figures, run.failure


def mujoco_errors(
    robot: Mechanism, settings: Settings, steps: int, q: ArrayLike, scale: float | None
) -> tuple[dict[str, float], str]:
    """(errors, note) of the same run in MuJoCo."""
    peer = MuJoCoRun(robot, DT, settings)
    peer.set_state(q)
    every = max(1, steps // 200)
    _, (energies, closure, gaps) = peer.sample(steps, every, peer.energy, peer.closure, peer.gap)
    errors = {}
    if robot.contacts:
        errors[PENETRATION] = max(0.0, -float(np.min(gaps)))
    if scale is not None:
        errors[ENERGY] = largest(energies - energies[0]) / scale
    errors[CLOSURE] = largest(closure)
    note = "" if peer.failed_at is None else f"unstable at {peer.failed_at:.3g} s"
    return errors, note


def pair(
    setup: Setup,
    robot: Mechanism,
    size: int,
    steps: int,
    settings: dict[str, Settings],
    scale: float | None,
) -> list[Contender]:
    """robosim and MuJoCo with each of the settings, from the same start, with their errors."""
    sim = Simulation(robot, timestep=DT)
    q = bent_start(robot) if robot.name == "chain" else np.array(robot.home)
    sim.set_state(q)
    begin = sim.q
    errors, figures, note = our_errors(sim, steps, scale)
    mine: dict[str, Any] = {"errors": errors, "figures": figures, "size": size, "note": note}
    start: Callable[[], None] = lambda: sim.set_state(begin)  # noqa: E731
    found = [
        ours(sim, None, steps, start, **mine),
        ours(sim, None, steps, start, "every knot logged", 1, **mine),
    ]
    for told, chosen in settings.items() if setup.has("mujoco") else ():
        errors, note = mujoco_errors(robot, chosen, steps, begin, scale)
        peer = mujoco_run(robot, DT, chosen)
        more: dict[str, Any] = {"errors": errors, "size": size, "note": note}
        found.append(mujoco_contender(peer, steps, begin, told, **more))
    return found


def run_chains(setup: Setup, kind: str, limits: dict[int, float]) -> Report:
    """Chains at rest, straight, 45 degrees from hanging, dt 10 ms."""
    rows: list[Row] = list(setup.missing(*PEERS_OF[kind]))
    for n in limits:
        setup.note(f"n = {n}")
        # About the same work at each size, long enough for the cost of a call not to matter.
        steps = max(100, 10_000 // n) // setup.choose(1, 4)
        robot = chain(n, kind)
        scale = G * n**2 / 2 * (1 - np.cos(np.pi / 4))  # energy of a fall from 45 degrees [J]
        field = pair(setup, robot, n, steps, {"Euler": Settings()}, scale)
        if kind == "revolute":
            field += others.chains(setup, robot, n, steps, DT, scale)
        rows += race(field, setup.repetitions)
    targets = [one for n, limit in limits.items() for one in ratio_target(tuple(rows), limit, n)]
    return Report(tuple(rows), tuple(targets), "links")


PEERS_OF = {
    "revolute": ("mujoco", "pinocchio", "pybullet", "drake"),
    "spherical": ("mujoco",),
}


def run_segments(setup: Setup) -> Report:
    """Ten rhombi of four rods below each other, opened to 45 degrees, dt 10 ms."""
    n, steps = setup.choose(10, 3), setup.choose(1000, 100)
    robot = segments(n, OPENING, TILT)
    sim = Simulation(robot, timestep=DT)
    scale = sim.energy() - lowest_segments(n)
    settings = {
        "Euler": Settings(),
        "discrete, solref .01 1": Settings("discrete", solref=(0.01, 1.0)),
        "RK4, solimp .9999": Settings("RK4", solimp=(0.9999, 0.9999, 0.001)),
    }
    rows = setup.missing("mujoco") + race(
        pair(setup, robot, 0, steps, settings, scale), setup.repetitions
    )
    energy = next(row for row in rows if row.who == OURS).errors[ENERGY]
    target = Target("robosim's energy error / A", energy, 0.02)
    return Report(rows, (*ratio_target(rows, 1.0), target))


def run_spheres(setup: Setup) -> Report:
    """A chain of spheres on ball joints that falls on the ground, dt 10 ms."""
    n, steps = setup.choose(100, 20), setup.choose(1000, 200)
    robot = sphere_chain(n)
    settings = {
        "Euler": Settings(),
        "RK4, solref .01 1": Settings("RK4", solref=(0.01, 1.0)),
    }
    field = pair(setup, robot, 0, steps, settings, None)
    rows = setup.missing("mujoco") + race(field, setup.choose(3, 1))
    mine = next(row for row in rows if row.who == OURS)
    us = mine.timing.median if mine.timing else float("nan")
    targets = (
        Target("runs that failed", float(bool(mine.note)), 0),
        Target("robosim's time per step", us, 100.0, "us"),
        Target("robosim's penetration", mine.errors[PENETRATION], 0.0, "m"),
    )
    return Report(rows, targets)


CASES = (
    Case(
        "hinge_chain",
        "chains of rods on hinges, dt 10 ms, n = 10, 50, 100, 200",
        PEERS_OF["revolute"],
        lambda setup: run_chains(setup, "revolute", HINGES),
    ),
    Case(
        "ball_chain",
        "chains of rods on ball joints, dt 10 ms, n = 10, 100",
        PEERS_OF["spherical"],
        lambda setup: run_chains(setup, "spherical", BALLS),
    ),
    Case("segments", "ten four-link segments for 10 s, dt 10 ms", ("mujoco",), run_segments),
    Case("spheres", "100 spheres that fall, dt 10 ms", ("mujoco",), run_spheres),
)
