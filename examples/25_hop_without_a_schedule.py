"""A leg hops by 10 cm: trajectory optimisation finds when it pushes, flies and lands.

python examples/25_hop_without_a_schedule.py [FOLDER] [--quick]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim import Body, ContactPoint, Joint, Mechanism
from robosim.errors import MissingExtraError


def hopper() -> Mechanism:
    """A body of 1 kg on a rail, and a leg of 0.1 kg that slides out of it."""
    bodies = Body("body", 1.0, 0.01 * np.eye(3)), Body("foot", 0.1, 0.001 * np.eye(3))
    rail = Joint("rail", "prismatic", None, "body", axis=(0, 0, 1), actuated=False)
    leg = Joint(
        "leg",
        "prismatic",
        "body",
        "foot",
        axis=(0, 0, 1),
        lower=-0.5,
        upper=-0.2,
        effort_limit=60.0,
    )
    toe = ContactPoint("toe", "foot", (0, 0, 0))
    return Mechanism("hopper", bodies, (rail, leg), contacts=(toe,), home=(0.4, -0.4))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the trajectory")
    parser.add_argument("--quick", action="store_true", help="fewer steps, and no simulation")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    try:
        from robosim.optimize import Problem
    except MissingExtraError as error:
        print(f"skipped: {error}")
        return

    robot, seconds = hopper(), 0.8
    problem = Problem(robot, seconds, 20 if options.quick else 40)
    problem.start(robot.home, [0, 0]).end(robot.home, [0, 0])
    problem.contact()  # no schedule: forces and gaps complement each other
    problem.cost(lambda at: 1e-2 * at.u[0] ** 2 + 0.1 * at.v[1] ** 2)
    problem.constrain(lambda at: at.position("foot")[2], 0.1, np.inf, at=0.4, name="apex")
    found = problem.solve(progress=True)
    print(found)
    found.save(folder / "hop.npz")
    air = found.times[found.points.sum(axis=1) > 1e-4]
    print(f"in the air from {air[0]:.2f} to {air[-1]:.2f} s, {np.abs(found.u).max():.0f} N at most")

    if not options.quick:
        sim = robosim.Simulation(robot, 2e-3)
        follow = found.controller(sim, Q=[100, 100, 1, 1], R=0.1, contact_speed=1e-3)
        sim.set_state(found.q[0], found.v[0])
        log = sim.run(seconds, follow)
        away = 1e3 * np.abs(sim.q - found.q[-1]).max()
        print(f"simulated: up to {log.q.sum(axis=1).max():.3f} m, ends {away:.1f} mm from the plan")


if __name__ == "__main__":
    main()
