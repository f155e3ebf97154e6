"""Single bodies: a cube and a ball on the ground, a free body, a spinning top."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.description.body import Body, Frame, Geometry
from robosim.description.contact_points import DEFAULT_FRICTION, contacts_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError
from robosim.models.builders.parts import (
    BLUE,
    DARK,
    ORANGE,
    Array,
    check_positive,
    check_within,
)


def cube(edge: float = 0.5, mass: float = 1.0, friction: float = DEFAULT_FRICTION) -> Mechanism:
    """A free uniform cube with contacts at its corners, resting on the ground.

    Parameters
    ----------
    edge : float [m]
    mass : float [kg]
    friction : float, Coulomb coefficient
    """
    check_positive("mechanism 'cube'", edge=edge, mass=mass)
    shape = Geometry("box", (edge, edge, edge), rgba=ORANGE, name="cube")
    inertia = mass * edge**2 / 6 * np.eye(3)
    return _free("cube", mass, inertia, shape, height=edge / 2, friction=friction)


def sphere(
    radius: float = 0.25, mass: float = 1.0, friction: float = DEFAULT_FRICTION
) -> Mechanism:
    """A free uniform solid ball, resting on the ground.

    Parameters
    ----------
    radius : float [m]
    mass : float [kg]
    friction : float, Coulomb coefficient
    """
    check_positive("mechanism 'sphere'", radius=radius, mass=mass)
    shape = Geometry("sphere", (radius,), rgba=ORANGE, name="sphere")
    inertia = 0.4 * mass * radius**2 * np.eye(3)
    return _free("sphere", mass, inertia, shape, height=radius, friction=friction)


def free_body(inertia: ArrayLike = (0.02, 0.03, 0.04), mass: float = 1.0) -> Mechanism:
    """A free rigid body without contacts, drawn as the uniform box of its inertia.

    Parameters
    ----------
    inertia : (3,) principal moments [kg m^2] about the body's x, y and z
    mass : float [kg]

    Raises
    ------
    ModelError
        For moments that no real body has.
    """
    element = "mechanism 'free_body'"
    check_positive(element, mass=mass)
    moments = np.asarray(inertia, dtype=float)
    if moments.shape != (3,):
        raise ModelError(f"needs three moments of inertia, not {inertia!r}", element=element)
    squares = 6 * (moments.sum() - 2 * moments) / mass
    if not np.all(squares > 0):
        raise ModelError(
            f"the moments of inertia {moments.tolist()} break the triangle inequality",
            element=element,
        )
    edges = np.sqrt(squares)
    shape = Geometry("box", tuple(edges), rgba=BLUE, name="free_body")
    return _free("free_body", mass, np.diag(moments), shape, height=0.0, friction=None)


def spinning_top(
    radius: float = 0.05,
    height: float = 0.06,
    mass: float = 0.2,
    tilt: float = 0.4,
) -> Mechanism:
    """A heavy symmetric top: a disc on a thin stem, its tip held by a ball joint at the origin.

    At rest it falls over; `steady_precession` has the velocity with which it goes round upright.

    Parameters
    ----------
    radius : float [m], of the disc, which is a third of that thick
    height : float [m], of the disc's centre over the tip
    mass : float [kg], all of it in the disc
    tilt : float [rad], of its axis from the vertical at home, less than half a turn

    Raises
    ------
    ModelError
    """
    element = "mechanism 'spinning_top'"
    check_positive(element, radius=radius, height=height, mass=mass)
    check_within(element, "tilt", tilt, -np.pi, np.pi)
    thick = radius / 3
    across = mass * (3 * radius**2 + thick**2) / 12
    stem = height + radius
    body = Body(
        "top",
        mass,
        np.diag((across, across, mass * radius**2 / 2)),
        (Frame("top", (0, 0, -height)),),
        visuals=(
            Geometry("cylinder", (radius, thick), rgba=ORANGE, name="top"),
            # A bar across, without which its spin could not be seen.
            Geometry("box", (2 * radius, radius / 5, 1.1 * thick), rgba=BLUE, name="top"),
            Geometry(
                "cylinder", (radius / 12, stem), (0, 0, stem / 2 - height), rgba=DARK, name="top"
            ),
        ),
    )
    tip = Joint("tip", "spherical", None, "top", child_position=(0, 0, -height), actuated=False)
    home = (np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0)
    return Mechanism("spinning_top", (body,), (tip,), home=home)


def steady_precession(top: Mechanism, spin: float, gravity: float = 9.81) -> Array:
    """Velocity v (3,) [rad/s] with which a `spinning_top` goes round without nodding, from home.

    The slower root W of ``A W^2 cos(tilt) - C spin W + m g h = 0``, with the moments A across and
    C along its axis about the tip.

    Parameters
    ----------
    top : Mechanism
    spin : float [rad/s], about its own axis
    gravity : float [m/s^2], along -z

    Raises
    ------
    ModelError
        If it spins too slowly for that.
    """
    (body,) = top.bodies
    height = -float(body.reference_position[2])
    inertia = np.asarray(body.inertia)
    A, C = inertia[0, 0] + body.mass * height**2, inertia[2, 2]
    weight = body.mass * gravity * height
    R = quaternions.rotation_matrix(np.asarray(top.home))
    root = (C * spin) ** 2 - 4 * A * weight * R[2, 2]
    if spin == 0 or root < 0:
        slowest = np.sqrt(max(4 * A * weight * R[2, 2], 0.0)) / C
        raise ModelError(
            f"at a spin of {spin} rad/s it nutates or falls; it needs {slowest:.4g} rad/s or more",
            element=f"mechanism '{top.name}'",
        )
    precession = 2 * weight / (C * spin + np.sign(spin) * np.sqrt(root))
    omega = precession * R[2]  # the vertical, in the top's axes
    omega[2] = spin
    return np.asarray(omega)


def _free(
    name: str,
    mass: float,
    inertia: ArrayLike,
    shape: Geometry,
    height: float,
    friction: float | None,
) -> Mechanism:
    """One floating body of one shape; `friction` None leaves it without contacts."""
    solid = () if friction is None else (replace(shape, friction=friction),)
    body = Body(name, mass, inertia, visuals=(shape,), collisions=solid)
    contacts = () if friction is None else contacts_of([body], default_friction=friction)
    return Mechanism(
        name,
        (body,),
        (Joint("floating_base", "floating", None, name),),
        contacts,
        home=(0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0),
    )
