"""What is logged beside the motion: read as in a loop of one's own, in all formats, by name."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import (
    LogError,
    ModelError,
    OptionError,
    Place,
    SaveError,
    Sensor,
    Simulation,
)
from robosim.controllers import PD, stand
from robosim.formulation import Contact
from robosim.log import Log, LogWriter, partial_path, read_log
from robosim.log.channels import SENSORS, channels_of, contact_links
from robosim.models import builders
from robosim.viz.plots import plot_log

ALSO = ("sensors", "contacts", "frame:FR_foot", "joint_wrenches")
AXES = "xyz"


@pytest.fixture(scope="module")
def a1():
    """The A1 with an IMU, a scale for a leg and a few numbers."""
    robot = robosim.load("a1")
    imu, foot = Place.of_frame(robot, "imu_link"), Place.of_frame(robot, "FR_foot")
    below = ("FR_calf",)
    sensors = (
        Sensor("gyro", "gyro", place=imu),
        Sensor("felt", "accelerometer", place=imu),
        Sensor("turned", "framequat", place=imu),
        Sensor("knee", "jointpos", of={"FR_calf_joint": 2.0}),
        Sensor("effort", "jointactuatorfrc", of={"FR_calf_joint": 1.0}),
        Sensor("pull", "force", place=foot, bodies=below),
        Sensor("bend", "torque", place=foot, bodies=below),
        Sensor("height", "framepos", place=foot),
    )
    return replace(robot, sensors=sensors)


@pytest.fixture(scope="module")
def log(a1):
    return Simulation(a1).run(0.05, "stand", also=ALSO)


def pushing(sim):
    """A controller in Python that pushes from outside as well."""
    sim.apply_wrench("base", force=(20.0 * np.sin(100 * sim.time), 0.0, 0.0))
    return stand(sim.robot, sim.timestep)


def read_by_hand(sim, log, n):
    """Rows of what the columns have to be, of a loop of one's own, with what the log says."""
    control = stand(sim.robot, sim.timestep)
    for k in range(n):
        yield sim, {name: values[k] for name, values in log.extra.items()}
        sim.run(sim.timestep, control)


def test_it_is_what_is_read_in_a_loop_of_ones_own(a1, log):
    assert log.info.extra == tuple(n for c in channels_of(a1, ALSO) for n in c.columns)
    assert set(log.info.units) == set(log.names)
    for sim, row in read_by_hand(Simulation(a1), log, len(log)):
        for sensor in a1.sensors:
            suffixes = SENSORS.get(sensor.kind, ((".value",), ""))[0]
            seen = [row[f"{sensor.name}{s}"] for s in suffixes]
            np.testing.assert_array_equal(seen, np.atleast_1d(sim.sensor(sensor.name)))
        forces = {link: np.zeros(3) for link in contact_links(a1)}
        for contact in sim.contacts():
            forces[contact.link] += contact.force
        for link, force in forces.items():
            np.testing.assert_array_equal([row[f"{link}.contact_f{x}"] for x in AXES], force)
        for name, wrench in sim.joint_wrenches().items():
            seen = [row[f"{name}.{part}{x}"] for part in "fm" for x in AXES]
            np.testing.assert_array_equal(seen, wrench)


def test_a_frame_is_where_dynamics_says(a1, log):
    dynamics = robosim.Dynamics(a1)
    for k in (0, 20, -1):
        x, R = dynamics.frame(log.q[k], "FR_foot")
        twist = dynamics.frame_velocity(log.q[k], log.v[k], "FR_foot")
        row = {name: values[k] for name, values in log.extra.items()}
        np.testing.assert_allclose([row[f"FR_foot.p{i}"] for i in AXES], x, atol=1e-12)
        quaternion = [row[f"FR_foot.q{i}"] for i in "wxyz"]
        seen = robosim.quaternions.rotation_matrix(quaternion)
        np.testing.assert_allclose(seen, R, atol=1e-12)
        moved = [row[f"FR_foot.{part}{i}"] for part in "vw" for i in AXES]
        np.testing.assert_allclose(moved, twist, atol=1e-10)


def test_feet_carry_the_weight_at_last(a1):
    log = Simulation(a1).run(1.5, "stand", every=100, also="contacts")
    feet = sum(log.column(f"{leg}_foot.contact_fz")[-1] for leg in ("FR", "FL", "RR", "RL"))
    assert feet == pytest.approx(a1.total_mass * 9.81, rel=1e-3)
    assert log.info.units["FR_foot.contact_fz"] == "N"


@pytest.mark.parametrize("control", ["stand", "servo", pushing, None])
def test_the_motion_is_the_same_to_the_last_bit(a1, control):
    if control == "servo":
        control = PD(a1, a1.stance.target, 100.0, 2.0, implicit=True)
    plain, told = Simulation(a1), Simulation(a1)
    one, other = plain.run(0.03, control), told.run(0.03, control, also=ALSO)
    for name in one.samples._fields:
        if name not in ("extra", "scans"):
            a, b = getattr(one.samples, name), getattr(other.samples, name)
            np.testing.assert_array_equal(a, b, err_msg=name)
    np.testing.assert_array_equal(plain.q, told.q)
    assert one.samples.extra.size == 0
    assert one.extra == {}


def test_every_decides_how_often_it_is_read(a1, log, tmp_path):
    thin = Simulation(a1).run(0.05, "stand", every=7, also=ALSO)
    np.testing.assert_array_equal(thin.samples.extra, log.samples.extra[::7])
    path = tmp_path / "run.parquet"
    sim = Simulation(a1)
    with LogWriter(path, a1, sim.timestep, every=7, also=ALSO) as writer:
        for chunk in sim.stream(0.05, "stand", chunk_steps=10, also=ALSO):
            writer.write(chunk)
    np.testing.assert_array_equal(Log.load(path).samples.extra, thin.samples.extra)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz", ".mcap"])
def test_every_format_keeps_it(a1, log, suffix, tmp_path):
    path = tmp_path / f"run{suffix}"
    log.save(path)
    back = Log.load(path)
    assert back.names == log.names
    assert list(back.extra) == list(log.extra)
    for a, b in zip(back.samples, log.samples, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    if suffix != ".csv":
        assert back.info == log.info
    if suffix == ".mcap":
        with pytest.raises(LogError, match=r"save\(path, robot\)"):
            back.save(path)
        back.save(path, a1)
        assert Log.load(path).names == log.names


def test_a_killed_run_leaves_what_was_felt(a1, tmp_path):
    path = tmp_path / "run.mcap"
    writer = LogWriter(path, a1, 1e-3, also=ALSO)
    for chunk in Simulation(a1).stream(0.02, "stand", chunk_steps=10, also=ALSO):
        writer.write(chunk)
    assert not path.exists()
    assert partial_path(path).exists()
    found = read_log(path)
    assert len(found) == 20
    assert found.info.extra == writer.info.extra
    writer.close()
    assert path.exists()


def test_messages_are_those_of_ros_to_the_last_digit(a1, log, tmp_path):
    """Read by `mcap` alone, without ROS."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    path = tmp_path / "run.mcap"
    log.save(path)
    found: dict[str, list] = {}
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for schema, channel, message, told in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((schema.name, message.log_time, told))
    for name in ("/joint_states", "/tf", "/imu/gyro", "/wrench/pull", "/contact/FR_foot"):
        assert len(found[name]) == len(log), name
    text = found["/robot_description"][0][2].data
    assert text == Path(a1.source).read_text()

    def three(vector):
        return [vector.x, vector.y, vector.z]

    def four(q):
        return [q.w, q.x, q.y, q.z]

    def columns(name, suffixes, k):
        return [log.column(f"{name}{suffix}")[k] for suffix in suffixes]

    dynamics = robosim.Dynamics(a1)
    for k in range(len(log)):
        kind, time, joints = found["/joint_states"][k]
        assert kind == "sensor_msgs/msg/JointState"
        assert time == round(1e9 * log.t[k])
        stamp = joints.header.stamp
        assert stamp.sec * 10**9 + stamp.nanosec == time
        assert joints.name == list(a1.actuated_names)
        assert list(joints.position) == list(log.q[k, 7:])
        assert list(joints.velocity) == list(log.v[k, 6:])
        assert list(joints.effort) == list(log.tau[k])

        _, _, imu = found["/imu/gyro"][k]
        assert imu.header.frame_id == "imu_link"
        assert three(imu.angular_velocity) == columns("gyro", (".x", ".y", ".z"), k)
        assert three(imu.linear_acceleration) == columns("felt", (".x", ".y", ".z"), k)
        assert four(imu.orientation) == columns("turned", (".w", ".x", ".y", ".z"), k)

        _, _, wrench = found["/contact/FR_foot"][k]
        suffixes = [f".contact_f{axis}" for axis in AXES]
        assert three(wrench.wrench.force) == columns("FR_foot", suffixes, k)
        _, _, wrench = found["/wrench/pull"][k]
        assert wrench.header.frame_id == "FR_foot"
        assert three(wrench.wrench.torque) == columns("bend", (".x", ".y", ".z"), k)
        _, _, wrench = found["/joint_wrench/FR_hip_joint"][k]
        assert three(wrench.wrench.torque) == columns("FR_hip_joint", (".mx", ".my", ".mz"), k)

        _, _, pose = found["/frame/FR_foot/pose"][k]
        assert four(pose.pose.orientation) == columns("FR_foot", [f".q{i}" for i in "wxyz"], k)
        _, _, twist = found["/frame/FR_foot/twist"][k]
        assert three(twist.twist.linear) == columns("FR_foot", [f".v{i}" for i in AXES], k)
        assert found["/sensor/knee"][k][2].data == log.column("knee.value")[k]
        assert three(found["/sensor/height"][k][2].vector) == columns(
            "height", (".x", ".y", ".z"), k
        )

        kind, _, moving = found["/tf"][k]
        assert kind == "tf2_msgs/msg/TFMessage"
        for transform in moving.transforms[:: 1 if k == 0 else 5]:
            x, R = dynamics.frame(log.q[k], transform.child_frame_id)
            np.testing.assert_allclose(three(transform.transform.translation), x, atol=1e-12)
            seen = robosim.quaternions.rotation_matrix(four(transform.transform.rotation))
            np.testing.assert_allclose(seen, R, atol=1e-12)
    (_, _, fixed), *more = found["/tf_static"]
    assert more == []
    moving = {t.child_frame_id for t in found["/tf"][0][2].transforms}
    rest = {t.child_frame_id for t in fixed.transforms}
    assert moving | rest == {frame.name for body in a1.bodies for frame in body.frames}
    assert not moving & rest
    foot = next(t for t in fixed.transforms if t.child_frame_id == "FR_foot")
    x0, R0 = dynamics.frame(log.q[0], foot.header.frame_id)
    x = x0 + R0 @ three(foot.transform.translation)
    np.testing.assert_allclose(x, dynamics.frame(log.q[0], "FR_foot")[0], atol=1e-12)


def test_a_robot_that_is_no_urdf_is_described_as_one(tmp_path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    robot = builders.double_pendulum()
    log = Simulation(robot).run(0.01)
    log.save(tmp_path / "run.mcap")
    with open(tmp_path / "run.mcap", "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        messages = list(reader.iter_decoded_messages(topics=["/robot_description"]))
    (tmp_path / "again.urdf").write_text(messages[0][3].data)
    again = robosim.load(tmp_path / "again.urdf")
    assert [joint.name for joint in again.joints] == [joint.name for joint in robot.joints]
    assert again.total_mass == pytest.approx(robot.total_mass)


def test_a_robot_that_cannot_be_urdf_is_refused_before_anything_runs(tmp_path):
    robot = builders.knee_spline()
    with pytest.raises(SaveError):
        LogWriter(tmp_path / "run.mcap", robot, 1e-3)
    assert list(tmp_path.iterdir()) == []


def test_without_the_packages_it_is_said_what_to_install(a1, tmp_path, monkeypatch):
    monkeypatch.setattr("robosim.log.mcap.find_spec", lambda name: None)
    with pytest.raises(LogError, match=r"robosim-variational\[mcap\]"):
        LogWriter(tmp_path / "run.mcap", a1, 1e-3)


@pytest.mark.parametrize(
    ("also", "error", "told"),
    [
        ("sensor", OptionError, "'sensors', 'contacts', 'frames', 'joint_wrenches'"),
        (("contacts", "torques"), OptionError, "torques"),
        ("frame:", ModelError, "frame"),
        ("frame:FR_fot", ModelError, "FR_fot"),
        ("sensor:gyros", ModelError, "gyro"),
        ("contact:imu_link", ModelError, "touches nothing"),
        ("contact:nothing", ModelError, "nothing"),
        ("joint_wrench:FR_hip", ModelError, "FR_hip_joint"),
    ],
)
def test_no_wrong_name_passes(a1, also, error, told, tmp_path):
    a1 = replace(a1, contacts=tuple(c for c in a1.contacts if not c.name.startswith("imu_link")))
    base, *others = a1.bodies
    shapes = tuple(shape for shape in base.collisions if shape.name != "imu_link")
    a1 = replace(a1, bodies=(replace(base, collisions=shapes), *others))
    sim = Simulation(a1)
    with pytest.raises(error, match=told):
        sim.run(0.01, also=also)
    with pytest.raises(error, match=told):
        LogWriter(tmp_path / "run.csv", a1, 1e-3, also=also)
    assert sim.steps == 0
    assert list(tmp_path.iterdir()) == []


def test_all_columns_differ_and_each_channel_comes_once(a1):
    channels = channels_of(a1, ("sensors", "contacts", "frames", "joint_wrenches", "sensor:gyro"))
    columns = [name for channel in channels for name in channel.columns]
    assert len(columns) == len(set(columns))


def test_a_chunk_without_what_the_log_asks_for_is_refused(a1, tmp_path):
    with (
        pytest.raises(LogError, match="extra"),
        LogWriter(tmp_path / "run.csv", a1, 1e-3, also="contacts") as writer,
    ):
        writer.write(next(Simulation(a1).stream(0.01)))


def test_joint_coordinates_log_frames_and_refuse_what_they_do_not_have():
    robot = builders.double_pendulum()
    sim = robosim.MinimalSimulation(robot)
    log = sim.run(0.01, also=("frames", "contacts"))
    x, _ = robosim.Dynamics(robot).frame(log.q[-1], "link2")
    np.testing.assert_allclose([log.column(f"link2.p{i}")[-1] for i in AXES], x, atol=1e-12)
    with pytest.raises(OptionError, match="MinimalSimulation has no joint wrenches"):
        sim.run(0.01, also="joint_wrenches")


def test_what_touches_is_told_by_links():
    """A calf and its foot are one body, and two links, on the ground and on obstacles."""
    for ground in (True, False):
        robot = robosim.load(
            "a1", ground=ground, obstacles=() if ground else (robosim.HalfSpace(),)
        )
        sim = Simulation(robot)
        sim.run(0.02, "stand")
        touching = [c for c in sim.contacts() if np.linalg.norm(c.force) > 1]
        assert {c.link for c in touching} == {f"{leg}_foot" for leg in ("FR", "FL", "RR", "RL")}
        assert {c.body for c in touching} == {f"{leg}_calf" for leg in ("FR", "FL", "RR", "RL")}
        assert {c.other_link for c in touching} == {c.other for c in touching}
        assert isinstance(touching[0], Contact)


def test_the_command_line_logs_and_draws_it(tmp_path):
    path = tmp_path / "run.npz"
    told = subprocess.run(
        [sys.executable, "-m", "robosim", "simulate", "a1", "--seconds", "0.05", "--log", str(path),
         "--every", "10", "--also", "contacts", "--also", "frame:FR_foot", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(told.stdout)["steps"] == 50
    log = Log.load(path)
    assert len(log) == 5
    assert np.isfinite(log.samples.extra).all()
    want = Simulation(robosim.load("a1")).run(0.05, "stand", every=10, also="frame:FR_foot")
    np.testing.assert_array_equal(log.column("FR_foot.pz"), want.column("FR_foot.pz"))
    told = subprocess.run(
        [sys.executable, "-m", "robosim", "simulate", "a1", "--also", "contacts"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode != 0
    assert "--also is for --log" in told.stderr


def test_plots_have_a_panel_for_each_thing(log):
    figure = plot_log(log, columns="FR_foot|gyro")
    titles = [ax.get_title() for ax in figure.axes]
    assert {"FR_foot contact", "FR_foot position", "FR_foot orientation", "gyro"} <= set(titles)
    assert "FL_foot contact" not in titles
    whole = plot_log(log)
    assert "FL_foot contact" in [ax.get_title() for ax in whole.axes]
    assert "trunk contact" not in [ax.get_title() for ax in whole.axes]
    for wrong in ("(", "nothing"):
        with pytest.raises(OptionError):
            plot_log(log, columns=wrong)


def test_tendons_and_sums_have_units():
    robot = builders.double_pendulum()
    names = robot.v_names
    sensors = (
        Sensor("angle", "jointpos", of={names[0]: 1.0}),
        Sensor("rate", "actuatorvel", of={names[0]: 1.0, names[1]: -1.0}),
        Sensor("torque", "actuatorfrc", of={names[0]: 1.0}),
    )
    robot = replace(robot, sensors=sensors)
    units = [unit for c in channels_of(robot, "sensors") for unit in c.units.values()]
    assert units == ["rad", "rad/s", "N m"]
