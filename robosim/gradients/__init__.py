"""Gradients through rollouts for PyTorch and JAX; see docs/gradients.md.

Only `robosim.gradients.torch` and `robosim.gradients.jax` need these packages.
"""

from robosim.batch.gradients import Gradients
from robosim.batch.tape import Tape, TapedRollout
from robosim.gradients.horizon import Horizon
from robosim.submodules import on_first_use

__all__ = ["Gradients", "Horizon", "Tape", "TapedRollout"]

__getattr__ = on_first_use(__name__, ("jax", "torch"))
