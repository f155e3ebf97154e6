"""A run that is interrupted is where its time says; two threads cannot step one simulation."""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import robosim
from robosim import BatchSimulation, Simulation
from robosim.errors import StateError
from robosim.models.builders import chain
from robosim.runtime.handles import step_function
from robosim.runtime.lanes import group_step_function


class Interrupt(KeyboardInterrupt):
    """As Ctrl-C gives, but not to be taken for one of whoever runs the tests."""


def interrupt(number: int, frame: Any) -> None:
    raise Interrupt


def then_interrupted(take: Callable[..., Any], call: int = 1) -> Callable[..., None]:
    """Compiled code that is interrupted when it returns from so many calls."""
    calls = itertools.count(1)

    def interrupted(*arguments: Any) -> None:
        take(*arguments)
        if next(calls) == call:
            raise Interrupt

    return interrupted


@pytest.fixture
def interrupted_soon() -> Iterator[None]:
    """Gives signals back; one after 20 ms of work comes in the midst of a long run's steps."""
    before = signal.signal(signal.SIGVTALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers of signals")
@pytest.mark.parametrize("control", [None, "zero"])
def test_an_interrupted_run_is_where_its_time_says(interrupted_soon: None, control: Any) -> None:
    """Compiled code takes 1000 steps at a time, and the interrupt is raised after them."""
    sim, other = Simulation(chain(8)), Simulation(chain(8))
    q = np.linspace(0.1, 0.5, 8)
    for each in (sim, other):
        each.set_state(q)
        each.copy().run(0.002, control)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)
    with pytest.raises(Interrupt):
        sim.run(1000.0, control)
    assert sim.steps > 0
    assert sim.time == sim.steps * sim.timestep
    other.run(sim.time, control)
    assert other.steps == sim.steps
    np.testing.assert_array_equal(sim.q, other.q)
    np.testing.assert_array_equal(sim.v, other.v)
    for each in (sim, other):
        each.step()
    np.testing.assert_array_equal(sim.q, other.q)


def test_an_interrupt_after_compiled_code_leaves_its_steps_counted() -> None:
    """As the interpreter raises it: when the call comes back."""
    sim, as_ever = Simulation(chain(3)), Simulation(chain(3))
    for each in (sim, as_ever):
        each.set_state([0.1, 0.2, 0.3])
    sim.step()
    take = sim.engine.step_states
    assert take is not None
    sim.engine.step_states = then_interrupted(take)
    with pytest.raises(Interrupt):
        sim.run(0.025)
    assert sim.steps == 26
    assert sim.time == 26 * sim.timestep
    assert sim.last_step is not None
    sim.engine.step_states = take
    as_ever.run(sim.time)
    np.testing.assert_array_equal(sim.q, as_ever.q)
    for each in (sim, as_ever):
        each.step()
    assert sim.steps == 27
    np.testing.assert_array_equal(sim.q, as_ever.q)


def test_a_simulation_that_another_thread_steps_is_refused() -> None:
    """In a sentence, and without a trace: the first one goes on."""
    sim, as_ever = Simulation(chain(3)), Simulation(chain(3))
    for each in (sim, as_ever):
        each.set_state([0.1, 0.2, 0.3])
    sim.step()
    take, inside, go_on = sim.engine.step_states, threading.Event(), threading.Event()
    assert take is not None

    def slow(*arguments: Any) -> None:
        inside.set()
        assert go_on.wait(30)
        take(*arguments)

    sim.engine.step_states = slow
    thread = threading.Thread(target=sim.run, args=(0.01,))
    thread.start()
    assert inside.wait(30)
    uses = (
        sim.step,
        lambda: sim.run(0.01),
        lambda: list(sim.stream(0.01)),
        sim.set_state,
        sim.copy,
        lambda: sim.restore(sim),
    )
    for use in uses:
        with pytest.raises(
            StateError, match=r"another thread is stepping this simulation.*copy\(\)"
        ):
            use()
    go_on.set()
    thread.join(30)
    assert sim.steps == 11
    as_ever.run(sim.time)
    np.testing.assert_array_equal(sim.q, as_ever.q)
    sim.step()
    assert sim.steps == 12


def test_a_failed_step_leaves_the_simulation_free() -> None:
    sim = Simulation(chain(3))
    with pytest.raises(ValueError, match="shape"):
        sim.step([1.0, 2.0])
    sim.step()
    assert sim.steps == 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("bound", [False, True])
def test_an_interrupted_rollout_leaves_each_state_where_its_time_says(
    threads: int, bound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes while some states have taken their steps and others have not."""
    batch = BatchSimulation(chain(3), 5, threads=threads, lanes=False)
    batch.set_state(np.linspace(0.1, 0.5, 15).reshape(5, 3))
    alone = [batch[i].copy() for i in range(5)]

    def take(*given: Any) -> Any:
        made = step_function(*given)
        found: Any = then_interrupted(made, threads)
        found.func, found.args = made.func, made.args  # whose addresses compiled code may call
        return found

    monkeypatch.setattr(f"robosim.batch.{'bound' if bound else 'stepping'}.step_function", take)
    with pytest.raises(Interrupt):
        batch.bind(20).step() if bound else batch.rollout(20)
    monkeypatch.undo()
    taken = np.rint(batch.time / batch.timestep).astype(int)
    assert set(taken.tolist()) <= {0, 20}
    assert np.count_nonzero(taken) >= 2
    for steps, sim in zip(taken.tolist(), alone, strict=True):
        for _ in range(steps):
            sim.step()
    np.testing.assert_array_equal(batch.q, [sim.q for sim in alone])
    batch.rollout(3)
    np.testing.assert_allclose(batch.time, (taken + 3) * batch.timestep)


def test_an_interrupted_run_in_lanes_is_where_its_time_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compiled code tells how far lanes have come, before the interrupt is raised."""
    robot = robosim.load("a1")
    q = np.array(robot.home)
    q[2] += 1.0
    sim, as_ever = Simulation(robot, lanes=True), Simulation(robot, lanes=True)
    for each in (sim, as_ever):
        each.set_state(q)

    def take(*kinds: Any) -> Any:
        return then_interrupted(group_step_function(*kinds))

    monkeypatch.setattr("robosim.runtime.lanes.group_step_function", take)
    with pytest.raises(Interrupt):
        sim.run(0.2)
    monkeypatch.undo()
    assert sim.steps > 100
    as_ever.run(sim.time)
    assert sim.steps == as_ever.steps
    np.testing.assert_allclose(sim.q, as_ever.q, atol=1e-9)
    sim.step()
    as_ever.step()
    np.testing.assert_allclose(sim.q, as_ever.q, atol=1e-9)
