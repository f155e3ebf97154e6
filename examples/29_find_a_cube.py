"""A depth camera finds a cube on a table, and an arm moves its tip over it: depth.png.

python examples/29_find_a_cube.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from robosim import Body, Geometry, Joint, Mechanism, Simulation
from robosim.controllers import PD
from robosim.dynamics import Dynamics, FrameTarget
from robosim.quaternions import from_matrix
from robosim.sensors import DepthCamera
from robosim.viz.depth import depth_figure

TABLE, EDGE, LINK, OVER = 0.2, 0.04, 0.4, 0.05  # heights and lengths [m]


def world(place: tuple[float, float]) -> Mechanism:
    """An arm that turns on a post, a table, and a cube at a place that only the camera knows."""
    post = Body("post", 0.5, 1e-3 * np.eye(3))
    turn = Joint("turn", "revolute", None, "post", axis=(0, 0, 1), parent_position=(0, 0, 0.5))
    bend = {"kind": "revolute", "axis": (0, 1, 0)}
    beam = Geometry("box", (0.05, 0.05, LINK), (0, 0, LINK / 2), name="beam")
    arm = Mechanism("arm", (post,), (turn,))
    arm = arm.attach(beam, "post", prefix="upper/", mass=2.0, **bend)
    arm = arm.attach(beam, "upper/beam", (0, 0, LINK), prefix="lower/", mass=1.5, **bend)
    tip = Geometry("sphere", (0.02,), name="tip")
    arm = arm.attach(tip, "lower/beam", (0, 0, LINK), prefix="hand/", mass=0.1)
    table = Geometry("box", (0.5, 0.9, TABLE), (0.1, 0, TABLE / 2), name="table")
    cube = Geometry("box", (EDGE,) * 3, (0, 0, EDGE / 2), name="cube")
    whole = arm.add(table, (0.4, 0, 0)).add(cube, (*place, TABLE), mass=0.2)
    # Above the far edge of the table, it looks back and down.
    camera = DepthCamera(
        "camera", "world", 160, 120, fov=1.2, axes="optical", range=2.0, rate=30.0, noise=0.002,
        position=(0.9, 0, 0.9), quaternion=looking((0.9, 0, 0.9), (0.5, 0, TABLE)),
    )  # fmt: skip
    return whole.with_sensors([camera])


def looking(from_place: tuple[float, ...], at: tuple[float, ...]) -> np.ndarray:
    """The quaternion of a camera whose z axis leads to a place, and whose x axis is level."""
    ahead = np.subtract(at, from_place)
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, (0, 0, 1))
    right /= np.linalg.norm(right)
    return from_matrix(np.column_stack((right, np.cross(ahead, right), ahead)))


def found_in(points: np.ndarray) -> np.ndarray:
    """The middle of what lies on the table, from the points of a picture (height, width, 3)."""
    x, y, z = np.moveaxis(points, -1, 0)
    on_table = (np.abs(z - TABLE - EDGE) < 0.01) & (x > 0.25) & (x < 0.75) & (np.abs(y) < 0.45)
    return np.array((*points[on_table][:, :2].mean(axis=0), TABLE + EDGE))


def main(folder: Path) -> None:
    place = tuple(np.random.default_rng(7).uniform((0.35, -0.2), (0.6, 0.2)))
    robot = world(place)
    sim = Simulation(robot, timestep=2e-3)
    folded = sim.q.copy()
    folded[:3] = 2.5, -0.5, 1.5
    sim.set_state(folded)

    sample = sim.sample("camera")
    depth_figure(sample, folder / "depth.png")
    cube = found_in(sample.points)
    print(f"the cube is seen at {cube[0]:.3f}, {cube[1]:.3f} m, and is at {place[0]:.3f}, "
          f"{place[1]:.3f} m")  # fmt: skip

    goal = FrameTarget("hand/tip", cube + np.array((0, 0, OVER)))
    guess = folded.copy()
    guess[:3] = np.arctan2(cube[1], cube[0]), 0.5, 1.5
    reached = Dynamics(robot).inverse_kinematics(goal, guess)
    start, end = folded[:3], reached.q[:3]

    def targets(times: np.ndarray) -> np.ndarray:
        """Smoothly there within two seconds."""
        part = np.clip(times / 2.0, 0.0, 1.0)[:, None]
        return start + (3 - 2 * part) * part**2 * (end - start)

    sim.run(3.0, PD(robot, targets, kp=1e4, kd=300.0, implicit=True))
    tip = sim.frame("hand/tip")[0]
    off = np.linalg.norm(tip[:2] - place)
    print(f"reachable: {bool(reached)}; the tip stands {1e3 * off:.1f} mm from the cube's middle, "
          f"{1e3 * (tip[2] - cube[2]):.0f} mm over it")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
