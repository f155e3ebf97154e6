"""What a viewer shows while kernels are compiled."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import robosim
from robosim.kinematics.kinematics import Kinematics
from robosim.quaternions import rotation_matrix
from robosim.runtime.notice import CompileNotice
from robosim.viz import waiting as module
from robosim.viz.waiting import show_home, waiting


class Told:
    """A viewer that keeps what it is told."""

    def __init__(self, robot: robosim.Mechanism) -> None:
        self.robot = robot
        self.said: list[str] = []

    def document(self, name: str, content: dict[str, Any]) -> None:
        assert name == "waiting"
        self.said.append(content["said"])

    def update(self, x: Any, q: Any) -> None:
        self.x, self.q = np.array(x), np.array(q)


@pytest.mark.parametrize("name", ["a1", "double_four_bar", "minitaur", "screw"])
def test_the_home_pose_is_shown_without_kernels(name: str) -> None:
    viewer: Any = Told(robosim.load(name))
    show_home(viewer)
    expected = Kinematics(viewer.robot)
    np.testing.assert_allclose(viewer.x, expected.x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(rotation_matrix(viewer.q), expected.R, rtol=0, atol=1e-12)


def test_the_page_and_the_caller_are_told_how_far_kernels_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "TOLD_EVERY", 0.01)
    monkeypatch.setattr(CompileNotice, "kernels", 7)
    viewer: Any = Told(robosim.load("cube"))
    told: list[str] = []
    with waiting(viewer, told.append):
        time.sleep(0.05)
        assert viewer.said == ["starting"]  # nothing is compiled
        monkeypatch.setattr(CompileNotice, "kernels", 10)
        end = time.monotonic() + 10.0
        while not told and time.monotonic() < end:
            time.sleep(0.01)
    assert told
    assert set(told) == {"compiling kernels for the first time, 3 in 0 s"}
    assert viewer.said == ["starting", *told, ""]
