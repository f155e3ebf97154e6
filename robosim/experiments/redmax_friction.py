"""Load-dependent joint friction, compared with MuJoCo's constant friction [Sueda, Sect. 2.11]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.experiments import redmax_scenes as scenes
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.measuring.runs import largest
from robosim.measuring.target import Target
from robosim.models.builders import drawer, flywheel
from robosim.peers.mujoco_run import LABELS, MuJoCoRun, Settings
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
G, MU, MASS, SHAFT = 9.81, 0.3, 10.0, 0.02
PULL, LENGTH, WEIGHS = 5.0, 0.4, 2.0  # [N], [m], [kg], of the drawer
LEVEL = (0.0, 0.0, 0.0)
# Scenes, steps of a second, and where Algorithm 8 goes with ever shorter ones.
LIMITS = (
    (scenes.hinges_that_rub, 200, -137797.0),
    (scenes.balls_that_rub, 100, -186520.0),
    (scenes.slides_that_rub, 100, -253646.0),
)


def constant(robot: Mechanism, friction: float) -> Mechanism:
    """The same robot with constant dry friction instead of the bearing."""
    (joint,) = robot.joints
    return replace(robot, joints=(replace(joint, bearing=None, friction=friction),), warnings=())


def _taken(run: Simulation | MuJoCoRun, steps: int, pull: float = 0.0) -> tuple[Array, Array]:
    """(q, v) of a robot with a single coordinate, after each step."""
    found = []
    for _ in range(steps):
        if isinstance(run, Simulation):
            run.step()
            found.append((run.q[0], run.v[0]))
        else:
            run.data.qfrc_applied[:] = pull
            run.step()
            found.append((float(run.data.qpos[0]), float(run.data.qvel[0])))
    q, v = np.array(found).T
    return q, v


def _loss(run: Simulation | MuJoCoRun, inertia: float, speed: float, seconds: float) -> float:
    """Energy loss of a flywheel per turn [J], mean over whole turns."""
    timestep = 2e-3
    q, v = _taken(run, round(seconds / timestep))
    turns = int(q[-1] / (2 * np.pi))
    end = np.interp(2 * np.pi * turns, q, v**2)
    return float(inertia * (speed**2 - end) / 2 / turns)


def _flywheels(setup: Setup) -> tuple[dict[str, Any], list[Target]]:
    """Losses per turn for one to four times the weight, with bearings and constant friction."""
    speed, seconds = 15.0, setup.choose(4.0, 1.0)
    moment = 4 / np.pi * MU * SHAFT * MASS * G
    rows: dict[str, Any] = {"weights": [1.0, 2.0, 4.0], "ours_J": [], "exact_J": []}
    for load in rows["weights"]:
        gravity = (0.0, 0.0, -load * G)
        robot = flywheel(MASS, 0.2, MU, SHAFT, 0.1)
        inertia = float(np.asarray(robot.bodies[0].inertia)[1, 1])
        sim = Simulation(robot, 2e-3, gravity)
        sim.set_state(v=[speed])
        rows["ours_J"].append(_loss(sim, inertia, speed, seconds))
        rows["exact_J"].append(8 * MU * SHAFT * load * MASS * G)
        if setup.mujoco:
            peer = MuJoCoRun(constant(robot, moment), 2e-3, Settings(), gravity)
            peer.set_state([0.0], [speed])
            lost = _loss(peer, inertia, speed, seconds)
            rows.setdefault("mujoco_default_J", []).append(lost)
    error = largest(np.array(rows["ours_J"]) / np.array(rows["exact_J"]) - 1.0)
    return rows, [Target("loss of a flywheel over 8 mu r W, relative", error, 1e-3)]


def _drawers(setup: Setup) -> tuple[dict[str, Any], list[Target]]:
    """Accelerations of a drawer over F / m, for forces at increasing distance from its middle."""
    parts = (0.0, 0.5, 0.99, 1.01) if setup.quick else (0.0, 0.25, 0.5, 0.75, 0.99, 1.01, 1.25, 1.5)
    steps, h = 50, 1e-2
    rows: dict[str, Any] = {"two_mu_e_over_L": list(parts), "ours": [], "exact": []}
    for part in parts:
        offset = part * LENGTH / (2 * MU)
        sim = Simulation(drawer(LENGTH, 0.6, WEIGHS, MU, offset), h, LEVEL)
        sim.apply_wrench("drawer", (PULL, 0, 0), (0, 0, -offset * PULL))
        _, v = _taken(sim, steps)
        rows["ours"].append(float(v[-1] / (steps * h) * WEIGHS / PULL))
        rows["exact"].append(max(1.0 - part, 0.0))
        if setup.mujoco:
            # The constant friction is exact for a handle at half of the distance at which the
            # drawer jams.
            robot = constant(drawer(LENGTH, 0.6, WEIGHS, MU, offset), 0.5 * PULL)
            peer = MuJoCoRun(robot, h, Settings(), LEVEL)
            peer.set_state([0.0], [0.0])
            _, v = _taken(peer, steps, PULL)
            found = float(v[-1] / (steps * h) * WEIGHS / PULL)
            rows.setdefault("mujoco_default", []).append(found)
    error = largest(np.array(rows["ours"]) - np.array(rows["exact"]))
    return rows, [Target("acceleration of a drawer over F / m, from the exact one", error, 1e-6)]


def _scenes(setup: Setup) -> tuple[dict[str, Any], list[Target]]:
    """T + V - V0 at the end of scenes 27 to 29."""
    rows, targets = {}, []
    for made, steps, limit in setup.choose(LIMITS, LIMITS[2:]):
        scene = made()
        setup.note(scene.name)
        sim = Simulation(scene.robot(), scene.seconds / steps, scene.gravity)
        sim.set_state(scene.q, scene.v)
        start, most, before = sim.energy(), -np.inf, sim.energy()
        for _ in range(steps):
            sim.step()
            energy = sim.energy()
            most, before = max(most, energy - before), energy
        found = before - start
        rows[scene.name] = {"energy": found, "limit": limit, "largest_gain_of_a_step": most,
                            "published_at_0.01_s": scene.published}  # fmt: skip
        targets.append(Target(f"scene {scene.name}, from its limit", abs(found - limit), 10.0,
                              "g cm^2/s^2"))  # fmt: skip
        targets.append(Target(f"scene {scene.name}, largest gain of a step", most, 1e-3,
                              "g cm^2/s^2"))  # fmt: skip
    return rows, targets


def run_joint_friction(setup: Setup) -> Result:
    """A flywheel, a drawer and the public scenes, compared with constant friction."""
    wheels, first = _flywheels(setup)
    boxes, second = _drawers(setup)
    limits, third = _scenes(setup)
    peers: dict[str, Any] = {}
    sentence = (
        f"A flywheel loses 8 mu r W per turn, with a relative error of {first[0].measured:.1g} "
        f"under any load. Accelerations of a drawer have an error of {second[0].measured:.1g} "
        "F / m; the drawer jams from 2 mu e = L on."
    )
    if setup.mujoco:
        lost, went = wheels.pop("mujoco_default_J"), boxes.pop("mujoco_default")
        peers["mujoco_default"] = {
            "settings": Settings().told(), "loss_of_a_turn_J": lost, "drawer": went,
        }  # fmt: skip
        sentence += (
            f" With MuJoCo's constant friction, the wheel under four times its weight loses "
            f"{lost[-1] / wheels['exact_J'][-1]:.2f} of the exact energy, and the drawer that "
            f"should jam accelerates by {went[-1]:.2f} F / m."
        )

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 2)[0]
        for axis, rows, x, exact, ours, theirs in (
            (axes[0], wheels, "weights", "exact_J", "ours_J", "loss_of_a_turn_J"),
            (axes[1], boxes, "two_mu_e_over_L", "exact", "ours", "drawer"),
        ):
            axis.plot(rows[x], rows[exact], "-", color=OTHERS[3], lw=0.8, label="exact")
            axis.plot(rows[x], rows[ours], "o", color=COLOURS["ours"], label="robosim")
            for key, peer in peers.items():
                axis.plot(rows[x], peer[theirs], "s--", color=COLOURS[key], label=LABELS[key])
        finish(axes[0], "weight of the wheel", "loss of a turn [J]", "flywheel")
        finish(axes[1], "2 mu e / L", "acceleration over F / m", "drawer")

    parameters = {"friction": MU, "shaft_m": SHAFT, "mass_kg": MASS, "units of scenes": "cm, g, s"}
    ours = {"flywheel": wheels, "drawer": boxes, "scenes": limits}
    return Result(parameters, ours, peers, (*first, *second, *third), sentence, draw)


JOINT_FRICTION = Experiment(
    ("redmax-joint-friction",),
    "friction in joints that feels the load: flywheel, drawer, public scenes",
    "8 mu r W a turn within 1e-3; a drawer that jams, within 1e-6 F / m; scenes 27 to 29 within 10",
    run_joint_friction,
)
