"""Gymnasium environments: steps of A1Walk and of Gymnasium's Ant, beside MuJoCo's."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.bench.case import Case, Setup
from robosim.bench.measure import Contender, race
from robosim.bench.report import OURS, Report, Row, paired
from robosim.measuring.environments import Peer, around_physics, our_single, ours
from robosim.measuring.target import Target
from robosim.version import install

if TYPE_CHECKING:
    from robosim.envs import CompiledTask

Array = NDArray[np.float64]
COUNTS = (1, 8, 64, 512)
STEPS = 5  # of the simulation, for each action
PEERS = ("batch", "rollout", "gymnasium")
ANT = "Ant of Gymnasium"
WALK, ALONE, LEGS = "A1Walk", "A1Walk, RobotEnv", "A1Walk, RobotEnv, lanes=True"
# EnvPool's name of a task -> what rows call it. The Go1's is MuJoCo Playground's, with 5 steps of
# 4 ms for each action as A1Walk; it also finds observations for a critic.
POOLED = {"Ant-v5": f"{ANT}, EnvPool", "Go1JoystickFlatTerrain-v1": "Playground's Go1, EnvPool"}


def taking(who: str, told: str, step: Callable[[int], object], n: int, actions: int) -> Contender:
    """A contender that takes so many actions in each of n environments."""

    def run() -> bool:
        for k in range(actions):
            step(k)
        return True

    return Contender(who, told, n * actions, run, size=n)


def walkers(setup: Setup, n: int) -> list[Contender]:
    """n A1Walk in robosim, and the same robots with the same targets in MuJoCo."""
    actions = max(2, setup.choose(2048, 64) // n)
    field = [taking(OURS, WALK, ours(n, STEPS), n, actions)]
    if n == 1:
        field.append(taking(OURS, ALONE, our_single(STEPS, False), n, actions))
        field.append(taking(OURS, LEGS, our_single(STEPS, True), n, actions))
    if setup.has("mujoco"):
        peer = Peer(n)
        for name in PEERS:
            step = getattr(peer, name)()
            told = f"A1Walk, {name}"
            field.append(taking("MuJoCo", told, step, n, actions))
    return field


def ant() -> CompiledTask:
    """Gymnasium's Ant as a task of robosim: its model, its torques, and its rewards."""
    import gymnasium

    from robosim.envs import CompiledTask, Functions, Torques

    folder = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    # Of coordinates without x and y, as Gymnasium's.
    functions = Functions(see, 27, judge, ("forward", "healthy", "control"), ends, begin)

    class Ant(CompiledTask):
        timestep, steps, seconds = 0.01, STEPS, 50.0

        def robot(self) -> robosim.Mechanism:
            return robosim.load(folder / "ant.xml")

        def control(self, robot: robosim.Mechanism) -> Torques:
            return Torques(scale=150.0)

        def draws(self, robot: robosim.Mechanism) -> Any:
            return {"q": (np.full(15, -0.1), np.full(15, 0.1)), "v": (np.full(14, -0.1),
                    np.full(14, 0.1))}  # fmt: skip

        def functions(self) -> Functions:
            return functions

    return Ant()


def begin(start, i, q, v):  # type: ignore[no-untyped-def]
    """Near the standing pose of Gymnasium's Ant."""
    q[2] = 0.75
    for k in range(8):
        q[7 + k] = 0.0 if k % 2 == 0 else (1.0 if k in (1, 7) else -1.0)
    q += start.drawn[i].q
    q[3:7] /= np.sqrt(np.sum(q[3:7] ** 2))
    v[:] = start.drawn[i].v


def see(now, i, out):  # type: ignore[no-untyped-def]
    """Coordinates without x and y, and velocities."""
    out[:13] = now.q[i, 2:]
    out[13:] = now.v[i]


def judge(now, i, out):  # type: ignore[no-untyped-def]
    """Speed along x, being healthy, and what actions cost."""
    out[0] = (now.q[i, 0] - now.q_before[i, 0]) / now.dt
    out[1] = 1.0 if 0.2 <= now.q[i, 2] <= 1.0 else 0.0
    out[2] = 0.0
    for k in range(8):
        out[2] -= 0.5 * now.action[i, k] ** 2


def ends(now, i):  # type: ignore[no-untyped-def]
    """Whether the torso is too low or too high."""
    return not 0.2 <= now.q[i, 2] <= 1.0


def ants(setup: Setup) -> tuple[list[Contender], list[Row]]:
    """One Ant and 64 in robosim, and one in Gymnasium."""
    import gymnasium

    from robosim.envs import RobotVectorEnv

    actions, random = setup.choose(512, 16), np.random.default_rng(0)
    table = random.uniform(-1, 1, (20, 64, 8)).astype(np.float32)
    task, field = ant(), []
    for n in (1, 64):
        envs = RobotVectorEnv(task=task, num_envs=n, autoreset_mode="SameStep", threads=1)
        envs.reset(seed=0)
        step = partial(lambda envs, n, k: envs.step(table[k % 20, :n]), envs, n)
        field.append(taking(OURS, ANT, step, n, max(2, actions // n)))
    if not setup.has("mujoco"):
        return field, []
    try:
        env = gymnasium.make("Ant-v5", include_cfrc_ext_in_observation=False)
    except (ImportError, gymnasium.error.Error) as error:
        # Its environments of MuJoCo import what they write videos with, such as imageio.
        told = f'cannot: {error}; get it with: pip install "gymnasium[mujoco]"'
        return field, [Row("MuJoCo", ANT, None, note=told, size=1)]
    env.reset(seed=0)

    def single(k: int) -> None:
        if any(env.step(table[k % 20, 0])[2:4]):
            env.reset()

    return [*field, taking("MuJoCo", f"{ANT}, Ant-v5", single, 1, actions)], []


def pooled(setup: Setup) -> tuple[list[Contender], list[Row]]:
    """The Ant, and MuJoCo Playground's task of a Go1, in EnvPool with one thread."""
    if not setup.has("mujoco"):
        return [], []
    if importlib.util.find_spec("envpool") is None:
        return [], [Row("EnvPool", "", None, note="not installed: pip install envpool")]
    import envpool

    field, random = [], np.random.default_rng(0)
    for name, told in POOLED.items():
        for n in setup.choose((1, 64), (1,)):
            envs = envpool.make_gymnasium(name, num_envs=n, num_threads=1, seed=0)
            envs.reset()
            table = random.uniform(-1, 1, (20, n, 8))
            if name != "Ant-v5":  # targets that differ from the standing pose as those of A1Walk
                table = np.clip(0.1 / 0.5 * random.normal(size=(20, n, 12)), -1, 1)
            step = partial(lambda envs, table, k: envs.step(table[k % 20]), envs, table)
            field.append(taking("EnvPool", told, step, n, max(2, setup.choose(512, 16) // n)))
    return field, []


def batched(setup: Setup) -> tuple[list[Contender], list[Row]]:
    """Tasks of a Go1 that others train on GPUs, on the CPU: mjlab's, and MuJoCo Playground's."""
    if not setup.has("mujoco"):
        return [], []
    field, lost, n = [], [], setup.choose(64, 2)
    for who, told, module, package, made in BATCHED:
        if importlib.util.find_spec(module) is None:
            lost.append(Row(who, "", None, note=f"not installed: pip install {package}"))
            continue
        try:
            step = made(n)
            for k in range(3):
                step(k)  # compiles
        except Exception as error:  # of many libraries; Playground also fetches models at first
            lost.append(Row(who, told, None, note=f"cannot: {error}", size=n))
            continue
        field.append(taking(who, told, step, n, setup.choose(8, 2)))
    return field, lost


def playground(n: int) -> Callable[[int], object]:
    """Actions of n Go1 of MuJoCo Playground, in the implementation that it chooses."""
    import jax
    from mujoco_playground import registry

    env = registry.load("Go1JoystickFlatTerrain")
    begin, step = (jax.jit(jax.vmap(one)) for one in (env.reset, env.step))
    state = begin(jax.random.split(jax.random.PRNGKey(0), n))
    table = np.clip(0.2 * np.random.default_rng(0).normal(size=(20, n, env.action_size)), -1, 1)

    def act(k: int) -> None:
        nonlocal state
        state = step(state, jax.numpy.asarray(table[k % 20]))
        jax.block_until_ready(state.obs)

    return act


def mjlab(n: int) -> Callable[[int], object]:
    """Actions of n Go1 of mjlab's task of velocities on flat ground."""
    import mjlab.tasks  # noqa: F401, which registers them
    import torch
    from mjlab.envs import ManagerBasedRlEnv
    from mjlab.tasks.registry import load_env_cfg

    torch.set_num_threads(1)
    config = load_env_cfg("Mjlab-Velocity-Flat-Unitree-Go1")
    config.scene.num_envs = n
    env = ManagerBasedRlEnv(config, device="cpu")
    env.reset()
    shape = 20, n, env.action_manager.total_action_dim
    table = torch.as_tensor(0.2 * np.random.default_rng(0).normal(size=shape), dtype=torch.float32)
    return lambda k: env.step(table[k % 20])


# Who, what rows call it, the module that has to be there, its package, and what makes it.
BATCHED = (
    ("Playground", "Go1, flat ground, on the CPU", "mujoco_playground", "playground", playground),
    ("mjlab", "Go1, flat ground, on the CPU", "mjlab", "mjlab", mjlab),
)


def run_gym(setup: Setup) -> Report:
    """Environment steps of A1Walk, by number of environments, and of Gymnasium's Ant."""
    if importlib.util.find_spec("gymnasium") is None:
        told = f"not installed: {install('gym')}"
        return Report((Row("Gymnasium", "", None, note=told),), ())
    field: list[Contender] = []
    for n in setup.choose(COUNTS, COUNTS[:2]):
        setup.note(f"{n} environments")
        field += walkers(setup, n)
    setup.note("Ant")
    more, lost = ants(setup)
    pool, absent = pooled(setup)
    setup.note("Playground and mjlab")
    batches, without = batched(setup)
    field += more + pool + batches
    rows = [*race(field, setup.choose(7, 2)), *lost, *absent, *without]
    setup.note("what is not physics")
    part = around_physics(setup.choose(64, 8), STEPS, setup.choose(7.0, 0.1))
    targets = [Target("part of a step of A1Walk that is not physics", part, 0.1)]
    timed = {(row.who, row.told, row.size): row.timing.cpu for row in rows if row.timing}
    for told, n, least in ((LEGS, 1, 1.0), (WALK, 64, 4.0)):
        mine = timed.get((OURS, told, n))
        theirs = timed.get(("MuJoCo", "A1Walk, batch", n))
        if mine and theirs:
            told = f"rate of {n}, {told} / that of mujoco.batch"
            targets.append(Target(told, paired(theirs, mine), least, at_least=True))
    return Report((*setup.missing("mujoco"), *rows), tuple(targets), size="environments")


CASES = (
    Case(
        "gym",
        "Gymnasium environments: A1Walk and Ant, one and many, beside MuJoCo's",
        ("mujoco",),
        run_gym,
    ),
)
