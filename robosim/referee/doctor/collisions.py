"""Checks of collision shapes: which bodies have none, how well they fit, and where they overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robosim.description.joint import Joint
from robosim.errors import LoadError, RobosimError
from robosim.referee.doctor.case import Case, moving
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding
from robosim.validation import Array

COARSE = 30  # points along the size of a mesh, enough to tell a tenth of it
VERY_FAR = 0.25  # part of the size of a mesh
DEEP = 1e-3  # [m], of an overlap that is told
REACH = 0.05  # [m]
MOST_PAIRS = 20_000  # of shapes, above which overlaps are not looked for
TURNED = 1e-3  # of a range, within which a coordinate is at its limit


def missing(case: Case) -> Iterator[Finding]:
    """Bodies that one sees and that touch nothing, if others have collision shapes."""
    robot = case.model
    touching = {contact.body for contact in robot.contacts}
    if not touching and not any(body.collisions for body in robot.bodies):
        return  # the loader says so
    for body in moving(case):
        if body.visuals and not body.collisions and body.name not in touching:
            place = case.document.body(body.name)
            yield Finding(
                "no-collision",
                "note",
                f"body '{body.name}'",
                "is drawn, and has no collision shape",
                "add a <collision> element: a few primitives, or the drawn mesh",
                EFFECTS["no-collision"],
                None,
                "",
                place.file,
                place.line,
            )


def fit(case: Case) -> Iterator[Finding]:
    """Collision meshes that are far from the hulls that they count as."""
    from robosim.loaders.convex import Fit, fits

    try:
        found = fits(case.model, fine=COARSE)
    except LoadError:
        return
    worst: dict[str, Fit] = {}
    for one in found:
        if one.far and (one.link not in worst or one.distance > worst[one.link].distance):
            worst[one.link] = one
    for one in worst.values():
        place = case.document.body(one.link)
        yield Finding(
            "hull",
            "warning" if one.distance > VERY_FAR * one.size else "note",
            f"link '{one.link}'",
            f"its collision mesh counts as a hull whose surface is up to {one.distance:.3g} m from "
            f"the mesh, of a size of {one.size:.3g} m: its hollows are filled",
            "load with convex='decompose' (--convex decompose), or model it by several shapes",
            EFFECTS["hull"],
            one.distance / one.size,
            "",
            place.file,
            place.line,
        )


def overlaps(case: Case) -> Iterator[Finding]:
    """Bodies without a joint between them that overlap at home, or at the limits of a joint.

    Pairs that the file excludes are left out.
    """
    depths = _Depths(case)
    home = depths.at(case.home)
    if home is None:
        return
    names = depths.names
    for pair in np.flatnonzero(home > DEEP):
        a, b = names[pair]
        place = case.document.body(b)
        yield Finding(
            "overlap",
            "note",
            f"bodies '{a}' and '{b}'",
            f"overlap by {1e3 * home[pair]:.3g} mm at home",
            "exclude the pair (SRDF <disable_collisions>, MJCF <exclude>), or shrink a shape",
            EFFECTS["overlap"],
            float(home[pair]),
            "m",
            place.file,
            place.line,
        )
    for joint, word, q in _ends(case):
        here = depths.at(q)
        if here is None:
            continue
        new = np.flatnonzero((here > DEEP) & (home <= DEEP))
        if not len(new):
            continue
        pair = new[np.argmax(here[new])]
        a, b = names[pair]
        others = f", and {len(new) - 1} other pairs overlap" if len(new) > 1 else ""
        place = case.document.joint(joint.name)
        yield Finding(
            "reach",
            "note",
            f"joint '{joint.name}'",
            f"at its {word} limit, with all others at home, '{a}' and '{b}' overlap by "
            f"{1e3 * here[pair]:.3g} mm{others}",
            "narrow the limit, or let a controller keep away from it",
            EFFECTS["reach"],
            float(here[pair]),
            "m",
            place.file,
            place.line,
        )


class _Depths:
    """Depths of overlaps of bodies that no joint connects, and that are not excluded.

    Attributes
    ----------
    names : list of pairs of names
    """

    def __init__(self, case: Case) -> None:
        self.sim, self.names = None, []
        robot = case.model
        if sum(len(body.collisions) > 0 for body in robot.bodies) < 2:
            return
        sim = case.touching
        if sim is None:
            return
        bodies = sim.robot.bodies
        scene = sim.robot.touching_shapes()
        if not 0 < len(scene) <= MOST_PAIRS:
            return
        rows = [
            (bodies[a].name, bodies[b].name)
            for (a, _), (b, _) in scene
            if a is not None and b is not None
        ]
        self.sim, self._rows = sim, np.array([a is not None for (a, _), _ in scene])
        numbers = {name: k for k, name in enumerate(dict.fromkeys(rows))}
        self.names = list(numbers)
        self._of = np.array([numbers[row] for row in rows], dtype=int)

    def at(self, q: Array) -> Array | None:
        """Depth of each pair [m] at coordinates (nq,); None where they are not possible."""
        if self.sim is None:
            return None
        try:
            self.sim.set_state(q)
        except RobosimError:
            return None
        gaps = self.sim.shape_gaps(REACH)[self._rows]
        out = np.full(len(self.names), -np.inf)
        np.maximum.at(out, self._of, -gaps)
        return out


def _ends(case: Case) -> Iterator[tuple[Joint, str, Array]]:
    """Coordinates with one joint at one of its limits, and the others at home."""
    robot = case.model
    if robot.loop_joints or robot.couplings:
        return  # where one joint does not move alone
    for index, joint in enumerate(robot.tree_joints):
        if joint.nv != 1 or joint.has_quaternion:
            continue
        lower, upper = float(np.asarray(joint.lower)[0]), float(np.asarray(joint.upper)[0])
        for word, value in (("lower", lower), ("upper", upper)):
            if np.isfinite(value) and lower < upper:
                q = case.home.copy()
                margin = min(TURNED, 1e-9 + TURNED * (upper - lower))
                q[robot.q_offsets[index]] = value + (margin if word == "lower" else -margin)
                yield joint, word, q
