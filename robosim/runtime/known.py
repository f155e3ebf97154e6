"""Directions whose derivatives are known or follow from others, and so are not computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim.compiled.kinds import RATE
from robosim.compiled.model import Model, Options
from robosim.description.mechanism import Mechanism


def may_follow(robot: Mechanism, model: Model, options: Options, closes: bool) -> bool:
    """Whether derivatives by torques follow from those by velocities in undivided steps."""
    others = model.loops.ties, model.charts.factors, model.restitution
    ties = closes or len(model.joints) > len(model.bodies) or len(model.couplings) > 0
    rates = bool((model.contacts["kind"] == RATE).any())
    plain = model.tree and options.order == 2 and not any(len(one) for one in others)
    return robot.nu > 0 and plain and not (ties or rates)


def translations(robot: Mechanism, model: Model) -> list[int]:
    """Velocities of translations of the whole robot that change no force.

    These are translations of a floating base along level ground, or all translations if nothing
    in the world can touch the robot.
    """
    world = len(model.bodies)
    on_world = (model.joints["parent"] == world) | (model.joints["child"] == world)
    if len(model.joints) > world or len(model.couplings) > 0 or on_world.sum() != 1:
        return []
    j = int(np.flatnonzero(on_world)[0])
    joint: Any = model.joints[j]
    begin, width = int(joint["v_begin"]), int(joint["m_T"] + joint["m_R"])
    acted = set(range(begin, begin + width)) & set(map(int, robot.actuated))
    contacts = model.contacts
    limits = contacts[model.n_ground :]
    if joint["m_T"] != 3 or joint["law"] != 0 or acted or (limits["joint"] == j).any():
        return []
    pairs = model.collision.pairs
    if ((pairs["body_a"] == world) | (pairs["body_b"] == world)).any():
        return []
    if contacts["drifts"].any():
        return []
    if model.n_ground == 0:
        return list(range(begin, begin + 3))
    heights = joint["C_T"] @ joint["R_offset"][2]
    return [begin + row for row in range(3) if heights[row] == 0.0]
