"""An arm in an exoskeleton, two closed loops, and the task that it is tuned for.

[Bruedigam2023, Sect. 5.4, App. E]. Numbers are those of the authors' published experiment
(ConstrainedDynamics.jl, paper_experiments/applications/exo).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robosim import quaternions
from robosim.control.controllers import PD
from robosim.description.body import Body, Frame, Geometry
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism, Stance
from robosim.errors import ModelError
from robosim.models.builders.parts import BLUE, DARK, GREY, ORANGE, check_positive
from robosim.validation import Array

PATIENTS = ("healthy", "spastic")
SHOULDER = (0.2483, 0.0, 0.0)  # m
UPPER = 0.3087  # m, from shoulder to elbow
CUFF = 100.0  # N/m and N m/rad
SHOULDER_GAINS, ELBOW_GAINS = (100.0, 10.0), (50.0, 5.0)  # N m/rad and N m s/rad
SPASTIC = (10.0, 2.0)  # N m/rad and N m s/rad
MIDDLE = (np.pi / 4, -np.pi / 4)  # rad, of shoulder and elbow: where both swing about
# Name -> mass [kg], centre of mass in the link's frame [m], inertia about it
# (xx, yy, zz, xy, xz, yz) [kg m^2].
LINKS: dict[str, tuple[float, tuple[float, float, float], tuple[float, ...]]] = {
    "upper_arm": (2.25, (0, 0, 0.155), (0.01875, 0.01875, 0.00375, 0, 0, 0)),
    "lower_arm": (1.5, (0, 0.125, 0), (0.008515625, 0.00140625, 0.008515625, 0, 0, 0)),
    "sFE_unit": (
        3.487,
        (0.0001, 0.1051, -0.1201),
        (0.1108677, 0.0689688, 0.0569634, -0.0000977, 0.0000399, 0.0384741),
    ),
    "sIE_unit": (
        1.663,
        (-0.0006, 0.1079, -0.03),
        (0.0266938, 0.007941, 0.0235228, 0.0001282, -0.0000556, 0.0038772),
    ),
    "eFE_unit": (
        0.494,
        (0, 0.0557, -0.0803),
        (0.0069974, 0.0035498, 0.0037622, -0.0000009, -0.0000004, 0.001812),
    ),
}
# What turns axes (x, y, z) of a link into those of the next: by a quarter about x, to and fro.
_TO, _FRO = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0), (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)


def exoskeleton(patient: str | None = "healthy", scale: float = 1.0) -> Mechanism:
    """An exoskeleton that moves an arm: shoulder and elbow flexion, two cuffs on springs.

    The arm hangs from a ball joint at the shoulder, the exoskeleton from a hinge beside it. Each
    cuff is a planar joint with springs, in the plane of the motion, and closes a loop. Hinges are
    about the world's y. At zero the arm is level and points along x; positive angles of the
    shoulder lower it, negative ones of the elbow bend it. The upper arm and `sIE_unit` have z along
    the arm, the lower arm, `sFE_unit` and `eFE_unit` have y along it and z along the hinges.

    The real exoskeleton has four degrees of freedom. Abduction and rotation of the shoulder are
    fixed, as in the authors' program. In that program the lower cuff is on the wrong side of its
    unit, and its spring is stretched by 0.139 m at the start. Here both springs are at rest at
    home.

    Parameters
    ----------
    patient : "healthy", "spastic" or None
        A spastic elbow is stiff and damped about -45 degrees. None: the exoskeleton alone.
    scale : float
        Factor of the gains of `rehabilitation`, which are also those of the stance.

    Raises
    ------
    ModelError
        For another patient, or a scale that is not positive.
    """
    element = "mechanism 'exoskeleton'"
    if patient is not None and patient not in PATIENTS:
        raise ModelError(f"no patient {patient!r}", element=element, alternatives=PATIENTS)
    check_positive(element, scale=scale)
    level = quaternions.from_matrix(np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    s, e = MIDDLE
    elbow: dict[str, float] = {}
    if patient == "spastic":
        elbow = {"stiffness": SPASTIC[0], "damping": SPASTIC[1], "rest": e}
    bodies = [_link(name) for name in ("sFE_unit", "sIE_unit", "eFE_unit")]
    joints = [
        _joint("sFE", "revolute", None, SHOULDER, "sFE_unit", level),
        _joint("sIE", "fixed", "sFE_unit", (0, UPPER, 0), "sIE_unit", _FRO),
        _joint("eFE", "revolute", "sIE_unit", (0, 0, 0), "eFE_unit", _TO),
    ]
    home = [s, e]
    if patient is not None:
        bodies += [_link("upper_arm"), _link("lower_arm")]
        joints += [
            _joint(
                "shoulder",
                "spherical",
                None,
                SHOULDER,
                "upper_arm",
                quaternions.multiply(level, _FRO),
            ),
            _joint(
                "elbow",
                "revolute",
                "upper_arm",
                (0, 0, UPPER),
                "lower_arm",
                _TO,
                **elbow,
            ),
            _cuff("upper_cuff", "sIE_unit", (0, 0, 0.155 - UPPER), "upper_arm", (0, 1, 0)),
            _cuff("lower_cuff", "eFE_unit", (0, 0.125, 0), "lower_arm", (0, 0, 1)),
        ]
        home = [s, e, *quaternions.from_axis_angle((0, -1, 0), s), e]
    kp, kd = (scale * np.array(gains) for gains in zip(SHOULDER_GAINS, ELBOW_GAINS, strict=True))
    return Mechanism(
        "exoskeleton",
        tuple(bodies),
        tuple(joints),
        home=np.array(home),
        stance=Stance(np.array(MIDDLE), kp, kd),
    )


def rehabilitation(robot: Mechanism, scale: float = 1.0, *, damp_rate: bool = False) -> PD:
    """The exoskeleton's task: shoulder and elbow swing by 45 degrees [Bruedigam2023, Algorithm 8].

    Parameters
    ----------
    robot : Mechanism
        A robot made by `exoskeleton`.
    scale : float
        Factor of the gains.
    damp_rate : bool
        Whether the velocity gains act on the rates, as in the authors' program. If False, they act
        on the difference from the rates of the task, as printed.

    Raises
    ------
    ModelError
        For another robot.
    """
    if robot.actuated_names != ("sFE", "eFE"):
        raise ModelError(
            "the task is for an exoskeleton, whose motors are sFE and eFE",
            element=f"robot '{robot.name}'",
            alternatives=robot.actuated_names,
        )
    check_positive("task 'rehabilitation'", scale=scale)
    kp, kd = (scale * np.array(gains) for gains in zip(SHOULDER_GAINS, ELBOW_GAINS, strict=True))

    def target(times: Array) -> Array:
        return np.asarray(MIDDLE + np.pi / 4 * np.sin(times)[:, None])

    def rate(times: Array) -> Array:
        return np.tile(np.pi / 4 * np.cos(times)[:, None], (1, 2))

    return PD(robot, target, kp, kd, velocity=0.0 if damp_rate else rate)


def _link(name: str) -> Body:
    """A link with its frame, drawn as what reaches from there over its centre of mass."""
    mass, center, (xx, yy, zz, xy, xz, yz) = LINKS[name]
    origin = -np.array(center)
    inertia = np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    return Body(name, mass, inertia, (Frame(name, origin),), visuals=_looks(name, origin))


def _looks(name: str, origin: Array) -> tuple[Geometry, ...]:
    quarter = _FRO  # turns a shape's z axis to y
    if name in ("upper_arm", "lower_arm"):
        along, length, radius = ("z", UPPER, 0.045) if name == "upper_arm" else ("y", 0.25, 0.035)
        middle = origin + (0.5 * length) * np.array((0.0, along == "y", along == "z"))
        turn = quaternions.IDENTITY if along == "z" else quarter
        return (Geometry("capsule", (radius, length), middle, turn, rgba=ORANGE, name=name),)
    if name == "sFE_unit":
        bar = origin + np.array((0.0, 0.5 * UPPER, -0.1))
        hub = origin + np.array((0.0, 0.0, -0.05))
        return (
            Geometry("box", (0.05, UPPER, 0.04), bar, rgba=BLUE, name=name),
            Geometry("cylinder", (0.05, 0.1), hub, rgba=DARK, name=name),
        )
    if name == "sIE_unit":
        middle = origin + np.array((0.0, 0.08, -0.06))
        return (Geometry("box", (0.06, 0.04, 0.18), middle, rgba=GREY, name=name),)
    middle = origin + np.array((0.0, 0.1, -0.07))
    return (Geometry("box", (0.04, 0.24, 0.03), middle, rgba=BLUE, name=name),)


def _center(name: str | None) -> Array:
    return np.zeros(3) if name is None else np.array(LINKS[name][1], dtype=float)


def _joint(
    name: str,
    kind: str,
    parent: str | None,
    point: tuple[float, float, float],
    child: str,
    offset: ArrayLike,
    **options: Any,
) -> Joint:
    """A joint at a point of the parent's frame and the origin of the child's, about its z axis."""
    if kind == "revolute":
        options["axis"] = (0.0, 0.0, 1.0)
    return Joint(
        name,
        kind,
        parent,
        child,
        parent_position=np.array(point) - _center(parent),
        child_position=-_center(child),
        offset=offset,
        actuated=name in ("sFE", "eFE"),
        **options,
    )


def _cuff(
    name: str,
    parent: str,
    point: tuple[float, float, float],
    child: str,
    axis: tuple[float, float, float],
) -> Joint:
    """A planar joint with springs, from a point of the parent's frame to a centre of mass."""
    return Joint(
        name,
        "planar",
        parent,
        child,
        axis=axis,
        parent_position=np.array(point) - _center(parent),
        stiffness=CUFF,
        actuated=False,
    )
