"""The engine of a world of several units: those that are apart take their steps by themselves.

A *unit* is what joints, springs and the like hold together (`robosim.description.units`). Units
that may touch within a step make up an *island*, and an island is a simulation of its own: its
steps are those that it would take if nothing else were in the world, to the last bit. The state
that users see is gathered from the islands when it is read.

Islands take blocks of steps. What their bodies sweep is noted on the way. If that of two islands
overlaps, the block has not happened: it is taken again step by step, up to the step in which they
meet, and from there on they are one island. Where islands come apart again is looked at after
every `LONGEST` steps. So the steps of an island do not depend on how a run is divided.

Islands at rest may sleep (`robosim.simulation.sleep`): no steps of theirs are taken, until they are
met, or something else acts on them. That is looked at with where islands come apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.arrays import assign_all, copied
from robosim.compiled.building.model import compile_model
from robosim.compiled.loads import Loads
from robosim.compiled.memory import Memory, make_memory
from robosim.compiled.model import Model, Options
from robosim.compiled.records.island import BOX
from robosim.compiled.state import State, force_interval, make_state
from robosim.compiled.workspace import Workspace, make_workspace
from robosim.description.mechanism import Mechanism
from robosim.description.units import may_touch, units_of, units_of_joints
from robosim.errors import StateError
from robosim.kinematics.motions import Motions
from robosim.runtime.handles import Handle, Parts
from robosim.runtime.islands import Calls, World, ask, far_from, indices
from robosim.simulation.alone import BUSY, Alone
from robosim.simulation.checkpoint import Counters
from robosim.simulation.digest import digest
from robosim.simulation.engine import Engine, loads_of
from robosim.simulation.islands import (
    LONGEST,
    Elements,
    Island,
    Rows,
    begin_anew,
    islands_made,
    rows_of,
    take_unit,
)
from robosim.simulation.loads import Held
from robosim.simulation.meetings import Patience, ball_around, connected
from robosim.simulation.notices import Notices, Silence
from robosim.simulation.options import usual_solver
from robosim.simulation.readings import IslandParts
from robosim.simulation.sleep import Sleep, Watched, is_driven
from robosim.simulation.start import Start
from robosim.simulation.stepped import Stepped, Undo
from robosim.validation import Array

NOW = far_from(-1.0, 0.0)
NEAR = 0.5  # part of their radius by which bodies may be apart to be of one island, once some meet
APART = 0.6  # and by which they have to be apart to be of two
ROOM = 4096  # pairs of units that meet at once
KEPT = 32  # islands of several units that are kept for the next time


class Worlds(Alone):
    """Takes the steps of a simulation of several units; see `robosim.simulation.engine.Engine`."""

    single: Handle
    lanes = None

    def __init__(
        self,
        robot: Mechanism,
        facets: int,
        solver: str | None,
        options: Options,
        velocity_limits: bool,
        threads: int,
        sleep: float | None,
    ) -> None:
        self.robot, self._solver, self.threads = robot, solver, threads
        self._rest = sleep
        self.sleep = None if sleep is None else Sleep(sleep, LONGEST * options.dt)
        self._facets, self._options, self._velocity_limits = facets, options, velocity_limits
        self.units = units_of(robot)
        unit_of = np.zeros(len(robot.bodies), dtype=np.int64)
        for u, bodies in enumerate(self.units):
            unit_of[bodies] = u
        self._unit_of, partners = unit_of, may_touch(robot, unit_of.tolist())
        self._unit_of_joint = indices(units_of_joints(robot, unit_of.tolist()))
        self.radii = np.array(
            [ball_around(body.collisions) if some else -1.0
             for body, some in zip(robot.bodies, partners, strict=True)]
        )  # fmt: skip
        self.partners = partners
        seen = without_pairs(robot)
        self._model = compile_model(seen, facets, False, velocity_limits)
        self.elements = Elements(robot)
        self._models: dict[str, Model] = {}
        self._merged: dict[tuple[int, ...], Island] = {}
        self._singles = [self._island((u,)) for u in range(len(self.units))]
        self._begin(make_state(seen, self._model), loads_of(self._model, options))
        self.counters = Counters()

    def _begin(self, state: State, loads: Loads) -> None:
        """Make the objects that belong to this engine alone, except for counters and islands."""
        nb, n = len(self.robot.bodies), len(self.units)
        boxes = np.zeros(nb, dtype=BOX)
        boxes["radius"] = self.radii
        boxes["lower"], boxes["upper"] = np.inf, -np.inf
        counts = [len(others) for others in self.partners]
        self.world = Handle(
            World(
                state,
                loads,
                boxes,
                boxes.copy(),
                np.zeros(n, dtype=BOX),
                np.arange(n, dtype=np.int64),
                np.arange(n, dtype=np.int64),
                self._unit_of,
                indices(np.concatenate(([0], np.cumsum([len(one) for one in self.units])))),
                indices(np.concatenate(self.units)),
                indices(np.concatenate(([0], np.cumsum(counts)))),
                indices([b for others in self.partners for b in others]),
            )
        )
        self._parts = Parts(
            self._model, state, cast(Any, None), loads, cast(Any, None), self._options
        )
        self.patience = Patience()
        self._starts: list[Start] = []
        self._may_meet = bool(np.any(self.radii >= 0))
        self._met = np.zeros((ROOM, 2), dtype=np.int64)
        self._row = np.zeros((1, len(loads.tau)))
        self._compiled: Calls | None = None
        self._whole: tuple[Model, Memory, Workspace] | None = None
        self._fresh = True
        self._undo = Undo()
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        self._stepped: dict[bool | None, Stepped] = {}  # driven or not; None for those that sleep
        self._unlock()
        self.notices: Notices | Silence = Notices(self)
        self._arrange(self._singles)

    def _island(self, units: tuple[int, ...]) -> Island:
        """A new island of some units."""
        bodies = sorted(b for u in units for b in self.units[u])
        robot, places = islands_made(self.elements, bodies)
        solver = self._solver or usual_solver(robot, self._velocity_limits)
        may_switch = self._solver is None and solver == "articulated"
        engine = Engine(
            robot, self._facets, solver, may_switch, self._options, False, self._velocity_limits
        )
        model = engine.parts.model
        if len(units) == 1 and not len(model.charts.factors):
            # Equal robots share one model, and its place in the cache.
            shared = self._models.setdefault(digest(model), model)
            if shared is not model:
                engine.hand_over(engine.parts._replace(model=shared))
        rows = dict(rows_of(engine.parts, places, self._unit_of, self._unit_of_joint))
        radii = self.radii[places.bodies]
        return Island(units, engine, places, rows, radii if np.any(radii >= 0) else radii[:0])

    def _arrange(self, islands: Sequence[Island]) -> None:
        """Let these islands make up the world."""
        self.islands = sorted(islands, key=lambda one: one.units)
        island_of = self.world.values.island_of
        for n, one in enumerate(self.islands):
            island_of[list(one.units)] = n
        self._stepped = {}
        self._stride = 1
        if self.sleep is not None:
            self.sleep.keep(self.islands)

    # What is read

    @property
    def parts(self) -> Parts:
        """What users see of the world: model, state, loads and options."""
        if not self._fresh:
            stepped = self._of(False)
            self._calls.gather(stepped.parts, stepped.places, self.world.address)
            self._fresh = True
        return self._parts

    def refresh(self) -> None:
        """Bring the state that users see up to date."""
        _ = self.parts

    def whole_parts(self) -> Parts:
        """Parts with all pairs of shapes of the world."""
        seen = self.parts
        if self._whole is None:
            model = compile_model(self.robot, self._facets, False, self._velocity_limits)
            self._whole = model, make_memory(model), make_workspace(self.robot, model)
        model, memory, work = self._whole
        return seen._replace(model=model, memory=memory, work=work)

    @property
    def state(self) -> State:
        """The state that users see, of which q and v alone are up to date."""
        return self._parts.state

    @property
    def systems(self) -> Iterator[IslandParts]:
        """The islands."""
        for one in self.islands:
            parts = one.engine.parts
            interval = force_interval(parts.state, self.timestep)
            sleeps = self.sleep is not None and one.units in self.sleep.asleep
            yield IslandParts(one.robot, parts, interval, one.places.values, sleeps)

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        return self._options.dt

    @property
    def solver(self) -> str:
        """The solver of all islands, or "ldu" if they have different ones."""
        names = {one.engine.solver for one in self.islands}
        return names.pop() if len(names) == 1 else "ldu"

    def described(self) -> tuple[Model, ...]:
        """Models that do not depend on the solver in use."""
        return tuple(one.engine.described() for one in self._singles)

    # Steps

    def advance(self, run: Handle, begin: int, end: int) -> None:
        """Take steps `begin` to `end` of a run in compiled code."""
        if not self._stepping.acquire(False):
            raise StateError(BUSY)
        try:
            reached, loads = begin, True
            while reached < end:
                steps = self._length(run, reached, end)
                if self._take(run, reached, steps, loads):
                    reached += steps
                    loads = False
                    self._count(run, steps, reached - 1)
        finally:
            self._stepping.release()

    def advance_once(self, run: Handle) -> None:
        """Take the only step of a run."""
        self.advance(run, 0, 1)

    def _length(self, run: Handle, reached: int, end: int) -> int:
        """Steps of the next block: up to the next look, and so that logged knots begin its rows."""
        values = run.values
        if values.controller[0] != 0:
            return 1
        steps = min(end - reached, self._stride, LONGEST - self.counters.steps % LONGEST)
        every = int(values.every[0])
        if beyond := reached % every:
            steps = min(steps, every - beyond)
        elif steps > every:
            steps -= steps % every
        return steps

    def _count(self, run: Handle, steps: int, row: int) -> None:
        """Count steps that were taken; the results of the last one are in this row."""
        counters = self.counters
        counters.steps += steps
        counters.last = run.values.infos, row
        if self._options.order == 4:
            counters.count_fourth(run.values.infos[row + 1 - steps : row + 1])
        if self._stride < LONGEST:
            self._stride = min(2 * self._stride, LONGEST)
        if counters.steps % LONGEST == 0 and len(self.islands) < len(self.units):
            self._look()
        if counters.steps % LONGEST == 0 and self.sleep is not None:
            self._let_sleep(self.sleep, run.values.gains)

    def _let_sleep(self, sleep: Sleep, gains: NDArray[np.void]) -> None:
        """Let islands sleep that have been at rest for long enough; not what a PD drives."""
        awake = [one for one in self.islands if one.units not in sleep.asleep]
        free = [one for one in awake if not is_driven(one.places.values.gains[:, 0], gains)]
        fallen = [one for one in free if sleep.look(one)]
        if fallen:
            self.refresh()
            self._stepped = {}

    def _let_wake(self, sleep: Sleep, torques: Array, gains: NDArray[np.void]) -> bool:
        """Wake islands that something else acts on than before; whether there are any."""
        acting = self._parts.loads, torques, gains
        if sleep.watched is not None and sleep.watched.are_the_same(*acting):
            return False
        disturbed = [
            one
            for one in self.islands
            if one.units in sleep.asleep and not Watched.of([one]).are_the_same(*acting)
        ]
        for one in disturbed:
            sleep.wake(one)
        if disturbed:
            self._stepped = {}
        if sleep.asleep:
            self._watch(sleep)
        return bool(disturbed)

    def _watch(self, sleep: Sleep) -> None:
        """Note where sleeping islands stand, and keep what they go back to."""
        resting = self._resting(sleep)
        sleep.begin(resting.islands, self.counters)
        self._calls.begin(
            resting.parts, resting.run_addresses, resting.places, resting.kept,
            self.world.address, self.single.address, self._row, 0, 0, False, True,
        )  # fmt: skip
        for one in resting.islands:
            boxes, to = self.world.values.boxes, one.places.values.bodies
            x, size = one.engine.parts.state.bodies["x"], self.radii[to, None]
            boxes["lower"][to] = np.where(size < 0.0, np.inf, x - size)
            boxes["upper"][to] = np.where(size < 0.0, -np.inf, x + size)

    def _resting(self, sleep: Sleep) -> Stepped:
        """The addresses of the islands that sleep."""
        found = self._stepped.get(None)
        if found is None:
            resting = [one for one in self.islands if one.units in sleep.asleep]
            found = self._stepped[None] = Stepped(resting, False)
        return found

    def _of(self, driven: bool) -> Stepped:
        """The addresses of all islands that are awake."""
        found = self._stepped.get(driven)
        if found is None:
            asleep = () if self.sleep is None else self.sleep.asleep
            awake = [one for one in self.islands if one.units not in asleep]
            found = self._stepped[driven] = Stepped(awake, driven)
        return found

    @property
    def _calls(self) -> Calls:
        """The compiled calls; all islands have the same kinds of data."""
        if self._compiled is None:
            one = self.islands[0]
            self._compiled = Calls(one.engine.handle, one.plain, one.places, one.kept, self.world)
        return self._compiled

    def _take(self, run: Handle, first: int, steps: int, loads: bool) -> bool:
        """Take a block of steps; False if it has to be taken again, in shorter ones."""
        values, world = run.values, self.world.address
        torques, every = values.torques, int(values.every[0])
        if values.controller[0] != 0:
            torques, given = self._row, values.torques
            torques[0] = given[first if len(given) > 1 else 0]
            time, state = float(values.start[0]) + first * self.timestep, self._parts.state
            ask(int(values.controller[0]), time, state.q, state.v, torques[0])
        driven, sleep = len(values.gains) > 0, self.sleep
        if sleep is not None and sleep.asleep:
            rows = torques[first : first + steps] if len(torques) > 1 else torques
            loads = self._let_wake(sleep, rows, values.gains) or loads
        whole = stepped = left = self._of(driven)
        calls, deep = self._calls, steps > 1
        own = every if first % every == 0 else LONGEST + 1
        self._undo = Undo()
        try:
            while True:
                if own != 1 or (left.runs and left.runs[0].values.every[0] != 1):
                    for each in left.runs:
                        each.values.every[0] = own
                calls.begin(
                    left.parts, left.run_addresses, left.places, left.kept, world, run.address,
                    torques, first, steps, loads, deep,
                )  # fmt: skip
                failed = left.take(steps, self.counters, self._undo, self._pool)
                if failed is not None:
                    reached, error = failed
                    if steps == 1:
                        raise error
                    self._go_back(whole, deep)
                    self._stride = max(1, reached)
                    return False
                calls.end(
                    left.parts, left.run_addresses, left.places, world, run.address, first, steps
                )
                pairs = self._meetings(NOW, False) if self._may_meet else []
                if not pairs:
                    break
                if steps > 1:
                    self._go_back(whole, deep)
                    self._stride = 1
                    return False
                left, loads = self._merge(pairs, driven), True
                whole = self._of(driven)
        except BaseException:
            # An interrupt, too, leaves all islands where the block began.
            self._go_back(whole, deep)
            raise
        if whole is not stepped:
            # All of the log once more, with the islands that there are now.
            calls.end(
                whole.parts, whole.run_addresses, whole.places, world, run.address, first, steps
            )
        if sleep is not None and sleep.asleep:
            resting, none = self._resting(sleep), not whole.islands
            calls.rest(resting.parts, resting.places, run.address, sleep.info, first, steps, none)
        if not self._undo.is_empty() and not whole.is_valid():
            self._stepped = {}
        self._fresh = False
        return True

    def _go_back(self, stepped: Stepped, deep: bool) -> None:
        """Put islands back to where the block began."""
        self._undo.back(stepped.islands)
        self._calls.go_back(stepped.parts, stepped.kept, deep)
        # The q and v that users see are those of the block's end.
        self._fresh = False
        self.refresh()

    # Which units are one island

    def _meetings(self, far: Array, same: bool) -> list[tuple[int, int]]:
        """Pairs of units that meet, of the same island or not."""
        count = self._calls.meet(self.world.address, far, same, self._met)
        return [(a, b) for a, b in self._met[:count].tolist()] if count else []

    def _merge(self, pairs: list[tuple[int, int]], driven: bool) -> Stepped:
        """Make one island of those that meet, where the step began; these, to take the step."""
        self._fresh = False
        self.refresh()
        near = [*pairs, *self._meetings(far_from(NEAR, 0.0), False)]
        meeting = {u for pair in pairs for u in pair}
        made, gone = [], []
        for units in connected([one.units for one in self.islands], near):
            if meeting.isdisjoint(units):
                continue
            sources = [one for one in self.islands if set(one.units) <= set(units)]
            if len(sources) > 1:
                made.append((units, sources))
                gone += sources
        self._undo.back(gone)
        before = Stepped(gone, driven)
        self._calls.go_back(before.parts, before.kept, False)
        others = [one for one in self.islands if one not in gone]
        islands = [self._made_of(units, sources) for units, sources in made]
        self._arrange([*others, *islands])
        return Stepped(islands, driven)

    def _made_of(self, units: tuple[int, ...], sources: Sequence[Island]) -> Island:
        """An island of these units, which goes on from where they are in others."""
        made = self._found(units)
        made.begin_anew(self.counters.start_time)
        for other in sources:
            for unit in set(units) & set(other.units):
                made.take_from(other, unit)
        made.go_on(self.counters.steps)
        return made

    def _found(self, units: tuple[int, ...]) -> Island:
        """The island of these units."""
        if len(units) == 1:
            return self._singles[units[0]]
        island = self._merged.pop(units, None) or self._island(units)
        self._merged[units] = island  # most recent last
        active = {one.units for one in self.islands}
        for old in [one for one in self._merged if one not in active][:-KEPT]:
            del self._merged[old]
        return island

    def _look(self) -> None:
        """Divide islands whose units have come apart."""
        self.refresh()
        pairs = self._meetings(far_from(APART, LONGEST * self.timestep), True)
        islands: list[Island] = []
        for one in self.islands:
            inside = [pair for pair in pairs if pair[0] in one.units]
            parts = connected([(u,) for u in one.units], inside)
            if len(parts) == 1 or not self.patience.is_over(one.units):
                if len(parts) == 1:
                    self.patience.begin(one.units)
                islands.append(one)
                continue
            islands += [self._made_of(units, [one]) for units in parts]
        if len(islands) > len(self.islands):
            self._arrange(islands)

    # Starts and copies

    def started(self, time: float) -> None:
        """Go on from a start of all units."""
        self.counters.assign(Counters(time, last=self.counters.last))
        self.patience = Patience()
        self._stepped, self._fresh, self._stride = {}, False, 1
        if self.sleep is not None:
            self.sleep.clear()
        self.refresh()

    @property
    def starts(self) -> list[Start]:
        """What sets the states of units, in their order."""
        if not self._starts:
            for one in self._singles:
                held = Held(one.robot, one.engine.parts.loads)
                self._starts.append(Start(one.engine, held, Motions(one.robot, self.timestep)))
        return self._starts

    def divided(self) -> None:
        """Put all units where they are, each into an island of its own."""
        islands: list[Island] = []
        if self.sleep is not None:
            self.sleep.clear()
        for one in self.islands:
            parts = [(u,) for u in one.units]
            islands += [one] if len(parts) == 1 else [self._made_of(u, [one]) for u in parts]
        self._arrange(islands)

    def copied(self, torques: Array, state: State | None = None) -> Worlds:
        """An engine in the same state; `torques` (nv,) are those of the last step."""
        self.refuse_if_busy()
        self.refresh()
        other = copy(self)
        own = copied(self._parts.state) if state is None else state
        assign_all(self._parts.state, own)
        other.counters = self.counters.copied(torques)
        active = {one.units for one in self.islands}
        other._singles = [one.copied() for one in self._singles]
        other._merged = {
            units: one.copied() for units, one in self._merged.items() if units in active
        }
        other.patience = self.patience.copied()
        other.sleep = None
        other._begin(own, copied(self._parts.loads))
        other._arrange([other._found(units) for units in sorted(active)])
        if self.sleep is not None:
            other.sleep = self.sleep.copied()
        return other

    def restore(self, other: Worlds | Engine, torques: Array) -> None:
        """Copy the state of another engine; `torques` (nv,) are those of its last step."""
        if isinstance(other, Engine):
            self._take_whole(other)
        else:
            other.refresh()
            assign_all(other._parts.state, self._parts.state)
            islands = []
            for theirs in other.islands:
                mine = self._found(theirs.units)
                mine.engine.restore(theirs.engine, np.zeros(theirs.robot.nv))
                islands.append(mine)
            self._arrange(islands)
            self.patience = other.patience.copied()
            if other.sleep is not None:
                self.sleep = other.sleep.copied()
            self._fresh = True
        assign_all(other.parts.loads, self._parts.loads)
        self.counters.assign(other.counters.copied(torques))

    def _take_whole(self, other: Engine) -> None:
        """Go on, with each unit by itself, from a system of all units."""
        rows = self._rows_of(other)
        for one in self._singles:
            one.begin_anew(other.counters.start_time)
            take_unit(other.parts, rows[one.units[0]], one.engine.parts, one.rows[one.units[0]])
            one.go_on(other.counters.steps)
        self.patience, self._fresh = Patience(), False
        self._arrange(self._singles)
        if self.sleep is not None:
            self.sleep.clear()
        self.refresh()

    def give(self, other: Engine) -> None:
        """Let a system of all units go on from here."""
        rows = self._rows_of(other)
        begin_anew(other, self.counters.start_time)
        for one in self.islands:
            for unit in one.units:
                take_unit(one.engine.parts, one.rows[unit], other.parts, rows[unit])
        assign_all(self._parts.loads, other.parts.loads)
        other.begin_rates()

    def _rows_of(self, other: Engine) -> dict[int, Rows]:
        """Rows of all units in the arrays of a system of all units."""
        _, places = islands_made(self.elements, range(len(self.robot.bodies)))
        return dict(rows_of(other.parts, places, self._unit_of, self._unit_of_joint))

    def be_in(self, islands: Sequence[tuple[int, ...]], patience: Any, sleep: Any) -> None:
        """Let islands of these units make up the world, before their states are copied.

        Raises
        ------
        ValueError
            For units that this world does not have, or that are in no island, or in several.
        """
        if sorted(u for units in islands for u in units) != list(range(len(self.units))):
            raise ValueError(f"islands {islands} in place of {len(self.units)} units")
        self.patience = Patience.of(patience)
        self._arrange([self._found(tuple(sorted(units))) for units in islands])
        if self.sleep is not None:
            self.sleep.assign(sleep)
        self._fresh = True

    def one_system(self) -> Engine:
        """An engine that solves all units together, at home."""
        solver = self._solver or usual_solver(self.robot, self._velocity_limits)
        may_switch = self._solver is None and solver == "articulated"
        more = self._options, False, self._velocity_limits
        return Engine(self.robot, self._facets, solver, may_switch, *more)

    @property
    def kinds(self) -> tuple[int, ...]:
        """The kinds of parts of each unit by itself."""
        return tuple(one.engine.handle.kind for one in self._singles)

    def model_of(self, robot: Mechanism) -> Model:
        """What users see of the model of a mechanism that differs in its numbers only."""
        return compile_model(without_pairs(robot), self._facets, False, self._velocity_limits)

    @property
    def model_at_home(self) -> Model:
        """What users see of the model, whatever the units are solved by."""
        return self._model

    def changed(self, robot: Mechanism, model: Model) -> Worlds:
        """An engine for a mechanism with this `model_of`, which shows the same state, at home."""
        self.refuse_if_busy()
        given = self._facets, self._solver, self._options, self._velocity_limits
        other = Worlds(robot, *given, self.threads, self._rest)
        other._model = model
        other._begin(self._parts.state, loads_of(model, self._options))
        return other

    def with_robot(self, robot: Mechanism) -> Engine:
        """An engine for a mechanism that differs in its numbers only, as one system, at home."""
        return self.one_system().with_robot(robot)


def without_pairs(robot: Mechanism) -> Mechanism:
    """A mechanism whose shapes touch nothing."""
    return replace(robot, contact_pairs=(), excluded_pairs=(), obstacles=(), self_collision=False)
