"""A quadruped after Ghost Robotics' Minitaur, whose legs are closed five-bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robosim.description.body import Body, ContactPoint, Frame, Geometry
from robosim.description.contact_points import DEFAULT_FRICTION, contacts_of
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance
from robosim.errors import ModelError
from robosim.models.builders.parts import (
    BLUE,
    DARK,
    GREY,
    ORANGE,
    Y_AXIS,
    Array,
    angle_of,
    closing_point,
    coordinates,
    direction,
    hinge,
    place,
    rod,
)

LEGS = ("FL", "FR", "RL", "RR")
UPPER, LOWER, FOOT = 0.1, 0.2, 0.012  # m: the links of a leg, and the radius of a foot
TRUNK = (0.40, 0.17, 0.06)  # m
HIP_X, HIP_Y = 0.17, 0.125  # m, from the trunk's centre
# kg, close to 6 together: the trunk with its batteries, a motor, links of aluminium tube.
TRUNK_MASS, MOTOR_MASS, UPPER_MASS, LOWER_MASS = 3.1, 0.24, 0.04, 0.06
MOTOR_RADIUS, MOTOR_LENGTH = 0.043, 0.026  # m
ROTOR = 1e-4  # kg m^2
TORQUE = 3.5  # N m
LEG_LENGTH = 0.17  # m, from hip to foot, standing
KP, KD = 30.0, 0.5  # N m/rad, N m s/rad


def minitaur(
    friction: float = DEFAULT_FRICTION, kp: float = KP, kd: float = KD, length: float = LEG_LENGTH
) -> Mechanism:
    """A quadruped of 6 kg with direct drives; each leg is a loop of five hinges.

    Two coaxial motors at each hip turn two upper links of 0.1 m; lower links of 0.2 m join them
    at the foot. Together the motors swing the leg, against each other they stretch it. The sizes
    are those of the robot in [Bruedigam2020, Fig. 7]; the masses are round numbers near them.
    Legs are called FL, FR, RL, RR; their links `<leg>_front` and `<leg>_rear`, upper and
    lower. Feet, knees and the trunk touch the ground.

    The torques are in the order of the legs, front motor first. `minitaur_legs` gives the motors'
    angles for feet at given places.

    Parameters
    ----------
    friction : float, Coulomb coefficient
    kp, kd : float [N m/rad, N m s/rad]
        Gains of each motor in the stance.
    length : float [m]
        Length of the legs, from hip to foot, at home and in the stance.

    Raises
    ------
    ModelError
    """
    trunk = _trunk()
    bodies, joints = [trunk], [Joint("floating_base", "floating", None, "trunk")]
    contacts = []
    for leg in LEGS:
        hip = _hip(leg)
        side = float(np.sign(hip[1]))
        links = {
            (half, level): _link(leg, half, level, side)
            for half in ("front", "rear")
            for level in ("upper", "lower")
        }
        for half in ("front", "rear"):
            upper, lower = links[half, "upper"], links[half, "lower"]
            motor = hinge(f"{leg}_{half}_motor", trunk, upper, hip, actuated=True)
            joints += [
                replace(motor, effort_limit=TORQUE, armature=ROTOR),
                hinge(f"{leg}_{half}_knee", upper, lower),
            ]
            bodies += [upper, lower]
        front, rear = links["front", "lower"], links["rear", "lower"]
        tip = place(front, f"{front.name}_end")
        joints.append(hinge(f"{leg}_foot", front, rear, tip, place(rear, f"{rear.name}_end")))
        contacts.append(ContactPoint(f"{leg}_foot", front.name, tip, FOOT, friction))
    contacts += contacts_of(bodies, default_friction=friction)
    robot = Mechanism("minitaur", tuple(bodies), tuple(joints), tuple(contacts))
    feet = dict.fromkeys(LEGS, (0.0, -length))
    targets = minitaur_legs(feet)
    angles = {}
    for k, leg in enumerate(LEGS):
        foot = np.array(feet[leg])
        for half, angle in zip(("front", "rear"), targets[2 * k : 2 * k + 2], strict=True):
            angles[f"{leg}_{half}_upper"] = float(angle)
            angles[f"{leg}_{half}_lower"] = angle_of(foot - UPPER * direction(float(angle)))
    home = coordinates(robot, {**angles, "trunk": 0.0})
    home[2] = length + FOOT
    stance = Stance(targets, np.full(robot.nu, kp), np.full(robot.nu, kd))
    return replace(robot, home=home, stance=stance)


def minitaur_legs(feet: Mapping[str, tuple[float, float]]) -> Array:
    """Angles of the motors (8,) [rad] that put the feet at places (x, z) [m] from their hips.

    Parameters
    ----------
    feet : mapping of LEGS to (x, z)
        Positions relative to the hips, in the trunk's axes: forward and up.

    Raises
    ------
    ModelError
        For a missing leg, or a foot that is out of reach.
    """
    angles = []
    for leg in LEGS:
        if leg not in feet:
            raise ModelError(f"has no place for leg '{leg}'", element="mechanism 'minitaur'")
        foot = np.array(feet[leg], dtype=float)
        element = f"leg '{leg}' of mechanism 'minitaur'"
        # On the way down from the hip the right hand side is the rear; on the way up the front.
        front = closing_point(element, foot, LOWER, np.zeros(2), UPPER)
        rear = closing_point(element, np.zeros(2), UPPER, foot, LOWER)
        angles += [angle_of(front), angle_of(rear)]
    return np.array(angles)


def _hip(leg: str) -> tuple[float, float, float]:
    return (HIP_X if leg[0] == "F" else -HIP_X, HIP_Y if leg[1] == "L" else -HIP_Y, 0.0)


def _trunk() -> Body:
    """A box with the motors' housings on its sides, which are taken as points of mass."""
    hips = np.array([_hip(leg) for leg in LEGS])
    squares = np.square(TRUNK)
    inertia = np.diag(TRUNK_MASS / 12 * (squares.sum() - squares))
    for hip in hips:
        inertia += 2 * MOTOR_MASS * (hip @ hip * np.eye(3) - np.outer(hip, hip))
    box = Geometry("box", TRUNK, rgba=DARK, name="trunk")
    lid = Geometry("box", (0.6 * TRUNK[0], 0.8 * TRUNK[1], 0.01), (0, 0, TRUNK[2] / 2), rgba=ORANGE)
    motors = []
    for hip in hips:
        for inside in (0.25, 0.9):
            y = np.sign(hip[1]) * (TRUNK[1] / 2 + inside * MOTOR_LENGTH)
            at = (hip[0], y, hip[2])
            motors.append(Geometry("cylinder", (MOTOR_RADIUS, MOTOR_LENGTH), at, Y_AXIS, rgba=GREY))
    return Body(
        "trunk",
        TRUNK_MASS + 8 * MOTOR_MASS,
        inertia,
        (Frame("trunk"),),
        visuals=(box, lid, *motors),
        collisions=(box,),
    )


def _link(leg: str, half: str, level: str, side: float) -> Body:
    """A rod of a leg, drawn beside its plane; knees and feet are balls."""
    front, upper = half == "front", level == "upper"
    length = UPPER if upper else LOWER
    radius = 0.008 if upper else 0.006
    link = rod(
        f"{leg}_{half}_{level}",
        length,
        UPPER_MASS if upper else LOWER_MASS,
        radius,
        BLUE if upper else ORANGE,
        beside=side * (0.008 if front else -0.008),
    )
    if upper:
        knee = Geometry("sphere", (FOOT,), (0, 0, -length / 2), rgba=DARK, name=link.name)
        return replace(link, visuals=(*link.visuals, knee), collisions=(knee,))
    if front:
        foot = Geometry("sphere", (FOOT,), (0, 0, -length / 2), rgba=DARK, name=link.name)
        return replace(link, visuals=(*link.visuals, foot))
    return link
