"""Steps end where rounding lets them, however long a chain is, and those above tolerance count."""

import numpy as np
import pytest

from robosim import MinimalSimulation
from robosim.log.statistics import RunStatistics
from robosim.models.builders import chain

LONG = 512  # links; rounding of their positions adds up


def released(links: int, integrator: str, tolerance: float = 1e-10) -> MinimalSimulation:
    """A straight chain that begins at 0.8 rad, at rest."""
    sim = MinimalSimulation(chain(links), 1e-3, integrator=integrator, tolerance=tolerance)
    q = np.zeros(links)
    q[0] = 0.8
    sim.set_state(q)
    return sim


@pytest.mark.parametrize("integrator", ["newton", "riqn"])
def test_long_chains_run(integrator: str) -> None:
    sim = released(LONG, integrator)
    begin = sim.energy()
    log = sim.run(0.5)
    assert sim.steps == 500
    assert log.iterations.mean() < 4.0
    assert sim.steps_above_tolerance > 400
    assert abs(sim.energy() - begin) < 1e-7 * abs(begin)


def test_steps_above_the_tolerance_are_counted() -> None:
    loose, strict = released(50, "newton", 1e-6), released(50, "newton", 1e-13)
    for sim in (loose, strict):
        statistics = RunStatistics(sim)
        for chunk in sim.stream(0.1):
            statistics.add(chunk, 0.1)
        summary = statistics.summary()
        assert summary["steps_above_tolerance"] == sim.steps_above_tolerance
        assert summary["steps"] == 100
    assert loose.steps_above_tolerance == 0
    assert strict.steps_above_tolerance > 90
    copy = strict.copy()
    assert copy.steps_above_tolerance == strict.steps_above_tolerance
    strict.set_state()
    assert strict.steps_above_tolerance == 0
    one = released(1, "newton")
    one.run(0.01)
    assert one.steps_above_tolerance == 0
