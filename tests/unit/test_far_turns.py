"""A body that turns far in a step: told once, with its name, and with what helps."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from robosim import BatchSimulation, Body, Joint, Mechanism, Simulation

# Other tests do without this warning.
pytestmark = pytest.mark.filterwarnings("error:.*turns by:UserWarning")

DT = 0.01


def two():
    """A slow body and a fast one, each about z."""
    bodies = tuple(Body(name, 1.0, 0.1 * np.eye(3)) for name in ("slow", "fast"))
    joints = tuple(Joint(b.name, "revolute", None, b.name, axis=(0, 0, 1)) for b in bodies)
    return Mechanism("two", bodies, joints)


def spinning(turn, timestep=DT, **options):
    """The robot, whose fast body turns by so much in a step."""
    sim = Simulation(two(), timestep, (0, 0, 0), **options)
    sim.set_state(v=[1.0, turn / timestep])
    return sim


def told(caught):
    return [str(one.message) for one in caught if "turns by" in str(one.message)]


def test_it_is_told_once_whatever_takes_the_steps():
    for take in (
        lambda sim: [sim.step() for _ in range(10)],
        lambda sim: sim.run(10 * DT),
        lambda sim: [list(sim.stream(10 * DT, chunk_steps=2)), sim.step()],
        lambda sim: sim.run(10 * DT, lambda sim: [0.0, 0.0]),
    ):
        sim = spinning(0.6)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            take(sim)
        (message,) = told(caught)
        assert caught[0].filename == __file__
        assert "body 'fast' turns by 0.6" in message
        assert f"of {DT:g} s at 0 s" in message


def test_what_it_advises_helps():
    sim = spinning(0.8)
    with pytest.warns(UserWarning, match="body 'fast'") as caught:
        sim.step()
    advised = float(re.search(r"timestep below ([\d.e-]+) s", str(caught[0].message))[1])
    assert advised < DT
    sim = Simulation(two(), 0.99 * advised, (0, 0, 0))
    sim.set_state(v=[1.0, 0.8 / DT])
    sim.run(0.1)  # a warning would be an error


def test_the_shortfall_is_that_of_the_angular_momentum():
    """sin(turn) / turn of it: what a start at that spin has, and shows as."""
    sim = spinning(0.7)
    with pytest.warns(UserWarning, match="turns by") as caught:
        sim.step()
    said = float(re.search(r"is ([\d.]+) % short", str(caught[0].message))[1])
    turn = 2 * np.arcsin(0.5 * DT * np.linalg.norm(sim.parts.state.bodies["v_mid"][1, 3:]))
    assert said == pytest.approx(100 * (1 - np.sin(turn) / turn), rel=0.05)


def test_the_step_is_named():
    """A body that is driven faster and faster is told of in the first step with half a radian."""
    sim = Simulation(two(), DT, (0, 0, 0))
    with pytest.warns(UserWarning, match="body 'fast'") as caught:
        log = sim.run(2.0, lambda sim: [0.0, 4.0])
    time = float(re.search(r"s at ([\d.]+) s:", str(caught[0].message))[1])
    turns = np.diff(log.q[:, 1])
    first = int(np.flatnonzero(turns > 0.5)[0])
    assert time == pytest.approx(log.t[first], abs=1e-9)


def test_slower_turns_are_not_told():
    spinning(0.49).run(0.2)


def test_a_divided_step_is_told_of_by_its_parts():
    """1.4 rad in a step is too far, and half of it in each part is told."""
    sim = spinning(1.4)
    with pytest.warns(UserWarning, match=r"rad in one of the 2 parts of a step") as caught:
        info = sim.step()
    assert info.substeps == 2
    advised = float(re.search(r"timestep below ([\d.e-]+) s", str(caught[0].message))[1])
    assert advised == pytest.approx(0.5 / 1.4 * DT, rel=0.1)


@pytest.mark.parametrize("lanes", [True, False])
def test_a_batch_tells_of_one_state(lanes):
    batch = BatchSimulation(two(), 8, DT, (0, 0, 0), lanes=lanes)
    v = np.full((8, 2), 1.0)
    v[5] = 60.0, 1.0
    batch.set_state(v=v)
    with pytest.warns(UserWarning, match="state 5: body 'slow' turns by 0.6") as caught:
        batch.rollout(20)
    assert len(told(caught)) == 1
    batch.rollout(20)
