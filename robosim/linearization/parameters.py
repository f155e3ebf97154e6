"""Parameters of a mechanism by name, and derivatives of its model by these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.body import Body
from robosim.description.centres import centre_of, with_inertial
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError, OptionError

PARAMETERS = {
    "mass:BODY": "mass of a body [kg], or of the body that has a frame; its inertia stays",
    "centre:BODY:AXIS": "of mass, along an axis, from the origin of the reference frame [m]",
    "inertia:BODY:AXES": "about the centre of mass: xx, yy, zz, xy, xz or yz [kg m^2]",
    "friction:BODY": "coefficient of all contacts of a body, points and shapes",
    "contact_stiffness:BODY": "of all contacts of a body, which are compliant [N/m]",
    "dissipation:BODY": "of all contacts of a body, which are compliant [s/m]",
    "damping:JOINT": "damping of all coordinates of a joint",
    "stiffness:JOINT": "stiffness of all coordinates of a joint",
    "armature:JOINT": "rotor inertia of all coordinates of a joint",
    "dry_friction:JOINT": "dry friction of all coordinates of a joint",
    "damping": "a factor of the damping of all joints; so with the others of joints",
}
"""What can be named, and what it is."""
_OF_CONTACTS = {
    "friction": "friction",
    "contact_stiffness": "stiffness",
    "dissipation": "dissipation",
}
_OF_JOINTS = {"damping": "damping", "stiffness": "stiffness", "armature": "armature"}
_OF_JOINTS["dry_friction"] = "friction"
AXES = ("x", "y", "z")
ENTRIES = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
SIGNED = "centre", "inertia"  # may be negative or zero
STEP = 1e-4  # of the value, step of finite differences
LEAST = 1e-3  # smallest value to which steps are relative
PRESENT = 1e-100  # value in place of zero, so that the element is part of the equations


def slopes_of(
    robot: Mechanism, model_of: Callable[[Mechanism], Any], names: tuple[str, ...]
) -> list[Any]:
    """Derivatives of a model's numbers by parameters, in models of the same shape.

    Derivatives are central differences; most numbers depend linearly on a parameter.
    """
    out = []
    for name in names:
        value, varied = parameter(robot, name)
        signed = name.partition(":")[0] in SIGNED
        if value == 0.0 and not signed:
            raise OptionError(
                f"'{name}' is zero, and what is zero is not part of the equations: give it a "
                "small value to have derivatives by it"
            )
        step = STEP * max(abs(value), LEAST)
        below = step if signed or value >= step else 0.0  # most of these are not negative
        low, high = (model_of(varied(value + change)) for change in (-below, step))
        out.append(_difference(low, high, below + step))
    return out


def with_present(robot: Mechanism, names: tuple[str, ...]) -> Mechanism:
    """The mechanism with tiny values instead of zero, so that elements are in the equations.

    The change is for forces that depend smoothly on the value. A step has no derivative by friction
    that is zero.
    """
    for name in names:
        if name.partition(":")[0] in _OF_JOINTS and not name.startswith("dry_friction"):
            value, varied = parameter(robot, name)
            robot = varied(PRESENT) if value == 0.0 else robot
    return robot


def _difference(low: Any, high: Any, over: float) -> Any:
    if isinstance(low, tuple):
        parts = (_difference(a, b, over) for a, b in zip(low, high, strict=True))
        return type(low)(*parts)
    if not isinstance(low, np.ndarray):
        return low
    out = np.zeros_like(low)
    if low.dtype.names:
        for name in low.dtype.names:
            if low.dtype[name].base == np.float64:
                with np.errstate(invalid="ignore"):  # infinite limits
                    change = (high[name] - low[name]) / over
                out[name] = np.where(np.isfinite(change), change, 0.0)
    elif low.dtype == np.float64:
        out[...] = (high - low) / over
    return out


def parameter(robot: Mechanism, name: str) -> tuple[float, Callable[[float], Mechanism]]:
    """The value of a parameter, and a function that returns the mechanism with another value."""
    kind, _, whose = name.partition(":")
    if kind in _OF_JOINTS:
        return _of_joints(robot, _OF_JOINTS[kind], whose, name)
    known = [body.name for body in robot.bodies]
    if kind in SIGNED:
        return _of_inertial(robot, kind, whose, name)
    if kind == "mass" or kind in _OF_CONTACTS:
        whose = _body_of(robot, whose)
    if not (kind == "mass" or kind in _OF_CONTACTS) or not whose:
        raise OptionError(
            f"there is no parameter '{name}'; they are {', '.join(PARAMETERS)}, with bodies "
            f"{', '.join(known)}"
        )
    if kind == "mass":

        def heavier(value: float) -> Mechanism:
            return _with_body(robot, whose, lambda body: replace(body, mass=value))

        return float(robot.body(whose).mass), heavier
    return _of_contacts(robot, _OF_CONTACTS[kind], whose, name)


def _of_contacts(
    robot: Mechanism, field: str, whose: str, name: str
) -> tuple[float, Callable[[float], Mechanism]]:
    def counts(part: Any) -> bool:
        return field == "friction" or part.stiffness is not None

    points = [point for point in robot.contacts if point.body == whose]
    parts: list[Any] = [*points, *robot.body(whose).collisions]
    values = sorted({getattr(part, field) for part in parts if counts(part)})
    if parts and not values:
        raise OptionError(f"'{name}' has no value: the contacts of '{whose}' are hard")
    if len(values) != 1:
        raise OptionError(
            f"'{name}' has no value: the contacts of '{whose}' have the coefficients {values}"
        )

    def other(number: float) -> Mechanism:
        def changed(part: Any) -> Any:
            return replace(part, **{field: number}) if counts(part) else part

        def of_body(body: Body) -> Body:
            return replace(body, collisions=tuple(map(changed, body.collisions)))

        contacts = tuple(
            changed(point) if point.body == whose else point for point in robot.contacts
        )
        return replace(_with_body(robot, whose, of_body), contacts=contacts)

    return float(values[0]), other


def _body_of(robot: Mechanism, name: str) -> str:
    """The name of a body, also by one of its frames; "" if there is none."""
    try:
        return robot.bodies[robot.body_or_frame(name)[0]].name
    except ModelError:
        return ""


def _of_inertial(
    robot: Mechanism, kind: str, whose: str, name: str
) -> tuple[float, Callable[[float], Mechanism]]:
    """A coordinate of a centre of mass, or an entry of an inertia."""
    given, _, which = whose.rpartition(":")
    body = _body_of(robot, given)
    known: tuple[str, ...] = AXES if kind == "centre" else tuple(ENTRIES)
    if not body or which not in known:
        raise OptionError(
            f"there is no parameter '{name}'; it is '{kind}:BODY:' with one of "
            f"{', '.join(known)}, and bodies are {', '.join(one.name for one in robot.bodies)}"
        )
    if kind == "centre":
        at, axis = centre_of(robot, body), AXES.index(which)

        def elsewhere(value: float) -> Mechanism:
            centre = at.copy()
            centre[axis] = value
            return with_inertial(robot, body, centre=centre)

        return float(at[axis]), elsewhere
    (i, j), inertia = ENTRIES[which], np.asarray(robot.body(body).inertia)

    def other(value: float) -> Mechanism:
        changed = inertia.copy()
        changed[i, j] = changed[j, i] = value
        return with_inertial(robot, body, inertia=changed)

    return float(inertia[i, j]), other


def _of_joints(
    robot: Mechanism, field: str, whose: str, name: str
) -> tuple[float, Callable[[float], Mechanism]]:
    names = [joint.name for joint in robot.joints]
    if whose and whose not in names:
        raise OptionError(
            f"there is no parameter '{name}': no joint '{whose}' ({', '.join(names)})"
        )
    if not whose:

        def scaled(value: float) -> Mechanism:
            return _with_joints(
                robot, lambda j: _changed(j, field, value * j.per_coordinate(field))
            )

        return 1.0, scaled
    values = robot.joints[names.index(whose)].per_coordinate(field)
    if not len(values) or np.ptp(values) > 0:
        raise OptionError(f"'{name}' has no value: its coordinates have {values.tolist()}")

    def other(value: float) -> Mechanism:
        return _with_joints(robot, lambda j: _changed(j, field, value) if j.name == whose else j)

    return float(values[0]), other


def _changed(joint: Joint, field: str, value: ArrayLike) -> Joint:
    changes: dict[str, Any] = {field: value}
    return replace(joint, **changes)


def _with_body(robot: Mechanism, name: str, change: Callable[[Body], Body]) -> Mechanism:
    bodies = tuple(change(body) if body.name == name else body for body in robot.bodies)
    return replace(robot, bodies=bodies)


def _with_joints(robot: Mechanism, change: Callable[[Joint], Joint]) -> Mechanism:
    return replace(robot, joints=tuple(change(joint) for joint in robot.joints))
