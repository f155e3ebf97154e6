"""A knee on a spline is stretched and bent by two muscles, at a timestep of 10 ms.

The thigh rolls and slides on the shank, so that muscles have other arms at every angle. Their
forces are part of the step; held over it, they would shake the leg.

    python examples/15_knee_with_muscles.py [FOLDER]
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import robosim
from robosim.actuators import Actuator, Drive
from robosim.models.builders import knee_spline
from robosim.muscles import Activation, HillMuscle
from robosim.quaternions import from_axis_angle
from robosim.tendons import Point, Wrap
from robosim.viz.plots import plot_log

DEGREES = 10.0  # of the knee for each segment of its spline
# In body axes from the centres of mass: down the front of the thigh and around its round end to
# the shank; and down its back. Bent knees lead the shank backward, to -x.
TURNED = from_axis_angle((1, 0, 0), np.pi / 2)
END = Wrap("cylinder", "thigh", 0.04, (0, 0, -0.215), TURNED, Point("thigh", (0.1, 0, -0.23)))
FRONT = (Point("thigh", (0.03, 0, 0.12)), END, Point("shank", (0.03, 0, 0.15)))
BACK = (Point("thigh", (-0.03, 0, 0.12)), Point("shank", (-0.03, 0, 0.16)))


def leg() -> robosim.Mechanism:
    """The leg that ships, its hip locked by a motion, with an extensor and a flexor."""
    bare = knee_spline()
    tendons = (robosim.Tendon("front", FRONT), robosim.Tendon("back", BACK))
    twitch = Activation("muscle", (0.01, 0.04, 0.0), (0.0, 1.0))
    muscles = (
        Actuator("quadriceps", {"front": 1.0}, activation=twitch, implicit=True,
                 muscle=HillMuscle(2000.0, 0.25, 0.17, 10.0)),
        Actuator("hamstrings", {"back": 1.0}, activation=twitch, implicit=True,
                 muscle=HillMuscle(1000.0, 0.22, 0.17, 10.0)),
    )  # fmt: skip
    hip = replace(bare.joints[0], motion=lambda t: 0.0)
    joints = (hip, *bare.joints[1:])
    return replace(bare, joints=joints, tendons=tendons, actuators=muscles)


def main(out: Path) -> None:
    robot = leg()
    sim = robosim.Simulation(robot, timestep=0.01)
    # Five seconds to stretch the knee, then five to bend it again.
    control = Drive(robot, lambda sim: (0.03, 0.10) if sim.time < 5.0 else (0.01, 0.20))
    sim.set_state((0.0, 8.0))
    for what in ("stretched", "bent"):
        log = sim.run(5.0, control)
        rate = DEGREES * np.abs(log.v[-20:, 1]).max()
        print(f"{what} to {DEGREES * sim.q[1]:.0f} degrees, where it rests: {rate:.2f} a second")
        plot_log(log, out / f"{what}.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
