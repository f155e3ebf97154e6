"""Checks of models and of runs: what in a behaviour is the model's, and what the simulator's."""

from __future__ import annotations

from robosim.submodules import on_first_use

__getattr__ = on_first_use(__name__, ("audit", "doctor", "finding"))
