"""Motions that lead into what cannot be passed end in an error that says what holds them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from touching import box

from robosim import Body, ConvergenceError, HalfSpace, Joint, Mechanism, NoMotionError, Simulation
from robosim.simulation.blocked import REACH, Model, _highest

SPEED = 0.1  # [m/s] at which all of these are pressed down


def down(t: float) -> float:
    return -SPEED * t


def pressed(height: float, bodies: tuple[Body, ...], *joints: Joint) -> Mechanism:
    """Bodies below a slide that a motion drives down onto the plane z = 0, from a height."""
    slide = Joint(
        "press", "prismatic", None, bodies[0].name, (0, 0, 1), (0, 0, height), motion=down
    )
    return Mechanism("pressed", bodies, (slide, *joints), obstacles=(HalfSpace(),))


def stopped(robot: Mechanism, timestep: float = 1e-3) -> tuple[ConvergenceError, Simulation]:
    """What a simulation ends with."""
    sim = Simulation(robot, timestep)
    with pytest.raises(ConvergenceError) as caught:
        sim.run(0.5)
    return caught.value, sim


@pytest.mark.parametrize("timestep", [1e-3, 4e-3])
def test_a_piston_that_is_pressed_into_the_ground(timestep):
    half = 0.5 * box("piston").collisions[0].size[2]
    gap = 0.00503
    error, sim = stopped(pressed(half + gap, (box("piston"),)), timestep)
    assert isinstance(error, NoMotionError)
    assert error.motions == ("press",)
    assert error.holding == ("contact of 'piston' with 'ground'",)
    # It fails in the step in which the face would pass the ground, and stays before that.
    assert sim.time == error.time <= gap / SPEED < error.ends
    assert error.overlap == pytest.approx(SPEED * error.ends - gap, abs=1e-12)
    assert "motion of 'press' leads through the contact of 'piston' with 'ground'" in str(error)
    again = pickle.loads(pickle.dumps(error.of_state(3)))
    assert (again.state, again.holding, again.ends) == (3, error.holding, error.ends)


def test_a_limit_that_is_in_the_way():
    """What hangs on the driven slide may give way by a centimetre."""
    half = 0.5 * box("foot").collisions[0].size[2]
    press = Body("piston", 1.0, 0.01 * np.eye(3))
    slide = Joint("give", "prismatic", "piston", "foot", (0, 0, 1), lower=0.0, upper=0.01)
    gap = 0.00503
    error, sim = stopped(pressed(half + gap, (press, box("foot")), slide))
    assert isinstance(error, NoMotionError)
    assert set(error.holding) == {"contact of 'foot' with 'ground'", "upper limit of 'give'"}
    assert error.time == pytest.approx((gap + 0.01) / SPEED, abs=1e-3)
    # Of both, one is violated at least by half of what is missing.
    missing = SPEED * error.ends - gap - 0.01
    assert 0.0 <= 0.5 * missing - error.overlap < 2e-8  # what rounding of curvatures is allowed
    assert sim.q[1] == pytest.approx(0.01, abs=1e-3)


def test_a_straight_leg_may_bend():
    """To first order nothing opens its contact either, so nothing is claimed."""
    thigh, foot = (Body(name, 1.0, 0.01 * np.eye(3)) for name in ("hip", "thigh"))
    half = 0.5 * box("foot").collisions[0].size[2]
    joints = (
        Joint("hip", "revolute", "hip", "thigh", (0, 1, 0), (0, 0, 0), (0, 0, 0.1)),
        Joint("knee", "revolute", "thigh", "foot", (0, 1, 0), (0, 0, -0.1), (0, 0, 0.1)),
    )
    robot = pressed(0.3 + half + 0.00503, (thigh, foot, box("foot")), *joints)
    error, _ = stopped(robot)
    assert not isinstance(error, NoMotionError)


def test_the_bound_of_a_mean_gap_is_its_highest_value():
    rng = np.random.default_rng(3)
    for _ in range(50):
        m, n = rng.integers(1, 4), rng.integers(1, 5)
        bent = rng.normal(size=(m, n, n))
        model = Model(rng.normal(size=m), 0.2 * rng.normal(size=(m, n)), bent + bent.swapaxes(1, 2))
        share = rng.dirichlet(np.ones(m))
        bound, changes = _highest(model, share)
        reached = [float(share @ model.at(change)) for change in changes]
        assert max(reached) == pytest.approx(bound, abs=2e-6)
        assert all(np.linalg.norm(change) < REACH * (1 + 1e-6) for change in changes)
        tried = rng.normal(size=(200, n))
        tried *= REACH * rng.uniform(size=(200, 1)) / np.linalg.norm(tried, axis=1, keepdims=True)
        assert max(float(share @ model.at(one)) for one in tried) < bound + 1e-9
