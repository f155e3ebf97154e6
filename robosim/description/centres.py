"""Mass distributions of bodies, changed while everything else in a mechanism keeps its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.body import Body
from robosim.description.ray_sensor import RaySensor
from robosim.description.soft import SoftMesh
from robosim.description.tendon import Wrap
from robosim.description.whole import W, Whole, changed
from robosim.validation import Array


def centre_of(robot: Whole, name: str) -> Array:
    """Centre of mass of a body (3,) [m], in its axes from the origin of its reference frame."""
    return -robot.body(name).reference_position


def with_inertial(
    robot: W,
    name: str,
    mass: float | None = None,
    centre: ArrayLike | None = None,
    inertia: ArrayLike | None = None,
) -> W:
    """The mechanism with another mass distribution of a body; all else keeps its place.

    Parameters
    ----------
    name : str
        Name of the body.
    mass : float or None [kg]
    centre : (3,) or None [m]
        As returned by `centre_of`.
    inertia : (3, 3) or None [kg m^2], about the centre of mass

    Raises
    ------
    ModelError
        For values that are not physically possible.
    """
    body = robot.body(name)
    shift = np.zeros(3) if centre is None else np.asarray(centre, float) - centre_of(robot, name)

    other = replace(
        body,
        mass=body.mass if mass is None else mass,
        inertia=body.inertia if inertia is None else inertia,
    )
    if not shift.any():
        return changed(robot, bodies=_with(robot.bodies, other))

    def moved(part: Any, field: str = "position") -> Any:
        return replace(part, **{field: np.asarray(getattr(part, field)) - shift})

    def if_here(part: Any) -> Any:
        return moved(part) if getattr(part, "body", None) == name else part

    def ends(element: Any) -> Any:
        for side in ("parent", "child"):
            if getattr(element, side) == name:
                element = moved(element, f"{side}_position")
        return element

    def placed(element: Any, *fields: str) -> Any:
        given = {field: getattr(element, field) for field in fields}
        return replace(element, **{f: if_here(place) for f, place in given.items()})

    def on_path(part: Any) -> Any:
        return if_here(placed(part, "side") if isinstance(part, Wrap) else part)

    def in_mesh(mesh: SoftMesh) -> SoftMesh:
        here = np.array([body == name for body in mesh.bodies])[:, None]
        return replace(mesh, positions=np.asarray(mesh.positions) - here * shift)

    other = replace(
        other,
        frames=tuple(map(moved, body.frames)),
        visuals=tuple(map(moved, body.visuals)),
        collisions=tuple(map(moved, body.collisions)),
    )
    return changed(
        robot,
        bodies=_with(robot.bodies, other),
        joints=tuple(map(ends, robot.joints)),
        springs=tuple(map(ends, robot.springs)),
        contacts=tuple(map(if_here, robot.contacts)),
        tendons=tuple(replace(one, path=tuple(map(on_path, one.path))) for one in robot.tendons),
        soft_meshes=tuple(map(in_mesh, robot.soft_meshes)),
        sensors=tuple(
            one.at(if_here(one.place))
            if isinstance(one, RaySensor)
            else placed(one, "place", "reference")
            for one in robot.sensors
        ),
        actuators=tuple(placed(one, "place") for one in robot.actuators),
        cameras=tuple(placed(one, "place") for one in robot.cameras),
    )


def _with(bodies: tuple[Body, ...], other: Body) -> tuple[Body, ...]:
    return tuple(other if body.name == other.name else body for body in bodies)
