"""Checks of the file itself, which need no robot: names, axes, mimic joints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from robosim.referee.doctor.case import Case
from robosim.referee.doctor.document import Element
from robosim.referee.doctor.effects import EFFECTS
from robosim.referee.finding import Finding

NO_LEGS = "no leg to stand on"
UNIT = 1e-3  # by which the length of an axis may differ from 1


def names(case: Case) -> Iterator[Finding]:
    """Elements of one kind with the same name."""
    for kind, elements in case.document.lists().items():
        by_name: dict[str, list[Element]] = defaultdict(list)
        for element in elements:
            by_name[element.name or ""].append(element)
        for name, same in by_name.items():
            if len(same) > 1:
                lines = " and ".join(str(element.place.line) for element in same)
                yield Finding(
                    "names",
                    "error",
                    f"{kind} '{name}'",
                    f"occurs {len(same)} times, in lines {lines}",
                    "rename all but one",
                    EFFECTS["names"],
                    float(len(same)),
                    "",
                    *same[1].place,
                )


def axes(case: Case) -> Iterator[Finding]:
    """Axes of joints whose length is not 1."""
    for element in case.document.all("axis", "joint"):
        attribute = "xyz" if element.tag == "axis" else "axis"
        numbers = element.numbers(attribute)
        owner = element.node if element.tag == "joint" else element.node.getparent()
        if numbers is None or len(numbers) != 3 or owner is None or owner.tag != "joint":
            continue
        length = float(np.linalg.norm(numbers))
        if length > 0 and abs(length - 1) > UNIT:
            yield Finding(
                "axis",
                "note",
                f"joint '{owner.get('name')}'",
                f"its axis has the length {length:.4g}",
                "scale it to 1, if a direction is all that is meant",
                EFFECTS["axis"],
                abs(np.log(length)),
                "",
                *element.place,
            )


def mimics(case: Case) -> Iterator[Finding]:
    """Mimic joints of a URDF, which each library reads in its own way."""
    if case.document.kind != "urdf":
        return
    for element in case.document.all("mimic"):
        owner = element.node.getparent()
        if owner is not None and owner.tag == "joint":
            yield Finding(
                "mimic",
                "note",
                f"joint '{owner.get('name')}'",
                f"mimics '{element.node.get('joint')}'",
                "",
                EFFECTS["mimic"],
                None,
                "",
                *element.place,
            )


def base(case: Case) -> Iterator[Finding]:
    """A floating robot of a URDF, which other libraries fix to the world."""
    if case.document.kind != "urdf" or not case.model.floating_base:
        return
    if any(NO_LEGS in warning for warning in case.model.warnings):
        return  # the loader says so
    name = case.model.bodies[0].name
    yield Finding(
        "base",
        "note",
        f"link '{name}'",
        "floats, as the root of a URDF with a mass",
        "",
        EFFECTS["base"],
        None,
        "",
        *case.document.body(name),
    )
