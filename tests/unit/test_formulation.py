"""What every way to simulate a mechanism provides, and what users of it may rely on."""

from __future__ import annotations

import inspect
from threading import Thread

import numpy as np
import pytest

from robosim import Simulation, StateError
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


def test_an_interrupted_run_is_where_its_time_says():
    """Ctrl-C comes while a thousand steps are taken at once; they are done when it is told."""
    sim, as_ever = swinging(), swinging()
    sim.step()
    take = sim._run_states

    def interrupted(*arguments):
        take(*arguments)
        raise KeyboardInterrupt

    sim._run_states = interrupted
    with pytest.raises(KeyboardInterrupt):
        sim.run(2.0)
    sim._run_states = take
    assert sim.steps > 100
    as_ever.run(sim.steps * sim.timestep)
    assert sim.time == as_ever.time
    np.testing.assert_array_equal(sim.q, as_ever.q)
    sim.step()
    as_ever.step()
    np.testing.assert_array_equal(sim.q, as_ever.q)


def test_a_simulation_that_two_threads_step_is_refused():
    """In a sentence, and without a trace: the first one goes on."""
    sim, as_ever = swinging(), swinging()
    sim.step()
    take, errors = sim._run_states, []

    def other():
        try:
            sim.step()
        except StateError as error:
            errors.append(str(error))

    def while_it_works(*arguments):
        thread = Thread(target=other)
        thread.start()
        thread.join()
        take(*arguments)

    sim._run_states = while_it_works
    sim.run(0.01)
    sim._run_states = take
    assert len(errors) == 1
    assert "another thread" in errors[0]
    assert "copy()" in errors[0]
    as_ever.run(sim.steps * sim.timestep)
    np.testing.assert_array_equal(sim.q, as_ever.q)
    sim.step()
