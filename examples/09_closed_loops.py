"""Closed loops stay closed, also through poses in which they are singular.

Four mechanisms run for 20 s at 10 ms. Then a slider-crank is put at an angle of its crank: the
rest of the loop follows.

    python examples/09_closed_loops.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

from robosim import Simulation
from robosim.models import builders

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SECONDS, DT = 20.0, 0.01


def main(out: Path) -> None:
    start = builders.double_four_bar_start()
    cases = {
        "rhombus": (builders.rhombus(), ()),
        "three segments": (builders.segments(3), ()),
        "double four-bar": (builders.double_four_bar(), start),
        "slider-crank": (builders.slider_crank(), ()),
    }
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for name, (robot, state) in cases.items():
        sim = Simulation(robot, timestep=DT)
        sim.set_state(*state)
        masses = np.array([body.mass for body in robot.bodies])
        energies, kinetic, violation, divided = [], [], 0.0, 0
        for chunk in sim.stream(SECONDS, chunk_steps=1):
            energies.append(sim.energy())
            kinetic.append(energies[-1] - 9.81 * masses @ sim.state.x[:, 2])
            violation = max(violation, chunk.violation.max())
            divided += np.count_nonzero(chunk.substeps > 1)
        error = (np.array(energies) - energies[0]) / max(kinetic)
        axes.plot(DT * np.arange(len(error)), 100 * error, lw=0.7, label=name)
        print(
            f"{name:15}  closed to {violation:.1e} m, energy within "
            f"{100 * np.abs(error).max():.2f} % of the largest kinetic one, {divided} steps divided"
        )
    axes.set(xlabel="time [s]", ylabel="energy error [% of the largest kinetic energy]")
    axes.legend()
    figure.savefig(out / "loops.png", dpi=150)

    sim = Simulation(builders.slider_crank(crank=0.2, rod_length=0.5))
    q = sim.q.copy()
    q[0] = -1.5  # the others no longer fit
    sim.set_state(q, hold=["crank_joint"])
    print(f"crank at {sim.q[0]:.1f} rad: slider at {sim.q[2]:.6f} m")
    print(f"plot: {out / 'loops.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
