"""A small quadruped after LittleDog."""

from __future__ import annotations

import numpy as np

from robosim.description.body import Body, ContactPoint, Frame, Geometry
from robosim.description.contact_points import DEFAULT_FRICTION
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError
from robosim.models.builders.parts import DARK, GREY, ORANGE, Array, Place, check_positive, strut

DOG_LEGS = ("front_left", "front_right", "back_left", "back_right")
"""Names of the legs of `littledog`, in the order of its motors."""
HIP = (0.101, 0.03625)  # m, of a hip from the body's centre, ahead and aside
ASIDE = 0.0236  # m, of the upper leg from the hip
UPPER = 0.0751  # m, from hip to knee
FOOT = (0.0265, 0.0985)  # m, of a foot's centre from the knee: ahead of hind legs, and below
RADIUS = 0.0103  # m, of a foot
# kg, kg m^2 about x, y and z, and m of the centre of mass from the joint above.
BODY = 1.8, (0.001625, 0.009178, 0.008794)
HIP_LINK = 0.0623, (4e-6, 1.5e-5, 1.5e-5), 0.0029
UPPER_LINK = 0.1279, (8.2e-5, 8.9e-5, 1.5e-5), -0.0166
LOWER_LINK = 0.0464, (3.8e-5, 3.5e-5, 4e-6), -0.0202
ROLL, PITCH, KNEE = (-0.6, 0.6), (-3.5, 2.4), (-3.1, 1.0)  # rad, of front legs
STANCE = (0.1, 1.0, -1.55)  # rad, of the front left leg at home


def littledog(friction: float = DEFAULT_FRICTION) -> Mechanism:
    """A quadruped of 2.7 kg: 12 hinges with motors, a floating body, feet that are balls.

    Sizes, masses and limits of joints are the published ones of LittleDog. Each leg has roll and
    pitch joints at its hip, and a knee. Front knees bend backward, hind knees forward. Feet touch
    the ground. Motors are in the order of `DOG_LEGS`: roll, pitch, knee.

    Parameters
    ----------
    friction : float, Coulomb coefficient

    Raises
    ------
    ModelError
    """
    check_positive("mechanism 'littledog'", friction=friction)
    box = Geometry("box", (0.24, 0.08, 0.05), rgba=DARK, name="body")
    bodies = [Body("body", BODY[0], np.diag(BODY[1]), (Frame("body"),), visuals=(box,))]
    joints, contacts = [Joint("floating_base", "floating", None, "body")], []
    home = [0.0, 0.0, _height(), 1.0, 0.0, 0.0, 0.0]
    for leg in DOG_LEGS:
        ahead = 1.0 if leg.startswith("front") else -1.0
        side = 1.0 if leg.endswith("left") else -1.0
        names = [f"{leg}_{part}" for part in ("hip", "upper_leg", "lower_leg")]
        foot = (-ahead * FOOT[0], 0.0, -FOOT[1] - LOWER_LINK[2])
        bodies += [
            _link(names[0], HIP_LINK[:2], (0, side * HIP_LINK[2], 0), (0, side * ASIDE, 0)),
            _link(names[1], UPPER_LINK[:2], (0, 0, UPPER_LINK[2]), (0, 0, -UPPER)),
            _link(names[2], LOWER_LINK[:2], (0, 0, LOWER_LINK[2]), (-ahead * FOOT[0], 0, -FOOT[1])),
        ]
        at = (
            (ahead * HIP[0], side * HIP[1], 0.0),
            (0.0, side * (ASIDE - HIP_LINK[2]), 0.0),
            (0.0, 0.0, -UPPER - UPPER_LINK[2]),
        )
        own = (0, side * HIP_LINK[2], 0), (0, 0, UPPER_LINK[2]), (0, 0, LOWER_LINK[2])
        limits = ROLL, _ahead(PITCH, ahead), _ahead(KNEE, ahead)
        parents = "body", *names[:2]
        for k, part in enumerate(("hip_roll", "hip_pitch", "knee")):
            joints.append(
                Joint(
                    f"{leg}_{part}", "revolute", parents[k], names[k],
                    axis=(1, 0, 0) if k == 0 else (0, 1, 0), parent_position=at[k],
                    child_position=-np.array(own[k]), lower=limits[k][0], upper=limits[k][1],
                )
            )  # fmt: skip
        contacts.append(ContactPoint(f"{leg}_foot", names[2], foot, RADIUS, friction))
        home += [side * STANCE[0], ahead * STANCE[1], ahead * STANCE[2]]
    return Mechanism("littledog", tuple(bodies), tuple(joints), tuple(contacts), home=home)


def littledog_leg(leg: str, foot: Array) -> Array:
    """Roll, pitch and knee angles (3,) [rad] for a foot's centre at a position in body axes.

    Parameters
    ----------
    leg : one of DOG_LEGS
    foot : (3,) [m], from the body's centre

    Raises
    ------
    ModelError
        For a foot that is out of reach.
    """
    ahead = 1.0 if leg.startswith("front") else -1.0
    side = 1.0 if leg.endswith("left") else -1.0
    x, y, z = np.asarray(foot, dtype=float) - (ahead * HIP[0], side * HIP[1], 0.0)
    lower = float(np.hypot(*FOOT))
    off = float(np.arctan2(ahead * FOOT[0], FOOT[1]))  # of the foot from the shank's axis
    square = y * y + z * z - ASIDE**2
    bent = (x * x + square - UPPER**2 - lower**2) / (2 * UPPER * lower)
    if square <= 0 or abs(bent) > 1:
        raise ModelError(
            f"cannot have its foot at {np.round(foot, 4).tolist()} m from the body's centre",
            element=f"leg '{leg}' of mechanism 'littledog'",
        )
    down = float(np.sqrt(square))
    turn = -ahead * float(np.arccos(bent))
    pitch = np.arctan2(-x, down) - np.arctan2(lower * np.sin(turn), UPPER + lower * np.cos(turn))
    roll = np.arctan2(y, -z) - np.arctan2(side * ASIDE, down)
    return np.array((roll, pitch, turn - off))


def _height() -> float:
    """Of the body above the ground at home [m]."""
    roll, pitch, knee = STANCE
    shin = pitch + knee
    down = UPPER * np.cos(pitch) + FOOT[1] * np.cos(shin) - FOOT[0] * np.sin(shin)
    return float(np.cos(roll) * down - np.sin(roll) * ASIDE + RADIUS)


def _ahead(limits: tuple[float, float], ahead: float) -> tuple[float, float]:
    """Limits of a leg; hind legs bend the other way."""
    return limits if ahead > 0 else (-limits[1], -limits[0])


def _link(
    name: str, of: tuple[float, tuple[float, float, float]], centre: Place, end: Place
) -> Body:
    """A link from its upper joint; its end and its centre of mass are from there."""
    mass, moments = of
    origin = -np.array(centre, dtype=float)
    looks = [
        Geometry("sphere", (0.014,), origin, rgba=GREY, name=name),
        strut(name, origin, origin + np.array(end), 0.009),
    ]
    if name.endswith("lower_leg"):
        looks.append(Geometry("sphere", (RADIUS,), origin + np.array(end), rgba=ORANGE, name=name))
    touching = tuple(looks[2:])
    return Body(name, mass, np.diag(moments), (Frame(name, origin),), tuple(looks), touching)
