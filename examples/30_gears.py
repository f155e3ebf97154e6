"""Two spur gears that turn each other by their teeth, without a constraint between them.

Each tooth is a convex mesh with involute flanks. The wheel follows at the ratio of the teeth.

    python examples/30_gears.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from trimesh.convex import convex_hull

import robosim
from robosim.bodies import Body, Geometry
from robosim.controllers import PD
from robosim.viz import Camera

TEETH, MODULE, WIDTH, PLAY = (12, 20), 4e-3, 1e-2, 1e-4  # [m]; teeth are thinner by the play
PRESSURE_ANGLE, SPEED, SECONDS = np.deg2rad(20.0), 2 * np.pi, 0.5  # [rad], [rad/s], [s]


def tooth(teeth: int, middle: float) -> Geometry:
    """The hull of both flanks of a tooth that stands at an angle `middle` [rad]."""
    pitch = MODULE * teeth / 2
    base, root = pitch * np.cos(PRESSURE_ANGLE), pitch - 1.25 * MODULE
    radii = np.array([pitch, *np.linspace(max(base, root), pitch + MODULE, 7)])
    way = np.sqrt((radii / base) ** 2 - 1.0)
    involute = way - np.arctan(way)  # polar angles from the base circle on
    half = np.pi / (2 * teeth) - PLAY / (2 * pitch) + involute[0] - involute[1:]
    radii[1] = 0.95 * root  # straight down into the disc
    flanks = np.concatenate([radii[1:] * np.exp(1j * (middle + s * half)) for s in (-1, 1)])
    points = [(p.real, p.imag, z) for z in (-WIDTH / 2, WIDTH / 2) for p in flanks]
    hull = convex_hull(np.array(points))
    return Geometry("mesh", vertices=hull.vertices, faces=hull.faces, friction=0.05)


def gear(name: str, teeth: int, first: float) -> Body:
    """A gear of steel whose first tooth stands at an angle `first`, in parts of a tooth."""
    pitch = MODULE * teeth / 2
    angles = 2 * np.pi * (np.arange(teeth) + first) / teeth
    disc = Geometry("cylinder", (pitch - 1.25 * MODULE, WIDTH), friction=0.05)
    shapes = (disc, *(tooth(teeth, float(angle)) for angle in angles))
    mass = 7800.0 * np.pi * pitch**2 * WIDTH
    inertia = mass * np.diag((pitch**2 / 4, pitch**2 / 4, pitch**2 / 2))
    return Body(name, mass, inertia, visuals=shapes, collisions=shapes)


def main(out: Path) -> None:
    place = {"parent_position": (MODULE * sum(TEETH) / 2, 0, 0)}
    drive = robosim.Joint("drive", "revolute", None, "pinion")
    load = robosim.Joint("load", "revolute", None, "wheel", friction=0.02, actuated=False, **place)
    gears = gear("pinion", TEETH[0], 0.0), gear("wheel", TEETH[1], 0.5)  # a tooth in a gap
    robot = robosim.Mechanism("gears", gears, (drive, load), contact_pairs=[("pinion", "wheel")])
    sim = robosim.Simulation(robot, timestep=1e-3)
    log = sim.run(SECONDS, PD(robot, 0.0, kp=0.0, kd=2.0, velocity=SPEED, implicit=True))
    a, b = log.q[50:].T  # the wheel has been touched by then
    apart = np.ptp(a + b * TEETH[1] / TEETH[0]) * MODULE * TEETH[0] / 2
    print(f"ratio {a[-1] / b[-1]:.3f}, of the teeth {-TEETH[1] / TEETH[0]:.3f}")
    print(f"the wheel goes to and fro by {1e3 * apart:.2f} mm; teeth leave {2e3 * PLAY:.2f} mm")
    above = Camera.looking((0.03, -0.05, 0.25), (0.03, 0.0, 0.0))
    Image.fromarray(sim.render(above)).save(out / "gears.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
