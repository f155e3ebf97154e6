"""What may be wrong: warnings of starts, and why a step could not be solved."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from robosim.compiled.kinds import LIMIT
from robosim.compiled.order import all_joints, driven_elements
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Tendon
from robosim.errors import ControllerError, ConvergenceError, RobosimError
from robosim.kernels.contact.kinematics import RECOVERY_SPEED
from robosim.runtime.handles import Parts
from robosim.simulation.blame import user_level
from robosim.simulation.readings import Contact, contact_heights, min_gap


def warn_of_start(robot: Mechanism, parts: Parts) -> None:
    """Say before the first step what starts in the ground or beyond its limit."""
    heights = contact_heights(robot, parts.state)
    if heights.min(initial=0.0) < -1e-9:
        name = robot.contacts[int(heights.argmin())].name
        warnings.warn(
            f"contact '{name}' starts {-heights.min():.3g} m below the ground and will be "
            f"pushed out of it at no more than {RECOVERY_SPEED} m/s; raise the base by that "
            "much",
            stacklevel=user_level(),
        )
    for what, value, turns, side, bound, scale in beyond_limits(robot, parts):
        speed = f"{RECOVERY_SPEED / scale:.3g} {'rad/s' if turns else 'm/s'}"
        warnings.warn(
            f"{what} starts at {value:.6g}, beyond its {side} limit of {bound:.6g}, and will "
            f"be pushed back at no more than {speed}",
            stacklevel=user_level(),
        )


def beyond_limits(
    robot: Mechanism, parts: Parts
) -> Iterator[tuple[str, float, bool, str, float, float]]:
    """(whose, where, whether it turns, side, bound, scale) of each limit that is exceeded."""
    slots, joints = parts.model.contacts[parts.model.n_ground :], parts.model.joints
    if len(slots) == 0:
        return
    limits = slots[slots["kind"] == LIMIT]
    here = parts.state.q[joints["q_begin"][limits["joint"]] + limits["row"]]
    beyond = limits["sign"] * (here - limits["bound"]) < -1e-9 * limits["scale"]
    for slot, value in zip(limits[beyond], here[beyond], strict=True):
        element = all_joints(robot)[int(slot["joint"])]
        kind = "tendon" if isinstance(element, Tendon) else "joint"
        turns = kind == "joint" and slot["row"] >= joints["m_T"][slot["joint"]]
        side = "lower" if slot["sign"] > 0 else "upper"
        numbers = float(slot["bound"]), float(slot["scale"])
        yield f"{kind} '{element.name}'", float(value), bool(turns), side, *numbers


def warn_of_overlap(contacts: Sequence[Contact]) -> None:
    """Say after the first step which shapes, of those that touch others, began in them."""
    inside = [contact for contact in contacts if contact.gap < -1e-9]
    if inside:
        deepest = min(inside, key=lambda contact: contact.gap)
        warnings.warn(
            f"body '{deepest.body}' starts inside of '{deepest.other}' and is still "
            f"{-deepest.gap:.3g} m deep; it will be pushed out at no more than "
            f"{RECOVERY_SPEED} m/s",
            stacklevel=user_level(),
        )


def failure(robot: Mechanism, parts: Parts, time: float, at_start: bool, info: Any) -> RobosimError:
    """The error that tells of a step which could not be solved, `info` of it."""
    strange = np.flatnonzero(~np.isfinite(parts.loads.tau))
    if len(strange):  # of a compiled controller; others are checked when they answer
        v = int(strange[0])
        name = dict(zip(robot.actuated, robot.actuated_names, strict=True)).get(v)
        return ControllerError(
            f"the controller gave {parts.loads.tau[v]} for "
            f"'{name or robot.v_names[v]}' at {time:.6g} s"
        )
    return ConvergenceError(
        time,
        float(info["residual"]),
        int(info["iterations"]),
        int(info["substeps"]),
        robot.bodies[int(info["worst_body"])].name,
        hint(robot, parts, at_start),
    )


def hint(robot: Mechanism, parts: Parts, at_start: bool) -> str:
    """What may have made a step unsolvable, in the order of how often it does."""
    turns = np.linalg.norm(parts.state.bodies["omega"], axis=1) * parts.options.dt
    if turns.max() > 0.5:
        name = robot.bodies[int(turns.argmax())].name
        torque = float(np.abs(parts.loads.tau).max(initial=0.0))
        return (
            f"Body '{name}' turns by {turns.max():.3g} rad in a step, more than the scheme "
            f"follows: the timestep is too long for it, or for the gains of a controller that "
            f"oscillates (its largest torque is {torque:.3g})."
        )
    if at_start and (gap := min_gap(robot, parts)) < -1e-9:
        return f"It starts {-gap:.3g} m inside of what it cannot pass: move it out."
    for what, value, _, side, bound, _ in beyond_limits(robot, parts):
        return (
            f"{what[0].upper()}{what[1:]} is at {value:.6g}, beyond its {side} limit of "
            f"{bound:.6g}: it may have no way to get there."
        )
    driven = [f"'{element.name}'" for element in driven_elements(robot)]
    if driven:
        return f"The motions of {', '.join(driven)} may lead where the mechanism cannot follow."
    return ""
