"""The command line: what it prints, what it writes, and how it says that something is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import IGNORING, program
from typer.testing import CliRunner

import robosim
from robosim import ConvergenceError
from robosim.cli import app
from robosim.comparison import Comparison, Row
from robosim.log import partial_path, read_log
from robosim.viz import Viewer

Run = Callable[..., Any]
COMMANDS = ("models", "info", "view", "simulate", "replay", "compare", "plot")
JSON_KEYS = {
    "steps", "seconds", "us_per_step", "real_time_factor", "newton_iterations_mean",
    "newton_iterations_max", "steps_above_tolerance", "failed_steps", "substeps",
    "max_constraint_violation_m",
    "min_gap_m", "largest_effort", "steps_beyond_effort_limits", "fell", "energy_initial",
    "energy_final", "final_base_position", "final_q",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def invoke(*args: str) -> Any:
        return CliRunner().invoke(app, list(args))

    return invoke


TURNS_WITHOUT_INERTIA = """
<robot name="thin">
  <link name="world"/>
  <link name="rod"><inertial><mass value="1"/>
    <inertia ixx="0" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><parent link="world"/><child link="rod"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="5"/></joint>
</robot>
"""


@pytest.mark.parametrize("options", [(), ("--controller", "stand"), ("--controller", "zero")])
def test_a_robot_that_cannot_be_simulated_is_refused_whatever_controls_it(run, tmp_path, options):
    (tmp_path / "thin.urdf").write_text(TURNS_WITHOUT_INERTIA)
    found = run("simulate", "thin.urdf", "--seconds", "0.01", *options)
    assert isinstance(found.exception, SystemExit)
    assert "body 'rod': inertia must be positive definite" in " ".join(found.output.split())
    found = run("simulate", "thin.urdf", "--seconds", "0.01", "--impossible-inertia", "ball")
    assert found.exit_code == 0, found.output


@pytest.fixture
def controllers(run: Run, tmp_path: Path) -> Iterator[str]:
    """The name of a module with controllers, good and bad, in the working directory."""
    name = "controllers_of_a_test"
    (tmp_path / f"{name}.py").write_text(
        """
import numpy as np

def push(sim):
    return np.array([1.0, 0.0])

def made(robot):
    return lambda sim: np.full(robot.nu, 2.0)

class Holder:
    def push(self, sim):
        return np.array([3.0, 0.0])

holder = Holder()

def short(sim):
    return np.zeros(1)

def broken(sim):
    return np.array([np.nan, 0.0])

def silent(sim):
    np.zeros(2)

def nothing():
    return np.zeros(2)

def late(sim):
    if sim.time > 0.0295:
        raise IndexError("no such thing")
    return np.zeros(2)

number = 3
"""
    )
    yield name
    sys.modules.pop(name, None)


def fails(result: Any, *words: str) -> None:
    """Check that a command failed with a message and no traceback."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("error: ") or "\nerror: " in result.stderr
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output


class TestHelp:
    def test_teaches_with_an_example_of_every_command(self, run: Run) -> None:
        result = run("--help")
        assert result.exit_code == 0
        for command in COMMANDS:
            assert f"robosim {command}" in result.stdout
            assert f"Example: robosim {command}" in run(command, "--help").stdout

    def test_without_a_command(self, run: Run) -> None:
        assert "robosim simulate" in run().output

    def test_version(self, run: Run) -> None:
        assert run("--version").stdout.startswith("robosim 0.")

    @pytest.mark.parametrize("command", [["--help"], ["models"], ["simulate", "--help"]])
    def test_does_not_wait_for_heavy_imports(self, command: list[str], tmp_path: Path) -> None:
        script = (
            "import sys\n"
            "from robosim.cli import main\n"
            f"sys.argv[1:] = {command!r}\n"
            "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end\n"
            "heavy = {'numba', 'matplotlib', 'pyarrow', 'pinocchio', 'tornado', 'meshcat'}\n"
            "print('heavy:', sorted(heavy & set(sys.modules)))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.stdout.endswith("heavy: []\n"), done.stdout + done.stderr


class TestCatalogue:
    def test_models(self, run: Run) -> None:
        result = run("models")
        assert result.exit_code == 0
        for name in ("a1", "double_pendulum", "cube"):
            assert name in result.stdout

    def test_models_json(self, run: Run) -> None:
        rows = json.loads(run("models", "--json").stdout)
        assert {"name", "description", "origin"} == set(rows[0])
        assert "cube" in [row["name"] for row in rows]

    def test_info(self, run: Run) -> None:
        result = run("info", "double_pendulum")
        assert result.exit_code == 0
        for word in ("degrees of freedom", "2, of which 2 actuated", "2 kg", "revolute", "link2"):
            assert word in result.stdout

    def test_info_of_sensors(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "m.xml").write_text(
            '<mujoco><worldbody><body name="arm"><joint name="j"/><geom size=".1"/><site name="s"/>'
            '</body></worldbody><sensor><jointpos name="angle" joint="j"/><gyro name="imu" '
            'site="s"/><subtreecom name="whole" body="arm"/><framepos name="tip" objtype="site" '
            'objname="s"/></sensor></mujoco>'
        )
        lines = [line.split() for line in run("info", str(tmp_path / "m.xml")).stdout.splitlines()]
        assert ["angle", "jointpos", "j"] in lines
        assert ["imu", "gyro", "arm"] in lines
        assert ["whole", "subtreecom", "arm", "and", "all", "below"] in lines
        assert ["tip", "framepos", "arm", "the", "world"] in lines
        told = json.loads(run("info", str(tmp_path / "m.xml"), "--json").stdout)["sensors"]
        assert [one["name"] for one in told] == ["angle", "imu", "whole", "tip"]
        assert told[0] == {
            "name": "angle", "kind": "jointpos", "of": {"j": 1.0}, "body": None, "relative_to": None
        }  # fmt: skip

    def test_info_json(self, run: Run) -> None:
        told = json.loads(run("info", "cube", "--json", "--friction", "0.25").stdout)
        assert told["floating_base"]
        assert (told["nq"], told["nv"], told["nu"]) == (7, 6, 0)
        assert told["total_mass"] == pytest.approx(1.0)
        assert told["joints"][0]["kind"] == "floating"
        assert len(told["contacts"]) == 8
        assert {contact["friction"] for contact in told["contacts"]} == {0.25}
        assert set(told["home"]) == {f"{told['joints'][0]['name']}.{x}" for x in
                                     ("x", "y", "z", "qw", "qx", "qy", "qz")}  # fmt: skip
        assert json.loads(run("info", "cube", "--json", "--no-ground").stdout)["contacts"] == []

    def test_warmup(self, run: Run) -> None:
        result = run("warmup")
        assert result.exit_code == 0
        assert result.stdout.startswith("ready for what most robots need, after ")
        fails(run("warmup", "pendulum", "--all"), "leave MODEL and --batch out")

    def test_convert(self, run: Run, tmp_path: Path) -> None:
        result = run("convert", "rhombus", str(tmp_path / "x.urdf"))
        assert result.exit_code == 0
        assert "not in the file: that the pose 'home'" in result.stderr
        assert len(robosim.load(tmp_path / "x.urdf").loop_joints) == 1
        told = json.loads(run("convert", "a1", str(tmp_path / "y.xml"), "--json").stdout)
        assert told["file"] == str(tmp_path / "y.xml")
        assert any("velocity limits" in sentence for sentence in told["lost"])
        assert run("convert", "sphere_chain", str(tmp_path / "z.urdf")).exit_code == 1

    def test_info_contacts(self, run: Run) -> None:
        told = json.loads(run("info", "a1", "--contacts", "--touching", "feet", "--json").stdout)
        points = {link["link"]: link["points"] for link in told["contact_links"]}
        assert {link for link, n in points.items() if n} == {f"{x}_foot" for x in
                                                            ("FR", "FL", "RR", "RL")}  # fmt: skip
        assert len(told["contacts"]) == 4
        table = run("info", "a1", "--contacts", "--touching", "trunk,FR_foot").stdout
        assert "8 points of a box" in table
        assert "not asked for" in table
        assert run("info", "a1", "--touching", "nothing").exit_code == 1


class TestSimulate:
    def test_json(self, run: Run) -> None:
        result = run("simulate", "double_pendulum", "--seconds", "0.1", "--json")
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert set(told) >= JSON_KEYS
        assert told["steps"] == 100
        assert told["seconds"] == pytest.approx(0.1)
        assert told["failed_steps"] == 0
        assert told["min_gap_m"] is None
        assert told["final_base_position"] is None
        assert len(told["final_q"]) == 2
        assert told["us_per_step"] > 0

    def test_names_of_the_base_are_those_of_logs(self, run: Run) -> None:
        line = ["simulate", "a1", "--controller", "zero", "--seconds", "0.001", "--log", "run.csv"]
        result = run(*line, "--q", "base_z=0.7", "--v", "base_vx=0.5", "--v", "floating_base.wz=2")
        assert result.exit_code == 0, result.output
        log = read_log("run.csv")
        values = [log.column(name)[0] for name in ("base_z", "base_vx", "base_wz")]
        assert values == [0.7, 0.5, 2.0]

    def test_stand_holds_the_pose_that_was_asked_for(self, run: Run) -> None:
        line = "simulate", "go2_description", "--from", "standing", "--seconds", "0.5", "--json"
        told = json.loads(run(*line).stdout)
        pose = robosim.load("go2_description").poses["standing"]
        np.testing.assert_allclose(told["final_q"][7:], pose[7:], atol=0.1)

    def test_a_jitted_controller(self, run: Run) -> None:
        Path("jitted.py").write_text(
            "import numba\n\n@numba.njit\ndef damp(t, q, v, tau):\n    tau[:] = -2 * v[6:]\n"
        )
        line = "simulate", "a1", "--seconds", "0.05", "--json", "--controller", "jitted:damp"
        result = run(*line)
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["largest_effort"]["effort"] > 0

    def test_motors(self, run: Run) -> None:
        """They limit the torques of a controller, or of a law of their own; others are refused."""
        Path("m.toml").write_text(
            '[[stages]]\nkind = "DCMotor"\nresistance = 2.0\ntorque_constant = 0.5\n'
            "current_limit = 3.0\n"
        )
        Path("push.py").write_text("def push(sim):\n    return [9.0] * sim.robot.nu\n")
        for name in ("stand", "push:push"):
            line = "simulate", "a1", "--seconds", "0.05", "--json", "--controller", name
            result = run(*line, "--motors", "m.toml")
            assert result.exit_code == 0, result.output
            assert json.loads(result.stdout)["largest_effort"]["effort"] == pytest.approx(1.5)
        law = '[law]\ntarget = "home"\nkp = 1.0\nki = 0.0\nkd = 0.1\n'
        Path("law.toml").write_text(law + Path("m.toml").read_text())
        line = "simulate", "double_pendulum", "--seconds", "0.05", "--motors", "law.toml"
        assert run(*line, "--q", "joint1=1").exit_code == 0
        for more, words in (
            (("--controller", "stand"), "has a law: leave out --controller stand"),
            (("--motors", "none.toml"), "none.toml"),
            (("--motors", "push.py"), "must end in"),
            (("--motors", "m.toml", "--implicit", "--controller", "stand"), "must be explicit"),
        ):
            result = run(*line, *more)
            assert result.exit_code == 1
            assert words in " ".join(result.stderr.split())

    def test_effort_limits(self, run: Run) -> None:
        """Told where they are exceeded, and kept where that is asked for."""
        drop = ("simulate", "a1", "--drop", "0.3", "--seconds", "0.3")
        result = run(*drop)
        assert result.exit_code == 0, result.output
        assert re.search(r"largest effort +\d\d.* of 33.5 N m, .*limits exceeded in", result.output)
        for kind in ("--implicit", "--explicit"):
            told = json.loads(run(*drop, "--json", "--effort-limits", kind).stdout)
            assert told["largest_effort"]["effort"] == 33.5
            assert told["steps_beyond_effort_limits"] == 0

    @pytest.mark.parametrize("friction", [0.2, 0.5, 0.8, 1.0])
    def test_trot_walks_on_every_friction(self, run: Run, friction: float) -> None:
        line = "simulate", "a1", "--controller", "trot", "--seconds", "6", "--json"
        told = json.loads(run(*line, "--friction", str(friction)).stdout)
        assert told["fell"] is None
        assert 0.3 < abs(told["final_base_position"][0]) < 3.0
        assert abs(told["final_base_position"][1]) < 0.6
        assert 0.28 < told["final_base_position"][2] < 0.32

    def test_the_command_that_is_proposed_keeps_the_options(self, run: Run) -> None:
        """Those that it takes as well; a log is none of them."""
        model = "double_pendulum_description/double_pendulum"
        line = ("simulate", model, "--fixed-base", "--seconds", "0.01", "--package-dir", "a b")
        result = run(*line, "--q", "joint1=0.3", "--q", "joint2=-0.3", "--log", "x y.csv")
        assert result.exit_code == 0, result.output
        told = (
            f"robosim view {model} --fixed-base --package-dir 'a b' --seconds 0.01 --q joint1=0.3 "
            "--q joint2=-0.3"
        )
        assert told in result.output
        assert "robosim plot 'x y.csv' --package-dir 'a b'" in " ".join(result.output.split())

    def test_a_fall_is_told(self, run: Run) -> None:
        """Onto its back, and onto its belly; not a drop onto its feet, and not a cube."""
        over = ("--q", "base_qw=0.05", "--q", "base_qx=1", "--drop", "0.5")
        cases = (
            (("a1", "--seconds", "0.2", *over), "upside down"),
            (("a1", "--seconds", "1", "--controller", "zero"), "low"),
            (("a1", "--seconds", "0.6", "--drop", "0.3"), None),
            (("cube", "--seconds", "0.1", "--q", "base_qw=0", "--q", "base_qx=1"), None),
        )
        for arguments, how in cases:
            told = json.loads(run("simulate", *arguments, "--json").stdout)["fell"]
            assert (told if how is None else told["how"]) == how
        result = run("simulate", *cases[1][0])
        assert re.search(r"fell +at 0\.\d+ s: its base came down, 0\.\d+ m over", result.output)

    def test_motors_without_effort(self, run: Run) -> None:
        model = "double_pendulum_description/double_pendulum"
        line = "simulate", model, "--fixed-base", "--controller", "stand", "--seconds", "0.01"
        result = run(*line, "--effort-limits")
        assert result.exit_code == 0, result.output
        assert "effort limits of zero leave these joints without torque: joint1" in result.output

    def test_motors_without_torques_are_told(self, run: Run) -> None:
        inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
        Path("arm.urdf").write_text(
            f'<robot name="arm"><link name="world"/><link name="rod">{inertial}</link>'
            '<joint name="j" type="revolute"><parent link="world"/><child link="rod"/>'
            '<limit lower="-1" upper="1" effort="5" velocity="1"/></joint></robot>'
        )
        note = "note: the motors have no torques: --controller stand holds the initial pose"
        line = "simulate", "--seconds", "0.002"
        assert note in run(*line, "arm.urdf").stderr
        for told in (
            run(*line, "arm.urdf", "--controller", "stand"),
            run(*line, "arm.urdf", "--controller", "zero"),
            run(*line, "double_pendulum"),
        ):
            assert told.exit_code == 0, told.output
            assert "no torques" not in told.stderr

    def test_effort_limits_of_a_function(self, run: Run) -> None:
        Path("control.py").write_text("def none(sim):\n    return [0.0] * sim.robot.nu\n")
        result = run("simulate", "a1", "--effort-limits", "--controller", "control:none")
        assert result.exit_code == 1
        assert "--effort-limits is for a PD" in result.output

    def test_velocity_limits(self, run: Run, tmp_path: Path) -> None:
        Path("arm.urdf").write_text(
            '<robot name="arm"><link name="wall"/><link name="rod"><inertial>'
            '<origin xyz="0.5 0 0"/><mass value="1"/>'
            '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            '<joint name="hinge" type="continuous"><parent link="wall"/><child link="rod"/>'
            '<axis xyz="0 1 0"/><limit effort="1" velocity="1.5"/></joint></robot>'
        )
        line = "simulate", "arm.urdf", "--fixed-base", "--seconds", "0.5", "--log", "run.npz"
        for options, fastest in (((), None), (("--velocity-limits",), 1.5)):
            result = run(*line, *options)
            assert result.exit_code == 0, result.output
            assert "no joint has a velocity limit" not in result.output
            speed = np.abs(read_log(tmp_path / "run.npz").v).max()
            assert speed > 2.0 if fastest is None else speed == pytest.approx(fastest, rel=1e-8)
        result = run("simulate", "cube", "--seconds", "0.01", "--velocity-limits")
        assert "no joint has a velocity limit" in result.output

    def test_table(self, run: Run) -> None:
        result = run("simulate", "double_pendulum", "--seconds", "0.1")
        assert result.exit_code == 0, result.output
        for word in ("100 of 1 ms", "us each", "x real time", "joint violation", "failed steps"):
            assert word in result.stdout
        assert "robosim view double_pendulum" in result.stdout

    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
    def test_log(self, suffix: str, run: Run, tmp_path: Path) -> None:
        result = run("simulate", "cube", "--seconds", "0.2", "--log", f"run{suffix}")
        assert result.exit_code == 0, result.output
        assert f"robosim plot run{suffix}" in result.stdout
        log = read_log(tmp_path / f"run{suffix}")
        np.testing.assert_allclose(log.t, np.arange(200) * 1e-3, atol=1e-12)
        assert log.note is None
        assert log.info.floating_base
        assert np.all(log.gap >= 0)
        assert [file.name for file in tmp_path.iterdir()] == [f"run{suffix}"]

    def test_log_of_every_third_step(self, run: Run, tmp_path: Path) -> None:
        line = ("simulate", "cube", "--seconds", "0.2", "--json", "--log", "run.csv")
        told = json.loads(run(*line, "--every", "3").stdout)
        assert told["steps"] == 200
        log = read_log(tmp_path / "run.csv")
        np.testing.assert_allclose(log.t, np.arange(0, 200, 3) * 1e-3, atol=1e-12)
        assert log.timestep == pytest.approx(3e-3)

    def test_drop_falls_from_that_height(self, run: Run, tmp_path: Path) -> None:
        def told(*options: str) -> dict[str, Any]:
            line = ("simulate", "cube", "--seconds", "0.1", "--json", *options)
            return dict(json.loads(run(*line).stdout))

        low, high = told(), told("--drop", "2.5", "--log", "run.csv")
        fallen = high["energy_initial"] - low["energy_initial"]
        assert fallen == pytest.approx(9.81 * 2.5, rel=1e-9)
        height = read_log(tmp_path / "run.csv").column("base_z")
        assert height[0] - height[-1] == pytest.approx(9.81 * 0.099**2 / 2, rel=1e-6)
        assert high["final_base_position"][2] == pytest.approx(
            height[0] - 9.81 * 0.1**2 / 2, rel=1e-6
        )

    def test_starts_with_coordinates_and_velocities(self, run: Run, tmp_path: Path) -> None:
        line = "simulate double_pendulum --seconds 0.01 --log run.csv"
        result = run(*line.split(), "--q", "joint1=90deg", "--q", "joint2=-0.5", "--v", "joint2=2")
        assert result.exit_code == 0, result.output
        log = read_log(tmp_path / "run.csv")
        assert log.q[0] == pytest.approx([np.pi / 2, -0.5], abs=1e-12)
        assert log.v[0] == pytest.approx([0.0, 2.0], abs=1e-12)

    def test_starts_turned(self, run: Run, tmp_path: Path) -> None:
        """A quaternion of which one entry is given has the length of one again."""
        line = "simulate spinning_top --seconds 0.01 --log run.csv --q tip.qy=1 --v tip.wz=50"
        result = run(*line.split())
        assert result.exit_code == 0, result.output
        log = read_log(tmp_path / "run.csv")
        home = np.array(robosim.load("spinning_top").home)
        home[2] = 1.0
        assert log.q[0] == pytest.approx(home / np.linalg.norm(home), abs=1e-12)
        assert log.v[0] == pytest.approx([0.0, 0.0, 50.0], abs=1e-9)

    def test_loops_close_around_what_is_given(self, run: Run, tmp_path: Path) -> None:
        line = "simulate rhombus --seconds 0.01 --log run.csv --q joint1a=0.4"
        result = run(*line.split())
        assert result.exit_code == 0, result.output
        log = read_log(tmp_path / "run.csv")
        names = robosim.load("rhombus").q_names
        assert log.q[0][names.index("joint1a")] == pytest.approx(0.4, abs=1e-12)
        assert log.violation.max() < 1e-9

    def test_starts_in_a_pose_of_the_file(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "arm.xml").write_text(
            "<mujoco><worldbody><body><joint name='j' axis='0 1 0'/><geom size='.1'/></body>"
            "</worldbody><keyframe><key name='up' qpos='1.5'/></keyframe></mujoco>"
        )
        line = "simulate arm.xml --seconds 0.01 --from up --log run.csv"
        result = run(*line.split())
        assert result.exit_code == 0, result.output
        assert read_log(tmp_path / "run.csv").q[0] == pytest.approx([1.5])

    def test_timestep(self, run: Run) -> None:
        result = run("simulate", "cube", "--seconds", "0.1", "--timestep", "0.01", "--json")
        assert json.loads(result.stdout)["steps"] == 10

    def test_seconds_that_are_no_whole_steps_are_told(self, run: Run) -> None:
        result = run("simulate", "cube", "--seconds", "1", "--timestep", "0.3", "--json")
        assert json.loads(result.stdout)["seconds"] == pytest.approx(0.9)
        assert "1 s are no whole number of steps: 0.9 s instead" in result.stderr

    def test_record(self, run: Run, tmp_path: Path) -> None:
        result = run("simulate", "cube", "--seconds", "0.1", "--record", "run.html")
        assert result.exit_code == 0, result.output
        assert "<html" in (tmp_path / "run.html").read_text()

    def test_view(self, run: Run, tmp_path: Path) -> None:
        start = time.perf_counter()
        result = run("simulate", "cube", "--seconds", "0.3", "--view", "--log", "run.csv")
        assert result.exit_code == 0, result.output
        assert "live view: http://127.0.0.1:" in result.stderr
        assert time.perf_counter() - start >= 0.2  # in real time, after the first frame
        assert len(read_log(tmp_path / "run.csv")) == 300

    def test_the_page_is_there_before_the_kernels(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        order: list[str] = []

        def noted(name: str, on: Any, what: str) -> None:
            was = getattr(on, what)

            def called(*args: Any, **options: Any) -> Any:
                order.append(name)
                return was(*args, **options)

            monkeypatch.setattr(on, what, called)

        noted("page", Viewer, "__init__")
        noted("kernels", robosim.Simulation, "__init__")
        result = run("simulate", "cube", "--seconds", "0.01", "--view")
        assert result.exit_code == 0, result.output
        assert order[:2] == ["page", "kernels"]

    def test_a1_stands(self, run: Run, tmp_path: Path) -> None:
        line = ("simulate", "a1", "--seconds", "0.2", "--json", "--log", "run.parquet")
        result = run(*line)
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert told["steps"] == 200
        assert told["failed_steps"] == 0
        assert told["min_gap_m"] >= 0
        assert told["max_constraint_violation_m"] < 1e-8
        log = read_log(tmp_path / "run.parquet")
        assert log.info.robot == "a1"
        assert len(log.info.tau) == 12
        assert log.column("FL_calf_joint.position")[0] == pytest.approx(-1.6, abs=1e-6)
        assert np.any(log.column("FL_calf_joint.torque") != 0)
        drawn = run("plot", "run.parquet")
        assert drawn.exit_code == 0, drawn.output
        assert (tmp_path / "run.png").stat().st_size > 10_000


class TestStepping:
    def test_a1_stands_at_ten_milliseconds(self, run: Run) -> None:
        line = ("simulate", "a1", "--seconds", "2", "--timestep", "0.01", "--json")
        alone, asked = run(*line), run(*line, "--controller", "stand", "--implicit")
        assert "implicit PD controller" in alone.stderr
        assert "implicit PD controller" not in asked.stderr
        for result in (alone, asked):
            assert result.exit_code == 0, result.output
            told = json.loads(result.stdout)
            assert told["failed_steps"] == 0
            assert told["min_gap_m"] >= 0
            assert told["final_base_position"][2] == pytest.approx(0.286, abs=0.002)

    def test_explicit_is_obeyed(self, run: Run) -> None:
        line = ("simulate", "a1", "--seconds", "0.2", "--timestep", "0.01", "--json")
        result = run(*line, "--controller", "stand", "--explicit")
        assert "implicit PD controller" not in result.stderr
        told = json.loads(result.stdout)
        assert told["failed_steps"] or abs(told["final_base_position"][2] - 0.286) > 0.01

    def test_order_four_and_how_much_of_it(self, run: Run) -> None:
        line = ("simulate", "pendulum", "--seconds", "0.1", "--json")
        assert json.loads(run(*line).stdout)["fourth_order_fraction"] is None
        told = json.loads(run(*line, "--order", "4").stdout)
        assert (told["order"], told["fourth_order_fraction"]) == (4, 1.0)
        # In the air first, then on the ground.
        line = ("simulate", "cube", "--drop", "0.1", "--seconds", "0.5", "--order", "4")
        told = json.loads(run(*line, "--json").stdout)
        assert 0.1 < told["fourth_order_fraction"] < 0.9
        assert "% of the steps, 2 in the others" in run(*line).stdout

    def test_linearized_cone(self, run: Run) -> None:
        line = ("simulate", "cube", "--seconds", "0.05", "--friction-cone", "linearized")
        assert run(*line, "--facets", "8").exit_code == 0
        fails(run(*line, "--facets", "5"), "friction_facets must be even")

    @pytest.mark.parametrize(
        ("model", "options", "why"),
        [
            ("cube", [], "'cube' does not have four limbs alike"),
            ("a1", ["--record", "run.html"], "a run that is shown or recorded"),
            ("a1", ["--controller", "damping:damp"], "a controller in Python is asked"),
        ],
    )
    def test_lanes_that_make_no_difference(
        self, model: str, options: list[str], why: str, run: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "damping.py").write_text("def damp(sim):\n    return -sim.v[6:]\n")
        result = run("simulate", model, "--seconds", "0.02", "--lanes", *options)
        assert result.exit_code == 0, result.output
        assert f"note: --lanes makes no difference: {why}" in " ".join(result.stderr.split())

    def test_lanes(self, run: Run) -> None:
        line = ("simulate", "a1", "--seconds", "0.1", "--json")
        plain, lanes = (run(*line, *option) for option in ([], ["--lanes"]))
        assert "makes no difference" not in lanes.stderr
        one, other = (json.loads(result.stdout) for result in (plain, lanes))
        assert one["final_q"] != other["final_q"]
        np.testing.assert_allclose(one["final_q"], other["final_q"], atol=1e-9)

    def test_self_collision(self, run: Run) -> None:
        line = ("simulate", "minitaur", "--seconds", "0.05", "--self-collision", "--json")
        assert json.loads(run(*line).stdout)["failed_steps"] == 0

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--facets", "8"], "--facets is for --friction-cone linearized"),
            (["--friction-cone", "round"], "'second_order' or 'linearized', not 'round'"),
            (["--order", "3"], "order must be 2 or 4, not 3"),
            (["--implicit"], "for the controller 'stand', not 'zero'"),
            (["--every", "2"], "--every is for --log FILE"),
            (["--port", "7000"], "--port is for --view"),
            (["--host", "0.0.0.0"], "--host is for --view"),
            (["--touching", ","], "--touching must be all, feet, none, or names"),
            (["--seconds", "1e-9"], "--seconds 1e-09 is no step of --timestep 0.001"),
            (["--controller", "control.py:damp"], "as in control:damp"),
        ],
    )
    def test_wrong(self, options: list[str], words: str, run: Run) -> None:
        fails(run("simulate", "cube", *options), words)


class TestControllers:
    @pytest.mark.parametrize(
        ("name", "torque"), [("push", 1.0), ("made", 2.0), ("holder.push", 3.0)]
    )
    def test_found(
        self, name: str, torque: float, run: Run, controllers: str, tmp_path: Path
    ) -> None:
        options = ("--seconds", "0.01", "--controller", f"{controllers}:{name}")
        result = run("simulate", "double_pendulum", *options, "--log", "run.csv")
        assert result.exit_code == 0, result.output
        assert set(read_log(tmp_path / "run.csv").tau[:, 0]) == {torque}

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("nobody", ["unknown controller 'nobody'", "stand"]),
            ("nobody:push", ["no module 'nobody'"]),
            ("{}:", ["module:function"]),
            ("{}:pull", ["has no 'pull'", "push, made"]),
            ("{}:nothing", ["as nothing(sim), which () does not allow"]),
            ("{}:number", ["int", "cannot be called"]),
            ("{}:short", ["shape (1,)"]),
            ("{}:broken", ["nan"]),
            ("{}:silent", ["returned nothing", "torques (2,)"]),
        ],
    )
    def test_wrong(self, name: str, words: list[str], run: Run, controllers: str) -> None:
        options = ("--seconds", "0.01", "--controller", name.format(controllers))
        fails(run("simulate", "double_pendulum", *options), *words)

    def test_a_module_that_cannot_be_imported(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "torn_module.py").write_text("import this_is_not_installed\n")
        fails(
            run("simulate", "double_pendulum", "--controller", "torn_module:f"),
            "cannot be imported",
            "this_is_not_installed",
        )

    def test_one_that_fails_on_the_way(self, run: Run, controllers: str, tmp_path: Path) -> None:
        options = ("--controller", f"{controllers}:late", "--seconds", "1", "--log", "run.parquet")
        result = run("simulate", "double_pendulum", *options)
        fails(result, "raised IndexError: no such thing", f"{controllers}.py", "after 30 steps")
        log = read_log(tmp_path / "run.parquet")
        assert len(log) == 30
        assert log.note is None
        assert log.info.ended.startswith("ControllerError")


class TestErrors:
    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (["info", "nothing_like_it"], ["nothing_like_it", "a1"]),
            (["info", "missing.urdf"], ["missing.urdf"]),
            (["simulate", "cube", "--log", "run.txt"], ["'.txt'", ".parquet, .csv, .npz"]),
            (["simulate", "cube", "--log", "nowhere/run.csv"], ["'nowhere' does not exist"]),
            (["simulate", "cube", "--record", "run.avi"], ["run.avi", ".html", ".mp4"]),
            (["replay", "nothing.parquet"], ["nothing.parquet"]),
            (["compare", "cube", "--peer", "pinocchio", "--view"], ["--view", "mujoco"]),
            (["simulate", "cube", "--camera", "eye"], ["--camera needs --record"]),
            (["simulate", "cube", "--record", "a.png", "--camera", "eye"], ["no camera 'eye'"]),
            (["simulate", "cube", "--record", "nowhere/run.html"], ["does not exist"]),
            (["simulate", "cube", "--seconds", "0"], ["--seconds", "positive"]),
            (["simulate", "cube", "--seconds", "nan"], ["--seconds", "nan"]),
            (["simulate", "cube", "--timestep", "0"], ["timestep", "positive"]),
            (["simulate", "cube", "--timestep", "nan"], ["timestep", "nan"]),
            (["simulate", "cube", "--drop", "inf"], ["--drop", "inf"]),
            (["simulate", "cube", "--friction", "-1"], ["friction", "-1"]),
            (["simulate", "double_pendulum", "--drop", "1"], ["floating base"]),
            (["simulate", "double_pendulum", "--q", "x=1"], ["--q x=1", "known: joint1, joint2"]),
            (["simulate", "double_pendulum", "--v", "joint1"], ["NAME=VALUE", "'joint1'"]),
            (["simulate", "double_pendulum", "--q", "joint1=1m"], ["'1m' is no number"]),
            (["simulate", "cube", "--v", "floating_base.vx=nan"], ["'nan' is no number"]),
            (["simulate", "cube", "--from", "sit"], ["--from sit", "no such pose", "home"]),
            (["simulate", "cube", "--view", "--port", "70000"], ["port", "70000"]),
            (["simulate", "cube", "--log", "run.csv", "--seconds", "1e12"], ["GB are free"]),
            (["view", "cube", "--seconds", "-1"], ["--seconds"]),
            (["plot", "run.parquet"], ["run.parquet", "no such file"]),
        ],
    )
    def test_message_and_exit_code(
        self, line: list[str], words: list[str], run: Run, tmp_path: Path
    ) -> None:
        fails(run(*line), *words)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        "line", [["fly"], ["info"], ["simulate", "cube", "--second", "x"], ["info", "a1", "b1"]]
    )
    def test_usage(self, line: list[str], run: Run) -> None:
        result = run(*line)
        assert result.exit_code == 2
        assert "Usage" in result.stderr
        assert "Traceback" not in result.output

    def test_debug_shows_the_traceback(self, tmp_path: Path) -> None:
        line = [sys.executable, "-m", "robosim", "info", "nothing_like_it"]
        plain = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
        assert plain.returncode == 1
        assert plain.stderr.startswith("error: ")
        assert "Traceback" not in plain.stderr
        assert plain.stdout == ""
        for debug in (
            [*line, "--debug"],
            [*line[:3], "--debug", *line[3:]],
        ):
            told = subprocess.run(debug, capture_output=True, text=True, cwd=tmp_path)
            assert told.returncode == 1
            assert "Traceback" in told.stderr

    def test_a_step_that_fails(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from robosim.simulation import Simulation

        stream = Simulation.stream

        def failing(self: Simulation, seconds: float, *args: Any, **options: Any) -> Any:
            yield from stream(self, min(seconds, 0.05), *args, **options)
            if seconds == 1.0:
                raise ConvergenceError(0.05, 1.0, 50, 64, "box")

        line = ("simulate", "cube", "--seconds", "1", "--json", "--log", "run.npz")
        monkeypatch.setattr(Simulation, "stream", failing)
        result = run(*line)
        fails(result, "did not converge", "box", "after 50 steps")
        told = json.loads(result.stdout)
        assert told["failed_steps"] == 1
        assert told["steps"] == 50
        assert len(read_log(tmp_path / "run.npz")) == 50


@contextlib.contextmanager
def started(tmp_path: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A long run that has logged something, and the path of its log."""
    path = tmp_path / "run.parquet"
    line = (sys.executable, "-m", "robosim", "simulate", "cube", "--seconds", "20000")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with program([*line, "--log", str(path), *options], cwd=tmp_path, **pipes) as process:
        deadline = time.monotonic() + 120  # compiling, on a fresh machine
        while not (partial_path(path).exists() and partial_path(path).stat().st_size > 500_000):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process, path


class TestStopped:
    def test_interrupted(self, tmp_path: Path) -> None:
        with started(tmp_path, "--json") as (process, path):
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        assert process.returncode == 130
        told = json.loads(stdout)
        assert f"interrupted after {told['steps']} steps" in stderr
        assert str(path) in stderr
        assert "Traceback" not in stderr
        log = read_log(path)
        assert log.note is None
        assert log.info.ended == "interrupted"
        assert len(log) == told["steps"]
        assert os.listdir(tmp_path) == [path.name]

    def test_killed(self, run: Run, tmp_path: Path) -> None:
        with started(tmp_path) as (process, path):
            process.kill()
        assert not path.exists()
        result = run("plot", "run.parquet")
        assert result.exit_code == 0, result.output
        assert "run.parquet.partial" in result.stderr
        assert "did not finish" in result.stderr
        assert (tmp_path / "run.png").stat().st_size > 10_000


class TestView:
    def test_for_some_seconds(self, run: Run, tmp_path: Path) -> None:
        result = run("view", "cube", "--seconds", "0.2", "--record", "run.html")
        assert result.exit_code == 0, result.output
        assert "http://127.0.0.1:" in result.stderr
        assert (tmp_path / "run.html").exists()

    @pytest.mark.parametrize("before", [(), IGNORING], ids=["as usual", "ignoring SIGINT"])
    @pytest.mark.parametrize("kernels", ["there", "missing"])
    def test_until_interrupted(self, kernels: str, before: tuple[str, ...], tmp_path: Path) -> None:
        """The page is served before there are kernels, and ctrl-C need not wait for these."""
        empty = {} if kernels == "there" else {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        with program(
            [*before, sys.executable, "-m", "robosim", "view", "double_pendulum"],
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, **empty},
        ) as process:
            assert process.stderr is not None
            first = process.stderr.readline()
            assert first.startswith("live view: http://127.0.0.1:")
            with urllib.request.urlopen(first.split()[-1], timeout=60) as page:
                assert b"double_pendulum - robosim" in page.read()
            if kernels == "missing":
                assert process.stderr.readline().startswith("compiling kernels")
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=60)
            with pytest.raises(ProcessLookupError):  # what compiles has ended as well
                os.killpg(process.pid, 0)
        assert process.returncode == 0
        assert "Traceback" not in rest

    def test_an_interrupt_that_a_command_has_caught_is_over(self, tmp_path: Path) -> None:
        """Even if it came while CPython ran `exec`, which marks the process to end by SIGINT."""
        caught = """
import sys
from robosim.cli import app, main

@app.command()
def caught() -> None:
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        print("caught")

sys.argv = ["robosim", "caught"]
main()
"""
        (tmp_path / "catches.py").write_text(caught)
        command = [sys.executable, "-m", "catches"]
        result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert (result.returncode, result.stdout.strip()) == (0, "caught"), result.stderr


class TestReplay:
    def test_a_log_with_a_ghost(self, run: Run, tmp_path: Path) -> None:
        for name, timestep in (("a.npz", "1e-3"), ("b.npz", "5e-3")):
            run("simulate", "double_pendulum", "--seconds", "0.1", "--timestep", timestep,
                "--log", name)  # fmt: skip
        result = run("replay", "a.npz", "--ghost", "b.npz", "--out", "both.html")
        assert result.exit_code == 0, result.output
        assert "replays: both.html" in result.stdout
        assert (tmp_path / "both.html").stat().st_size > 800_000
        result = run("replay", "a.npz", "--model", "a1")
        assert result.exit_code == 1
        assert "of another robot" in " ".join(result.stderr.split())


class TestCompare:
    @pytest.fixture
    def verdict(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
        def arrange(passed: bool) -> None:
            rows = (
                Row("total mass", 1e-16, 1e-9, True),
                Row("mass matrix", 1e-3 if not passed else 1e-12, 1e-9, passed),
            )
            found = Comparison("cube", "cube.urdf", "pinocchio", "3.0", 100, rows, frames=1)
            monkeypatch.setattr("robosim.loaders.peers.compare", lambda robot, peer: found)

        return arrange

    @pytest.mark.parametrize("passed", [True, False])
    def test_exit_code_is_the_verdict(
        self, passed: bool, run: Run, verdict: Callable[[bool], None]
    ) -> None:
        verdict(passed)
        result = run("compare", "cube")
        assert result.exit_code == (0 if passed else 1)
        assert "mass matrix" in result.stdout
        assert ("differs" in result.stdout) is not passed
        told = run("compare", "cube", "--json")
        assert told.exit_code == result.exit_code
        assert json.loads(told.stdout)["passed"] is passed
        assert json.loads(told.stdout)["rows"][0] == {
            "name": "total mass", "error": 1e-16, "tolerance": 1e-9, "ok": True,
        }  # fmt: skip


class TestPlot:
    @pytest.fixture
    def log(self, run: Run) -> str:
        assert (
            run("simulate", "double_pendulum", "--seconds", "0.1", "--log", "run.npz").exit_code
            == 0
        )
        return "run.npz"

    def test_out(self, log: str, run: Run, tmp_path: Path) -> None:
        result = run("plot", log, "--out", "picture.svg", "--joints", "joint1")
        assert result.exit_code == 0, result.output
        assert "picture.svg" in result.stdout
        text = (tmp_path / "picture.svg").read_text()
        assert "<svg" in text

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--joints", "("], ["regular expression"]),
            (["--joints", "knee"], ["no joint matches 'knee'", "joint1"]),
            (["--out", "picture.txt"], ["'.txt'", ".png"]),
            (["--out", "nowhere/picture.png"], ["cannot be written"]),
        ],
    )
    def test_errors(self, options: list[str], words: list[str], log: str, run: Run) -> None:
        fails(run("plot", log, *options), *words)


class TestFilesBesideTheModel:
    URDF = """<robot name="r"><link name="world"/>
      <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
        ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j" type="continuous"><parent link="world"/><child link="a"/>
        <axis xyz="0 1 0"/></joint></robot>"""
    SRDF = """<robot name="r"><group name="g"><joint name="j"/></group>
      <group_state name="{name}" group="g"><joint name="j" value="0.5"/></group_state></robot>"""
    LOOPS = """loops:
  - {name: pin, type: ball, link1: {link: a, xyz: [0, 0, 0]}, link2: {link: world}}
"""

    def test_srdf_and_loops_of_other_names(self, run, tmp_path):
        (tmp_path / "r.urdf").write_text(self.URDF)
        (tmp_path / "other.srdf").write_text(self.SRDF.format(name="up"))
        (tmp_path / "other.yaml").write_text(self.LOOPS)
        for command in (["info", "r.urdf", "--json"], ["convert", "r.urdf", "out.urdf"]):
            result = run(*command, "--srdf", "other.srdf", "--loops", "other.yaml")
            assert result.exit_code == 0, result.output
        written = (tmp_path / "out.urdf").read_text()
        assert '<loop_joint name="pin"' in written
        assert "up" in (tmp_path / "out.srdf").read_text()

    def test_arguments_of_xacro(self, run, tmp_path):
        pytest.importorskip("xacro")
        text = self.URDF.replace(
            '<robot name="r">',
            '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
            '<xacro:arg name="m" default="1"/>',
        ).replace('<mass value="1"/>', '<mass value="$(arg m)"/>')
        (tmp_path / "r.xacro").write_text(text)
        result = run("info", "r.xacro", "--json", "--xacro-arg", "m:=2.5")
        assert json.loads(result.stdout)["total_mass"] == pytest.approx(2.5)
        result = run("info", "r.xacro", "--xacro-arg", "m=2.5")
        assert result.exit_code == 1
        assert "--xacro-arg must be like arm:=left, not 'm=2.5'" in " ".join(result.stderr.split())

    def test_a_file_that_is_not_there(self, run, tmp_path):
        (tmp_path / "r.urdf").write_text(self.URDF)
        result = run("info", "r.urdf", "--srdf", "none.srdf")
        assert result.exit_code == 1
        assert "none.srdf" in " ".join(result.stderr.split())

    @pytest.mark.parametrize("command", ["info", "view", "simulate", "convert", "compare"])
    def test_help_tells_of_them(self, run, command):
        told = run(command, "--help").stdout
        assert all(option in told for option in ("--srdf", "--loops", "--xacro-arg"))
