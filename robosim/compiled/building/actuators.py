"""Records of implicit actuators."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.compiled.kinds import AFFINE, BUMPS, HILL
from robosim.compiled.model import Actuators
from robosim.compiled.order import coordinate_places
from robosim.compiled.records.actuator import ACTUATOR
from robosim.compiled.records.joint import PIECE
from robosim.description.actuator import Actuator
from robosim.description.hill_muscle import Curve, HillMuscle
from robosim.description.mechanism import Mechanism
from robosim.description.muscle import Muscle
from robosim.validation import Array

Pieces = list[tuple[float, Array]]


def acted_on(mechanism: Mechanism) -> dict[int, list[int]]:
    """Rate of a coordinate, of joints or lengths -> implicit actuators that act along it."""
    if not any(actuator.implicit for actuator in mechanism.actuators):
        return {}
    places = {
        name: mechanism.v_offsets[j] + row
        for name, (j, row) in coordinate_places(mechanism).items()
    }
    first = mechanism.v_offsets[-1] + len(mechanism.springs)
    places |= {tendon.name: first + k for k, tendon in enumerate(mechanism.tendons)}
    acting: dict[int, list[int]] = {}
    for k, actuator in enumerate(mechanism.actuators):
        if actuator.implicit:
            (name,) = actuator.gears
            acting.setdefault(places[name], []).append(k)
    return acting


def implicit_actuators(mechanism: Mechanism) -> list[int]:
    """Which of a mechanism's actuators are implicit, in the order of their controls."""
    acting = acted_on(mechanism)
    return [k for v in sorted(acting) for k in acting[v]]


def compile_actuators(mechanism: Mechanism, n_rates: int) -> Actuators:
    """The implicit actuators by coordinate."""
    acting = acted_on(mechanism)
    counts = [len(acting.get(v, ())) for v in range(n_rates)]
    which = implicit_actuators(mechanism)
    laws = np.zeros(len(which), dtype=ACTUATOR)
    pieces: Pieces = []
    for record, k in zip(laws, which, strict=True):
        _fill(record, mechanism.actuators[k], pieces)
    begin = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    actuators = Actuators(laws, begin, np.array(pieces, dtype=PIECE))
    for array in actuators:
        array.setflags(write=False)
    return actuators


def _fill(record: Any, actuator: Actuator, pieces: Pieces) -> None:
    """An ACTUATOR record; curves go to the pieces."""
    (record["gear"],) = actuator.gears.values()
    record["lower"], record["upper"] = actuator.force_range
    match actuator.muscle:
        case HillMuscle() as muscle:
            record["kind"] = HILL
            record["force"], record["optimal"] = muscle.force, muscle.optimal_length
            record["slack"] = muscle.tendon_length
            record["fastest"] = muscle.optimal_length * muscle.fastest
            for n, curve in enumerate((muscle.active, muscle.rate, muscle.passive)):
                record["curve"][n] = len(pieces)
                pieces += _with_ends(curve)
            record["curve"][3] = len(pieces)
        case Muscle() as muscle:
            record["kind"] = BUMPS
            record["force"], record["optimal"] = muscle.force, muscle.optimal_length
            record["slack"], record["begin"] = muscle.length_range[0], muscle.range[0]
            record["fastest"] = muscle.optimal_length * muscle.fastest
            for name in ("shortest", "longest", "passive", "lengthening"):
                record[name] = getattr(muscle, name)
        case _:
            record["kind"], record["gain"], record["bias"] = AFFINE, actuator.gain, actuator.bias


def _with_ends(curve: Curve) -> Pieces:
    """Pieces of a curve, with straight pieces that continue it at both ends."""
    knots = np.asarray(curve.knots)
    ends = [(x, np.array((*curve.at(x), 0.0, 0.0))) for x in (float(knots[0]), float(knots[-1]))]
    inner = zip(knots[:-1].tolist(), np.asarray(curve.pieces), strict=True)
    return [ends[0], *inner, ends[1]]
