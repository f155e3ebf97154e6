"""Newton's method within one step ([Bruedigam2020, Fig. 4d])."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import residuals_by_iteration
from robosim.measuring.target import Target
from robosim.models.builders import chain
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT, MOST = 0.1, 6
FLOOR = 1e-12  # m/s: rounding errors dominate below


def residuals(n: int) -> list[float]:
    """Residual [m/s] after 1, 2, ... iterations of the first step of a zigzag of n links."""
    q, v = np.zeros(n), np.zeros(n)
    q[0], v[0] = np.pi / 3, 1.0
    q[1::2], q[2::2], v[1::2], v[2::2] = 0.5, -0.5, -1.0, 1.0

    def of(most: int) -> Simulation:
        # The tolerance is never reached, so that all iterations are made.
        return Simulation(
            chain(n), timestep=DT, tolerance=1e-300, max_iterations=most, max_substeps=1
        )

    return residuals_by_iteration(of, (q, v), MOST, FLOOR)


def run_newton(setup: Setup) -> Result:
    """[Bruedigam2020, Fig. 4d]: one step of pendulums with 1, 10 and 100 links."""
    counts = (1, 10, 100)
    rows = {}
    for n in counts:
        setup.note(f"{n} links")
        rows[str(n)] = residuals(n)
    # r_next <= r^2 means that the number of digits at least doubles.
    ratios = [
        after / before**2
        for row in rows.values()
        for before, after in pairwise(row)
        if after > FLOOR
    ]
    iterations = max(len(row) for row in rows.values())
    targets = (
        Target("largest r_next / r^2 of an iteration, r in m/s", max(ratios), 1.0),
        Target("iterations to 1e-12 m/s, largest number", iterations, 5),
        Target("residual at the end", max(row[-1] for row in rows.values()), FLOOR, "m/s"),
    )
    told = "; ".join(f"n = {n}: " + ", ".join(f"{r:.0e}" for r in row) for n, row in rows.items())
    sentence = (
        f"For any number of links, each Newton iteration at least doubles the digits of the "
        f"residual [m/s]: r_next <= {max(ratios):.2f} r^2 ({told})."
        if targets[0].reached
        else f"Newton's method does not double the digits in every iteration: {told}."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 1, width=8.0)[0, 0]
        for (n, row), colour in zip(rows.items(), (COLOURS["ours"], *OTHERS), strict=False):
            label = f"{n} link{'s' if n != '1' else ''}"
            axes.semilogy(range(1, len(row) + 1), row, "o-", color=colour, label=label)
        axes.set_xticks(range(1, iterations + 1))
        axes.axhline(FLOOR, color="black", lw=0.6, ls=":")
        finish(axes, "Newton iteration", "residual [m/s]", "one step of 0.1 s")

    return Result(
        {
            "timestep_s": DT,
            "links": counts,
            "start": "zigzag: joint angles 60 degrees, then -+0.5 rad; rates +-1 rad/s",
            "residual": "largest, as a velocity in the mass metric",
        },
        {"residual_m_per_s": rows, "r_next_over_r_squared": ratios},
        {},
        targets,
        sentence,
        draw,
    )


NEWTON = Experiment(
    ("wafr4",),
    "quadratic convergence of Newton's method for 1, 10 and 100 links",
    "the digits double with every iteration",
    run_newton,
)
