"""Implicit actuators of the reduced formulation, such as muscles [Sueda, Eqs. 1.57 to 1.64].

A law F(l, dl/dt) along a path of straight parts gives the wrenches J^T F, where the row J maps the
twists of bodies to dl/dt. K = df/dq has two parts. That of changes of F is an outer product with J.
The other one is from changes of direction of the parts, also in dl/dt, which [Sueda] omits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from robosim import se3
from robosim.compiled.building.actuators import implicit_actuators
from robosim.description.actuator import Actuator
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Point, Tendon
from robosim.reduced.forces import Block, Ends, point_force
from robosim.validation import Array


class Acting(NamedTuple):
    """An implicit actuator of a robot.

    Attributes
    ----------
    actuator : Actuator
    gear : float
    on : Tendon, or (index into v, index into q)
    """

    actuator: Actuator
    gear: float
    on: Tendon | tuple[int, int]

    def law(self, control: float, q: float, u: float) -> tuple[float, float, float]:
        """Force along a coordinate or length q with the rate u, and its derivatives by both."""
        force, stiffness, damping = self.actuator.law(control, self.gear * q, self.gear * u)
        return self.gear * force, self.gear**2 * stiffness, self.gear**2 * damping


def acting(robot: Mechanism) -> list[Acting]:
    """The implicit actuators of a robot, in the order of their controls."""
    tendons = {tendon.name: tendon for tendon in robot.tendons}
    found = []
    for k in implicit_actuators(robot):
        actuator = robot.actuators[k]
        ((name, gear),) = actuator.gears.items()
        places = robot.v_names, robot.q_names
        on = tendons[name] if name in tendons else tuple(names.index(name) for names in places)
        found.append(Acting(actuator, gear, on))  # type: ignore[arg-type]
    return found


def parts_of(robot: Mechanism, tendon: Tendon, E: Sequence[Array], twists: Array) -> Iterator[Ends]:
    """The straight parts of a tendon's path."""
    points = [
        (None if p.body is None else robot.body_index(p.body), np.asarray(p.position))
        for p in tendon.path
        if isinstance(p, Point)
    ]
    for (a, x_a), (b, x_b) in pairwise(points):
        yield Ends((a, b), (x_a, x_b), E, twists)


def along_path(
    parts: Sequence[Ends], one: Acting, control: float
) -> tuple[list[int], Array, Array, Array]:
    """Bodies of a path (n,), wrenches (6 n,) on them, and K and D (6 n, 6 n)."""
    bodies = sorted({body for ends in parts for body in ends.bodies if body is not None})
    n = 6 * len(bodies)
    length, rate, J, du = 0.0, 0.0, np.zeros(n), np.zeros(n)
    of_parts = []
    for ends in parts:
        l = float(np.linalg.norm(ends.across))  # noqa: E741
        along = ends.across / l
        bent = (np.eye(3) - np.outer(along, along)) / l
        length, rate = length + l, rate + float(along @ ends.rate)
        # Derivatives (3, n) of the part's vector, and those of its rate, by motions of bodies.
        moves, turns, own = np.zeros((3, n)), np.zeros((3, n)), []
        for body, E, x, gamma, speed, sign in zip(
            ends.bodies, ends.E, ends.points, ends.gammas, ends.rates, (-1.0, 1.0), strict=True
        ):
            if body is None:
                continue
            first = 6 * bodies.index(body)
            moves[:, first : first + 6] += sign * gamma
            turns[:, first + 3 : first + 6] -= sign * se3.cross_matrix(speed) @ E[:3, :3]
            own.append((first, point_force(E, x, sign * along)[1]))
        J += along @ moves
        du += ends.rate @ bent @ moves + along @ turns
        of_parts.append((moves.T @ bent @ moves, own))
    force, stiffness, damping = one.law(control, length, rate)
    K = np.outer(J, stiffness * J + damping * du)
    for bent_part, own in of_parts:
        K += force * bent_part
        for first, turned in own:
            K[first : first + 6, first : first + 6] += force * turned
    return bodies, force * J, K, -damping * np.outer(J, J)


def blocks(bodies: Sequence[int], matrix: Array) -> Iterator[Block]:
    """The blocks of a matrix (6 n, 6 n) by pairs of bodies."""
    for i, a in enumerate(bodies):
        for j, b in enumerate(bodies):
            yield a, b, matrix[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
