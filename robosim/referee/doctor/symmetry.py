"""Check of limbs that are named as mirror images of each other, and differ."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from robosim.description.body import Body
from robosim.description.joint import Joint
from robosim.referee.doctor.case import Case
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding

ALIKE = 0.01  # relative difference up to which two numbers are the same
SMALL = 0.05  # up to which a difference is a note
# A word of a name, and what the other side calls it.
SIDES = (("left", "right"), ("l", "r"), ("fl", "fr"), ("rl", "rr"), ("hl", "hr"), ("lf", "rf"),
         ("lh", "rh"), ("lb", "rb"), ("bl", "br"), ("ml", "mr"))  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
_OTHER = dict(SIDES)


def mirrored(name: str) -> list[str]:
    """Names that the right-hand counterpart of a left-hand element may have."""
    words = _WORDS.findall(name)
    found = []
    for k, word in enumerate(words):
        other = _OTHER.get(word.lower())
        if other is None:
            continue
        spelt = other.upper() if word.isupper() else other.title() if word.istitle() else other
        found.append("".join((*words[:k], spelt, *words[k + 1 :])))
    return found


def sides(case: Case) -> Iterator[Finding]:
    """Left and right bodies and joints whose numbers differ."""
    robot = case.model
    bodies = {body.name: body for body in robot.bodies}
    joints = {joint.name: joint for joint in robot.joints}
    for name, body in bodies.items():
        for other in mirrored(name):
            if other in bodies and (found := _worst(_of_bodies(body, bodies[other]))):
                place = case.document.body(other)
                yield _finding(f"bodies '{name}' and '{other}'", *found, *place)
    for name, joint in joints.items():
        for other in mirrored(name):
            if other in joints and (found := _worst(_of_joints(joint, joints[other]))):
                place = case.document.joint(other)
                yield _finding(f"joints '{name}' and '{other}'", *found, *place)


def _finding(
    element: str, what: str, a: float, b: float, share: float, file: str | None, line: int | None
) -> Finding:
    return Finding(
        "symmetry",
        "note" if share < SMALL else "warning",
        element,
        f"are called left and right, and their {what} differs: {a:.4g} and {b:.4g}",
        "give both the same number, if they are mirror images",
        EFFECTS["symmetry"],
        share,
        "",
        file,
        line,
    )


Compared = list[tuple[str, float, float, float]]


def _worst(compared: Compared) -> tuple[str, float, float, float] | None:
    """What differs most: its name, both numbers, and the difference over the scale."""
    found = []
    for what, a, b, scale in compared:
        if a == b or not scale > 0:
            continue
        share = abs(a - b) / scale if np.isfinite(a) and np.isfinite(b) else 1.0
        if share > ALIKE:
            found.append((what, a, b, share))
    return max(found, key=lambda one: one[3], default=None)


def _of_bodies(one: Body, other: Body) -> Compared:
    if one.carrier or other.carrier:
        return []
    found = [("mass", one.mass, other.mass, max(one.mass, other.mass))]
    largest = float(max(one.principal_moments[2], other.principal_moments[2]))
    found += [
        ("moment of inertia", float(a), float(b), largest)
        for a, b in zip(one.principal_moments, other.principal_moments, strict=True)
    ]
    return found


def _of_joints(one: Joint, other: Joint) -> Compared:
    if one.kind != other.kind or one.nv != other.nv:
        return []
    found: Compared = []
    for what, told in (
        ("effort_limit", "largest effort"),
        ("velocity_limit", "largest velocity"),
        ("damping", "damping"),
        ("friction", "dry friction"),
        ("armature", "rotor inertia"),
        ("stiffness", "stiffness"),
    ):
        for a, b in zip(one.per_coordinate(what), other.per_coordinate(what), strict=True):
            found.append((told, float(a), float(b), _scale(a, b)))
    for k in range(one.nv):
        first, second = (
            (float(np.asarray(joint.lower)[k]), float(np.asarray(joint.upper)[k]))
            for joint in (one, other)
        )
        spans = first[1] - first[0], second[1] - second[0]
        found.append(("range", *spans, _scale(*spans)))
        ends = [(first, second), (first, (-second[1], -second[0]))]
        gaps = [max(_gap(x, y) for x, y in zip(a, b, strict=True)) for a, b in ends]
        if not min(gaps) <= ALIKE * _scale(*spans):
            # Not the same limits, nor those of the mirror image.
            found.append(("lower limit", first[0], second[0], _scale(*spans)))
    return found


def _gap(a: float, b: float) -> float:
    return 0.0 if a == b else abs(a - b)


def _scale(a: float, b: float) -> float:
    finite = [abs(x) for x in (a, b) if np.isfinite(x)]
    return max(finite, default=1.0) or 1.0
