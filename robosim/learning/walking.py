"""Gaits that are found by walking: how far each gets, and who is still on its feet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim.batch import BatchSimulation
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, OptionError
from robosim.learning.domain import Domain, Drawn, with_friction
from robosim.learning.learned import Learned
from robosim.learning.search import RandomSearch
from robosim.log.falls import Falls
from robosim.progress import bar
from robosim.simulation import Simulation
from robosim.simulation.controllers import Gait
from robosim.simulation.gaits import PARAMETERS, standing_gait
from robosim.validation import Array, count

SAMPLES = 0.05  # [s] from one look at the base to the next


class Search(Protocol):
    """What proposes parameters: `RandomSearch`, or anything else with these two."""

    def ask(self) -> Any: ...
    def tell(self, values: Any) -> Any: ...


class Walks(NamedTuple):
    """How gaits walked, each in its state.

    Attributes
    ----------
    distance : (n,) [m], along the world's x, until the end or the fall
    fell : (n,) [s], when the robot lay on its back or low, nan if it did not
    failed : (n,), whether a step could not be solved
    """

    distance: Array
    fell: Array
    failed: NDArray[np.bool_]

    @property
    def value(self) -> Array:
        """What a search is told (n,) [m]: the distance, nan for what fell or failed."""
        return np.where(self.failed | np.isfinite(self.fell), np.nan, self.distance)


def walk(
    batch: BatchSimulation,
    gait: Gait,
    seconds: float,
    gap: float = 0.01,
    draws: Sequence[Drawn] = (),
    push_seconds: float = 0.0,
) -> Walks:
    """Let each state of a batch walk by its row of a gait, from the gait's pose.

    Parameters
    ----------
    batch : BatchSimulation
    gait : Gait, with n rows
    seconds : float [s]
    gap : float [m]
        That the lowest contact is above what it may touch at the start.
    draws : sequence of n Drawn
        Whose pushes act.
    push_seconds : float [s]
        How long.
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
    bounds = sorted({0, steps, *starts.values(), *(min(s + long, steps) for s in starts.values())})
    x, fell = begin.copy(), np.full(n, np.nan)
    failed = np.zeros(n, dtype=bool)
    for first, end in pairwise(bounds):
        for i, push in pushes.items():
            acts = starts[i] <= first < starts[i] + long
            batch[i].apply_wrench(base, force=push.force if acts else np.zeros(3))
        out = batch.rollout(end - first, controller=gait, every=every)
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
    """A simulation that stands where the best gait begins, on its ground, and the gait."""
    options = learned.options
    ground = _on_ground(robot, options)
    gait = _gait(ground, learned.parameters, options)
    sim = Simulation(ground, options["timestep"])
    sim.place(gait.pose(), options["gap"])
    return sim, gait


def _on_ground(robot: Mechanism, options: Mapping[str, Any]) -> Mechanism:
    """The robot with the friction that was asked for, if any was."""
    friction = options["friction"]
    return robot if friction is None else with_friction(robot, friction)


def _gait(robot: Mechanism, parameters: Array, options: Mapping[str, Any]) -> Gait:
    """A gait of parameters (5,) or (n, 5), as the options want it."""
    how = {key: options[key] for key in ("legs", "effort_limits", "timestep")}
    return Gait.of(robot, parameters, **how)


class _Walkers:
    """Learners' gaits, tried side by side, on one robot or on draws of a domain."""

    def __init__(
        self,
        robot: Mechanism,
        learners: int,
        domain: Domain | None,
        seed: int,
        options: Mapping[str, Any],
    ) -> None:
        self.robot, self.learners, self.domain, self.options = robot, learners, domain, options
        self.seed = seed
        self._batch: BatchSimulation | None = None

    def _batch_of(self, robots: Mechanism | list[Mechanism], n: int) -> BatchSimulation:
        options = {"timestep": self.options["timestep"], "threads": self.options["threads"]}
        return BatchSimulation(robots, n, **options)

    def values(self, parameters: Array, episode: int) -> tuple[Array, Walks]:
        """What each row of parameters (n, 5) is worth in an episode, and how all walked."""
        seconds, gap = self.options["seconds"], self.options["gap"]
        if self.domain is None:
            if self._batch is None:
                self._batch = self._batch_of(self.robot, self.learners)
            walks = walk(self._batch, _gait(self.robot, parameters, self.options), seconds, gap)
            return walks.value, walks
        # An episode draws the same for all learners, whatever came before it.
        random = np.random.default_rng((self.seed, 1, episode))
        drawn = [self.domain.draw(self.robot, seconds, random) for _ in range(self.domain.draws)]
        rows = np.repeat(parameters, len(drawn), axis=0)
        robots = [one.robot for one in drawn] * self.learners
        batch = self._batch_of(robots, len(robots))
        gait = _gait(self.robot, rows, self.options)
        walks = walk(batch, gait, seconds, gap, drawn * self.learners, self.domain.push_seconds)
        each = walks.value.reshape(self.learners, len(drawn))
        return each.min(axis=1) if self.domain.worst else each.mean(axis=1), walks


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
) -> Learned:
    """Let a quadruped learn to walk: parameters of a `Gait` that lead far along x.

    Learners walk side by side, each in a state of a batch. A robot that falls, or whose step cannot
    be solved, has not got anywhere. Ctrl-C ends the search and keeps what has been found.

    Parameters
    ----------
    robot : Mechanism
    search : Search or None
        What proposes parameters (n, 5) and is told their values; None: `RandomSearch`.
    learners, episodes : int
    seconds : float [s]
        Of each episode.
    start : (5,) or None
        Parameters to begin with; None: the gait that stands still as the robot does.
    friction : float or None
        Coulomb coefficient of all contacts; None: as the robot has it.
    effort_limits : bool
        Whether torques stay within those of the joints.
    domain : Domain or None
        What differs from episode to episode.
    seed : int
    timestep : float [s]
    gap : float [m]
        How far the feet are above the ground at the start.
    legs : mapping or None
        As for `Gait`.
    threads : int or None
        As many as there are cores if None.
    progress : bool
        Whether to show a bar with the best distance on stderr.
    resume : Learned or None
        A result to go on from, by this many episodes, with its options; to the same bits as if it
        had not been interrupted.

    Raises
    ------
    ModelError
        For a robot without legs for it, or without ground.
    OptionError
        For options that are none, or a search that proposes another shape.
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
    walkers = _Walkers(ground, learners, domain, options["seed"], {**options, "threads": threads})
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
