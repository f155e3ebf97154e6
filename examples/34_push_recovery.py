"""A standing A1 is pushed, and recovers by plans whose contacts nobody schedules.

python examples/34_push_recovery.py [FOLDER]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import robosim
from robosim.optimize import ContactCost, ContactMPC, SoftContacts


def main(out: Path) -> None:
    robot = robosim.load("a1")
    sim = robosim.Simulation(robot, timestep=1e-3)
    sim.run(1.0, "stand")
    stance = sim.q.copy()

    # The plans have contacts at the feet, which are felt from a centimetre on.
    cost = ContactCost(
        stance,
        Q=[20, 20, 200, 200, 200, 200, *[3] * 12],  # of base and legs
        V=[1, 5, 1, 2, 2, 2, *[0.02] * 12],
        R=2e-5,
        slip=2.0,  # feet are raised to move
        clearance=0.06,
        final=5.0,
        unactuated=0.03,
    )
    contacts = SoftContacts(stiffness=4860.0, softness=0.01, stiction=0.1)
    mpc = ContactMPC(robot, cost, 20, 0.04, contacts, period=0.02, kp=20.0, kd=0.5)

    logs = [sim.run(0.1, mpc)]
    sim.apply_wrench("base", force=(0.0, 60.0, 0.0))  # 6 N s
    logs.append(sim.run(0.1, mpc))
    sim.apply_wrench("base", force=(0.0, 0.0, 0.0))
    logs.append(sim.run(1.5, mpc))

    q = np.concatenate([log.q for log in logs])
    tilt = np.degrees(2.0 * np.arcsin(np.hypot(q[:, 4], q[:, 5])))
    print(f"pushed aside by {np.abs(q[:, 1]).max():.3f} m, leans by {tilt.max():.1f} degrees")
    print(f"ends {abs(q[-1, 1]):.3f} m aside at a height of {q[-1, 2]:.3f} m")
    times = mpc.times
    print(f"{times.plans} plans of {1e3 * times.median:.1f} ms, {times.late} of them late")
    np.savetxt(out / "trunk.csv", q[:, :3], delimiter=",", header="x,y,z")
    print(f"written: {out / 'trunk.csv'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="an existing one, to save to")
    main(parser.parse_args().folder or Path(tempfile.mkdtemp()))
