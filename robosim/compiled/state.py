"""What a step starts from, and memory for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.model import Model, n_slots
from robosim.compiled.order import n_lengths
from robosim.compiled.records.body import BODY_STATE
from robosim.compiled.records.contact import CONTACT_STATE
from robosim.compiled.records.joint import COUPLING_STATE, JOINT_STATE
from robosim.compiled.records.sizes import TRENDS
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


class State(NamedTuple):
    """What a step starts from: the knot, momenta and joint directions there, and a guess."""

    bodies: NDArray[np.void]  # (nb,) BODY_STATE
    joints: NDArray[np.void]  # (nj,) JOINT_STATE
    couplings: NDArray[np.void]  # COUPLING_STATE
    contacts: NDArray[np.void]  # (nc,) CONTACT_STATE
    q: Array  # joint coordinates at the knot: the tree's nq, then those of other joints
    v: Array  # joint velocities at the knot, in the same order
    trend: Array  # (TRENDS,) 1 for each of `missed` that the next guess takes, 0 for the others
    contact_trend: Array  # (TRENDS,) and of `changed` of contacts


def make_state(mechanism: Mechanism, model: Model) -> State:
    """A state of zeros of the right sizes; set it before it is stepped."""
    return State(
        bodies=np.zeros(len(model.bodies), dtype=BODY_STATE),
        joints=np.zeros(len(model.joints), dtype=JOINT_STATE),
        couplings=np.zeros(len(model.couplings), dtype=COUPLING_STATE),
        contacts=np.zeros(n_slots(model), dtype=CONTACT_STATE),
        q=np.zeros(mechanism.q_offsets[-1] + n_lengths(mechanism)),
        v=np.zeros(len(model.coordinates)),
        trend=np.zeros(TRENDS),
        contact_trend=np.zeros(TRENDS),
    )
