"""Joints as charts in both solvers: the same motion as by other joints, and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robosim import Body, Joint, Mechanism, Potential, Simulation, quaternions, se3
from robosim.joints import (
    Composite,
    Euler,
    ExponentialBall,
    Hinge,
    Slide,
    SplineCurve,
    SplineSurface,
)
from robosim.validation import Array

EXACT = {"timestep": 1e-3, "tolerance": 1e-12}
HOLD = (0.1, -0.2, 0.5)
INERTIA = np.diag([0.01, 0.02, 0.015])
SOLVERS = ("articulated", "ldu")


def of_one(**joint: Any) -> Mechanism:
    body = Body("b", 1.3, INERTIA)
    return Mechanism("one", [body], [Joint("j", parent=None, child="b", **joint)])


def after(
    robot: Mechanism, q: Any, v: Any, solver: str, seconds: float = 2.0, **options: Any
) -> Any:
    """A simulation of the robot, so many seconds after a start."""
    sim = Simulation(robot, solver=solver, **(EXACT | options))
    sim.set_state(q, v)
    sim.run(seconds)
    return sim


def frames(twists: list[Array]) -> Array:
    found = [se3.exp(twist) for twist in twists]
    return np.array([[*E[:3, 3], *quaternions.from_matrix(E[:3, :3])] for E in found])


def poses(sim: Any) -> Array:
    return np.hstack((sim.state.x, quaternions.rotation_matrix(sim.state.q).reshape(-1, 9)))


def at(chart: Any, R: Array, omega: Array) -> tuple[Array, Array]:
    """Coordinates and rates of a chart of three turns at a rotation and its velocity."""
    q = np.array([0.3, 0.2, 0.4])
    for _ in range(30):
        left = se3.log(se3.inverse(chart.pose(q)) @ se3.transformation(R, np.zeros(3)))
        q = q + np.linalg.solve(chart.columns(q)[3:], left[3:])
    return q, np.linalg.solve(chart.columns(q)[3:], omega)


@pytest.mark.parametrize("solver", SOLVERS)
def test_all_charts_of_rotations_move_alike(solver: str) -> None:
    R, omega = se3.exp([0, 0, 0, 0.4, -0.3, 0.5])[:3, :3], np.array([0.8, -0.5, 0.3])
    robot = of_one(kind="spherical", child_position=HOLD)
    other = after(robot, quaternions.from_matrix(R), omega, solver)
    for chart in (Euler("xyz"), Euler("xzx"), ExponentialBall()):
        robot = of_one(kind="composite", chart=chart, child_position=HOLD)
        sim = after(robot, *at(chart, R, omega), solver)
        np.testing.assert_allclose(poses(sim), poses(other), atol=1e-9)
        assert sim.energy() == pytest.approx(other.energy(), abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rotation_vector_is_exchanged_as_it_grows(solver: str) -> None:
    omega = np.array([9.0, -5.0, 3.0])
    robot = of_one(kind="spherical", child_position=HOLD)
    other = after(robot, (1, 0, 0, 0), omega, solver)
    robot = of_one(kind="composite", chart=ExponentialBall(), child_position=HOLD)
    sim = after(robot, np.zeros(3), omega, solver)
    np.testing.assert_allclose(poses(sim), poses(other), atol=1e-9)
    assert np.linalg.norm(sim.q) <= 1.5 * np.pi + 0.1
    # It has gone round more than once: without another chart |q| would have come to 2 pi.
    lengths = [np.linalg.norm(after(robot, np.zeros(3), omega, solver, t).q) for t in (0.4, 0.6)]
    assert max(lengths) < 1.5 * np.pi + 0.1


@pytest.mark.parametrize("solver", SOLVERS)
def test_planar_joints_and_two_slides_with_a_hinge_move_alike(solver: str) -> None:
    place = {"axis": (0, 0, 1), "child_position": (0.1, 0.2, 0.05)}
    planar = of_one(kind="planar", **place)
    (x, y), _ = np.asarray(planar.joints[0].C_T).T, None
    chart = Composite(Slide(x), Slide(y), Hinge((0, 0, 1)))
    robot = of_one(kind="composite", chart=chart, child_position=place["child_position"])
    q, v = (0.1, 0.2, 0.3), (0.3, -0.2, 1.5)
    np.testing.assert_allclose(
        poses(after(robot, q, v, solver)), poses(after(planar, q, v, solver)), atol=1e-9
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_universal_joint_keeps_its_energy_to_the_end(solver: str) -> None:
    robot = of_one(kind="universal", child_position=HOLD)
    sim = Simulation(robot, solver=solver, **EXACT)
    sim.set_state((0.5, 0.3), (1.2, -0.4))
    energies = []
    for _ in range(500):
        sim.run(0.01)
        energies.append(sim.energy())
    assert np.ptp(energies) < 1e-4
    assert abs(np.mean(energies[:100]) - np.mean(energies[-100:])) < 1e-5
    assert sim.constraint_violation() < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_screw_falls_as_its_lead_lets_it(solver: str) -> None:
    """(I + m p^2) a = m g p, along the axis and about it [Goldstein]."""
    pitch, m = 0.3, 1.3
    robot = of_one(kind="screw", axis=(0, 0, 1), pitch=pitch)
    sim = after(robot, (0.0,), (0.2,), solver, 0.1, order=4)
    a = -m * 9.81 * pitch / (INERTIA[2, 2] + m * pitch**2)
    assert sim.q[0] == pytest.approx(0.02 + 0.005 * a, abs=1e-9)
    assert sim.state.x[0, 2] == pytest.approx(pitch * sim.q[0], abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_splines_of_even_controls_are_hinges_screws_and_planes(solver: str) -> None:
    turn = np.array([0, 0, 0, 0, 0.9, 0])
    place = {"child_position": HOLD}
    hinge = after(of_one(kind="revolute", axis=(0, 1, 0), **place), (1.8,), (0.9 * 0.3,), solver)
    curve = SplineCurve(frames([i * turn for i in range(8)]), periodic=True)
    # Seven ways of 0.9 rad are no whole turn: the curve is cut before its end.
    curve = SplineCurve(frames([(i - 6) * turn for i in range(13)]))
    sim = after(of_one(kind="spline", chart=curve, **place), (7.0,), (0.3,), solver)
    np.testing.assert_allclose(poses(sim), poses(hinge), atol=1e-9)
    assert 0.9 * (sim.q[0] - 5.0) == pytest.approx(hinge.q[0], abs=1e-9)
    screw = after(of_one(kind="screw", axis=(0, 1, 0), pitch=0.2, **place), (1.8,), (0.27,), solver)
    lead = turn + np.array([0, 0.9 * 0.2, 0, 0, 0, 0])
    curve = SplineCurve(frames([(i - 6) * lead for i in range(13)]))
    sim = after(of_one(kind="spline", chart=curve, **place), (7.0,), (0.3,), solver)
    np.testing.assert_allclose(poses(sim), poses(screw), atol=1e-9)
    controls = np.zeros((14, 14, 6))
    controls[..., 0], controls[..., 2] = np.meshgrid(range(14), range(14), indexing="ij")
    plane = Composite(Slide((1, 0, 0)), Slide((0, 0, 1)))
    other = after(of_one(kind="composite", chart=plane), (4.0, 9.0), (0.5, 1.0), solver, 1.0)
    surface = SplineSurface(controls)
    # Coordinates of some metres are rounded by 1e-15 of these, which is 1e-12 over the timestep.
    loose = {"tolerance": 1e-11}
    sim = after(of_one(kind="spline", chart=surface), (3.0, 8.0), (0.5, 1.0), solver, 1.0, **loose)
    np.testing.assert_allclose(poses(sim), poses(other), atol=1e-9)


def many() -> Mechanism:
    """A chain of joints of all kinds, with springs, dampers, rotors, limits and a potential."""
    rng = np.random.default_rng(3)
    curve = SplineCurve(frames([0.4 * rng.normal(size=6) for _ in range(8)]))
    well = Potential(np.linspace(-4, 4, 9), 0.2 * np.linspace(-4, 4, 9) ** 2)
    bodies = [Body(name, 1.0, INERTIA) for name in "abcde"]
    place = {"parent_position": (0, 0, -0.2), "child_position": (0.03, 0, 0.2)}
    arms = Composite(Hinge((1, 0, 0)), Slide((0, 0, 1)))
    return Mechanism(
        "many",
        bodies,
        [
            Joint("a", "universal", None, "a", child_position=(0, 0, 0.3), potential=(well, None)),
            Joint("b", "spline", "a", "b", chart=curve, damping=0.05, **place),
            Joint("c", "screw", "b", "c", pitch=0.1, axis=(1, 0, 1), armature=0.02, **place),
            Joint("d", "composite", "c", "d", chart=arms, stiffness=(0.5, 80.0), lower=(-0.3, -1.0),
                  upper=(0.3, 1.0), friction=(0.0, 0.4), **place),
            Joint("e", "composite", "a", "e", chart=ExponentialBall(), **place),
        ],
    )  # fmt: skip


def test_both_solvers_take_the_same_steps() -> None:
    robot = many()
    q = np.array([0.3, 0.2, 2.0, 0.4, 0.1, 0.05, 0.2, -0.3, 0.4])
    v = np.array([0.5, -0.4, 0.3, 1.0, -2.0, 0.4, 1.0, 2.0, -0.5])
    sims = [after(robot, q, v, solver, 0.5, tolerance=1e-11) for solver in SOLVERS]
    np.testing.assert_allclose(sims[0].q, sims[1].q, atol=1e-9)
    np.testing.assert_allclose(sims[0].v, sims[1].v, atol=1e-7)
    assert sims[0].constraint_violation() < 1e-12
    # It has come to its limit on the way.
    assert np.max(np.abs(sims[0].q[5])) <= 0.3 + 1e-9


def test_a_copy_and_a_restored_one_go_on_alike() -> None:
    sim = after(many(), None, np.linspace(-1, 1, 9), "articulated", 0.1)
    other = sim.copy()
    sim.run(0.1)
    other.run(0.1)
    np.testing.assert_array_equal(sim.q, other.q)


@pytest.mark.parametrize("solver", SOLVERS)
def test_forces_along_coordinates_do_their_work(solver: str) -> None:
    """Torques on a chart give the acceleration of `Dynamics`, to the order of the scheme."""
    robot = of_one(kind="universal", child_position=HOLD)
    q, tau = np.array([0.5, 0.7]), np.array([1.5, -2.0])
    errors = []
    for dt in (1e-3, 5e-4):
        sim = Simulation(robot, solver=solver, timestep=dt, tolerance=1e-12)
        sim.set_state(q, (0.3, -0.2))
        sim.step(tau)
        expected = sim.dynamics.forward_acceleration(q, np.array([0.3, -0.2]), tau)
        errors.append(np.abs((sim.q - q - dt * np.array([0.3, -0.2])) / (dt**2 / 2) - expected))
    assert np.all(errors[1] < 0.6 * errors[0] + 1e-6)
    assert np.all(errors[1] < 0.05)


@pytest.mark.parametrize("solver", ["ldu", pytest.param("articulated", marks=pytest.mark.slow)])
def test_a_chart_may_close_a_loop(solver: str) -> None:
    """The last joint of a four-bar leaves all turns free, by a quaternion or by three angles."""
    inertia = 0.02 * np.eye(3)

    def four_bar(last: dict[str, Any]) -> Mechanism:
        bodies = [Body(name, 1.0, inertia) for name in "abc"]
        up, half = (0.0, 0.0, -0.25), {"axis": (0, 1, 0)}
        joints = [
            Joint("j1", "revolute", None, "a", child_position=up, **half),
            Joint("j2", "revolute", "a", "b", parent_position=(0, 0, 0.25),
                  child_position=(-0.4, 0, 0), **half),
            Joint("j3", "revolute", None, "c", parent_position=(0.8, 0, 0), child_position=up,
                  **half),
            Joint("j4", parent="b", child="c", parent_position=(0.4, 0, 0),
                  child_position=(0, 0, 0.25), actuated=False, **last),
        ]  # fmt: skip
        return Mechanism("four_bar", bodies, joints)

    plain = four_bar({"kind": "spherical"})
    charted = four_bar({"kind": "composite", "chart": Composite(Euler("yxz"))})
    sims = []
    for robot in (plain, charted):
        sim = Simulation(robot, solver=solver, **EXACT)
        sim.run(0.5, lambda sim: np.array([1.0, 0.0, 0.0]))
        sims.append(sim)
    np.testing.assert_allclose(sims[1].state.x, sims[0].state.x, atol=1e-8)
