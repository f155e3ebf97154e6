"""Records of joints and of couplings of their coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robosim import quaternions
from robosim.compiled.arrays import aligned
from robosim.compiled.building.actuators import acted_on
from robosim.compiled.kinds import BALL, CHART, DRIVEN, DRIVEN_CHART, FREE, GENERAL, HINGE
from robosim.compiled.order import all_joints, n_lengths
from robosim.compiled.records.joint import (
    COMPLIANCE,
    COORDINATE,
    COUPLING,
    JOINT,
    PIECE,
)
from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.springs import PointSpring, Potential
from robosim.description.tendon import Tendon
from robosim.validation import Array


def joint_records(
    mechanism: Mechanism, velocity_limits: bool = False
) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.void]]:
    """JOINT, COORDINATE and PIECE records."""
    nb = len(mechanism.bodies)
    index = {body.name: i for i, body in enumerate(mechanism.bodies)}
    elements = all_joints(mechanism)
    joints = aligned(len(elements), JOINT)
    n_rates = mechanism.v_offsets[-1] + n_lengths(mechanism)
    coordinates = np.zeros(n_rates, dtype=COORDINATE)
    pieces: list[tuple[float, Array]] = []
    pulled = acted_on(mechanism)
    nq = nv = driven = 0
    for j, joint in enumerate(elements):
        record = joints[j]
        record["q_begin"], record["v_begin"], record["node"] = nq, nv, -1
        record["offset"], record["R_offset"] = quaternions.IDENTITY, np.eye(3)
        if isinstance(joint, Tendon):
            # A joint of the world with itself, which acts on the bodies of its spans.
            record["parent"], record["child"], record["m_T"] = nb, nb, 1
        else:
            parent = nb if joint.parent is None else index[joint.parent]
            record["parent"], record["child"] = parent, index[joint.child]
            record["p_a"], record["p_b"] = joint.parent_position, joint.child_position
            _set_scales(mechanism, record)
        potentials: tuple[Potential | None, ...] = (None,)
        motion: Callable[[float], ArrayLike] | None = None
        if isinstance(joint, Tendon):
            lowest, highest = np.asarray(joint.rest_length)
            names = ("stiffness", "damping", "armature")
            rows: dict[str, Any] = {name: getattr(joint, name) for name in names}
            rows |= {"rest": lowest, "slack": highest - lowest}
            size_q = size_v = 1
            motion = joint.motion
        elif isinstance(joint, PointSpring):
            # A joint with one free translation, whose coordinate is its length.
            record["distance"], record["m_T"] = 1, 1
            rows = {"stiffness": joint.stiffness, "damping": joint.damping, "armature": 0.0}
            rows["rest"] = joint.rest_length
            size_q = size_v = 1
            potentials = (joint.potential,)
        else:
            record["offset"] = joint.offset
            record["R_offset"] = quaternions.rotation_matrix(joint.offset)
            for letter, count, matrix in (
                ("D_T", "n_T", joint.D_T),
                ("D_R", "n_R", joint.D_R),
                ("C_T", "m_T", joint.C_T),
                ("C_R", "m_R", joint.C_R),
            ):
                record[count] = matrix.shape[1]
                record[letter][: matrix.shape[1]] = matrix.T
            if joint.own_chart is not None:
                # Each of its coordinates is a number, as those of translations are.
                record["m_T"], record["n_T"] = joint.nv, 6 - joint.nv
            record["axis_a"] = record["R_offset"] @ record["C_R"][0]
            acting = ("stiffness", "rest", "damping", "armature")
            rows = {name: joint.per_coordinate(name) for name in acting}
            size_q, size_v = joint.nq, joint.nv
            potentials, motion = joint.potentials, joint.motion
        mine = coordinates[nv : nv + size_v]
        for name, value in rows.items():
            mine[name] = value
        mine["driven"] = -1
        add_pieces(potentials, mine, pieces)
        if motion is not None:
            mine["driven"] = driven + np.arange(size_v)
            driven += size_q
        acts = any(mine[name].any() for name in ("stiffness", "damping", "armature"))
        acts |= any(v in pulled for v in range(nv, nv + size_v))
        record["law"] = acts or any(potentials) or motion is not None
        resists = isinstance(joint, Tendon | Joint) and joint.resists
        resists |= isinstance(joint, Joint) and velocity_limits and joint.is_limited_in_velocity
        if resists and record["n_T"] + record["n_R"] == 0:
            # Limits and friction act on coordinates and need a node. A joint without constraints
            # has a node only if it has a law.
            record["law"] = 1
        if isinstance(joint, Joint) and joint.own_chart is not None:
            record["kind"] = CHART if motion is None else DRIVEN_CHART
        else:
            record["kind"] = DRIVEN if motion is not None else _elimination(record, nb, resists)
        record["first_child"], record["next_child"] = -1, -1
        if record["child"] < nb:
            record["per_inertia"] = 1.0 / _own_inertia(mechanism.bodies[record["child"]], record)
        nq, nv = nq + size_q, nv + size_v
    for b in range(nb - 1, -1, -1):
        if joints[b]["parent"] < nb:
            parent = joints[joints[b]["parent"]]
            joints[b]["next_child"], parent["first_child"] = parent["first_child"], b
    return joints, coordinates, np.array(pieces, dtype=PIECE)


def add_pieces(
    potentials: Sequence[Potential | None],
    coordinates: NDArray[np.void],
    pieces: list[tuple[float, Array]],
) -> None:
    """Add the pieces of a joint's potentials; its COORDINATE records get their places."""
    for row, potential in zip(coordinates, potentials, strict=True):
        row["piece_begin"] = len(pieces)
        if potential is not None:
            x = np.asarray(potential.x)
            pieces += list(zip(x[:-1].tolist(), potential.pieces, strict=True))
        row["piece_end"] = len(pieces)


def add_rotors(joints: NDArray[np.void], coordinates: NDArray[np.void]) -> None:
    """Let rotors count in the scales of laws, as what is left of a law moves them as well.

    Beside a light body a rotor is most of the inertia, and its momentum has the rounding of angles
    over the timestep.
    """
    for joint in joints:
        first, single = int(joint["v_begin"]), int(joint["m_T"])
        rotors = coordinates["armature"][first : first + single + int(joint["m_R"])]
        mass, scale = float(joint["scale_T"]), float(joint["scale_R"])
        if mass == 0.0 or not rotors.any():
            continue
        if single > 0:
            joint["scale_T"] = mass / (1.0 + mass * rotors[:single].min())
        if single < len(rotors):
            inertia = scale**2 / mass
            joint["scale_R"] = scale / np.sqrt(1.0 + inertia * rotors[single:].min())


def coupling_records(mechanism: Mechanism, joints: NDArray[np.void]) -> NDArray[np.void]:
    """COUPLING records; the joints that they couple get rows for their coordinates."""
    names = [joint.name for joint in mechanism.joints]
    couplings = np.zeros(len(mechanism.couplings), dtype=COUPLING)
    for record, coupling in zip(couplings, mechanism.couplings, strict=True):
        for k, name in enumerate((coupling.joint, coupling.source)):
            joint = joints[names.index(name)]
            joint["law"] = 1
            record["joint"][k] = names.index(name)
            record["row"][k] = joint["n_T"] + joint["n_R"]
            record["compliance"] += joint["compliance_R" if joint["m_R"] else "compliance_T"]
        record["factor"], record["offset"] = (1.0, -coupling.ratio), coupling.offset
    return couplings


def _own_inertia(body: Body, joint: Any) -> float:
    """Inertia of a joint's child along its rotations, their mean if it is not a hinge."""
    inertia, arm = np.asarray(body.inertia), joint["p_b"]
    square = float(arm @ arm)
    if joint["kind"] == HINGE:
        axis = joint["C_R"][0]
        return float(axis @ inertia @ axis + body.mass * (square - (axis @ arm) ** 2))
    return float(np.trace(inertia)) / 3.0 + (0.0 if joint["kind"] == FREE else body.mass * square)


def _elimination(joint: Any, nb: int, resists: bool) -> int:
    """The kind of a joint in the elimination of a tree; BALL only if nothing acts along it."""
    free = int(joint["m_T"]), int(joint["m_R"])
    if free == (0, 1):
        return HINGE
    if free == (0, 3) and joint["law"] == 0 and not resists:
        return BALL
    if free == (3, 3) and joint["law"] == 0 and joint["parent"] == nb:
        return FREE
    return GENERAL


def _set_scales(mechanism: Mechanism, record: Any) -> None:
    """Set scales and compliances by the inverse mass and inertia that a joint acts on."""
    mass, inertia = 0.0, 0.0
    for i in (int(record["parent"]), int(record["child"])):
        if i < len(mechanism.bodies):
            body = mechanism.bodies[i]
            mass += 1.0 / body.mass
            inertia += 3.0 / float(np.trace(np.asarray(body.inertia)))
    record["scale_T"] = mass
    record["scale_R"] = np.sqrt(mass * inertia)
    record["compliance_T"], record["compliance_R"] = COMPLIANCE * mass, COMPLIANCE * inertia
