"""What must hold beside the limits of the tree's joints, as residuals with their derivatives.

To be zero: joints that close loops, couplings, lengths that are held, coordinates of loops that
are given. Not to be passed, and counted by how far they are passed: limits of joints that close
loops and of tendons, cones of free rotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.simulation.chart import skew
from robosim.simulation.kinematics import Kinematics
from robosim.validation import Array

INSIDE = 1e-8  # [m or rad], how far to keep from limits that are not bounds
_Z = np.array((0.0, 0.0, 1.0))


class Constraints:
    """What a pose of the tree leaves of all constraints.

    Parameters
    ----------
    robot : Mechanism
    given : mapping of velocity index to value
        Coordinates that are held or driven: of joints that close loops, of tendons (behind those
        of the joints and of the springs). Those of the tree are not looked at.
    jacobian : callable(q (nq,)) -> (nb, 6, nv) or None
        As of `Dynamics.jacobian`; None for that of `Kinematics`.
    """

    def __init__(
        self,
        robot: Mechanism,
        given: Mapping[int, float],
        jacobian: Callable[[Array], Array] | None = None,
    ) -> None:
        self.robot, self._kinematics, self.given = robot, Kinematics(robot), given
        self._jacobian_at = jacobian
        self._index = {body.name: i for i, body in enumerate(robot.bodies)}
        # Couplings of the tree's joints take no places of bodies.
        self._placed = bool(
            robot.loop_joints
            or robot.tendons
            or any(limits_turns(one) for one in robot.tree_joints)
        )
        led = {name for one in robot.couplings for name in (one.joint, one.source)}
        # Joints that close loops and whose coordinates are limited, given or led.
        begins = robot.v_offsets
        self._read = {
            j
            for j, joint in enumerate(robot.joints)
            if np.any(np.isfinite(np.array((joint.lower, joint.upper))))
            or joint.name in led
            or any(begins[j] <= v < begins[j + 1] for v in given)
        }

    def at(self, q: Array) -> tuple[Array, Array, list[str]]:
        """Residuals (n,) at a pose, their derivatives (n, nv), and whose each is.

        [m, or sine of half an angle], the latter by the velocities of the tree.
        """
        robot, kinematics = self.robot, self._kinematics
        if self._placed:
            kinematics.move_to(q)
            self._J = kinematics.jacobian() if self._jacobian_at is None else self._jacobian_at(q)
        found, units = _Rows(robot.nv), np.eye(robot.nv)
        coordinates: dict[str, tuple[float, Array]] = {}
        for begin, q_begin, joint in zip(
            robot.v_offsets, robot.q_offsets, robot.tree_joints, strict=False
        ):
            if joint.nv == 1:
                coordinates[joint.name] = float(q[q_begin]), units[begin]
            elif limits_turns(joint):
                self._relative(joint).add_turns(joint, found)
        for j, joint in enumerate(robot.loop_joints, start=len(robot.bodies)):
            relative = self._relative(joint)
            found.add(joint.name, *relative.residual(joint))
            relative.add_turns(joint, found)
            if j not in self._read:
                continue
            values, rows = relative.coordinates(joint)
            if joint.nv == 1:
                coordinates[joint.name] = float(values[0]), rows[0]
            for k, (value, row) in enumerate(zip(values, rows, strict=True)):
                if robot.v_offsets[j] + k in self.given:
                    found.add(joint.name, [value - self.given[robot.v_offsets[j] + k]], [row])
                else:
                    sides = np.asarray(joint.lower)[k], np.asarray(joint.upper)[k]
                    found.add_between(joint.name, value, row, *sides)
        for coupling in robot.couplings:
            (end, end_row), (source, row) = (
                coordinates[name] for name in (coupling.joint, coupling.source)
            )
            value = end - coupling.ratio * source - coupling.offset
            found.add(coupling.name, [value], [end_row - coupling.ratio * row])
        if robot.tendons:
            rows, first = kinematics.tendon_jacobian(), robot.v_offsets[-1] + len(robot.springs)
            lengths = kinematics.tendon_lengths()
            for k, tendon in enumerate(robot.tendons):
                if first + k in self.given:
                    found.add(tendon.name, [lengths[k] - self.given[first + k]], [rows[k]])
                else:
                    found.add_between(tendon.name, lengths[k], rows[k], tendon.lower, tendon.upper)
        matrix = np.array(found.rows).reshape(-1, robot.nv)
        return np.array(found.values), matrix, found.names

    def _relative(self, joint: Joint) -> _Relative:
        kinematics, nv = self._kinematics, self.robot.nv
        if joint.parent is None:
            a = np.zeros(3), np.eye(3), np.zeros((6, nv))
        else:
            i = self._index[joint.parent]
            a = kinematics.x[i], kinematics.R[i], self._J[i]
        i = self._index[joint.child]
        return _Relative(joint, a, (kinematics.x[i], kinematics.R[i], self._J[i]))


def limits_turns(joint: Joint) -> bool:
    """Whether a free rotation has a limit."""
    return bool(np.isfinite(joint.cone) or np.isfinite(joint.largest_turn))


class _Rows:
    """Residuals as they are gathered, with their derivatives by the rates of the tree (nv,)."""

    def __init__(self, nv: int) -> None:
        self.nv = nv
        self.values: list[float] = []
        self.rows: list[Array] = []
        self.names: list[str] = []

    def add(self, name: str, values: Array | list[float], rows: Array | list[Array]) -> None:
        """What is to be zero."""
        self.values += [float(value) for value in values]
        self.rows += list(rows)
        self.names += [name] * len(values)

    def add_below(self, name: str, value: float, row: Array) -> None:
        """What is not to be above zero."""
        self.add(name, [max(value, 0.0)], [row if value > 0 else np.zeros(self.nv)])

    def add_between(self, name: str, value: float, row: Array, lower: float, upper: float) -> None:
        """What has limits."""
        if np.isfinite(lower):
            self.add_below(name, lower + INSIDE - value, -row)
        if np.isfinite(upper):
            self.add_below(name, value - upper + INSIDE, row)


class _Relative:
    """How a joint's child is placed to its parent; see `robosim.kernels.equations.joint`.

    Parameters
    ----------
    joint : Joint
    a, b : (x (3,), R (3, 3), J (6, nv)) of parent and child, world
    """

    def __init__(
        self, joint: Joint, a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]
    ) -> None:
        (x_a, R_a, self._J_a), (x_b, self._R_b, self._J_b) = a, b
        self._R_J = R_a @ quaternions.rotation_matrix(np.asarray(joint.offset))
        self._arm = self._R_b @ np.asarray(joint.child_position)
        self._span = x_b + self._arm - x_a
        self._gap = self._span - R_a @ np.asarray(joint.parent_position)
        self._r = quaternions.from_matrix(self._R_J.T @ self._R_b)
        self._spin = self._J_b[3:] - self._J_a[3:]

    def _slides(self, directions: Array) -> tuple[Array, Array]:
        """Translations along directions (3, m) of the joint frame, and their rows (m, nv)."""
        w = (self._R_J @ directions).T
        rows = w @ (self._J_b[:3] - self._J_a[:3]) + (w @ skew(self._arm).T) @ self._J_b[3:]
        return w @ self._gap, rows - (w @ skew(self._span).T) @ self._J_a[3:]

    def residual(self, joint: Joint) -> tuple[Array, Array]:
        """Rows of the joint's constraints: values (n,), and their derivatives (n, nv)."""
        slides, rows = self._slides(joint.D_T)
        turned = 0.5 * (self._r[0] * joint.D_R.T + joint.D_R.T @ skew(self._r[1:]).T)
        turns = joint.D_R.T @ self._r[1:], (turned @ self._R_J.T) @ self._spin
        return np.concatenate((slides, turns[0])), np.vstack((rows, turns[1]))

    def coordinates(self, joint: Joint) -> tuple[Array, Array]:
        """The joint's coordinates that are numbers, and their derivatives (m, nv)."""
        values, rows = self._slides(joint.C_T)
        if joint.C_R.shape[1] != 1:
            return values, rows
        # The rate of 2 atan2(s, w), off the constraints as well, where it is more than the spin's.
        axis, w, vector = joint.C_R[:, 0], self._r[0], self._r[1:]
        s = axis @ vector
        turned = w * (w * axis + skew(axis) @ vector) + s * vector
        row = (self._R_b @ turned) @ self._spin / (s * s + w * w)
        return np.append(values, 2 * np.arctan2(s, w)), np.vstack((rows, row))

    def add_turns(self, joint: Joint, found: _Rows) -> None:
        """The limits of a free rotation."""
        w, vector = self._r[0], self._r[1:]
        spin = self._R_b.T @ self._spin
        if np.isfinite(joint.cone):
            up = (self._R_J.T @ self._R_b)[2]
            row = -(skew(_Z) @ up) @ spin
            found.add_below(joint.name, float(np.cos(joint.cone) - up[2]) + INSIDE, row)
        if np.isfinite(joint.largest_turn):
            row = 0.5 * vector @ spin
            found.add_below(joint.name, float(np.cos(0.5 * joint.largest_turn) - w) + INSIDE, row)
