"""Shapes on obstacles and on each other, where the motion can be worked out by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from touching import G, about_y, ball, box, flat_mesh, free, poses, roller

from robosim import (
    Body,
    Geometry,
    HalfSpace,
    HeightField,
    Joint,
    Mechanism,
    Simulation,
    TriangleMesh,
)

# The linearized cone between shapes has kernels of its own.
CONES = ("second_order", pytest.param("linearized", marks=pytest.mark.slow))
ON_ITS_SIDE = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # z axis to -y


def advance(sim: Simulation, seconds: float, tau=None) -> float:
    """Step for some time; the smallest gap on the way."""
    gap = np.inf
    for _ in range(round(seconds / sim.timestep)):
        gap = min(gap, sim.step(tau).gap)
    return gap


def slope(angle: float, **options) -> tuple[HalfSpace, np.ndarray, np.ndarray]:
    """An inclined plane through the origin, its normal and the direction down it."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    return HalfSpace(normal=normal, **options), normal, np.array([normal[2], 0.0, -normal[0]])


def rolling(sim: Simulation) -> np.ndarray:
    """(speed, spin) of one body, the spin as momenta show it: sin(w dt) / dt."""
    spin = np.linalg.norm(sim.v[3:])
    return np.array([np.linalg.norm(sim.v[:3]), np.sin(spin * sim.timestep) / sim.timestep])


@pytest.mark.parametrize("cone", CONES)
def test_a_sliding_ball_comes_to_roll_at_five_sevenths(cone):
    sim = Simulation(free(ball("a"), obstacles=[HalfSpace()]), 0.01, friction_cone=cone)
    sim.set_state(poses((0, 0, 0.1)), [1.0, 0, 0, 0, 0, 0])
    assert advance(sim, 1.0) >= 0
    np.testing.assert_allclose(rolling(sim), [5 / 7, 5 / 7 / 0.1], rtol=1e-6)
    np.testing.assert_allclose(sim.v[[1, 2, 3, 5]], 0, atol=1e-9)


@pytest.mark.parametrize("cone", CONES)
def test_a_ball_rolls_down_an_incline(cone):
    """At 5/7 g sin: of the velocity exactly, as gravity's impulse and rolling are linear."""
    plane, normal, down = slope(0.3)
    sim = Simulation(free(ball("a"), obstacles=[plane]), 0.01, friction_cone=cone)
    sim.set_state(poses(0.1 * normal))
    assert advance(sim, 1.0) >= 0
    assert sim.v[:3] @ down == pytest.approx(5 / 7 * G * np.sin(0.3), rel=1e-6)
    assert sim.v[:3] @ normal == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("over", [-0.02, 0.02])
def test_a_box_on_an_incline_slides_above_the_angle_of_friction_only(cone, over):
    angle = np.arctan(0.5) + over
    plane, normal, down = slope(angle)
    block = box("a", (0.4, 0.4, 0.1), friction=0.5)
    facets = 8 if cone == "linearized" else None
    sim = Simulation(
        free(block, obstacles=[plane]), 0.01, friction_cone=cone, friction_facets=facets
    )
    sim.set_state(poses((*(0.05 * normal), *about_y(angle))))
    assert advance(sim, 2.0) >= 0
    way = max(0.0, 0.5 * G * (np.sin(angle) - 0.5 * np.cos(angle)) * 2.0**2)
    # Creep, and slip that turns the linearized cone's facets on, are below a micrometre.
    tolerance = 1e-6 if over < 0 or cone == "second_order" else 1e-5
    assert sim.q[:3] @ down == pytest.approx(way, abs=tolerance)
    assert sim.q[:3] @ normal == pytest.approx(0.05, abs=1e-9)


def test_velocities_of_contacts_are_slips():
    """A box slides on one that moves; a ball that rolls has a spin, and no slip."""
    smooth = [box(name, friction=0.0) for name in "ab"]
    robot = free(*smooth, obstacles=[HalfSpace(friction=0.0)], contact_pairs=[("a", "b")])
    sim = Simulation(robot, 0.001)
    sim.set_state(poses((0, 0, 0.1), (0, 0, 0.3)), [0.2, 0, 0, 0, 0, 0, 0.5, 0.1, 0, 0, 0, 0])
    sim.step()
    slip = sim.state.v[1] - sim.state.v[0]
    np.testing.assert_allclose(slip, [0.3, 0.1, 0.0], rtol=0, atol=1e-4)
    found = sim.contacts()
    assert len(found) == 8
    for contact in found:
        signs = {("a", "ground"): sim.state.v[0], ("a", "b"): -slip, ("b", "a"): slip}
        expected = signs[contact.body, contact.other]
        np.testing.assert_allclose(contact.velocity, expected, rtol=0, atol=1e-5)
    sim = Simulation(free(ball("a"), obstacles=[HalfSpace()]), 0.001)
    sim.set_state(poses((0, 0, 0.1)), [1.0, 0, 0, 0, 10.0, 0])
    sim.step()
    assert np.linalg.norm(sim.state.omega) > 5
    np.testing.assert_allclose(sim.contacts()[0].velocity, 0, rtol=0, atol=1e-4)


def test_a_stack_of_boxes_rests_without_sinking():
    boxes = [box(name) for name in "abcd"]
    pairs = [("a", "b"), ("b", "c"), ("c", "d")]
    sim = Simulation(free(*boxes, obstacles=[HalfSpace()], contact_pairs=pairs), 0.005)
    sim.set_state(poses(*((0.01 * k, 0, 0.1 + 0.2 * k) for k in range(4))))
    assert advance(sim, 2.0) >= 0
    x = sim.state.x
    np.testing.assert_allclose(x[:, 2], [0.1, 0.3, 0.5, 0.7], atol=1e-9)
    np.testing.assert_allclose(x[:, :2], [[0.01 * k, 0] for k in range(4)], atol=1e-7)
    # Each carries what is above it.
    carried = dict.fromkeys("abcd", 0.0)
    for contact in sim.contacts():
        carried[contact.body] += contact.force[2]
        if contact.other != "ground":
            carried[contact.other] -= contact.force[2]
    np.testing.assert_allclose(list(carried.values()), G, rtol=1e-6)
    under = sum(c.force[2] for c in sim.contacts() if c.other == "ground")
    assert under == pytest.approx(4 * G, rel=1e-6)


def test_balls_that_meet_head_on_go_on_together():
    """Hard contacts do not bounce: 1 kg at 2 m/s and 3 kg at rest leave at 0.5 m/s."""
    robot = free(ball("a"), ball("b", mass=3.0), contact_pairs=[("a", "b")])
    sim = Simulation(robot, 0.01, gravity=(0, 0, 0))
    sim.set_state(poses((0, 0, 0), (0.5, 0, 0)), [2.0, *np.zeros(11)])
    assert advance(sim, 1.0) >= 0
    # The final barrier, which is scaled by the impact, leaves some 1e-5 m/s between them.
    np.testing.assert_allclose(sim.v[[0, 6]], 0.5, atol=2e-5)
    np.testing.assert_allclose(np.delete(sim.v, [0, 6]), 0, atol=1e-12)


@pytest.mark.parametrize("kind", ["capsule", "cylinder"])
@pytest.mark.parametrize(
    "floor",
    [HalfSpace(), Geometry("box", (10, 10, 1), position=(0, 0, -0.5))],
    ids=["plane", "box"],
)
def test_cylinders_come_to_roll_at_two_thirds(kind, floor):
    sim = Simulation(free(roller("a", kind), obstacles=[floor]), 0.01)
    sim.set_state(poses((0, 0, 0.1, *ON_ITS_SIDE)), [1.0, 0, 0, 0, 0, 0])
    assert advance(sim, 1.0) >= 0
    np.testing.assert_allclose(rolling(sim), [2 / 3, 2 / 3 / 0.1], rtol=1e-6)
    np.testing.assert_allclose(sim.v[[1, 2, 3, 4]], 0, atol=1e-9)
    assert sim.q[2] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("beyond", [-0.02, 0.02])
def test_a_box_falls_off_an_edge_if_its_centre_is_beyond(beyond):
    table = Geometry("box", (1, 1, 1), position=(-0.5, 0, -0.5), name="table")
    sim = Simulation(free(box("a"), obstacles=[table]), 0.005)
    sim.set_state(poses((beyond, 0, 0.1)))
    assert advance(sim, 1.0) >= 0
    if beyond < 0:
        np.testing.assert_allclose(sim.q[:3], [beyond, 0, 0.1], atol=1e-7)
        # The pressure's middle is below the centre.
        found = sim.contacts()
        assert {contact.other for contact in found} == {"table"}
        lever = sum(c.force[2] * (c.position[0] - beyond) for c in found)
        assert lever == pytest.approx(0, abs=1e-6)
        assert max(c.position[0] for c in found) == pytest.approx(0, abs=1e-6)
    else:
        assert sim.q[2] < -1.0


TILT = 0.2
GROUNDS = {
    "half-space": slope(TILT)[0],
    "field": HeightField(np.zeros((21, 21)), (4.0, 4.0), quaternion=about_y(TILT)),
    "mesh": TriangleMesh(
        Geometry(
            "mesh",
            vertices=flat_mesh(4.0, 20).vertices,
            faces=flat_mesh(4.0, 20).faces,
            quaternion=about_y(TILT),
        )
    ),
}


@pytest.mark.parametrize("ground", ["field", "mesh"])
@pytest.mark.parametrize(
    ("body", "tolerance"),
    # A ball has one contact. Where others touch with several points at once, the solver's
    # tolerance decides which of them carry what.
    [(ball("a"), 1e-11), (box("a"), 2e-6)],
    ids=["ball", "box"],
)
def test_flat_terrain_is_a_plane(ground, body, tolerance):
    ends = []
    for obstacle in (GROUNDS["half-space"], GROUNDS[ground]):
        sim = Simulation(free(body, obstacles=[obstacle]), 0.005, tolerance=1e-11)
        start = 0.25 * slope(TILT)[1] + [-1.0, 0.03, 0.2]
        sim.set_state(poses((*start, *about_y(TILT + 0.1))), [0.3, 0.4, 0, 0.1, 0.2, 0.3])
        assert advance(sim, 0.8) >= 0
        ends.append(sim.q)
    np.testing.assert_allclose(ends[1], ends[0], atol=tolerance)


@pytest.mark.parametrize("kind", ["field", "mesh"])
@pytest.mark.parametrize(
    ("body", "turn"),
    [(ball("a"), ()), (box("a"), ()), (roller("a", "capsule"), ON_ITS_SIDE)],
    ids=["ball", "box", "capsule"],
)
def test_inner_edges_of_flat_terrain_do_not_catch(kind, body, turn):
    """Without friction, over some forty edges: the velocity stays."""
    ground = (
        HeightField(np.zeros((21, 21)), (4.0, 4.0), friction=0.0)
        if kind == "field"
        else TriangleMesh(flat_mesh(4.0, 20), friction=0.0)
    )
    sim = Simulation(free(body, obstacles=[ground]), 0.005, tolerance=1e-11)
    v = [1.0, 0.17, 0, 0, 0, 0]
    sim.set_state(poses((-1, 0.033, 0.1, *turn)), v)
    assert advance(sim, 1.5) >= 0
    np.testing.assert_allclose(sim.v, v, atol=2e-9)
    np.testing.assert_allclose(sim.q[:3], [0.5, 0.033 + 1.5 * 0.17, 0.1], atol=1e-10)


def test_a_moving_platform_carries_a_box():
    """Along 0.3 (1 - cos 3 t), whose 2.7 m/s^2 are less than friction gives; then too fast."""
    for rate, carried in ((3.0, True), (6.0, False)):
        plate = box("plate", (2, 2, 0.2), mass=5.0)
        motion = Joint(
            "slide",
            "prismatic",
            None,
            "plate",
            axis=(1, 0, 0),
            motion=lambda t, rate=rate: 0.3 * (1 - np.cos(rate * t)),
        )
        robot = Mechanism(
            "platform",
            (plate, box("b", friction=0.6)),
            (motion, Joint("base", "floating", None, "b")),
            contact_pairs=[("plate", "b")],
        )
        sim = Simulation(robot, 0.005)
        sim.set_state(np.concatenate(([0.0], poses((0, 0, 0.2)))))
        assert advance(sim, 1.0) >= 0
        assert (abs(sim.q[1] - sim.q[0]) < 1e-7) == carried
        assert sim.q[3] == pytest.approx(0.2, abs=1e-9)


@pytest.mark.parametrize("squeeze", [5.0, 2.5])
def test_two_fingers_hold_a_box_by_friction(squeeze):
    """mu 0.8: 2 mu 5 N are more than the weight of 4.9 N; with 2.5 N it slips down."""
    fingers = [box(name, (0.02, 0.1, 0.1), mass=0.5) for name in ("left", "right")]
    robot = Mechanism(
        "gripper",
        (*fingers, box("load", (0.1, 0.1, 0.1), mass=0.5)),
        (
            Joint("left", "prismatic", None, "left", axis=(1, 0, 0)),
            Joint("right", "prismatic", None, "right", axis=(-1, 0, 0)),
            Joint("base", "floating", None, "load"),
        ),
        contact_pairs=[("left", "load"), ("right", "load")],
    )
    sim = Simulation(robot, 0.005)
    sim.set_state([-0.06, -0.06, *poses((0, 0, 0))])
    assert advance(sim, 0.2, [squeeze, squeeze]) >= 0
    fall = max(0.0, 0.5 * (G - 0.8 * 2 * squeeze / 0.5) * 0.2**2)
    assert sim.q[4] == pytest.approx(-fall, abs=1e-7)
    for contact in sim.contacts():
        # Told as it is stated, but the force always acts on `body`.
        sign = 1 if contact.body == "load" else -1
        towards = 1 if "left" in (contact.body, contact.other) else -1
        assert sign * towards * contact.force[0] == pytest.approx(squeeze / 4, rel=1e-5)
        assert np.dot(contact.force, contact.normal) > 0


def test_a_folded_chain_stops_at_itself():
    """The last link swings back until it lies on the first one, which it is not joined to."""

    def link(name: str) -> Body:
        rod = Geometry("capsule", (0.05, 0.8), quaternion=about_y(np.pi / 2))
        return Body(name, 1.0, np.diag([0.01, 0.09, 0.09]), collisions=(rod,))

    def hinge(name: str, parent: str, child: str) -> Joint:
        ends = {"parent_position": (0.55, 0, 0), "child_position": (-0.55, 0, 0)}
        return Joint(name, "revolute", parent, child, axis=(0, 1, 0), damping=0.5, **ends)

    robot = Mechanism(
        "chain",
        tuple(link(name) for name in "abc"),
        (Joint("base", "fixed", None, "a"), hinge("ab", "a", "b"), hinge("bc", "b", "c")),
        self_collision=True,
    )
    assert {(a, b) for (a, _), (b, _) in robot.touching_shapes()} == {(0, 2)}
    sim = Simulation(robot, 0.005, gravity=(0, 0, 0))
    # An equilateral triangle would have 2.09 rad at both hinges.
    sim.set_state([-1.9, -1.4])
    gap = np.inf
    for _ in range(400):
        gap = min(gap, sim.step([-1.0, -1.0]).gap)
    assert gap >= 0
    (contact,) = [c for c in sim.contacts() if c.gap < 1e-9]
    assert {contact.body, contact.other} == {"a", "c"}
    assert np.linalg.norm(contact.force) > 0.5
    np.testing.assert_allclose(sim.v, 0, atol=1e-4)


@pytest.mark.parametrize("depth", [-1e-7, 2e-8, 4e-7])
@pytest.mark.parametrize("lean", [0.002, 0.005, 0.05])
def test_a_capsule_that_leans_over_a_rim_is_as_deep_as_it_is_in_the_rim(depth: float, lean: float):
    """Its axis crosses the rim of a cap, nearly along the cap, and is nearest to the rim."""
    radius, half, around, far = 0.05, 0.05, 0.03, 0.03
    normal, along = np.array([np.sin(lean), 0, np.cos(lean)]), [np.cos(lean), 0, -np.sin(lean)]
    center = np.array([radius, 0, half]) + (around - depth) * normal - far * np.array(along)
    shapes = {
        "below": Geometry("cylinder", (radius, 2 * half), name="below"),
        "over": Geometry("capsule", (around, 0.08), name="over"),
    }
    bodies = [
        replace(Body.of_shape(shape, mass=1.0, collides=True), name=name)
        for name, shape in shapes.items()
    ]
    joints = [Joint(body.name, "floating", None, body.name) for body in bodies]
    robot = Mechanism("pair", bodies, joints, contact_pairs=[("below", "over")])
    turn = 0.5 * (0.5 * np.pi + lean)
    q = [0, 0, 0, 1, 0, 0, 0, *center, np.cos(turn), 0, np.sin(turn), 0]
    sim = Simulation(robot, timestep=1e-7, gravity=(0, 0, 0))
    sim.set_state(q)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the overlap
        sim.step()
    gaps = [one.gap for one in sim.contacts()]
    if depth < 0.0:
        assert min(gaps, default=-depth) == pytest.approx(-depth, abs=1e-9)
    else:
        assert min(gaps) == pytest.approx(-depth, abs=1e-3 * depth + 1e-9)
