"""Adaptive steps: accelerations, integrated by DOP853 [Sueda, Eqs. 2.21, 2.98, 2.106]."""

from __future__ import annotations

import numpy as np

from robosim.description.joint import Joint
from robosim.kinematics.motions import course, difference
from robosim.reduced import joints
from robosim.reduced.constraints import loop_rows
from robosim.reduced.euler import Step, exchanged
from robosim.reduced.model import Loads, Model
from robosim.reduced.solving import Solver, Unsolved, constrained
from robosim.reduced.tree import Placed
from robosim.validation import Array


def accelerations(
    model: Model, q: Array, v: Array, time: float, loads: Loads
) -> tuple[Array, Array]:
    """Accelerations (nv,) and multipliers (m,), whose forces along coordinates are ``-G^T lambda``.

    Constraints are stabilized by ``-2 alpha G v - beta^2 g`` [Sueda, Eq. 1.82], with `baumgarte`
    for both.
    """
    links = model.links
    placed = Placed(links, q, v)
    bodies = model.body_forces(placed.E, placed.twists, loads)
    along = model.joint_forces(q, v, loads)
    inert = np.einsum("nij,nj->ni", links.inertias, placed.bias)
    f = placed.transposed(bodies.f - inert) + along.f
    B = model.gears.B
    if model.gears.followers:
        dense = B.T @ placed.mass_matrix() @ B
        solve: Solver = lambda x: np.asarray(np.linalg.solve(dense, x))  # noqa: E731
    else:
        solve = placed.inertia_solver()
    G, wanted = _rows(model, placed, time)
    found = constrained(solve, B.T @ f, G @ B, wanted)
    return B @ found.x, found.multipliers


def _rows(model: Model, placed: Placed, time: float) -> tuple[Array, Array]:
    """Rows (m, nv) of accelerations, and their right-hand sides (m,)."""
    nv, rate = len(placed.v), model.baumgarte or 0.0
    rows, wanted = [np.zeros((0, nv))], [np.zeros(0)]
    twists = placed.twists.reshape(-1)
    if model.robot.loop_joints:
        J = placed.jacobian()
        for joint in model.robot.loop_joints:
            found = loop_rows(model.robot, joint, placed.E, placed.twists)
            bias = found.G @ placed.bias.reshape(-1) + found.bias
            rows.append(found.G @ J)
            wanted.append(-bias - 2 * rate * (found.G @ twists) - rate**2 * found.g)
    G, g = model.gears.rows_of(model.gears.rest, placed.q)
    rows.append(G)
    wanted.append(-2 * rate * (G @ placed.v) - rate**2 * g)
    for i, joint in model.led:
        own, there = model.links.v[i], course(joint, time)
        missing = difference(joint, placed.q[model.links.q[i]], there.value)
        rows.append(np.eye(nv)[own])
        slower = there.rates - placed.v[own]
        wanted.append(there.accelerations + 2 * rate * slower + rate**2 * missing)
    return np.vstack(rows), np.concatenate(wanted)


def step(
    model: Model, q: Array, v: Array, time: float, h: float, loads: Loads, tolerance: float
) -> Step:
    """Coordinates and velocities after h seconds, by DOP853 with `tolerance` on each.

    Raises
    ------
    robosim.reduced.solving.Unsolved
        If the integrator fails.
    """
    # Imported here, because scipy.integrate takes longer to import than the rest.
    from scipy.integrate import solve_ivp

    nq, links = len(q), model.links

    def slope(t: float, y: Array) -> Array:
        at, rate = y[:nq], y[nq:]
        out = np.empty_like(y)
        for i, joint in enumerate(links.joints):
            out[links.q[i]] = joints.rates(joint, at[links.q[i]], rate[links.v[i]])
        out[nq:] = accelerations(model, at, rate, t, loads)[0]
        return out

    try:
        found = solve_ivp(
            slope, (time, time + h), np.concatenate((q, v)), "DOP853", rtol=tolerance,
            atol=tolerance,
        )  # fmt: skip
    except np.linalg.LinAlgError as error:
        raise Unsolved(f"the mass matrix has no inverse ({error})") from error
    if not found.success:
        raise Unsolved(f"the adaptive integrator gave up: {found.message}")
    end, rate = found.y[:nq, -1].copy(), found.y[nq:, -1]
    for i, joint in enumerate(links.joints):
        if joint.own_chart is not None:
            _check_on_spline(joint, end[links.q[i]])
        if joint.has_quaternion:
            turn = slice(links.q[i].start + joint.numbers, links.q[i].stop)
            end[turn] /= np.linalg.norm(end[turn])
    end, rate = exchanged(model, end, rate)
    none, free = np.zeros(0), np.zeros((len(model.robot.contacts), 3))
    return Step(end, rate, int(found.nfev), 0.0, np.zeros(len(v)), none, free)


def _check_on_spline(joint: Joint, q: Array) -> None:
    """Raise Unsolved beyond the end of a spline, where "euler" has a limit."""
    lower, upper = joint.own_chart.limits()  # type: ignore[union-attr]
    if np.any((q < lower) | (q > upper)):
        raise Unsolved(
            f"joint '{joint.name}' reaches the end of its spline, where method='euler' stops it"
        )
