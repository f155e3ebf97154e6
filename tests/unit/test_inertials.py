"""Mass and where it lies, moved in a mechanism, and as numbers of which all are physical."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import Dynamics, OptionError, load
from robosim.batch.gradients import notes_of
from robosim.control.pd import GAINS, motor_slopes, motor_torques
from robosim.description.centres import centre_of, with_inertial
from robosim.identification.inertials import (
    Inertial,
    from_numbers,
    inertial_of,
    slopes_at,
    to_numbers,
    values_of,
)
from robosim.identification.windows import Source


@pytest.fixture(scope="module")
def a1():
    return load("a1")


def test_numbers_lead_back_and_are_always_physical(a1):
    rng = np.random.default_rng(0)
    for body in a1.bodies[:4]:
        given = inertial_of(a1, body.name)
        found = from_numbers(to_numbers(given, body.name))
        np.testing.assert_allclose(values_of(found), values_of(given), rtol=1e-9, atol=1e-12)
    for _ in range(50):
        one = from_numbers(rng.normal(size=10))
        moments = np.linalg.eigvalsh(one.inertia)
        assert one.mass > 0
        assert moments[0] > 0
        assert moments[2] < moments[0] + moments[1]  # of a body, not of a plate


def test_slopes_of_numbers():
    x, step = np.random.default_rng(1).normal(size=10) * 0.3, 1e-4
    along = np.random.default_rng(2).normal(size=10)
    # Five points, of an error with the fourth power of the step.
    ends = [values_of(from_numbers(x + k * step * along)) for k in (-2, -1, 1, 2)]
    expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
    np.testing.assert_allclose(slopes_at(x) @ along, expected, rtol=1e-7, atol=1e-9)


def test_an_inertia_of_nobody_is_refused():
    with pytest.raises(OptionError, match="no body has the inertia that 'rod'"):
        to_numbers(Inertial(1.0, np.zeros(3), np.diag((1.0, 1.0, 3.0))), "rod")


def test_a_centre_that_moves_moves_nothing_else(a1):
    """Frames, contacts and joints stay where they are; gravity pulls elsewhere."""
    shift = np.array((0.03, -0.02, 0.01))
    name = a1.bodies[0].name
    other = with_inertial(a1, name, centre=centre_of(a1, name) + shift)
    assert centre_of(other, name) == pytest.approx(centre_of(a1, name) + shift)
    assert other.body(name).mass == a1.body(name).mass
    before, after = Dynamics(a1), Dynamics(other)
    q = np.array(a1.home)
    for frame in ("imu_link", "FR_foot", "trunk"):
        np.testing.assert_allclose(after.frame(q, frame)[0], before.frame(q, frame)[0], atol=1e-12)
    pull = after.gravity(q) - before.gravity(q)
    force = 9.81 * a1.body(name).mass
    np.testing.assert_allclose(pull[:3], 0.0, atol=1e-9)
    np.testing.assert_allclose(pull[3:6], np.cross(shift, (0.0, 0.0, force)), rtol=1e-9, atol=1e-9)


def test_slopes_of_motors():
    gains = np.zeros(6, dtype=GAINS)
    gains["limit"], gains["speed"] = (2, 2, 2, 2, np.inf, 2), (10, 10, 10, 10, np.inf, np.inf)
    asked = np.array((0.5, 5.0, -5.0, 5.0, 5.0, -5.0))
    rates = np.array((3.0, 3.0, -3.0, -3.0, 3.0, 1.0))
    free, by_rate = motor_slopes(gains, asked, rates)
    step = 1e-6
    for k, expected in enumerate((free, by_rate)):
        change = step * np.eye(2)[k]
        ends = [
            motor_torques(gains, asked + way * change[0], rates + way * change[1])
            for way in (1, -1)
        ]
        np.testing.assert_allclose(expected, (ends[0] - ends[1]) / (2 * step), atol=1e-8)
    assert list(free) == [1, 0, 0, 0, 1, 0]


def test_torques_that_are_late():
    tau = np.array([[1.0], [2.0], [4.0], [8.0]])
    source, steps = Source(tau, 0.1), np.arange(4)
    for delay, expected in ((0.0, (1, 2, 4, 8)), (0.1, (1, 1, 2, 4)), (0.025, (1, 1.75, 3.5, 7))):
        np.testing.assert_allclose(source.at(steps, delay)[0][:, 0], expected, atol=1e-12)
    for delay in (0.03, 0.17):
        ends = [source.at(steps, delay + way * 1e-6)[0] for way in (1, -1)]
        slopes = source.at(steps, delay)[1]
        np.testing.assert_allclose(slopes, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-6)


def test_notes_name_steps():
    flags = np.zeros((2, 20), dtype=bool)
    assert notes_of(flags, flags, flags) == ()
    flags[1, 3:11] = True
    (note,) = notes_of(np.zeros_like(flags), flags, np.zeros_like(flags))
    assert "state 1" in note
    assert "3, 4, 5, 6, 7 and 3 more" in note
