"""Blocks and balls on the ground: Coulomb friction with the exact cone and the linearized, by hand.

The exact cone slows a block alike in all directions. The linearized cone of n facets is the polygon
through their ends: friction opposes the slip along the facet that opposes it most. With four facets
along x and y, a block that slides along neither slows in its faster direction alone until both are
equal, then in both at mu g / 2.
"""

from __future__ import annotations

import numpy as np
import pytest
from random_mechanisms import random_quaternion

from robosim import Body, ContactPoint, Joint, Mechanism, Simulation
from robosim.models.builders import cube, sphere

G = 9.81
MU = 0.3
CREEP = 1e-10  # the default contact_speed [m/s]


LINEARIZED = {"friction_cone": "linearized"}


def slide(velocity, dt: float = 1e-3, **options) -> tuple[np.ndarray, Simulation]:
    """Way until rest, of a block let go on the ground at a velocity (x, y)."""
    sim = Simulation(cube(0.5, 1.0, MU), dt, **options)
    start = sim.q
    sim.set_state(start, [*velocity, 0, 0, 0, 0])
    log = sim.run(1.0)
    assert log.samples.gap.min() >= 0
    np.testing.assert_allclose(sim.v, 0, atol=1e-6)
    return (sim.q - start)[:2], sim


# The last step before rest ends somewhere within it: mu g dt^2 / 2. Interior-point smoothing of
# the cone's corner is of the size of the creep over the time.
WAY = 5e-6


@pytest.mark.parametrize("degrees", [0.0, 90.0, 180.0, 270.0, 45.0, -17.0, 111.0])
def test_a_block_stops_after_v2_over_2_mu_g_in_any_direction(degrees):
    direction = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    way, _ = slide(direction)
    np.testing.assert_allclose(way, direction / (2 * MU * G), rtol=0, atol=WAY)


@pytest.mark.parametrize("direction", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_along_the_facets_the_linearized_cone_is_exact(direction):
    way, _ = slide(np.array(direction, dtype=float), **LINEARIZED)
    np.testing.assert_allclose(way, np.array(direction) / (2 * MU * G), rtol=0, atol=WAY)


def test_across_the_facets_the_four_sided_cone_is_weaker():
    """Along the diagonal the polygon is 1 / sqrt(2) of the circle: sqrt(2) times the way."""
    way, _ = slide(np.array([1.0, 1.0]) / np.sqrt(2), **LINEARIZED)
    length = np.sqrt(2) / (2 * MU * G)
    np.testing.assert_allclose(way, length / np.sqrt(2), rtol=0, atol=WAY)


@pytest.mark.parametrize("degrees", [20.0, 30.0])
def test_between_the_facets_the_faster_direction_slows_first(degrees):
    fast, slow = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    way, _ = slide((fast, slow), **LINEARIZED)
    alone = (fast - slow) / (MU * G)  # until both are equal
    together = slow**2 / (MU * G)  # at mu g / 2 each
    expected = [(fast**2 - slow**2) / (2 * MU * G) + together, slow * alone + together]
    # The switch from one facet to two is smoothed by the barrier.
    np.testing.assert_allclose(way, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("facets", [8, 16])
def test_more_facets_restore_the_diagonal(facets):
    way, _ = slide(np.array([1.0, 1.0]) / np.sqrt(2), friction_facets=facets, **LINEARIZED)
    np.testing.assert_allclose(way, 1 / (2 * MU * G) / np.sqrt(2), rtol=0, atol=WAY)


@pytest.mark.parametrize("degrees", [0.0, 45.0, 100.0, -77.7])
def test_sliding_friction_is_mu_times_the_normal_against_the_slip(degrees):
    """At every contact of a block that slides and turns: the angle is each contact's own."""
    sim = Simulation(cube(0.5, 1.0, MU), 1e-3)
    direction = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    sim.set_state(None, [*direction, 0, 0, 0, 0.5])
    before = sim.contact_positions()
    for _ in range(100):
        before = sim.contact_positions()
        sim.step()
    touching = before[:, 2] < 1e-3
    slip = (sim.contact_positions() - before)[touching, :2]
    forces = sim.contact_forces()[touching]
    assert len(forces) == 4
    friction = np.linalg.norm(forces[:, :2], axis=1)
    # The barrier leaves kappa / (2 mu gamma |slip|) of the cone's radius.
    np.testing.assert_allclose(friction, MU * forces[:, 2], rtol=1e-7)
    unit = slip / np.linalg.norm(slip, axis=1)[:, None]
    # Slips from positions: rounding 1e-16 of a way of 1e-3.
    np.testing.assert_allclose(forces[:, :2] / friction[:, None], -unit, atol=1e-7)


@pytest.mark.parametrize("direction", [(1.0, 0.0), (np.sqrt(0.5), np.sqrt(0.5))])
def test_long_steps_stop_a_block_as_well(direction):
    """At 10 ms, coefficient 0.5: the last step ends within it, by at most mu g dt^2 / 8."""
    sim = Simulation(cube(0.5, 1.0, 0.5), 1e-2)
    sim.set_state(None, [*direction, 0, 0, 0, 0])
    start = sim.q[:2]
    sim.run(1.0)
    way = np.linalg.norm(sim.q[:2] - start)
    assert way == pytest.approx(1 / (2 * 0.5 * G), abs=0.5 * G * 1e-4 / 8)


@pytest.mark.parametrize("timestep", [1e-2, 1e-3])
def test_one_degree_decides_whether_a_block_slides(timestep):
    """For ten seconds on slopes below and above the angle of friction of 0.5."""
    ways = []
    for degrees in (-1.0, 1.0):
        angle = np.arctan(0.5) + np.radians(degrees)
        gravity = G * np.array([np.sin(angle), 0, -np.cos(angle)])
        sim = Simulation(cube(0.5, 1.0, 0.5), timestep, gravity)
        samples = sim.run(10.0).samples
        assert samples.substeps.max() == 1
        ways.append(sim.q[0])
    assert 0 <= ways[0] < 2e-7
    # An acceleration from rest has no error of the scheme.
    expected = 50 * G * (np.sin(angle) - 0.5 * np.cos(angle))
    assert expected == pytest.approx(9.571, abs=2e-4)
    assert ways[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("mu", [0.1, 0.8])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cone", ["second_order", "linearized"])
def test_tumbling_blocks_need_no_substeps(cone, seed, mu):
    """Let fall with spin, they hit, jam, slide and turn: every step is solved as a whole."""
    rng = np.random.default_rng(seed)
    sim = Simulation(cube(0.5, 1.0, mu), [1e-3, 2e-3, 5e-3, 1e-2][seed % 4], friction_cone=cone)
    q = np.concatenate(([0, 0, rng.uniform(0.6, 1.4)], random_quaternion(rng)))
    sim.set_state(q, rng.normal(size=6) * [3, 3, 1, 10, 10, 10])
    samples = sim.run(3.0).samples
    assert samples.substeps.max() == 1
    assert samples.gap.min() >= 0
    # Most steps are warm starts; one that fails costs at most 12 iterations before a cold one.
    assert samples.iterations.mean() < 10


def pushed(force: float, seconds: float = 1.0, dt: float = 1e-3) -> Simulation:
    sim = Simulation(cube(0.5, 1.0, MU), dt)
    tau = np.array([force, 0, 0, 0, 0, 0])
    sim.run(seconds, lambda sim: tau)
    return sim


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_block_pushed_by_less_than_friction_stays(share):
    """It creeps: in the barrier's smooth cone by kappa over the slack, four contacts of them."""
    sim = pushed(share * MU * G)
    bound = 40 * CREEP / (MU * (1 - share))
    assert 0 <= sim.q[0] < bound
    assert abs(sim.v[0]) < bound
    np.testing.assert_allclose(sim.q[1:2], 0, atol=CREEP)


@pytest.mark.parametrize("share", [1.1, 2.0])
def test_a_block_pushed_by_more_accelerates_by_the_rest(share):
    sim = pushed(share * MU * G)
    acceleration = (share - 1) * MU * G
    assert sim.q[0] == pytest.approx(acceleration / 2, abs=3e-4)
    assert sim.v[0] == pytest.approx(acceleration, abs=6e-4)


def test_forces_of_a_resting_block_are_its_weight():
    sim = pushed(0.5 * MU * G)
    forces = sim.contact_forces()
    np.testing.assert_allclose(forces.sum(axis=0), [-0.5 * MU * G, 0, G], rtol=0, atol=1e-6)
    touching = sim.contact_positions()[:, 2] < 1e-3
    assert touching.sum() == 4
    assert np.all(forces[touching, 2] > 0)
    np.testing.assert_array_equal(forces[~touching], 0)
    # Moments about the centre: the push acts there, the friction half an edge below.
    moment = np.cross(sim.contact_positions() - sim.state.x[0], forces).sum(axis=0)
    np.testing.assert_allclose(moment, 0, atol=1e-6)


def test_a_block_on_a_slope_stands_and_slides():
    """Gravity turned by an angle: at rest below atan(mu), down at g (sin - mu cos) above it."""
    for angle, moves in ((0.9 * np.arctan(MU), False), (1.5 * np.arctan(MU), True)):
        gravity = G * np.array([np.sin(angle), 0, -np.cos(angle)])
        sim = Simulation(cube(0.5, 1.0, MU), gravity=gravity)
        sim.run(1.0)
        expected = G * (np.sin(angle) - MU * np.cos(angle)) / 2 if moves else 0.0
        assert sim.q[0] == pytest.approx(expected, abs=1e-4)


def test_a_ball_slides_then_rolls():
    """Five sevenths of its velocity are left when it rolls, and it rolls on for ever."""
    sim = Simulation(sphere(0.25, 1.0, MU), 1e-3)
    sim.set_state(None, [1.0, 0, 0, 0, 0, 0])
    sim.run(0.5 * 2 / 7 / (MU * G))
    assert sim.v[0] == pytest.approx(1 - 1 / 7, abs=2e-3)  # half of the way there
    sim.run(1.0)
    assert sim.v[0] == pytest.approx(5 / 7, abs=1e-5)
    assert sim.v[4] == pytest.approx(5 / 7 / 0.25, abs=1e-4)


def test_without_friction_nothing_slows():
    sim = Simulation(cube(0.5, 1.0, 0.0))
    sim.set_state(None, [1.0, 0.5, 0, 0, 0, 0])
    sim.run(1.0)
    np.testing.assert_allclose(sim.q[:2], [1.0, 0.5], rtol=0, atol=1e-11)
    np.testing.assert_allclose(sim.v[:2], [1.0, 0.5], rtol=0, atol=1e-11)


def test_a_contact_on_a_rail_carries_the_weight():
    """A body on a vertical slide comes down on one contact, stops there, and reads no velocity."""
    robot = Mechanism(
        "drop",
        (Body("weight", 2.0, np.eye(3) * 0.01),),
        (Joint("rail", "prismatic", None, "weight", axis=(0, 0, 1)),),
        (ContactPoint("tip", "weight", (0, 0, -0.1), radius=0.02),),
    )
    sim = Simulation(robot, 1e-3)
    sim.set_state([0.5])
    log = sim.run(1.0)
    assert log.samples.gap.min() >= 0
    fall = np.sqrt(2 * (0.5 - 0.12) / G)
    falling = log.t < fall - 2e-3
    np.testing.assert_allclose(
        log.q[falling, 0], 0.5 - G * log.t[falling] ** 2 / 2, rtol=0, atol=1e-11
    )
    assert sim.q[0] == pytest.approx(0.12, abs=1e-6)
    assert sim.v[0] == pytest.approx(0.0, abs=1e-6)
    assert sim.contact_forces()[0, 2] == pytest.approx(2 * G, abs=1e-4)


def test_friction_without_bounds_is_that_of_a_wheel_that_does_not_slip():
    """Model files write 1e14; a ball thrown without spin rolls from the first step on."""
    sim = Simulation(sphere(friction=1e14), 1e-3)
    sim.set_state([0, 0, 0.25, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0])
    infos = [sim.step() for _ in range(20)]
    assert max(info.substeps for info in infos) == 1
    np.testing.assert_allclose(sim.v[0], 5 / 7, rtol=1e-6)
