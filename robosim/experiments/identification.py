"""Identification of the load and of the ground's friction of an A1, from a log with noise."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import robosim
from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.sysid import by_sysid, toolbox
from robosim.identification import Identified, identify
from robosim.learning.domain import with_friction
from robosim.linearization.parameters import parameter
from robosim.log import Log
from robosim.measuring.target import Target
from robosim.peers.mujoco_run import Settings
from robosim.simulation import Simulation
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUE = {"load": 2.0, "friction": 0.4, "damping": 0.05}  # kg, and N m s of each joint
GUESS = {"load": 0.0, "friction": 0.8, "damping": 0.1}
FEET = "FR_foot", "FL_foot", "RR_foot", "RL_foot"
NAMES = ("mass:trunk", "damping", *(f"friction:{foot}" for foot in FEET))
NOISE = 1e-4, 1e-2  # standard deviations for q [rad and m] and v [rad/s and m/s]
TIMESTEP, WINDOW = 1e-3, 0.05  # s
WITHIN, DEVIATIONS = 1.0, 2.0  # per cent, and standard deviations
KP, KD = 60.0, 1.5
PEERS = {
    "mujoco_default": Settings(),
    # Stiff contacts. Those with a time constant of 2 ms lead to larger errors.
    "mujoco_best": Settings("implicitfast", (4e-3, 1.0), (0.95, 0.99, 1e-3), "elliptic", 100.0),
}


def a1(load: float, friction: float, damping: float) -> Mechanism:
    """The A1 with a load on its trunk [kg], on ground of this friction."""
    robot = robosim.load("a1")
    joints = tuple(replace(j, damping=damping) if j.actuated else j for j in robot.joints)
    mass, heavier = parameter(replace(robot, joints=joints), "mass:trunk")
    return with_friction(heavier(mass + load), friction)


def swaying(robot: Mechanism) -> PD:
    """A PD whose targets move the legs in all directions, so that feet slide on the ground."""
    names = robot.actuated_names
    home = np.asarray(robot.home)[PD(robot, np.zeros(robot.nu), 1.0, 0.0).gains["q_index"]]
    hip, thigh, calf = (np.array([part in name for name in names], dtype=float)
                        for part in ("hip", "thigh", "calf"))  # fmt: skip
    side = np.array([1.0 if name[1] == "L" else -1.0 for name in names])
    fore = np.array([1.0 if name[0] == "F" else -1.0 for name in names])

    def targets(t: Array) -> Array:
        turn = 2.0 * np.pi * np.asarray(t)[:, None]
        out = 0.25 * side * hip * np.sin(1.3 * turn) + 0.15 * fore * thigh * np.sin(1.7 * turn)
        out = out + 0.12 * (thigh - 2.0 * calf) * np.sin(1.1 * turn)
        return np.asarray(home + np.clip(np.asarray(t)[:, None] / 0.3, 0.0, 1.0) * out)

    return PD(robot, targets, KP, KD, limit=robot.effort_limits)


def measured(log: Log, robot: Mechanism, seed: int) -> Log:
    """A log with noise."""
    rng, samples, dynamics = np.random.default_rng(seed), log.samples, Dynamics(robot)
    q = dynamics.integrate(samples.q, NOISE[0] * rng.normal(size=samples.v.shape))
    v = samples.v + NOISE[1] * rng.normal(size=samples.v.shape)
    return replace(log, samples=samples._replace(q=np.asarray(q), v=v))


def run(setup: Setup) -> Result:
    """See the module."""
    seconds = setup.choose(5.0, 0.2)
    true, guess = a1(**TRUE), a1(**GUESS)
    sim = Simulation(true, TIMESTEP)
    sim.place()
    log = measured(sim.run(seconds, swaying(true)), true, seed=1)
    setup.note(f"{seconds:g} s of log, {len(NAMES)} parameters")
    begin = time.perf_counter()
    found = identify(guess, log, NAMES, window=WINDOW, iterations=setup.choose(120, 8))
    took = time.perf_counter() - begin
    known, peers = _known(guess), {}
    beside = ""
    for key, settings in PEERS.items() if setup.mujoco and toolbox() is not None else ():
        setup.note(f"mujoco.sysid, {settings.told()}")
        begin = time.perf_counter()
        theirs = by_sysid(guess, log, WINDOW, "trunk", FEET, settings)
        off = {name: 100.0 * abs(theirs[name] / known[name] - 1.0) for name in known}
        peers[key] = {
            "settings": f"mujoco.sysid, {settings.told()}", "values": theirs, "percent": off,
            "seconds": time.perf_counter() - begin,
        }  # fmt: skip
        away = max(off, key=lambda name: off[name])
        beside += f" mujoco.sysid ({settings.told()}) is off by up to {off[away]:.2g} % ({away})."
    errors = {name: found.values[name] - value for name, value in known.items()}
    percent = {name: 100.0 * abs(errors[name]) / known[name] for name in known}
    sigmas = {name: abs(errors[name]) / found.deviations[name] for name in known}
    worst = max(percent, key=lambda name: percent[name])
    farthest = max(sigmas, key=lambda name: sigmas[name])
    together = _together(found, errors)
    return Result(
        {"seconds": seconds, "timestep": TIMESTEP, "window": WINDOW, "noise": list(NOISE),
         "true": TRUE, "guess": GUESS},
        {"values": dict(found.values), "deviations": dict(found.deviations), "known": known,
         "errors_in_deviations": sigmas, "together_in_deviations": together,
         "noise": found.noise.tolist(), "status": found.status, "iterations": len(found.costs) - 1,
         "costs": list(found.costs), "seconds": took},
        peers,
        (
            Target(f"largest error ({worst})", percent[worst], WITHIN, "%", full_only=True),
            Target("all errors together, in standard deviations", together, DEVIATIONS,
                   full_only=True),
        ),
        f"From {seconds:g} s of a log with noise, {len(NAMES)} parameters of the A1 are found in "
        f"{len(found.costs) - 1} iterations and {took:.0f} s ({found.status}). The largest error "
        f"is {percent[worst]:.2g} %. All errors together are as unlikely as one of {together:.2g} "
        f"standard deviations; the largest one alone has {sigmas[farthest]:.2g} ({farthest})."
        + beside,
        partial(_draw, found, known),
    )  # fmt: skip


def _together(found: Identified, errors: dict[str, float]) -> float:
    """Errors of all parameters as one of a single parameter that is as unlikely.

    A single parameter is off by two standard deviations in one of 22 logs, but one of six
    parameters in one of four logs. So all are judged together, by the ellipsoid of their
    covariance.
    """
    from scipy.stats import chi2

    error = np.array([errors[name] for name in found.values])
    square = float(error @ np.linalg.solve(found.covariance, error))
    return float(np.sqrt(chi2.isf(chi2.sf(square, len(error)), 1)))


def _known(guess: Mechanism) -> dict[str, float]:
    """The true values of the parameters; damping as a factor of that of the guess."""
    values = dict.fromkeys((f"friction:{foot}" for foot in FEET), TRUE["friction"])
    mass = parameter(guess, "mass:trunk")[0] + TRUE["load"] - GUESS["load"]
    return {"mass:trunk": mass, "damping": TRUE["damping"] / GUESS["damping"], **values}


def _draw(found: Identified, known: dict[str, float], figure: Figure) -> None:
    axes: Any = panels(figure, 1, 1)[0, 0]
    names = list(known)
    errors = [100.0 * (found.values[name] / known[name] - 1.0) for name in names]
    bars = [200.0 * found.deviations[name] / known[name] for name in names]
    rows = np.arange(len(names))
    axes.errorbar(errors, rows, xerr=bars, fmt="o", color=COLOURS["ours"], capsize=3)
    axes.axvline(0.0, color=OTHERS[3], linewidth=1)
    axes.set_yticks(rows, names)
    finish(axes, "error [%], with two standard deviations", "", legend=False)


IDENTIFY = Experiment(
    ("identify",),
    "a load, friction and damping of the A1, from a log with noise",
    "errors are within 1 % and, all together, within two standard deviations",
    run,
)
