"""Closed loops: closure and energy (Fig. 7a), and chains of four-link segments (Fig. 9a)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.explicit import ExplicitRun
from robosim.measuring.runs import exponent, largest, sample, shortest_us, stepper, trend
from robosim.measuring.starts import OPENING, TILT, G, lowest_segments
from robosim.measuring.target import Target
from robosim.models.builders import rhombus, segments, three_link_loop
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT = 0.01
LOOP_START = (-2.6, 0.86, -2.93)  # rad; the first is given, the others follow from the loop


def lowest_three_link() -> float:
    """Lowest potential energy [J] of the three-link loop, over all its poses."""
    angle = np.linspace(-np.pi, np.pi, 200001)
    P = np.stack((-np.sin(angle), -np.cos(angle)), axis=1)  # end of the first rod, (x, z)
    pivot, l2, l3 = np.array([1.0, 0.0]), np.sqrt(0.5), 1.0
    span = pivot - P
    d = np.linalg.norm(span, axis=1)
    along = (d**2 + l2**2 - l3**2) / (2 * d)
    with np.errstate(invalid="ignore"):
        height = np.sqrt(l2**2 - along**2)
    across = np.stack((-span[:, 1], span[:, 0]), axis=1)
    ends = [
        P + (along[:, None] * span + s * height[:, None] * across) / d[:, None] for s in (1, -1)
    ]
    # Masses are as the lengths; a rod's centre is half way between its ends.
    energies = [G * (P[:, 1] / 2 + l2 * (P[:, 1] + Q[:, 1]) / 2 + l3 * Q[:, 1] / 2) for Q in ends]
    return float(np.nanmin(energies))


def run_loops(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 7a], [Bruedigam2020, Fig. 4b]: three links and a rhombus, 100 s."""
    seconds = setup.choose(100.0, 5.0)
    every = setup.choose(5, 1)
    four_links = rhombus(OPENING, TILT)
    cases: dict[str, Any] = {
        "three-link loop": (three_link_loop(), LOOP_START, ("joint1",), lowest_three_link()),
        "rhombus": (four_links, four_links.home, (), lowest_segments(1)),
    }
    settings = {
        "three-link loop": {
            "mujoco_default": Settings(),
            "mujoco_best": Settings("RK4", solimp=(0.9999, 0.9999, 0.001)),
        },
        "rhombus": {
            "mujoco_default": Settings(),
            "mujoco_best": Settings("RK4", (0.005, 1.0), (0.99, 0.99, 0.001)),
        },
    }
    ours: dict[str, Any] = {}
    peers: dict[str, dict[str, Any]] = {"mujoco_default": {}, "mujoco_best": {}}
    lines: dict[tuple[str, str], Any] = {}
    ranges = {}
    targets: list[Target] = []
    sentences = []
    for name, (robot, start, hold, lowest) in cases.items():
        setup.note(f"{name}, robosim")
        sim = Simulation(robot, timestep=DT)
        sim.set_state(start, hold=hold)
        q = sim.q
        A = ranges[name] = sim.energy() - lowest
        run = sample(sim, seconds, every, sim.energy, sim.constraint_violation)
        error = (run.values[0] - run.values[0][0]) / A
        lines[name, "ours"] = run.t, error, run.values[1]
        row = ours[name] = {
            "closure_m": run.violation,
            "largest_deviation": largest(error),
            "trend_over_the_run": trend(run.t, error),
            "iterations_mean": run.iterations,
            "divided_steps": run.divided,
            "failure": run.failure,
        }
        targets += [
            Target(f"{name}: simulated time", run.t[-1], seconds - DT / 2, "s", at_least=True),
            Target(f"{name}: closure", run.violation, 1e-9, "m"),
            Target(f"{name}: largest |E - E0| / A", row["largest_deviation"], 0.02),
            Target(f"{name}: |trend| over the run / A", abs(row["trend_over_the_run"]), 1e-3),
        ]
        told = (
            f"the {name} of robosim stays closed to {run.violation:.1e} m, its energy within "
            f"{100 * row['largest_deviation']:.3g} % of A, with a trend of "
            f"{100 * row['trend_over_the_run']:+.1e} %"
        )
        setup.note(f"{name}, RKMK4")
        explicit = ExplicitRun(robot, DT, "rk4")
        explicit.set_state(q)
        t, (energies, closure) = explicit.sample(
            round(seconds / DT), every, explicit.energy, explicit.closure
        )
        error = (energies - energies[0]) / A
        lines[name, "rk4"] = t, error, closure
        row["rk4"] = {
            "closure_m": largest(closure),
            "largest_deviation": largest(error),
            "open_by_1_mm_at_s": explicit.failed_at,
        }
        told += (
            f"; RKMK4 with accelerations that keep the loop has opened it by "
            f"{largest(closure):.1e} m after {t[-1]:.1f} s"
        )
        for key, chosen in settings[name].items() if setup.mujoco else ():
            setup.note(f"{name}, {LABELS[key]}")
            peer = MuJoCoRun(robot, DT, chosen)
            peer.set_state(q)
            t, (energies, closure) = peer.sample(
                round(seconds / DT), every, peer.energy, peer.closure
            )
            error = (energies - energies[0]) / A
            lines[name, key] = t, error, closure
            peers[key][name] = {
                "settings": chosen.told(),
                "closure_m": largest(closure),
                "largest_deviation": largest(error),
                "unstable_at_s": peer.failed_at,
            }
            told += (
                f"; with {said(key, chosen.told())} it opens by {largest(closure):.1e} m, and the "
                f"error of the energy is up to {100 * largest(error):.3g} %"
            )
        sentences.append(told[0].upper() + told[1:] + ".")

    def draw(figure: Figure) -> None:
        axes = panels(figure, 2, 2)
        looks = {"ours": ("robosim", COLOURS["ours"]), "rk4": ("RKMK4", OTHERS[1])}
        looks |= {key: (LABELS[key], COLOURS[key]) for key in LABELS if setup.mujoco}
        for row, name in zip(axes, cases, strict=True):
            for key, (label, colour) in looks.items():
                t, error, closure = lines[name, key]
                style = {"lw": 0.8, "color": colour, "label": label}
                style["zorder"] = 3 if key == "ours" else 2
                row[0].semilogy(t, np.maximum(closure, 1e-17), **style)
                row[1].plot(t, 100 * error, **style)
            row[1].set_yscale("symlog", linthresh=1.0)
            finish(row[0], "time [s]", "closure error [m]", name)
            finish(row[1], "time [s]", "(E - E0) / A [%]", name)

    return Result(
        {
            "timestep_s": DT,
            "seconds": seconds,
            "three_link_loop": "1, sqrt(1/2), 1 m and kg; pivots 1 m apart at the same height",
            "rhombus": "four links of 1 m and 1 kg, one corner fixed, opened to 45 degrees",
            "start_rad": {name: case[1] for name, case in cases.items()},
            "A_J": ranges,
            "A": "E0 - Emin; Emin over all poses of the loop, of the rhombus folded and hanging",
            "steps_between_samples": every,
        },
        ours,
        peers if setup.mujoco else {},
        tuple(targets),
        " ".join(sentences),
        draw,
    )


LOOPS = Experiment(
    ("fig7a",),
    "a three-link loop and a rhombus for 100 s at 10 ms",
    "closed to 1e-9 m, no trend in the energy, deviation below 2 %",
    run_loops,
)


def run_segments(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 9a], [Bruedigam2020, Fig. 6]: chains of four-link segments, 10 s."""
    counts = setup.choose((1, 2, 3, 5, 7, 10, 15, 20), (1, 3, 6))
    seconds = setup.choose(10.0, 1.0)
    settings = {
        "mujoco_default": Settings(),
        "mujoco_best": Settings("discrete", solref=(0.01, 1.0)),
    }
    keys = ("us", "closure_m", "largest_deviation")
    ours: dict[str, Any] = {
        key: [] for key in (*keys, "iterations_mean", "divided_steps", "failure")
    }
    peers: dict[str, Any] = {
        key: {"settings": chosen.told(), **{one: [] for one in (*keys, "unstable_at_s")}}
        for key, chosen in settings.items()
    }
    for n in counts:
        robot = segments(n, OPENING, TILT)
        q = np.asarray(robot.home)
        setup.note(f"{n} segments, robosim")
        sim = Simulation(robot, timestep=DT)
        sim.set_state(q)
        A = sim.energy() - lowest_segments(n)
        run = sample(sim, seconds, 1, sim.energy)
        for key, value in (
            ("closure_m", run.violation),
            ("largest_deviation", largest(run.values[0] - run.values[0][0]) / A),
            ("iterations_mean", run.iterations),
            ("divided_steps", run.divided),
            ("failure", run.failure),
        ):
            ours[key].append(value)
        # Another run for the time, without reading results.
        sim.set_state(q)
        steps = round(seconds / DT)
        ours["us"] += shortest_us([stepper(sim, steps)], steps, 1)
        for name, chosen in settings.items() if setup.mujoco else ():
            setup.note(f"{n} segments, {LABELS[name]}")
            peer = MuJoCoRun(robot, DT, chosen)
            peer.set_state(q)
            _, (energies, closure) = peer.sample(steps, 1, peer.energy, peer.closure)
            timed = MuJoCoRun(robot, DT, chosen)
            timed.set_state(q)
            row = peers[name]
            row["us"] += shortest_us([partial(timed.step, steps)], steps, 1)
            row["closure_m"].append(largest(closure))
            row["largest_deviation"].append(largest(energies - energies[0]) / A)
            row["unstable_at_s"].append(peer.failed_at)
    failed = sum(bool(text) for text in ours["failure"])
    power = exponent(counts, ours["us"])
    worst = max(ours["largest_deviation"])
    targets = (
        Target("chains with a failed step", failed, 0),
        Target("closure", max(ours["closure_m"]), 1e-9, "m"),
        Target("largest |E - E0| / A", worst, 0.02),
        Target("exponent of the time of a step over n", power, 1.15),
    )
    sentence = (
        f"Chains of {counts[0]} to {counts[-1]} segments stay closed to "
        f"{max(ours['closure_m']):.1e} m, their energy within {100 * worst:.3g} % of A, "
        f"{failed} fail, and the time of a step grows as n^{power:.2f}"
    )
    for key, row in peers.items() if setup.mujoco else ():
        kept = [k for k, t in enumerate(row["unstable_at_s"]) if t is None]
        lost = [str(n) for k, n in enumerate(counts) if k not in kept]
        sentence += f"; {said(key, row['settings'])} "
        sentence += f"loses n = {', '.join(lost)} and " if lost else ""
        if kept:
            opening = max(row["closure_m"][k] for k in kept)
            errors = [100 * row["largest_deviation"][k] for k in kept]
            sentence += (
                f"opens {'the others' if lost else 'them'} by up to {opening:.1e} m, their energy "
                f"off by {min(errors):.2g} to {max(errors):.2g} %"
            )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3)[0]
        for name, row in ({"ours": ours} | (peers if setup.mujoco else {})).items():
            label = "robosim" if name == "ours" else LABELS[name]
            for ax, key, scale in zip(axes, keys, (1.0, 1.0, 100.0), strict=True):
                y = scale * np.array(row[key], dtype=float)
                ax.plot(counts, y, "o-", color=COLOURS[name], label=label)
        for ax in axes[1:]:
            ax.set_yscale("log")
        finish(axes[0], "segments", "time of a step [us]")
        finish(axes[1], "segments", "closure error [m]")
        finish(axes[2], "segments", "largest |E - E0| / A [%]")

    return Result(
        {
            "timestep_s": DT,
            "seconds": seconds,
            "n": counts,
            "links": "rods of 1 m and 1 kg",
            "start": "at rest, straight, 45 degrees off the vertical, rhombi opened to 45 degrees",
            "A": "E0 - Emin, Emin folded and hanging",
        },
        ours,
        peers if setup.mujoco else {},
        targets,
        sentence + ".",
        draw,
    )


SEGMENTS = Experiment(
    ("fig9a", "wafr6"),
    "chains of four-link segments for 10 s at 10 ms",
    "closed to 1e-9 m, energy within 2 %, time linear in n, n = 1 to 20",
    run_segments,
)
