"""Warnings of a loader as findings: how severe each kind is, and where its elements are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from robosim.referee.doctor.case import Case
from robosim.referee.doctor.document import NOWHERE, Document, Place
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding, Severity

MOST_LINES = 4  # that a sentence lists
UNUSED = "the simulation does not use: "
# What of a file acts in no simulation of bodies, whether or not it is read.
HARMLESS = frozenset(
    (
        "transmission", "plugin", "material", "texture", "sensor", "ros2_control", "calibration",
        "self_filter", "gripper", "specificities", "rotor_params", "collision_checking",
        "verbose", "camera", "ray", "visual", "always_on", "update_rate",
    )
)  # fmt: skip


class Rule(NamedTuple):
    """Warnings that contain a pattern, and what they are."""

    pattern: str
    check: str
    severity: Severity
    mend: str = ""


RULES = (
    Rule(r"not positive definite.*fixed to the world", "inertia", "note"),
    Rule(
        r"not positive definite.*merged",
        "inertia",
        "warning",
        "give the link the inertia of its shape, or remove its <inertial>",
    ),
    Rule(
        r"not positive definite",
        "inertia",
        "error",
        "give the link the inertia of its shape: for a box of sides a, b, c, ixx is "
        "m (b^2 + c^2) / 12",
    ),
    Rule(
        r"triangle inequality",
        "inertia",
        "error",
        "export it anew, about the centre of mass; in MuJoCo balanceinertia='true' hides it",
    ),
    Rule(
        r"motion of these links without mass is undetermined",
        "massless",
        "error",
        "give them a mass and an inertia, or make their joints fixed",
    ),
    Rule(
        r"links without mass between joints|links with an inertia and no mass",
        "massless",
        "warning",
        "give them a mass and an inertia",
    ),
    Rule(r"has no mass and no joint", "massless", "error", "give a link a mass or a joint"),
    Rule(r"is the root and has no mass|joints before and behind these links", "massless", "note"),
    Rule(
        r"<limit> from .* is taken as unlimited",
        "limits",
        "warning",
        "make the joint fixed, or give it a range",
    ),
    Rule(r"of its <limit> mean nothing|<limit> with", "limits", "note"),
    Rule(
        r"as far as the limits of the joint that they follow",
        "limits",
        "note",
        "give the leader the narrower limits",
    ),
    Rule(
        r"collision meshes that do not exist",
        "missing-mesh",
        "error",
        "give the folder of the meshes: --package-dir DIR",
    ),
    Rule(
        r"meshes that (do not exist|cannot be read)",
        "missing-mesh",
        "warning",
        "give the folder of the meshes: --package-dir DIR",
    ),
    Rule(r"mimic joints move on their own", "mimic", "error", "name an existing joint"),
    Rule(
        r"wants \d+ pairs of bodies to collide|pairs of bodies of one robot do not collide",
        "never-collide",
        "warning",
        "load with self_collision=True, --self-collision on the command line",
    ),
    Rule(r"has no collision geometry", "no-collision", "warning", "add <collision> elements"),
    Rule(r"collision meshes that are not closed", "hull", "note"),
    Rule(
        r"collision shapes without a volume",
        "hull",
        "note",
        "give them a thickness of their own",
    ),
    Rule(r"no leg to stand on", "base", "note", "--fixed-base or --floating-base"),
    Rule(r"reaches .* below the ground", "base", "note", "raise the base, or add a stand"),
    Rule(r"start below the ground", "overlap", "warning", "raise the keyframe or the body"),
    Rule(r"may overlap at home, where no simulation can start", "loops", "error"),
    Rule(r"is no XML", "file", "warning", "mend the file, as other programs may refuse it"),
    Rule(r"is not where the model file says", "file", "warning", "mend the path"),
    Rule(r"^read with it|Simulation takes as arguments|has no name", "file", "note"),
    Rule(
        r"\.srdf|pairs of links that do not exist|passive joints that do not exist|poses of joints",
        "file",
        "note",
        "remove these lines of the SRDF",
    ),
    Rule(r"neither a link nor a joint", "ignored", "note"),
    Rule(r"not active|cannot move against each other|magnetic|camera", "ignored", "note"),
    Rule(r"left out|not read|not here|stay where|without its higher|no such", "ignored", "warning"),
)


def loader_warnings(case: Case) -> Iterator[Finding]:
    """A finding of each warning; of elements that are not used, one of each kind."""
    for warning in case.model.warnings:
        if UNUSED in warning:
            source, _, listed = warning.partition(UNUSED)
            yield from _unused(source.strip(": "), listed, case.document)
        else:
            yield _as_told(warning, case.document)


def _as_told(warning: str, document: Document) -> Finding:
    rule = next((rule for rule in RULES if re.search(rule.pattern, warning)), None)
    if rule is None:
        rule = Rule("", "loader", "warning")
    names = _names(warning)
    known = {name: place for name in names if (place := document.named(name)) != NOWHERE}
    names, places = list(known) or names, list(known.values())
    file = None if document.path is None else str(document.path)
    place = places[0] if places else Place(file, None)
    head = re.match(r"(link|joint|body|loop_joint|drake:joint) '[^']*'", warning)
    if head is not None:
        element = head.group()
        said = warning[head.end() :].lstrip(": ")
    else:
        element, said = _listed(names), warning
    return Finding(
        rule.check,
        rule.severity,
        element or "the robot",
        said,
        rule.mend,
        EFFECTS.get(rule.check, {}),
        file=place.file,
        line=place.line,
    )


def _names(warning: str) -> list[str]:
    """Names of elements in a warning: in quotes, or in a list at its end."""
    quoted = re.findall(r"'([^']*)'", warning)
    listed = warning.rpartition(": ")[2] if ": " in warning else ""
    words = [word.strip() for word in listed.split(",")]
    if " " in words[0]:
        words = []  # no list, but the rest of a sentence
    named = (word for word in words if word and " " not in word and not word.startswith("-"))
    return list(dict.fromkeys((*quoted, *named)))


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_LINES])
    return shown + (f", and {len(names) - MOST_LINES} more" if len(names) > MOST_LINES else "")


def _unused(source: str, listed: str, document: Document) -> Iterator[Finding]:
    """Findings of a list such as ``'lower' of <limit> (12), <gazebo><kd> (2)``.

    What is no element, such as a schema of USD, has no lines.
    """
    for item in listed.split(", "):
        what = re.sub(r" \(\d+\)$", "", item)
        tags = re.findall(r"<([^>]*)>", what)
        attribute = re.match(r"'([^']*)' of", what)
        nodes = [
            element
            for element in (document.all(tags[-1]) if tags else ())
            if (attribute is None or attribute.group(1) in element.node.attrib)
            and (len(tags) == 1 or _parent(element.node) == tags[-2])
        ]
        harmless = HARMLESS.intersection(tags)
        lines = [element.place.line for element in nodes]
        told = ", ".join(str(line) for line in lines[:MOST_LINES])
        more = ", ..." if len(lines) > MOST_LINES else ""
        where = f": {'line' if len(lines) == 1 else 'lines'} {told}{more}" if lines else ""
        times = re.search(r"\((\d+)\)$", item)
        count = f", {times.group(1)} times" if times else ""
        place = nodes[0].place if nodes else Place(source or None, None)
        yield Finding(
            "ignored",
            "note" if harmless else "warning",
            what,
            f"is not used{count}{where}",
            "" if harmless else "remove it, or give what it means by elements that are read",
            EFFECTS["ignored"],
            float(times.group(1)) if times else 1.0,
            "",
            place.file,
            place.line,
        )


def _parent(node: object) -> str:
    above = node.getparent()  # type: ignore[attr-defined]
    return "" if above is None else str(above.tag)
