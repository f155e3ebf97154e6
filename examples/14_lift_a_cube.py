"""An arm with a gripper lifts a cube from a table and holds it for ten seconds.

The world is made of parts: arm, gripper, table, cube. What both fingers feel is read every step.

    python examples/14_lift_a_cube.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim import Body, Frame, Geometry, Joint, Mechanism

LINK, REACH, CUBE = 0.4, 0.5, 0.04  # lengths [m]: of upper and lower arm, to the cube, its edge
GRIP, LIFTED, SECONDS = 20.0, 2.0, 10.0  # of each finger [N]; when it is up, how long to hold [s]
FINGERS = ("gripper/left", "gripper/right")


def beam(name: str, length: float, mass: float) -> Body:
    """A box along z; its frame is at its lower end, `<name>_end` at the other."""
    size = np.array((0.05, 0.05, length))
    ends = Frame(name, (0, 0, -length / 2)), Frame(f"{name}_end", (0, 0, length / 2))
    inertia = np.diag(mass / 12 * (size @ size - size**2))
    return Body(name, mass, inertia, ends, (Geometry("box", tuple(size), name=name),))


def arm() -> Mechanism:
    """A post, and three hinges about y."""
    links = beam("post", 0.4, 5.0), beam("upper", LINK, 2.0), beam("lower", LINK, 1.5)
    wrist = Body("wrist", 0.3, 1e-3 * np.eye(3))
    joints = [Joint("foot", "fixed", None, "post", child_position=(0, 0, -0.2))]
    chain = zip(("shoulder", "elbow", "pitch"), links, (*links[1:], wrist), strict=True)
    for name, parent, child in chain:
        joints.append(
            Joint(name, "revolute", parent.name, child.name, axis=(0, 1, 0),
                  parent_position=parent.frames[1].position,
                  child_position=child.frames[0].position)
        )  # fmt: skip
    return Mechanism("arm", (*links, wrist), tuple(joints))


def gripper() -> Mechanism:
    """A palm with two fingers on slides, whose coordinates grow as the gripper closes."""
    palm = Body("palm", 0.3, 1e-3 * np.eye(3))
    pad = Geometry("box", (0.03, 0.01, 0.05), friction=0.7)
    fingers = [Body(side, 0.1, 1e-4 * np.eye(3), visuals=(pad,), collisions=(pad,))
               for side in ("left", "right")]  # fmt: skip
    joints = [Joint("base", "floating", None, "palm")]
    for finger, sign in zip(fingers, (1, -1), strict=True):
        joints.append(
            Joint(finger.name, "prismatic", "palm", finger.name, axis=(0, -sign, 0),
                  parent_position=(0, 0.045 * sign, 0.08), lower=0.0, upper=0.04)
        )  # fmt: skip
    return Mechanism("gripper", (palm, *fingers), tuple(joints))


def world() -> Mechanism:
    """Arm and gripper before a table with a cube on it."""
    table = Geometry("box", (0.4, 0.6, 0.2), (0, 0, 0.1), name="table")
    cube = Geometry("box", (CUBE,) * 3, (0, 0, CUBE / 2), name="cube", friction=0.7)
    robot = arm().attach(gripper(), to="wrist", prefix="gripper/")
    return robot.add(table, position=(REACH, 0, 0)).add(cube, position=(REACH, 0, 0.2), mass=0.2)


def angles(lift: float) -> np.ndarray:
    """Of shoulder, elbow and pitch, with the fingers around the cube, so high over the table."""
    x, z = REACH, 0.2 + 0.03 + 0.08 + lift - 0.4  # of the wrist, from the shoulder
    bend = np.arccos((x * x + z * z) / (2 * LINK * LINK) - 1)
    shoulder = np.arctan2(x, z) - bend / 2
    return np.array((shoulder, bend, np.pi - shoulder - bend))


class Lift:
    """Closes the fingers for half a second, lifts by 20 cm within a second, and holds."""

    def __call__(self, sim: robosim.Simulation) -> np.ndarray:
        rise = np.clip(sim.time - 0.5, 0.0, 1.0)
        target = angles(0.2 * (3 - 2 * rise) * rise**2)
        a = np.zeros(sim.robot.nv)
        a[:3] = 400 * (target - sim.q[:3]) - 40 * sim.v[:3]
        tau = sim.dynamics.inverse_dynamics(sim.q, sim.v, a)[: sim.robot.nu]
        tau[3:] = GRIP
        return tau


def felt(sim: robosim.Simulation) -> list[float]:
    """How hard each finger presses on the cube [N]."""
    forces = dict.fromkeys(FINGERS, 0.0)
    for contact in sim.contacts():
        for finger in FINGERS:
            if {contact.body, contact.other} == {finger, "cube"}:
                forces[finger] += float(contact.force @ contact.normal)
    return list(forces.values())


def in_hand(sim: robosim.Simulation) -> np.ndarray:
    """Where the cube is as seen from the palm (3,) [m]."""
    palm, R = sim.frame("gripper/palm")
    return R.T @ (sim.frame("cube")[0] - palm)


def main(out: Path) -> None:
    robot = world()
    print(robot)
    sim, control, log = robosim.Simulation(robot, timestep=2e-3), Lift(), []
    start = np.array(robot.home)
    start[:3] = angles(0.0)
    sim.set_state(start)
    while sim.time < LIFTED:
        sim.step(control(sim))
    held = in_hand(sim)
    while sim.time < LIFTED + SECONDS:
        sim.step(control(sim))
        log.append((sim.time, *felt(sim)))
    np.savetxt(out / "fingers.csv", log, delimiter=",", header=",".join(("time", *FINGERS)))
    left, right = np.mean(log, axis=0)[1:]
    slip = np.linalg.norm(in_hand(sim) - held) / SECONDS
    print(f"the cube is {sim.frame('cube')[0][2] - 0.2:.3f} m over the table")
    print(f"the fingers press with {left:.2f} and {right:.2f} N, and it slips by {slip:.0e} m/s")
    print(f"the wrist carries {sim.joint_wrenches()['gripper/mount'][2]:.3f} N")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
