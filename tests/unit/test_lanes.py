"""States that take their steps together in the lanes of registers do what each does alone."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from landing import assert_same, landing
from numba import types

import robosim
from robosim import BatchSimulation, OptionError, Simulation
from robosim.batch import beside, warming
from robosim.controllers import PD, trot
from robosim.kernels.compiler.addresses import TYPES, load
from robosim.kernels.compiler.jit import entry, kernel
from robosim.kernels.compiler.lanes import (
    WIDTH,
    Lanes,
    everywhere,
    lane,
    limbs,
    pick,
    somewhere,
    together,
)
from robosim.kernels.compiler.lanes import lanes as state_lanes
from robosim.models.builders import chain
from robosim.runtime.handles import Handle
from robosim.runtime.wide import laned_type, widen

N, STEPS = 2 * WIDTH + 3, 80
NUMBERS = np.dtype([("y", "f8", (20,)), ("n", "i8")])


@kernel
def compute(a, b, c, out):
    """What kernels do with numbers; a, b and c are of length 1."""
    y, n, one, total = out.y, 0, 1, 0.0
    a, b, c = a[0], b[0], c[0]
    y[0], y[1], y[2], y[3] = a + b, a - 2.0, one * b, a / b
    y[4], y[5], y[6], y[7] = -a, abs(a), math.sqrt(abs(a)), math.floor(3.0 * a)
    y[8], y[9], y[10] = math.sin(a), math.cos(b), math.atan2(a, b)
    y[11], y[12] = max(a, 0.5, b), min(a, b)
    y[13], y[14] = pick(a < b, a, 7.0), pick(not a < b, 1.0, b)
    y[15] = math.asin(min(abs(a), 1.0))
    for i in range(3):
        total += i * a
    y[16] = total
    y[17] = 1.0 if everywhere(a < b) else 2.0
    y[18] = 1.0 if somewhere(a < b) else 2.0
    if c > 0.0 and math.isfinite(a):
        n += 1
    y[19] = c
    y[19] *= 3.0
    out.n = n


def compute_together(kind: int) -> Any:
    @entry
    def run(address):
        a, b, c, out = load(address, kind)
        if not together(compute, (a, b, c, out[0])):
            return math.inf
        return lane(out[0].y[0], 3)

    return run


@entry
def compute_alone(a, b, c, out):
    compute(a, b, c, out[0])


@pytest.mark.parametrize("kind", [state_lanes, limbs])
def test_lanes_compute_as_single_numbers_do(kind: Lanes) -> None:
    """To the last bit, whole numbers for all of them; or they part, where a branch asks them to."""
    rng, width = np.random.default_rng(0), kind.width
    a, b = rng.normal(size=(2, width, 1))
    a[::3] -= 3.0
    a[1] = b[1] + 1.0
    c, out = np.arange(1.0, 1.0 + width)[:, None], np.zeros((width, 1), dtype=NUMBERS)
    wide = tuple(widen(list(values), kind) for values in (a, b, c, out))
    handle = Handle(wide)
    TYPES[handle.kind + 1] = types.Tuple([laned_type(array, kind) for array in wide])
    run = compute_together(handle.kind + 1)
    first, results = run(handle.address), wide[3]
    for i in range(width):
        compute_alone(a[i], b[i], c[i], out[i])
        expected = out["y"][i, 0].copy()
        expected[17:19] = 2.0, 1.0  # of all states, which differ
        np.testing.assert_array_equal(results["y"][0, :, i], expected)
    assert results["n"][0] == 1
    assert first == out["y"][3, 0, 0]
    wide[2]["value"][0, 2] = -1.0
    assert run(handle.address) == math.inf
    wide[2]["value"][:] = -1.0
    assert run(handle.address) == first
    assert results["n"][0] == 0


@pytest.fixture(scope="module")
def feet() -> Any:
    return landing(N)


def assert_alike(one: Any, other: Any, tolerance: float) -> None:
    """The same but for what the solver's tolerance leaves; iterations are those of a group."""
    for name in ("t", "done", "failed"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("q", "v", "tau", "gap", "violation"):
        a, b = getattr(one, name), getattr(other, name)
        scale = 1e4 if name in ("v", "tau") else 1.0
        np.testing.assert_allclose(a, b, rtol=0, atol=scale * tolerance, err_msg=name)


def test_states_that_are_alike_keep_every_bit(feet: Any) -> None:
    """What all decide in the same way is computed as for one of them."""
    robot, q = feet
    batch = BatchSimulation(robot, WIDTH, threads=1)
    batch.set_state(q[5])
    together, sim = batch.rollout(STEPS, controller="stand"), Simulation(robot)
    assert batch._stepping.groups[0].behind.all()
    sim.set_state(q[5])
    alone = sim.run(STEPS * sim.timestep, "stand")
    for i in range(WIDTH):
        np.testing.assert_array_equal(together.q[i, :-1], alone.q)
        np.testing.assert_array_equal(together.tau[i], alone.tau)
        np.testing.assert_array_equal(together.gap[i], alone.gap)
        np.testing.assert_array_equal(together.iterations[i], alone.iterations)
        assert batch[i].energy() == sim.energy()
        np.testing.assert_array_equal(batch[i].contact_forces(), sim.contact_forces())
        for name, wrench in sim.joint_wrenches().items():
            np.testing.assert_array_equal(batch[i].joint_wrenches()[name], wrench)
    # On its own it goes on as one that always was.
    np.testing.assert_array_equal(batch[3].run(0.03, "stand").q, sim.run(0.03, "stand").q)


@pytest.mark.parametrize("threads", [1, 3])
def test_states_that_land_one_after_the_other(feet: Any, threads: int) -> None:
    """Contacts, iterations and lengths of steps are shared; the answers agree."""
    robot, q = feet
    runs = []
    for lanes in (True, True, False):
        batch = BatchSimulation(robot, N, threads=threads, lanes=lanes)
        batch.set_state(q)
        runs.append([batch.rollout(STEPS, controller=trot(robot)) for _ in range(2)])
        assert len(batch._stepping.groups) == (2 if lanes else 0)
    for one, again, alone in zip(*runs, strict=True):
        assert_same(one, again)
        # Impacts end anywhere within the tolerance of the contacts' products.
        assert_alike(one, alone, 1e-5)
        # What is left over takes its steps alone.
        np.testing.assert_array_equal(one.q[2 * WIDTH :], alone.q[2 * WIDTH :])
    assert runs[0][1].iterations.mean() > 1.0


def test_threads_do_not_change_a_bit(feet: Any) -> None:
    robot, q = feet
    rng = np.random.default_rng(0)
    drive = {"kp": rng.uniform(40, 80, (N, robot.nu)), "kd": rng.uniform(1, 3, (N, robot.nu))}
    runs = []
    for threads in (1, 2, 5):
        batch = BatchSimulation(robot, N, threads=threads)
        batch.set_state(q)
        runs.append(batch.rollout(2 * STEPS, controller=trot(robot), **drive))
    assert_same(runs[0], runs[1])
    assert_same(runs[0], runs[2])
    assert not runs[0].failed.any()


def test_a_step_at_a_time_is_the_same(feet: Any) -> None:
    robot, q = feet
    torques = np.random.default_rng(1).normal(size=(N, STEPS, robot.nu))
    batch = BatchSimulation(robot, N, threads=1)
    batch.set_state(q)
    out = batch.rollout(STEPS, torques)
    batch.set_state(q)
    for k in range(STEPS):
        batch.rollout(1, torques[:, k])
        np.testing.assert_array_equal(batch.q, out.q[:, k + 1])


def test_servos_in_the_equations_come_and_go(feet: Any) -> None:
    robot, q = feet
    servo = PD(robot, np.asarray(robot.stance.target), 60.0, 3.0, implicit=True)
    ends = []
    for lanes in (True, False):
        batch = BatchSimulation(robot, WIDTH, threads=1, lanes=lanes)
        batch.set_state(q[:WIDTH])
        ends.append([batch.rollout(40, controller=one) for one in (servo, "stand", servo)])
    for one, alone in zip(*ends, strict=True):
        assert_alike(one, alone, 1e-8)


def test_what_is_done_to_one_state_between_rollouts(feet: Any) -> None:
    """A wrench, a start, and steps of its own: the group takes them over."""
    robot, q = feet
    ends = []
    for lanes in (True, False):
        batch = BatchSimulation(robot, WIDTH, threads=1, lanes=lanes)
        batch.set_state(q[:WIDTH])
        batch.rollout(30, controller="stand")
        batch[2].apply_wrench("base", force=[20.0, 0.0, 0.0])
        np.testing.assert_array_equal(batch[2].wrench("base")[:3], [20.0, 0.0, 0.0])
        batch.set_state(q[12], index=4)
        ends.append(batch.rollout(30, controller="stand"))
        batch[6].run(0.01)
        ends.append(batch.rollout(30, controller="stand"))
    for one, alone in zip(ends[:2], ends[2:], strict=True):
        np.testing.assert_allclose(one.q, alone.q, rtol=0, atol=1e-8)
    pushed = ends[0].q[:, -1, 0] - ends[0].q[:, 0, 0]
    assert pushed[2] > np.median(pushed) + 3e-4


def test_lanes_that_come_later(feet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, to the bit, as long as another process compiles; in lanes from the next call on."""
    robot, q = feet
    ready = tmp_path / "ready"
    waits = (
        f"import pathlib, time\nwhile not pathlib.Path({str(ready)!r}).exists(): time.sleep(0.02)"
    )
    monkeypatch.setattr(beside, "COMPILE", waits)
    runs = {}
    for lanes in ("later", False, True):
        ready.unlink(missing_ok=True)
        batch = BatchSimulation(robot, N, threads=1, lanes=lanes)
        batch.set_state(q)
        bound = batch.bind(1, controller="stand")
        runs[lanes] = [batch.rollout(STEPS, controller="stand").q]
        bound.step()
        runs[lanes].append(bound.q.copy())
        assert batch.lanes is (lanes is True)
        ready.touch()
        end = time.monotonic() + 30.0
        while lanes == "later" and not batch.lanes and time.monotonic() < end:
            time.sleep(0.02)
        assert batch.lanes is bool(lanes)
        for _ in range(STEPS):
            bound.step()
        runs[lanes] += [bound.q.copy(), batch.rollout(STEPS, controller="stand").q]
        assert bool(batch._stepping.groups) is bool(lanes)
    later, alone, together = runs["later"], runs[False], runs[True]
    for k in (0, 1):
        assert np.array_equal(later[k], alone[k])
    assert not np.array_equal(alone[0], together[0])
    for k in (2, 3):
        np.testing.assert_allclose(later[k], alone[k], rtol=0, atol=1e-8)
        assert not np.array_equal(later[k], alone[k])


def test_the_other_process_takes_steps_in_lanes(feet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the robots and with the options that it is given, whether or not they can be stepped."""
    robot, _ = feet
    taken: list[BatchSimulation] = []
    bind = BatchSimulation.bind
    monkeypatch.setattr(
        BatchSimulation, "bind", lambda self, *a, **o: taken.append(self) or bind(self, *a, **o)
    )
    nice = getattr(os, "nice", None)
    monkeypatch.setattr(os, "nice", lambda more: nice(0) if nice else 0, raising=False)
    warming.compile_here(pickle.dumps(([robot] * WIDTH, {"timestep": 2e-3, "gravity": (0, 0, -5)})))
    (batch,) = taken
    assert batch.timestep == 2e-3
    assert batch._stepping.groups[0].alike


def test_lanes_are_a_switch_or_later(feet: Any) -> None:
    with pytest.raises(OptionError, match="lanes must be True, False or 'later', not 'soon'"):
        BatchSimulation(feet[0], WIDTH, lanes="soon")
    few = BatchSimulation(feet[0], 2, lanes="later")
    assert few.lanes
    assert few._stepping.beside is None


def test_parameters_belong_to_a_state(feet: Any) -> None:
    robot, q = feet
    trunk, rng = robot.bodies[0], np.random.default_rng(2)
    robots = []
    for scale, friction in rng.uniform((1.0, 0.3), (1.5, 1.0), (WIDTH, 2)):
        heavy = replace(trunk, mass=scale * trunk.mass, inertia=scale * np.asarray(trunk.inertia))
        contacts = tuple(replace(contact, friction=friction) for contact in robot.contacts)
        robots.append(replace(robot, bodies=(heavy, *robot.bodies[1:]), contacts=contacts))
    runs = []
    for lanes in (True, False):
        batch = BatchSimulation(robots, threads=1, lanes=lanes)
        batch.set_state(q[:WIDTH])
        runs.append(batch.rollout(STEPS, controller="stand"))
    assert_alike(*runs, 1e-8)
    assert np.ptp(runs[0].q[:, -1, 2]) > 1e-4


def test_robots_that_are_built_differently_go_alone() -> None:
    """Whole numbers are shared by a group: where joints have laws, or which body is where."""
    robot = chain(3)
    damped = replace(robot, joints=(*robot.joints[:2], replace(robot.joints[2], damping=0.1)))
    robots = [robot] * (WIDTH - 1) + [damped]
    batch = BatchSimulation(robots, timestep=0.01, threads=1)
    batch.set_state([0.4, 0.3, 0.2])
    out = batch.rollout(20)
    assert batch._stepping.groups == {}
    sim = Simulation(damped, 0.01)
    sim.set_state([0.4, 0.3, 0.2])
    np.testing.assert_array_equal(out.q[-1, :-1], sim.run(0.2).q)


def test_a_failure_stops_only_its_state() -> None:
    """Its group parts at the step, and the others go on by themselves from there."""
    robot = chain(2)
    q = np.linspace((0.1, 0.2), (0.4, 0.3), WIDTH)
    torques = np.zeros((WIDTH, 10, 2))
    torques[1, 4:] = 1e9
    runs = []
    for lanes in (True, False):
        batch = BatchSimulation(robot, WIDTH, 0.01, threads=1, lanes=lanes, max_substeps=1)
        batch.set_state(q)
        runs.append(batch.rollout(10, torques))
        batch.set_state(q[1], index=1)
        assert not batch.rollout(3).failed.any()
    assert_alike(*runs, 1e-9)
    assert runs[0].failed.tolist() == [i == 1 for i in range(WIDTH)]
    assert runs[0].done.tolist() == [4 if i == 1 else 10 for i in range(WIDTH)]


def test_states_that_part_try_again() -> None:
    """One of them turns so fast that its steps are divided, until that is damped."""
    robot = chain(2)
    joints = (replace(robot.joints[0], damping=2.0), replace(robot.joints[1], damping=2.0))
    robot = replace(robot, joints=joints)
    q = np.linspace((0.1, 0.2), (0.4, 0.3), WIDTH)
    v = np.zeros((WIDTH, 2))
    v[3, 0] = 130.0
    runs = []
    for lanes in (True, False):
        batch = BatchSimulation(robot, WIDTH, 0.01, threads=1, lanes=lanes)
        batch.set_state(q, v)
        runs.append(batch.rollout(100))
        assert batch._stepping.recent is not None
        divided = batch._stepping.recent[0].infos["substeps"] > 1
        assert divided[3].any()
        assert not divided[3].all()
        assert not np.delete(divided, 3, axis=0).any()
    assert_alike(*runs, 1e-7)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("limit", [None, 20.0])
def test_what_bounces_does_not_depend_on_other_states(implicit: bool, limit: float | None) -> None:
    """Feet that land one after the other, beside a state that begins again and again."""
    robot = robosim.load("a1", restitution=0.4)
    more = {} if limit is None else {"limit": limit}
    pd = PD(robot, np.array(robot.home)[7:] + 0.25, 60.0, 2.0, implicit=implicit, **more)
    first = Simulation(robot)
    first.place(gap=0.03)
    q = np.tile(first.q, (WIDTH, 1))
    q[:, 2] += 1.5e-3 * np.arange(WIDTH)
    batch, found = BatchSimulation(robot, WIDTH, threads=1), []
    starts = batch.prepare(q)
    batch.reset(starts, which=np.arange(WIDTH))
    for k in range(10):
        if k >= 4:
            batch.reset(starts, which=3, index=3)
        batch.rollout(10, controller=pd)
        found.append(batch.q.copy())
    for i in set(range(WIDTH)) - {3}:
        sim = Simulation(robot)
        sim.set_state(q[i])
        for one in found:
            sim.run(0.01, pd)
            np.testing.assert_allclose(one[i], sim.q, rtol=0, atol=1e-6)


def test_nothing_parts_once_the_state_moves() -> None:
    """A step is undone by leaving the state where it is: what moves it must go through."""
    program = """
    import robosim
    from numba import types
    from robosim.kernels.compiler import lanes
    from robosim.kernels.compiler.addresses import TYPES
    from robosim.batch.group import Group
    from robosim.runtime.limbs import Limbs
    from robosim.models.builders import chain

    def refuse(context, builder, condition):
        raise AssertionError("a kernel may part")

    lanes.agreed = refuse
    from robosim.kernels.compiler.jit import kernel
    from robosim.kernels.solve.tree import scheme
    from robosim.kernels.step.finish import commit
    from robosim.kernels.step.learn import learn

    a1 = robosim.load("a1")
    legs = robosim.Simulation(a1, lanes=True)
    made = [(Limbs(legs.parts, legs.engine.lanes), lanes.limbs)]
    for robot in (chain(2), a1):
        batch = robosim.BatchSimulation(robot, lanes.WIDTH, threads=1)
        made.append((Group(batch.robot, [one.parts for one in batch._sims]), lanes.lanes))
    for one, numbers in made:
        kinds = TYPES[one.kind].types
        model, state, memory, loads, work, options, info = kinds[:7]
        tree, system, info = types.Module(scheme), memory[1], info.dtype
        number, yes = types.float64, types.boolean
        commit.compile((tree, model, state, system, work, number, yes, types.int64, info))
        last = (number, numbers, yes, numbers, info)
        learn.compile((tree, model, state, memory, work, *last))
    try:
        kernel(lambda x: 1.0 if x > 0.0 else 2.0).compile((lanes.lanes,))
    except AssertionError as error:
        print(error)
    """
    run = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "a kernel may part\n"
