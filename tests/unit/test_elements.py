"""Springs, potentials, couplings and what acts along joints: wrong arguments, and the energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robosim import (
    Body,
    Coupling,
    Joint,
    Mechanism,
    ModelError,
    PointSpring,
    Potential,
    Simulation,
    StateError,
)

X = (0.0, 1.0, 2.0)


def joint(kind: str = "revolute", **changes) -> Joint:
    return Joint("knee", kind, None, "b", **changes)


def spring(**changes) -> PointSpring:
    return PointSpring(**{"name": "coil", "parent": None, "child": "b", **changes})


def coupling(**changes) -> Coupling:
    return Coupling(**{"name": "gear", "joint": "a", "source": "b", **changes})


def potential(**changes) -> Potential:
    return Potential(**{"x": X, "energy": X, **changes})


BAD = [
    (joint, {"stiffness": -1.0}, r"joint 'knee': stiffness must not be negative, not -1.0"),
    (joint, {"damping": (-1.0,)}, r"damping must not be negative"),
    (joint, {"friction": -0.5}, r"friction must not be negative, not -0.5"),
    (joint, {"armature": -0.1}, r"armature must not be negative"),
    (joint, {"stiffness": np.nan}, r"stiffness must be finite, not nan"),
    (joint, {"damping": (1.0, 2.0)}, r"damping must be a number or 1 of them, not \(1.0, 2.0\)"),
    (joint, {"rest": "far"}, r"rest must be a number or 1 of them, not 'far'"),
    (joint, {"kind": "spherical", "rest": 0.1}, r"rests at its zero: turn `offset`"),
    (joint, {"kind": "spherical", "upper": (1, 1, 1)}, r"give it a `cone`"),
    (
        joint,
        {"kind": "cylindrical", "potential": potential()},
        "potential must be one for each",
    ),
    (joint, {"kind": "fixed", "motion": np.sin}, r"a 'fixed' joint has no motion"),
    (joint, {"motion": 0.5}, r"motion must be a function of time, not 0.5"),
    (joint, {"cone": 1.0}, r"a cone is for joints with a free rotation"),
    (joint, {"kind": "spherical", "cone": 4.0}, r"between 0 and pi; not 4.0"),
    (joint, {"kind": "spherical", "largest_turn": 4.0}, r"between 0 and pi; not 4.0"),
    (joint, {"largest_turn": 1.0}, r"a largest_turn is for joints with a free rotation"),
    (joint, {"kind": "spherical", "cone": np.nan}, r"not nan"),
    (spring, {"stiffness": -1.0}, r"spring 'coil': stiffness must be zero or more, not -1.0"),
    (spring, {"damping": -1.0}, r"damping must be zero or more"),
    (spring, {"rest_length": -0.1}, r"rest_length must be zero or more, not -0.1"),
    (spring, {"rest_length": np.inf}, r"rest_length must be finite"),
    (spring, {"stiffness": (1.0, 2.0)}, r"stiffness must have shape \(\)"),
    (spring, {"child_position": (0, 1)}, r"child_position must have shape \(3,\)"),
    (
        spring,
        {"child_position": np.array([0, 1j, 0])},
        r"child_position must be numbers, not array",
    ),
    (spring, {"parent_position": (0, 0, np.nan)}, r"parent_position must be finite"),
    (spring, {"parent": "b"}, r"spring 'coil': connects a body with itself"),
    (coupling, {"ratio": np.inf}, r"coupling 'gear': ratio must be finite"),
    (coupling, {"offset": "much"}, r"offset must be numbers, not 'much'"),
    (coupling, {"source": "a"}, r"couples joint 'a' with itself"),
    (potential, {"x": (0.0, 0.0, 1.0)}, r"potential: x must be at least two increasing numbers"),
    (potential, {"x": (1.0,), "energy": (1.0,)}, r"at least two increasing"),
    (potential, {"x": 1.0, "energy": 1.0}, r"at least two increasing"),
    (potential, {"energy": (0.0, 1.0)}, r"energy must have shape \(3,\), not \(2,\)"),
    (potential, {"energy": (0.0, np.nan, 1.0)}, r"energy must be finite"),
]


@pytest.mark.parametrize(("build", "changes", "message"), BAD)
def test_bad_arguments(build, changes, message):
    with pytest.raises(ModelError, match=message):
        build(**changes)


def mechanism(**changes) -> Mechanism:
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in "ab")
    joints = (
        Joint("ja", "revolute", None, "a"),
        Joint("jb", "spherical", "a", "b", (0, 0, 1), (0, 0, 1)),
    )
    return Mechanism("m", bodies, joints, **changes)


BAD_MECHANISMS = [
    ({"springs": (spring(child="x"),)}, r"spring 'coil': child 'x' does not exist \(known: a, b\)"),
    ({"springs": (spring(parent="x"),)}, r"spring 'coil': parent 'x' does not exist"),
    ({"springs": (spring(), spring())}, r"spring 'coil': the name is used twice"),
    ({"couplings": (coupling(),)}, r"coupling 'gear': joint 'a' does not exist \(known: ja, jb\)"),
    (
        {"couplings": (coupling(joint="ja", source="jb"),)},
        r"coupling 'gear': joint 'jb' is 'spherical'; a coupling needs .* single coordinate",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_MECHANISMS)
def test_bad_mechanisms(changes, message):
    with pytest.raises(ModelError, match=message):
        mechanism(**changes)


def test_a_cycle_that_does_not_lead_to_the_world():
    """The first joint into a body has to lead there; the names of those that do not are given."""
    bodies = tuple(Body(name, 1.0, np.eye(3)) for name in "abc")
    ends = [(None, "a"), ("c", "b"), ("b", "c"), ("a", "b")]
    joints = tuple(Joint(f"j{k}", "revolute", *pair) for k, pair in enumerate(ends))
    with pytest.raises(ModelError, match=r"joints \['j1', 'j2'\] form a cycle"):
        Mechanism("m", bodies, joints)
    # Given first, the joint to the world's side makes the other one close the loop.
    ordered = Mechanism("m", bodies, (joints[0], joints[3], joints[2], joints[1]))
    assert [j.name for j in ordered.tree_joints] == ["j0", "j3", "j2"]
    assert [j.name for j in ordered.loop_joints] == ["j1"]


def test_a_motion_that_is_not_finite():
    driven = joint(motion=lambda t: 1.0 if t < 0.5 else np.nan)
    sim = Simulation(Mechanism("m", (Body("b", 1.0, np.eye(3)),), (driven,)), 0.01)
    with pytest.raises(StateError, match=r"the motion of joint 'knee' is nan at t = 0\.6 s"):
        sim.set_state(time=0.6)
    assert sim.time == 0.0


def test_a_potential_is_its_spline():
    """Exact for a cubic, within and beyond its ends; the forces differentiate it."""
    cubic = Potential.sample(lambda x: x**3 - 2 * x + 1, -1.0, 1.0, 9)
    x = np.array([-3.0, -1.0, 0.123, 1.0, 2.5])
    np.testing.assert_allclose(cubic(x), x**3 - 2 * x + 1, rtol=0, atol=1e-11)
    assert Potential((0.0, 1.0), (0.0, 2.0))(0.25) == pytest.approx(0.5)


def test_energy_of_what_is_stored():
    """Of springs, potentials, rotors and a spring between points, by hand."""
    sprung = joint(
        "cylindrical", stiffness=(2.0, 3.0), rest=(0.5, 0.1), armature=(0.4, 0.2), axis=(1, 0, 0)
    )
    robot = Mechanism(
        "m",
        (Body("b", 1.5, 0.1 * np.eye(3)),),
        (sprung,),
        springs=(spring(parent_position=(0, 3, 0), stiffness=10.0, rest_length=4.5),),
    )
    sim = Simulation(robot, gravity=(0, 0, 0))
    sim.set_state([4.0, 0.7], [1.0, -2.0])
    stored = 0.5 * 2 * 3.5**2 + 0.5 * 3 * 0.6**2 + 0.5 * 10 * 0.5**2
    moving = 0.5 * (1.5 + 0.4) * 1.0 + 0.5 * (0.1 + 0.2) * 4.0
    assert sim.energy() == pytest.approx(stored + moving, rel=1e-13)
    turn = replace(joint("spherical", stiffness=(1.0, 2.0, 3.0)), name="ball")
    ball = Simulation(Mechanism("m", robot.bodies, (turn,)))
    ball.set_state([np.cos(0.4), 0.0, 0.6 * np.sin(0.4), 0.8 * np.sin(0.4)])
    assert ball.energy() == pytest.approx(0.5 * 0.8**2 * (2 * 0.36 + 3 * 0.64), rel=1e-13)
