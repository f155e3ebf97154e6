"""PPO of Stable-Baselines3: the A1 learns to walk at 0.5 m/s, in some ten minutes on a core or two.

python examples/20_ppo_with_sb3.py [FOLDER] [--quick]
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from robosim.envs import RobotVectorEnv
from robosim.envs.tasks.a1_walk import A1Walk
from robosim.errors import MissingExtraError


def main(folder: Path, quick: bool) -> None:
    try:
        from robosim.envs.sb3 import VecEnv
    except MissingExtraError as error:
        sys.exit(print(f"skipped: {error}"))
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    n, rounds, batch, total = (8, 16, 64, 256) if quick else (128, 32, 1024, 1_000_000)
    torch.set_num_threads(1)  # networks as small as these are not faster with more
    task = A1Walk(forward=(0.5, 0.5), sideways=(0, 0), turning=(0, 0))
    envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep")
    normalized = VecNormalize(VecEnv(envs), norm_reward=False)
    model = PPO(
        "MlpPolicy", normalized, n_steps=rounds, batch_size=batch, n_epochs=5, seed=0,
        learning_rate=lambda left: 5e-4 * max(0.1, left), target_kl=0.03, vf_coef=1.0,
        max_grad_norm=1.0, device="cpu", verbose=0 if quick else 1, policy_kwargs={
            "net_arch": [256, 128], "activation_fn": torch.nn.ELU, "log_std_init": -1.2,
        },
    )  # fmt: skip
    model.learn(total)
    model.save(folder / "policy.zip")

    # How it walks without exploring, from other starts.
    seen, _ = envs.reset(seed=1)
    speeds, falls = [], 0
    for _ in range(100 if quick else 1000):
        actions, _ = model.predict(normalized.normalize_obs(seen), deterministic=True)
        seen, _, terminated, _, _ = envs.step(actions)
        speeds.append(seen[:, 0])
        falls += int(terminated.sum())
    print(f"after {model.num_timesteps} steps: {np.mean(speeds[50:]):.2f} m/s, {falls} falls")
    print(f"policy: {folder / 'policy.zip'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where to save the policy")
    parser.add_argument("--quick", action="store_true", help="a few rounds, to see it work")
    options = parser.parse_args()
    main(options.folder or Path(tempfile.mkdtemp()), options.quick)
