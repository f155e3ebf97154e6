"""Second order in coordinates and in velocities at the knots, against exact motions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from random_mechanisms import multiply
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from robosim import Body, Joint, Mechanism, Simulation
from robosim.models.builders import chain, double_pendulum, free_body, pendulum
from robosim.quaternions import from_axis_angle

G = 9.81
TIMESTEPS = (0.02, 0.01, 0.005)


def knots(robot: Mechanism, dt: float, q, v, seconds: float, **options) -> tuple[np.ndarray, ...]:
    """t, q and v at the knots of a run, the last one included."""
    sim = Simulation(robot, dt, **options)
    sim.set_state(q, v)
    log = sim.run(seconds)
    return np.append(log.t, sim.time), np.vstack((log.q, sim.q)), np.vstack((log.v, sim.v))


def orders(errors: list[float]) -> list[float]:
    return [float(np.log2(a / b)) for a, b in pairwise(errors)]


def assert_second_order(errors_q: list[float], errors_v: list[float]) -> None:
    assert errors_q[-1] > 1e-9  # not a comparison of rounding errors
    assert orders(errors_q) == pytest.approx([2.0, 2.0], abs=0.1)
    assert orders(errors_v) == pytest.approx([2.0, 2.0], abs=0.1)


def pendulum_exact(t: np.ndarray, amplitude: float, w0: float) -> tuple[np.ndarray, np.ndarray]:
    """Angle and rate of theta'' = -w0^2 sin(theta), let go at the amplitude."""
    m = np.sin(amplitude / 2) ** 2
    sn, cn, _, _ = ellipj(ellipk(m) + w0 * t, m)
    return 2 * np.arcsin(np.sqrt(m) * sn), 2 * w0 * np.sqrt(m) * cn


@pytest.mark.parametrize("amplitude", [0.5, 1.5, 3.0])
def test_pendulum(amplitude):
    """A rod on a hinge: w0^2 = 3 g / (2 l)."""
    errors_q, errors_v = [], []
    for dt in TIMESTEPS:
        t, q, v = knots(pendulum(), dt, [amplitude], None, 2.0)
        exact_q, exact_v = pendulum_exact(t, amplitude, np.sqrt(1.5 * G))
        errors_q.append(np.abs(q[:, 0] - exact_q).max())
        errors_v.append(np.abs(v[:, 0] - exact_v).max())
    assert_second_order(errors_q, errors_v)


def test_a_naive_start_is_first_order():
    """What the discrete Legendre transform buys: the velocity of the first interval is not v0."""
    errors = []
    for dt in TIMESTEPS:
        sim = Simulation(pendulum(), dt)
        sim.set_state([1.0])
        # Half of the first knot's impulse of gravity more: all of it after the knot.
        sim.parts.state.bodies["p"][:, 2] -= 0.5 * dt * G
        log = sim.run(2.0)
        exact = pendulum_exact(log.t, 1.0, np.sqrt(1.5 * G))[0]
        errors.append(np.abs(log.q[:, 0] - exact).max())
    assert orders(errors) == pytest.approx([1.0, 1.0], abs=0.1)


def double_pendulum_rates(_: float, y: np.ndarray) -> np.ndarray:
    """Lagrange's equations of two uniform rods of 1 m and 1 kg, in absolute angles."""
    a, b, da, db = y
    c, s = np.cos(a - b), np.sin(a - b)
    M = np.array([[4 / 3, c / 2], [c / 2, 1 / 3]])
    f = np.array([-s / 2 * db**2 - 1.5 * G * np.sin(a), s / 2 * da**2 - 0.5 * G * np.sin(b)])
    return np.concatenate(([da, db], np.linalg.solve(M, f)))


def test_double_pendulum():
    q0, v0 = np.array([1.0, 0.5]), np.array([0.5, -1.0])
    y0 = np.concatenate((np.cumsum(q0), np.cumsum(v0)))
    exact = solve_ivp(
        double_pendulum_rates, (0, 1.5), y0, "DOP853", rtol=1e-12, atol=1e-12, dense_output=True
    )
    errors_q, errors_v = [], []
    for dt in TIMESTEPS:
        t, q, v = knots(double_pendulum(), dt, q0, v0, 1.5)
        y = exact.sol(np.minimum(t, 1.5)).T
        errors_q.append(np.abs(np.cumsum(q, axis=1) - y[:, :2]).max())
        errors_v.append(np.abs(np.cumsum(v, axis=1) - y[:, 2:]).max())
    assert_second_order(errors_q, errors_v)


def free_body_rates(_: float, y: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Euler's equations and the quaternion's."""
    q, omega = y[:4], y[4:]
    dq = 0.5 * multiply(q, np.concatenate(([0.0], omega)))
    return np.concatenate((dq, -np.cross(omega, moments * omega) / moments))


def test_spinning_free_body():
    """Torque-free with three different moments, tumbling."""
    moments, omega = np.array([0.02, 0.03, 0.04]), np.array([1.0, 3.0, 0.5])
    y0 = np.concatenate(([1.0, 0, 0, 0], omega))
    exact = solve_ivp(
        free_body_rates,
        (0, 2),
        y0,
        "DOP853",
        args=(moments,),
        rtol=1e-12,
        atol=1e-12,
        dense_output=True,
    )
    robot = free_body(moments)
    errors_q, errors_v = [], []
    for dt in TIMESTEPS:
        v0 = np.concatenate((np.zeros(3), omega))
        t, q, v = knots(robot, dt, None, v0, 2.0, gravity=(0, 0, 0))
        y = exact.sol(np.minimum(t, 2.0)).T
        errors_q.append(np.abs(q[:, 3:] - y[:, :4]).max())
        errors_v.append(np.abs(v[:, 3:] - y[:, 4:]).max())
    assert_second_order(errors_q, errors_v)


def test_symmetric_top_precesses():
    """The axis turns about the angular momentum at L / I_t, and keeps its angle to it."""
    I_t, I_a, spin, wobble = 0.03, 0.045, 10.0, 2.0
    omega = np.array([wobble, 0.0, spin])
    L = np.array([I_t * wobble, 0.0, I_a * spin])
    rate, along = np.linalg.norm(L) / I_t, L / np.linalg.norm(L)
    errors_q, errors_v = [], []
    for dt in TIMESTEPS:
        v0 = np.concatenate((np.zeros(3), omega))
        t, q, v = knots(free_body((I_t, I_t, I_a)), dt, None, v0, 1.0, gravity=(0, 0, 0))
        # Precession about L, then the spin that is left about the body's axis.
        own = spin - rate * along[2]
        exact = [
            multiply(from_axis_angle(along, rate * s), from_axis_angle((0, 0, 1), own * s))
            for s in t
        ]
        exact = np.array(exact)
        exact *= np.sign(np.sum(exact * q[:, 3:], axis=1))[:, None]
        errors_q.append(np.abs(q[:, 3:] - exact).max())
        turn = own * t
        exact_v = np.column_stack(
            (wobble * np.cos(turn), -wobble * np.sin(turn), np.full_like(t, spin))
        )
        errors_v.append(np.abs(v[:, 3:] - exact_v).max())
    assert_second_order(errors_q, errors_v)


@pytest.mark.parametrize("amplitude", [0.1, 1.0, 2.5])
def test_physical_pendulum_period(amplitude):
    """4 K(sin^2(amplitude / 2)) / w0, less the scheme's error of order (w0 dt)^2 = 1.5e-3."""
    w0, dt = np.sqrt(1.5 * G), 0.01
    period = 4 * ellipk(np.sin(amplitude / 2) ** 2) / w0
    t, q, _ = knots(pendulum(), dt, [amplitude], None, 10 * period)
    angle = q[:, 0]
    before = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0))
    crossings = t[before] + dt * angle[before] / (angle[before] - angle[before + 1])
    assert len(crossings) >= 9
    measured = np.diff(crossings).mean()
    assert measured == pytest.approx(period, rel=0.2 * (w0 * dt) ** 2)


@pytest.mark.parametrize("tilt", [0.3, 1.0])
def test_conical_pendulum(tilt):
    """A rod on a ball joint goes round at w^2 (I - I_a) cos(tilt) = m g l / 2, keeping its tilt."""
    radius = 0.1
    robot = chain(1, "spherical", radius=radius)
    rate = np.sqrt(G / 2 / (1 / 3 - radius**2 / 2) / np.cos(tilt))
    q0 = from_axis_angle((0, 1, 0), -tilt)
    v0 = rate * np.array([np.sin(tilt), 0, np.cos(tilt)])  # about the vertical, in body axes
    errors_q, errors_v = [], []
    for dt in TIMESTEPS:
        t, q, v = knots(robot, dt, q0, v0, 1.0)
        exact = np.array([multiply(from_axis_angle((0, 0, 1), rate * s), q0) for s in t])
        errors_q.append(np.abs(q - exact).max())
        errors_v.append(np.abs(v - v0).max())
    assert_second_order(errors_q, errors_v)


@pytest.mark.parametrize("dt", [0.01, 0.004])
def test_flips_of_a_body_that_spins_about_its_middle_axis(dt):
    """Near the separatrix all errors grow: those of the tolerance must not count in order four."""
    moments = 0.01 * np.array([1.0, 2.0, 3.0])
    start = [1e-3, 5.0, 1e-3]

    def turn(_, w):
        return (moments[[1, 2, 0]] - moments[[2, 0, 1]]) * w[[1, 2, 0]] * w[[2, 0, 1]] / moments

    exact = solve_ivp(
        turn, (0, 17), start, method="DOP853", rtol=1e-13, atol=1e-15, events=lambda _, w: w[1]
    ).t_events[0]
    body, joint = Body("t", 1.0, np.diag(moments)), Joint("f", "floating", None, "t")
    sim = Simulation(Mechanism("t", (body,), (joint,)), dt, gravity=(0, 0, 0), order=4)
    sim.set_state(None, [0, 0, 0, *start])
    energy, flips, before = sim.energy(), [], start[1]
    for _ in range(round(17 / dt)):
        sim.step()
        rate = sim.v[4]
        if rate * before < 0:
            flips.append(sim.time - dt + dt * before / (before - rate))
        before = rate
    assert len(flips) == len(exact) == 3
    np.testing.assert_allclose(flips, exact, rtol=0, atol=1e-5)
    assert sim.energy() == pytest.approx(energy, rel=1e-12)
