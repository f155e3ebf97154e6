"""Warnings about starts, and the causes of steps that could not be solved."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robosim.blame import user_level
from robosim.compiled.kinds import CONE, LIMIT, TURN
from robosim.compiled.order import all_joints, driven_elements
from robosim.compiled.records.tree import MOST_COUPLED
from robosim.description.charts import check_rank
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.tendon import Tendon
from robosim.errors import (
    ControllerError,
    ConvergenceError,
    DeadPointError,
    NoMotionError,
    RobosimError,
)
from robosim.formulation import Contact
from robosim.kernels.contact.kinematics import RECOVERY_SPEED
from robosim.kernels.status import NEEDS_GRAPH, NEEDS_ROWS, UNRESOLVED, UNSETTLED
from robosim.kernels.step.accuracy import SHORTEST
from robosim.runtime.handles import Parts
from robosim.simulation.blocked import Blocked, blocked
from robosim.simulation.dead_points import DeadPoint, dead_point
from robosim.simulation.readings import contact_heights, min_gap
from robosim.validation import Array


def refuse_start(robot: Mechanism, parts: Parts, whose: str = "") -> None:
    """Raise a StateError for a joint with singular coordinates (gimbal lock) at a start."""
    if not len(parts.model.charts.factors):
        return
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        if joint.own_chart is not None:
            q = parts.state.q[start : start + joint.nq]
            check_rank(joint.own_chart, q, joint.name, whose)


def refuse_starts(simulations: Mapping[int, Any]) -> None:
    """`refuse_start` for those of several simulations, by number, that have taken no step."""
    for i, sim in simulations.items():
        if sim.steps == 0:
            refuse_start(sim.robot, sim.parts, f"state {i}: ")


def warn_of_start(robot: Mechanism, parts: Parts) -> None:
    """Issue warnings, before the first step, about penetration and exceeded limits.

    Raises
    ------
    StateError
        As `refuse_start`.
    """
    refuse_start(robot, parts)
    heights = contact_heights(robot, parts.state)
    heights[[point.stiffness is not None for point in robot.contacts]] = np.inf
    if heights.min(initial=0.0) < -1e-9:
        name = robot.contacts[int(heights.argmin())].name
        warnings.warn(
            f"contact '{name}' starts {-heights.min():.3g} m below the ground and will be "
            f"pushed out of it at no more than {RECOVERY_SPEED} m/s; raise the base by that "
            "much",
            stacklevel=user_level(),
        )
    for one in beyond_limits(robot, parts):
        if one.is_compliant:
            continue
        speed = f"{RECOVERY_SPEED / one.scale:.3g} {'rad/s' if one.turns else 'm/s'}"
        warnings.warn(
            f"{one.whose} starts at {one.value:.6g}, beyond its {one.side} of {one.bound:.6g}, "
            f"and will be pushed back at no more than {speed}",
            stacklevel=user_level(),
        )


class Beyond(NamedTuple):
    """A limit that is exceeded.

    Attributes
    ----------
    whose : str
        "joint 'knee'" or "tendon 'cable'".
    value, bound : float [rad or m], the coordinate or length, and its limit
    turns : bool
    side : str
        "lower limit", "upper limit", "cone" or "largest_turn".
    scale : float
        Metres of the equations in a unit of the value.
    rates : range
        Indices of the velocities that change the value.
    is_compliant : bool
    """

    whose: str
    value: float
    turns: bool
    side: str
    bound: float
    scale: float
    rates: range
    is_compliant: bool = False


def beyond_limits(robot: Mechanism, parts: Parts) -> Iterator[Beyond]:
    """All exceeded limits of joints and tendons."""
    q, joints = parts.state.q, parts.model.joints
    slots = parts.model.contacts[parts.model.n_ground :]
    here = q[joints["q_begin"][slots["joint"]] + slots["row"]]
    within = slots["sign"] * (here - slots["bound"]) >= -1e-9 * slots["scale"]
    for slot in slots[~(within & (slots["kind"] == LIMIT))]:
        joint, row = joints[slot["joint"]], int(slot["row"])
        kind, scale, bound = slot["kind"], float(slot["scale"]), float(slot["bound"])
        begin, v = int(joint["q_begin"]) + row, int(joint["v_begin"]) + row
        if kind == LIMIT:
            value, rates = float(q[begin]), range(v, v + 1)
            side = "lower limit" if slot["sign"] > 0 else "upper limit"
            gap = (value - bound) * (1.0 if slot["sign"] > 0 else -1.0)
        elif kind == CONE:
            up = 1.0 - 2.0 * float(q[begin + 1] ** 2 + q[begin + 2] ** 2)
            gap, side, rates = up - bound, "cone", range(v, v + 2)
            value, bound = float(np.arccos(np.clip(up, -1.0, 1.0))), float(np.arccos(bound))
            scale *= float(np.sin(bound))
        elif kind == TURN:
            w = abs(float(q[begin]))
            gap, side, rates = w - bound, "largest_turn", range(v, v + 3)
            value, bound = 2.0 * float(np.arccos(min(w, 1.0))), 2.0 * float(np.arccos(bound))
            scale *= float(np.sin(0.5 * bound))
        else:
            continue
        if gap < -1e-9:
            element = all_joints(robot)[int(slot["joint"])]
            what = "tendon" if isinstance(element, Tendon) else "joint"
            turns = isinstance(element, Joint) and element.units[row] == "rad"
            whose, soft = f"{what} '{element.name}'", bool(slot["compliant"])
            yield Beyond(whose, value, turns, side, bound, scale, rates, soft)


def warn_of_overlap(contacts: Sequence[Contact]) -> None:
    """Issue a warning, after the first step, about shapes that overlapped at the start."""
    inside = [one for one in contacts if one.gap < -1e-9 and one.stiffness == np.inf]
    if inside:
        deepest = min(inside, key=lambda contact: contact.gap)
        warnings.warn(
            f"body '{deepest.body}' starts inside of '{deepest.other}' and is still "
            f"{-deepest.gap:.3g} m deep; it will be pushed out at no more than "
            f"{RECOVERY_SPEED} m/s",
            stacklevel=user_level(),
        )


# Cosine of half of the rotation in an interval from which on a warning is issued: half a radian.
FAR = float(np.cos(0.25))


def warn_of_turn(
    robot: Mechanism, parts: Parts, infos: NDArray[np.void], time: float, whose: str = ""
) -> bool:
    """Issue a warning if a body turns far in a step; the first step begins at `time` [s].

    `infos` (n,) are those of the steps. Returns whether a warning was issued.
    """
    far = np.flatnonzero(infos["turn"] < FAR)
    if not len(far):
        return False
    timestep, info = parts.options.dt, infos[far[0]]
    spins = np.linalg.norm(parts.state.bodies["omega"], axis=1)
    body = int(info["turner"]) if info["turner"] >= 0 else int(spins.argmax())
    turn, substeps = 2.0 * float(np.arccos(info["turn"])), int(info["substeps"])
    part = "a step" if substeps == 1 else f"one of the {substeps} parts of a step"
    warnings.warn(
        f"{whose}body '{robot.bodies[body].name}' turns by {turn:.3g} rad in {part} of "
        f"{timestep:g} s at {time + timestep * far[0]:.6g} s: the angular momentum of such a turn "
        f"is {100 * (1 - np.sin(turn) / turn):.2g} % short, and one of a radian is not followed; "
        f"with a timestep below {0.5 * timestep / (substeps * turn):.2g} s it stays below half a "
        "radian",
        stacklevel=user_level(),
    )
    return True


def failure(robot: Mechanism, parts: Parts, time: float, at_start: bool, info: Any) -> RobosimError:
    """The error for a step that could not be solved, with its `info`."""
    if wrong := not_finite(robot, parts.loads.tau, time):
        return wrong
    if info["status"] == NEEDS_ROWS:
        return ControllerError(
            f"'{robot.name}' has a ball joint with nothing along it but an implicit PD, for which "
            "solver='articulated' has no equations: use solver='ldu', or leave the choice"
        )
    body = robot.bodies[int(info["worst_body"])].name
    if info["status"] == UNSETTLED:
        names = [f"'{j.name}'" for j in robot.joints if j.bearing is not None and j.child == body]
        told = (
            f"The bearing of joint {' or '.join(names)} does not settle: its friction makes the "
            "load by which it is bounded. Less friction, a longer bearing or a shorter timestep "
            "may help."
        )
    elif info["status"] == NEEDS_GRAPH:
        told = (
            f"There are more than {MOST_COUPLED} contacts between bodies, which "
            "solver='articulated' does not take: use solver='ldu', or leave the choice."
        )
    elif info["status"] == UNRESOLVED:
        told = unresolved(robot, parts, time + float(info["shortest"]), body)
    elif held := blocked(robot, parts, time):
        return no_motion(robot, parts, time, info, held)
    elif dead := dead_point(robot, parts.state.q[: robot.nq]):
        return at_dead_point(robot, time, info, dead)
    else:
        told = hint(robot, parts, at_start)
    return unsolved(robot, time, info, told)


def no_motion(
    robot: Mechanism, parts: Parts, time: float, info: Any, held: Blocked
) -> ConvergenceError:
    """The error for a step for which it was shown that no pose is where motions lead."""
    motions = " and ".join(f"'{name}'" for name in held.motions)
    one, what = ("motion", "leads") if len(held.motions) == 1 else ("motions", "lead")
    told = (
        f"The {one} of {motions} {what} through the {' and the '.join(held.holding)}. Whatever "
        f"other coordinates do, one of these is violated by {held.overlap:.3g} m at "
        f"{held.ends:.6g} s, in each pose that is near."
    )
    return unsolved(robot, time, info, told, NoMotionError, **held._asdict())


def at_dead_point(robot: Mechanism, time: float, info: Any, dead: DeadPoint) -> ConvergenceError:
    """The error for a step for which it was shown that loops stand at a dead point."""
    held, joints = (", ".join(f"'{name}'" for name in names) for names in (dead.held, dead.joints))
    told = (
        f"The loops of {joints} stand at a dead point: they permit velocities of {held}, but no "
        "motion with them, and no finite force holds a load there. Let the robot start in another "
        "pose, or close the loop by another joint."
    )
    return unsolved(robot, time, info, told, DeadPointError, **dead._asdict())


def unresolved(robot: Mechanism, parts: Parts, time: float, body: str) -> str:
    """Why a step could not be taken to its accuracy: where, and when [s]."""
    index = robot.body_index(body)
    heights = contact_heights(robot, parts.state)
    own = [k for k, point in enumerate(robot.contacts) if point.body == body]
    at = f"body '{body}'"
    if own:
        lowest = robot.contacts[min(own, key=heights.__getitem__)]
        at += f", whose contact '{lowest.name}' is lowest"
    elif index < len(robot.tree_joints):
        at += f", which joint '{robot.tree_joints[index].name}' carries"
    return (
        f"An accuracy of {parts.options.accuracy:g} m needs intervals below {SHORTEST:g} s at "
        f"{time:.9g} s, at {at}: ask for less, or for none."
    )


def not_finite(robot: Mechanism, tau: Array, time: float) -> ControllerError | None:
    """The error for torques of a compiled controller; those of others are checked on return."""
    for v in np.flatnonzero(~np.isfinite(tau)).tolist():
        name = dict(zip(robot.actuated, robot.actuated_names, strict=True)).get(v)
        return ControllerError(
            f"the controller gave {tau[v]} for '{name or robot.v_names[v]}' at {time:.6g} s"
        )
    return None


def unsolved(
    robot: Mechanism,
    time: float,
    info: Any,
    hint: str,
    kind: type[ConvergenceError] = ConvergenceError,
    **shown: Any,
) -> ConvergenceError:
    """The error for a step that could not be solved, with its INFO, a hint and what was shown."""
    residual = float(info["residual"])
    return kind(
        time,
        residual if residual < 1e300 else np.inf,
        int(info["iterations"]),
        int(info["substeps"]),
        robot.bodies[int(info["worst_body"])].name,
        hint,
        **shown,
    )


def hint(robot: Mechanism, parts: Parts, at_start: bool) -> str:
    """Possible causes of an unsolvable step, the most frequent first."""
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
    for one in beyond_limits(robot, parts):
        return (
            f"{one.whose[0].upper()}{one.whose[1:]} is at {one.value:.6g}, beyond its {one.side} "
            f"of {one.bound:.6g}: it may have no way to get there."
        )
    driven = [f"'{element.name}'" for element in driven_elements(robot)]
    if driven:
        return f"The motions of {', '.join(driven)} may lead where the mechanism cannot follow."
    return ""
