"""Runs of a batch that are prepared once and repeated many times, as in environments.

Between two calls of a bound run, groups of states stay in the lanes' memory, and only the bound
arrays are written. Other uses of the batch (a simulation, a rollout, another state) first copy the
states back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from robosim.batch.buffers import BatchBuffers
from robosim.batch.controls import Controls
from robosim.batch.group import Group
from robosim.batch.showing import Showing
from robosim.batch.stepping import Stepping
from robosim.batch.units import UNIT, Running, units_of
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.lanes import WIDTH
from robosim.rays.sensing import Samples
from robosim.runtime.around import begin_steps, end_steps
from robosim.runtime.handles import StepFunction, provide_features, step_function
from robosim.runtime.lanes import Together, group_step_function
from robosim.runtime.limbs import Limbs, find_lanes
from robosim.simulation.diagnosis import FAR, refuse_starts
from robosim.validation import Array, read_only


class Plan(NamedTuple):
    """How the states are stepped; valid until states are changed by other means."""

    lanes: bool  # whether states may be grouped
    groups: list[Group]
    alone: slice  # states that are in no group
    step_states: StepFunction  # steps single states
    jobs: list[Callable[[], None]]  # take the steps of all states, each those of a thread
    begin: NDArray[np.float64]  # (n,) [s] times of the starts
    counted: NDArray[np.int64]  # (n,) steps from the starts to where `ahead` begins
    units: NDArray[np.void]  # UNIT of `robosim.batch.units`
    limbs: dict[int, Limbs]  # of single states whose limbs are in lanes


def driven_coordinates(robot: Mechanism) -> slice | NDArray[np.int64]:
    """Which of the coordinates have motors: a slice where they lie side by side."""
    whole = np.asarray(robot.actuated, dtype=np.int64)
    if len(whole) and np.array_equal(whole, np.arange(whole[0], whole[0] + len(whole))):
        return slice(int(whole[0]), int(whole[-1]) + 1)
    return whole


class Bound:
    """A prepared run of some steps from the present states; see `BatchSimulation.bind`.

    Attributes
    ----------
    steps : int
        Number of time steps of each call.
    targets : (n, nu) [rad or m]
        Targets of the PD; write into this array.
    kp, kd : (n, nu) [N m/rad, N m s/rad; N/m, N s/m]
        Gains of the PD; write into these arrays.
    torques : (n, nu) [N m or N]
        Torques in addition to the controller's, held over all steps; write into this array.
    q : (n, nq), v : (n, nv)
        Coordinates and velocities at the present knot, read-only views.
    tau : (n, nv) [N m or N]
        Forces on the coordinates over the first step of the last call, a read-only view.
    bodies : BodyViews or None
        Poses and velocities of the bodies, if requested.
    normal_forces : (n, contacts) [N] or None
        Mean normal forces of ``robot.contacts`` over the last interval, if requested, a read-only
        view. Contacts of shapes are not included.
    readings : dict of str to (n,) or (n, k); (n, ...) of sensors with rays
        Values of the requested channels, by kind and name, such as "sensor:gyro", read-only views.
        The force on a link ("contact:FR_foot") is the sum over all of its contacts.
    actuated : slice, or (nu,)
        Which of the coordinates have motors: ``tau[:, actuated]`` is (n, nu).
    done : (n,), steps that the last call took
    failed : (n,) of bool, whether a step could not be solved, as in a `Rollout`
    all_done : bool, whether all steps of the last call were solved
    limbs : bool, whether limbs of states that are in no group are computed in lanes
    """

    def __init__(
        self,
        stepping: Stepping,
        steps: int,
        control: Controls,
        bodies: bool,
        contacts: bool,
        also: str | Sequence[str],
        samples: Callable[[], Samples],
        limbs: bool = False,
    ) -> None:
        robot, n = stepping.robot, stepping.n
        self._stepping, self._control, self.steps = stepping, control, steps
        self.limbs = limbs
        memory = BatchBuffers(stepping.sims, steps, (False, False), False, steps)
        self._memory = memory
        memory.gains[:] = control.gains
        memory.controllers[:] = control.address
        self.targets, self.kp, self.kd = (memory.gains[key] for key in ("target", "kp", "kd"))
        self.done = np.zeros(n, dtype=np.int64)
        self.failed, self.all_done = np.zeros(n, dtype=bool), True
        self.q, self.v = (
            read_only(array[:, :width].view())
            for array, width in ((stepping.states.q, robot.nq), (stepping.states.v, robot.nv))
        )
        self.tau = read_only(memory.tau[:, 0, : robot.nv].view())
        self._showing = Showing(stepping, bodies, contacts, also, samples)
        self.bodies, self.readings = self._showing.bodies, self._showing.readings
        self.normal_forces = self._showing.normal_forces
        self.actuated = driven_coordinates(robot)
        # Where they lie side by side, torques are written to where the steps read them.
        self._straight = isinstance(self.actuated, slice)
        held = memory.torques[:, 0, self.actuated]
        self.torques = held if self._straight else np.zeros((n, robot.nu))
        self._plan: Plan | None = None
        self._timestep, self._reached = stepping.timestep, np.zeros(n, dtype=np.int64)
        self._begun = np.zeros(n, dtype=np.int64)  # steps before the last call

    @property
    def infos(self) -> NDArray[np.void]:
        """Records (n, steps) of the steps of the last call: gap, violation, iterations, ..."""
        return self._memory.infos

    @property
    def time(self) -> Array:
        """Times of the present knots (n,) [s], read-only."""
        return self._stepping.time

    def step(self) -> None:
        """Take the steps from the present states.

        Torques, targets and gains that are not finite lead to failed steps.

        Raises
        ------
        StateError
            If a state that has taken no step is not a possible start.
        """
        stepping, memory, steps, done = self._stepping, self._memory, self.steps, self.done
        stepping.note_samples()
        plan = self._ready()
        if not self._straight:
            memory.torques[:, 0, self.actuated] = self.torques
        times = plan.begin, self._timestep, self._begun, memory.starts
        begin_steps(plan.counted, stepping.ahead, *times)
        if memory.motions.shape[2]:
            stepping.settle()
            for sim, out in zip(stepping.sims, memory.motions, strict=True):
                out[:] = sim.motions_ahead(steps)
        done[:] = 0
        try:
            self._advance(plan, steps)
        finally:
            self._reached[:] = done
            stepping.recent = memory, self._reached
        self.all_done, turned = end_steps(done, steps, memory.infos, FAR, self.failed)
        stepping.note_samples()
        if self._showing.shows:
            self._showing.show(plan.groups, self._begun + done)
        self._end(plan, turned)

    def _end(self, plan: Plan, turned: bool) -> None:
        """Warn of bodies that turn far, and hand back states that users have."""
        stepping, memory = self._stepping, self._memory
        if turned and not stepping.told_of_turn:
            # Indices of bodies in a lane are not those of the robot.
            memory.infos["turner"][list(plan.limbs)] = -1.0
            stepping.tell_of_turns(memory, memory.starts[:, 0], self.done)
        for i in stepping.lent:
            stepping.count(i)
            if i in plan.limbs:
                plan.limbs[i].catch_up()

    @property
    def threads(self) -> int:
        """Number of threads."""
        return self._stepping.threads

    @property
    def has_lent(self) -> bool:
        """Whether users have simulations of states, which they may step by themselves."""
        return bool(self._stepping.lent)

    def prepare(self) -> Plan | None:
        """Get ready for steps that compiled code takes by itself, unit by unit.

        None if it cannot: where joints are driven, channels are read, or sensors take samples.
        `end` has to follow the steps.
        """
        stepping, memory = self._stepping, self._memory
        if stepping.samples is not None or memory.motions.shape[2] or self._showing.shows:
            return None
        plan = self._ready()
        if not self._usual:
            return None
        stepping.recent = memory, self._reached
        return plan

    def running(self, plan: Plan | None) -> Running:
        """The arrays of the run for compiled code, valid as long as the plan; None: no steps."""
        memory, stepping, robot = self._memory, self._stepping, self._stepping.robot
        units, begin, counted = np.zeros(0, dtype=UNIT), np.zeros(0), np.zeros(0, dtype=np.int64)
        if plan is not None:
            units, begin, counted = plan.units, plan.begin, plan.counted
        times = begin, counted, stepping.ahead, self._begun, memory.starts
        results = self.done, self._reached, self.failed, memory.infos["turn"]
        values = self.q, self.v, self.tau, self.targets, memory.torques[:, 0]
        actuated = np.asarray(robot.actuated, dtype=np.int64)
        numbers = self.steps, float(self._timestep), float(FAR)
        return Running(units, *times, *results, *values, actuated, *numbers)

    def do(self, jobs: Sequence[Callable[[], object]]) -> None:
        """Do all jobs, in parallel threads if there are several."""
        self._stepping.do(jobs)

    def end(self, plan: Plan, all_done: bool, turned: bool) -> None:
        """What has to follow the steps of compiled code; steps that are left are taken here."""
        self.all_done = all_done
        if not all_done:
            stepping, done = self._stepping, self.done
            stepping.ahead -= done
            try:
                self._go_on(plan, plan.step_states, self.steps)
            finally:
                self._reached[:] = done
            infos = self._memory.infos
            self.all_done, turned = end_steps(done, self.steps, infos, FAR, self.failed)
        self._end(plan, turned)

    def _ready(self) -> Plan:
        """The plan, renewed for states that were changed by other means since the last call."""
        stepping = self._stepping
        stepping.look()
        if stepping.bound is not self:
            stepping.count_all()
            stepping.bound = self
        for i in stepping.lent:
            stepping.count(i)
        if self._plan is not None and not stepping.touched:
            return self._plan
        touched = sorted(stepping.touched)
        for i in touched:
            stepping.tally(i)
            stepping.take_up(i)
        refuse_starts({i: stepping.sims[i] for i in touched})
        plan = self._plan
        if plan is None or not self._still(plan, touched):
            plan = self._plan = self._planned()
        for i in touched:
            counters = stepping.sims[i].engine.counters
            plan.begin[i], plan.counted[i] = counters.start_time, counters.steps
        stepping.touched.clear()
        # Others are stepped by themselves, or in a group.
        stepping.leave_limbs(i for i in stepping.limbs if i not in plan.limbs)
        return plan

    def _still(self, plan: Plan, touched: list[int]) -> bool:
        """Whether a plan remains valid, as the memory of the touched states is the same."""
        stepping, sims = self._stepping, self._stepping.sims
        if not self._usual or plan.lanes != stepping.lanes:
            return False
        kind = sims[0].engine.handle.kind
        if any(sims[i].engine.counters.away or sims[i].engine.handle.kind != kind for i in touched):
            return False
        numbers = {i // WIDTH for i in touched if i < plan.alone.start}
        made = stepping.groups
        for i in plan.limbs.keys() & touched:
            if plan.limbs[i] is not stepping.limbs[i] or not plan.limbs[i].is_of(sims[i].parts):
                return False
        return all(
            plan.groups[g] is made.get(g)
            and plan.groups[g].is_of([sim.parts for sim in sims[g * WIDTH : (g + 1) * WIDTH]])
            for g in numbers
        )

    def _planned(self) -> Plan:
        """A new plan."""
        stepping, every = self._stepping, np.arange(self._stepping.n)
        engines = [sim.engine for sim in stepping.sims]
        begin = np.array([one.counters.start_time for one in engines])
        counted = np.array([one.counters.steps for one in engines])
        if stepping.is_apart:
            self._usual = False
            self._showing.plan([])
            none, units = cast(StepFunction, None), np.zeros(0, dtype=UNIT)
            return Plan(False, [], slice(0, stepping.n), none, [], begin, counted, units, {})
        kind = engines[0].handle.kind
        self._usual = all(one.handle.kind == kind and not one.counters.away for one in engines)
        grouped = (
            stepping.grouped(every, np.zeros_like(every)) if stepping.lanes and self._usual else {}
        )
        # Only the first groups without a gap, so that the other states form one slice.
        numbers = list(grouped)
        whole = len(numbers) if numbers == list(range(len(numbers))) else 0
        groups = [grouped[g] for g in range(whole)]
        alone = slice(whole * WIDTH, stepping.n)
        self._showing.plan(groups)
        for one in engines:
            provide_features(one.handle)
        handle, run = engines[0].handle, self._memory.handles[0]
        # Groups with one model, and groups with differing models, are of different kinds.
        kinds = [group.kind for group in groups]
        begins = [g for g in range(whole) if g == 0 or kinds[g] != kinds[g - 1]]
        step_states: Any = step_function(handle, run)
        of_runs = handle.kind, run.kind, step_states
        handles = np.array([group.handle.address for group in groups], dtype=np.int64)
        each = stepping.parts, self._memory.addresses, self.done
        rows = handles, *(array[: alone.start].reshape(whole, WIDTH) for array in each)
        jobs: list[Callable[[], None]] = []
        take: Any
        together: list[tuple[Together, Any, int, int]] = []
        for a, b in pairwise((*begins, whole)):
            take = group_step_function(groups[a].solver, kinds[a], *of_runs)
            together += [(groups[g], take, g * WIDTH, WIDTH) for g in range(a, b)]
            jobs += [
                partial(take, *(array[share] for array in rows), self.steps)
                for share in self._shares(slice(a, b))
            ]
        limbs = self._limbs_of(alone) if self._usual else {}
        for i, limb in limbs.items():
            take = group_step_function(limb.solver, limb.kind, *of_runs)
            together.append((limb, take, i, 1))
            row = limb.handle.addresses, *(array[None, i : i + 1] for array in each)
            jobs.append(partial(take, *row, self.steps))
        singly = slice(alone.start + len(limbs), alone.stop)
        jobs += [
            partial(step_states, *(array[share] for array in each), self.steps)
            for share in self._shares(singly)
        ]
        return Plan(
            stepping.lanes,
            groups,
            alone,
            step_states,
            jobs,
            begin,
            counted,
            units_of(together, singly, step_states, each),
            limbs,
        )

    def _limbs_of(self, alone: slice) -> dict[int, Limbs]:
        """Limbs of the first states of a slice, up to one whose robot has no similar limbs."""
        found: dict[int, Limbs] = {}
        made = self._stepping.limbs
        for i in range(alone.start, alone.stop) if self.limbs else ():
            sim = self._stepping.sims[i]
            if i not in made or not made[i].is_of(sim.parts):
                lanes = find_lanes(sim.robot, sim.parts)
                if lanes is None:
                    break
                made[i] = Limbs(sim.parts, lanes)
            found[i] = made[i]
        return found

    def _advance(self, plan: Plan, steps: int) -> None:
        """Take and count the time steps of all states."""
        stepping, done = self._stepping, self.done
        knots = stepping.knots_of_samples(steps)
        if knots or not self._usual:
            self._take_the_long_way(steps, knots)
            return
        try:
            stepping.do(plan.jobs)
        except BaseException:
            # Also after an interrupt, all states have to agree with their times.
            stepping.ahead += done
            stepping.settle()
            raise
        if int(done.min()) == steps:
            stepping.ahead += steps
        else:
            self._go_on(plan, plan.step_states, steps)

    def _shares(self, whole: slice) -> list[slice]:
        """Parts of a slice, one for each thread."""
        total = whole.stop - whole.start
        threads = min(self._stepping.threads, total)
        if threads < 2:
            return [whole] if total else []
        ends = np.linspace(whole.start, whole.stop, threads + 1).astype(int).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def _take_the_long_way(self, steps: int, knots: list[int]) -> None:
        """Take steps of states with different solvers or in islands, or with samples at knots."""
        stepping = self._stepping
        stepping.settle()
        stepping.run_sampled(self._memory, steps, self.done, knots)

    def _go_on(self, plan: Plan, step_states: Any, steps: int) -> None:
        """Repeat steps that failed in lanes, or that need another solver."""
        stepping, memory, done = self._stepping, self._memory, self.done
        for g, group in enumerate(plan.groups):
            share = slice(g * WIDTH, (g + 1) * WIDTH)
            if done[share].min() == steps:
                continue
            stepping.touched.update(range(share.start, share.stop))
            group.settle()
            parts, runs = stepping.parts[share], memory.addresses[share]
            if not group.parted(step_states, parts, runs, 0, done[share], steps):
                kinds = stepping.sims[0].engine.handle.kind, memory.handles[0].kind
                group.run(step_states, parts, kinds[0], runs, kinds[1], done[share], steps)
        stepping.ahead += done
        left = np.flatnonzero(done < steps)
        if not len(left):
            return  # the other groups stay in lanes
        stepping.settle()
        ends = np.full(len(left), steps)
        stepping.run(memory, steps, done, stepping.that_go_on(memory, left, ends, steps, done))
