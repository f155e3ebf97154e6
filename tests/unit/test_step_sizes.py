"""Steps to an accuracy, as users ask for them: options, readings, logs, batches, worlds, files."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import robosim
from robosim import BatchSimulation, ConvergenceError, OptionError, Simulation, linearize
from robosim.controllers import stand


@pytest.fixture(scope="module")
def a1():
    return robosim.load("a1")


def dropped(robot, timestep=0.01, **options) -> Simulation:
    """Somewhat tilted, above the ground."""
    sim = Simulation(robot, timestep, **{"accuracy": 1e-3, **options})
    q = robot.home.copy()
    q[2] += 0.1
    q[3:7] = np.cos(0.1), np.sin(0.1), 0.0, 0.0
    sim.set_state(q)
    return sim


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"accuracy": 0.0}, "accuracy must be a positive number, not 0.0"),
        ({"accuracy": -1e-3}, "accuracy must be a positive number, not -0.001"),
        ({"accuracy": math.nan}, "accuracy must be a positive number, not nan"),
        ({"accuracy": math.inf}, "accuracy must be a positive number, not inf"),
        ({"accuracy": "fine"}, "accuracy must be a positive number, not 'fine'"),
        ({"accuracy": 1e-9}, "accuracy=1e-09 m is finer than impacts are located: .* 1e-06"),
        ({"accuracy": 1e-4, "tolerance": 1e-4}, "tolerance of 0.0001 m/s leaves.* at most 1e-05"),
        ({"accuracy": 1e-4, "lanes": True}, "lanes=True is for steps that all limbs take at once"),
    ],
)
def test_options_that_cannot_be_had(a1, options, told):
    with pytest.raises(OptionError, match=told):
        Simulation(a1, 0.01, **options)


def test_derivatives_are_refused(a1):
    with pytest.raises(OptionError, match=r"linearize a simulation without an accuracy"):
        linearize(dropped(a1))


def test_what_a_step_tells(a1):
    sim = dropped(a1)
    taken = [sim.step() for _ in range(40)]
    sizes = sim.step_sizes
    assert sizes.intervals == sum(info.substeps for info in taken) >= 80
    assert sizes.shortest == min(info.shortest for info in taken) < 0.005
    assert sizes.error == pytest.approx(sum(info.error for info in taken), rel=1e-12)
    assert sizes.events == sum(info.events for info in taken) >= 1
    assert all(0 <= info.error <= 1e-3 * 0.01 + 8e-6 * (1 + info.events) for info in taken)
    sim.set_state()
    assert sim.step_sizes == (0, math.inf, 0.0, 0)


def test_a_step_of_one_length_tells_as_much(a1):
    info = dropped(a1, accuracy=None).step()
    assert (info.shortest, info.events) == (0.01, 0)
    assert math.isnan(info.error)


def test_steps_and_runs_come_to_the_same_bits(a1):
    """One by one, in a run, as a copy, after `restore`, and from a file."""
    run, one, other = dropped(a1), dropped(a1), dropped(a1)
    run.run(0.3)
    for _ in range(15):
        one.step()
    copy = one.copy()
    other.restore(one)
    for sim in (one, copy, other):
        for _ in range(15):
            sim.step()
        assert sim.q.tobytes() == run.q.tobytes()
        assert sim.step_sizes == run.step_sizes


def test_a_file_goes_on_alike(a1, tmp_path):
    sim = dropped(a1)
    sim.run(0.15)
    sim.save(tmp_path / "here.npz")
    read = dropped(a1)
    read.load(tmp_path / "here.npz")
    with pytest.raises(robosim.StateError, match="accuracy"):
        dropped(a1, accuracy=1e-4).load(tmp_path / "here.npz")
    for one in (sim, read):
        one.run(0.1)
    assert sim.q.tobytes() == read.q.tobytes()


def test_a_log_of_step_sizes(a1):
    sim = dropped(a1)
    log = sim.run(0.3, also="steps")
    assert set(log.extra) == {"step.shortest", "step.error", "step.events"}
    assert log.info.units["step.shortest"] == "s"
    assert np.isnan(log.extra["step.shortest"][0])
    assert np.nanmin(log.extra["step.shortest"]) < 0.005
    assert log.extra["step.events"].sum() >= 1
    plain = Simulation(a1, 0.01).run(0.05, also="steps")
    np.testing.assert_array_equal(plain.extra["step.shortest"][1:], 0.01)


def test_a_run_with_a_progress_bar_tells_the_shortest_interval(a1, capfd):
    dropped(a1).run(0.2, progress=True)
    assert "intervals, the shortest" in capfd.readouterr().err
    dropped(a1, accuracy=None).run(0.05, progress=True)
    assert "shortest" not in capfd.readouterr().err


def test_forces_are_those_over_the_last_intervals(a1):
    """A robot that stands: its feet carry its weight, whatever the lengths of intervals."""
    sim = dropped(a1)
    sim.run(3.0, stand(a1, implicit=True))
    total = sum(contact.force[2] for contact in sim.contacts())
    assert total == pytest.approx(9.81 * a1.total_mass, rel=1e-3)


def test_batches_have_steps_of_their_own(a1):
    """Each state as it would go alone, to the last bit, and never in lanes."""
    batch = BatchSimulation(a1, 9, 0.01, accuracy=1e-3)
    singles = []
    for i in range(9):
        sim = dropped(a1)
        q = sim.q.copy()
        q[2] += 0.02 * i
        sim.set_state(q)
        batch[i].set_state(q)
        singles.append(sim)
    out = batch.rollout(30)
    for i, sim in enumerate(singles):
        sim.run(0.3)
        assert batch[i].q.tobytes() == sim.q.tobytes()
        assert batch[i].step_sizes.intervals > 0
    assert not any(out.failed)


def test_islands_have_steps_of_their_own(a1):
    """Two robots that are far apart move as each does alone."""
    world = a1.add(a1, prefix="second/", position=(5.0, 0.0, 0.0))
    both = Simulation(world, 0.01, accuracy=1e-3)
    alone = dropped(a1)
    q, n = both.q.copy(), a1.nq
    q[:n] = alone.q
    both.set_state(q)
    both.run(0.2)
    alone.run(0.2)
    assert both.q[:n].tobytes() == alone.q.tobytes()
    assert both.step_sizes.intervals >= alone.step_sizes.intervals


def test_no_step_fails_under_random_torques(a1):
    draw = np.random.default_rng(3)
    for timestep in (0.002, 0.005):
        sim = dropped(a1, timestep, accuracy=1e-3)
        for _ in range(round(1.0 / timestep)):
            sim.step(draw.uniform(-15, 15, a1.nu))


def test_what_cannot_be_resolved_is_told(a1):
    """A step that no interval is short enough for, because none is allowed to be solved."""
    sim = dropped(a1, max_iterations=1)
    before = sim.q
    with pytest.raises(ConvergenceError, match=r"An accuracy of 0.001 m needs intervals below"):
        sim.run(1.0)
    assert sim.time == pytest.approx(0.01 * sim.steps)
    assert np.isfinite(sim.q).all()
    assert sim.steps or sim.q.tobytes() == before.tobytes()


def test_the_command_line(tmp_path):
    from robosim.cli import app

    line = ["simulate", "a1", "--seconds", "0.2", "--timestep", "0.01", "--accuracy", "1e-3"]
    line = [*line, "--json"]
    told = json.loads(CliRunner().invoke(app, line).stdout)
    assert told["accuracy"] == 1e-3
    assert told["intervals"] >= told["steps"] == 20
    assert 0 < told["shortest_interval"] <= 0.01
    assert told["events"] >= 0
    shown = CliRunner().invoke(app, line[:-1]).stdout
    assert "intervals" in shown
    assert "estimated error" in shown
