"""What CONTRIBUTING's recipes ask for is complete: each name is known wherever it has to be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import Body, ContactPoint, Geometry, Joint, Mechanism
from robosim.cli.stepping import FORMULATIONS
from robosim.compiled.building.shapes import compile_shapes
from robosim.description import touching
from robosim.description.body import lowest_arms
from robosim.description.contact_points import _Shape, contact_points, link_shapes
from robosim.description.geometry import GEOMETRY_KINDS
from robosim.description.hulls import simplified_hull
from robosim.description.solids import enclosed, solid
from robosim.linearization.parameters import PARAMETERS, parameter
from robosim.loaders.writers import save
from robosim.log import files
from robosim.minimal.simulation import METHODS
from robosim.viz.scene import LAYERS
from robosim.viz.shapes import triangles

ROOT = Path(__file__).parents[2]
TETRAHEDRON = {
    "vertices": np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]),
    "faces": np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]),
}
SHAPES = {
    "box": Geometry("box", (0.2, 0.3, 0.4)),
    "sphere": Geometry("sphere", (0.2,)),
    "cylinder": Geometry("cylinder", (0.2, 0.5)),
    "capsule": Geometry("capsule", (0.2, 0.5)),
    "ellipsoid": Geometry("ellipsoid", (0.2, 0.3, 0.1)),
    "cone": Geometry("cone", (0.3, 0.5)),
    "mesh": Geometry("mesh", **TETRAHEDRON),
}
# A parameter of each kind, of `arm`.
EXAMPLES = {
    "mass:BODY": "mass:a",
    "centre:BODY:AXIS": "centre:a:y",
    "inertia:BODY:AXES": "inertia:a:xz",
    "friction:BODY": "friction:a",
    "contact_stiffness:BODY": "contact_stiffness:a",
    "dissipation:BODY": "dissipation:a",
    "damping:JOINT": "damping:j",
    "stiffness:JOINT": "stiffness:j",
    "armature:JOINT": "armature:j",
    "dry_friction:JOINT": "dry_friction:j",
    "damping": "damping",
}


def test_the_shapes_are_all_kinds() -> None:
    assert set(SHAPES) == set(GEOMETRY_KINDS)


@pytest.mark.parametrize("kind", GEOMETRY_KINDS)
def test_a_shape_is_the_same_wherever_it_is_used(kind: str) -> None:
    """Drawn, weighed, bounded, and with its contact points on its surface."""
    shape = SHAPES[kind]
    drawn = triangles(shape)
    vertices = drawn.positions.astype(float)
    assert solid(shape).volume == pytest.approx(enclosed(vertices, drawn.faces).volume, rel=0.02)
    centre, radius = touching._ball(shape)
    assert np.linalg.norm(vertices - centre, axis=1).max() <= radius * (1 + 1e-6)
    assert _Shape(shape, simplified_hull).depth(solid(shape).center[None])[0] > 0.05
    (found,) = link_shapes(Body("b", 1.0, np.eye(3), collisions=(shape,)))
    assert found.kind == kind
    points = contact_points(Body("b", 1.0, np.eye(3), collisions=(shape,)))
    lowest = []
    for k in range(3):  # with each axis up
        up = np.roll(np.eye(3), 2 - k, axis=0)
        lowest.append(lowest_arms(points, np.tile(up, (len(points), 1, 1)))[:, 2].min())
    assert lowest == pytest.approx(vertices.min(axis=0), abs=0.01)
    records, _ = compile_shapes([shape])
    assert records["lower"][0] + records["x"][0] == pytest.approx(vertices.min(axis=0), abs=0.01)


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
@pytest.mark.parametrize("kind", GEOMETRY_KINDS)
def test_a_shape_comes_back_from_a_file(kind: str, suffix: str, tmp_path: Path) -> None:
    body = Body("b", 1.0, np.eye(3), collisions=(SHAPES[kind],))
    save(Mechanism("m", (body,), (Joint("j", "floating", None, "b"),)), tmp_path / f"m{suffix}")
    (found,) = robosim.load(tmp_path / f"m{suffix}").bodies[0].collisions
    assert found.kind in (kind, "mesh")  # for shapes that the format does not have
    # The mesh that stands for a cone has many sides.
    same = 1e-3 if kind == "cone" else 1e-6
    assert solid(found).volume == pytest.approx(solid(SHAPES[kind]).volume, rel=same)


@pytest.fixture
def arm() -> Mechanism:
    inertia = np.diag((2.0, 2.5, 3.0)) + 0.1 * (np.ones((3, 3)) - np.eye(3))
    joint = Joint(
        "j", "revolute", None, "a", stiffness=2.0, damping=0.3, friction=0.4, armature=0.5
    )
    point = ContactPoint("p", "a", (0.0, 0.0, -0.1), stiffness=1e3, dissipation=0.2)
    return Mechanism("arm", (Body("a", 1.5, inertia),), (joint,), (point,))


@pytest.mark.parametrize("kind", PARAMETERS)
def test_a_parameter_can_be_changed(kind: str, arm: Mechanism) -> None:
    name = EXAMPLES[kind]
    value, varied = parameter(arm, name)
    other = varied(value + 0.05)
    if kind == "damping":  # a factor
        assert parameter(other, "damping:j")[0] == pytest.approx(1.05 * 0.3, rel=1e-12)
    else:
        assert parameter(other, name)[0] == pytest.approx(value + 0.05, rel=1e-12)


def test_integrators_are_known_to_the_command_line() -> None:
    assert set(FORMULATIONS) == {"maximal", *METHODS, "reduced"}


def test_the_space_of_each_log_format_is_known() -> None:
    assert set(files.BYTES) == set(files.SUFFIXES)
    told = (ROOT / "docs/logging.md").read_text(encoding="utf-8")
    assert set(files.SUFFIXES) <= set(re.findall(r"^\| `(\.\w+)`", told, re.MULTILINE))


def test_tasks_are_learned_and_described() -> None:
    pytest.importorskip("gymnasium")
    from robosim.envs import TASKS
    from robosim.experiments import policies

    assert set(policies.TASKS) == set(TASKS)
    told = (ROOT / "docs/environments.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[`(\w+)`\]", told, re.MULTILINE)) == set(TASKS)
    assert set(TASKS) <= set(re.findall(r"^### (\w+)", told, re.MULTILINE))


def test_layers_of_the_page_have_a_title_and_a_key_each() -> None:
    script = (ROOT / "viz/web/panel.js").read_text(encoding="utf-8")
    names = script.partition("const LAYER_NAMES = {")[2].partition("};")[0]
    rows = re.findall(r'(\w+): \["([^"]+)", "(.)"\]', names)
    assert [name for name, _, _ in rows] == list(LAYERS)
    keys = [key for _, _, key in rows]
    assert len(set(keys)) == len(keys)
    drawn = (ROOT / "viz/web/layers.js").read_text(encoding="utf-8")
    elsewhere = {"visual", "ground", "shadows", "violation"}  # of the scene itself, or its colours
    for name in LAYERS.keys() - elsewhere:
        assert f'"{name}"' in drawn or f".{name}" in drawn
