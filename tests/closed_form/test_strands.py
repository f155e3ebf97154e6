"""Strands and nets of particles against their closed forms [Sueda, Sect. 2.7]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from robosim import (
    Body,
    Dynamics,
    Geometry,
    Joint,
    Mechanism,
    ModelError,
    Net,
    ReducedSimulation,
    Simulation,
    Strand,
)
from robosim.kinematics.kinematics import Kinematics
from robosim.models.builders import hanging_net, pendulum

Array = NDArray[np.float64]
G = 9.81
N, LENGTH, STIFFNESS, MASS = 6, 0.2, 5.0, 0.7  # springs; rest length of each, K, the whole mass
SPRING, NODE = STIFFNESS / LENGTH**2, MASS / (N + 1)


def hanging(**options: float) -> Mechanism:
    """A strand down from the world's origin, its lower end free."""
    points = np.outer(np.arange(N + 1), (0.0, 0.0, -LENGTH))
    strand = Strand("rope", points, STIFFNESS, MASS, attached={0: None}, **options)
    return Mechanism("hanging", (), (), soft=strand)


def whirling(seed: int = 0) -> tuple[Mechanism, Array, Array]:
    """A body with a strand on it that ends freely, and a motion of both."""
    rng = np.random.default_rng(seed)
    ball = Body.of_shape(Geometry("box", (0.2, 0.3, 0.1), name="box"), mass=1.0)
    points = np.outer(np.arange(4), (0.3, 0, 0)) + np.array((0.1, 0.15, 0.05))
    strand = Strand("tail", points, STIFFNESS, MASS, attached={0: "box"})
    robot = Mechanism("whirling", (ball,), (Joint("base", "floating", None, "box"),), soft=strand)
    return robot, np.array(robot.home), rng.normal(size=robot.nv)


def test_a_hanging_strand_has_the_lengths_of_its_closed_form() -> None:
    """Each spring carries the nodes below it: l = L (1 + L W / K); whirls die down to that."""
    robot = hanging(damping=1.0)
    below = NODE * G * np.arange(N, 0, -1)
    still = -np.cumsum(LENGTH * below * LENGTH / STIFFNESS)
    sim = Simulation(robot, 0.05)
    sim.run(30.0)
    np.testing.assert_allclose(sim.q[2::3], still, rtol=0, atol=1e-9 * LENGTH)
    # The other formulation hangs there too.
    reduced = ReducedSimulation(robot, 0.05)
    q = np.zeros(robot.nq)
    q[2::3] = still
    reduced.set_state(q, np.zeros(robot.nv))
    reduced.step()
    np.testing.assert_allclose(reduced.q, q, rtol=0, atol=1e-9 * LENGTH)


def test_frequencies_are_those_of_the_chain_shifted_by_the_midpoint_rule() -> None:
    """2 sqrt(k / m) sin((2j - 1) pi / (2 (2n + 1))), seen as (2 / dt) atan(w dt / 2)."""
    robot, dt = hanging(), 0.0125
    mode = np.arange(1, N + 1)
    angles = (2 * mode - 1) * np.pi / (2 * N + 1)
    shapes = np.sin(np.outer(mode, angles))  # (node, mode)
    omega = 2 * np.sqrt(SPRING / NODE) * np.sin(angles / 2)
    assert omega.max() * dt > 0.8  # so that the shift is seen
    q = np.zeros(robot.nq)
    amplitudes = 1e-3 * (1 + mode)
    q[2::3] = shapes @ amplitudes
    sim = Simulation(robot, dt, gravity=(0, 0, 0))
    sim.set_state(q, np.zeros(robot.nv))
    log = sim.run(2.0)
    shifted = 2 / dt * np.arctan(omega * dt / 2)
    found = np.linalg.solve(shapes, log.q[:, 2::3].T)
    expected = amplitudes[:, None] * np.cos(np.outer(shifted, log.t))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * amplitudes.min())


def test_momentum_stays_to_rounding_and_energy_has_no_trend() -> None:
    robot, q, v = whirling()
    sim = Simulation(robot, 5e-3, gravity=(0, 0, 0))
    sim.set_state(q, v)
    energies, momenta = [], []
    for _ in range(4000):
        momenta.append(np.concatenate(sim.momentum()))
        energies.append(sim.energy())
        sim.step()
    momenta, energies = np.array(momenta), np.array(energies)
    np.testing.assert_allclose(momenta - momenta[0], 0.0, atol=1e-12)
    first, second = np.split(energies - energies[0], 2)
    swing = np.ptp(first)
    assert abs(first.mean() - second.mean()) < 0.25 * swing < 0.01 * energies[0]


def test_an_attached_node_adds_to_the_inertia_of_its_body() -> None:
    """M_R = J^T M J of [Sueda, Eq. 2.92]: for a hinge, m r^2; nothing else moves."""
    robot = pendulum()
    points = np.array(((0.3, 0.0, -0.4), (0.3, 0.0, -0.9)))
    loaded = replace(robot, soft=Strand("tail", points, STIFFNESS, 0.8, attached={0: "link1"}))
    q = np.concatenate((robot.home, np.zeros(3)))
    np.testing.assert_array_equal(loaded.home, q)
    q[0] = 0.7
    (expected,) = Dynamics(robot).mass_matrix(q[:1])
    found = Dynamics(loaded).mass_matrix(q)
    np.testing.assert_allclose(
        found, np.diag([expected[0] + 0.4 * 0.25, 0.4, 0.4, 0.4]), atol=1e-14
    )
    for name in ("link1", "link1_end"):
        place, before = Kinematics(loaded, q).frame(name), Kinematics(robot, q[:1]).frame(name)
        for here, there in zip(place, before, strict=True):
            np.testing.assert_allclose(here, there, atol=1e-14)
    # Where the node is held, from the new centre of mass of the rod.
    (spring,) = loaded.springs
    body = loaded.body("link1")
    at = np.asarray(spring.parent_position) - body.reference_position
    np.testing.assert_allclose(at, points[0], atol=1e-15)


def test_a_net_is_springs_between_neighbours_alone() -> None:
    robot = hanging_net(meshes=4)
    assert len(robot.bodies) == 1 + 25 - 5
    assert len(robot.springs) == 2 * 4 * 5
    sim = Simulation(robot, 0.01)
    assert len(sim.parts.model.elements) == 0
    sim.run(0.3)
    x = {body.name: sim.state.x[k] for k, body in enumerate(robot.bodies)}
    assert x["ball"][2] < 0.98
    # A quarter turn about the middle maps the net onto itself.
    np.testing.assert_allclose(x["net_0_1"], x["net_1_4"][[1, 0, 2]] * (-1, 1, 1), atol=1e-9)
    points = np.zeros((2, 3, 3))
    points[..., :2] = np.stack(np.meshgrid((0.0, 1.0), (0.0, 1.0, 2.0), indexing="ij"), axis=-1)
    tied = {(0, 0): "link1", (0, 1): "link1", (1, 0): None, (1, 1): None}
    held = replace(pendulum(), soft=Net("net", points, 1.0, 1.0, attached=tied, diagonals=True))
    # Of 7 edges and 4 diagonals one is between nodes of the rod, one between nodes of the world.
    assert len(held.springs) == 9
    assert all(spring.child is not None for spring in held.springs)


LINE = np.outer(np.arange(3), (1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: Strand("s", LINE, -1.0, 1.0), "stiffness must be positive, not -1"),
        (lambda: Strand("s", LINE, 1.0, 0.0), "mass must be positive, not 0"),
        (lambda: Strand("s", LINE, 1.0, 1.0, -0.1), "damping must be zero or more, not -0.1"),
        (lambda: Strand("s", LINE[:1], 1.0, 1.0), r"n at least 2, not \(1, 3\)"),
        (lambda: Strand("s", 0 * LINE, 1.0, 1.0), "nodes 0 and 1 are at the same point"),
        (lambda: Strand("s", LINE, 1.0, 1.0, attached={3: None}), "node 3, and nodes are 0 to 2"),
        (
            lambda: Strand("s", LINE, 1.0, 1.0, attached={0: "link1", -1: "link1"}),
            "both of its ends are on body 'link1'",
        ),
        (
            lambda: Strand("s", LINE[:2], 1.0, 1.0, attached={0: None, 1: None}),
            "all of its nodes are attached",
        ),
        (lambda: Net("n", LINE, 1.0, 1.0), r"shape n x n x 3"),
        (
            lambda: replace(pendulum(), soft=Strand("s", LINE, 1.0, 1.0, attached={0: "rot"})),
            "node 0 is attached to 'rot'",
        ),
        (
            lambda: replace(pendulum(), soft=[Strand("s", LINE, 1.0, 1.0)] * 2),
            "its particle 's_0' has a name that is taken",
        ),
        (lambda: replace(pendulum(), soft="rope"), "soft must be each a Strand or Net"),
    ],
)
def test_what_makes_no_sense_is_refused(made, told) -> None:
    with pytest.raises(ModelError, match=told):
        made()
