"""States in lanes whose shapes touch each other, terrain, meshes and planes in any direction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robosim
from robosim import BatchSimulation, Mechanism, Simulation
from robosim.batch.group import Group
from robosim.controllers import PD
from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.obstacles import HalfSpace, HeightField, TriangleMesh
from robosim.kernels.compiler.lanes import WIDTH

FOLD = np.array([[-2, -2, 0], [2, -2, -0.05], [2, 2, 0], [-2, 2, -0.05]], dtype=float)
MESH = TriangleMesh(
    Geometry("mesh", vertices=FOLD, faces=np.array([[0, 1, 2], [0, 2, 3]]), name="mesh")
)
SLOPE = HalfSpace((0.1, 0.2, 1.0))


def group_of(batch: BatchSimulation) -> Group:
    (group,) = batch._stepping.groups.values()
    return group


def on_field() -> tuple[Mechanism, PD, Any]:
    """The A1 on a height field, held at home, and eight starts there: some land in the run."""
    rng = np.random.default_rng(0)
    robot = robosim.load("a1", contacts="feet")
    field = HeightField(rng.uniform(0.0, 0.05, (61, 61)), (6.0, 6.0))
    robot = robot.with_contacts(obstacles=field, ground=False)
    sim = Simulation(robot)
    sim.place(gap=1e-3)
    q = np.tile(sim.q, (WIDTH, 1))
    q[:, :2] += rng.uniform(-0.5, 0.5, (WIDTH, 2))
    q[:, 2] += 0.01 + 0.004 * np.arange(WIDTH)
    return robot, PD(robot, np.array(robot.home)[7:], 40.0, 1.0, implicit=True), q


@pytest.fixture(scope="module")
def field() -> Any:
    return on_field()


def agree(batch: BatchSimulation, steps: int, tolerance: float, *controller: PD) -> Any:
    """Compare steps with those of single states from the same knots; the group's pace."""
    taken = {"controller": controller[0]} if controller else {}
    for k in range(0, steps, 8):
        sims = [batch[i].copy() for i in range(WIDTH)]
        assert not batch.rollout(4, **taken).failed.any()
        for i, sim in enumerate(sims):
            sim.run(4 * sim.timestep, *controller)
            off = np.abs(batch.q[i] - sim.q).max()
            assert off < tolerance, f"state {i} is {off:.3g} off at step {k}"
    return group_of(batch).handle.values.pace[0]


def test_states_that_are_alike_keep_every_bit_on_terrain(field: Any) -> None:
    robot, servo, q = field
    batch, sim = BatchSimulation(robot, WIDTH, 2e-3, threads=1), Simulation(robot, 2e-3)
    batch.set_state(q[3])
    sim.set_state(q[3])
    together, alone = batch.rollout(80, controller=servo), sim.run(0.16, servo)
    assert group_of(batch).handle.values.pace["steps"][0] == 80
    for i in (0, WIDTH - 1):
        np.testing.assert_array_equal(together.q[i, :-1], alone.q)
        np.testing.assert_array_equal(together.iterations[i], alone.iterations)
        assert len(sim.contacts()) == 4
        for one, other in zip(batch[i].contacts(), sim.contacts(), strict=True):
            np.testing.assert_array_equal(one.force, other.force)
            np.testing.assert_array_equal(one.position, other.position)
    np.testing.assert_array_equal(batch[3].run(0.03, servo).q, sim.run(0.03, servo).q)


def test_states_land_on_other_places_of_a_terrain(field: Any) -> None:
    robot, servo, q = field
    batch = BatchSimulation(robot, WIDTH, 2e-3, threads=1)
    batch.set_state(q)
    pace = agree(batch, 160, 1e-6, servo)
    assert pace["steps"] > 60
    assert pace["leaves"] > 0
    # Some are set down again, in their lanes.
    ends = []
    for lanes in (True, False):
        batch = BatchSimulation(robot, WIDTH, 2e-3, threads=1, lanes=lanes)
        batch.set_state(q)
        bound = batch.bind(10, controller=servo)
        starts = batch.prepare(q[:2])
        for k in range(8):
            bound.step()
            if k == 5:
                batch.reset(starts, which=[1, 0], index=[2, 7])
        ends.append(batch.q)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_robots_with_other_numbers_on_terrain(field: Any) -> None:
    robot, servo, q = field
    trunk, robots = robot.bodies[0], []
    for scale in np.linspace(1.0, 1.5, WIDTH):
        heavy = replace(trunk, mass=scale * trunk.mass, inertia=scale * np.asarray(trunk.inertia))
        robots.append(replace(robot, bodies=(heavy, *robot.bodies[1:])))
    ends = []
    for lanes in (True, False):
        batch = BatchSimulation(robots, timestep=2e-3, threads=1, lanes=lanes)
        batch.set_state(q)
        ends.append(batch.rollout(80, controller=servo).q[:, -1])
        if lanes:
            assert group_of(batch).handle.values.pace["steps"][0] > 40
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-6)


@pytest.mark.parametrize("obstacle", [MESH, SLOPE], ids=["mesh", "slope"])
@pytest.mark.parametrize(
    "shape",
    [
        Geometry("box", (0.2, 0.1, 0.15)),
        Geometry("capsule", (0.05, 0.2)),
        Geometry("cylinder", (0.1, 0.1)),
    ],
    ids=["box", "capsule", "cylinder"],
)
def test_bodies_that_roll_and_tumble(shape: Geometry, obstacle: Any) -> None:
    rng = np.random.default_rng(1)
    body = replace(Body.of_shape(shape, mass=1.0, collides=True), name="body")
    robot = Mechanism(
        "one", (body,), (Joint("free", "floating", None, "body"),), obstacles=obstacle
    )
    q = np.hstack((rng.uniform(-0.3, 0.3, (WIDTH, 3)), rng.normal(size=(WIDTH, 4))))
    q[:, 2] = 0.25 + 0.02 * rng.uniform(size=WIDTH)
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    batch = BatchSimulation(robot, WIDTH, 2e-3, threads=1)
    batch.set_state(q, 0.5 * rng.normal(size=(WIDTH, 6)))
    pace = agree(batch, 240, 1e-7)
    assert pace["steps"] > 50


def test_links_that_touch_each_other() -> None:
    robot = robosim.load("a1", self_collision=True)
    rng, home = np.random.default_rng(0), np.array(robot.home)[7:]
    q = np.tile(robot.home, (WIDTH, 1))
    q[:, 2] += 0.5
    q[:, 7:] += rng.uniform(-0.02, 0.02, (WIDTH, robot.nu))
    servo = PD(robot, home + 0.9 * np.sign(rng.uniform(-1, 1, robot.nu)), 40.0, 1.0, implicit=True)
    batch = BatchSimulation(robot, WIDTH, 2e-3, threads=1)
    batch.set_state(q)
    pace = agree(batch, 120, 1e-6, servo)
    assert pace["steps"] > 20
    names = {body.name for body in robot.bodies}
    assert any(one.other in names for i in range(WIDTH) for one in batch[i].contacts())
