"""An island of a world: units that may touch each other, in a simulation of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.building.actuators import implicit_actuators
from robosim.compiled.memory import make_guesses, make_system
from robosim.compiled.order import all_joints
from robosim.compiled.records.island import BOX
from robosim.compiled.records.step import INFO
from robosim.compiled.state import make_state
from robosim.control.controllers import zero
from robosim.description.mechanism import Mechanism
from robosim.description.units import Division
from robosim.kinematics.motions import Motions
from robosim.runtime.handles import NOTHING_SWEPT, Handle, Parts, RunBuffers
from robosim.runtime.islands import Indices, Kept, Places, indices
from robosim.simulation.engine import Engine
from robosim.simulation.readings import impulses_ahead
from robosim.validation import Array

LONGEST = 64  # steps that islands take by themselves before the world looks at them


class Rows(NamedTuple):
    """Rows of a unit in the arrays of an island."""

    bodies: Indices
    joints: Indices
    couplings: Indices
    q: Indices
    v: Indices
    contacts: Indices  # of the model's own, with the ground and of coordinates, and companions
    slots: Indices  # of all contacts, with those of pairs of the unit's own shapes
    pressed: Indices


class Island:
    """One or several units, which are simulated as if nothing else were in the world.

    Parameters
    ----------
    units : increasing numbers of the units
    engine : Engine
        Of the part of the world that has these units.
    places : Places
        Of its elements in the world.
    rows : dict of unit to Rows
    radii : (nb,) of balls around its bodies; () if it touches no other

    Attributes
    ----------
    swept : BOX, what its bodies have swept
    plain, driven : Handle
        Buffers of its runs, without and with the gains of a PD.
    """

    def __init__(
        self,
        units: tuple[int, ...],
        engine: Engine,
        places: Places,
        rows: dict[int, Rows],
        radii: Array,
    ) -> None:
        self.units, self.engine, self.robot = units, engine, engine.robot
        self.places, self.rows, self.radii = Handle(places), rows, radii
        self.swept = NOTHING_SWEPT
        if len(radii):
            self.swept = np.zeros(len(radii), dtype=BOX)
            self.swept["radius"] = radii
        gains = zero(self.robot).gains.copy()
        self.plain, self.driven = self._buffers(gains[:0]), self._buffers(gains)
        self._kept: tuple[Handle, Handle] | None = None
        self._room: dict[str, Kept] = {}  # by solver

    def _buffers(self, gains: NDArray[np.void]) -> Handle:
        """Buffers of a run of the longest block."""
        robot, loads, n, nu = self.robot, self.engine.parts.loads, LONGEST, len(gains)
        driven = len(loads.motion)
        return Handle(
            RunBuffers(
                gains,
                np.zeros((n if nu else 0, nu)),
                np.zeros((n if nu else 0, nu)),
                np.zeros((n, len(loads.tau))),
                np.zeros((n + 1 if driven else 0, driven, 2)),
                np.zeros(1, dtype=np.int64),
                np.zeros(1),
                np.ones(1, dtype=np.int64),
                np.zeros((n, robot.nq)),
                np.zeros((n, robot.nv)),
                np.zeros((n, robot.v_offsets[-1])),
                np.zeros(n, dtype=INFO),
                self.swept,
            )
        )

    @property
    def kept(self) -> Handle:
        """What the engine goes back to, in memory for its present parts."""
        engine = self.engine
        if self._kept is None or self._kept[0] is not engine.handle:
            model, solver = engine.parts.model, engine.solver
            if solver not in self._room:
                of_state = make_state(self.robot, model), make_guesses(model)
                self._room[solver] = Kept(*of_state, make_system(model))
            room = self._room[solver]
            blocks = np.zeros_like(engine.parts.memory.system.blocks)
            back = Handle(room._replace(system=room.system._replace(blocks=blocks)))
            self._kept = engine.handle, back
        return self._kept[1]

    def copied(self) -> Island:
        """A copy that goes on by itself."""
        engine = self.engine.copied(np.zeros(self.robot.nv))
        return Island(self.units, engine, self.places.values, self.rows, self.radii)

    def take_from(self, other: Island, unit: int) -> None:
        """Continue with a unit of another island, at its knot."""
        take_unit(other.engine.parts, other.rows[unit], self.engine.parts, self.rows[unit])

    def begin_anew(self, time: float) -> None:
        """Begin without anything that is remembered, before units of others are taken."""
        begin_anew(self.engine, time)

    def go_on(self, steps: int) -> None:
        """Go on with the units that have been taken, after this number of steps."""
        self.engine.counters.steps = steps
        self.engine.begin_rates()


def take_unit(source: Parts, from_rows: Rows, target: Parts, rows: Rows) -> None:
    """Continue with a unit that has been part of another system, at its knot.

    Features of pairs of shapes are found again; guesses of other contacts are taken along.
    """
    for name in ("bodies", "joints", "couplings", "q", "v", "pressed"):
        values = getattr(source.state, name)[getattr(from_rows, name)]
        getattr(target.state, name)[getattr(rows, name)] = values
    if len(target.state.closed) and len(source.state.closed):
        target.state.closed[rows.slots] = source.state.closed[from_rows.slots]
    before, guesses = source.memory.guesses, target.memory.guesses
    guesses.joints[rows.joints] = before.joints[from_rows.joints]
    for name in ("contacts", "active"):
        getattr(guesses, name)[rows.contacts] = getattr(before, name)[from_rows.contacts]
    state = target.state
    np.maximum(state.last_dt, source.state.last_dt, out=state.last_dt)
    state.stale[0], state.kept[0] = 0.0, 1.0
    bound = np.any(source.model.joints["n_T"] + source.model.joints["n_R"])
    if source.model.tree and not target.model.tree and bound:
        given = impulses_ahead(source)
        state.joints["ahead"][rows.joints] = given.wrenches[from_rows.joints]
        state.joints["drive_ahead"][rows.joints] = given.drives[from_rows.joints]


def begin_anew(engine: Engine, time: float) -> None:
    """Begin without anything that is remembered, before units of other systems are taken."""
    engine.start_anew(time)
    parts = engine.parts
    guesses = parts.memory.guesses
    parts.memory.system.valid[:] = 0
    parts.state.last_dt[:] = 0.0
    guesses.active[:], guesses.ids[:] = 0, -1
    guesses.trend[:] = guesses.contact_trend[:] = 0.0


class Elements:
    """Where the elements of a world are, looked up once."""

    def __init__(self, robot: Mechanism) -> None:
        self.robot, self.division = robot, Division(robot)
        self.joints = {id_of(one): j for j, one in enumerate(all_joints(robot))}
        self.begins = coordinates_of(robot)
        self.couplings = {one.name: n for n, one in enumerate(robot.couplings)}
        names = [robot.actuators[k].name for k in implicit_actuators(robot)]
        self.controls = {name: n for n, name in enumerate(names)}
        whole = Motions(robot, 1.0)
        self.motions = {
            id_of(one): place for one, place in zip(whole.driven, whole.places, strict=True)
        }
        self.actuated = {int(one): n for n, one in enumerate(robot.actuated)}


def islands_made(known: Elements, bodies: Sequence[int]) -> tuple[Mechanism, Places]:
    """The mechanism of some bodies, sorted, and the places of its elements in the world."""
    robot, begins = known.robot, known.begins
    part = robot if len(bodies) == len(robot.bodies) else known.division.part(bodies)
    order = [known.joints[id_of(one)] for one in all_joints(part)]
    q: list[int] = []
    v: list[int] = []
    for j in order:
        q += begins[j][0]
        v += begins[j][1]
    controls = [known.controls[part.actuators[k].name] for k in implicit_actuators(part)]
    motions: list[int] = []
    for one in Motions(part, 1.0).driven:
        place = known.motions[id_of(one)]
        motions += range(place.start, place.stop)
    gains = np.zeros((part.nu, 4), dtype=np.int64)
    mine = zero(part).gains
    for n, g in enumerate(mine):
        gains[n] = known.actuated[v[int(part.actuated[n])]], g["q_index"], g["v_index"], g["turn"]
    return part, Places(
        indices(bodies),
        indices(order),
        indices([known.couplings[one.name] for one in part.couplings]),
        indices(q),
        indices(v),
        indices(controls),
        indices(motions),
        gains,
    )


def id_of(element: object) -> tuple[str, str]:
    """What a joint, spring or tendon is known by."""
    return type(element).__name__, str(getattr(element, "name"))  # noqa: B009


def coordinates_of(robot: Mechanism) -> list[tuple[range, range]]:
    """Indices in q and v of each joint, spring and tendon."""
    found = [
        (range(*robot.q_offsets[j : j + 2]), range(*robot.v_offsets[j : j + 2]))
        for j in range(len(robot.joints))
    ]
    q, v = robot.q_offsets[-1], robot.v_offsets[-1]
    lengths = range(len(robot.springs) + len(robot.tendons))
    return found + [(range(q + k, q + k + 1), range(v + k, v + k + 1)) for k in lengths]


def rows_of(
    parts: Parts, places: Places, unit_of: Indices, unit_of_joint: Indices
) -> Iterator[tuple[int, Rows]]:
    """(unit, rows) of each unit in an island's arrays, by the units of the world's elements."""
    model = parts.model
    of_body = np.append(unit_of[places.bodies], -1)
    of_joint = unit_of_joint[places.joints]
    joint_rows = model.joints["m_T"] + model.joints["m_R"]
    contacts = model.contacts
    on_joint = contacts["joint"] >= 0
    of_contact = np.where(on_joint, of_joint[contacts["joint"]], of_body[contacts["body"]])
    pairs = model.collision.pairs
    sides = of_body[pairs["body_a"]], of_body[pairs["body_b"]]
    for unit in np.unique(unit_of[places.bodies]).tolist():
        joints = np.flatnonzero(of_joint == unit)
        v = [
            c
            for j in joints
            for c in range(model.joints["v_begin"][j], model.joints["v_begin"][j] + joint_rows[j])
        ]
        q: list[int] = []
        for j in joints:
            joint = model.joints[j]
            numbers = int(joint["m_T"] + joint["m_R"]) + (1 if joint["m_R"] == 3 else 0)
            q += range(joint["q_begin"], joint["q_begin"] + numbers)
        own = np.flatnonzero(of_contact == unit)
        mine = [np.isin(side, (unit, -1)) for side in sides]
        lasting = [own]
        lasting += [one["companion"] + np.arange(one["companions"]) for one in contacts[own]]
        slots = list(lasting)
        chosen = pairs[mine[0] & mine[1] & ((sides[0] == unit) | (sides[1] == unit))]
        slots += [np.arange(one["slot_begin"], one["slot_end"]) for one in chosen]
        slots += [
            one["companion"] + np.arange(one["companions"] * (one["slot_end"] - one["slot_begin"]))
            for one in chosen
        ]
        couplings = of_joint[model.couplings["joint"][:, 0]] == unit
        pads = np.repeat(of_joint[model.bearings.joint], np.diff(model.bearings.begin)) == unit
        yield (
            unit,
            Rows(
                np.flatnonzero(of_body[:-1] == unit),
                joints,
                np.flatnonzero(couplings),
                indices(q),
                indices(v),
                np.concatenate(lasting).astype(np.int64),
                np.concatenate(slots).astype(np.int64),
                np.flatnonzero(pads),
            ),
        )
