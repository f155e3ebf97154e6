"""An action of a compiled task is one call, by whatever threads, units and lanes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from robosim.envs import RobotEnv, RobotVectorEnv, TaskError, row
from robosim.envs.tasks.a1_walk import FUNCTIONS, A1Walk
from robosim.envs.tasks.cart_pole import FUNCTIONS as SWING
from robosim.envs.tasks.cart_pole import CartPole
from robosim.envs.tasks.cart_pole import judge as reward_of_swing
from robosim.kernels.compiler.blocks import Block, take_number, unpack
from robosim.kernels.compiler.content import digest_of


def results(envs: RobotVectorEnv, count: int) -> list[Any]:
    """All that is returned in some steps."""
    actions = np.random.default_rng(0).uniform(-1, 1, (count, envs.num_envs, 1))
    found: list[Any] = [envs.reset(seed=2)[0]]
    for action in actions:
        *arrays, info = envs.step(action)
        found += [*arrays, *(info[name] for name in sorted(info) if name.startswith("reward"))]
    return found


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_threads_share_the_environments(mode: str) -> None:
    one, two = (
        results(
            RobotVectorEnv(
                task=CartPole(seconds=0.3, noise=0.01),
                num_envs=5,
                lanes=False,
                threads=threads,
                autoreset_mode=mode,
            ),
            30,
        )
        for threads in (1, 2)
    )
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_call_does_what_calls_from_python_do() -> None:
    """As where sensors are read within an action."""
    found = []
    for simple in (True, False):
        envs = RobotVectorEnv(task=CartPole(seconds=0.3), num_envs=3, lanes=False)
        assert envs.episodes.whole is not None
        envs.episodes.whole._simple = simple
        found.append(results(envs, 30))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_view_of_a_state_may_be_changed_between_actions() -> None:
    one, other = RobotEnv(), RobotEnv()
    for env in (one, other):
        env.reset(seed=1)
        env.step([0.5])
    sim = one.episodes.batch[0]
    sim.set_state(np.array([0.1, 0.2]), np.array([0.0, 1.0]))
    other.episodes.batch.set_state([[0.1, 0.2]], [[0.0, 1.0]])
    assert one.step([0.5])[1] == other.step([0.5])[1]
    sim.step()
    assert sim.time == pytest.approx(other.episodes.batch[0].time + sim.timestep)
    assert not np.array_equal(one.step([0.5])[0], other.step([0.5])[0])


def test_one_robot_takes_its_steps_with_its_legs_in_lanes() -> None:
    """Within the tolerance of the simulation; readings are of the last step all the same."""
    task: Any = {"task": A1Walk, "timestep": 2e-3, "limited": False}
    plain, fast = RobotEnv(**task), RobotEnv(lanes=True, **task)
    assert np.array_equal(plain.reset(seed=0)[0], fast.reset(seed=0)[0])
    random = np.random.default_rng(0)
    for _ in range(12):
        action = random.uniform(-0.4, 0.4, 12)
        one, other = plain.step(action), fast.step(action)
        np.testing.assert_allclose(other[0], one[0], atol=2e-4)
        assert other[1] == pytest.approx(one[1], abs=1e-4)
        sims = [env.episodes.batch[0] for env in (plain, fast)]
        assert sims[0].time == sims[1].time
        assert sims[1].energy() == pytest.approx(sims[0].energy(), abs=1e-3)
    plans = [env.episodes.bound.prepare() for env in (plain, fast)]
    assert [plan is not None and len(plan.limbs) for plan in plans] == [0, 1]
    plain.step(np.zeros(12))
    fast.step(np.zeros(12))
    for one, other in zip(*(sim.contacts() for sim in sims), strict=True):
        assert (one.link, one.other_link) == (other.link, other.other_link)
        np.testing.assert_allclose(other.force, one.force, atol=0.05)
        np.testing.assert_allclose(other.position, one.position, atol=1e-5)
    assert sum(one.force[2] for one in sims[0].contacts()) > 10.0


@row
def raising(now: Any, i: int, out: np.ndarray) -> None:
    """The reward of a cart and pole, with an error of two environments in two actions."""
    reward_of_swing(now, i, out)
    if i in (1, 3) and 0.03 < now.time[i] < 0.07:
        out[0] = 1.0 / int(now.dt)


RAISING = SWING._replace(reward=raising)


class Raising(CartPole):
    """A task with that reward."""

    def functions(self) -> Any:
        return RAISING


def test_what_is_wrong_in_one_environment_is_told_by_all_threads() -> None:
    def judge(now: Any, i: int, out: np.ndarray) -> None:
        """A term is not finite after the second action, and only the sum after the third."""
        out[:] = 1e308 if now.time[i] > 0.05 else 1.0
        if i == 3 and 0.03 < now.time[i] < 0.05:
            out[0] = np.nan

    class Odd(CartPole):
        def functions(self) -> Any:
            return functions

    functions = CartPole().functions()._replace(reward=row(judge), terms=("odd", "big"))
    envs = RobotVectorEnv(task=Odd(), num_envs=5, lanes=False, threads=2)
    envs.reset(seed=0)
    envs.step(np.zeros((5, 1)))
    with pytest.raises(TaskError, match="reward 'odd' is nan in row 3"):
        envs.step(np.zeros((5, 1)))
    with pytest.raises(TaskError, match="sum of a reward's terms"):
        envs.step(np.zeros((5, 1)))


@pytest.mark.parametrize(("threads", "simple"), [(1, True), (2, True), (1, False)])
def test_all_environments_act_if_a_function_raises_an_error(threads: int, simple: bool) -> None:
    """As if it had not: the next actions have the results of others."""
    found = []
    for task in (Raising(), CartPole()):
        envs = RobotVectorEnv(task=task, num_envs=5, lanes=False, threads=threads)
        assert envs.episodes.whole is not None
        envs.episodes.whole._simple = simple
        envs.reset(seed=0)
        action = np.full((5, 1), 0.3)
        envs.step(action)
        for _ in range(2):
            if isinstance(task, Raising):
                with pytest.raises(TaskError, match="raises ZeroDivisionError"):
                    envs.step(action)
            else:
                envs.step(action)
            assert len(set(envs.episodes.bound.time)) == 1
        found.append(envs.step(action))
        assert envs.episodes.count.tolist() == [4] * 5
    for one, other in zip(found[0][:4], found[1][:4], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_reward_of_an_environment_that_does_not_act_is_not_told() -> None:
    class Odd(CartPole):
        def reward(self, now: Any) -> Any:
            """Not finite in the first row after an episode, and in the last one a step later."""
            return {"odd": np.where(now.time > worst, np.nan, 1.0)}

    worst = np.array([0.03, 0.05])
    envs = RobotVectorEnv(task=Odd(seconds=9.0), num_envs=2, lanes=False)
    envs.reset(seed=0)
    envs.step(np.zeros((2, 1)))
    live = np.array([False, True])
    envs.episodes.now.time[0] = 1.0
    envs.episodes.count[0] = 50
    envs.episodes.step(np.zeros((2, 1)), live, np.flatnonzero(live))
    with pytest.raises(TaskError, match="reward 'odd' is nan in row 1"):
        envs.episodes.step(np.zeros((2, 1)), live, np.flatnonzero(live))


class Pair(NamedTuple):
    first: np.ndarray
    second: float


class Other(NamedTuple):
    first: np.ndarray
    third: float


def test_a_kind_of_blocks_is_that_of_any_number_of_rows() -> None:
    many = np.zeros((4, 6))
    kinds = [Block(Pair(many[:n, :3], 1.0)).kind for n in (1, 2, 4)]
    assert len(set(kinds)) == 1
    assert Block(Pair(np.zeros((1, 3)), 1.0)).kind != kinds[0]  # contiguous
    assert Block(Pair(many[:, :3], 1)).kind != kinds[0]  # a whole number
    assert Block(Other(many[:, :3], 1.0)).kind != kinds[0]


def test_a_block_has_the_values() -> None:
    values = Pair(np.arange(12.0).reshape(2, 6)[:, 1:3], -0.5)
    block = Block(values)
    kind = block.kind

    @row
    def sums(address: int) -> Any:
        on = unpack(address, kind)
        return on.first[0, 0] + 10 * on.first[1, 1] + on.second

    assert sums(block.address) == 1.0 + 80.0 - 0.5
    values.first[1, 1] = 9.0
    assert sums(block.address) == 1.0 + 90.0 - 0.5
    assert digest_of(sums) is not None


def test_numbers_are_taken_once() -> None:
    @row
    def take(counter: np.ndarray) -> int:
        return take_number(counter)

    counter = np.zeros(1, dtype=np.int64)
    assert [take(counter) for _ in range(3)] == [0, 1, 2]
    assert counter[0] == 3


def test_the_walkers_share_one_call() -> None:
    """Compiled code is that of a kind, whatever the number of environments."""
    calls = []
    for n in (1, 2):
        envs = RobotVectorEnv(task=A1Walk(), num_envs=n, lanes=False)
        envs.reset(seed=0)
        envs.step(np.zeros((n, 12)))
        assert envs.episodes.whole is not None
        calls.append(envs.episodes.whole._call)
    assert calls[0] is calls[1]
    assert len(calls[0].signatures) == 1  # type: ignore[attr-defined]
    assert A1Walk().functions() is FUNCTIONS
