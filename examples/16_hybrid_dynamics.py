"""One joint moves as prescribed, the others as they fall: hybrid dynamics.

Of a chain of three rods the first hinge follows a sine. The torque for that is found from the
accelerations that are given, the rest of the motion from the forces.

    python examples/16_hybrid_dynamics.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim.models.builders import chain
from robosim.viz.plots import plot_log

SIZE, RATE = 0.5, 3.0  # [rad], [rad/s] of the sine


def torques(sim: robosim.Simulation) -> np.ndarray:
    """What the first hinge needs in the middle of the step; the others get no torque."""
    middle = sim.time + sim.timestep / 2
    given = {"joint1": -SIZE * RATE**2 * np.sin(RATE * middle)}
    _, tau, _ = sim.dynamics.hybrid_dynamics(sim.q, sim.v, np.zeros(3), given)
    return tau


def main(out: Path) -> None:
    robot = chain(3)
    for timestep in (4e-3, 2e-3):
        sim = robosim.Simulation(robot, timestep)
        sim.set_state(v=(SIZE * RATE, 0.0, 0.0))
        log = sim.run(2.0, torques)
        error = np.abs(log.q[:, 0] - SIZE * np.sin(RATE * log.t)).max()
        print(f"{1e3 * timestep:.0f} ms: {1e3 * error:.2f} mrad from the sine")
    swing = np.degrees(np.abs(log.q.sum(axis=1)).max())
    print(f"by torques of up to {np.abs(log.tau[:, 0]).max():.1f} N m; ", end="")
    print(f"the last rod swings to {swing:.0f} degrees")
    plot_log(log, out / "hybrid.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
