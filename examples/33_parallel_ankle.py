"""An ankle driven by two rods: a controller of its joints, limits, and a tree for learners.

python examples/33_parallel_ankle.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim.models import builders
from robosim.parallel import Transmission, reach, serial_equivalent

TARGET = np.array((0.3, -0.2))  # pitch and roll [rad]


def main(out: Path) -> None:
    robot = builders.two_rod_ankle()
    ankle = Transmission(robot, joints="ankle")
    print(f"{', '.join(ankle.motors)} drive {', '.join(ankle.joints)}")
    print("motors for the target", np.round(ankle.motors_at(TARGET), 4), "rad")
    limits = ankle.torque_limits(ankle.home)
    print("torque limits at home", np.round(limits.inner, 1), "N m, both at once")
    for name, way in zip(("pitch", "roll"), np.eye(2), strict=True):
        end = reach(ankle, way, along="joints")
        print(f"{name} up to {end.distance:.3f} rad: {end.cause} of {end.name}")

    def law(sim: robosim.Simulation) -> np.ndarray:
        """PD of the joints, with the weight; torques of motors have the same power."""
        (_, joints), rates = ankle.positions(sim.q), ankle.jacobian(sim.q) @ speeds(sim)
        torques = 30.0 * (TARGET - joints) - 1.5 * rates + ankle.gravity(sim.q)
        return ankle.motor_torques(sim.q, torques)

    def speeds(sim: robosim.Simulation) -> np.ndarray:
        return sim.v[[robot.v_names.index(name) for name in ankle.motors]]

    sim = robosim.Simulation(robot, timestep=0.005)
    sim.run(1.5, law)
    error = np.abs(ankle.positions(sim.q)[1] - TARGET).max()
    print(f"after 1.5 s within {error:.1e} rad, loops closed to {sim.constraint_violation():.0e} m")

    serial = serial_equivalent(ankle, samples=40)
    for file in ("ankle.urdf", "ankle.xml"):
        robosim.save(serial.robot, out / file)
    print("a tree with armature", np.round(serial.armature[:, 0], 4), "kg m^2 at its joints")
    for what, typical in serial.errors.median.items():
        print(f"  {what:17} {typical:.3f}, at most {serial.errors.largest[what]:.3f}")
    print(f"written: {out / 'ankle.urdf'} and ankle.xml")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
