"""A controller of your own: a function from the simulation to joint torques.

The A1 crouches and rises, and sways from side to side: a sine in joint coordinates, tracked by
PD control. The controller reads nothing but what the real robot's encoders would tell it.

    python examples/02_controller.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim.viz.plots import plot_log


class SwayAndCrouch:
    """Tracks the standing pose plus a slow motion of hips, thighs and calves."""

    def __init__(self, robot: robosim.Mechanism) -> None:
        self.stance = robot.stance
        names = [robot.v_names[k] for k in robot.actuated]
        self.hips = np.array(["hip" in name for name in names])
        self.thighs = np.array(["thigh" in name for name in names])
        self.calves = np.array(["calf" in name for name in names])

    def __call__(self, sim: robosim.Simulation) -> np.ndarray:
        q, v = sim.q[7:], sim.v[6:]  # after the floating base: 7 coordinates, 6 velocities
        crouch = 0.15 * (1 - np.cos(2 * np.pi * 0.5 * sim.time))  # [rad], begins at rest
        sway = 0.08 * np.sin(2 * np.pi * 0.25 * sim.time) * (1 - np.exp(-2 * sim.time))
        target = self.stance.target + crouch * self.thighs - 2 * crouch * self.calves
        target = target + sway * self.hips
        return self.stance.kp * (target - q) - self.stance.kd * v


def main(out: Path) -> None:
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot)
    log = sim.run(4.0, controller=SwayAndCrouch(robot))
    log.save(out / "sway.parquet")
    plot_log(log, out / "sway.png")

    height, side = log.column("base_z"), log.column("base_y")
    print(f"height of the base  {height.min():.3f} to {height.max():.3f} m")
    print(f"sway of the base    {1e3 * side.min():+.1f} to {1e3 * side.max():+.1f} mm")
    print(f"largest torque      {np.abs(log.tau).max():.1f} N m")
    print(f"smallest gap        {1e9 * log.gap.min():.3f} nm")
    print(f"log and plot: {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
