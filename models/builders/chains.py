"""Chains: pendulums of rods on hinges, ball or universal joints, and balls on ball joints.

Pendulums hang down along -z at zero, from a hinge at the world's origin. Each link is a thin
uniform rod; its frame is at its upper joint and a frame "<link>_end" is at its lower end.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from robosim.description.body import Body, ContactPoint, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError
from robosim.models.builders.parts import (
    BLUE,
    ORANGE,
    check_count,
    check_positive,
    rod,
)

CHAIN_JOINTS = ("revolute", "spherical", "universal")
"""Kinds of joints that `chain` can have."""


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
    joint : "revolute" (hinges about y), "spherical" or "universal" (about x, then y)
    length, mass : float
        Of each rod.
    radius : float [m]
        Radius of the rod as drawn. The moments of inertia are m l^2 / 12 across, as of a thin rod,
        and m r^2 / 2 along.

    Raises
    ------
    ModelError
        For n < 1, another joint, or sizes that are not positive.
    """
    return _chain("chain", n, joint, length, mass, radius)


def universal_chain(
    n: int = 5, length: float = 1.0, mass: float = 1.0, radius: float = 0.02
) -> Mechanism:
    """A chain of n rods on universal joints, which swing about x and y only; see `chain`."""
    return _chain("universal_chain", n, "universal", length, mass, radius)


def _chain(name: str, n: int, joint: str, length: float, mass: float, radius: float) -> Mechanism:
    element = f"mechanism '{name}'"
    check_count(element, n, "link")
    if joint not in CHAIN_JOINTS:
        raise ModelError(f"unknown joint '{joint}'", element=element, alternatives=CHAIN_JOINTS)
    check_positive(element, length=length, mass=mass, radius=radius)
    half = length / 2
    links = [f"link{k}" for k in range(1, n + 1)]
    bodies = [
        rod(link, length, mass, radius, (BLUE, ORANGE)[k % 2])
        for k, link in enumerate(links, start=1)
    ]
    joints = [
        Joint(
            name=f"joint{k}",
            kind=joint,
            parent=parent,
            child=link,
            axis=(0, 1, 0),
            parent_position=(0, 0, 0) if parent is None else (0, 0, -half),
            child_position=(0, 0, half),
        )
        for k, (parent, link) in enumerate(zip((None, *links[:-1]), links, strict=True), start=1)
    ]
    return Mechanism(name, tuple(bodies), tuple(joints))


def sphere_chain(
    n: int = 10,
    radius: float = 0.25,
    spacing: float = 1.0,
    mass: float = 1.0,
    friction: float = 1.0,
) -> Mechanism:
    """A chain of solid balls that falls on the ground [Bruedigam2023, Fig. 8b].

    The first ball is free and rests on the ground. The others rise from it at 45 degrees. Each
    ball is joined to the one before by a ball joint at its own centre.

    Parameters
    ----------
    n : int, balls
    radius : float [m]
    spacing : float [m], from centre to centre
    mass : float [kg], of each
    friction : float, Coulomb coefficient

    Raises
    ------
    ModelError
    """
    element = "mechanism 'sphere_chain'"
    check_count(element, n, "sphere")
    check_positive(element, radius=radius, spacing=spacing, mass=mass)
    rise = spacing * np.sqrt(0.5)
    names = [f"sphere{k}" for k in range(1, n + 1)]
    bodies = []
    for k, name in enumerate(names):
        ball = Geometry("sphere", (radius,), rgba=(BLUE, ORANGE)[k % 2], name=name)
        # The arm to the next one, which has no mass.
        arm = Geometry(
            "cylinder",
            (radius / 8, spacing),
            (rise / 2, 0, rise / 2),
            (np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0),
            rgba=BLUE,
            name=name,
        )
        visuals = (ball, arm) if k < n - 1 else (ball,)
        inertia = 0.4 * mass * radius**2 * np.eye(3)
        bodies.append(Body(name, mass, inertia, visuals=visuals, collisions=(ball,)))
    joints = [Joint("floating_base", "floating", None, names[0])]
    joints += [
        Joint(
            f"joint{k}",
            "spherical",
            parent,
            child,
            parent_position=(rise, 0, rise),
            actuated=False,
        )
        for k, (parent, child) in enumerate(pairwise(names), start=1)
    ]
    contacts = tuple(ContactPoint(name, name, (0, 0, 0), radius, friction) for name in names)
    home = (0.0, 0.0, radius, *((1.0, 0.0, 0.0, 0.0) * n))
    return Mechanism("sphere_chain", tuple(bodies), tuple(joints), contacts, home=home)
