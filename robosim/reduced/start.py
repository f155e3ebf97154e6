"""Starts: coordinates and velocities that satisfy loops, couplings and motions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robosim.description.massless import without_inertia
from robosim.errors import StateError
from robosim.inverse_kinematics.closing import CLOSED as NEARLY_CLOSED
from robosim.inverse_kinematics.closing import Closing
from robosim.kinematics.motions import goal_of, rates_at, value_at
from robosim.minimal.closing import unresisting
from robosim.reduced.constraints import loop_rows, violation
from robosim.reduced.euler import moved
from robosim.reduced.model import Model
from robosim.reduced.solving import Unsolved, least
from robosim.reduced.tree import Placed
from robosim.validation import Array

ITERATIONS = 100
CLOSED = 1e-12  # [m, rad], tolerance
OPEN = 1e-9  # [m, rad], violation from which on a start is refused


def close(
    model: Model, q: Array, v: Array, time: float, hold: Sequence[str]
) -> tuple[Array, Array]:
    """Coordinates and velocities that satisfy constraints, by small motions in the mass metric.

    Where these lead nowhere, as from links in a line, coordinates are searched for farther away.

    Raises
    ------
    StateError
        If there are none with the held coordinates.
    """
    held = np.zeros(model.robot.nv, dtype=bool)
    for name in hold:
        i = model.robot.joint_index(name)
        if i < len(model.links.joints):
            held[model.links.v[i]] = True
    for i, joint in model.led:
        if joint.name not in hold:
            q[model.links.q[i]] = value_at(joint, time)
            v[model.links.v[i]] = rates_at(joint, time)
            held[model.links.v[i]] = True
    if not (model.robot.loop_joints or model.robot.couplings):
        return q, v
    q, worst = _closed(model, q, v, held)
    if not worst <= OPEN:
        q = _closed_elsewhere(model, q, v, held, worst)
    placed = Placed(model.links, q, v)
    G, _ = _rows(model, placed)
    v = v + _smallest(placed, G, -G @ v, held)
    if np.max(np.abs(G @ v)) > OPEN * max(1.0, float(np.abs(v).max())):
        raise StateError("no velocities keep loops and couplings closed with what is held")
    return q, v


def _closed(model: Model, q: Array, v: Array, held: NDArray[np.bool_]) -> tuple[Array, float]:
    """Coordinates after small motions that close loops and couplings, and what is left of these.

    As given if these motions end far away.
    """
    given = q
    for _ in range(ITERATIONS):
        placed = Placed(model.links, q, v)
        G, g = _rows(model, placed)
        worst = float(np.max(np.abs(g)))
        if worst < CLOSED:
            break
        q = moved(model, q, _smallest(placed, G, -g, held))
    return (q if worst <= OPEN else given), worst


def _closed_elsewhere(
    model: Model, q: Array, v: Array, held: NDArray[np.bool_], worst: float
) -> Array:
    """Closed coordinates near those of a search within limits; a StateError if there are none."""
    robot = model.robot if model.limited else unresisting(model.robot)
    given: dict[int, float] = {}
    for joint, at, rates in zip(robot.tree_joints, model.links.q, model.links.v, strict=False):
        if held[rates].any():
            given.update(zip(range(robot.nv)[rates], goal_of(joint, q[at]).tolist(), strict=True))
    closing = Closing(robot, q, given, np.zeros(robot.nv))
    for guesses in closing.guesses(q):
        for guess in guesses:
            found = closing.search(guess)
            if found.open_by < NEARLY_CLOSED:
                there, left = _closed(model, found.q, v, held)
                if left <= OPEN:
                    return there
    raise StateError(
        f"loops and couplings are left open by {worst:.3g} (m or rad) near this start: "
        "begin nearer to a pose that closes them, or hold fewer joints"
    )


def _rows(model: Model, placed: Placed) -> tuple[Array, Array]:
    """Rows (m, nv) of loops and couplings, and their values (m,)."""
    G, g = model.gears.rows_of(model.robot.couplings, placed.q)
    rows, values = [G], [g]
    if model.robot.loop_joints:
        J = placed.jacobian()
        for joint in model.robot.loop_joints:
            found = loop_rows(model.robot, joint, placed.E, placed.twists)
            rows.append(found.G @ J)
            values.append(found.g)
    return np.vstack(rows), np.concatenate(values)


def _smallest(placed: Placed, G: Array, wanted: Array, held: NDArray[np.bool_]) -> Array:
    """The smallest x (nv,) of ``G x = wanted`` in the mass metric, zero for held coordinates."""
    answers = np.zeros((len(held), len(G)))
    free = np.flatnonzero(~held)
    answers[free] = np.linalg.solve(placed.mass_matrix()[np.ix_(free, free)], G[:, free].T)
    A = G @ answers
    return np.asarray(answers @ least(0.5 * (A + A.T), wanted))


def open_by(model: Model, placed: Placed) -> float:
    """Largest violation of a loop or coupling [m, or the sine of half an angle]."""
    worst = 0.0
    for joint in model.robot.loop_joints:
        rows = loop_rows(model.robot, joint, placed.E, placed.twists)
        worst = max(worst, violation(rows, joint))
    _, g = model.gears.rows_of(model.robot.couplings, placed.q)
    return max(worst, float(np.max(np.abs(np.sin(0.5 * g)), initial=0.0)))


def check_inertia(placed: Placed) -> None:
    """Raise a ModelError for a coordinate that moves no inertia."""
    links = placed.links
    try:
        psi = placed.inertia_solver().psi
        wrong = [i for i, block in enumerate(psi) if not np.all(np.diag(block) < 1e18)]
    except Unsolved:
        sizes = np.diag(placed.mass_matrix())
        wrong = [i for i, own in enumerate(links.v) if np.any(sizes[own] < 1e-18)] or [0]
    for i in wrong:
        raise without_inertia(links.robot.v_names[links.v[i].start])
