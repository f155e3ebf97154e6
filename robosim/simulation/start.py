"""Where a simulation starts: states are checked, placed, and projected onto all constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.order import driven_elements
from robosim.description.joint import Joint
from robosim.errors import StateError
from robosim.kernels.equations.coordinates import joint_violations
from robosim.kernels.solve.status import CONVERGED
from robosim.kernels.step.closure import close_loops, start_projected
from robosim.kernels.step.knot import set_bodies
from robosim.simulation.checkpoint import restored_if_refused
from robosim.simulation.engine import Engine
from robosim.simulation.loads import Held, Motions
from robosim.validation import Array, finite


class Start:
    """Puts a simulation's mechanism somewhere.

    Parameters
    ----------
    engine : Engine
    held : Held
    motions : Motions
    """

    def __init__(self, engine: Engine, held: Held, motions: Motions) -> None:
        self._engine, self._held, self._motions = engine, held, motions
        robot, options = engine.robot, engine.parts.options
        self._arc = options.dt if options.order == 2 else 0.0  # that velocities are read along
        self._constrained = bool(robot.loop_joints or robot.couplings or motions.driven)

    def at_coordinates(
        self, q: ArrayLike | None, v: ArrayLike | None, time: float, hold: Sequence[str]
    ) -> None:
        """See `Simulation.set_state`."""
        robot = self._engine.robot
        home = np.asarray(robot.home)
        q = checked("q", home if q is None else q, robot.q_names)
        v = checked("v", np.zeros(robot.nv) if v is None else v, robot.v_names)
        for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
            if joint.has_quaternion:
                begin = start + joint.C_T.shape[1]
                norm = float(np.linalg.norm(q[begin : begin + 4]))
                if abs(norm - 1) > 1e-3:
                    raise StateError(
                        f"the norm of the quaternion of joint '{joint.name}' must be 1, "
                        f"not {norm:.6g}"
                    )
                q[begin : begin + 4] /= norm
        check_time(time)
        if isinstance(hold, str):
            raise StateError(f"hold takes names of joints, ('{hold}',), not the name '{hold}'")
        for name in hold:
            robot.joint_index(name)
        with restored_if_refused(self._engine.parts, self._engine.counters):
            self.place(q, v, float(time))
            self._check_springs()
            if self._constrained:
                self._project(hold, float(time), from_tree=True)

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
        with restored_if_refused(self._engine.parts, self._engine.counters):
            self.place(robot.neutral(), np.zeros(robot.nv), float(time))
            for name, array in given.items():
                self._engine.parts.state.bodies[name] = array
            self._check_springs()
            self._project((), float(time), from_tree=False)

    def _check_springs(self) -> None:
        """Refuse springs between points that coincide: there is no direction to pull in."""
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

    def place(self, q: Array, v: Array, time: float) -> None:
        """Bodies where the tree's coordinates lead."""
        engine, robot = self._engine, self._engine.robot
        engine.start_anew(time)
        model, state, memory, loads, work, _ = engine.parts
        self._held.release_servos()
        loads.external["w"] = 0.0
        state.q[: robot.nq], state.v[: robot.nv] = q, v
        state.q[robot.nq :] = 0.0
        for start, joint in zip(robot.q_offsets, robot.joints, strict=False):
            if joint.has_quaternion and start >= robot.nq:
                state.q[start + joint.C_T.shape[1]] = 1.0
        set_bodies(model, state, memory, work, self._arc)

    def _project(self, hold: Sequence[str], time: float, *, from_tree: bool) -> None:
        """Satisfy all constraints from where the bodies are, or else from near the tree's q."""
        model, state, memory, loads, work, _ = self._engine.parts
        robot, system = self._engine.robot, memory.system
        tree_v = state.v[: robot.nv].copy()
        motion = self._motions.at(time, 0, 1)[0]
        # Where in q the coordinate of each velocity is; of no meaning for a free rotation.
        q_index = np.concatenate(
            [j["q_begin"] + np.arange(j["m_T"] + j["m_R"]) for j in model.joints]
        )
        held = np.zeros(len(model.coordinates), dtype=np.int64)
        goal, rate = state.q[q_index].copy(), state.v.copy()
        for name in hold:
            j = robot.joint_index(name)
            if robot.joints[j].has_quaternion:
                raise StateError(f"cannot hold joint '{name}': it has a free rotation")
            held[robot.v_offsets[j] : robot.v_offsets[j + 1]] = 1
        driven = model.coordinates["driven"]
        for v in np.flatnonzero(driven >= 0):
            held[v], (goal[v], rate[v]) = 1, motion[driven[v]]
        left = float(close_loops(model, state, system, work, held, goal, 200))
        for other in self._other_starts(held) if from_tree else ():
            if left < 1e-9:
                break
            # Straight links, for one, have no direction in which to begin to close.
            self.place(other, tree_v, time)
            left = float(close_loops(model, state, system, work, held, goal, 200))
        if not left < 1e-9:
            violations = np.zeros(len(model.joints))
            joint_violations(model, state, work, violations)
            worst = np.argsort(-violations)[: np.count_nonzero(violations > 1e-9)][:6]
            names = [robot.joints[j].name for j in worst if j < len(robot.joints)]
            if not names:
                names = [coupling.name for coupling in robot.couplings]
                names += [element.name for element in driven_elements(robot)]
            raise StateError(
                f"the constraints cannot be satisfied from here: {left:.3g} (m, or rad) is left, "
                f"at joints {names}; links may be too short to close, or the start too far away: "
                "give the mechanism a `home`, or set_state a q, that nearly satisfies them"
            )
        # What constraints yield, as some may be redundant, leaves a little of a first projection.
        for _ in range(2):
            parts = model, state, memory, loads, work
            if start_projected(*parts, held, rate, self._arc) != CONVERGED:
                raise StateError("velocities cannot be projected: the mechanism is singular here")
        self._check_rates(motion)
        self._check_springs()

    def _check_rates(self, motion: Array) -> None:
        """Refuse motions and couplings that contradict each other in their rates."""
        robot, parts = self._engine.robot, self._engine.parts
        model, v = parts.model, parts.state.v
        driven = model.coordinates["driven"]
        off = [
            f"the motion of '{element.name}' ({rate:.6g} asked for, {now:.6g} left)"
            for element, rate, now in zip(
                driven_elements(robot),
                motion[:, 1],
                [v[driven == d][0] for d in range(len(motion))],
                strict=True,
            )
            # Lengths that are held curve away from their rates, by an amount of order dt.
            if isinstance(element, Joint) and abs(now - rate) > 1e-3 * max(1.0, abs(rate))
        ]
        for coupling, record in zip(robot.couplings, model.couplings, strict=True):
            rates = record["factor"] * v[model.joints["v_begin"][record["joint"]]]
            if abs(rates.sum()) > 1e-3 * max(1.0, np.abs(rates).max()):
                off.append(f"coupling '{coupling.name}'")
        if off:
            raise StateError(
                f"the velocities cannot satisfy all constraints at once: {', '.join(off)} cannot "
                "be met beside the others"
            )

    def _other_starts(self, held: NDArray[np.int64]) -> Iterator[Array]:
        """Coordinates of the tree, ever farther from the present ones; always the same."""
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


def check_time(time: float) -> None:
    """Refuse a time that is none."""
    if not (isinstance(time, Real) and np.isfinite(time)):
        raise StateError(f"time must be a finite number, not {time!r}")


def checked(name: str, value: ArrayLike, names: tuple[str, ...]) -> Array:
    """Finite numbers, one for each name."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers, not {value!r}") from None
    if array.shape != (len(names),):
        raise StateError(f"{name} must have shape ({len(names)},), not {array.shape}")
    for index in np.flatnonzero(~np.isfinite(array)):
        raise StateError(f"{name} must be finite, but '{names[index]}' is {array[index]}")
    return array
