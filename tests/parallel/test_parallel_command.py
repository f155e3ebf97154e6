"""``robosim parallel``: tables, JSON and the file of a serial equivalent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import robosim
from robosim.cli import app
from robosim.models import builders
from robosim.parallel import Transmission


def invoke(*args: str):
    return CliRunner().invoke(app, ["parallel", *args])


def test_json_has_what_the_module_has(tmp_path: Path):
    file = tmp_path / "ankle.urdf"
    done = invoke(
        "two_rod_ankle", "-j", "ankle", "--samples", "12", "--serial", str(file), "--json"
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    of = Transmission(builders.two_rod_ankle(), "ankle")
    assert told["motors"] == list(of.motors)
    assert told["joints"] == ["ankle_pitch", "ankle_roll"]
    np.testing.assert_allclose(told["jacobian"], of.jacobian(of.home), atol=1e-12)
    np.testing.assert_allclose(told["torque_limits"], of.torque_limits(of.home).inner, rtol=1e-9)
    assert told["singular_values"] == of.singular_values(of.home)._asdict()
    assert told["serial"]["file"] == str(file)
    assert told["serial"]["largest_errors"]["mass_matrix"] > 0
    read = robosim.load(file)
    assert not read.loop_joints
    armature = np.concatenate([joint.per_coordinate("armature") for joint in read.tree_joints])
    np.testing.assert_allclose(armature, told["serial"]["armature"], rtol=1e-9)


def test_tables_name_limits_and_what_is_not_in_the_file(tmp_path: Path):
    file = tmp_path / "leg.xml"
    fixed = ("--fixed", "knee_spring", "--fixed", "heel_spring")
    done = invoke("spring_leg", "-j", "ankle", "-j", "toe", *fixed, "--samples", "12",
                  "--serial", str(file))  # fmt: skip
    assert done.exit_code == 0, done.output
    for words in ("per toe_motor", "parallel", "samples of the workspace", "inverse dynamics",
                  f"written: {file}"):  # fmt: skip
        assert words in done.stdout
    assert "not in the file: velocity limits" in done.stderr
    assert robosim.load(file).couplings


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("two_rod_ankle", "-j", "ankel"), "no joint or coordinate 'ankel'"),
        (("two_rod_ankle", "-j", "ankle", "--samples", "0"), "samples must be a whole number"),
        (("slider_crank", "-j", "slide"), "motor 'crank_joint' needs a range"),
        (("slider_crank", "-j", "slide", "--range", "crank_joint=1"), "must be NAME=FROM,TO"),
    ],
)
def test_errors_are_one_paragraph(args, said):
    done = invoke(*args)
    assert done.exit_code == 1
    assert said in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.output


def test_motors_without_limits_get_a_range():
    done = invoke("slider_crank", "-j", "slide", "--range", "crank_joint=-2.1,-1.7", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    of = Transmission(builders.slider_crank(), "slide")
    ends = sorted(of.joints_at([[-2.1], [-1.7]])[:, 0])
    np.testing.assert_allclose(told["ranges"][0], ends, atol=1e-9)
    assert told["torque_limits"] == [None]
