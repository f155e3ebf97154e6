"""The papers' figures and the claims about the integrator, run again: ``robosim reproduce``.

Each experiment runs ours and, where MuJoCo is installed and can do it, MuJoCo on the same
mechanism at the same timestep: at its defaults, and at the best setting known to us for that
experiment. It leaves NAME.json and NAME.png.
"""

from robosim.experiments.experiment import Experiment, Result, Setup, Target
from robosim.experiments.registry import EXPERIMENTS, find, reproduce

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Setup", "Target", "find", "reproduce"]
