"""USD stages with UsdPhysics: bodies, masses, joints, colliders, and what is told of all else."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from usd_text import body, joint, load, placed, prim, stage

import robosim
from robosim import Simulation, quaternions
from robosim.description.obstacles import TriangleMesh
from robosim.description.poses import body_poses
from robosim.errors import LoadError, MissingExtraError

pxr = pytest.importorskip("pxr")

BOX = np.array((0.2, 0.4, 0.6))
HELD = joint("Fixed", "held", "", "a", "point3f physics:localPos0 = (0, 0, 5)")
HALF = "0.7071067811865476"


def pair(kind: str, *lines: str, apis: str = "") -> str:
    """Two bodies a metre apart, the first of which is held, with a joint between."""
    at = "point3f physics:localPos0 = (1, 0, 0)"
    return stage(body("a", "0, 0, 5"), body("b", "1, 0, 5"), HELD,
                 joint(kind, "j", "a", "b", at, *lines, apis=apis))  # fmt: skip


def moments(mass: float, edges: np.ndarray) -> np.ndarray:
    return mass / 12 * (edges @ edges - edges**2)


def test_a_body_has_its_mass_and_the_inertia_of_its_collider(tmp_path: Path):
    (found,) = load(tmp_path, stage(body("a", "1, 2, 3"))).bodies
    assert found.mass == 2.0
    np.testing.assert_allclose(found.inertia, np.diag(moments(2, BOX)), rtol=1e-12)


@pytest.mark.parametrize(
    ("body_density", "collider", "material", "expected"),
    [("", "", "", 1000), ("500", "", "", 500), ("500", "300", "", 300), ("", "", "700", 700),
     ("500", "", "700", 500)],
)  # fmt: skip
def test_densities_of_colliders_come_before_those_of_bodies_and_materials(
    tmp_path: Path, body_density: str, collider: str, material: str, expected: float
):
    told = f"float physics:density = {body_density}" if body_density else ""
    inner = prim("Cube", "box", "double size = 0.5",
                 f"float physics:density = {collider}" if collider else "",
                 "rel material:binding:physics = </W/stuff>" if material else "",
                 apis="Collision Mass MaterialBindingAPI")  # fmt: skip
    stuff = prim("Material", "stuff", f"float physics:density = {material or 0}", apis="Material")
    text = stage(prim("Xform", "a", told, inner, apis="RigidBody Mass"), stuff)
    assert load(tmp_path, text).bodies[0].mass == pytest.approx(expected / 8)


def test_authored_centre_moments_and_axes_are_those_of_the_body(tmp_path: Path):
    told = ("point3f physics:centerOfMass = (0.1, 0.2, 0.3)",
            "float3 physics:diagonalInertia = (1, 2, 2.5)",
            f"quatf physics:principalAxes = ({HALF}, 0, 0, {HALF})")  # fmt: skip
    (found,) = load(tmp_path, stage(body("a", "0, 0, 3", *told))).bodies
    np.testing.assert_allclose(found.reference_position, (-0.1, -0.2, -0.3), atol=1e-7)
    np.testing.assert_allclose(found.inertia, np.diag((2, 1, 2.5)), atol=1e-6)


def test_units_and_the_up_axis_of_a_stage_become_metres_kilograms_and_z(tmp_path: Path):
    more = 'metersPerUnit = 0.01\n    kilogramsPerUnit = 0.5\n    upAxis = "Y"'
    shape = prim("Cube", "box", "double size = 20", apis="Collision")
    told = "float physics:mass = 4", "float3 physics:diagonalInertia = (100, 200, 250)"
    text = prim("Xform", "a", placed("100, 200, 300"), *told, shape, apis="RigidBody Mass")
    robot = load(tmp_path, stage(text, more=more))
    (found,) = robot.bodies
    assert found.mass == 2.0
    np.testing.assert_allclose(robot.home[:3], (1, -3, 2), atol=1e-7)
    np.testing.assert_allclose(np.diag(found.inertia), np.array((100, 200, 250)) * 0.5e-4)
    assert found.collisions[0].size == pytest.approx((0.2, 0.2, 0.2))


def test_scales_of_parents_stretch_shapes_and_joint_frames(tmp_path: Path):
    inner = prim("Sphere", "ball", "double radius = 0.5", apis="Collision")
    one = prim("Xform", "a", placed("0, 0, 2", scale="2, 2, 2"), "float physics:mass = 1", inner,
               apis="RigidBody Mass")  # fmt: skip
    ends = "point3f physics:localPos1 = (0, 0, 0.5)", "point3f physics:localPos0 = (0, 0, 3)"
    tie = joint("Revolute", "j", "", "a", *ends, 'uniform token physics:axis = "X"')
    robot = load(tmp_path, stage(one, tie))
    assert robot.bodies[0].collisions[0].size == (1.0,)
    np.testing.assert_allclose(robot.joints[0].child_position, (0, 0, 1))
    np.testing.assert_allclose(robot.home, (0,), atol=1e-7)


@pytest.mark.parametrize(
    ("kind", "ours"),
    [("Revolute", "revolute"), ("Prismatic", "prismatic"), ("Spherical", "spherical")],
)
def test_joints_have_their_kinds_and_axes(tmp_path: Path, kind: str, ours: str):
    robot = load(tmp_path, pair(kind, 'uniform token physics:axis = "Y"'))
    found = robot.tree_joints[1]
    assert (found.kind, found.parent, found.child) == (ours, "a", "b")
    np.testing.assert_allclose(found.parent_position, (1, 0, 0))
    if kind != "Spherical":
        np.testing.assert_allclose(found.axis, (0, 1, 0))


def test_limits_of_hinges_are_in_degrees_and_those_of_slides_in_metres(tmp_path: Path):
    limits = "float physics:lowerLimit = -90", "float physics:upperLimit = 45"
    hinge = load(tmp_path, pair("Revolute", *limits)).tree_joints[1]
    assert (hinge.lower[0], hinge.upper[0]) == pytest.approx((-np.pi / 2, np.pi / 4))
    slide = load(tmp_path, pair("Prismatic", *limits)).tree_joints[1]
    assert (slide.lower[0], slide.upper[0]) == (-90, 45)


def test_a_drive_is_a_servo_in_radians_with_its_target(tmp_path: Path):
    drive = "float drive:angular:physics:"
    values = {"stiffness": 2, "damping": 0.5, "targetPosition": 30, "maxForce": 7}
    lines = [f"{drive}{what} = {value}" for what, value in values.items()]
    lines.append("float physxJoint:armature = 0.25")
    robot = load(tmp_path, pair("Revolute", *lines, apis="PhysicsDriveAPI:angular"))
    (servo,) = robot.actuators
    degree = 180 / np.pi
    assert servo.gain == pytest.approx((2 * degree, 0, 0))
    assert servo.bias == pytest.approx((0, -2 * degree, -0.5 * degree))
    assert tuple(servo.force_range) == (-7, 7)
    hinge = robot.tree_joints[1]
    assert (hinge.actuated, hinge.effort_limit, hinge.armature) == (True, 7, 0.25)
    assert robot.keyframes["targets"].controls == {"j_drive": pytest.approx(np.pi / 6)}
    passive = load(tmp_path, pair("Revolute")).tree_joints[1]
    assert passive.actuated is False


def test_a_drive_of_velocity_alone_has_that_as_its_control(tmp_path: Path):
    lines = ("float drive:linear:physics:damping = 3",
             "float drive:linear:physics:targetVelocity = 2")  # fmt: skip
    robot = load(tmp_path, pair("Prismatic", *lines, apis="PhysicsDriveAPI:linear"))
    (servo,) = robot.actuators
    assert (servo.gain, servo.bias) == ((3, 0, 0), (0, 0, -3))
    assert robot.keyframes["targets"].controls == {"j_drive": 2.0}


def d6(**bounds: tuple[float, float]) -> str:
    """The joint that leaves free what is named, in these bounds, and holds the rest."""
    dofs = [f"{way}{axis}" for way in ("trans", "rot") for axis in "XYZ"]
    lines, apis = [], []
    for dof in dofs:
        low, high = bounds.get(dof, (1.0, -1.0))
        if np.isinf(low):
            continue
        apis.append(f"PhysicsLimitAPI:{dof}")
        lines += [f"float limit:{dof}:physics:low = {low}",
                  f"float limit:{dof}:physics:high = {high}"]  # fmt: skip
    return pair("", *lines, apis=" ".join(apis))


FREE = (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("free", "kind", "nv"),
    [
        (("rotY",), "revolute", 1),
        (("transX",), "prismatic", 1),
        (("rotX", "rotY", "rotZ"), "spherical", 3),
        (("transY", "rotX", "rotY", "rotZ"), "cylindrical_free_orientation", 4),
        (("transX", "transZ", "rotX", "rotY", "rotZ"), "planar_free_orientation", 5),
        (("rotX", "rotY"), "composite", 2),
        (("transX", "transY", "transZ"), "composite", 3),
    ],
)
def test_a_generic_joint_becomes_the_kind_that_it_leaves_free(
    tmp_path: Path, free: tuple, kind: str, nv: int
):
    found = load(tmp_path, d6(**dict.fromkeys(free, FREE))).tree_joints[1]
    assert (found.kind, found.nv) == (kind, nv)


def test_limits_of_a_generic_joint_are_those_of_its_coordinates(tmp_path: Path):
    found = load(tmp_path, d6(transY=(-0.5, 0.5), rotZ=(-90, 90))).tree_joints[1]
    assert found.coordinate_names == ("j.transY", "j.rotZ")
    np.testing.assert_allclose(found.upper, (0.5, np.pi / 2))


def test_a_generic_ball_with_a_drive_is_three_hinges_with_a_servo(tmp_path: Path):
    ends = "low = 1", "high = -1"
    lines = [f"float limit:trans{axis}:physics:{end}" for axis in "XYZ" for end in ends]
    lines.append("float drive:rotY:physics:stiffness = 1")
    apis = " ".join(f"PhysicsLimitAPI:trans{axis}" for axis in "XYZ") + " PhysicsDriveAPI:rotY"
    robot = load(tmp_path, pair("", *lines, apis=apis))
    found = robot.tree_joints[1]
    assert (found.kind, found.actuated) == ("composite", (False, True, False))
    assert [tuple(servo.gears) for servo in robot.actuators] == [("j.rotY",)]
    assert any("follow each other about X, Y and Z" in warning for warning in robot.warnings)


def test_hinges_between_the_same_bodies_are_one_joint_in_series(tmp_path: Path):
    at = "point3f physics:localPos0 = (1, 0, 0)"
    hinges = [joint("Revolute", f"j{axis}", "a", "b", at, f'uniform token physics:axis = "{axis}"')
              for axis in "YX"]  # fmt: skip
    robot = load(tmp_path, stage(body("a", "0, 0, 5"), body("b", "1, 0, 5"), HELD, *hinges))
    found = robot.tree_joints[1]
    assert (found.kind, found.coordinate_names) == ("composite", ("jY", "jX"))
    R = body_poses(robot.tree_joints, np.array((0.3, 0.7)))["b"][0]
    turns = [quaternions.rotation_matrix(quaternions.from_axis_angle(axis, angle))
             for axis, angle in (((0, 1, 0), 0.3), ((1, 0, 0), 0.7))]  # fmt: skip
    np.testing.assert_allclose(R, turns[0] @ turns[1], atol=1e-12)


def test_home_is_where_the_stage_has_the_bodies(tmp_path: Path):
    quarter = f"{HALF}, 0, 0, {HALF}"
    text = stage(body("a", "0, 0, 5"), body("b", "0, 1, 5", turn=quarter), HELD,
                 joint("Revolute", "j", "a", "b", 'uniform token physics:axis = "Z"',
                       "point3f physics:localPos1 = (-1, 0, 0)"))  # fmt: skip
    robot = load(tmp_path, text)
    np.testing.assert_allclose(robot.home, (np.pi / 2,), atol=1e-7)
    np.testing.assert_allclose(
        body_poses(robot.tree_joints, robot.home)["b"][1], (0, 1, 5), atol=1e-7
    )


def test_poses_that_a_joint_does_not_allow_are_told(tmp_path: Path):
    text = stage(body("a", "0, 0, 5"), body("b", "0, 3, 5"), HELD, joint("Revolute", "j", "a", "b"))
    robot = load(tmp_path, text)
    assert any("are not ones that these joints allow" in warning for warning in robot.warnings)


def test_a_joint_outside_of_the_articulation_closes_a_loop(tmp_path: Path):
    bodies = [body(name, f"{k}, 0, 5") for k, name in enumerate("abc")]
    last = joint("Spherical", "l", "a", "c", "point3f physics:localPos0 = (2, 0, 0)",
                 "uniform bool physics:excludeFromArticulation = true")  # fmt: skip
    ties = [joint("Revolute", f"j{one}{two}", one, two, "point3f physics:localPos0 = (1, 0, 0)",
                  'uniform token physics:axis = "Z"') for one, two in ("ab", "bc")]  # fmt: skip
    robot = load(tmp_path, stage(*bodies, HELD, last, *ties))
    assert [one.name for one in robot.loop_joints] == ["l"]
    assert robot.nv == 2
    Simulation(robot).step()


def test_a_distance_joint_is_a_tendon_of_limited_length(tmp_path: Path):
    lengths = "float physics:minDistance = 1", "float physics:maxDistance = 3"
    tie = joint("Distance", "d", "", "a", *lengths, "point3f physics:localPos0 = (0, 0, 7)")
    (found,) = load(tmp_path, stage(body("a", "0, 0, 5"), tie)).tendons
    assert (found.lower, found.upper) == (1.0, 3.0)
    np.testing.assert_allclose(found.path[0].position, (0, 0, 7))


@pytest.mark.parametrize(
    ("kind", "lines", "scale", "ours", "size"),
    [
        ("Cube", "double size = 2", "1, 2, 3", "box", (2, 4, 6)),
        ("Sphere", "double radius = 2", "3, 3, 3", "sphere", (6,)),
        ("Sphere", "double radius = 2", "1, 2, 3", "ellipsoid", (2, 4, 6)),
        ("Cylinder", "double radius = 1\ndouble height = 4", "2, 2, 3", "cylinder", (2, 12)),
        ("Capsule", "double radius = 1\ndouble height = 4", "2, 2, 2", "capsule", (2, 8)),
        ("Cylinder", "double radius = 1\ndouble height = 4", "1, 2, 1", "mesh", ()),
    ],
)
def test_shapes_are_scaled(
    tmp_path: Path, kind: str, lines: str, scale: str, ours: str, size: tuple
):
    shape = prim(kind, "s", lines, placed(scale=scale), apis="Collision")
    text = stage(prim("Xform", "a", placed("0, 0, 50"), shape, apis="RigidBody"))
    (found,) = load(tmp_path, text).bodies[0].collisions
    assert (found.kind, found.size) == (ours, pytest.approx(size))


@pytest.mark.parametrize(("axis", "way"), [("X", 0), ("Y", 1), ("Z", 2)])
def test_cones_cylinders_and_capsules_lie_along_their_axis(tmp_path: Path, axis: str, way: int):
    lines = "double radius = 0.1", "double height = 2", f'uniform token axis = "{axis}"'
    for kind in ("Cylinder", "Capsule", "Cone"):
        shape = prim(kind, "s", *lines, apis="Collision")
        text = stage(prim("Xform", "a", placed("0, 0, 50"), shape, apis="RigidBody"))
        (found,) = load(tmp_path, text).bodies[0].collisions
        R = quaternions.rotation_matrix(np.asarray(found.quaternion))
        np.testing.assert_allclose(R[:, 2], np.eye(3)[way], atol=1e-12)
        assert (found.kind, found.size) == (kind.lower(), (0.1, 2.0))


POINTS = ("point3f[] points = [(0,0,0), (1,0,0), (0,1,0), (0,0,1), (0.1,0.1,0.1)]\n"
          "int[] faceVertexCounts = [3, 3, 3, 3]\n"
          "int[] faceVertexIndices = [0,2,1, 0,1,3, 0,3,2, 1,2,3]")  # fmt: skip


@pytest.mark.parametrize(
    ("told", "kind", "corners"),
    [("convexHull", "mesh", 5), ("none", "mesh", 5), ("boundingCube", "box", 0),
     ("boundingSphere", "sphere", 0)],
)  # fmt: skip
def test_meshes_collide_as_they_are_approximated(
    tmp_path: Path, told: str, kind: str, corners: int
):
    mesh = prim("Mesh", "m", POINTS, f'uniform token physics:approximation = "{told}"',
                apis="Collision MeshCollision")  # fmt: skip
    robot = load(tmp_path, stage(prim("Xform", "a", placed("0, 0, 9"), mesh, apis="RigidBody")))
    (found,) = robot.bodies[0].collisions
    assert found.kind == kind
    if kind == "box":
        assert found.size == pytest.approx((1, 1, 1))
    noticed = any("count as their hulls" in warning for warning in robot.warnings)
    assert noticed == (told == "none")


def test_friction_is_that_of_the_physics_material(tmp_path: Path):
    stuff = prim("Material", "stuff", "float physics:dynamicFriction = 0.3",
                 "float physics:staticFriction = 0.5", "float physics:restitution = 0.2",
                 apis="Material")  # fmt: skip
    shape = prim("Cube", "box", "double size = 0.5",
                 "rel material:binding:physics = </W/stuff>",
                 apis="Collision MaterialBindingAPI")  # fmt: skip
    text = stage(prim("Xform", "a", placed("0, 0, 9"), shape, apis="RigidBody"), stuff)
    robot = load(tmp_path, text)
    found = robot.bodies[0].collisions[0]
    assert (found.friction, found.restitution) == pytest.approx((0.3, 0.2))
    assert any("the dynamic one counts" in warning for warning in robot.warnings)


def test_colours_are_those_of_prims_and_materials_and_guides_are_not_drawn(tmp_path: Path):
    plain = prim(
        "Cube", "plain", "double size = 1", "color3f[] primvars:displayColor = [(1, 0, 0)]"
    )
    guide = prim("Cube", "guide", "double size = 1", 'uniform token purpose = "guide"')
    shader = prim("Shader", "s", 'uniform token info:id = "UsdPreviewSurface"',
                  "color3f inputs:diffuseColor = (0, 0, 1)", "token outputs:surface")  # fmt: skip
    look = prim("Material", "look", "token outputs:surface.connect = </W/look/s.outputs:surface>",
                shader)  # fmt: skip
    bound = prim("Cube", "bound", "double size = 1", "rel material:binding = </W/look>",
                 apis="MaterialBindingAPI")  # fmt: skip
    text = stage(prim("Xform", "a", "float physics:mass = 1", plain, guide, bound,
                      apis="RigidBody Mass"), look)  # fmt: skip
    found = load(tmp_path, text).bodies[0]
    assert [shape.rgba[:3] for shape in found.visuals] == [(1, 0, 0), (0, 0, 1)]
    assert not found.collisions


def test_colliders_of_the_world_are_the_ground_and_obstacles(tmp_path: Path):
    plane = prim("Plane", "floor", 'uniform token axis = "Z"', apis="Collision")
    wall = prim("Cube", "wall", "double size = 1", placed("3, 0, 0"), apis="Collision")
    mesh = prim("Mesh", "hill", POINTS, apis="Collision")
    robot = load(tmp_path, stage(body("a", "0, 0, 5"), plane, wall, mesh))
    assert robot.contacts
    assert [type(one) for one in robot.obstacles] == [robosim.Geometry, TriangleMesh]
    np.testing.assert_allclose(robot.obstacles[0].position, (3, 0, 0))
    alone = load(tmp_path, stage(body("a", "0, 0, 5"), wall))
    assert not alone.contacts


def test_groups_and_filtered_pairs_keep_bodies_apart(tmp_path: Path):
    three = [body(name, f"{k}, 0, 5") for k, name in enumerate("abc")]
    group = prim("PhysicsCollisionGroup", "g", "rel collection:colliders:includes = </W/a>",
                 "rel physics:filteredGroups = </W/h>", apis="CollectionAPI:colliders")  # fmt: skip
    other = prim("PhysicsCollisionGroup", "h", "rel collection:colliders:includes = </W/b>",
                 apis="CollectionAPI:colliders")  # fmt: skip
    robot = load(tmp_path, stage(*three, group, other))
    assert set(robot.contact_pairs) == {("a", "c"), ("b", "c")}
    filtered = three[2].replace(
        '"PhysicsMassAPI"', '"PhysicsMassAPI", "PhysicsFilteredPairsAPI"', 1
    )
    filtered = filtered.replace("{\n", "{\nrel physics:filteredPairs = </W/a>\n", 1)
    robot = load(tmp_path, stage(three[0], three[1], filtered))
    assert set(robot.contact_pairs) == {("a", "b"), ("b", "c")}


def test_references_instances_and_variants_are_composed(tmp_path: Path):
    (tmp_path / "part.usda").write_text(stage(body("a", "0, 0, 0")).replace('"W"', '"P"'))
    placings = "".join(
        prim("Xform", name, placed(f"{k}, 0, 5"), more="instanceable = true\n"
             "prepend references = @part.usda@</P>") for k, name in enumerate(("one", "two"))
    )  # fmt: skip
    robot = load(tmp_path, stage(placings))
    assert [one.name for one in robot.bodies] == ["W/one/a", "W/two/a"]
    np.testing.assert_allclose(robot.home[[0, 7]], (0, 1), atol=1e-12)


def test_bodies_that_do_not_move_are_parts_of_the_world(tmp_path: Path):
    still = body("s", "3, 0, 5", "bool physics:kinematicEnabled = true")
    off = body("o", "6, 0, 5", "bool physics:rigidBodyEnabled = false")
    robot = load(tmp_path, stage(body("a", "0, 0, 5"), still, off))
    assert [one.name for one in robot.bodies] == ["a"]
    assert len(robot.obstacles) == 2


def test_files_of_all_endings_are_read(tmp_path: Path):
    from pxr import Usd, UsdUtils

    load(tmp_path, stage(body("a", "0, 0, 5")))
    opened = Usd.Stage.Open(str(tmp_path / "stage.usda"))
    for name in ("copy.usdc", "copy.usd"):
        opened.Export(str(tmp_path / name))
        assert robosim.load(tmp_path / name).bodies[0].mass == 2.0
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "copy.usdc"), str(tmp_path / "copy.usdz"))
    assert robosim.load(tmp_path / "copy.usdz").bodies[0].mass == 2.0


def test_schemas_without_effect_are_counted(tmp_path: Path):
    extra = prim("Xform", "x", apis="PhysxLimitAPI")
    robot = load(tmp_path, stage(body("a", "0, 0, 5"), extra))
    (told,) = [warning for warning in robot.warnings if "does not use" in warning]
    assert "PhysxLimitAPI" in told


TWO = body("a", "0, 0, 5") + body("b", "1, 0, 5")
ERRORS = [
    (stage(prim("Xform", "x")), "no prim of it has a PhysicsRigidBodyAPI"),
    (stage(body("a", "0, 0, 5", mass="-1")), "physics:mass must not be -1"),
    (stage(body("a", "0, 0, 5", scale="1, 0, 1")), "its transformation has no inverse"),
    (stage(TWO, joint("Revolute", "j", "a", "nobody")), "'/W/nobody', which does not exist"),
    (stage(TWO, joint("Revolute", "j", "a", "a")), "joins 'a' with itself"),
    (stage(TWO, joint("Revolute", "j", "a", "b", "float physics:lowerLimit = 9",
                      "float physics:upperLimit = -9")), "limits are the wrong way round"),
    (stage(TWO, prim("PhysxPhysicsGearJoint", "g")), "joints of type 'PhysxPhysicsGearJoint'"),
    (stage(TWO, joint("Distance", "j", "a", "b", "float physics:minDistance = 3",
                      "float physics:maxDistance = 2")), "minDistance 3.0 is above maxDistance 2"),
    (stage(prim("Xform", "a", prim("Plane", "p", apis="Collision"), apis="RigidBody")),
     "a plane cannot be a part of a body that moves"),
    (stage(prim("Xform", "a", prim("BasisCurves", "p", apis="Collision"), apis="RigidBody")),
     "a collider cannot be a BasisCurves"),
    (stage(prim("Xform", "a", prim("Sphere", "p", "double radius = -1", apis="Collision"),
                apis="RigidBody")), "its radius must be positive, not -1"),
    (stage(prim("Xform", "a", prim("Mesh", "p", apis="Collision"), apis="RigidBody")),
     "the mesh has no faces"),
    (stage(prim("Xform", "a", more="prepend references = @gone.usda@")), "@gone.usda@"),
    (stage(TWO, more="metersPerUnit = 0"), "metersPerUnit must be positive"),
    (d6(rotX=(-9, 9), rotY=FREE, rotZ=(-9, -9)), "rotZ is held at -9"),
    ("#usda 1.0\nnonsense", "USD cannot open it"),
    (stage(body("a", "0, 0, 5", mass="nan")), "physics:mass must not be nan"),
    (pair("Revolute", 'uniform token physics:axis = "Q"'), "physics:axis cannot be 'Q'"),
    (pair("Revolute", "point3f physics:localPos1 = (inf, 0, 0)"),
     "physics:localPos1 must be finite"),
    (stage(body("a", "0, 0, 1e200")), "its transformation must be of finite numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), ERRORS, ids=range(len(ERRORS)))
def test_a_wrong_stage_is_refused_with_file_and_prim(
    tmp_path: Path, text: str, reason: str, capfd: pytest.CaptureFixture
):
    with pytest.raises(LoadError) as caught:
        load(tmp_path, text)
    assert reason in str(caught.value)
    assert caught.value.file == tmp_path / "stage.usda"
    assert "Warning" not in capfd.readouterr().err


def test_layers_outside_of_the_own_folder_are_refused(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "part.usda").write_text(stage(body("a")))
    text = stage(prim("Xform", "r", more="prepend references = @../part.usda@"))
    with pytest.raises(LoadError, match="leads out of the model's own folder"):
        load(tmp_path / "inside", text)
    assert load(tmp_path / "inside", text, package_dirs=tmp_path).bodies


def test_without_usd_core_an_error_says_how_to_get_it(tmp_path: Path, monkeypatch):
    from robosim.loaders.usd.library import library

    library.cache_clear()
    monkeypatch.setitem(sys.modules, "pxr.Ar", None)
    try:
        with pytest.raises(MissingExtraError, match=r"robosim-variational\[usd\]"):
            load(tmp_path, stage(body("a")))
    finally:
        library.cache_clear()


def test_the_doctor_reads_a_stage_and_lists_what_has_no_effect(tmp_path: Path):
    from robosim.referee.doctor import diagnose

    extra = prim("Xform", "x", apis="PhysxLimitAPI")
    (tmp_path / "stage.usda").write_text(stage(body("a", "0, 0, 5"), extra))
    found = diagnose(tmp_path / "stage.usda").findings
    assert any("PhysxLimitAPI" in str(one) for one in found)
