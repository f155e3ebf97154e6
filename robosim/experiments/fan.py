"""Galerkin integrators beside others: [Fan2018, Section 5], and all integrators side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.errors import ConvergenceError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup, Target
from robosim.experiments.measuring import cpu_time, exponent, shortest_us, stepper
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain
from robosim.simulation import Simulation
from robosim.simulation.dynamics import Dynamics
from robosim.simulation.formulation import Formulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
TIMESTEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
SCHEMES: dict[str, dict[str, Any]] = {
    "trapezoidal, Newton": {"integrator": "galerkin", "order": 2},
    "group, Newton": {"integrator": "newton"},
    "group, RIQN": {"integrator": "riqn"},
}
LINKS = 12  # of Section 5.3
INTEGRATORS: dict[str, Callable[[Any, float], Formulation]] = {
    "maximal, order 2": lambda robot, h: Simulation(robot, h, tolerance=1e-11),
    "maximal, order 4": lambda robot, h: Simulation(robot, h, tolerance=1e-11, order=4),
    "newton": lambda robot, h: MinimalSimulation(robot, h, tolerance=1e-12),
    "galerkin, order 2": lambda robot, h: _galerkin(robot, h, 2),
    "galerkin, order 4": lambda robot, h: _galerkin(robot, h, 4),
    "galerkin, order 6": lambda robot, h: _galerkin(robot, h, 6),
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
    newton, riqn = ours["trapezoidal, Newton"], ours["group, RIQN"]
    targets = (
        Target("least success of Newton's method over all timesteps", min(newton["success"]), 0.5,
               at_least=True),
        Target(
            "successes of Newton's method over those of RIQN at the largest timestep",
            newton["success"][-1] / max(riqn["success"][-1], 1 / starts), 1.0, at_least=True,
        ),
    )  # fmt: skip
    sentence = (
        f"At {timesteps[-1]:g} s Newton's method solves {100 * newton['success'][-1]:.0f} % of the "
        f"steps of {links} links on the trapezoidal rule, "
        f"{100 * ours['group, Newton']['success'][-1]:.0f} % on the group, and RIQN "
        f"{100 * riqn['success'][-1]:.0f} %; at {timesteps[0]:g} s they take "
        f"{newton['iterations'][0]:.1f}, {ours['group, Newton']['iterations'][0]:.1f} and "
        f"{riqn['iterations'][0]:.1f} iterations."
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


def collocated(dynamics: Dynamics, q: Array, v: Array, timestep: float, steps: int) -> Array:
    """Coordinates (steps + 1, n) by Hermite-Simpson collocation, its equations solved by iteration.

    Without torques.
    """
    n, tau = len(q), np.zeros(len(q))

    def rate(y: Array) -> Array:
        return np.concatenate((y[n:], dynamics.forward_acceleration(y[:n], y[n:], tau)))

    y, rows = np.concatenate((q, v)), [q]
    f0 = rate(y)
    for _ in range(steps):
        end = y + timestep * f0
        for _ in range(100):
            f1 = rate(end)
            middle = 0.5 * (y + end) + timestep / 8 * (f0 - f1)
            after = y + timestep / 6 * (f0 + 4 * rate(middle) + f1)
            change = np.abs(after - end).max()
            end = after
            if change < 1e-13:
                break
        y, f0 = end, rate(end)
        rows.append(y[:n])
    return np.array(rows)


def run_simpson(setup: Setup) -> Result:
    """[Fan2018, Fig. 3]: the Simpson integrator and Hermite-Simpson collocation, twelve links."""
    links, seconds, starts = setup.choose((LINKS, 2.0, 10), (4, 0.2, 2))
    timesteps = (0.02, 0.01, 0.005)
    robot = chain(links)
    dynamics = Dynamics(robot)
    rng = np.random.default_rng(2)
    states = rng.uniform(-np.pi / 12, np.pi / 12, size=(starts, links))
    errors: dict[str, list[list[float]]] = {"simpson": [], "collocation": []}
    times: dict[str, list[float]] = {"simpson": []}
    energy: list[float] = []
    for q in states:
        setup.note("a fine solution")
        fine = _trajectory(robot, q, seconds, 2.5e-3, 8)
        rows: dict[str, list[float]] = {"simpson": [], "collocation": []}
        for timestep in timesteps:
            setup.note(f"{timestep:g} s")
            steps, every = round(seconds / timestep), round(timestep / 2.5e-3)
            sim = _galerkin(robot, timestep, 4)
            sim.set_state(q)
            before = sim.energy()
            log = sim.run(seconds)
            energy.append(abs(sim.energy() - before))
            found = np.vstack((log.q, sim.q))
            exact = fine[::every]
            theirs = collocated(dynamics, q, np.zeros(links), timestep, steps)
            for name, rows_of in (("simpson", found), ("collocation", theirs)):
                rows[name].append(float(np.linalg.norm(rows_of - exact, axis=1).mean()))
        for name, row in rows.items():
            errors[name].append(row)
    for timestep in timesteps:
        sim = _galerkin(robot, timestep, 4)
        sim.set_state(states[0])
        n = min(100, round(seconds / timestep))
        times["simpson"] += shortest_us([stepper(sim, n)], n, 3)
    means = {name: np.mean(rows, axis=0) for name, rows in errors.items()}
    orders = {name: exponent(timesteps, row) for name, row in means.items()}
    ours = {
        "mean_error_rad": {name: row.tolist() for name, row in means.items()},
        "measured_order": orders,
        "us_per_step": times["simpson"],
        "largest_energy_change_J": max(energy),
    }
    ratio = float((means["collocation"] / means["simpson"]).min())
    targets = (
        Target("|measured order - 4| of the Simpson integrator", abs(orders["simpson"] - 4), 0.3),
        Target("|measured order - 4| of collocation", abs(orders["collocation"] - 4), 0.3),
    )
    sentence = (
        f"On {links} links the Simpson integrator has order {orders['simpson']:.2f} and "
        f"collocation {orders['collocation']:.2f}, not three as printed; the error of collocation "
        f"is {ratio:.2g} times that of the Simpson integrator at least."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 1, width=7.0)[0, 0]
        for (name, row), colour in zip(means.items(), (COLOURS["ours"], *OTHERS), strict=False):
            axes.loglog(timesteps, row, "o-", color=colour, label=name)
        finish(axes, "timestep [s]", "mean error [rad]", f"{links} links, {seconds:g} s")

    parameters = {
        "links": links, "seconds": seconds, "starts": starts, "timesteps_s": timesteps,
        "reference": "galerkin, order 8, 2.5 ms",
    }  # fmt: skip
    return Result(parameters, ours, {}, targets, sentence, draw)


def _order(timesteps: tuple[float, ...], errors: list[float]) -> float:
    """The order that errors show which are well above rounding, and the first two at least."""
    n = max(2, sum(error > 1e-11 for error in errors))
    return exponent(timesteps[:n], errors[:n])


def _trajectory(robot: Any, q: Array, seconds: float, timestep: float, order: int) -> Array:
    sim = _galerkin(robot, timestep, order)
    sim.set_state(q)
    log = sim.run(seconds)
    return np.vstack((log.q, sim.q))


def run_integrators(setup: Setup) -> Result:
    """All integrators on a chain of universal joints: error by timestep, and by time."""
    links, seconds = setup.choose((6, 1.0), (2, 0.2))
    robot = chain(links, "universal")
    q = np.random.default_rng(3).uniform(-0.4, 0.4, size=robot.nq)
    exact = _trajectory(robot, q, seconds, 1e-3, 8)[-1]
    timesteps = (0.02, 0.01, 0.005)
    ours: dict[str, Any] = {}
    for name, make in INTEGRATORS.items():
        errors, times = [], []
        for timestep in timesteps:
            setup.note(f"{name}, {timestep:g} s")
            sim = make(robot, timestep)
            sim.set_state(q)
            sim.run(seconds)
            errors.append(float(np.abs(sim.q - exact).max()))
            sim.set_state(q)
            n = min(100, round(seconds / timestep))
            times += shortest_us([stepper(sim, n)], n, 3)
        ours[name] = {
            "error_rad": errors, "us_per_step": times, "measured_order": _order(timesteps, errors)
        }  # fmt: skip
    expected = {"maximal, order 2": 2, "maximal, order 4": 4, "newton": 2, "galerkin, order 2": 2,
                "galerkin, order 4": 4, "galerkin, order 6": 6}  # fmt: skip
    targets = tuple(
        Target(f"|measured order - {order}| of {name}", abs(ours[name]["measured_order"] - order),
               0.5)
        for name, order in expected.items()
    )  # fmt: skip
    told = ", ".join(f"{name} {row['measured_order']:.2f}" for name, row in ours.items())
    sentence = f"Measured orders on {links} links with universal joints: {told}."

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        colours = (COLOURS["ours"], *OTHERS, COLOURS["mujoco_default"])
        for (name, row), colour in zip(ours.items(), colours, strict=False):
            axes[0].loglog(timesteps, row["error_rad"], "o-", color=colour, label=name)
            spent = np.array(row["us_per_step"]) * 1e-6 * seconds / np.array(timesteps)
            axes[1].loglog(spent, row["error_rad"], "o-", color=colour, label=name)
        finish(axes[0], "timestep [s]", "error [rad]")
        finish(axes[1], "CPU time [s]", "error [rad]")

    parameters = {
        "links": links, "joint": "universal", "seconds": seconds, "timesteps_s": timesteps,
        "reference": "galerkin, order 8, 1 ms",
    }  # fmt: skip
    return Result(parameters, ours, {}, targets, sentence, draw)


NEWTON = Experiment(
    ("fan-5.1",),
    "Newton's method and RIQN for one step of 32 links",
    "Newton's method solves larger timesteps, in fewer iterations",
    run_newton,
)
SIMPSON = Experiment(
    ("fan-5.3",),
    "the Simpson integrator and Hermite-Simpson collocation",
    "both are of order four",
    run_simpson,
)
INTEGRATORS_BESIDE = Experiment(
    ("integrators",),
    "all integrators on one chain: error by timestep and by time",
    "each has its order",
    run_integrators,
)
