"""A chain of spheres that falls on the ground (Fig. 8b)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import cpu_time, exponent, sample
from robosim.measuring.target import Target
from robosim.models.builders import sphere_chain
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT, RADIUS, MASS, SPACING, FRICTION = 0.01, 0.25, 1.0, 1.0, 1.0


def run_spheres(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 8b]: 1000 steps of chains of up to 100 spheres."""
    counts = setup.choose((1, 2, 5, 10, 20, 40, 60, 80, 100), (1, 5, 20))
    steps = setup.choose(1000, 200)
    repetitions = setup.choose(7, 3)
    settings = {
        "mujoco_default": Settings(),
        "mujoco_best": Settings("RK4", solref=(0.01, 1.0)),
    }
    ours: dict[str, list[Any]] = {
        key: [] for key in ("us", "worst_gap_m", "iterations_mean", "divided_steps", "failure")
    }
    keys = ("us", "worst_gap_m", "failed_at_s")
    peers: dict[str, Any] = {
        name: {"settings": chosen.told(), **{key: [] for key in keys}}
        for name, chosen in settings.items()
    }
    for solver in ("articulated", "ldu"):  # compiled before the measurement
        Simulation(sphere_chain(1, RADIUS, SPACING, MASS, FRICTION), solver=solver).step()
    chains = []
    for n in counts:
        setup.note(f"{n} spheres, robosim")
        robot = sphere_chain(n, RADIUS, SPACING, MASS, FRICTION)
        chains.append(Simulation(robot, timestep=DT))
        run = sample(chains[-1], steps * DT, 100)
        ours["worst_gap_m"].append(run.gap)
        ours["iterations_mean"].append(run.iterations)
        ours["divided_steps"].append(run.divided)
        ours["failure"].append(run.failure)
        for name, chosen in settings.items() if setup.mujoco else ():
            setup.note(f"{n} spheres, {LABELS[name]}")
            peer = MuJoCoRun(robot, DT, chosen)
            peer.set_state(np.asarray(robot.home))
            for key, value in zip(keys, _peer_run(peer, steps), strict=True):
                peers[name][key].append(value)
    # Additional solvers were created in the first runs, where needed. The chains run in turns, so
    # that other load does not affect all runs of one chain.
    times = np.full((repetitions, len(counts)), np.inf)
    for k in range(repetitions):
        setup.note(f"time of a step, {k + 1} of {repetitions}")
        for column, sim in enumerate(chains):
            sim.set_state()
            seconds = cpu_time(partial(sample, sim, steps * DT, 100))[0]
            times[k, column] = seconds / max(sim.steps, 1) * 1e6
    ours["us"] = times.min(axis=0).tolist()
    failed = sum(bool(text) for text in ours["failure"])
    many = np.array(counts) >= 5
    power = exponent(np.array(counts)[many], np.array(ours["us"])[many])
    per_iteration = np.array(ours["us"]) / np.array(ours["iterations_mean"])
    power_of_one = exponent(np.array(counts)[many], per_iteration[many])
    lowest = min(ours["worst_gap_m"])
    targets = (
        Target("chains with a failed step", failed, 0),
        Target("smallest gap", lowest, 0.0, "m", at_least=True),
        Target("exponent of the time of a step over n, from n = 5 on", power, 1.15),
    )
    sentence = (
        f"{failed} of {len(counts)} chains of {counts[0]} to {counts[-1]} spheres fail, the "
        f"smallest gap is {lowest:.1e} m, the time of a step grows as n^{power:.2f} and that of a "
        f"Newton iteration as n^{power_of_one:.2f}"
    )
    for name, row in peers.items() if setup.mujoco else ():
        lost = [n for n, t in zip(counts, row["failed_at_s"], strict=True) if t is not None]
        fails = f"is unstable for n = {', '.join(map(str, lost))}" if lost else "is always stable"
        kept = [gap for n, gap in zip(counts, row["worst_gap_m"], strict=True) if n not in lost]
        deepest = -100 * min(kept, default=float("nan"))
        sentence += f"; {said(name, row['settings'])} {fails}, and penetrates by {deepest:.1f} cm"

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        rows = {"ours": ours} | (peers if setup.mujoco else {})
        for name, row in rows.items():
            label = "robosim" if name == "ours" else LABELS[name]
            us = np.array(row["us"], dtype=float)
            axes[0].loglog(counts, us, "o-", color=COLOURS[name], label=label)
            gap = -100 * np.minimum(np.array(row["worst_gap_m"], dtype=float), 0.0)
            axes[1].plot(counts, gap, "o-", color=COLOURS[name], label=label)
            lost = [k for k, t in enumerate(row.get("failed_at_s", ())) if t is not None]
            axes[1].plot(np.array(counts)[lost], gap[lost], "kx", ms=9, mew=2)
        finish(axes[0], "spheres", "time of a step [us]")
        finish(
            axes[1],
            "spheres",
            "deepest penetration [cm]",
            "crosses: unstable, run lost",
        )

    return Result(
        {
            "timestep_s": DT,
            "steps": steps,
            "time": f"shortest of {repetitions} runs of each chain, taken in turns",
            "radius_m": RADIUS,
            "mass_kg": MASS,
            "spacing_m": SPACING,
            "friction": FRICTION,
            "start": "rising at 45 degrees, at rest; joint at the child's centre",
            "n": counts,
        },
        {**ours, "exponent_of_a_step": power, "exponent_of_an_iteration": power_of_one},
        peers if setup.mujoco else {},
        targets,
        sentence + ".",
        draw,
    )


def _peer_run(peer: MuJoCoRun, steps: int) -> tuple[float, float, float | None]:
    """(us per step, smallest gap, time of the failure); the first is NaN for a failed run."""
    lowest, us = np.inf, 0.0
    while round(peer.time / DT) < steps:
        seconds, fine = cpu_time(peer.step)
        if not fine:
            return float("nan"), float(lowest), peer.failed_at
        us += seconds * 1e6 / steps
        lowest = min(lowest, peer.gap())
    return us, float(lowest), None


SPHERES = Experiment(
    ("fig8b",),
    "chains of spheres on ball joints that fall on the ground",
    "all converge, no penetration, a straight line in n up to 100",
    run_spheres,
)
