"""Learning by simulation: gaits that walk, policies, and gains that keep loads in limits."""

from __future__ import annotations

from robosim.learning.domain import Domain
from robosim.learning.learner import Trained
from robosim.learning.ppo import PPO, Mirror, Settings
from robosim.learning.search import RandomSearch
from robosim.learning.shac import SHAC, SHACSettings
from robosim.learning.tuning import Run, Tuned, tune
from robosim.learning.walking import Learned, learn_gait

__all__ = [
    "PPO",
    "SHAC",
    "Domain",
    "Learned",
    "Mirror",
    "RandomSearch",
    "Run",
    "SHACSettings",
    "Settings",
    "Trained",
    "Tuned",
    "learn_gait",
    "tune",
]
