"""Constraints as rows: loops, couplings, driven joints and bodies [Sueda, Sects. 2.8, 2.9].

Each constraint has rows G, for twists or velocities, and a value g. At the level of accelerations,
the rate of G adds a bias. ``G u`` is the rate of g wherever g is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from robosim import quaternions, se3
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


class Rows(NamedTuple):
    """Constraints on twists of bodies."""

    G: Array  # (m, 6 nb)
    g: Array  # (m,) [m or rad]
    bias: Array  # (m,) dG/dt times the twists


def loop_rows(robot: Mechanism, joint: Joint, E: Sequence[Array], twists: Array) -> Rows:
    """Rows of a joint that closes a loop, between its parent a and its child b.

    Rows of a point that is held are in world axes [Sueda, Eqs. 2.95, 2.97]. Rows of a sliding
    joint, and those of rotations, are in the joint's frame, which turns with the parent.
    """
    none = np.eye(4), np.zeros(6)
    a = None if joint.parent is None else robot.body_index(joint.parent)
    b = robot.body_index(joint.child)
    (E_a, phi_a), (E_b, phi_b) = (none if i is None else (E[i], twists[i]) for i in (a, b))
    R_a, R_b = E_a[:3, :3], E_b[:3, :3]
    p_a, p_b = np.asarray(joint.parent_position), np.asarray(joint.child_position)
    R_J = R_a @ quaternions.rotation_matrix(np.asarray(joint.offset))
    J_a, J_b = se3.point_jacobian(E_a, p_a), se3.point_jacobian(E_b, p_b)
    w_a, w_b = R_a @ phi_a[3:], R_b @ phi_b[3:]
    dx = R_b @ p_b + E_b[:3, 3] - R_a @ p_a - E_a[:3, 3]
    rate = J_b @ phi_b - J_a @ phi_a
    # R [w] Gamma phi of both points: their accelerations at constant twists.
    bias = np.cross(w_b, J_b @ phi_b) - np.cross(w_a, J_a @ phi_a)
    turn_a, turn_b = np.zeros((3, 6)), np.zeros((3, 6))
    turn_a[:, 3:], turn_b[:, 3:] = R_a, R_b
    if joint.D_T.shape[1] == 3:
        along, by_a = np.eye(3), -J_a
    else:
        along = R_J @ joint.D_T
        by_a = -J_a + se3.cross_matrix(dx) @ turn_a
        bias = bias - 2 * np.cross(w_a, rate) + np.cross(w_a, np.cross(w_a, dx))
    across = R_J @ joint.D_R
    rows = np.hstack((along, across)).T
    G = np.zeros((rows.shape[0], 6 * len(E)))
    for i, point, turn in ((a, by_a, -turn_a), (b, J_b, turn_b)):
        if i is not None:
            G[:, 6 * i : 6 * i + 6] = np.vstack((along.T @ point, across.T @ turn))
    turned = _turned(joint, R_J.T @ R_b)
    g = np.concatenate((along.T @ dx, joint.D_R.T @ turned))
    return Rows(G, g, np.concatenate((along.T @ bias, -across.T @ np.cross(w_a, w_b - w_a))))


def _turned(joint: Joint, R: Array) -> Array:
    """Deviation (3,) of a rotation, child to joint frame, from the free ones, if it is small."""
    if joint.C_R.shape[1] == 1:
        axis = joint.C_R[:, 0]
        return np.cross(axis, R @ axis)
    if joint.C_R.shape[1] == 3:
        return np.zeros(3)
    return quaternions.rotation_vector(quaternions.from_matrix(R))


def relative_rows(robot: Mechanism, joint: Joint, E: Sequence[Array]) -> Array:
    """(6, 6 nb): the twist of a joint's child relative to its parent, at its point, in child axes.

    The transpose maps a wrench on the child [force; moment] there to wrenches on both bodies.
    """
    b = robot.body_index(joint.child)
    to_joint = se3.adjoint(se3.transformation(np.eye(3), -np.asarray(joint.child_position)))
    rows = np.zeros((6, 6 * len(E)))
    rows[:, 6 * b : 6 * b + 6] = to_joint
    if joint.parent is not None:
        a = robot.body_index(joint.parent)
        from_parent = se3.adjoint(se3.inverse(E[b]) @ E[a])
        rows[:, 6 * a : 6 * a + 6] = -to_joint @ from_parent
    return rows


def violation(rows: Rows, joint: Joint) -> float:
    """Largest violation [m, or the sine of half an angle]."""
    m = joint.D_T.shape[1]
    sizes = np.concatenate((np.abs(rows.g[:m]), np.sin(0.5 * np.abs(rows.g[m:]))))
    return float(np.max(sizes, initial=0.0))


class Gears:
    """Couplings as hyper-reduced coordinates, q = B q_R + offset [Sueda, Eqs. 2.80 to 2.83].

    Attributes
    ----------
    B : (nv, n)
        Map from n independent velocities to all nv.
    offset : (nv,)
        Offsets of dependent coordinates; 0 for others.
    followers : {index into v: index into q}
        Dependent coordinates.
    rest : list of Coupling
        Couplings of coordinates that are dependent already; these are constraints, by `rows_of`.
    """

    def __init__(self, robot: Mechanism) -> None:
        place = {
            joint.name: (robot.v_offsets[i], robot.q_offsets[i])
            for i, joint in enumerate(robot.tree_joints)
        }
        led: dict[int, tuple[int, float, float]] = {}
        self.rest, self.followers = [], {}
        for coupling in robot.couplings:
            (joint, at), (source, _) = place[coupling.joint], place[coupling.source]
            if joint in led or self._leads_back(led, source, joint):
                self.rest.append(coupling)
            else:
                led[joint] = source, coupling.ratio, coupling.offset
                self.followers[joint] = at
        free = [k for k in range(robot.nv) if k not in led]
        self.B, self.offset = np.zeros((robot.nv, len(free))), np.zeros(robot.nv)
        for column, k in enumerate(free):
            self.B[k, column] = 1.0
        for k in led:
            self._fill(k, led)
        self._place = place

    @staticmethod
    def _leads_back(led: dict[int, tuple[int, float, float]], source: int, joint: int) -> bool:
        while source in led and source != joint:
            source = led[source][0]
        return source == joint

    def _fill(self, k: int, led: dict[int, tuple[int, float, float]]) -> None:
        source, ratio, offset = led[k]
        if source in led:
            self._fill(source, led)
        self.B[k] = ratio * self.B[source]
        self.offset[k] = ratio * self.offset[source] + offset

    def rows_of(self, couplings: Sequence, q: Array) -> tuple[Array, Array]:
        """Rows (m, nv) of velocities and values (m,) of couplings."""
        G, g = np.zeros((len(couplings), len(self.offset))), np.zeros(len(couplings))
        for row, coupling in enumerate(couplings):
            (joint, at), (source, from_) = self._place[coupling.joint], self._place[coupling.source]
            G[row, joint], G[row, source] = 1.0, -coupling.ratio
            g[row] = q[at] - coupling.ratio * q[from_] - coupling.offset
        return G, g


class Drive(NamedTuple):
    """A body whose twist is prescribed in some components in body axes [Sueda, Sect. 2.9]."""

    body: int
    twist: Callable[[float], Array]  # of time [s]: velocity in world, angular velocity in body axes
    components: tuple[int, ...]  # of the twist in body axes

    def rates(self, E: Array, time: float) -> Array:
        """Prescribed components (m,) of the twist in body axes, for the body's orientation."""
        given = np.asarray(self.twist(time), dtype=float)
        local = np.concatenate((E[:3, :3].T @ given[:3], given[3:]))
        return local[list(self.components)]
