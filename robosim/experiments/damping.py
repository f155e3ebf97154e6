"""Energy of a damped pendulum, compared with the exact motion (Fig. 7c)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from robosim.description.mechanism import Mechanism
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.explicit import ExplicitRun
from robosim.measuring.runs import exponent, largest, sample
from robosim.measuring.target import Target
from robosim.models.builders import pendulum
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings, said
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
G, DAMPING, START, SECONDS = 9.81, 0.5, np.pi / 2, 10.0
A = 0.5 * G  # J: energy of a rod of 1 m and 1 kg from horizontal to hanging


def damped_pendulum() -> Mechanism:
    """A rod of 1 m and 1 kg on a hinge with viscous friction."""
    robot = pendulum()
    return replace(robot, joints=(replace(robot.joints[0], damping=DAMPING),))


def exact_energy(t: Array) -> Array:
    """Energy [J] of the exact motion, theta'' = -3 (d theta' + g / 2 sin theta)."""

    def rates(t: float, y: Array) -> list[float]:
        return [y[1], -3.0 * (DAMPING * y[1] + 0.5 * G * float(np.sin(y[0])))]

    solution = solve_ivp(
        rates, (0, t[-1]), [START, 0.0], t_eval=t, rtol=1e-12, atol=1e-13, method="DOP853"
    )
    theta, omega = solution.y
    return np.asarray(omega**2 / 6.0 - 0.5 * G * np.cos(theta))


def run_damped(setup: Setup) -> Result:
    """[Bruedigam2023, Fig. 7c]: damping 0.5, at 0.1 and 0.05 s, of orders two and four."""
    steps = (0.1, 0.05, 0.025)
    robot = damped_pendulum()
    errors: dict[str, list[float]] = {}
    lines: dict[tuple[str, float], Any] = {}

    def keep(key: str, dt: float, t: Array, energies: Array) -> None:
        error = (energies - exact_energy(t)) / A
        errors.setdefault(key, []).append(largest(error))
        lines[key, dt] = t, energies, error

    settings = {"mujoco_default": Settings(), "mujoco_best": Settings("RK4")}
    for dt in steps:
        for order in (2, 4):
            setup.note(f"robosim of order {order}, dt {dt:g} s")
            sim = Simulation(robot, timestep=dt, order=order)
            sim.set_state([START])
            run = sample(sim, SECONDS, 1, sim.energy)
            keep(f"order {order}", dt, run.t, run.values[0])
        explicit = ExplicitRun(robot, dt, "euler")
        explicit.set_state([START])
        t, (energies,) = explicit.sample(round(SECONDS / dt), 1, explicit.energy)
        keep("explicit Euler", dt, t, energies)
        for key, chosen in settings.items() if setup.mujoco else ():
            peer = MuJoCoRun(robot, dt, chosen)
            peer.set_state([START])
            t, (energies,) = peer.sample(round(SECONDS / dt), 1, peer.energy)
            keep(key, dt, t, energies)
    ours: dict[str, Any] = {
        key: {"largest_energy_error": errors[key], "measured_order": exponent(steps, errors[key])}
        for key in ("order 2", "order 4", "explicit Euler")
    }
    second, fourth = ours["order 2"], ours["order 4"]
    targets = (
        Target("order 2: energy error / A at 0.1 s", errors["order 2"][0], 0.03),
        Target("order 2: energy error / A at 0.05 s", errors["order 2"][1], 0.008),
        Target("order 2: |measured order - 2|", abs(second["measured_order"] - 2.0), 0.2),
        Target("order 4: energy error / A at 0.1 s", errors["order 4"][0], 2e-4),
        Target("order 4: |measured order - 4|", abs(fourth["measured_order"] - 4.0), 0.2),
    )
    peers = {
        key: {"settings": chosen.told(), "largest_energy_error": errors[key]}
        for key, chosen in settings.items()
        if setup.mujoco
    }

    def told(key: str) -> str:
        at = ", ".join(
            f"{100 * e:.2g} % at {dt:g} s" for dt, e in zip(steps, errors[key], strict=True)
        )
        return f"off by {at}"

    sentence = (
        f"Errors of the energy in units of A: robosim of order 2 is {told('order 2')} (measured "
        f"order {second['measured_order']:.2f}), of order 4 {told('order 4')} (measured order "
        f"{fourth['measured_order']:.2f}); explicit Euler is {told('explicit Euler')}"
    )
    for key, row in peers.items():
        sentence += f"; {said(key, str(row['settings']))} is {told(key)}"

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 3)[0]
        looks = {
            "order 2": ("robosim, order 2", COLOURS["ours"]),
            "order 4": ("robosim, order 4", OTHERS[0]),
            "explicit Euler": ("explicit Euler", OTHERS[1]),
        } | {key: (LABELS[key], COLOURS[key]) for key in peers}
        for key, (label, colour) in looks.items():
            t, energies, error = lines[key, steps[0]]
            axes[0].plot(t, energies, ".-", lw=1, ms=4, color=colour, label=label)
            axes[1].semilogy(t, np.maximum(np.abs(error), 1e-9), color=colour, label=label)
            axes[2].loglog(steps, errors[key], "o-", color=colour, label=label)
        fine = np.linspace(0, SECONDS, 2001)
        axes[0].plot(fine, exact_energy(fine), "k:", label="exact")
        axes[0].set_xlim(0, 3)
        finish(axes[0], "time [s]", "energy [J]", "timestep 0.1 s")
        finish(axes[1], "time [s]", "|E - exact| / A", "timestep 0.1 s")
        finish(axes[2], "timestep [s]", "largest |E - exact| / A")

    return Result(
        {
            "timesteps_s": steps,
            "seconds": SECONDS,
            "damping_Nms_per_rad": DAMPING,
            "start_rad": START,
            "A_J": A,
            "A": "E0 - Emin, Emin hanging at rest",
            "error": "against the exact energy at the same time",
        },
        ours,
        peers,
        targets,
        sentence + ".",
        draw,
    )


DAMPED = Experiment(
    ("fig7c",),
    "a damped pendulum at 0.1 and 0.05 s",
    "energy within 3 % of A at 0.1 s and 0.8 % at 0.05 s; within 0.02 % at 0.1 s of order four",
    run_damped,
)
