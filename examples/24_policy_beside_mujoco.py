"""A gait becomes a policy in an ONNX file, which the A1 plays in robosim and in MuJoCo.

python examples/24_policy_beside_mujoco.py [FOLDER] [--seconds T]
"""

import argparse
import tempfile
from pathlib import Path

import robosim
from robosim import policies
from robosim.controllers import Gait


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to write the policy and page")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)

    robot = robosim.load("a1")
    gait = Gait(robot, 0.17, -0.2, 0.9, 0.15, -1.5, timestep=2e-3, effort_limits=True)
    file = policies.export(gait, folder / "gait.onnx", robot)

    # What anyone does with the file; here it needs no task file, as it has its task.
    policy = policies.load(file, robot)
    sim = robosim.Simulation(robot, timestep=policy.task.timestep)
    sim.place(policy.pose(), 0.01)
    sim.run(options.seconds, policy)
    print(f"the base is at x = {sim.q[0]:+.3f} m after {options.seconds:g} s")

    found = policies.compare(policy, seconds=options.seconds)
    policies.write_report(found, folder / "beside_mujoco.html")
    for track in found.tracks:
        print(f"in {track.name:8s} it ends at x = {track.q[-1, 0]:+.3f} m")
    print(f"page in {folder}")


if __name__ == "__main__":
    main()
