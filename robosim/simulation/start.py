"""Starts of a simulation: states are checked, set, and projected onto all constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.order import coordinate_places, driven_elements
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Tendon
from robosim.errors import StateError
from robosim.inverse_kinematics.closing import CLOSED as NEARLY_CLOSED
from robosim.inverse_kinematics.closing import Closed, Closing, sides
from robosim.kernels.equations.coordinates import joint_violations
from robosim.kernels.status import CONVERGED
from robosim.kernels.step.closure import close_loops, start_projected
from robosim.kernels.step.knot import set_bodies
from robosim.kinematics.given import check_time, checked_start
from robosim.kinematics.motions import Motions, goal_of
from robosim.simulation.checkpoint import restored_if_refused
from robosim.simulation.diagnosis import Beyond, beyond_limits
from robosim.simulation.engine import Engine
from robosim.simulation.loads import Held
from robosim.validation import Array, finite

CLOSED = 1e-9  # tolerance of constraints [m, or sine of half an angle]
MOST_ITERATIONS = 200
MOST_TOLD = 6


class Wanted(NamedTuple):
    """Requirements of a start, in addition to the coordinates near which it is.

    Attributes
    ----------
    tree_v : (nv,)
    time : float [s]
    held : (velocities,) 1 for coordinates that are fixed, 0 for the others
    goal : (velocities,), their values
    signs : (nv,), as in `Closing`
    """

    tree_v: Array
    time: float
    held: NDArray[np.int64]
    goal: Array
    signs: Array


class Start:
    """Sets the state of a simulation's mechanism.

    Parameters
    ----------
    engine : Engine
    held : Held
    motions : Motions
    """

    def __init__(self, engine: Engine, held: Held, motions: Motions) -> None:
        self._engine, self._held, self._motions = engine, held, motions
        robot, options = engine.robot, engine.parts.options
        # Duration of the arcs that velocities are along [s]: that of the steps, if all are alike.
        steady = options.order == 2 and options.accuracy == 0.0
        self._arc = options.dt if steady else 0.0
        self._constrained = bool(robot.loop_joints or robot.couplings or motions.driven)

    def at_coordinates(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        time: float,
        hold: Sequence[str],
        signs: Mapping[str, float] | None = None,
    ) -> None:
        """See `Simulation.set_state`."""
        robot = self._engine.robot
        q, v = checked_start(robot, q, v, time, hold)
        asked_signs = checked_signs(robot, signs or {})
        if not (self._constrained or robot.springs or signs):
            self.place(q, v, float(time))  # never refused
            return
        with restored_if_refused(self._engine.parts, self._engine.counters):
            self._follow_motions(q, v, float(time))
            self.place(q, v, float(time))
            self._check_springs()
            if self._constrained:
                self._project(hold, float(time), asked_signs, from_tree=True)
            elif beyond := wrong_signs(robot, self._engine.parts.state.q, asked_signs):
                raise StateError(f"{beyond[0].whose} is at {beyond[0].value:.6g}, against its sign")

    def at_bodies(
        self,
        x: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None,
        omega: ArrayLike | None,
        time: float,
    ) -> None:
        """See `Simulation.set_body_state`."""
        robot = self._engine.robot
        given = checked_body_state(robot, x, q, v, omega, time)
        with restored_if_refused(self._engine.parts, self._engine.counters):
            self.place(robot.neutral(), np.zeros(robot.nv), float(time))
            for name, array in given.items():
                self._engine.parts.state.bodies[name] = array
            self._check_springs()
            self._project((), float(time), np.zeros(robot.nv), from_tree=False)

    def _check_springs(self) -> None:
        """Refuse springs whose end points coincide, as these have no direction."""
        robot, state = self._engine.robot, self._engine.parts.state
        rotations = quaternions.rotation_matrix(state.bodies["q"])
        for spring in robot.springs:
            ends = [np.asarray(spring.parent_position), np.asarray(spring.child_position)]
            for k, name in enumerate((spring.parent, spring.child)):
                if name is not None:
                    i = robot.body_index(name)
                    ends[k] = state.bodies["x"][i] + rotations[i] @ ends[k]
            length = float(np.linalg.norm(ends[1] - ends[0]))
            if length < 1e-9:
                raise StateError(
                    f"spring '{spring.name}' has a length of {length:.3g} m, and so no direction: "
                    "start with its ends apart, in the mechanism's home pose too"
                )

    def _follow_motions(self, q: Array, v: Array, time: float) -> None:
        """Set coordinates and velocities of the tree's driven joints to those of their motions."""
        motion = self._motions.at(time, 0, 1)[0]
        for element, place in zip(self._motions.driven, self._motions.places, strict=True):
            rates = slice(*self._rates_of(element))
            if isinstance(element, Joint) and rates.stop <= len(v):
                values, speeds = motion[place].T
                j = self._engine.robot.joint_index(element.name)
                q[slice(*self._engine.robot.q_offsets[j : j + 2])] = values
                v[rates] = speeds[: element.nv]

    def place(self, q: Array, v: Array, time: float) -> None:
        """Set the bodies to the poses of the tree's coordinates."""
        engine, robot = self._engine, self._engine.robot
        engine.start_anew(time)
        model, state, memory, loads, work, _ = engine.parts
        self._held.release_servos()
        loads.external["w"] = 0.0
        loads.controls[:] = 0.0
        state.q[: robot.nq], state.v[: robot.nv] = q, v
        state.q[robot.nq :] = 0.0
        for start, joint in zip(robot.q_offsets, robot.joints, strict=False):
            if joint.has_quaternion and start >= robot.nq:
                state.q[start + joint.numbers] = 1.0
        set_bodies(model, state, memory, work, self._arc)

    def fixed(
        self, time: float, hold: Sequence[str] = ()
    ) -> tuple[NDArray[np.int64], Array, Array]:
        """Coordinates that motions and `hold` fix at a start, with their values and rates.

        Each result is (velocities,): 1 or 0, coordinates, with rotation vectors for free rotations,
        and rates.
        """
        model, state = self._engine.parts.model, self._engine.parts.state
        robot, motion = self._engine.robot, self._motions.at(time, 0, 1)[0]
        held = np.zeros(len(model.coordinates), dtype=np.int64)
        goal, rate = np.zeros(len(held)), state.v.copy()
        for name in hold:
            j = robot.joint_index(name)
            v, q = slice(*robot.v_offsets[j : j + 2]), slice(*robot.q_offsets[j : j + 2])
            held[v], goal[v] = 1, goal_of(robot.joints[j], state.q[q])
        for element, place in zip(self._motions.driven, self._motions.places, strict=True):
            v = slice(*self._rates_of(element))
            values, rates = motion[place].T
            held[v], rate[v] = 1, rates[: v.stop - v.start]
            goal[v] = goal_of(element, values) if isinstance(element, Joint) else values
        return held, goal, rate

    def _project(self, hold: Sequence[str], time: float, signs: Array, *, from_tree: bool) -> None:
        """Satisfy all constraints from the bodies' poses, or else from near the tree's q."""
        model, state, memory, loads, work, _ = self._engine.parts
        robot = self._engine.robot
        tree_v, asked = state.v[: robot.nv].copy(), state.q[: robot.nq].copy()
        held, goal, rate = self.fixed(time, hold)
        wanted = Wanted(tree_v, time, held, goal, signs)
        left = self._close(held, goal)
        if not from_tree:
            asked = state.q[: robot.nq].copy()
        for other in self._other_starts(held) if from_tree else ():
            if left < CLOSED:
                break
            # Straight links, for example, have no direction in which loops begin to close.
            self.place(other, tree_v, time)
            left = self._close(held, goal)
        if not left < CLOSED or self._beyond(wanted):
            self._close_within(wanted, asked, left)
        # Constraints are relaxed, as some may be redundant, so a first projection leaves a small
        # error.
        for _ in range(2):
            parts = model, state, memory, loads, work
            if start_projected(*parts, held, rate, self._arc) != CONVERGED:
                raise StateError("velocities cannot be projected: the mechanism is singular here")
        self._check_rates(self._motions.at(time, 0, 1)[0])
        self._check_springs()

    def _rates_of(self, element: Joint | Tendon) -> tuple[int, int]:
        """First and last index of the velocities of a joint or tendon."""
        robot = self._engine.robot
        if isinstance(element, Joint):
            j = robot.joint_index(element.name)
            return robot.v_offsets[j], robot.v_offsets[j + 1]
        first = robot.v_offsets[-1] + len(robot.springs)
        k = first + [one.name for one in robot.tendons].index(element.name)
        return k, k + 1

    def _close(self, held: NDArray[np.int64], goal: Array) -> float:
        """Move the bodies onto all constraints; returns the residual [m, or sine of half angle]."""
        model, state, memory, _, work, _ = self._engine.parts
        return float(close_loops(model, state, memory.system, work, held, goal, MOST_ITERATIONS))

    def _close_within(self, wanted: Wanted, asked: Array, left: float) -> None:
        """Satisfy all constraints within all limits, if the nearest configuration does not.

        The bodies are at that configuration, with the residual `left` of constraints.
        """
        robot, state = self._engine.robot, self._engine.parts.state
        beyond = self._beyond(wanted) if left < CLOSED else []
        refused = None if left < CLOSED else self._unclosed(left)
        given = {int(v): float(wanted.goal[v]) for v in np.flatnonzero(wanted.held)}
        closing = Closing(robot, asked, given, wanted.signs)
        best: list[Closed] = []
        for guesses in closing.guesses(state.q[: robot.nq].copy()):
            found = [closing.search(guess) for guess in guesses]
            for one in sorted(found, key=lambda each: each.distance):
                if one.open_by < NEARLY_CLOSED and self._reach(one, closing, wanted):
                    return
            best = [min((*best, *found), key=lambda each: each.open_by)]
        told = closing.in_the_way(best[0])
        told += [
            f"{one.whose} is at {one.value:.6g} where they close, beyond its {one.side} of "
            f"{one.bound:.6g}"
            for one in beyond
        ]
        if refused is not None and not told:
            raise refused
        raise StateError(
            f"no start was found that closes {best[0].open_names or self._constraints()} within "
            f"all limits: {'; '.join(told[:MOST_TOLD])}. Widen a limit or correct the lengths, or "
            "give a q near the configuration that you want, or hold its joints there"
        )

    def _constraints(self) -> list[str]:
        """Names of the constraints in addition to the joints of the tree."""
        robot = self._engine.robot
        names = [one.name for one in robot.loop_joints]
        names += [coupling.name for coupling in robot.couplings]
        return (names + [one.name for one in driven_elements(robot)])[:MOST_TOLD]

    def _unclosed(self, left: float) -> StateError:
        """The error for constraints that cannot be satisfied, regardless of limits."""
        model, state, _, _, work, _ = self._engine.parts
        robot = self._engine.robot
        violations = np.zeros(len(model.joints))
        joint_violations(model, state, work, violations)
        worst = np.argsort(-violations)[: np.count_nonzero(violations > CLOSED)][:MOST_TOLD]
        names = [robot.joints[j].name for j in worst if j < len(robot.joints)]
        if not names:
            names = [coupling.name for coupling in robot.couplings]
            names += [element.name for element in driven_elements(robot)]
        return StateError(
            f"the constraints cannot be satisfied from here: {left:.3g} (m, or rad) is left, "
            f"at joints {names}; links may be too short to close, or the start too far away: "
            "give the mechanism a `home`, or set_state a q, that nearly satisfies them"
        )

    def _beyond(self, wanted: Wanted) -> list[Beyond]:
        """Violated limits and signs, except for coordinates that are held."""
        robot, parts = self._engine.robot, self._engine.parts
        found = beyond_limits(robot, parts)
        beyond = [one for one in found if not all(wanted.held[v] for v in one.rates)]
        return beyond + wrong_signs(robot, parts.state.q, wanted.signs)

    def _reach(self, found: Closed, closing: Closing, wanted: Wanted) -> bool:
        """Satisfy all constraints exactly from the result of a search; returns whether limits hold.

        Coordinates at a limit are fixed there, if loops can be closed so.
        """
        bound = found.at_lower | found.at_upper
        for stuck in (bound, np.zeros_like(bound)):
            self.place(found.q, wanted.tree_v, wanted.time)
            held, goal = wanted.held.copy(), wanted.goal.copy()
            held[: len(stuck)][stuck] = 1
            ends = np.where(found.at_lower, closing.lower, closing.upper)
            goal[: len(stuck)][stuck] = ends[stuck]
            if self._close(held, goal) < CLOSED and not self._beyond(wanted):
                return True
        return False

    def _check_rates(self, motion: Array) -> None:
        """Refuse motions and couplings with contradictory rates."""
        robot, parts = self._engine.robot, self._engine.parts
        model, v = parts.model, parts.state.v
        off = [
            f"the motion of '{element.name}' ({rate:.6g} asked for, {now:.6g} left)"
            for element, place in zip(self._motions.driven, self._motions.places, strict=True)
            # Fixed lengths deviate from their rates by an amount of order dt.
            if isinstance(element, Joint)
            for rate, now in zip(motion[place, 1], v[slice(*self._rates_of(element))], strict=False)
            if abs(now - rate) > 1e-3 * max(1.0, abs(rate))
        ]
        for coupling, record in zip(robot.couplings, model.couplings, strict=True):
            rates = record["factor"] * v[model.joints["v_begin"][record["joint"]]]
            if abs(rates.sum()) > 1e-3 * max(1.0, np.abs(rates).max()):
                off.append(f"coupling '{coupling.name}'")
        if off:
            raise StateError(
                f"the velocities cannot satisfy all constraints at once: {', '.join(off)} "
                "conflict with the others"
            )

    def _other_starts(self, held: NDArray[np.int64]) -> Iterator[Array]:
        """Coordinates of the tree at increasing distances from the present ones; deterministic."""
        rng = np.random.default_rng(0)
        robot = self._engine.robot
        q = self._engine.parts.state.q[: robot.nq].copy()
        free = np.zeros(robot.nq, dtype=bool)
        for j, joint in enumerate(robot.tree_joints):
            if not joint.has_quaternion:
                v = slice(robot.v_offsets[j], robot.v_offsets[j + 1])
                free[robot.q_offsets[j] : robot.q_offsets[j + 1]] = held[v] == 0
        for spread in np.geomspace(0.05, 2.0, 20):
            yield q + np.where(free, rng.normal(scale=spread, size=len(q)), 0.0)


def checked_body_state(
    robot: Mechanism,
    x: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None,
    omega: ArrayLike | None,
    time: float,
) -> dict[str, Array]:
    """Poses and velocities of all bodies by name, with unit quaternions, or a StateError."""
    nb = len(robot.bodies)
    given: dict[str, Array] = {}
    for name, value, width in (("x", x, 3), ("q", q, 4), ("v", v, 3), ("omega", omega, 3)):
        array = np.zeros((nb, width)) if value is None else finite(value, (nb, width))
        if array is None:
            raise StateError(f"{name} must be finite numbers of shape ({nb}, {width})")
        given[name] = array
    norms = np.linalg.norm(given["q"], axis=1, keepdims=True)
    if np.any(np.abs(norms - 1) > 1e-3):
        raise StateError(f"quaternions must have norm 1, not {norms.ravel().tolist()}")
    given["q"] /= norms
    check_time(time)
    return given


def wrong_signs(robot: Mechanism, q: Array, signs: Array) -> list[Beyond]:
    """Coordinates with the wrong signs, by `signs` (nv,)."""
    low, high = sides(robot, signs)
    found = []
    for name, (j, row) in coordinate_places(robot).items():
        v, value = robot.v_offsets[j] + row, float(q[robot.q_offsets[j] + row])
        turns = robot.joints[j].units[row] == "rad"
        for side, bound in (("lower", float(low[v])), ("upper", float(high[v]))):
            if (value - bound) * (1 if side == "lower" else -1) < -CLOSED:
                side = f"sign's {side} limit"
                rates = range(v, v + 1)
                found.append(Beyond(f"joint '{name}'", value, turns, side, bound, 1.0, rates))
    return found


def checked_signs(robot: Mechanism, signs: Mapping[str, float]) -> Array:
    """-1, 0 or 1 for each velocity (nv,), from the signs of named coordinates."""
    out = np.zeros(robot.nv)
    places = coordinate_places(robot)
    for name, sign in signs.items():
        if name not in places:
            raise StateError(
                f"signs are of coordinates that are numbers, not '{name}' (known: "
                f"{', '.join(places)})"
            )
        if not (isinstance(sign, Real) and sign in (-1, 1)):
            raise StateError(f"the sign of '{name}' must be 1 or -1, not {sign!r}")
        j, row = places[name]
        out[robot.v_offsets[j] + row] = sign
        lower, upper = (
            np.asarray(side)[row] for side in (robot.joints[j].lower, robot.joints[j].upper)
        )
        low, high = (side[robot.v_offsets[j] + row] for side in sides(robot, out))
        if lower > high or upper < low:
            raise StateError(
                f"the sign of '{name}' cannot be {sign}: its limits are {lower:.6g} and {upper:.6g}"
            )
    return out
