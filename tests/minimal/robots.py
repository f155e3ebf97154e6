"""Robots that several tests of simulations in joint coordinates move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robosim import Body, Joint, Mechanism, MinimalSimulation

Array = NDArray[np.float64]
EVERYTHING = ("contacts", "limits", "friction")  # that the A1 in the air does without
INTEGRATORS = [("newton", 2), ("riqn", 2), ("galerkin", 2), ("galerkin", 4), ("galerkin", 6)]


def top() -> Mechanism:
    """A body of three different moments, held away from its centre."""
    body = Body("top", 1.3, np.diag([0.02, 0.05, 0.06]))
    base = Joint("base", "floating", None, "top", child_position=(0.1, 0.05, 0.0))
    return Mechanism("top", (body,), (base,))


def chain(n: int, kind: str = "spherical") -> Mechanism:
    """Links of half a metre that hang on each other by their ends."""
    bodies = tuple(Body(f"b{i}", 1.0, np.diag([0.021, 0.022, 0.004])) for i in range(n))
    joints = []
    for i in range(n):
        held = (None, (0.0, 0.0, 0.0)) if i == 0 else (f"b{i - 1}", (0.0, 0.0, -0.25))
        joints.append(
            Joint(
                f"j{i}",
                kind,
                held[0],
                f"b{i}",
                axis=(0.0, 1.0, 0.0),
                parent_position=held[1],
                child_position=(0.0, 0.0, 0.25),
            )
        )
    return Mechanism("chain", bodies, tuple(joints))


def after(
    robot: Mechanism, q: Array, v: Array, seconds: float, steps: int, **options: object
) -> Array:
    """q and v, one after the other, after a run."""
    sim = MinimalSimulation(robot, seconds / steps, ignore=EVERYTHING, **options)  # type: ignore[arg-type]
    sim.set_state(q, v)
    sim.run(seconds)
    return np.concatenate((sim.q, sim.v))
