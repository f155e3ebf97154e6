"""The public scenes of [Sueda] with friction in joints, computed as in the author's program.

The program omits ``M dJ/dt v`` in the reactions and has it twice in its last solve, as printed
[Sueda, Eq. 2.117, Alg. 8]. Ball joints have rotation vectors as coordinates, with a time
derivative of the Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robosim.description.bearing import Bearing, pads_of
from robosim.description.charts import ExponentialBall
from robosim.experiments import redmax_scenes
from robosim.experiments.redmax_scene import NONE, Scene, Z, composite
from robosim.reduced import ReducedSimulation
from robosim.reduced.bearings import Held, Maximal
from robosim.reduced.constraints import relative_rows
from robosim.reduced.contacts import Touching
from robosim.reduced.solving import Equations
from robosim.reduced.staggered import Resisted
from robosim.reduced.tree import Placed
from robosim.validation import Array

SMALL = 1e-6  # regularization of the author's program, in cm, g, s
PUBLISHED = float(np.sqrt(1e-3))  # the program's bound is that of the square of the change


def hinges() -> Scene:
    """Scene 27: two bars on sleeves with inclined axes."""
    return published(redmax_scenes.hinges_that_rub())


def balls() -> Scene:
    """Scene 28: two bars on ball joints."""
    right = redmax_scenes.balls_that_rub()
    bearings = [joint.bearing for joint in right.joints if joint.bearing is not None]
    s, ball = Scene(right.name, right.published, right.seconds), composite(ExponentialBall())
    a = s.link(None, NONE, (5, 0, 0), **ball)
    s.link(a, (10, 0, 0), (5, 0, 0), **ball)
    return published(s, bearings)


def slides() -> Scene:
    """Scene 29: two bars on slides, one on the other, down a slope."""
    return published(redmax_scenes.slides_that_rub())


class Regularized(Held):
    """A bearing with pad forces as in that program, in the metric of both bodies.

    The forces are those of [Sueda, Eq. 2.118].

    Attributes
    ----------
    mobility : (6, 6)
        Response of the joint to wrenches on its free bodies.
    """

    mobility: Array

    def at(self, placed: Placed) -> None:
        """Update the positions of the bodies."""
        rows = relative_rows(placed.links.robot, self.joint, placed.E).reshape(6, -1, 6)
        inverses = np.linalg.inv(placed.links.inertias)
        self.mobility = np.einsum("inj,njk,mnk->im", rows, inverses, rows)

    def pressed(self, wrench: Array) -> Array:
        arms = np.cross(self.pads.points[list(self.pads.pad_of)], self.pads.normals)
        along = np.hstack((self.pads.normals, arms))
        free = along @ self.mobility @ along.T
        answer = np.linalg.solve(free + SMALL * np.eye(len(along)), along @ self.mobility @ wrench)
        return np.asarray(answer)


def published(s: Scene, sockets: Sequence[Bearing] = ()) -> Scene:
    """A scene run as in that program; `sockets` are bearings of joints that are not balls here."""

    def begin(sim: ReducedSimulation) -> None:
        resisting = sim.engine.model.resisting
        right = resisting.resisted
        held = []
        for i, joint in enumerate(sim.robot.joints):
            kind, axis, bearing = joint.kind, joint.axis, joint.bearing
            if sockets:
                kind, axis, bearing = "spherical", Z, sockets[i]
            if bearing is not None:
                pads = pads_of(bearing, kind, axis)
                held.append(Regularized(joint, i, bearing.friction, pads))
        resisting.bearings = list(held)

        def resisted(
            equations: Equations, touching: Touching, slip: Array, maximal: Callable[[], Maximal]
        ) -> Resisted:
            step = maximal()
            for one in held:
                one.at(step.placed)
            without = replace(step, bias=np.zeros_like(step.bias))
            found = right(equations, touching, slip, lambda: without)
            again = -equations.J.T @ step.bias
            x = equations.solve(equations.f + equations.J.T @ found.slip + again)
            return found._replace(x=x, impulse=found.impulse + again)

        resisting.resisted = resisted  # type: ignore[assignment,method-assign]

    options: dict[str, Any] = {"tolerance": PUBLISHED, "baumgarte": None}
    s.options, s.begin = options, begin
    return s
