"""Energy and convergence of RIQN and of Newton's method: [Lee2016, Figs. 2, 4]."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.dynamics.dynamics import Dynamics
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import (
    exponent,
    largest,
    trend,
)
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
DT, LINKS, ANGLE = 1e-3, 10, 0.8  # [s], number of links of Fig. 2, angle of the first joint [rad]
LONG, MOST, FLOOR = 50, 12, 1e-9  # links of Fig. 4; iterations; [m/s] above rounding errors
# [s], and rates of the first and last joint [rad/s]: RIQN diverges at the larger rate.
SLOW, FAST = ((0.1, 0.05, 0.03, 0.01), 0.02), ((0.1, 0.07, 0.05), 0.5)


def start(n: int) -> Array:
    """Initial coordinates of a chain: the first joint at an angle, the others at zero."""
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
    seconds, every = setup.choose((1000.0, 100), (0.5, 10))
    q = start(LINKS)
    starts = {"": q, ", from the horizontal": np.array((np.pi / 2, *np.zeros(LINKS - 1)))}
    lines: dict[str, tuple[Array, Array]] = {}
    ours: dict[str, Any] = {}
    scale = 0.0
    for (of, begin), integrator in product(reversed(list(starts.items())), ("riqn", "newton")):
        setup.note(f"{integrator}{of}")
        sim = MinimalSimulation(chain(LINKS), DT, integrator=integrator)
        sim.set_state(np.zeros(LINKS))
        lowest = sim.energy()
        sim.set_state(begin)
        scale = sim.energy() - lowest
        t, energies, iterations = [0.0], [sim.energy()], []
        differences = []
        for chunk in sim.stream(seconds, chunk_steps=every):
            t.append(sim.time)
            energies.append(sim.energy())
            iterations.append(chunk.iterations.mean())
            if len(chunk.t) > 1:
                # Energy with velocities from differences of positions.
                rates = (chunk.q[-1] - chunk.q[-2]) / DT
                differences.append(_energy_at(sim, chunk.q[-1], rates))
        error = (np.array(energies) - energies[0]) / scale
        lines[integrator + of] = np.array(t), error
        ours[integrator + of] = {
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
    best = max(ours[name]["largest_energy_error_over_A"] for name in ("riqn", "newton"))
    rise = max(abs(ours[name]["trend_over_A"]) for name in ("riqn", "newton"))
    euler = ours["semi_implicit_euler"]["largest_energy_error_over_A"]
    horizontal = [
        row["largest_energy_error_over_A"] for name, row in ours.items() if "horizontal" in name
    ]
    targets = (
        Target("largest |E - E0| / A of RIQN and Newton's method", best, 1e-3),
        Target("the same from the horizontal", max(horizontal), 1e-3),
        Target("|trend of E - E0| / A, the larger of both", rise, 1e-4),
        Target("error of Euler over that", euler / best, 10.0, at_least=True),
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        colours = (COLOURS["ours"], *OTHERS)
        for (name, (t, error)), colour in zip(lines.items(), colours, strict=False):
            if "horizontal" not in name:
                axes[0].plot(t, error, lw=0.8, color=colour, label=name)
            if "Euler" not in name:
                axes[1].plot(t, error, lw=0.8, color=colour, label=name)
        finish(axes[0], "time [s]", "(E - E0) / A", "ten links, 1 ms")
        finish(axes[1], "time [s]", "(E - E0) / A", "robosim only")

    sentence = (
        f"In {round(seconds / DT)} steps of ten links, the error of the energy is at most "
        f"{best:.1e} of A, and its trend at most {rise:.1e}. The semi-implicit Euler method has an "
        f"error of {euler:.1e}, with a trend of "
        f"{ours['semi_implicit_euler']['trend_over_A']:.1e}; [Lee2016] says that it loses energy. "
        f"From the horizontal the errors are at most {max(horizontal):.1e}. With velocities from "
        "differences of "
        "positions, RIQN would seem to have an error of "
        f"{ours['riqn']['largest_by_differences_over_A']:.1e}."
    )
    parameters = {"timestep_s": DT, "links": LINKS, "seconds": seconds, "A_J": scale}
    return Result(parameters, ours, {}, targets, sentence, draw)


def _energy_at(sim: MinimalSimulation, q: Array, v: Array) -> float:
    """Energy [J] at other coordinates."""
    other = sim.copy()
    other.set_state(q, v)
    return other.energy()


def residuals(timestep: float, integrator: str, rate: float) -> list[float]:
    """Residual [m/s] after 0, 1, 2, ... iterations of a step of 50 links from zero.

    The chain hangs straight down. Joint rates go from `rate` [rad/s] to its negative, and
    iterations begin at the present coordinates.
    """
    sim = MinimalSimulation(chain(LONG), timestep, integrator=integrator, guess="position")
    sim.set_state(np.zeros(LONG), np.linspace(rate, -rate, LONG))
    work, calls, address = sim.engine.parts.work, sim.engine.calls, sim.engine.address
    calls.guess(address)
    found: list[float] = []
    while len(found) < MOST and (not found or found[-1] > FLOOR):
        if found:
            calls.direction(address)
            work.x[1] += work.step.dx[:, 0]
        calls.residual(address)
        found.append(float(np.max(np.abs(work.residual[:, 0]) * work.scale)))
    return found


def order(row: list[float]) -> float:
    """Order of convergence, from the last three residuals above rounding errors."""
    kept = [r for r in row if r > FLOOR][-3:]
    return float(np.log(kept[2] / kept[1]) / np.log(kept[1] / kept[0]))


def contraction(row: list[float]) -> float:
    """Mean factor of the residual in an iteration, from the second one on."""
    kept = row[2:]
    return float((kept[-1] / kept[0]) ** (1.0 / (len(kept) - 1)))


def run_convergence(setup: Setup) -> Result:
    """[Lee2016, Fig. 4]: iterations of one step of 50 bodies, and of many steps."""
    rows: dict[str, dict[float, list[float]]] = {}
    for name, integrator, (timesteps, rate) in (
        ("Newton, 0.5 rad/s", "newton", FAST),
        ("Newton, 0.02 rad/s", "newton", SLOW),
        ("RIQN, 0.02 rad/s", "riqn", SLOW),
    ):
        setup.note(name)
        rows[name] = {timestep: residuals(timestep, integrator, rate) for timestep in timesteps}
    fast, slow, riqn = rows.values()
    orders = {timestep: order(row) for timestep, row in fast.items()}
    factors = {timestep: contraction(row) for timestep, row in riqn.items()}
    iterations = {}
    for integrator in ("riqn", "newton"):
        setup.note(f"{integrator}, a run")
        sim = MinimalSimulation(chain(LINKS), DT, integrator=integrator)
        sim.set_state(start(LINKS))
        iterations[integrator] = float(sim.run(setup.choose(5.0, 0.2)).iterations.mean())
    falls = exponent(list(factors), list(factors.values()))
    most = max(len(row) - 1 for row in slow.values())
    targets = (
        Target("order of Newton's method, least", min(orders.values()), 1.8, at_least=True),
        Target("exponent of RIQN's factor over the timestep", falls, 0.8, at_least=True),
        Target("RIQN's factor at 0.01 s", factors[0.01], 0.05),
        Target("iterations of Newton's method to 1e-9 m/s at 0.02 rad/s, most", most, 4),
    )
    told = ", ".join(f"{factor:.2g} at {timestep:g} s" for timestep, factor in factors.items())
    sentence = (
        f"From zero, Newton's method converges quadratically in a step of {LONG} links, with the "
        f"orders {', '.join(f'{found:.2f}' for found in orders.values())}. RIQN converges "
        f"linearly: an iteration reduces the residual by the factor {told}. This factor falls as "
        f"the timestep to the power {falls:.1f}. In a run of ten links at 1 ms, Newton's method "
        f"takes {iterations['newton']:.2f} iterations per step, and RIQN "
        f"{iterations['riqn']:.2f}."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3)[0]
        for axis, (name, found) in zip(axes, rows.items(), strict=True):
            for (timestep, row), colour in zip(
                found.items(), (COLOURS["ours"], *OTHERS), strict=False
            ):
                label = f"{timestep:g} s"
                axis.semilogy(range(len(row)), row, "o-", color=colour, label=label)
            finish(axis, "iterations", "residual [m/s]", name)
            axis.xaxis.get_major_locator().set_params(integer=True)

    return Result(
        {"links": LONG, "timesteps_s": SLOW[0], "guess": "position (IG1)"},
        {
            "residual_m_per_s": rows,
            "order_newton": orders,
            "contraction_riqn": factors,
            "iterations_mean": iterations,
        },
        {},
        targets,
        sentence,
        draw,
    )


ENERGY = Experiment(
    ("lee-energy",),
    "energy of a chain of ten links in joint coordinates",
    "a million steps without a trend, where the semi-implicit Euler method drifts",
    run_energy,
)
CONVERGENCE = Experiment(
    ("lee-convergence",),
    "iterations of RIQN and of Newton's method for a step of 50 links",
    "Newton's method converges quadratically, RIQN at a factor that falls with the timestep",
    run_convergence,
)
