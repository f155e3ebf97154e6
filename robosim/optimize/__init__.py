"""Planning and control with exact derivatives of steps; see docs/optimizing.md.

LQR, iLQR through contacts, model-predictive control, also by plans whose contacts nobody
schedules, and trajectory optimisation with casadi.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from robosim.optimize.configurations import ContactCost
from robosim.optimize.costs import Cost, Expansion, QuadraticCost
from robosim.optimize.feedback import Feedback
from robosim.optimize.ilqr import ilqr
from robosim.optimize.implicit import ContactMPC, Exploration
from robosim.optimize.lqr import lqr
from robosim.optimize.predictive import MPC
from robosim.optimize.soft_contacts import Blocks, Plateaus, SoftContacts
from robosim.optimize.solution import Solution
from robosim.optimize.trajectory import Trajectory

if TYPE_CHECKING:
    from robosim.optimize.moments import Moment
    from robosim.optimize.problem import Problem

_LAZY = {"Moment": "robosim.optimize.moments", "Problem": "robosim.optimize.problem"}

__all__ = [
    "MPC",
    "Blocks",
    "ContactCost",
    "ContactMPC",
    "Cost",
    "Expansion",
    "Exploration",
    "Feedback",
    "Moment",
    "Plateaus",
    "Problem",
    "QuadraticCost",
    "SoftContacts",
    "Solution",
    "Trajectory",
    "ilqr",
    "lqr",
]


def __getattr__(name: str) -> Any:
    # Imported on first use, because these import casadi.
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'robosim.optimize' has no attribute '{name}'")
