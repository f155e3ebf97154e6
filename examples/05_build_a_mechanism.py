"""A mechanism in Python, without a model file: a hopper with a wheel on a sprung slide.

Bodies are described about their centres of mass; a joint says where it is on both of its bodies.

    python examples/05_build_a_mechanism.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from robosim import Body, ContactPoint, Geometry, Joint, Mechanism, Simulation


def build() -> Mechanism:
    box, ball = Geometry("box", (0.3, 0.3, 0.1)), Geometry("sphere", (0.1,))
    trunk = Body("trunk", mass=4.0, inertia=np.diag([0.04, 0.04, 0.06]), visuals=(box,))
    slider = Body("slider", mass=0.5, inertia=np.diag([0.003, 0.003, 0.001]))
    wheel = Body("wheel", mass=0.5, inertia=0.002 * np.eye(3), visuals=(ball,))
    joints = (
        # Kinds are those of robosim.joints.KINDS. The trunk can move in the plane y = 0, upright.
        Joint("rail", "planar_fixed_orientation", None, "trunk", axis=(0, 1, 0), actuated=False),
        Joint("slide", "prismatic", "trunk", "slider", parent_position=(0, 0, -0.3)),  # along z
        Joint("axle", "revolute", "slider", "wheel", axis=(0, 1, 0)),
    )
    # A sphere at the wheel's centre, with its radius: it rolls.
    contacts = (ContactPoint("tread", "wheel", (0, 0, 0), radius=0.1, friction=0.9),)
    return Mechanism("hopper", (trunk, slider, wheel), joints, contacts)


def suspension(sim: Simulation) -> list[float]:
    """Spring and damper on the slide; once it has landed, half a newton metre on the axle."""
    slide, rate = sim.q[sim.robot.q_names.index("slide")], sim.v[sim.robot.v_names.index("slide")]
    return [-800.0 * slide - 40.0 * rate, 0.5 if sim.time > 0.5 else 0.0]


def main(out: Path) -> None:
    robot = build()
    print(f"{robot.name}: coordinates {robot.q_names}, torques on {robot.nu} of them")
    sim = Simulation(robot, timestep=1e-3)
    q = np.array(robot.home)
    q[robot.q_names.index("rail.t0")] = 0.6  # the plane's first axis is z here: dropped from 0.6 m
    sim.set_state(q)
    log = sim.run(2.0, controller=suspension)
    log.save(out / "hopper.csv")
    way, turned = sim.state.x[2, 0], sim.q[robot.q_names.index("axle")]
    print(f"after 2 s the trunk is at {sim.state.x[0, 2]:.3f} m")
    print(f"the wheel went {way:.4f} m and turned {turned:.4f} rad: {way / turned:.6f} m per rad")
    print(f"smallest gap {1e9 * log.gap.min():.3f} nm, joints held to {log.violation.max():.1e} m")
    print(f"log: {out / 'hopper.csv'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
