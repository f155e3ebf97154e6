"""Coulomb friction: a box that slides to a stop, and one on an incline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from robosim.experiments.drawing import COLOURS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import sample
from robosim.measuring.target import Target
from robosim.models.builders import cube
from robosim.peers.mujoco_run import LABELS, SAID, MuJoCoRun, Settings
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DT, G, EDGE, MASS, MU, SPEED = 0.01, 9.81, 0.5, 1.0, 0.5, 1.0
CREEP = 1e-11  # m/s, contact_speed of robosim; near the cone's edge contacts creep much faster
STOPS = SPEED**2 / (2 * MU * G)  # m, stopping distance
DIRECTIONS = {"along an axis": (1.0, 0.0), "along the diagonal": (np.sqrt(0.5), np.sqrt(0.5))}
OFF = np.deg2rad(1.0)  # deviation from the friction angle


def _incline(off: float) -> tuple[tuple[float, float, float], float]:
    """(gravity in the incline's axes, exact acceleration [m/s^2]) at the angle atan(mu) + off."""
    angle = np.arctan(MU) + off
    gravity = (G * float(np.sin(angle)), 0.0, -G * float(np.cos(angle)))
    return gravity, max(gravity[0] + MU * gravity[2], 0.0)


def _ways(
    seconds: float, gravity: Any, velocity: Any, settings: Settings | None
) -> tuple[np.ndarray, np.ndarray, str]:
    """(t, distance along the velocity, or x [m], failure) of the box; robosim without settings."""
    robot = cube(EDGE, MASS, MU)
    v = np.array([*velocity, 0.0, 0.0, 0.0])
    direction = np.array([*velocity[:2]]) if np.any(velocity) else np.array([1.0, 0.0])
    q = np.asarray(robot.home)
    if settings is None:
        sim = Simulation(robot, timestep=DT, gravity=gravity, contact_speed=CREEP)
        sim.set_state(q, v)
        run = sample(sim, seconds, 1, lambda: sim.state.x[0, :2].copy())
        t, places, failure = run.t, run.values[0], run.failure
    else:
        peer = MuJoCoRun(robot, DT, settings, gravity)
        peer.set_state(q, v)
        t, (places,) = peer.sample(round(seconds / DT), 1, lambda: peer.data.qpos[:2].copy())
        failure = "" if peer.failed_at is None else f"unstable at {peer.failed_at:g} s"
    return t, places @ direction, failure


def run_friction(setup: Setup) -> Result:
    """Boxes that slide from 1 m/s in two directions; inclines 1 degree off the friction angle."""
    seconds = setup.choose(10.0, 2.0)
    runs: dict[str, Settings | None] = {"ours": None}
    slides = {"ours": None, "mujoco_default": Settings(), "mujoco_best": Settings(
        "RK4", (0.01, 1.0), (0.99, 0.99, 0.001), "elliptic", 100.0
    )}  # fmt: skip
    inclines = slides | {
        "mujoco_best": Settings(
            "RK4", solimp=(0.9999, 0.9999, 0.001), cone="elliptic", impratio=100.0
        )
    }
    runs = slides if setup.mujoco else {"ours": None}
    (below, _), (above, acceleration) = _incline(-OFF), _incline(OFF)
    exact_slide = acceleration * seconds**2 / 2
    numbers: dict[str, Any] = {}
    lines: dict[tuple[str, str], Any] = {}
    for key in runs:
        setup.note("robosim" if key == "ours" else LABELS[key])
        row: dict[str, Any] = {"stops_after_m": {}, "stopping_error_m": {}, "failures": []}
        for name, (x, y) in DIRECTIONS.items():
            velocity = (SPEED * x, SPEED * y, 0.0)
            t, way, failure = _ways(0.5, (0.0, 0.0, -G), velocity, slides[key])
            lines[key, name] = (t, way)
            row["stops_after_m"][name] = way[-1]
            row["stopping_error_m"][name] = way[-1] - STOPS
            row["failures"] += [failure] if failure else []
        for name, gravity in (("below", below), ("above", above)):
            t, way, failure = _ways(seconds, gravity, (0.0, 0.0, 0.0), inclines[key])
            lines[key, name] = (t, way)
            row["failures"] += [failure] if failure else []
        t, way = lines[key, "below"]
        row["creep_m"] = way[-1]
        # The settling of a soft contact is not counted as creep.
        row["creep_after_1_s_m"] = way[-1] - way[np.searchsorted(t, 1.0 - DT / 2)]
        row["slide_m"] = lines[key, "above"][1][-1]
        row["slide_relative_error"] = row["slide_m"] / exact_slide - 1.0
        used = {"sliding": slides[key], "incline": inclines[key]}
        if key != "ours":
            row["settings"] = {what: chosen.told() for what, chosen in used.items() if chosen}
        numbers[key] = row
    ours = numbers.pop("ours")
    errors = ours["stopping_error_m"]
    targets = (
        Target("failed runs", len(ours["failures"]), 0),
        *(
            Target(f"|stopping distance - {STOPS:.5f} m|, {name}", abs(error), 3e-4, "m")
            for name, error in errors.items()
        ),
        Target("creep 1 degree below the angle of friction", abs(ours["creep_m"]), 1e-6, "m"),
        Target(
            "relative error of the slide 1 degree above", abs(ours["slide_relative_error"]), 1e-3
        ),
    )

    def told(row: Any) -> str:
        ends = " and ".join(f"{1e3 * e:+.2f} mm {n}" for n, e in row["stopping_error_m"].items())
        return (
            f"stops {ends} from the exact position; below the angle of friction creeps "
            f"{row['creep_m']:.1e} m in {seconds:g} s ({row['creep_after_1_s_m']:.1e} m after the "
            f"first second); above it slides with an error of "
            f"{100 * row['slide_relative_error']:+.2f} %"
        )

    sentence = f"The box of robosim {told(ours)}"
    for key, row in numbers.items():
        sentence += f"; {SAID[key]} {told(row)}"

    def draw(figure: Figure) -> None:
        axes = panels(figure, 2, 2)
        titles = [f"sliding from 1 m/s {name}" for name in DIRECTIONS]
        titles += ["1 degree below the angle of friction", "1 degree above it"]
        for ax, name, title in zip(axes.flat, (*DIRECTIONS, "below", "above"), titles, strict=True):
            unit, scale = ("um", 1e6) if name == "below" else ("m", 1.0)
            for key in runs:
                t, way = lines[key, name]
                label = "robosim" if key == "ours" else LABELS[key]
                style = "-" if key == "ours" else "--"
                ax.plot(t, scale * way, style, color=COLOURS[key], label=label)
            if name in DIRECTIONS:
                ax.axhline(STOPS, color="black", lw=0.8, ls=":", label="exact end")
            elif name == "above":
                ax.plot(t, acceleration * t**2 / 2, ":", color="black", label="exact")
            else:
                ax.set_yscale("symlog", linthresh=0.01)
            finish(ax, "time [s]", f"way [{unit}]", title)

    parameters = {
        "timestep_s": DT, "box_edge_m": EDGE, "mass_kg": MASS, "mu": MU,
        "contact_speed_m_per_s": CREEP, "speed_m_per_s": SPEED,
        "exact_stopping_distance_m": STOPS, "incline_seconds": seconds,
        "exact_slide_m": exact_slide, "incline": "gravity tilted, in the incline's axes",
    }  # fmt: skip
    return Result(parameters, ours, numbers, targets, sentence + ".", draw)


FRICTION = Experiment(
    ("friction",),
    "a box that slides to a stop, and one on an incline, at 10 ms",
    "stopping distance within 0.3 mm in both directions, no creep, the slide within 0.1 %",
    run_friction,
)
