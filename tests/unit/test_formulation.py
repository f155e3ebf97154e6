"""`Simulation` has what a formulation has to provide, and tells what its last step knows."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from robosim.models.builders import chain, cube
from robosim.simulation import Simulation
from robosim.simulation.formulation import Formulation


def members() -> set[str]:
    return {name for name in vars(Formulation) if not name.startswith("_")}


def test_a_simulation_is_a_formulation() -> None:
    made: Formulation = Simulation(chain(2))
    assert isinstance(made, Formulation)
    assert len(members()) > 12


@pytest.mark.parametrize("name", sorted(members()))
def test_methods_take_what_a_formulation_takes(name: str) -> None:
    """Under the same names, in the same order, with the same defaults; more may follow."""
    asked = vars(Formulation)[name]
    if isinstance(asked, property):
        assert hasattr(Simulation(chain(2)), name)
        return
    wanted = list(inspect.signature(asked).parameters.values())
    given = list(inspect.signature(getattr(Simulation, name)).parameters.values())
    for own, other in zip(wanted, given, strict=False):
        assert other.name == own.name
        assert other.default == own.default
    assert len(given) >= len(wanted)
    assert all(more.default is not inspect.Parameter.empty for more in given[len(wanted) :])


def test_the_last_step_tells_what_it_knows() -> None:
    """Velocities, impulses and contacts are those that the readings are made of."""
    sim = Simulation(cube())
    assert sim.last_step is None
    for _ in range(10):
        sim.step()
    last = sim.last_step
    assert last is not None
    assert last.interval == sim.timestep
    np.testing.assert_array_equal(
        sim.accelerations()[0, :3], 2 / last.interval * (sim.state.v - last.velocities[:, :3])[0]
    )
    assert len(last.active) == len(sim.robot.contacts)
    pushed = float(last.contacts["gamma"][last.active != 0].sum()) / last.interval
    assert pushed == pytest.approx(sim.contact_forces()[:, 2].sum(), rel=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        last.velocities[0, 0] = 1.0


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_factors_are_those_of_the_solver(solver: str) -> None:
    sim = Simulation(chain(3), solver=solver)
    sim.step()
    last = sim.last_step
    assert last is not None
    assert (last.tree is None) == (solver == "ldu")
    assert len(last.directions) == len(last.impulses) == len(sim.robot.joints)
    # It is asked for without taking anything from the next step.
    other = sim.copy()
    other.step()
    sim.step()
    np.testing.assert_array_equal(sim.q, other.q)
