"""Muscles of the reduced formulation: K and D by differences, and steps towards the other one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, ModelError, ReducedSimulation, Tendon, se3
from robosim.actuators import Actuator
from robosim.muscles import HillMuscle, Muscle
from robosim.reduced import muscles
from robosim.tendons import Point, Term, Wrap

H = 1e-6
FAR = {"rtol": 1e-6, "atol": 1e-6}
HILL = HillMuscle(50.0, 0.9, 0.3, 8.0)
MUSCLES = [HILL, Muscle(50.0, (0.5, 4.0), lengthening=1.4), None]


def three_bodies() -> tuple[Mechanism, list[np.ndarray], np.ndarray]:
    """Free bodies in general position, with a path that comes back to the first one."""
    rng = np.random.default_rng(4)
    bodies = tuple(Body(name, 1.0, np.diag((1.0, 1.2, 1.4))) for name in "abc")
    joints = tuple(Joint(f"to_{body.name}", "floating", None, body.name) for body in bodies)
    path = [Point(name, 0.3 * rng.normal(size=3)) for name in ("a", "b", None, "c", "a")]
    tendon = Tendon("path", path)
    actuator = Actuator("muscle", {"path": 0.7}, (1.0, 0.3, 0.2), (0.1, -2.0, -0.4), implicit=True)
    robot = Mechanism("three", bodies, joints, tendons=(tendon,), actuators=(actuator,))
    return robot, [se3.exp(0.6 * rng.normal(size=6)) for _ in bodies], rng.normal(size=(3, 6))


@pytest.mark.parametrize("muscle", MUSCLES)
def test_stiffness_and_damping_are_differences(muscle: HillMuscle | Muscle | None) -> None:
    """K of (1.61) with all of dl/dt, and D of (1.64), before any symmetrizing."""
    robot, E, twists = three_bodies()
    actuator = replace(robot.actuators[0], muscle=muscle)
    (one,) = muscles.acting(replace(robot, actuators=(actuator,)))
    assert isinstance(one.on, Tendon)

    def acting(E: list[np.ndarray], twists: np.ndarray) -> tuple[np.ndarray, ...]:
        return muscles.along_path(list(muscles.parts_of(robot, one.on, E, twists)), one, 0.6)[1:]

    f, K, D = acting(E, twists)
    assert np.abs(f).max() > 1
    for k in range(18):
        step = H * np.eye(18)[k]
        poses, fast = [], []
        for sign in (1, -1):
            there = [F @ se3.exp(sign * d) for F, d in zip(E, step.reshape(3, 6), strict=True)]
            poses.append(acting(there, twists)[0])
            fast.append(acting(E, twists + sign * step.reshape(3, 6))[0])
        np.testing.assert_allclose(K[:, k], (poses[0] - poses[1]) / (2 * H), **FAR)
        np.testing.assert_allclose(D[:, k], -(fast[0] - fast[1]) / (2 * H), **FAR)
    assert np.abs(K - K.T).max() > 1e-3  # which "euler" takes the symmetric half of


def lifter(on: str) -> Mechanism:
    """A weight on a slide below the world's origin, and a muscle that is as long as it is deep."""
    slide = Joint("slide", "prismatic", None, "weight", axis=(0.0, 0.0, -1.0))
    path = Tendon("path", (Point(None), Point("weight")))
    muscle = HillMuscle(100.0, 0.1, 0.2, 10.0)
    actuator = Actuator("muscle", {on: 1.0}, muscle=muscle, implicit=True)
    body = Body("weight", 2.0, 0.01 * np.eye(3))
    return Mechanism("lifter", (body,), (slide,), tendons=(path,), actuators=(actuator,))


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_a_step_is_implicit_in_the_law(coordinates: str) -> None:
    """One step of (2.79) by hand, along the path and, in one coordinate, along the joint."""
    h, a, q, v = 0.01, 0.3, 0.29, 0.2
    for on in ("path", "slide"):
        robot = lifter(on)
        muscle = robot.actuators[0].muscle
        assert isinstance(muscle, HillMuscle)
        force, stiffness, damping = muscle.law(a, q, v)
        sim = ReducedSimulation(robot, h, coordinates=coordinates)
        sim.set_state([q], [v])
        sim.set_controls([a])
        sim.copy().step()
        sim.step()
        push = 2.0 * 9.81 + force
        expected = (2.0 * v + h * (push - damping * v)) / (2.0 - h * damping - h * h * stiffness)
        np.testing.assert_allclose(sim.v, [expected], rtol=1e-12)
        np.testing.assert_array_equal(sim.controls, [a])
        sim.set_state()
        np.testing.assert_array_equal(sim.controls, [0.0])


def test_what_it_does_not_have_is_refused() -> None:
    robot = lifter("path")
    around = (Point(None), Wrap("sphere", None, 0.01), Point("weight"))
    for tendon, told in (
        (Tendon("path", around), "more than a straight path"),
        (Tendon("path", (Term("slide"),)), "more than a straight path"),
        (Tendon("path", robot.tendons[0].path, stiffness=1.0), "resists"),
    ):
        with pytest.raises(ModelError, match=f"tendon 'path'.*{told}"):
            ReducedSimulation(replace(robot, tendons=(tendon,)))
