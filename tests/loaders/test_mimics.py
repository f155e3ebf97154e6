"""Joints that mimic others: couplings, where they start, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_text import joint_xml, link_xml

import robosim
from robosim import LoadError

LINKS = [link_xml(name) for name in "abcd"]


def limit(lower, upper):
    return f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/>'


def mimic(joint, multiplier=None, offset=None):
    given = {"multiplier": multiplier, "offset": offset}
    words = [f'{name}="{value}"' for name, value in given.items() if value is not None]
    return f'<mimic joint="{joint}" {" ".join(words)}/>'


def chain(first, second, third, kind="revolute"):
    """Three joints in a row, with these elements inside."""
    return (
        *LINKS,
        joint_xml("j", "a", "b", kind, first),
        joint_xml("k", "b", "c", inside=second),
        joint_xml("l", "c", "d", inside=third),
    )


def test_a_mimic_is_a_coupling_without_limits_and_actuator_of_its_own(write):
    parts = chain(limit(-1, 1), limit(-3, 3) + mimic("j", -2, 0.5), limit(-1, 1))
    robot = robosim.load(write(*parts), floating_base=False)
    (coupling,) = robot.couplings
    assert (coupling.joint, coupling.source) == ("k", "j")
    assert (coupling.ratio, coupling.offset) == (-2, 0.5)
    led = robot.joints[robot.joint_index("k")]
    assert not led.actuated
    assert np.all(np.isinf((led.lower, led.upper)))
    assert robot.actuated_names == ("j", "l")
    assert robot.warnings == ()


def test_multiplier_and_offset_are_one_and_zero_without_being_given(write):
    parts = chain(limit(-1, 1), limit(-1, 1) + mimic("j"), limit(-1, 1))
    (coupling,) = robosim.load(write(*parts)).couplings
    assert (coupling.ratio, coupling.offset) == (1, 0)


def test_home_satisfies_limits_and_a_chain_of_mimics_in_any_order(write):
    # j follows k, which follows l, whose limits exclude zero.
    parts = chain(
        limit(-9, 9) + mimic("k", 3, -0.1), limit(-9, 9) + mimic("l", -2, 0.5), limit(0.2, 0.4)
    )
    robot = robosim.load(write(*parts), floating_base=False)
    np.testing.assert_allclose(robot.home, (0.2, 0.1, 0.2), atol=1e-15)


def test_a_chain_of_mimics_keeps_together(write):
    parts = chain(limit(-1, 1), limit(-3, 3) + mimic("j", 2), limit(-9, 9) + mimic("k", -1, 0.3))
    robot = robosim.load(write(*parts), floating_base=False, ground=False)
    sim = robosim.Simulation(robot)
    for _ in range(100):
        sim.step([0.3])
    j, k, m = sim.q
    # Rates 1, 3 and 1 of j's, and 0.1 kg m^2 each: the torque has 1.1 kg m^2 to turn.
    assert j == pytest.approx(0.5 * 0.3 / 1.1 * 0.1**2, rel=1e-9)
    assert k == pytest.approx(2 * j, abs=1e-9)
    assert m == pytest.approx(0.3 - k, abs=1e-9)


def test_limits_of_its_own_that_are_narrower_are_told(write):
    parts = chain(limit(0, 1), limit(0, 1) + mimic("j", -1), limit(-1, 0) + mimic("j", -1))
    robot = robosim.load(write(*parts))
    assert [text.endswith("than their own: k") for text in robot.warnings].count(True) == 1


def test_a_source_that_does_not_exist_is_told(write):
    parts = chain(limit(-1, 1), limit(-1, 1) + mimic("nothing"), limit(-1, 1))
    robot = robosim.load(write(*parts))
    assert robot.couplings == ()
    assert any("(nothing) does not exist: k" in text for text in robot.warnings)
    assert robot.joints[robot.joint_index("k")].actuated


def test_a_fixed_joint_has_nothing_to_mimic_with(write):
    parts = (*LINKS[:3], joint_xml("j", "a", "b"), joint_xml("k", "b", "c", "fixed", mimic("j")))
    assert robosim.load(write(*parts)).couplings == ()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (chain(limit(-1, 1), limit(-1, 1) + mimic("k"), limit(-1, 1)), "cannot mimic itself"),
        (
            chain(limit(-1, 1) + mimic("k"), limit(-1, 1) + mimic("l"), limit(-1, 1) + mimic("j")),
            "circle: j -> k -> l -> j",
        ),
        (
            chain("", limit(-1, 1) + mimic("j"), limit(-1, 1), "planar"),
            "joint 'k': <mimic>: needs joints with a single coordinate; 'j' is 'planar'",
        ),
        (
            chain("", limit(-1, 1) + mimic("j"), limit(-1, 1), "fixed"),
            "joint 'j' is fixed; make 'k' fixed as well",
        ),
    ],
)
def test_what_cannot_be_mimicked_is_refused(write, parts, said):
    path = write(*parts)
    with pytest.raises(LoadError, match=said) as caught:
        robosim.load(path)
    assert caught.value.file == path
