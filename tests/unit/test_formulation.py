"""What every way to simulate a mechanism provides, and what users of it may rely on."""

from __future__ import annotations

import inspect

from robosim import Simulation
from robosim.models.builders import double_pendulum
from robosim.simulation.formulation import Formulation


def swinging() -> Simulation:
    sim = Simulation(double_pendulum())
    sim.set_state([1.0, 0.5])
    return sim


def test_simulation_is_a_formulation():
    """All names are there, and methods take what the protocol says, by the same names."""
    assert isinstance(swinging(), Formulation)
    asked = inspect.getmembers(Formulation, inspect.isfunction)
    methods = {name: call for name, call in asked if not name.startswith("_")}
    assert {"set_state", "step", "run", "stream", "energy", "copy", "restore"} <= methods.keys()
    for name, method in methods.items():
        given = inspect.signature(getattr(Simulation, name)).parameters
        assert inspect.signature(method).parameters.keys() <= given.keys(), name
