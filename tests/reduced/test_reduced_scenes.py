"""The author's public scenes, and ReducedSimulation beside Simulation where both have them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from robosim import Simulation
from robosim.experiments import redmax_scenes as scenes
from robosim.experiments.redmax_scene import Scene
from robosim.experiments.redmax_scenes import SCENES
from robosim.reduced import PointForce, ReducedSimulation

SMOOTH = (
    scenes.three_axes,
    scenes.branching,
    scenes.universal,
    scenes.in_the_plane,
    scenes.spline_surface,
    scenes.free_in_2d,
)


@pytest.mark.parametrize("made", SCENES)
def test_energies_are_those_published(made: Callable[[], Scene]) -> None:
    """T + V - V0 at the end of Euler's run, all steps of it."""
    scene = made()
    assert scene.energy() == pytest.approx(scene.published, rel=scene.tolerance)


def test_the_limits_of_scene_6_with_the_right_sign() -> None:
    """An angle beyond its upper limit comes back; published is a run in which it goes on."""
    assert scenes.limits(theirs=False).energy() == pytest.approx(34838.8921527, rel=1e-9)


def test_the_stiffness_of_a_point_force_changes_scene_10() -> None:
    """With (1.33), which was switched off in the published run, and the force's energy apart."""
    scene = scenes.point_force()
    scene.options["forces"] = (PointForce("pull", "body3", (5, 0, 0), (0, 0, 1), 1e3),)
    sim = scene.simulation()
    before = sim.energy()
    for _ in range(200):
        sim.step()
    state = sim.state
    moving = sum(
        0.5 * (body.mass * v @ v + w @ body.inertia @ w)
        for body, v, w in zip(sim.robot.bodies, state.v, state.omega, strict=True)
    )
    assert moving == pytest.approx(748.65, abs=0.01)
    explicit = scenes.point_force()
    explicit.options |= {"forces": scene.options["forces"], "explicit": ("pull",)}
    other = explicit.simulation()
    for _ in range(200):
        other.step()
    assert other.energy() - before != pytest.approx(sim.energy() - before, rel=1e-3)


@pytest.mark.parametrize("made", SMOOTH)
def test_simulation_of_order_four_agrees(made: Callable[[], Scene]) -> None:
    """With the adaptive integrator, at 0.25 s, in coordinates of one and rates of some."""
    scene = made()
    reference = scene.simulation(method="adaptive", tolerance=1e-12)
    reference.run(0.25)
    sim = Simulation(scene.robot(), 5e-4, scene.gravity, order=4)
    sim.set_state(scene.q, scene.v)
    sim.run(0.25)
    np.testing.assert_allclose(sim.q, reference.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.v, reference.v, rtol=0, atol=1e-9)


def test_springs_without_length_in_simulation() -> None:
    """Of second order towards the same motion, with the same energy."""
    scene = scenes.point_springs()
    reference = scene.simulation(method="adaptive", tolerance=1e-11)
    energy = reference.energy()
    reference.run(0.1)
    errors = []
    for h in (1e-3, 5e-4):
        sim = Simulation(scene.robot(), h, scene.gravity)
        sim.set_state(scene.q, scene.v)
        assert sim.energy() == pytest.approx(energy, rel=1e-12)
        sim.run(0.1)
        errors.append(np.abs(sim.q - reference.q).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(
    "made",
    [scenes.three_axes, scenes.spline_surface, scenes.slide, scenes.equal_angles, scenes.springs],
)
@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_euler_is_of_first_order(made: Callable[[], Scene], coordinates: str) -> None:
    """Towards the adaptive integrator, with loops, gears, splines and springs."""
    scene = made()
    reference = scene.simulation(method="adaptive", tolerance=1e-11)
    reference.run(0.02)
    errors = []
    for h in (4e-4, 2e-4):
        scene.h = h
        sim = scene.simulation(coordinates=coordinates)
        sim.run(0.02)
        errors.append(np.abs(np.concatenate((sim.q - reference.q, sim.v - reference.v))).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.05)


def test_maximal_coordinates_drift_less_with_baumgarte() -> None:
    """Joints come apart by steps, and (1.82) keeps them together; reduced ones cannot."""
    apart = []
    for baumgarte in (None, 100.0):
        sim = scenes.three_axes().simulation(coordinates="maximal", baumgarte=baumgarte)
        sim.run(0.5)
        apart.append(sim.constraint_violation())
    assert apart[1] < 0.3 * apart[0]
    assert apart[0] > 0.1
    reduced = scenes.three_axes().simulation()
    reduced.run(0.5)
    assert reduced.constraint_violation() == 0.0


@pytest.mark.parametrize("method", ["euler", "adaptive"])
def test_open_loops_close_with_baumgarte(method: str) -> None:
    """At the level of velocities, and of accelerations; without it they stay open."""
    apart = []
    for baumgarte in (None, 50.0):
        sim = scenes.loop().simulation(method=method, baumgarte=baumgarte, tolerance=1e-9)
        sim.engine.q[1] += 1e-3  # after the start, which would have closed it
        assert sim.constraint_violation() > 5e-3
        sim.run(0.2)
        apart.append(sim.constraint_violation())
    assert apart[0] > 3e-3
    assert apart[1] < 0.1 * apart[0]


def test_a_driven_joint_follows_exactly_without_baumgarte() -> None:
    """It is at its motion at every knot."""
    scene = scenes.hybrid()
    scene.hold = ()
    sim = scene.simulation(baumgarte=None)
    assert isinstance(sim, ReducedSimulation)
    motion = sim.robot.joints[0].motion
    for _ in range(20):
        sim.step()
        assert sim.q[0] == pytest.approx(motion(sim.time), abs=1e-13)
    smooth = scene.simulation(baumgarte=None, method="adaptive", tolerance=1e-10)
    smooth.run(0.4)
    assert smooth.q[0] == pytest.approx(motion(smooth.time), abs=1e-9)
    assert smooth.v[0] == pytest.approx(motion.rate(smooth.time), abs=1e-9)
