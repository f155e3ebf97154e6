"""SDF files: links, joints, shapes, worlds, and what is told of all else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sdf_text import BOX, joint, link, load, model, sdf, shape

import robosim
from robosim import Dynamics, Simulation
from robosim.description.charts import Composite
from robosim.description.obstacles import TriangleMesh
from robosim.description.poses import body_poses

HELD = joint("held", "fixed", "world", "a", axis="")


def pair(kind: str, *parts: str, axis: str = "0 0 1", pose: str = "") -> str:
    """Two links with a joint, the first of which is held."""
    two = link("a") + link("b", pose="1 2 3 0 0 0")
    return sdf(model(two, HELD, joint("j", kind, "a", "b", *parts, axis=axis, pose=pose)))


def test_links_have_their_masses_centres_and_inertias(tmp_path: Path):
    text = sdf(model(link("a", pose="1 2 3 .1 .2 .3", inner=".1 .2 .3 0 0 1.5707963267948966")))
    robot = load(tmp_path, text)
    (body,) = robot.bodies
    assert body.mass == 2.0
    # Moments about x and y are exchanged by the quarter turn of the inertial frame.
    np.testing.assert_allclose(body.inertia, np.diag((0.2, 0.1, 0.25)), atol=1e-15)
    np.testing.assert_allclose(body.reference_position, (-0.1, -0.2, -0.3))
    np.testing.assert_allclose(robot.home[:3], (1, 2, 3))


def test_a_floating_model_stays_where_the_file_has_it_and_is_raised_out_of_the_ground(tmp_path):
    high = load(tmp_path, sdf(model(link("a", shape("box", BOX), pose="0 0 5 0 0 0"))))
    sunk = load(tmp_path, sdf(model(link("a", shape("box", BOX)))))
    assert high.home[2] == 5.0
    assert sunk.home[2] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize(
    ("told", "kind"),
    [("revolute", "revolute"), ("continuous", "revolute"), ("prismatic", "prismatic"),
     ("ball", "spherical"), ("universal", "composite"), ("revolute2", "composite"),
     ("screw", "screw")],
)  # fmt: skip
def test_joints_have_their_kinds(tmp_path: Path, told: str, kind: str):
    axes = "<axis><xyz>1 0 0</xyz></axis>"
    axes += "<axis2><xyz>0 1 0</xyz></axis2>" if kind == "composite" else ""
    robot = load(tmp_path, pair(told, "" if told == "ball" else axes, axis=""))
    found = robot.tree_joints[1]
    assert (found.kind, found.parent, found.child) == (kind, "a", "b")
    if kind == "composite":
        assert isinstance(found.chart, Composite)
        assert found.coordinate_names == ("j.axis", "j.axis2")


def test_an_axis_has_limits_and_dynamics(tmp_path: Path):
    axis = (
        "<axis><xyz>0 3 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>5</effort>"
        "<velocity>7</velocity></limit><dynamics><damping>.1</damping><friction>.2</friction>"
        "<spring_stiffness>4</spring_stiffness><spring_reference>.5</spring_reference></dynamics>"
        "</axis>"
    )
    found = load(tmp_path, pair("revolute", axis)).tree_joints[1]
    np.testing.assert_allclose(found.axis, (0, 1, 0))
    assert (found.lower[0], found.upper[0]) == (-1, 2)
    assert (found.effort_limit, found.velocity_limit) == (5, 7)
    assert (found.damping, found.friction, found.stiffness, found.rest) == (0.1, 0.2, 4, 0.5)
    assert found.actuated is True


@pytest.mark.parametrize(
    ("limit", "effort", "actuated"), [("-1", np.inf, True), ("inf", np.inf, True), ("0", 0, False)]
)
def test_an_effort_of_minus_one_is_unlimited_and_one_of_zero_is_no_motor(
    tmp_path: Path, limit: str, effort: float, actuated: bool
):
    axis = (
        f"<axis><limit><lower>-1e16</lower><upper>inf</upper><effort>{limit}</effort></limit>"
        "</axis>"
    )
    found = load(tmp_path, pair("revolute", axis)).tree_joints[1]
    assert (found.effort_limit, found.actuated) == (effort, actuated)
    assert np.isinf(found.lower[0])
    assert np.isinf(found.upper[0])


def test_a_screw_moves_by_its_pitch_per_turn(tmp_path: Path):
    def pitch(told: str) -> float:
        return load(tmp_path, pair("screw", "<axis/>", told, axis="")).tree_joints[1].pitch

    assert pitch("<screw_thread_pitch>.5</screw_thread_pitch>") == 0.5 / (2 * np.pi)
    # The older element has radians per metre of a left-handed thread.
    assert pitch("<thread_pitch>4</thread_pitch>") == -0.25


def test_a_joint_that_the_tree_meets_from_its_child_has_the_same_coordinate(tmp_path: Path):
    def place(first: str, second: str, axis: str) -> np.ndarray:
        two = link("a") + link("b", pose="1 0 0 0 0 0")
        text = sdf(model(two, HELD, joint("j", "screw", first, second, axis=axis)))
        robot = load(tmp_path, text)
        poses = body_poses(robot.tree_joints, np.array([0.4]))
        return np.hstack((*poses["b"][0], poses["b"][1]))

    turned = place("b", "a", "0 1 0")
    straight = place("a", "b", "0 -1 0")
    # Both frames are at the child's origin, which is another one of the two links.
    np.testing.assert_allclose(turned[:9], straight[:9], atol=1e-15)


def test_a_universal_joint_that_is_met_from_its_child_is_the_inverse(tmp_path: Path):
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    two = link("a") + link("b")
    both = []
    for first, second in (("a", "b"), ("b", "a")):
        text = sdf(model(two, HELD, joint("j", "universal", first, second, axes)))
        robot = load(tmp_path, text)
        names = robot.q_names
        q = np.array([{"j.axis": 0.3, "j.axis2": 0.7}[name] for name in names])
        both.append(body_poses(robot.tree_joints, q)["b"][0])
    np.testing.assert_allclose(both[0], both[1].T, atol=1e-15)


def test_links_that_fixed_joints_connect_are_one_body(tmp_path: Path):
    parts = link("a", pose="0 0 1 0 0 0") + link("b", pose="0 0 3 0 0 0")
    robot = load(tmp_path, sdf(model(parts, joint("w", "fixed", "a", "b", axis=""))))
    (body,) = robot.bodies
    assert (body.name, body.mass) == ("a", 4.0)
    np.testing.assert_allclose(body.reference_position, (0, 0, -1))
    np.testing.assert_allclose(body.frames[1].position, (0, 0, 1))
    np.testing.assert_allclose(np.diag(body.inertia), (0.2 + 4, 0.4 + 4, 0.5))


def test_a_joint_of_a_link_that_has_one_closes_a_loop(tmp_path: Path):
    links = link("a") + link("b", pose="1 0 0 0 0 0") + link("c", pose="1 1 0 0 0 0")
    parts = [joint(f"j{k}", "revolute", *ends) for k, ends in enumerate(("ab", "bc", "ac"))]
    robot = load(tmp_path, sdf(model(links, HELD, *parts)))
    assert [j.name for j in robot.tree_joints] == ["held", "j0", "j1"]
    (loop,) = robot.loop_joints
    assert (loop.name, loop.parent, loop.child, loop.actuated) == ("j2", "a", "c", False)
    Simulation(robot).step()


def test_a_gearbox_couples_the_hinges_of_its_two_links(tmp_path: Path):
    links = link("a") + link("b", pose="1 0 0 0 0 0") + link("c", pose="2 0 0 0 0 0")
    box = joint("g", "gearbox", "b", "c", "<axis><xyz>0 0 1</xyz></axis>",
                "<axis2><xyz>0 0 1</xyz></axis2><gearbox_ratio>3</gearbox_ratio>"
                "<gearbox_reference_body>a</gearbox_reference_body>")  # fmt: skip
    hinges = joint("jb", "revolute", "a", "b") + joint("jc", "revolute", "a", "c", axis="0 0 -1")
    robot = load(tmp_path, sdf(model(links, HELD, hinges, box)))
    (gear,) = robot.couplings
    # theta_2 = -3 theta_1 about the axes of the gearbox; the hinge of c has the opposite one.
    assert (gear.joint, gear.source, gear.ratio) == ("jc", "jb", 3.0)


def test_a_mimic_follows_another_joint(tmp_path: Path):
    links = link("a") + link("b") + link("c")
    mimic = ("<axis><mimic joint='jb'><multiplier>2</multiplier><offset>.5</offset>"
             "<reference>.1</reference></mimic></axis>")  # fmt: skip
    hinges = joint("jb", "revolute", "a", "b") + joint("jc", "revolute", "a", "c", mimic)
    robot = load(tmp_path, sdf(model(links, HELD, hinges), version="1.11"))
    (gear,) = robot.couplings
    assert (gear.joint, gear.source, gear.ratio, gear.offset) == ("jc", "jb", 2.0, 0.3)


@pytest.mark.parametrize(
    ("kind", "sizes", "ours", "size"),
    [("box", BOX, "box", (0.2, 0.4, 0.6)), ("sphere", "<radius>.3</radius>", "sphere", (0.3,)),
     ("cylinder", "<radius>.1</radius><length>.5</length>", "cylinder", (0.1, 0.5)),
     ("capsule", "<radius>.1</radius><length>.5</length>", "capsule", (0.1, 0.5)),
     ("ellipsoid", "<radii>.1 .2 .3</radii>", "ellipsoid", (0.1, 0.2, 0.3))],
)  # fmt: skip
def test_shapes_collide_and_are_drawn(
    tmp_path: Path, kind: str, sizes: str, ours: str, size: tuple
):
    visual = (f'<visual name="v"><geometry><{kind}>{sizes}</{kind}></geometry><material>'
              "<diffuse>.1 .2 .3 .5</diffuse></material></visual>")  # fmt: skip
    robot = load(tmp_path, sdf(model(link("a", shape(kind, sizes, pose="0 0 1 0 0 0"), visual))))
    (body,) = robot.bodies
    assert (body.collisions[0].kind, body.collisions[0].size) == (ours, size)
    np.testing.assert_allclose(body.collisions[0].position, (0, 0, 1))
    assert (body.visuals[0].kind, body.visuals[0].rgba) == (ours, (0.1, 0.2, 0.3, 0.5))
    assert robot.contacts


def test_a_cone_is_a_shape_of_its_own(tmp_path: Path):
    cone = shape("cone", "<radius>.3</radius><length>.9</length>")
    robot = load(tmp_path, sdf(model(link("a", cone)), version="1.11"))
    (found,) = robot.bodies[0].collisions
    assert (found.kind, found.size) == ("cone", (0.3, 0.9))


MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_meshes_are_found_beside_the_file_and_scaled(tmp_path: Path):
    (tmp_path / "t.obj").write_text(MESH)
    mesh = shape("mesh", "<uri>t.obj</uri><scale>1 2 3</scale>")
    robot = load(tmp_path, sdf(model(link("a", mesh))))
    np.testing.assert_allclose(robot.bodies[0].collisions[0].vertices.max(axis=0), (1, 2, 3))


def surface(friction: str = "", bounce: str = "", contact: str = "") -> str:
    return (f"<surface><friction><ode>{friction}</ode></friction><bounce>{bounce}</bounce>"
            f"<contact><ode>{contact}</ode></contact></surface>")  # fmt: skip


def test_surfaces_have_friction_by_direction_and_restitution(tmp_path: Path):
    told = surface("<mu>.5</mu><mu2>.25</mu2><fdir1>0 1 0</fdir1>",
                   "<restitution_coefficient>.4</restitution_coefficient>")  # fmt: skip
    (found,) = (
        load(tmp_path, sdf(model(link("a", shape("box", BOX, more=told))))).bodies[0].collisions
    )
    assert (found.friction, found.restitution) == (0.5, 0.4)
    assert (found.anisotropy.along, found.anisotropy.across) == (1.0, 0.5)
    np.testing.assert_allclose(found.anisotropy.direction, (0, 1, 0))


def test_two_coefficients_without_a_direction_are_the_lower_one(tmp_path: Path):
    told = surface("<mu>.5</mu><mu2>.25</mu2>")
    robot = load(tmp_path, sdf(model(link("a", shape("box", BOX, more=told)))))
    assert robot.bodies[0].collisions[0].friction == 0.25
    assert any("of mu and mu2 the lower one counts" in warning for warning in robot.warnings)


def test_shapes_of_one_link_keep_their_own_friction_on_the_ground(tmp_path: Path):
    two = shape("sphere", "<radius>.1</radius>", "left", "-1 0 0 0 0 0", surface("<mu>.3</mu>"))
    two += shape("sphere", "<radius>.1</radius>", "right", "1 0 0 0 0 0", surface("<mu>.6</mu>"))
    robot = load(tmp_path, sdf(model(link("a", two))))
    found = {contact.name: contact.friction for contact in robot.contacts}
    assert found == {"a/left/sphere0": 0.3, "a/right/sphere0": 0.6}


def test_compliant_contacts_have_the_stiffness_of_the_file(tmp_path: Path):
    told = surface(contact="<kp>5e4</kp><kd>10</kd>")
    text = sdf(model(link("a", shape("box", BOX, more=told))))
    soft, hard = load(tmp_path, text, compliant=True), load(tmp_path, text)
    assert {contact.stiffness for contact in soft.contacts} == {5e4}
    assert all(contact.dissipation > 0 for contact in soft.contacts)
    assert {contact.stiffness for contact in hard.contacts} == {None}


def test_links_without_gravity_are_carried(tmp_path: Path):
    text = sdf(model(link("a", "<gravity>false</gravity>", pose="0 0 1 0 0 0")))
    assert load(tmp_path, text).bodies[0].gravity_compensation == 1.0


def test_an_automatic_inertia_is_that_of_the_collision_shapes(tmp_path: Path):
    auto = '<inertial auto="true"><density>500</density></inertial>'
    text = model(f'<link name="a">{auto}{shape("box", BOX, pose="0 0 1 0 0 0")}</link>')
    (body,) = load(tmp_path, sdf(text, version="1.11")).bodies
    assert body.mass == pytest.approx(500 * 0.2 * 0.4 * 0.6)
    np.testing.assert_allclose(body.reference_position, (0, 0, -1))
    np.testing.assert_allclose(np.diag(body.inertia), body.mass / 12 * np.array((0.52, 0.4, 0.2)))


def test_a_link_without_an_inertial_has_that_of_the_format_with_a_warning(tmp_path: Path):
    robot = load(tmp_path, sdf(model('<link name="a"/>')))
    assert robot.bodies[0].mass == 1.0
    np.testing.assert_array_equal(robot.bodies[0].inertia, np.eye(3))
    assert any("1 kg and 1 kg m^2: a" in warning for warning in robot.warnings)


PLANE = shape(
    "plane", "<normal>0 0 1</normal><size>9 9</size>", more=surface("<mu>.2</mu><mu2>.2</mu2>")
)


def floor(*parts: str, pose: str = "") -> str:
    told = f"<static>true</static>{f'<pose>{pose}</pose>' if pose else ''}"
    return model(told, f'<link name="floor">{"".join(parts)}</link>', name="ground")


def test_a_world_has_the_ground_that_its_plane_says(tmp_path: Path):
    robot = model(link("a", shape("box", BOX), pose="0 0 1 0 0 0"), name="robot")
    found = load(tmp_path, sdf(f'<world name="w">{floor(PLANE)}{robot}</world>'))
    assert [body.name for body in found.bodies] == ["a"]
    assert not found.obstacles
    # The lower one of both coefficients counts.
    assert {contact.friction for contact in found.contacts} == {0.2}
    assert [frame.name for frame in found.world_frames] == ["ground::floor"]


def test_planes_shapes_and_meshes_of_static_models_are_obstacles(tmp_path: Path):
    (tmp_path / "t.obj").write_text(MESH)
    robot = model(link("a", shape("box", BOX), pose="0 0 5 0 0 0"), name="robot")
    parts = PLANE + shape("box", BOX, "b") + shape("mesh", "<uri>t.obj</uri>", "m")
    world = f'<world name="w">{floor(parts, pose="0 0 1 0 0 1.5707963267948966")}{robot}</world>'
    found = load(tmp_path, sdf(world))
    assert not found.contacts
    plane = next(one for one in found.obstacles if isinstance(one, robosim.HalfSpace))
    np.testing.assert_allclose(plane.point, (0, 0, 1))
    assert plane.friction == 0.2
    assert sum(isinstance(one, TriangleMesh) for one in found.obstacles) == 1
    box = next(one for one in found.obstacles if isinstance(one, robosim.Geometry))
    np.testing.assert_allclose(box.position, (0, 0, 1))
    assert box.size == (0.2, 0.4, 0.6)
    np.testing.assert_allclose(np.abs(box.quaternion), np.sqrt((0.5, 0, 0, 0.5)), atol=1e-15)


def test_models_of_a_world_have_names_of_their_own_and_collide(tmp_path: Path):
    two = [model(link("a", shape("box", BOX)), name=name, more="") for name in ("one", "two")]
    two[1] = two[1].replace('name="two" >', 'name="two" ><pose>3 0 9 0 0 0</pose>')
    found = load(tmp_path, sdf(f'<world name="w">{"".join(two)}</world>'))
    assert [body.name for body in found.bodies] == ["one::a", "two::a"]
    assert found.contact_pairs == (("one::a", "two::a"),)
    assert [joint.name for joint in found.joints] == [
        "one::a_floating_base",
        "two::a_floating_base",
    ]
    np.testing.assert_allclose(found.home[7:10], (3, 0, 9))


def test_links_that_want_to_collide_do_so_if_the_file_is_asked(tmp_path: Path):
    links = "".join(link(name, shape("box", BOX), pose=f"{k} 0 5 0 0 0")
                    for k, name in enumerate("abc"))  # fmt: skip
    joints = joint("j", "revolute", "a", "b") + joint("k", "revolute", "b", "c")
    text = sdf(model("<self_collide>true</self_collide>", links, joints))
    found = load(tmp_path, text)
    assert any("wants 1 pairs of bodies to collide" in warning for warning in found.warnings)
    asked = load(tmp_path, text, self_collision="file")
    assert asked.self_collision
    assert not asked.excluded_pairs
    apart = load(tmp_path, text.replace("true</self_collide>", "false</self_collide>"),
                 self_collision="file")  # fmt: skip
    assert ("a", "c") in apart.excluded_pairs


def test_a_base_is_fixed_or_released_on_request(tmp_path: Path):
    free = sdf(model(link("a", pose="0 0 1 0 0 0")))
    held = load(tmp_path, free, floating_base=False)
    assert (held.joints[0].kind, held.nv) == ("fixed", 0)
    fixed = sdf(
        model(link("a", pose="0 0 1 0 0 0"), link("b"), HELD, joint("j", "revolute", "a", "b"))
    )
    assert load(tmp_path, fixed).nv == 1
    released = load(tmp_path, fixed, floating_base=True)
    assert (released.nv, released.home[2]) == (7, 1.0)


def test_everything_that_is_not_read_is_counted(tmp_path: Path):
    parts = '<plugin name="p" filename="f"/><plugin name="q" filename="f"/>'
    robot = load(tmp_path, sdf(model(link("a", "<sensor name='s'/>"), parts)))
    (told,) = [warning for warning in robot.warnings if "does not use" in warning]
    assert told == "the simulation does not use: <link><sensor>, <model><plugin> (2)"


def test_a_text_and_a_file_called_xml_are_read_as_well(tmp_path: Path):
    text = sdf(model(link("a")))
    (tmp_path / "m.xml").write_text(text)
    assert robosim.load(tmp_path / "m.xml").bodies[0].name == "a"
    assert robosim.load(text).bodies[0].name == "a"


def test_masses_matter_in_the_dynamics_of_a_model_of_which_nothing_else_is_known(tmp_path: Path):
    axis = "<axis><xyz>0 1 0</xyz></axis>"
    robot = load(tmp_path, pair("revolute", axis, pose="0 0 .5 0 0 0"))
    # The hinge is half a metre above the centre of mass.
    assert Dynamics(robot).mass_matrix(robot.home)[0, 0] == pytest.approx(0.2 + 2 * 0.25)
