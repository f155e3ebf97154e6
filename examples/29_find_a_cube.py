"""A depth camera finds a cube on a table, and an arm moves its tip over it: depth.png."""

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
EYE, MIDDLE = np.array((0.9, 0, 0.9)), np.array((0.5, 0, TABLE))  # where the camera is, and looks


def world(place: np.ndarray) -> Mechanism:
    """An arm that turns on a post, a table, and a cube at a place that only the camera knows."""
    post = Body("post", 0.5, 1e-3 * np.eye(3))
    turn = Joint("turn", "revolute", None, "post", axis=(0, 0, 1), parent_position=(0, 0, 0.5))
    arm, bend = Mechanism("arm", (post,), (turn,)), {"kind": "revolute", "axis": (0, 1, 0)}
    beam = Geometry("box", (0.05, 0.05, LINK), (0, 0, LINK / 2), name="beam")
    arm = arm.attach(beam, "post", prefix="upper/", mass=2.0, **bend)
    arm = arm.attach(beam, "upper/beam", (0, 0, LINK), prefix="lower/", mass=1.5, **bend)
    arm = arm.attach(Geometry("sphere", (0.02,), name="tip"), "lower/beam", (0, 0, LINK),
                     prefix="hand/", mass=0.1)  # fmt: skip
    table = Geometry("box", (0.5, 0.9, TABLE), (0.1, 0, TABLE / 2), name="table")
    cube = Geometry("box", (EDGE,) * 3, (0, 0, EDGE / 2), name="cube")
    whole = arm.add(table, (0.4, 0, 0)).add(cube, (*place, TABLE), mass=0.2)
    ahead, right = (MIDDLE - EYE) / np.linalg.norm(MIDDLE - EYE), np.array((0, 1, 0))
    turned = from_matrix(np.column_stack((right, np.cross(ahead, right), ahead)))
    camera = DepthCamera("camera", "world", 160, 120, fov=1.2, axes="optical", range=2.0,
                         noise=0.002, position=EYE, quaternion=turned)  # fmt: skip
    return whole.with_sensors(camera)


def main(folder: Path) -> None:
    place = np.random.default_rng(7).uniform((0.35, -0.2), (0.6, 0.2))
    sim = Simulation(world(place), timestep=2e-3)
    sim.set_state(folded := np.array((2.5, -0.5, 1.5, *sim.q[3:])))
    sample = sim.sample("camera")
    depth_figure(sample, folder / "depth.png")
    on_table = np.abs(sample.cloud[:, 2] - TABLE - EDGE) < 0.01
    near = np.linalg.norm(sample.cloud[:, :2] - MIDDLE[:2], axis=1) < 0.3
    cube = np.array((*sample.cloud[on_table & near][:, :2].mean(axis=0), TABLE + EDGE))
    seen, there = (f"{one[0]:.3f}, {one[1]:.3f} m" for one in (cube, place))
    print(f"the cube is seen at {seen}, and is at {there}")

    guess = np.array((np.arctan2(cube[1], cube[0]), 0.5, 1.5, *folded[3:]))
    goal = FrameTarget("hand/tip", cube + np.array((0, 0, OVER)))
    reached = Dynamics(sim.robot).inverse_kinematics(goal, guess)

    def targets(times: np.ndarray) -> np.ndarray:
        """Smoothly there within two seconds."""
        part = np.clip(times / 2.0, 0.0, 1.0)[:, None]
        return folded[:3] + (3 - 2 * part) * part**2 * (reached.q[:3] - folded[:3])

    sim.run(3.0, PD(sim.robot, targets, kp=1e4, kd=300.0, implicit=True))
    tip = sim.frame("hand/tip")[0]
    off = 1e3 * np.linalg.norm(tip[:2] - place)
    print(f"reached: {bool(reached)}; {off:.1f} mm from the cube's middle, at z = {tip[2]:.3f} m")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
