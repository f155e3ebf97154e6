"""Runs of a batch that are prepared once and taken again and again, as environments take them.

Between two steps of a bound run, states that take their steps together stay in the lanes of vector
registers, and only what was asked for leaves them. Whoever asks the batch for more (a simulation, a
rollout, another state) has them put back first.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.batch.controls import Controls
from robosim.batch.group import Group
from robosim.batch.runs import Runs
from robosim.batch.stepping import Stepping
from robosim.compiled.order import contact_order
from robosim.kernels.compiler.lanes import WIDTH, lanes
from robosim.runtime.handles import Handle, Runner, runner
from robosim.runtime.lanes import GroupRunner, Left, fields_at, group_runner, leave
from robosim.simulation.diagnosis import FAR, refuse_starts
from robosim.validation import Array, read_only

SHOWN = 13  # words of a body that are shown: x, q, v, omega


class BodyViews(NamedTuple):
    """Bodies of all states at the knot, read-only views.

    Attributes
    ----------
    x : (n, nb, 3) [m], centres of mass, world
    q : (n, nb, 4), body to world, scalar first
    v : (n, nb, 3) [m/s], of the centres of mass, world
    omega : (n, nb, 3) [rad/s], body axes
    """

    x: Array
    q: Array
    v: Array
    omega: Array


class Plan(NamedTuple):
    """How the states are stepped, as long as nobody else moves any."""

    groups: list[Group]
    addresses: NDArray[np.int64]  # (groups,) of their lanes, as the next steps find them
    resident: NDArray[np.int64]  # (groups,) and as they find states that are in them
    parts: NDArray[np.int64]  # (groups, WIDTH) of the states' own
    alone: slice  # of states that are in no group
    run_states: Runner  # what steps states alone
    take: GroupRunner | None  # and groups
    begin: NDArray[np.float64]  # (n,) [s] of the starts
    counted: NDArray[np.int64]  # (n,) steps from there to where `ahead` begins


class Bound:
    """A run of some steps from wherever the states of a batch are; see `BatchSimulation.bind`.

    Attributes
    ----------
    steps : int
        That each call takes.
    targets : (n, nu) [rad or m]
        Of the PD; write into it.
    kp, kd : (n, nu)
        Gains; write into them.
    torques : (n, nu) [N m or N]
        That act beside the controller, held over all steps; write into it.
    q : (n, nq), v : (n, nv)
        Coordinates and velocities at the knot, read-only views.
    tau : (n, nv)
        Forces on the coordinates over the first of the last steps, a read-only view.
    bodies : BodyViews or None
        If they were asked for.
    normal_forces : (n, contacts) [N] or None
        Of ``robot.contacts``, in their order, the mean over the last interval, if they were asked
        for: a read-only view. Contacts of shapes are not among them.
    done : (n,), steps that the last call took
    failed : (n,), whether a step could not be solved, as in a `Rollout`
    """

    def __init__(
        self,
        stepping: Stepping,
        steps: int,
        control: Controls,
        bodies: bool,
        contacts: bool,
    ) -> None:
        robot, n = stepping.robot, stepping.n
        self._stepping, self._control, self.steps = stepping, control, steps
        memory = Runs(stepping.sims, steps, (False, False), False, steps)
        self._memory = memory
        memory.gains[:] = control.gains
        memory.controllers[:] = control.address
        self.targets, self.kp, self.kd = (memory.gains[key] for key in ("target", "kp", "kd"))
        self.torques = np.zeros((n, robot.nu))
        self.done = np.zeros(n, dtype=np.int64)
        self.failed = np.zeros(n, dtype=bool)
        self.q, self.v = (
            _shown(array[:, :width])
            for array, width in ((stepping.states.q, robot.nq), (stepping.states.v, robot.nv))
        )
        self.tau = _shown(memory.tau[:, 0, : robot.nv])
        records = stepping.states.bodies
        self.bodies = (
            BodyViews(*(_shown(records[k]) for k in BodyViews._fields)) if bodies else None
        )
        self._slots = np.zeros(0, dtype=np.int64)
        self.normal_forces: Array | None = None
        if contacts:
            self._slots = np.argsort(contact_order(robot))
            self._impulses = np.zeros((n, len(self._slots)))
            self._active = np.zeros((n, len(self._slots)), dtype=np.int64)
            self._forces = np.zeros((n, len(self._slots)))
            self.normal_forces = _shown(self._forces)
        whole = list(robot.actuated)
        straight = whole == list(range(whole[0], whole[0] + len(whole))) if whole else False
        self._actuated: Any = slice(whole[0], whole[-1] + 1) if straight else whole
        self._plan: Plan | None = None
        self._timestep, self._reached = stepping.timestep, np.zeros(n, dtype=np.int64)
        self._begun = np.zeros(n, dtype=np.int64)  # steps before the last call
        self._left: Handle | None = None

    @property
    def time(self) -> Array:
        """Times of the present knots (n,) [s], read-only."""
        return self._stepping.time

    def step(self) -> None:
        """Take the steps, from wherever the states are.

        Raises
        ------
        StateError, ControllerError
            As of `rollout`; torques, targets and gains that are not finite end in failed steps.
        """
        stepping, memory, steps, done = self._stepping, self._memory, self.steps, self.done
        plan = self._ready()
        memory.torques[:, 0, self._actuated] = self.torques
        self._begun = plan.counted + stepping.ahead
        begin = plan.begin + self._timestep * self._begun
        memory.starts[:, 0] = begin
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
        np.less(done, steps, out=self.failed)
        self._show()
        if not stepping.told_of_turn and memory.infos["turn"].min() < FAR:
            stepping.tell_of_turns(memory, begin, done)
        for i in stepping.lent:
            stepping.count(i)

    def _ready(self) -> Plan:
        """How to step, found out anew for what has been moved otherwise since."""
        stepping = self._stepping
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
        for g, group in enumerate(plan.groups):
            plan.addresses[g] = group.entrance.address
            group.moves()
        stepping.touched.clear()
        return plan

    def _still(self, plan: Plan, touched: list[int]) -> bool:
        """Whether a plan can be kept, as those that were touched have the memory that they had."""
        sims, kind = self._stepping.sims, self._stepping.sims[0].engine.handle.kind
        if not self._usual:
            return False
        if any(sims[i].engine.counters.away or sims[i].engine.handle.kind != kind for i in touched):
            return False
        numbers = {i // WIDTH for i in touched if i < plan.alone.start}
        made = self._stepping.groups
        return all(
            plan.groups[g] is made.get(g)
            and plan.groups[g].is_of([sim.parts for sim in sims[g * WIDTH : (g + 1) * WIDTH]])
            for g in numbers
        )

    def _planned(self) -> Plan:
        """How to step."""
        stepping, every = self._stepping, np.arange(self._stepping.n)
        kind = stepping.sims[0].engine.handle.kind
        engines = [sim.engine for sim in stepping.sims]
        self._usual = all(one.handle.kind == kind and not one.counters.away for one in engines)
        grouped = (
            stepping.grouped(every, np.zeros_like(every)) if stepping.lanes and self._usual else {}
        )
        # Groups from the first on, so that the rest is one after the other.
        numbers = list(grouped)
        whole = len(numbers) if numbers == list(range(len(numbers))) else 0
        groups = [grouped[g] for g in range(whole)]
        alone = slice(whole * WIDTH, stepping.n)
        self._left = self._leaves(groups)
        handle, run, take = engines[0].handle, self._memory.handles[0], None
        if groups:
            take = group_runner(groups[0].solver, groups[0].kind, handle.kind, run.kind)
        return Plan(
            groups,
            np.array([group.handle.address for group in groups], dtype=np.int64),
            np.array([group.resident.address for group in groups], dtype=np.int64),
            stepping.parts[: alone.start].reshape(whole, WIDTH),
            alone,
            runner(handle, run),
            take,
            np.array([one.counters.start_time for one in engines]),
            np.array([one.counters.steps for one in engines]),
        )

    def _leaves(self, groups: list[Group]) -> Handle | None:
        """What the lanes leave after each call."""
        rows: list[list[NDArray[np.void]]] = []
        states = self._stepping.states.bodies
        for g, group in enumerate(groups):
            lanes_of, some, of = group.handle.values, slice(g * WIDTH, (g + 1) * WIDTH), []
            if self.bodies is not None:
                to = addresses(states["x"][some, :, 0])
                of.append(fields_at(lanes_of.state.bodies, "x", to, SHOWN, lanes))
            if self.normal_forces is not None:
                guesses = lanes_of.memory.guesses
                for wide, name, array in (
                    (guesses.contacts, "gamma", self._impulses),
                    (guesses.active, "", self._active),
                ):
                    of.append(fields_at(wide, name, addresses(array[some]), 1, lanes))
            rows.append([np.concatenate(of, axis=1)] if of else [])
        found = [one for row in rows for one in row]
        return Handle(Left(np.concatenate(found))) if found else None

    def _advance(self, plan: Plan, steps: int) -> None:
        """Take the steps of all states, and count them."""
        stepping, memory, done = self._stepping, self._memory, self.done
        if not self._usual:
            self._take_the_long_way(steps)
            return
        whole, run_states, take = plan.alone.start, plan.run_states, plan.take
        jobs = []
        if take is not None:
            runs, reached = (a[:whole].reshape(-1, WIDTH) for a in (memory.addresses, done))
            for share in self._shares(len(plan.groups)):
                rows = plan.addresses[share], plan.parts[share], runs[share], reached[share]
                jobs.append(partial(take, *rows, steps))
        for share in self._shares(stepping.n - whole):
            some = slice(whole + share.start, whole + share.stop)
            jobs.append(
                partial(
                    run_states,
                    stepping.parts[some],
                    memory.addresses[some],
                    done[some],
                    steps,
                )
            )
        try:
            stepping.do(jobs)
        except BaseException:
            # After an interrupt too, all states are where their times say.
            stepping.ahead += done
            stepping.settle()
            raise
        for g in np.flatnonzero(plan.addresses != plan.resident):
            plan.groups[g].moved(True)
            plan.addresses[g] = plan.resident[g]
        if int(done.min()) == steps:
            stepping.ahead += steps
        else:
            self._go_on(plan, run_states, steps)

    def _shares(self, total: int) -> list[slice]:
        """Parts of so many for the threads."""
        threads = min(self._stepping.threads, total)
        if threads < 2:
            return [slice(0, total)] if total else []
        ends = np.linspace(0, total, threads + 1).astype(int).tolist()
        return [slice(*pair) for pair in pairwise(ends)]

    def _take_the_long_way(self, steps: int) -> None:
        """Steps where some states have another solver than the others."""
        stepping = self._stepping
        stepping.settle()
        stepping.run(self._memory, steps, self.done)

    def _go_on(self, plan: Plan, run_states: Any, steps: int) -> None:
        """Take the steps that lanes have left undone, or that another solver is to try."""
        stepping, memory, done = self._stepping, self._memory, self.done
        for g, group in enumerate(plan.groups):
            share = slice(g * WIDTH, (g + 1) * WIDTH)
            if done[share].min() == steps:
                continue
            stepping.touched.update(range(share.start, share.stop))
            group.settle()
            own, runs = stepping.parts[share], memory.addresses[share]
            if not group.parted(run_states, own, runs, 0, done[share], steps):
                kinds = stepping.sims[0].engine.handle.kind, memory.handles[0].kind
                group.run(run_states, own, kinds[0], runs, kinds[1], done[share], steps)
        stepping.ahead += done
        left = np.flatnonzero(done < steps)
        if not len(left):
            return  # the other groups stay in their lanes
        stepping.settle()
        ends = np.full(len(left), steps)
        stepping.run(memory, steps, done, stepping.that_go_on(memory, left, ends, steps, done))

    def _show(self) -> None:
        """Bring what was asked for to where it is read."""
        plan, stepping = self._plan, self._stepping
        assert plan is not None
        if self._left is not None and all(group.is_ahead for group in plan.groups):
            leave(self._left)
        if self.normal_forces is None:
            return
        # A start gives the first interval only its own half of the impulses at its knot.
        at_start = self._begun + self.done == 1
        interval = np.where(at_start, 0.5, 1.0) * self._timestep
        for i in range(stepping.n):
            if i < plan.alone.start and plan.groups[i // WIDTH].is_ahead:
                continue
            sim = stepping.sims[i]
            guesses, whole = sim.parts.memory.guesses, len(self._slots)
            self._impulses[i] = guesses.contacts["gamma"][:whole]
            self._active[i] = guesses.active[:whole]
            part = abs(float(sim.parts.state.last_dt[0]))  # of a step that was divided
            interval[i] = part if part not in (0.0, self._timestep) else interval[i]
        forces = self._impulses * (self._active != 0) / interval[:, None]
        np.take(forces, self._slots, axis=1, out=self._forces, mode="clip")


def addresses(array: NDArray[Any]) -> NDArray[np.int64]:
    """Where each number of an array (n, k) is."""
    rows, columns = array.strides
    steps = rows * np.arange(array.shape[0])[:, None] + columns * np.arange(array.shape[1])
    return np.asarray(array.ctypes.data + steps, dtype=np.int64)


def _shown(array: NDArray[Any]) -> NDArray[Any]:
    """A view to read."""
    return read_only(array.view())
