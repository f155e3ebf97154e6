"""Legged robots that fall limply, or are driven by a random policy, step by step.

    python -m benchmarks.falls --torques none
    python -m benchmarks.falls --torques uniform --episodes 20 --seconds 10

Robots of example-robot-data are let go half a metre up, turned and bent at random. With `uniform`
each motor gets a random torque within its effort limit, with `bang-bang` that limit itself with a
random sign; either is held for ten steps. Told of each robot and timestep: episodes that ended in a
`ConvergenceError`, divided steps, the slowest step, the median of a step, and the largest gain of
energy in a step without motors, over that of the fall. Ends with exit code 1 if an episode failed.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

import robosim
from robosim import ConvergenceError, Mechanism, Simulation
from robosim.errors import LoadError
from robosim.version import install

ROBOTS = {
    "a1": "a1",
    "go1": "go1_description",
    "anymal": "anymal_b_simple_description/anymal",
    "hyq": "hyq_description",
    "solo12": "solo_description/solo12",
    "simple_humanoid": "simple_humanoid",
    "talos": "talos_data/talos_reduced",
}
TIMESTEPS = (1e-3, 2e-3, 5e-3, 0.01)
HEIGHT = 0.5  # of the fall [m]
BENT = 0.2  # [rad] by which joints are bent, and the base is turned
HELD = 10  # steps that a torque is held for


class Episode(NamedTuple):
    """What a fall came to."""

    failed: bool
    divided: int
    times: NDArray[np.float64]  # of all steps [s]
    gain: float  # most of energy in a step, over m g HEIGHT


def load(name: str) -> Mechanism:
    """One of ROBOTS."""
    try:
        return robosim.load(ROBOTS[name])
    except LoadError as error:
        raise SystemExit(
            f"{name} is of example-robot-data ({error}): {install('robots')}"
        ) from None


def fall(robot: Mechanism, options: argparse.Namespace, timestep: float, seed: int) -> Episode:
    """One episode."""
    rng, torques = np.random.default_rng(seed), options.torques
    sim = Simulation(robot, timestep, velocity_limits=options.velocity_limits)
    q = sim.q.copy()
    q[2] += HEIGHT - sim.min_gap(1.0)
    turn = np.array([1.0, *rng.normal(scale=BENT / 2, size=3)])
    q[3:7] = turn / np.linalg.norm(turn)
    q[7:] += rng.normal(scale=BENT, size=len(q) - 7)
    most = np.where(np.isfinite(robot.effort_limits), robot.effort_limits, 0.0)
    weight = 9.81 * sum(body.mass for body in robot.bodies)
    times, divided, gain, energy = [], 0, -np.inf, 0.0
    tau = np.zeros(robot.nu)
    try:
        sim.set_state(q)
        energy = sim.energy()
        for n in range(round(options.seconds / timestep)):
            if n % HELD == 0 and torques == "uniform":
                tau = rng.uniform(-most, most)
            elif n % HELD == 0 and torques == "bang-bang":
                tau = most * rng.choice([-1.0, 1.0], robot.nu)
            begin = time.perf_counter()
            info = sim.step(tau)
            times.append(time.perf_counter() - begin)
            divided += info.substeps > 1
            if torques == "none":
                before, energy = energy, sim.energy()
                gain = max(gain, energy - before)
    except ConvergenceError:
        return Episode(True, divided, np.array(times), gain / weight / HEIGHT)
    return Episode(False, divided, np.array(times), gain / weight / HEIGHT)


def main() -> int:
    """Let all robots fall and print a table; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("robots", nargs="*", default=list(ROBOTS), help=", ".join(ROBOTS))
    parser.add_argument("--torques", choices=("none", "uniform", "bang-bang"), default="none")
    parser.add_argument("--episodes", type=int, default=3, help="of each robot and timestep")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each episode")
    parser.add_argument("--timesteps", type=float, nargs="+", default=TIMESTEPS, help="[s]")
    parser.add_argument("--velocity-limits", action="store_true", help="of joints act")
    options = parser.parse_args()
    if unknown := set(options.robots) - set(ROBOTS):
        parser.error(f"unknown robots: {', '.join(unknown)}; there are {', '.join(ROBOTS)}")
    warnings.simplefilter("ignore")  # of starts beyond limits, which are meant to be random
    console, bad = Console(), 0
    table = Table(
        "robot", "dt [ms]", "failed", "divided", "median [us]", "slowest [ms]", "largest gain"
    )
    runs = [(name, timestep) for name in options.robots for timestep in options.timesteps]
    for name, timestep in track(runs, "falling", console=console, transient=True):
        robot = load(name)
        fall(robot, options, timestep, 0)  # compiles what it needs
        episodes = [fall(robot, options, timestep, seed) for seed in range(options.episodes)]
        times = np.concatenate([episode.times for episode in episodes])
        failed = sum(episode.failed for episode in episodes)
        bad += failed
        gain = max(episode.gain for episode in episodes)
        table.add_row(
            name,
            f"{1e3 * timestep:g}",
            f"{failed} of {len(episodes)}",
            str(sum(episode.divided for episode in episodes)),
            f"{1e6 * np.median(times):.0f}",
            f"{1e3 * times.max():.1f}",
            f"{gain:.1e}" if options.torques == "none" else "",
        )
    console.print(table)
    console.print(
        f"robosim {robosim.__version__}, torques: {options.torques}"
        + (", with velocity limits" if options.velocity_limits else "")
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
