"""Straight horizontal chains, released from rest: the tip accelerates like that of a whip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import largest, sample
from robosim.measuring.target import Target
from robosim.models.builders import chain
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT, G = 0.01, 9.81


def run_whip(setup: Setup) -> Result:
    """Chains of 20, 50 and 100 hinges, released from the horizontal, at 10 ms."""
    counts = setup.choose((20, 50, 100), (20,))
    seconds = setup.choose(10.0, 3.0)
    settings = {"mujoco_default": Settings(), "mujoco_best": Settings("RK4")}
    ours: dict[str, Any] = {}
    peers: dict[str, Any] = {key: {"settings": s.told()} for key, s in settings.items()}
    lines: dict[Any, Any] = {}
    for n in counts:
        robot = chain(n)
        q = np.zeros(n)
        q[0] = np.pi / 2
        A = G * n**2 / 2  # from horizontal to hanging: sum of (k - 1/2) over n links of 1 m, 1 kg
        setup.note(f"{n} hinges, robosim")
        sim = Simulation(robot, timestep=DT)
        sim.set_state(q)
        run = sample(sim, seconds, 1, sim.energy)
        lines["ours", n] = run.t, (run.values[0] - run.values[0][0]) / A
        ours[str(n)] = {
            "failure": run.failure,
            "seconds": run.t[-1],
            "largest_energy_error": largest(lines["ours", n][1]),
            "energy_error_of_last_second": float(lines["ours", n][1][-round(1 / DT) :].mean()),
            "divided_steps": run.divided,
            "iterations_mean": run.iterations,
            "joint_violation_m": run.violation,
        }
        for key, chosen in settings.items() if setup.mujoco else ():
            setup.note(f"{n} hinges, {LABELS[key]}")
            peer = MuJoCoRun(robot, DT, chosen)
            peer.set_state(q)
            t, (energies,) = peer.sample(round(seconds / DT), 1, peer.energy)
            lines[key, n] = t, (energies - energies[0]) / A
            peers[key][str(n)] = {
                "unstable_at_s": peer.failed_at,
                "largest_energy_error": largest(lines[key, n][1]),
            }
    failed = sum(bool(row["failure"]) for row in ours.values())
    worst = max(row["largest_energy_error"] for row in ours.values())
    left = max(abs(row["energy_error_of_last_second"]) for row in ours.values())
    violation = max(row["joint_violation_m"] for row in ours.values())
    targets = (
        Target("chains with a failed step", failed, 0),
        Target("largest |E - E0| / A, in the cracks", worst, 0.1),
        Target("|E - E0| / A, mean of the last second", left, 0.02),
        Target("joint violation", violation, 1e-9, "m"),
    )
    divided = sum(row["divided_steps"] for row in ours.values())
    sentence = (
        f"Chains of {', '.join(map(str, counts))} hinges crack at 10 ms with {failed} failed runs "
        f"and an energy error of {100 * worst:.2f} % of A; {divided} steps took substeps"
    )
    for key, row in peers.items() if setup.mujoco else ():
        lost = {n: row[str(n)]["unstable_at_s"] for n in counts}
        told = ", ".join(
            f"n = {n} is unstable at {t:.2f} s" if t is not None
            else f"n = {n} is off by {100 * row[str(n)]['largest_energy_error']:.3g} % of A"
            for n, t in lost.items()
        )  # fmt: skip
        sentence += f"; {said(key, row['settings'])}: {told}"

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, len(counts))[0]
        for ax, n in zip(axes, counts, strict=True):
            for key in ("ours", *settings) if setup.mujoco else ("ours",):
                t, error = lines[key, n]
                label = "robosim" if key == "ours" else LABELS[key]
                ax.plot(t, 100 * error, lw=1.0, color=COLOURS[key], label=label)
                if key != "ours" and peers[key][str(n)]["unstable_at_s"] is not None:
                    ax.plot(t[-1], 0.0, "x", color=COLOURS[key], ms=10, mew=2)
            ax.set_yscale("symlog", linthresh=1.0)
            ax.set_ylim(-1e3, 1e3)
            finish(ax, "time [s]", "(E - E0) / A [%]", f"{n} hinges (cross: unstable, run lost)")

    return Result(
        {"timestep_s": DT, "seconds": seconds, "n": counts, "links": "rods of 1 m and 1 kg",
         "A": "E0 - Emin = g n^2 / 2, Emin hanging at rest"},
        ours,
        peers if setup.mujoco else {},
        targets,
        sentence + ".",
        draw,
    )  # fmt: skip


WHIP = Experiment(
    ("whip",),
    "straight horizontal chains of 20, 50 and 100 hinges, let go at 10 ms",
    "no failed step, the energy kept",
    run_whip,
)
