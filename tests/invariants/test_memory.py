"""What a step may read: scratch that it has written, and memory that it can do without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from spoiled import floats, spoil_workspace

import robosim
from robosim import Body, Geometry, Joint, Mechanism, Simulation
from robosim.bench.piles import bin_of
from robosim.compiled.memory import LOOKED
from robosim.controllers import PD
from robosim.models.builders import (
    chain,
    double_four_bar,
    minitaur,
    segments,
    slider_crank,
    sphere_chain,
)
from robosim.simulation import engine


def standing() -> Simulation:
    sim = Simulation(robosim.load("a1"))
    q = np.array(sim.robot.home)
    q[2] += 1e-3
    sim.set_state(q)
    return sim


def boxes() -> Simulation:
    """Two boxes that fall on each other and on a floor."""
    shape = (Geometry("box", (0.2, 0.2, 0.2)),)
    bodies = [Body(name, 1.0, np.eye(3) * 0.01, collisions=shape) for name in "ab"]
    joints = [Joint(f"free_{name}", "floating", None, name) for name in "ab"]
    floor = Geometry("box", (4, 4, 1), (0, 0, -0.5), name="floor")
    home = (0, 0, 0.101, 1, 0, 0, 0, 0.05, 0.02, 0.305, 1, 0, 0, 0)
    robot = Mechanism("boxes", tuple(bodies), tuple(joints), obstacles=(floor,), home=home)
    return Simulation(robot, 2e-3, islands=False)  # memory of one system


def swinging() -> Simulation:
    sim = Simulation(chain(4), order=4)
    sim.set_state(np.linspace(0.3, 1.0, sim.robot.nq))
    return sim


CASES: dict[str, Callable[[], Simulation]] = {
    "a1": standing,
    "a1 in the graph": lambda: Simulation(robosim.load("a1"), solver="ldu"),
    "boxes": boxes,
    "chain": swinging,
    "loops": lambda: Simulation(segments(2)),
    "loops in the graph": lambda: Simulation(segments(2), solver="ldu"),
    "loops that touch": lambda: Simulation(minitaur(), 2e-3),
    "double four-bar": lambda: Simulation(double_four_bar()),
    "slider crank": lambda: Simulation(slider_crank()),
    "spheres": lambda: Simulation(sphere_chain(3), 5e-3),
}


def forget(sim: Simulation) -> None:
    """Leave a simulation its state alone, and not a number for all it had learned."""
    guesses, system = sim.parts.memory
    system.valid[:] = 0
    for name, array in floats(system):
        array[: len(array) - (name.partition(".")[0] in {"pose1", "tree"})] = np.nan
    for _, array in floats(guesses):
        array[...] = 0.0
    guesses.active[:], guesses.ids[:] = 0, -1


def torques(sim: Simulation) -> np.ndarray:
    """Some that change from step to step, and hold nothing still."""
    return 0.5 * np.sin(np.arange(sim.robot.nu) + 40 * sim.time)


def steps(sim: Simulation, n: int, between: Callable[[Simulation], None] | None) -> np.ndarray:
    out = []
    for _ in range(n):
        sim.step(torques(sim))
        out.append(np.concatenate((sim.q, sim.v)))
        if between is not None:
            between(sim)
    return np.array(out)


@pytest.mark.parametrize("case", CASES)
def test_workspace_is_scratch(case: str) -> None:
    """A step reads nothing in the workspace that it has not written: bits do not depend on it."""
    as_ever = steps(CASES[case](), 60, None)
    np.testing.assert_array_equal(steps(CASES[case](), 60, spoil_workspace), as_ever)


@pytest.mark.parametrize("case", CASES)
def test_memory_may_be_forgotten(case: str) -> None:
    """It makes steps cheaper; what they lead to is the same as far as the tolerance goes."""
    as_ever = steps(CASES[case](), 30, None)
    forgetful = steps(CASES[case](), 30, forget)
    # 1e-8 m/s in the mass metric of 12 kg is 4e-6 rad/s of a calf of 1e-4 kg m^2, in each step.
    np.testing.assert_allclose(forgetful, as_ever, rtol=0, atol=2e-4)


def test_features_serve_again_where_bodies_hardly_move() -> None:
    """A box at rest on another one stands as if its features were found in each step."""
    sims = [boxes(), boxes()]
    for sim in sims:
        sim.run(0.5)
    for _ in range(50):
        sims[1].parts.memory.system.valid[LOOKED] = 0
        for sim in sims:
            sim.run(sim.timestep)
        known = [sim.parts.work.collision.found["known"] for sim in sims]
        assert known[0].any()
        assert not known[1].any()
    np.testing.assert_allclose(sims[0].q, sims[1].q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sims[0].v, sims[1].v, rtol=0, atol=1e-8)


def test_what_bounces_does_not_depend_on_memory() -> None:
    """Feet that land one after the other: which ones are hit, and which only pressed on."""
    robot = robosim.load("a1", restitution=0.4)
    pd = PD(robot, np.array(robot.home)[7:] + 0.25, 60.0, 2.0, implicit=True)
    found = []
    for between in (None, forget):
        sim, q = Simulation(robot), []
        sim.place(gap=0.05)
        for _ in range(90):
            sim.run(1e-3, pd)
            q.append(sim.q.copy())
            if between is not None:
                between(sim)
        found.append(q)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_start_on_a_used_simulation_is_a_fresh_one(case: str) -> None:
    """To the last bit, whatever the simulation did before."""
    fresh, used = CASES[case](), CASES[case]()
    q, v = fresh.q, fresh.v
    fresh.set_state(q, v)
    steps(used, 80, None)
    used.set_state(q, v)
    np.testing.assert_array_equal(steps(used, 60, None), steps(fresh, 60, None))


@pytest.mark.parametrize("case", ["a1", "boxes", "loops that touch"])
def test_a_failed_step_leaves_state_and_guesses(case: str) -> None:
    """As they were, to the last bit, when it has been tried in all ways that there are.

    Nothing reads the guess of a contact that was not in the equations of the last step.
    """
    sim = CASES[case]()
    steps(sim, 20, None)
    kept = sim.copy()
    options = sim.parts.options
    hasty = options._replace(max_iterations=0)
    sim.engine.hand_over(sim.parts._replace(options=hasty))
    with pytest.raises(robosim.RobosimError):
        sim.step(torques(sim))
    sim.engine.hand_over(sim.parts._replace(options=options))
    for values, before in (
        (sim.parts.state, kept.parts.state),
        (sim.parts.memory[0], kept.parts.memory[0]),
    ):
        for (name, array), (_, other) in zip(floats(values), floats(before), strict=True):
            read = slice(None)
            if name.startswith("contacts."):
                read = kept.parts.memory[0].active != 0
            np.testing.assert_array_equal(array[read], other[read], err_msg=name)


def test_systems_for_sets_of_pairs_that_are_forgotten_are_made_again(monkeypatch):
    """Boxes that fall onto each other move to the same bits, whatever is kept for the next time."""
    ends, kept = [], []
    for most in (engine.MOST_CONNECTED, 0):
        monkeypatch.setattr(engine, "MOST_CONNECTED", most)
        sim = Simulation(bin_of(6, 0), 0.005, islands=False)
        sim.run(0.5)
        ends.append(sim.state.x)
        kept.append(len(sim.engine._connected))
    np.testing.assert_array_equal(*ends)
    assert kept[0] > 2
    assert kept[1] == 1
