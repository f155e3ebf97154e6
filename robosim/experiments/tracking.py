"""Plans that a simulation tracks by LQR, and targets for all plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robosim.measuring.target import Target
from robosim.simulation import Simulation

if TYPE_CHECKING:
    from robosim.log import Log
    from robosim.optimize import Feedback, Trajectory

IN_TIME = 600.0  # s, largest computing time of a plan


def follower(
    plan: Trajectory,
    sim: Simulation,
    Q: ArrayLike,
    R: ArrayLike,
    final: ArrayLike,
    contact_speed: float,
    most: float = np.inf,
) -> Feedback:
    """LQR about a plan, with torques within effort limits, and none above `most` [N m]."""
    law = plan.controller(sim, Q=Q, R=R, final=final, contact_speed=contact_speed)
    return law.limited(np.minimum(sim.robot.effort_limits, most))


def followed(plan: Trajectory, sim: Simulation, follow: Feedback, seconds: float) -> Log:
    """Simulate from the start of a plan, with feedback."""
    sim.set_state(plan.q[0], plan.v[0])
    return sim.run(seconds, follow)


def targets_of(plan: Trajectory, seconds: float) -> list[Target]:
    """Targets of all plans: errors of the equations of motion, and the computing time."""
    return [
        Target("violation of the dynamics", plan.violation["dynamics"], 1e-6, "N or N m"),
        Target("time of the plan", seconds, IN_TIME, "s"),
    ]
