"""The state that a step starts from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.compiled.model import Model
from robosim.compiled.order import n_lengths
from robosim.compiled.records.body import BODY_STATE
from robosim.compiled.records.joint import COUPLING_STATE, JOINT_STATE
from robosim.description.mechanism import Mechanism
from robosim.validation import Array


class State(NamedTuple):
    """A knot, the momenta that enter the next step there, and the interval that led to it."""

    bodies: NDArray[np.void]  # (nb,) BODY_STATE
    joints: NDArray[np.void]  # (nj,) JOINT_STATE
    couplings: NDArray[np.void]  # COUPLING_STATE
    q: Array  # joint coordinates at the knot: the tree's nq, then those of other joints
    v: Array  # joint velocities at the knot, in the same order
    last_dt: Array  # (2,) lengths of the interval that led to the knot and of that before it [s]; 0
    # for what there has not been since a start
    stale: Array  # (1,) 1 if the velocities at the knot have not been computed, else 0
    kept: Array  # (1,) 1 if what means over the last step are read from has been kept, else 0
    pressed: Array  # (m,) impulses of pads of bearings over that interval
    closed: Array  # (slots,) 1 for contacts that pushed in it, else 0; (0,) without restitution


def make_state(mechanism: Mechanism, model: Model) -> State:
    """A state of zeros of the right sizes; set it before it is stepped."""
    return State(
        bodies=np.zeros(len(model.bodies), dtype=BODY_STATE),
        joints=np.zeros(len(model.joints), dtype=JOINT_STATE),
        couplings=np.zeros(len(model.couplings), dtype=COUPLING_STATE),
        q=np.zeros(mechanism.q_offsets[-1] + n_lengths(mechanism)),
        v=np.zeros(len(model.coordinates)),
        last_dt=np.zeros(2),
        stale=np.zeros(1),
        kept=np.ones(1),
        pressed=np.zeros(len(model.bearings.contact)),
        closed=np.zeros(len(model.restitution)),
    )


def force_interval(state: State, timestep: float) -> float:
    """Time [s] over which the last impulses at a knot are averaged to forces.

    An impulse acts half in either interval beside its knot. At a start there is only the one after
    it. Of a state without any interval, `timestep`.
    """
    last, before = np.abs(state.last_dt).tolist()
    return 0.5 * (last + before) if last else timestep
