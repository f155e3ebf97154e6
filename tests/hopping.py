"""A leg that hops along a rail, planned without a schedule; needs casadi."""

from __future__ import annotations

import numpy as np

from robosim import Body, ContactPoint, Joint, Mechanism
from robosim.optimize import Problem


def hopper() -> Mechanism:
    """A body on a rail, and a leg of 0.1 kg that slides out of it."""
    bodies = Body("body", 1.0, 0.01 * np.eye(3)), Body("foot", 0.1, 0.001 * np.eye(3))
    rail = Joint("rail", "prismatic", None, "body", axis=(0, 0, 1), actuated=False)
    leg = Joint(
        "leg", "prismatic", "body", "foot", axis=(0, 0, 1), lower=-0.5, upper=-0.2,
        effort_limit=60.0,
    )  # fmt: skip
    toe = ContactPoint("toe", "foot", (0, 0, 0))
    return Mechanism("hopper", bodies, (rail, leg), contacts=(toe,), home=(0.4, -0.4))


def hop(steps: int = 40) -> Problem:
    """Up by 0.1 m, without a schedule."""
    return _hop(Problem(hopper(), 0.8, steps).contact())


def scheduled_hop(during: list[tuple[float, float]], steps: int = 20) -> Problem:
    """The same with a schedule."""
    return _hop(Problem(hopper(), 0.8, steps).contact(during=during))


def _hop(problem: Problem) -> Problem:
    problem.start([0.4, -0.4], [0, 0]).end([0.4, -0.4], [0, 0])
    problem.cost(lambda at: 1e-2 * at.u[0] ** 2 + 0.1 * at.v[1] ** 2)
    return problem.constrain(lambda at: at.position("foot")[2], 0.1, np.inf, at=0.4, name="apex")
