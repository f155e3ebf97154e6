"""A mechanism in motion: state in, steps, state out, in joint coordinates and in bodies."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from numbers import Real
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.arrays import assign_all, copied
from robosim.compiled.building.loops import is_tree_with_loops
from robosim.compiled.building.model import compile_model, connect_pairs
from robosim.compiled.kinds import BALL, LIMIT
from robosim.compiled.loads import make_loads
from robosim.compiled.memory import Memory, make_blocks, make_memory, make_system
from robosim.compiled.model import Model, Options
from robosim.compiled.order import all_joints, contact_order, driven_elements
from robosim.compiled.records.sizes import MAX_FACETS
from robosim.compiled.state import State, make_state
from robosim.compiled.workspace import make_workspace
from robosim.description.body import lowest_arms
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.springs import PointSpring
from robosim.description.tendon import Tendon
from robosim.errors import (
    ControllerError,
    ConvergenceError,
    OptionError,
    RobosimError,
    StateError,
)
from robosim.kernels.contact.kinematics import RECOVERY_SPEED
from robosim.kernels.equations.coordinates import joint_violations
from robosim.kernels.solve.status import COLD, CONVERGED, LAST, NEEDS_BLOCKS
from robosim.kernels.step.closure import close_loops, start_projected
from robosim.kernels.step.knot import set_bodies
from robosim.log import Chunk, Log
from robosim.log.columns import STEP, worst_of
from robosim.runtime.handles import Handle, Parts, Run, Runner, begin_compiling, make_run, runner
from robosim.runtime.limbs import Limbs, find_lanes
from robosim.runtime.notice import CompileNotice
from robosim.simulation import readings
from robosim.simulation.controllers import (
    PD,
    Compiled,
    Controller,
    check_torques,
    resolve,
    zero,
)
from robosim.simulation.readings import Contact
from robosim.simulation.sensors import read as read_sensor
from robosim.validation import count

Array = NDArray[np.float64]
CHUNK_STEPS = 1000
FIRST_STAY = 2  # steps that a tree with contacts is left to the solver with multipliers
LONGEST_STAY = 1000  # twice as many each time, up to these
FEWEST_IN_LANES = 32  # steps at a time that are worth taking there
FLOATS = np.dtype(np.float64)


class StepInfo(NamedTuple):
    """What a step took.

    Attributes
    ----------
    iterations : int
        Newton iterations, of all attempts and substeps.
    residual : float [m/s]
        Largest residual of the equations that was left.
    status : str
        "converged"; a step that is not raises `ConvergenceError` instead.
    substeps : int
        1, or the number of parts that the step was divided into.
    violation : float [m, or the sine of half an angle]
        Largest violation of a joint at the new knot.
    gap : float [m]
        Smallest gap of a contact at the new knot; inf without contacts.
    order : int
        Of the step: 2, or 4 if that was asked for and the motion was smooth.
    """

    iterations: int
    residual: float
    status: str
    substeps: int
    violation: float
    gap: float
    order: int


class BodyState:
    """Bodies at the knot, read-only views in the order of ``robot.bodies``.

    Attributes
    ----------
    x : (nb, 3) [m], centres of mass, world
    q : (nb, 4), orientations, body to world
    v : (nb, 3) [m/s], velocities of the centres of mass, world axes
    omega : (nb, 3) [rad/s], angular velocities, body axes
    joint_q, joint_v
        The same in joint coordinates: the nq and nv of the tree, then those of joints that close
        loops, then the lengths of springs between points, and of tendons.
    """

    def __init__(self, state: State) -> None:
        self.x = _view(state.bodies["x"])
        self.q = _view(state.bodies["q"])
        self.v = _view(state.bodies["v"])
        self.omega = _view(state.bodies["omega"])
        self.joint_q = _view(state.q)
        self.joint_v = _view(state.v)


def _view(array: Array) -> Array:
    view = array.view()
    view.setflags(write=False)
    return view


class Simulation:
    """Steps a mechanism with the variational integrator.

    Parameters
    ----------
    robot : Mechanism
    timestep : float [s]
    gravity : (3,) [m/s^2], world
    tolerance : float [m/s]
        Largest residual of the step equations: of the dynamics as a velocity in the mass metric,
        of joints and contacts as a violation over the timestep.
    contact_speed : float [m/s]
        Scale of the velocity with which a resting contact creeps, and of its gap over the
        timestep: the interior point stops there.
    friction_cone : str
        "second_order", the exact cone, or "linearized", a polygon [Bruedigam2023, Eqs. 29d-f].
    friction_facets : int or None
        Facets of the linearized cone, and only of that, even, 4 to 16; None for 4.
    max_iterations : int
        Newton iterations per attempt.
    max_substeps : int
        Into how many parts at most a step is divided when its equations cannot be solved.
    order : int
        2, or 4: seven steps of order two, combined. While a contact or a limit is active, or
        with servos, steps are of order two all the same, and say so.
    solver : str or None
        "articulated" eliminates a tree along its joints, and loops that share none; "ldu" any
        mechanism with all multipliers, more slowly. By default the former works on what it can, and
        where it cannot solve a step, as may happen with many stiff contacts, the latter goes on for
        2 steps, the next time for 4, and so on.
    lanes : bool
        Take steps of runs with all four legs side by side in the lanes of vector registers, where
        the robot has four limbs alike: in about six tenths of the time, for half a minute more of
        compiling the first time. The motion is the same as far as the tolerance goes, but no longer
        to the last bit however a run is divided.

    Attributes
    ----------
    solver : str
        The one in use.
    lanes : bool
        Whether limbs are taken side by side: asked for, and the robot has them.
    steps, fourth_order_steps : int
        Done since the state was set: all, and those of order four.

    Raises
    ------
    OptionError
        For an option that is not allowed.
    """

    def __init__(
        self,
        robot: Mechanism,
        timestep: float = 1e-3,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        tolerance: float = 1e-8,
        contact_speed: float = 1e-10,
        friction_cone: str = "second_order",
        friction_facets: int | None = None,
        max_iterations: int = 50,
        max_substeps: int = 64,
        order: int = 2,
        solver: str | None = None,
        lanes: bool = False,
    ) -> None:
        for name, value in (
            ("timestep", timestep),
            ("tolerance", tolerance),
            ("contact_speed", contact_speed),
        ):
            if not (isinstance(value, Real) and np.isfinite(value) and value > 0):
                raise OptionError(f"{name} must be a positive number, not {value!r}")
        if friction_cone not in ("second_order", "linearized"):
            raise OptionError(
                f"friction_cone must be 'second_order' or 'linearized', not {friction_cone!r}"
            )
        n_facets = 4 if friction_facets is None else friction_facets
        if n_facets not in range(4, MAX_FACETS + 1, 2):
            raise OptionError(
                f"friction_facets must be even and 4 to {MAX_FACETS}, not {friction_facets!r}"
            )
        if friction_facets is not None and friction_cone != "linearized":
            raise OptionError("friction_facets is for friction_cone='linearized' only")
        max_iterations = count("max_iterations", max_iterations)
        max_substeps = count("max_substeps", max_substeps)
        if order not in (2, 4):
            raise OptionError(f"order must be 2 or 4, not {order!r}")
        try:
            g = np.array(gravity, dtype=float)
        except (TypeError, ValueError):
            g = np.full(3, np.nan)
        if g.shape != (3,) or not np.all(np.isfinite(g)):
            raise OptionError(f"gravity must be three finite numbers, not {gravity!r}")
        if not isinstance(robot, Mechanism):
            raise OptionError(f"robot must be a Mechanism, as robosim.load gives it, not {robot!r}")
        CompileNotice.install()
        self.robot = robot
        self._timestep, self._gravity = float(timestep), g
        g.setflags(write=False)
        suits = is_tree_with_loops(robot)
        if solver not in (None, "ldu", "articulated") or (solver == "articulated" and not suits):
            raise OptionError(
                "solver must be 'ldu', or 'articulated' for trees without couplings, point "
                "springs, tendons, driven joints, contacts between bodies and loops that share "
                f"joints, not {solver!r}"
            )
        self.solver = solver or ("articulated" if suits else "ldu")
        self._may_switch = solver is None and self.solver == "articulated"
        self._solvers: dict[str, Any] = {}  # what those work on that are not at work now
        self._max_substeps = int(max_substeps)
        # Steps that the other solver has to take; the next time.
        self._away, self._stay = 0, FIRST_STAY
        self._facets = n_facets if friction_cone == "linearized" else 0
        self._model = compile_model(robot, self._facets, self.solver == "articulated")
        self._state = make_state(robot, self._model)
        self._memory, self._loads = make_memory(self._model), make_loads(self._model)
        self._work = make_workspace(robot, self._model)
        self._options = Options(
            self.timestep,
            self.gravity,
            float(tolerance),
            float(contact_speed),
            int(max_iterations),
            *self._patience(self.solver),
            int(order),
        )
        # What another one has to share for this one to go on from its state.
        rest = [value for value in self._options if value is not g]
        self._asked_for = (solver, self._facets, self._max_substeps, g.tobytes(), *rest)
        self._n_rates = robot.v_offsets[-1]
        # Where in q the coordinate of each velocity is; of no meaning for a free rotation.
        joints = self._model.joints
        self._q_index = np.concatenate(
            [j["q_begin"] + np.arange(j["m_T"] + j["m_R"]) for j in joints]
        )
        self._constrained = bool(robot.loop_joints or robot.couplings or driven_elements(robot))
        elements: list[Joint | PointSpring] = [*robot.joints, *robot.springs]
        self._potentials = [
            (int(record["q_begin"]), element.potential)
            for record, element in zip(joints, elements, strict=False)
            if element.potential is not None
        ]
        self._no_gains = zero(robot).gains
        indices = np.asarray(robot.actuated, dtype=np.int64)
        straight = len(indices) > 0 and np.array_equal(
            indices, np.arange(indices[0], indices[0] + len(indices))
        )
        # Numbers that follow each other are written twice as fast as a slice.
        self._actuated: Any = slice(indices[0], indices[-1] + 1) if straight else indices
        self._driven = len(self._loads.motion) > 0
        self._nu = robot.nu
        self._contact_order = contact_order(robot)
        self._contact_bodies = [robot.body_index(contact.body) for contact in robot.contacts]
        self._start_time = 0.0
        self._last: tuple[Any, int, bool] | None = None
        self.steps = self.fourth_order_steps = 0
        self.order = int(order)
        self._arc = self.timestep if self.order == 2 else 0.0  # that velocities are read along
        self._single: Handle | None = None
        self._parts: Handle | None = None
        whole = Parts(
            self._model, self._state, self._memory, self._loads, self._work, self._options
        )
        self._lanes = find_lanes(robot, whole) if lanes else None
        self.lanes = self._lanes is not None
        self._own()
        self.set_state()

    def _own(self) -> None:
        """Make what belongs to this simulation alone beside its state and its scratch memory."""
        self.state = BodyState(self._state)
        self._connected: dict[bytes, tuple[Model, Any]] = {}
        self._near = -1, np.zeros(0, dtype=bool)
        # What holds for every step until it is set again: torques, and the gains of a PD.
        self._torques = np.zeros((1, len(self._model.coordinates)))
        self._held, self._fully_held = self._torques[0], False
        self._gains, self._controlled = self._no_gains.copy(), False
        self._release_servos()
        self._done = np.zeros(1, dtype=np.int64)
        # Torques of the step before so many, where servos of another simulation gave them.
        self._drove: tuple[int, Array] | None = None
        self._strayed: set[str] = set()  # driven joints that have been warned of
        self._asking = False  # whether a controller has been called and has not answered yet
        self._at_work = Lock()  # held while steps are taken
        self._single = self._handle(1)
        self._sample: Run = self._single.values
        self._limbs: Limbs | None = None  # not before steps that are worth it
        self._hand_over()

    def copy(self, state: State | None = None) -> Simulation:
        """A simulation of the same robot in the same state that goes its own way.

        It takes the same steps as this one, to the last bit.

        Parameters
        ----------
        state : State or None
            Memory for its state, of the same sizes; new if None.
        """
        other = object.__new__(Simulation)
        other.__dict__.update(self.__dict__)
        other._state = copied(self._state) if state is None else state
        assign_all(self._state, other._state)
        other._memory, other._loads = copied(self._memory), copied(self._loads)
        other._work, other._solvers = make_workspace(self.robot, self._model), {}
        other._own()
        other._last, other._drove = self._last_one(), (self.steps, self.torques)
        return other

    def restore(self, other: Simulation) -> None:
        """Go to the state of another simulation of the same robot; or back to a `copy`'s.

        From there it takes the same steps as the other, to the last bit, which `set_state` cannot
        promise: there contacts and guesses start anew. Much faster than a new copy.

        Parameters
        ----------
        other : Simulation
            Of the same `Mechanism`, with the same timestep, gravity and options.

        Raises
        ------
        StateError
            If it is of another robot, or has other options.
        """
        self._check_idle()
        self._check_alike(other)
        if other is self:
            return
        for source, target in (
            (other._state, self._state),
            (other._memory.guesses, self._memory.guesses),
            (other._loads, self._loads),
        ):
            assign_all(source, target)
        if other._model is self._model:
            assign_all(other._memory.system, self._memory.system)
        else:
            self._memory = Memory(self._memory.guesses, copied(other._memory.system))
            self._work, self._solvers = make_workspace(self.robot, other._model), {}
            self._model, self._options, self.solver = other._model, other._options, other.solver
            self._parts = None  # which may be of other types
            self._hand_over()
        self._near = -1, np.zeros(0, dtype=bool)
        self._control_by(None)
        self._release_servos()
        for name in ("_start_time", "steps", "fourth_order_steps", "_away", "_stay"):
            setattr(self, name, getattr(other, name))
        self._last, self._drove = other._last_one(), (other.steps, other.torques)

    def _check_alike(self, other: Any) -> None:
        of_my_robot = isinstance(other, Simulation) and other.robot is self.robot
        if not (of_my_robot and other._asked_for == self._asked_for):
            raise StateError(
                "a simulation can go to the state of a Simulation of the same robot (one Mechanism "
                f"for both), with the same timestep, gravity and options, not to {other!r}"
            )

    def _last_one(self) -> tuple[Any, int, bool] | None:
        """What the last step took, as a record of its own."""
        if self._last is None:
            return None
        infos, row, first = self._last
        return infos[row : row + 1].copy(), 0, first

    def __copy__(self) -> Simulation:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a Simulation cannot be pickled, as compiled code holds on to its memory: hand over "
            "the model's path, q, v and time, and let the other process make its own"
        )

    @property
    def timestep(self) -> float:
        """Length of a step [s]; another one needs another simulation."""
        return self._timestep

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall (3,) [m/s^2], world, read-only."""
        return self._gravity

    @property
    def time(self) -> float:
        """Time of the present knot [s]."""
        return self._start_time + self.steps * self.timestep

    @property
    def q(self) -> Array:
        """Joint coordinates (nq,), a copy; angles go on over turns."""
        return self._state.q[: self.robot.nq].copy()

    @property
    def v(self) -> Array:
        """Joint velocities (nv,) at the knot, a copy."""
        return self._state.v[: self.robot.nv].copy()

    @property
    def torques(self) -> Array:
        """What drove the joints in the last step, (nv,) [N m or N], a copy; 0 before the first.

        Of servos within the step, what they gave over it.
        """
        if self.steps == 0:
            return np.zeros(self.robot.nv)
        if self._drove is not None and self._drove[0] == self.steps:
            return self._drove[1].copy()
        tau = self._loads.tau.copy()
        servos = self._gains[self._gains["implicit"] != 0]
        if len(servos):
            end = self._state.q[servos["q_index"]]
            rates = (end - self._loads.drives["start"][servos["v_index"]]) / self.timestep
            asked = servos["kp"] * (servos["target"] - end)
            asked += servos["kd"] * (servos["velocity"] - rates)
            given = np.clip(asked, -servos["limit"], servos["limit"])
            np.add.at(tau, servos["v_index"], given)
        return tau[: self.robot.nv]

    def sensor(self, name: str) -> float | Array:
        """The reading of one of ``robot.sensors`` at the knot: a number, or (3,) or (4,).

        Raises
        ------
        ModelError
            If there is none of that name.
        """
        return read_sensor(self, self.robot.sensor(name))

    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        time: float = 0.0,
        hold: Sequence[str] = (),
    ) -> None:
        """Put the robot at joint coordinates q (nq,), moving at v (nv,).

        Closed loops, couplings and driven joints are then satisfied by moving the bodies by as
        little as possible in the mass metric, and their velocities likewise: q and v need to be
        consistent only roughly, and what became of them is read from the simulation.

        This is a start: nothing has pushed yet, and wrenches that were applied before are taken
        away. To go on from the state of another simulation, or back to an earlier one, as if
        nothing had come in between, there are `copy` and `restore`.

        Parameters
        ----------
        q : (nq,) or None
            The robot's home pose if None.
        v : (nv,) or None
            At rest if None.
        time : float [s]
        hold : names of joints
            Their coordinates are kept exactly as given while loops are closed.

        Raises
        ------
        StateError
            For a wrong shape, a value that is not finite, a quaternion that is not unit, or loops
            that cannot be closed from there.
        """
        self._check_idle()
        home = np.asarray(self.robot.home)
        q = self._checked("q", home if q is None else q, self.robot.q_names)
        v = self._checked("v", np.zeros(self.robot.nv) if v is None else v, self.robot.v_names)
        for start, joint in zip(self.robot.q_offsets, self.robot.tree_joints, strict=False):
            if joint.has_quaternion:
                begin = start + joint.C_T.shape[1]
                norm = float(np.linalg.norm(q[begin : begin + 4]))
                if abs(norm - 1) > 1e-3:
                    raise StateError(
                        f"the norm of the quaternion of joint '{joint.name}' must be 1, "
                        f"not {norm:.6g}"
                    )
                q[begin : begin + 4] /= norm
        self._check_time(time)
        if isinstance(hold, str):
            raise StateError(f"hold takes names of joints, ('{hold}',), not the name '{hold}'")
        for name in hold:
            self.robot.joint_index(name)
        with self._restored_if_refused():
            self._place(q, v, float(time))
            self._check_springs()
            if self._constrained:
                self._project(hold, float(time), from_tree=True)

    def set_body_state(
        self,
        x: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        omega: ArrayLike | None = None,
        time: float = 0.0,
    ) -> None:
        """Put the bodies near the given poses and velocities, where all joints are satisfied.

        The bodies are moved by as little as possible in the mass metric.

        Parameters
        ----------
        x : (nb, 3) [m], centres of mass, world
        q : (nb, 4), orientations, body to world
        v : (nb, 3) [m/s] or None, velocities of the centres of mass, world axes
        omega : (nb, 3) [rad/s] or None, body axes
        time : float [s]

        Raises
        ------
        StateError
            For a wrong shape, a value that is not finite, or joints that cannot be satisfied.
        """
        self._check_idle()
        nb = len(self.robot.bodies)
        given: dict[str, Array] = {}
        for name, value, width in (("x", x, 3), ("q", q, 4), ("v", v, 3), ("omega", omega, 3)):
            try:
                array = np.zeros((nb, width)) if value is None else np.array(value, dtype=float)
            except (TypeError, ValueError):
                array = np.full(0, np.nan)
            if array.shape != (nb, width) or not np.all(np.isfinite(array)):
                raise StateError(f"{name} must be finite numbers of shape ({nb}, {width})")
            given[name] = array
        norms = np.linalg.norm(given["q"], axis=1, keepdims=True)
        if np.any(np.abs(norms - 1) > 1e-3):
            raise StateError(f"quaternions must have norm 1, not {norms.ravel().tolist()}")
        given["q"] /= norms
        self._check_time(time)
        with self._restored_if_refused():
            self._place(self.robot.neutral(), np.zeros(self.robot.nv), float(time))
            for name, array in given.items():
                self._state.bodies[name] = array
            self._check_springs()
            self._project((), float(time), from_tree=False)

    def _check_idle(self) -> None:
        if self._asking:
            raise ControllerError(
                "a controller has to return torques before its simulation can go on or start "
                "again: take steps one by one with step(), and start again between them; to look "
                "ahead, step a copy()"
            )

    @staticmethod
    def _check_time(time: float) -> None:
        if not (isinstance(time, Real) and np.isfinite(time)):
            raise StateError(f"time must be a finite number, not {time!r}")

    @contextmanager
    def _restored_if_refused(self) -> Iterator[None]:
        """Put everything back if the state that is being set turns out to be impossible."""
        parts = self._state, self._memory.guesses, self._loads.external
        saved, start = copied(parts), (self._start_time, self.steps)
        try:
            yield
        except RobosimError:
            assign_all(saved, parts)
            self._start_time, self.steps = start
            raise

    def _check_springs(self) -> None:
        """Refuse springs between points that coincide: there is no direction to pull in."""
        rotations = quaternions.rotation_matrix(self._state.bodies["q"])
        for spring in self.robot.springs:
            ends = [np.asarray(spring.parent_position), np.asarray(spring.child_position)]
            for k, name in enumerate((spring.parent, spring.child)):
                if name is not None:
                    i = self.robot.body_index(name)
                    ends[k] = self._state.bodies["x"][i] + rotations[i] @ ends[k]
            length = float(np.linalg.norm(ends[1] - ends[0]))
            if length < 1e-9:
                raise StateError(
                    f"spring '{spring.name}' has a length of {length:.3g} m, and so no direction: "
                    "start with its ends apart, in the mechanism's home pose too"
                )

    def _place(self, q: Array, v: Array, time: float) -> None:
        """Bodies where the tree's coordinates lead."""
        if self._away:
            self._switch("articulated")
        self._away, self._stay = 0, FIRST_STAY
        self._disconnect_pairs()
        state, robot = self._state, self.robot
        self._release_servos()
        self._loads.external["w"] = 0.0
        state.q[: robot.nq], state.v[: robot.nv] = q, v
        state.q[robot.nq :] = 0.0
        for start, joint in zip(robot.q_offsets, robot.joints, strict=False):
            if joint.has_quaternion and start >= robot.nq:
                state.q[start + joint.C_T.shape[1]] = 1.0
        set_bodies(self._model, state, self._memory, self._work, self._arc)
        self._start_time, self.steps, self.fourth_order_steps = time, 0, 0
        self._drove = None

    def _project(self, hold: Sequence[str], time: float, *, from_tree: bool) -> None:
        """Satisfy all constraints from where the bodies are, or else from near the tree's q."""
        model, state, work = self._model, self._state, self._work
        system = self._memory.system
        tree_v = self.v
        motion = self._motions(time, 0, 1)[0]
        held = np.zeros(len(model.coordinates), dtype=np.int64)
        goal, rate = state.q[self._q_index].copy(), state.v.copy()
        for name in hold:
            j = self.robot.joint_index(name)
            if self.robot.joints[j].has_quaternion:
                raise StateError(f"cannot hold joint '{name}': it has a free rotation")
            held[self.robot.v_offsets[j] : self.robot.v_offsets[j + 1]] = 1
        driven = model.coordinates["driven"]
        for v in np.flatnonzero(driven >= 0):
            held[v], (goal[v], rate[v]) = 1, motion[driven[v]]
        left = float(close_loops(model, state, system, work, held, goal, 200))
        for other in self._other_starts(held) if from_tree else ():
            if left < 1e-9:
                break
            # Straight links, for one, have no direction in which to begin to close.
            self._place(other, tree_v, time)
            left = float(close_loops(model, state, system, work, held, goal, 200))
        if not left < 1e-9:
            violations = np.zeros(len(model.joints))
            joint_violations(model, state, work, violations)
            worst = np.argsort(-violations)[: np.count_nonzero(violations > 1e-9)][:6]
            names = [self.robot.joints[j].name for j in worst if j < len(self.robot.joints)]
            if not names:
                names = [coupling.name for coupling in self.robot.couplings]
                names += [element.name for element in driven_elements(self.robot)]
            raise StateError(
                f"the constraints cannot be satisfied from here: {left:.3g} (m, or rad) is left, "
                f"at joints {names}; links may be too short to close, or the start too far away: "
                "give the mechanism a `home`, or set_state a q, that nearly satisfies them"
            )
        # What constraints yield, as some may be redundant, leaves a little of a first projection.
        for _ in range(2):
            parts = model, state, self._memory, self._loads, work
            if start_projected(*parts, held, rate, self._arc) != CONVERGED:
                raise StateError("velocities cannot be projected: the mechanism is singular here")
        self._check_rates(motion)
        self._check_springs()

    def _check_rates(self, motion: Array) -> None:
        """Refuse motions and couplings that contradict each other in their rates."""
        model, v = self._model, self._state.v
        driven = model.coordinates["driven"]
        off = [
            f"the motion of '{element.name}' ({rate:.6g} asked for, {now:.6g} left)"
            for element, rate, now in zip(
                driven_elements(self.robot),
                motion[:, 1],
                [v[driven == d][0] for d in range(len(motion))],
                strict=True,
            )
            # Lengths that are held curve away from their rates, by an amount of order dt.
            if isinstance(element, Joint) and abs(now - rate) > 1e-3 * max(1.0, abs(rate))
        ]
        for coupling, record in zip(self.robot.couplings, model.couplings, strict=True):
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
        q = self.q
        free = np.zeros(self.robot.nq, dtype=bool)
        for j, joint in enumerate(self.robot.tree_joints):
            if not joint.has_quaternion:
                v = slice(self.robot.v_offsets[j], self.robot.v_offsets[j + 1])
                free[self.robot.q_offsets[j] : self.robot.q_offsets[j + 1]] = held[v] == 0
        for spread in np.geomspace(0.05, 2.0, 20):
            yield q + np.where(free, rng.normal(scale=spread, size=len(q)), 0.0)

    def _motions(self, start: float, first: int, n: int) -> Array:
        """Values and rates of the driven coordinates at knots `first` .. first + n - 1, (n, nd, 2).

        Counted from the time `start`, so that a knot's is the same however a run came there.
        """
        driven = driven_elements(self.robot)
        out = np.empty((n, len(driven), 2))
        step = 1e-3 * self.timestep
        for d, joint in enumerate(driven):
            for k in range(n):
                t = start + (first + k) * self.timestep
                here, before, after = (_at(joint, t + s) for s in (0.0, -step, step))
                out[k, d] = here, (after - before) / (2 * step)
            self._warn_of_motion(joint, start + self.timestep * first, out[:, d, 0])
        return out

    def _warn_of_motion(self, element: Joint | Tendon, start: float, values: Array) -> None:
        """Say, once, where a motion leads beyond the limits of its joint."""
        lower, upper = np.min(np.asarray(element.lower)), np.max(np.asarray(element.upper))
        beyond = np.flatnonzero((values < lower - 1e-9) | (values > upper + 1e-9))
        if len(beyond) and element.name not in self._strayed:
            self._strayed.add(element.name)
            value = values[beyond[0]]
            warnings.warn(
                f"joint '{element.name}' is driven along its motion to {value:.6g} at "
                f"{start + self.timestep * beyond[0]:.6g} s, beyond its limits of {lower:.6g} and "
                f"{upper:.6g}, which do not hold what is driven",
                stacklevel=_user_level(),
            )

    def _warn_of_start(self) -> None:
        """Say before the first step what starts in the ground or beyond its limit."""
        heights = self.contact_positions()[:, 2] if self.robot.contacts else np.zeros(1)
        if heights.min() < -1e-9:
            name = self.robot.contacts[int(heights.argmin())].name
            warnings.warn(
                f"contact '{name}' starts {-heights.min():.3g} m below the ground and will be "
                f"pushed out of it at no more than {RECOVERY_SPEED} m/s; raise the base by that "
                "much",
                stacklevel=_user_level(),
            )
        for what, value, turns, side, bound, scale in self._beyond_limits():
            speed = f"{RECOVERY_SPEED / scale:.3g} {'rad/s' if turns else 'm/s'}"
            warnings.warn(
                f"{what} starts at {value:.6g}, beyond its {side} limit of {bound:.6g}, and will "
                f"be pushed back at no more than {speed}",
                stacklevel=_user_level(),
            )

    def _beyond_limits(self) -> Iterator[tuple[str, float, bool, str, float, float]]:
        """(whose, where, whether it turns, side, bound, scale) of each limit that is exceeded."""
        slots, joints = self._model.contacts[self._model.n_ground :], self._model.joints
        if len(slots) == 0:
            return
        limits = slots[slots["kind"] == LIMIT]
        here = self._state.q[joints["q_begin"][limits["joint"]] + limits["row"]]
        beyond = limits["sign"] * (here - limits["bound"]) < -1e-9 * limits["scale"]
        for slot, value in zip(limits[beyond], here[beyond], strict=True):
            element = all_joints(self.robot)[int(slot["joint"])]
            kind = "tendon" if isinstance(element, Tendon) else "joint"
            turns = kind == "joint" and slot["row"] >= joints["m_T"][slot["joint"]]
            side = "lower" if slot["sign"] > 0 else "upper"
            numbers = float(slot["bound"]), float(slot["scale"])
            yield f"{kind} '{element.name}'", float(value), bool(turns), side, *numbers

    def _warn_of_overlap(self, gap: float) -> None:
        """Say after the first step, which ended at the gap `gap`, which shapes began in others."""
        if gap >= -1e-9 or self._model.collision is None:
            return
        inside = [contact for contact in self.contacts(ground=False) if contact.gap < -1e-9]
        if inside:
            deepest = min(inside, key=lambda contact: contact.gap)
            warnings.warn(
                f"body '{deepest.body}' starts inside of '{deepest.other}' and is still "
                f"{-deepest.gap:.3g} m deep; it will be pushed out at no more than "
                f"{RECOVERY_SPEED} m/s",
                stacklevel=_user_level(),
            )

    def _checked(self, name: str, value: ArrayLike, names: tuple[str, ...]) -> Array:
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise StateError(f"{name} must be numbers, not {value!r}") from None
        if array.shape != (len(names),):
            raise StateError(f"{name} must have shape ({len(names)},), not {array.shape}")
        for index in np.flatnonzero(~np.isfinite(array)):
            raise StateError(f"{name} must be finite, but '{names[index]}' is {array[index]}")
        return array

    def step(self, tau: ArrayLike | None = None) -> StepInfo:
        """Advance by one timestep under torques held over it.

        Parameters
        ----------
        tau : (nu,) joint torques, or (nv,) generalized forces, or None for none [N m, N]

        Raises
        ------
        ConvergenceError
            If the equations could not be solved; the state is left where it was.
        ControllerError
            For a wrong shape or a value that is not finite.
        """
        if self.steps == 0:
            self._warn_of_start()
        self._hold(tau, "step(tau) was given")
        if self._controlled:
            self._control_by(None)
        assert self._single is not None
        if self._driven:
            self._sample.motions[:] = self._motions(self._start_time, self.steps, 2)
        self._advance(self._single, 0, 1)
        _, iterations, substeps, order, _, residual, _, violation, gap = self._sample.infos.item(0)
        if self.steps == 1:
            self._warn_of_overlap(gap)
        info = (iterations, residual, "converged", substeps, violation, gap, order)
        # As StepInfo(...) does, in half of its time.
        return tuple.__new__(StepInfo, info)

    def _control_by(self, pd: PD | None) -> None:
        """Let a PD act in the steps that follow, or none."""
        if pd is not None:
            if len(pd.gains) != len(self._gains):
                raise ControllerError(
                    f"this PD is for a robot with {len(pd.gains)} actuators, and "
                    f"'{self.robot.name}' has {len(self._gains)}"
                )
            self._gains[:] = pd.gains
        elif self._controlled:
            self._gains[:] = self._no_gains
            self._release_servos()
        self._controlled = pd is not None

    def _hold(self, tau: Any, source: str) -> None:
        """Take torques (nu,), forces (nv,) or None to be held over the steps that follow."""
        held = self._held
        if type(tau) is np.ndarray and tau.dtype is FLOATS and tau.shape == (self._nu,):
            # The usual case, in a fraction of the time of the general one.
            if self._fully_held:
                held.fill(0.0)
                self._fully_held = False
            held[self._actuated] = tau
            # For a few dozen numbers faster than what numpy has for it.
            if isfinite(sum(tau.tolist())):
                return
        held.fill(0.0)
        if tau is not None:
            held[: self._n_rates] = check_torques(self.robot, tau, source)
            self._fully_held = True

    @property
    def _last_interval(self) -> float:
        """Length of the last interval [s], or what stands for it where forces are means over it."""
        if self._last is None:
            return self.timestep
        infos, row, first = self._last
        substeps = int(infos["substeps"][row])
        # A start gives the first interval only its own half of the impulses at its knot.
        return self.timestep / substeps * (0.5 if first and substeps == 1 else 1.0)

    def _failure(self, info: Any) -> RobosimError:
        strange = np.flatnonzero(~np.isfinite(self._loads.tau))
        if len(strange):  # of a compiled controller; others are checked when they answer
            v = int(strange[0])
            name = dict(zip(self.robot.actuated, self.robot.actuated_names, strict=True)).get(v)
            return ControllerError(
                f"the controller gave {self._loads.tau[v]} for "
                f"'{name or self.robot.v_names[v]}' at {self.time:.6g} s"
            )
        return ConvergenceError(
            self.time,
            float(info["residual"]),
            int(info["iterations"]),
            int(info["substeps"]),
            self.robot.bodies[int(info["worst_body"])].name,
            self._hint(),
        )

    def _hint(self) -> str:
        """What may have made a step unsolvable, in the order of how often it does."""
        turns = np.linalg.norm(self._state.bodies["omega"], axis=1) * self.timestep
        if turns.max() > 0.5:
            name = self.robot.bodies[int(turns.argmax())].name
            torque = float(np.abs(self._loads.tau).max(initial=0.0))
            return (
                f"Body '{name}' turns by {turns.max():.3g} rad in a step, more than the scheme "
                f"follows: the timestep is too long for it, or for the gains of a controller that "
                f"oscillates (its largest torque is {torque:.3g})."
            )
        if self.steps == 0 and self.min_gap() < -1e-9:
            return f"It starts {-self.min_gap():.3g} m inside of what it cannot pass: move it out."
        for what, value, _, side, bound, _ in self._beyond_limits():
            return (
                f"{what[0].upper()}{what[1:]} is at {value:.6g}, beyond its {side} limit of "
                f"{bound:.6g}: it may have no way to get there."
            )
        driven = [f"'{element.name}'" for element in driven_elements(self.robot)]
        if driven:
            return f"The motions of {', '.join(driven)} may lead where the mechanism cannot follow."
        return ""

    def run(
        self,
        seconds: float,
        controller: str | Controller | None = None,
        progress: bool = False,
        every: int = 1,
    ) -> Log:
        """Simulate for some time and return the log.

        Parameters
        ----------
        seconds : float [s]
        controller : callable(sim) -> torques (nu,) or a PD, or the name of a built-in one, or None
        progress : bool
            Whether to show a progress bar on stderr.
        every : int
            Steps from one sample of the log to the next. The motion does not depend on it. Where
            nothing touches and no torques act, steps that are not logged take two thirds of the
            time, as nobody asks for the velocities at their ends.

        Raises
        ------
        ConvergenceError, ControllerError
            From the step that failed; the simulation stays at the knot before it.
        """
        chunks = []
        total = self._steps_of(seconds)
        if total is None:
            raise OptionError("a run needs a finite time; `stream` can go on for ever")
        before = self.steps
        with _progress(total, progress) as advance:
            for chunk in self.stream(seconds, controller, every=every):
                chunks.append(chunk)
                advance(self.steps - before)
                before = self.steps
        return Log.from_chunks(self.robot, self.timestep * every, chunks)

    def stream(
        self,
        seconds: float,
        controller: str | Controller | None = None,
        chunk_steps: int | None = None,
        every: int = 1,
    ) -> Iterator[Chunk]:
        """Simulate for some time, a piece at a time: memory stays bounded however long it runs.

        Parameters
        ----------
        seconds, controller : as for `run`; infinite seconds go on for ever
        chunk_steps : int or None
            Steps per chunk, or more to have whole multiples of `every`.
        every : int
            As for `run`.

        Yields
        ------
        Chunk
            Samples since the last one. If a step fails, what was done before it is yielded first.
        """
        left = self._steps_of(seconds)
        control = None if controller is None else resolve(self.robot, controller, self.timestep)
        size = CHUNK_STEPS if chunk_steps is None else count("chunk_steps", chunk_steps)
        every = count("every", every)
        # Rows of one chunk follow those of another as if it were one.
        size = -(-size // every) * every
        return self._stream(control, size, left, every)

    def _steps_of(self, seconds: float) -> int | None:
        """Number of steps of some time, None for infinite ones."""
        if not (isinstance(seconds, Real) and seconds >= 0):
            raise OptionError(f"seconds must be a number that is not negative, not {seconds!r}")
        if not np.isfinite(seconds):
            return None
        steps = round(seconds / self.timestep)
        if steps == 0 and seconds > 0:
            raise OptionError(f"{seconds!r} s are too short for a step of {self.timestep:g} s")
        return steps

    def _stream(
        self, control: Controller | None, size: int, left: int | None, every: int
    ) -> Iterator[Chunk]:
        if self.steps == 0:
            self._warn_of_start()
        while left is None or left > 0:
            n = size if left is None else min(size, left)
            begin = self.steps
            error: Exception | None = None
            targets, address = None, 0
            if isinstance(control, PD) and control.motion is not None:
                targets = control.targets(self.time + self.timestep * np.arange(n))
            if isinstance(control, Compiled):
                address = control.address
            gains = None if control is None or isinstance(control, Compiled) else self._gains
            handle = self._handle(n, targets, address, every, gains)
            try:
                if control is None or isinstance(control, PD | Compiled):
                    self._hold(None, "")
                    self._control_by(control if isinstance(control, PD) else None)
                    self._advance(handle, 0, n)
                else:
                    self._controlled_steps(control, handle, n)
            except Exception as raised:
                error = raised
            done = self.steps - begin
            if begin == 0 and done:
                self._warn_of_overlap(float(handle.values.infos["gap"][0]))
            if done:
                yield self._chunk(handle.values, begin, done)
            if error is not None:
                raise error
            if left is not None:
                left -= n

    def _chunk(self, run: Run, begin: int, done: int) -> Chunk:
        """The samples of the first steps of a run, of which this is step `begin`."""
        every, infos = int(run.every[0]), run.infos[:done]
        steps = np.arange(begin, begin + done, every, dtype=float)
        rows = len(steps)
        return Chunk(
            self._start_time + self.timestep * steps,
            run.q[:rows],
            run.v[:rows],
            run.tau[:rows, self.robot.actuated],
            **{name: worst_of(name, infos[name], every) for name in STEP},
        )

    def _release_servos(self) -> None:
        """Take all servos out of the equations; those of a controller are set step by step."""
        for name in ("kp", "kd", "target_rate"):
            self._loads.drives[name] = 0.0

    def _handle(
        self,
        n: int,
        targets: Array | None = None,
        controller: int = 0,
        every: int = 1,
        gains: NDArray[np.void] | None = None,
    ) -> Handle:
        """A run of n steps from here, for kernels: what drives it, and memory for its samples.

        Without `gains`, those of a PD, nobody looks for them.
        """
        driven = self._driven
        motions = self._motions(self._start_time, self.steps, n + 1) if driven else None
        widths = self.robot.nq, self.robot.nv, self._n_rates
        gains = self._no_gains[:0] if gains is None else gains
        drive = gains, self._torques, targets, motions, controller, self.time, every
        return Handle(make_run(n, widths, *drive), self._single)

    def _hand_over(self) -> None:
        """Let kernels know what they work on; again whenever arrays have been replaced."""
        state, memory, loads = self._state, self._memory, self._loads
        parts = Parts(self._model, state, memory, loads, self._work, self._options)
        self._parts = Handle(parts, self._parts)
        self._run_states: Runner | None = None  # not before the first step
        begin_compiling(self._parts)

    def _advance(self, run: Handle, begin: int, end: int) -> None:
        """Take steps `begin` to `end` of a run in compiled code."""
        if self._asking:
            self._check_idle()
        if not self._at_work.acquire(blocking=False):
            raise StateError(
                "this simulation is being stepped by another thread: give each thread a copy() "
                "of its own"
            )
        try:
            self._take_steps(run, begin, end)
        finally:
            self._at_work.release()

    def _take_steps(self, run: Handle, begin: int, end: int) -> None:
        """Take steps `begin` to `end` of a run, with the solver that each of them needs."""
        self._done[0] = reached = begin
        while True:
            assert self._parts is not None
            if self._run_states is None:
                assert self._single is not None
                self._run_states = runner(self._parts, self._single)
            last = self._until(reached, end) if self._away else end
            before, infos = reached, run.values.infos
            try:
                if self.lanes and last - reached > FEWEST_IN_LANES and not self._away:
                    self._advance_limbs(self._run_states, run, last - 1)
                self._run_states(self._parts.addresses, run.addresses, self._done, last)
            finally:
                # Also when ctrl-C comes while compiled code runs, which is told at its end.
                reached = int(self._done[0])
                self._count(infos, before, reached)
            if self._away:
                self._return(reached - before)
            if reached == end:
                return
            if reached < last and not self._goes_on(infos["status"][reached]):
                raise self._failure(infos[reached])

    def _count(self, infos: NDArray[np.void], before: int, reached: int) -> None:
        """Count the steps of a run that have been taken."""
        if reached > before:
            self._last = infos, reached - 1, self.steps + reached - before == 1
            self.steps += reached - before
            if self.order == 4:
                smooth = infos["order"][before:reached] == 4
                self.fourth_order_steps += int(np.count_nonzero(smooth))

    def _advance_limbs(self, own: Runner, run: Handle, end: int) -> None:
        """Take steps to `end` of a run with all limbs side by side; where they part, as `own` does.

        The one after them is taken as a whole, which leaves all scratch memory as it has to be.
        """
        assert self._parts is not None
        if self._limbs is None or self._limbs.memory is not self._memory:
            assert self._lanes is not None
            self._limbs = Limbs(self._parts.values, self._lanes)
        parts, kind = self._parts.addresses, self._parts.kind
        self._limbs.run(own, parts, kind, run.addresses, run.kind, self._done, end)

    def _until(self, reached: int, end: int) -> int:
        """How far towards `end` the solver at work may go from `reached`."""
        return min(end, reached + self._away) if self._away else end

    def _return(self, taken: int) -> None:
        """Count the steps that a solver has taken for the other, which comes back after enough."""
        if self._away:
            self._away -= taken
            if self._away == 0:
                self._switch("articulated")

    def _goes_on(self, status: int) -> bool:
        """Make what a step that stopped with `status` needs to be tried again, if anything."""
        if not np.isfinite(self._loads.tau).all():
            return False
        if status == NEEDS_BLOCKS:
            self._connect_pairs()
        elif self._may_switch and self.solver == "articulated":
            # The stiffness of contacts costs this one more digits than the other.
            self._away, self._stay = self._stay, min(2 * self._stay, LONGEST_STAY)
            self._switch("ldu")
        else:
            return False
        return True

    def _switch(self, solver: str) -> None:
        """Go on with another solver, from the same state."""
        guesses = self._memory.guesses
        used = self._model, self._memory, self._work, self._options, self._parts
        self._solvers[self.solver] = used
        self.solver = solver
        if solver not in self._solvers:
            model = compile_model(self.robot, self._facets, solver == "articulated")
            substeps, attempt = self._patience(solver)
            options = self._options._replace(max_substeps=substeps, last_attempt=attempt)
            memory, work = Memory(guesses, make_system(model)), make_workspace(self.robot, model)
            self._solvers[solver] = model, memory, work, options, None
        self._model, self._memory, self._work, self._options, self._parts = self._solvers[solver]
        self._memory.system.valid[:] = 0
        if solver == "articulated":
            for joint, knot in zip(self._model.joints, self._state.joints, strict=True):
                begin, rates = joint["v_begin"], joint["m_T"] + joint["m_R"]
                knot["mid"][:rates] = self._state.v[begin : begin + rates]
                if joint["kind"] == BALL:
                    knot["mid"][:rates] = self._state.bodies["omega"][joint["child"]]
            guesses.joints["slope"], guesses.joints["missed"] = 0.0, 0.0
            guesses.trend[:] = guesses.contact_trend[:] = 0.0
        self._hand_over()

    def _patience(self, solver: str) -> tuple[int, int]:
        """Into how many parts at most a solver may divide a step, and its last attempt."""
        touches = bool(self.robot.contacts or self.robot.touching_shapes())
        # With loops the other has more to keep apart, and fewer digits for it.
        worse = touches and not self.robot.loop_joints
        if self._may_switch and solver == "articulated" and worse:
            # Contacts that the first of two cannot solve are soon handed to the other.
            return 1, COLD
        return self._max_substeps, LAST

    def _connect_pairs(self) -> None:
        """Make room in the linear system for the pairs of bodies that have come near each other."""
        assert self._work.collision is not None
        near = self._work.collision.found["near"] != 0
        if self._near[0] == self.steps:
            # The step's parts may need different ones: it must not go back and forth.
            near |= self._near[1]
        self._near = self.steps, near
        self._connect(near)

    def _disconnect_pairs(self) -> None:
        """Go back to the linear system of a simulation that has never been stepped."""
        self._near = -1, np.zeros(0, dtype=bool)
        if self._model.collision is not None:
            pairs = self._model.collision.pairs
            if np.any(pairs["block_ab"] >= 0):
                self._connect(np.zeros(len(pairs), dtype=bool))

    def _connect(self, near: NDArray[np.bool_]) -> None:
        """Go on with a linear system that has room for some of the pairs."""
        key = near.tobytes()
        if key not in self._connected:
            model = connect_pairs(self._model, near)
            self._connected[key] = model, make_blocks(model)
        self._model, blocks = self._connected[key]
        system = self._memory.system._replace(blocks=blocks)
        system.valid[:] = 0
        self._memory = Memory(self._memory.guesses, system)
        self._hand_over()

    def _controlled_steps(self, control: Controller, run: Handle, n: int) -> None:
        """The same with a controller in Python, which is asked before every step."""
        source = f"controller '{getattr(control, '__name__', type(control).__name__)}' returned"
        for k in range(n):
            self._asking = True
            try:
                answer = control(self)
            finally:
                self._asking = False
            if isinstance(answer, PD):
                self._hold(None, "")
                self._control_by(answer)
                if answer.motion is not None:
                    self._gains["target"] = answer.targets([self.time])[0]
            else:
                self._hold(answer, source)
                self._control_by(None)
            self._advance(run, k, k + 1)

    def apply_wrench(
        self,
        body: str,
        force: ArrayLike = (0.0, 0.0, 0.0),
        torque: ArrayLike = (0.0, 0.0, 0.0),
        point: ArrayLike | None = None,
    ) -> None:
        """Push a body from now on, until another wrench is applied to it, or a start is set.

        Parameters
        ----------
        body : str
        force : (3,) [N], world axes
        torque : (3,) [N m], world axes
        point : (3,) [m] or None
            Where the force acts now, world coordinates; at the centre of mass if None. The wrench
            is held as it is over the following steps, however the body moves.

        Raises
        ------
        ModelError
            If there is no such body.
        StateError
            For a wrong shape or a value that is not finite.
        """
        index = self.robot.body_index(body)
        x = self._state.bodies["x"][index]
        given = {"force": force, "torque": torque, "point": x if point is None else point}
        values = {}
        for name, value in given.items():
            try:
                array = np.array(value, dtype=float)
            except (TypeError, ValueError):
                array = np.full(0, np.nan)
            if array.shape != (3,) or not np.all(np.isfinite(array)):
                raise StateError(f"{name} must be three finite numbers, not {value!r}")
            values[name] = array
        moment = values["torque"] + np.cross(values["point"] - x, values["force"])
        self._loads.external["w"][index] = np.concatenate((values["force"], moment))

    def wrench(self, body: str) -> Array:
        """What `apply_wrench` pushes a body with about its centre of mass, (6,) [N, N m], world."""
        return np.array(self._loads.external["w"][self.robot.body_index(body)])

    def joint_wrenches(self) -> dict[str, Array]:
        """What each joint's constraints do to its child, (6,): force [N] and torque [N m], world.

        At the joint's point on the child; the mean over the last interval, from the constraint
        impulses at its beginning, in the joint's present directions. The forces along its free
        coordinates (springs, limits, actuators) are not in it. Where constraints are redundant,
        how they share a load is not determined, and differs from solver to solver.
        """
        model, state, system = self._model, self._state, self._memory.system
        rotations = quaternions.rotation_matrix(state.bodies["q"])
        out = {}
        for j, joint in enumerate(self.robot.joints):
            record, knot = model.joints[j], state.joints[j]
            n = int(record["n_T"] + record["n_R"])
            if self.solver == "articulated" and j < len(self.robot.bodies):
                wrench = readings.tree_reaction(record, state, system) / self._last_interval
            else:
                G_b = system.directions["G_b"][j]
                wrench = G_b[:n].T @ knot["impulse"][:n] / self._last_interval
                arm = rotations[record["child"]] @ record["p_b"]
                wrench[3:] -= np.cross(arm, wrench[:3])
            out[joint.name] = wrench
        return out

    def accelerations(self) -> Array:
        """Accelerations (nb, 6) at the knot: of centres of mass [m/s^2], angular [rad/s^2]; world.

        From the velocities at the knot and over the interval before it, so that they lag behind
        by a quarter of the timestep; zero before the first step.
        """
        bodies, dt = self._state.bodies, float(self._state.last_dt[0])
        out = np.zeros((len(bodies), 6))
        if dt != 0:
            turns = quaternions.rotation_matrix(bodies["q"])
            spins = np.einsum("bij,bj->bi", turns, bodies["omega"])
            out[:] = 2 / dt * (np.hstack((bodies["v"], spins)) - bodies["v_mid"])
        return out

    def energy(self) -> float:
        """Kinetic and potential energy at the knot [J], of bodies, rotors and springs.

        The potential of gravity is zero at the world's origin.
        """
        bodies, masses = self._state.bodies, self._model.bodies["mass"]
        kinetic = 0.5 * np.sum(masses * np.sum(bodies["v"] ** 2, axis=1))
        spin = np.einsum(
            "bi,bij,bj", bodies["omega"], self._model.bodies["inertia"], bodies["omega"]
        )
        total = kinetic + 0.5 * spin - masses @ (bodies["x"] @ self.gravity)
        return float(total + self._coordinate_energy())

    def _coordinate_energy(self) -> float:
        """Energy of rotors, springs and potentials at the knot [J]."""
        coordinates, q, v = self._model.coordinates, self._state.q, self._state.v
        energy = float(0.5 * coordinates["armature"] @ v**2)
        for joint in self._model.joints[self._model.joints["law"] != 0]:
            single = int(joint["m_T"]) + (int(joint["m_R"]) if joint["m_R"] == 1 else 0)
            for row in range(single):
                c = coordinates[joint["v_begin"] + row]
                x = float(q[joint["q_begin"] + row])
                away = x - c["rest"]
                away -= min(max(away, 0.0), c["slack"])
                energy += 0.5 * c["stiffness"] * away**2
            if joint["m_R"] == 3:
                begin = joint["q_begin"] + joint["m_T"]
                turn = quaternions.rotation_vector(q[begin : begin + 4])
                stiffness = coordinates["stiffness"][joint["v_begin"] + joint["m_T"] :][:3]
                energy += 0.5 * float(stiffness @ turn**2)
        for begin, potential in self._potentials:
            energy += float(potential(q[begin]))
        return energy

    def momentum(self) -> tuple[Array, Array]:
        """Linear [kg m/s] and angular [kg m^2/s] momentum at the knot, about the world's origin."""
        bodies, masses = self._state.bodies, self._model.bodies["mass"]
        linear = masses[:, None] * bodies["shown"][:, :3]
        turns = quaternions.rotation_matrix(bodies["q"])
        inertias = turns @ self._model.bodies["inertia"] @ np.swapaxes(turns, 1, 2)
        own = np.einsum("bij,bj->bi", inertias, bodies["shown"][:, 3:])
        return linear.sum(axis=0), (own + np.cross(bodies["x"], linear)).sum(axis=0)

    def constraint_violation(self) -> float:
        """Largest violation of a joint [m, or the sine of half an angle] at the knot."""
        violations = np.zeros(len(self._model.joints))
        joint_violations(self._model, self._state, self._work, violations)
        return float(violations.max())

    def contact_positions(self) -> Array:
        """Where each contact would touch, (nc, 3) [m], world, in the order of robot.contacts."""
        bodies = self._contact_bodies
        turns = quaternions.rotation_matrix(self._state.bodies["q"])
        return self._state.bodies["x"][bodies] + lowest_arms(self.robot.contacts, turns[bodies])

    def min_gap(self, within: float = 0.1) -> float:
        """Smallest gap at the knot [m]: of contact points, and of shapes nearer than `within`.

        Infinite without contacts, or if no shapes are as near.
        """
        heights = self.contact_positions()[:, 2]
        return float(min([*heights, *self.shape_gaps(within)], default=np.inf))

    def shape_gaps(self, within: float = 0.1) -> Array:
        """Smallest gap of each pair of ``robot.touching_shapes()``, (np,) [m].

        Infinite for pairs that are not nearer than `within` [m].
        """
        return readings.shape_gaps(self._model, self._state, self._work, within)

    def contacts(self, ground: bool = True) -> list[Contact]:
        """All contacts near enough to have been in the equations of the last interval.

        Contact points with the ground (unless `ground` is False), shapes with obstacles and with
        each other; none before the first step.
        """
        if not ground and self._model.collision is None:
            return []
        parts = (self._model, self._state, self._memory, self._work)
        found = readings.contacts(self.robot, *parts, self._last_interval)
        return [contact for contact in found if ground or not contact.is_point]

    def limit_forces(self) -> Array:
        """Generalized forces of joint limits and of dry joint friction, (nv,) [N, N m].

        The mean over the last interval, on the coordinates of the tree: those of joints that close
        loops, and of tendons, are in `limit_forces_of`. Constraints of the joints are in
        `joint_wrenches`.
        """
        model, state = self._model, self._state
        guesses = self._memory.guesses
        forces = readings.limit_forces(model, state, guesses, self._last_interval)
        return forces[: self.robot.nv]

    def limit_forces_of(self, name: str) -> Array:
        """The same of one joint, that may close a loop, (joint.nv,), or along a tendon, (1,).

        Along a tendon's length, so that what keeps it from growing is negative.

        Raises
        ------
        ModelError
            If there is no such joint or tendon.
        """
        model, state = self._model, self._state
        tendons = [tendon.name for tendon in self.robot.tendons]
        if name in tendons:
            j = len(model.joints) - len(tendons) + tendons.index(name)
        else:
            j = self.robot.joint_index(name)
        begin, rows = model.joints["v_begin"][j], model.joints["m_T"][j] + model.joints["m_R"][j]
        guesses = self._memory.guesses
        forces = readings.limit_forces(model, state, guesses, self._last_interval)
        return forces[begin : begin + rows]

    def coupling_forces(self) -> dict[str, float]:
        """What each coupling does to the coordinate of its joint: a torque [N m] or a force [N].

        On that of its source it acts with minus the ratio of this. The mean over the last
        interval, of order dt only after the first step; 0 before that.
        """
        impulses = self._state.couplings["impulse"]
        names = [coupling.name for coupling in self.robot.couplings]
        forces = (impulses / self._last_interval).tolist()
        return dict(zip(names, forces, strict=True))

    def drive_forces(self) -> dict[str, float]:
        """What moves each driven joint along its `motion`: a torque [N m] or a force [N].

        What holds a joint or a tendon whose limits are equal is among them. It acts on the
        coordinate, from the parent on the child: all that the motion needs but the torques given to
        the step; the joint's own spring, damper and rotor are part of the drive. It is the mean
        over the last interval, from the impulse at its beginning, so that it belongs to the knot
        before the present one; of order dt only after the first step. 0 before that.
        """
        return readings.drive_forces(self.robot, self._model, self._state, self._last_interval)

    def contact_forces(self) -> Array:
        """Force of the ground on each contact, (nc, 3) [N], world, mean of the last interval.

        Zero before the first step, as nothing has pushed yet.
        """
        out = np.zeros((len(self._contact_order), 3))
        forces = np.zeros_like(out)
        ground = slice(self._model.n_ground)
        contacts = self._memory.guesses.contacts[ground]
        active = self._memory.guesses.active[ground] != 0
        beta, facets = contacts["beta"], self._model.facets
        forces[:, :2] = beta[:, :2] if facets is None else beta[:, : len(facets)] @ facets
        forces[:, 2] = contacts["gamma"]
        out[self._contact_order] = np.where(active[:, None], forces / self._last_interval, 0.0)
        return out


def _at(joint: Joint | Tendon, time: float) -> float:
    """Where a motion is at a time, or a StateError that says where it is not."""
    assert joint.motion is not None
    what = f"the motion of joint '{joint.name}'"
    try:
        value = float(joint.motion(time))
    except Exception as error:
        raise StateError(
            f"{what} fails at t = {time:.9g} s: {type(error).__name__}: {error}"
        ) from error
    if not np.isfinite(value):
        raise StateError(f"{what} is {value} at t = {time:.9g} s; it must be finite")
    return value


def _user_level() -> int:
    """The stacklevel at which a warning points to who called robosim."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("robosim."):
        frame, level = frame.f_back, level + 1
    return level


def warmup() -> None:
    """Compile every kernel of a step now, rather than in the first one."""
    from robosim.description.body import Body, ContactPoint

    bodies = (Body("a", 1.0, np.eye(3)), Body("b", 1.0, np.eye(3)))
    joints = (Joint("base", "floating", None, "a"), Joint("hinge", "revolute", "a", "b"))
    tiny = Mechanism("warmup", bodies, joints, (ContactPoint("point", "a", (0.0, 0.0, 0.0)),))
    sim = Simulation(tiny)
    sim.step()


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr that is advanced by the function it yields, or nothing."""
    if not shown:
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=total)
        yield lambda steps: bar.advance(task, steps)
