"""The engine of a simulation: takes steps in compiled code, with the solver that is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import assign_all, copied
from robosim.compiled.building.model import compile_model, connect_pairs, solved_by
from robosim.compiled.kinds import BALL
from robosim.compiled.loads import Loads, make_loads
from robosim.compiled.memory import Memory, make_blocks, make_memory, make_system
from robosim.compiled.model import Model, Options
from robosim.compiled.state import State, force_interval, make_state
from robosim.compiled.workspace import make_workspace
from robosim.description.mechanism import Mechanism
from robosim.errors import StateError
from robosim.kernels.status import COLD, LAST, NEEDS_BLOCKS, TURNS_FAR
from robosim.runtime.handles import Handle, Parts, StepFunction, begin_compiling, step_function
from robosim.runtime.limbs import Limbs, find_lanes
from robosim.simulation.alone import BUSY, Alone
from robosim.simulation.checkpoint import DUE, FIRST_STAY, Counters, assign_parts, copied_parts
from robosim.simulation.diagnosis import failure
from robosim.simulation.notices import Notices, Silence
from robosim.simulation.readings import Given, IslandParts, impulses_ahead
from robosim.validation import Array

LONGEST_STAY = 1000  # the number of steps is doubled each time, up to this
MOST_CONNECTED = 2**27  # bytes of linear systems for sets of pairs that are kept for the next time
FEWEST_IN_LANES = 32  # smallest number of steps for which lanes are used


def loads_of(model: Model, options: Options) -> Loads:
    """Loads for steps with these options, of nothing."""
    loads = make_loads(model)
    # Servos are of second order where the length of a step is chosen for its accuracy.
    loads.servos["share"] = 0.5 if options.accuracy > 0.0 else 0.0
    return loads


class Engine(Alone):
    """Takes the steps of one simulation.

    Parameters
    ----------
    robot : Mechanism
    facets : int
        Facets of the linearized friction cone; 0 for the exact one.
    solver : str
        The initial solver.
    may_switch : bool
        Whether the solver with multipliers may take steps that the articulated one cannot.
    options : Options
        Options with the largest allowed number of substeps and attempts.
    lanes : bool
        Whether similar limbs are computed in lanes, if the robot has any.
    velocity_limits : bool
        Whether velocity limits of joints are enforced.

    Attributes
    ----------
    parts : Parts
        The data that kernels work on; other ones after a switch of the solver.
    handle : Handle
        Handle of `parts`.
    step_states : StepFunction or None
        Compiled function that takes steps; None before the first step.
    single : Handle
        Buffers of a run of one step.
    counters : Counters
    solver : str
        The present solver.
    lanes : list of Lane, or None
        The limbs that are computed in lanes.
    limbs : Limbs or None
        Memory of the limbs; None before the first use.
    notices : Notices
        Warnings about runs.
    """

    handle: Handle
    single: Handle
    step_states: StepFunction | None

    def __init__(
        self,
        robot: Mechanism,
        facets: int,
        solver: str,
        may_switch: bool,
        options: Options,
        lanes: bool,
        velocity_limits: bool,
    ) -> None:
        self.robot, self.solver = robot, solver
        self._velocity_limits, self._may_switch = velocity_limits, may_switch
        model = compile_model(robot, facets, solver == "articulated", velocity_limits)
        state, memory, loads = (
            make_state(robot, model),
            make_memory(model),
            loads_of(model, options),
        )
        options = self._patient(options)
        work = make_workspace(robot, model, options.accuracy > 0.0)
        self.parts = Parts(model, state, memory, loads, work, options)
        self.counters = Counters()
        self.lanes = find_lanes(robot, self.parts) if lanes else None
        self._begin()

    def _begin(self) -> None:
        """Make the objects that belong to this engine alone, except for parts and counters."""
        # Parts of the solvers that are not in use.
        self._solvers: dict[str, Parts] = {}
        # Of the knot where the solver with multipliers goes on, which it does not know.
        self._ahead: Given | None = None
        self._connected: dict[bytes, tuple[Model, Any]] = {}
        self._near = -1, np.zeros(0, dtype=bool)
        self._strict = 0.0  # contact_speed that was asked for, while a step goes on with another
        self._done = np.zeros(1, dtype=np.int64)
        self._unlock()
        self._is_fourth = self.parts.options.order == 4
        self.limbs: Limbs | None = None
        self.notices: Notices | Silence = Notices(self)
        self.hand_over(self.parts)

    def model_of(self, robot: Mechanism) -> Model:
        """The model of a mechanism that differs from this one in its numbers only."""
        return compile_model(
            robot, len(self.parts.model.facets), self._begins_as_tree, self._velocity_limits
        )

    @property
    def model_at_home(self) -> Model:
        """The model with which states begin: no other solver, no entries for pairs of shapes."""
        model = self.parts.model
        begins = model.tree == self._begins_as_tree and not np.any(self.connected)
        return model if begins else self.model_of(self.robot)

    @property
    def _begins_as_tree(self) -> bool:
        return self._may_switch or bool(self.parts.model.tree)

    def with_robot(self, robot: Mechanism) -> Engine:
        """An engine for a mechanism that differs from this one in its numbers only, at home."""
        facets, options = self.parts.model.facets, self.parts.options
        solver = "articulated" if self._may_switch else self.solver
        count = len(facets)
        more = self._may_switch, options, False, self._velocity_limits
        return Engine(robot, count, solver, *more)

    def changed(self, robot: Mechanism, model: Model) -> Engine:
        """This engine, with the numbers of a mechanism with this `model_of`, before a start."""
        self.start_anew(0.0)
        self.robot, self._solvers, self._connected = robot, {}, {}
        slots = self.parts.work.slots
        slots[: len(model.contacts)] = model.contacts
        self.hand_over(self.parts._replace(model=model))
        return self

    def copied(self, torques: Array, state: State | None = None) -> Engine:
        """An engine in the same state; `torques` (nv,) are those of the last step."""
        self.refuse_if_busy()
        other = copy(self)
        own, memory, loads = copied_parts(self.parts, state)
        work = make_workspace(self.robot, self.parts.model, self.is_accurate)
        other.parts = Parts(self.parts.model, own, memory, loads, work, self.parts.options)
        other.counters = self.counters.copied(torques)
        other._begin()
        return other

    def restore(self, other: Any, torques: Array) -> None:
        """Copy the state of another engine; `torques` (nv,) are those of its last step."""
        if not isinstance(other, Engine):
            other.give(self)
            self.counters.assign(other.counters.copied(torques))
            return
        assign_parts(other.parts, self.parts)
        mine = self.parts
        if other.parts.model is mine.model:
            assign_all(other.parts.memory.system, mine.memory.system)
        else:
            model, options = other.parts.model, other.parts.options
            memory = Memory(mine.memory.guesses, copied(other.parts.memory.system))
            work, self._solvers = make_workspace(self.robot, model, self.is_accurate), {}
            self.solver = other.solver
            # The parts may have other types than before.
            self.hand_over(Parts(model, mine.state, memory, mine.loads, work, options))
        self._near = -1, np.zeros(0, dtype=bool)
        self._ahead = other._ahead
        self.counters.assign(other.counters.copied(torques))

    def described(self) -> Model:
        """A model of the robot that does not depend on the solver in use."""
        count = len(self.parts.model.facets)
        return compile_model(self.robot, count, False, self._velocity_limits)

    @property
    def connected(self) -> NDArray[np.bool_]:
        """Pairs of shapes (np,) with entries in the linear system."""
        return self.parts.model.collision.pairs["block_ab"] >= 0

    def be_at(self, solver: str, near: Sequence[bool] | None) -> None:
        """Change to this solver and to these pairs of shapes, before a state is copied.

        Raises
        ------
        ValueError
            For a solver or pairs that this engine does not have.
        """
        if solver != self.solver:
            if not self._may_switch or solver not in ("articulated", "ldu"):
                raise ValueError(f"solver '{solver}'")
            self.switch(solver)
        wanted = np.array(() if near is None else near, dtype=bool)
        if wanted.shape != self.connected.shape:
            raise ValueError(f"{len(wanted)} pairs of shapes in place of {len(self.connected)}")
        if not np.array_equal(wanted, self.connected):
            self._connect(wanted)
        self._near = -1, np.zeros(0, dtype=bool)

    def at_once(self) -> tuple[Any, ...]:
        """What `be_again` goes back to, without copies of arrays."""
        of_parts = self.parts, self.handle, self.step_states, self.solver
        return *of_parts, self._near, self._ahead

    def be_again(self, present: tuple[Any, ...]) -> None:
        """Go back to the parts and the solver of a moment before."""
        self.parts, self.handle, self.step_states, self.solver, self._near, self._ahead = present

    def hand_over(self, parts: Parts) -> None:
        """Let kernels work on these parts."""
        self.parts = parts
        self.handle = Handle(parts)
        self.step_states = None  # made in the first step
        begin_compiling(self.handle)

    @property
    def kinds(self) -> tuple[int, ...]:
        """The kind of the parts, as one of possibly several systems."""
        return (self.handle.kind,)

    def start_anew(self, time: float) -> None:
        """Begin at this time [s], with the initial solver, system and counts."""
        if self.counters.away:
            self.switch("articulated")
        self._disconnect_pairs()
        self._ahead = None
        # Results of the last step stay; they are not read before the next step.
        self.counters.assign(Counters(time, last=self.counters.last))

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        return self.parts.options.dt

    @property
    def is_accurate(self) -> bool:
        """Whether steps are taken to an accuracy."""
        return self.parts.options.accuracy > 0.0

    @property
    def last_interval(self) -> float:
        """Length of the last interval [s] over which impulses are averaged to forces."""
        return force_interval(self.parts.state, self.parts.options.dt)

    @property
    def state(self) -> State:
        """The state, of which q and v are up to date."""
        return self.parts.state

    def refresh(self) -> None:
        """Bring the state that users see up to date, which it always is."""

    def whole_parts(self) -> Parts:
        """Parts with all pairs of shapes."""
        return self.parts

    @property
    def systems(self) -> Iterator[IslandParts]:
        """What is solved by itself; see `robosim.simulation.worlds.Worlds`."""
        yield IslandParts(self.robot, self.parts, self.last_interval, None)

    def advance(self, run: Handle, begin: int, end: int) -> None:
        """Take steps `begin` to `end` of a run in compiled code."""
        if not self._stepping.acquire(False):
            raise StateError(BUSY)
        try:
            counters, done, infos = self.counters, self._done, run.values.infos
            done[0] = reached = begin
            while True:
                last = self.until(reached, end)
                if self.step_states is None:
                    self.step_states = step_function(self.handle, run)
                try:
                    if self.lanes and last - reached > FEWEST_IN_LANES and not counters.away:
                        self._advance_limbs(self.step_states, run, last - 1)
                    self.step_states(self.handle.addresses, run.addresses, done, last)
                finally:
                    # An interrupt is raised when compiled code returns, with the steps done.
                    before, reached = reached, int(done[0])
                    if reached > before:
                        self.count(reached - before, infos, reached - 1)
                    if counters.away:
                        self.count_away(reached - before)
                if reached > before:
                    self.tighten()
                if reached == end:
                    return
                if reached < last:
                    self._retry(infos[reached])
        finally:
            self.tighten()
            self._stepping.release()

    def advance_once(self, run: Handle) -> None:
        """Take the only step of a run as `advance` does, with less overhead if possible."""
        done = self._done
        if self.step_states is not None and not self.counters.away and not self._is_fourth:
            if not self._stepping.acquire(False):
                raise StateError(BUSY)
            done[0] = 0
            try:
                self.step_states(self.handle.addresses, run.addresses, done, 1)
                if not done[0]:
                    self._retry(run.values.infos[0])
            finally:
                # An interrupt is raised when compiled code returns, with the step done.
                if taken := done.item():
                    self.count(taken, run.values.infos, 0)
                self._stepping.release()
            if taken:
                return
        self.advance(run, 0, 1)

    def _retry(self, info: np.void) -> None:
        """Prepare a step that failed for another attempt, or raise its error."""
        if not self.goes_on(info["status"]):
            raise failure(self.robot, self.parts, self.time, self.counters.steps == 0, info)

    def count(self, taken: int, infos: NDArray[np.void], row: int) -> None:
        """Count steps that were taken; the results of the last one are in this row."""
        counters = self.counters
        counters.steps += taken
        counters.last = infos, row
        if self._is_fourth:
            counters.count_fourth(infos[row + 1 - taken : row + 1])

    def _advance_limbs(self, step_states: StepFunction, run: Handle, end: int) -> None:
        """Take steps to `end` of a run in lanes of limbs, or by `step_states` where these part.

        The following step is taken without lanes, which leaves valid data in all scratch memory.
        """
        if self.limbs is None or self.limbs.memory is not self.parts.memory:
            assert self.lanes is not None
            self.limbs = Limbs(self.parts, self.lanes)
        parts, kind, begin = self.handle.addresses, self.handle.kind, int(self._done[0])
        try:
            self.limbs.run(step_states, parts, kind, run.addresses, run.kind, self._done, end)
        finally:
            # Indices of bodies in a lane are not those of the robot.
            run.values.infos["turner"][begin : self._done[0]] = -1.0

    def until(self, reached: int, end: int) -> int:
        """The step, at most `end`, up to which the present parts continue after `reached`."""
        counters = self.counters
        if counters.away == DUE:
            # Only now, so that results of the last step are read from the solver that took it.
            counters.away, counters.came_back = 0, counters.steps
            self.switch("articulated")
        if self.is_loose:
            return min(end, reached + 1)
        return min(end, reached + counters.away) if counters.away else end

    def count_away(self, taken: int) -> None:
        """Count steps that the solver with multipliers has taken for the articulated one."""
        counters = self.counters
        if taken == 1 and self._ahead is not None:
            joints = self.parts.state.joints
            joints["ahead_before"], joints["drive_ahead_before"] = self._ahead
        if taken:
            self._ahead = None
        if counters.away > 0:
            counters.away = counters.away - taken or DUE

    def goes_on(self, status: int) -> bool:
        """Prepare another attempt at a step that stopped with `status`; False if there is none."""
        if not np.isfinite(self.parts.loads.tau).all():
            return False
        if status == NEEDS_BLOCKS:
            self._connect_pairs()
        elif self._may_switch and self.solver == "articulated":
            # Stiff contacts cost the articulated solver more digits than the one with multipliers.
            self._go_away()
        else:
            return self._loosen(status)
        return True

    @property
    def is_loose(self) -> bool:
        """Whether contacts hold to the tolerance in the next step, and no better."""
        return self._strict > 0.0

    def _loosen(self, status: int) -> bool:
        """Let contacts hold to the tolerance, as all other equations, in the next step alone.

        The last resort: whether there is anything to loosen. `tighten` has to follow that step.
        """
        options = self.parts.options
        if status >= TURNS_FAR or self.is_loose or options.contact_speed >= options.tolerance:
            return False
        self._strict = options.contact_speed
        looser = options._replace(contact_speed=options.tolerance)
        self.hand_over(self.parts._replace(options=looser))
        return True

    def tighten(self) -> None:
        """Let contacts hold to what was asked for, if they do not."""
        if not self.is_loose:
            return
        options = self.parts.options._replace(contact_speed=self._strict)
        self._strict = 0.0
        self.hand_over(self.parts._replace(options=options))

    def _go_away(self) -> None:
        """Leave some steps to the solver with multipliers; twice as many if needed again soon."""
        counters = self.counters
        if counters.steps - counters.came_back > counters.stay:
            counters.stay = FIRST_STAY
        counters.away, counters.stay = counters.stay, min(2 * counters.stay, LONGEST_STAY)
        self._ahead = impulses_ahead(self.parts)
        self.switch("ldu")

    def switch(self, solver: str) -> None:
        """Change to another solver in the same state."""
        mine = self.parts
        self._solvers[self.solver] = mine
        self.solver = solver
        if solver not in self._solvers:
            is_tree = solver == "articulated"
            model = solved_by(mine.model, self.robot, is_tree, self._velocity_limits)
            options = self._patient(mine.options)
            memory = Memory(mine.memory.guesses, make_system(model))
            work = make_workspace(self.robot, model, self.is_accurate)
            self._solvers[solver] = Parts(model, mine.state, memory, mine.loads, work, options)
        parts = self._solvers[solver]
        parts.memory.system.valid[:] = 0
        self.parts = parts
        self.begin_rates()
        self.hand_over(parts)

    def begin_rates(self) -> None:
        """Let the solver of trees begin at the velocities of a knot to which another one led."""
        parts = self.parts
        if not parts.model.tree:
            return
        state, guesses = parts.state, parts.memory.guesses
        bodies = state.bodies
        apart = np.append(bodies["apart"] != 0.0, False)  # of the ground as well
        for joint, knot in zip(parts.model.joints, state.joints, strict=True):
            begin, rates = joint["v_begin"], joint["m_T"] + joint["m_R"]
            child, others = joint["child"], apart[joint["parent"]] or apart[joint["child"]]
            v = knot["rate_guess"][:rates] if others else state.v[begin : begin + rates]
            knot["mid"][:rates] = v
            if joint["kind"] == BALL:
                knot["mid"][:rates] = bodies["omega_guess" if others else "omega"][child]
        guesses.joints["slope"], guesses.joints["missed"] = 0.0, 0.0
        guesses.trend[:] = guesses.contact_trend[:] = 0.0

    def _patient(self, options: Options) -> Options:
        """Options with the number of attempts that suits the present solver."""
        touches = bool(self.robot.contacts or self.robot.touching_shapes())
        # With loops, the solver with multipliers has more equations, and loses more digits.
        worse = touches and not self.robot.loop_joints
        if self._may_switch and self.solver == "articulated" and worse:
            # Contacts that the articulated solver cannot solve are soon left to the other one.
            # Steps that are solved, but not as a motion, are divided into substeps.
            return options._replace(last_attempt=COLD, hands_over=True)
        return options._replace(last_attempt=LAST, hands_over=False)

    def _connect_pairs(self) -> None:
        """Add entries to the linear system for pairs of bodies that are near each other."""
        near = self.parts.work.collision.found["near"] != 0
        if self._near[0] == self.counters.steps:
            # Substeps may need different pairs; all of them are kept, so that the step cannot
            # alternate.
            near |= self._near[1]
        self._near = self.counters.steps, near
        self._connect(near)

    def _forget_connected(self) -> None:
        """Forget the systems that have not been used for longest, as soon as all are too large.

        The last one is in use.
        """
        size, last = 0, next(reversed(self._connected))
        for key in reversed(list(self._connected)):
            model, blocks = self._connected[key]
            size += blocks.nbytes + model.collision.pairs.nbytes
            if size > MOST_CONNECTED and key != last:
                del self._connected[key]

    def _disconnect_pairs(self) -> None:
        """Restore the linear system of a simulation without steps."""
        self._near = -1, np.zeros(0, dtype=bool)
        if len(self.parts.model.collision.pairs):
            pairs = self.parts.model.collision.pairs
            if np.any(pairs["block_ab"] >= 0):
                self._connect(np.zeros(len(pairs), dtype=bool))

    def _connect(self, near: NDArray[np.bool_]) -> None:
        """Continue with a linear system that has entries for some of the pairs."""
        key, parts = near.tobytes(), self.parts
        if key in self._connected:
            self._connected[key] = self._connected.pop(key)  # most recent last
        else:
            model = connect_pairs(parts.model, near)
            self._connected[key] = model, make_blocks(model)
            self._forget_connected()
        model, blocks = self._connected[key]
        system = parts.memory.system._replace(blocks=blocks)
        system.valid[:] = 0
        memory = Memory(parts.memory.guesses, system)
        self.hand_over(parts._replace(model=model, memory=memory))
