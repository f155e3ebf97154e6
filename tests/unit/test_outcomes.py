"""What benchmarks of falls and heaps count."""

from __future__ import annotations

import json

import numpy as np
import pytest
from touching import ball, free

from benchmarks import soak
from benchmarks.outcomes import energy
from robosim import Simulation


def test_the_energy_of_momenta_does_not_depend_on_how_a_step_is_divided():
    """A ball that turns by 0.3 rad in a step has the momentum of the chord of that turn."""
    robot, dt, spin = free(ball("ball")), 0.01, 30.0
    inertia = robot.bodies[0].inertia[0, 0]
    sim = Simulation(robot, dt, gravity=(0, 0, 0))
    sim.set_state(robot.home, [0, 0, 0, spin, 0, 0])
    chord = 0.5 * inertia * (np.sin(spin * dt) / dt) ** 2
    for _ in range(3):
        assert energy(sim) == pytest.approx(chord, rel=1e-12)
        assert sim.energy() == pytest.approx(0.5 * inertia * spin**2, rel=1e-12)
        sim.step()


def test_rounds_of_a_soak_take_turns_and_differ():
    rounds = [list(soak.round_of(seed, 1.5)) for seed in range(28)]
    runs = [run for one in rounds for run in one]
    assert len({run.key for run in runs}) == len(runs) == 28 * 6
    found = {(run.name, run.timestep) for run in runs if run.kind == "bin"}
    assert found == {(name, dt) for name in soak.bins.SCENES for dt in soak.bins.TIMESTEPS}
    assert {run.name for run in runs if run.kind == "drop"} == {
        f"{b} on {a}" for a, b in soak.PAIRS
    }
    assert len({run.name for run in runs if run.kind == "fall"}) == 2 * len(soak.falls.ROBOTS)


def test_a_soak_counts_runs_of_one_version_that_are_whole(tmp_path):
    path = tmp_path / "soak.jsonl"
    assert soak.lines_of(path, "b") == []
    lines = [json.dumps({"version": version, "seed": k}) for k, version in enumerate("abab")]
    path.write_text("\n".join(lines) + "\n" + lines[1][:9])
    assert [one["seed"] for one in soak.lines_of(path, "b")] == [1, 3]


def test_a_run_of_a_soak_is_what_its_seed_tells():
    run = next(one for one in soak.round_of(0, 0.1) if one.kind == "drop")
    assert run.name == "box on box"
    failed, deepest = run.take()
    assert (failed, deepest) == run.take()
    assert not failed
    assert deepest < 1e-7
