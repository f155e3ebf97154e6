"""Options for loading a model file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from robosim.description.contact_points import DEFAULT_FRICTION
from robosim.description.hulls import HULL_POINTS
from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance

# In warnings of pairs of bodies that collide by the file, and do not without this option.
ASK_FOR_PAIRS = "load(..., self_collision="


Motion = Callable[[float], ArrayLike]
"""The pose (7,) of a mocap body at a time [s]: position [m] and quaternion."""
Choice = str | int | float
Convex = Choice | Mapping[str, Choice]
"""What collision meshes count as, or those of links by name; `robosim.load` documents it."""


@dataclass(frozen=True)
class LoadOptions:
    """The arguments of `robosim.load` that readers of files need; `robosim.load` documents these.

    In addition, `stance_of` returns the known stance of a robot that has been read, and `touches`
    says whether the collision geometry is used at once.
    """

    stance_of: Callable[[Mechanism], Stance | None]
    floating_base: bool | None = None
    ground: bool = True
    package_dirs: tuple[str | os.PathLike[str], ...] = ()
    friction: float = DEFAULT_FRICTION
    self_collision: bool | str | None = None
    srdf: str | os.PathLike[str] | None = None
    loops: str | os.PathLike[str] | None = None
    touches: bool = True
    compliant: bool = False
    xacro_args: Mapping[str, str] = field(default_factory=dict)
    corners: int = HULL_POINTS
    mocap: Mapping[str, Motion] = field(default_factory=dict)
