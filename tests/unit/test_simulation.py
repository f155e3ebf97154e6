"""Simulation: its options, its state, its steps, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import robosim
from robosim import (
    BatchSimulation,
    Body,
    ContactPoint,
    ControllerError,
    ConvergenceError,
    Joint,
    Mechanism,
    ModelError,
    OptionError,
    RobosimError,
    Simulation,
    StateError,
)
from robosim.controllers import PD, stand, zero
from robosim.dynamics import Kinematics
from robosim.models.builders import chain, cube, double_pendulum, free_body, pendulum

BAD_OPTIONS = [
    ({"timestep": 0}, "timestep must be a positive number, not 0"),
    ({"timestep": -1e-3}, "timestep must be a positive number, not -0.001"),
    ({"timestep": np.nan}, "timestep must be a positive number, not nan"),
    ({"timestep": np.inf}, "timestep must be a positive number, not inf"),
    ({"timestep": "fast"}, "timestep must be a positive number, not 'fast'"),
    ({"timestep": None}, "timestep must be a positive number, not None"),
    ({"gravity": (0, 0, np.nan)}, "gravity must be three finite numbers, not .*nan"),
    ({"gravity": -9.81}, "gravity must be three finite numbers, not -9.81"),
    ({"gravity": (0, 0)}, r"gravity must be three finite numbers, not \(0, 0\)"),
    ({"gravity": "down"}, "gravity must be three finite numbers, not 'down'"),
    ({"tolerance": 0}, "tolerance must be a positive number, not 0"),
    ({"contact_speed": -1}, "contact_speed must be a positive number, not -1"),
    (
        {"friction_cone": "round"},
        "friction_cone must be 'second_order' or 'linearized', not 'round'",
    ),
    ({"friction_facets": 5}, "friction_facets must be even and 4 to 16, not 5"),
    ({"friction_facets": 2}, "friction_facets must be even and 4 to 16, not 2"),
    ({"friction_facets": 18}, "friction_facets must be even and 4 to 16, not 18"),
    ({"friction_facets": 4.5}, "friction_facets must be even and 4 to 16, not 4.5"),
    ({"max_iterations": 0}, "max_iterations must be a whole number of at least 1, not 0"),
    ({"max_iterations": 2.5}, "max_iterations must be a whole number of at least 1, not 2.5"),
    ({"max_substeps": -1}, "max_substeps must be a whole number of at least 1, not -1"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        Simulation(pendulum(), **options)


BAD_STATES = [
    ([0.0] * 3, None, r"q must have shape \(2,\), not \(3,\)"),
    ([[0.0, 0.0]], None, r"q must have shape \(2,\), not \(1, 2\)"),
    ([0.0, np.nan], None, "q must be finite, but 'joint2' is nan"),
    (None, [0.0], r"v must have shape \(2,\), not \(1,\)"),
    (None, [np.inf, 0.0], "v must be finite, but 'joint1' is inf"),
    (["a", "b"], None, "q must be numbers"),
    (None, "fast", "v must be numbers"),
]


@pytest.mark.parametrize(("q", "v", "message"), BAD_STATES)
def test_bad_states(q, v, message):
    sim = Simulation(double_pendulum())
    sim.set_state([0.1, 0.2], [0.3, 0.4])
    with pytest.raises(StateError, match=message):
        sim.set_state(q, v)
    # A state that is refused changes nothing.
    np.testing.assert_array_equal(sim.q, [0.1, 0.2])
    np.testing.assert_array_equal(sim.v, [0.3, 0.4])


def test_a_time_that_is_none():
    sim = Simulation(pendulum())
    with pytest.raises(StateError, match="time must be a finite number"):
        sim.set_state(time=np.nan)


def test_a_quaternion_that_is_none():
    sim = Simulation(free_body())
    before = sim.q
    with pytest.raises(StateError, match="quaternion of joint 'floating_base' must be 1, not 2"):
        sim.set_state([1, 2, 3, 2, 0, 0, 0])
    np.testing.assert_array_equal(sim.q, before)
    sim.set_state([0, 0, 0, 1.0005, 0, 0, 0])
    assert np.linalg.norm(sim.q[3:]) == pytest.approx(1, abs=1e-15)


BAD_TORQUES = [
    ([1.0], r"shape \(1,\); robot 'double_pendulum' takes \(2,\)"),
    ([[1.0, 2.0]], r"shape \(1, 2\)"),
    (1.0, r"shape \(\)"),
    ([1.0, np.nan], "nan for 'joint2'"),
    ([-np.inf, 0.0], "-inf for 'joint1'"),
    ("hard", "'hard', which is not torques"),
    ([1.0, "x"], r"\[1.0, 'x'\], which is not torques"),
    ([1.0, [2.0]], r"\[1.0, \[2.0\]\], which is not torques"),
]


@pytest.mark.parametrize(("tau", "message"), BAD_TORQUES)
def test_bad_torques(tau, message):
    sim = Simulation(double_pendulum())
    sim.set_state([0.1, 0.2])
    with pytest.raises(ControllerError, match=rf"step\(tau\) was given {message}"):
        sim.step(tau)
    with pytest.raises(ControllerError, match=f"controller 'clumsy' returned {message}"):
        sim.run(0.01, clumsy_with(tau))
    assert sim.steps == 0
    np.testing.assert_array_equal(sim.q, [0.1, 0.2])


def clumsy_with(tau):
    def clumsy(sim):
        return tau

    return clumsy


def test_a_controller_that_fails_later_leaves_what_was_done():
    sim = Simulation(pendulum())

    def late(sim):
        return [np.nan] if sim.steps == 5 else [0.0]

    chunks = []
    with pytest.raises(ControllerError, match="controller 'late' returned nan for 'joint1'"):
        chunks.extend(sim.stream(0.01, late))
    assert len(chunks[0].t) == sim.steps == 5


def test_an_error_of_the_controller_itself_is_passed_on():
    sim = Simulation(pendulum())

    def broken(sim):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sim.run(0.01, broken)


@pytest.mark.parametrize("controller", ["fly", 3, object()])
def test_controllers_that_are_none(controller):
    with pytest.raises(ControllerError):
        Simulation(pendulum()).run(0.01, controller)


def test_the_known_controllers_are_named():
    with pytest.raises(ControllerError, match=r"'fly' \(known: stand, trot, zero"):
        Simulation(pendulum()).run(0.01, "fly")


def test_a_run_ends():
    with pytest.raises(OptionError, match="a run needs a finite time"):
        Simulation(pendulum()).run(np.inf)


@pytest.mark.parametrize("seconds", [-1.0, np.nan, "long"])
def test_bad_durations(seconds):
    with pytest.raises(OptionError, match="seconds must be a number that is not negative"):
        Simulation(pendulum()).run(seconds)


def test_bad_chunks():
    with pytest.raises(
        OptionError, match="chunk_steps must be a whole number of at least 1, not 0"
    ):
        Simulation(pendulum()).stream(1.0, chunk_steps=0)


def test_all_errors_have_one_base_class():
    for error in (ControllerError, ModelError, OptionError, StateError):
        assert issubclass(error, RobosimError)


def test_no_torque_is_zero_torque():
    sims = [Simulation(double_pendulum()) for _ in range(3)]
    for sim, tau in zip(sims, (None, [0.0, 0.0], np.zeros(2, dtype=int)), strict=True):
        sim.set_state([0.5, 0.5])
        sim.step(tau)
    np.testing.assert_array_equal(sims[0].q, sims[1].q)
    np.testing.assert_array_equal(sims[0].q, sims[2].q)


def test_joint_torques_and_generalized_forces(a1):
    """(nu,) drives the joints, (nv,) everything."""
    first, second = Simulation(a1), Simulation(a1)
    tau = np.linspace(-1, 1, 12)
    first.step(tau)
    second.step(np.concatenate((np.zeros(6), tau)))
    np.testing.assert_array_equal(first.q, second.q)


def test_step_info():
    sim = Simulation(cube(), 1e-2)
    info = sim.step()
    assert info.status == "converged"
    assert info.substeps == 1
    assert info.iterations >= 1
    assert 0 <= info.residual < 1e-8
    assert info.gap == pytest.approx(sim.min_gap(), abs=1e-15)
    assert info.violation == sim.constraint_violation() == 0
    assert Simulation(pendulum()).step().gap == np.inf


def test_time_and_steps():
    sim = Simulation(pendulum(), 1e-3)
    sim.set_state(time=2.0)
    assert (sim.time, sim.steps) == (2.0, 0)
    log = sim.run(0.1)
    assert sim.steps == 100
    assert sim.time == pytest.approx(2.1, abs=1e-12)
    np.testing.assert_allclose(log.t, 2.0 + 1e-3 * np.arange(100), rtol=0, atol=1e-12)


@pytest.mark.parametrize("controller", [None, "stand", lambda sim: [0.1, -0.1]])
@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_chunks_are_the_run(controller, size):
    """However it is cut, a stream is the run, and advances as it is consumed."""
    whole, cut = Simulation(double_pendulum()), Simulation(double_pendulum())
    for sim in (whole, cut):
        sim.set_state([1.0, 0.5])
    log = whole.run(0.1, controller)
    chunks = []
    for chunk in cut.stream(0.1, controller, chunk_steps=size):
        chunks.append(chunk)
        assert cut.steps == sum(len(c.t) for c in chunks)
    assert [len(c.t) for c in chunks[:-1]] == [size] * (len(chunks) - 1)
    for name in log.samples._fields:
        joined = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(joined, getattr(log.samples, name), err_msg=name)
    np.testing.assert_array_equal(whole.q, cut.q)


def test_samples_are_knots_with_the_torque_that_follows():
    sim = Simulation(pendulum(), 1e-2)
    sim.set_state([1.0])
    log = sim.run(0.1, lambda sim: [sim.time])
    np.testing.assert_allclose(log.tau[:, 0], log.t)
    again = Simulation(pendulum(), 1e-2)
    again.set_state([1.0])
    for k in range(10):
        np.testing.assert_array_equal(log.q[k], again.q)
        np.testing.assert_array_equal(log.v[k], again.v)
        again.step(log.tau[k])
    np.testing.assert_array_equal(again.q, sim.q)


def test_a_stream_may_go_on_for_ever():
    stream = Simulation(pendulum()).stream(np.inf, chunk_steps=10)
    assert [len(next(stream).t) for _ in range(3)] == [10, 10, 10]


def test_no_time_is_no_step():
    log = Simulation(pendulum()).run(0.0)
    assert log.q.shape == (0, 1)


def test_compiled_and_python_pd_are_the_same(a1):
    """A callable in Python gives the compiled loop's motion, but for the order of rounding."""
    compiled, python = Simulation(a1), Simulation(a1)
    controller = stand(a1)
    first = compiled.run(0.3, controller)
    second = python.run(0.3, lambda sim: controller(sim))
    np.testing.assert_allclose(first.q, second.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(first.tau, second.tau, rtol=0, atol=1e-4)


def test_runs_repeat_exactly(a1):
    """Bit by bit, in a new simulation and in one that was set back."""
    first = Simulation(a1)
    log = first.run(0.2, "stand")
    first.set_state()
    other = Simulation(a1)
    for sim in (first, other):
        again = sim.run(0.2, "stand")
        np.testing.assert_array_equal(again.q, log.q)
        np.testing.assert_array_equal(again.v, log.v)


def test_simulations_share_nothing():
    """Two of the same robot, stepped in turns."""
    robot = cube()
    together = [Simulation(robot, 1e-2) for _ in range(2)]
    for k, sim in enumerate(together):
        sim.set_state([0, 0, 0.3 + 0.1 * k, 1, 0, 0, 0])
    alone = Simulation(robot, 1e-2)
    alone.set_state([0, 0, 0.3, 1, 0, 0, 0])
    for _ in range(50):
        for sim in together:
            sim.step()
        alone.step()
    np.testing.assert_array_equal(together[0].q, alone.q)


def test_the_state_is_read_only_and_follows():
    sim = Simulation(pendulum(), 1e-2)
    sim.set_state([1.0])
    x = sim.state.x
    before = x.copy()
    sim.step()
    assert np.abs(x - before).max() > 0
    for array in (x, sim.state.q, sim.state.v, sim.state.omega, sim.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_copies_are_read_only_so_that_nothing_written_to_them_is_lost_silently():
    robot = robosim.load("a1")
    sim, batch, kinematics = Simulation(robot), BatchSimulation(robot, 2), Kinematics(robot)
    sim.step(np.zeros(12))
    contact = sim.contacts()[0]
    copies = (
        sim.q, sim.v, sim.torques, sim.wrench("base"), batch.q, batch.v, batch.time,
        kinematics.q, kinematics.x, kinematics.R, kinematics.jacobian(),
        robot.actuated, robot.effort_limits, robot.home,
        contact.position, contact.normal, contact.force, contact.velocity,
    )  # fmt: skip
    for array in copies:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    # A copy of one's own can be changed, and led back.
    q = sim.q.copy()
    q[2] = 5.0
    sim.set_state(q)
    assert sim.q[2] == 5.0
    sim.run(0.01, "stand")
    for array in (sim.torques, Simulation(robot).torques):
        assert not array.flags.writeable


def test_energy_and_momentum_by_hand():
    sim = Simulation(free_body((0.02, 0.03, 0.04), mass=2.0), gravity=(0, 0, -10))
    sim.set_state([1, 2, 3, 1, 0, 0, 0], [1, 0, -1, 2, 0, 3])
    assert sim.energy() == pytest.approx(2 * 2 / 2 + (0.02 * 4 + 0.04 * 9) / 2 + 2 * 10 * 3)
    linear, angular = sim.momentum()
    np.testing.assert_allclose(linear, [2, 0, -2])
    expected = np.cross([1, 2, 3], linear) + np.array([0.04, 0, 0.12])
    np.testing.assert_allclose(angular, expected)


def test_contacts_keep_the_robots_order():
    """Positions and forces, although the model sorts contacts by body."""
    bodies = (Body("a", 1.0, np.eye(3)), Body("b", 1.0, np.eye(3)))
    joints = (
        Joint("ja", "prismatic", None, "a"),
        Joint("jb", "prismatic", None, "b", parent_position=(5, 0, 0)),
    )
    contacts = (
        ContactPoint("b1", "b", (0, 1, 0), radius=0.1),
        ContactPoint("a1", "a", (0, 2, 0)),
        ContactPoint("b2", "b", (0, 3, 0)),
    )
    sim = Simulation(Mechanism("m", bodies, joints, contacts), 1e-2)
    sim.set_state([1.0, 0.2])
    np.testing.assert_allclose(sim.contact_positions(), [[5, 1, 0.1], [0, 2, 1.0], [5, 3, 0.2]])
    assert sim.min_gap() == pytest.approx(0.1)
    sim.run(0.3)
    forces = sim.contact_forces()
    assert forces[0, 2] == pytest.approx(9.81, rel=1e-3)
    np.testing.assert_array_equal(forces[1:], 0)


def test_pd_of_selected_joints():
    with pytest.raises(ControllerError, match="target must be a finite number or 2 of them"):
        PD(double_pendulum(), [0.0, 0.0, 0.0], 1.0, 1.0)
    with pytest.raises(ControllerError, match="kd must be a finite number"):
        PD(double_pendulum(), 0.0, 1.0, np.nan)
    with pytest.raises(ControllerError, match="'joint1' is 'spherical'"):
        PD(chain(2, "spherical"), 0.0, 1.0, 1.0)


def test_ball_joints_can_be_damped():
    """Nothing to be proportional to, but a rate to oppose: and zero torque is possible at all."""
    robot = chain(2, "spherical")
    free, damped = Simulation(robot), Simulation(robot)
    for sim, controller in ((free, zero(robot)), (damped, PD(robot, 0.0, 0.0, 0.02))):
        sim.set_state(None, [1.0, 1.0, 0, 0, 0.5, 0])
        sim.run(1.0, controller)
    assert damped.energy() < free.energy() - 0.01


def test_standing_needs_an_actuator():
    with pytest.raises(ModelError, match="robot 'cube': has no actuated joint to stand with"):
        stand(cube())


def test_a_robot_without_a_stance_holds_its_home():
    sim = Simulation(double_pendulum())
    sim.set_state([0.05, -0.05])
    sim.run(2.0, "stand")
    np.testing.assert_allclose(sim.q, 0, atol=1e-4)


def test_a_name_is_not_a_robot():
    with pytest.raises(OptionError, match=r"must be a Mechanism, .* not 'a1'"):
        Simulation("a1")


def test_an_unstable_controller_is_named_as_such():
    """Gains beyond what the timestep allows: the error tells how fast a body has become."""
    robot = double_pendulum()
    sim = Simulation(robot, 1e-2)
    with pytest.raises(ConvergenceError, match=r"turns by .* rad in a step.* largest torque is"):
        sim.run(4.0, PD(robot, 1.0, 1e4, 1.0))
