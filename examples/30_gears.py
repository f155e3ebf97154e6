"""Two spur gears that turn each other by their teeth, without a constraint between them.

Each tooth is a convex mesh with involute flanks, and a wheel is a cylinder with teeth around it. A
motor turns the pinion against the friction of the wheel's bearing. The wheel follows at the ratio
of the teeth, within the play that the teeth leave.

    python examples/30_gears.py [FOLDER]
"""

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.spatial import ConvexHull

import robosim
from robosim import Body, Joint, Mechanism
from robosim.bodies import Geometry
from robosim.controllers import PD
from robosim.viz import Camera

TEETH = 12, 20
MODULE, WIDTH, PLAY = 4e-3, 1e-2, 1e-4  # [m]; each tooth is thinner by its play
PRESSURE_ANGLE = math.radians(20.0)
DENSITY, FRICTION = 7800.0, 0.05
SPEED, SECONDS = 2 * math.pi, 0.5  # [rad/s], [s]


def involute(base: float, radius: float) -> float:
    """The polar angle of an involute at a radius, from where it leaves its base circle."""
    way = math.sqrt((radius / base) ** 2 - 1.0)
    return way - math.atan(way)


def tooth(teeth: int, middle: float) -> Geometry:
    """The hull of both flanks of a tooth, which stands at an angle `middle` [rad]."""
    pitch = MODULE * teeth / 2
    base, root, tip = pitch * math.cos(PRESSURE_ANGLE), pitch - 1.25 * MODULE, pitch + MODULE
    half = math.pi / (2 * teeth) - PLAY / (2 * pitch) + involute(base, pitch)
    radii = np.linspace(max(base, root), tip, 7)
    angles = [half - involute(base, radius) for radius in radii]
    polar = [(0.95 * root, angles[0]), *zip(radii[1:], angles[1:], strict=True)]
    flanks = [
        (r * math.cos(middle + side * angle), r * math.sin(middle + side * angle))
        for side in (-1.0, 1.0)
        for r, angle in polar
    ]
    points = np.array([(x, y, z) for z in (-WIDTH / 2, WIDTH / 2) for x, y in flanks])
    hull = ConvexHull(points)
    faces = hull.simplices.copy()
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    steel = (0.62, 0.65, 0.7, 1.0)
    return Geometry("mesh", vertices=points, faces=faces, rgba=steel, friction=FRICTION)


def gear(name: str, teeth: int, first: float) -> Body:
    """A wheel whose first tooth stands at an angle `first`, in parts of a tooth."""
    pitch = MODULE * teeth / 2
    disc = Geometry("cylinder", (pitch - 1.25 * MODULE, WIDTH), friction=FRICTION)
    angles = 2 * math.pi * (np.arange(teeth) + first) / teeth
    shapes = (disc, *(tooth(teeth, float(angle)) for angle in angles))
    mass = DENSITY * math.pi * pitch**2 * WIDTH
    across = mass * (3 * pitch**2 + WIDTH**2) / 12
    inertia = np.diag((across, across, mass * pitch**2 / 2))
    return Body(name, mass, inertia, visuals=shapes, collisions=shapes)


def pair() -> Mechanism:
    """A tooth of the pinion in a gap of the wheel, at the distance of their pitch circles."""
    bodies = gear("pinion", TEETH[0], 0.0), gear("wheel", TEETH[1], 0.5)
    apart = MODULE * sum(TEETH) / 2
    drive = Joint("drive", "revolute", None, "pinion")
    load = Joint(
        "load", "revolute", None, "wheel", parent_position=(apart, 0, 0), friction=0.02,
        actuated=False,
    )  # fmt: skip
    return Mechanism("gears", bodies, (drive, load), contact_pairs=(("pinion", "wheel"),))


def main(out: Path) -> None:
    robot = pair()
    sim = robosim.Simulation(robot, timestep=1e-3)
    motor = PD(robot, 0.0, kp=0.0, kd=2.0, velocity=SPEED, implicit=True)
    log = sim.run(SECONDS, motor)
    turned = log.q[50:]  # the wheel has been touched by then
    behind = turned[:, 0] + turned[:, 1] * TEETH[1] / TEETH[0]
    pitch = MODULE * TEETH[0] / 2
    print(f"the pinion turns by {math.degrees(turned[-1, 0]):.1f} degrees")
    print(f"ratio {turned[-1, 0] / turned[-1, 1]:.3f}, of the teeth {-TEETH[1] / TEETH[0]:.3f}")
    print(f"the wheel goes to and fro by {1e3 * pitch * np.ptp(behind):.2f} mm")
    print(f"the teeth leave {1e3 * 2 * PLAY:.2f} mm")
    above = Camera.looking((0.03, -0.05, 0.25), (0.03, 0.0, 0.0))
    Image.fromarray(sim.render(above)).save(out / "gears.png")
    print(f"picture: {out / 'gears.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
