"""Mechanisms with friction in bearings: a drawer that jams, a flywheel that slows down."""

from __future__ import annotations

import numpy as np

from robosim.description.bearing import Bearing
from robosim.description.body import Body, Frame, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.models.builders.parts import (
    BLUE,
    CENTRE,
    GREY,
    ORANGE,
    Y_AXIS,
    block,
    check_positive,
)


def drawer(
    length: float = 0.4,
    width: float = 0.6,
    mass: float = 2.0,
    friction: float = 0.3,
    handle: float = 0.0,
    pads: int = 4,
) -> Mechanism:
    """A drawer on a guide in its middle, pulled along x by a handle that may be off the middle.

    A pull F at a handle at the distance e beside the guide of length L also tilts the drawer in
    the guide. Without gravity, the acceleration is F / m (1 - 2 mu e / L). From 2 mu e = L on, no
    pull moves the drawer.

    Parameters
    ----------
    length : float [m], of the guide, and of the drawer
    width : float [m]
    mass : float [kg]
    friction : float
        Coulomb coefficient of the guide.
    handle : float [m]
        Distance of the frame "handle" from the middle, along y.
    pads : int
        Number of pads around each end of the guide.

    Raises
    ------
    ModelError
    """
    check_positive("mechanism 'drawer'", length=length, width=width, mass=mass)
    box = block("drawer", (length, width, width / 4), mass, GREY)
    frames = (*box.frames, Frame("handle", (length / 2, handle, 0)))
    knob = Geometry("sphere", (width / 30,), (length / 2, handle, 0), rgba=ORANGE, name="handle")
    body = Body("drawer", mass, box.inertia, frames, visuals=(*box.visuals, knob))
    guide = Joint(
        "guide", "prismatic", None, "drawer", axis=(1, 0, 0),
        bearing=Bearing(friction, width / 20, length, pads),
    )  # fmt: skip
    return Mechanism("drawer", (body,), (guide,))


def flywheel(
    mass: float = 10.0,
    radius: float = 0.2,
    friction: float = 0.1,
    shaft: float = 0.02,
    length: float = 0.1,
    pads: int = 4,
) -> Mechanism:
    """A disc on a horizontal axle along y, slowed down by its bearing.

    A bearing of radius r under the weight W dissipates 8 mu r W per turn, or 4 / pi mu r W per
    radian. The number of pads can be any even one; with more pads the torque varies less.

    Parameters
    ----------
    mass : float [kg]
    radius : float [m], of the disc, a uniform cylinder
    friction : float
        Coulomb coefficient of the bearing.
    shaft, length : float [m], radius and length of the bearing
    pads : int
        Number of pads around each end of the bearing.

    Raises
    ------
    ModelError
    """
    check_positive("mechanism 'flywheel'", mass=mass, radius=radius, shaft=shaft, length=length)
    along, width = mass * radius**2 / 2, radius / 5
    across = mass * (3 * radius**2 + width**2) / 12
    disc = Body(
        "disc",
        mass,
        np.diag((across, along, across)),
        (Frame("disc"),),
        visuals=(
            Geometry("cylinder", (radius, width), CENTRE, Y_AXIS, rgba=GREY, name="disc"),
            Geometry("cylinder", (shaft, length), CENTRE, Y_AXIS, rgba=BLUE, name="disc"),
            # Without a mark its turn could not be seen.
            Geometry("box", (radius / 10, 1.1 * width, radius), (0, 0, radius / 2), rgba=ORANGE,
                     name="disc"),
        ),
    )  # fmt: skip
    axle = Joint(
        "axle", "revolute", None, "disc", axis=(0, 1, 0),
        bearing=Bearing(friction, shaft, length, pads),
    )  # fmt: skip
    return Mechanism("flywheel", (disc,), (axle,))
