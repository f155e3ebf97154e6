"""Maps between motors and joints, against closed forms, `Simulation` and finite differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from parallel_mechanisms import CASES, SPRINGS, built, random_motors

import robosim
from robosim import Dynamics, Joint, Mechanism, ModelError, OptionError, Simulation, StateError
from robosim.models import builders
from robosim.parallel import Transmission


def with_motions(robot: Mechanism, rates: dict[str, float]) -> Mechanism:
    """The robot with joints that turn or slide at given rates from zero."""

    def changed(joint: Joint) -> Joint:
        if joint.name not in rates:
            return joint
        rate = rates[joint.name]
        return replace(joint, motion=lambda t: rate * t, actuated=False, lower=None, upper=None)

    return replace(robot, joints=tuple(changed(joint) for joint in robot.joints))


def held(robot: Mechanism, of: Transmission) -> Mechanism:
    """The robot with all other joints at rest that neither loops nor motors move."""
    return with_motions(robot, dict.fromkeys((*of.fixed, "hip"), 0.0))


def efforts(robot: Mechanism, of: Transmission, motors: np.ndarray) -> np.ndarray:
    """A torque vector (nu,) with torques of the motors (n,)."""
    tau = np.zeros(robot.nu)
    tau[[robot.actuated_names.index(name) for name in of.motors]] = motors
    return tau


def slide_of(angle: float) -> float:
    """The slider of `slider_crank` with a crank of 0.2 m and a rod of 0.5 m, hanging at zero."""
    x, z = -0.2 * np.sin(angle), -0.2 * np.cos(angle)
    return float(x + np.sqrt(0.25 - z**2))


def test_a_slider_crank_is_the_closed_form():
    of = Transmission(builders.slider_crank(), "slide")
    assert (of.motors, of.joints) == (("crank_joint",), ("slide",))
    angles = np.linspace(-2.9, -0.2, 12)[:, None]
    q = of.configuration(motors=angles)
    motors, joints = of.positions(q)
    np.testing.assert_allclose(motors, angles, atol=1e-14)
    np.testing.assert_allclose(joints[:, 0], [slide_of(a) for a in angles[:, 0]], atol=1e-14)
    x, z, root = (-0.2 * np.sin(angles[:, 0]), -0.2 * np.cos(angles[:, 0]), joints[:, 0])
    # d/da of x + sqrt(l^2 - z^2), with x' = z and z' = -x.
    np.testing.assert_allclose(of.jacobian(q)[:, 0, 0], z + z * x / (root - x), atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_motors_that_move_in_a_simulation_move_the_joints_there(name):
    robot, of = built(name)
    rates = 2.0 * random_motors(name, of)
    moved = with_motions(robot, {**dict.fromkeys((*of.fixed, "hip"), 0.0),
                                 **dict(zip(of.motors, rates.tolist(), strict=True))})  # fmt: skip
    sim = Simulation(moved, timestep=0.01)
    sim.set_state(of.home)
    for _ in range(3):
        sim.run(0.15)
        q = of.configuration(motors=rates * sim.time)
        there = of.positions(sim.q)[1]
        np.testing.assert_allclose(there, of.positions(q)[1], atol=1e-9)
        places = [robot.v_names.index(joint) for joint in of.joints]
        np.testing.assert_allclose(sim.v[places], of.joint_velocities(q, rates), atol=1e-9)
    assert np.abs(there - of.positions(of.home)[1]).max() > 1e-2


@pytest.mark.parametrize("name", CASES)
def test_motors_hold_the_weight_in_a_simulation(name):
    robot, of = built(name)
    q = of.configuration(motors=random_motors(name, of, 1))
    robot = held(robot, of)
    tau = of.motor_torques(q, of.gravity(q))
    assert np.abs(tau).max() > 0.05
    for factor, still in ((1.0, True), (0.9, False)):
        sim = Simulation(robot, timestep=1e-3)
        sim.set_state(q)
        sim.run(0.01, lambda _, f=factor: efforts(robot, of, f * tau))
        assert (np.abs(sim.v).max() < 1e-9) == still
        assert (np.abs(sim.q - q).max() < 1e-9) == still


@pytest.mark.parametrize("name", CASES)
def test_torques_of_motors_accelerate_the_joints(name):
    """From rest, a step of h moves by a h^2 / 2, up to the square of h."""
    robot, of = built(name)
    q = of.configuration(motors=random_motors(name, of, 2))
    robot, push = held(robot, of), of.motor_torques(q, of.gravity(q))
    push += 0.1 * np.random.default_rng(3).normal(size=of.n) * np.abs(push).max()
    a = np.linalg.solve(of.mass_matrix(q), of.joint_torques(q, push) - of.gravity(q))
    tau = np.zeros(robot.nv)
    tau[[robot.v_names.index(motor) for motor in of.motors]] = push
    exact, _ = Dynamics(robot).constrained_acceleration(q, np.zeros(robot.nv), tau)
    places = [robot.v_names.index(joint) for joint in of.joints]
    np.testing.assert_allclose(a, exact[places], atol=1e-9 * np.abs(a).max())
    h = 1e-3
    sim = Simulation(robot, timestep=h)
    sim.set_state(q)
    sim.run(h, lambda _: efforts(robot, of, push))
    step = of.positions(sim.q)[1] - of.positions(q)[1]
    np.testing.assert_allclose(2 * step / h**2, a, atol=1e-5 * np.abs(a).max())


@pytest.mark.parametrize("name", CASES)
def test_both_ways_are_inverse_and_of_equal_power(name):
    _, of = built(name)
    rng = np.random.default_rng(4)
    motors = np.array([random_motors(name, of, seed) for seed in range(3)])
    q = of.configuration(motors=motors)
    joints = of.positions(q)[1]
    np.testing.assert_allclose(of.joints_at(motors), joints, atol=1e-13)
    np.testing.assert_allclose(of.motors_at(joints), motors, atol=1e-11)
    there = of.configuration(joints=joints)
    np.testing.assert_allclose(of.positions(there)[0], motors, atol=1e-11)
    rates, torques = rng.normal(size=(2, 3, of.n))
    moving = of.joint_velocities(q, rates)
    np.testing.assert_allclose(of.motor_velocities(q, moving), rates, atol=1e-11)
    pushed = of.joint_torques(q, torques)
    np.testing.assert_allclose(of.motor_torques(q, pushed), torques, atol=1e-11)
    powers = np.sum(pushed * moving, axis=1)
    np.testing.assert_allclose(powers, np.sum(torques * rates, axis=1), rtol=1e-9)
    # One row is the same as many.
    np.testing.assert_allclose(of.joint_velocities(q[1], rates[1]), moving[1], atol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_jacobians_are_finite_differences(name):
    _, of = built(name)
    m, h = random_motors(name, of, 5), 1e-5 * CASES[name][1]
    q = of.configuration(motors=m)
    columns = [
        (of.joints_at(m + h * e, near=q) - of.joints_at(m - h * e, near=q)) / (2 * h)
        for e in np.eye(of.n)
    ]
    J = of.jacobian(q)
    np.testing.assert_allclose(J, np.transpose(columns), atol=2e-9 * np.abs(J).max())
    y, d = of.positions(q)[1], 3e-6
    back = [
        (of.motors_at(y + d * e, near=q) - of.motors_at(y - d * e, near=q)) / (2 * d)
        for e in np.eye(of.n)
    ]
    K = of.inverse_jacobian(q)
    np.testing.assert_allclose(K, np.transpose(back), atol=1e-8 * np.abs(K).max())
    np.testing.assert_allclose(J @ K, np.eye(of.n), atol=1e-10)


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
@pytest.mark.parametrize("name", CASES)
def test_files_have_the_same_maps(name, suffix, tmp_path: Path):
    robot, of = built(name)
    robosim.save(robot, tmp_path / f"robot{suffix}")
    given = {**CASES[name][0], "joints": of.joints}
    read = Transmission(robosim.load(tmp_path / f"robot{suffix}"), motors=of.motors, **given)
    motors = random_motors(name, of, 6)
    np.testing.assert_allclose(read.joints_at(motors), of.joints_at(motors), atol=1e-9)
    np.testing.assert_allclose(read.mass_matrix(read.home), of.mass_matrix(of.home), atol=1e-9)


def test_a_floating_base_keeps_its_pose_and_changes_nothing():
    fixed, free = (built("two_rod_ankle", base=base)[1] for base in ("fixed", "floating"))
    turned = np.array(free.home)
    turned[:7] = (0.3, -0.2, 1.1, 0.5, 0.5, -0.5, 0.5)
    motors = random_motors("two_rod_ankle", fixed, 7)
    q = free.configuration(motors=motors, near=turned)
    np.testing.assert_array_equal(q[:7], turned[:7])
    np.testing.assert_allclose(free.positions(q)[1], fixed.joints_at(motors), atol=1e-12)
    there = fixed.configuration(motors=motors)
    np.testing.assert_allclose(free.jacobian(q), fixed.jacobian(there), atol=1e-12)
    np.testing.assert_allclose(free.mass_matrix(q), fixed.mass_matrix(there), atol=1e-12)


def test_rods_between_two_balls_turn_idly():
    """A rod that may spin about itself moves neither motors nor joints."""
    robot = builders.two_rod_ankle()
    balls = tuple(
        replace(joint, kind="spherical", chart=None, lower=None, upper=None)
        if joint.name.endswith("rod_joint")
        else joint
        for joint in robot.joints
    )
    free = Mechanism("balls", robot.bodies, balls)
    assert free.nv == robot.nv + 2
    of, same = Transmission(free, "ankle"), Transmission(robot, "ankle")
    motors = random_motors("two_rod_ankle", of, 8)
    q = of.configuration(motors=motors)
    np.testing.assert_allclose(of.positions(q)[1], same.joints_at(motors), atol=1e-12)
    there = same.configuration(motors=motors)
    np.testing.assert_allclose(of.jacobian(q), same.jacobian(there), atol=1e-11)


def test_joints_that_close_loops_are_motors_too():
    """A slider-crank whose loop is closed at its motor: the same map."""
    robot = builders.slider_crank()
    joints = {joint.name: joint for joint in robot.joints}
    pin = joints["rod_joint"]
    turned = replace(pin, parent="rod", child="crank", parent_position=pin.child_position,
                     child_position=pin.parent_position)  # fmt: skip
    order = joints["slide"], joints["loop"], turned, joints["crank_joint"]
    crank, rod, slide = np.asarray(robot.home)
    home = slide, crank + rod, -rod
    other = Mechanism("turned", robot.bodies, order, home=home)
    assert [joint.name for joint in other.loop_joints] == ["crank_joint"]
    of, plain = Transmission(other, "slide"), Transmission(robot, "slide")
    assert of.motors == ("crank_joint",)
    angles = np.linspace(-2.9, -0.2, 7)[:, None]
    np.testing.assert_allclose(of.joints_at(angles), plain.joints_at(angles), atol=1e-12)
    q, there = of.configuration(motors=angles), plain.configuration(motors=angles)
    np.testing.assert_allclose(of.jacobian(q), plain.jacobian(there), atol=1e-11)
    np.testing.assert_allclose(of.mass_matrix(q), plain.mass_matrix(there), atol=1e-9, rtol=1e-9)
    # Once around, angles are within half a turn.
    around = of.configuration(motors=[-2.0 - 2 * np.pi])
    np.testing.assert_allclose(of.positions(around)[0], -2.0, atol=1e-12)
    np.testing.assert_allclose(of.positions(around)[1], slide, atol=1e-12)


def test_scissors_with_many_loops_are_a_closed_form():
    """Four loops, of which each has redundant constraints: bars of 1 m at the same angle."""
    robot = builders.scissor_lift(3, angle=0.5)
    of = Transmission(robot, "cross3", "drive")
    feet = np.linspace(0.5, 0.97, 6)[:, None]
    there = of.joints_at(feet) - of.positions(of.home)[1]
    turned = np.abs(there[:, 0])
    np.testing.assert_allclose(turned, np.abs(2 * (np.arccos(feet[:, 0]) - 0.5)), atol=1e-12)


def test_only_what_loops_connect_moves():
    """Of two ankles in one world, each has its own maps; both together have those of both."""
    one = builders.two_rod_ankle()
    both = one.add(one, (0, 1, 0), prefix="right/")
    alone, right = Transmission(one, "ankle"), Transmission(both, "right/ankle")
    assert right.motors == ("right/left_motor", "right/right_motor")
    motors = np.array((0.3, -0.2))
    q = right.configuration(motors=motors)
    np.testing.assert_allclose(right.positions(q)[1], alone.joints_at(motors), atol=1e-12)
    assert np.count_nonzero(q) == np.count_nonzero(q[one.nq :]) > 0
    pair = Transmission(both, ("ankle", "right/ankle"))
    assert pair.n == 4
    together = pair.joints_at((*motors, *motors[::-1]))
    np.testing.assert_allclose(together[:2], alone.joints_at(motors), atol=1e-12)
    np.testing.assert_allclose(together[2:], alone.joints_at(motors[::-1]), atol=1e-12)


def test_measured_springs_are_motors_and_joints():
    """What Cassie's state estimation needs: the ankle from the knee and both springs."""
    robot = builders.spring_leg()
    of = Transmission(
        robot, ("ankle", "toe", *SPRINGS), ("knee", "toe_motor", *SPRINGS), length=1.0
    )
    stiff = built("spring_leg")[1]
    at_rest = of.joints_at((0.2, -0.1, 0.0, 0.0))
    np.testing.assert_allclose(at_rest[:2], stiff.joints_at((0.2, -0.1)), atol=1e-12)
    bent = of.joints_at((0.2, -0.1, 0.02, -0.03))
    np.testing.assert_allclose(bent[2:], (0.02, -0.03), atol=1e-13)
    assert abs(bent[0] - at_rest[0]) > 5e-3


def test_limits_of_motors_are_a_polytope_between_boxes():
    of = built("two_rod_ankle")[1]
    q = of.configuration(motors=(0.3, -0.1))
    for limits, to_motors, most in (
        (of.torque_limits(q), of.jacobian(q).T, 40.0),
        (of.velocity_limits(q), of.inverse_jacobian(q), 20.0),
    ):
        rng = np.random.default_rng(9)
        corners = [np.array((x, y)) for x in (-1, 1) for y in (-1, 1)]
        worst = [np.abs(to_motors @ (corner * limits.inner)).max() for corner in corners]
        assert max(worst) == pytest.approx(most, rel=1e-12)
        for k, unit in enumerate(np.eye(2)):
            alone = np.abs(to_motors @ (limits.alone[k] * unit)).max()
            assert alone == pytest.approx(most, rel=1e-12)
        inside = most * rng.uniform(-1, 1, size=(5000, 2))
        joints = inside @ np.linalg.inv(to_motors).T
        assert np.all(np.abs(joints) <= limits.outer * (1 + 1e-12))
        reached = np.abs(np.array(corners) * most @ np.linalg.inv(to_motors).T).max(axis=0)
        np.testing.assert_allclose(reached, limits.outer, rtol=1e-12)
        assert np.all(limits.inner <= limits.alone)
        assert np.all(limits.alone <= limits.outer)
    one = built("four_bar_knee")[1].torque_limits(np.zeros(3))
    np.testing.assert_allclose([one.alone, one.outer, one.inner], 120 * 0.06 / 0.05, rtol=1e-12)


def test_motors_without_limits_leave_joints_without():
    of = Transmission(builders.slider_crank(), "slide")
    for limits in (of.torque_limits(of.home), of.velocity_limits(of.home)):
        assert np.all(np.isinf(limits))


@pytest.mark.parametrize(
    ("joints", "motors", "said"),
    [
        ("ankel", None, "no joint or coordinate 'ankel'.*known: ankle_pitch"),
        ("ankle", "left_motor", "1 motors .* and 2 joints"),
        (("ankle_pitch", "ankle_pitch"), None, "'ankle_pitch' is named twice"),
        ("ankle_pitch", "left_motor", "locked motors leave 'ankle_pitch' free.*known: ankle_roll"),
        (("ankle_pitch", "left_motor"), ("left_motor", "ankle_pitch"), None),
        ("left_rod_ball", None, "joint 'left_rod_ball' has a free rotation"),
    ],
)
def test_names_are_checked(joints, motors, said):
    robot = builders.two_rod_ankle()
    if said is None:  # the same coordinates on both sides are a permutation
        of = Transmission(robot, joints, motors)
        np.testing.assert_allclose(of.jacobian(of.home), [[0, 1], [1, 0]], atol=1e-12)
        return
    with pytest.raises(ModelError, match=said):
        Transmission(robot, joints, motors)


def test_springs_that_are_not_fixed_are_told():
    with pytest.raises(ModelError, match=r"locked motors leave 'ankle' free.*known: knee_spring"):
        Transmission(builders.spring_leg(), ("ankle", "toe"), ("knee", "toe_motor"))


def test_what_closes_a_loop_is_not_fixed():
    with pytest.raises(ModelError, match="joint 'loop': closes a loop; only coordinates of the"):
        Transmission(builders.slider_crank(), "slide", "crank_joint", fixed="loop")
    with pytest.raises(ModelError, match="1 motors and joints have 0 degrees of freedom"):
        Transmission(builders.slider_crank(), "slide", "crank_joint", fixed="crank_joint")


def test_open_loops_and_wrong_shapes_are_told():
    robot = builders.slider_crank()
    with pytest.raises(StateError, match="home has loops that are open by"):
        Transmission(robot, "slide", home=(0.5, 2.0, 0.1))
    of = Transmission(robot, "slide")
    with pytest.raises(StateError, match="`near` has loops that are open by"):
        of.joints_at([-1.0], near=(-1.0, 0.0, 0.5))
    with pytest.raises(StateError, match="motors"):
        of.joints_at([1.0, 2.0])
    with pytest.raises(StateError, match="joints"):
        of.motors_at([np.nan])
    with pytest.raises(OptionError, match="not of both"):
        of.configuration(motors=[0.0], joints=[0.0])
    with pytest.raises(OptionError, match="length"):
        Transmission(robot, "slide", length=0.0)
    assert of.joints_at(np.zeros((0, 1))).shape == (0, 1)
    assert of.jacobian(np.zeros((0, 3))).shape == (0, 1, 1)


def test_positions_out_of_reach_are_told_with_the_last_ones_within():
    of = Transmission(builders.slider_crank(), "slide")
    with pytest.raises(StateError, match=r"joints \(0.8\) are out of reach .* up to \(0.7\)"):
        of.motors_at([0.8])


def test_singular_configurations_are_told():
    of = Transmission(builders.slider_crank(), "slide")
    straight = of.configuration(motors=[-np.pi / 2])
    np.testing.assert_allclose(of.jacobian(straight), 0.0, atol=1e-12)
    with pytest.raises(StateError, match="serial singularity: with locked joints 'crank_joint'"):
        of.inverse_jacobian(straight)
    with pytest.raises(StateError, match="serial singularity"):
        of.mass_matrix(straight)
    driven = Transmission(builders.slider_crank(), "crank_joint", "slide")
    with pytest.raises(StateError, match="parallel singularity: with locked motors 'crank_joint'"):
        driven.jacobian(straight)
    assert driven.singular_values(straight).parallel < 1e-12
