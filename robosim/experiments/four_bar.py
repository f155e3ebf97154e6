"""The double four-bar benchmark with its singular poses (Fig. 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.ggl import ggl_motion
from robosim.measuring.runs import largest, sample, trend
from robosim.measuring.target import Target
from robosim.models.builders import double_four_bar
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
G = 9.81
START = (np.pi, np.pi / 2, np.pi, np.pi / 2, np.pi)  # rad: upright, couplers horizontal
RATES = (1.0, -1.0, 1.0, -1.0, 1.0)  # rad/s: the upper ends move at 1 m/s
A = 7.0 * G + 1.5  # J: energy from upright and moving to hanging; first moment 3.5 kg m
LOST = 0.1  # rad: a coupler with a larger tilt is on another branch


def reference(seconds: float) -> Any:
    """theta(t) [rad] from upright on the parallelogram's branch: 3 theta'' = 3.5 g sin theta."""

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], 3.5 / 3.0 * G * float(np.sin(y[0]))]

    return solve_ivp(rates, (0, seconds), [0.0, 1.0], rtol=1e-12, atol=1e-12, dense_output=True).sol


def _tilts(q: Array) -> Array:
    """Largest angle of a coupler [rad]: the sum of its joint's and of the rod's that carries it."""
    turned = np.stack((q[:, 0] + q[:, 1], q[:, 2] + q[:, 3])) - 1.5 * np.pi
    return np.asarray(np.abs(turned).max(axis=0))


def _row(
    t: Array, theta: Array, tilt: Array, energies: Array, closure: float, exact: Any
) -> dict[str, Any]:
    lost = np.flatnonzero(tilt > LOST)
    error = (energies - energies[0]) / A
    kept = slice(0, lost[0] if len(lost) else len(t))
    return {
        "leaves_the_branch_at_s": float(t[lost[0]]) if len(lost) else None,
        "singular_crossings_passed": int(np.count_nonzero(np.diff(np.cos(theta[kept]) > 0))),
        "largest_coupler_tilt_rad": float(tilt.max()),
        "largest_angle_error_rad": largest(theta - exact(t)[0]),
        "largest_energy_error": largest(error),
        "energy_trend": trend(t, error),
        "closure_m": closure,
    }


def run_four_bar(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 12]: 10 s at 10 and 1 ms."""
    seconds = 10.0
    steps = setup.choose((0.01, 0.001), (0.01,))
    robot = double_four_bar()
    settings = {
        "mujoco_default": Settings(),
        "mujoco_best": Settings("RK4", (0.005, 1.0), (0.99, 0.99, 0.001)),
    }
    exact = reference(seconds)
    angle = exact(np.linspace(0, seconds, 100001))[0]
    crossings = int(np.count_nonzero(np.diff(np.cos(angle) > 0)))
    ours: dict[str, Any] = {}
    peers: dict[str, Any] = {key: {"settings": s.told()} for key, s in settings.items()}
    lines: dict[tuple[str, float], Any] = {}
    targets: list[Target] = []
    kinetic = np.zeros(0)
    for dt in steps:
        setup.note(f"dt {1e3 * dt:g} ms, robosim")
        sim = Simulation(robot, timestep=dt)
        sim.set_state(START, RATES)
        every = round(0.01 / dt)

        def read(sim: Simulation = sim) -> Array:
            potential = G * np.sum(sim.state.x[:, 2])
            return np.array([*sim.q, sim.energy(), potential, sim.constraint_violation()])

        run = sample(sim, seconds, every, read)
        q, energies, potential, closure = run.values[0][:, :-3], *run.values[0][:, -3:].T
        theta = q[:, 0] - START[0]
        row = ours[f"{dt:g}"] = _row(run.t, theta, _tilts(q), energies, run.violation, exact)
        row |= {"failure": run.failure, "divided_steps": run.divided}
        lines["ours", dt] = run.t, theta, (energies - energies[0]) / A, closure
        setup.note(f"dt {1e3 * dt:g} ms, GGL")
        ggl = ggl_motion(setup.choose(seconds, 2.0), dt, every)
        row["ggl"] = _row(ggl.t, ggl.angle, ggl.tilt, ggl.energy, largest(ggl.closure), exact)
        row["ggl"]["seconds"] = ggl.t[-1]
        lines["ggl", dt] = ggl.t, ggl.angle, (ggl.energy - ggl.energy[0]) / A, ggl.closure
        if dt == steps[0]:
            kinetic = np.stack((run.t, energies - potential, potential, energies))
        label = f"{1e3 * dt:g} ms"
        targets += [
            Target(
                f"{label}: singular crossings passed on the branch",
                row["singular_crossings_passed"], crossings, at_least=True,
            ),
            Target(f"{label}: tilt of a coupler", row["largest_coupler_tilt_rad"], 1e-6, "rad"),
            Target(f"{label}: largest |E - E0| / A", row["largest_energy_error"], 0.02),
            Target(f"{label}: |trend| over the run / A", abs(row["energy_trend"]), 1e-3),
            Target(f"{label}: closure", run.violation, 1e-9, "m"),
        ]  # fmt: skip
        for key, chosen in settings.items() if setup.mujoco else ():
            setup.note(f"dt {1e3 * dt:g} ms, {LABELS[key]}")
            peer = MuJoCoRun(robot, dt, chosen)
            peer.set_state(START, RATES)
            t, (q, energies, closure) = peer.sample(
                round(seconds / dt), every, peer.data.qpos.copy, peer.energy, peer.closure
            )
            theta = q[:, 0] - START[0]
            peers[key][f"{dt:g}"] = _row(t, theta, _tilts(q), energies, largest(closure), exact)
            lines[key, dt] = t, theta, (energies - energies[0]) / A, closure
    first = f"{steps[0]:g}"

    def told(row: dict[str, Any]) -> str:
        left = row["leaves_the_branch_at_s"]
        where = "stays on the branch" if left is None else f"leaves the branch at {left:.2f} s"
        return (
            f"{where} through {row['singular_crossings_passed']} of {crossings} singular "
            f"crossings, with errors of up to {100 * row['largest_energy_error']:.2g} % of A in "
            f"the energy, {row['closure_m']:.1e} m in the closure and "
            f"{row['largest_angle_error_rad']:.2g} rad in the angle"
        )

    theirs = ours[first]["ggl"]
    until = theirs["seconds"]
    ends = "" if until > seconds - steps[0] else f", which ends at {until:.2f} s,"
    sentence = f"At {1e3 * steps[0]:g} ms robosim {told(ours[first])}"
    sentence += f"; the GGL method{ends} {told(theirs)}"
    for key, row in peers.items() if setup.mujoco else ():
        sentence += f"; {said(key, row['settings'])} {told(row[first])}"

    def draw(figure: Figure) -> None:
        axes = panels(figure, 2, 3)
        looks = {"ours": ("robosim", COLOURS["ours"]), "ggl": ("GGL", OTHERS[1])}
        looks |= {key: (LABELS[key], COLOURS[key]) for key in LABELS if setup.mujoco}
        for key, (label, colour) in looks.items():
            t, theta, *errors = lines[key, steps[0]]
            axes[0, 0].plot(t, np.cos(theta), color=colour, label=label)
            columns = [errors] if len(steps) == 1 else [errors, lines[key, steps[1]][2:]]
            for column, (error, closure) in enumerate(columns):
                t = lines[key, steps[column]][0]
                below = axes[:, 1 + column]
                below[0].plot(t, 100 * error, color=colour, label=label)
                below[1].semilogy(t, np.maximum(closure, 1e-17), color=colour, label=label)
        t = np.linspace(0, seconds, 1001)
        axes[0, 0].plot(t, np.cos(exact(t)[0]), "k:", label="exact")
        for y, name, colour in zip(
            kinetic[1:], ("kinetic", "potential", "total"), OTHERS, strict=False
        ):
            axes[1, 0].plot(kinetic[0], y, color=colour, label=name)
        finish(axes[0, 0], "time [s]", "height of the first rod's end [m]", "10 ms")
        axes[0, 0].legend(loc="lower left", fontsize=8)
        finish(axes[1, 0], "time [s]", "energy [J]", "robosim, 10 ms")
        for column, threshold in zip((1, 2), (0.1, 0.001), strict=True):
            if column > len(steps):
                axes[0, column].set_axis_off()
                axes[1, column].set_axis_off()
                continue
            name = f"{1e3 * steps[column - 1]:g} ms"
            axes[0, column].set_yscale("symlog", linthresh=threshold)
            finish(axes[0, column], "time [s]", "(E - E0) / A [%]", name)
            finish(axes[1, column], "time [s]", "open by [m]", name)

    return Result(
        {
            "timesteps_s": steps,
            "seconds": seconds,
            "links": "rods of 1 m and 1 kg, pivots 1 m apart",
            "start": "upright, the upper ends moving at 1 m/s",
            "singular_crossings_of_the_reference": crossings,
            "A_J": A,
            "A": "E0 - Emin, Emin hanging at rest",
        },
        ours,
        peers if setup.mujoco else {},
        tuple(targets),
        sentence + ".",
        draw,
    )


FOUR_BAR = Experiment(
    ("fig12",),
    "the double four-bar benchmark for 10 s at 10 and 1 ms",
    "passes all ten singular crossings on the parallelogram's branch, bounded energy error",
    run_four_bar,
)
