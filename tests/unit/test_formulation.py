"""What every way to simulate a mechanism provides, and what users of it may rely on."""

from __future__ import annotations

import inspect

import pytest

from robosim import MinimalSimulation, ReducedSimulation, Simulation
from robosim.formulation import Formulation
from robosim.models.builders import double_pendulum

FORMULATIONS = [Simulation, MinimalSimulation, ReducedSimulation]


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_each_is_a_formulation(kind):
    """All names are there, and methods take what the protocol says, by the same names."""
    assert isinstance(kind(double_pendulum()), Formulation)
    asked = inspect.getmembers(Formulation, inspect.isfunction)
    methods = {name: call for name, call in asked if not name.startswith("_")}
    assert {"set_state", "step", "run", "stream", "energy", "copy", "restore"} <= methods.keys()
    for name, method in methods.items():
        given = inspect.signature(getattr(kind, name)).parameters
        assert inspect.signature(method).parameters.keys() <= given.keys(), name
