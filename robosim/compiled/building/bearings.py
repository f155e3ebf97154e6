"""How the pads of bearings share the loads of their joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.kinds import DRY
from robosim.compiled.model import Bearings
from robosim.description.bearing import Pads, pads_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.validation import Array

SAME = 1e-9  # sine of the angle between two pads of a socket that slip alike


def pads_in(joint: Joint) -> Pads:
    """The pads of a joint's bearing."""
    assert joint.bearing is not None
    return pads_of(joint.bearing, joint.kind, joint.axis)


def slipping_alike(pads: Pads) -> list[int]:
    """For each pad, the first pad that slips as this one does, so that they share one bound.

    All pads of a sleeve slip alike. Pads of a socket do if they are opposite to each other.
    """
    if pads.tangents.shape[1] == 1:
        return [0] * len(pads.points)
    # Pads are compared by their normals, as a socket may be of any radius.
    out = np.cross(pads.tangents[:, 0], pads.tangents[:, 1])
    apart = np.linalg.norm(np.cross(out[:, None], out[None]), axis=2)
    return [int(np.argmax(row < SAME)) for row in apart]


def compile_bearings(mechanism: Mechanism, contacts: NDArray[np.void]) -> Bearings:
    """Normal impulses and friction of all bearings of a mechanism."""
    owners = [j for j, joint in enumerate(mechanism.joints) if joint.bearing is not None]
    shares, slips = [np.zeros((0, 6))], [np.zeros((0, 2, 6))]
    begins: list[int] = [0]
    slots: list[int] = []
    for j in owners:
        pads = pads_in(mechanism.joints[j])
        dry = (contacts["kind"] == DRY) & (contacts["joint"] == j) & (contacts["sign"] != 0)
        alike = slipping_alike(pads)
        slot_of = dict(zip(sorted(set(alike)), np.flatnonzero(dry), strict=True))
        shares.append(pads.shares)
        slips.append(_slips(mechanism.joints[j], pads, alike))
        slots += [int(slot_of[alike[pad]]) for pad in pads.pad_of]
        begins.append(len(slots))
    bearings = Bearings(
        joint=np.array(owners, dtype=np.int64),
        begin=np.array(begins, dtype=np.int64),
        shares=np.vstack(shares),
        slips=np.concatenate(slips),
        contact=np.array(slots, dtype=np.int64),
        friction=np.unique(slots).astype(np.int64),
    )
    for array in bearings:
        array.setflags(write=False)
    return bearings


def _slips(joint: Joint, pads: Pads, alike: list[int]) -> Array:
    """Wrenches (m, 2, 6) of friction for a unit normal force, along the tangents of its slip.

    The tangents are those of the first pad that slips alike, reversed if this pad is opposite.
    """
    assert joint.bearing is not None
    wrenches = np.zeros((len(pads.pad_of), 2, 6))
    for row, pad in enumerate(pads.pad_of):
        first = pads.tangents[alike[pad]]
        tangents = pads.tangents[pad]
        if len(first) == 2:
            side = np.cross(*tangents) @ np.cross(*first)
            tangents = first if side > 0 else -first
        arms = np.cross(pads.points[pad], tangents)
        wrenches[row, : len(tangents)] = joint.bearing.friction * np.hstack((tangents, arms))
    return wrenches
