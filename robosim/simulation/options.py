"""Checks of a simulation's options."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from robosim.compiled.building.loops import is_heap, is_tree_with_loops
from robosim.compiled.model import Options
from robosim.compiled.records.sizes import MAX_FACETS
from robosim.description.mechanism import Mechanism
from robosim.errors import OptionError
from robosim.kernels.status import LAST
from robosim.validation import count, positive, read_only, vector

FINEST = 1e-6  # [m], accuracy for which impacts are located well enough
ABOVE = 10.0  # least accuracy over the tolerance [s]
LEAST_SPEED = 1e-6  # [rad/s or m/s], smallest velocity limit


def check_velocity_limits(robot: Mechanism) -> None:
    """Raise an OptionError for a velocity limit that allows no motion."""
    for joint in robot.joints:
        least = min(joint.per_coordinate("velocity_limit"), default=np.inf)
        if joint.motion is None and least < LEAST_SPEED:
            raise OptionError(
                f"velocity_limits=True needs limits that leave room (at least {LEAST_SPEED:g}); "
                f"that of joint '{joint.name}' is {least:g}: give it another "
                "velocity_limit, inf for none, or a kind that does not move"
            )


def usual_solver(robot: Mechanism, velocity_limits: bool) -> str:
    """The solver that a mechanism is simulated with, if none is asked for."""
    fits = is_tree_with_loops(robot, velocity_limits) and not is_heap(robot)
    return "articulated" if fits else "ldu"


def check_mechanism(robot: Mechanism) -> None:
    """Refuse what is not a Mechanism, such as the path of a file."""
    if not isinstance(robot, Mechanism):
        raise OptionError(f"robot must be a Mechanism, as robosim.load gives it, not {robot!r}")


def check_accuracy(accuracy: float | None, tolerance: float) -> None:
    """Raise an OptionError for an accuracy that cannot be had, or not with these other options."""
    if accuracy is None:
        return
    positive("accuracy", accuracy)
    if accuracy < FINEST:
        raise OptionError(
            f"accuracy={accuracy!r} m is finer than impacts are located: it must be at least "
            f"{FINEST:g}"
        )
    if accuracy < ABOVE * tolerance:
        raise OptionError(
            f"accuracy={accuracy!r} m is beyond what a tolerance of {tolerance:g} m/s leaves: it "
            f"must be at least {ABOVE * tolerance:g}, or the tolerance at most {accuracy / ABOVE:g}"
        )


def checked(
    timestep: float,
    gravity: ArrayLike,
    *,
    tolerance: float,
    contact_speed: float,
    friction_cone: str,
    friction_facets: int | None,
    max_iterations: int,
    max_substeps: int,
    order: int,
    restitution_threshold: float,
    accuracy: float | None,
) -> tuple[Options, int]:
    """Checked options, and facets of the linearized cone, 0 for the exact one; see `Simulation`.

    Raises
    ------
    OptionError
        For an option that is not allowed.
    """
    positive("timestep", timestep)
    positive("tolerance", tolerance)
    positive("contact_speed", contact_speed)
    if not (
        isinstance(restitution_threshold, Real)
        and np.isfinite(restitution_threshold)
        and restitution_threshold >= 0
    ):
        raise OptionError(
            f"restitution_threshold must be a number, positive or 0, not {restitution_threshold!r}"
        )
    if friction_cone not in ("second_order", "linearized"):
        raise OptionError(
            f"friction_cone must be 'second_order' or 'linearized', not {friction_cone!r}"
        )
    n_facets = 4 if friction_facets is None else friction_facets
    if n_facets not in range(4, MAX_FACETS + 1, 2):
        raise OptionError(
            f"friction_facets must be even and 4 to {MAX_FACETS}, not {friction_facets!r}"
        )
    if friction_facets is not None and friction_cone != "linearized":
        raise OptionError("friction_facets is for friction_cone='linearized' only")
    max_iterations = count("max_iterations", max_iterations)
    max_substeps = count("max_substeps", max_substeps)
    check_accuracy(accuracy, tolerance)
    if order not in (2, 4):
        raise OptionError(f"order must be 2 or 4, not {order!r}")
    options = Options(
        float(timestep),
        read_only(vector("gravity", gravity)),
        float(tolerance),
        float(contact_speed),
        int(max_iterations),
        int(max_substeps),
        LAST,
        False,
        int(order),
        float(restitution_threshold),
        0.0 if accuracy is None else float(accuracy),
    )
    return options, n_facets if friction_cone == "linearized" else 0
