"""Errors fall with the timestep as the order says, for free rotations and branched robots too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from robots import after, chain, top

from robosim import Mechanism, Simulation


def measured(
    robot: Mechanism, seconds: float, steps: tuple[int, int], integrator: str, order: int
) -> float:
    """The order between two numbers of steps, against a fine solution of order eight."""
    rng = np.random.default_rng(0)
    q, v = np.array(robot.home, dtype=float), 2.0 * rng.normal(size=robot.nv)
    exact = after(
        robot, q, v, seconds, 2 * steps[1], integrator="galerkin", order=8, tolerance=1e-12
    )
    found = [
        after(robot, q, v, seconds, n, integrator=integrator, order=order, tolerance=1e-12)
        for n in steps
    ]
    coarse, fine = (float(np.abs(end - exact).max()) for end in found)
    return float(np.log(coarse / fine) / np.log(steps[1] / steps[0]))


@pytest.mark.parametrize(
    ("integrator", "order", "steps", "within"),
    [
        ("newton", 2, (64, 128), 0.02),
        ("galerkin", 2, (64, 128), 0.02),
        ("galerkin", 4, (16, 32), 0.05),
        ("galerkin", 6, (4, 8), 0.2),
    ],
)
def test_orders(
    integrator: str, order: int, steps: tuple[int, int], within: float, a1: Mechanism
) -> None:
    """Of a body that spins, of balls that hang on each other, and of the A1 in the air."""
    for robot, seconds in ((top(), 0.4), (chain(3), 0.1), (a1, 0.1)):
        found = measured(robot, seconds, steps, integrator, order)
        assert found == pytest.approx(order, abs=within), robot.name


def test_both_ways_to_the_root_lead_to_the_same() -> None:
    """RIQN and Newton's method solve the same equations."""
    robot = chain(4)
    v = np.random.default_rng(1).normal(size=robot.nv)
    ends = [
        after(robot, np.array(robot.home), v, 0.5, 100, integrator=name, tolerance=1e-12)
        for name in ("riqn", "newton")
    ]
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9)


@pytest.mark.parametrize("integrator", ["newton", "galerkin"])
def test_guesses_do_not_matter(integrator: str) -> None:
    """Wherever the iterations begin, they end at the same root."""
    robot = chain(4)
    v = np.random.default_rng(1).normal(size=robot.nv)
    ends = [
        after(robot, np.array(robot.home), v, 0.2, 40, integrator=integrator, guess=guess)
        for guess in ("position", "velocity", "euler", "acceleration")
    ]
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("integrator", "armature"), [("newton", 0.0), ("galerkin", (0.05, 0.2, 0.1))]
)
def test_rotors_and_springs_of_balls_are_those_of_maximal_coordinates(
    integrator: str, armature: object
) -> None:
    """Of other sizes about each axis, in a chain: the difference falls by the second order."""
    robot = chain(2)
    acts = {"stiffness": (3.0, 1.0, 2.0), "damping": (0.1, 0.3, 0.2), "armature": armature}
    robot = replace(robot, joints=tuple(replace(joint, **acts) for joint in robot.joints))
    v, differences = np.random.default_rng(1).normal(size=robot.nv), []
    for steps in (100, 200):
        sim = Simulation(robot, 0.5 / steps)
        sim.set_state(None, v)
        sim.run(0.5)
        ours = after(robot, robot.neutral(), v, 0.5, steps, integrator=integrator)
        differences.append(np.abs(ours - np.concatenate((sim.q, sim.v))).max())
    assert differences[1] < 1e-3
    assert np.log2(differences[0] / differences[1]) == pytest.approx(2.0, abs=0.1)
