"""What an audit needs from a model file itself: its time step, gravity, and controls of poses."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from robosim.errors import LoadError
from robosim.loaders import kinds
from robosim.loaders.mjcf.files import Files
from robosim.referee.audit.runs import Array

NONE = "none"
"""The kind of a robot without a file, or with one that only robosim reads."""
TIMESTEP = 2e-3
"""Of MuJoCo, and so of files that have none [s]."""


@dataclass(frozen=True)
class Described:
    """What a file says about a run.

    Attributes
    ----------
    kind : str
        "mjcf", "urdf" or `NONE`.
    timestep : float [s]
    gravity : (3,) [m/s^2]
    controls : mapping of str to (nu,)
        Controls of each keyframe that has some.
    """

    kind: str
    timestep: float = TIMESTEP
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    controls: dict[str, Array] = field(default_factory=dict)


def described(path: Path) -> Described:
    """What a model file says about a run.

    Raises
    ------
    LoadError
        For a file that is no XML.
    """
    kind = kinds.kind_of(path)
    if kind not in (kinds.URDF, kinds.MJCF):
        return Described(NONE)  # which no other simulator reads here
    if kind == kinds.URDF:
        return Described("urdf")
    step, gravity, controls = TIMESTEP, np.array([0.0, 0.0, -9.81]), {}
    node = Files(path).read()
    for option in node.all("option"):
        step = option.number("timestep", step)
        if option.has("gravity"):
            gravity = np.array(option.text("gravity").split(), dtype=float)
    if not step > 0:
        raise LoadError(f"the time step is {step:g} s", file=str(path))
    for frames in node.all("keyframe"):
        for key in frames.all("key"):
            if key.has("ctrl"):
                values = np.array(key.text("ctrl").split(), dtype=float)
                controls[key.attributes.get("name", "")] = values
    return Described("mjcf", step, gravity, controls)
