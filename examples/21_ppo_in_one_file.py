"""PPO in one file, in CleanRL's manner: the A1 learns to walk at 0.5 m/s in a quarter of an hour.

python examples/21_ppo_in_one_file.py [--quick]
"""

import argparse
import sys

import gymnasium
import numpy as np
from gymnasium.wrappers.vector import NormalizeObservation, NormalizeReward

import robosim.envs  # noqa: F401

parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("folder", nargs="?", help="not used: nothing is saved")
parser.add_argument("--quick", action="store_true", help="two short rounds")
quick = parser.parse_args().quick
try:
    import torch
    from torch import nn
except ImportError:
    sys.exit(print('skipped: this takes torch: pip install "robosim-variational[sb3]"'))
N, T, UPDATES, BATCH = (8, 16, 2, 64) if quick else (64, 64, 730, 1024)
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2
torch.manual_seed(0)
torch.set_num_threads(1)
command = {"forward": (0.5, 0.5), "sideways": (0, 0), "turning": (0, 0)}
raw = gymnasium.make_vec("robosim/A1Walk-v0", num_envs=N, **command)
envs = NormalizeReward(NormalizeObservation(raw), gamma=GAMMA)
(no,), (na,) = raw.single_observation_space.shape, raw.single_action_space.shape


def network(out: int) -> nn.Sequential:
    layers = nn.Linear(no, 128), nn.ELU(), nn.Linear(128, 128), nn.ELU(), nn.Linear(128, out)
    return nn.Sequential(*layers)


actor, critic, spread = network(na), network(1), nn.Parameter(-torch.ones(na))
parameters = [*actor.parameters(), *critic.parameters(), spread]
optimizer = torch.optim.Adam(parameters, lr=5e-4)
seen = torch.as_tensor(envs.reset(seed=0)[0]).float()
for update in range(UPDATES):
    kept, speed = [], 0.0
    for _ in range(T):
        with torch.no_grad():
            policy, value = torch.distributions.Normal(actor(seen), spread.exp()), critic(seen)
            row = seen, (action := policy.sample()), policy.log_prob(action).sum(-1), value[:, 0]
            then, reward, fell, late, _ = envs.step(action.clamp(-1, 1).numpy())
        speed += np.hypot(*raw.episodes.now.v[:, :2].T).mean() / T
        seen = torch.as_tensor(then).float()
        kept.append((*row, torch.as_tensor(reward).float(), torch.as_tensor(fell | late).float()))
    S, A, before, values, rewards, ends = (torch.stack(one) for one in zip(*kept, strict=True))
    following = torch.cat((values[1:], critic(seen).detach().T))
    gains, ahead = torch.zeros_like(values), torch.zeros(N)
    for k in reversed(range(T)):  # generalised advantages
        off = rewards[k] + GAMMA * (1 - ends[k]) * following[k] - values[k]
        gains[k] = ahead = off + GAMMA * LAMBDA * (1 - ends[k]) * ahead
    flat = [one.flatten(0, 1) for one in (S, A, before, gains + values, gains)]
    for rows in [part for _ in range(5) for part in torch.randperm(N * T).split(BATCH)]:
        s, a, old, goal, gain = (one[rows] for one in flat)
        likelihood = torch.distributions.Normal(actor(s), spread.exp()).log_prob(a).sum(-1)
        ratio, gain = (likelihood - old).exp(), (gain - gain.mean()) / (gain.std() + 1e-8)
        loss = -torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
        optimizer.zero_grad()
        (loss + 0.5 * (critic(s)[:, 0] - goal).square().mean()).backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
    print(f"{(update + 1) * N * T:8d} steps: {speed:.2f} m/s", flush=True)
