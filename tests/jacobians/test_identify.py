"""Parameters from logs of which the answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Log, LogError, OptionError, Simulation
from robosim.controllers import PD
from robosim.identification import identify
from robosim.linearization.parameters import parameter
from robosim.models.builders import chain

pytestmark = pytest.mark.slow

TIMESTEP = 2e-3
TRUE = {"mass:link2": 1.0, "damping:joint1": 0.05}


def links(values):
    robot = chain(2)
    robot = replace(robot, joints=tuple(replace(j, damping=0.05) for j in robot.joints))
    for name, value in values.items():
        robot = parameter(robot, name)[1](value)
    return robot


def swung(robot, seconds=1.0, late=0):
    """A log of torques of several frequencies; they act some steps later than they are logged."""
    sim, rng = Simulation(robot, TIMESTEP), np.random.default_rng(0)
    sim.set_state([0.4, -0.3], [0.0, 0.0])
    sizes, rates = 0.5 * rng.normal(size=(5, 2)), rng.uniform(2, 15, size=5)

    def torques(of, back=0):
        return np.sin(rates * max(of.time - back * TIMESTEP, 0.0)) @ sizes

    log = sim.run(seconds, lambda of: torques(of, late))
    if not late:
        return log
    asked = np.array([np.sin(rates * t) @ sizes for t in log.t])
    return replace(log, samples=log.samples._replace(tau=asked))


def noisy(log: Log, q: float, v: float, seed: int = 1) -> Log:
    rng, s = np.random.default_rng(seed), log.samples
    return replace(
        log,
        samples=s._replace(
            q=s.q + q * rng.normal(size=s.q.shape), v=s.v + v * rng.normal(size=s.v.shape)
        ),
    )


def test_a_mass_and_a_damping():
    start = links({"mass:link2": 1.5, "damping:joint1": 0.2})
    found = identify(start, swung(links(TRUE)), list(TRUE), window=0.2)
    assert found.status == "converged"
    for name, value in TRUE.items():
        assert found.values[name] == pytest.approx(value, rel=1e-6)
    assert parameter(found.robot, "mass:link2")[0] == found.values["mass:link2"]


def test_deviations_are_those_of_many_logs():
    """Errors over standard deviations have a variance of one; of 16 within a factor of two."""
    log, start = swung(links(TRUE), 0.6), links(TRUE)
    errors = []
    for seed in range(8):
        found = identify(start, noisy(log, 1e-3, 1e-2, seed), list(TRUE), window=0.2)
        errors.append([(found.values[n] - TRUE[n]) / found.deviations[n] for n in TRUE])
        np.testing.assert_allclose(found.noise, (1e-3, 1e-3, 1e-2, 1e-2), rtol=0.2)
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) < 1.6


def test_what_a_hinge_does_not_tell():
    """Of the first link of a chain only how it turns about its hinge counts."""
    log = noisy(swung(links({})), 1e-3, 1e-2)
    found = identify(links({}), log, ["inertial:link1"])
    assert {"inertia:link1:zz", "centre:link1:x", "mass:link1"} <= set(found.undetermined)
    # Of ten: two of the mass times its place, and the inertia about the hinge.
    assert len(found.directions) == 7
    body = found.robot.body("link1")
    moments = body.principal_moments
    assert moments[2] <= moments[0] + moments[1]
    about = body.inertia[0, 0] + body.mass * body.reference_position[2] ** 2
    one = links({}).body("link1")
    assert about == pytest.approx(one.inertia[0, 0] + one.mass * 0.25, rel=0.05)


def test_a_delay():
    found = identify(links({}), swung(links({}), late=3), ["delay"])
    assert found.delay == pytest.approx(3 * TIMESTEP, rel=1e-3)


def test_gains_of_a_pd():
    robot = links({})
    pd = PD(robot, lambda t: np.column_stack((np.sin(5 * t), np.cos(3 * t))), [8, 6], [0.3, 0.2])
    sim = Simulation(robot, TIMESTEP)
    log = sim.run(1.0, pd)
    other = PD(robot, pd.motion, [4, 6], [0.3, 0.5])
    found = identify(robot, log, ["kp:joint1", "kd:joint2"], controller=other)
    assert found.values == pytest.approx({"kp:joint1": 8.0, "kd:joint2": 0.2}, rel=1e-5)
    assert found.controller.gains["kp"][0] == found.values["kp:joint1"]


def test_wrong_input():
    robot = links({})
    log = swung(robot, 0.1)
    for names, message in (
        ([], "must be names"),
        (["mass:none"], "no parameter 'mass:none'"),
        (["inertia:link1:xx"], "inertial:BODY"),
        (["kp:joint1"], "controller=PD"),
        (["armature:joint1"], "begins with 0"),
        (["inertial:link1", "mass:link1"], "has the mass and centre"),
    ):
        with pytest.raises(OptionError, match=message):
            identify(robot, log, names)
    with pytest.raises(LogError, match="other columns of q"):
        identify(chain(3), log, ["mass:link1"])
    with pytest.raises(LogError, match="a step needs two"):
        identify(robot, replace(log, samples=log.samples.thinned(1000)), ["mass:link1"])
    bad = log.samples.v.copy()
    bad[3, 1] = np.nan
    with pytest.raises(OptionError, match=r"nan at t = 0\.006 s"):
        identify(robot, replace(log, samples=log.samples._replace(v=bad)), ["mass:link1"])
    with pytest.raises(OptionError, match="takes a Log"):
        identify(robot, [], ["mass:link1"])
