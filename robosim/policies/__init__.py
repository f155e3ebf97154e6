"""Policies that other libraries have trained: controllers of robots, and sim-to-sim comparisons."""

from __future__ import annotations

from robosim.policies.export import Activation, Linear, export
from robosim.policies.measures import Measures
from robosim.policies.policy import Command, Policy, load
from robosim.policies.presets import PRESETS
from robosim.policies.quantities import QUANTITIES, Quantity, Reading, Term
from robosim.policies.report import write_report
from robosim.policies.sim_to_sim import Parting, Schedule, SimToSim, Touch, compare
from robosim.policies.task import PerJoint, PolicyTask
from robosim.policies.task_file import TaskSource, task_of
from robosim.policies.track import Track

__all__ = [
    "PRESETS",
    "QUANTITIES",
    "Activation",
    "Command",
    "Linear",
    "Measures",
    "Parting",
    "PerJoint",
    "Policy",
    "PolicyTask",
    "Quantity",
    "Reading",
    "Schedule",
    "SimToSim",
    "TaskSource",
    "Term",
    "Touch",
    "Track",
    "compare",
    "export",
    "load",
    "task_of",
    "write_report",
]
