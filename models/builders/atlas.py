"""A humanoid after Boston Dynamics' Atlas, with arms of seven joints."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robosim.description.body import Body, ContactPoint, Frame, Geometry
from robosim.description.contact_points import DEFAULT_FRICTION
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.models.builders.parts import (
    DARK,
    GREY,
    ORANGE,
    Array,
    Place,
    check_positive,
    strut,
)

DAMPING = 0.1  # N m s/rad
SOLE = -0.07645  # m, of the sole from the ankle
HEEL, TOE = -0.0876, 0.1728  # m, of its ends
INNER, OUTER = 0.0626, 0.066  # m, of its sides
GRASP = (0.0, 0.195, 0.0)  # m, of what a left hand holds, from its last joint
KNEE_BENT = 0.6  # rad, at home


class Link(NamedTuple):
    """A body and the hinge that carries it; of a side the left one, all axes along the pelvis'.

    Attributes
    ----------
    name, parent, joint : str
    at : (3,) [m], of the hinge from the parent's
    axis : (3,)
    limits : (2,) [rad]
    effort : float [N m]
    mass : float [kg]
    centre : (3,) [m], from the hinge
    inertia : (6,) [kg m^2], xx, yy, zz, xy, xz, yz
    """

    name: str
    parent: str
    joint: str
    at: Place
    axis: Place
    limits: tuple[float, float]
    effort: float
    mass: float
    centre: Place
    inertia: tuple[float, float, float, float, float, float]


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
PELVIS = 9.509, (0.0111, 0.0, 0.0271), (0.1244, 0.0958, 0.1167, 0.0008, -0.0007, -0.0005)
MIDDLE = (
    Link("ltorso", "pelvis", "back_bkz", (-0.0125, 0, 0), Z, (-0.663225, 0.663225), 106, 2.27,
         (-0.0113, 0, 0.0747), (3.9092e-3, 3.41694e-3, 1.74492e-3, 0, -3.42157e-4, 0)),
    Link("mtorso", "ltorso", "back_bky", (0, 0, 0.162), Y, (-0.219388, 0.538783), 445, 0.799,
         (-0.0082, -0.0131, 0.0306),
         (4.54181e-4, 4.83282e-4, 4.44215e-4, -6.10764e-5, 3.94009e-5, 5.27463e-5)),
    Link("utorso", "mtorso", "back_bkx", (0, 0, 0.05), X, (-0.523599, 0.523599), 300, 84.409,
         (-0.0622, 0.0023, 0.3157), (1.577, 1.602, 0.565, -0.032, 0.102, 0.047)),
    Link("head", "utorso", "neck_ay", (0.2546, 0, 0.6215), Y, (-0.602139, 1.14319), 25, 1.4199,
         (-0.0755, 0, 0.0277), (3.9688e-3, 4.1178e-3, 3.5243e-3, 0, -8.9293e-4, 0)),
)  # fmt: skip
ARM = (
    Link("clav", "utorso", "arm_shz", (0.1406, 0.2256, 0.4776), Z, (-1.5708, 0.785398), 87, 4.466,
         (0, 0, -0.084), (0.011, 0.009, 0.004, 0, 0, -0.004)),
    Link("scap", "clav", "arm_shx", (0, 0.11, -0.245), X, (-1.5708, 1.5708), 99, 3.899,
         (0, 0, 0), (3.19e-3, 5.83e-3, 5.83e-3, 0, 0, 0)),
    Link("uarm", "scap", "arm_ely", (0, 0.187, -0.016), Y, (0, 3.14159), 63, 4.386,
         (0, -0.065, 0), (6.56e-3, 3.58e-3, 6.56e-3, 0, 0, 0)),
    Link("larm", "uarm", "arm_elx", (0, 0.119, 0.0092), X, (0, 2.35619), 112, 3.248,
         (0, 0, 0), (2.65e-3, 4.46e-3, 4.46e-3, 0, 0, 0)),
    Link("ufarm", "larm", "arm_uwy", (0, 0.29955, -0.00921), Y, (-3.011, 3.011), 25, 2.4798,
         (0, -0.08296, 0), (0.012731, 2.857e-3, 0.011948, 0, 0, 0)),
    Link("lfarm", "ufarm", "arm_mwx", (0, 0, 0), X, (-1.7628, 1.7628), 25, 0.648,
         (0, 0.02515, 0.00163), (7.64e-4, 4.29e-4, 8.25e-4, 0, 0, 0)),
    Link("hand", "lfarm", "arm_lwy", (0, 0, 0), Y, (-2.9671, 2.9671), 25, 0.5839,
         (0, 0.08159, 0), (3.88e-4, 4.77e-4, 3.79e-4, 0, 0, 0)),
)  # fmt: skip
LEG = (
    Link("uglut", "pelvis", "leg_hpz", (0, 0.089, 0), Z, (-0.174358, 0.786794), 275, 1.959,
         (0.0053, -0.0034, 0.0031), (7.4276e-4, 6.88179e-4, 4.1242e-4, 0, -2.79549e-5, 0)),
    Link("lglut", "uglut", "leg_hpx", (0, 0, 0), X, (-0.523599, 0.523599), 530, 0.898,
         (0.0133, 0.017, -0.0312),
         (6.91326e-4, 1.26856e-3, 1.06487e-3, -2.24344e-5, 2.50508e-6, 1.37862e-4)),
    Link("uleg", "lglut", "leg_hpy", (0.05, 0.0225, -0.066), Y, (-1.61234, 0.65764), 840, 8.204,
         (0, 0, -0.21), (0.09, 0.09, 0.02, 0, 0, 0)),
    Link("lleg", "uleg", "leg_kny", (-0.05, 0, -0.374), Y, (0, 2.35637), 890, 4.515,
         (0.001, 0, -0.187), (0.077, 0.076, 0.01, 0, -0.003, 0)),
    Link("talus", "lleg", "leg_aky", (0, 0, -0.422), Y, (-1.0, 0.7), 740, 0.125,
         (0, 0, 0), (1.01674e-5, 8.42775e-6, 1.30101e-5, 0, 0, 0)),
    Link("foot", "talus", "leg_akx", (0, 0, 0), X, (-0.8, 0.8), 360, 2.41,
         (0.027, 0, -0.067), (0.002, 0.007, 0.008, 0, 0, 0)),
)  # fmt: skip
# What is drawn of a link: where it ends, from its hinge, and how thick it is [m].
DRAWN: dict[str, tuple[Place, float]] = {
    "ltorso": ((0, 0, 0.162), 0.07),
    "clav": ((0, 0.11, -0.245), 0.05),
    "scap": ((0, 0.187, -0.016), 0.05),
    "uarm": ((0, 0.119, 0.0092), 0.05),
    "larm": ((0, 0.29955, -0.00921), 0.045),
    "hand": (GRASP, 0.03),
    "lglut": ((0.05, 0.0225, -0.066), 0.06),
    "uleg": ((-0.05, 0, -0.374), 0.06),
    "lleg": ((0, 0, -0.422), 0.05),
}


def atlas(friction: float = DEFAULT_FRICTION) -> Mechanism:
    """A humanoid of 174 kg: 30 hinges with motors, a floating pelvis, flat feet.

    Sizes, masses, limits and torques are the published ones of Atlas in its version of 2015. Right
    limbs are mirror images of left ones. Axes of all bodies are parallel at zero: x forward, y to
    the left. Cameras, with a mass of 1 kg in total, are omitted. Four corners of each sole touch
    the ground. The frame `<side>_grasp` is where a hand holds objects.

    The order is pelvis, back, neck, then arm and leg of the left and of the right.

    Parameters
    ----------
    friction : float, Coulomb coefficient

    Raises
    ------
    ModelError
    """
    check_positive("mechanism 'atlas'", friction=friction)
    mass, centre, inertia = PELVIS
    box = Geometry("box", (0.2, 0.25, 0.18), rgba=DARK, name="pelvis")
    bodies = [Body("pelvis", mass, _matrix(inertia), (_frame("pelvis", centre),), visuals=(box,))]
    joints = [Joint("floating_base", "floating", None, "pelvis")]
    centres = {"pelvis": np.array(centre, dtype=float)}
    links = list(MIDDLE)
    for side in ("l", "r"):
        links += [_of_side(link, side) for link in (*ARM, *LEG)]
    for link in links:
        own = centres[link.name] = np.array(link.centre, dtype=float)
        frames = [_frame(link.name, link.centre)]
        if link.name.endswith("hand"):
            grasp = np.array(GRASP) * (1, 1 if link.name[0] == "l" else -1, 1)
            frames.append(Frame(f"{link.name[0]}_grasp", tuple(grasp - own)))
        bodies.append(
            Body(link.name, link.mass, _matrix(link.inertia), tuple(frames), visuals=_drawn(link))
        )
        joints.append(
            Joint(
                link.joint, "revolute", link.parent, link.name, axis=link.axis,
                parent_position=np.array(link.at) - centres[link.parent], child_position=-own,
                lower=link.limits[0], upper=link.limits[1], effort_limit=link.effort,
                damping=DAMPING,
            )
        )  # fmt: skip
    contacts = [
        ContactPoint(name, f"{side}_foot", corner - centres[f"{side}_foot"], friction=friction)
        for side in ("l", "r")
        for name, corner in _corners(side)
    ]
    robot = Mechanism("atlas", tuple(bodies), tuple(joints), tuple(contacts))
    return replace(robot, home=_home(robot))


def _home(robot: Mechanism) -> Array:
    """q (nq,) on flat feet, with bent knees and arms."""
    angles = {
        "leg_hpy": -KNEE_BENT / 2, "leg_kny": KNEE_BENT, "leg_aky": -KNEE_BENT / 2,
        "arm_shx": -1.2, "arm_ely": 1.5, "arm_elx": 0.9,
    }  # fmt: skip
    q = np.array(robot.home, dtype=float)
    for start, joint in zip(robot.q_offsets, robot.tree_joints, strict=False):
        angle = angles.get(joint.name[2:], 0.0)
        mirrored = joint.name[0] == "r" and not np.asarray(joint.axis)[1]
        if joint.kind == "revolute":
            q[start] = -angle if mirrored else angle
    up, turned = -SOLE, 0.0
    for link in LEG:
        x, _, z = link.at
        up -= np.cos(turned) * z - np.sin(turned) * x
        turned += angles.get(link.joint, 0.0)
    q[2] = up + PELVIS[1][2]
    return q


def _of_side(link: Link, side: str) -> Link:
    """A link of the left or the right side: right ones are mirrored in the plane y = 0.

    There turns about y stay as they are, and those about x and z change their sign.
    """
    parent = link.parent if link.parent in ("pelvis", "utorso") else f"{side}_{link.parent}"
    link = link._replace(name=f"{side}_{link.name}", parent=parent, joint=f"{side}_{link.joint}")
    if side == "l":
        return link
    low, high = link.limits
    xx, yy, zz, xy, xz, yz = link.inertia
    return link._replace(
        at=_mirrored(link.at), centre=_mirrored(link.centre),
        limits=link.limits if link.axis == Y else (-high, -low),
        inertia=(xx, yy, zz, -xy, xz, -yz),
    )  # fmt: skip


def _mirrored(place: Place) -> Place:
    x, y, z = place
    return x, -y, z


def _matrix(inertia: tuple[float, ...]) -> Array:
    xx, yy, zz, xy, xz, yz = inertia
    return np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))


def _frame(name: str, centre: Place) -> Frame:
    return Frame(name, tuple(-np.array(centre, dtype=float)))


def _corners(side: str) -> list[tuple[str, Array]]:
    """Of a sole, from the ankle."""
    left, right = (OUTER, -INNER) if side == "l" else (INNER, -OUTER)
    return [
        (f"{side}_{end}_{edge}", np.array((x, y, SOLE)))
        for end, x in (("toe", TOE), ("heel", HEEL))
        for edge, y in (("left", left), ("right", right))
    ]


def _drawn(link: Link) -> tuple[Geometry, ...]:
    """Shapes of a link, in its own axes from its centre."""
    centre, (side, _, part) = np.array(link.centre, dtype=float), link.name.partition("_")
    if link.name == "utorso":
        size, at = (0.35, 0.32, 0.5), np.array((-0.05, 0, 0.35)) - centre
        return (Geometry("box", size, tuple(at), rgba=DARK, name=link.name),)
    if link.name == "head":
        return (Geometry("sphere", (0.1,), rgba=ORANGE, name=link.name),)
    if part == "foot":
        size = (TOE - HEEL, INNER + OUTER, 0.04)
        at = np.array(((TOE + HEEL) / 2, 0, SOLE + 0.02)) - centre
        return (Geometry("box", size, tuple(at), rgba=ORANGE, name=link.name),)
    end, radius = DRAWN.get(part or link.name, ((0, 0, 0), 0.04))
    way = np.array(end) * (1, -1 if side == "r" else 1, 1)
    joint = Geometry("sphere", (1.1 * radius,), tuple(-centre), rgba=GREY, name=link.name)
    if not way.any():
        return (joint,)
    return joint, strut(link.name, -centre, way - centre, radius)
