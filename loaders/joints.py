"""Conversion of URDF joints to the generic joints of `robosim.joints`."""

from __future__ import annotations

from typing import Any

import numpy as np

from robosim import quaternions
from robosim.description.inertial import Inertial
from robosim.description.joint import Joint, SafetyLimits
from robosim.description.names import free_name
from robosim.errors import LoadError
from robosim.loaders.schema import JOINT_KINDS, UNLIMITED
from robosim.loaders.tree import Group, origin

# Kinds without an axis.
_WITHOUT_AXIS = ("floating", "spherical", "fixed_orientation")
NO_LIMIT = -1.0  # of an effort or velocity, as in SDF
ROOT_NAMES = {True: ("floating_base", "root_joint"), False: ("fixed_base", "root_joint")}


def root_joint(group: Group, inertial: Inertial, floats: bool, taken: set[str]) -> Joint:
    """The joint between the world and the root body, with the first name that is not `taken`."""
    free = [name for name in ROOT_NAMES[floats] if name not in taken]
    return Joint(
        name=free[0] if free else free_name(ROOT_NAMES[floats][0], taken),
        kind="floating" if floats else "fixed",
        parent=None,
        child=group.name,
        child_position=-inertial.center,
    )


def urdf_joint(
    group: Group,
    inertial: Inertial,
    parent: str | None,
    parent_inertial: Inertial,
    warnings: list[str],
) -> Joint:
    """The joint that leads to a group.

    Parameters
    ----------
    group : Group
        A group with a joint to its parent.
    inertial, parent_inertial : Inertial
        Inertials of the group and of its parent, whose centres are the origins of body frames.
    parent : str or None
        The parent body, None for the world.

    Raises
    ------
    LoadError
        For a zero axis, missing or wrong limits, negative damping or friction.
    """
    joint, placed = group.joint, group.parent_link
    element = f"joint '{joint.name}'"
    R, p = origin(joint.origin)
    if placed is not None:
        R, p = placed.R @ R, placed.p + placed.R @ p
    kind = JOINT_KINDS[joint.type]
    axis = np.array((0.0, 0.0, 1.0)) if kind in _WITHOUT_AXIS else np.asarray(joint.axis)
    if np.linalg.norm(axis) < 1e-12:
        raise LoadError(f"the axis must not be zero, not {axis.tolist()}", element=element)
    limits = _limits(joint, element, warnings)
    damping, friction = _resistance(joint.dynamics, element)
    return Joint(
        name=joint.name,
        kind=kind,
        parent=parent,
        child=group.name,
        axis=axis,
        parent_position=p - parent_inertial.center,
        child_position=-inertial.center,
        offset=quaternions.from_matrix(R),
        damping=damping,
        friction=friction,
        continuous=joint.type == "continuous",
        safety=_safety(joint.safety_controller),
        via=() if placed is None else placed.via,
        **limits,
    )


def _limits(joint: Any, element: str, warnings: list[str]) -> dict[str, Any]:
    limit = joint.limit
    bounded = joint.type in ("revolute", "prismatic")
    if limit is None:
        if bounded:
            hint = "; 'continuous' is the type without one" if joint.type == "revolute" else ""
            raise LoadError(f"a {joint.type} joint needs a <limit>{hint}", element=element)
        return {}
    if not bounded and (limit.lower is not None or limit.upper is not None):
        warnings.append(
            f"{element}: 'lower' and 'upper' of its <limit> mean nothing, as the type is "
            f"'{joint.type}'"
        )
    found: dict[str, Any] = {}
    for name, value in (("effort", limit.effort), ("velocity", limit.velocity)):
        if value is None:
            if bounded:
                warnings.append(f"{element}: <limit> without '{name}' is taken as unlimited")
            continue
        if value == NO_LIMIT:
            warnings.append(f"{element}: <limit> with '{name}' of -1 is taken as unlimited")
            continue
        if value < 0:
            raise LoadError(
                f"'{name}' must not be negative, not {value}", element=f"{element}: <limit>"
            )
        found[f"{name}_limit"] = value if value < UNLIMITED else np.inf
    if bounded:
        # The format's default of both is zero.
        lower, upper = limit.lower or 0.0, limit.upper or 0.0
        if lower > upper:
            raise LoadError(
                f"limits are the wrong way round: lower {lower}, upper {upper}",
                element=f"{element}: <limit>",
            )
        if lower == upper:
            # As in MuJoCo, and as published files mean it: wheels and knees have such limits.
            warnings.append(
                f"{element}: <limit> from {lower:g} to {upper:g} is taken as unlimited; the type "
                "'fixed' is for joints that do not move"
            )
        else:
            found["lower"] = (lower if lower > -UNLIMITED else -np.inf,)
            found["upper"] = (upper if upper < UNLIMITED else np.inf,)
    return found


def _safety(controller: Any) -> SafetyLimits | None:
    if controller is None:
        return None
    names = ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
    return SafetyLimits(*(float(getattr(controller, name) or 0.0) for name in names))


def _resistance(dynamics: Any, element: str) -> tuple[float, float]:
    """(damping, friction) of a joint's <dynamics>, which yourdfpy returns as text."""
    if dynamics is None:
        return 0.0, 0.0
    values = float(dynamics.damping or 0.0), float(dynamics.friction or 0.0)
    for name, value in zip(("damping", "friction"), values, strict=True):
        if value < 0:
            raise LoadError(
                f"'{name}' must not be negative, not {value}", element=f"{element}: <dynamics>"
            )
    return values
