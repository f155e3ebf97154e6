"""The deflection of compliant contacts: the force that it stands for, and its derivative."""

from __future__ import annotations

import numpy as np
import pytest

from robosim.compiled.records.contact import CONTACT, CONTACT_GUESS, CONTACT_WORK
from robosim.compiled.records.step import SCRATCH
from robosim.kernels.compiler.jit import entry
from robosim.kernels.contact.compliance import begin_deflection, deflection, deflection_slope


@entry
def measured(contacts, guesses, works, scratch, gap, dt, out):
    """out = deflection and its slope, after an interval that begins with a gap."""
    contact, c, w = contacts[0], guesses[0], works[0]
    begin_deflection(contact, gap, dt, w, scratch[0])
    w.pressed = c.gamma
    out[0], out[1] = deflection(contact, w), deflection_slope(contact, w.pressed, w)


def case(rng: np.random.Generator, limit: bool):
    contacts = np.zeros(1, dtype=CONTACT)
    contacts["compliant"], contacts["moved"] = 1, rng.uniform(0.1, 3.0)
    contacts["stiffness"] = 10.0 ** rng.uniform(2, 8)
    contacts["damping" if limit else "dissipation"] = rng.uniform(0.1, 5.0)
    works, guesses = np.zeros(1, dtype=CONTACT_WORK), np.zeros(1, dtype=CONTACT_GUESS)
    scratch = np.zeros(1, dtype=SCRATCH)
    scratch["before"] = 1.0
    return contacts, guesses, works, scratch


@pytest.mark.parametrize("limit", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_inverse_of_the_law(seed, limit):
    """gamma -> gap -> dt late k depth (1 + d rate) or, of limits, dt late (k depth + c rate)."""
    rng = np.random.default_rng(seed)
    contacts, guesses, works, scratch = case(rng, limit)
    dt, gap1 = 10.0 ** rng.uniform(-4, -2), rng.choice([-1e-3, -1e-5, 1e-4])
    guesses["gamma"] = 10.0 ** rng.uniform(-6, 0)
    out, slopes = np.zeros(2), []
    measured(contacts, guesses, works, scratch, gap1, dt, out)
    contact, work, gamma = contacts[0], works[0], float(guesses["gamma"][0])
    gap2 = work["step_back"] - dt * out[0]
    early = work["later"] / (1 + work["later"])
    depth, rate = -(early * gap1 + (1 - early) * gap2), (gap1 - gap2) / dt
    assert depth > 0
    if limit:
        # What damps acts from the surface on.
        rate = rate if gap1 < 0 else -(early / (1 - early) * gap1 + gap2) / dt
        force = contact["stiffness"] * depth + contact["damping"] * rate
    else:
        assert 1 + contact["dissipation"] * rate > 0
        force = contact["stiffness"] * depth * (1 + contact["dissipation"] * rate)
    assert (1 - early) * dt * force == pytest.approx(gamma, rel=1e-6)
    for change in (-1e-5, 1e-5):
        guesses["gamma"] = gamma * (1 + change)
        around = np.zeros(2)
        measured(contacts, guesses, works, scratch, gap1, dt, around)
        slopes.append(around[0])
    assert out[1] == pytest.approx((slopes[1] - slopes[0]) / (2e-5 * gamma), rel=1e-5)


def test_weights_go_from_the_midpoint_rule_to_the_end_of_the_interval():
    contacts, guesses, works, scratch = case(np.random.default_rng(0), False)
    contacts["dissipation"], contacts["moved"] = 0.0, 1.0
    for stiffness, later in ((1.0, 1.0), (1e12, 0.0)):
        contacts["stiffness"] = stiffness
        measured(contacts, guesses, works, scratch, 0.0, 1e-3, np.zeros(2))
        assert works[0]["later"] == pytest.approx(later, abs=1e-6)
        assert works[0]["held"] == pytest.approx(1 - later, abs=1e-6)
