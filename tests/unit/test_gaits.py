"""Gaits: Algorithm 6 as corrected, on any quadruped, for one simulation and for batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import (
    BatchSimulation,
    Body,
    ContactPoint,
    ControllerError,
    Geometry,
    Joint,
    Mechanism,
    ModelError,
    OptionError,
    Simulation,
)
from robosim import StateError as NoState
from robosim.control.gaits import LEGS, PARAMETERS, standing_gait
from robosim.controllers import PD, Gait, trot
from robosim.loaders.packages import example_robot_data
from robosim.models import builders

WALK = (0.17, 0.2, 1.0, 0.3, -1.5)


@pytest.fixture(scope="module")
def a1():
    return robosim.load("a1", friction=0.2)


def by_leg(robot, values):
    """(4,) of thighs and (4,) of calves, in the order of LEGS, from (nu,) in the A1's names."""
    names = robot.actuated_names
    return [
        np.array([values[names.index(f"{leg}_{part}_joint")] for leg in LEGS])
        for part in ("thigh", "calf")
    ]


def test_targets_are_those_of_the_algorithm(a1):
    """Lines 3 to 6, with the parameters in the order b, a1, d1, a2, d2."""
    assert PARAMETERS == ("b", "a1", "d1", "a2", "d2")
    b, amp1, d1, amp2, d2 = WALK
    times = np.array([0.0, 0.013, 0.4])
    for t, row in zip(times, Gait.of(a1, WALK).targets(times), strict=True):
        w = 20 * np.pi * b * t
        thighs, calves = by_leg(a1, row)
        first, other = amp1 * np.cos(w) + d1, amp1 * np.cos(w + np.pi) + d1
        np.testing.assert_allclose(thighs, [first, other, other, first], atol=1e-12)
        first, other = (amp2 * np.cos(w + s * np.pi / 2) + d2 for s in (-1, 1))
        np.testing.assert_allclose(calves, [first, other, other, first], atol=1e-12)
        hips = [row[k] for k, name in enumerate(a1.actuated_names) if "hip" in name]
        np.testing.assert_array_equal(hips, 0.0)


def test_it_begins_in_its_pose(a1):
    gait = Gait.of(a1, WALK)
    np.testing.assert_array_equal(gait.pose()[7:], gait.targets([0.0])[0])
    rows = Gait.of(a1, [WALK, standing_gait(a1)])
    assert rows.pose().shape == (2, a1.nq)
    np.testing.assert_array_equal(rows.pose()[0], gait.pose())
    blended = trot(a1)
    assert isinstance(blended, Gait)
    np.testing.assert_array_equal(blended.pose()[7:], a1.stance.target)


def test_a_batch_walks_as_each_does_alone(a1):
    rng = np.random.default_rng(0)
    rows = np.array(WALK) + 0.02 * rng.normal(size=(3, 5))
    gait = Gait.of(a1, rows)
    batch = BatchSimulation(a1, 3, lanes=False)
    batch.place(gait.pose())
    out = batch.rollout(60, controller=gait, every=60)
    for i, row in enumerate(rows):
        sim = Simulation(a1)
        one = Gait.of(a1, row)
        sim.place(one.pose())
        sim.run(0.06, one)
        np.testing.assert_array_equal(out.q[i, -1], sim.q)


def test_a_python_loop_gives_what_compiled_code_does(a1):
    gait = Gait.of(a1, WALK, effort_limits=True)
    ran, asked = Simulation(a1), Simulation(a1)
    ran.run(0.03, gait)
    asked.run(0.03, lambda sim: gait(sim))
    np.testing.assert_allclose(ran.q, asked.q, rtol=0, atol=1e-9)
    assert np.abs(gait(asked)).max() <= a1.effort_limits.max()


@pytest.mark.peer
@pytest.mark.parametrize("name", ["go2", "solo12", "solo", "anymal_c_simple", "hyq_description"])
def test_other_quadrupeds_by_the_names_of_their_joints(name):
    """Their knees bend as they do where they stand, those of Solo and ANYmal both ways."""
    if example_robot_data() is None:
        pytest.skip("example-robot-data is not installed")
    robot = robosim.load(name)
    start = standing_gait(robot)
    gait = Gait.of(robot, start)
    standing = np.asarray(robot.configurations["standing"], dtype=float)
    moved = gait.pose()
    for part in ("hfe", "kfe", "thigh", "calf"):
        for k, joint in enumerate(robot.actuated_names):
            if part in joint.lower():
                q = robot.q_names.index(joint)
                assert moved[q] == pytest.approx(standing[q], abs=0.02)
                assert gait.targets([0.3])[0][k] == pytest.approx(standing[q], abs=0.02)
    swinging = Gait.of(robot, start + np.array([0.0, 0.1, 0.0, 0.1, 0.0]))
    assert np.ptp(swinging.targets(np.linspace(0, 1, 50)), axis=0).max() > 0.1


def test_legs_may_be_named(a1):
    named = {leg: [f"{leg}_{part}_joint" for part in ("hip", "thigh", "calf")] for leg in LEGS}
    given = Gait.of(a1, WALK, legs=named).targets([0.1])
    np.testing.assert_array_equal(given, Gait.of(a1, WALK).targets([0.1]))
    with pytest.raises(OptionError, match="FR, FL, RR, RL"):
        Gait.of(a1, WALK, legs={"FR": named["FR"]})
    with pytest.raises(ModelError, match="FR_tight"):
        Gait.of(a1, WALK, legs={**named, "FR": ("FR_tight", "FR_calf_joint")})


def test_wrong_gaits_are_refused(a1):
    with pytest.raises(ModelError, match="thigh and a calf"):
        Gait(builders.minitaur())
    with pytest.raises(OptionError, match=r"\(5,\) or \(n, 5\)"):
        Gait.of(a1, [1.0, 2.0])
    with pytest.raises(OptionError, match="finite"):
        Gait(a1, b=np.nan)
    with pytest.raises(OptionError, match="blend"):
        Gait(a1, blend=-1.0)
    many = Gait.of(a1, [WALK, WALK])
    with pytest.raises(ControllerError, match="batch of 2"):
        Simulation(a1).run(0.01, many)
    with pytest.raises(ControllerError, match="2 rows"):
        BatchSimulation(a1, 3).rollout(1, controller=many)


def test_velocities_may_move_as_targets_do():
    """Alone, in a batch, and asked from Python: the servo follows the rate, not the place."""
    robot = builders.double_pendulum()
    robot = replace(robot, joints=tuple(replace(j, actuated=True) for j in robot.joints))

    def rate(times):
        return np.column_stack((np.sin(times), 0.5 * np.cos(3 * times)))

    pd = PD(robot, 0.0, 0.0, 50.0, velocity=rate)
    sim, asked = Simulation(robot), Simulation(robot)
    sim.run(0.4, pd)
    asked.run(0.4, lambda s: pd(s))
    np.testing.assert_allclose(sim.v, asked.v, rtol=0, atol=1e-10)
    batch = BatchSimulation(robot, 2, lanes=False)
    np.testing.assert_array_equal(batch.rollout(400, controller=pd).q[0, -1], sim.q)
    still = PD(robot, 0.0, 0.0, 50.0)
    both = BatchSimulation(robot, 2, lanes=False).rollout(400, controller=[pd, still])
    np.testing.assert_array_equal(both.q[0, -1], sim.q)
    assert np.abs(both.q[1, -1] - sim.q).max() > 1e-3
    with pytest.raises(ControllerError, match="velocity's function"):
        PD(robot, 0.0, 0.0, 1.0, velocity=lambda times: np.zeros(3))


@pytest.mark.parametrize("ground", [True, False])
def test_a_robot_is_placed_above_what_it_may_touch(ground):
    robot = builders.cube()
    if not ground:
        slope = robosim.HalfSpace(normal=(0.0, np.sin(0.2), np.cos(0.2)))
        robot = robot.with_contacts([slope], ground=False)
    sim = Simulation(robot)
    for lift in (-0.05, 0.4):
        q = np.array(robot.home)
        q[2] += lift
        sim.place(q, 0.02)
        assert sim.min_gap(1.0) == pytest.approx(0.02, abs=1e-8)
        np.testing.assert_array_equal(np.delete(sim.q, 2), np.delete(q, 2))
        assert not sim.v.any()
    batch = BatchSimulation(robot, 2)
    batch.place(q, 0.02, index=1)
    np.testing.assert_array_equal(batch.q[1], sim.q)
    np.testing.assert_array_equal(batch.q[0], robot.home)


def hills(kind: str) -> robosim.HeightField | robosim.TriangleMesh:
    """Terrain of two slopes, whose triangles have contacts from above only."""
    heights = np.array([[0.0, 0.0], [0.4, 0.4], [0.1, 0.1]])
    if kind == "field":
        return robosim.HeightField(heights, (4.0, 4.0))
    vertices = np.array([(x, y, z) for x, z in ((-2, 0), (0, 0.4), (2, 0.1)) for y in (-2.0, 2.0)])
    faces = np.array([(0, 2, 1), (1, 2, 3), (2, 4, 3), (3, 4, 5)])
    return robosim.TriangleMesh(Geometry("mesh", vertices=vertices, faces=faces, name="hills"))


@pytest.mark.parametrize("kind", ["field", "mesh"])
def test_a_robot_under_terrain_is_placed_on_it(kind):
    sim = Simulation(builders.cube().with_contacts([hills(kind)], ground=False))
    placed = []
    for lift in (3.0, 0.1, -0.2, -1.0):
        q = np.array(sim.robot.home)
        q[:3] += (0.5, 0.3, lift)
        sim.place(q, 0.01)
        placed.append(sim.q)
        assert sim.min_gap(1.0) == pytest.approx(0.01, abs=1e-8)
    np.testing.assert_allclose(placed, np.tile(placed[0], (4, 1)), rtol=0, atol=1e-7)


def test_a_robot_between_a_floor_and_a_roof_stays_there():
    roof = np.array([(-2, -2, 2.0), (2, -2, 2.0), (2, 2, 2.0), (-2, 2, 2.0)])
    lid = Geometry("mesh", vertices=roof, faces=np.array([(0, 1, 2), (0, 2, 3)]), name="roof")
    terrain = [hills("mesh"), robosim.TriangleMesh(lid)]
    sim = Simulation(builders.cube().with_contacts(terrain, ground=False))
    q = np.array(sim.robot.home)
    q[2] += 0.7
    sim.place(q, 0.01)
    assert 0.4 < sim.q[2] < 1.0


@pytest.mark.parametrize("ground", [True, False])
def test_a_robot_that_collides_with_itself_is_placed_above_the_ground(ground):
    """Beside a ball that lies there: neither its legs nor the ball come nearer as it descends."""

    def box(name, size, mass=1.0):
        return Body(name, mass, 0.01 * np.eye(3), collisions=(Geometry("box", size),))

    leg = (0.1, 0.08, 0.4)
    bodies = box("trunk", (0.2, 0.3, 0.2), 5.0), box("left", leg), box("right", leg)
    ball = Body("ball", 1.0, 0.01 * np.eye(3), collisions=(Geometry("sphere", (0.1,)),))
    hips = [
        Joint(
            f"{name} hip", "revolute", "trunk", name, (0, 1, 0), (0, y, -0.15), (0, 0, 0.25),
            stiffness=10.0,
        )
        for name, y in (("left", 0.045), ("right", -0.045))
    ]  # fmt: skip
    bases = Joint("base", "floating", None, "trunk"), Joint("free", "floating", None, "ball")
    soles = [ContactPoint(name, name, (0.0, 0.0, -0.2)) for name in ("left", "right")]
    soles.append(ContactPoint("ball", "ball", (0.0, 0.0, 0.0), radius=0.1))
    robot = Mechanism("biped", (*bodies, ball), (bases[0], *hips, bases[1]), soles)
    plane = () if ground else [robosim.HalfSpace()]
    robot = robot.with_contacts(plane, self_collision=True, ground=ground)
    sim = Simulation(robot)
    q = np.array(robot.home)
    q[2] = 1.0
    q[robot.q_offsets[3] :][:3] = 0.4, 0.0, 0.1001
    sim.place(q, 0.02)
    # The soles are 0.6 m below the trunk's centre.
    assert sim.q[2] == pytest.approx(0.62, abs=1e-8)
    assert sim.min_gap() < 0.011  # of the legs, and of the ball


def test_what_cannot_be_placed_is_told():
    with pytest.raises(ModelError, match="fixed"):
        Simulation(builders.double_pendulum()).place()
    with pytest.raises(NoState, match="no ground or obstacle to stand"):
        Simulation(robosim.load("a1", ground=False)).place()
    with pytest.raises(OptionError, match="gap"):
        Simulation(robosim.load("a1")).place(gap=0.0)
