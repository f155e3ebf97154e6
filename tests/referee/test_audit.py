"""What an audit is made of: bad simulators, bad input, the command line, and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_cases import ARM, BOX, CASES, DOUBLE, box, mjcf
from typer.testing import CliRunner

import robosim
from robosim.cli import app
from robosim.control.pd import PD
from robosim.errors import ControllerError, LogError, ModelError, OptionError
from robosim.referee.audit import audit
from robosim.referee.audit.adapters import PEERS, Known, why_not
from robosim.referee.audit.parting import OTHER_START, chaos
from robosim.referee.audit.report import page
from robosim.referee.audit.runs import WORLD

FAULTY = Path(__file__).parent


@pytest.fixture
def falling(tmp_path: Path) -> Path:
    file = tmp_path / "falling.xml"
    file.write_text(mjcf(box(3.0)))
    return file


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a simulator known that fails in some way."""
    import os

    paths = [str(FAULTY), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))

    def made(kind: str) -> str:
        known = Known(kind, "os", f"pip install {kind}", f"faulty_peers:{kind}")
        monkeypatch.setitem(PEERS, kind.lower(), known)
        return kind.lower()

    return made


def test_a_crash_is_told_and_nothing_else_is_lost(falling, faulty):
    found = audit(falling, seconds=0.1, peers=[faulty("Crashes")])
    assert found.reference is not None
    assert found.reference.ended is None
    told = [one.said for one in found.findings if one.check == "running"]
    assert any("Crashes 1 crashed" in said and "SIGSEGV" in said for said in told), told


def test_a_simulator_that_hangs_is_ended(falling, faulty):
    found = audit(falling, seconds=0.1, peers=[faulty("Hangs")], timeout=1.0)
    assert any(
        "Hangs 1 hung at the file's settings: no answer within 1 s" in told(one)
        for one in found.findings
    )
    assert found.peers[0].run is None


def told(one: Any) -> str:
    return " ".join(one.said.split())


def test_exceptions_in_a_simulator_are_told(falling, faulty):
    found = audit(falling, seconds=0.1, peers=[faulty("Raises")])
    assert any("ValueError: no such matrix" in told(one) for one in found.findings)


def test_a_run_that_diverges_is_kept_as_far_as_it_went(falling, faulty):
    found = audit(falling, seconds=0.1, peers=[faulty("Diverges")])
    (one,) = (one for one in found.findings if one.check == "diverged")
    assert one.severity == "error"
    assert "not finite at 0.01 s" in one.said
    assert found.peers[0].run is not None
    assert len(found.peers[0].run) == 5


def test_a_file_that_a_simulator_refuses_is_judged_without_it(falling, faulty):
    found = audit(falling, seconds=0.1, peers=[faulty("Refuses")])
    assert any("it has no wheels" in told(one) for one in found.findings)
    assert found.reference is not None
    assert not found.peers[0].runs


def test_what_a_simulator_prints_does_no_harm(falling, faulty):
    found = audit(falling, seconds=0.1, peers=[faulty("Prints")])
    assert found.peers[0].run is not None
    # It stands still in the air, from which robosim's box falls.
    (one,) = (one for one in found.findings if one.check == "parting")
    assert "'box'" in one.element


def test_simulators_that_are_not_there_are_named_with_how_to_get_them(falling, monkeypatch):
    gone = Known("Gone", "no_such_module_anywhere", "pip install gone", "nowhere:Gone")
    monkeypatch.setitem(PEERS, "gone", gone)
    found = audit(falling, seconds=0.02, peers=["gone"])
    said = [one.said for one in found.findings]
    assert "Gone is not installed; get it with: pip install gone" in said
    assert {one.severity for one in found.findings} == {"note"}
    assert why_not("gone") is not None
    with pytest.raises(OptionError, match="peer"):
        audit(falling, seconds=0.02, peers=["bullet"])


def test_a_controller_that_raises_ends_its_run_only(tmp_path):
    file = tmp_path / "arm.xml"
    file.write_text(mjcf(ARM.format(joint="")))

    def failing(sim: Any) -> Any:
        if sim.time > 0.0501:
            raise RuntimeError("out of ideas")
        return None

    found = audit(file, seconds=0.2, controller=failing, peers=[])
    assert found.reference is not None
    assert found.reference.stopped
    assert found.reference.t[-1] == pytest.approx(0.052)
    assert "RuntimeError at 0.052 s: out of ideas" in found.findings[0].said
    with pytest.raises(ControllerError):
        audit(file, controller="no_such_thing", peers=[])


def test_files_that_nobody_can_load_are_refused(tmp_path):
    file = tmp_path / "broken.xml"
    file.write_text(mjcf("<body><joint type='ball of wool'/></body>"))
    with pytest.raises(ModelError):
        audit(file, peers=[])
    with pytest.raises(ModelError):
        audit(tmp_path / "missing.xml", peers=[])


@pytest.mark.peer
def test_a_file_that_only_mujoco_can_load_is_judged_by_it(tmp_path):
    pytest.importorskip("mujoco")
    file = tmp_path / "plane.xml"
    # A mesh of a builtin, which robosim refuses.
    ball = '<asset><mesh name="ball" builtin="sphere" params="1"/></asset>'
    body = '<body pos="0 0 3"><freejoint/><geom type="mesh" mesh="ball" mass="1"/></body>'
    file.write_text(mjcf(body, ball))
    with pytest.raises(ModelError):
        robosim.load(file)
    found = audit(file, seconds=0.2, peers=["mujoco"])
    assert found.robot is None
    assert found.findings[0].element == "the file in robosim"
    assert found.peers[0].run is not None
    assert found.peers[0].run.ended is None
    json.dumps(found.to_dict(), allow_nan=False)
    assert "robosim cannot load the file" in page(found)


@pytest.mark.peer
def test_a_file_without_a_ground_has_that_of_robosim(tmp_path):
    pytest.importorskip("mujoco")
    file = tmp_path / "box.xml"
    geom = '<geom type="box" size=".1 .1 .1" mass="1"/>'
    file.write_text(mjcf(f'<body name="a" pos="0 0 .1"><freejoint/>{geom}</body>'))
    found = audit(file, seconds=0.3, peers=["mujoco"])
    assert found.findings == ()
    assert list(found.reference.touches) == [("a", WORLD)]
    assert list(found.peers[0].run.touches) == [("a", WORLD)]


@pytest.mark.peer
@pytest.mark.parametrize(("kp", "speed"), [(10.0, 0.0), (0.0, 2.0), (10.0, 0.5)])
def test_an_implicit_pd_adds_to_the_springs_of_a_file(tmp_path, kp, speed):
    pytest.importorskip("mujoco")
    file = tmp_path / "wheel.xml"
    file.write_text(
        '<mujoco><option gravity="0 0 0"/><worldbody><body name="w">'
        '<joint name="j" axis="0 0 1" stiffness="5"/>'
        '<geom size=".1" mass="20" contype="0" conaffinity="0"/></body></worldbody>'
        '<actuator><motor name="m" joint="j"/></actuator></mujoco>'
    )
    robot = robosim.load(file)
    held = PD(robot, 1.0, kp, 3.0, velocity=speed, implicit=True)
    found = audit(file, seconds=1.0, controller=held, peers=["mujoco"])
    ours, theirs = found.reference.q, found.peers[0].run.q
    assert abs(ours[-1, 0]) > 0.1
    np.testing.assert_allclose(theirs, ours, atol=5e-3)


@pytest.mark.peer
def test_a_robot_without_a_file_is_written_for_the_others():
    pytest.importorskip("mujoco")
    found = audit("rhombus", seconds=0.2, peers=["mujoco"])
    assert found.peers[0].how == "what robosim has written of it"
    assert found.peers[0].run is not None
    assert not any(one.check in ("loading", "dropped") for one in found.findings)
    # Its loop is there, and MuJoCo opens it by some measured length.
    assert max(series.max() for series in found.peers[0].run.loops.values()) > 1e-9


@pytest.mark.peer
def test_a_xacro_and_a_text_are_written_for_the_others(tmp_path):
    pytest.importorskip("mujoco")
    file = tmp_path / "ball.xacro"
    link = (
        '<link name="a"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link>'
    )
    joint = '<joint name="j" type="continuous"><parent link="w"/><child link="a"/></joint>'
    text = f'<robot name="x"><link name="w"/>{link}{joint}<!--{300 * "x"}--></robot>'
    file.write_text(text)
    for source in (file, text):
        found = audit(source, seconds=0.1, peers=["mujoco"])
        assert [one.severity for one in found.findings] == ["note"]  # that 'w' has no mass
        assert found.peers[0].how == "what robosim has written of it"
        assert found.peers[0].run.ended is None


@pytest.mark.peer
def test_a_urdf_that_mujoco_cannot_read_is_written_for_it(tmp_path):
    pytest.importorskip("mujoco")
    file = tmp_path / "arm.urdf"
    mesh = '<collision><geometry><mesh filename="package://arm/{}"/></geometry></collision></link>'
    arm = CASES["a loop that one reader drops"].text
    (tmp_path / "part.obj").write_text(
        "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    folder = tmp_path / "arm"
    folder.mkdir()
    (tmp_path / "part.obj").rename(folder / "part.obj")
    (folder / "package.xml").write_text("<package><name>arm</name></package>")
    file = folder / "arm.urdf"
    file.write_text(arm.replace("</link>", mesh.format("part.obj"), 1))
    found = audit(file, seconds=0.1, peers=["mujoco"])
    assert found.peers[0].how == "what robosim has written of it"
    assert found.peers[0].run is not None
    (one,) = (one for one in found.findings if one.check == "loading")
    assert "cannot load the file" in one.said


def logged(folder: Path) -> tuple[Path, Path]:
    """An arm with a motor, and the log of its run."""
    file = folder / "arm.xml"
    motor = '<actuator><motor name="push" joint="elbow"/></actuator>'
    file.write_text(mjcf(ARM.format(joint='damping=".5"'), motor))
    robot = robosim.load(file)
    sim = robosim.Simulation(robot, 2e-3)
    log = sim.run(0.4, lambda sim: np.array([8.0 * np.cos(6 * sim.time)]))
    log.save(folder / "run.csv")
    log.save(folder / "run.parquet")
    return file, folder / "run.csv"


@pytest.mark.parametrize("name", ["run.csv", "run.parquet"])
def test_the_commands_of_a_log_are_replayed(tmp_path, name):
    file, _ = logged(tmp_path)
    found = audit(file, log=tmp_path / name, peers=[])
    assert found.logged is not None
    assert found.seconds == pytest.approx(0.398)
    (one,) = (one for one in found.findings if one.check == "log")
    assert "stays with the log" in one.said
    assert one.value is not None
    assert 0 < one.value < 2e-3


def test_a_table_of_controls_is_a_log(tmp_path):
    file, _ = logged(tmp_path)
    table = tmp_path / "real.csv"
    rows = [f"{0.01 * k},{0.0 if k < 10 else -15.0},words" for k in range(30)]
    table.write_text("t,ctrl.push,remark\n" + "\n".join(rows) + "\n")
    found = audit(file, log=table, peers=[])
    assert found.logged is None
    assert found.reference is not None
    # The arm falls until the motor pushes.
    rates = found.reference.v[:, 0]
    assert rates[int(0.1 / 2e-3)] > 1.0
    assert rates[-1] < rates[int(0.1 / 2e-3)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,other.torque\n0,1\n1,2\n", "no command of 'case', such as 'push'"),
        ("when,push\n0,1\n1,2\n", "no column of times"),
        ("time,push\n0,1\n0,2\n", "increasing"),
        ("time,push\n0,1\n1,\n", "missing in some rows"),
    ],
)
def test_logs_of_other_robots_are_refused(tmp_path, text, said):
    file, _ = logged(tmp_path)
    table = tmp_path / "bad.csv"
    table.write_text(text)
    with pytest.raises(LogError, match=re.escape(said)):
        audit(file, log=table, peers=[])
    with pytest.raises(LogError, match="no such file"):
        audit(file, log=tmp_path / "none.csv", peers=[])


def test_chaos_is_measured_by_a_start_that_differs(tmp_path):
    file = tmp_path / "double.xml"
    file.write_text(mjcf(DOUBLE, option='timestep="0.002"'))
    wild = audit(file, seconds=12.0, peers=[])
    assert wild.chaos is not None
    assert wild.chaos.horizon is not None
    assert 1.0 < wild.chaos.horizon < 60.0
    assert any(one.check == "chaos" for one in wild.findings)
    # The growth is that of the distance between both runs.
    assert wild.chaos.growth == pytest.approx(wild.chaos.distance.max() / OTHER_START)
    assert wild.reference is not None
    again = chaos(wild.reference, wild.reference, 0.01)
    assert again.horizon is None
    calm = audit(file, seconds=0.5, peers=[])
    assert calm.chaos is not None
    assert calm.chaos.horizon is None


def test_one_drive_at_a_time(falling):
    with pytest.raises(OptionError, match="one of controller, controls"):
        audit(falling, controller="zero", controls=[0.0], peers=[])
    with pytest.raises(OptionError, match="controls must be 0"):
        audit(falling, controls=[0.0], peers=[])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("grasp.xml").write_text(CASES["creeping grasp"].text)

    def invoke(*args: str) -> Any:
        return CliRunner().invoke(app, ["audit", *args])

    return invoke


@pytest.mark.peer
def test_the_command_line_tells_writes_and_fails_on_request(run):
    pytest.importorskip("mujoco")
    words = ("grasp.xml", "--from", "hold", "--seconds", "0.5", "--peers", "mujoco")
    found = run(*words, "--html", "page.html", "--fail-on", "warning")
    assert found.exit_code == 1
    said = " ".join(found.output.split())
    assert 'noslip_iterations="10" leaves' in said
    assert "creep where contacts stick [mm/s]" in said
    made = Path("page.html").read_text()
    assert "Audit of grasp.xml" in made
    assert "where it should stick" in made
    assert not re.findall(r'(?:src|href)="https?:', made)
    found = run(*words, "--json", "--fail-on", "error")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["control"] == "controls of the keyframe 'hold'"
    assert told["peers"][0]["runs"][0]["label"] == "the file's settings"
    slip = next(one for one in told["findings"] if one["check"] == "slip")
    assert slip["numbers"]["mended"] < 0.1 * slip["value"]
    assert slip["cause"] == "settings"


def test_the_command_line_refuses_what_is_not_there(run):
    for words, said in (
        (("--html", "page.txt"), "must end in .html"),
        (("--fail-on", "pain"), "--fail-on must be one of"),
        (("--task", "a.yaml"), "--task is for --policy"),
        (("--peers", "bullet"), "bullet"),
        (("--seconds", "0"), "seconds"),
    ):
        found = run("grasp.xml", *words)
        assert found.exit_code == 1, found.output
        assert said in " ".join(found.output.split())


@pytest.mark.peer
@pytest.mark.parametrize("peer", ["drake", "newton", "pybullet"])
@pytest.mark.parametrize("servo", ["", '<position joint="elbow" kp="200" kv="10"/>'])
def test_simulators_without_the_actuators_of_a_file_are_not_blamed(tmp_path, peer, servo):
    if why_not(peer) is not None:
        pytest.skip(f"{peer} is not installed")
    file = tmp_path / "arm.xml"
    motor = servo or '<motor joint="elbow"/>'
    file.write_text(mjcf(ARM.format(joint=""), f"<actuator>{motor}</actuator>"))
    found = audit(file, seconds=0.05, peers=[peer], controls=[0.0 if servo else 20.0])
    assert not found.peers[0].runs
    (one,) = (one for one in found.findings if one.element == "the actuators")
    assert "none of the file's actuators" in one.said
    assert {one.check for one in found.findings} == {"loading"}
    # Motors that rest do nothing, and are not missed.
    if not servo:
        rests = audit(file, seconds=0.02, peers=[peer])
        assert len(rests.peers[0].runs) > 1


@pytest.mark.peer
@pytest.mark.parametrize("peer", ["drake", "pybullet"])
def test_bodies_that_float_beside_a_robot_are_refused_where_they_have_no_start(tmp_path, peer):
    if why_not(peer) is not None:
        pytest.skip(f"{peer} is not installed")
    file = tmp_path / "case.xml"
    file.write_text(mjcf(ARM.format(joint="") + BOX.format(z=2.0, more='mass="1"')))
    found = audit(file, seconds=0.02, peers=[peer])
    assert not found.peers[0].runs
    assert any("of the kind floating" in one.said for one in found.findings)


@pytest.mark.peer
@pytest.mark.parametrize("peer", ["drake", "mujoco", "newton", "pybullet"])
def test_peers_agree_on_a_swinging_urdf_as_steps_get_shorter(tmp_path, peer):
    if why_not(peer) is not None:
        pytest.skip(f"{peer} is not installed")
    file = tmp_path / "case.urdf"
    file.write_text(CASES["a loop that one reader drops"].text)
    found = audit(file, seconds=0.4, peers=[peer], q=[0.3, -0.2, 0.1])
    assert found.peers[0].how == "the file itself"
    away = [float(_apart(found, run)) for run in found.peers[0].runs[:3]]
    assert away[2] < 0.35 * away[0]
    assert away[0] < 0.02


def _apart(found: Any, run: Any) -> Any:
    from robosim.referee.audit.parting import largest

    return largest(found.reference, run).max()


def test_robosim_tells_how_uncertain_it_is_itself(tmp_path):
    file = tmp_path / "double.xml"
    file.write_text(mjcf(DOUBLE, option='timestep="0.002"'))
    calm = audit(file, seconds=0.5, peers=[])
    assert calm.uncertain is not None
    assert 0 < calm.uncertain < 1e-4
    assert not calm.findings
    wild = audit(file, seconds=14.0, peers=[])
    assert any(one.check == "doubt" and one.cause == "chaos" for one in wild.findings)
