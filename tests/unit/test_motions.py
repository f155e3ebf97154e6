"""Motions whose error is measured over the CPU time, and how times at equal errors are compared."""

from __future__ import annotations

import numpy as np
import pytest

from robosim import PeerError
from robosim.measuring.error_curves import cost
from robosim.measuring.motions import (
    bouncing,
    distance,
    four_bar,
    landing,
    points_of,
    run,
    sliding,
    tumbling,
)
from robosim.measuring.motions_of_peers import drake_available, drake_runs, mujoco_runs


def test_a_time_lies_between_those_of_the_runs():
    """In logarithms, as errors and times are."""
    runs = [(1e-2, 1.0), (1e-4, 100.0)]
    assert cost(runs, 1e-3) == (pytest.approx(10.0), True)
    assert cost(runs, 1e-1) == (1.0, True)
    assert cost(runs, 1e-5) == (100.0, False)


def test_an_error_that_is_small_by_chance_does_not_count():
    assert cost([(1e-2, 1.0), (1e-6, 2.0), (1e-2, 4.0), (1e-4, 8.0)], 1e-3)[0] > 4.0


def test_a_run_that_failed_is_not_accurate():
    assert cost([(np.nan, np.inf), (1e-4, 8.0)], 1e-4) == (8.0, True)


def test_points_turn_with_their_body():
    """A quarter turn about z takes the point on x to y."""
    robot = tumbling().robot
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    at, turned = points_of(robot, [[1, 2, 3]], [np.eye(3)]), points_of(robot, [[1, 2, 3]], [turn])
    np.testing.assert_array_equal(at[0], [1, 2, 3])
    np.testing.assert_allclose(turned[1] - turned[0], at[2] - at[0], atol=1e-15)
    assert distance(at, turned) == pytest.approx(np.sqrt(2) * np.linalg.norm(at[1] - at[0]))


@pytest.mark.parametrize("make", [bouncing, sliding])
def test_closed_forms_are_those_of_runs(make):
    motion = make()
    assert distance(run(motion, 0.01, 1e-4, 1).points, motion.end()) < 1e-5


def test_the_four_bar_meets_its_stop():
    motion = four_bar()
    assert run(motion, 0.01, 1e-3, 1).figures["events"] >= 2


@pytest.mark.peer
def test_mujoco_takes_the_same_motion():
    pytest.importorskip("mujoco")
    motion = sliding()
    (limit, *_, fine) = mujoco_runs(motion, 1, (1e-3,))
    assert distance(fine.points, limit.points) < 1e-3
    assert distance(limit.points, motion.end()) < 2e-3
    for other in (bouncing(), four_bar()):
        with pytest.raises(PeerError, match="restitution"):
            mujoco_runs(other)


@pytest.mark.peer
@pytest.mark.skipif(not drake_available(), reason="Drake is not installed")
def test_drake_takes_the_same_motion():
    motion = sliding()
    limit, coarse = drake_runs(motion, 1, (1e-3, 1e-6))
    assert distance(limit.points, motion.end()) < 1e-3
    assert distance(coarse.points, limit.points) < 1e-2
    assert all(one.cpu for one in drake_runs(landing(), 1, (1e-1, 1e-2)))
    for other in (bouncing(), four_bar()):
        with pytest.raises(PeerError, match="restitution"):
            drake_runs(other)
