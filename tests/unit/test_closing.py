"""Loops are closed within the limits of the joints, near what was asked for, or not at all."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import robosim
from robosim import Body, ContactPoint, Joint, Mechanism, Simulation
from robosim.elements import Coupling
from robosim.errors import StateError
from robosim.inverse_kinematics.closing import sides
from robosim.inverse_kinematics.pose_constraints import PoseConstraints
from robosim.inverse_kinematics.search_space import SearchSpace
from robosim.joints import KINDS
from robosim.simulation.diagnosis import beyond_limits
from robosim.tendons import Point, Tendon, Term

Y = (0.0, 1.0, 0.0)


def body(name: str) -> Body:
    return Body(name, 1.0, 0.01 * np.eye(3))


def within(sim: Simulation) -> bool:
    return not list(beyond_limits(sim.robot, sim.parts)) and sim.constraint_violation() < 1e-9


# -- a leg of three loops -------------------------------------------------------------------------

# Jansen's numbers [m], and the pose of his linkage at a crank angle of 0.3 rad, in its plane.
POINTS = {
    "center": (0.0, 0.0),
    "pivot": (-0.38, -0.078),
    "pin": (0.1433004734, 0.0443280310),
}
BARS = {
    "crank": ("center", "pin"),
    "upper": ("pin", "top"),
    "lower": ("pin", "low"),
    "rocker": ("pivot", "top", "back"),
    "link": ("pivot", "low"),
    "strut": ("back", "knee"),
    "foot": ("low", "knee", "toe"),
}
TREE = {
    "q_crank": (None, "crank", "center"),
    "q_upper": ("crank", "upper", "pin"),
    "q_lower": ("crank", "lower", "pin"),
    "q_rocker": ("upper", "rocker", "top"),
    "q_link": ("lower", "link", "low"),
    "q_strut": ("rocker", "strut", "back"),
    "q_foot": ("lower", "foot", "low"),
}
LOOPS = {
    "at_pivot": (None, "rocker", "pivot"),
    "at_pivot_too": (None, "link", "pivot"),
    "at_knee": ("strut", "foot", "knee"),
}


def meeting(a, ra, b, rb, side):
    """Where circles about a and b meet, left of the line from a to b if side is 1."""
    a, b = np.array(a), np.array(b)
    d = np.linalg.norm(b - a)
    along = (ra**2 - rb**2 + d**2) / (2 * d)
    across = np.sqrt(ra**2 - along**2)
    u = (b - a) / d
    return a + along * u + side * across * np.array((-u[1], u[0]))


def leg(limits=None) -> Mechanism:
    """A leg of Jansen's, drawn closed, so that its loops close at zero."""
    at = {name: np.array(p) for name, p in POINTS.items()}
    at["top"] = meeting(at["pin"], 0.50, at["pivot"], 0.415, -1)
    at["low"] = meeting(at["pin"], 0.619, at["pivot"], 0.393, 1)
    at["back"] = meeting(at["top"], 0.558, at["pivot"], 0.401, -1)
    at["knee"] = meeting(at["back"], 0.394, at["low"], 0.367, -1)
    at["toe"] = meeting(at["knee"], 0.657, at["low"], 0.49, 1)
    world = {name: np.array((p[0], 0.0, p[1])) for name, p in at.items()}
    center = {bar: np.mean([world[p] for p in points], axis=0) for bar, points in BARS.items()}

    def joint(name, parent, child, point, **options):
        origin = center[parent] if parent else np.zeros(3)
        ends = world[point] - origin, world[point] - center[child]
        return Joint(name, "revolute", parent, child, Y, *ends, **options)

    joints = [
        joint(name, *ends, **dict((limits or {}).get(name, {}))) for name, ends in TREE.items()
    ]
    joints += [joint(name, *ends, actuated=False) for name, ends in LOOPS.items()]
    return Mechanism("leg", tuple(body(bar) for bar in BARS), tuple(joints))


@pytest.fixture(scope="module")
def limited_leg() -> Mechanism:
    """With limits 0.3 rad beyond what a turn of the crank takes its joints through."""
    sim, names = Simulation(leg()), leg().q_names
    q = sim.q.copy()
    poses = [sim.q]
    for angle in np.linspace(0, 2 * np.pi, 41)[1:]:
        q[0] = angle
        sim.set_state(q, hold=["q_crank"])
        q = sim.q.copy()
        poses.append(sim.q)
    assert np.allclose(np.exp(1j * (poses[-1] - poses[0])), 1.0, atol=1e-9)
    low, high = np.min(poses, axis=0) - 0.3, np.max(poses, axis=0) + 0.3
    limits = {name: {"lower": low[i], "upper": high[i]} for i, name in enumerate(names) if i > 0}
    return leg(limits)


def test_a_leg_of_three_loops_starts_within_limits_from_wherever_it_is_asked_to(limited_leg):
    sim, rng = Simulation(limited_leg), np.random.default_rng(0)
    lower, upper = (
        np.array([float(getattr(joint, side)[0]) for joint in limited_leg.tree_joints])
        for side in ("lower", "upper")
    )
    lower[0], upper[0] = -1.0, 1.0
    for n in range(40):
        sim.set_state(rng.uniform(lower, upper) if n else 0.5 * (lower + upper))
        assert within(sim)
        assert np.all(sim.q[1:] > lower[1:] - 1e-9)
        assert np.all(sim.q[1:] < upper[1:] + 1e-9)
        if n % 10 == 0:
            sim.run(0.02)
            assert within(sim)


def test_a_start_that_is_closed_within_limits_stays_the_same_to_the_last_bit(limited_leg):
    with_limits, without = Simulation(limited_leg), Simulation(leg())
    rng = np.random.default_rng(1)
    same = 0
    for _ in range(20):
        q, v = rng.uniform(-0.1, 0.1, 7), rng.normal(size=7)
        with_limits.set_state(q, v)
        without.set_state(q, v)
        with_limits_kept = np.all(
            [
                float(joint.lower[0]) <= value <= float(joint.upper[0])
                for joint, value in zip(limited_leg.tree_joints, without.q, strict=True)
            ]
        )
        if with_limits_kept:
            same += 1
            assert np.array_equal(with_limits.q, without.q)
            assert np.array_equal(with_limits.v, without.v)
    assert same > 10


# -- a file ---------------------------------------------------------------------------------------


def bar(name: str, length: float) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="1"/>'
        '<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>'
    )


FLAT = f"""
<robot name="flat">
  <link name="world"/>
  {bar("crank", 0.4)}{bar("coupler", 1.0)}{bar("rocker", 0.4)}
  <joint name="crank" type="continuous">
    <parent link="world"/><child link="crank"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="crank"/><child link="coupler"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="rocker" type="revolute">
    <parent link="world"/><child link="rocker"/><origin xyz="1 0 1"/><axis xyz="0 1 0"/>
    <limit lower="LOWER" upper="1.2" effort="9" velocity="9"/>
  </joint>
  <loop_joint name="pin" type="revolute">
    <link1 link="coupler" xyz="1 0 0"/><link2 link="rocker" xyz="0.4 0 0"/><axis xyz="0 1 0"/>
  </loop_joint>
</robot>
"""


@pytest.mark.parametrize("lower", [0.0, 0.3, 0.6, 0.79])
def test_a_parallelogram_that_is_drawn_flat_beyond_its_limit(tmp_path, lower):
    path = tmp_path / "flat.urdf"
    path.write_text(FLAT.replace("LOWER", str(lower)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = Simulation(robosim.load(path, floating_base=False))
        q = dict(zip(sim.robot.q_names, sim.q, strict=True))
        assert within(sim)
        # The limit is the nearest pose that there is.
        assert q["rocker"] == pytest.approx(lower, abs=1e-6)
        sim.run(0.5)
        assert within(sim)
        # The cranks may go side by side, or against each other.
        sim.set_state(hold=["crank"], q=[0.8, -0.8, 0.6])
        assert within(sim)
        assert sim.q[0] == pytest.approx(0.8, abs=1e-14)


# -- which assembly, and none ---------------------------------------------------------------------


def four_bar(**limits) -> Mechanism:
    """Bars of 0.3, 0.9 and 0.8 m on a ground of 1 m: an elbow of +-1.4 to 2.3 rad."""
    joints = (
        Joint("crank", "revolute", None, "crank", Y, (0, 0, 0), (-0.15, 0, 0)),
        Joint("knee", "revolute", "crank", "coupler", Y, (0.15, 0, 0), (-0.45, 0, 0)),
        Joint("elbow", "revolute", "coupler", "rocker", Y, (0.45, 0, 0), (-0.4, 0, 0), **limits),
        Joint("pin", "revolute", None, "rocker", Y, (1, 0, 0), (0.4, 0, 0)),
    )
    return Mechanism("four_bar", (body("crank"), body("coupler"), body("rocker")), joints)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_assembly_is_chosen_by_a_sign_a_guess_a_joint_that_is_held_or_a_limit(sign):
    sim = Simulation(four_bar())
    for other in (0.0, 2.0, -2.0):
        sim.set_state((0.4, 0.0, other), hold=["crank"], signs={"elbow": sign})
        assert sim.q[0] == pytest.approx(0.4, abs=1e-14)
        assert 1.4 < sign * sim.q[2] < 2.4
        assert sim.constraint_violation() < 1e-9
    sim.set_state((0.4, -1.5, 2.2) if sign > 0 else (0.4, 0.4, -2.2))
    assert np.sin(sim.q[2]) * sign > 0
    sim.set_state((0.4, 0.0, 2.0 * sign), hold=["elbow"])
    assert sim.q[2] == pytest.approx(2.0 * sign, abs=1e-14)
    limited = Simulation(four_bar(lower=0.2, upper=2.9) if sign > 0 else four_bar(upper=-0.2))
    limited.set_state((0.4, 0.0, 0.0))
    assert within(limited)
    assert sign * limited.q[2] > 1.4


def test_signs_are_checked():
    sim = Simulation(four_bar(lower=0.2, upper=2.9))
    with pytest.raises(StateError, match=r"not 'hip' \(known: crank, knee, elbow\)"):
        sim.set_state(signs={"hip": 1})
    with pytest.raises(StateError, match="the sign of 'knee' must be 1 or -1, not 0"):
        sim.set_state(signs={"knee": 0})
    with pytest.raises(
        StateError, match=r"the sign of 'elbow' cannot be -1: its limits are 0\.2 and 2\.9"
    ):
        sim.set_state(signs={"elbow": -1})
    tree = Simulation(robosim.load("a1"))
    hip = next(name for name in tree.robot.q_names if name.endswith("thigh_joint"))
    tree.set_state(signs={hip: 1})
    with pytest.raises(StateError, match=f"joint '{hip}' is at .*, against its sign"):
        tree.set_state(signs={hip: -1})


def test_a_joint_that_is_held_may_be_beyond_its_limit():
    sim = Simulation(four_bar(lower=0.2, upper=2.9))
    sim.set_state((0.4, 0.5, -2.0), hold=["elbow"])
    assert sim.q[2] == pytest.approx(-2.0, abs=1e-14)
    with pytest.warns(UserWarning, match="joint 'elbow' starts at -2, beyond its lower limit"):
        sim.step()


def slider_crank(lower: float) -> Mechanism:
    """The reach of the crank and its rod is 0.45 m."""
    joints = (
        Joint("main", "revolute", None, "crank", Y, (0, 0, 0), (-0.05, 0, 0)),
        Joint("pin", "revolute", "crank", "rod", Y, (0.05, 0, 0), (-0.175, 0, 0)),
        Joint("rail", "prismatic", None, "slider", (1, 0, 0), lower=lower, upper=0.6),
        Joint("wrist", "revolute", "rod", "slider", Y, (0.175, 0, 0), (0, 0, 0)),
    )
    return Mechanism("slider_crank", (body("crank"), body("rod"), body("slider")), joints)


def test_a_loop_that_no_pose_closes_within_limits_is_named_with_the_limit():
    with pytest.raises(StateError, match=r"closes \['wrist'\] within all limits: .*'rail' .* 0\.5"):
        Simulation(slider_crank(0.5))
    sim = Simulation(slider_crank(0.449))
    assert within(sim)
    sim.set_state((3.1, 0.0, 0.3))
    assert within(sim)
    with pytest.raises(StateError, match=r"\['wrist'\].*'rail'"):
        sim.set_state((1.5, 0.0, 0.45), hold=["main"])
    assert within(sim)


# -- other limits, other loops --------------------------------------------------------------------


def test_limits_of_the_joint_that_closes_the_loop():
    robot = four_bar()
    pin = Joint("pin", "revolute", None, "rocker", Y, (1, 0, 0), (0.4, 0, 0), upper=-0.5)
    sim = Simulation(Mechanism("four_bar", robot.bodies, (*robot.tree_joints, pin)))
    for elbow in (2.0, -2.0):
        sim.set_state((0.0, 0.0, elbow))
        assert within(sim)
        assert sim.state.joint_q[3] <= -0.5 + 1e-9


@pytest.mark.parametrize(
    "path",
    [(Term("crank", 0.5), Term("elbow", 1.0)), (Point(None, (1.0, 0.0, 0.4)), Point("coupler"))],
)
def test_limits_of_tendons(path):
    robot = four_bar()
    free = Simulation(
        Mechanism("four_bar", robot.bodies, robot.joints, tendons=[Tendon("t", path)])
    )
    length = float(free.state.joint_q[-1])
    tendon = Tendon("t", path, upper=length - 0.05)
    sim = Simulation(Mechanism("four_bar", robot.bodies, robot.joints, tendons=[tendon]))
    assert within(sim)
    assert sim.state.joint_q[-1] <= length - 0.05 + 1e-9


def test_a_gear_keeps_the_limits_of_both_of_its_wheels():
    joints = (
        Joint("small", "revolute", None, "a", Y, lower=-0.3, upper=1.0),
        Joint("large", "revolute", None, "b", Y, lower=0.2, upper=2.0),
    )
    gear = Coupling("gear", "large", "small", -3.0)
    sim = Simulation(Mechanism("gear", (body("a"), body("b")), joints, couplings=(gear,)))
    for q in ((0.0, 0.0), (1.0, 0.2), (-0.3, 2.0), (0.5, 1.5)):
        sim.set_state(q)
        assert within(sim)
        assert sim.q[1] == pytest.approx(-3 * sim.q[0], abs=1e-9)
    narrow = Joint("large", "revolute", None, "b", Y, lower=1.2, upper=2.0)
    with pytest.raises(StateError, match=r"\['gear'\] within all limits: .*'(small|large)'"):
        Simulation(
            Mechanism("gear", (body("a"), body("b")), (joints[0], narrow), couplings=(gear,))
        )


@pytest.mark.parametrize("limit", [{"cone": 0.4}, {"largest_turn": 0.5}])
def test_limits_of_balls(limit):
    """A platform on a ball, held up at its rim by a strut between two more balls."""

    def robot(**angles):
        joints = (
            Joint("ball", "spherical", None, "platform", **angles),
            Joint("foot", "spherical", None, "strut", (0, 0, 1), (0.5, 0, -0.6), (0, 0, -0.3)),
            Joint("rim", "spherical", "platform", "strut", (0, 0, 1), (0.5, 0, 0), (0, 0, 0.3)),
        )
        return Mechanism("platform", (body("platform"), body("strut")), joints)

    tilted = np.array((np.cos(0.4), np.sin(0.4), 0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    free = Simulation(robot())
    free.set_state(tilted)
    sim = Simulation(robot(**limit))
    sim.set_state(tilted)
    assert within(sim)
    assert not np.allclose(sim.q, free.q, atol=0.01)
    sim.run(0.05)


def test_a_floating_base_stays_where_it_was_asked_to_be():
    robot = four_bar(lower=0.2, upper=2.9)
    frame = Joint("frame", "floating", None, "base")
    joints = [
        Joint(
            joint.name, joint.kind, joint.parent or "base", joint.child, joint.axis,
            joint.parent_position, joint.child_position, lower=joint.lower, upper=joint.upper,
        )
        for joint in robot.joints
    ]  # fmt: skip
    feet = (ContactPoint("foot", "base", (0.0, 0.0, 0.0)),)
    mechanism = Mechanism("cart", (body("base"), *robot.bodies), (frame, *joints), feet)
    sim = Simulation(mechanism)
    base = np.array((0.3, -0.2, 1.0, 0.8, 0.0, 0.6, 0.0))
    sim.set_state(np.concatenate((base, (0.4, 0.0, -2.0))))
    assert within(sim)
    assert sim.q[9] > 0.2
    assert np.allclose(sim.q[:7], base, atol=1e-9)


def test_bodies_that_are_put_beyond_a_limit_are_moved_within():
    free, limited = Simulation(four_bar()), Simulation(four_bar(lower=0.2, upper=2.9))
    free.set_state((0.4, 0.0, -2.0))
    limited.set_body_state(free.state.x, free.state.q)
    assert within(limited)


def test_a_loaded_beast_of_thirty_loops_starts_within_limits(limited_leg):
    """Ten legs on one crank, from the middle of all limits."""
    bodies, tree, loops = [body("crank")], [limited_leg.joints[0]], []
    for k in range(10):
        bodies += [body(f"{bar}{k}") for bar in BARS if bar != "crank"]
        for joint in limited_leg.joints[1:]:
            named = {bar: bar if bar == "crank" else f"{bar}{k}" for bar in BARS}
            parent = None if joint.parent is None else named[joint.parent]
            ends = joint.parent_position, joint.child_position
            bounds = {"lower": joint.lower, "upper": joint.upper}
            new = Joint(
                f"{joint.name}{k}", "revolute", parent, named[joint.child], Y, *ends, **bounds
            )
            (tree if joint.name in TREE else loops).append(new)
    robot = Mechanism("beast", tuple(bodies), (*tree, *loops))
    middle = [
        0.5 * float(joint.lower[0] + joint.upper[0]) if np.isfinite(joint.lower[0]) else 0.0
        for joint in robot.tree_joints
    ]
    sim = Simulation(robot)
    sim.set_state(middle)
    assert within(sim)
    sim.run(0.01)


# -- the search itself ----------------------------------------------------------------------------


def test_the_side_of_an_angle_is_half_a_turn_and_that_of_a_screw_has_no_end():
    joints = (
        Joint("hinge", "revolute", None, "a"),
        Joint("screw", "screw", "a", "b", pitch=0.1),
        Joint("slide", "prismatic", "b", "c"),
    )
    robot = Mechanism("row", tuple(body(name) for name in "abc"), joints)
    low, high = sides(robot, np.array((1, 1, -1)))
    np.testing.assert_array_equal(low, (0, 0, -np.inf))
    np.testing.assert_array_equal(high, (np.pi, np.inf, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_the_search_are_those_of_finite_differences(kind):
    rng = np.random.default_rng(3)

    def place() -> dict:
        turn = rng.normal(size=4)
        return {
            "axis": rng.normal(size=3),
            "parent_position": 0.3 * rng.normal(size=3),
            "child_position": 0.3 * rng.normal(size=3),
            "offset": turn / np.linalg.norm(turn),
        }

    free = {"cone": 0.5, "largest_turn": 0.4} if Joint("l", kind, "c", "e").has_quaternion else {}
    joints = (
        Joint("base", "floating", None, "a"),
        Joint("hinge", "revolute", "a", "b", **place(), lower=-0.1, upper=0.2),
        Joint("ball", "spherical", "b", "c", **place(), cone=0.3, largest_turn=0.4),
        Joint("slide", "prismatic", "a", "d", **place(), upper=0.3),
        Joint("turn", "revolute", "d", "e", **place()),
        Joint("loop", kind, "c", "e", **place(), **free),
    )
    led = "loop" if joints[-1].nv == 1 else "hinge"
    robot = Mechanism(
        "mixed",
        tuple(body(name) for name in "abcde"),
        joints,
        couplings=(Coupling("gear", "turn", led, 1.3, 0.2),),
        tendons=(Tendon("cable", (Point("b", (0.1, 0, 0)), Point("e", (0, 0.2, 0))), upper=0.01),),
    )
    q = robot.neutral()
    q[:3], q[7] = rng.normal(size=3), 0.15
    space, constraints = SearchSpace(robot), PoseConstraints(robot, {})
    z = 0.4 * rng.normal(size=robot.nv)
    _, rows, names = constraints.at(space.at(q, z))
    rows = space.by_z(rows, z)
    assert {"ball", "gear", "cable"} <= set(names)
    h = 1e-6
    for v in range(robot.nv):
        step = h * np.eye(robot.nv)[v]
        ahead, behind = (constraints.at(space.at(q, z + s * step)) for s in (1, -1))
        assert np.allclose((ahead[0] - behind[0]) / (2 * h), rows[:, v], atol=1e-8)
