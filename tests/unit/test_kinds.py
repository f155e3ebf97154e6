"""Kernels are compiled for few kinds of models: what a mechanism has is no part of their types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import Simulation
from robosim.compiled.building.model import compile_model
from robosim.compiled.loads import make_loads
from robosim.compiled.memory import make_memory
from robosim.compiled.state import make_state
from robosim.compiled.workspace import make_workspace
from robosim.description.body import Geometry
from robosim.description.mechanism import Mechanism
from robosim.kernels.compiler.lanes import Lanes
from robosim.models import builders
from robosim.runtime import handles
from robosim.runtime.handles import _layout


def with_shapes() -> Mechanism:
    box = Geometry("box", (0.4, 0.4, 0.4), name="box")
    return builders.cube().add(box, (0.0, 0.0, 1.0), mass=1.0)


def bouncing() -> Mechanism:
    ball = builders.sphere()
    return replace(ball, contacts=tuple(replace(point, restitution=0.5) for point in ball.contacts))


def dragged() -> Mechanism:
    ball = builders.sphere()
    return replace(ball, bodies=(replace(ball.bodies[0], drag=np.eye(6)),))


MADE = {
    "lean": builders.chain,
    "loops": builders.double_four_bar,
    "charts": builders.screw,
    "shapes": with_shapes,
    "restitution": bouncing,
    "drag": dragged,
    "muscles": builders.arm_with_muscles,
    "bearings": builders.flywheel,
    "soft": builders.hanging_net,
}


def layout(robot: Mechanism, facets: int, tree: bool) -> object:
    """What the types of all that a step works on follow from."""
    model = compile_model(robot, facets, tree)
    parts = (
        model,
        make_state(robot, model),
        make_memory(model),
        make_loads(model),
        make_workspace(robot, model),
    )
    return _layout(parts)


def layout_of(name: str, facets: int = 0, tree: bool = False) -> object:
    robot = MADE[name](3) if name == "lean" else MADE[name]()
    return layout(robot, facets, tree)


@pytest.mark.parametrize("name", MADE)
def test_a_feature_changes_no_type(name):
    assert layout_of(name) == layout_of("lean")


@pytest.mark.parametrize("facets", [0, 4])
@pytest.mark.parametrize("tree", [False, True])
def test_neither_cones_nor_solvers_change_types(facets, tree):
    assert layout_of("lean", facets, tree) == layout_of("lean")


def test_simulations_of_all_mixtures_are_of_one_kind():
    kinds = {
        Simulation(robot, islands=False, **options).engine.handle.kind
        for robot in (builders.chain(3), bouncing(), with_shapes())
        for options in ({}, {"friction_cone": "linearized"}, {"solver": "ldu"})
    }
    assert len(kinds) == 1
    # Others are those of lanes and of derivatives, of which there is one type of number each.
    assert {kind for kind, _ in handles._SOLVERS} >= kinds
    assert len(Lanes.__subclasses__()) == 1
