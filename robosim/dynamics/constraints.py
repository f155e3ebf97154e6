"""Constraints among coordinates, and motions, as equations of the tree's motion.

    g(q, t) = 0,    J v = rate,    J a + J' v = acceleration

Rows are joints that close loops, motions, couplings and tendons of constant length. On request,
rows are also closed limits, contacts, grasps, and joints whose accelerations are given. The
right-hand sides are zero except for motions and given accelerations. Limits, and contacts along
the normal of the ground, are one-sided: these push and never pull.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from robosim import quaternions
from robosim.compiled.order import coordinate_places
from robosim.description.body import ContactPoint
from robosim.description.joint import Joint
from robosim.description.springs import Coupling
from robosim.description.tendon import Tendon
from robosim.dynamics.lengths import Lengths, slope
from robosim.errors import ModelError
from robosim.kernels.recursive import entries
from robosim.kinematics.motions import course, difference
from robosim.kinematics.recursion import Recursion
from robosim.kinematics.relative import End, Linear, Relative, stacked
from robosim.kinematics.relative_on_chart import relative_of
from robosim.se3 import cross_matrix
from robosim.validation import Array


class ConstraintRows(NamedTuple):
    """All rows at a state, in the order of `Constraints.elements`."""

    value: Array  # (m,), g [m, sines of half angles, or rad]
    jacobian: Array  # (m, nv), J
    bias: Array  # (m,), J' v
    rate: Array  # (m,), right-hand side of J v
    acceleration: Array  # (m,), right-hand side of J a + J' v
    sides: Array  # (m,), 1: not less than this, with forces >= 0; -1: the opposite; 0: equal
    on_child: dict[str, Array]  # joint: its rows for the child's twist at the joint's point (k, 6)


class Element(NamedTuple):
    """An element with its rows.

    Kinds are joint, drive, coupling, tendon, limit and contact; grasps are contacts, too.
    """

    kind: str
    name: str
    rows: slice


class Constraints:
    """The constraints of a robot, evaluated at states.

    Parameters
    ----------
    on : Recursion
        Kernels for the robot.
    lengths : Lengths
        Lengths of its tendons.
    limits : names of coordinates, of joints with one coordinate that close loops, of tendons
        Each is at its limit, which pushes.
    contacts : names of contact points, or of frames
        Each keeps its position and pushes up. A point with a radius rolls on the ground z = 0.
    grasps : names of frames
        Each keeps its position, and may also pull.
    given : names of joints of the tree
        Joints whose accelerations are part of the state.

    Attributes
    ----------
    elements : list of Element
    names : tuple of str
        The element of each row (m,), its kind first.

    Raises
    ------
    ModelError
        For an unknown name, a coordinate without a limit, or the rim of a cylinder.
    """

    def __init__(
        self,
        on: Recursion,
        lengths: Lengths,
        limits: Sequence[str] = (),
        contacts: Sequence[str] = (),
        grasps: Sequence[str] = (),
        given: Sequence[str] = (),
    ) -> None:
        self.robot, self._on, self._lengths = on.robot, on, lengths
        robot = self.robot
        self._ends = {joint.name: self._ends_of(joint) for joint in robot.loop_joints}
        self._sprung = [joint for joint in robot.loop_joints if _acts(joint)]
        self.elements: list[Element] = []
        self.names: tuple[str, ...] = ()
        self._evaluations: list[Callable[[_State], _Target]] = []
        for joint in robot.loop_joints:
            self._add("joint", joint.name, joint.n_constraints, partial(_loop, joint))
        for index, joint in enumerate(robot.tree_joints):
            rows = slice(robot.v_offsets[index], robot.v_offsets[index + 1])
            if joint.name in given:
                self._add("drive", joint.name, joint.nv, partial(_given, rows))
            elif joint.motion is not None:
                q = slice(robot.q_offsets[index], robot.q_offsets[index + 1])
                self._add("drive", joint.name, joint.nv, partial(_driven_in_tree, joint, q, rows))
        for joint in robot.loop_joints:
            if joint.motion is not None:
                self._add("drive", joint.name, 1, partial(_driven, joint))
        for coupling in robot.couplings:
            self._add("coupling", coupling.name, 1, partial(_coupled, coupling))
        for k, tendon in enumerate(robot.tendons):
            if tendon.lower == tendon.upper:
                self._add("tendon", tendon.name, 1, partial(_of_one_length, k, tendon))
        for name in limits:
            self._add("limit", name, 1, self._limit(name))
        for name in contacts:
            self._add("contact", name, 3, self._contact(name))
        for name in grasps:
            self._add("contact", name, 3, partial(_held, on.frame(name), *np.zeros((2, 3))))

    def _add(
        self, kind: str, name: str, count: int, evaluation: Callable[[_State], _Target]
    ) -> None:
        begin = self.elements[-1].rows.stop if self.elements else 0
        self.elements.append(Element(kind, name, slice(begin, begin + count)))
        self.names += (f"{kind} '{name}'",) * count
        self._evaluations.append(evaluation)

    def rows(
        self, q: Array, v: Array, time: float | None = 0.0, accelerations: Array | None = None
    ) -> ConstraintRows:
        """The rows at one state.

        Parameters
        ----------
        q : (nq,)
        v : (nv,)
        time : float [s] or None
            Time of motions. None: their coordinates and velocities are not checked.
        accelerations : (nv,) or None
            Of the joints in `given`; zero if None.

        Raises
        ------
        StateError
            For an invalid state.
        """
        at = self._at(q, v, time, accelerations)
        found = [evaluate(at) for evaluate in self._evaluations]
        nothing = Linear(np.zeros(0), np.zeros((0, self.robot.nv)), np.zeros(0))
        whole = stacked(nothing, *(one.linear for one in found))
        rates, targets, sides = (
            np.concatenate((nothing.value, *(one[k] for one in found))) for k in (1, 2, 3)
        )
        on_child = {joint.name: at.relative(joint).on_child() for joint in self.robot.loop_joints}
        return ConstraintRows(*whole, rates, targets, sides, on_child)

    def coordinate_rates(self, q: Array, joint: Joint) -> Array:
        """(joint.nv, nv): maps velocities of the tree to those of a joint that closes a loop."""
        at = self._at(q, np.zeros(self.robot.nv))
        return at.relative(joint).rates()

    def coordinates(self, q: Array, joint: Joint) -> tuple[Array, Array]:
        """Coordinates (k,) of a joint that closes a loop, and derivatives (k, nv) by velocities.

        Coordinates that are numbers; angles are within half a turn.
        """
        found = self._at(q, np.zeros(self.robot.nv)).relative(joint).coordinates()
        return found.value, found.jacobian

    def passive_forces(self, q: Array, v: Array) -> Array:
        """Generalized forces (nv,) of the springs and dampers of joints that close loops.

        Raises
        ------
        ModelError
            For a spring or damper of a free rotation.
        """
        at = self._at(q, v)
        out = np.zeros(self.robot.nv)
        for joint in self._sprung:
            stiffness, damping = (joint.per_coordinate(k) for k in ("stiffness", "damping"))
            if joint.has_quaternion and (stiffness[-3:].any() or damping[-3:].any()):
                raise ModelError(
                    "closes a loop and has a spring or damper of a free rotation, which the "
                    "equations in joint coordinates do not have; use passive=False",
                    element=f"joint '{joint.name}'",
                )
            values, rates = at.relative(joint).coordinates().value, at.relative(joint).rates()
            n, rest = len(values), joint.per_coordinate("rest")
            forces = stiffness[:n] * (values - rest[:n]) + damping[:n] * (rates[:n] @ v)
            for k, potential in enumerate(joint.potentials[:n]):
                if potential is not None:
                    forces[k] += slope(potential, float(values[k]))
            out -= forces @ rates[:n]
        return out

    def _at(
        self, q: Array, v: Array, time: float | None = None, accelerations: Array | None = None
    ) -> _State:
        return _State(self._on, self._lengths, self._ends, q, v, time, accelerations)

    def _ends_of(self, joint: Joint) -> tuple[Fixed | End, Fixed]:
        """The joint's points, with the axes of the joint frame on the parent."""
        robot, on = self.robot, self._on
        b = on.fixed(robot.body_index(joint.child), joint.child_position)
        if joint.parent is not None:
            index = robot.body_index(joint.parent)
            return on.fixed(index, joint.parent_position, joint.offset), b
        x, R = np.asarray(joint.parent_position), quaternions.rotation_matrix(joint.offset)
        return End(x, R, np.zeros((6, robot.nv)), np.zeros(6), np.zeros(6)), b

    def _limit(self, name: str) -> Callable[[_State], _Target]:
        robot = self.robot
        places = coordinate_places(robot)
        loops = {joint.name: joint for joint in robot.loop_joints if joint.nv == 1}
        tendons = {tendon.name: k for k, tendon in enumerate(robot.tendons)}
        known = tuple(
            one
            for one, (lower, upper) in {
                **{one: _bounds(robot.joints[j], row) for one, (j, row) in places.items()},
                **{one: _bounds(joint, 0) for one, joint in loops.items()},
                **{t.name: (t.lower, t.upper) for t in robot.tendons},
            }.items()
            if np.isfinite(lower) or np.isfinite(upper)
        )
        if name not in known:
            raise ModelError(f"nothing named '{name}' has a limit", alternatives=known)
        if name in places:
            j, row = places[name]
            return partial(
                _coordinate_at_bound,
                robot.q_offsets[j] + row,
                robot.v_offsets[j] + row,
                _bounds(robot.joints[j], row),
            )
        if name in loops:
            return partial(_joint_at_bound, loops[name])
        return partial(_tendon_at_bound, tendons[name], robot.tendons[tendons[name]])

    def _contact(self, name: str) -> Callable[[_State], _Target]:
        robot = self.robot
        points = {point.name: point for point in robot.contacts}
        up = np.array((0.0, 0.0, 1.0))
        if name in points:
            point = points[name]
            if point.axis is not None or point.semi_axes is not None:
                kind = "a rim" if point.semi_axes is None else "an ellipsoid"
                raise ModelError(
                    f"is {kind}, which touches with no point that stays on its body; name a frame "
                    "of the body",
                    element=f"contact '{name}'",
                )
            fixed = self._on.fixed(robot.body_index(point.body), point.position)
            return partial(_held, fixed, _down(point), up)
        try:
            return partial(_held, self._on.frame(name), np.zeros(3), up)
        except ModelError as error:
            reason = error.reason.replace("no frame", "no contact point or frame")
            known = tuple(dict.fromkeys((*points, *error.alternatives)))
            raise ModelError(reason, alternatives=known if error.alternatives else ()) from None


class _Target(NamedTuple):
    linear: Linear
    rate: Array
    acceleration: Array
    sides: Array


Fixed = tuple[int, Array, Array]  # as in `Recursion.fixed`


class _State:
    """One state, with cached kinematics of joints that close loops and of tendons."""

    def __init__(
        self,
        on: Recursion,
        lengths: Lengths,
        ends: dict[str, tuple[Fixed | End, Fixed]],
        q: Array,
        v: Array,
        time: float | None,
        accelerations: Array | None,
    ) -> None:
        self._on, self._lengths, self._ends = on, lengths, ends
        self.q, self.v, self.time = q, v, time
        self.accelerations = np.zeros(len(v)) if accelerations is None else accelerations
        self._relative: dict[str, Relative] = {}
        self._tendons: Linear | None = None

    def end(self, fixed: Fixed) -> End:
        """Kinematics of a point that is fixed to a body."""
        on, nv = self._on, self._on.robot.nv
        place = ("q", self.q, on.q)
        motion = place, ("v", self.v, on.v), ("a", np.zeros(nv), on.a)
        x, R = on.call(entries.frame_place, (place,), ((3,), (3, 3)), fixed)
        (J,) = on.call(entries.frame_jacobian, (place,), ((6, nv),), fixed[:2])
        (moves,) = on.call(entries.frame_motion, motion, ((12,),), fixed[:2])
        return End(x, R, J, moves[:6], moves[6:])

    def relative(self, joint: Joint) -> Relative:
        """Kinematics of a joint that closes a loop."""
        if joint.name not in self._relative:
            a, b = self._ends[joint.name]
            parent = a if isinstance(a, End) else self.end(a)
            self._relative[joint.name] = relative_of(joint, parent, self.end(b))
        return self._relative[joint.name]

    def coordinate(self, name: str) -> tuple[Linear, bool]:
        """The coordinate of a joint with a single one; whether it is an angle up to whole turns."""
        robot = self._on.robot
        j = robot.joint_index(name)
        joint = robot.joints[j]
        if j >= len(robot.bodies):
            return self.relative(joint).coordinates(), joint.C_R.shape[1] == 1
        return self.number(robot.q_offsets[j], robot.v_offsets[j]), False

    def number(self, q_index: int, v_index: int) -> Linear:
        """A coordinate of the tree that is a number."""
        row = np.zeros((1, len(self.v)))
        row[0, v_index] = 1.0
        return Linear(self.q[q_index : q_index + 1], row, np.zeros(1))

    def tendon(self, k: int) -> Linear:
        """The length of a tendon."""
        if self._tendons is None:
            self._tendons = Linear(*self._lengths.tendons(self.q, self.v))
        return Linear(*(part[k : k + 1] for part in self._tendons))


def _zero(linear: Linear, sides: Array | None = None) -> _Target:
    nothing = np.zeros(len(linear.value))
    return _Target(linear, nothing, nothing, nothing if sides is None else sides)


def _loop(joint: Joint, at: _State) -> _Target:
    return _zero(at.relative(joint).residual())


def _given(rows: slice, at: _State) -> _Target:
    J = np.eye(len(at.v))[rows]
    nothing = np.zeros(len(J))
    return _Target(Linear(nothing, J, nothing), at.v[rows], at.accelerations[rows], nothing)


def _driven_in_tree(joint: Joint, q: slice, rows: slice, at: _State) -> _Target:
    J = np.eye(len(at.v))[rows]
    nothing = np.zeros(len(J))
    if at.time is None:
        return _Target(Linear(nothing, J, nothing), at.v[rows], nothing, nothing)
    there = course(joint, at.time)
    off = difference(joint, there.value, at.q[q])
    return _Target(Linear(off, J, nothing), there.rates, there.accelerations, nothing)


def _driven(joint: Joint, at: _State) -> _Target:
    coordinate, turns = at.coordinate(joint.name)
    if at.time is None:
        rate = coordinate.jacobian @ at.v
        return _Target(coordinate._replace(value=np.zeros(1)), rate, coordinate.bias, np.zeros(1))
    there = course(joint, at.time)
    off = float(coordinate.value[0] - there.value[0])
    off = _unturned(off, 2 * np.pi if turns else 0.0)
    coordinate = coordinate._replace(value=np.array((off,)))
    return _Target(coordinate, there.rates, there.accelerations, np.zeros(1))


def _coupled(coupling: Coupling, at: _State) -> _Target:
    (end, turns), (source, source_turns) = map(at.coordinate, (coupling.joint, coupling.source))
    ratio = coupling.ratio
    off = float(end.value[0] - ratio * source.value[0]) - coupling.offset
    off = _unturned(off, 2 * np.pi if turns else 0.0)
    off = _unturned(off, 2 * np.pi * ratio if source_turns else 0.0)
    J, bias = end.jacobian - ratio * source.jacobian, end.bias - ratio * source.bias
    return _zero(Linear(np.array((off,)), J, bias))


def _of_one_length(k: int, tendon: Tendon, at: _State) -> _Target:
    return _zero(_less(at.tendon(k), tendon.lower))


def _coordinate_at_bound(
    q_index: int, v_index: int, bounds: tuple[float, float], at: _State
) -> _Target:
    return _at_bound(at.number(q_index, v_index), bounds)


def _joint_at_bound(joint: Joint, at: _State) -> _Target:
    return _at_bound(at.coordinate(joint.name)[0], _bounds(joint, 0))


def _tendon_at_bound(k: int, tendon: Tendon, at: _State) -> _Target:
    return _at_bound(at.tendon(k), (tendon.lower, tendon.upper))


def _at_bound(coordinate: Linear, bounds: tuple[float, float]) -> _Target:
    value = coordinate.value[0]
    bound = min(bounds, key=lambda bound: abs(value - bound))
    side = float(bound == bounds[0]) - float(bound == bounds[1])
    return _zero(_less(coordinate, bound), np.array((side,)))


def _less(linear: Linear, by: float) -> Linear:
    return linear._replace(value=linear.value - by)


def _held(fixed: Fixed, arm: Array, sides: Array, at: _State) -> _Target:
    """The end of an arm with constant direction, at which a ball rolls on the ground."""
    end = at.end(fixed)
    J = end.jacobian[:3] - cross_matrix(arm) @ end.jacobian[3:]
    return _zero(Linear(np.zeros(3), J, end.bias[:3] + cross_matrix(end.bias[3:]) @ arm), sides)


def _down(point: ContactPoint) -> Array:
    return np.array((0.0, 0.0, -point.radius))


def _bounds(joint: Joint, row: int) -> tuple[float, float]:
    return float(np.asarray(joint.lower)[row]), float(np.asarray(joint.upper)[row])


def _acts(joint: Joint) -> bool:
    laws = joint.per_coordinate("stiffness"), joint.per_coordinate("damping")
    return bool(np.any(laws)) or joint.potential is not None


def _unturned(x: float, turn: float) -> float:
    """x without whole turns."""
    return math.remainder(x, turn) if turn else x
