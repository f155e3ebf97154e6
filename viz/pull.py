"""Pulling a body with the mouse: a spring and damper between a body point and the mouse."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.formulation import Formulation

Array = NDArray[np.float64]

FREQUENCY = 2.5  # [Hz], of the whole robot on the spring
STRONGEST = 6.0  # weights of the whole robot
STANDARD_GRAVITY = 9.81  # [m/s^2], for the weight
LONGEST_HOLD = 2e-3  # [s] between updates of the force, as light bodies need it


class Pull:
    """Pulls a body of a simulation.

    The stiffness is chosen for the mass of the whole robot. The damping is critical for a free
    body of the pulled body's mass, so that a light link does not oscillate.

    Parameters
    ----------
    sim : Simulation
    body : int
        Index of the body.
    point : (3,) [m]
        Point of the body, in body axes from the centre of mass.

    Attributes
    ----------
    target : (3,) [m]
        Point to which the body is pulled, world axes; change it at will.
    """

    def __init__(self, sim: Formulation, body: int, point: ArrayLike) -> None:
        self.body = body
        self._name = sim.robot.bodies[body].name
        self._point = np.asarray(point, dtype=float)
        mass, own_mass = sim.robot.total_mass, sim.robot.bodies[body].mass
        # An explicit spring, held for this time, must be stable for the body alone.
        fastest = 0.5 / max(LONGEST_HOLD, sim.timestep)
        self._stiffness = min(mass * (2 * np.pi * FREQUENCY) ** 2, own_mass * fastest**2)
        self._damping = 2 * np.sqrt(self._stiffness * own_mass)
        self._most = STRONGEST * mass * STANDARD_GRAVITY
        self.target = self._where(sim)[0]

    def _where(self, sim: Formulation) -> tuple[Array, Array]:
        """Position [m] and velocity [m/s] of the point, world."""
        state, k = sim.state, self.body
        R = quaternions.rotation_matrix(state.q[k])
        arm = R @ self._point
        return state.x[k] + arm, state.v[k] + np.cross(R @ state.omega[k], arm)

    def apply(self, sim: Formulation) -> Array:
        """Apply the present force; returns point [m], force [N] and target [m], (9,)."""
        position, velocity = self._where(sim)
        force = self._stiffness * (self.target - position) - self._damping * velocity
        force *= min(1.0, self._most / max(float(np.linalg.norm(force)), 1e-12))
        sim.apply_wrench(self._name, force, point=position)
        return np.concatenate((position, force, self.target))

    def release(self, sim: Formulation) -> None:
        """Remove the force."""
        sim.apply_wrench(self._name)
