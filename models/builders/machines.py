"""Machines with closed loops and a drive: a slider-crank, a scissor lift."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance
from robosim.errors import ModelError
from robosim.models.builders.parts import (
    BLUE,
    CENTRE,
    GREY,
    ORANGE,
    angle_of,
    block,
    check_count,
    check_positive,
    check_within,
    coordinates,
    direction,
    hinge,
    place,
    rod,
)

FLATTEST = 0.05  # rad: how near the scissor lift's bars come to level, and to upright
STIFFNESS = 2 * np.pi * 5  # rad/s: the scissor lift's stance is a damped spring of 5 Hz


def slider_crank(
    crank: float = 0.2,
    rod_length: float = 0.5,
    crank_mass: float = 0.5,
    rod_mass: float = 1.0,
    slider_mass: float = 2.0,
    angle: float = -2.0,
) -> Mechanism:
    """A crank that turns about the origin and drives a slider to and fro along x > 0.

    Only the crank is actuated. The slider's coordinate is its position. At the dead centres, where
    crank and rod are in line, no force on the slider turns the crank. Crank and rod may be equally
    long. The slider can then stay at the origin while both turn together. With the crank straight
    up or down, both motions meet in a singular pose.

    Parameters
    ----------
    crank, rod_length : float [m], the rod at least as long as the crank
    crank_mass, rod_mass, slider_mass : float [kg]
    angle : float [rad], of the crank from hanging down, at home

    Raises
    ------
    ModelError
    """
    element = "mechanism 'slider_crank'"
    check_positive(
        element,
        crank=crank,
        rod_length=rod_length,
        crank_mass=crank_mass,
        rod_mass=rod_mass,
        slider_mass=slider_mass,
    )
    check_within(element, "angle", angle, -np.inf, np.inf)
    if rod_length < crank:
        raise ModelError(
            f"the rod of {rod_length} m is too short for a crank of {crank} m to turn",
            element=element,
        )
    radius = crank / 10
    first = rod("crank", crank, crank_mass, radius)
    second = rod("rod", rod_length, rod_mass, radius, ORANGE)
    slider = block("slider", (1.2 * crank, 0.6 * crank, 0.6 * crank), slider_mass)
    joints = (
        hinge("crank_joint", None, first, actuated=True),
        hinge("rod_joint", first, second),
        Joint("slide", "prismatic", None, "slider", axis=(1, 0, 0), actuated=False),
        hinge("loop", slider, second, CENTRE, place(second, "rod_end")),
    )
    way = np.array((crank + rod_length, 0.0))
    rail = Geometry(
        "box", (2.2 * way[0], 0.1 * crank, 0.1 * crank), (0, 0, -0.35 * crank), rgba=GREY
    )
    robot = Mechanism("slider_crank", (first, second, slider), joints, world_visuals=(rail,))
    pin = crank * direction(angle)
    reach = np.array((pin[0] + np.sqrt(rod_length**2 - pin[1] ** 2), 0.0))
    home = coordinates(robot, {"crank": angle, "rod": angle_of(reach - pin)})
    home[robot.q_names.index("slide")] = reach[0]
    return replace(robot, home=home)


def scissor_lift(
    n: int = 3,
    length: float = 1.0,
    bar_mass: float = 1.0,
    platform_mass: float = 20.0,
    angle: float = 0.5,
) -> Mechanism:
    """A platform on n pairs of crossed bars, raised by pushing the foot of one bar along x.

    The lift has one degree of freedom and n + 1 loops: n of the pairs, and one through the
    platform, on which one bar slides. Only the foot is actuated, towards the origin for up. Folded
    flat, the lift would be singular: no force on the foot could raise it. So the lowest pair's
    hinge has a stop 0.05 rad before that pose, and another one before the bars are upright.

    Parameters
    ----------
    n : int, pairs
    length : float [m], of a bar
    bar_mass, platform_mass : float [kg]
    angle : float [rad]
        Angle of the bars to the ground at home, between the stops.

    Raises
    ------
    ModelError
    """
    element = "mechanism 'scissor_lift'"
    check_count(element, n, "pair of bars")
    check_positive(element, length=length, bar_mass=bar_mass, platform_mass=platform_mass)
    check_within(element, "angle", angle, FLATTEST, np.pi / 2 - FLATTEST)
    shoe, bar = (0.08 * length, 0.12 * length, 0.05 * length), 0.015 * length
    reach, height = length * np.cos(angle), length * np.sin(angle)
    foot = block("foot", shoe, 0.2 * bar_mass)
    runner = block("runner", shoe, 0.2 * bar_mass)
    deck = (1.05 * length, 0.4 * length, 0.04 * length)
    platform = block("platform", deck, platform_mass, GREY, (-length / 2, 0, -deck[2]))
    # Rods run upwards here: their frames are at their lower ends.
    lefts = [rod(f"left{k}", length, bar_mass, bar, BLUE, bar) for k in range(1, n + 1)]
    rights = [rod(f"right{k}", length, bar_mass, bar, ORANGE, -bar) for k in range(1, n + 1)]
    joints = [Joint("drive", "prismatic", None, "foot", axis=(1, 0, 0))]
    below: tuple[Body | None, Body] = None, foot
    for k, (left, right) in enumerate(zip(lefts, rights, strict=True), start=1):
        joints += [
            hinge(f"side{k}", below[0], left),
            hinge(f"cross{k}", left, right, CENTRE, CENTRE),
            hinge(f"loop{k}", below[1], right, CENTRE if k == 1 else None),
        ]
        below = right, left
    # At the drive, the leverage of nearly flat bars would make a stop hit by the platform's weight
    # many times over; here it is as stiff as the bars.
    joints[2] = replace(joints[2], lower=[2 * FLATTEST - np.pi], upper=[-2 * FLATTEST])
    joints += [
        hinge("deck", rights[-1], platform),
        Joint(
            "slide",
            "prismatic",
            "platform",
            "runner",
            axis=(1, 0, 0),
            parent_position=platform.reference_position,
            actuated=False,
        ),
        hinge(f"loop{n + 1}", runner, lefts[-1], CENTRE, place(lefts[-1], f"left{n}_end")),
    ]
    # What the foot moves: how high each mass rises when the foot moves by one.
    steep = np.cos(angle) / np.sin(angle)
    rises = [(n * steep, platform_mass + 0.2 * bar_mass)]
    rises += [((k + 0.5) * steep, 2 * bar_mass) for k in range(n)]
    carried = sum(mass * rise**2 for rise, mass in rises)
    stance = Stance([reach], [carried * STIFFNESS**2], [2 * carried * STIFFNESS])
    bodies = (foot, *lefts, *rights, platform, runner)
    robot = Mechanism("scissor_lift", bodies, tuple(joints), stance=stance)
    angles = {body.name: angle_of(np.array((reach, height))) for body in lefts}
    angles |= {body.name: angle_of(np.array((-reach, height))) for body in rights}
    home = coordinates(robot, {**angles, "platform": 0.0})
    for name in ("drive", "slide"):
        home[robot.q_names.index(name)] = reach
    return replace(robot, home=home)
