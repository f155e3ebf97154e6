"""Times of a Galerkin integrator and of automatic differentiation by links: [Fan2018, Fig. 2]."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.records.step import INFO
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.linearization.linearization import linearize
from robosim.measuring.one_thread import measured_apart
from robosim.measuring.runs import exponent, shortest_us
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
WHAT = {"residual": 1.0, "direction": 1.0, "linearization": 2.0}  # exponents of robosim
WITHIN, LONG = 0.15, 16  # above these; links from which on exponents are fitted
DT = 0.01  # [s]


def run_growth(setup: Setup) -> Result:
    """[Fan2018, Fig. 2]: equations, direction and linearization of the Simpson integrator."""
    counts = setup.choose((1, 2, 4, 8, 16, 32, 64, 128), (2, 4))
    rounds = setup.choose(7, 2)
    ours: dict[str, list[float]] = {name: [] for name in WHAT}
    theirs: dict[str, list[float]] = {name: [] for name in WHAT}
    apart = 0.0
    setup.note("in a process whose linear algebra has one thread")
    for row in measured_apart(__name__, f"measure_all({counts}, {rounds})"):
        setup.note(f"{row['links']} links are done")
        apart = max(apart, row["apart"])
        for name in WHAT:
            ours[name].append(row["ours"][name])
            theirs[name].append(row["theirs"][name])
    last = [k for k, n in enumerate(counts) if n >= LONG] or list(range(len(counts)))
    growth = {
        who: {
            name: exponent([counts[k] for k in last], [times[k] for k in last])
            for name, times in rows.items()
        }
        for who, rows in (("ours", ours), ("automatic", theirs))
    }
    targets = (
        *(
            Target(f"exponent of the {name}'s time", growth["ours"][name], power + WITHIN)
            for name, power in WHAT.items()
        ),
        Target("difference from automatic differentiation, relative", apart, 1e-7),
    )  # fmt: skip
    told = ", ".join(
        f"{name} n^{growth['ours'][name]:.2f} and n^{growth['automatic'][name]:.2f}"
        for name in WHAT
    )
    faster = ", ".join(f"{theirs[name][-1] / ours[name][-1]:.3g}" for name in WHAT)
    sentence = (
        f"From {counts[last[0]]} to {counts[-1]} links, the times of robosim's Simpson integrator "
        f"and of automatic differentiation grow as: {told}. At {counts[-1]} links, automatic "
        f"differentiation takes {faster} times as long."
    )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3)[0]
        for axis, name in zip(axes, WHAT, strict=True):
            axis.loglog(counts, ours[name], "o-", color=COLOURS["ours"], label="recursive")
            axis.loglog(counts, theirs[name], "s-", color=OTHERS[0], label="automatic")
            finish(axis, "links", "time [us]", name)

    parameters = {"links": counts, "timestep_s": DT, "order": 4, "fitted_from_links": LONG}
    return Result(
        parameters,
        {"us": ours, "us_automatic": theirs, "exponent": growth},
        {},
        targets,
        sentence,
        draw,
    )


def measure_all(counts: Sequence[int], rounds: int) -> None:
    """Print a line of JSON for each number of links."""
    rng = np.random.default_rng(4)
    for n in counts:
        start = rng.uniform(-np.pi / 2, np.pi / 2, size=(2, n))
        print(json.dumps({"links": n, **measure(n, start, rounds)}), flush=True)


def measure(n: int, start: Array, rounds: int) -> dict[str, Any]:
    """Times [us] of both for a chain of n links that starts at q and v (2, n), and differences."""
    from robosim.experiments.automatic import Automatic

    apart = 0.0
    sim = MinimalSimulation(chain(n), DT, integrator="galerkin", order=4, tolerance=1e-10)
    sim.set_state(*start)
    # Another one's work is where automatic differentiation begins.
    twin = sim.copy()
    calls, address, work = twin.engine.calls, twin.engine.address, twin.engine.parts.work
    automatic = Automatic(twin)
    calls.guess(address)
    calls.residual(address)
    apart = max(apart, _apart(work.residual, automatic.residual()))
    calls.direction(address)
    apart = max(apart, _apart(work.step.dx, automatic.direction()))
    # Its steps end elsewhere, with the solution in its work.
    calls.solve(address, twin.held.no_gains[:0], np.zeros(1, dtype=INFO))
    points = automatic.linearization()[1::2]
    points[:, :n] += np.eye(n)
    found = linearize(sim)
    apart = max(apart, _apart(np.hstack((found.A, found.B))[:n], points))
    calls, address = sim.engine.calls, sim.engine.address
    calls.guess(address)
    calls.residual(address)
    each = max(1, 2000 // n)
    took = shortest_us(
        [
            _many(partial(calls.residual, address), each),
            _many(partial(calls.direction, address), each),
        ],
        each,
        rounds,
    )
    few = max(1, 400 // n)
    took += shortest_us([_many(partial(linearize, sim), few)], few, rounds)
    few = max(1, 100 // n)
    theirs = {
        name: shortest_us([_many(getattr(automatic, name), few)], few, min(rounds, 3))[0]
        for name in WHAT
    }
    return {"ours": dict(zip(WHAT, took, strict=True)), "theirs": theirs, "apart": apart}


def _apart(ours: Array, theirs: Array) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _many(call: Callable[[], Any], times: int) -> Callable[[], bool]:
    def take() -> bool:
        for _ in range(times):
            call()
        return True

    return take


GROWTH = Experiment(
    ("fan-5.2",),
    "times of the Simpson integrator by links, beside automatic differentiation",
    "equations and Newton direction grow linearly, and the linearization with the square",
    run_growth,
)
