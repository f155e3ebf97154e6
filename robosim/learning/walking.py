"""Search for gaits of quadrupeds by simulated walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch import BatchSimulation
from robosim.cluster import Workers
from robosim.control.controllers import Gait
from robosim.control.gaits import PARAMETERS, standing_gait
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, OptionError
from robosim.learning.domain import Domain, Drawn, with_friction
from robosim.learning.learned import Learned
from robosim.learning.search import RandomSearch
from robosim.log.falls import Falls
from robosim.progress import bar
from robosim.simulation import Simulation
from robosim.validation import Array, count

SAMPLES = 0.05  # [s] between two checks whether the robot has fallen


class Search(Protocol):
    """A search that proposes parameters: `RandomSearch`, or any object with these two methods."""

    def ask(self) -> Any: ...
    def tell(self, values: Any) -> Any: ...


class Walks(NamedTuple):
    """How the robots of a batch walked.

    Attributes
    ----------
    distance : (n,) [m], along the world's x axis, until the end or the fall
    fell : (n,) [s], time at which the robot lay on its back or too low; NaN if it never did
    failed : (n,) of bool, whether a step could not be solved
    """

    distance: Array
    fell: Array
    failed: NDArray[np.bool_]

    @property
    def value(self) -> Array:
        """Values for a search, (n,) [m]: the distance, or NaN after a fall or a failed step."""
        return np.where(self.failed | np.isfinite(self.fell), np.nan, self.distance)


def walk(
    batch: BatchSimulation,
    gait: Gait,
    seconds: float,
    gap: float = 0.01,
    draws: Sequence[Drawn] = (),
    push_seconds: float = 0.0,
    instants: Sequence[float] = (),
) -> Walks:
    """Let each robot of a batch walk by its row of a gait, from the gait's first pose.

    Parameters
    ----------
    batch : BatchSimulation
    gait : Gait, with n rows
    seconds : float [s]
    gap : float [m]
        Gap of the lowest contact at the start.
    draws : sequence of n Drawn
        Draws whose pushes act on the robots, and whose motors they have.
    push_seconds : float [s]
        Duration of a push.
    instants : sequence of float [s]
        Times at which robots of other batches are pushed. Runs are divided there as well, so that
        a walk is bit-identical in any batch.

    Returns
    -------
    Walks

    Raises
    ------
    ModelError
        For a robot without a floating base, without motors or without contacts.
    """
    batch.place(gait.pose(), gap)
    n, base = batch.n, batch.robot.bodies[0].name
    falls = Falls(batch[0])
    if not falls.watches:
        raise ModelError(
            "cannot walk: it needs a floating base, motors and something to touch",
            element=f"robot '{batch.robot.name}'",
        )
    begin = batch.q[:, 0].copy()
    steps, every = round(seconds / batch.timestep), max(1, round(SAMPLES / batch.timestep))
    pushes = {i: drawn.push for i, drawn in enumerate(draws) if drawn.push is not None}
    starts = {i: round(push.begin / batch.timestep) for i, push in pushes.items()}
    long = max(1, round(push_seconds / batch.timestep))
    begins = {*starts.values(), *(round(instant / batch.timestep) for instant in instants)}
    bounds = sorted({0, steps, *begins, *(min(start + long, steps) for start in begins)})
    gains = {}
    if any(drawn.motors is not None for drawn in draws):
        factors = [1.0 if drawn.motors is None else drawn.motors for drawn in draws]
        motors = np.stack([np.broadcast_to(factor, batch.robot.nu) for factor in factors])
        gains = {name: gait.gains[name] * motors for name in ("kp", "kd")}
    x, fell = begin.copy(), np.full(n, np.nan)
    failed = np.zeros(n, dtype=bool)
    for first, end in pairwise(bounds):
        for i, push in pushes.items():
            acts = starts[i] <= first < starts[i] + long
            batch[i].apply_wrench(base, force=push.force if acts else np.zeros(3))
        out = batch.rollout(end - first, controller=gait, every=every, **gains)
        failed |= out.failed
        for i in range(n):
            seen = np.isfinite(out.q[i, :, 0])
            down = np.flatnonzero(falls.fallen(out.q[i, seen]))
            row = int(down[0]) if len(down) else int(np.count_nonzero(seen)) - 1
            if np.isnan(fell[i]):
                x[i] = out.q[i, row, 0]
                fell[i] = out.t[i, row] if len(down) else np.nan
    return Walks(x - begin, fell, failed)


def walker(robot: Mechanism, learned: Learned) -> tuple[Simulation, Gait]:
    """A simulation in the first pose of the best gait, with the search's friction, and the gait."""
    options = learned.options
    ground = _on_ground(robot, options)
    gait = _gait(ground, learned.parameters, options)
    sim = Simulation(ground, options["timestep"])
    sim.place(gait.pose(), options["gap"])
    return sim, gait


def gait_of(robot: Mechanism, learned: Learned) -> Gait:
    """The best gait, on a robot with the legs that it was learned for.

    Raises
    ------
    ModelError
        If the legs are not found.
    """
    return _gait(robot, learned.parameters, learned.options)


def _on_ground(robot: Mechanism, options: Mapping[str, Any]) -> Mechanism:
    """The robot with the friction of the options, if they have one."""
    friction = options["friction"]
    return robot if friction is None else with_friction(robot, friction)


def _gait(robot: Mechanism, parameters: Array, options: Mapping[str, Any]) -> Gait:
    """A gait with parameters (5,) or (n, 5), and the legs, limits and timestep of the options."""
    how = {key: options[key] for key in ("legs", "effort_limits", "timestep")}
    return Gait.of(robot, parameters, **how)


class _Walkers:
    """Simulates the gaits of all learners in a batch, on one robot or on draws of a domain."""

    def __init__(
        self,
        robot: Mechanism,
        learners: int,
        domain: Domain | None,
        seed: int,
        options: Mapping[str, Any],
        threads: int | None,
        workers: Workers | None,
    ) -> None:
        self.robot, self.learners, self.domain, self.options = robot, learners, domain, options
        self.seed, self.threads, self.workers = seed, threads, workers
        self._batch: BatchSimulation | None = None
        if workers is None:
            return
        if workers.timestep != options["timestep"]:
            raise OptionError(
                f"the workers' timestep is {workers.timestep!r}, but that of the search is "
                f"{options['timestep']!r}: make them with the same"
            )
        workers.robot = robot

    def values(self, parameters: Array, episode: int) -> tuple[Array, Walks]:
        """Values of parameters (n, 5) in an episode, (n,) [m], and how all robots walked."""
        if self.domain is None:
            walks = self._walks(list(parameters), [])
            return walks.value, walks
        # In an episode all learners have the same draws, which depend on no earlier episode.
        random, seconds = np.random.default_rng((self.seed, 1, episode)), self.options["seconds"]
        drawn = [self.domain.draw(self.robot, seconds, random) for _ in range(self.domain.draws)]
        walks = self._walks(list(np.repeat(parameters, len(drawn), axis=0)), drawn * self.learners)
        each = walks.value.reshape(self.learners, len(drawn))
        return each.min(axis=1) if self.domain.worst else each.mean(axis=1), walks

    def _walks(self, rows: list[Array], drawn: list[Drawn]) -> Walks:
        """How gaits walk: each on its draw, or all on the same robot."""
        pushes = tuple(one.push.begin for one in drawn if one.push is not None)
        trial, timestep = _Trial(self.robot, self.options, pushes), self.options["timestep"]
        tries = list(zip(rows, drawn, strict=True)) if drawn else rows
        if self.workers is not None:
            distance, fell, failed = self.workers.map(trial, tries).T
            return Walks(distance, fell, failed != 0.0)
        robots = [one.robot for one in drawn] or [self.robot] * len(rows)
        if self._batch is None:
            self._batch = BatchSimulation(robots, timestep=timestep, threads=self.threads)
        elif drawn:
            self._batch.set_robots(robots)
        return trial.walks(self._batch, rows, drawn)


@dataclass(frozen=True)
class _Trial:
    """Walks of gaits on a robot, or on draws of robots, in a form that workers can run."""

    robot: Mechanism
    options: Mapping[str, Any]
    instants: tuple[float, ...]  # of all pushes

    def __call__(self, batch: BatchSimulation, tries: list[Any], random: Any) -> Array:
        """The columns of `Walks`, (n, 3), for gaits or for pairs of a gait and a draw."""
        if not isinstance(tries[0], tuple):
            return np.stack(self.walks(batch, tries, []), axis=-1)
        rows, drawn = [one[0] for one in tries], [one[1] for one in tries]
        robots = [one.robot for one in drawn]
        batch = BatchSimulation(robots, timestep=batch.timestep, threads=1)
        return np.stack(self.walks(batch, rows, drawn), axis=-1)

    def walks(self, batch: BatchSimulation, rows: list[Array], drawn: list[Drawn]) -> Walks:
        """Walks of the gaits in a batch."""
        seconds, gap, domain = (self.options[key] for key in ("seconds", "gap", "domain"))
        pushed = 0.0 if domain is None else domain["push_seconds"]
        gait = _gait(self.robot, np.stack(rows), self.options)
        return walk(batch, gait, seconds, gap, drawn, pushed, self.instants)


def learn_gait(
    robot: Mechanism,
    *,
    search: Search | None = None,
    learners: int = 16,
    episodes: int = 100,
    seconds: float = 10.0,
    start: ArrayLike | None = None,
    friction: float | None = None,
    effort_limits: bool = False,
    domain: Domain | None = None,
    seed: int = 0,
    timestep: float = 1e-3,
    gap: float = 0.01,
    legs: Mapping[str, Sequence[str]] | None = None,
    threads: int | None = None,
    progress: bool = False,
    resume: Learned | None = None,
    workers: Workers | None = None,
) -> Learned:
    """Search for parameters of a `Gait` with which a quadruped walks far along x.

    The robots of all learners walk side by side in a batch. A walk in which the robot falls, or a
    step cannot be solved, has no value. Ctrl-C ends the search, and returns the best result so far.

    Parameters
    ----------
    robot : Mechanism
    search : Search or None
        Object whose `ask` gives parameters (learners, 5), and whose `tell` takes their values
        (learners,) [m]. None: `RandomSearch`.
    learners, episodes : int
        Number of learners, and of walks of each learner.
    seconds : float [s]
        Duration of each episode.
    start : (5,) or None
        Parameters to begin with. None: those of a gait that stands still.
    friction : float or None
        Coulomb coefficient of all contact points and collision shapes of the robot. None: as the
        robot has it.
    effort_limits : bool
        Whether torques are limited to the effort limits of the joints.
    domain : Domain or None
        Masses, friction and pushes that differ from episode to episode.
    seed : int
    timestep : float [s]
    gap : float [m]
        Gap of the lowest contact at the start.
    legs : mapping or None
        As for `Gait`.
    threads : int or None
        Number of threads; None: as many as there are cores.
    progress : bool
        Whether to show a bar with the best distance on stderr.
    resume : Learned or None
        A result from which to continue for `episodes` more, with its options. The outcome is
        bit-identical to that of an uninterrupted search.
    workers : Workers or None
        Workers that simulate the walks, with the timestep of the search. If `per_worker` is a
        multiple of eight, the result is that of a search without workers.

    Returns
    -------
    Learned

    Raises
    ------
    ModelError
        For a robot whose legs are not found, without a floating base, or without contacts.
    OptionError
        For an invalid option, or a search whose parameters have a wrong shape.
    """
    if resume is not None:
        if resume.robot != robot.name:
            raise OptionError(f"the result is of robot '{resume.robot}', not '{robot.name}'")
        if resume.search is None:
            raise OptionError("another search than RandomSearch cannot be resumed from a result")
        options, found = dict(resume.options), resume
        search, learners = RandomSearch.from_state(resume.search), resume.values.shape[1]
        domain = None if options["domain"] is None else Domain(**options["domain"])
    else:
        options = {
            "seconds": float(seconds), "friction": friction, "effort_limits": bool(effort_limits),
            "seed": int(seed), "timestep": float(timestep), "gap": float(gap), "legs": legs,
            "domain": None if domain is None else dict(vars(domain)),
        }  # fmt: skip
        learners = count("learners", learners)
        begin = standing_gait(robot, legs) if start is None else np.asarray(start, dtype=float)
        if begin.shape != (len(PARAMETERS),):
            raise OptionError(f"start must be {', '.join(PARAMETERS)}, not {start!r}")
        if search is None:
            search = RandomSearch(begin, learners, seed=seed, least=0.0)
        found = Learned.none(robot.name, options, learners, begin)
    if not (np.isfinite(options["seconds"]) and options["seconds"] >= options["timestep"] > 0):
        raise OptionError(
            f"seconds must be at least a timestep, not {options['seconds']!r} of "
            f"{options['timestep']!r}"
        )
    ground = _on_ground(robot, options)
    walkers = _Walkers(ground, learners, domain, options["seed"], options, threads, workers)
    first = len(found.values)
    with bar("episodes", count("episodes", episodes), progress) as advance:
        try:
            for episode in range(first, first + episodes):
                asked = np.asarray(search.ask(), dtype=float)
                if asked.shape != (learners, len(PARAMETERS)):
                    raise OptionError(
                        f"the search proposes an array of shape {asked.shape}, not "
                        f"{(learners, len(PARAMETERS))}"
                    )
                values, walks = walkers.values(asked, episode)
                search.tell(values)
                found = found.after(asked, values, walks)
                advance(1, f"best {found.distance:.2f} m")
        except KeyboardInterrupt:
            pass
    state = search.state() if isinstance(search, RandomSearch) else None
    return found.with_search(state, complete=len(found.values) == first + episodes)
