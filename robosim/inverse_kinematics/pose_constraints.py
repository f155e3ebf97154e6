"""Constraints on configurations, except for limits of the tree's joints, as residuals.

Residuals to be zero are joints that close loops, couplings, fixed lengths, and given coordinates of
loops. Residuals of inequalities are the violations of limits: of joints that close loops, of
tendons, and cones of free rotations. Accelerations of constraints are in
`robosim.dynamics.constraints`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.kinematics.kinematics import Kinematics
from robosim.kinematics.relative import End, Relative
from robosim.kinematics.relative_on_chart import relative_of
from robosim.se3 import cross_matrix
from robosim.validation import Array

INSIDE = 1e-8  # [m or rad], distance kept from limits that are not bounds
_Z = np.array((0.0, 0.0, 1.0))


class PoseConstraints:
    """Residuals of all constraints on configurations of the tree.

    Parameters
    ----------
    robot : Mechanism
    given : mapping of velocity index to value
        Coordinates that are held or driven: of joints that close loops, of tendons (behind those of
        the joints and of the springs). Those of the tree are ignored.
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
        # Couplings of the tree's joints need no positions of bodies.
        self._placed = bool(
            robot.loop_joints
            or robot.tendons
            or any(limits_turns(one) for one in robot.tree_joints)
        )
        self._offsets = {
            joint.name: quaternions.rotation_matrix(joint.offset) for joint in robot.joints
        }
        led = {name for one in robot.couplings for name in (one.joint, one.source)}
        # Joints that close loops with coordinates that are limited, given or coupled.
        begins = robot.v_offsets
        self._read = {
            j
            for j, joint in enumerate(robot.joints)
            if np.any(np.isfinite(np.array((joint.lower, joint.upper))))
            or joint.name in led
            or any(begins[j] <= v < begins[j + 1] for v in given)
        }

    def at(self, q: Array) -> tuple[Array, Array, list[str]]:
        """Residuals (n,) at a configuration, derivatives (n, nv) by velocities, and names.

        Residuals are in metres, or sines of half angles.
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
                _add_turns(self._relative(joint), found)
        for j, joint in enumerate(robot.loop_joints, start=len(robot.bodies)):
            relative = self._relative(joint)
            residual = relative.residual()
            found.add(joint.name, residual.value, residual.jacobian)
            _add_turns(relative, found)
            if j not in self._read:
                continue
            values, rows, _ = relative.coordinates()
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

    def _relative(self, joint: Joint) -> Relative:
        a = self._end(joint.parent, joint.parent_position)
        b = self._end(joint.child, joint.child_position)
        return relative_of(joint, a._replace(R=a.R @ self._offsets[joint.name]), b)

    def _end(self, body: str | None, position: ArrayLike) -> End:
        """A point of a body, without velocity."""
        kinematics, still = self._kinematics, np.zeros(6)
        if body is None:
            J = np.zeros((6, self.robot.nv))
            return End(np.asarray(position, dtype=float), np.eye(3), J, still, still)
        i = self._index[body]
        R, J = kinematics.R[i], self._J[i].copy()
        arm = R @ position
        J[:3] -= cross_matrix(arm) @ J[3:]
        return End(kinematics.x[i] + arm, R, J, still, still)


def limits_turns(joint: Joint) -> bool:
    """Whether a free rotation has a limit."""
    return bool(np.isfinite(joint.cone) or np.isfinite(joint.largest_turn))


class _Rows:
    """Collects residuals with their derivatives by the velocities of the tree (nv,)."""

    def __init__(self, nv: int) -> None:
        self.nv = nv
        self.values: list[float] = []
        self.rows: list[Array] = []
        self.names: list[str] = []

    def add(self, name: str, values: Array | list[float], rows: Array | list[Array]) -> None:
        """Add values that have to be zero."""
        self.values += [float(value) for value in values]
        self.rows += list(rows)
        self.names += [name] * len(values)

    def add_below(self, name: str, value: float, row: Array) -> None:
        """Add a value that must not be positive."""
        self.add(name, [max(value, 0.0)], [row if value > 0 else np.zeros(self.nv)])

    def add_between(self, name: str, value: float, row: Array, lower: float, upper: float) -> None:
        """Add a value with limits."""
        if np.isfinite(lower):
            self.add_below(name, lower + INSIDE - value, -row)
        if np.isfinite(upper):
            self.add_below(name, value - upper + INSIDE, row)


def _add_turns(relative: Relative, found: _Rows) -> None:
    """Add the limits of a free rotation."""
    joint, w, vector, spins = relative.joint, relative.r[0], relative.r[1:], relative.spins()
    if np.isfinite(joint.cone):
        up = relative.R[2]
        row = -(cross_matrix(_Z) @ up) @ spins
        found.add_below(joint.name, float(np.cos(joint.cone) - up[2]) + INSIDE, row)
    if np.isfinite(joint.largest_turn):
        row = 0.5 * vector @ spins
        found.add_below(joint.name, float(np.cos(0.5 * joint.largest_turn) - w) + INSIDE, row)
