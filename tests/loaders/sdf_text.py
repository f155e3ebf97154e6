"""Pieces of SDF files for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import robosim
from robosim import Mechanism


def sdf(*parts: str, version: str = "1.8") -> str:
    """A file of some models or a world."""
    return f'<sdf version="{version}">{"".join(parts)}</sdf>'


def model(*parts: str, name: str = "m", more: str = "") -> str:
    """A <model>; `more` are further attributes."""
    return f'<model name="{name}" {more}>{"".join(parts)}</model>'


def link(name: str, *parts: str, mass: float = 2.0, pose: str = "", inner: str = "") -> str:
    """A <link> with moments 0.1, 0.2 and 0.25 about a centre, by default its origin."""
    return (
        f'<link name="{name}">{posed(pose)}<inertial>{posed(inner)}<mass>{mass}</mass>'
        "<inertia><ixx>.1</ixx><iyy>.2</iyy><izz>.25</izz></inertia></inertial>"
        f"{''.join(parts)}</link>"
    )


def joint(
    name: str, kind: str, parent: str, child: str, *parts: str, pose: str = "", axis: str = "0 0 1"
) -> str:
    """A <joint>, with an axis unless that is empty."""
    told = f"<axis><xyz>{axis}</xyz></axis>" if axis and "<axis>" not in "".join(parts) else ""
    return (
        f'<joint name="{name}" type="{kind}">{posed(pose)}<parent>{parent}</parent>'
        f"<child>{child}</child>{told}{''.join(parts)}</joint>"
    )


def posed(pose: str) -> str:
    """A <pose>; "frame|numbers" is one relative to a frame."""
    frame, bar, numbers = pose.rpartition("|")
    if not pose:
        return ""
    return f'<pose relative_to="{frame}">{numbers}</pose>' if bar else f"<pose>{numbers}</pose>"


def shape(kind: str, sizes: str, name: str = "c", pose: str = "", more: str = "") -> str:
    """A <collision>."""
    return (
        f'<collision name="{name}">{posed(pose)}<geometry><{kind}>{sizes}</{kind}></geometry>'
        f"{more}</collision>"
    )


BOX = "<size>.2 .4 .6</size>"


def load(folder: Path, text: str, **options: Any) -> Mechanism:
    """The mechanism of a file with that text."""
    path = folder / "model.sdf"
    path.write_text(text, encoding="utf-8")
    return robosim.load(path, **options)
