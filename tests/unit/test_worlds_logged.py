"""Logs, starts and standing of several robots at once, and `--add`."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import robosim
from robosim import Simulation
from robosim.cli import app
from robosim.cli.adding import addition
from robosim.control.standing import carried_inertia
from robosim.errors import OptionError
from robosim.log import Log
from robosim.log.columns import LogInfo
from robosim.models.builders import chain

BASE = ("base_x", "base_y", "base_z", "base_qw", "base_qx", "base_qy", "base_qz")
TWIST = ("base_vx", "base_vy", "base_vz", "base_wx", "base_wy", "base_wz")


def invoke(*args):
    return CliRunner().invoke(app, list(args))


def test_bases_of_several_robots_are_called_alike():
    cube = robosim.load("cube")
    world = cube.add(cube, (2, 0, 0), prefix="second/").add(chain(2), (0, 2, 0), prefix="arm/")
    info = LogInfo.of(world, 1e-3)
    arm = ("arm/joint1", "arm/joint2")
    assert info.q == (*BASE, *(f"second/{name}" for name in BASE),
                      *(f"{name}.position" for name in arm))  # fmt: skip
    assert info.v == (*TWIST, *(f"second/{name}" for name in TWIST),
                      *(f"{name}.velocity" for name in arm))  # fmt: skip
    assert info.units["second/base_x"] == "m"
    assert info.units["second/base_wz"] == "rad/s"
    assert LogInfo.from_names(info.names).q == info.q
    assert LogInfo.from_names(info.names).v == info.v


def test_other_free_joints_keep_their_names():
    """What is no base: of an unnamed part, or behind another joint of the same part."""
    cube = robosim.load("cube")
    two = cube.add(replace(cube, joints=(replace(cube.joints[0], name="loose"),)),
                   (2, 0, 0), prefix="b/")  # fmt: skip
    assert "b/base_x" in LogInfo.of(two, 1e-3).q
    scene = chain(1).add(two, (5, 0, 0), prefix="s/")
    names = LogInfo.of(scene, 1e-3).q
    assert {"s/base_x", "s/b/base_x"} <= set(names)
    assert "base_x" not in names
    behind = chain(1).add(cube, (5, 0, 0))
    assert "floating_base.x.position" in LogInfo.of(behind, 1e-3).q


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_a_log_of_two_is_read_back(tmp_path, suffix):
    cube = robosim.load("cube")
    world = cube.add(cube, (2, 0, 0), prefix="second/")
    log = Simulation(world).run(0.005)
    log.save(tmp_path / f"run{suffix}")
    again = Log.load(tmp_path / f"run{suffix}")
    np.testing.assert_array_equal(again.q, log.q)
    np.testing.assert_array_equal(again.v, log.v)
    np.testing.assert_array_equal(again.column("second/base_x"), log.q[:, 7])


def test_each_of_two_carries_itself_alone():
    """Without a stance: gains from what a robot's own joints carry."""
    one = replace(robosim.load("a1"), stance=None)
    alone = carried_inertia(one, np.asarray(one.home))
    both = one.add(one, (0, 3, 0), prefix="b/").add(robosim.load("cube"), (3, 0, 0), prefix="c/")
    np.testing.assert_allclose(
        carried_inertia(both, np.asarray(both.home))[: 2 * one.nv], np.tile(alone, 2), rtol=1e-12
    )


def test_models_are_added_from_the_shell(tmp_path):
    told = json.loads(
        invoke("info", "pendulum", "--add", "cube@0.5,0,0.3", "--add", "cube@2,0,0,90deg",
               "--add", "a1@0,3,0,1.5", "--json").stdout
    )  # fmt: skip
    names = [body["name"] for body in told["bodies"]]
    assert names[1:4] == ["cube/cube", "cube2/cube", "a1/base"]
    home = told["home"]
    assert home["cube/floating_base.x"] == 0.5
    assert home["cube/floating_base.z"] == 0.55
    assert home["cube2/floating_base.qz"] == pytest.approx(np.sqrt(0.5))
    assert home["a1/floating_base.qz"] == pytest.approx(np.sin(0.75))
    log = tmp_path / "run.csv"
    done = invoke("simulate", "cube", "--add", "cube@2,0,0.1", "--seconds", "0.01", "--log",
                  str(log), "--q", "cube/base_z=1")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "--add cube@2,0,0.1" in done.output
    assert Log.load(log).column("cube/base_z")[0] == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cube", "takes MODEL@X,Y,Z"),
        ("cube@1,2", "takes MODEL@X,Y,Z"),
        ("@1,2,3", "takes MODEL@X,Y,Z"),
        ("cube@1,2,high", "'high' is no number"),
        ("cube@1,2,nan", "'nan' is no number"),
        ("cube@1,2,3,deg", "'' is no number"),
    ],
)
def test_what_cannot_be_added_is_refused(text, message):
    with pytest.raises(OptionError, match=message):
        addition(text)
    assert invoke("info", "cube", "--add", text).exit_code == 1


def test_a_path_may_have_any_name():
    assert addition("models/my@robot.urdf@1,2,-3,90deg") == (
        "models/my@robot.urdf", (1.0, 2.0, -3.0), pytest.approx(np.pi / 2),
    )  # fmt: skip
