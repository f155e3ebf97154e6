"""Real robots as loaded here, held to the reference parser of their format, element by element.

A part of `python -m benchmarks.conformance`, which goes over all of them.
"""

from __future__ import annotations

import importlib.util

import mjcf_files
import numpy as np
import pytest

import robosim
from robosim import conformance
from robosim.conformance import (
    Check,
    Moving,
    Structure,
    check_file,
    simulate_file,
    structure_checks,
)
from robosim.loaders.packages import example_robot_data

SHARE = example_robot_data()
URDF = sorted((SHARE / "example-robot-data" / "robots").rglob("*.urdf")) if SHARE else []
# Variants of robots that are here already, to save time.
LEFT_OUT = ("talos_reduced_corrected", "talos_full_v2_box", "talos_reduced_box", "tiago_dual",
            "ur10_joint_limited_robot", "ur3_joint_limited_robot", "ur5_joint_limited_robot",
            "alex_nub_hands", "alex_sake_hands", "b1-z1", "go1", "iris_simple")  # fmt: skip
REFUSED = ("human", "icub_reduced", "romeo", "romeo_laas_small", "ur3")
CHOSEN = [file for file in URDF if file.stem not in (*LEFT_OUT, *REFUSED)]

needs_pinocchio = [
    pytest.mark.peer,
    pytest.mark.skipif(not URDF, reason="needs example-robot-data"),
    pytest.mark.skipif(importlib.util.find_spec("pinocchio") is None, reason="needs Pinocchio"),
]


@pytest.mark.parametrize(
    "file", [pytest.param(f, id=f.stem, marks=needs_pinocchio) for f in CHOSEN]
)
def test_agrees_with_pinocchio(file):
    report = check_file(file, "pinocchio", states=5, ground=False)
    assert (report.outcome, report.reason) == ("agrees", "")
    assert {check.name for check in report.checks} >= {
        "nq", "nv", "joints", "bodies", "masses", "centres", "inertias", "frames: positions",
        "frame positions", "mass matrix", "forward accelerations",
    }  # fmt: skip


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")  # MuJoCo's, of what is old in the files
@pytest.mark.parametrize(
    ("package", "path"), mjcf_files.MJCF, ids=lambda value: value.rpartition("/")[2]
)
def test_agrees_with_mujoco(package, path):
    folder = mjcf_files.folder_of(package)
    report = check_file(folder / path, "mujoco", states=5, ground=False, package_dirs=[folder])
    assert (report.outcome, report.reason) == ("agrees", "")
    assert len(report.checks) >= 15


def test_there_are_enough_of_them():
    if not URDF:
        pytest.skip("needs example-robot-data")
    assert len(CHOSEN) >= 40


class TestItCanFail:
    """A difference in any quantity is found."""

    @pytest.fixture
    def ours(self):
        return conformance.structure(robosim.load("a1", ground=False), "pinocchio")

    def failed(self, ours: Structure, theirs: Structure) -> list[str]:
        return [check.name for check in structure_checks(ours, theirs) if not check.ok]

    def test_the_same_has_no_difference(self, ours):
        assert self.failed(ours, ours) == []

    @pytest.mark.parametrize(
        ("field", "name"), [(0, "masses"), (1, "centres"), (2, "inertias")]
    )  # fmt: skip
    def test_a_body(self, ours, field, name):
        body = ours.bodies["FR_calf"]
        values = list(body)
        values[field] = values[field] * (1 + 1e-7)
        bodies = {**ours.bodies, "FR_calf": Moving(*values)}
        assert self.failed(ours, ours._replace(bodies=bodies)) == [name]

    def test_a_frame(self, ours):
        R, p = ours.frames["FR_foot"]
        for moved, name in (
            ((R, p + 1e-8), "frames: positions"),
            ((R @ np.diag([1, -1, -1]), p), "frames: rotations"),
        ):
            frames = {**ours.frames, "FR_foot": moved}
            assert self.failed(ours, ours._replace(frames=frames)) == [name]

    def test_counts(self, ours):
        for what in ("nq", "nv", "joints"):
            other = ours._replace(**{what: getattr(ours, what) + 1})
            assert self.failed(ours, other) == [what]
        fewer = {name: body for name, body in ours.bodies.items() if name != "FR_calf"}
        assert self.failed(ours, ours._replace(bodies=fewer)) == ["bodies"]

    def test_nan_is_no_agreement(self):
        assert not Check("x", float("nan"), 1.0).ok


class TestReports:
    def test_a_simulation_is_told(self, tmp_path):
        robosim.save(robosim.load("pendulum"), tmp_path / "r.urdf")
        assert simulate_file(tmp_path / "r.urdf", 0.01) == ""

    def test_a_simulation_that_fails_is_told(self, tmp_path, monkeypatch):
        def stuck(*_, **__):
            raise robosim.StateError("no way")

        robosim.save(robosim.load("pendulum"), tmp_path / "r.urdf")
        monkeypatch.setattr(robosim.Simulation, "run", stuck)
        assert simulate_file(tmp_path / "r.urdf", 0.01) == "StateError: no way"

    def test_a_reference_that_is_not_there(self, tmp_path):
        robosim.save(robosim.load("pendulum"), tmp_path / "r.urdf")
        assert check_file(tmp_path / "r.urdf", "nobody").outcome == "not compared"

    def test_a_refused_file_has_its_reason(self, tmp_path):
        path = tmp_path / "r.urdf"
        path.write_text('<robot name="r"><link name="a"/><link name="b"/></robot>')
        report = check_file(path, "pinocchio")
        assert report.outcome == "refused"
        assert "2 links without a parent joint" in report.reason

    def test_an_exception_is_a_crash_and_does_not_end_the_run(self, tmp_path, monkeypatch):
        def broken(*_, **__):
            raise ZeroDivisionError("oh")

        monkeypatch.setattr(robosim.loaders, "load", broken)
        report = check_file(tmp_path / "r.urdf", "pinocchio")
        assert report.outcome == "crashed"
        assert "ZeroDivisionError('oh')" in report.reason
        assert report.to_dict()["checks"] == []
