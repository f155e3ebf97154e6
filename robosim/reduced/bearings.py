"""Bearings: friction on the pads of joints, proportional to their loads [Sueda, Sect. 2.11]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robosim.description.bearing import Pads, pads_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.reduced.constraints import relative_rows
from robosim.reduced.contacts import Touching
from robosim.reduced.solving import INDEFINITE, Equations, Unsolved
from robosim.reduced.staggered import Answer, Resisted, settled, together, within
from robosim.reduced.tree import Placed
from robosim.validation import Array


class Held:
    """A bearing on the pads of a joint.

    Attributes
    ----------
    joint : Joint
    place : int
        Its index in robot.joints.
    friction : float
    pads : Pads
    shares : (m, 6)
        See `Pads.shares`.
    """

    def __init__(self, joint: Joint, place: int, friction: float, pads: Pads) -> None:
        self.joint, self.place, self.friction, self.pads = joint, place, friction, pads
        self.shares = pads.shares
        arms = np.cross(pads.points[:, None], pads.tangents)
        self.slips = np.concatenate((pads.tangents, arms), axis=2).reshape(-1, 6)

    def pressed(self, wrench: Array) -> Array:
        """Normal forces (m,) of the pads for the wrench (6,) of the joint [Sueda, Eq. 2.118].

        The result are the smallest forces that produce the wrench; (2.118) is a regularized form.
        """
        return np.asarray(self.shares @ wrench)

    def bounds(self, wrench: Array) -> Array:
        """Bounds (k,) of friction along each tangent for the wrench (6,) of the joint.

        The normals of a pad share its tangents, so their normal forces are added.
        """
        pressed = np.zeros(len(self.pads.points))
        np.add.at(pressed, list(self.pads.pad_of), np.abs(self.pressed(wrench)))
        return np.asarray(self.friction * np.repeat(pressed, self.pads.tangents.shape[1]))


def bearings_of(robot: Mechanism) -> list[Held]:
    """The bearings of all joints, including those that close loops."""
    return [
        Held(joint, i, joint.bearing.friction, pads_of(joint.bearing, joint.kind, joint.axis))
        for i, joint in enumerate(robot.joints)
        if joint.bearing is not None
    ]


@dataclass
class Maximal:
    """A step without joints, and the joints' reactions [Sueda, Eqs. 2.117, 2.119].

    Attributes
    ----------
    placed : Placed
    A : (6 nb, 6 nb)
        ``M + h D - h^2 K``.
    f : (6 nb,)
        ``M phi + h f``.
    bias : (6 nb,)
        ``h M dJ/dt v``.
    rows : (m, 6 nb)
        The parts of a step's equality constraints that act on bodies.
    loops : sequence of slices
        The rows of each joint that closes a loop.
    """

    placed: Placed
    A: Array
    f: Array
    bias: Array
    rows: Array
    loops: Sequence[slice]

    def reactions(self, total: Array, multipliers: Array) -> list[Array]:
        """Impulses (6,) of all joints on their children, about their points, in child axes.

        For the tree they follow from the leaves on: a joint's impulse is the body's total, plus
        what the body transmits to its children. `total` (6 nb,) is that of the joints of the tree
        alone; `multipliers` (m,) are those of the equality constraints.
        """
        links = self.placed.links
        below, found = total.reshape(-1, 6).copy(), []
        for i in range(len(below) - 1, -1, -1):
            if (p := links.parents[i]) >= 0:
                below[p] += self.placed.into[i].T @ below[i]
        for joint, own in zip(links.joints, below, strict=True):
            found.append(about_point(joint, own))
        for joint, rows in zip(links.robot.loop_joints, self.loops, strict=True):
            own = -self.rows[rows].T @ multipliers[rows]
            b = links.robot.body_index(joint.child)
            found.append(about_point(joint, own[6 * b : 6 * b + 6]))
        return found


def about_point(joint: Joint, wrench: Array) -> Array:
    """A wrench (6,) on a joint's child, moved from its centre of mass to the joint's point."""
    force, moment = wrench[:3], wrench[3:]
    return np.concatenate((force, moment - np.cross(np.asarray(joint.child_position), force)))


def bilateral(
    equations: Equations,
    maximal: Maximal,
    held: Sequence[Held],
    touching: Touching,
    single: bool,
    slip: Array,
    tolerance: float,
) -> Resisted:
    """Bilateral staggered projections [Sueda, Alg. 8], with loops and contacts.

    The reactions of joints include ``dJ/dt v``, which (2.117) omits. In (2.119) the multipliers of
    loops and contacts are those of the solve with the joints; without joints these would be others.

    Parameters
    ----------
    equations : Equations
    maximal : Maximal
    held : sequence of Held
    touching : Touching
    single : bool
        Whether friction of contact points is that of (1.88), within the same equations, instead of
        a part of the friction problem.
    slip : (6 nb,)
    """
    robot, E = maximal.placed.links.robot, maximal.placed.E
    slips = [one.slips @ relative_rows(robot, one.joint, E) for one in held]
    if single:
        rows, least = touching.rays()
    else:
        rows, least = touching.normals, touching.least
        slips.append(touching.tangents)
    T, J, m = np.vstack(slips), equations.J, len(equations.G)
    try:
        L = np.linalg.cholesky(maximal.A)
    except np.linalg.LinAlgError:
        raise Unsolved(INDEFINITE) from None
    F, beta, friction = np.linalg.solve(L, T.T), np.zeros(len(T)), np.repeat(touching.friction, 2)

    def answer(slip: Array) -> Answer:
        found = equations.answered(J.T @ slip, rows @ J, least)
        pushes = -found.multipliers[len(found.multipliers) - len(rows) :]
        outside = rows.T @ pushes - maximal.rows.T @ found.multipliers[:m]
        joints = maximal.A @ (J @ found.x) + maximal.bias - maximal.f - slip - outside
        wrenches = maximal.reactions(joints, found.multipliers[:m])
        bounds = [one.bounds(wrenches[one.place]) for one in held]
        if not single:
            bounds.append(friction * np.repeat(pushes, 2))
        reaction = np.linalg.solve(L, joints + rows.T @ pushes)
        return Answer(found, reaction, np.concatenate(bounds), pushes)

    def slide(answer: Answer, slip: Array) -> Array:
        y = L.T @ (J @ answer.solution.x) - np.linalg.solve(L, slip)
        beta[:] = within(F, y, answer.bounds)
        return np.asarray(-T.T @ beta)

    try:
        found, slip, passes = settled(answer, slide, slip, tolerance)
    except Unsolved as error:
        names = ", ".join(f"'{one.joint.name}'" for one in held)
        raise Unsolved(f"{error}, with bearings of joints {names}") from error
    if single:
        forces = together(*touching.of_rays(found.alpha))
    else:
        forces = together(found.alpha, -beta[len(beta) - 2 * len(rows) :])
    impulse = J.T @ slip + equations.impulse(found.solution, rows @ J)
    return Resisted(found.solution.x, impulse, slip, forces, passes)
