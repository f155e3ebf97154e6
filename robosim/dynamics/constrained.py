"""Accelerations and forces under constraints, with multipliers [Sueda, Sects. 2.8, 2.12].

    M a + b + p = tau + J_y^T y + J^T lambda,    J a + J' v = c

J is decomposed into singular values, J = U S V^T, without those that are zero, as rows may be
dependent. The remaining equations, V^T a = S^-1 U^T (c - J' v), have the multipliers S U^T lambda
from the dual problem [Sueda, Eq. 2.123]. Of all lambda with these, the smallest one is returned.

Limits and contacts push and never pull. Which of them are active is the solution of [Sueda, Eq.
2.125]; the active ones are then equations. A contact that pushes sticks, with unbounded friction;
one that does not has no friction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robosim.dynamics.constraints import ConstraintRows, Constraints
from robosim.dynamics.independent import (
    DEPENDENT,
    Independent,
    closed_rows,
    contacts_that_push,
    independent,
    refuse_contradiction,
    refuse_inconsistent,
    refuse_open,
)
from robosim.dynamics.lengths import Lengths
from robosim.dynamics.one_sided import ROUNDING, least_distance, least_push
from robosim.dynamics.tree import TreeDynamics, Wrenches
from robosim.errors import ModelError, StateError
from robosim.kinematics.recursion import Recursion
from robosim.validation import Array, finite

SHORT = 1e-7  # of the largest force, tolerance of the forces
CHEAP = 1e-4  # cost of multipliers relative to efforts, when zero multipliers are determined
PULL = "limits or contacts would have to pull, and "

Maps = dict[str, Array]  # joint: its rows for the child's twist (k, 6)
Solve = Callable[[Array, Array, Array, Array], tuple[Array, Array, Maps]]


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of constraints, whose generalized forces are ``J^T rows``.

    If constraints are redundant, the multipliers are those of the smallest norm. For several
    states, each array has a first axis for these.

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
        Forces that drive joints along their motions or given accelerations, in addition to tau and
        the joint's own spring, damper and rotor. For tendons of constant length, the force along
        the length; a tension is negative.
    limit_forces : mapping of names to () [N m or N]
        Along the coordinate or length: not negative at a lower bound, not positive at an upper one.
    contact_forces : mapping of contacts and grasps to (3,) [N], on the body, world axes
        That of a contact does not pull the body down.
    """

    names: tuple[str, ...]
    rows: Array
    joint_wrenches: dict[str, Array]
    coupling_forces: dict[str, Array]
    drive_forces: dict[str, Array]
    limit_forces: dict[str, Array]
    contact_forces: dict[str, Array]


class ConstrainedDynamics:
    """Dynamics of a robot with constraints among coordinates, and with motions.

    Parameters
    ----------
    tree : TreeDynamics
        Dynamics of the tree, without refusals.
    on, lengths : Recursion, Lengths
        Kernels and lengths for the same robot.

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
        """The constraints with limits, contacts, grasps, and joints of given accelerations."""
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
        grasps: Iterable[str],
        stabilization: float,
    ) -> tuple[Array, Multipliers]:
        """See `Dynamics.constrained_acceleration`."""
        on, tree = self._on, self._tree
        time, rate = _number("time", time), _number("stabilization", stabilization)
        if rate < 0:
            raise StateError(f"stabilization must not be negative, not {stabilization!r}")
        _, given = on.held(accelerations or {})
        constraints = self.constraints(limits, contacts, grasps, accelerations or ())
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
            refuse_open(constraints, rows)
            kept = self._kept(constraints, rows, target, q, force)
            part, a, reactions = self._equal(constraints, rows, target, kept, q, force)
            multipliers = np.zeros(len(kept))
            multipliers[kept] = part.multipliers(reactions, rows.sides[kept])
            return a, multipliers, rows.on_child

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
        grasps: Iterable[str],
    ) -> tuple[Array, Multipliers]:
        """See `Dynamics.constrained_inverse_dynamics`."""
        on, tree = self._on, self._tree
        constraints = self.constraints(limits, contacts, grasps, ())
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
            refuse_open(constraints, rows)
            kept = closed_rows(constraints, rows, a, target)
            refuse_inconsistent(constraints, rows, kept, a, target)
            ways = self._ways(constraints, q, drives)
            return *self._least(rows, kept, force, ways, costs), rows.on_child

        return self._each(constraints, solve, q, v, forces, on.checked("a", a, on.a), "a")

    def _kept(
        self, constraints: Constraints, rows: ConstraintRows, target: Array, q: Array, force: Array
    ) -> Array:
        """Rows (m,) that are equations: two-sided ones, and one-sided ones that stay closed.

        Contacts stick if they push, and are released if they lift off, until the set is unchanged.
        A contact that lifts off if it sticks, and penetrates if released, slides without friction.
        """
        one = rows.sides != 0
        if not one.any():
            return ~one
        contacts = contacts_that_push(constraints, rows)
        held, tried = dict.fromkeys(contacts, True), []
        while True:
            tried.append(dict(held))
            equal = ~one
            for name, own in contacts.items():
                equal[own[:-1]] = held.get(name, False)
            closed, pushes = self._push(constraints, rows, target, equal, q, force)
            held = {
                name: bool(closed[contacts[name][-1]] if on else pushes[contacts[name][-1]])
                for name, on in held.items()
            }
            if held == tried[-1]:
                return np.where(one, closed, equal)
            if held in tried:
                held = {name: on for name, on in held.items() if on == tried[-1][name]}

    def _push(
        self,
        constraints: Constraints,
        rows: ConstraintRows,
        target: Array,
        equal: Array,
        q: Array,
        force: Array,
    ) -> tuple[Array, Array]:
        """One-sided rows (m,) that stay closed, and those that push, with `equal` rows fixed."""
        one = np.flatnonzero(rows.sides)
        part, a, _ = self._equal(constraints, rows, target, equal, q, force)
        sides, J = rows.sides[one], rows.jacobian[one]
        gaps = sides * (J @ a - target[one])
        free = np.linalg.svd(part.V)[2][len(part.V) :]
        inertia = free @ self._tree.mass_matrix(q) @ free.T
        found = least_push(inertia, sides[:, None] * J, gaps, free)
        if found is None:
            names = ", ".join(constraints.names[k] for k in one)
            raise StateError(f"the constraints contradict each other: {names} cannot all be kept")
        change, multipliers = found
        size = 1 + np.abs(J) @ np.abs(a + change) + np.abs(target[one])
        closed, pushes = np.zeros((2, len(equal)), dtype=bool)
        pushes[one] = multipliers > ROUNDING * multipliers.max(initial=0.0)
        closed[one] = (gaps + sides * (J @ change) <= ROUNDING * size) | pushes[one]
        return closed, pushes

    def _equal(
        self,
        constraints: Constraints,
        rows: ConstraintRows,
        target: Array,
        kept: Array,
        q: Array,
        force: Array,
    ) -> tuple[Independent, Array, Array]:
        """The `kept` rows as equations: their part, a (nv,), and reactions (r,) along V."""
        part = independent(rows, kept)
        wanted = (part.U.T @ target[kept]) / part.S
        a, reactions = self._accelerate(q, force, part.V, wanted)
        refuse_contradiction(constraints, rows, kept, a, target)
        return part, a, reactions

    def _accelerate(self, q: Array, force: Array, V: Array, wanted: Array) -> tuple[Array, Array]:
        """a (nv,) with ``V a = wanted``, and the reactions (r,) along V."""
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
        """The same if the tree's mass matrix is singular: in the null space of V."""
        M = self._tree.mass_matrix(q)
        N = np.linalg.svd(V)[2][len(V) :]
        inertia = N @ M @ N.T
        sizes = np.linalg.eigvalsh(inertia)
        if len(N) and sizes[0] <= 1e-14 * sizes[-1]:
            self._tree.solve_mass(q, force)  # raises an error that names the coordinate
        held = wanted @ V
        a = held + np.linalg.solve(inertia, N @ (force - M @ held)) @ N
        return a, V @ (M @ a - force)

    def _actuated(
        self, actuated: Iterable[str] | None, weights: Mapping[str, float] | None
    ) -> tuple[list[int], Array]:
        """Indices of the actuated velocities, and costs of the squares of their efforts."""
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

    def _least(
        self, rows: ConstraintRows, kept: Array, force: Array, ways: Array, costs: Array
    ) -> tuple[Array, Array]:
        """Forces (nv,) of minimal efforts, with multipliers (m,) of allowed signs.

        The sum of costs times squares of efforts is minimal.
        """
        multipliers = np.zeros(len(kept))
        while True:
            part = independent(rows, kept)
            tau = self._least_efforts(force, ways, costs, part.V)
            found = part.multipliers(part.V @ (force - tau), rows.sides[kept])
            wrong = rows.sides[kept] * found < -SHORT * np.abs(found).max(initial=0.0)
            if not wrong.any():
                multipliers[kept] = found
                return tau, multipliers
            idle = self._idle(rows, kept, force, ways, costs)
            if not idle.any():
                raise self._lacking(force - tau, PULL)
            kept = np.logical_and(kept, np.logical_not(idle))

    def _idle(
        self, rows: ConstraintRows, kept: Array, force: Array, ways: Array, costs: Array
    ) -> Array:
        """One-sided rows (m,) without force in a solution in which none of them pulls.

        The solution minimizes the sum of squares of efforts and multipliers, with a low cost of
        multipliers.
        """
        J, sides = rows.jacobian[kept], rows.sides[kept]
        one, n = np.flatnonzero(sides), len(costs)
        K = np.vstack((ways / np.sqrt(costs)[:, None], J / CHEAP)).T
        U, S, V = np.linalg.svd(K)
        rank = int(np.sum(DEPENDENT * S.max(initial=0.0) < S))
        z = ((U.T[:rank] @ force) / S[:rank]) @ V[:rank]
        free = sides[one, None] * V[rank:].T[n + one]
        found = least_distance(free, -sides[one] * z[n + one])
        if found is None:
            raise self._lacking(force, PULL)
        idle = np.zeros(len(kept), dtype=bool)
        idle[np.flatnonzero(kept)[one[found[1] > 0]]] = True
        return idle

    def _least_efforts(self, force: Array, ways: Array, costs: Array, V: Array) -> Array:
        """Forces (nv,) of minimal efforts that balance `force` with reactions along V."""
        scales = 1 / np.sqrt(costs)
        across = (ways - (ways @ V.T) @ V) * scales[:, None]
        needed = force - (V @ force) @ V
        efforts = scales * np.linalg.lstsq(across.T, needed, rcond=DEPENDENT)[0]
        tau = efforts @ ways
        lacking = needed - (tau - (V @ tau) @ V)
        if np.abs(lacking).max(initial=0.0) > SHORT * (1 + np.abs(force).max()):
            raise self._lacking(lacking)
        return np.asarray(tau)

    def _lacking(self, lacking: Array, why: str = "") -> StateError:
        worst = int(np.argmax(np.abs(lacking)))
        return StateError(
            f"no efforts of the actuated coordinates give these accelerations: {why}coordinate "
            f"'{self.robot.v_names[worst]}' lacks {lacking[worst]:.6g} [N or N m]; more may "
            "be actuated, or held by contacts"
        )

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
        """Results for one state or for rows of states; `other` is one more, named argument."""
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
    """Multipliers (m,) of one state or (n, m) of several, by elements."""
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


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Names without duplicates; a single name is also accepted."""
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def _number(name: str, value: float) -> float:
    if (array := finite(value, ())) is None:
        raise StateError(f"{name} must be a finite number, not {value!r}")
    return float(array)
