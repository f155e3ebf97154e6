"""Mechanisms at which a step once failed, or had to be divided over and over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, Simulation
from robosim.bench.piles import SHAPES, bin_of
from robosim.controllers import PD
from robosim.models import builders


@pytest.mark.parametrize(
    "resisted",
    [
        {"friction": 0.1},
        {"lower": [-0.1] * 3 + [-np.inf] * 3, "upper": [0.1] * 3 + [np.inf] * 3},
        {"cone": 0.3},
        {"largest_turn": 0.3},
    ],
    ids=["friction", "limits", "cone", "turn"],
)
def test_a_free_joint_between_bodies_with_nothing_but_limits_or_friction(resisted):
    """They act on its coordinates, which no constraint or spring has brought into the equations."""
    bodies = [Body(name, 1.0, 0.1 * np.eye(3)) for name in "ab"]
    base, free = Joint("base", "floating", None, "a"), Joint("free", "floating", "a", "b")
    robot = Mechanism("pair", tuple(bodies), (base, replace(free, **resisted)))
    sim = Simulation(robot, 1e-2, gravity=(0, 0, 0))
    q = np.array(robot.home)
    sim.set_state(q, [0, 0, 0, 0, 0, 0, 0.5, 0, 0, 1.0, 0, 0])
    before = np.concatenate(sim.momentum())
    sim.run(1.0)
    np.testing.assert_allclose(np.concatenate(sim.momentum()), before, rtol=0, atol=1e-12)
    if "friction" in resisted:
        assert np.linalg.norm(sim.v[6:9]) < 0.5 - 0.1
    elif "cone" in resisted:
        x, y = sim.q[11:13]
        assert np.arccos(1 - 2 * (x * x + y * y)) <= 0.3 + 1e-9
    elif "largest_turn" in resisted:
        assert 2 * np.arccos(abs(sim.q[10])) <= 0.3 + 1e-9
    else:
        assert sim.q[7] <= 0.1 + 1e-9


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("room", [0.0, 1e-12, 1e-6])
def test_limits_that_leave_no_room(room, dt):
    """Every other joint of a chain is locked by limits that are equal, or nearly so."""
    robot = builders.chain(6)
    q = np.random.default_rng(5).normal(scale=0.4, size=robot.nq)
    joints = [
        replace(joint, lower=[q[i] - room / 2], upper=[q[i] + room / 2]) if i % 2 else joint
        for i, joint in enumerate(robot.joints)
    ]
    sim = Simulation(replace(robot, joints=tuple(joints)), dt)
    sim.set_state(q)
    for chunk in sim.stream(1.0):
        assert chunk.substeps.max() == 1
        assert np.abs(chunk.q[:, 1::2] - q[1::2]).max() <= max(room, 1e-9) / 2 + 1e-12
    assert np.abs(sim.q[::2] - q[::2]).max() > 0.1  # the others swing


@pytest.mark.parametrize("n", [3, 10])
def test_a_scissor_lift_falls_on_its_end_stop(n):
    """Behind so long a lever the stop's impulse is a hundred times what its bodies suggest."""
    sim = Simulation(builders.scissor_lift(n), 1e-2)
    energy = sim.energy()
    log = sim.run(3.0)
    assert log.samples.substeps.max() <= 2  # the landing of the longer one is divided
    assert log.samples.violation.max() < 1e-8
    assert sim.energy() < energy


def test_a_thrown_minitaur_on_its_servos():
    """Redundant constraints beside stiff contacts: rounding must not show in the impulses."""
    robot = builders.minitaur()
    stance = robot.stance
    servos = PD(robot, stance.target, stance.kp, stance.kd, implicit=True)
    sim = Simulation(robot, 1e-2)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = np.array(robot.home), np.zeros(robot.nv)
        turn = rng.normal(size=4)
        q[2], q[3:7] = q[2] + 0.5, turn / np.linalg.norm(turn)
        v[:6] = rng.normal(size=6) * [1, 1, 1, 3, 3, 3]
        sim.set_state(q, v)
        log = sim.run(2.0, servos)
        assert log.samples.substeps.max() == 1
        assert log.samples.gap.min() >= 0


@pytest.mark.parametrize(("seed", "dt", "until"), [(116, 1, 0.7), (128, 1, 0.5), (142, 5, 1.1)])
def test_boxes_with_masses_that_jam(seed, dt, until):
    """Of 1 to 1e4: the central path turns back, and steps had no solution however short."""
    sim = Simulation(bin_of(4 + seed % 9, seed, 1e4), 1e-3 * dt)
    log = sim.run(until)
    assert log.samples.gap.min() > -1.5e-8
    assert sim.min_gap() > -1.5e-8


@pytest.mark.parametrize(
    ("pile", "dt", "islands", "at"),
    [
        (lambda: bin_of(12, 553, 1e4), 2e-3, True, 0.41),
        (lambda: bin_of(11, 151, 1e4, SHAPES), 1e-2, True, 0.2),
    ],
    ids=["boxes of 1 to 1e4", "shapes of 1 to 1e4"],
)
def test_one_convex_problem_after_the_other(pile, dt, islands, at):
    """The step at this time failed, as all other attempts do, also at parts of it.

    Slip speeds of jammed contacts crept, or a light body was thrown around by the barrier of heavy
    ones. Energy falls, and nothing enters anything else by more than elsewhere.
    """
    sim = Simulation(pile(), dt, islands=islands)
    sim.run(at)
    start = sim.energy()
    info = sim.step()
    assert info.residual < 1e-8
    assert info.iterations > 2000  # those of the other attempts come first
    assert sim.energy() < start
    assert sim.min_gap() > -1e-7
    sim.run(5 * dt)


def test_a_rim_that_takes_all_slots_sinks_nowhere():
    """A cylinder at a tilt of 1.5e-3 rad: twelve points of its rim, and a lower one that is left.

    So it ended the step 1.6e-7 m deep. It has room in a part of the step.
    """
    sim = Simulation(bin_of(4 + 60722 % 9, 60722, 1e4, SHAPES), 5e-3)
    sim.run(0.745)
    deepest = 0.0
    for _ in range(2):
        sim.step()
        deepest = max(deepest, -sim.min_gap())
    assert deepest < 1e-8


@pytest.mark.parametrize(
    ("seed", "dt", "at"), [(659, 10, 0.22), (710, 5, 0.225), (870, 5, 0.215), (942, 5, 0.21)]
)
def test_a_step_in_parts_of_several_lengths(seed, dt, at):
    """Of shapes with masses of 1 to 1e4: one part of it is hard, or a light body spins fast.

    No division into equal parts was solved, for all attempts there are.
    """
    sim = Simulation(bin_of(4 + seed % 9, seed, 1e4, SHAPES), 1e-3 * dt)
    sim.run(at)
    start = sim.energy()
    info = sim.step()
    assert info.substeps > 64
    assert info.residual < 1e-8
    assert info.shortest == 1e-3 * dt / info.substeps
    assert sim.energy() < start
    assert sim.min_gap() > -1e-7
    sim.run(5e-3 * dt)


@pytest.mark.parametrize(("seed", "dt", "at"), [(245, 2, 0.28), (278, 5, 0.235)])
def test_impacts_in_parts_of_steps_give_no_energy(seed, dt, at):
    """Steps whose parts gave half of the energy that there was at the start."""
    sim = Simulation(bin_of(4 + seed % 9, seed, 1e4, SHAPES), 1e-3 * dt)
    most = 1e-3 * sim.energy()
    sim.run(at)
    energy, divided = sim.energy(), 0
    for _ in range(5):
        divided += sim.step().substeps > 1
        assert sim.energy() < energy + most
        energy = sim.energy()
    assert divided


@pytest.mark.parametrize(
    ("seed", "dt", "at", "steps"), [(2195, 10, 1.3, 4), (656, 1, 1.0, 12), (2079, 10, 0.0, 150)]
)
def test_light_capsules_and_cylinders_between_heavy_bodies(seed, dt, at, steps):
    """Where axes nearly in parallel are nearest ran along them: steps failed, and some sank."""
    sim = Simulation(bin_of(4 + seed % 9, seed, 1e4, SHAPES), 1e-3 * dt)
    sim.run(at)
    for _ in range(steps):
        sim.step()
        assert sim.min_gap() > -1e-6


def test_boxes_that_touch_in_all_places_there_are():
    """Where no slot is free for one more feature, a step is divided: they do not sink."""
    sim = Simulation(bin_of(11, 151, 1e4), 1e-2)
    for _ in range(35):
        sim.step()
        assert sim.min_gap() > -1.5e-8


@pytest.mark.parametrize("seed", range(6))
def test_a_limp_minitaur_lands_on_its_knees(seed):
    """Contacts that wedge below light links: no failed step, and no energy out of a read-out."""
    sim = Simulation(builders.minitaur(), 1e-2)
    rng = np.random.default_rng(seed)
    q = np.array(sim.robot.home)
    q[2] += 0.2
    q[3:7] += [0, *rng.normal(scale=0.05, size=3)]
    q[3:7] /= np.linalg.norm(q[3:7])
    sim.set_state(q)
    start = sim.energy()
    for _ in range(150):
        info = sim.step()
        assert info.violation < 1e-8
        assert sim.energy() < 1.2 * start  # what spins by half a radian in a step swings so far
