"""What a model file names an instant with, beside a pose: velocities, controls, activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robosim.description.checks import index_of
from robosim.errors import ModelError
from robosim.validation import Array, Frozen


@dataclass(frozen=True, eq=False)
class Keyframe(Frozen):
    """An instant with a name; its pose is the configuration of that name.

    Quantities are given by names, and are zero where they are not given.

    Attributes
    ----------
    velocities : mapping of a coordinate of `Mechanism.v_names` to float [rad/s or m/s]
    controls, activations : mapping of a name to float
        Of `Mechanism.control_names` and `Mechanism.activation_names`.
    time : float [s]

    Raises
    ------
    ModelError
        For values that are not finite.
    """

    velocities: Mapping[str, float] = field(default_factory=dict)
    controls: Mapping[str, float] = field(default_factory=dict)
    activations: Mapping[str, float] = field(default_factory=dict)
    time: float = 0.0

    def __post_init__(self) -> None:
        for what in ("velocities", "controls", "activations"):
            values = {str(name): float(value) for name, value in getattr(self, what).items()}
            self._set(**{what: values})
            for name, value in values.items():
                if not np.isfinite(value):
                    raise ModelError(f"{what} of '{name}' must be finite, not {value}",
                                     element="keyframe")  # fmt: skip
        if not np.isfinite(self.time):
            raise ModelError(f"time must be finite, not {self.time}", element="keyframe")

    def renamed(self, prefix: str) -> Keyframe:
        """The keyframe of elements with a prefix."""

        def renamed(values: Mapping[str, float]) -> dict[str, float]:
            return {prefix + name: value for name, value in values.items()}

        return replace(
            self,
            velocities=renamed(self.velocities),
            controls=renamed(self.controls),
            activations=renamed(self.activations),
        )

    def turned(self, names: tuple[str, ...], R: Array) -> Keyframe:
        """The keyframe with the velocity along three coordinates turned by R (3, 3)."""
        if not set(names) & set(self.velocities):
            return self
        v = R @ np.array([self.velocities.get(name, 0.0) for name in names])
        turned = dict(zip(names, v.tolist(), strict=True))
        return replace(self, velocities={**self.velocities, **turned})


class Instant(NamedTuple):
    """A keyframe of a robot as arrays.

    Attributes
    ----------
    q, v : (nq,), (nv,)
    controls, activations : (number of controls,), (number of activations,)
        In the order of ``robot.control_names`` and ``robot.activation_names``.
    time : float [s]
    """

    q: Array
    v: Array
    controls: Array
    activations: Array
    time: float


def instant(robot: Any, name: str) -> Instant:
    """A keyframe, or another pose with a name, as arrays; a ModelError for an unknown name."""
    poses: Mapping[str, ArrayLike] = robot.poses
    index_of("configuration", list(poses), name)
    key = robot.keyframes.get(name, Keyframe())

    def array(names: Sequence[str], values: Mapping[str, float]) -> Array:
        return np.array([values.get(one, 0.0) for one in names], dtype=float)

    return Instant(
        np.array(poses[name], dtype=float),
        array(robot.v_names, key.velocities),
        array(robot.control_names, key.controls),
        array(robot.activation_names, key.activations),
        key.time,
    )
