"""Parallel mechanisms for `robosim.parallel`: knees, ankles, legs and platforms.

All have home at zero: each body has the world's axes there, and each coordinate is a displacement
from home. The motors are the actuated coordinates. Rods are thin and uniform, and masses are made
up, except for those of `spring_leg`. With ``base="floating"`` the first body floats; by default it
is fixed to the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from robosim.description.body import Body, Frame
from robosim.description.charts import Composite, Hinge, Slide
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.description.selection import perpendicular_basis
from robosim.errors import ModelError
from robosim.models.builders.parts import BLUE, DARK, GREY, ORANGE, check_positive, strut
from robosim.validation import Array

X, Y, Z = np.eye(3)
Base = Literal["fixed", "floating"]


class _Parts:
    """Bodies and joints, all placed in the world at home."""

    def __init__(self, name: str, **sizes: float) -> None:
        self.name = name
        check_positive(f"mechanism '{name}'", **sizes)
        self.centres: dict[str | None, Array] = {None: np.zeros(3)}
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []

    def body(self, name: str, points: Sequence[Array], mass: float, rgba: Any = BLUE) -> None:
        """A body of equal thin rods from its first point, its frame, to all others."""
        start, ends = np.asarray(points[0]), [np.asarray(p) for p in points[1:]]
        length = max(float(np.linalg.norm(end - start)) for end in ends)
        radius, each = 0.04 * length, mass / len(ends)
        centre = np.mean([(start + end) / 2 for end in ends], axis=0)
        inertia = np.zeros((3, 3))
        for end in ends:
            way, arm = end - start, (start + end) / 2 - centre
            square = float(way @ way)
            along = np.outer(way, way) / square
            inertia += each * (square / 12 * (np.eye(3) - along) + radius**2 / 2 * along)
            inertia += each * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        shapes = tuple(strut(name, start - centre, end - centre, radius, rgba) for end in ends)
        self.centres[name] = centre
        frames = (Frame(name, start - centre),)
        self.bodies.append(Body(name, mass, inertia, frames, visuals=shapes))

    def joint(
        self, name: str, kind: str, parent: str | None, child: str, at: Array, **given: Any
    ) -> None:
        """A joint at a point of the world."""
        given = {"actuated": False, **given}
        positions = at - self.centres[parent], at - self.centres[child]
        self.joints.append(
            Joint(
                name,
                kind,
                parent,
                child,
                parent_position=positions[0],
                child_position=positions[1],
                **given,
            )
        )

    def rod(
        self, name: str, parent: str, child: str, start: Array, end: Array, mass: float
    ) -> None:
        """A rod from a universal joint on the parent to a ball joint on the child."""
        self.body(name, (start, end), mass, ORANGE)
        self.joint(f"{name}_joint", "composite", parent, name, start, chart=_across(end - start))
        self.joint(f"{name}_ball", "spherical", child, name, end)

    def cylinder(
        self,
        name: str,
        parent: str | None,
        child: str,
        start: Array,
        end: Array,
        mass: float,
        **motor: Any,
    ) -> None:
        """A linear motor from a universal joint on the parent to a ball joint on the child."""
        barrel, middle = f"{name}_barrel", start + 0.6 * (end - start)
        self.body(barrel, (start, middle), 0.7 * mass, DARK)
        self.body(f"{name}_piston", (end, end - 0.6 * (end - start)), 0.3 * mass, ORANGE)
        self.joint(f"{name}_joint", "composite", parent, barrel, start, chart=_across(end - start))
        self.joint(name, "prismatic", barrel, f"{name}_piston", end, axis=end - start, **motor)
        self.joint(f"{name}_ball", "spherical", child, f"{name}_piston", end)

    def made(self) -> Mechanism:
        return Mechanism(self.name, tuple(self.bodies), tuple(self.joints))


def _across(way: Array) -> Composite:
    """A universal joint about two axes across a rod."""
    first, second = perpendicular_basis(way)[0].T
    return Composite(Hinge(first), Hinge(second))


def _motor(
    effort: float, speed: float, inertia: float, reach: float | None = None
) -> dict[str, Any]:
    limits = {} if reach is None else {"lower": [-reach], "upper": [reach]}
    return {
        "actuated": True,
        "effort_limit": effort,
        "velocity_limit": speed,
        "armature": inertia,
        **limits,
    }


def _toward(x: float, z: float) -> Array:
    """The unit vector of a direction in the plane of x and z."""
    return np.asarray((x * X + z * Z) / np.hypot(x, z))


def four_bar_knee(
    thigh: float = 0.4,
    shank: float = 0.4,
    crank: float = 0.05,
    horn: float = 0.06,
    rod_above: float = 0.3,
    *,
    base: Base = "fixed",
) -> Mechanism:
    """A knee driven by a crank on the thigh, through a rod to a horn on the shank.

    Motor: `knee_motor`; joint: `knee`, about y, which bends the shank to the rear. Crank and horn
    point to the rear at home. Equal, they form a parallelogram; a longer horn is a reduction.

    Parameters
    ----------
    thigh, shank, crank, horn : float [m]
    rod_above : float [m]
        Height of the crank's axis above the knee.
    base : "fixed" or "floating"
    """
    parts = _Parts(
        "four_bar_knee", thigh=thigh, shank=shank, crank=crank, horn=horn, rod_above=rod_above
    )
    top, knee, motor = 0 * Z, -thigh * Z, (rod_above - thigh) * Z
    pin, heel = motor - crank * X, knee - horn * X
    parts.body("thigh", (top, knee), 4.0)
    parts.body("shank", (knee, knee - shank * Z, heel), 2.5)
    parts.body("crank", (motor, pin), 0.2, GREY)
    parts.body("rod", (pin, heel), 0.3, ORANGE)
    parts.joint("base", base, None, "thigh", top)
    parts.joint("knee", "revolute", "thigh", "shank", knee, axis=Y, lower=[-0.3], upper=[2.0])
    parts.joint(
        "knee_motor", "revolute", "thigh", "crank", motor, axis=Y, **_motor(120.0, 15.0, 0.02, 1.4)
    )
    parts.joint("rod_joint", "revolute", "crank", "rod", pin, axis=Y)
    parts.joint("loop", "revolute", "shank", "rod", heel, axis=Y)
    return parts.made()


def two_rod_ankle(
    shank: float = 0.4,
    width: float = 0.04,
    lever: float = 0.05,
    crank: float = 0.05,
    heights: tuple[float, float] = (0.16, 0.26),
    *,
    base: Base = "fixed",
) -> Mechanism:
    """An ankle of pitch and roll, with two cranks at the shank and rods to the foot.

    Motors: `left_motor`, `right_motor`, about y; joints: `ankle_pitch`, `ankle_roll`. The rods are
    upright at home, behind the ankle. Both motors together pitch the foot, against each other they
    roll it.

    Parameters
    ----------
    shank : float [m]
    width : float [m], of each rod from the middle
    lever : float [m], of the rods behind the ankle
    crank : float [m]
    heights : (2,) [m], of the left and the right motor above the ankle, less than `shank`
    base : "fixed" or "floating"
    """
    parts = _Parts(
        "two_rod_ankle",
        shank=shank,
        width=width,
        lever=lever,
        crank=crank,
        left_height=heights[0],
        right_height=heights[1],
    )
    foot = -0.05 * Z
    ends = [-lever * X + side * width * Y for side in (1, -1)]
    parts.body("shank", (shank * Z, 0 * Z), 2.5)
    parts.body("foot", (0 * Z, 0.15 * X + foot, -0.08 * X + foot, *ends), 1.2, DARK)
    parts.joint("base", base, None, "shank", shank * Z)
    parts.joint(
        "ankle",
        "composite",
        "shank",
        "foot",
        0 * Z,
        chart=Composite(Hinge(Y), Hinge(X)),
        coordinate_names=("ankle_pitch", "ankle_roll"),
        lower=[-0.9, -0.5],
        upper=[0.7, 0.5],
    )
    for side, end, height in zip(("left", "right"), ends, heights, strict=True):
        pin = end + height * Z
        motor = pin + crank * X
        parts.body(f"{side}_crank", (motor, pin), 0.15, GREY)
        parts.joint(
            f"{side}_motor",
            "revolute",
            "shank",
            f"{side}_crank",
            motor,
            axis=Y,
            **_motor(40.0, 20.0, 0.01, 0.8),
        )
        parts.rod(f"{side}_rod", f"{side}_crank", "foot", pin, end, 0.1)
    return parts.made()


def linear_leg(
    thigh: float = 0.4,
    shank: float = 0.4,
    lever: float = 0.06,
    width: float = 0.05,
    *,
    base: Base = "fixed",
) -> Mechanism:
    """A leg like Kangaroo's: a linear motor drives the knee, and two drive the ankle.

    Motors: `knee_motor`, `left_motor`, `right_motor` [m]; joints: `knee`, `ankle_pitch`,
    `ankle_roll`. The motors are behind the leg.

    Parameters
    ----------
    thigh, shank : float [m]
    lever : float [m], of the motors behind knee and ankle
    width : float [m], of each motor of the ankle from the middle
    base : "fixed" or "floating"
    """
    parts = _Parts("linear_leg", thigh=thigh, shank=shank, lever=lever, width=width)
    knee, ankle = -thigh * Z, -(thigh + shank) * Z
    heel, foot = knee - lever * X - 0.3 * lever * Z, ankle - 0.05 * Z
    ends = [ankle - lever * X + side * width * Y for side in (1, -1)]
    parts.body("thigh", (0 * Z, knee), 4.0)
    parts.body("shank", (knee, ankle, heel), 2.5)
    parts.body("foot", (ankle, foot + 0.15 * X, foot - 0.08 * X, *ends), 1.2, DARK)
    parts.joint("base", base, None, "thigh", 0 * Z)
    parts.joint("knee", "revolute", "thigh", "shank", knee, axis=Y, lower=[-0.5], upper=[1.5])
    parts.joint(
        "ankle",
        "composite",
        "shank",
        "foot",
        ankle,
        chart=Composite(Hinge(Y), Hinge(X)),
        coordinate_names=("ankle_pitch", "ankle_roll"),
        lower=[-0.8, -0.5],
        upper=[0.6, 0.5],
    )
    parts.cylinder(
        "knee_motor",
        "thigh",
        "shank",
        -0.4 * thigh * Z - lever * X,
        heel,
        0.8,
        **_motor(3000.0, 0.5, 20.0, 0.05),
    )
    for side, end in zip(("left", "right"), ends, strict=True):
        start = end + 0.7 * shank * Z
        parts.cylinder(
            f"{side}_motor", "shank", "foot", start, end, 0.6, **_motor(1500.0, 0.5, 15.0, 0.03)
        )
    return parts.made()


def spring_leg(
    thigh: float = 0.12,
    shin: float = 0.5,
    tarsus: float = 0.41,
    heel: float = 0.117,
    toe: float = 0.09,
    stiffness: float = 1500.0,
    *,
    base: Base = "fixed",
) -> Mechanism:
    """A leg in a plane with springs like Cassie's: a rod from the hip leads the ankle by the knee.

    Sizes and masses are about Cassie's. Motors: `hip`, `knee`, `toe_motor`; joints: `knee` or
    `ankle`, and `toe`. Thigh, shin, heel and rod are nearly a parallelogram, so that the ankle
    turns back as the knee turns. The coordinates
    `knee_spring` and `heel_spring` are springs: name them in ``fixed=`` of a `Transmission`, or
    among motors and joints, if they are measured.

    Parameters
    ----------
    thigh, shin, tarsus, heel, toe : float [m]
    stiffness : float [N m/rad], of the springs
    base : "fixed" or "floating"
    """
    parts = _Parts(
        "spring_leg", thigh=thigh, shin=shin, tarsus=tarsus, heel=heel, toe=toe, stiffness=stiffness
    )
    hip, knee = 0 * Z, -thigh * Z
    ankle = knee + shin * _toward(-0.605, -0.796)
    back = ankle + heel * _toward(-0.097, 0.995)
    tip = ankle + tarsus * _toward(0.129, -0.992)
    crank = ankle + 0.2 * (tip - ankle)
    pins = [one + 0.05 * X for one in (crank, tip)]
    parts.body("pelvis", (hip, hip + 0.1 * Z, hip - 0.1 * X), 10.3, GREY)
    parts.body("thigh", (hip, knee), 5.5)
    parts.body("knee_link", (knee, knee + 0.05 * (ankle - knee)), 0.76, GREY)
    parts.body("shin", (knee, ankle), 0.58)
    parts.body("tarsus", (ankle, tip), 0.78)
    parts.body("heel_link", (ankle, back), 0.13, GREY)
    parts.body("rod", (hip, back), 0.16, ORANGE)
    parts.body("toe_crank", (crank, pins[0]), 0.13, GREY)
    parts.body("toe_rod", tuple(pins), 0.12, ORANGE)
    parts.body("toe_link", (tip, tip + toe * X, tip - 0.6 * toe * X), 0.15, DARK)
    spring = {"axis": Y, "stiffness": stiffness, "damping": 0.002 * stiffness}
    parts.joint("base", base, None, "pelvis", hip)
    parts.joint("hip", "revolute", "pelvis", "thigh", hip, axis=Y, **_motor(100.0, 15.0, 0.09))
    parts.joint(
        "knee",
        "revolute",
        "thigh",
        "knee_link",
        knee,
        axis=Y,
        lower=[-0.4],
        upper=[1.2],
        **_motor(190.0, 9.0, 0.09),
    )
    parts.joint("knee_spring", "revolute", "knee_link", "shin", knee, **spring)
    parts.joint("ankle", "revolute", "shin", "tarsus", ankle, axis=Y)
    parts.joint("heel_spring", "revolute", "tarsus", "heel_link", ankle, **spring)
    parts.joint("rod_joint", "revolute", "thigh", "rod", hip, axis=Y)
    parts.joint("loop", "revolute", "heel_link", "rod", back, axis=Y)
    parts.joint(
        "toe_motor",
        "revolute",
        "tarsus",
        "toe_crank",
        crank,
        axis=Y,
        **_motor(45.0, 20.0, 0.01, 1.0),
    )
    parts.joint("toe_rod_joint", "revolute", "toe_crank", "toe_rod", pins[0], axis=Y)
    parts.joint("toe", "revolute", "tarsus", "toe_link", tip, axis=Y)
    parts.joint("toe_loop", "revolute", "toe_link", "toe_rod", pins[1], axis=Y)
    return parts.made()


def delta(
    base_radius: float = 0.2, platform_radius: float = 0.05, arm: float = 0.2, forearm: float = 0.5
) -> Mechanism:
    """A delta robot: three arms below a ceiling move a platform that keeps its orientation.

    Motors: `motor1` to `motor3`; joints: `x`, `y`, `z`. Arms are level at home. The two rods of
    each forearm are one here, in their middle, as the platform's joint already has three
    translations only.

    Parameters
    ----------
    base_radius, platform_radius : float [m], of the motors, and of the forearms' ends
    arm, forearm : float [m]

    Raises
    ------
    ModelError
        For forearms that are too short.
    """
    parts = _Parts(
        "delta", base_radius=base_radius, platform_radius=platform_radius, arm=arm, forearm=forearm
    )
    reach = base_radius + arm - platform_radius
    if forearm <= abs(reach):
        raise ModelError(
            f"forearm must be longer than {abs(reach):.6g}, not {forearm}",
            element="mechanism 'delta'",
        )
    low = -np.sqrt(forearm**2 - reach**2) * Z
    outward = [np.cos(a) * X + np.sin(a) * Y for a in 2 * np.pi / 3 * np.arange(3)]
    ends = [low + platform_radius * way for way in outward]
    parts.body("platform", (low, *ends), 0.5, DARK)
    parts.joint(
        "platform",
        "composite",
        None,
        "platform",
        low,
        chart=Composite(Slide(X), Slide(Y), Slide(Z)),
        coordinate_names=("x", "y", "z"),
    )
    for k, (way, end) in enumerate(zip(outward, ends, strict=True), start=1):
        motor, elbow = base_radius * way, (base_radius + arm) * way
        parts.body(f"arm{k}", (motor, elbow), 0.3)
        parts.joint(
            f"motor{k}",
            "revolute",
            None,
            f"arm{k}",
            motor,
            axis=np.cross(Z, way),
            **_motor(10.0, 20.0, 0.01, 0.9),
        )
        parts.rod(f"forearm{k}", f"arm{k}", "platform", elbow, end, 0.15)
    return parts.made()


def stewart(
    base_radius: float = 0.5,
    platform_radius: float = 0.3,
    height: float = 0.6,
    base_gap: float = 0.3,
    platform_gap: float = 0.3,
) -> Mechanism:
    """A Stewart platform on six linear motors.

    Motors: `leg1` to `leg6` [m]; joints: `x`, `y`, `z` [m], `roll`, `pitch`, `yaw` [rad]. These
    angles are about x, y and z of the platform, in this order. Feet are in pairs around three
    directions, and pairs of the platform are half-way between these.

    Parameters
    ----------
    base_radius, platform_radius, height : float [m]
    base_gap, platform_gap : float [rad]
        Angle between the two feet of a pair, seen from the middle; less than 2 pi / 3.

    Raises
    ------
    ModelError
    """
    parts = _Parts(
        "stewart",
        base_radius=base_radius,
        platform_radius=platform_radius,
        height=height,
        base_gap=base_gap,
        platform_gap=platform_gap,
    )
    for name, gap in (("base_gap", base_gap), ("platform_gap", platform_gap)):
        if gap >= 2 * np.pi / 3:
            raise ModelError(
                f"{name} must be less than 2 pi / 3, not {gap}", element="mechanism 'stewart'"
            )
    thirds = 2 * np.pi / 3 * np.arange(3)
    feet = np.ravel([(a - base_gap / 2, a + base_gap / 2) for a in thirds])
    tops = np.ravel(
        [(a - np.pi / 3 + platform_gap / 2, a + np.pi / 3 - platform_gap / 2) for a in thirds]
    )
    starts = [base_radius * (np.cos(a) * X + np.sin(a) * Y) for a in feet]
    ends = [platform_radius * (np.cos(a) * X + np.sin(a) * Y) + height * Z for a in tops]
    parts.body("platform", (height * Z, *ends), 5.0, DARK)
    chart = Composite(*(Slide(axis) for axis in (X, Y, Z)), *(Hinge(axis) for axis in (X, Y, Z)))
    parts.joint(
        "platform",
        "composite",
        None,
        "platform",
        height * Z,
        chart=chart,
        coordinate_names=("x", "y", "z", "roll", "pitch", "yaw"),
    )
    for k, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
        parts.cylinder(
            f"leg{k}", None, "platform", start, end, 1.0, **_motor(500.0, 0.5, 2.0, 0.15)
        )
    return parts.made()
