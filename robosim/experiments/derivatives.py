"""Derivatives of steps beside central differences, on random states of several robots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.description.obstacles import HeightField
from robosim.errors import LoadError
from robosim.loaders import load
from robosim.models.builders import minitaur
from robosim.simulation import Simulation
from robosim.simulation.controllers import PD
from robosim.simulation.linearization import MaximalLinearizer
from robosim.simulation.linearizer import ContactMode

if TYPE_CHECKING:
    pass

Array = NDArray[np.float64]
DT, TOLERANCE = 1e-3, 1e-12
SMOOTH, HARD = 1e-4, 1e-10  # contact_speed [m/s]
LENGTHS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5)  # of differences of positions [m or rad]
LONG = (1e-6, 1e-5, 3e-5, 1e-4)  # of contacts that are hard, and lose digits of velocities
STATES, QUICK = 100, 2  # of each group
FLOOR = 1e-2  # part of a block's largest derivatives below which a column's errors are of those
G1 = "g1_description/g1_29dof_rev_1_0"
PARAMETERS = ("mass:trunk", "friction:FR_foot", "damping:FR_hip_joint", "armature:FR_hip_joint")


class Case(NamedTuple):
    """A state to take derivatives in, and a PD that acts in the step, if any."""

    sim: Simulation
    controller: PD | None = None


@dataclass
class Group:
    """What came of the states of a group.

    Attributes
    ----------
    states, columns, compared : int
        Of the columns those of which at least one difference crosses no change of a contact.
    crossing : int
        Columns all of whose differences cross one.
    failed : int
        States of which the step, or one beside it, could not be solved.
    worst : float
        Largest error of a column at its best length, relative to the largest derivative in it.
    where : str
        And the column.
    errors : (columns, lengths)
        Relative errors, NaN where a difference crosses a change.
    own : float [m/s]
        How far the step that was differentiated ends from that of the simulation itself.
    """

    states: int = 0
    columns: int = 0
    compared: int = 0
    crossing: int = 0
    failed: int = 0
    worst: float = 0.0
    where: str = ""
    errors: list[Array] = field(default_factory=list)
    us: float = np.nan


def signature(contacts: tuple[ContactMode, ...]) -> tuple[tuple[str, str, str, bool], ...]:
    """What tells whether two steps have the same contacts."""
    return tuple((one.body, one.other, one.mode, one.inside) for one in contacts)


def lengths_of(sim: Simulation) -> Array:
    """Changes (2 nv + nu,) of positions, velocities and torques that move as far in a step.

    In units of those of positions.
    """
    inverse = np.linalg.inv(sim.dynamics.mass_matrix(sim.q))
    inertia = 1.0 / np.diag(inverse)[sim.robot.actuated]
    nv, dt = sim.robot.nv, sim.timestep
    return np.concatenate((np.ones(nv), np.full(nv, 1.0 / dt), inertia / dt**2))


def compare(case: Case, group: Group, lengths: tuple[float, ...]) -> None:
    """All columns of A and B beside central differences of several lengths."""
    sim, controller = case
    robot, nv, tangent = sim.robot, sim.robot.nv, sim.dynamics
    linearizer = MaximalLinearizer(sim, None, (), controller is not None)
    found = linearizer.at(sim, None, controller)
    here = signature(found.contacts)
    one, q, v, tau = sim.copy(), sim.q, sim.v, sim.torques.copy()

    def end(change: Array) -> tuple[Array, Array, bool]:
        one.set_state(tangent.integrate(q, change[:nv]), v + change[nv : 2 * nv], time=sim.time)
        forces = None
        if controller is None:
            forces = tau.copy()
            forces[robot.actuated] += change[2 * nv :]
        q_end, v_end, contacts = linearizer.end(one, forces, controller)
        return q_end, v_end, signature(contacts) == here

    scales = lengths_of(sim)
    J = np.hstack((found.A, found.B)) * scales
    if controller is not None:
        J = J[:, : 2 * nv]
    errors = np.full((J.shape[1], len(lengths)), np.nan)
    rows = (slice(0, nv), slice(nv, 2 * nv))
    blocks = (slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, None))
    for block in blocks:
        largest = [np.abs(J[r, block]).max(initial=0.0) for r in rows]
        for k in range(*block.indices(J.shape[1])):
            for n, length in enumerate(lengths):
                change = np.zeros(2 * nv + robot.nu)
                change[k] = length * scales[k]
                low, high = end(-change), end(change)
                if not (low[2] and high[2]):
                    continue
                by = np.concatenate((tangent.difference(low[0], high[0]), high[1] - low[1]))
                off = by / (2 * length) - J[:, k]
                errors[k, n] = max(
                    np.abs(off[r]).max() / max(np.abs(J[r, k]).max(), FLOOR * most)
                    for r, most in zip(rows, largest, strict=True)
                )
    seen = ~np.isnan(errors).all(axis=1)
    group.states += 1
    group.columns += len(errors)
    group.compared += int(seen.sum())
    group.crossing += int((~seen).sum())
    group.errors.append(errors)
    best = np.where(seen, np.nanmin(np.where(seen[:, None], errors, 1.0), axis=1), 0.0)
    if best.max() > group.worst:
        k = int(best.argmax())
        kind = ("q", "v", "u")[k // nv] if k < 2 * nv else "u"
        name = robot.v_names[k % nv] if k < 2 * nv else robot.actuated_names[k - 2 * nv]
        group.worst, group.where = float(best.max()), f"{kind} of {name}, state {group.states}"


class States(NamedTuple):
    """Where states of a group come from, and by what lengths they are compared."""

    draw: Callable[[np.random.Generator], Case]
    lengths: tuple[float, ...] = LENGTHS


def simulation(robot: Mechanism, **options: Any) -> Simulation:
    return Simulation(robot, DT, tolerance=TOLERANCE, **{"contact_speed": SMOOTH, **options})


def after(sim: Simulation, rng: np.random.Generator, seconds: tuple[float, float],
          controller: str | None = None) -> Simulation:  # fmt: skip
    """A simulation after a random time."""
    sim.run(round(rng.uniform(*seconds) / DT) * DT, controller)
    return sim


def pushed(robot: Mechanism, rng: np.random.Generator, **options: Any) -> Simulation:
    """At home, with random velocities."""
    sim = simulation(robot, **options)
    sim.set_state(None, 0.1 * rng.normal(size=robot.nv))
    return sim


def landing(robot: Mechanism, rng: np.random.Generator) -> Case:
    """About the time at which the first feet touch the ground."""
    sim = simulation(robot)
    q, v = np.array(robot.home), 0.3 * rng.normal(size=robot.nv)
    q[2] += (fall := rng.uniform(0.02, 0.06))
    q[7:] += 0.05 * rng.normal(size=robot.nq - 7)
    v[:3] = 0.0, 0.0, 0.0
    sim.set_state(q, v)
    about = np.sqrt(2 * fall / 9.81)
    return Case(after(sim, rng, (about - 0.02, about + 0.02), "stand"))


def servoed(robot: Mechanism, rng: np.random.Generator, implicit: bool) -> Case:
    """On its feet, with a PD that pulls elsewhere."""
    sim = after(pushed(robot, rng), rng, (0.05, 0.4), "stand")
    kp, kd = rng.uniform(20.0, 100.0), rng.uniform(0.5, 2.0)
    target = sim.q[7:] + 0.05 * rng.normal(size=robot.nu)
    return Case(sim, PD(robot, target, kp, kd, implicit=implicit))


def at_limits(robot: Mechanism, rng: np.random.Generator) -> Case:
    """High above the ground, a third of the joints moving into one of their limits."""
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
    """All that can be run here, by name."""
    a1, quad = load("a1"), minitaur()

    def standing(robot: Mechanism, **options: Any) -> Callable[[np.random.Generator], Case]:
        return lambda rng: Case(after(pushed(robot, rng, **options), rng, (0.05, 0.4), "stand"))

    out = {
        "A1 standing": States(standing(a1)),
        "A1 standing, hard contacts": States(standing(a1, contact_speed=HARD), LONG),
        "A1 trotting": States(lambda rng: Case(after(pushed(a1, rng), rng, (0.2, 0.8), "trot"))),
        "A1 landing": States(partial(landing, a1)),
        "A1, PD held": States(partial(servoed, a1, implicit=False)),
        "A1, PD implicit": States(partial(servoed, a1, implicit=True)),
        "A1 on terrain": States(partial(on_terrain, uneven(a1, 0))),
        "A1, solver of graphs": States(standing(a1, solver="ldu")),
        "Minitaur, loops": States(standing(quad)),
    }
    try:
        out["G1 at limits"] = States(partial(at_limits, load(G1)))
    except LoadError:
        pass
    return out
