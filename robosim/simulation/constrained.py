"""Accelerations and forces under constraints, with multipliers [Sueda, Sects. 2.8, 2.12].

    M a + b + p = tau + J_y^T y + J^T lambda,    J a + J' v = c

J is split by its singular values, J = U S V^T, and those that are zero are left out: rows may
depend on each other. What is left, V^T a = S^-1 U^T (c - J' v), has the multipliers S U^T lambda
from the dual problem [Sueda, Eq. 2.123], and the least lambda of all that act alike follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.errors import ModelError, StateError
from robosim.simulation.constraints import ConstraintRows, Constraints
from robosim.simulation.lengths import Lengths
from robosim.simulation.recursion import Recursion
from robosim.simulation.tree_dynamics import TreeDynamics, Wrenches
from robosim.validation import Array, finite

OPEN = 1e-3  # [m, sine of half an angle, or rad], how far from closed a state may be
# Of the largest singular value, from where a smaller one counts as zero; where loops are open,
# rows that depend on each other differ by about that much.
DEPENDENT = 1e-8
DEPENDENT_IF_OPEN = 3.0
CONTRADICTION = 1e-3  # of the largest entry, how far rows may contradict each other
INCONSISTENT = 1e-6  # of the terms of a row, how far given accelerations may violate it
SHORT = 1e-7  # of the largest force, how much of the forces may be lacking

Maps = dict[str, Array]  # joint: its rows by the child's twist (k, 6)
Solve = Callable[[Array, Array, Array, Array], tuple[Array, Array, Maps]]


@dataclass(frozen=True)
class Multipliers:
    """What constraints do: their part of the generalized forces is ``J^T rows``.

    Where constraints depend on each other, the multipliers are those of the least norm. With rows
    of states, each array has a row for each state in front.

    Attributes
    ----------
    names : tuple of str
        The element of each row, its kind first, as in "joint 'pin'".
    rows : (m,) [N] and [N m]; of rotations of joints, whose rows are sines of half angles, twice
        the moment
    joint_wrenches : mapping of joints that close loops to (6,)
        Force [N] and moment [N m] on the child, about the joint's point there, world axes.
    coupling_forces : mapping of couplings to () [N m or N]
        On the coordinate of the joint; on that of the source acts minus the ratio of this.
    drive_forces : mapping of joints and tendons to () or (joint.nv,) [N m or N]
        What keeps joints on their motions or given accelerations, beside tau and the joint's own
        spring, damper and rotor; along tendons of one length, so that a tension is negative.
    limit_forces : mapping of names to () [N m or N]
        Along the coordinate or length: positive at a lower bound, unless it leaves the bound.
    contact_forces : mapping of names to (3,) [N], on the body, world axes
    """

    names: tuple[str, ...]
    rows: Array
    joint_wrenches: dict[str, Array]
    coupling_forces: dict[str, Array]
    drive_forces: dict[str, Array]
    limit_forces: dict[str, Array]
    contact_forces: dict[str, Array]


class Independent(NamedTuple):
    """The part of the rows whose singular values are not zero."""

    U: Array  # (m, r)
    S: Array  # (r,)
    V: Array  # (r, nv), orthonormal rows

    def multipliers(self, forces: Array) -> Array:
        """The least lambda (m,) with ``J^T lambda = V^T forces``, forces (r,)."""
        return np.asarray(self.U @ (forces / self.S))


class ConstrainedDynamics:
    """Dynamics of a robot with all that makes coordinates depend on each other or on time.

    Parameters
    ----------
    tree : TreeDynamics
        Which refuses nothing.
    on, lengths : Recursion, Lengths
        Of the same robot.

    Raises
    ------
    ModelError
        For a joint that closes a loop and has an armature.
    """

    def __init__(self, tree: TreeDynamics, on: Recursion, lengths: Lengths) -> None:
        self.robot, self._tree, self._on, self._lengths = tree.robot, tree, on, lengths
        for joint in self.robot.loop_joints:
            if joint.per_coordinate("armature").any():
                raise ModelError(
                    "closes a loop and has an armature, which the equations in joint coordinates "
                    "do not have",
                    element=f"joint '{joint.name}'",
                )
        self._made: dict[tuple[tuple[str, ...], ...], Constraints] = {}

    def constraints(self, *asked: Iterable[str]) -> Constraints:
        """With limits, contacts, and joints whose accelerations are given."""
        key = tuple(map(_names, asked))
        if key not in self._made:
            self._made[key] = Constraints(self._on, self._lengths, *key)
        return self._made[key]

    def acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        wrenches: Wrenches | None,
        passive: bool,
        time: float,
        accelerations: Mapping[str, ArrayLike] | None,
        limits: Iterable[str],
        contacts: Iterable[str],
        stabilization: float,
    ) -> tuple[Array, Multipliers]:
        """See `Dynamics.constrained_acceleration`."""
        on, tree = self._on, self._tree
        time, rate = _number("time", time), _number("stabilization", stabilization)
        if rate < 0:
            raise StateError(f"stabilization must not be negative, not {stabilization!r}")
        _, given = on.held(accelerations or {})
        constraints = self.constraints(limits, contacts, accelerations or ())
        tau, still = on.finite("tau", tau, on.a), np.zeros(self.robot.nv)
        needed = tree.inverse_dynamics(q, v, still, wrenches, passive=passive)
        on.common({"q, v or a wrench": needed, "tau": tau})

        def solve(q: Array, v: Array, force: Array, given: Array) -> tuple[Array, Array, Maps]:
            rows = constraints.rows(q, v, time, given)
            if passive:
                force = force + constraints.passive_forces(q, v)
            target = rows.acceleration - rows.bias
            if rate:
                target -= 2 * rate * (rows.jacobian @ v - rows.rate) + rate**2 * rows.value
            part = self._independent(constraints, rows)
            wanted = (part.U.T @ target) / part.S
            a, reactions = self._accelerate(q, force, part.V, wanted)
            _refuse_contradiction(constraints, rows, a, target)
            return a, part.multipliers(reactions), rows.on_child

        return self._each(constraints, solve, q, v, tau - needed, given, "accelerations")

    def inverse(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        wrenches: Wrenches | None,
        passive: bool,
        actuated: Iterable[str] | None,
        weights: Mapping[str, float] | None,
        limits: Iterable[str],
        contacts: Iterable[str],
    ) -> tuple[Array, Multipliers]:
        """See `Dynamics.constrained_inverse_dynamics`."""
        on, tree = self._on, self._tree
        constraints = self.constraints(limits, contacts, ())
        driven = [element.rows for element in constraints.elements if element.kind == "drive"]
        drives, costs = self._actuated(actuated, weights)
        forces = tree.inverse_dynamics(q, v, a, wrenches, passive=passive)

        def solve(q: Array, v: Array, force: Array, a: Array) -> tuple[Array, Array, Maps]:
            rows = constraints.rows(q, v, None)
            if passive:
                force = force - constraints.passive_forces(q, v)
            target = rows.acceleration - rows.bias
            for one in driven:
                target[one] = rows.jacobian[one] @ a
            part = self._independent(constraints, rows)
            _refuse_inconsistent(constraints, rows, part, a, target)
            ways = self._ways(constraints, q, drives)
            tau = self._least(force, ways, costs, part.V)
            return tau, part.multipliers(part.V @ (force - tau)), rows.on_child

        return self._each(constraints, solve, q, v, forces, on.checked("a", a, on.a), "a")

    def _independent(self, constraints: Constraints, rows: ConstraintRows) -> Independent:
        """The rows of a state that is closed."""
        open_by = np.abs(rows.value)
        if open_by.max(initial=0.0) > OPEN:
            worst = int(np.argmax(open_by))
            raise StateError(
                f"{constraints.names[worst]} is violated by {open_by[worst]:.3g} [m, sine of half "
                f"an angle, or rad], which may be {OPEN} at most: `Simulation.set_state` closes "
                "loops, and motions take the time into account"
            )
        U, S, V = np.linalg.svd(rows.jacobian, full_matrices=False)
        least = max(DEPENDENT, DEPENDENT_IF_OPEN * float(open_by.max(initial=0.0)))
        rank = int(np.sum(least * S.max(initial=0.0) < S))
        return Independent(U[:, :rank], S[:rank], V[:rank])

    def _accelerate(self, q: Array, force: Array, V: Array, wanted: Array) -> tuple[Array, Array]:
        """a (nv,) with ``V a = wanted``, and the forces (r,) along V that it takes."""
        try:
            solved = self._tree.solve_mass(q, np.vstack((force, V)))
        except ModelError:
            return self._accelerate_dense(q, force, V, wanted)
        free, answers = solved[0], solved[1:]
        reactions = np.linalg.solve(answers @ V.T, wanted - V @ free)
        return free + reactions @ answers, reactions

    def _accelerate_dense(
        self, q: Array, force: Array, V: Array, wanted: Array
    ) -> tuple[Array, Array]:
        """The same where the tree's mass matrix has no inverse: of what is free to move alone."""
        M = self._tree.mass_matrix(q)
        N = np.linalg.svd(V)[2][len(V) :]
        inertia = N @ M @ N.T
        sizes = np.linalg.eigvalsh(inertia)
        if len(N) and sizes[0] <= 1e-14 * sizes[-1]:
            self._tree.solve_mass(q, force)  # names what moves without inertia
        held = wanted @ V
        a = held + np.linalg.solve(inertia, N @ (force - M @ held)) @ N
        return a, V @ (M @ a - force)

    def _actuated(
        self, actuated: Iterable[str] | None, weights: Mapping[str, float] | None
    ) -> tuple[list[int], Array]:
        """Indices of the actuated velocities, and what the squares of their efforts cost."""
        robot = self.robot
        known = {name: k for k, name in enumerate(robot.v_names)}
        loops = zip(robot.actuated_names, robot.actuated.tolist(), strict=True)
        known |= {name: k for name, k in loops if k >= robot.nv}
        names = robot.actuated_names if actuated is None else _names(actuated)
        costs = dict.fromkeys(names, 1.0)
        for name in (*names, *(weights or {})):
            allowed = known if name not in (weights or {}) else costs
            if name not in allowed:
                raise ModelError(
                    f"no actuated coordinate '{name}'",
                    element=f"mechanism '{robot.name}'",
                    alternatives=tuple(allowed),
                )
        for name, weight in (weights or {}).items():
            if (value := finite(weight, ())) is None or value <= 0:
                raise StateError(f"the weight of '{name}' must be positive, not {weight!r}")
            costs[name] = float(value)
        return [known[name] for name in names], np.array([costs[name] for name in names])

    def _ways(self, constraints: Constraints, q: Array, drives: list[int]) -> Array:
        """Generalized forces (nu, nv) of unit efforts of actuated velocities."""
        robot = self.robot
        ways = np.zeros((len(drives), robot.nv))
        for way, k in zip(ways, drives, strict=True):
            if k < robot.nv:
                way[k] = 1.0
            else:
                j = int(np.searchsorted(robot.v_offsets, k, side="right")) - 1
                rates = constraints.coordinate_rates(q, robot.joints[j])
                way[:] = rates[k - robot.v_offsets[j]]
        return ways

    def _least(self, force: Array, ways: Array, costs: Array, V: Array) -> Array:
        """Generalized forces (nv,) of the least efforts that, with reactions along V, are enough.

        Least is the sum of costs times squares of efforts.
        """
        scales = 1 / np.sqrt(costs)
        across = (ways - (ways @ V.T) @ V) * scales[:, None]
        needed = force - (V @ force) @ V
        efforts = scales * np.linalg.lstsq(across.T, needed, rcond=DEPENDENT)[0]
        tau = efforts @ ways
        lacking = needed - (tau - (V @ tau) @ V)
        worst = int(np.argmax(np.abs(lacking))) if len(lacking) else 0
        if len(lacking) and abs(lacking[worst]) > SHORT * (1 + np.abs(force).max()):
            raise StateError(
                "no efforts of the actuated coordinates give these accelerations: coordinate "
                f"'{self.robot.v_names[worst]}' lacks {lacking[worst]:.6g} [N or N m]; more may "
                "be actuated, or held by contacts"
            )
        return np.asarray(tau)

    def _each(
        self,
        constraints: Constraints,
        solve: Solve,
        q: ArrayLike,
        v: ArrayLike,
        forces: Array,
        other: Array,
        name: str,
    ) -> tuple[Array, Multipliers]:
        """The answers to one state or to rows of states, with one more argument of a name."""
        on = self._on
        parts = [on.checked("q", q, on.q), on.checked("v", v, on.v), forces, other]
        names = "q", "v", "q, v, tau or a wrench", name
        n = on.common(dict(zip(names, parts, strict=True)))
        if not n:
            answer, rows, maps = solve(*parts)
            return answer, _named(constraints, rows, [maps])
        whole = [np.broadcast_to(part, (n, part.shape[-1])) for part in parts]
        found = [solve(*state) for state in zip(*whole, strict=True)]
        answers, rows = np.stack([one[0] for one in found]), np.stack([one[1] for one in found])
        return answers, _named(constraints, rows, [one[2] for one in found])


def _named(constraints: Constraints, rows: Array, maps: list[Maps]) -> Multipliers:
    """Multipliers (m,) of one state or (n, m) of several, by the elements that they belong to."""
    found: dict[str, dict[str, Array]] = {
        kind: {} for kind in ("joint", "coupling", "drive", "tendon", "limit", "contact")
    }
    for element in constraints.elements:
        part = rows[..., element.rows]
        if element.kind == "joint":
            on_child = np.stack([one[element.name] for one in maps])
            part = np.einsum("...k,...kj->...j", part, on_child if rows.ndim == 2 else on_child[0])
        elif element.kind != "contact" and part.shape[-1] == 1:
            part = part[..., 0]
        found[element.kind][element.name] = np.array(part)
    return Multipliers(
        constraints.names,
        rows,
        found["joint"],
        found["coupling"],
        {**found["drive"], **found["tendon"]},
        found["limit"],
        found["contact"],
    )


def _refuse_contradiction(
    constraints: Constraints, rows: ConstraintRows, a: Array, target: Array
) -> None:
    """Raise a StateError where no acceleration is what all rows want."""
    size = np.abs(target - rows.jacobian @ a)
    rounding = 1e-9 * (1 + np.abs(rows.jacobian) @ np.abs(a))
    beyond = size - rounding - CONTRADICTION * np.abs(target).max(initial=0.0)
    if beyond.max(initial=0.0) > 0:
        worst = int(np.argmax(beyond))
        raise StateError(
            f"the constraints contradict each other: {constraints.names[worst]} would still "
            f"accelerate by {size[worst]:.3g} [m/s^2 or rad/s^2]"
        )


def _refuse_inconsistent(
    constraints: Constraints, rows: ConstraintRows, part: Independent, a: Array, target: Array
) -> None:
    """Raise a StateError where given accelerations are not what the rows want."""
    left = part.U @ (part.U.T @ (rows.jacobian @ a - target))
    size = np.abs(left) / (1 + np.abs(rows.jacobian) @ np.abs(a) + np.abs(target))
    if size.max(initial=0.0) > INCONSISTENT:
        worst = int(np.argmax(size))
        raise StateError(
            f"a violates {constraints.names[worst]} by {left[worst]:.3g} [m/s^2 or rad/s^2]; "
            "`constrained_acceleration` has accelerations that do not, and takes those of some "
            "joints"
        )


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Each once; also of a single one."""
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def _number(name: str, value: float) -> float:
    if (array := finite(value, ())) is None:
        raise StateError(f"{name} must be a finite number, not {value!r}")
    return float(array)
