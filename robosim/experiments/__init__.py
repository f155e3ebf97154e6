"""The papers' figures and the claims about the integrator, run again: ``robosim reproduce``.

Each experiment runs robosim and, where MuJoCo is installed and has what is needed, MuJoCo on the
same mechanism at the same time step. MuJoCo runs at its defaults, and at the best setting known for
that experiment. The results are NAME.json and NAME.png.
"""

from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.registry import EXPERIMENTS, find, reproduce
from robosim.measuring.target import Target

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Setup", "Target", "find", "reproduce"]
