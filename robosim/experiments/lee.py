"""Integrators of second order on the group, found by impulses or by Newton's method: [Lee2016]."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup, Target
from robosim.experiments.measuring import (
    exponent,
    largest,
    residuals_by_iteration,
    shortest_us,
    stepper,
    trend,
)
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain
from robosim.simulation.dynamics import Dynamics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
DT, LINKS, ANGLE = 1e-3, 10, 0.5  # [s], of the chain of Fig. 2; first joint's angle [rad]
STEPS = (0.1, 0.01, 0.001)  # [s], for rates of convergence
MOST, FLOOR = 12, 1e-10  # iterations; [m/s] above what rounding leaves


def start(n: int) -> Array:
    """A chain that is let go at an angle."""
    q = np.zeros(n)
    q[0] = ANGLE
    return q


def by_euler(q: Array, seconds: float, every: int) -> Array:
    """Energies [J] of the semi-implicit Euler method in joint coordinates."""
    dynamics = Dynamics(chain(len(q)))
    v, tau, energies = np.zeros(len(q)), np.zeros(len(q)), []
    for k in range(round(seconds / DT) + 1):
        if k % every == 0:
            energies.append(float(dynamics.energy(q, v)))
        v = v + DT * dynamics.forward_acceleration(q, v, tau)
        q = q + DT * v
    return np.array(energies)


def run_energy(setup: Setup) -> Result:
    """[Lee2016, Fig. 2b]: the energy of ten links, against the semi-implicit Euler method."""
    seconds, every = setup.choose(10.0, 0.5), setup.choose(50, 10)
    q = start(LINKS)
    lines: dict[str, tuple[Array, Array]] = {}
    ours: dict[str, Any] = {}
    scale = 0.0
    for integrator in ("riqn", "newton"):
        setup.note(integrator)
        sim = MinimalSimulation(chain(LINKS), DT, integrator=integrator)
        sim.set_state(np.zeros(LINKS))
        lowest = sim.energy()
        sim.set_state(q)
        scale = sim.energy() - lowest
        t, energies, iterations = [0.0], [sim.energy()], []
        differences = []
        for chunk in sim.stream(seconds, chunk_steps=every):
            t.append(sim.time)
            energies.append(sim.energy())
            iterations.append(chunk.iterations.mean())
            if len(chunk.t) > 1:
                # As velocities from positions would have it.
                rates = (chunk.q[-1] - chunk.q[-2]) / DT
                differences.append(_energy_at(sim, chunk.q[-1], rates))
        error = (np.array(energies) - energies[0]) / scale
        lines[integrator] = np.array(t), error
        ours[integrator] = {
            "largest_energy_error_over_A": largest(error),
            "trend_over_A": trend(t, error),
            "largest_by_differences_over_A": largest((np.array(differences) - energies[0]) / scale),
            "iterations_mean": float(np.mean(iterations)),
        }
    setup.note("semi-implicit Euler")
    found = by_euler(q, seconds, every)
    times = np.arange(len(found)) * every * DT
    error = (found - found[0]) / scale
    lines["semi-implicit Euler"] = times, error
    ours["semi_implicit_euler"] = {
        "largest_energy_error_over_A": largest(error),
        "trend_over_A": trend(times, error),
    }
    best = ours["riqn"]["largest_energy_error_over_A"]
    euler = ours["semi_implicit_euler"]["largest_energy_error_over_A"]
    targets = (
        Target("largest |E - E0| / A of RIQN", best, 2e-3),
        Target("|trend of E - E0| / A of RIQN", abs(ours["riqn"]["trend_over_A"]), 1e-3),
        Target("error of Euler over that of RIQN", euler / best, 10.0, at_least=True),
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        colours = (COLOURS["ours"], OTHERS[0], OTHERS[1])
        for (name, (t, error)), colour in zip(lines.items(), colours, strict=True):
            axes[0].plot(t, error, lw=0.8, color=colour, label=name)
            if "Euler" not in name:
                axes[1].plot(t, error, lw=0.8, color=colour, label=name)
        finish(axes[0], "time [s]", "(E - E0) / A", "ten links, 1 ms")
        finish(axes[1], "time [s]", "(E - E0) / A", "ours alone")

    sentence = (
        f"RIQN keeps the energy of ten links to {best:.1e} of A without trend, where the "
        f"semi-implicit Euler method is off by {euler:.1e}; by velocities from differences of "
        f"positions it would seem to be off by {ours['riqn']['largest_by_differences_over_A']:.1e}."
    )
    parameters = {"timestep_s": DT, "links": LINKS, "seconds": seconds, "A_J": scale}
    return Result(parameters, ours, {}, targets, sentence, draw)


def _energy_at(sim: MinimalSimulation, q: Array, v: Array) -> float:
    """Energy [J] at other coordinates."""
    other = sim.copy()
    other.set_state(q, v)
    return other.energy()


def residuals(timestep: float, integrator: str) -> list[float]:
    """Residual [m/s] after 0, 1, 2, ... iterations of a step of ten links from where they are."""
    q, v = start(LINKS), np.linspace(1.0, -1.0, LINKS)

    def of(most: int) -> MinimalSimulation:
        return MinimalSimulation(
            chain(LINKS),
            timestep,
            integrator=integrator,
            guess="position",
            tolerance=1e-300,
            max_iterations=most,
        )

    return residuals_by_iteration(of, (q, v), MOST, FLOOR)


def run_convergence(setup: Setup) -> Result:
    """[Lee2016, Fig. 4]: iterations of one step, and of many."""
    rows: dict[str, dict[str, list[float]]] = {}
    ours: dict[str, Any] = {}
    for integrator in ("riqn", "newton"):
        rows[integrator] = {}
        for timestep in STEPS:
            setup.note(f"{integrator}, {timestep:g} s")
            rows[integrator][f"{timestep:g}"] = residuals(timestep, integrator)
        sim = MinimalSimulation(chain(LINKS), DT, integrator=integrator)
        sim.set_state(start(LINKS))
        log = sim.run(setup.choose(5.0, 0.2))
        ours[integrator] = {
            "residual_m_per_s": rows[integrator],
            "iterations_mean": float(log.iterations.mean()),
        }
    rates: dict[str, float] = {}
    for label, row in rows["riqn"].items():
        kept = [r for r in row if r > 1e-3 * FLOOR]
        ratios = [after / before for before, after in pairwise(kept)]
        rates[label] = float(np.median(ratios)) if ratios else 0.0
    ours["riqn"]["contraction"] = rates
    newton = max(len(row) for row in rows["newton"].values())
    targets = (
        Target("contraction of RIQN at 0.01 s", rates["0.01"], 0.05),
        Target("contraction of RIQN at 0.001 s", rates["0.001"], 5e-3),
        Target("iterations of Newton's method to 1e-10 m/s, most", newton, 9),
    )
    told = ", ".join(f"{rate:.2g} at {label} s" for label, rate in rates.items())
    sentence = (
        f"RIQN converges linearly, by factors of {told}; Newton's method quadratically, in at most "
        f"{newton} iterations from where the chain is. In a run at 1 ms they take "
        f"{ours['riqn']['iterations_mean']:.2f} and {ours['newton']['iterations_mean']:.2f} "
        "iterations a step."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        for axis, (name, found) in zip(axes, rows.items(), strict=True):
            for (timestep, row), colour in zip(
                found.items(), (COLOURS["ours"], *OTHERS), strict=False
            ):
                label = f"{timestep} s"
                axis.semilogy(range(1, len(row) + 1), row, "o-", color=colour, label=label)
            finish(axis, "iteration", "residual [m/s]", name)

    return Result(
        {"links": LINKS, "timesteps_s": STEPS, "guess": "position (IG1)"},
        ours,
        {},
        targets,
        sentence,
        draw,
    )


ENERGY = Experiment(
    ("lee-energy",),
    "energy of a chain of ten links in joint coordinates",
    "no trend, where the semi-implicit Euler method drifts",
    run_energy,
)
CONVERGENCE = Experiment(
    ("lee-convergence",),
    "iterations of RIQN and of Newton's method",
    "RIQN converges linearly at a rate of the timestep, Newton's method quadratically",
    run_convergence,
)
