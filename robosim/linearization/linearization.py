"""Derivatives of steps, by numbers that carry them through the step's own equations.

A step from a start at (q, v) is taken with dual numbers (`robosim.kernels.compiler.duals`), which
carry derivatives in seven directions at a time. The last iteration of Newton's method, with its own
factors, gives the solution the derivatives of the implicit function theorem. So contacts, friction,
limits, loops, servos and the read-out of velocities are differentiated without further equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.compiled.model import Model
from robosim.control.controllers import PD
from robosim.control.pd import check_motors
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, ConvergenceError, ModelError, OptionError
from robosim.kernels.compiler.duals import DIRECTIONS
from robosim.kernels.status import CONVERGED
from robosim.linearization.linearized import ByModel, Given, Solved, Step, contact_modes
from robosim.linearization.linearizer import (
    ContactMode,
    Linearizable,
    Linearization,
    Linearizer,
    stacked,
)
from robosim.linearization.parameters import slopes_of, with_present
from robosim.linearization.worlds import WorldLinearizer
from robosim.runtime.adjoint import Backward
from robosim.runtime.duals import DualStep, StartRow, assign_numbers
from robosim.runtime.handles import Handle
from robosim.simulation.notices import Silence
from robosim.simulation.simulation import Simulation
from robosim.simulation.start import Start
from robosim.simulation.worlds import Worlds
from robosim.validation import Array

SMOOTHER = 10.0  # contacts for derivatives, where those of a step are not found
FEWEST = 8  # states that are worth a thread of their own
Worker = TypeVar("Worker")
Row = TypeVar("Row")
T = TypeVar("T")


# The simulations whose steps have derivatives.
Differentiable: TypeAlias = Simulation | Linearizable


class Several(Protocol):
    """Simulations in a row, as a `BatchSimulation` has them."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


def linearize(
    sim: Differentiable | Several,
    torques: ArrayLike | None = None,
    controller: PD | None = None,
    parameters: Sequence[str] = (),
    contact_speed: float | None = None,
) -> Linearization:
    """Linearize the next step of a simulation, from a start at its q and v.

    Units of a world that do not meet in the step have their derivatives by themselves, as islands,
    unless the simulation solves them together (``islands=False``).

    Parameters
    ----------
    sim : Simulation, MinimalSimulation, BatchSimulation, or a sequence of simulations of one robot
        The simulation is not changed. For several states, all arrays have a leading axis over the
        states, and `contacts` is one tuple per state.
    torques : (nu,) or (nv,) or None
        Constant over the step; None for those of the last step (`sim.torques`), or zero with a
        controller. For several simulations also (n, nu) or (n, nv).
    controller : PD or None
        Included in the step: A is that of the closed loop.
    parameters : names
        See `robosim.derivatives.PARAMETERS`.
    contact_speed : float or None [m/s]
        Smoothing of contacts: the relaxation of closed contacts. Derivatives are those of the
        relaxed problem; None for the simulation's own value, which is very small by default. Not
        for a MinimalSimulation, which has no contacts.

    Raises
    ------
    ConvergenceError
        If the step cannot be solved; for several states with the index of the first failed one.
    ModelError
        For a joint with a bearing.
    OptionError
        For a parameter that is unknown or not part of the equations, or an argument that is not a
        simulation.
    ControllerError
        For torques of a wrong shape, or a PD for another robot.
    """
    check_derivatives(contact_speed)
    if not (controller is None or isinstance(controller, PD)):
        raise OptionError(f"controller must be a PD or None, not {type(controller).__name__}")
    given = contact_speed, tuple(parameters), controller is not None
    one: Any = sim
    if _is_simulation(one):
        return linearizer_of(one, *given).at(one, torques, controller)
    found = _of_several(one, given, torques, controller, stacks=True)
    return found if isinstance(found, Linearization) else stacked(refuse_failed(found))


def linearize_each(
    sims: Several, torques: ArrayLike | None, contact_speed: float | None = None
) -> list[Linearization | ConvergenceError]:
    """As `linearize` of several simulations, each by itself, or what has failed in its place."""
    check_derivatives(contact_speed)
    found = _of_several(sims, (contact_speed, (), False), torques, None)
    assert isinstance(found, list)
    return found


def linearize_rows(
    sim: Simulation,
    q: Array,
    v: Array,
    torques: Array,
    times: Array,
    contact_speed: float | None,
    threads: int = 1,
) -> list[Linearization | ConvergenceError]:
    """As `linearize_each`, of states q (n, nq), v (n, nv) that a simulation has been at."""
    workers: list[Any] = [
        linearizer_of(sim, contact_speed, (), False, worker=k)
        for k in range(threads_for(len(q), threads))
    ]

    def take(
        worker: MaximalLinearizer, rows: Sequence[tuple[Any, ...]]
    ) -> list[Linearization | ConvergenceError]:
        return worker.of_rows(sim, *(np.array(part) for part in zip(*rows, strict=True)))

    return side_by_side(workers, list(zip(q, v, torques, times, strict=True)), take)


def refuse_accuracy(sim: Simulation) -> None:
    """Refuse derivatives of steps that are as short as their accuracy asks for."""
    if sim.options["accuracy"] is not None:
        raise OptionError(
            "derivatives are of steps of one length: linearize a simulation without an accuracy, "
            "such as Simulation(robot, **(sim.options | {'accuracy': None}))"
        )


def refuse_failed(found: Sequence[T | ConvergenceError]) -> list[T]:
    """All that were found; raises what has failed, with the number of its state."""
    solved: list[T] = []
    for state, one in enumerate(found):
        if isinstance(one, ConvergenceError):
            raise one.of_state(state)
        solved.append(one)
    return solved


def smoothed(
    find: Callable[[float], T | ConvergenceError], contact_speed: float, error: ConvergenceError
) -> T:
    """What `find` gives for contacts `SMOOTHER` times as smooth, where a step has no derivatives.

    Raises
    ------
    ConvergenceError
        The given one, if they do not help.
    """
    found = find(SMOOTHER * contact_speed)
    if isinstance(found, ConvergenceError):
        raise error
    return found


def _of_several(
    one: Any,
    given: tuple[float | None, tuple[str, ...], bool],
    torques: Any,
    controller: PD | None,
    stacks: bool = False,
) -> list[Linearization | ConvergenceError] | Linearization:
    """Of each of several simulations, or what has failed; with `stacks` as one if none has."""
    sims = [one[i] for i in range(len(one))] if hasattr(one, "__getitem__") else None
    if not sims or not all(map(_is_simulation, sims)):
        raise OptionError(
            "linearize takes a Simulation, a MinimalSimulation, a BatchSimulation or a sequence of "
            f"simulations, not {type(one).__name__}{' without any' if sims == [] else ''}"
        )
    first, rows = sims[0], _rows_for(len(sims), torques)
    if all(first.is_like(each) for each in sims):
        threads = threads_for(len(sims), getattr(one, "threads", 1))
        if stacks and controller is None:
            whole = _whole(sims, given, threads, rows)
            if whole is not None:
                return whole
        return _of_alike(sims, given, threads, rows, controller)
    found = []
    for each, tau in zip(sims, rows, strict=True):
        found += linearizer_of(each, *given).of_all((each,), (tau,), controller)
    return found


def check_derivatives(contact_speed: float | None) -> None:
    """Refuse derivatives that cannot be had."""
    if contact_speed is not None and not contact_speed > 0.0:
        raise OptionError(f"contact_speed must be positive, not {contact_speed!r} m/s")


def _rows_for(n: int, torques: Any) -> list[Any]:
    """Torques of each of n simulations; `check_torques` looks at their widths."""
    array = torques if isinstance(torques, np.ndarray) else np.asarray(torques, dtype=object)
    if array.ndim != 2:
        return [torques] * n
    if len(array) != n:
        raise ControllerError(f"linearize was given {len(array)} rows of torques for {n} states")
    return list(array)


def _is_simulation(value: Any) -> bool:
    return isinstance(value, Simulation) or hasattr(value, "linearizer")


def _of_alike(
    sims: Sequence[Differentiable],
    given: tuple[float | None, tuple[str, ...], bool],
    threads: int,
    torques: list[Any],
    controller: PD | None,
) -> list[Linearization | ConvergenceError]:
    """Of simulations that are alike, by threads that have memory of their own."""
    workers = [linearizer_of(sims[0], *given, worker=k) for k in range(threads)]

    def take(
        worker: Linearizer[Any], rows: Sequence[tuple[Any, Any]]
    ) -> list[Linearization | ConvergenceError]:
        some, forces = zip(*rows, strict=True)
        return worker.of_all(some, forces, controller)

    return side_by_side(workers, list(zip(sims, torques, strict=True)), take)


def _whole(
    sims: Sequence[Any],
    given: tuple[float | None, tuple[str, ...], bool],
    threads: int,
    torques: list[Any],
) -> Linearization | None:
    """Of simulations that are alike, as one; None if that takes more than trees and torques do."""
    workers = [linearizer_of(sims[0], *given, worker=k) for k in range(threads)]
    first = workers[0]
    if not (isinstance(first, MaximalLinearizer) and first.is_simple):
        return None
    simple = cast(list[MaximalLinearizer], workers)
    if all(tau is torques[0] for tau in torques) and torques[0] is not None:
        forces = [first.forces(sims[0], torques[0])] * len(sims)
    else:
        forces = [first.forces(sim, tau) for sim, tau in zip(sims, torques, strict=True)]
    for worker in simple:
        worker.make_ready()
    n, (nq, nv), nu = len(sims), first.widths, first.robot.nu
    whole = Linearization(
        np.empty((n, nq)), np.empty((n, nv)), np.empty((n, 2 * nv, 2 * nv)),
        np.empty((n, 2 * nv, nu)), np.zeros((n, 2 * nv, 0)), first.inputs, (),
        partial(_modes_of_parts, first.robot, []),
    )  # fmt: skip
    ends = np.linspace(0, n, threads + 1).astype(int).tolist()
    parts = [
        partial(worker.fill, sims[begin:end], forces[begin:end], whole, begin)
        for worker, (begin, end) in zip(simple, pairwise(ends), strict=True)
    ]
    if threads == 1:
        found = [parts[0]()]
    else:
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(part) for part in parts[1:]]
            found = [parts[0](), *(other.result() for other in others)]
    if any(part is None for part in found):
        return None
    return replace(whole, modes=partial(_modes_of_parts, first.robot, found))


def _modes_of_parts(robot: Mechanism, parts: list[Any]) -> tuple[tuple[ContactMode, ...], ...]:
    """Contacts of states, from a model, their contacts and the numbers of these of each part."""
    return tuple(
        contact_modes(robot, model, row[:count])
        for model, contacts, counts in parts
        for row, count in zip(contacts, counts.tolist(), strict=True)
    )


def threads_for(n: int, threads: int) -> int:
    """How many threads so many states are worth."""
    return max(1, min(threads, n // FEWEST))


def side_by_side(
    workers: Sequence[Worker], rows: Sequence[Row], take: Callable[[Worker, Sequence[Row]], list[T]]
) -> list[T]:
    """What `take` finds of all rows, by workers in threads that have a part of the rows each."""
    if len(workers) == 1:
        return take(workers[0], rows)
    # The first one by itself, as what it compiles is the same for all.
    found = take(workers[0], rows[:1])
    ends = np.linspace(1, len(rows), len(workers) + 1).astype(int).tolist()
    with ThreadPoolExecutor(len(workers)) as pool:
        jobs = [
            pool.submit(take, worker, rows[begin:end])
            for worker, (begin, end) in zip(workers, pairwise(ends), strict=True)
        ]
        for job in jobs:
            found += job.result()
    return found


def linearizer_of(
    sim: Differentiable,
    contact_speed: float | None,
    parameters: tuple[str, ...],
    pd: bool,
    worker: int = 0,
) -> Linearizer[Any]:
    """Memory for derivatives of simulations as this one, made once for each worker."""
    known = _LINEARIZERS.setdefault(sim.engine, {})
    key = contact_speed, parameters, pd
    robot, found = known.get((*key, worker), (None, None))
    if found is None or robot is not sim.robot:  # states of a batch may be given other robots
        made: Linearizer[Any]
        if not isinstance(sim, Simulation):
            made = sim.linearizer(*key)
        elif isinstance(cast(Any, sim.engine), Worlds):
            made = WorldLinearizer(sim, *key, MaximalLinearizer)
        else:
            made = MaximalLinearizer(sim, *key)
        known[*key, worker], found = (sim.robot, made), made
    return found


_LINEARIZERS: WeakKeyDictionary[Any, dict[Any, tuple[Mechanism, Linearizer[Any]]]] = (
    WeakKeyDictionary()
)


class MaximalLinearizer(Linearizer[Simulation]):
    """Memory for the derivatives of a `Simulation`'s steps; `of_pd` as for `DualStep`."""

    def __init__(
        self,
        sim: Simulation,
        contact_speed: float | None,
        parameters: tuple[str, ...],
        pd: bool,
        of_pd: int = 0,
    ) -> None:
        refuse_accuracy(sim)
        for joint in sim.robot.joints:
            if joint.bearing is not None:
                raise ModelError(
                    "has a bearing, whose bound derivatives of steps do not follow: leave the "
                    "bearing out, or give the joint constant friction",
                    element=f"joint '{joint.name}'",
                )
        robot = with_present(sim.robot, parameters)
        self._twin = sim.one_system() if robot is sim.robot else sim.with_robot(robot)
        engine = self._twin.engine
        engine.notices = Silence()  # what there is to say, the simulation has said
        if contact_speed is not None:
            options = engine.parts.options._replace(contact_speed=float(contact_speed))
            engine.hand_over(engine.parts._replace(options=options))
        self.contact_speed = float(engine.parts.options.contact_speed)
        super().__init__(robot, parameters, slopes_of(robot, engine.model_of, parameters))
        self.inputs = tuple(robot.actuated_names)
        self._widths = robot.nq, robot.nv, robot.v_offsets[-1]
        self._closes = bool(
            robot.loop_joints or robot.couplings or len(engine.parts.loads.motion) > 0
        )
        self._arc = sim.timestep if engine.parts.options.order == 2 else 0.0
        # A start puts joints with a motion where that says, wherever it is asked to.
        begins = zip(robot.tree_joints, robot.v_offsets, strict=False)
        driven = [v + row for joint, v in begins if joint.motion for row in range(joint.nv)]
        self._driven = np.array([*driven, *(robot.nv + v for v in driven)], dtype=np.int64)
        held = self._twin.held
        self._gains = held.no_gains.copy() if pd else held.no_gains[:0]
        self._of_pd = of_pd
        # By what steps are solved with: another solver, or blocks of other pairs of bodies.
        self._by_model: dict[int, ByModel] = {}
        self._last: tuple[DualStep, Handle] | None = None
        parts = engine.parts
        self.is_simple = not (
            self._closes or parameters or driven or len(self._gains) or len(parts.loads.controls)
            or len(parts.model.collision.pairs)
        )  # fmt: skip
        self._without = np.zeros((2 * robot.nv, 0))  # derivatives by no parameters
        self._backward: Backward | None = None

    def at(
        self, sim: Simulation, torques: ArrayLike | None, controller: PD | None
    ) -> Linearization:
        """See `Linearizer`."""
        if self.is_simple and torques is None:
            quick = self._simply(sim)
            if quick is not None:
                return quick
        (found,) = self.of_given((self._given(sim, torques, controller),))
        if isinstance(found, ConvergenceError):
            raise found
        return self._told(found, shared=False)

    @property
    def widths(self) -> tuple[int, int]:
        """Numbers in q and in v."""
        return self._widths[0], self._widths[1]

    def forces(self, sim: Simulation, torques: ArrayLike | None) -> Array:
        """Forces on all coordinates over the step; None for those of the last step."""
        return sim.torques if torques is None else self._forces(sim, torques, None)

    def make_ready(self) -> None:
        """Compile what takes steps, if that has not been done."""
        self._steps().by_state.make_ready()

    def fill(
        self, sims: Sequence[Simulation], forces: Sequence[Array], whole: Linearization, begin: int
    ) -> tuple[Model, NDArray[np.void], NDArray[np.int64]] | None:
        """Rows of a whole, from one on; their contacts, or None if any step cannot be solved."""
        if self._twin.engine.counters.away:
            return None
        step, n = self._steps().by_state, len(sims)
        starts, (nq, nv, _) = step.starts(n), self._widths
        values = starts.values
        for row, sim, tau in zip(step.rows(starts), sims, forces, strict=True):
            self._set(row, sim, tau)
        values.solved.fill(0)
        step.take(starts, self._arc)
        self._last = step, starts
        if (values.status != CONVERGED).any():
            return None
        rows = slice(begin, begin + n)
        whole.q[rows], whole.v[rows] = values.ends[:, :nq], values.ends[:, nq:]
        whole.A[rows], whole.B[rows] = (
            values.changes[:, :, : 2 * nv],
            values.changes[:, :, 2 * nv :],
        )
        most = max(values.count.tolist())
        return self._twin.parts.model, values.contacts[:, :most].copy(), values.count.copy()

    def _set(self, row: StartRow, sim: Simulation, tau: Array) -> None:
        """Let a step begin where a simulation is, under forces on all coordinates."""
        engine, (nq, nv, _) = sim.engine, self._widths
        state = engine.state
        row.q[:], row.v[:], row.torques[: len(tau)] = state.q[:nq], state.v[:nv], tau
        row.external[:] = engine.parts.loads.external["w"]

    def _simply(self, sim: Simulation) -> Linearization | None:
        """A step under the torques of the last one, in less Python; None if it cannot be solved.

        For trees without anything else that acts.
        """
        if self._twin.engine.counters.away:
            return None
        step = self._steps().by_state
        starts, (nq, nv, _) = step.starts(1), self._widths
        (row,), values = step.rows(starts), starts.values
        self._set(row, sim, sim.torques)
        values.solved[0] = 0
        step.take(starts, self._arc)
        self._last = step, starts
        if values.status[0] != CONVERGED:
            return None
        ends, changes = values.ends[0].copy(), values.changes[0].copy()
        return Linearization(
            ends[:nq],
            ends[nq:],
            changes[:, : 2 * nv],
            changes[:, 2 * nv :],
            self._without,
            self.inputs,
            (),
            partial(contact_modes, self.robot, *self._contacts(starts, 0)),
        )

    def of_all(
        self,
        sims: Sequence[Simulation],
        torques: Sequence[ArrayLike | None],
        controller: PD | None,
    ) -> list[Linearization | ConvergenceError]:
        """See `Linearizer`."""
        each = list(zip(sims, torques, strict=True))
        controls = sims[0].parts.loads.controls
        if len(sims) > 1 and len(controls) > 0:
            # All that are taken in one call have the same controls.
            return super().of_all(sims, torques, controller)
        same = all(tau is torques[0] for tau in torques) and torques[0] is not None
        forces = self._forces(sims[0], torques[0], controller) if same else None
        given = [self._given(sim, tau, controller, forces) for sim, tau in each]
        return [
            one if isinstance(one, ConvergenceError) else self._told(one)
            for one in self.of_given(given)
        ]

    def of_rows(
        self, sim: Simulation, q: Array, v: Array, torques: Array, times: Array
    ) -> list[Linearization | ConvergenceError]:
        """As `of_all`, of states q (n, nq), v (n, nv) of a simulation that need no start there."""
        forces = np.zeros((len(q), self._widths[2]))
        forces[:, sim.robot.actuated] = torques
        loads = sim.parts.loads
        # A start removes external forces.
        held = np.zeros_like(loads.external["w"]), self._gains, loads.controls
        rows = zip(q, v, forces, times.tolist(), strict=True)
        found = self.of_given([Given(*row[:3], held[0], held[1], row[3], held[2]) for row in rows])
        return [one if isinstance(one, ConvergenceError) else self._told(one) for one in found]

    def of_given(self, given: Sequence[Given]) -> list[Step | ConvergenceError]:
        """Steps from some starts, in one call of compiled code where that can take all of them.

        All have the same controls. In the place of one that has failed there is what it has failed
        with.
        """
        self._act(given[0])
        if self._closes:
            return [self._tried(one) for one in given]
        self._begin(given[0].time)
        steps = self._steps()
        starts = self._take(steps.by_state, given)
        self._last = steps.by_state, starts
        others = [self._take(other, given) for other in steps.by_parameters]
        if len(given) == 1 and not others:
            solved = starts.values.status[0] == CONVERGED
            return [self._read(starts, others) if solved else self._tried(given[0])]
        status = [one.values.status.tolist() for one in (starts, *others)]
        solved = [all(one == CONVERGED for one in each) for each in zip(*status, strict=True)]
        found = {i: self._read(starts, others, i) for i, is_found in enumerate(solved) if is_found}
        # Those that have failed are taken once more by themselves, which tells what they fail with.
        return [found[i] if solved[i] else self._tried(one) for i, one in enumerate(given)]

    def placed(self, q: Array, v: Array, time: float) -> Array:
        """Centres of mass (nb, 3) at a start, by the coordinates of the tree."""
        assert isinstance(self._twin.start, Start)  # of one system
        self._twin.start.place(q, v, time)
        return self.centres()

    def centres(self) -> Array:
        """Centres of mass (nb, 3) where the last step in plain numbers has ended."""
        return self._twin.engine.parts.state.bodies["x"].copy()

    def backward(self, time: float) -> Backward | None:
        """What passes derivatives back through steps, if the steps of this model have closed forms.

        From the first solver and system, as `of_given` begins.
        """
        if self._closes or self._of_pd > 1:
            return None
        self._begin(time)
        step = self._steps().by_state
        if not Backward.may_take(self.robot, step):
            return None
        if self._backward is None:
            self._backward = Backward(step)
        return self._backward

    @property
    def arc(self) -> float:
        """The length [s] that velocities at a start are measured over, or zero."""
        return self._arc

    @property
    def contact_model(self) -> Model:
        """What the numbers of contacts refer to."""
        return self._twin.parts.model

    def _begin(self, time: float) -> None:
        """Go back to the first solver and system, if steps may have left these."""
        engine = self._twin.engine
        if engine.counters.away or len(engine.parts.model.collision.pairs):
            engine.start_anew(time)

    def _tried(self, given: Given) -> Step | ConvergenceError:
        """One step, or what it fails with."""
        try:
            return self._one(given)
        except ConvergenceError as error:
            return error

    def end(
        self, sim: Simulation, torques: ArrayLike | None, controller: PD | None
    ) -> tuple[Array, Array, tuple[ContactMode, ...]]:
        """Where the step leads, as `at` has it, and its contacts, without derivatives."""
        given = self._given(sim, torques, controller)
        if not self._closes:
            self._begin(given.time)
        starts = None if self._closes else self._take(self._steps().plain, (given,))
        if starts is None or starts.values.status[0] != CONVERGED:
            solved = self._solve(given)
            starts = self._take_solved(self._steps().plain, solved)
        ends, nq = starts.values.ends[0].copy(), self.robot.nq
        return ends[:nq], ends[nq:], contact_modes(self.robot, *self._contacts(starts, 0))

    def repeat(self) -> bool:
        """See `Linearizer`."""
        assert self._last is not None
        step, starts = self._last
        step.take(starts, self._arc)
        return bool(starts.values.status[0] == CONVERGED)

    def _given(
        self,
        sim: Simulation,
        torques: ArrayLike | None,
        controller: PD | None,
        forces: Array | None = None,
    ) -> Given:
        """Where a step begins; `forces` are the torques if they have been checked."""
        gains = self._gains.copy() if len(self._gains) else self._gains
        if controller is not None:
            check_motors(controller, self.robot)
            gains[:] = controller.gains
            controller.aim(gains, sim.time)
        if forces is not None:
            full = forces
        elif torques is None and controller is None:
            full = sim.torques  # which have been checked
        else:
            full = self._forces(sim, torques, controller)
        engine, (nq, nv, _) = sim.engine, self._widths
        loads, state = engine.parts.loads, engine.state
        q, v, external = state.q[:nq], state.v[:nv], loads.external["w"]
        return Given(q, v, full, external, gains, engine.time, loads.controls)

    def _act(self, given: Given) -> None:
        """Let the twin's implicit actuators act as those that are asked for."""
        held = self._twin.parts.loads.controls
        if len(held) and given.controls is not None:
            held[:] = given.controls

    def _one(self, given: Given) -> Step:
        """One whose plain step takes more than compiled code: loops to close, another solver."""
        solved = self._solve(given)
        steps = self._steps()
        starts = self._take_solved(steps.by_state, solved)
        self._last = steps.by_state, starts
        others = [self._take_solved(other, solved) for other in steps.by_parameters]
        return self._read(starts, others)

    def _steps(self) -> ByModel:
        """What takes steps of the model that the twin is at."""
        engine = self._twin.engine
        parts = engine.parts
        if id(parts.model) not in self._by_model:
            make = partial(
                DualStep, engine.handle, self.robot, gains=self._gains, closes=self._closes,
                of_pd=self._of_pd,
            )  # fmt: skip
            others = []
            for begin in range(0, len(self.parameters), DIRECTIONS):
                other = make(directions=DIRECTIONS)
                for k, slopes in enumerate(self._slopes[begin : begin + DIRECTIONS]):
                    assign_numbers(parts.model, other.parts.model, slopes, k)
                contacts = other.parts.model.contacts
                other.parts.work.slots[: len(contacts)] = contacts
                others.append(other)
            by_state, plain = make(directions=None), make(directions=1)
            self._by_model[id(parts.model)] = ByModel(parts.model, by_state, plain, others)
        return self._by_model[id(parts.model)]

    def _take_solved(self, step: DualStep, solved: Solved) -> Handle:
        """A step along all directions whose plain step has been taken."""
        starts = self._take(step, (solved.given,), solved)
        if starts.values.status[0] != CONVERGED:
            info = step.parts.info
            raise ConvergenceError(
                solved.given.time,
                float(info["residual"][0, 0]),
                int(info["iterations"][0]),
                int(info["substeps"][0]),
                self.robot.bodies[int(info["worst_body"][0])].name,
                "It was solved, but not with its derivatives: try a larger contact_speed.",
            )
        return starts

    def _take(self, step: DualStep, given: Sequence[Given], solved: Solved | None = None) -> Handle:
        """Steps along all directions; `status` of the starts tells what has become of them."""
        starts, on = step.starts(len(given)), step.parts
        values = starts.values
        for row, one in zip(step.rows(starts), given, strict=True):
            row.q[:], row.v[:] = one.q, one.v
            if len(one.torques) < len(row.torques):
                row.torques[len(one.torques) :] = 0.0  # forces on joints that close loops
                row.torques[: len(one.torques)] = one.torques
            else:
                row.torques[:] = one.torques
            row.external[:] = one.external
            if len(one.gains):
                row.gains[:] = one.gains
        values.solved.fill(0)
        if solved is not None:
            values.solved[:], values.divided[:], on.mid[:] = 1, solved.substeps, solved.mid
            if self._closes:
                held, goal, rate = self._twin.start.fixed(given[0].time)
                on.held[:] = held
                assign_numbers(goal, on.goal)
                assign_numbers(rate, on.rate)
        step.take(starts, self._arc)
        return starts

    def _contacts(self, starts: Handle, i: int) -> tuple[Model, NDArray[np.void]]:
        """What the modes of contacts follow from."""
        values = starts.values
        return self._twin.parts.model, values.contacts[i, : values.count[i]].copy()

    def _read(self, starts: Handle, others: Sequence[Handle], i: int = 0) -> Step:
        """What a step along all directions has come to."""
        values, by = starts.values, np.zeros((0, 2 * self._widths[1]))
        if others:
            rows = [other.values.changes[i].T for other in others]
            by = np.concatenate(rows)[: len(self.parameters)]
        # Steps that are taken one by one share their memory.
        changes = (values.changes[i] if len(values.status) > 1 else values.changes[i].copy()).T
        if len(self._driven):
            changes[self._driven] = 0.0
        return Step(values.ends[i].copy(), changes, by, self._contacts(starts, i))

    def _told(self, step: Step, shared: bool = True) -> Linearization:
        """What a step has come to; of several, which share their memory, with a copy of it."""
        robot, nq, base = self.robot, self._widths[0], 2 * self._widths[1]
        changes = step.changes.T.copy() if shared else step.changes.T
        return Linearization(
            step.ends[:nq],
            step.ends[nq:],
            changes[:, :base],
            changes[:, base:],
            step.by.T.copy(),
            self.inputs,
            self.parameters,
            partial(contact_modes, robot, *step.contacts),
        )

    def _solve(self, given: Given) -> Solved:
        """The plain step by itself; where it begins has loops closed."""
        twin = self._twin
        if self._closes:
            twin.set_state(given.q, given.v, time=given.time)
            given = given._replace(q=twin.q, v=twin.v)
        else:
            assert isinstance(twin.start, Start)  # of one system
            twin.start.place(given.q, given.v, given.time)
        begin = twin.parts.state.joints["mid"].copy()
        twin.parts.loads.external["w"] = given.external
        self._act(given)
        if len(given.gains) == 0:
            # Without a look at how the step begins, which is where another one has ended.
            engine = twin.engine
            twin.held.hold(given.torques[: self.robot.nv], "linearize was given")
            if len(twin.parts.loads.motion):
                engine.single.values.motions[:] = twin.motions_ahead(1)
            engine.advance_once(engine.single)
        else:
            twin.run(twin.timestep, PD.with_gains(given.gains))
        assert twin.engine.counters.last is not None
        infos, row = twin.engine.counters.last
        substeps = int(infos["substeps"][row])
        if substeps > twin.parts.options.max_substeps:
            raise ConvergenceError(
                given.time,
                float(infos["residual"][row]),
                int(infos["iterations"][row]),
                substeps,
                self.robot.bodies[int(infos["worst_body"][row])].name,
                "It was solved in parts of several lengths, of which there are no derivatives.",
            )
        return Solved(given, begin, substeps)
