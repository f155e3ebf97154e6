"""Steps of the states of a batch: groups in lanes, other states singly, in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from robosim.batch.beside import Beside
from robosim.batch.buffers import BatchBuffers
from robosim.batch.group import Group
from robosim.compiled.state import State
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.lanes import WIDTH
from robosim.rays.sensing import Samples
from robosim.runtime.handles import provide_features, step_function
from robosim.runtime.lanes import suits_lanes
from robosim.runtime.limbs import Limbs
from robosim.runtime.threads import do_all
from robosim.simulation import Simulation
from robosim.simulation.diagnosis import FAR, warn_of_turn
from robosim.validation import Array, read_only

# Parts of the work of each thread, so that threads end at nearly the same time.
PARTS_PER_THREAD = 4


class Stepping:
    """Takes the steps of n states.

    Attributes
    ----------
    sims : list of n Simulation
        The simulations of the states.
    states : State
        Arrays of all states together.
    parts : (n,)
        Addresses of the memory of each simulation's kernels.
    groups : dict of int to Group
        Groups that have been made, by their numbers.
    limbs : dict of int to Limbs
        Limbs of states that take steps in lanes by themselves, for all bound runs.
    ahead : (n,)
        Steps of bound runs that the simulations have not counted yet.
    touched : set of int
        States that have been moved by other means since the last bound run.
    told_of_turn : bool
        Whether the warning about a body that turns far has been issued.
    lent : set of int
        States whose simulations users have, and may step by themselves.
    recent : (BatchBuffers, (n,)) or None
        Results of the last steps, and the number of steps of each state.
    bound : object
        The last bound run that took steps.
    robots : int
        Number of changes of robots.
    beside : Beside or None
        Process that compiles kernels for lanes, with ``lanes="later"``.
    """

    is_apart = False  # whether units of a world are solved apart, without lanes

    def __init__(
        self,
        robot: Mechanism,
        sims: list[Simulation],
        states: State,
        threads: int,
        lanes: bool,
        beside: Beside | None = None,
    ) -> None:
        self.robot, self.sims, self.states = robot, sims, states
        self.threads, self.lanes, self.beside = threads, lanes, beside
        self.n = len(sims)
        self.parts = np.zeros(self.n, dtype=np.int64)
        for i in range(self.n):
            self.take_up(i)
        self.groups: dict[int, Group] = {}
        self.limbs: dict[int, Limbs] = {}
        self.ahead = np.zeros(self.n, dtype=np.int64)
        self.touched = set(range(self.n))
        self.told_of_turn = False
        self.lent: set[int] = set()
        self.recent: tuple[BatchBuffers, NDArray[np.int64]] | None = None
        self.bound: object = None
        self.robots = 0
        self.samples: Samples | None = None  # of sensors with rays, once one has been read
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def gather(self) -> None:
        """Bring poses and velocities of bodies in `states` up to date, but for those in lanes."""

    def note_samples(self) -> None:
        """Let sensors with rays take samples of the present knots, if any keep some."""
        if self.samples is not None and self.samples.keeps:
            self.samples.note()

    def knots_of_samples(self, steps: int) -> list[int]:
        """Numbers of the steps, below `steps`, after which sensors with rays take samples."""
        if steps == 1 or self.samples is None or not self.samples.keeps:
            return []
        taken = self.samples.source.steps().tolist()
        starts = [sim.engine.counters.start_time for sim in self.sims]
        due = (self.samples.is_due(n, steps, t) for n, t in set(zip(taken, starts, strict=True)))
        return sorted(set().union(*due))

    def run_sampled(
        self, memory: BatchBuffers, steps: int, done: NDArray[np.int64], knots: list[int]
    ) -> None:
        """`run` of all states from the first step on, with samples of sensors at some knots."""
        reached = 0
        for knot in (*knots, steps):
            # States that have failed stay where they are.
            self.run(memory, knot, done, np.flatnonzero(done == reached))
            self.note_samples()
            reached = knot

    def look(self) -> None:
        """Switch to lanes once their kernels have been compiled."""
        if self.beside is not None and self.beside.is_done():
            self.beside, self.lanes = None, True
            self.count_all()

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        return self.sims[0].timestep

    @property
    def time(self) -> Array:
        """Times of the present knots (n,) [s], read-only."""
        starts = np.array([sim.engine.counters.start_time for sim in self.sims])
        steps = np.array([sim.steps for sim in self.sims])
        return read_only(starts + self.timestep * (steps + self.ahead))

    def begin(self, i: int) -> None:
        """Continue from a state i that has been set."""
        self.take_up(i)
        if self.recent is not None:
            self.recent[1][i] = 0

    def alone(self, index: int, anew: bool = False) -> Simulation:
        """The simulation of one state, with all its data as if it were stepped alone."""
        self.count(index)
        if index // WIDTH in self.groups:
            self.groups[index // WIDTH].catch_up(index % WIDTH, anew)
        if index in self.limbs:
            self.limbs[index].catch_up()
        return self.sims[index]

    def recall(self, index: int) -> None:
        """Set the last step of a simulation, as if the simulation had taken it."""
        if self.recent is None:
            return
        memory, done = self.recent
        if done[index]:
            row, counters = int(done[index]) - 1, self.sims[index].engine.counters
            counters.last = memory.infos[index], row
            if row % memory.every == 0:
                tau = memory.tau[index, row // memory.every, : self.robot.nv]
                counters.drove = counters.steps, tau.copy()
            done[index] = 0

    def count(self, index: int) -> None:
        """Copy the state to its simulation, before or after a change by other means."""
        self.tally(index)
        if index // WIDTH in self.groups:
            self.groups[index // WIDTH].settle()
        self.touched.add(index)

    def tally(self, index: int) -> None:
        """Add the steps of bound runs to a simulation's count."""
        if self.ahead[index]:
            self.sims[index].engine.counters.steps += int(self.ahead[index])
            self.ahead[index] = 0

    def changed(self, index: int) -> None:
        """Update the group of a state whose model has changed."""
        g = index // WIDTH
        if g not in self.groups:
            return
        if self.groups[g].alike:
            del self.groups[g]  # a group with differing models replaces it
        else:
            self.groups[g].change(index % WIDTH, self.sims[index].parts)

    def leave_limbs(self, states: Iterable[int]) -> None:
        """Let the simulations of states have what their limbs have found, before other steps."""
        for i in states:
            if i in self.limbs:
                self.limbs[i].catch_up()

    def settle(self) -> None:
        """Copy all states to their simulations."""
        self.count_all()
        for group in self.groups.values():
            group.settle()

    def count_all(self) -> None:
        """Add the steps of bound runs to the counts of all simulations."""
        self.touched.update(range(self.n))
        for i in np.flatnonzero(self.ahead):
            self.sims[i].engine.counters.steps += int(self.ahead[i])
        self.ahead[:] = 0

    def tell_of_turns(self, memory: BatchBuffers, begin: Array, done: NDArray[np.int64]) -> None:
        """Issue a warning, once, for the first state with a body that turns far in a step."""
        if self.told_of_turn or not np.any(memory.infos["turn"] < FAR):
            return
        self.settle()
        self.told_of_turn = any(
            warn_of_turn(sim.robot, sim.parts, infos[:n], float(start), f"state {i}: ")
            for i, (sim, infos, n, start) in enumerate(
                zip(self.sims, memory.infos, done, begin, strict=True)
            )
        )

    def run(
        self,
        memory: BatchBuffers,
        steps: int,
        done: NDArray[np.int64],
        todo: NDArray[np.int64] | None = None,
    ) -> None:
        """Take the time steps of all or some states, and count the successful ones in `done`."""
        self.look()
        todo = np.arange(self.n) if todo is None else todo
        try:
            self._run_all(memory, steps, done, todo)
        finally:
            for i in todo:
                self._tighten(int(i))

    def _run_all(
        self,
        memory: BatchBuffers,
        steps: int,
        done: NDArray[np.int64],
        todo: NDArray[np.int64],
    ) -> None:
        """Take the time steps of these states, with other parts where a step needs them."""
        while len(todo):
            # States with the other solver have other kernels.
            before = done[todo]
            engines = [self.sims[i].engine for i in todo]
            ends = np.array(
                [engine.until(k, steps) for engine, k in zip(engines, before, strict=True)]
            )
            for i, engine in zip(todo, engines, strict=True):
                if engine.counters.came_back == engine.counters.steps:  # has just changed
                    self.take_up(int(i))
            solvers = np.array([engine.solver for engine in engines])
            try:
                for solver in np.unique(solvers):
                    for end in np.unique(ends[solvers == solver]):
                        alike = (solvers == solver) & (ends == end)
                        self._run_alike(memory, int(end), todo[alike], done)
            finally:
                # Also after an interrupt, all states have to agree with their times.
                for i, engine, start in zip(todo, engines, before, strict=True):
                    engine.counters.steps += int(done[i] - start)
                    engine.count_away(int(done[i] - start))
                    if done[i] > start:
                        self._tighten(int(i))
            todo = self.that_go_on(memory, todo, ends, steps, done)

    def that_go_on(
        self,
        memory: BatchBuffers,
        todo: NDArray[np.int64],
        ends: NDArray[np.int64],
        steps: int,
        done: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """States with steps left that can continue, or repeat a step with other parts."""
        again = []
        for i, end in zip(todo, ends, strict=True):
            engine = self.sims[i].engine
            if done[i] < end and not engine.goes_on(memory.infos["status"][i, done[i]]):
                continue
            if done[i] < steps:
                self.take_up(int(i))
                again.append(i)
        return np.array(again, dtype=np.int64)

    def take_up(self, i: int) -> None:
        """Use the present solver of state i."""
        self.parts[i] = self.sims[i].engine.handle.address

    def _tighten(self, i: int) -> None:
        """Let the contacts of state i hold to what was asked for, after a step that needed less."""
        engine = self.sims[i].engine
        if engine.is_loose:
            engine.tighten()
            self.take_up(i)

    def _run_alike(
        self, memory: BatchBuffers, steps: int, todo: NDArray[np.int64], done: NDArray[np.int64]
    ) -> None:
        """Take the time steps of states with the same kernels, until the end or a failure."""
        first = self.sims[todo[0]].engine.handle
        for i in todo:
            provide_features(self.sims[i].engine.handle)
        step_states = step_function(first, memory.handles[0], memory.anew)
        parts_kind = first.kind
        groups = self.grouped(todo, done) if self.lanes and not memory.anew else {}
        together = [np.arange(g * WIDTH, (g + 1) * WIDTH) for g in groups]
        alone = np.setdiff1d(todo, np.concatenate(together)) if groups else todo
        for g in {int(i) // WIDTH for i in alone} & self.groups.keys():
            self.groups[g].settle()
        self.leave_limbs(todo.tolist() if self.limbs else ())
        count = 1 if self._pool is None else self.threads * PARTS_PER_THREAD

        def work(share: NDArray[np.int64]) -> None:
            reached = done[share]
            try:
                step_states(self.parts[share], memory.addresses[share], reached, steps)
            finally:
                done[share] = reached

        def work_together(numbers: NDArray[np.int64]) -> None:
            for g in numbers.tolist():
                share = np.arange(g * WIDTH, (g + 1) * WIDTH)
                reached = done[share]
                runs, kind = memory.addresses[share], memory.handles[0].kind
                parts = self.parts[share], parts_kind
                try:
                    groups[g].run(step_states, *parts, runs, kind, reached, steps)
                finally:
                    done[share] = reached

        numbers = np.array(list(groups), dtype=np.int64)
        jobs: list[Callable[[], None]] = []
        for take, these in ((work_together, numbers), (work, alone)):
            jobs += [partial(take, share) for share in shared_out(these, count)]
        self.do(jobs)

    def do(self, jobs: Sequence[Callable[[], object]]) -> None:
        """Do all jobs, in parallel threads if there are several.

        All jobs have ended when this function returns or raises.
        """
        if self._pool is None:
            for job in jobs:
                job()
            return
        do_all(self._pool, jobs)

    def grouped(self, todo: NDArray[np.int64], done: NDArray[np.int64]) -> dict[int, Group]:
        """Complete groups whose states are all to be stepped, and have done equally many steps."""
        grouped: dict[int, Group] = {}
        ready = np.zeros(self.n, dtype=bool)
        ready[todo] = True
        for g in range(self.n // WIDTH):
            share = slice(g * WIDTH, (g + 1) * WIDTH)
            parts = [sim.parts for sim in self.sims[share]]
            if not (ready[share].all() and np.all(done[share] == done[share][0])):
                continue
            if any(sim.engine.is_loose for sim in self.sims[share]):
                continue
            if g not in self.groups or not self.groups[g].is_of(parts):
                if g in self.groups:
                    self.groups[g].settle()
                if not suits_lanes(parts):
                    continue
                self.groups[g] = Group(self.robot, parts, next(iter(self.groups.values()), None))
            grouped[g] = self.groups[g]
        return grouped


def shared_out(numbers: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """Numbers in at most `count` parts, none of which is empty."""
    return [part for part in np.array_split(numbers, min(count, len(numbers)) or 1) if len(part)]
