"""Time over the number of links (Fig. 8a), and over the tolerance (Fig. 10)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.formulation import Formulation
from robosim.measuring.runs import exponent, largest, sample, shortest_us, stepper
from robosim.measuring.starts import bent_start
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT = 0.01
KINDS = {"revolute": "hinges", "spherical": "balls"}
# By tolerance [m/s]; the others of Fig. 10, of which the paper calls Simpson's of third order.
TREES: dict[str, Callable[[Mechanism, float], Formulation]] = {
    "maximal": lambda robot, tolerance: Simulation(robot, DT, tolerance=tolerance),
    "RIQN [Lee2016]": lambda robot, tolerance: MinimalSimulation(
        robot, DT, integrator="riqn", tolerance=tolerance
    ),
    "Simpson [Fan2018]": lambda robot, tolerance: MinimalSimulation(
        robot, DT, integrator="galerkin", order=4, tolerance=tolerance
    ),
}
BENT = 20  # links from which on exponents are fitted; constant costs dominate for shorter chains


def run_times(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 8a], [Bruedigam2020, Fig. 5a]: us per step for n links."""
    counts = setup.choose((1, 2, 5, 10, 20, 50, 100, 150, 200), (1, 10, 20, 50, 100))
    chunk, repetitions = setup.choose((50, 20), (25, 4))
    settings = {"mujoco_default": Settings()}
    ours: dict[str, Any] = {"n": counts}
    peers: dict[str, Any] = {
        key: {"settings": s.told(), "n": counts} for key, s in settings.items()
    }
    targets = []
    for kind, told in KINDS.items():
        setup.note(f"chains of {told}")
        robots = [chain(n, kind) for n in counts]
        sims = [Simulation(robot, timestep=DT) for robot in robots]
        for sim, robot in zip(sims, robots, strict=True):
            sim.set_state(bent_start(robot))
        rows = shortest_us([stepper(sim, chunk) for sim in sims], chunk, repetitions)
        for key, chosen in settings.items() if setup.mujoco else ():
            setup.note(f"chains of {told}, {LABELS[key]}")
            runs = [MuJoCoRun(robot, DT, chosen) for robot in robots]
            for peer, robot in zip(runs, robots, strict=True):
                peer.set_state(bent_start(robot))
            steppers = [partial(peer.step, chunk) for peer in runs]
            peers[key][f"us_{kind}"] = shortest_us(steppers, chunk, repetitions)
        slope, offset = np.polyfit(counts, rows, 1, w=1.0 / np.array(rows))
        line = slope * np.array(counts) + offset
        long = np.array(counts) >= BENT
        ours[f"us_{kind}"] = rows
        ours[f"us_per_link_{kind}"] = slope
        ours[f"exponent_{kind}"] = exponent(np.array(counts)[long], np.array(rows)[long])
        ours[f"largest_deviation_from_line_{kind}"] = largest((line / rows - 1)[long])
        targets.append(Target(
            f"{told}: exponent of time over n, from n = {BENT} on", ours[f"exponent_{kind}"], 1.15
        ))  # fmt: skip
    sentence = "A step takes " + " and ".join(
        f"{ours[f'us_per_link_{kind}']:.2f} us per link with {told} "
        f"(time grows as n^{ours[f'exponent_{kind}']:.2f})"
        for kind, told in KINDS.items()
    )
    for key, row in peers.items() if setup.mujoco else ():
        for kind in KINDS:
            long = np.isfinite(row[f"us_{kind}"]) & (np.array(counts) >= BENT)
            row[f"exponent_{kind}"] = exponent(
                np.array(counts)[long], np.array(row[f"us_{kind}"])[long]
            )
        sentence += f"; with {said(key, row['settings'])} it grows as " + " and ".join(
            f"n^{row[f'exponent_{kind}']:.2f} with {told}, {row[f'us_{kind}'][-1]:.0f} us at "
            f"n = {counts[-1]} (robosim {ours[f'us_{kind}'][-1]:.0f} us)"
            for kind, told in KINDS.items()
        )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        for ax, scale in zip(axes, ("linear", "log"), strict=True):
            for kind, style in (("revolute", "o-"), ("spherical", "s--")):
                label = f"robosim, {KINDS[kind]}"
                ax.plot(counts, ours[f"us_{kind}"], style, color=COLOURS["ours"], label=label)
                for key, row in peers.items() if setup.mujoco else ():
                    label = f"{LABELS[key]}, {KINDS[kind]}"
                    ax.plot(counts, row[f"us_{kind}"], style, color=COLOURS[key], label=label)
            ax.set(xscale=scale, yscale=scale)
            finish(ax, "links", "time of a step [us]")
        axes[0].set_ylim(0, 3 * max(max(ours[f"us_{kind}"]) for kind in KINDS))

    return Result(
        {
            "timestep_s": DT,
            "links": "rods of 1 m and 1 kg",
            "start": "at rest, straight, 45 degrees from hanging",
            "time": f"shortest CPU time of {repetitions} repetitions of {chunk} steps",
        },
        ours,
        peers if setup.mujoco else {},
        tuple(targets),
        sentence + ".",
        draw,
    )


TIMES = Experiment(
    ("fig8a", "wafr5a"),
    "time of a step over the number of links",
    "a straight line in n, with hinges and with balls, n = 1 to 200",
    run_times,
)


def run_tolerances(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 10], [Bruedigam2020, Fig. 8]: 1000 steps at three tolerances."""
    counts = setup.choose((1, 2, 5, 10, 20, 50, 100), (1, 5, 20))
    steps = setup.choose(1000, 100)
    tolerances = (1e-6, 1e-8, 1e-10)
    found: dict[str, dict[str, Any]] = {name: {} for name in TREES}
    worst = 0.0
    for name, make in TREES.items():
        for tolerance in tolerances:
            row: dict[str, Any] = {"n": counts, "us": [], "iterations_mean": [], "steps": []}
            if name != "maximal":
                row["steps_above_tolerance"] = []
            for n in counts:
                setup.note(f"{name}, tolerance {tolerance:g}, {n} links")
                robot = chain(n)
                sim = make(robot, tolerance)
                sim.set_state(bent_start(robot))
                run = sample(sim, steps * DT, steps)
                worst = max(worst, run.violation / (DT * tolerance))
                row["steps"].append(sim.steps)
                if isinstance(sim, MinimalSimulation):
                    row["steps_above_tolerance"].append(sim.steps_above_tolerance)
                row["iterations_mean"].append(np.nan if run.failure else run.iterations)
                row["us"] += (
                    [np.nan]
                    if run.failure
                    else shortest_us([stepper(sim, 50)], 50, setup.choose(10, 2))
                )
            found[name][f"{tolerance:g}"] = row
    failures = {
        name: sum(done < steps for row in rows.values() for done in row["steps"])
        for name, rows in found.items()
    }
    rounded = {
        name: sum(rows["1e-10"]["steps_above_tolerance"]) / sum(rows["1e-10"]["steps"])
        for name, rows in found.items()
        if name != "maximal"
    }
    ours = found["maximal"]
    targets = (
        Target("runs that failed", failures["maximal"], 0),
        Target("joint violation / (timestep x tolerance)", worst, 1.0),
    )
    iterations = ", ".join(
        f"{np.mean(row['iterations_mean']):.2f} at {tolerance}" for tolerance, row in ours.items()
    )
    last = found["maximal"]["1e-10"]["us"]
    beside = " and ".join(
        f"{name} {failures[name]} failures, {100 * rounded[name]:.0f} % of steps above 1e-10 by "
        "rounding, and "
        f"{rows['1e-10']['us'][-1] / last[-1]:.1f} times the time of a step of {counts[-1]} links "
        "at 1e-10"
        for name, rows in found.items()
        if name != "maximal" and np.isfinite(rows["1e-10"]["us"][-1])
    )
    sentence = (
        f"{steps} steps of chains of {counts[0]} to {counts[-1]} hinges converge at tolerances of "
        f"1e-6, 1e-8 and 1e-10 m/s with {failures['maximal']} failures; Newton iterations per "
        f"step: {iterations}. Failures and times in joint coordinates: {beside}"
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 2, 3)
        for column, tolerance in enumerate(ours):
            for (name, rows), colour in zip(
                found.items(), (COLOURS["ours"], *OTHERS), strict=False
            ):
                row = rows[tolerance]
                axes[0, column].loglog(counts, row["us"], "o-", color=colour, label=name)
                axes[1, column].plot(counts, row["iterations_mean"], "o-", color=colour, label=name)
            finish(axes[0, column], "links", "time of a step [us]", f"tolerance {tolerance} m/s")
            finish(axes[1, column], "links", "iterations a step")
            axes[1, column].set_ylim(0, None)

    return Result(
        {"timestep_s": DT, "steps": steps, "tolerances_m_per_s": tolerances, "links": "as fig8a"},
        {"tolerances": ours, "joint_coordinates": {n: found[n] for n in list(TREES)[1:]},
         "failures": failures, "part_of_steps_above_1e-10": rounded},
        {},
        targets,
        sentence + ". MuJoCo solves no equation for a tree, and so has no tolerance.",
        draw,
    )  # fmt: skip


TOLERANCES = Experiment(
    ("fig10", "wafr8"),
    "chains at tolerances of 1e-6, 1e-8 and 1e-10, beside [Lee2016] and [Fan2018]",
    "converges for all n and tolerances",
    run_tolerances,
)
