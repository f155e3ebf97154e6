"""An acrobot, driven at its elbow alone, swings up by iLQR, and LQR balances it.

python examples/23_swing_up.py [FOLDER] [--quick]
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import robosim
from robosim import optimize
from robosim.models import builders

STEPS, TIMESTEP = 100, 0.04  # s


def acrobot() -> robosim.Mechanism:
    """Two rods of 1 m and 1 kg, of which only the second joint has a motor."""
    links = builders.double_pendulum()
    shoulder, elbow = links.joints
    joints = replace(shoulder, actuated=False), replace(elbow, effort_limit=20.0)
    return replace(links, name="acrobot", joints=joints)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the log")
    parser.add_argument("--quick", action="store_true", help="fewer iterations")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    robot = acrobot()
    # In joint coordinates, as nothing touches; a Simulation does it as well.
    sim = robosim.MinimalSimulation(robot, TIMESTEP, integrator="galerkin", order=4)
    up = np.array([np.pi, 0.0])
    cost = optimize.QuadraticCost(robot, up, Q=4e-3, R=4e-4, final=[1000, 1000, 100, 100])
    guess = 0.5 * np.sin(4.0 * TIMESTEP * np.arange(STEPS))[:, None]
    iterations = 40 if options.quick else 200
    found = optimize.ilqr(sim, cost, STEPS, guess, iterations=iterations, progress=True)
    print(f"{found.status} after {len(found.costs) - 1} iterations, cost {found.cost:.2f}")
    print(f"largest torque {np.abs(found.tau).max():.1f} N m, within its limit of 20")

    balance = optimize.lqr(sim, up, v=[0, 0], tau=[0], Q=1.0, R=0.01)
    log = sim.run(12.0, found.controller().followed_by(balance))
    log.save(folder / "swing_up.parquet")
    end = np.abs(log.q[-1] - up).max()
    print(f"after 12 s {end:.1e} rad from upright; saved in {folder}")


if __name__ == "__main__":
    main()
