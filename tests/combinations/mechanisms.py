"""Mechanisms of a row of features: a strategy of Hypothesis, and the same again from numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from robosim.compiled.building.loops import is_tree_with_loops
from robosim.simulation.dead_points import dead_point

from .builder import Builder, Case
from .covering import covering_array
from .drawn import Drawn
from .features import BELOW, FEATURES, GROUNDS, SPRINGY, fits, stand

TIMESTEPS = 1e-3, 2e-3, 5e-3
MOST = 9  # features of a row
LATER = ("backlash", "motors", "cone")
"""Features that further rows have, one by one, beside which all rows before stay as they were."""
TOUCHING = {"shape", "below", "ground", "surface"}


def rows(seed: int = 0) -> list[tuple[str, ...]]:
    """Rows of features in which all pairs occur that may."""
    found: list[tuple[str, ...]] = []
    for known in range(len(LATER) + 1):
        names = tuple(name for name in FEATURES if name not in LATER[known:])
        found = covering_array(names, fits, MOST, seed, begun=found)
    return found


def build(features: Iterable[str], drawn: Drawn, kind: str = "") -> Case:
    """The mechanism of some features, with numbers that are drawn, or a twin of such a kind."""
    row = frozenset(features)
    chosen = [one for one in FEATURES.values() if one.name in row]
    make = Builder(drawn, row, ideal=kind == "ideal", friction=0.0 if kind == "ideal" else 0.5)
    for one in (one for one in chosen if one.kind in ("joint", "shape", "below", "surface")):
        drawn.feature = one.name
        one.edit(make)
    grounds = [one for one in chosen if one.kind == "ground"]
    drawn.feature = grounds[0].name if grounds else ""
    if any(one.kind in TOUCHING for one in chosen) or (
        {"legs", "caster"} & row and kind != "smooth"
    ):
        stand(make, grounds[0].edit if grounds else None)
    elif not make.bodies:
        make.hinge()
    for one in (one for one in chosen if one.kind not in ("joint", *TOUCHING)):
        drawn.feature = one.name
        one.edit(make)
    drawn.feature = ""
    make.options["timestep"] = drawn.choice(TIMESTEPS)
    robot = make.mechanism()
    tied, limited = robot.loop_joints or robot.couplings, "velocity_limits" in make.options
    if tied and not is_tree_with_loops(robot, limited):
        # How many equations share joints depends on the numbers.
        make.options.pop("solver", None)
    v = drawn.uniform(-1.0, 1.0, size=robot.nv)

    def twin(kind: str) -> Case:
        if kind == "ideal":
            kept = {one.name for one in chosen if not (one.motor or one.loss)} - {"legs"}
            kept |= {"restitution"} if make.grounded else set()
        elif kind == "smooth":
            kept = {one.name for one in chosen if one.is_smooth}
        else:
            limbs = kind == "limbs"
            kept = {one.name for one in chosen if (one.suits_limbs if limbs else one.suits_lanes)}
            if kept & SPRINGY:
                kept -= GROUNDS | BELOW
            if make.grounded and not kept & (GROUNDS | BELOW):
                kept |= {"points"}
            if limbs and "legs" in kept:
                # Beside which nothing is alike.
                kept -= {one.name for one in chosen if one.kind in ("joint", "shape")} - {"legs"}
        return build(kept, Drawn.again(drawn.taken), kind)

    return Case(
        tuple(one.name for one in chosen),
        drawn.taken,
        robot,
        np.asarray(robot.home),
        v,
        make.options,
        None if make.control is None else make.control(robot),
        make.controls,
        any(one.motor for one in chosen),
        twin,
        make.drive(robot) if make.drive is not None and robot.nu else None,
    )


@st.composite
def cases(draw: st.DrawFn, features: Sequence[str]) -> Case:
    """Mechanisms of a row of features whose loops are at no dead point, where no step may be."""
    case = build(features, Drawn(lambda low, high: draw(st.integers(low, high))))
    assume(dead_point(case.robot, case.q) is None)
    return case


def again(features: Sequence[str], numbers: Mapping[str, Sequence[int]]) -> Case:
    """A mechanism as it was, from its features and numbers."""
    return build(features, Drawn.again(numbers))
