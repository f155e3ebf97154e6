"""A hop that trajectory optimisation plans, replayed through hard contacts."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("casadi")

from hopping import hop, hopper

from robosim import Simulation

pytestmark = pytest.mark.peer


@pytest.mark.slow
def test_the_hop_replayed_through_hard_contacts() -> None:
    found = hop().solve()
    sim = Simulation(hopper(), 0.002)
    controller = found.controller(sim, Q=[100, 100, 1, 1], R=0.1, contact_speed=1e-3)
    sim.set_state(found.q[0], found.v[0])
    log = sim.run(0.8, controller)
    assert log.q.sum(axis=1).max() == pytest.approx(0.1, abs=5e-3)
    np.testing.assert_allclose(sim.q, found.q[-1], rtol=0, atol=5e-3)
