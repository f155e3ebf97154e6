"""Limits and singularities along lines, and workspaces, against closed forms and bisection."""

from __future__ import annotations

import numpy as np
import pytest
from parallel_mechanisms import CASES, built

from robosim import OptionError, StateError
from robosim.models import builders
from robosim.parallel import Transmission, reach, workspace


def test_dead_centres_of_a_slider_crank():
    of = Transmission(builders.slider_crank(), "slide")
    for way, end in ((1.0, -np.pi / 2), (-1.0, -3 * np.pi / 2)):
        found = reach(of, [way])
        assert (found.cause, found.name) == ("serial", None)
        assert found.distance == pytest.approx(abs(end + 2.0), abs=1e-12)
        np.testing.assert_allclose(of.positions(found.q)[0], end, atol=1e-12)
        assert of.singular_values(found.q).serial < 1e-12


@pytest.mark.parametrize("along", ["motors", "joints"])
def test_a_line_ends_where_nothing_is_beyond(along):
    """The slider stops at the dead centre, whether it is the motor or the joint."""
    names = ("crank_joint", "slide") if along == "motors" else ("slide", "crank_joint")
    of = Transmission(builders.slider_crank(), *names)
    (start,) = of.positions(of.home)[along == "joints"]
    for way, end in ((1.0, 0.7), (-1.0, 0.3)):
        found = reach(of, [way], along=along)
        assert found.cause == {"motors": "parallel", "joints": "serial"}[along]
        assert found.distance == pytest.approx(abs(end - start), abs=1e-9)
        assert getattr(of.singular_values(found.q), found.cause) < 1e-3
        with pytest.raises(StateError, match="out of reach"):
            of.configuration(**{along: [start + way * (found.distance + 1e-6)]})


def test_the_flat_pose_of_a_parallelogram_is_a_singularity_of_its_loop():
    of = Transmission(builders.four_bar_knee(crank=0.05, horn=0.05), "knee")
    for way in (1.0, -1.0):
        found = reach(of, [way], limits=False)
        assert found.cause == "loops"
        assert found.distance == pytest.approx(np.pi / 2, abs=1e-6)
        assert of.singular_values(found.q).loops < 1e-6
    other = Transmission(builders.four_bar_knee(), "knee")
    assert reach(other, [1.0], limits=False).cause == "serial"


def test_the_first_limit_ends_a_line():
    of = Transmission(builders.two_rod_ankle(), "ankle")
    found = reach(of, (1.0, 1.0))
    assert (found.cause, found.name) == ("limit", "ankle_pitch")
    assert found.distance == pytest.approx(0.7, abs=1e-9)  # a parallelogram's
    found = reach(of, (0.0, 1.0), along="joints")
    assert (found.cause, found.name) == ("limit", "ankle_roll")
    assert found.distance == pytest.approx(0.5, abs=1e-9)
    there = of.configuration(joints=(0.0, 0.5))
    np.testing.assert_allclose(found.q, there, atol=1e-8)
    # From elsewhere, and the other way round.
    back = reach(of, (0.0, -1.0), there, along="joints")
    assert back.distance == pytest.approx(1.0, abs=1e-9)


def test_a_short_line_ends_at_nothing():
    of = Transmission(builders.stewart(), "platform")
    found = reach(of, np.eye(6)[2], most=0.01, along="joints")
    assert (found.cause, found.distance) == ("nothing", 0.01)
    np.testing.assert_allclose(of.positions(found.q)[1], 0.01 * np.eye(6)[2], atol=1e-12)


def test_a_stewart_platform_that_turns_by_a_right_angle_is_singular():
    """Fichter's singularity: its yaw at 90 degrees, wherever the feet are in these symmetries."""
    of = Transmission(builders.stewart(), "platform", length=0.3)
    found = reach(of, np.eye(6)[5], along="joints", limits=False)
    assert found.cause == "parallel"
    assert found.distance == pytest.approx(np.pi / 2, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_singular_values_do_not_depend_on_the_order(name):
    robot, of = built(name)
    given = {**CASES[name][0], "joints": of.joints[::-1]}
    turned = Transmission(robot, motors=of.motors[::-1], **given)
    back = Transmission(robot, **{**given, "joints": of.motors, "motors": of.joints})
    ours = of.singular_values(of.home)
    np.testing.assert_allclose(turned.singular_values(of.home), ours, rtol=1e-9)
    np.testing.assert_allclose(back.singular_values(of.home)[:2], ours[1::-1], rtol=1e-9)
    # They are sines and cosines of the gains.
    scales = np.array([of.length if c.unit == "m" else 1.0 for c in of.joint_coordinates])
    others = np.array([of.length if c.unit == "m" else 1.0 for c in of.motor_coordinates])
    gains = np.linalg.svd(of.jacobian(of.home) / scales[:, None] * others, compute_uv=False)
    assert ours.parallel == pytest.approx(1 / np.hypot(1, gains[0]), rel=1e-9)
    assert ours.serial == pytest.approx(gains[-1] / np.hypot(1, gains[-1]), rel=1e-9)


def test_the_workspace_of_a_knee_ends_where_lines_end():
    of = Transmission(builders.four_bar_knee(), "knee")
    space = workspace(of, 60)
    # Two more samples are the ends of the joint.
    assert len(space.motors) + len(space.unreached) + sum(space.limited.values()) == 62
    # A motor at its end, and the joint's limit on the other side.
    low, high = space.joint_ranges[0]
    assert high == pytest.approx(of.joints_at([1.4])[0], abs=1e-12)
    assert low == pytest.approx(-0.3, abs=1e-9)
    assert set(space.limited) == {"knee"}
    np.testing.assert_allclose(of.joints_at(space.motors), space.joints, atol=1e-12)
    worst = space.nearest_to_singular("serial")
    assert of.singular_values(worst).serial == space.least_singular_values.serial


def test_the_workspace_counts_what_is_out_of_reach():
    of = Transmission(builders.slider_crank(), "crank_joint", "slide")
    space = workspace(of, 40, ranges={"slide": (0.5, 0.9)})
    assert np.all(space.unreached > 0.7)
    assert len(space.unreached) > 10
    assert np.all(space.motors <= 0.7)


def test_wrong_options_are_told():
    of = Transmission(builders.slider_crank(), "slide")
    with pytest.raises(OptionError, match="motor 'crank_joint' needs a range"):
        workspace(of)
    with pytest.raises(OptionError, match=r"no motor 'crank' \(known: crank_joint\)"):
        workspace(of, ranges={"crank": (0, 1)})
    with pytest.raises(OptionError, match="samples must be a whole number"):
        workspace(of, 0, ranges={"crank_joint": (0, 1)})
    with pytest.raises(OptionError, match="kind must be one of"):
        workspace(of, 3, ranges={"crank_joint": (-2, -1)}).nearest_to_singular("type 1")
    with pytest.raises(OptionError, match="direction must not be zero"):
        reach(of, [0.0])
    with pytest.raises(StateError, match="direction"):
        reach(of, [1.0, 0.0])
    with pytest.raises(OptionError, match="along must be one of motors, joints"):
        reach(of, [1.0], along="slide")
    with pytest.raises(OptionError, match="most"):
        reach(of, [1.0], most=-1.0)
