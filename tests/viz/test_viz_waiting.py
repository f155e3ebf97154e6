"""What a viewer shows while kernels are compiled."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import robosim
from robosim.kinematics.kinematics import Kinematics
from robosim.quaternions import rotation_matrix
from robosim.runtime.compiling import Compiling
from robosim.runtime.notice import CompileNotice
from robosim.viz import waiting as module
from robosim.viz.waiting import show_home, waiting


class Told:
    """A viewer that keeps what it is told."""

    def __init__(self, robot: robosim.Mechanism) -> None:
        self.robot = robot
        self.told: list[dict[str, Any]] = []

    def document(self, name: str, content: dict[str, Any]) -> None:
        assert name == "waiting"
        self.told.append(content)

    def update(self, x: Any, q: Any) -> None:
        self.x, self.q = np.array(x), np.array(q)


@pytest.mark.parametrize("name", ["a1", "double_four_bar", "minitaur", "screw"])
def test_the_home_pose_is_shown_without_kernels(name: str) -> None:
    viewer: Any = Told(robosim.load(name))
    show_home(viewer)
    expected = Kinematics(viewer.robot)
    np.testing.assert_allclose(viewer.x, expected.x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(rotation_matrix(viewer.q), expected.R, rtol=0, atol=1e-12)


def test_the_page_is_told_how_far_kernels_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOLD_EVERY", 0.01)
    monkeypatch.setattr(CompileNotice, "spell", None)
    viewer: Any = Told(robosim.load("cube"))
    with waiting(viewer):
        time.sleep(0.05)
        assert viewer.told == [{"said": "starting", "share": None}]  # nothing is compiled
        spell = Compiling()
        spell.begin("knot.set_bodies").count(3)
        monkeypatch.setattr(CompileNotice, "spell", spell)
        end = time.monotonic() + 10.0
        while len(viewer.told) < 2 and time.monotonic() < end:
            time.sleep(0.01)
    first = viewer.told[1]
    assert first["said"].startswith("compiling, once\n3 of about ")
    assert 0.0 <= first["share"] < 1.0
    assert viewer.told[-1] == {"said": "", "share": None}
