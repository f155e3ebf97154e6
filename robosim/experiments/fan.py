"""Newton's method beside others on the equations of a step: [Fan2018, Sections 5.1, 5.2]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.errors import ConvergenceError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup, Target
from robosim.experiments.measuring import cpu_time, exponent, shortest_us
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
TIMESTEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
SCHEMES: dict[str, dict[str, Any]] = {
    "trapezoidal, Newton": {"integrator": "galerkin", "order": 2},
    "group, Newton": {"integrator": "newton"},
    "group, RIQN": {"integrator": "riqn"},
}


def _galerkin(robot: Any, timestep: float, order: int) -> MinimalSimulation:
    return MinimalSimulation(robot, timestep, integrator="galerkin", order=order, tolerance=1e-12)


def run_newton(setup: Setup) -> Result:
    """[Fan2018, Fig. 1]: one step of 32 links from random states, at growing timesteps."""
    links, starts = setup.choose(32, 8), setup.choose(1000, 10)
    timesteps = setup.choose(TIMESTEPS, TIMESTEPS[::4])
    rng = np.random.default_rng(1)
    states = rng.uniform(-np.pi / 2, np.pi / 2, size=(starts, 2, links))
    ours: dict[str, dict[str, list[float]]] = {}
    for name, options in SCHEMES.items():
        rows: dict[str, list[float]] = {"success": [], "iterations": [], "us": []}
        for timestep in timesteps:
            setup.note(f"{name}, {timestep:g} s")
            sim = MinimalSimulation(
                chain(links), timestep, tolerance=1e-10, max_iterations=100, **options
            )
            sim.step()  # compiles
            iterations, times = [], []
            for q, v in states:
                sim.set_state(q, v)
                try:
                    seconds, info = cpu_time(sim.step)
                except ConvergenceError:
                    continue
                iterations.append(info.iterations)
                times.append(1e6 * seconds)
            rows["success"].append(len(iterations) / starts)
            rows["iterations"].append(float(np.mean(iterations)) if iterations else np.nan)
            rows["us"].append(float(np.mean(times)) if times else np.nan)
        ours[name] = rows
    newton, group, riqn = ours.values()
    fewer = np.max(np.divide((newton["iterations"], group["iterations"]), riqn["iterations"]))
    targets = (
        Target("least success of Newton's method over all timesteps", min(newton["success"]), 0.5,
               at_least=True),
        Target(
            "successes of Newton's method over those of RIQN at the largest timestep",
            newton["success"][-1] / max(riqn["success"][-1], 1 / starts), 1.0, at_least=True,
        ),
        Target("iterations of Newton's method over those of RIQN, largest", float(fewer), 1.0),
    )  # fmt: skip
    sentence = (
        f"At {timesteps[-1]:g} s Newton's method solves {100 * newton['success'][-1]:.0f} % of the "
        f"steps of {links} links on the trapezoidal rule, "
        f"{100 * group['success'][-1]:.0f} % on the group, and RIQN "
        f"{100 * riqn['success'][-1]:.0f} %; at {timesteps[0]:g} s they take "
        f"{newton['iterations'][0]:.1f}, {group['iterations'][0]:.1f} and "
        f"{riqn['iterations'][0]:.1f} iterations, at {timesteps[-1]:g} s "
        f"{newton['iterations'][-1]:.1f}, {group['iterations'][-1]:.1f} and "
        f"{riqn['iterations'][-1]:.1f}, in {newton['us'][-1]:.0f}, {group['us'][-1]:.0f} and "
        f"{riqn['us'][-1]:.0f} us."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3)[0]
        for axis, (key, label) in zip(
            axes,
            {"us": "time [us]", "iterations": "iterations", "success": "successes"}.items(),
            strict=True,
        ):
            for (name, rows), colour in zip(ours.items(), (COLOURS["ours"], *OTHERS), strict=False):
                axis.plot(timesteps, rows[key], "o-", color=colour, label=name)
            finish(axis, "timestep [s]", label)

    parameters = {"links": links, "starts": starts, "timesteps_s": timesteps, "tolerance": 1e-10}
    return Result(parameters, ours, {}, targets, sentence, draw)


def _by_differences(sim: MinimalSimulation, step: float = 1e-5) -> Array:
    """Newton's direction (n, s) of a simulation's next step, by differences and a dense solve."""
    work, calls, address = sim.engine.parts.work, sim.engine.calls, sim.engine.address
    x = work.x[1:]
    calls.residual(address)
    here = work.residual.T.copy()
    J = np.empty((here.size, here.size))
    for k in range(x.size):
        index = np.unravel_index(k, x.shape)
        at, sides = x[index], []
        for sign in (1.0, -1.0):
            x[index] = at + sign * step
            calls.residual(address)
            sides.append(work.residual.T.reshape(-1).copy())
        J[:, k], x[index] = (sides[0] - sides[1]) / (2.0 * step), at
    calls.residual(address)
    return np.asarray(np.linalg.solve(J, -here.reshape(-1))).reshape(here.shape).T


def run_growth(setup: Setup) -> Result:
    """[Fan2018, Fig. 2a, b]: times of the equations and of Newton's direction by links."""
    counts = setup.choose((4, 8, 16, 32, 64), (4, 8))
    rounds, calls_each = setup.choose(7, 2), setup.choose(200, 20)
    rng = np.random.default_rng(4)
    rows: dict[str, list[float]] = {"residual": [], "direction": [], "by_differences": []}
    apart = 0.0
    for n in counts:
        setup.note(f"{n} links")
        sim = _galerkin(chain(n), 0.01, 4)
        sim.set_state(*rng.uniform(-np.pi / 2, np.pi / 2, size=(2, n)))
        calls, address, work = sim.engine.calls, sim.engine.address, sim.engine.parts.work
        calls.guess(address)
        dense = _by_differences(sim)
        calls.direction(address)
        apart = max(apart, float(np.abs(work.step.dx - dense).max() / np.abs(dense).max()))

        def many(call: Callable[[int], Any], address: int = address) -> Callable[[], bool]:
            def take() -> bool:
                for _ in range(calls_each):
                    call(address)
                return True

            return take

        kept = [many(calls.residual), many(calls.direction)]
        residual, direction = shortest_us(kept, calls_each, rounds)
        seconds = min(cpu_time(partial(_by_differences, sim))[0] for _ in range(3))
        for name, time in zip(rows, (residual, direction, 1e6 * seconds), strict=True):
            rows[name].append(time)
    last = slice(-3, None)
    growth = {name: exponent(counts[last], times[last]) for name, times in rows.items()}
    targets = (
        Target("exponent of the residual's time", growth["residual"], 1.15),
        Target("exponent of the direction's time", growth["direction"], 1.15),
        Target("from the direction by differences, relative", apart, 1e-4),
    )
    sentence = (
        f"With the number of links the time of the Simpson integrator's equations grows as "
        f"n^{growth['residual']:.2f}, and that of the exact Newton direction as "
        f"n^{growth['direction']:.2f}; by differences and a dense solve it grows as "
        f"n^{growth['by_differences']:.2f}, and takes "
        f"{rows['by_differences'][-1] / rows['direction'][-1]:.0f} times as long at "
        f"{counts[-1]} links."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 1, width=7.0)[0, 0]
        for (name, row), colour in zip(rows.items(), (COLOURS["ours"], *OTHERS), strict=False):
            axes.loglog(counts, row, "o-", color=colour, label=name.replace("_", " "))
        finish(axes, "links", "time [us]", "Simpson integrator")

    parameters = {"links": counts, "timestep_s": 0.01, "order": 4}
    return Result(parameters, {"us": rows, "exponent": growth}, {}, targets, sentence, draw)


NEWTON = Experiment(
    ("fan-5.1",),
    "Newton's method and RIQN for one step of 32 links",
    "Newton's method solves larger timesteps, in fewer iterations",
    run_newton,
)
GROWTH = Experiment(
    ("fan-5.2",),
    "times of the Simpson integrator's equations and Newton direction by links",
    "both grow linearly; differences and a dense solve stand for automatic differentiation",
    run_growth,
)
