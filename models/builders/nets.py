"""Mechanisms of particles."""

from __future__ import annotations

import numpy as np

from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.strands import Net
from robosim.errors import ModelError
from robosim.models.builders.parts import GREY, check_positive


def hanging_net(
    meshes: int = 4,
    size: float = 1.0,
    stiffness: float = 20.0,
    mass: float = 0.5,
    damping: float = 0.2,
    load: float = 0.5,
    radius: float = 0.08,
    height: float = 1.0,
) -> Mechanism:
    """A square net, horizontal at home, fixed at its four corners, with a ball in its middle.

    Parameters
    ----------
    meshes : int
        Number of meshes along each edge; even, so that there is a node in the middle.
    size : float [m], length of an edge
    stiffness : float [J], damping : float [J s]
        Values of each spring, as of `Net`.
    mass : float [kg], of the net
    load : float [kg], radius : float [m]
        Mass and radius of the ball.
    height : float [m], of the corners above the ground

    Raises
    ------
    ModelError
    """
    element = "mechanism 'hanging_net'"
    check_positive(element, size=size, load=load, radius=radius, height=height)
    if meshes < 2 or meshes % 2:
        raise ModelError(f"meshes must be even and at least 2, not {meshes}", element=element)
    along = np.linspace(-size / 2, size / 2, meshes + 1)
    points = np.zeros((meshes + 1, meshes + 1, 3))
    points[..., 0], points[..., 1] = np.meshgrid(along, along, indexing="ij")
    points[..., 2] = height
    ball = Body.of_shape(Geometry("sphere", (radius,), rgba=GREY, name="ball"), mass=load)
    held: dict[tuple[int, int], str | None] = {(r, c): None for r in (0, -1) for c in (0, -1)}
    held[meshes // 2, meshes // 2] = "ball"
    return Mechanism(
        "hanging_net",
        (ball,),
        (Joint("floating_base", "floating", None, "ball"),),
        home=(0, 0, height, 1, 0, 0, 0),
        soft=Net("net", points, stiffness, mass, damping, attached=held),
    )
