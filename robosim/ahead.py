"""Compiling kernels in advance, for all kinds of mechanisms.

For each feature, a small model that has it takes its first steps. `python -m robosim.ahead NAME`
does so in a separate process; `compile_all` runs two such processes at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from robosim.batch import BatchSimulation
from robosim.batch.warming import first_steps
from robosim.description.body import Geometry
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import OptionError, RobosimError
from robosim.kernels.compiler.lanes import WIDTH
from robosim.learning.domain import with_friction
from robosim.linearization.linearization import linearize
from robosim.loaders import load
from robosim.minimal import MinimalSimulation
from robosim.models import builders
from robosim.progress import bar
from robosim.simulation import Simulation

AT_ONCE = 2  # number of processes


def _take(sim: Simulation) -> None:
    """The first steps and readings of a typical session."""
    sim.step(np.zeros(sim.robot.nu))
    sim.run(3 * sim.timestep, "stand" if sim.robot.nu > 6 else "zero")
    assert len(sim.torques) == sim.robot.nv
    sim.set_state(sim.q, sim.v)
    sim.contacts()
    sim.min_gap()
    sim.energy()
    sim.joint_wrenches()


def _legged() -> None:
    _take(Simulation(load("a1")))


def _graph() -> None:
    _take(Simulation(load("a1"), solver="ldu"))


def _loops() -> None:
    _take(Simulation(builders.double_four_bar()))
    _take(Simulation(builders.minitaur()))


def _terrain() -> None:
    table = Geometry("box", (2.0, 2.0, 0.1), (0.0, 0.0, -0.05), name="table")
    _take(Simulation(load("a1").with_contacts(obstacles=(table,), ground=False)))


def _touching_bodies() -> None:
    box, ball = (
        Geometry("box", (0.4, 0.4, 0.4), name="box"),
        Geometry("sphere", (0.1,), name="ball"),
    )
    world = builders.cube().add(box, (0.0, 0.0, 1.0), mass=1.0)
    _take(Simulation(world.add(ball, (0.0, 0.0, 2.0), mass=1.0)))


def _linearized() -> None:
    _take(Simulation(load("a1"), friction_cone="linearized"))


def _bouncing() -> None:
    ball = builders.sphere()
    points = tuple(replace(point, restitution=0.5) for point in ball.contacts)
    _take(Simulation(replace(ball, contacts=points)))


def _charts() -> None:
    _take(Simulation(builders.screw()))


def _batch() -> None:
    first_steps(BatchSimulation(load("a1", contacts="feet"), WIDTH + 1), "stand")


def _batch_of_robots() -> None:
    robot = load("a1", contacts="feet")
    robots = [with_friction(robot, 0.5 + 0.01 * i) for i in range(WIDTH)]
    BatchSimulation(robots).rollout(2, controller="stand")


def _legs_in_lanes() -> None:
    _take(Simulation(load("a1", contacts="feet"), lanes=True))


def _minimal() -> None:
    for integrator in ("newton", "galerkin"):
        sim = MinimalSimulation(builders.chain(3), integrator=integrator)
        sim.step(np.zeros(sim.robot.nu))
        sim.run(3 * sim.timestep, "zero")


def _dynamics() -> None:
    robot = load("a1")
    on, q, v = Dynamics(robot), np.array(robot.home, dtype=float), np.zeros(robot.nv)
    on.inverse_dynamics(q, v, v)
    on.forward_acceleration(q, v, v)
    on.mass_matrix(q)
    on.difference(q, on.integrate(q, v))
    on.frame_jacobian(q, robot.bodies[-1].name)


def _rays() -> None:
    Simulation(load("a1", contacts="feet")).cast((0.0, 0.0, 2.0), (0.0, 0.0, -1.0))


def _pictures() -> None:
    sim = Simulation(load("a1", contacts="feet"))
    for what in ("rgb", "depth"):
        sim.render(width=32, height=32, what=what, forces=True)
    sphere = builders.cube().add(Geometry("sphere", (0.1,), rgba=(1.0, 1.0, 1.0, 0.5)))
    Simulation(sphere).render(width=32, height=32)


def _derivatives() -> None:
    linearize(Simulation(load("a1", contacts="feet")), np.zeros(12), contact_speed=1e-3)


# Features by name.
FEATURES: dict[str, Callable[[], None]] = {
    "legged robots": _legged,
    "any graph": _graph,
    "closed loops": _loops,
    "terrain": _terrain,
    "bodies that touch": _touching_bodies,
    "linearized friction": _linearized,
    "bouncing": _bouncing,
    "screws and other charts": _charts,
    "batches": _batch,
    "batches of robots that differ": _batch_of_robots,
    "legs in lanes": _legs_in_lanes,
    "joint coordinates": _minimal,
    "dynamics": _dynamics,
    "rays": _rays,
    "pictures": _pictures,
    "derivatives": _derivatives,
}


def unknown(name: str) -> str:
    """The message for an unknown name of a feature."""
    return f"'{name}' is none of the features: {', '.join(FEATURES)}"


def compile_all(names: Iterable[str] = FEATURES, *, progress: bool = False) -> dict[str, str]:
    """Compile the kernels of features, two at once; returns those that failed, with their messages.

    Parameters
    ----------
    names : of `FEATURES`
    progress : bool
        Show a bar on stderr.

    Raises
    ------
    OptionError
        For an unknown name.
    """
    chosen = list(names)
    for name in chosen:
        if name not in FEATURES:
            raise OptionError(unknown(name))
    failed: dict[str, str] = {}
    with bar("kernels", len(chosen), progress) as advance, ThreadPoolExecutor(AT_ONCE) as pool:

        def one(name: str) -> None:
            done = subprocess.run(
                [sys.executable, "-m", "robosim.ahead", name],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
            if done.returncode != 0:
                failed[name] = done.stderr.strip().splitlines()[-1] if done.stderr else "it died"
            advance(said=name)

        list(pool.map(one, chosen))
    return failed


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for asked in sys.argv[1:] or FEATURES:
                if asked not in FEATURES:
                    sys.exit(unknown(asked))
                FEATURES[asked]()
        except RobosimError as error:
            sys.exit(str(error))
