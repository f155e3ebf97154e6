"""Islands that sleep: they stay where they are, and go on as soon as anything acts on them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from touching import ball, box

from robosim import Body, HalfSpace, Joint, Mechanism, OptionError, Simulation
from robosim.bench.piles import bin_of
from robosim.controllers import PD
from robosim.models.builders import pendulum

SLEEP = 0.2


def free(body: Body, *position: float) -> Mechanism:
    """A body that floats, at a position."""
    joint = Joint(f"free {body.name}", "floating", None, body.name)
    return Mechanism(body.name, (body,), (joint,), home=(*position, 1, 0, 0, 0))


@cache
def scene() -> Mechanism:
    """A box on the ground, a ball that falls onto it later, and a pendulum that goes on."""
    world = free(box("box"), 0.0, 0.0, 0.12)
    world = world.add(free(ball("ball"), 0.0, 0.0, 6.0), (0, 0, 0), prefix="b/")
    world = world.add(pendulum(), (5.0, 0, 3.0), prefix="p/")
    return replace(world, obstacles=(HalfSpace(),))


def asleep(sim: Simulation) -> list[str]:
    """Names of bodies that sleep."""
    return sorted(name for one in sim.islands if one.asleep for name in one.bodies)


def started(order: int = 2) -> Simulation:
    sim = Simulation(scene(), 2e-3, sleep=SLEEP, order=order)
    q = sim.robot.home.copy()
    q[-1] = 0.5
    sim.set_state(q)
    return sim


@pytest.mark.parametrize("order", [2, 4])
def test_what_rests_sleeps_until_it_is_hit(order):
    sim, never = started(order), Simulation(scene(), 2e-3, order=order)
    never.set_state(sim.q)
    for one in (sim, never):
        one.run(0.8)
    assert asleep(sim) == ["box"]
    # What is on the ground takes steps of order two, as long as it takes any.
    assert (never.copy().step().order, sim.copy().step().order) == (2, order)
    place = sim.q[:7]
    log = sim.run(0.2)
    np.testing.assert_array_equal(log.q[:, :7], np.tile(place, (len(log.t), 1)))
    assert np.ptp(log.q[:, -1]) > 0.05
    assert len(sim.contacts()) >= 4
    assert log.gap.min() > -1e-9
    never.run(0.2)
    # What never sleeps moves as without sleep, to the last bit.
    np.testing.assert_array_equal(sim.q[7:], never.q[7:])
    np.testing.assert_allclose(sim.q, never.q, rtol=0, atol=1e-7)
    for one in (sim, never):
        one.run(0.14)
    assert asleep(sim) == []
    assert len(sim.islands) == 2
    np.testing.assert_allclose(sim.q, never.q, rtol=0, atol=1e-5)


def test_nothing_but_the_hit_costs_energy():
    sim = started()
    energies = []
    for _ in range(600):
        sim.step()
        energies.append(sim.energy())
    assert np.diff(energies).max() < 1e-3


@pytest.mark.parametrize("order", [2, 4])
def test_runs_copies_and_files_come_to_the_same_bits(tmp_path, order):
    """Divided anywhere, before and while something sleeps."""
    whole, parts = started(order), started(order)
    whole.run(1.4)
    for steps in (1, 300, 64, 35, 50, 250):
        parts.run(2e-3 * steps)
    copy, loaded, restored = parts.copy(), started(order), started(order)
    parts.save(tmp_path / "sim.npz")
    loaded.load(tmp_path / "sim.npz")
    restored.restore(parts)
    for one in (parts, copy, loaded, restored):
        while one.steps < whole.steps:
            one.step()
        assert one.q.tobytes() == whole.q.tobytes()
        assert one.v.tobytes() == whole.v.tobytes()


@pytest.mark.parametrize("force", [(30.0, 0, 0), (0, 0, 1e-12)])
def test_a_wrench_wakes(force):
    sim = started()
    sim.run(0.8)
    assert asleep(sim) == ["box"]
    sim.apply_wrench("box", force)
    sim.step()
    assert asleep(sim) == []
    sim.run(0.3)
    assert (np.abs(sim.q[0]) > 1e-3) == (force[0] > 0)


def test_torques_wake_and_what_a_pd_drives_does_not_sleep():
    robot = pendulum()
    sim = Simulation(robot, 2e-3, sleep=SLEEP)
    sim.set_state([0.0])
    sim.run(1.0)
    assert len(asleep(sim)) == 1
    sim.run(0.5, lambda sim: [0.0])
    assert len(asleep(sim)) == 1
    sim.step([0.1])
    assert asleep(sim) == []
    sim.run(0.05, lambda sim: [0.1])
    assert sim.v[0] > 1e-4
    sim.set_state([0.0])
    sim.run(1.0, PD(robot, 0.0, 20.0, 2.0))
    assert asleep(sim) == []


def test_a_start_wakes():
    sim = started()
    sim.run(0.8)
    assert asleep(sim) == ["box"]
    q = sim.q.copy()
    q[2] += 0.1
    sim.set_state(q)
    assert asleep(sim) == []
    sim.run(0.1)
    assert sim.q[2] < q[2] - 0.03


def test_a_bin_of_boxes_sleeps_as_one():
    sim = Simulation(bin_of(8, 1), 2e-3, sleep=SLEEP)
    sim.run(3.0)
    assert len(asleep(sim)) == 8
    energy = sim.energy()
    log = sim.run(0.5)
    assert not log.iterations.any()
    assert sim.energy() == energy


def test_nothing_sleeps_by_itself():
    sim = Simulation(scene(), 2e-3)
    sim.run(1.0)
    assert asleep(sim) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sleep": 0.0}, "sleep"),
        ({"sleep": np.nan}, "sleep"),
        ({"sleep": 1.0, "islands": False}, "islands"),
        ({"sleep": 1.0, "lanes": True}, "lanes"),
    ],
)
def test_it_is_of_islands(options, told):
    with pytest.raises(OptionError, match=told):
        Simulation(scene(), 2e-3, **options)
