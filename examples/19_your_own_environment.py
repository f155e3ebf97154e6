"""A Gymnasium environment of your own robot: a task in one file, one of it and many.

python examples/19_your_own_environment.py [FOLDER] [--quick]
"""

import argparse
import tempfile
from pathlib import Path

import gymnasium
import numpy as np

from robosim.envs import Domain, RobotEnv, RobotVectorEnv, Targets, Task

LINK = """<link name="link{0}"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
  <inertia ixx="0.014" iyy="0.014" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint{0}" type="revolute"><parent link="{1}"/><child link="link{0}"/>
  <origin xyz="0 0 {2}"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="40" velocity="10"/></joint>"""
LINKS = LINK.format(1, "base", 0.5) + LINK.format(2, "link1", 0.4)
ARM = f'<robot name="arm"><link name="base"/>{LINKS}</robot>'


class Reach(Task):
    """Bring the end of two links of 0.4 m to a place that is drawn for each episode."""

    seconds = 3.0
    domain = Domain(mass=(0.8, 1.2))  # of each link, for each environment
    noise = 0.001

    def control(self, robot):
        return Targets(kp=200.0, kd=20.0, scale=2.0)

    def draws(self, robot):
        return {"angles": ((-1.0, 0.5), (1.0, 2.0))}

    def end(self, angles):
        a, b = angles[:, 0], angles[:, 0] + angles[:, 1]
        return 0.4 * np.stack((np.sin(a) + np.sin(b), np.cos(a) + np.cos(b)), axis=1)

    def observe(self, now):
        return np.concatenate((now.q, now.v, self.end(now.drawn["angles"])), axis=1)

    def reward(self, now):
        left = np.hypot(*(self.end(now.q) - self.end(now.drawn["angles"])).T)
        return {"distance": -left, "effort": -1e-4 * (now.tau**2).sum(axis=1)}


parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("folder", nargs="?", type=Path, help="where to put the robot")
parser.add_argument("--quick", action="store_true", help="fewer steps")
options = parser.parse_args()
path = (options.folder or Path(tempfile.mkdtemp())) / "arm.urdf"
path.write_text(ARM)
env = RobotEnv(path, Reach())
seen, _ = env.reset(seed=0)
*_, info = env.step(env.action_space.sample())
print(f"sees {seen.shape[0]} numbers; {', '.join(f'{k} {v:.3g}' for k, v in info.items())}")
gymnasium.register("Reach-v0", RobotEnv, kwargs={"robot": str(path), "task": Reach})
print(f"known to Gymnasium: {gymnasium.make('Reach-v0').spec.id}")
envs = RobotVectorEnv(path, Reach, num_envs=64)
envs.reset(seed=0)
shots = range(15 if options.quick else 150)
total = sum(envs.step(envs.action_space.sample())[1].mean() for _ in shots)
print(f"64 at once, at random: {total:.1f} each")
