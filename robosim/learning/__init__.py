"""Learning by simulation: gaits that walk, policies, and gains that keep loads in limits."""

from __future__ import annotations

from robosim.learning.domain import Domain
from robosim.learning.ppo import PPO, Mirror, Settings, Trained
from robosim.learning.search import RandomSearch
from robosim.learning.tuning import Run, Tuned, tune
from robosim.learning.walking import Learned, learn_gait

__all__ = [
    "PPO",
    "Domain",
    "Learned",
    "Mirror",
    "RandomSearch",
    "Run",
    "Settings",
    "Trained",
    "Tuned",
    "learn_gait",
    "tune",
]
