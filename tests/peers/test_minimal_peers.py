"""Motions in joint coordinates beside other formulations, and beside Pinocchio's dynamics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import branched
import numpy as np
import pytest

import robosim
from robosim import Mechanism, MinimalSimulation, Simulation
from robosim.conversions import velocity_drift_from_pinocchio, velocity_map_from_pinocchio

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


def test_pinocchio_integrated_finely_is_the_limit(tmp_path: Path) -> None:
    """Its articulated-body algorithm under a Runge-Kutta method of order eight."""
    pinocchio = pytest.importorskip("pinocchio")
    integrate = pytest.importorskip("scipy.integrate")
    file = branched.write(tmp_path, branched.TURNED_OVER)
    loaded = robosim.load(file, floating_base=False)
    # Pinocchio's algorithm has no dampers.
    robot = replace(loaded, joints=tuple(replace(j, damping=0.0) for j in loaded.joints))
    model = pinocchio.buildModelFromUrdf(str(file))
    data, n = model.createData(), robot.nv
    assert robot.nq == n

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, v = robosim.to_pinocchio(robot, y[:n], y[n:], model=model)
        T = velocity_map_from_pinocchio(robot, y[:n], model=model)
        a = T @ pinocchio.aba(model, data, q, v, np.zeros(model.nv))
        a = a + velocity_drift_from_pinocchio(robot, y[:n], y[n:], model=model)
        return np.concatenate((y[n:], a))

    rng = np.random.default_rng(6)
    start = np.concatenate((np.array(robot.home), rng.normal(size=n)))
    seconds = 0.1
    exact = integrate.solve_ivp(rate, (0, seconds), start, "DOP853", rtol=1e-13, atol=1e-13)
    for integrator, order, steps in (("newton", 2, 40), ("galerkin", 4, 10), ("galerkin", 6, 4)):
        errors = []
        for n_steps in (steps, 2 * steps):
            found = ends(
                lambda h, i=integrator, o=order: MinimalSimulation(
                    robot, h, integrator=i, order=o, tolerance=1e-12, ignore=EVERYTHING
                ),
                start[:n],
                start[n:],
                seconds,
                n_steps,
            )
            errors.append(np.abs(found - exact.y[:, -1]).max())
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)
