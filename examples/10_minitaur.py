"""The Minitaur stands, then hops: four closed legs, each driven by two motors.

Standing, its servos are part of the step's equations, at 10 ms; hopping, a controller in Python
stays within the motors' torques.

    python examples/10_minitaur.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim.controllers import PD
from robosim.models.builders import minitaur_legs

LIMIT = 3.5  # N m, of a motor


class Hop:
    """Crouch until 0.3 s, push until the feet leave the ground, draw them in, hold."""

    left = False

    def __call__(self, sim: robosim.Simulation) -> np.ndarray:
        self.left = self.left or (sim.time > 0.3 and sim.min_gap() > 1e-4)
        length, kp, kd = 0.17, 30.0, 0.5
        if sim.time < 0.3:
            length = 0.17 - 0.06 * sim.time / 0.3
        elif not self.left:
            length, kp, kd = 0.22, 20.0, 0.2
        target = minitaur_legs(dict.fromkeys(("FL", "FR", "RL", "RR"), (0.0, -length)))
        motors = sim.robot.actuated  # their velocities; the base has a coordinate more than those
        tau = kp * (target - sim.q[motors + 1]) - kd * sim.v[motors]
        return np.clip(tau, -LIMIT, LIMIT)


def main(out: Path) -> None:
    robot = robosim.load("minitaur")
    stance = robot.stance
    sim = robosim.Simulation(robot, timestep=0.01)
    log = sim.run(10.0, PD(robot, stance.target, stance.kp, stance.kd, implicit=True))
    weight = sim.contact_forces()[:, 2].sum() / (9.81 * robot.total_mass)
    print(f"stands 10 s at 10 ms: base at {sim.q[2]:.4f} m, feet carry {weight:.6f} of its weight")
    print(f"  gap {log.gap.min():.1e} m or more, loops closed to {log.violation.max():.1e} m")

    sim = robosim.Simulation(robot, timestep=1e-3)
    log = sim.run(2.0, Hop())
    log.save(out / "hop.parquet")
    height, left = log.q[:, 2], np.argmax(log.gap > 1e-4)
    landed = left + np.argmax(log.gap[left:] < 1e-4)
    print(f"hops: off the ground from {log.t[left]:.3f} to {log.t[landed]:.3f} s")
    print(
        f"  base up to {height.max():.3f} m, feet to {log.gap.max():.3f} m; then {height[-1]:.4f} m"
    )
    print(f"  largest torque {abs(log.tau).max():.2f} N m, gap {log.gap.min():.1e} m or more")
    print(f"  loops closed to {log.violation.max():.1e} m; log: {out / 'hop.parquet'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
