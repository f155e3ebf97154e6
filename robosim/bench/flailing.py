"""A humanoid that falls under random torques, with links that touch each other and without.

Both simulators have the collision meshes of the robot's file as convex hulls. MuJoCo reads the MJCF
that robosim writes, with the same pairs of links that may touch, at its default settings.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import robosim
from robosim.batch import BatchSimulation
from robosim.bench.case import Setup
from robosim.bench.measure import Contender, race, rollout
from robosim.bench.report import OURS, PENETRATION, Report, Row, paired
from robosim.description.mechanism import Mechanism
from robosim.measuring.target import Target

Array = NDArray[np.float64]
TIMESTEP, TORQUE = 2e-3, 5.0  # [s], [N m]
APART, TOUCHING = "links pass through each other", "links touch each other"


def flailing(setup: Setup, robot: Mechanism) -> Report:
    """Steps of a robot that falls from just above the ground, its torques uniform in +-5 N m.

    Parameters
    ----------
    robot : Mechanism
        With `self_collision`; timed without it as well.
    """
    steps = setup.choose(300, 60)
    torques = np.random.default_rng(0).uniform(-TORQUE, TORQUE, (steps, robot.nu))
    kinds = {APART: robot.with_contacts(self_collision=False), TOUCHING: robot}
    q = np.array(robot.home)
    q[2] -= robosim.Simulation(kinds[APART]).min_gap(10.0) - 1e-3
    field = []
    for told, one in kinds.items():
        setup.note(f"robosim, {told}")
        field.append(_ours(one, q, torques, told))
    with tempfile.TemporaryDirectory() as folder:
        for told, one in kinds.items() if setup.has("mujoco") else ():
            setup.note(f"MuJoCo, {told}")
            field.append(_theirs(one, Path(folder) / "robot.xml", q, torques, told))
        rows = setup.missing("mujoco") + race(field, setup.repetitions)
    return Report(rows, _targets(rows))


def _targets(rows: tuple[Row, ...]) -> tuple[Target, ...]:
    """robosim's time with contacts between links over that without, and over MuJoCo's."""
    times = {(row.who, row.told): row.timing.cpu for row in rows if row.timing}
    found = []
    if (OURS, TOUCHING) in times and (OURS, APART) in times:
        ratio = paired(times[OURS, TOUCHING], times[OURS, APART])
        found.append(Target("time with links that touch over that without", ratio, 2.0))
    for told in (APART, TOUCHING):
        if (OURS, told) in times and ("MuJoCo", told) in times:
            ratio = paired(times[OURS, told], times["MuJoCo", told])
            found.append(Target(f"{told}: robosim's time / MuJoCo's", ratio, 1.0))
    return tuple(found)


def _ours(robot: Mechanism, q: Array, torques: Array, told: str) -> Contender:
    batch = BatchSimulation(robot, 1, timestep=TIMESTEP, threads=1)

    def run() -> bool:
        return not batch.rollout(len(torques), torques[None], every=len(torques)).failed.any()

    sim = robosim.Simulation(robot, TIMESTEP)
    sim.set_state(q)
    log = sim.run(TIMESTEP * len(torques), _in_turn(torques))
    errors = {PENETRATION: max(0.0, -float(log.gap.min()))}
    figures = {"iterations": float(log.iterations.mean()), "at most": float(log.iterations.max())}
    return Contender(
        OURS, told, len(torques), run, lambda: batch.set_state(q), errors=errors, figures=figures
    )


def _in_turn(torques: Array) -> Callable[[robosim.Simulation], Array]:
    """A controller that gives one row after the other."""
    return lambda sim: torques[min(round(sim.time / TIMESTEP), len(torques) - 1)]


def _theirs(robot: Mechanism, file: Path, q: Array, torques: Array, told: str) -> Contender:
    import mujoco

    robosim.save(robot, file)
    model = mujoco.MjModel.from_xml_path(str(file))
    model.opt.timestep = TIMESTEP
    data = mujoco.MjData(model)
    names = [model.actuator(k).name for k in range(model.nu)]
    order = [robot.actuated_names.index(name) for name in names]
    data.qpos[:] = robosim.to_mujoco(robot, q, model=model)
    run = rollout(model, data, np.ascontiguousarray(torques[:, order]))
    return Contender("MuJoCo", told, len(torques), run)
