"""Friction by the methods of [Sueda]: contact points solved together or in turn, and bearings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.experiments import redmax_friction_scenes as theirs
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.experiments.redmax_scene import Scene
from robosim.measuring.target import Target
from robosim.models.builders import cube
from robosim.peers.mujoco_run import LABELS, SAID, MuJoCoRun, Settings
from robosim.reduced import ReducedSimulation
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
DT, G, MU, MASS, SPEED, EDGE = 0.01, 9.81, 0.5, 1.0, 2.0, 0.5
STOPS = SPEED**2 / (2 * MU * G)  # m, stopping distance
EULER = 0.5 * SPEED * DT  # m, difference of the distance with steps of first order
SECONDS = 1.0
# The pads of scene 29 differ: their contact points are on a circle in robosim, at corners in the
# authors' program.
SCENES: tuple[tuple[Callable[[], Scene], float], ...] = (
    (theirs.hinges, 1e-3),
    (theirs.balls, 1e-3),
    (theirs.slides, 0.01),
)


def slide(name: str) -> tuple[Array, Array]:
    """Displacements (n, 3) [m] from the start, and the velocity after the first step."""
    robot, v = cube(EDGE, MASS, MU), np.array((SPEED, 0.0, 0.0, 0.0, 0.0, 0.0))
    home = np.asarray(robot.home, dtype=float)
    start = home[:3]
    places = [np.zeros(3)]
    if name == "mujoco_default":
        peer = MuJoCoRun(robot, DT, Settings())
        peer.set_state(home, v)
        peer.step()
        first = peer.data.qvel[:3].copy()
        places.append(peer.data.qpos[:3] - start)
        for _ in range(round(SECONDS / DT) - 1):
            peer.step()
            places.append(peer.data.qpos[:3] - start)
        return np.array(places), first
    sim: Simulation | ReducedSimulation
    if name == "Simulation":
        sim = Simulation(robot, DT, contact_speed=1e-11)
    else:
        sim = ReducedSimulation(robot, DT, contacts=name)
    sim.set_state(home, v)
    sim.step()
    first = np.array(sim.v[:3])
    places.append(sim.q[:3] - start)
    for _ in range(round(SECONDS / DT) - 1):
        sim.step()
        places.append(sim.q[:3] - start)
    return np.array(places), first


def run_contacts(setup: Setup) -> Result:
    """A box that slides to a stop, and the public scenes with friction in joints."""
    names = ["single", "staggered", "Simulation"]
    names += ["mujoco_default"] if setup.mujoco else []
    rows: dict[str, Any] = {}
    lines: dict[str, Array] = {}
    for name in names:
        setup.note(name)
        lines[name], first = slide(name)
        rows[name] = {
            "first_velocity_m_per_s": first,
            "stops_after_m": lines[name][-1, 0],
            "off_exact_m": lines[name][-1, 0] - STOPS,
            "highest_m": lines[name][:, 2].max(),
        }
    peers = {name: rows.pop(name) for name in ("mujoco_default",) if name in rows}
    u, d = np.array((SPEED, -G * DT)), np.array((1.0, MU)) / np.hypot(1.0, MU)
    expected = (u @ d) * d
    lifted = rows["single"]["first_velocity_m_per_s"][[0, 2]]
    artefact = float(np.abs(lifted - expected).max())
    scenes: dict[str, Any] = {}
    targets = [
        Target("first velocity of (1.88) from (u d) d", artefact, 1e-12, "m/s"),
        Target("Alg. 7 from where Euler stops", abs(rows["staggered"]["off_exact_m"] + EULER),
               0.5 * MU * G * DT**2, "m"),
        Target("Simulation from s^2 / (2 mu g)", abs(rows["Simulation"]["off_exact_m"]), 3e-4, "m"),
    ]  # fmt: skip
    for made, limit in setup.choose(SCENES, SCENES[2:]):
        scene = made()
        setup.note(scene.name)
        energy = scene.energy()
        scenes[scene.name] = {"energy": energy, "published": scene.published}
        targets.append(Target(f"scene {scene.name}", abs(energy - scene.published), limit))

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        t = DT * np.arange(len(lines["single"]))
        colours = (*OTHERS[:2], COLOURS["ours"], COLOURS["mujoco_default"])
        for name, colour in zip(lines, colours, strict=False):
            label = LABELS.get(name, name)
            axes[0].plot(t, lines[name][:, 0], color=colour, lw=0.9, label=label)
            axes[1].plot(t, lines[name][:, 2], color=colour, lw=0.9, label=label)
        axes[0].axhline(STOPS, color="black", lw=0.8, ls=":", label="exact end")
        finish(axes[0], "time [s]", "way [m]", f"sliding from {SPEED:g} m/s")
        finish(axes[1], "time [s]", "height [m]", "lifted by sliding")

    single, turn = rows["single"], rows["staggered"]
    slowed = 1 - single["first_velocity_m_per_s"][0] / SPEED
    sentence = (
        f"In the one problem of (1.88) a box that slides loses {100 * slowed:.0f} % of its speed "
        f"in the first step and is lifted by {single['highest_m']:.2g} m. Algorithm 7 stops it "
        f"{1e3 * turn['off_exact_m']:+.2g} mm from the exact place, half a step of Euler, "
        f"`Simulation` {1e3 * rows['Simulation']['off_exact_m']:+.2g} mm"
    )
    for name, row in peers.items():
        sentence += f", {SAID[name]} {1e3 * row['off_exact_m']:+.2g} mm"
        sentence += f", but lifts it by {row['highest_m']:.2g} m"
    sentence += ". Scenes with friction in joints end with the published energies."
    return Result(
        {"timestep_s": DT, "mu": MU, "speed_m_per_s": SPEED, "stops_after_m": STOPS,
         "scenes": "cm, g, s; as the program of their author has Algorithm 8"},
        rows | {"scenes": scenes},
        peers,
        tuple(targets),
        sentence,
        draw,
    )  # fmt: skip


CONTACT_FRICTION = Experiment(
    ("redmax-contact-friction",),
    "contact points of [Sueda] in one problem and in turn, and friction in joints as published",
    "the artefact of (1.88) to rounding; stops of Alg. 7 within a step; published energies",
    run_contacts,
)
