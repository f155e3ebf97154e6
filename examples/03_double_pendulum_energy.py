"""Ten minutes of a double pendulum at 100 Hz: the energy neither leaks nor grows.

The error of a symplectic method oscillates; what counts is that it has no trend. The motion is
chaotic, so the trajectory itself cannot be compared with another program's after some seconds.

    python examples/03_double_pendulum_energy.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

import robosim

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main(out: Path, minutes: float = 10.0) -> None:
    robot = robosim.load("double_pendulum")
    sim = robosim.Simulation(robot, timestep=0.01)
    sim.set_state(q=[np.pi / 2, 0.0])  # straight out to the side, let go at rest
    start, lowest = sim.energy(), -9.81 * (0.5 + 1.5)  # both rods hanging, of 1 m and 1 kg
    scale = start - lowest

    t, error = [], []
    for _ in sim.stream(60.0 * minutes, chunk_steps=7):
        t.append(sim.time)
        error.append((sim.energy() - start) / scale)
    t, error = np.array(t), np.array(error)
    slope = np.polyfit(t / 60.0, error, 1)[0]

    figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
    axes.plot(t / 60.0, error, linewidth=0.3, color="#0072B2")
    axes.set(xlabel="time [min]", ylabel="energy error / (E0 - Emin)")
    figure.savefig(out / "energy.png", dpi=150)

    print(f"largest energy error    {np.abs(error).max():.2%} of what the pendulum has to give")
    print(f"trend                   {slope:+.1e} a minute")
    print(f"largest joint violation {sim.constraint_violation():.1e} m after {t[-1]:.0f} s")
    print(f"plot: {out / 'energy.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
