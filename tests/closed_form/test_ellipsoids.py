"""Ellipsoids that roll and rock: as a reference integration says, to second order on any shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from touching import G, free

from robosim import Body, Geometry, HalfSpace, Simulation, quaternions
from robosim.description.contact_points import contacts_of

HALF = np.array((0.1, 0.15, 0.25))
START = quaternions.normalized(np.array((0.9, 0.3, 0.2, 0.1)))
DENSITY = 1000.0


def solid(kind: str, size: tuple[float, ...], friction: float = 5.0, name: str = "e") -> Body:
    shape = Geometry(kind, size, name=name, friction=friction)
    return Body.of_shape(shape, DENSITY, collides=True)


def egg(friction: float = 5.0) -> Body:
    return solid("ellipsoid", tuple(HALF), friction)


def arm_of(R: np.ndarray) -> np.ndarray:
    """From the centre to the lowest point."""
    axes = HALF[:, None] * R.T
    return -axes.T @ axes[:, 2] / np.linalg.norm(axes[:, 2])


def rolled(q: np.ndarray, w: np.ndarray, seconds: float) -> np.ndarray:
    """Orientation (4,) and position (3,) after rolling without slip from over the origin."""
    body = egg()
    m, J, up = body.mass, np.asarray(body.inertia), np.array((0.0, 0.0, 1.0))

    def rates(_, y):
        w, R = y[7:], quaternions.rotation_matrix(y[:4] / np.linalg.norm(y[:4]))
        M, r = R @ np.diag(HALF**2) @ R.T, arm_of(R)
        bend = (M - np.outer(r, r)) / np.sqrt(up @ M @ up)
        r_rate = np.cross(w, r) + bend @ np.cross(w, up)
        S = np.cross(np.eye(3), r)  # r x is -S
        turned = R @ J @ R.T
        force = m * (G * up - np.cross(w, r_rate))
        w_rate = np.linalg.solve(turned + m * S @ S.T, np.cross(r, force) - np.cross(w, turned @ w))
        q_rate = 0.5 * quaternions.multiply(np.append(0.0, w), y[:4])
        return np.concatenate((q_rate, -np.cross(w, r), w_rate))

    x = np.array((0.0, 0.0, -arm_of(quaternions.rotation_matrix(q))[2]))
    start = np.concatenate((q, x, w))
    found = solve_ivp(rates, (0, seconds), start, rtol=1e-12, atol=1e-13)
    return found.y[:7, -1]


@pytest.mark.parametrize("ground", ["contact points", "half-space", "box"])
def test_an_ellipsoid_rolls_as_a_reference_integration_says(ground):
    body, spin = egg(), np.array((1.0, 2.0, 3.0))
    scene = {
        "contact points": {"contacts": contacts_of((body,), {"e": 5.0})},
        "half-space": {"obstacles": [HalfSpace(friction=5.0)]},
        "box": {"obstacles": [Geometry("box", (4, 4, 1), position=(0, 0, -0.5), friction=5.0)]},
    }[ground]
    expected = rolled(START, spin, 0.4)
    R = quaternions.rotation_matrix(START)
    arm = arm_of(R)
    errors = []
    for dt in (4e-3, 2e-3):
        sim = Simulation(free(body, **scene), dt)
        sim.set_state([0, 0, -arm[2], *START], [*-np.cross(spin, arm), *(R.T @ spin)])
        energy = sim.energy()
        for _ in range(round(0.4 / dt)):
            assert sim.step().gap > -1e-9
            assert sim.energy() == pytest.approx(energy, rel=20 * dt**2)
        errors.append(np.abs(sim.q[:3] - expected[4:]).max())
    assert errors[1] < 3e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.2)


def test_an_ellipsoid_rocks_without_friction_and_keeps_its_energy():
    """Its centre only falls and rises; errors of its energy are of second order, with no drift."""
    swings = []
    for dt in (4e-3, 2e-3):
        sim = Simulation(free(egg(0.0), obstacles=[HalfSpace(friction=0.0)]), dt)
        start = quaternions.normalized(np.array((0.8, 0.5, 0.2, 0.1)))
        height = -arm_of(quaternions.rotation_matrix(start))[2]
        sim.set_state([0, 0, height, *start], np.zeros(6))
        energies = [sim.energy()]
        for _ in range(round(4.0 / dt)):
            assert sim.step().gap > -1e-9
            energies.append(sim.energy())
        np.testing.assert_allclose(sim.q[:2], 0, atol=1e-9)
        off = np.abs(np.array(energies) - energies[0])
        swings.append(off.max())
        half = len(off) // 2
        assert off[half:].max() < 1.5 * off[:half].max()
    assert swings[0] / swings[1] == pytest.approx(4.0, rel=0.25)


LYING = quaternions.from_axis_angle((1.0, 0.0, 0.0), np.pi / 2)
BELOW = {
    "ellipsoid": ((0.5, 0.4, 0.3), quaternions.IDENTITY),
    "sphere": ((0.4,), quaternions.IDENTITY),
    "capsule": ((0.3, 1.0), LYING),
    "cylinder": ((0.3, 1.0), LYING),
    "box": ((1.0, 1.0, 0.4), quaternions.IDENTITY),
}


def put_on(sim: Simulation, before: list[float]) -> None:
    """Let the last body of `sim` touch what is below it, by Newton's method on the gap."""
    z = 0.8

    def gap(z: float) -> float:
        sim.set_state([*before, 0.05, 0.03, z, *START], np.zeros(sim.robot.nv))
        return sim.min_gap(10.0)

    for _ in range(50):
        z -= gap(z) / ((gap(z + 1e-6) - gap(z - 1e-6)) / 2e-6)
    assert abs(gap(z)) < 1e-12


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("kind", BELOW)
def test_what_an_ellipsoid_rolls_on_may_be_of_any_shape(kind, moves):
    """Motions converge with the square of the timestep, as both arms count with their means."""
    size, turn = BELOW[kind]
    ends, swings = [], []
    for dt in (4e-3, 2e-3, 1e-3):
        if moves:
            # It floats where it is until it is touched.
            other = replace(solid(kind, size, name="below"), gravity_compensation=1.0)
            scene = free(other, egg(), contact_pairs=[("below", "e")])
        else:
            scene = free(egg(), obstacles=[Geometry(kind, size, quaternion=turn, friction=5.0)])
        sim = Simulation(scene, dt)
        put_on(sim, [0, 0, 0, *turn] if moves else [])
        if moves:
            sim.set_state(sim.q, [0, 0, 0, 0.3, 0.2, 0.1, *np.zeros(6)])
        energies = []
        for _ in range(round(0.24 / dt)):
            assert sim.step().gap > -1e-9
            energies.append(sim.energy())
        ends.append(sim.q)
        # Of what comes after the first step, in which the one that turns hits the other.
        swings.append(np.ptp(energies[round(0.04 / dt) :]) / energies[0])
    coarse, fine = (np.abs(ends[k] - ends[k + 1]).max() for k in (0, 1))
    assert coarse / fine == pytest.approx(4.0, abs=0.2)
    assert fine < 1e-5
    assert swings[2] < 2e-6
