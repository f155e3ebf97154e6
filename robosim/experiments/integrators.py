"""Errors of all integrators over their computing time, and the fastest one for each error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import robosim
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import ConvergenceError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels, tick_finely
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.formulation import Formulation
from robosim.measuring.runs import cpu_time, exponent
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain
from robosim.peers.mujoco_run import MuJoCoRun, Settings
from robosim.simulation import Simulation
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOOR = 1e-11  # [rad, m] errors below are not used for orders
LEVELS = (1e-2, 1e-4, 1e-6, 1e-8)  # errors at which computing times are compared
MUJOCO = "MuJoCo, RK4"


class Motion(NamedTuple):
    """A robot that moves freely."""

    robot: Mechanism
    q: Array
    v: Array
    seconds: float
    timesteps: tuple[float, ...]  # [s]


def _minimal(robot: Mechanism, timestep: float, integrator: str, order: int) -> Formulation:
    return MinimalSimulation(robot, timestep, integrator=integrator, order=order, tolerance=1e-12)


def _maximal(robot: Mechanism, timestep: float, order: int) -> Formulation:
    return Simulation(robot, timestep, tolerance=1e-11, order=order)


ORDERS = {"maximal, order 2": 2, "maximal, order 4": 4, "RIQN": 2, "Galerkin, order 2": 2,
          "Galerkin, order 4": 4, "Galerkin, order 6": 6}  # fmt: skip
MAKERS: dict[str, Callable[[Mechanism, float], Formulation]] = {
    name: partial(_maximal, order=order)
    if "maximal" in name
    else partial(_minimal, integrator="riqn" if name == "RIQN" else "galerkin", order=order)
    for name, order in ORDERS.items()
}


def a1_in_the_air() -> Mechanism:
    """The A1 without contacts, joint limits and dry friction."""
    robot = robosim.load("a1", ground=False)
    joints = tuple(replace(joint, lower=None, upper=None, friction=0.0) for joint in robot.joints)
    return replace(robot, joints=joints)


def motions(setup: Setup) -> dict[str, Motion]:
    """The motions that are compared."""
    few = (0.02, 0.01)
    rng = np.random.default_rng(3)
    two, ten, a1 = chain(2), chain(10), a1_in_the_air()
    q, v = np.array(a1.home), 2.0 * rng.normal(size=a1.nv)
    q[2], v[:6] = 5.0, (0.3, 0.2, 1.0, 0.5, -1.0, 0.7)
    fine = (0.02, 0.01, 0.005, 0.0025, 0.00125)
    return {
        "double pendulum": Motion(
            two, np.array([2.0, 0.5]), np.zeros(2), *setup.choose((2.0, fine), (0.6, few))
        ),
        "ten links": Motion(
            ten, rng.uniform(-0.4, 0.4, size=10), np.zeros(10),
            *setup.choose((1.0, fine), (0.2, few)),
        ),
        "A1 in the air": Motion(a1, q, v, *setup.choose((0.5, fine), (0.2, few))),
    }  # fmt: skip


def _timed(start: Callable[[], Any], run: Callable[[], Any], rounds: int) -> float:
    """Shortest CPU time [s] of a run from its start."""
    best = np.inf
    for _ in range(rounds):
        start()
        best = min(best, cpu_time(run)[0])
    return best


def _measure(motion: Motion, name: str, timestep: float, rounds: int) -> tuple[Array, float] | None:
    """(coordinates at the end, CPU time [s]); None where a step was not solved."""
    steps = round(motion.seconds / timestep)
    if name == MUJOCO:
        peer = MuJoCoRun(motion.robot, timestep, Settings("RK4"))
        seconds = _timed(
            lambda: peer.set_state(motion.q, motion.v), lambda: peer.step(steps), rounds
        )
        return np.array(peer.data.qpos), seconds
    sim = MAKERS[name](motion.robot, timestep)

    def run() -> None:
        for _ in sim.stream(motion.seconds, chunk_steps=steps):
            pass

    try:
        seconds = _timed(lambda: sim.set_state(motion.q, motion.v), run, rounds)
    except ConvergenceError:
        return None
    return sim.q, seconds


def _time_at(level: float, errors: Array, seconds: Array) -> float:
    """Time [s] for an error, interpolated between measured errors; inf beyond these."""
    reached = np.flatnonzero(errors <= level)
    if not reached.size:
        return float("inf")
    k = int(reached[0])
    if k == 0 or not np.isfinite(errors[k - 1]):
        return float(seconds[k])
    x = np.log(errors[[k, k - 1]])
    return float(np.exp(np.interp(np.log(level), x, np.log(seconds[[k, k - 1]]))))


def _compare(motion: Motion, names: list[str], setup: Setup, told: str) -> dict[str, Any]:
    """Errors and times of all integrators on a motion, and the fastest for each error."""
    exact = MinimalSimulation(
        motion.robot, min(motion.timesteps) / 2, integrator="galerkin", order=8, tolerance=1e-13
    )
    exact.set_state(motion.q, motion.v)
    exact.run(motion.seconds)
    dynamics = Dynamics(motion.robot)
    rows: dict[str, Any] = {}
    for name in names:
        errors, times = [], []
        for timestep in motion.timesteps:
            setup.note(f"{told}, {name}, {timestep:g} s")
            found = _measure(motion, name, timestep, setup.choose(3, 2))
            errors.append(
                np.nan if found is None else np.abs(dynamics.difference(exact.q, found[0])).max()
            )
            times.append(np.nan if found is None else found[1])
        error = np.array(errors)
        clear = np.flatnonzero(error > FLOOR)[-2:]
        rows[name] = {
            "error": error,
            "cpu_seconds": np.array(times),
            "measured_order": exponent(np.array(motion.timesteps)[clear], error[clear])
            if len(clear) == 2
            else np.nan,
        }
    fastest = {}
    for level in LEVELS:
        spent = {n: _time_at(level, row["error"], row["cpu_seconds"]) for n, row in rows.items()}
        best = min(spent, key=lambda name: spent[name])
        fastest[f"{level:g}"] = best if np.isfinite(spent[best]) else "none"
    return {"integrators": rows, "fastest_for_error": fastest}


def run_integrators(setup: Setup) -> Result:
    """Error by timestep and by time of all integrators on three robots that move freely."""
    names = [*MAKERS, *([MUJOCO] if setup.mujoco else [])]
    chosen = motions(setup)
    found = {told: _compare(motion, names, setup, told) for told, motion in chosen.items()}
    worst = {
        name: max(abs(row["integrators"][name]["measured_order"] - order) for row in found.values())
        for name, order in ORDERS.items()
    }
    targets = tuple(
        Target(f"|measured order - {ORDERS[name]}| of {name}, largest", away, 0.5)
        for name, away in worst.items()
    )
    sentence = "The fastest to an error of " + "; ".join(
        f"{', '.join(f'{level} ({name})' for level, name in row['fastest_for_error'].items())} "
        f"on {told}"
        for told, row in found.items()
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 2, len(found))
        colours = (*COLOURS.values(), *OTHERS)
        for column, (told, motion) in enumerate(chosen.items()):
            for k, (name, row) in enumerate(found[told]["integrators"].items()):
                style = "s--" if name == MUJOCO else "o-"
                for axis, x in zip(
                    axes[:, column], (motion.timesteps, row["cpu_seconds"]), strict=True
                ):
                    axis.loglog(x, row["error"], style, ms=4, color=colours[k], label=name)
            unit = "m, rad" if motion.robot.nq > motion.robot.nv else "rad"
            title = f"{told}, {motion.seconds:g} s"
            finish(axes[0, column], "timestep [s]", f"error [{unit}]", title)
            tick_finely(axes[0, column])
            finish(axes[1, column], "CPU time [s]", f"error [{unit}]", legend=False)

    parameters = {
        "motions": {
            told: {"seconds": motion.seconds, "timesteps_s": motion.timesteps}
            for told, motion in chosen.items()
        },
        "reference": "galerkin, order 8, at half of the smallest timestep",
        "error": "largest error of a coordinate at the end",
    }
    ours = {
        told: {
            "integrators": {n: row["integrators"][n] for n in MAKERS},
            "fastest_for_error": row["fastest_for_error"],
        }
        for told, row in found.items()
    }
    peers = {
        "mujoco_best": {
            "settings": Settings("RK4").told(),
            **{told: row["integrators"].get(MUJOCO) for told, row in found.items()},
        }
    }
    return Result(parameters, ours, peers if setup.mujoco else {}, targets, sentence + ".", draw)


INTEGRATORS = Experiment(
    ("integrators",),
    "all integrators on three robots: error by timestep and by time",
    "each has its order, and the fastest depends on the required error",
    run_integrators,
)
