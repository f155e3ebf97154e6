"""What a user may say about how to load a model file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from robosim.description.contact_points import DEFAULT_FRICTION
from robosim.description.mechanism import Mechanism
from robosim.description.stance import Stance


@dataclass(frozen=True)
class LoadOptions:
    """The arguments of `robosim.load` that a reader of files needs; they are described there.

    And `stance_of`, by which it tells what a robot that has been read is known to stand with.
    """

    stance_of: Callable[[Mechanism], Stance | None]
    floating_base: bool | None = None
    ground: bool = True
    package_dirs: tuple[str | os.PathLike[str], ...] = ()
    friction: float = DEFAULT_FRICTION
    self_collision: bool | str = False
    srdf: str | os.PathLike[str] | None = None
    loops: str | os.PathLike[str] | None = None
    xacro_args: Mapping[str, str] = field(default_factory=dict)
