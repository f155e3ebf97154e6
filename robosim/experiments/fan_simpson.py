"""Orders of Galerkin integrators and of Hermite-Simpson collocation: [Fan2018, Section 5.3]."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.description.mechanism import Mechanism
from robosim.experiments.collocation import collocated
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels, tick_finely
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import cpu_time, exponent, free_accelerations, integrated
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain
from robosim.validation import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDERS = {"order 2": 2, "order 4 (Simpson)": 4, "order 6": 6, "Hermite-Simpson": 4}
COLLOCATION = "Hermite-Simpson"
LARGE = (0.04, 0.02, 0.01, 0.005)  # [s]
SMALL = (0.02, 0.01, 0.005, 0.0025, 0.00125)  # of order 2


def reference(robot: Mechanism, q: Array, seconds: float, timestep: float) -> Array:
    """Coordinates (n + 1, nv) at multiples of a timestep by DOP853 at 1e-12, from rest."""
    times = [k * timestep for k in range(round(seconds / timestep) + 1)]
    rates = free_accelerations(robot)
    return integrated(robot, rates, q, np.zeros(robot.nv), times, 1e-12)[:, : robot.nq]


def _run(name: str, robot: Mechanism, q: Array, seconds: float, timestep: float) -> Array:
    order = 2 if name == COLLOCATION else ORDERS[name]
    sim = MinimalSimulation(robot, timestep, integrator="galerkin", order=order, tolerance=1e-12)
    sim.set_state(q)
    if name == COLLOCATION:
        return collocated(sim, round(seconds / timestep))
    return np.vstack((sim.run(seconds).q, sim.q))


def run_simpson(setup: Setup) -> Result:
    """[Fan2018, Fig. 3]: error over the timestep and over time, twelve links."""
    links, seconds, starts = setup.choose((12, 10.0, 100), (4, 0.4, 2))
    timesteps: dict[str, tuple[float, ...]] = {
        name: setup.choose(SMALL if name == "order 2" else LARGE, LARGE[:3]) for name in ORDERS
    }
    fine = min(min(row) for row in timesteps.values())
    robot = chain(links)
    states = np.random.default_rng(2).uniform(-np.pi / 12, np.pi / 12, size=(starts, links))
    errors, times = ({n: np.zeros((len(h), starts)) for n, h in timesteps.items()} for _ in "et")
    for name in ORDERS:
        setup.note(f"compiling {name}")
        _run(name, robot, states[0], fine, fine)
    for start, q in enumerate(states):
        setup.note(f"start {start + 1} of {starts}")
        exact = reference(robot, q, seconds, fine)
        for name, row in timesteps.items():
            for j, timestep in enumerate(row):
                spent, found = cpu_time(partial(_run, name, robot, q, seconds, timestep))
                away = found - exact[:: round(timestep / fine)]
                errors[name][j, start] = np.linalg.norm(away, axis=1).mean()
                times[name][j, start] = spent
    ours: dict[str, dict[str, Any]] = {
        name: {
            "timesteps_s": row,
            "mean_error_rad": errors[name].mean(axis=1),
            "cpu_seconds": times[name].mean(axis=1),
            # Some starts are chaotic, and dominate the mean.
            "measured_order": float(
                np.median([exponent(row[-2:], e[-2:]) for e in errors[name].T])
            ),
        }
        for name, row in timesteps.items()
    }
    targets = tuple(
        Target(f"|measured order - {order}| of {name}", abs(ours[name]["measured_order"] - order),
               0.3)
        for name, order in ORDERS.items()
    )  # fmt: skip
    simpson, theirs = ours["order 4 (Simpson)"], ours[COLLOCATION]
    share = theirs["mean_error_rad"] / simpson["mean_error_rad"]
    slower = simpson["cpu_seconds"] / theirs["cpu_seconds"]
    told = ", ".join(f"{row['measured_order']:.2f} ({name})" for name, row in ours.items())
    sentence = (
        f"For {seconds:g} s of {links} links from {starts} starts, the median orders at the two "
        f"smallest timesteps are {told}. So the order of Hermite-Simpson is not three, as printed. "
        f"The error of Hermite-Simpson is {share.min():.2g} to {share.max():.2g} times that of the "
        "Simpson integrator. A step of Hermite-Simpson, solved by fixed-point iteration, takes "
        f"{1 / slower.max():.2g} to {1 / slower.min():.2g} times the time."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3)[0]
        for (name, row), colour in zip(ours.items(), (COLOURS["ours"], *OTHERS), strict=False):
            style = "s--" if name == COLLOCATION else "o-"
            error, spent = row["mean_error_rad"], row["cpu_seconds"]
            for axis, x, y in zip(
                axes, (timesteps[name], timesteps[name], spent), (error, spent, error), strict=True
            ):
                axis.loglog(x, y, style, color=colour, label=name)
        finish(axes[0], "timestep [s]", "mean error [rad]")
        finish(axes[1], "timestep [s]", f"CPU time for {seconds:g} s [s]")
        finish(axes[2], f"CPU time for {seconds:g} s [s]", "mean error [rad]")
        for axis in axes:
            tick_finely(axis)

    parameters = {
        "links": links, "seconds": seconds, "starts": starts,
        "reference": "DOP853, rtol = atol = 1e-12",
    }  # fmt: skip
    return Result(parameters, ours, {}, targets, sentence, draw)


SIMPSON = Experiment(
    ("fan-5.3",),
    "Galerkin integrators and Hermite-Simpson collocation on a chain: error by timestep and time",
    "orders 2, 4, 6, and 4 of Hermite-Simpson",
    run_simpson,
)
