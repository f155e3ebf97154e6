"""Times of two discrete schemes and four ways to find their roots: [Lee2016, Fig. 3]."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.lee import start
from robosim.experiments.roots import METHODS, SCHEMES, Stepper
from robosim.measuring.runs import exponent, shortest_us
from robosim.measuring.target import Target
from robosim.minimal import MinimalSimulation
from robosim.models.builders import chain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT = 1e-3  # [s]
TOLERANCE = 1e-7  # [m/s], above the rounding errors of 100 links
LONG = 20  # links from which on exponents are fitted; constant costs dominate for shorter chains
# [Lee2016, abstract], by links: SVI over DRNEA at the same root, Newton over RIQN by DRNEA.
PRINTED_SCHEME = {10: 15.0, 100: 32.0}
PRINTED_ROOT = {10: 3.8, 100: 53.0}


def run_timing(setup: Setup) -> Result:
    """[Lee2016, Fig. 3]: times of steps by the number of links, and iterations."""
    counts: tuple[int, ...] = setup.choose((2, 5, 10, 20, 50, 100), (2, 20, 50, 100))
    steps, rounds = setup.choose((100, 5), (10, 2))
    pairs = [(scheme, method) for scheme in SCHEMES for method in METHODS]
    rows: dict[str, dict[str, list[float]]] = {
        _name(*pair): {"us_per_step": [], "iterations": []} for pair in pairs
    }
    apart = 0.0
    for n in counts:
        setup.note(f"{n} links")
        steppers = []
        for pair in pairs:
            sim = MinimalSimulation(chain(n), DT, tolerance=TOLERANCE)
            sim.set_state(start(n))
            steppers.append(Stepper(sim, *pair))
        times = shortest_us([partial(one.take, steps) for one in steppers], steps, rounds)
        for pair, stepper, time in zip(pairs, steppers, times, strict=True):
            row = rows[_name(*pair)]
            row["us_per_step"].append(time)
            row["iterations"].append(float(stepper.iterations[0]) / (steps * rounds))
            first = next(s for p, s in zip(pairs, steppers, strict=True) if p[0] == pair[0])
            apart = max(apart, float(np.abs(stepper.sim.q - first.sim.q).max()))
    us = {name: np.array(row["us_per_step"]) for name, row in rows.items()}
    schemes = {method: us[_name("SVI", method)] / us[_name("DRNEA", method)] for method in METHODS}
    roots = {
        f"{method} over {other}": us[_name("DRNEA", method)] / us[_name("DRNEA", other)]
        for method in ("Newton", "Broyden")
        for other in ("RIQN", "exact O(n)")
    }
    long = np.array(counts) >= LONG
    growth = {name: exponent(np.array(counts)[long], row[long]) for name, row in us.items()}
    ours = [_name("DRNEA", method) for method in ("RIQN", "exact O(n)")]
    lead = np.min([row for name, row in us.items() if name not in ours], axis=0)
    lead /= np.min([us[name] for name in ours], axis=0)
    svi, drnea = (
        np.min([us[_name(scheme, method)] for method in METHODS], axis=0)
        for scheme in ("SVI", "DRNEA")
    )
    behind = [n for n, gain in zip(counts, drnea / svi, strict=True) if gain > 1.0]
    targets = (
        *(Target(f"exponent of the time of {name}, from n = {LONG} on", growth[name], 1.15)
          for name in ours),
        Target(f"least time of the others over that of DRNEA in O(n), at n = {counts[-1]}",
               float(lead[-1]), 1.0, at_least=True),
        Target("largest difference of coordinates within a scheme", apart, 1e-6, "rad"),
    )  # fmt: skip

    def told(ratio: Any, printed: dict[int, float]) -> str:
        there = [n for n in printed if n in counts]
        return ", ".join(
            f"{ratio[counts.index(n)]:.1f} at {n} links ({printed[n]:g} printed)" for n in there
        )

    sentence = (
        f"On DRNEA the time of a step grows as n^{growth[ours[0]]:.2f} with RIQN, as "
        f"n^{growth[ours[1]]:.2f} with the exact direction, and as "
        f"n^{growth[_name('DRNEA', 'Newton')]:.2f} with dense Newton; on SVI with dense Newton as "
        f"n^{growth[_name('SVI', 'Newton')]:.2f}. Ratio of times of SVI and DRNEA, both with RIQN: "
        f"{told(schemes['RIQN'], PRINTED_SCHEME)}; both with Newton's method: "
        f"{told(schemes['Newton'], PRINTED_SCHEME)}. Ratio of times of Newton and RIQN, on DRNEA: "
        f"{told(roots['Newton over RIQN'], PRINTED_ROOT)}."
    )
    if behind:
        sentence += (
            f" Up to {behind[-1]} links, the fastest SVI is faster than the fastest DRNEA, by a "
            f"factor of up to {(drnea / svi).max():.1f}."
        )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3)[0]
        colours = dict(
            zip(METHODS, (OTHERS[0], OTHERS[1], OTHERS[2], COLOURS["ours"]), strict=True)
        )
        for scheme, method in pairs:
            name, style = _name(scheme, method), "o-" if scheme == "DRNEA" else "s:"
            axes[0].loglog(counts, us[name], style, ms=4, color=colours[method], label=name)
        for method, ratio in schemes.items():
            axes[1].loglog(counts, ratio, "o-", ms=4, color=colours[method], label=method)
        axes[1].plot(*zip(*PRINTED_SCHEME.items(), strict=True), "k*", ms=9, label="printed")
        for k, (label, ratio) in enumerate(roots.items()):
            axes[2].loglog(counts, ratio, "o-", ms=4, color=OTHERS[k], label=label)
        axes[2].plot(*zip(*PRINTED_ROOT.items(), strict=True), "k*", ms=9,
                     label="Newton over RIQN, printed")  # fmt: skip
        finish(axes[0], "links", "time of a step [us]")
        finish(axes[1], "links", "time by SVI over time by DRNEA")
        finish(axes[2], "links", "ratio of times, DRNEA")

    return Result(
        {
            "timestep_s": DT,
            "links": counts,
            "tolerance_m_per_s": TOLERANCE,
            "time": f"shortest CPU time of {rounds} repetitions of {steps} steps, taken in turns",
            "printed_scheme": PRINTED_SCHEME,
            "printed_root": PRINTED_ROOT,
        },
        {**rows, "exponent": growth, "svi_over_drnea": schemes, "roots": roots},
        {},
        targets,
        sentence,
        draw,
    )


def _name(scheme: str, method: str) -> str:
    return f"{scheme}, {method}"


TIMING = Experiment(
    ("lee-timing",),
    "times of steps of chains, by two schemes and four ways to find their roots",
    "linear in n for DRNEA with RIQN and with the exact direction, which are the fastest",
    run_timing,
)
