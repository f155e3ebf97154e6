"""Simulations in files: exact to the last bit in another process, or refused by what differs."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import HalfSpace, Simulation, StateError
from robosim.bench.piles import bin_of
from robosim.models import builders

# What makes each simulation, here and in the other process.
MADE = """
import sys
import robosim
from robosim import HalfSpace, Simulation
from robosim.models import builders

SIMS = {
    "a1": lambda: Simulation(robosim.load("a1")),
    "pairs": lambda: Simulation(builders.cube().with_contacts(obstacles=[HalfSpace()]), 5e-3),
    "ldu": lambda: Simulation(builders.minitaur(), 5e-3),
    "charts": lambda: Simulation(robosim.load("knee_spline")),
}
"""
THEIRS = """
for name, make in SIMS.items():
    sim = make()
    sim.load(f"{sys.argv[1]}/{name}.npz")
    sim.run(0.05)
    print(name, sim.solver, sim.steps, sim.time.hex(), sim.q.tobytes().hex(), sim.v.tobytes().hex())
"""


def made(name: str) -> Simulation:
    found: dict[str, dict[str, Callable[[], Simulation]]] = {}
    exec(MADE, found)
    return found["SIMS"][name]()


def test_another_process_goes_on_to_the_last_bit(tmp_path: Path) -> None:
    lines = []
    for name in ("a1", "pairs", "ldu", "charts"):
        sim = made(name)
        if name == "ldu":
            sim.engine.switch("ldu")
        sim.run(0.2, "stand" if name == "a1" else None)
        sim.save(tmp_path / f"{name}.npz")
        sim.run(0.05)
        told = sim.solver, sim.steps, sim.time.hex(), sim.q.tobytes().hex(), sim.v.tobytes().hex()
        lines.append(" ".join(map(str, (name, *told))))
    command = [sys.executable, "-c", MADE + THEIRS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == lines, done.stderr
    assert list(tmp_path.glob("*.writing")) == []


def test_torques_and_contacts_are_those_that_were_saved(tmp_path: Path) -> None:
    sim, other = Simulation(robosim.load("a1")), Simulation(robosim.load("a1"))
    sim.run(0.1, "stand")
    sim.save(tmp_path / "a1.npz")
    other.load(tmp_path / "a1.npz")
    assert np.any(sim.torques != 0)
    np.testing.assert_array_equal(other.torques, sim.torques)
    np.testing.assert_array_equal(other.contact_forces(), sim.contact_forces())
    assert other.last_step.interval == sim.last_step.interval


@pytest.fixture
def pendulum(tmp_path: Path) -> Path:
    path = tmp_path / "pendulum.npz"
    Simulation(robosim.load("double_pendulum")).save(path)
    return path


def heavier() -> robosim.Mechanism:
    robot = robosim.load("double_pendulum")
    first = replace(robot.bodies[0], mass=2.0)
    return replace(robot, bodies=(first, *robot.bodies[1:]))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Simulation(builders.cube()), "of robot 'double_pendulum', and this .* 'cube'"),
        (lambda: Simulation(builders.double_pendulum(), 2e-3), "timestep=0.001, .* has 0.002"),
        (lambda: Simulation(heavier()), "another robot that is called 'double_pendulum'"),
        (lambda: Simulation(builders.double_pendulum(), solver="ldu"), "solver=None, .* 'ldu'"),
    ],
)
def test_what_differs_is_named(pendulum: Path, make: Callable[[], Simulation], told: str) -> None:
    sim = make()
    with pytest.raises(StateError, match=told):
        sim.load(pendulum)


def with_header(path: Path, **changes: object) -> None:
    with np.load(path) as found:
        arrays = dict(found)
    header = json.loads(arrays.pop("header").tobytes()) | changes
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, header=text, **arrays)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": "0.0.1"}, "written by robosim 0.0.1, and this is"),
        ({"format": "a picture"}, "not what Simulation.save writes"),
        ({"solver": "luck"}, "damaged.* solver 'luck'"),
        ({"counters": {"steps": 1, "stops": 2}}, "damaged"),
    ],
)
def test_headers_that_do_not_fit(pendulum: Path, changes: dict[str, object], told: str) -> None:
    with_header(pendulum, **changes)
    sim = Simulation(robosim.load("double_pendulum"))
    sim.run(0.01)
    before = sim.q, sim.steps, sim.solver
    with pytest.raises(StateError, match=told):
        sim.load(pendulum)
    np.testing.assert_array_equal(sim.q, before[0])
    assert (sim.steps, sim.solver) == before[1:]


def test_files_that_are_none(tmp_path: Path, pendulum: Path) -> None:
    sim = Simulation(robosim.load("double_pendulum"))
    with pytest.raises(StateError, match=r"saved as \.npz, not as '\.pkl'"):
        sim.save(tmp_path / "x.pkl")
    with pytest.raises(StateError, match="cannot be written: No such file"):
        sim.save(tmp_path / "none/x.npz")
    with pytest.raises(StateError, match="cannot be read: No such file"):
        sim.load(tmp_path / "none.npz")
    whole = pendulum.read_bytes()
    pendulum.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StateError, match="damaged"):
        sim.load(pendulum)
    with zipfile.ZipFile(pendulum, "w") as file:
        file.writestr("a", "b")
    with pytest.raises(StateError, match="damaged"):
        sim.load(pendulum)


def test_pairs_of_shapes_that_were_not_near_yet(tmp_path: Path) -> None:
    """The file of a simulation whose linear system has no room for them goes into one that has."""
    robot = builders.cube().with_contacts(obstacles=[HalfSpace()])
    fresh, used = Simulation(robot, 5e-3), Simulation(robot, 5e-3)
    fresh.save(tmp_path / "fresh.npz")
    used.run(0.4)
    used.load(tmp_path / "fresh.npz")
    for sim in (fresh, used):
        sim.run(0.4)
    np.testing.assert_array_equal(used.q, fresh.q)


def test_files_and_copies_of_heaps_hold_the_contacts_that_act(tmp_path: Path) -> None:
    """All pairs of boxes may touch each other, and have memory for that, but few do."""
    sim = Simulation(bin_of(20, 0), 2e-3, islands=False)
    sim.run(0.4)
    path = tmp_path / "heap.npz"
    sim.save(path)
    assert path.stat().st_size < 0.2 * sim.engine.parts.memory.system.contacts.nbytes
    other, copy = Simulation(sim.robot, 2e-3, islands=False), sim.copy()
    other.run(0.1)
    other.load(path)
    for one in (sim, other, copy):
        one.run(0.05)
    np.testing.assert_array_equal(other.state.x, sim.state.x)
    np.testing.assert_array_equal(copy.state.x, sim.state.x)
