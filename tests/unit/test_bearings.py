"""Bearings: what they refuse, what they tell, and how their pads share a load."""

import numpy as np
import pytest

import robosim
from robosim import Bearing, Body, Joint, Mechanism, ModelError
from robosim.description.bearing import pads_of

AXES = {"z": (0, 0, 1), "askew": (1, 2, -2)}


def hinge(**fields):
    return Joint("axle", "revolute", None, "wheel", bearing=Bearing(0.1, 0.02, 0.1), **fields)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ({"friction": -0.1}, "friction must be zero or more, not -0.1"),
        ({"radius": -1.0}, "radius must be zero or more, not -1.0"),
        ({"length": -1.0}, "length must be zero or more, not -1.0"),
        ({"friction": np.inf}, "friction must be finite"),
        ({"pads": 2}, "at least 3, not 2"),
        ({"pads": 4.0}, "whole number of at least 3, not 4.0"),
    ],
)
def test_bearings_that_are_none(numbers, told):
    with pytest.raises(ModelError, match=told):
        Bearing(**{"friction": 0.1, "radius": 0.02, "length": 0.1} | numbers)


@pytest.mark.parametrize(
    ("kind", "fields", "told"),
    [
        ("fixed", {}, "joint 'j': has no free coordinate.*revolute, prismatic, spherical"),
        ("planar", {}, "joint 'j': is 'planar', which takes no bearing"),
        ("revolute", {"motion": lambda t: t}, "joint 'j': is driven"),
        ("revolute", {"lower": [1.0], "upper": [1.0]}, "joint 'j': is driven"),
        ("revolute", {"bearing": Bearing(0.1)}, "joint 'j': its bearing needs a radius"),
        ("spherical", {"bearing": Bearing(0.1)}, "joint 'j': its bearing needs a radius"),
        ("spherical", {}, "joint 'j': its bearing is a socket, which has no length, not 0.1"),
        ("revolute", {"bearing": 0.1}, "joint 'j': bearing must be a Bearing, not 0.1"),
    ],
)
def test_joints_that_take_no_bearing(kind, fields, told):
    with pytest.raises(ModelError, match=told):
        Joint("j", kind, None, "a", **{"bearing": Bearing(0.1, 0.02, 0.1)} | fields)


def test_bearings_without_a_length_are_told():
    body = Body("wheel", 1.0, np.eye(3))
    joints = {
        "revolute": (Bearing(0.1, 0.02), "presses on its rims under moments across the axis"),
        "prismatic": (Bearing(0.1, 0.02), "no length and does not feel moments across the axis"),
    }
    for kind, (bearing, told) in joints.items():
        robot = Mechanism("m", (body,), (Joint("axle", kind, None, "wheel", bearing=bearing),))
        assert len(robot.warnings) == 1
        assert told in robot.warnings[0]
        assert "joint 'axle'" in robot.warnings[0]
    slide = Joint("axle", "prismatic", None, "wheel", bearing=Bearing(0.1, 0.0, 0.1))
    assert "no radius" in Mechanism("m", (body,), (slide,)).warnings[0]
    assert not Mechanism("m", (body,), (hinge(),)).warnings


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical"])
@pytest.mark.parametrize("pads", [3, 4, 7])
def test_pads_carry_the_load(kind, axis, pads):
    """They give the wrench of the joint, and none of it along what is free."""
    rng, length = np.random.default_rng(3), 0.0 if kind == "spherical" else 0.1
    found = pads_of(Bearing(0.1, 0.02, length, pads), kind, axis)
    joint = Joint("j", kind, None, "a", axis=axis)
    wrench = np.concatenate((joint.D_T @ rng.normal(size=joint.D_T.shape[1]),
                             joint.D_R @ rng.normal(size=joint.D_R.shape[1])))  # fmt: skip
    press = found.shares @ wrench
    given = np.zeros(6)
    for alpha, n, pad in zip(press, found.normals, found.pad_of, strict=True):
        given += alpha * np.concatenate((n, np.cross(found.points[pad], n)))
    assert given == pytest.approx(wrench, abs=1e-12)
    free = np.concatenate((joint.C_T @ np.ones(joint.C_T.shape[1]),
                           joint.C_R @ np.ones(joint.C_R.shape[1])))  # fmt: skip
    assert found.shares @ free == pytest.approx(0, abs=1e-12)
    # Directions of slip are across what the pads press along, and across each other.
    for pad, tangents in enumerate(found.tangents):
        assert tangents @ tangents.T == pytest.approx(np.eye(len(tangents)), abs=1e-12)
        own = found.normals[[k for k, p in enumerate(found.pad_of) if p == pad]]
        assert own @ tangents.T == pytest.approx(0, abs=1e-12)


def test_the_least_pressures_are_those_of_the_notes():
    """(2.118) with a small regularization, in the metric of the two bodies' masses."""
    rng = np.random.default_rng(5)
    pads = pads_of(Bearing(0.1, 0.5, 1.0, 4), "revolute", (0, 0, 1))
    arms = np.cross(pads.points[list(pads.pad_of)], pads.normals)
    N = np.hstack((pads.normals, arms))
    root = rng.normal(size=(6, 6))
    W = root @ root.T + np.eye(6)  # N M^-1 N^T of both bodies, seen from the joint
    wrench = N.T @ rng.normal(size=len(N))
    alpha = np.linalg.solve(N @ W @ N.T + 1e-8 * np.eye(len(N)), N @ W @ wrench)
    assert pads.shares @ wrench == pytest.approx(alpha, abs=1e-5)


@pytest.mark.parametrize("pads", [4, 6, 24])
def test_a_radial_load(pads):
    """All pads together press 4 / pi as much as it, on average over a turn."""
    shares = pads_of(Bearing(0.1, 0.02, 0.1, pads), "revolute", (0, 0, 1)).shares
    angles = np.linspace(0, 2 * np.pi, 3600, endpoint=False) + 1e-3
    loads = np.stack((np.cos(angles), np.sin(angles), *np.zeros((4, len(angles)))), axis=1)
    total = np.abs(loads @ shares.T).sum(axis=1)
    assert total.mean() == pytest.approx(4 / np.pi, rel=1e-6)
    assert total.max() - total.min() < {4: 0.42, 6: 0.18, 24: 0.011}[pads]


def test_other_formulations_refuse_them_by_name():
    robot = Mechanism("m", (Body("wheel", 1.0, np.eye(3)),), (hinge(),))
    with pytest.raises(ModelError, match="joint 'axle': has a bearing"):
        robosim.MinimalSimulation(robot, 0.01)
    robosim.MinimalSimulation(robot, 0.01, ignore=("friction",))
