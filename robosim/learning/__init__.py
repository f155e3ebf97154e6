"""Search for parameters by simulation: gaits that walk, and gains that keep loads in limits."""

from __future__ import annotations

from robosim.learning.domain import Domain
from robosim.learning.search import RandomSearch
from robosim.learning.tuning import Run, Tuned, tune
from robosim.learning.walking import Learned, learn_gait

__all__ = ["Domain", "Learned", "RandomSearch", "Run", "Tuned", "learn_gait", "tune"]
