"""Many simulations at once: independent states, stepped by threads without the interpreter's lock.

Each state has its own contacts, controls and, if need be, parameters. Groups of eight consecutive
states are stepped together in the lanes of vector registers (`robosim.batch.group`). Threads share
no memory that is written, so that results are bit-identical for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch.apart import SteppingApart
from robosim.batch.arguments import (
    Index,
    apart,
    check_structure,
    chosen_states,
    is_apart,
    model_of,
    robots_of,
    rows_of,
)
from robosim.batch.beside import lanes_now
from robosim.batch.bound import Bound
from robosim.batch.buffers import BatchBuffers, BufferCache
from robosim.batch.casting import Casting
from robosim.batch.controls import Controls, by_state, by_step, controls
from robosim.batch.periodic import periodic_rollout
from robosim.batch.rollout import Rollout
from robosim.batch.starts import Starts, starts_at
from robosim.batch.stepping import Stepping
from robosim.batch.taping import check_taped, taped
from robosim.compiled.model import Model
from robosim.compiled.state import State
from robosim.control.periodic import Periodic
from robosim.description.mechanism import Mechanism
from robosim.errors import ControllerError, OptionError, StateError
from robosim.rays.hits import Hits
from robosim.rays.sensing import Readings, Samples, ray_sensor
from robosim.runtime.background import cores
from robosim.simulation import Simulation
from robosim.simulation.diagnosis import refuse_starts
from robosim.validation import count, read_only

Array = NDArray[np.float64]

KEPT = 256  # models of recent robots; making one takes 5 ms


class BatchSimulation:
    """n independent simulations, stepped in parallel.

    Parameters
    ----------
    robot : Mechanism, or a sequence of n of them
        Robots of a sequence must differ in numbers only, such as masses, friction or limits.
    n : int or None, number of states; for a sequence, its length
    timestep, gravity, **options
        As for `Simulation`.
    threads : int or None
        Number of threads; None: as many as there are cores.
    lanes : bool or "later"
        Whether to step eight states at a time in SIMD lanes if the robot allows it, which is three
        times as fast. Each state then agrees with a `Simulation` within the tolerance. If False,
        each state is stepped by itself, bit-identical to a `Simulation`. "later": as False until
        another process has compiled the kernels for lanes, then as True.
    islands : bool
        Whether units of a world that are apart are solved by themselves in each state, as
        `Simulation` does, and to the same bits. Such states are not in lanes, and have no tapes. By
        default all units of a state are solved together: ``Simulation(..., islands=False)`` is
        equal then. Without effect on robots of one unit, unless islands `sleep`.

    Raises
    ------
    OptionError
        For an option that is not allowed, or robots that differ in more than numbers.
    """

    def __init__(
        self,
        robot: Mechanism | Sequence[Mechanism],
        n: int | None = None,
        timestep: float = 1e-3,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        *,
        threads: int | None = None,
        lanes: bool | str = True,
        islands: bool = False,
        **options: Any,
    ) -> None:
        options["islands"] = islands
        robots = robots_of(robot, n)
        if n is not None and len(robots) != n:
            raise OptionError(f"n is {n}, but there are {len(robots)} robots")
        self.threads = count("threads", cores() if threads is None else threads)
        self.n = len(robots)
        first = Simulation(robots[0], timestep, gravity, **options)
        self.robot, self._origin = first.robot, first
        # The states of all simulations share arrays, so that all q and v are read in one operation.
        parts: list[Any] = [
            None if array is None else apart(self.n, array) for array in first.parts.state
        ]
        self._states = State(*parts)
        self._sims: list[Simulation] = []
        made = {id(robots[0]): first}
        for i, one in enumerate(robots):
            if id(one) not in made:
                made[id(one)] = Simulation(one, timestep, gravity, **options)
                check_structure(made[id(one)], self._sims[0], i)
            mine: list[Any] = [None if array is None else array[i] for array in self._states]
            self._sims.append(made[id(one)].copy(State(*mine)))
            self._sims[i].number = i
        all_options = {"timestep": timestep, "gravity": gravity, **options}
        make = SteppingApart if is_apart(first) else Stepping
        now = lanes_now(lanes, robots, self._sims, all_options)
        self._stepping = make(self.robot, self._sims, self._states, self.threads, *now)
        self._memory = BufferCache(self._sims)
        self._casting = Casting(self._stepping)
        self._named: dict[str, Controls] = {}
        self._models: dict[int, tuple[Mechanism, Model]] = {}  # by the id of a robot
        self._linearizers: dict[Any, Any] = {}

    @property
    def lanes(self) -> bool:
        """Whether the next steps are taken in lanes, where the states allow it."""
        self._stepping.look()
        return self._stepping.lanes

    def __repr__(self) -> str:
        return f"<BatchSimulation of {self.n} {self.robot.name!r}, steps of {self.timestep:g} s>"

    @property
    def timestep(self) -> float:
        """Length of a step [s]."""
        return self._sims[0].timestep

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a BatchSimulation can be neither copied nor pickled: make another one, and set its "
            "states, or `restore` them from a Simulation"
        )

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Simulation:
        """The simulation of one state, mainly for reading; its steps move this state only."""
        if not isinstance(index, Integral) or isinstance(index, bool | np.bool_):
            raise TypeError(f"a state is chosen by its number, not by {index!r}")
        index = range(self.n)[int(index)]
        sim = self._stepping.alone(index)
        self._stepping.lent.add(index)
        self._stepping.recall(index)
        return sim

    def restore(self, simulation: Simulation, *, index: Index = None) -> None:
        """Copy the state of a simulation into these states; see `Simulation.restore`.

        Parameters
        ----------
        simulation : Simulation
            A simulation of the same `Mechanism`, with the same timestep, gravity and options.
        index : as for `set_state`

        Raises
        ------
        StateError
            If the simulation has another robot or other options.
        """
        chosen = chosen_states(index, self.n)
        for i in chosen:
            self._sims[i].check_alike(simulation)
        for i in chosen:
            self._stepping.alone(i, anew=True).restore(simulation)
            self._stepping.begin(i)

    @property
    def q(self) -> Array:
        """Joint coordinates (n, nq), a read-only copy."""
        return read_only(self._states.q[:, : self.robot.nq].copy())

    @property
    def v(self) -> Array:
        """Joint velocities (n, nv) at the knots, a read-only copy."""
        return read_only(self._states.v[:, : self.robot.nv].copy())

    @property
    def time(self) -> Array:
        """Times of the present knots (n,) [s], read-only."""
        return self._stepping.time

    def set_state(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        time: float = 0.0,
        *,
        index: Index = None,
    ) -> None:
        """Set coordinates q and velocities v of states; see `Simulation.set_state`.

        Parameters
        ----------
        q : (nq,) for all, (n, nq), or None for the home pose
        v : (nv,) for all, (n, nv), or None for rest
        time : float [s]
        index : int, sequence of int, mask (n,) of bool, or None
            The states to set, n of them; all if None.

        Raises
        ------
        StateError
            As for a single simulation, with the number of the state.
        """
        chosen = chosen_states(index, self.n)
        rows = [
            rows_of(name, value, width, len(chosen))
            for name, value, width in (("q", q, self.robot.nq), ("v", v, self.robot.nv))
        ]
        for i, q_i, v_i in zip(chosen, *rows, strict=True):
            try:
                self._stepping.alone(int(i), anew=True).set_state(q_i, v_i, time)
            except StateError as error:
                raise StateError(f"state {i}: {error}") from error
            self._stepping.begin(i)

    def place(self, q: ArrayLike | None = None, gap: float = 0.01, *, index: Index = None) -> None:
        """Place robots at rest, with lowest contacts a gap [m] above the ground; see
        `Simulation.place`.

        Parameters
        ----------
        q : (nq,) for all, (n, nq), or None for the home pose
        gap : float [m]
        index : as for `set_state`, which also lists the errors
        """
        chosen = chosen_states(index, self.n)
        for i, q_i in zip(chosen, rows_of("q", q, self.robot.nq, len(chosen)), strict=True):
            try:
                self._stepping.alone(i, anew=True).place(q_i, gap)
            except StateError as error:
                raise StateError(f"state {i}: {error}") from error
            self._stepping.begin(i)

    def set_robots(self, robots: Mechanism | Sequence[Mechanism], *, index: Index = None) -> None:
        """Replace the robots of states by robots that differ in numbers only, such as masses or
        friction.

        The states start again at their present q, v and time; the batch keeps its threads and
        memory. Simulations that `batch[i]` has returned before have the new robots. Starts that
        were prepared before can no longer be used.

        Parameters
        ----------
        robots : Mechanism for all k chosen states, or a sequence of k of them
        index : as for `set_state`

        Raises
        ------
        OptionError
            For a wrong number of robots, or a robot with another structure.
        StateError
            As for `set_state`; all states then have their robots again.
        """
        chosen = chosen_states(index, self.n)
        new_robots = [robots] * len(chosen) if isinstance(robots, Mechanism) else list(robots)
        if len(new_robots) != len(chosen):
            raise OptionError(f"there are {len(new_robots)} robots for {len(chosen)} states")
        made = [self._model_of(robot, i) for i, robot in zip(chosen, new_robots, strict=True)]
        changed: list[tuple[int, Mechanism, Model]] = []
        self._stepping.robots += 1
        try:
            for i, robot, model in zip(chosen, new_robots, made, strict=True):
                before = self._sims[i].robot, self._sims[i].engine.model_at_home
                self._change(i, robot, model)
                changed.append((i, *before))
        except StateError as error:
            for i, robot, model in changed:
                self._change(i, robot, model)
            raise StateError(f"state {chosen[len(changed)]}: {error}") from error

    def _change(self, i: int, robot: Mechanism, model: Model) -> None:
        """Change the robot of state i, at its present q and v."""
        sim = self._stepping.alone(i, anew=True)
        try:
            sim.change(robot, model)
        finally:
            self._stepping.changed(i)
            self._stepping.begin(i)

    def _model_of(self, robot: Mechanism, i: int) -> Model:
        """The model of a robot for state i; models of recent robots are kept."""
        kept = self._models.pop(id(robot), None)
        model = model_of(robot, self._sims[i], i) if kept is None else kept[1]
        self._models[id(robot)] = robot, model  # most recent last
        if len(self._models) > KEPT:
            del self._models[next(iter(self._models))]
        return model

    def prepare(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        time: float = 0.0,
        *,
        gap: float | None = None,
    ) -> Starts:
        """Compute starts once, for repeated use by `reset`.

        Parameters
        ----------
        q, v : (m, nq) and (m, nv), or (nq,) and (nv,) for all, or None
            As for `set_state`.
        time : float [s]
        gap : float or None [m]
            If given, robots are placed at rest with this gap, as `place` does.

        Raises
        ------
        StateError
            As for a single simulation, with the number of the start.
        OptionError
            If the states' robots differ.
        """
        origin, robot = self._origin, self._sims[0].robot
        if origin.robot is not robot:
            origin = origin.copy()
            origin.change(robot, origin.engine.model_of(robot))
        made = starts_at(origin, q, v, time, gap)
        return Starts(self._stepping, made, time if gap is None else 0.0)

    def reset(self, starts: Starts, which: ArrayLike = 0, *, index: Index = None) -> None:
        """Reset states to prepared starts, bit-identical to those of `set_state`.

        Parameters
        ----------
        starts : Starts, the result of `prepare` of this batch
        which : int, or (k,) of int, the start of each of the k states
        index : as for `set_state`

        Raises
        ------
        StateError
            For an unknown start or state, or starts of another batch.
        """
        if not isinstance(starts, Starts) or starts.stepping is not self._stepping:
            raise StateError("the starts were not prepared by this batch")
        if starts.robots != self._stepping.robots:
            raise StateError("the starts are of the robots before: prepare others")
        chosen = chosen_states(index, self.n)
        if chosen:
            starts.put(which, chosen)

    def rollout(
        self,
        steps: int,
        torques: ArrayLike | None = None,
        *,
        controller: Any = None,
        targets: ArrayLike | None = None,
        kp: ArrayLike | None = None,
        kd: ArrayLike | None = None,
        every: int = 1,
        tape: bool | str = False,
    ) -> Rollout:
        """Take steps of all states.

        Torques are added to those of a controller. A state whose step cannot be solved stops there
        and is flagged; the others continue.

        Parameters
        ----------
        steps : int
        torques : (nu,), (n, nu), (steps, nu) or (n, steps, nu), or None
            [N m or N], constant over each step. If n equals steps, a matrix has the shape (n, nu).
        controller : PD, sequence of n PD, a jitted function, a name, or None
            As for `Simulation.run`, but compiled. A `Gait` may have one row of parameters per
            state. A policy of `robosim.policies` acts for all states at once.
        targets : as torques, or None
            Targets [rad or m] instead of those of the PD.
        kp, kd : (nu,) or (n, nu), or None
            Gains instead of those of the PD; without a controller, gains of an explicit PD.
        every : int
            Number of steps between the states in the result, as for `Simulation.run`; the last
            state is always included.
        tape : bool, or "carried"
            Return a `TapedRollout`, which computes gradients; see docs/gradients.md.

        Raises
        ------
        ControllerError
            For a wrong shape, values that are not finite, a controller in Python, or a jitted
            controller with a tape.
        StateError, OptionError
            For a start that is not possible, a number of steps below one, an unknown tape, or a
            tape of islands.
        """
        steps, every = count("steps", steps), count("every", every)
        if isinstance(controller, Periodic):
            others = {"targets": targets, "kp": kp, "kd": kd, "a tape": tape}
            return periodic_rollout(self, steps, torques, controller, every, others)
        self._stepping.note_samples()
        self._stepping.count_all()
        for i in self._stepping.lent:
            self._stepping.count(i)
            self._stepping.take_up(i)
        refuse_starts(dict(enumerate(self._sims)))
        control, begin = self._controls_of(controller), self.time
        if tape:
            check_taped(tape, every, control, self._origin, self._stepping.is_apart)
        goals, rates = control.moving_targets(begin, steps, self.timestep)
        if targets is not None:
            goals = by_step("targets", targets, self.robot, self.n, steps)
        forces = None if torques is None else by_step("torques", torques, self.robot, self.n, steps)
        moving = goals is not None and goals.shape[1] > 1, rates is not None
        memory = self._memory.of(steps, moving, forces is not None, every)
        memory.anew = tape is True
        gains = memory.gains
        gains[:] = control.gains
        for name, value in (("kp", kp), ("kd", kd)):
            if value is not None:
                gains[name] = by_state(name, value, self.robot, self.n)
        if goals is not None:
            gains["target"] = goals[:, 0]
            if moving[0]:
                memory.targets[:] = goals
        if rates is not None:
            memory.rates[:] = rates
        memory.torques[:] = 0.0
        if forces is not None:
            memory.torques[:, :, self.robot.actuated] = forces
        memory.controllers[:], memory.starts[:, 0] = control.address, begin
        self._controls = control  # keeps compiled code in memory
        if memory.motions.shape[2]:
            for sim, out in zip(self._sims, memory.motions, strict=True):
                out[:] = sim.motions_ahead(steps)
        done = np.zeros(self.n, dtype=np.int64)
        try:
            knots = self._stepping.knots_of_samples(steps)
            self._stepping.run_sampled(memory, steps, done, knots)
        finally:
            self._stepping.recent = memory, done.copy()
            for i in self._stepping.lent:
                self._stepping.count(i)
        self._stepping.tell_of_turns(memory, begin, done)
        rollout = self._read(memory, steps, begin, done)
        more = self._origin, self._sims, self.threads, rollout, memory, self._linearizers
        return taped(*more) if tape else rollout

    def bind(
        self,
        steps: int = 1,
        *,
        controller: Any = None,
        bodies: bool = False,
        contacts: bool = False,
        also: str | Sequence[str] = (),
        limbs: bool = False,
    ) -> Bound:
        """Prepare a rollout of some steps for repeated use.

        The result has arrays that stay the same over all calls: write inputs into them, and read
        states from them. Each call of `Bound.step` is bit-identical to ``rollout(steps, ...)``,
        with a fraction of the overhead.

        Parameters
        ----------
        steps : int, number of time steps of each call
        controller : PD, sequence of n PD, a jitted function, a name, or None
            As for `rollout`, except for moving targets: write `Bound.targets` instead.
        bodies, contacts : bool
            Whether to read poses and velocities of the bodies, and forces of the contact points;
            see `Bound`.
        also : str or sequence of str
            Channels to evaluate after each call, as `Simulation.run` logs them: "sensors",
            "contacts", "frames", "joint_wrenches", or a single one, such as "sensor:gyro".
            Frames and kinematic sensors (poses, velocities, accelerations) are evaluated for all
            states at once. Forces and torques are evaluated state by state.
        limbs : bool
            Whether limbs of states that are in no group of eight are computed in SIMD lanes, as by
            `Simulation` with ``lanes=True``. Steps of such states then agree with those of
            `rollout` within the tolerance, not to the bit.

        Raises
        ------
        ControllerError
            For a controller in Python, or with targets that move.
        OptionError, ModelError
            For an unknown channel.
        """
        steps = count("steps", steps)
        control = self._controls_of(controller)
        if control.moving:
            raise ControllerError(
                "a bound run cannot follow targets that are functions of time: write them into "
                "`targets` before each step, or use rollout"
            )
        samples = self._samples
        return Bound(self._stepping, steps, control, bodies, contacts, also, samples, limbs)

    def cast(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        *,
        geometry: str = "collision",
        max_distance: float = np.inf,
        exclude: str | Iterable[str] = (),
    ) -> Hits:
        """Where rays of all states first meet a surface; see `Simulation.cast`.

        States do not meet each other. Threads share the states, or the rays of few states.

        Parameters
        ----------
        origins, directions : (n, k, 3), or (k, 3) or (3,) for all states [m], world
        geometry, max_distance, exclude : as for a single simulation

        Returns
        -------
        Hits
            Of arrays (n, k) and (n, k, 3), without the second axis if both arguments are (3,).

        Raises
        ------
        StateError, OptionError, ModelError
            As for a single simulation, with the number of the state.
        """
        return self._casting.cast(origins, directions, geometry, max_distance, exclude)

    def sensor(self, name: str) -> Array:
        """Readings of a sensor with rays in all states, (n, ...); see `Simulation.sample`.

        Samples of a sensor with a delay or a rate are taken at their knots, also within calls of
        several steps. Noise depends on the number of a state, so that state i reads what
        ``batch[i]`` would.

        Raises
        ------
        ModelError, StateError, OptionError
            As for a single simulation.
        """
        return np.array(self.readings(name).values)

    def readings(self, name: str) -> Readings:
        """The same as `sensor`, with the times of the samples and the poses of the sensor."""
        return self._samples().read(ray_sensor(self.robot, name))

    def number_states(self, numbers: ArrayLike) -> None:
        """Give states numbers (n,), on which noise of sensors with rays depends, not 0 to n - 1."""
        self._samples().numbers = np.broadcast_to(np.asarray(numbers, dtype=np.int64), self.n)

    def _samples(self) -> Samples:
        if self._stepping.samples is None:
            self._stepping.samples = Samples(self._casting, np.arange(self.n))
        return self._stepping.samples

    def _controls_of(self, controller: Any) -> Controls:
        """The checked controls of a controller; those of a named controller are kept."""
        if not isinstance(controller, str):
            return controls(self.robot, self.n, controller, self.timestep)
        if controller not in self._named:
            self._named[controller] = controls(self.robot, self.n, controller, self.timestep)
        return self._named[controller]

    def _read(
        self, memory: BatchBuffers, steps: int, begin: Array, done: NDArray[np.int64]
    ) -> Rollout:
        nq, nv, rows = self.robot.nq, self.robot.nv, memory.q.shape[1]
        actuated = self.robot.actuated
        q, v = np.empty((self.n, rows + 1, nq)), np.empty((self.n, rows + 1, nv))
        tau = np.empty((self.n, rows, len(actuated)))
        gap, violation = np.empty((self.n, steps)), np.empty((self.n, steps))
        iterations = np.empty((self.n, steps), dtype=np.int64)

        def copy(share: slice) -> None:
            q[share, :rows], v[share, :rows] = memory.q[share], memory.v[share]
            # With the default mode numpy would make one more copy.
            memory.tau[share].take(actuated, axis=2, out=tau[share], mode="clip")
            infos = memory.infos[share]
            gap[share], violation[share] = infos["gap"], infos["violation"]
            iterations[share] = infos["iterations"]

        # Copied in one thread, this would take a fifteenth of the time of two threads.
        ends = np.linspace(0, self.n, min(self.threads, self.n) + 1).astype(int).tolist()
        self._stepping.do([partial(copy, slice(*share)) for share in pairwise(ends)])
        knots = np.tile(np.minimum(memory.every * np.arange(rows + 1), steps), (self.n, 1))
        states, last = np.arange(self.n), -(-done // memory.every)
        q[states, last], v[states, last] = self._states.q[:, :nq], self._states.v[:, :nv]
        knots[states, last] = done
        failed = done < steps
        for i in np.flatnonzero(failed):
            k, row = done[i], last[i]
            q[i, row + 1 :], v[i, row + 1 :], tau[i, row:] = np.nan, np.nan, np.nan
            gap[i, k:], violation[i, k:] = np.nan, np.nan
            iterations[i, k:] = 0
        t = begin[:, None] + self.timestep * knots
        return Rollout(t, q, v, tau, gap, violation, iterations, done, failed)
