"""Newton's method beside RIQN on the equations of a step: [Fan2018, Section 5.1]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.minimal import RIQN
from robosim.errors import ConvergenceError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import cpu_time
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
TIMESTEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
SCHEMES: dict[str, dict[str, Any]] = {
    "trapezoidal, Newton": {"integrator": "galerkin", "order": 2},
    "trapezoidal, RIQN": {"integrator": "galerkin", "order": 2},
    "group, Newton": {"integrator": "newton"},
    "group, RIQN": {"integrator": "riqn"},
}


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
            if name == "trapezoidal, RIQN":
                sim.engine.find_roots_by(RIQN)
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
    newton, quasi, group, riqn = ours.values()
    fewer = np.nanmax(
        [np.divide(one["iterations"], other["iterations"])
         for one, other in ((newton, quasi), (group, riqn))]
    )  # fmt: skip
    targets = (
        Target("smallest success rate of Newton's method", min(newton["success"]), 0.5,
               at_least=True),
        *(
            Target(
                f"{scheme}: successes of Newton's method over RIQN's at the largest timestep",
                one["success"][-1] / max(other["success"][-1], 1 / starts), 1.0, at_least=True,
            )
            for scheme, one, other in (("trapezoidal", newton, quasi), ("group", group, riqn))
        ),
        Target("iterations of Newton's method over those of RIQN, largest", float(fewer), 1.0),
    )  # fmt: skip

    def at(key: str, place: int, form: str, factor: float = 1.0) -> str:
        values = [f"{factor * rows[key][place]:{form}}" for rows in ours.values()]
        return ", ".join(values[:-1]) + f" and {values[-1]}"

    sentence = (
        f"Steps of {links} links by {', '.join(list(ours)[:-1])} and {list(ours)[-1]}. Solved at "
        f"{timesteps[-1]:g} s: {at('success', -1, '.0f', 100)} %. Iterations at "
        f"{timesteps[0]:g} s: {at('iterations', 0, '.1f')}; at {timesteps[-1]:g} s: "
        f"{at('iterations', -1, '.1f')}. Times at {timesteps[-1]:g} s: {at('us', -1, '.0f')} us."
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


NEWTON = Experiment(
    ("fan-5.1",),
    "Newton's method and RIQN for one step of 32 links",
    "Newton's method solves larger timesteps, in fewer iterations",
    run_newton,
)
