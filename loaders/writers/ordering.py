"""Mechanisms with bodies in the order of a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.mechanism import Mechanism
from robosim.description.order import depth_first
from robosim.description.stance import Stance


def in_file_order(mechanism: Mechanism) -> Mechanism:
    """The mechanism with its tree depth first, as files nest bodies; poses are reordered."""
    order = depth_first(mechanism.tree_joints)
    if order == list(mechanism.tree_joints):
        return mechanism
    at = {joint.name: k for k, joint in enumerate(mechanism.tree_joints)}
    starts = [mechanism.q_offsets[at[joint.name]] for joint in order]
    places = np.concatenate(
        [np.arange(start, start + joint.nq) for start, joint in zip(starts, order, strict=True)]
    )

    def sorted_pose(q: ArrayLike) -> ArrayLike:
        return np.asarray(q)[places]

    assert mechanism.home is not None
    found = replace(
        mechanism,
        joints=(*order, *mechanism.loop_joints),
        home=sorted_pose(mechanism.home),
        configurations={name: sorted_pose(q) for name, q in mechanism.configurations.items()},
        stance=None,
        as_given=False,
    )
    if mechanism.stance is None:
        return found
    motors = [mechanism.actuated_names.index(name) for name in found.actuated_names]
    stance = mechanism.stance
    parts = (np.asarray(part)[motors] for part in (stance.target, stance.kp, stance.kd))
    return replace(found, stance=Stance(*parts))
