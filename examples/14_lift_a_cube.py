"""An arm with a gripper lifts a cube from a table and holds it for ten seconds: lift.parquet."""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from robosim import Body, Geometry, Joint, Mechanism, Simulation

LINK, REACH, GRIP = 0.4, 0.5, 20.0  # upper and lower arm, and to the cube [m]; of a finger [N]


def world() -> Mechanism:
    """A post, an arm and a gripper of boxes; a table and a cube."""
    post, palm = (Body(name, 0.5, 1e-3 * np.eye(3)) for name in ("post", "palm"))
    joint = Joint("foot", "fixed", None, "post", parent_position=(0, 0, 0.4))
    robot, bend = Mechanism("arm", (post,), (joint,)), {"kind": "revolute", "axis": (0, 1, 0)}
    beam = Geometry("box", (0.05, 0.05, LINK), (0, 0, LINK / 2), name="beam")
    robot = robot.attach(beam, "post", prefix="upper/", mass=2.0, **bend)
    robot = robot.attach(beam, "upper/beam", (0, 0, LINK), prefix="lower/", mass=1.5, **bend)
    hand = Mechanism("hand", (palm,), (Joint("base", "floating", None, "palm"),))
    pad = Geometry("box", (0.03, 0.01, 0.05), name="pad", friction=0.7)
    for side, y in (("left", 0.045), ("right", -0.045)):
        slide = {"kind": "prismatic", "axis": (0, -np.sign(y), 0)}
        hand = hand.attach(pad, "palm", (0, y, 0.08), prefix=f"{side}/", mass=0.1, **slide)
    robot = robot.attach(hand, "lower/beam", (0, 0, LINK), prefix="gripper/", **bend)
    table = Geometry("box", (0.4, 0.6, 0.2), (0, 0, 0.1), name="table")
    cube = Geometry("box", (0.04, 0.04, 0.04), (0, 0, 0.02), name="cube", friction=0.7)
    return robot.add(table, (REACH, 0, 0)).add(cube, (REACH, 0, 0.2), mass=0.2)


def angles(lift: float) -> np.ndarray:
    """Of the arm, with the fingers around the cube, so high over the table."""
    x, z = REACH, lift - 0.09  # of the palm, from the shoulder
    bend = np.arccos((x * x + z * z) / (2 * LINK * LINK) - 1)
    shoulder = np.arctan2(x, z) - bend / 2
    return np.array((shoulder, bend, np.pi - shoulder - bend))


def control(sim: Simulation) -> np.ndarray:
    """Close the fingers for half a second, lift by 20 cm within a second, and hold."""
    rise, a = np.clip(sim.time - 0.5, 0.0, 1.0), np.zeros(sim.robot.nv)
    a[:3] = 400 * (angles(0.2 * (3 - 2 * rise) * rise**2) - sim.q[:3]) - 40 * sim.v[:3]
    return np.array((*sim.dynamics.inverse_dynamics(sim.q, sim.v, a)[:3], GRIP, GRIP))


def main(folder: Path) -> None:
    sim = Simulation(world(), timestep=2e-3)
    sim.set_state([*angles(0.0), *sim.q[3:]])
    sim.run(3.0, control)
    log = sim.run(10.0, control, also=("contacts", "frame:cube", "frame:gripper/palm"))
    folder.mkdir(parents=True, exist_ok=True)
    log.save(folder / "lift.parquet")
    left, right = (log.column(f"gripper/{side}/pad.contact_fy") for side in ("left", "right"))
    away = np.array([log.column(f"cube.p{k}") - log.column(f"gripper/palm.p{k}") for k in "xyz"])
    slip = np.linalg.norm(away[:, -1] - away[:, 0]) / (log.t[-1] - log.t[0])
    print(f"{sim.robot}\nthe cube is {log.column('cube.pz')[-1] - 0.2:.3f} m over the table")
    print(
        f"on the fingers: {left.mean():.2f} and {right.mean():.2f} N; slip: {slip:.0e} m/s\n"
        f"the wrist carries {sim.joint_wrenches()['gripper/mount'][2]:.3f} N"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the log")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
