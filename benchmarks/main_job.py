"""The figures of the main job: the A1 standing, a cube dropped, a double pendulum, the first step.

Each figure is measured here and now; times are medians over repetitions in this run. Where MuJoCo
is installed it runs the same experiments beside ours, at its defaults and at the settings that we
found best for it. Every time stands beside the error that belongs to it.

    python benchmarks/main_job.py [--json FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mujoco_peer import mujoco_a1, mujoco_cube, mujoco_double_pendulum
from rich.console import Console
from rich.table import Table

import robosim
from robosim.controllers import stand

Row = dict[str, Any]

FIRST_STEP = """
import sys, time
start = time.perf_counter()
import robosim
sim = robosim.Simulation(robosim.load(sys.argv[1]))
sim.step()
first = time.perf_counter() - start
sim.run(1.0, "stand")
import resource
print(first, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def median_us(run: Callable[[], None], steps: int, repetitions: int) -> float:
    """Median wall time of a step [us] over some repetitions of a run of `steps` steps."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times)) / steps * 1e6


def standing(name: str, seconds: float, repetitions: int, drop: float, tilt: float) -> Row:
    """The A1 let go above the ground under PD: landing, resting and drift of its feet."""
    robot = robosim.load(name)
    sim = robosim.Simulation(robot)
    q = np.array(robot.home)
    q[3:7] = [np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0]
    sim.set_state(q)
    q[2] += drop - sim.min_gap()
    sim.set_state(q)
    feet = [k for k, contact in enumerate(robot.contacts) if "foot" in contact.name]
    first = sim.run(1.0, "stand")
    before = sim.contact_positions()[feet]
    rest = sim.run(seconds - 1.0, "stand")
    drift = np.linalg.norm(sim.contact_positions()[feet] - before, axis=1).max()
    logs = (first, rest)
    controller = stand(robot)
    return {
        "experiment": f"{name} standing, dropped {drop} m, tilted {tilt} rad, dt 1 ms",
        "us_per_step": median_us(lambda: run_chunk(sim, controller), 1000, repetitions),
        "worst_penetration_m": max(0.0, -min(float(log.gap.min()) for log in logs)),
        "resting_gap_m": sim.min_gap(),
        "foot_drift_1_to_10_s_m": float(drift),
        "joint_violation_m": max(float(log.violation.max()) for log in logs),
        "iterations_mean": float(np.mean(np.concatenate([log.iterations for log in logs]))),
        "iterations_max": max(int(log.iterations.max()) for log in logs),
        "substeps_max": max(int(log.substeps.max()) for log in logs),
    }


def run_chunk(sim: robosim.Simulation, controller: Any) -> None:
    for _ in sim.stream(1000 * sim.timestep, controller):
        pass


def cube_drop() -> Row:
    """A 0.5 m cube of 1 kg falls 0.4 m, dt 10 ms."""
    robot = robosim.load("cube")
    sim = robosim.Simulation(robot, timestep=0.01)
    q = np.array(robot.home)
    sim.set_state(q)
    q[2] += 0.4 - sim.min_gap()
    sim.set_state(q)
    log = sim.run(2.0)
    return {
        "experiment": "cube dropped 0.4 m, dt 10 ms",
        "worst_penetration_m": max(0.0, -float(log.gap.min())),
        "resting_gap_m": sim.min_gap(),
        "iterations_mean": float(log.iterations.mean()),
        "iterations_max": int(log.iterations.max()),
    }


def double_pendulum(seconds: float) -> Row:
    """Energy of a double pendulum let go at 90 and 45 degrees, dt 10 ms."""
    sim = robosim.Simulation(robosim.load("double_pendulum"), timestep=0.01)
    sim.set_state([np.pi / 2, np.pi / 4])
    energies = [sim.energy()]
    for _ in range(round(seconds / sim.timestep)):
        sim.step()
        energies.append(sim.energy())
    E = np.array(energies)
    t = np.linspace(0.0, seconds, len(E))
    return {
        "experiment": f"double pendulum, {seconds:g} s, dt 10 ms",
        "us_per_step": median_us(lambda: run_chunk(sim, None), 1000, 5),
        "energy_deviation_max_J": float(np.abs(E - E[0]).max()),
        "energy_trend_J": float(np.polyfit(t, E, 1)[0] * seconds),
        "energy_scale_J": float(E[0] + 2 * 9.81 * 2.0),
    }


def first_step(name: str) -> Row:
    """From `import robosim` to the end of the first step, compiling and from the cache."""
    results = {}
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for label in ("cold", "warm"):
            done = subprocess.run(
                [sys.executable, "-c", FIRST_STEP, name],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
            results[label] = [float(part) for part in done.stdout.split()]
    return {
        "experiment": f"first step of {name}",
        "cold_s": results["cold"][0],
        "warm_s": results["warm"][0],
        "memory_cold_MB": results["cold"][1],
        "memory_warm_MB": results["warm"][1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the rows to this file")
    parser.add_argument("--quick", action="store_true", help="shorter runs, no cold start")
    arguments = parser.parse_args()
    quick = arguments.quick
    console = Console()
    repetitions, long = (3, 20.0) if quick else (9, 600.0)
    jobs: list[tuple[str, Callable[[], list[Row]]]] = [
        ("A1 standing", lambda: [standing("a1", 10.0, repetitions, 0.01, 0.0)]),
        ("A1 dropped", lambda: [standing("a1", 10.0, repetitions, 0.3, 0.3)]),
        ("A1 in MuJoCo", lambda: mujoco_a1(repetitions)),
        ("cube", lambda: [cube_drop(), *mujoco_cube()]),
        ("double pendulum", lambda: [double_pendulum(long), *mujoco_double_pendulum(long)]),
    ]
    if not quick:
        jobs.append(("first step", lambda: [first_step("a1")]))
    rows: list[Row] = []
    with console.status("") as status:
        for label, job in jobs:
            status.update(label)
            rows += job()
    for row in rows:
        table = Table(title=row["experiment"], show_header=False, title_justify="left")
        for key, value in row.items():
            if key != "experiment":
                table.add_row(key, f"{value:.4g}" if isinstance(value, float) else str(value))
        console.print(table)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
