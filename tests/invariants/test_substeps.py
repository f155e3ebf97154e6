"""A step without a solution is divided and says so, or fails and says why, leaving the knot."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from touching import ball, free, poses

from robosim import Body, ContactPoint, ConvergenceError, Joint, Mechanism, Simulation
from robosim.models.builders import chain, cube


def whip(**options) -> Simulation:
    """A straight horizontal chain of 20 hinges, let go: its end cracks like a whip."""
    sim = Simulation(chain(20), 1e-2, **options)
    q = np.zeros(20)
    q[0] = -np.pi / 2
    sim.set_state(q)
    return sim


def test_a_whip_is_stepped_by_parts():
    sim = whip()
    log = sim.run(10.0)
    assert sim.steps == 1000
    assert log.samples.substeps.max() > 1
    assert (log.samples.substeps > 1).mean() < 0.1
    assert log.samples.violation.max() < 1e-8
    assert np.all(np.isfinite(log.q))
    assert np.all(log.samples.iterations >= log.samples.substeps)


def test_a_divided_step_ends_where_short_steps_end():
    """A step of dt in two parts ends where two steps of dt / 2 end from the same momenta.

    They show in chords, sin(w dt) / dt for a body that turns at w.
    """
    sim = whip()
    while True:
        before = sim.q, sim.v
        if sim.step().substeps == 2:
            break
    q, v = before
    chords = np.sin(1e-2 * np.cumsum(v)) / 1e-2
    short = Simulation(sim.robot, 5e-3)
    short.set_state(q, np.diff(np.arcsin(5e-3 * chords) / 5e-3, prepend=0.0))
    short.run(0.01)
    np.testing.assert_allclose(sim.q, short.q, rtol=0, atol=1e-6)


def test_without_substeps_the_whip_fails_and_says_where():
    sim = whip(max_substeps=1)
    with pytest.raises(ConvergenceError) as caught:
        sim.run(10.0)
    error = caught.value
    assert error.time == sim.time == pytest.approx(sim.steps * 0.01)
    assert error.residual > 1e-8
    assert error.iterations >= 1
    assert error.substeps == 1
    assert error.body in {body.name for body in sim.robot.bodies}
    for part in (f"{error.time:.6g} s", error.body, f"{error.residual:.3g}", "1 substeps"):
        assert part in str(error)


def test_a_step_that_fails_names_the_body_that_moves():
    """Of three pendulums the last one swings, and slowly: all that is left is of that."""
    bodies = tuple(Body(name, 1.0, 0.01 * np.eye(3)) for name in ("first", "second", "third"))
    joints = tuple(
        Joint(f"of {b.name}", "revolute", None, b.name, (0, 1, 0), (0, 3.0 * k, 0), (0, 0, 0.5))
        for k, b in enumerate(bodies)
    )
    robot = Mechanism("pendulums", bodies, joints)
    sim = Simulation(
        robot, 1e-2, max_iterations=1, max_substeps=1, tolerance=1e-13, islands=False,
        solver="articulated",
    )  # fmt: skip
    sim.set_state([0, 0, 0.3], [0, 0, 0.3])
    with pytest.raises(ConvergenceError) as caught:
        sim.run(0.05)
    assert caught.value.body == "third"


@pytest.mark.parametrize("max_substeps", [1, 4, 64])
def test_a_failed_step_leaves_the_last_knot(max_substeps):
    """Everything that the robot is: coordinates, velocities, bodies, energy; and it goes on."""
    robot = cube()
    sim = Simulation(robot, 1e-2, max_substeps=max_substeps, max_iterations=1)
    sim.set_state([0, 0, 0.2505, 1, 0, 0, 0], [1.0, 0, -3.0, 1.0, 2.0, 3.0])
    before = [sim.q, sim.v, *(np.array(getattr(sim.state, n)) for n in ("x", "q", "v", "omega"))]
    energy, momenta = sim.energy(), sim.parts.state.bodies["p"].copy()
    with pytest.raises(ConvergenceError) as caught:
        sim.step()
    assert caught.value.substeps == max_substeps
    after = [sim.q, sim.v, *(np.array(getattr(sim.state, n)) for n in ("x", "q", "v", "omega"))]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(sim.parts.state.bodies["p"], momenta)
    assert sim.energy() == energy
    assert (sim.time, sim.steps) == (0.0, 0)


def wheel_on_a_block(*contacts: ContactPoint) -> Mechanism:
    """The wheel on top of it turns about the vertical."""
    return Mechanism(
        "wheel",
        (Body("block", 5.0, 0.2 * np.eye(3)), Body("wheel", 0.1, 1e-3 * np.eye(3))),
        (
            Joint("base", "floating", None, "block"),
            Joint("axle", "revolute", "block", "wheel", parent_position=(0, 0, 0.2)),
        ),
        contacts,
        home=(0, 0, 0.1, 1, 0, 0, 0, 0),
    )


FEET = [ContactPoint(f"{x}{y}", "block", (x, y, -0.1)) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
def test_parts_of_several_lengths_follow_where_equal_ones_fail(solver):
    """0.7 rad in the first half of a step, and 1.4 in the second, which is divided by itself."""
    robot = wheel_on_a_block()
    v, push, runs = np.zeros(robot.nv), np.zeros(robot.nv), []
    v[-1], push[-1] = 6.0, 0.3
    for most, parts in ((2, 4), (64, 4)):
        sim = Simulation(robot, 0.1, (0, 0, 0), solver=solver, max_substeps=most)
        sim.set_state(None, v)
        before = sim.momentum()
        assert sim.step(push).substeps == parts
        for now, was in zip(sim.momentum(), before, strict=True):
            np.testing.assert_allclose(now, was, rtol=0, atol=1e-14)
        runs.append(sim)
    # A half in place of two quarters, in which the discrete momentum is that of a larger angle.
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=0.06)
    assert not np.array_equal(runs[0].q, runs[1].q)
    for sim in runs:
        sim.step(-push)


@pytest.mark.parametrize("solver", ["articulated", "ldu"])
@pytest.mark.parametrize("feet", [[], FEET], ids=["flies", "stands"])
def test_a_failed_step_leaves_no_trace(feet, solver):
    """Where its first part could be done, and the second turned a body too far: as if never tried.

    But for the linear system, which the step that follows makes anew.

    The guess of the next step is made from how the last one went, and by how much its own guesses
    missed: a step that follows would take another path to other last digits.
    """
    robot = wheel_on_a_block(*feet)
    gravity = (0, 0, -9.81 if feet else 0.0)
    sim = Simulation(robot, 0.1, gravity, solver=solver, max_substeps=2)
    v = np.zeros(robot.nv)
    v[-1] = 6.0
    sim.set_state(None, v)
    push = np.zeros(robot.nv)
    push[-1] = 1e-3
    for k in range(5):
        sim.step((-1) ** k * push)
    before = sim.copy()
    before.parts.memory.system.valid[:] = 0
    # From 0.3 rad in half of the step to 0.9 rad in the first half and 2.2 rad in the second. Of
    # quarters, the third one is solved and the last one, of 1.2 rad, is not.
    with pytest.raises(ConvergenceError) as caught:
        sim.step(500.0 * push)
    assert caught.value.substeps == 2
    np.testing.assert_array_equal(sim.accelerations(), before.accelerations())
    for k in range(3):
        assert sim.step((-1) ** k * push) == before.step((-1) ** k * push)
        np.testing.assert_array_equal(sim.q, before.q)
        np.testing.assert_array_equal(sim.v, before.v)


def test_a_failed_run_yields_what_was_done_before():
    sim = whip(max_substeps=1)
    chunks = []
    with pytest.raises(ConvergenceError):
        chunks.extend(sim.stream(10.0, chunk_steps=7))
    # `extend` keeps what came before the error.
    assert sum(len(chunk.t) for chunk in chunks) == sim.steps > 10


def test_means_after_a_run_that_fails_within():
    """Nothing of them is kept within a run: they are zero, as before the first step."""
    for controller in (None, lambda sim: np.zeros(20)):
        sim = whip(max_substeps=1)
        with pytest.raises(ConvergenceError):
            sim.run(10.0, controller)
        wrench = sim.joint_wrenches()[sim.robot.joints[0].name]
        # A controller in Python is called between steps, each of which is then a run.
        if controller is None:
            assert not sim.accelerations().any()
            np.testing.assert_array_equal(wrench, 0.0)
        else:
            assert np.abs(sim.accelerations()).max() > 1.0
            assert np.abs(wrench).max() > 1.0


def test_the_same_failure_under_a_python_controller():
    """Where the loop is not compiled, the error is the same."""
    errors = []
    for controller in (None, lambda sim: np.zeros(20)):
        sim = whip(max_substeps=1)
        with pytest.raises(ConvergenceError) as caught:
            sim.run(10.0, controller)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("leg", "sole", "start"),
    [({"stiffness": 2e3}, {}, (0.0, -0.1)), ({"damping": 100.0}, {"stiffness": 5e3}, (-0.1, 0.0))],
    ids=["by a leg's spring", "by the ground, with a damper"],
)
def test_work_of_springs_and_dampers_divides_no_step(leg, sole, start):
    """A foot and what it carries are thrown up: much work in a step, all of it explained."""
    bodies = tuple(Body(name, 1.0, 0.01 * np.eye(3)) for name in ("foot", "load"))
    joints = (
        Joint("rail", "prismatic", None, "foot", (0, 0, 1)),
        Joint("leg", "prismatic", "foot", "load", (0, 0, 1), **leg),
    )
    point = ContactPoint("sole", "foot", (0.0, 0.0, 0.0), **sole)
    sim = Simulation(Mechanism("launch", bodies, joints, contacts=(point,)), 5e-3)
    sim.set_state(start)
    log = sim.run(0.1)
    assert log.samples.substeps.max() == 1
    assert sim.contact_forces().max() == 0.0  # it has taken off
    assert sim.v[0] > 1.0


def test_what_a_torque_stops_divides_no_step():
    """Beside a joint at its limit: the motion before the step is curved, and no part is less so.

    Its bearing seems to give a 300th of the energy that there was, which is more than a hundredth
    of what is left.
    """
    arm = Body("arm", 1.0, 1e-3 * np.eye(3))
    shoulder = Joint("shoulder", "revolute", None, "arm", (0, 1, 0), (0, 0, 0), (0, 0, 0.1))
    stopped = Body("stopped", 1.0, 0.01 * np.eye(3))
    stop = Joint("stop", "revolute", None, "stopped", (0, 1, 0), lower=[-10.0], upper=[0.0])
    robot = Mechanism("arms", (arm, stopped), (shoulder, stop))
    rate = 700.0
    for solver in ("articulated", "ldu"):
        sim = Simulation(robot, 1e-3, (0, 0, 0), solver=solver, islands=False)
        sim.set_state([0, 0], [-rate, 0])
        info = sim.step([rate * 0.011 / 1e-3, 1.0])
        assert info.substeps == 1
        assert abs(sim.v[0]) < 0.05 * rate


@pytest.mark.parametrize("seed", [18, 198, 298])
def test_torques_far_too_large_that_turn_round_need_no_finest_parts(seed):
    """Where links are held by their limits: what has stopped a link was part of another motion.

    Their bearings seemed to give energy then, in the shortest parts as in the whole step.
    """
    links = (("hip", 0.15, 4e-4), ("thigh", 0.15, 4e-4), ("shin", 0.04, 1.5e-4))
    bodies = tuple(Body(name, mass, moment * np.eye(3)) for name, mass, moment in links)
    ends = {"lower": [-10.0], "upper": [10.0]}
    joints = (
        Joint("base", "floating", None, "base", actuated=False),
        Joint("1", "revolute", "base", "hip", (1, 0, 0), (0.2, 0, 0), (0, -0.02, 0), **ends),
        Joint("2", "revolute", "hip", "thigh", (0, 1, 0), (0, 0.04, 0), (0, -0.02, 0.08), **ends),
        Joint("3", "revolute", "thigh", "shin", (0, 1, 0), (0, 0, -0.08), (0, 0, 0.08), **ends),
    )
    robot = Mechanism("leg", (Body("base", 1.0, 0.01 * np.eye(3)), *bodies), joints)
    sim, rng, torques = Simulation(robot, 1e-3, (0, 0, 0)), np.random.default_rng(seed), None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bodies that turn far
        for n in range(60):
            if n % 10 == 0:
                torques = 1000.0 * rng.choice([-1.0, 1.0], 3)
            assert sim.step(torques).substeps <= 64


def test_an_undivided_step_does_not_lead_through_what_it_meets():
    """Nor is it taken if it may not be divided: one ball would come out behind the other."""
    robot = free(ball("fast", 0.05), ball("slow", 0.05), self_collision=True)
    for most in (1, 64):
        sim = Simulation(robot, 1e-2, gravity=(0, 0, 0), max_substeps=most)
        sim.set_state(poses((0, 0, 0), (0.3, 0.01, 0)), [60.0, *np.zeros(11)])
        if most == 1:
            with pytest.raises(ConvergenceError):
                sim.step()
        else:
            sim.step()
            assert sim.v[6] > 10.0
