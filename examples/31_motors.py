"""An arm raises a weight by ideal torques, by a motor with delays and heat, and with backlash.

python examples/31_motors.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robosim
from robosim.bodies import Body
from robosim.controllers import PID, DCMotor, Delay, Motors, Rate
from robosim.mechanism import Mechanism, with_backlash

LENGTH, MASS, GOAL = 0.3, 1.5, np.pi  # [m], [kg], [rad] from hanging
ROTOR = 20.0**2 * 1.2e-5  # inertia of the rotor behind gears of 20 to 1 [kg m^2]
MOTOR = DCMotor(
    resistance=0.6, torque_constant=0.03, gear_ratio=20.0, efficiency=0.8,
    voltage_limit=24.0, current_limit=25.0, inductance=2e-4,
    thermal_resistance=3.0, thermal_capacity=20.0, temperature_limit=120.0,
)  # fmt: skip


def arm() -> Mechanism:
    """A weight on a light rod, which a hinge turns."""
    weight = Body("weight", MASS, 2e-3 * np.eye(3))
    hinge = robosim.Joint("elbow", "revolute", None, "weight", axis=(0, 1, 0), armature=ROTOR,
                          child_position=(0, 0, LENGTH), friction=0.02)  # fmt: skip
    return Mechanism("arm", (weight,), (hinge,))


def aim(time: np.ndarray) -> np.ndarray:
    """Up to the goal within half a second, then still: targets (n, 1) [rad]."""
    s = np.clip(time / 0.5, 0.0, 1.0)
    return GOAL * (3 * s**2 - 2 * s**3)[:, None]


def main(out: Path) -> None:
    law = PID(aim, kp=60.0, ki=30.0, kd=3.0, limit=15.0)
    slack = with_backlash(arm(), {"elbow": np.deg2rad(1.0)}, restitution=0.2)
    drive = Rate(500), Delay(0.004), MOTOR
    runs = {
        "ideal": (arm(), ()),
        "motor": (arm(), drive),
        "motor and backlash": (slack, drive),
    }
    figure, axes = plt.subplots(2, sharex=True)
    for name, (robot, stages) in runs.items():
        motors = Motors(robot, law, *stages)
        log = robosim.Simulation(robot, timestep=1e-3).run(2.0, motors)
        end = log.t > 1.5
        angle, effort = np.rad2deg(log.q.sum(axis=1)), log.tau[end, 0]
        print(f"{name}: ends at {angle[-1]:.1f} degrees, with {np.ptp(effort):.2f} N m of chatter")
        axes[0].plot(log.t, angle, label=name)
        axes[1].plot(log.t, log.tau[:, 0])
        if stages:
            print(f"  winding at {motors.temperatures[0, 0]:.1f} degrees Celsius")
    axes[0].set_ylabel("elbow [degrees]")
    axes[0].legend()
    axes[1].set(xlabel="time [s]", ylabel="torque [N m]")
    figure.savefig(out / "motors.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
