"""A Panda follows a path at 1 kHz, by the forces that the path takes: computed torque.

The Panda comes with `pip install "robosim-variational[robots]"`; without, a chain of six
hinges moves.

    python examples/13_computed_torque.py [FOLDER]
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import robosim
from robosim.models.builders import chain
from robosim.viz.plots import plot_log


def arm() -> robosim.Mechanism:
    """The arm on a table, with a motor for each finger in place of the gear between them."""
    try:
        robot = robosim.load("panda", floating_base=False, ground=False)
    except robosim.LoadError:
        return chain(6)
    joints = tuple(replace(joint, actuated=True) for joint in robot.joints)
    return replace(robot, joints=joints, couplings=(), home=robot.configurations["default"])


class ComputedTorque:
    """Joint coordinates go to and fro, beginning at rest: by 0.6 rad, fingers by 2 cm."""

    def __init__(self, robot: robosim.Mechanism) -> None:
        self.start, sizes = np.array(robot.home), {"revolute": 0.3, "prismatic": 0.01}
        self.size = np.array([sizes[joint.kind] for joint in robot.joints if joint.nv])

    def path(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        w = np.pi  # [rad/s]
        s, c = self.size * np.sin(w * t), self.size * np.cos(w * t)
        return self.start + self.size - c, w * s, w * w * c

    def __call__(self, sim: robosim.Simulation) -> np.ndarray:
        q, v, a = self.path(sim.time)
        a = a + 400 * (q - sim.q) + 40 * (v - sim.v)  # errors die out, critically damped
        return sim.dynamics.inverse_dynamics(sim.q, sim.v, a)


def main(out: Path) -> None:
    robot = arm()
    control, sim = ComputedTorque(robot), robosim.Simulation(robot, timestep=1e-3)
    sim.run(0.1, control)  # what the first step compiles
    begin = time.perf_counter()
    log = sim.run(5.0, control)
    speed = (log.t[-1] - log.t[0]) / (time.perf_counter() - begin)
    plot_log(log, out / "path.png")
    largest = np.abs(log.q - [control.path(t)[0] for t in log.t]).max()
    print(f"{robot.name}: {speed:.0f} times faster than real time")
    print(f"largest error {1e3 * largest:.2f} mrad, largest torque {np.abs(log.tau).max():.1f} N m")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
