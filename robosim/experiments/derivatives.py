"""Derivatives of steps beside central differences, on random states of several robots.

A difference counts if all three of its steps have the same contacts, as their modes show. The
length of a difference is that of a change of positions; velocities, torques and parameters change
so much that positions move as far. The best of several lengths counts, as rounding errors dominate
for short differences, and curvature for long ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.control.controllers import PD
from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HeightField
from robosim.errors import ConvergenceError, LoadError
from robosim.experiments.drawing import COLOURS, OTHERS, finish, panels
from robosim.experiments.experiment import Experiment, Result, Setup
from robosim.linearization.linearization import MaximalLinearizer
from robosim.linearization.linearizer import ContactMode
from robosim.linearization.parameters import parameter
from robosim.loaders import load
from robosim.measuring.runs import shortest_us, stepper
from robosim.measuring.target import Target
from robosim.models.builders import minitaur
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
DT, TOLERANCE = 1e-3, 1e-12
SMOOTH, HARD = 1e-4, 1e-10  # contact_speed [m/s]
LENGTHS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5)  # of differences of positions [m or rad]
LONG = (1e-6, 3e-6, 6e-6, 1e-5, 3e-5, 1e-4)  # for hard contacts, with larger rounding errors
PARTS = (1e-4, 1e-3, 3e-3, 1e-2)  # relative differences of parameters
FLOOR = 1e-2  # errors are relative to at least this part of a block's largest derivative
WITHIN = 1e-5
G1 = "g1_description/g1_29dof_rev_1_0"
PARAMETERS = ("mass:trunk", "friction:FR_foot", "damping:FR_hip_joint", "armature:FR_hip_joint")
DRAWN = ("A1 standing", "Minitaur, loops", "G1 at limits")
QUICK = ("A1 standing", "A1 landing")  # groups with the same kernels


class Case(NamedTuple):
    """A state at which derivatives are computed, the PD of the step, and parameters, if any."""

    sim: Simulation
    controller: PD | None = None
    parameters: tuple[str, ...] = ()


class States(NamedTuple):
    """Source of the states of a group, and the lengths of differences."""

    draw: Callable[[np.random.Generator], Case]
    lengths: tuple[float, ...] = LENGTHS


@dataclass
class Group:
    """Results for the states of a group.

    Attributes
    ----------
    lengths : tuple of float
        Lengths of the differences.
    states, columns : int
        Number of states, and of all columns of derivatives.
    compared, crossing : int
        Number of columns for which contacts are constant within at least one difference, and of
        those for which contacts change within all differences.
    unsolved : int
        Number of differences with a step that could not be solved with its derivatives.
    worst : float
        Largest error of a column at its best length, over its largest derivative; NaN before any
        column is compared.
    where : str
        The column with this error.
    errors : list of (columns, lengths)
        NaN where contacts change within a difference.
    """

    lengths: tuple[float, ...]
    states: int = 0
    columns: int = 0
    compared: int = 0
    crossing: int = 0
    unsolved: int = 0
    worst: float = np.nan
    where: str = ""
    errors: list[Array] = field(default_factory=list)

    def add(self, names: Sequence[str], errors: Array) -> None:
        """Add the columns of a state."""
        seen = ~np.isnan(errors).all(axis=1)
        self.states += 1
        self.columns += len(errors)
        self.compared += int(seen.sum())
        self.crossing += int((~seen).sum())
        self.errors.append(errors)
        best = np.where(np.isnan(errors), np.inf, errors).min(axis=1)
        best[~seen] = 0.0
        if seen.any() and not best.max() <= self.worst:
            k = int(best.argmax())
            self.worst, self.where = float(best[k]), f"{names[k]} of state {self.states}"

    def by_length(self, part: float) -> list[float]:
        """A quantile of the errors at each length."""
        columns = [row[~np.isnan(row)] for row in np.concatenate(self.errors).T]
        return [float(np.quantile(row, part)) if len(row) else np.nan for row in columns]

    def to_dict(self) -> dict[str, Any]:
        """The group in the form of the JSON file."""
        names = ("lengths", "states", "columns", "compared", "crossing", "unsolved", "worst")
        told: dict[str, Any] = {name: getattr(self, name) for name in (*names, "where")}
        return told | {"largest": self.by_length(1.0), "median": self.by_length(0.5)}


def signature(contacts: tuple[ContactMode, ...]) -> tuple[tuple[str, str, str, bool], ...]:
    """A value that is equal for two steps with the same contacts."""
    return tuple((one.body, one.other, one.mode, one.inside) for one in contacts)


def scales_of(sim: Simulation) -> Array:
    """(2 nv + nu,) changes of q, v and torques that move positions equally far in a step."""
    inverse = np.linalg.inv(sim.dynamics.mass_matrix(sim.q))
    inertia = 1.0 / np.diag(inverse)[sim.robot.actuated]
    nv, dt = sim.robot.nv, sim.timestep
    return np.concatenate((np.ones(nv), np.full(nv, 1.0 / dt), inertia / dt**2))


class Differences:
    """Central differences at one state, compared with the computed derivatives."""

    def __init__(self, case: Case, group: Group) -> None:
        self._case, self._group = case, group
        sim, controller, parameters = case
        self._linearizer = MaximalLinearizer(sim, None, parameters, controller is not None)
        self._found = self._linearizer.at(sim, None, controller)
        self._here = signature(self._found.contacts)
        self._other = sim.copy()

    def compare(self) -> None:
        """All columns of A and B, or those of P where there are parameters."""
        sim, controller, parameters = self._case
        robot, nv = sim.robot, sim.robot.nv
        scales, J = scales_of(sim), np.hstack((self._found.A, self._found.B))
        of = {"q": robot.v_names, "v": robot.v_names, "torque": robot.actuated_names}
        if parameters:
            scales, J = np.array([parameter(robot, name)[0] for name in parameters]), self._found.P
            of = {"parameter": parameters}
        elif controller is not None:
            del of["torque"]
        names, errors, first, J = [], [], 0, J * scales
        for kind, told in of.items():
            largest = np.abs(J[:, first : first + len(told)]).reshape(2, nv, -1).max(axis=(1, 2))
            for k, name in enumerate(told, first):
                if parameters:
                    ends = partial(self._by_parameter, name, scales[k])
                else:
                    ends = partial(self._by_state, k, scales[k])
                names.append(f"{kind} {name}" if parameters else f"{kind} of {name}")
                errors.append(self._errors(J[:, k], FLOOR * largest, ends))
            first += len(told)
        self._group.add(names, np.array(errors))

    def _errors(
        self, column: Array, least: Array, ends: Callable[[float], tuple[Any, ...]]
    ) -> list[float]:
        """Largest relative error of a column for each length: of positions or of velocities."""
        out, nv = [], self._case.sim.robot.nv
        tangent = self._case.sim.dynamics
        for length in self._group.lengths:
            out.append(np.nan)
            try:
                low, high = ends(-length), ends(length)
            except ConvergenceError:
                self._group.unsolved += 1
                continue
            if signature(low[2]) == self._here == signature(high[2]):
                change = tangent.difference(low[0], high[0]), high[1] - low[1]
                off = np.abs(np.array(change) / (2 * length) - column.reshape(2, nv)).max(axis=1)
                over = np.maximum(np.abs(column.reshape(2, nv)).max(axis=1), least)
                out[-1] = float((off / np.maximum(over, 1e-300)).max())
        return out

    def _by_state(self, k: int, scale: float, length: float) -> tuple[Any, ...]:
        sim, controller, _ = self._case
        nv, change = sim.robot.nv, np.zeros(2 * sim.robot.nv + sim.robot.nu)
        change[k] = length * scale
        q = sim.dynamics.integrate(sim.q, change[:nv])
        self._other.set_state(q, sim.v + change[nv : 2 * nv], time=sim.time)
        forces = None
        if controller is None:
            forces = sim.torques.copy()
            forces[sim.robot.actuated] += change[2 * nv :]
        return self._linearizer.end(self._other, forces, controller)

    def _by_parameter(self, name: str, value: float, length: float) -> tuple[Any, ...]:
        sim = self._case.sim
        other = simulation(parameter(sim.robot, name)[1](value * (1.0 + length)))
        other.set_state(sim.q, sim.v, time=sim.time)
        return MaximalLinearizer(other, None, (), False).end(other, sim.torques, None)


def simulation(robot: Mechanism, **options: Any) -> Simulation:
    return Simulation(robot, DT, tolerance=TOLERANCE, **{"contact_speed": SMOOTH, **options})


def after(sim: Simulation, rng: np.random.Generator, seconds: tuple[float, float],
          controller: str | None = None) -> Simulation:  # fmt: skip
    """A simulation after a random time."""
    sim.run(round(rng.uniform(*seconds) / DT) * DT, controller)
    return sim


def pushed(robot: Mechanism, rng: np.random.Generator, **options: Any) -> Simulation:
    """The home pose, with random velocities."""
    sim = simulation(robot, **options)
    sim.set_state(None, 0.1 * rng.normal(size=robot.nv))
    return sim


def landing(robot: Mechanism, rng: np.random.Generator) -> Case:
    """Near the time at which the first feet touch the ground."""
    sim = simulation(robot)
    q, v = np.array(robot.home), 0.3 * rng.normal(size=robot.nv)
    q[2] += (fall := rng.uniform(0.02, 0.06))
    q[7:] += 0.05 * rng.normal(size=robot.nq - 7)
    v[:3] = 0.0, 0.0, 0.0
    sim.set_state(q, v)
    about = np.sqrt(2 * fall / 9.81)
    return Case(after(sim, rng, (about - 0.02, about + 0.02), "stand"))


def servoed(robot: Mechanism, rng: np.random.Generator, implicit: bool) -> Case:
    """Standing, with a PD whose targets differ from the pose."""
    sim = after(pushed(robot, rng), rng, (0.05, 0.4), "stand")
    kp, kd = rng.uniform(20.0, 100.0), rng.uniform(0.5, 2.0)
    target = sim.q[7:] + 0.05 * rng.normal(size=robot.nu)
    return Case(sim, PD(robot, target, kp, kd, implicit=implicit))


def at_limits(robot: Mechanism, rng: np.random.Generator) -> Case:
    """High above the ground, with a third of the joints moving into a limit."""
    sim = simulation(robot)
    q, v = np.array(robot.home), 0.3 * rng.normal(size=robot.nv)
    q[2] += 2.0
    for joint, at, rate in zip(robot.tree_joints, robot.q_offsets, robot.v_offsets, strict=False):
        if joint.nq != 1 or rng.uniform() < 2 / 3:
            continue
        side = rng.choice((-1.0, 1.0))
        bound = float(np.asarray(joint.lower if side < 0 else joint.upper)[0])
        if np.isfinite(bound):
            q[at], v[rate] = bound - side * rng.uniform(0.0, 5e-3), side * rng.uniform(0.2, 2.0)
    sim.set_state(q, v)
    return Case(after(sim, rng, (0.001, 0.006)))


def uneven(robot: Mechanism, seed: int) -> Mechanism:
    """The robot on a terrain with bumps of some centimetres."""
    heights = np.random.default_rng(seed).uniform(0.0, 0.02, size=(30, 30))
    return robot.with_contacts([HeightField(heights, (3.0, 3.0))], ground=False)


def on_terrain(robot: Mechanism, rng: np.random.Generator) -> Case:
    sim = simulation(robot)
    q = np.array(robot.home)
    q[:2] += rng.uniform(-0.5, 0.5, size=2)
    q[2] += 0.02
    sim.set_state(q, 0.1 * rng.normal(size=robot.nv))
    return Case(after(sim, rng, (0.1, 0.4), "stand"))


def groups() -> dict[str, States]:
    """All groups whose robots are installed, by name."""
    a1 = load("a1")
    hip = next(joint for joint in a1.joints if joint.name == "FR_hip_joint")
    soft = replace(hip, damping=0.1, armature=0.01)
    softer = replace(a1, joints=tuple(soft if joint is hip else joint for joint in a1.joints))

    def standing(robot: Mechanism, **options: Any) -> Callable[[np.random.Generator], Case]:
        return lambda rng: Case(after(pushed(robot, rng, **options), rng, (0.05, 0.4), "stand"))

    def trotting(robot: Mechanism, *parameters: str) -> Callable[[np.random.Generator], Case]:
        return lambda rng: Case(
            after(pushed(robot, rng), rng, (0.2, 0.8), "trot"), None, parameters
        )

    out = {
        "A1 standing": States(standing(a1)),
        "A1 standing, hard contacts": States(standing(a1, contact_speed=HARD), LONG),
        "A1 trotting": States(trotting(a1)),
        "A1 landing": States(partial(landing, a1)),
        "A1, PD held": States(partial(servoed, a1, implicit=False)),
        "A1, PD implicit": States(partial(servoed, a1, implicit=True)),
        "A1 on terrain": States(partial(on_terrain, uneven(a1, 0))),
        "A1, solver of graphs": States(standing(a1, solver="ldu")),
        "Minitaur, loops": States(standing(minitaur())),
        "A1 trotting, parameters": States(trotting(softer, *PARAMETERS), PARTS),
    }
    with contextlib.suppress(LoadError):  # for an optional package
        out["G1 at limits"] = States(partial(at_limits, load(G1)))
    return out


def compared(name: str, states: States, count: int, seed: int = 1) -> Group:
    """Some random states of a group."""
    rng, group = np.random.default_rng(seed), Group(states.lengths)
    for _ in range(count):
        Differences(states.draw(rng), group).compare()
    return group


def run_linearize(setup: Setup) -> Result:
    """Derivatives of steps beside central differences, and their computing times."""
    count = setup.choose(100, 1)
    found: dict[str, Group] = {}
    times: dict[str, dict[str, float]] = {}
    for name, states in groups().items():
        if setup.quick and name not in QUICK:
            continue
        setup.note(name)
        found[name] = compared(name, states, count)
        if name in DRAWN:
            times[name] = _times(states, setup.choose(200, 10))
    worst = max(found, key=lambda name: found[name].worst)
    columns = sum(group.columns for group in found.values())
    crossing = sum(group.crossing for group in found.values())
    unsolved = sum(group.unsolved for group in found.values())
    states_in_all = sum(group.states for group in found.values())
    targets = tuple(
        Target(f"{name}: largest error of a column", group.worst, WITHIN)
        for name, group in found.items()
    )
    sentence = (
        f"On {states_in_all} states of {len(found)} groups, derivatives are within "
        f"{found[worst].worst:.1e} of central differences ({worst}, {found[worst].where}). Of "
        f"{columns} columns {crossing} were left out, as contacts change within all of their "
        f"differences; {unsolved} differences had a step that was not solved."
    )
    if "G1 at limits" not in found:
        sentence += " The G1 was left out, as example-robot-data is not installed."

    def draw(figure: Figure) -> None:
        axes = panels(figure, 1, 1, width=8.0)[0, 0]
        names = [name for name in DRAWN if name in found]
        for name, colour in zip(names, (COLOURS["ours"], *OTHERS), strict=False):
            group = found[name]
            for part, style in ((0.5, "o-"), (1.0, "x:")):
                label = f"{name}, {'median' if part < 1 else 'largest'}"
                axes.loglog(group.lengths, group.by_length(part), style, color=colour, label=label)
        axes.axhline(WITHIN, color="black", lw=0.6, ls=":")
        finish(axes, "length of the difference [m or rad]", "error over the largest derivative")

    parameters = {"timestep_s": DT, "tolerance": TOLERANCE, "states": count,
                  "contact_speed": SMOOTH, "hard_contact_speed": HARD}  # fmt: skip
    ours = {"groups": {name: group.to_dict() for name, group in found.items()}, "times": times}
    return Result(parameters, ours, {}, targets, sentence, draw)


def _times(states: States, calls: int) -> dict[str, float]:
    """Times [us] of a linearization at the first state of a group, and of a step."""
    case = states.draw(np.random.default_rng(1))
    linearizer = MaximalLinearizer(case.sim, None, (), False)
    linearizer.at(case.sim, None, None)

    def call() -> bool:
        for _ in range(calls):
            linearizer.at(case.sim, None, None)
        return True

    runs = call, stepper(case.sim.copy(), calls)
    linearize_us, step_us = shortest_us(runs, calls, 3)
    return {"linearize_us": linearize_us, "step_us": step_us}


LINEARIZE = Experiment(
    ("linearize",),
    "derivatives of steps beside central differences, on random states",
    "derivatives are within 1e-5 of differences wherever no contact changes within these",
    run_linearize,
)
