"""Other figures quoted in README: a falling cube, a long double pendulum, the first step."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from robosim.ahead import FEATURES
from robosim.bench.case import Case, Setup
from robosim.bench.chains import DT
from robosim.bench.measure import mujoco_contender, mujoco_run, ours, race
from robosim.bench.report import ENERGY, OURS, PENETRATION, Report, Row, Timing
from robosim.kernels.compiler.cache import AHEAD
from robosim.measuring.runs import largest, sample, trend
from robosim.measuring.target import Target
from robosim.models.builders import cube, double_pendulum
from robosim.peers.mujoco_run import MuJoCoRun, Settings
from robosim.simulation import Simulation

FIRST_STEP = """
import sys, time
start = time.perf_counter()
import robosim
sim = robosim.Simulation(robosim.load("a1"))
sim.step()
first = time.perf_counter() - start
try:  # of this process alone; getrusage() tells of what has started it as well
    peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
except OSError:
    peak = float("nan")
print(first, peak)
"""
# Most time [s] of a first step: compiling, from the cache, and with the kernels of a wheel.
COLD, WARM, AT_ONCE = 25.0, 1.5, 2.0
ALL_FEATURES = 180.0  # most time [s] for the kernels of all features, from source


def run_cube(setup: Setup) -> Report:
    """A cube of 0.5 m and 1 kg falls 0.4 m, dt 10 ms, 2 s."""
    robot, steps = cube(), 200
    sim = Simulation(robot, timestep=DT)
    q = np.array(robot.home)
    sim.set_state(q)
    q[2] += 0.4 - sim.min_gap()
    sim.set_state(q)
    run = sample(sim, steps * DT, 1)
    errors = {PENETRATION: max(0.0, -run.gap), "gap at rest [m]": sim.min_gap()}
    field = [ours(sim, None, steps, lambda: sim.set_state(q), errors=errors)]
    settings = {"Euler": Settings(), "RK4, solref .01 1": Settings("RK4", (0.01, 1.0))}
    for told, chosen in settings.items() if setup.has("mujoco") else ():
        peer = MuJoCoRun(robot, DT, chosen)
        peer.set_state(q)
        gaps = peer.sample(steps, 1, peer.gap)[1][0]
        errors = {PENETRATION: max(0.0, -float(gaps.min())), "gap at rest [m]": float(gaps[-1])}
        timed = mujoco_run(robot, DT, chosen)
        field.append(mujoco_contender(timed, steps, q, told, errors=errors))
    rows = setup.missing("mujoco") + race(field, setup.repetitions)
    return Report(rows, (Target("robosim's penetration", errors_of(rows)[PENETRATION], 0.0, "m"),))


def run_double_pendulum(setup: Setup) -> Report:
    """A double pendulum released at 90 and 45 degrees, dt 10 ms, for 10 minutes."""
    robot, start = double_pendulum(), np.array([np.pi / 2, np.pi / 4])
    seconds = setup.choose(600.0, 20.0)
    steps = round(seconds / DT)
    sim = Simulation(robot, timestep=DT)
    sim.set_state(start)
    scale = sim.energy() + 2 * 9.81 * 1.0  # energy with both rods hanging
    run = sample(sim, seconds, 4, sim.energy)

    def told_of(t: object, energies: object) -> dict[str, float]:
        error = np.asarray(energies) - np.asarray(energies)[0]
        return {ENERGY: largest(error) / scale, "trend / A": trend(np.asarray(t), error) / scale}

    chunk = min(steps, 2000)
    errors = told_of(run.t, run.values[0])
    field = [ours(sim, None, chunk, lambda: sim.set_state(start), errors=errors)]
    for told in ("Euler", "RK4") if setup.has("mujoco") else ():
        setup.note(f"MuJoCo, {told}")
        peer = MuJoCoRun(robot, DT, Settings(told))
        peer.set_state(start)
        t, (energies,) = peer.sample(steps, 4, peer.energy)
        timed = mujoco_run(robot, DT, Settings(told))
        field.append(mujoco_contender(timed, chunk, start, told, errors=told_of(t, energies)))
    rows = setup.missing("mujoco") + race(field, setup.repetitions)
    return Report(rows, (Target("robosim's |trend| / A", abs(errors["trend / A"]), 1e-3),))


def errors_of(rows: tuple[Row, ...]) -> dict[str, float]:
    """Errors in robosim's row."""
    return dict(next(row for row in rows if row.who == OURS).errors)


def run_first_step(setup: Setup) -> Report:
    """From `import robosim` to the end of the A1's first step, compiling and from the cache.

    The kernels of all features are compiled, too. With the kernels of a wheel, the first steps of
    all features are timed with these instead.
    """
    if AHEAD is not None:
        return _of_the_wheel(setup)
    times: dict[str, list[float]] = {"compiling": [], "from the cache": []}
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as cache:
        # A quick run does not compile, and uses the common cache.
        fresh = {} if setup.quick else {"NUMBA_CACHE_DIR": cache}
        for label, rounds in (("compiling", 1), ("from the cache", 3)):
            if setup.quick and label == "compiling":
                continue
            for _ in range(rounds):
                setup.note(label)
                done = subprocess.run(
                    [sys.executable, "-c", FIRST_STEP],
                    env={**os.environ, **fresh},
                    check=True,
                    capture_output=True,
                    text=True,
                )
                seconds, memory[label] = map(float, done.stdout.split())
                times[label].append(seconds)
    rows = []
    targets = []
    for label, found in times.items():
        if found:
            us = tuple(1e6 * seconds for seconds in found)
            rows.append(Row(OURS, label, Timing(us, us), {}, 0, {"memory [MB]": memory[label]}))
            limit = COLD if label == "compiling" else WARM
            targets.append(Target(f"{label}: first step", float(np.median(found)), limit, "s"))
    if not setup.quick:
        told = "compiling all features"
        setup.note(told)
        with tempfile.TemporaryDirectory() as cache:
            command = [sys.executable, "-m", "robosim", "warmup", "--all"]
            cpu, wall = _timed(command, cache)
        rows.append(Row(OURS, told, Timing((cpu,), (wall,)), {}, 0, {}))
        targets.append(Target(told, 1e-6 * wall, ALL_FEATURES, "s"))
    return Report(tuple(rows), tuple(targets))


def _timed(command: list[str], cache: str) -> tuple[float, float]:
    """CPU and wall time [us] of a process that keeps its kernels in a folder."""
    began, before = time.perf_counter(), os.times()
    env = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run(command, env=env, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, os.times()
    return 1e6 * (sum(after[2:4]) - sum(before[2:4])), 1e6 * wall  # of children


def _of_the_wheel(setup: Setup) -> Report:
    """First steps with a wheel's kernels and an empty cache, each in a process of its own.

    Each row has the number of compiled kernel files, as not every wheel has those of all features.
    """
    rows, targets = [], []
    asked = {"the A1": [sys.executable, "-c", FIRST_STEP]}
    asked |= {name: [sys.executable, "-m", "robosim.ahead", name] for name in FEATURES}
    for label, command in asked.items():
        setup.note(label)
        wall, cpu, compiled = [], [], 0
        for _ in range(setup.choose(3, 1)):
            with tempfile.TemporaryDirectory() as cache:
                took = _timed(command, cache)
                cpu.append(took[0])
                wall.append(took[1])
                compiled = max(compiled, sum(1 for _ in Path(cache).rglob("*.nbc")))
        timing, told = Timing(tuple(cpu), tuple(wall)), f"from the wheel: {label}"
        rows.append(Row(OURS, told, timing, {}, 0, {"compiled": compiled}))
        targets.append(Target(told, 1e-6 * float(np.median(wall)), AT_ONCE, "s"))
    return Report(tuple(rows), tuple(targets))


CASES = (
    Case("cube", "a cube falling 0.4 m, dt 10 ms", ("mujoco",), run_cube),
    Case(
        "double_pendulum",
        "the energy of a double pendulum in 10 minutes, dt 10 ms",
        ("mujoco",),
        run_double_pendulum,
    ),
    Case("first_step", "first steps of the A1, compiling and from the cache", (), run_first_step),
)
