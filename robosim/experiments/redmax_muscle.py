"""Muscles whose forces are implicit functions of their length [Sueda, Sect. 1.9.4]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.control.transmission import Drive
from robosim.description.mechanism import Mechanism
from robosim.description.muscle import Muscle
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.mujoco_ends import away_in_mujoco
from robosim.formulation import Formulation
from robosim.measuring.runs import exponent, largest
from robosim.measuring.target import Target
from robosim.models.builders import arm_with_muscles
from robosim.reduced import ReducedSimulation
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
STEPS = (8e-3, 4e-3, 2e-3, 1e-3)
COARSE = 0.01  # [s], at which the motion does not settle with forces that are constant over a step
TENSE, PULLING = (0.9,) * 4, (0.02, 0.04, 0.01, 0.01)
AWAY = (0.15, -0.2)  # [rad], initial deviation from home


def run_muscle(setup: Setup) -> Result:
    """An arm with two pairs of muscles: stiff ones at large time steps, and weak ones."""
    setup.note("stiff muscles, forces in the step and held over it")
    runs = {
        name: _at_rest(arm_with_muscles(implicit=name == "in the step"), setup.choose(2.0, 1.0))
        for name in ("in the step", "held")
    }
    left = {name: largest(log.v[-20:]) for name, log in runs.items()}
    seconds = setup.choose(0.4, 0.08)  # a multiple of all time steps
    setup.note("convergence")
    robot = arm_with_muscles(around=False)
    finest = _end(Simulation(robot, STEPS[-1] / 8), PULLING, seconds)
    errors = [largest(_end(Simulation(robot, dt), PULLING, seconds) - finest) for dt in STEPS]
    setup.note("REDMAX")
    reduced = [
        largest(_end(ReducedSimulation(robot, dt), PULLING, seconds) - finest) for dt in STEPS
    ]
    orders = {"ours": exponent(STEPS, errors), "redmax": exponent(STEPS, reduced)}
    ours: dict[str, Any] = {
        "largest_rate_at_the_end_rad_s": left,
        "largest_error_rad": errors,
        "largest_error_of_redmax_rad": reduced,
        "measured_order": orders,
    }
    targets = [
        Target(f"rates at the end, forces in the step, dt {COARSE:g} s",
               left["in the step"], 0.1, "rad/s"),
        Target(f"rates at the end, forces held, dt {COARSE:g} s",
               left["held"], 1.0, "rad/s", at_least=True),
        Target("|measured order - 2|", abs(orders["ours"] - 2.0), 0.2),
    ]  # fmt: skip
    peers: dict[str, dict[str, Any]] = {}
    beside = ""
    if setup.mujoco:
        setup.note("MuJoCo's muscles")
        theirs = with_curves_of_mujoco(arm_with_muscles(around=False))
        end = _end(Simulation(theirs, 1e-4), PULLING, seconds)
        peers = away_in_mujoco(theirs, end, seconds, "rad", PULLING)
        best = peers["mujoco_best"]["largest_difference_rad"]
        targets.append(Target("from MuJoCo's RK4 at 0.1 ms, with its curves", best, 1e-5, "rad"))
        beside = f" With its curves, the difference from MuJoCo's Runge-Kutta is {best:.1g} rad."

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        colours = dict(zip(runs, (COLOURS["ours"], OTHERS[0]), strict=True))
        for name, log in runs.items():
            axes[0].plot(log.t, log.v[:, 1], lw=0.8, color=colours[name], label=name)
        axes[1].loglog(STEPS, errors, "o-", color=COLOURS["ours"], label="in the step")
        axes[1].loglog(STEPS, reduced, "s-", color=OTHERS[1], label="REDMAX")
        finish(axes[0], "time [s]", "rate of the elbow [rad/s]", f"timestep {COARSE:g} s")
        finish(axes[1], "timestep [s]", "error [rad]", f"after {seconds:g} s")

    return Result(
        {"timesteps_s": STEPS, "seconds": seconds, "activations": (TENSE, PULLING)},
        ours,
        peers,
        tuple(targets),
        f"At {COARSE * 1e3:g} ms implicit forces of stiff muscles leave a rate of "
        f"{left['in the step']:.1g} rad/s at the end, held forces {left['held']:.2g} rad/s. Errors "
        f"fall with order {orders['ours']:.2f}, those of REDMAX with {orders['redmax']:.2f}."
        f"{beside}",
        draw,
    )


def _at_rest(robot: Mechanism, seconds: float) -> Any:
    """The log of an arm with all muscles active, from a start near home."""
    sim = Simulation(robot, COARSE)
    sim.set_state(np.asarray(robot.home) + AWAY)
    return sim.run(seconds, Drive(robot, lambda sim: TENSE, TENSE))


def _end(sim: Formulation, activations: Sequence[float], seconds: float) -> Array:
    """Angles after some time at constant activations."""
    sim.set_state()
    sim.set_controls(activations)
    sim.run(seconds)
    return np.array(sim.q)


def with_curves_of_mujoco(robot: Mechanism) -> Mechanism:
    """The arm with MuJoCo's muscle model, of the same force and optimal length."""
    found = []
    for actuator in robot.actuators:
        hill: Any = actuator.muscle
        ends = tuple(hill.tendon_length + hill.optimal_length * x for x in (0.6, 1.4))
        muscle = Muscle(hill.force, ends, (0.6, 1.4), fastest=hill.fastest)
        found.append(replace(actuator, muscle=muscle, activation=None))
    return replace(robot, actuators=tuple(found))


MUSCLES = Experiment(
    ("redmax-muscle",),
    "an arm with muscles whose forces are laws of their length within the step",
    "stable at 10 ms where held forces are not, of order two, and as MuJoCo with its own curves",
    run_muscle,
)
