"""Mechanisms whose bearings rub: a drawer that jams, a flywheel that runs down."""

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

    A pull F at the handle e beside the guide of length L turns the drawer in it. Without weight
    it moves it by F / m (1 - 2 mu e / L), and from 2 mu e = L on by nothing, however strong.

    Parameters
    ----------
    length : float [m], of the guide, and of the drawer
    width : float [m]
    mass : float [kg]
    friction : float
        Coulomb coefficient of the guide.
    handle : float [m]
        How far beside the middle, along y, the frame "handle" is.
    pads : int
        Around either end of the guide.

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
    """A disc on a level axle along y, which its bearing slows down.

    A bearing of radius r under the weight W takes 8 mu r W for each turn, with whatever even
    number of pads: 4 / pi mu r W for each radian. The more pads, the steadier.

    Parameters
    ----------
    mass : float [kg]
    radius : float [m], of the disc, a uniform cylinder
    friction : float
        Coulomb coefficient of the bearing.
    shaft, length : float [m], radius and length of the bearing
    pads : int
        Around either end of it.

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
