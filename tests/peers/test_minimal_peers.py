"""Motions in joint coordinates beside other formulations, and beside Pinocchio's dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import branched
import numpy as np
import pytest

import robosim
from robosim import Mechanism, MinimalSimulation, Simulation
from robosim.measuring.runs import integrated
from robosim.models.builders import chain
from robosim.peers.pinocchio_run import accelerations

pytestmark = pytest.mark.peer
EVERYTHING = ("contacts", "limits", "friction")


def ends(make, q, v, seconds: float, steps: int) -> np.ndarray:
    sim = make(seconds / steps)
    sim.set_state(q, v)
    sim.run(seconds)
    return np.concatenate((sim.q, sim.v))


def test_simulation_and_minimal_simulation_meet(a1: Mechanism) -> None:
    """The A1 in the air: the difference of the two falls with the square of the timestep."""
    rng = np.random.default_rng(4)
    q, v = np.array(a1.home, dtype=float), rng.normal(size=a1.nv)
    q[2] += 1.0
    free = robosim.load("a1", ground=False)
    differences = []
    for steps in (20, 40):
        maximal = ends(lambda h: Simulation(free, h), q, v, 0.1, steps)
        minimal = ends(lambda h: MinimalSimulation(a1, h, ignore=EVERYTHING), q, v, 0.1, steps)
        differences.append(np.abs(maximal - minimal).max())
    assert differences[0] < 0.02
    assert np.log2(differences[0] / differences[1]) == pytest.approx(2.0, abs=0.1)


def swinging(tmp_path: Path) -> Mechanism:
    """Branches of hinges, slides and planar joints."""
    file = branched.write(tmp_path, branched.TURNED_OVER)
    return robosim.load(file, floating_base=False)


def in_the_air(tmp_path: Path) -> Mechanism:
    """The A1 without a ground."""
    return robosim.load("a1", ground=False)


def of_balls(tmp_path: Path) -> Mechanism:
    """Rods that hang on each other by ball joints."""
    return chain(3, "spherical", radius=0.2)


def limit(robot: Mechanism, q: np.ndarray, v: np.ndarray, seconds: float) -> np.ndarray:
    """q and v after some time, by Pinocchio's articulated bodies under a method of order eight.

    Where the robot has a file, it is Pinocchio that reads it.
    """
    pin = pytest.importorskip("pinocchio")
    model = None
    if robot.source is not None:
        free = (pin.JointModelFreeFlyer(),) if robot.floating_base else ()
        model = pin.buildModelFromUrdf(str(robot.source), *free)
    return integrated(robot, accelerations(robot, model), q, v, [seconds])[-1]


@pytest.mark.parametrize("make", [swinging, in_the_air, of_balls])
def test_pinocchio_integrated_finely_is_the_limit_of_all(
    make: Callable[[Path], Mechanism], tmp_path: Path
) -> None:
    """Maximal coordinates, the group and Galerkin: each at its order, so to each other too."""
    loaded = make(tmp_path)
    # Pinocchio's algorithm has no dampers.
    robot = replace(loaded, joints=tuple(replace(j, damping=0.0) for j in loaded.joints))
    q, v = np.array(robot.home, dtype=float), np.random.default_rng(6).normal(size=robot.nv)
    seconds = 0.1
    exact = limit(robot, q, v, seconds)

    def minimal(integrator: str, order: int) -> Callable[[float], MinimalSimulation]:
        options = {"integrator": integrator, "order": order, "tolerance": 1e-12}
        return lambda h: MinimalSimulation(robot, h, ignore=EVERYTHING, **options)

    for integrator, order, steps, within in (
        ("maximal", 2, 40, 0.1),
        ("riqn", 2, 40, 0.1),
        ("newton", 2, 40, 0.1),
        ("galerkin", 2, 40, 0.1),
        ("galerkin", 4, 10, 0.25),
        ("galerkin", 6, 4, 0.25),
    ):
        if integrator == "maximal":
            make_one = partial(Simulation, robot, tolerance=1e-12)
        else:
            make_one = minimal(integrator, order)
        coarse, fine = (
            np.abs(ends(make_one, q, v, seconds, n) - exact).max() for n in (steps, 2 * steps)
        )
        assert np.log2(coarse / fine) == pytest.approx(order, abs=within), (integrator, order)
