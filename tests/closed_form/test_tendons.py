"""Tendons against equations of motion on paper, and what they have to keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Body, Coupling, Joint, Mechanism, Simulation, Tendon
from robosim.cli.tables import robot_dictionary, robot_tables
from robosim.dynamics import Kinematics
from robosim.errors import ModelError, OptionError
from robosim.tendons import Point, Pulley, Term, Wrap

G = 9.81
NO_GRAVITY = (0.0, 0.0, 0.0)


def slider(name: str, mass: float, axis: tuple[float, float, float]) -> tuple[Body, Joint]:
    joint = Joint(f"{name}_slide", "prismatic", None, name, axis=axis)
    return Body(name, mass, 0.1 * np.eye(3)), joint


def sliders(*masses: float, axis: tuple[float, float, float] = (0, 0, 1), **more) -> Mechanism:
    parts = [slider("abc"[k], mass, axis) for k, mass in enumerate(masses)]
    return Mechanism("sliders", *(tuple(p) for p in zip(*parts, strict=True)), **more)


def arm(**more) -> Mechanism:
    """Three links on hinges that are not parallel."""
    bodies = [Body(f"b{k}", 1.0 + k, np.diag((0.02, 0.05, 0.06))) for k in range(3)]
    joints = [
        Joint(
            f"j{k}",
            "revolute",
            f"b{k - 1}" if k else None,
            f"b{k}",
            axis=((0, 1, 0), (1, 0, 0), (0, 1, 1))[k],
            parent_position=(0.25, 0, 0) if k else (0, 0, 1),
            child_position=(-0.25, 0, 0),
        )
        for k in range(3)
    ]
    return Mechanism("arm", tuple(bodies), tuple(joints), **more)


def arm_tendons(damping: float = 0.0) -> tuple[Tendon, ...]:
    ball = Wrap("sphere", "b0", 0.08, (0.25, 0, 0))
    pin = Wrap("cylinder", "b1", 0.05, (0.2, 0, 0), (0.6, 0.8, 0, 0), Point("b2", (0, 0, 0.3)))
    path = (Point(None, (0, 0.3, 1.4)), Point("b0", (0, 0, 0.1)), ball, Point("b1", (0, 0, 0.1)))
    split = (Pulley(2), Point("b1", (0, 0, 0.1)), pin, Point("b2", (0, 0.1, 0.1)))
    terms = (Term("j0", 0.5), Term("j1", -1.0), Term("j2", 2.0))
    return (
        Tendon("over", (*path, *split), stiffness=300, rest_length=0.7, damping=damping),
        Tendon("sum", terms, stiffness=20, rest_length=(-0.1, 0.2), damping=damping, armature=0.1),
    )


def test_a_rope_over_two_pulleys_is_an_atwood_machine():
    """Limited in length, it has the tension that keeps it so; pushed together, it is slack."""
    robot = sliders(2.0, 3.0)
    path = (Point("a"), Point(None, (0, 0, 2)), Pulley(2), Point(None, (0, 0, 2)), Point("b"))
    robot = replace(robot, tendons=(Tendon("rope", path, upper=3.0),))
    sim = Simulation(robot, 1e-3)
    sim.run(0.5)
    # The second part counts half: a goes down as much as b would rise by half of its way.
    tension = G * 3 / (1 / 2 + 1 / 4 / 3) / 2
    a, b = -G + tension / 2, -G + tension / 2 / 3
    assert a + b / 2 == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(sim.v, (0.5 * a, 0.5 * b), rtol=1e-8)
    np.testing.assert_allclose(sim.q, (a / 8, b / 8), rtol=1e-8)
    assert sim.state.joint_q[-1] == pytest.approx(3.0, abs=1e-9)
    assert sim.limit_forces().shape == (2,)
    up = Simulation(robot, 1e-3)
    up.set_state(v=(1.0, 1.0))
    up.run(0.1)
    # A slack rope of this length is near enough to its limit for the barrier to be felt.
    np.testing.assert_allclose(up.v, 1.0 - G * 0.1, rtol=0, atol=1e-9)


def test_a_fixed_tendon_limits_a_sum_in_both_directions():
    tendon = Tendon("sum", (Term("a_slide", 2.0), Term("b_slide", -1.0)), lower=-0.5, upper=0.25)
    robot = replace(sliders(1.0, 2.0, axis=(1, 0, 0)), tendons=(tendon,))
    for push, bound in ((1.0, 0.25), (-1.0, -0.5)):
        sim = Simulation(robot, 1e-2)
        sim.run(3.0, lambda _, push=push: np.array((push, 0.0)))
        length = 2 * sim.q[0] - sim.q[1]
        assert length == pytest.approx(bound, abs=1e-8)
        # Held together, both move as one: 2 v_a = v_b, with the inertia 1 + 4 * 2 at a.
        assert 2 * sim.v[0] == pytest.approx(sim.v[1], abs=1e-8)


def test_armature_is_inertia_of_the_length():
    tendon = Tendon("sum", (Term("a_slide"), Term("b_slide", -2.0)), armature=0.5)
    robot = replace(sliders(1.0, 3.0, axis=(1, 0, 0)), tendons=(tendon,))
    row = np.array((1.0, -2.0))
    M = np.diag((1.0, 3.0)) + 0.5 * np.outer(row, row)
    sim = Simulation(robot, 1e-2)
    sim.run(1.0, lambda _: np.array((1.0, 0.4)))
    np.testing.assert_allclose(sim.v, np.linalg.solve(M, (1.0, 0.4)), rtol=1e-9)
    assert sim.energy() == pytest.approx(0.5 * sim.v @ M @ sim.v, rel=1e-12)


def test_dry_friction_holds_and_then_gives_way():
    tendon = Tendon("sum", (Term("a_slide"), Term("b_slide")), friction=1.5)
    robot = replace(sliders(1.0, 1.0, axis=(1, 0, 0)), tendons=(tendon,))
    held = Simulation(robot, 1e-2)
    held.run(1.0, lambda _: np.array((1.4, 1.4)))
    np.testing.assert_allclose(held.q, 0.0, atol=1e-8)
    slides = Simulation(robot, 1e-2)
    slides.run(1.0, lambda _: np.array((2.0, 2.0)))
    np.testing.assert_allclose(slides.v, 0.5, rtol=1e-6)


def test_a_spring_is_slack_between_its_two_rest_lengths():
    tendon = Tendon("band", (Term("a_slide"),), stiffness=9.0, rest_length=(-0.5, 0.5))
    robot = replace(sliders(1.0, axis=(1, 0, 0)), tendons=(tendon,))
    errors = []
    for dt in (2e-2, 1e-2):
        sim = Simulation(robot, dt, gravity=NO_GRAVITY)
        sim.set_state(v=(1.5,))
        # Free to 0.5 and back, half a period of 2 pi / 3 in between; then out on the other side.
        sim.run(0.5 / 1.5 + np.pi / 3 + 0.4)
        errors.append(abs(sim.q[0] - (0.5 - 1.5 * (sim.time - 0.5 / 1.5 - np.pi / 3))))
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 2
    # A step over an end of the range does not see the whole of it: second order.
    assert sim.energy() == pytest.approx(0.5 * 1.5**2, rel=3e-4)


def test_lengths_change_as_their_derivatives_say():
    robot = arm(tendons=arm_tendons())
    kinematics, rng, wrapped = Kinematics(robot), np.random.default_rng(2), 0
    for _ in range(60):
        q, h = rng.normal(size=3), 1e-6
        kinematics.move_to(q)
        J = kinematics.tendon_jacobian()
        for k, unit in enumerate(np.eye(3)):
            ends = []
            for sign in (1, -1):
                kinematics.move_to(q + sign * h * unit)
                ends.append(kinematics.tendon_lengths())
            np.testing.assert_allclose(J[:, k], (ends[0] - ends[1]) / (2 * h), atol=2e-8)
        kinematics.move_to(q)
        start = kinematics.x[0] + kinematics.R[0] @ (0, 0, 0.1)
        end = kinematics.x[1] + kinematics.R[1] @ (0, 0, 0.1)
        bent = replace(robot, tendons=(Tendon("t", robot.tendons[0].path[1:4]),))
        (length,) = Kinematics(bent, q).tendon_lengths()
        wrapped += length > np.linalg.norm(end - start) + 1e-9
    assert 5 < wrapped < 60


def test_energy_is_kept_over_long_times():
    robot = arm(tendons=arm_tendons()[:1])
    robot = replace(robot, tendons=(replace(robot.tendons[0], path=robot.tendons[0].path[:4]),
                                    replace(arm_tendons()[1], rest_length=0.1)))  # fmt: skip
    drifts = []
    for dt in (4e-3, 2e-3):
        sim = Simulation(robot, dt)
        sim.set_state((0.3, 0.2, -0.4))
        start = sim.energy()
        energies = []
        for _ in range(round(20.0 / dt)):
            sim.step()
            energies.append(sim.energy() - start)
        early, late = np.array_split(np.abs(energies), 2)
        assert late.max() < 1.5 * early.max()
        drifts.append(np.abs(energies).max())
    assert drifts[1] < 0.35 * drifts[0]


def test_dampers_take_energy():
    sim = Simulation(arm(tendons=arm_tendons(damping=2.0)), 2e-3)
    sim.set_state((0.3, 0.2, -0.4))
    before = sim.energy()
    for _ in range(20):
        sim.run(0.1)
        assert sim.energy() < before + 1e-3
        before = sim.energy()


def test_momentum_is_conserved_to_rounding():
    bodies = tuple(Body(name, 1.0, np.diag((0.1, 0.2, 0.25))) for name in "ab")
    joints = tuple(Joint(f"free_{name}", "floating", None, name) for name in "ab")
    ball = Wrap("sphere", "b", 0.2)
    path = (Point("a", (0.1, 0, 0.2)), ball, Point("b", (0.3, 0.05, 0)))
    robot = Mechanism(
        "pair", bodies, joints, tendons=(Tendon("t", path, stiffness=50.0, upper=1.5),)
    )
    sim = Simulation(robot, 5e-3, gravity=NO_GRAVITY)
    q = robot.neutral()
    q[:3] = (-1.0, 0.1, 0.2)
    sim.set_state(q, np.random.default_rng(0).normal(size=12))
    before = np.concatenate(sim.momentum())
    sim.run(2.0)
    np.testing.assert_allclose(np.concatenate(sim.momentum()), before, rtol=0, atol=1e-12)


def test_what_is_no_tendon_is_refused():
    robot = sliders(1.0)
    for path, told in (
        ((), "its path must be"),
        ((Point("a"),), "its path must be"),
        ((Point("a"), Wrap("sphere", "a", 0.1)), "its path must be"),
        ((Point("a"), Term("a_slide")), "its path must be"),
        ((Point(None), Point(None)), "moves with no body"),
        ((Term("a_slide", 0.0),), "moves with no body"),
        ((Point("a"), Point(None), Pulley(0.0), Point("a"), Point(None)), "divisor"),
    ):
        with pytest.raises(ModelError, match=told):
            Tendon("t", path)
    with pytest.raises(ModelError, match="stiffness must be zero or more"):
        Tendon("t", (Term("a_slide"),), stiffness=-1.0)
    with pytest.raises(ModelError, match="from a lower to a higher"):
        Tendon("t", (Term("a_slide"),), lower=1.0, upper=0.0)
    with pytest.raises(ModelError, match="radius must be positive"):
        Wrap("sphere", "a", 0.0)
    with pytest.raises(ModelError, match="nothing to wrap around"):
        Wrap("box", "a", 0.1)
    for path, told in (
        ((Term("x"),), "coordinate 'x' does not exist"),
        ((Point("x"), Point(None)), "body 'x' does not exist"),
    ):
        with pytest.raises(ModelError, match=told):
            replace(robot, tendons=(Tendon("t", path),))
    with pytest.raises(ModelError, match="used twice"):
        replace(robot, tendons=(Tendon("a_slide", (Term("a_slide"),)),))
    tied = replace(robot, tendons=(Tendon("t", (Term("a_slide"),)),))
    with pytest.raises(OptionError, match="tendons"):
        Simulation(tied, solver="articulated")


def test_information_about_a_robot_has_its_tendons():
    robot = arm(tendons=arm_tendons())
    over, summed = robot_dictionary(robot)["tendons"]
    assert over["bodies"] == [None, "b0", "b1", "b2"]
    assert (over["coordinates"], over["upper"]) == ([], None)
    assert (summed["coordinates"], summed["rest_length"]) == (["j0", "j1", "j2"], [-0.1, 0.2])
    table = robot_tables(robot)[-1]
    assert [list(column.cells) for column in table.columns][1] == [
        "the world, b0, b1, b2",
        "j0, j1, j2",
    ]


def test_a_held_sum_of_two_coordinates_is_a_gear():
    """The same constraint by another way through the solver: the same motion."""
    runs = []
    for more in (
        {"couplings": (Coupling("gear", "j2", "j0", -0.5, 0.3),)},
        {"tendons": (Tendon("gear", (Term("j2", 2.0), Term("j0")), lower=0.6, upper=0.6),)},
    ):
        sim = Simulation(arm(**more), 1e-3)
        sim.set_state((0.2, 0.1, 0.2), (1.0, -2.0, -0.5))
        sim.run(0.3)
        runs.append((sim.q, sim.v))
    np.testing.assert_allclose(runs[1], runs[0], rtol=0, atol=1e-9)
    assert runs[0][0][2] == pytest.approx(0.3 - 0.5 * runs[0][0][0], abs=1e-10)


def test_a_held_sum_of_three_coordinates():
    """Accelerations of the equations of motion with the constraint; it is kept to rounding."""
    row = np.array((1.0, -2.0, 0.5))
    terms = tuple(Term(f"j{k}", factor) for k, factor in enumerate(row))
    robot = arm(tendons=(Tendon("sum", terms, lower=0.1, upper=0.1),))
    q, dt = np.array((0.3, 0.2, 0.4)), 1e-4
    sim = Simulation(robot, dt)
    sim.set_state(q)
    sim.step()
    kinematics = Kinematics(robot, q)
    mass = kinematics.mass_matrix()
    gravity = np.linalg.solve(mass, -kinematics.bias_forces(np.zeros(3)))
    across = np.linalg.solve(mass, row)
    expected = gravity - across * (row @ gravity) / (row @ across)
    assert np.abs(gravity - expected).max() > 0.1
    np.testing.assert_allclose(sim.v / dt, expected, rtol=0, atol=1e-3)
    sim.run(0.5)
    assert row @ sim.q == pytest.approx(0.1, abs=1e-10)
    assert row @ sim.v == pytest.approx(0.0, abs=1e-9)


def test_a_held_rope_is_a_conical_pendulum():
    """Tied to the centre of mass it turns nothing: the body goes around and keeps its attitude."""
    length, tilt, dt = 1.2, 0.7, 1e-3
    body, joint = Body("ball", 2.0, 0.1 * np.eye(3)), Joint("free", "floating", None, "ball")
    rope = Tendon("rope", (Point(None, (0, 0, 3)), Point("ball")), lower=length, upper=length)
    sim = Simulation(Mechanism("cone", (body,), (joint,), tendons=(rope,)), dt)
    rate = np.sqrt(G / (length * np.cos(tilt)))
    radius, low = length * np.sin(tilt), 3 - length * np.cos(tilt)
    sim.set_state((radius, 0, low, 1, 0, 0, 0), (0, rate * radius, 0, 0, 0, 0))
    sim.run(1.0)
    place = (radius * np.cos(rate), radius * np.sin(rate), low)
    np.testing.assert_allclose(sim.q[:3], place, rtol=0, atol=5e-6)
    np.testing.assert_allclose(sim.q[3:], (1, 0, 0, 0), rtol=0, atol=1e-7)  # the tolerance, summed
    assert sim.state.joint_q[-1] == pytest.approx(length, abs=1e-12)


def test_a_path_that_counts_backwards():
    """Held, it lets two parts change alike: two sliders on it rise and fall as one."""
    path = (Point("a"), Point(None, (0, 0, 9)), Pulley(-1.0), Point(None, (0, 0, 9)), Point("b"))
    robot = sliders(2.0, 3.0, tendons=(Tendon("alike", path, lower=0.0, upper=0.0),))
    sim = Simulation(robot, 1e-3)
    sim.run(0.2, controller=lambda sim: (50.0, 0.0))
    np.testing.assert_allclose(sim.v, 0.2 * (10 - G), rtol=1e-9)
