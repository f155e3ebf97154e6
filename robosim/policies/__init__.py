"""Policies that other libraries have trained: controllers of robots, and sim-to-sim comparisons."""

from __future__ import annotations

from robosim.policies.export import Activation, Linear, export
from robosim.policies.policy import Command, Policy, load
from robosim.policies.presets import PRESETS
from robosim.policies.quantities import QUANTITIES, Quantity, Reading, Term
from robosim.policies.task import PerJoint, PolicyTask
from robosim.policies.task_file import TaskSource, task_of

__all__ = [
    "PRESETS",
    "QUANTITIES",
    "Activation",
    "Command",
    "Linear",
    "PerJoint",
    "Policy",
    "PolicyTask",
    "Quantity",
    "Reading",
    "TaskSource",
    "Term",
    "export",
    "load",
    "task_of",
]
