"""A cube dropped on the ground (Fig. 7d)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import sample
from robosim.measuring.target import Target
from robosim.models.builders import cube
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGE, MASS = 0.5, 1.0
SHOWN = 0.4  # m, the height of the drop that is plotted over time


def run_cube(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 7d]: a cube of 0.5 m and 1 kg, from several heights."""
    dt, seconds = 0.01, 2.0
    heights = setup.choose(np.linspace(0.1, 1.0, 10), np.array([0.1, SHOWN, 1.0]))
    robot = cube(EDGE, MASS)
    settings = {
        "mujoco_default": Settings(),
        "mujoco_best": Settings("RK4", solref=(0.01, 1.0)),
    }
    gaps: dict[str, list[Any]] = {"ours": []}
    failures = []
    for height in heights:
        setup.note(f"from {height:.1f} m")
        q = np.array([0.0, 0.0, height + EDGE / 2, 1.0, 0.0, 0.0, 0.0])
        sim = Simulation(robot, timestep=dt)
        sim.set_state(q)
        run = sample(sim, seconds, 1, sim.min_gap)
        gaps["ours"].append(run.values[0])
        failures += [run.failure] if run.failure else []
        for key, chosen in settings.items() if setup.mujoco else ():
            peer = MuJoCoRun(robot, dt, chosen)
            peer.set_state(q)
            _, (q_read,) = peer.sample(round(seconds / dt), 1, peer.data.qpos.copy)
            # The cube stays upright, so its height determines the gap, also in the air.
            gaps.setdefault(key, []).append(q_read[:, 2] - EDGE / 2)
    numbers = {
        key: {
            "lowest_gap_m": [float(gap.min()) for gap in rows],
            "resting_gap_m": [float(gap[-1]) for gap in rows],
        }
        for key, rows in gaps.items()
    }
    ours: dict[str, Any] = numbers.pop("ours")
    ours["failures"] = failures
    peers: dict[str, Any] = {
        key: {"settings": settings[key].told(), **row} for key, row in numbers.items()
    }
    lowest, resting = min(ours["lowest_gap_m"]), max(map(abs, ours["resting_gap_m"]))
    targets = (
        Target("failed runs", len(failures), 0),
        Target("smallest gap of all drops", lowest, 0.0, "m", at_least=True),
        Target("largest resting gap", resting, 50e-6, "m"),
    )
    sentence = (
        f"For drops from {heights[0]:g} to {heights[-1]:g} m at 10 ms, the cube's smallest gap is "
        f"{lowest:.1e} m, and the gap at rest {resting:.1e} m"
    )
    for key, row in peers.items():
        deepest = -1e2 * min(row["lowest_gap_m"])
        sentence += f"; {said(key, row['settings'])} penetrates by up to {deepest:.2f} cm"

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        index = int(np.argmin(np.abs(heights - SHOWN)))
        t = dt * np.arange(len(gaps["ours"][index]))
        for key, rows in gaps.items():
            label = "robosim" if key == "ours" else LABELS[key]
            on_top = 3 if key == "ours" else 2
            axes[0].plot(t, 1e3 * rows[index], color=COLOURS[key], label=label, zorder=on_top)
            lows = [1e3 * float(gap.min()) for gap in rows]
            axes[1].plot(heights, lows, "o-", color=COLOURS[key], label=label)
        for ax in axes:
            ax.axhline(0.0, color="black", lw=0.8)
        axes[0].set(ylim=(-30, 40), xlim=(0.2, 0.6))
        finish(axes[0], "time [s]", "gap [mm]", f"dropped from {heights[index]:g} m")
        finish(axes[1], "height of the drop [m]", "smallest gap [mm]", "how deep it sinks")

    parameters = {
        "timestep_s": dt,
        "seconds": seconds,
        "edge_m": EDGE,
        "mass_kg": MASS,
        "heights_m": heights,
    }
    return Result(parameters, ours, peers, targets, sentence + ".", draw)


CUBE = Experiment(
    ("fig7d",),
    "a cube dropped from 0.1 to 1 m at 10 ms",
    "the gap is never negative and rests below 50 um",
    run_cube,
)
