"""Linear-quadratic regulators about equilibria, trajectories and periods of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.dynamics.dynamics import Dynamics
from robosim.errors import OptionError, StateError
from robosim.optimize.checks import numbers, weight
from robosim.optimize.derivatives import Steps, along
from robosim.optimize.feedback import Feedback
from robosim.optimize.free import FreeCoordinates, reduced
from robosim.optimize.riccati import backwards, repeated, steady
from robosim.simulation import Simulation
from robosim.validation import Array


def lqr(
    robot: Mechanism | Any,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    *,
    final: ArrayLike | None = None,
    periodic: bool = False,
    contact_speed: float | None = None,
    tolerance: float = 1e-6,
) -> Feedback:
    """The linear feedback that minimizes ``sum of dx^T Q dx + du^T R du`` over the steps of a
    simulation.

    Here ``dx = (q, v)`` is in the tangent space of `Dynamics.difference`, in the degrees of
    freedom that remain with loops, couplings and motions. Derivatives are those of
    `robosim.linearize`.

    Parameters
    ----------
    robot : Simulation, MinimalSimulation or Mechanism
        A simulation is not changed; for a Mechanism a `Simulation` is created. Steps, and so
        weights and gains, are those of its time step.
    q, v, tau : (nq,), (nv,), (nu,)
        An equilibrium: a step does not change the state. Then the horizon is infinite.
    q, v, tau : (n + 1, nq), (n + 1, nv), (n, nu)
        A trajectory of the simulation from its present time on: n steps, and their torques.
    Q : (2 nv, 2 nv), (2 nv,) for a diagonal, or float
    R : (nu, nu), (nu,) for a diagonal, or float; positive
    final : as Q, or None
        Weights of the final state of a trajectory; None for Q.
    periodic : bool
        Whether the trajectory is periodic: its last state equals the first one.
    contact_speed : float or None [m/s]
        Smooths contacts; see `robosim.linearize`.
    tolerance : float [m/s or rad/s]
        Largest change in a step at an equilibrium, of velocities, or of positions divided by the
        time step. For a trajectory: largest such error of a step.

    Returns
    -------
    Feedback
        A controller, for `run` and others.

    Raises
    ------
    StateError
        For states that are no equilibrium, no trajectory or not periodic, with the largest error.
    OptionError
        For invalid weights, wrong shapes, or if there is no stabilizing feedback.
    ConvergenceError
        If a step cannot be solved.
    """
    if isinstance(robot, Mechanism):
        robot = Simulation(robot)
    if not hasattr(robot, "is_like"):
        raise OptionError(
            f"lqr takes a Simulation, a MinimalSimulation or a Mechanism, not {robot!r}"
        )
    sim, of = robot.copy(), robot.robot
    nq, nv, nu = of.nq, of.nv, of.nu
    q_given = np.asarray(q)
    n = len(q_given) - 1 if q_given.ndim == 2 else 1
    many = q_given.ndim == 2
    if many and n < 1:
        raise OptionError("a trajectory has two knots at least")
    if (periodic or final is not None) and not many:
        raise OptionError("final and periodic are for trajectories, with rows of q, v and tau")
    if periodic and final is not None:
        raise OptionError("a period has no end for which final could stand")
    rows = ((n + 1,), (n + 1,), (n,)) if many else ((), (), ())
    q = numbers("q", q, (*rows[0], nq))
    v = numbers("v", v, (*rows[1], nv))
    tau = numbers("tau", tau, (*rows[2], nu))
    Q, R = weight("Q", Q, 2 * nv), weight("R", R, nu, positive=True)
    P = Q if final is None else weight("final", final, 2 * nv)
    begin = float(sim.time)
    if not many:
        sim.set_state(q, v, begin)  # closes loops
        q, v, tau = np.stack((sim.q, sim.q)), np.stack((sim.v, sim.v)), tau[None]
    lin = along(sim, q[:-1], v[:-1], tau, begin, contact_speed)
    what = "no trajectory of this simulation" if many else "no equilibrium"
    _refuse_away(Dynamics(of), lin, q[1:], v[1:], sim.timestep, tolerance, what)
    if periodic:
        ends = lin._replace(q=q[-1:], v=v[-1:])
        _refuse_away(Dynamics(of), ends, q[:1], v[:1], sim.timestep, tolerance, "no period")
    free = FreeCoordinates(of)
    A, B, takes, lifts = lin.A, lin.B, None, None
    weights = np.broadcast_to(Q, (n + 1, *Q.shape)).copy()
    weights[-1] = P
    if not free.all:
        parts = free.along(q, v)
        if periodic or not many:
            parts[-1] = parts[0]  # equal states share a basis
        A, B = reduced(lin, parts)
        takes, lifts = np.array([one.take for one in parts]), np.array([p.lift for p in parts])
        weights = np.swapaxes(lifts, 1, 2) @ weights @ lifts
    if not many:
        K = steady(A[0], B[0], weights[0], R)[0][None]
    elif periodic:
        K, _ = repeated(A, B, weights[:-1], R)
    else:
        K, _ = backwards(A, B, weights[:-1], R, weights[-1])
    if takes is not None:
        K = K @ takes[:-1]
    return Feedback(of, q[:-1], v[:-1], tau, K, sim.timestep, begin, periodic=periodic)


def _refuse_away(
    dynamics: Dynamics,
    lin: Steps,
    q: Array,
    v: Array,
    timestep: float,
    tolerance: float,
    what: str,
) -> None:
    """Raise a StateError unless steps lead to the knots (n, nq), (n, nv)."""
    away = np.abs(np.hstack((dynamics.difference(q, lin.q) / timestep, lin.v - v)))
    worst = float(away.max(initial=0.0))
    if worst > tolerance:
        k, column = np.unravel_index(int(np.argmax(away)), away.shape)
        name = dynamics.robot.v_names[int(column) % v.shape[1]]
        raise StateError(
            f"q, v and tau are {what}: step {k} misses its end by {worst:.3g} m/s or rad/s at "
            f"'{name}', and tolerance is {tolerance:g}"
        )
