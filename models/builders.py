"""Mechanisms built in Python: pendulums, chains, single bodies.

Pendulums and chains hang down along -z at zero, from a hinge at the world's origin. Each link is
a thin uniform rod; its frame is at its upper joint and a frame "<link>_end" is at its lower end.
Coordinates are SI and radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robosim.bodies import Body, Frame, Geometry
from robosim.errors import ModelError
from robosim.joints import Joint
from robosim.loaders.contacts import DEFAULT_FRICTION, contacts_of
from robosim.mechanism import Mechanism

_COLOURS = ((0.16, 0.36, 0.60, 1.0), (0.85, 0.55, 0.20, 1.0))
CHAIN_JOINTS = ("revolute", "spherical")


def pendulum(length: float = 1.0, mass: float = 1.0, radius: float = 0.02) -> Mechanism:
    """One rod on a hinge about y; see `chain`."""
    return _chain("pendulum", 1, "revolute", length, mass, radius)


def double_pendulum(length: float = 1.0, mass: float = 1.0, radius: float = 0.02) -> Mechanism:
    """Two rods, each on a hinge about y; see `chain`."""
    return _chain("double_pendulum", 2, "revolute", length, mass, radius)


def chain(
    n: int = 10,
    joint: str = "revolute",
    length: float = 1.0,
    mass: float = 1.0,
    radius: float = 0.02,
) -> Mechanism:
    """A chain of n rods, each `length` [m] long and of `mass` [kg].

    Parameters
    ----------
    n : int
    joint : "revolute" (hinges about y) or "spherical"
    length, mass : float
        Of each rod.
    radius : float [m]
        Of the rod as drawn. The moments of inertia are m l^2 / 12 across, those of a rod without
        thickness, and m r^2 / 2 along, so that they are all positive.

    Raises
    ------
    ModelError
        For n < 1, another joint, or sizes that are not positive.
    """
    return _chain("chain", n, joint, length, mass, radius)


def _chain(name: str, n: int, joint: str, length: float, mass: float, radius: float) -> Mechanism:
    element = f"mechanism '{name}'"
    if n < 1:
        raise ModelError(f"needs at least one link, not {n}", element=element)
    if joint not in CHAIN_JOINTS:
        raise ModelError(f"unknown joint '{joint}'", element=element, alternatives=CHAIN_JOINTS)
    _check_positive(element, length=length, mass=mass, radius=radius)
    across, along = mass * length**2 / 12, mass * radius**2 / 2
    half = length / 2
    bodies = []
    joints = []
    for k in range(1, n + 1):
        link = f"link{k}"
        bodies.append(
            Body(
                name=link,
                mass=mass,
                inertia=np.diag((across, across, along)),
                frames=(Frame(link, (0, 0, half)), Frame(f"{link}_end", (0, 0, -half))),
                visuals=(
                    Geometry("cylinder", (radius, length), rgba=_COLOURS[k % 2], name=link),
                    Geometry("sphere", (1.5 * radius,), (0, 0, half), rgba=_COLOURS[0], name=link),
                ),
            )
        )
        joints.append(
            Joint(
                name=f"joint{k}",
                kind=joint,
                parent=None if k == 1 else f"link{k - 1}",
                child=link,
                axis=(0, 1, 0),
                parent_position=(0, 0, 0) if k == 1 else (0, 0, -half),
                child_position=(0, 0, half),
            )
        )
    return Mechanism(name, tuple(bodies), tuple(joints))


def cube(edge: float = 0.5, mass: float = 1.0, friction: float = DEFAULT_FRICTION) -> Mechanism:
    """A free uniform cube with contacts at its corners, resting on the ground.

    Parameters
    ----------
    edge : float [m]
    mass : float [kg]
    friction : float, Coulomb coefficient
    """
    _check_positive("mechanism 'cube'", edge=edge, mass=mass)
    shape = Geometry("box", (edge, edge, edge), rgba=_COLOURS[1], name="cube")
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
    _check_positive("mechanism 'sphere'", radius=radius, mass=mass)
    shape = Geometry("sphere", (radius,), rgba=_COLOURS[1], name="sphere")
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
    _check_positive(element, mass=mass)
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
    shape = Geometry("box", tuple(edges), rgba=_COLOURS[0], name="free_body")
    return _free("free_body", mass, np.diag(moments), shape, height=0.0, friction=None)


def _free(
    name: str,
    mass: float,
    inertia: ArrayLike,
    shape: Geometry,
    height: float,
    friction: float | None,
) -> Mechanism:
    """One floating body of one shape; `friction` None leaves it without contacts."""
    solid = () if friction is None else (shape,)
    body = Body(name, mass, inertia, visuals=(shape,), collisions=solid)
    contacts = () if friction is None else contacts_of([body], default_friction=friction)
    return Mechanism(
        name,
        (body,),
        (Joint("floating_base", "floating", None, name),),
        contacts,
        home=(0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0),
    )


def _check_positive(element: str, **values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise ModelError(f"{name} must be positive, not {value}", element=element)
