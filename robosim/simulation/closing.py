"""Loops closed within the limits of the joints: a bounded least squares over the tree.

Unknown are the coordinates of the tree, so that their limits are bounds. What else must hold is a
residual: joints that close loops, couplings, lengths that are held, coordinates that are given.
What else must not be passed (limits of joints that close loops and of tendons, cones of balls)
counts by how far it is passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.order import coordinate_places
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Term
from robosim.se3 import cross_matrix
from robosim.simulation.kinematics import Kinematics
from robosim.simulation.relative import End, Relative
from robosim.simulation.relative_on_chart import relative_of
from robosim.validation import Array

# What a unit of motion is worth [m, or sine of half an angle], to get near, and then to end there:
# a limit that is not a bound is passed by the square of it.
NEARNESS = (1e-3, 1e-5)
INSIDE = 1e-8  # [m or rad], how far to keep from limits that are not bounds
CLOSED = 1e-4  # [m, or sine of half an angle], from where closing exactly moves next to nothing
AT_BOUND = 1e-6  # [m or rad]
MOST_EVALUATIONS = 200
DAMPING = 1e-3  # to begin with [m^2, or square of a sine]
GUESSES = 40  # beyond those that are at hand
_Z = np.array((0.0, 0.0, 1.0))


@dataclass
class Closed:
    """Where the search from one guess has ended.

    Attributes
    ----------
    q : (nq,)
    open_by : float
        The largest residual [m, or sine of half an angle].
    open_names : list of str
        What is not closed there: joints, couplings, tendons; the worst first.
    at_lower, at_upper : (nv,) of bool
        The coordinates of the tree that are at a limit.
    distance : float
        From what was asked for, in coordinates.
    """

    q: Array
    open_by: float
    open_names: list[str]
    at_lower: NDArray[np.bool_]
    at_upper: NDArray[np.bool_]
    distance: float


class Closing:
    """Finds coordinates of the tree that satisfy all constraints and limits at once.

    Parameters
    ----------
    robot : Mechanism
    asked : (nq,)
        What a start is to be near.
    given : mapping of velocity index to value
        Coordinates that are held or driven: of the tree, of joints that close loops, of tendons
        (behind those of the joints and of the springs).
    signs : (nv,)
        -1 or 1 where a coordinate of the tree is to be on that side of zero, or 0.
    """

    def __init__(
        self, robot: Mechanism, asked: Array, given: dict[int, float], signs: Array
    ) -> None:
        self.robot, self._kinematics, self._given = robot, Kinematics(robot), given
        self._index = {body.name: i for i, body in enumerate(robot.bodies)}
        nv = robot.nv
        self.lower, self.upper = np.full(nv, -np.inf), np.full(nv, np.inf)
        self._free_rotation = np.zeros(nv, dtype=bool)
        # Those that are free to be whole turns away: nothing else depends on them.
        self._angles = np.zeros(nv, dtype=bool)
        led = {name for one in robot.couplings for name in (one.joint, one.source)}
        for name, (j, row) in coordinate_places(robot).items():
            in_tendon = any(
                isinstance(part, Term) and part.coordinate == name
                for tendon in robot.tendons
                for part in tendon.path
            )
            turns = robot.joints[j].units[row] == "rad"
            free = turns and not in_tendon and robot.joints[j].name not in led
            self._angles[robot.v_offsets[j] + row] = free
        # Joints that close loops and whose coordinates are limited, given or led.
        begins = robot.v_offsets
        self._read = {
            j
            for j, joint in enumerate(robot.joints)
            if np.any(np.isfinite(np.array((joint.lower, joint.upper))))
            or joint.name in led
            or any(begins[j] <= v < begins[j + 1] for v in given)
        }
        self._q_index = np.zeros(nv, dtype=np.int64)  # of the coordinates that are numbers
        places = zip(robot.q_offsets, robot.v_offsets, robot.tree_joints, strict=False)
        self._balls: list[tuple[int, int]] = []  # where quaternions begin in q, and rates in v
        for q, v, joint in places:
            slides = joint.numbers
            self.lower[v : v + joint.nv] = joint.lower
            self.upper[v : v + joint.nv] = joint.upper
            self._q_index[v : v + joint.nv] = q + np.arange(joint.nv)
            if joint.has_quaternion:
                self._free_rotation[v + slides : v + joint.nv] = True
                self._balls.append((q + slides, v + slides))
        low, high = sides(robot, signs)
        self.lower, self.upper = np.maximum(self.lower, low), np.minimum(self.upper, high)
        self._numbers = ~self._free_rotation
        self.asked, fixed = asked.copy(), [v for v in given if v < nv]
        for v in fixed:
            self.asked[self._q_index[v]] = given[v]
        self._unknown = np.ones(nv, dtype=bool)
        self._unknown[fixed] = False

    def _descend(
        self, guess: Array, z: Array, offset: Array, low: Array, high: Array, nearness: float
    ) -> float:
        """Move z (nv,) to a least sum of squares within bounds; the largest residual there.

        Levenberg's and Marquardt's steps among the coordinates that are at no bound, or that the
        gradient takes away from theirs; what passes a bound stops there.
        """
        free, damping = np.flatnonzero(self._unknown), DAMPING
        low, high = low[free], high[free]

        def evaluate(here: Array) -> tuple[float, Array, Array, float]:
            z[free] = here
            residual, rows, _ = self._constraints(guess, z)
            away, rows = nearness * (offset[free] + here), rows[:, free]
            cost = 0.5 * float(residual @ residual + away @ away)
            gradient = rows.T @ residual + nearness * away
            return cost, gradient, rows, float(np.abs(residual).max(initial=0.0))

        here = z[free].copy()
        cost, gradient, rows, worst = evaluate(here)
        for _ in range(MOST_EVALUATIONS):
            stuck = ((here <= low) & (gradient > 0)) | ((here >= high) & (gradient < 0))
            loose = np.flatnonzero(~stuck)
            matrix = rows[:, loose].T @ rows[:, loose]
            matrix[np.diag_indices(len(loose))] += nearness**2 + damping
            step = np.zeros(len(here))
            step[loose] = -np.linalg.solve(matrix, gradient[loose])
            there = np.minimum(np.maximum(here + step, low), high)
            tried = evaluate(there)
            moved = float(np.abs(there - here).max(initial=0.0))
            if tried[0] < cost:
                gain, here = cost - tried[0], there
                cost, gradient, rows, worst = tried
                damping = max(damping / 5, nearness**2 * 1e-3)
                if gain < 1e-12 * cost or moved < 1e-13:
                    break
            elif moved < 1e-13:
                break
            else:
                damping *= 4
        z[free] = here
        return worst

    def guesses(self, closed: Array) -> Iterator[list[Array]]:
        """Coordinates (nq,) to search from, ever farther from what was asked for; always the same.

        First together what was asked for and where the loops are `closed` regardless of limits;
        then the middle of all limits, and others one by one.
        """
        # In turns and metres, where there is only one limit or none.
        low = np.where(np.isfinite(self.lower), self.lower, self._present(self.asked) - np.pi)
        high = np.where(np.isfinite(self.upper), self.upper, self._present(self.asked) + np.pi)
        low, high = np.minimum(low, high), np.maximum(low, high)
        whole = np.isfinite(self.lower) & np.isfinite(self.upper)
        middle = self._moved(self.asked, np.where(whole, 0.5 * (low + high), 0.0), whole)
        yield [self._within(self.asked), self._within(closed)]
        yield [middle]
        rng = np.random.default_rng(0)
        every = np.ones(len(low), dtype=bool)
        for spread in np.linspace(1 / GUESSES, 1.0, GUESSES):
            target = rng.uniform(low, high)
            present = self._present(self.asked)
            yield [self._moved(self.asked, present + spread * (target - present), every)]

    def in_the_way(self, found: Closed) -> list[str]:
        """What stands at its limit there, in words."""
        places = coordinate_places(self.robot)
        told = []
        for name, (j, row) in places.items():
            v = self.robot.v_offsets[j] + row
            for stands, side, bound in (
                (found.at_lower[v], "lower", self.lower[v]),
                (found.at_upper[v], "upper", self.upper[v]),
            ):
                if stands and found.open_by > CLOSED:
                    told.append(f"joint '{name}' is at its {side} limit of {bound:.6g}")
        return told

    def search(self, guess: Array) -> Closed:
        """Where all is satisfied near a guess (nq,), or as nearly as can be from there."""
        free = self._unknown
        z = np.zeros(len(free))
        start = self._present(guess)
        numbers = self._numbers & free
        low, high = np.where(numbers, self.lower - start, -np.inf), np.full(len(free), np.inf)
        high[numbers] = (self.upper - start)[numbers]
        # An interior is asked for even where a limit leaves next to none.
        low, high = np.minimum(low, 0.0) - 1e-12, np.maximum(high, 0.0) + 1e-12
        offset = np.where(self._numbers, start - self._present(self.asked), 0.0)

        for nearness in NEARNESS if free.any() else ():
            if self._descend(guess, z, offset, low, high, nearness) > CLOSED:
                break
        self._unwind(start, z)
        residual, _, names = self._constraints(guess, z)
        worst = np.argsort(-np.abs(residual), kind="stable")
        still = [names[i] for i in worst if abs(residual[i]) > CLOSED]
        return Closed(
            self._at(guess, z),
            float(np.abs(residual).max(initial=0.0)),
            list(dict.fromkeys(still)),
            numbers & (z < low + AT_BOUND),
            numbers & (z > high - AT_BOUND),
            float(np.linalg.norm(np.where(free, offset + z, 0.0))),
        )

    def _unwind(self, start: Array, z: Array) -> None:
        """Turn angles by whole turns, in z, to where they are nearest to what was asked for."""
        turn, asked = 2 * np.pi, self._present(self.asked)
        for v in np.flatnonzero(self._angles & self._unknown):
            here = start[v] + z[v]
            turns = np.round((asked[v] - here) / turn)
            if np.isfinite(self.lower[v]):
                turns = max(turns, np.ceil((self.lower[v] - here) / turn))
            if np.isfinite(self.upper[v]):
                turns = min(turns, np.floor((self.upper[v] - here) / turn))
            if self.lower[v] <= here + turn * turns <= self.upper[v]:
                z[v] += turn * turns

    def _present(self, q: Array) -> Array:
        """Coordinates (nv,) that are numbers; 0 for free rotations."""
        return np.where(self._numbers, q[self._q_index], 0.0)

    def _moved(self, q: Array, to: Array, which: NDArray[np.bool_]) -> Array:
        """q with some of its numbers moved to others (nv,), but those that are given."""
        which = which & self._numbers & self._unknown
        out = q.copy()
        out[self._q_index[which]] = to[which]
        return out

    def _within(self, q: Array) -> Array:
        clipped = np.minimum(np.maximum(self._present(q), self.lower), self.upper)
        return self._moved(q, clipped, np.ones(len(clipped), dtype=bool))

    def _at(self, guess: Array, z: Array) -> Array:
        """The guess (nq,) moved by z (nv,), free rotations by a rotation vector in child axes."""
        q = guess.copy()
        q[self._q_index[self._numbers]] += z[self._numbers]
        for k, v in self._balls:
            angle = float(np.linalg.norm(z[v : v + 3]))
            if angle > 0:
                turn = quaternions.from_axis_angle(z[v : v + 3], angle)
                q[k : k + 4] = quaternions.multiply(q[k : k + 4], turn)
        return q

    def _constraints(self, guess: Array, z: Array) -> tuple[Array, Array, list[str]]:
        """Residuals, their rows (n, nv), and whose each is."""
        robot, kinematics = self.robot, self._kinematics
        q = self._at(guess, z)
        kinematics.move_to(q)
        found = _Rows(robot.nv)
        coordinates: dict[str, tuple[float, Array]] = {}
        for begin, q_begin, joint in zip(
            robot.v_offsets, robot.q_offsets, robot.tree_joints, strict=False
        ):
            if joint.nv == 1:
                coordinates[joint.name] = float(q[q_begin]), np.eye(robot.nv)[begin]
            elif np.isfinite(joint.cone) or np.isfinite(joint.largest_turn):
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
                if robot.v_offsets[j] + k in self._given:
                    found.add(joint.name, [value - self._given[robot.v_offsets[j] + k]], [row])
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
                if first + k in self._given:
                    found.add(tendon.name, [lengths[k] - self._given[first + k]], [rows[k]])
                else:
                    found.add_between(tendon.name, lengths[k], rows[k], tendon.lower, tendon.upper)
        matrix = np.array(found.rows).reshape(-1, robot.nv)
        for _, v in self._balls:
            matrix[:, v : v + 3] = matrix[:, v : v + 3] @ _rate_of_turn(z[v : v + 3])
        return np.array(found.values), matrix, found.names

    def _relative(self, joint: Joint) -> Relative:
        offset = quaternions.rotation_matrix(joint.offset)
        a = self._end(joint.parent, joint.parent_position)
        b = self._end(joint.child, joint.child_position)
        return relative_of(joint, a._replace(R=a.R @ offset), b)

    def _end(self, body: str | None, position: ArrayLike) -> End:
        """A point of a body, at rest."""
        kinematics, still = self._kinematics, np.zeros(6)
        if body is None:
            J = np.zeros((6, self.robot.nv))
            return End(np.asarray(position, dtype=float), np.eye(3), J, still, still)
        i = self._index[body]
        R, J = kinematics.R[i], kinematics.jacobian()[i].copy()
        arm = R @ np.asarray(position)
        J[:3] -= cross_matrix(arm) @ J[3:]
        return End(kinematics.x[i] + arm, R, J, still, still)


def sides(robot: Mechanism, signs: Array) -> tuple[Array, Array]:
    """Bounds (nv,), (nv,) of coordinates whose signs (nv,) are given: of angles, half a turn."""
    low, high = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
    for j, row in coordinate_places(robot).values():
        v, joint = robot.v_offsets[j] + row, robot.joints[j]
        most = np.pi if joint.units[row] == "rad" else np.inf
        if signs[v]:
            low[v], high[v] = (0.0, most) if signs[v] > 0 else (-most, 0.0)
    return low, high


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


def _add_turns(relative: Relative, found: _Rows) -> None:
    """The limits of a free rotation."""
    joint, w, vector, spins = relative.joint, relative.r[0], relative.r[1:], relative.spins()
    if np.isfinite(joint.cone):
        up = relative.R[2]
        row = -(cross_matrix(_Z) @ up) @ spins
        found.add_below(joint.name, float(np.cos(joint.cone) - up[2]) + INSIDE, row)
    if np.isfinite(joint.largest_turn):
        row = 0.5 * vector @ spins
        found.add_below(joint.name, float(np.cos(0.5 * joint.largest_turn) - w) + INSIDE, row)


def _rate_of_turn(turn: Array) -> Array:
    """(3, 3): angular velocity in child axes by the rate of a rotation vector (3,)."""
    angle = float(np.linalg.norm(turn))
    x = cross_matrix(turn)
    if angle < 1e-4:
        return np.eye(3) - 0.5 * x + x @ x / 6
    first, second = (1 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    return np.asarray(np.eye(3) - first * x + second * x @ x)
