"""A planar biped after Spring Flamingo, with springs at its ankles."""

from __future__ import annotations

import numpy as np

from robosim.description.body import Body, ContactPoint, Frame, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.models.builders.parts import BLUE, DARK, GREY, ORANGE, check_positive

LEG = 0.42  # m, from hip to knee, and from knee to ankle
HIP = -0.2  # m, of the hips above the body's centre
ANKLE = 0.04  # m, above the sole
HEEL, TOE = -0.0575, 0.1725  # m, ahead of the ankle
SIDE = 0.1  # m, at which legs are drawn beside the middle
# Centres of mass: of a thigh and a shank below the joint above, of a foot from its ankle (x, z).
THIGH_CENTRE, SHANK_CENTRE, FOOT_CENTRE = 0.3029, 0.1818, (0.0458, -0.0309)  # m
# kg, and kg m^2 about x, y and z.
BODY = 12.0, (0.1, 0.1, 0.1)
THIGH = 0.4598, (0.01256, 0.01256, 1.3e-4)
SHANK = 0.306, (0.00952, 0.00952, 5.67e-5)
FOOT = 0.3466, (7.15e-5, 1.5e-3, 1.5e-3)
EFFORT = 40.0  # N m, of hips and knees
HIP_BENT, KNEE_BENT = -0.35, 0.7  # rad, of the legs at home


def flamingo(stiffness: float = 20.0, damping: float = 0.5, friction: float = 0.8) -> Mechanism:
    """A biped of 14.2 kg in the plane y = 0: a body, two thighs, shanks and flat feet.

    The sizes are those published of Spring Flamingo. Hips and knees have motors of 40 N m, ankles
    a spring. Toes and heels touch the ground. There are 9 coordinates: x, z and pitch of the body,
    then hip, knee and ankle of the left and of the right leg. Positive angles swing a leg
    backwards.

    Parameters
    ----------
    stiffness, damping : float [N m/rad, N m s/rad]
        Spring and damper of the ankles; springs are at rest with the foot perpendicular to the
        shank.
    friction : float, Coulomb coefficient

    Raises
    ------
    ModelError
    """
    check_positive("mechanism 'flamingo'", stiffness=stiffness, friction=friction)
    trunk = Geometry("box", (0.14, 2 * SIDE, -2 * HIP), rgba=DARK, name="body")
    bodies = [Body("body", BODY[0], np.diag(BODY[1]), (Frame("body"),), visuals=(trunk,))]
    joints = [
        Joint(
            "base", "planar", None, "body", axis=(0, 1, 0), directions=((1, 0, 0), (0, 0, 1)),
            child_position=(0, 0, HIP), actuated=False,
        )
    ]  # fmt: skip
    contacts = []
    for leg, side in (("left", SIDE), ("right", -SIDE)):
        thigh, shank, foot = (f"{leg}_{part}" for part in ("thigh", "shank", "foot"))
        x, z = FOOT_CENTRE
        sole = Geometry(
            "box", (TOE - HEEL, 0.06, 0.02), ((TOE + HEEL) / 2 - x, side, -ANKLE - z + 0.01),
            rgba=ORANGE, name=foot,
        )  # fmt: skip
        bodies += [
            _rod(thigh, THIGH, THIGH_CENTRE, side),
            _rod(shank, SHANK, SHANK_CENTRE, side),
            Body(foot, FOOT[0], np.diag(FOOT[1]), (Frame(foot, (-x, 0, -z)),), visuals=(sole,)),
        ]
        joints += [
            Joint(
                f"{leg}_hip", "revolute", "body", thigh, axis=(0, 1, 0),
                parent_position=(0, 0, HIP), child_position=(0, 0, THIGH_CENTRE),
                lower=-1.2, upper=1.2, effort_limit=EFFORT,
            ),
            Joint(
                f"{leg}_knee", "revolute", thigh, shank, axis=(0, 1, 0),
                parent_position=(0, 0, THIGH_CENTRE - LEG), child_position=(0, 0, SHANK_CENTRE),
                lower=0.0, upper=2.2, effort_limit=EFFORT,
            ),
            Joint(
                f"{leg}_ankle", "revolute", shank, foot, axis=(0, 1, 0),
                parent_position=(0, 0, SHANK_CENTRE - LEG), child_position=(-x, 0, -z),
                lower=-1.2, upper=1.2, actuated=False, stiffness=stiffness, damping=damping,
            ),
        ]  # fmt: skip
        contacts += [
            ContactPoint(f"{leg}_{name}", foot, (at - x, 0, -ANKLE - z), friction=friction)
            for name, at in (("toe", TOE), ("heel", HEEL))
        ]
    home = flamingo_pose(0.0)
    return Mechanism("flamingo", tuple(bodies), tuple(joints), tuple(contacts), home=tuple(home))


def flamingo_pose(x: float, hip: float = HIP_BENT, knee: float = KNEE_BENT) -> np.ndarray:
    """q (9,) with flat feet on the ground below a body at x [m]; angles in rad."""
    leg = hip, knee, -(hip + knee)
    up = LEG * (np.cos(hip) + np.cos(hip + knee)) + ANKLE
    return np.array((x, up, 0.0, *leg, *leg))


def _rod(
    name: str, of: tuple[float, tuple[float, float, float]], centre: float, side: float
) -> Body:
    """A link of a leg, drawn beside the middle, whose centre is so far below its upper joint."""
    mass, inertia = of
    rod = Geometry("cylinder", (0.02, LEG), (0, side, centre - LEG / 2), rgba=BLUE, name=name)
    joint = Geometry("sphere", (0.03,), (0, side, centre), rgba=GREY, name=name)
    frames = Frame(name, (0, 0, centre)), Frame(f"{name}_end", (0, 0, centre - LEG))
    return Body(name, mass, np.diag(inertia), frames, visuals=(rod, joint))
