"""Mechanisms with joints that are charts: a nut on a screw, a knee on a spline."""

from __future__ import annotations

import numpy as np

from robosim import quaternions
from robosim.description.body import Body, Frame, Geometry
from robosim.description.charts import SplineCurve
from robosim.description.joint import Joint
from robosim.description.mechanism import Mechanism
from robosim.errors import ModelError
from robosim.models.builders.parts import (
    BLUE,
    ORANGE,
    Array,
    check_positive,
    hinge,
    place,
    rod,
)

KNEE_STEP = np.radians(10.0)  # between the control frames of the knee


def screw(
    pitch: float = 0.02, mass: float = 1.0, radius: float = 0.05, height: float = 0.04
) -> Mechanism:
    """A round nut on a vertical screw without friction, which turns and moves down.

    The angle q obeys ``(I + m p^2) q'' = -m g p`` with the nut's moment of inertia I about the
    screw. With a smaller pitch p, the nut falls more slowly.

    Parameters
    ----------
    pitch : float [m/rad]
        Rise of the nut per radian; negative for a left-handed thread.
    mass : float [kg]
    radius, height : float [m], of the nut, a uniform cylinder

    Raises
    ------
    ModelError
    """
    check_positive("mechanism 'screw'", mass=mass, radius=radius, height=height)
    if not np.isfinite(pitch):
        raise ModelError(f"pitch must be finite, not {pitch}", element="mechanism 'screw'")
    across = mass * (3 * radius**2 + height**2) / 12
    nut = Body(
        "nut",
        mass,
        np.diag((across, across, mass * radius**2 / 2)),
        (Frame("nut"),),
        visuals=(
            Geometry("cylinder", (radius, height), rgba=ORANGE, name="nut"),
            # A bar across, without which its turn could not be seen.
            Geometry("box", (2 * radius, radius / 5, 1.1 * height), rgba=BLUE, name="nut"),
        ),
    )
    return Mechanism("screw", (nut,), (Joint("thread", "screw", None, "nut", pitch=pitch),))


def knee_spline(
    thigh: float = 0.43, shank: float = 0.43, condyle: float = 0.025, rollback: float = 0.012
) -> Mechanism:
    """A hanging leg of two rods, its knee a spline along which the thigh rolls and slides.

    The numbers are invented, of the size of an adult's leg. The round end of the thigh (condyle)
    stays on the flat end of the shank (plateau). At first it rolls backward; the more the knee is
    bent, the more it slides. At the angle a the point of contact is
    ``rollback (1 - exp(-a condyle / rollback))`` behind that of the straight leg. The coordinate
    runs from 0, straight, to 12. Each segment of the spline bends the knee by 10 degrees. The
    spline is within 0.3 mm of these points.

    Parameters
    ----------
    thigh, shank : float [m], lengths; they weigh 8 and 4 kg
    condyle : float [m], radius of the end of the thigh
    rollback : float [m], how far the point of contact goes back at most

    Raises
    ------
    ModelError
    """
    check_positive(
        "mechanism 'knee_spline'", thigh=thigh, shank=shank, condyle=condyle, rollback=rollback
    )
    upper, lower = rod("thigh", thigh, 8.0), rod("shank", shank, 4.0, rgba=ORANGE)
    # From before the straight leg to beyond the bent one: a spline has no ends at its controls.
    frames = [knee_frame((k - 1) * KNEE_STEP, condyle, rollback) for k in range(15)]
    joints = (
        hinge("hip", None, upper, actuated=True),
        Joint(
            "knee",
            "spline",
            "thigh",
            "shank",
            parent_position=place(upper, "thigh_end"),
            child_position=place(lower, "shank"),
            chart=SplineCurve(frames),
            actuated=False,
        ),
    )
    return Mechanism("knee_spline", (upper, lower), joints, home=(0.0, 6.0))


def knee_frame(angle: float, condyle: float = 0.025, rollback: float = 0.012) -> Array:
    """Pose (7,) of the shank's upper end in axes of the thigh's lower end; see `knee_spline`.

    Parameters
    ----------
    angle : float [rad], by which the knee is bent
    condyle, rollback : float [m]
    """
    back = rollback * -np.expm1(-angle * condyle / rollback)
    turn = quaternions.from_axis_angle((0.0, 1.0, 0.0), angle)
    position = quaternions.rotation_matrix(turn) @ (back, 0.0, -condyle)
    return np.concatenate((position, turn))
