"""Coulomb friction and contacts: contact points and shapes of a robot, bearings of its joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robosim.description.mechanism import Mechanism
from robosim.reduced import staggered
from robosim.reduced.bearings import Held, Maximal, bearings_of, bilateral
from robosim.reduced.contacts import Touching, lowest, touching
from robosim.reduced.shapes import Detector
from robosim.reduced.solving import Equations
from robosim.reduced.staggered import Resisted
from robosim.validation import Array

CONTACTS = ("single", "staggered")
NEAR = 0.1  # [m], distance of shapes up to which their gaps are measured


@dataclass
class Resisting:
    """Contacts and bearings of a robot, and the way in which they are solved.

    Attributes
    ----------
    robot : Mechanism
    contacts : str or None
        "single", "staggered", or None for none.
    tolerance : float
        Of `staggered.settled`.
    has_bearings : bool
        Whether bearings act.
    points : (n,)
        Contact points that can move, indices into robot.contacts.
    detector : Detector or None
        Finds where shapes touch; None if there are none that may.
    bearings : list of Held
    """

    robot: Mechanism
    contacts: str | None
    tolerance: float
    has_bearings: bool
    points: NDArray[np.int64] = field(init=False)
    detector: Detector | None = field(init=False)
    bearings: list[Held] = field(init=False)

    def __post_init__(self) -> None:
        rigid = self.robot.rigid_groups
        moving = [k for k, one in enumerate(self.robot.contacts) if rigid[one.body] is not None]
        self.points = np.array(moving if self.contacts else [], dtype=np.int64)
        meets = self.contacts and self.robot.touching_shapes()
        self.detector = Detector(self.robot) if meets else None
        self.bearings = bearings_of(self.robot) if self.has_bearings else []

    def touching(self, E: Sequence[Array], rate: float) -> Touching:
        """All contacts at poses E; penetration is corrected at a rate [1/s]."""
        return touching(self.robot, self.points, self.detector, E, rate)

    def gap(self, E: Sequence[Array]) -> float:
        """The smallest gap [m] of contact points, and of shapes nearer than NEAR."""
        shapes = np.inf if self.detector is None else self.detector.least(E, NEAR)
        return float(min([*lowest(self.robot, self.points, E)[2], shapes]))

    def resisted(
        self,
        equations: Equations,
        touching: Touching,
        slip: Array,
        maximal: Callable[[], Maximal] | None = None,
    ) -> Resisted:
        """A step with contacts and friction.

        Parameters
        ----------
        equations : Equations
        touching : Touching
        slip : (n,) or (6 nb,)
            Impulses of friction in the previous step; empty in the first.
        maximal : function that returns the step without joints, for bearings
        """
        single = self.contacts == "single"
        if self.bearings and maximal is not None:
            before = slip if len(slip) else np.zeros(len(equations.J))
            parts = self.bearings, touching, single, before, self.tolerance
            return bilateral(equations, maximal(), *parts)
        if single or len(touching.normals) == 0:
            return staggered.pyramids(equations, touching)
        before = slip if len(slip) else np.zeros(len(equations.f))
        return staggered.points(equations, touching, before, self.tolerance)
