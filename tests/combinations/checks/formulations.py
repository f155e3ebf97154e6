"""Other computations of the same motion: `Dynamics`, and `MinimalSimulation`."""

from __future__ import annotations

import numpy as np

import robosim
from robosim import MinimalSimulation, ModelError

from ..builder import Case, hold
from .steps import TIGHT

SHORT = 1e-4  # timestep [s] of which accelerations are read


def accelerations_are_those_of_dynamics(case: Case) -> bool:
    """The change of v in a short step, beside `Dynamics` in the middle of it; to 1e-4 of it.

    For what `Dynamics` says that it has: no drag, no implicit actuators, no carriers, nothing
    one-sided. Loops are closed to 1e-11 m, and may begin to move by so much.
    """
    case = case.twin("smooth")
    if {"drag", "muscle", "massless"} & set(case.features) or case.robot.nv == 0:
        return False
    dynamics = robosim.Dynamics(case.robot)
    sim = case.simulation(timestep=SHORT, tolerance=TIGHT, order=2)
    q0, v0 = sim.q, sim.v
    sim.step()
    change = (sim.v - v0) / SHORT
    q = dynamics.integrate(q0, dynamics.difference(q0, sim.q) / 2)
    v, tau = (v0 + sim.v) / 2, np.zeros(case.robot.nv)
    try:
        found, _ = dynamics.constrained_acceleration(q, v, tau, time=SHORT / 2)
    except ModelError as error:
        hold(bool(case.robot.soft_meshes), f"refused: {error}")
        return True
    allowed = 1e-4 * (np.abs(found).max() + 1.0) + (1e-2 if case.robot.loop_joints else 0.0)
    off = np.abs(found - change)
    k = int(np.argmax(off))
    assert off[k] < allowed, (
        f"the acceleration of '{case.robot.v_names[k]}' is {change[k]:.6g} in a step and "
        f"{found[k]:.6g} of Dynamics"
    )
    return True


def joint_coordinates_move_alike(case: Case) -> bool:
    """`MinimalSimulation` comes nearer with the square of the timestep, or refuses an element."""
    case, off = case.twin("smooth"), []
    if "massless" in case.features or case.robot.nv == 0:
        return False  # carriers have a mass in maximal coordinates alone
    for timestep in (2e-3, 1e-3, 5e-4):
        try:
            other = MinimalSimulation(case.robot, timestep)
        except ModelError as error:
            hold(bool(error.element), f"names nothing: {error}")
            return True
        sim = case.simulation(timestep=timestep, order=2)
        for one in (other, sim):
            one.set_state(case.q, case.v)
            one.run(0.03)
        off.append(np.abs(sim.dynamics.difference(sim.q, other.q)).max())
    assert off[2] < off[1] / 2.5 + 1e-8, f"apart by {off} with timesteps that are halved"
    return True


CHECKS = (accelerations_are_those_of_dynamics, joint_coordinates_move_alike)
