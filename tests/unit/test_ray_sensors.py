"""Sensors with rays: closed forms, times of samples, noise, batches, logs and messages."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import robosim
from robosim import LogError, ModelError, OptionError, Place, Simulation, StateError, quaternions
from robosim.batch import BatchSimulation
from robosim.collision import HalfSpace, HeightField
from robosim.description.body import Body, Geometry
from robosim.description.joint import Joint
from robosim.dynamics import Dynamics
from robosim.log import Log, LogWriter
from robosim.sensors import DepthCamera, HeightScan, Lidar, RangeFinder, Sensor

TURN = np.array((0.9, 0.1, -0.2, 0.3)) / np.linalg.norm((0.9, 0.1, -0.2, 0.3))
DT, FLOOR = 2e-3, (HalfSpace(),)


def ball(*sensors, obstacles=FLOOR, radius=0.1):
    """A free ball in a world."""
    body = Body("b", 1.0, 0.004 * np.eye(3), collisions=(Geometry("sphere", (radius,)),))
    joint = Joint("j", "floating", None, "b")
    return robosim.Mechanism("m", (body,), (joint,), obstacles=obstacles, sensors=sensors)


def at(robot, *q):
    sim = Simulation(robot, DT)
    sim.set_state(np.array(q, dtype=float))
    return sim


def distance_to_plane(sim, sensor):
    """Along each ray to z = 0."""
    p, R = sim.frame("b")
    place = sensor.place
    start = p + R @ place.position
    ways = sensor.rays @ (R @ quaternions.rotation_matrix(place.quaternion)).T
    with np.errstate(divide="ignore"):
        return np.where(ways[:, 2] < 0, -start[2] / ways[:, 2], np.inf)


def test_a_lidar_over_a_plane():
    lidar = Lidar("l", "b", 9, 40, vertical=(-1.5, 0.3), position=(0.1, 0.2, 0), range=50.0)
    sim = at(ball(lidar), 0.3, -0.2, 1.7, *TURN)
    expected = distance_to_plane(sim, sim.robot.sensor("l"))
    expected[expected > 50] = np.inf
    found = sim.sensor("l")
    assert found.shape == (9, 40)
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12)
    sample = sim.sample("l")
    np.testing.assert_allclose(sample.cloud[:, 2], 0.0, atol=1e-12)
    assert len(sample.cloud) == np.count_nonzero(np.isfinite(expected)) > 50
    assert np.isnan(sample.points[np.isinf(found)]).all()


def test_a_lidar_in_a_sphere_sees_its_radius():
    shell = Geometry("sphere", (4.0,), (0.0, 0.0, 1.0))
    sim = at(ball(Lidar("l", "b", 7, 30, vertical=(-1.57, 1.57)), obstacles=(shell,)),
             0, 0, 1.0, *TURN)  # fmt: skip
    np.testing.assert_allclose(sim.sensor("l"), 4.0, rtol=1e-12)


def test_angles_of_a_lidar():
    whole = Lidar("l", "b", 1, 8)
    np.testing.assert_allclose(whole.angles[0], np.pi * (np.arange(8) / 4 - 1))
    assert whole.angles[1] == [0.0]
    part = Lidar("l", "b", 3, 5, (-1.0, 1.0), (-0.2, 0.4))
    np.testing.assert_allclose(part.angles[0], np.linspace(-1, 1, 5))
    np.testing.assert_allclose(part.angles[1], (-0.2, 0.1, 0.4))
    np.testing.assert_allclose(part.rays.reshape(3, 5, 3)[0, 2], (np.cos(0.2), 0, -np.sin(0.2)))


@pytest.mark.parametrize("axes", ["link", "optical", "opengl"])
def test_a_camera_over_a_plane(axes):
    camera = DepthCamera("c", "b", 20, 14, (1.2, 0.9), 30.0, axes)
    # Where it looks is down, whatever the axes.
    down = {
        "link": (np.sqrt(0.5), 0, np.sqrt(0.5), 0),
        "optical": (0.0, 1, 0, 0),
        "opengl": (1.0, 0, 0, 0),
    }
    sim = at(ball(replace(camera, quaternion=down[axes])), 0, 0, 2.5, 1, 0, 0, 0)
    np.testing.assert_allclose(sim.sensor("c"), 2.5, rtol=1e-12)
    points = sim.sample("c").points
    np.testing.assert_allclose(points[..., 2], 0.0, atol=1e-12)
    across = np.abs(points[0, 0] - points[0, -1])
    expected = 2 * 2.5 * np.tan(0.6) * 19 / 20
    np.testing.assert_allclose(np.linalg.norm(across), expected, rtol=1e-12)


def test_a_camera_sees_a_sphere_where_it_is():
    sphere = Geometry("sphere", (0.5,), (3.0, 0.4, 1.2))
    camera = DepthCamera("c", "b", 41, 31, 1.0)
    sim = at(ball(camera, obstacles=(sphere,)), 0, 0, 1.0, 1, 0, 0, 0)
    seen = sim.sensor("c")
    d = camera.rays
    along = d @ (3.0, 0.4, 0.2)
    off = 0.25 - (9 + 0.16 + 0.04) + along**2
    t = np.where(off > 0, along - np.sqrt(np.maximum(off, 0)), np.inf)
    np.testing.assert_allclose(seen.ravel(), t * d[:, 0], rtol=1e-12)
    # Left of the middle, and above it.
    rows, columns = np.nonzero(np.isfinite(seen))
    assert columns.mean() < 20 - 2
    assert rows.mean() < 15 - 1


def test_a_height_scan_follows_the_heading():
    heights = 0.3 * np.random.default_rng(0).random((30, 30))
    hills = HeightField(heights, (6.0, 6.0))
    scan = HeightScan("h", "b", (np.linspace(-0.4, 0.8, 7), np.linspace(-0.5, 0.5, 5)))
    yaw, tilt = 0.8, 0.3
    turn = quaternions.multiply(
        (np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)), (np.cos(tilt / 2), 0, np.sin(tilt / 2), 0)
    )
    sim = at(ball(scan, obstacles=(hills,)), 0.5, -0.3, 1.4, *turn)
    found, sample = sim.sensor("h"), sim.sample("h")
    assert found.shape == (7, 5)
    c, s = np.cos(yaw), np.sin(yaw)
    for i, x in enumerate(scan.grid[0]):
        for j, y in enumerate(scan.grid[1]):
            place = (0.5 + c * x - s * y, -0.3 + s * x + c * y)
            below = sim.cast((*place, 5.0), (0, 0, -1), exclude="b").point
            assert found[i, j] == pytest.approx(1.4 - below[2], abs=1e-12)
            np.testing.assert_allclose(sample.points[i, j], below, atol=1e-12)


def test_ranges_are_of_rep_117():
    lidar = Lidar("l", "b", 1, 4, range=(0.5, 2.0))
    walls = (Geometry("box", (0.2, 1, 1), (0.4, 0, 1)), Geometry("box", (0.2, 1, 1), (-1.1, 0, 1)),
             Geometry("box", (1, 0.2, 1), (0, 3.1, 1)))  # fmt: skip
    sim = at(ball(lidar, obstacles=walls), 0, 0, 1, 1, 0, 0, 0)
    # Behind, to the right, ahead and to the left.
    np.testing.assert_allclose(sim.sensor("l")[0], (1.0, np.inf, -np.inf, np.inf), rtol=1e-12)


def test_the_own_body_is_passed_unless_asked_for():
    beam = Lidar("l", "b", 1, 4)
    sim = at(ball(beam, obstacles=()), 0, 0, 1, 1, 0, 0, 0)
    assert np.isinf(sim.sensor("l")).all()
    sim = at(ball(replace(beam, exclude=()), obstacles=()), 0, 0, 1, 1, 0, 0, 0)
    np.testing.assert_allclose(sim.sensor("l"), 0.1, rtol=1e-12)


def test_frames_are_found_by_name():
    a1 = robosim.load("a1")
    robot = a1.with_sensors([Lidar("l", "imu_link", 1, 4), Lidar("w", "world", 1, 4),
                             Lidar("foot", Place("FR_foot", (0, 0, 0.1)), 1, 4)])  # fmt: skip
    sim = Simulation(robot)
    p, R = sim.frame("imu_link")
    sample = sim.sample("l")
    np.testing.assert_allclose(sample.position, p, atol=1e-14)
    np.testing.assert_allclose(sample.rotation, R, atol=1e-14)
    p, R = sim.frame("FR_foot")
    np.testing.assert_allclose(sim.sample("foot").position, p + R @ (0, 0, 0.1), atol=1e-14)
    assert np.all(sim.sample("w").position == 0)
    assert replace(robot, name="again").sensor("foot").place.body == "FR_calf"


def test_sensors_are_told_and_copied():
    robot = robosim.load("a1").with_sensors(SENSORS)
    told = repr(robot.sensors)
    for sensor in robot.sensors:
        assert f"{type(sensor).__name__}(name='{sensor.name}'" in told
    other = pickle.loads(pickle.dumps(robot))
    for one, same in zip(robot.sensors, copy.deepcopy(other).sensors, strict=True):
        np.testing.assert_array_equal(one.rays, same.rays)
        assert one.place.body == same.place.body


def test_sensors_are_combined_with_their_robots():
    robot = robosim.load("a1").with_sensors(
        [Lidar("l", "trunk", 2, 4, exclude=("trunk", "FR_foot", "world")), HeightScan("h", "trunk")]
    )
    both = robot.add(robot, position=(2.0, 0, 0), prefix="second/")
    assert [one.name for one in both.sensors] == ["l", "h", "second/l", "second/h"]
    assert both.sensor("second/l").exclude == ("second/trunk", "second/FR_foot", "world")
    sim = Simulation(both)
    shift = sim.sample("second/l").position - sim.sample("l").position
    np.testing.assert_allclose(shift, (2.0, 0, 0), atol=1e-12)
    assert both.with_sensors(Lidar("l", "trunk", 1, 1)).sensor("l").shape == (1, 1)


def noisy(**options):
    """A ball over a plane that looks down and around."""
    return Lidar("l", "b", 4, 50, vertical=(-1.5, -0.2), **options)


def test_noise_is_normal_and_dropout_as_probable_as_asked():
    exact, loud = (at(ball(noisy(**o)), 0, 0, 1, 1, 0, 0, 0)
                   for o in ({}, {"noise": 0.02, "dropout": 0.3}))  # fmt: skip
    far = np.isinf(exact.sensor("l"))
    errors, lost = [], []
    for _ in range(60):
        for one in (exact, loud):
            one.step()
        off = loud.sensor("l") - exact.sensor("l")
        lost.append(np.isnan(loud.sensor("l")).mean())
        errors.append(off[np.isfinite(off) & ~far])
    every = np.concatenate(errors)
    assert abs(every.mean()) < 4 * 0.02 / np.sqrt(len(every))
    assert every.std() == pytest.approx(0.02, rel=0.03)
    assert np.mean(lost) == pytest.approx(0.3, abs=0.02)


def test_noise_makes_no_negative_distance():
    sim = at(ball(Lidar("l", "b", 4, 50, exclude=(), noise=1.0, range=(0.05, 9.0))), 0, 0, 1,
             1, 0, 0, 0)  # fmt: skip
    found = sim.sensor("l")
    assert found.min() == 0.0
    assert found.max() > 1.0
    near = at(ball(Lidar("l", "b", 4, 50, exclude=(), noise=1.0, range=(0.2, 9.0))), 0, 0, 1,
              1, 0, 0, 0)  # fmt: skip
    assert np.all(near.sensor("l") == -np.inf)


def test_noise_depends_on_seed_name_state_and_sample_alone():
    def read(steps=3, number=0, name="l", **options):
        robot = ball(replace(noisy(noise=0.1, dropout=0.1, **options), name=name))
        sim = at(robot, 0, 0, 1, 1, 0, 0, 0)
        sim.number = number
        for _ in range(steps):
            sim.set_state(sim.q, time=sim.time + DT)  # the same pose at the next sample
        return sim.sensor(name)

    first = read()
    np.testing.assert_array_equal(read(), first)
    for other in (read(seed=1), read(number=1), read(name="k"), read(steps=4)):
        off = other - first
        assert np.std(off[np.isfinite(off)]) > 0.1
    sim = at(ball(noisy(noise=0.1)), 0, 0, 1, 1, 0, 0, 0)
    np.testing.assert_array_equal(sim.sensor("l"), sim.sensor("l"))


def moving(*sensors):
    """A ball that falls and turns."""
    sim = Simulation(ball(*sensors), DT)
    sim.set_state([0, 0, 1.5, 1, 0, 0, 0], [0.3, 0.1, 1.0, 0.5, 1.0, 2.0])
    return sim


def knots(sim, n):
    """Exact readings and times of all knots."""
    found = []
    for _ in range(n):
        found.append((sim.time, sim.sensor("l")))
        sim.step()
    return found


@pytest.mark.parametrize(("rate", "delay"), [(50, 0.0), (50, 0.013), (70, 0.03), (None, 0.01)])
def test_readings_are_the_last_sample_before_the_delay(rate, delay):
    exact = knots(moving(noisy()), 60)
    sim = moving(noisy(rate=rate, delay=delay))
    period = DT if rate is None else 1.0 / rate
    for t, _ in exact:
        sample = sim.sample("l")
        k = np.floor((t - delay) / period + 1e-6)
        taken = 0 if k <= 0 else next(n for n, (s, _) in enumerate(exact) if s > k * period - 1e-9)
        assert sample.time == pytest.approx(exact[taken][0], abs=1e-12)
        np.testing.assert_array_equal(sample.values, exact[taken][1])
        sim.step()


@pytest.mark.parametrize("rate", [None, 70])
def test_divided_runs_give_the_same_values(rate):
    def run(parts):
        sim = moving(noisy(rate=rate, delay=0.011, noise=0.05, dropout=0.1))
        sim.switch_on("l")
        for n in parts:
            sim.run(n * DT, "zero")
        return sim

    whole = run([60])
    for parts in ([1] * 60, [7, 23, 30], [59, 1]):
        other = run(parts)
        np.testing.assert_array_equal(other.sensor("l"), whole.sensor("l"))
        assert other.q.tobytes() == whole.q.tobytes()
    plain = moving(noisy(rate=rate, delay=0.011))
    plain.run(60 * DT, "zero")
    assert plain.q.tobytes() == whole.q.tobytes()
    assert plain._driver.samples is None


def test_a_sensor_that_is_switched_on_late_reads_nothing_until_its_sample():
    sim = moving(noisy(rate=50, delay=0.013))
    sim.run(0.05, "zero")
    sample = sim.sample("l")
    assert np.isnan(sample.time)
    assert np.isnan(sample.values).all()
    assert len(sample.cloud) == 0
    beside = moving(noisy(rate=50, delay=0.013))
    beside.switch_on("l")
    beside.run(0.08, "zero")
    sim.run(0.03, "zero")
    assert sim.sample("l").time == beside.sample("l").time == 0.06
    np.testing.assert_array_equal(sim.sensor("l"), beside.sensor("l"))


def test_copies_and_restores_have_the_samples_too():
    sim = moving(noisy(rate=50, delay=0.013, noise=0.1))
    sim.switch_on("l")
    sim.run(0.05, "zero")
    other, third = sim.copy(), moving(noisy(rate=50))
    third = Simulation(sim.robot, DT)
    third.restore(sim)
    for one in (other, third):
        np.testing.assert_array_equal(one.sensor("l"), sim.sensor("l"))
        one.run(0.03, "zero")
    sim.run(0.03, "zero")
    for one in (other, third):
        np.testing.assert_array_equal(one.sensor("l"), sim.sensor("l"))
    sim.set_state(time=3.0)
    assert sim.sample("l").time == 3.0


@pytest.mark.parametrize("lanes", [False, True])
def test_a_batch_reads_what_its_states_do(lanes):
    a1 = robosim.load("a1").with_sensors(
        [Lidar("l", "trunk", 3, 20, noise=0.01, dropout=0.1),
         HeightScan("h", "trunk", ((0.0, 0.2), (-0.1, 0.1)), noise=0.01),
         DepthCamera("late", "trunk", 6, 5, rate=50, delay=0.02, noise=0.01)]
    )  # fmt: skip
    batch = BatchSimulation(a1, 9, DT, lanes=lanes)
    q = batch.q.copy()
    q[:, 2] += np.linspace(0, 0.1, 9)
    batch.set_state(q)
    sims = [Simulation(a1, DT) for _ in range(9)]
    for i, sim in enumerate(sims):
        sim.set_state(q[i])
        sim.number = i
        sim.switch_on("late")
    also = ("sensor:l", "sensor:h", "sensor:late")
    run = batch.bind(10, controller="stand", also=also)
    for _ in range(3):
        run.step()
        for sim in sims:
            sim.run(10 * DT, "stand")
        for word in also:
            name = word.partition(":")[2]
            found = batch.sensor(name)
            np.testing.assert_array_equal(found, run.readings[word])
            expected = np.array([sim.sensor(name) for sim in sims])
            np.testing.assert_allclose(found, expected, rtol=1e-6 if lanes else 0, atol=0)
    assert batch.readings("late").times == pytest.approx(0.04)
    np.testing.assert_array_equal(batch[4].sensor("l"), batch.sensor("l")[4])
    batch.set_state(q[3:4], index=[3])
    assert batch.readings("late").times[3] == 0.0


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("bound", [False, True])
def test_samples_within_calls_of_a_batch_are_those_of_single_simulations(bound, lanes):
    """Of a rate that fits no call, with a delay, where a call has several samples or none."""
    sensors = noisy(rate=70), Lidar("late", "b", 2, 5, rate=90, delay=0.013)
    robot = ball(*sensors)
    batch = BatchSimulation(robot, 9, DT, lanes=lanes)
    q = np.tile([0, 0, 1.0, 1, 0, 0, 0], (9, 1))
    q[:, 2] += np.linspace(0, 0.1, 9)
    batch.set_state(q)
    plain = BatchSimulation(robot, 9, DT, lanes=lanes)
    plain.set_state(q)
    sims = [Simulation(robot, DT) for _ in range(9)]
    for i, sim in enumerate(sims):
        sim.set_state(q[i])
        sim.number = i
    for one in (batch, *sims):
        for name in ("l", "late"):
            one.sensor(name)
    run = batch.bind(30) if bound else None
    for _ in range(4):
        if run is None:
            batch.rollout(30)
        else:
            run.step()
        plain.rollout(30)
        np.testing.assert_array_equal(batch.q, plain.q)
        for i, sim in enumerate(sims):
            sim.run(30 * DT)
            for name in ("l", "late"):
                found, expected = batch.readings(name), sim.sample(name)
                assert found.times[i] == pytest.approx(expected.time, abs=1e-12)
                wanted = pytest.approx(expected.values, rel=1e-6 if lanes else 1e-15)
                assert batch.sensor(name)[i] == wanted


def test_robots_of_a_batch_that_differ_have_their_own_places():
    first = ball(noisy(), HeightScan("h", "b"))
    above = Place("b", (0, 0, 0.5))
    others = replace(noisy(), frame=above), HeightScan("h", above)
    robots = [first, replace(first, sensors=others)]
    batch = BatchSimulation(robots, timestep=DT, lanes=False)
    batch.set_state(np.tile([0, 0, 1, 1, 0, 0, 0], (2, 1)))
    np.testing.assert_allclose(batch.sensor("h").ravel(), (1.0, 1.5), rtol=1e-14)
    near, far = batch.sensor("l")
    np.testing.assert_allclose(far[0], 1.5 * near[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Lidar("x", "b", rings=0), "sensor 'x': rings must be a whole number .*not 0"),
        (lambda: Lidar("x", "b", columns=2.5), "columns must be a whole number .*not 2.5"),
        (lambda: Lidar("x", "b", range=-1.0), "range must be a distance.*not -1.0"),
        (lambda: Lidar("x", "b", range=(2.0, 1.0)), "range must be"),
        (lambda: Lidar("x", "b", range=np.nan), "range must be .*nan"),
        (lambda: Lidar("x", "b", vertical=(-2.0, 0.0)), "vertical must be .*-pi/2 to pi/2"),
        (lambda: Lidar("x", "b", horizontal=(0.0, 7.0)), "horizontal must be .* 6.28319 apart"),
        (lambda: Lidar("x", "b", horizontal=(1.0, 0.0)), "horizontal must be"),
        (lambda: Lidar("x", "b", rings=100000, columns=100000), "10000000000 measurements"),
        (lambda: Lidar("x", "b", noise=-0.1), "noise must not be negative, not -0.1"),
        (lambda: Lidar("x", "b", noise=np.nan), "noise must be finite"),
        (lambda: Lidar("x", "b", dropout=1.5), "dropout must be from 0 to 1, not 1.5"),
        (lambda: Lidar("x", "b", delay=-1e-3), "delay must not be negative"),
        (lambda: Lidar("x", "b", rate=0.0), "rate must be positive, or None, not 0.0"),
        (lambda: Lidar("x", "b", rate=np.inf), "rate must be finite"),
        (lambda: Lidar("x", "b", seed=-1), "seed must be a whole number"),
        (lambda: Lidar("x", "b", geometry="seen"), "geometry must be one of collision"),
        (lambda: Lidar("x", 3), "frame must be a name or a Place, not 3"),
        (lambda: DepthCamera("x", "b", 0, 4), "width must be a whole number .*not 0"),
        (lambda: DepthCamera("x", "b", 50000, 20000), "20000 x 50000 are 1000000000"),
        (lambda: DepthCamera("x", "b", fov=np.pi), "fov must be above 0 and below pi"),
        (lambda: DepthCamera("x", "b", fov=(1.0, 0.0)), "fov must be above 0 and below pi"),
        (lambda: DepthCamera("x", "b", axes="up"), "axes must be one of link, optical, opengl"),
        (lambda: HeightScan("x", "b", ((), (0.0,))), "grid must be"),
        (lambda: HeightScan("x", "b", ((0.0,), (np.nan,))), "grid must be"),
        (lambda: HeightScan("x", "b", ((0.0,), (0.0,)), -1.0), "range must be a height above zero"),
        (lambda: RangeFinder("x", "b", ("point", "dist")), "data must be some of dist"),
        (lambda: ball(Lidar("x", "c")), "sensor 'x': frame 'c' does not exist"),
        (lambda: ball(Lidar("x", Place("c"))), "frame: body 'c' does not exist"),
        (lambda: ball(Lidar("x", "b", exclude=("c",))), "exclude: no body or frame 'c'"),
        (lambda: ball(Lidar("x", "b"), Lidar("x", "b")), "x"),
        (lambda: ball("lidar"), "sensors must be each a Sensor or RaySensor"),
        (lambda: Lidar("x", "b").place, "frame 'b' is that of a mechanism"),
    ],
)
def test_bad_sensors_are_refused_by_name(make, told):
    with pytest.raises(ModelError, match=told):
        make()


def test_bad_readings_are_refused():
    sim = at(ball(noisy(rate=600.0), Sensor("g", "gyro", place=Place("b"))), 0, 0, 1, 1, 0, 0, 0)
    with pytest.raises(OptionError, match=r"sensor 'l': rate must be at most 500 Hz.*not 600"):
        sim.sensor("l")
    with pytest.raises(StateError, match="sensor 'g' of kind 'gyro' has no rays"):
        sim.sample("g")
    with pytest.raises(ModelError, match="no sensor 'k'"):
        sim.sample("k")


SENSORS = (
    Lidar("cloud", "trunk", 6, 40, rate=100, noise=0.01, position=(0.2, 0, 0.1), exclude=()),
    Lidar("flat", "trunk", 1, 30, vertical=(0, 0), quaternion=TURN, range=5.0),
    DepthCamera("eye", "trunk", 12, 9, rate=50, delay=0.013, position=(0.3, 0, 0)),
    HeightScan("scan", "trunk", (np.linspace(-0.5, 0.5, 11), np.linspace(-0.4, 0.4, 9))),
    HeightScan("small", "trunk", (np.linspace(-0.5, 0.5, 5), (0.0,)), rate=100),
    RangeFinder("beam", "trunk", exclude=("trunk",)),
)


@pytest.fixture(scope="module")
def log():
    robot = robosim.load("a1").with_sensors(SENSORS)
    sim = Simulation(robot, DT)
    sim.place()
    return sim.run(0.1, "stand", also="sensors")


def test_small_readings_are_columns(log):
    sim = Simulation(log.robot, DT)
    sim.place()
    assert [name for name in log.info.extra if name.startswith("small")] == [
        "small.time", *(f"small.r{k}" for k in range(5))]  # fmt: skip
    assert log.info.units["small.r0"] == "m"
    for k in range(len(log)):
        sample = sim.sample("small")
        assert log.column("small.time")[k] == sample.time
        for i, value in enumerate(sample.values.ravel()):
            assert log.column(f"small.r{i}")[k] == value
        assert log.column("beam.value")[k] == sim.sensor("beam")
        sim.run(DT, "stand")


def test_large_readings_are_arrays(log):
    assert log.info.scans == {"cloud": (6, 40), "eye": (9, 12), "scan": (11, 9)}
    times, values = log.scan("eye")
    np.testing.assert_allclose(times, (0.0, 0.02, 0.04, 0.06, 0.08), atol=1e-12)
    assert values.shape == (5, 9, 12)
    assert log.scan("scan")[1].shape == (50, 11, 9)
    sim = Simulation(log.robot, DT)
    sim.place()
    sim.switch_on("eye")
    sim.run(0.094, "stand")
    np.testing.assert_array_equal(sim.sensor("eye").astype(np.float32), values[-1])
    with pytest.raises(LogError, match="no readings of 'eyes' that are arrays"):
        log.scan("eyes")


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".mcap"])
def test_formats_keep_large_readings(log, suffix, tmp_path):
    path = tmp_path / f"run{suffix}"
    log.save(path)
    back = Log.load(path)
    assert back.info == log.info
    np.testing.assert_array_equal(back.samples.extra, log.samples.extra)
    for name in log.info.scans:
        for found, expected in zip(back.scan(name), log.scan(name), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_csv_file_has_no_arrays(log, tmp_path):
    with pytest.raises(LogError, match=r"readings of cloud, eye, scan are no columns of a CSV"):
        log.save(tmp_path / "run.csv")
    assert list(tmp_path.iterdir()) == []


def test_divided_and_thinned_logs_have_the_same_samples(log, tmp_path):
    sim = Simulation(log.robot, DT)
    sim.place()
    with LogWriter(tmp_path / "run.parquet", sim.robot, DT, every=5, also="sensors") as writer:
        for _ in range(4):
            for chunk in sim.stream(0.024, "stand", also="sensors", chunk_steps=7):
                writer.write(chunk)
    back = Log.load(tmp_path / "run.parquet")
    for name in ("cloud", "eye"):
        times, values = back.scan(name)
        assert len(times) >= 4
        every, expected = log.scan(name)
        chosen = np.searchsorted(every, times - 1e-9)
        np.testing.assert_array_equal(values, expected[chosen])


def messages_of(path):
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    found: dict[str, list] = {}
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for schema, channel, _, told in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((schema.name, told))
    return found


def three(vector):
    return np.array([vector.x, vector.y, vector.z])


def pose_of(found, frame, k):
    """Position and axes in the world of a frame, by the transforms of sample k."""

    def pose(one):
        q = one.transform.rotation
        return three(one.transform.translation), quaternions.rotation_matrix((q.w, q.x, q.y, q.z))

    every = {t.child_frame_id: t for t in found["/tf"][k][1].transforms}
    every |= {t.child_frame_id: t for t in found["/tf_static"][0][1].transforms}
    x, R = np.zeros(3), np.eye(3)
    while frame != "world":
        p, turn = pose(every[frame])
        x, R, frame = p + turn @ x, turn @ R, every[frame].header.frame_id
    return x, R


def test_messages_are_those_of_ros(log, tmp_path):
    path = tmp_path / "run.mcap"
    log.save(path)
    found = messages_of(path)
    dynamics = Dynamics(log.robot)
    every = {"/cloud": 10, "/flat": 50, "/eye/image": 5, "/eye/camera_info": 5, "/scan": 50,
             "/small": 10, "/sensor/beam": 50}  # fmt: skip
    assert {topic: len(found[topic]) for topic in every} == every

    def stamped(told):
        return told.header.stamp.sec + 1e-9 * told.header.stamp.nanosec

    def points_of(told):
        data = np.frombuffer(bytes(told.data), dtype="<f4")
        assert [f.name for f in told.fields] == ["x", "y", "z", "range"]
        assert told.row_step * told.height == len(told.data)
        return data.reshape(told.height, told.width, 4)

    for name, shape in (("cloud", (6, 40)), ("scan", (11, 9))):
        times, values = log.scan(name)
        for (kind, told), time, value in zip(found[f"/{name}"], times, values, strict=True):
            assert kind == "sensor_msgs/msg/PointCloud2"
            assert (told.height, told.width) == shape
            assert stamped(told) == pytest.approx(time, abs=1e-9)
            np.testing.assert_array_equal(points_of(told)[..., 3], value)
    # In the world, the points of a scan lie on the ground, and so do those of the lidar below.
    for name in ("scan", "cloud"):
        for _, told in found[f"/{name}"]:
            k = round(stamped(told) / DT)
            x, R = pose_of(found, told.header.frame_id, k)
            world = points_of(told)[..., :3] @ R.T + x
            low = world[..., 2][np.isfinite(world[..., 2])]
            assert low.min() > -0.05
            if name == "scan":
                np.testing.assert_allclose(low, 0.0, atol=1e-6)
    kind, told = found["/flat"][3]
    assert kind == "sensor_msgs/msg/LaserScan"
    flat = [log.column(f"flat.r{i}")[3] for i in range(30)]
    np.testing.assert_array_equal(told.ranges, np.array(flat, dtype=np.float32))
    assert told.angle_min == pytest.approx(-np.pi)
    assert told.angle_increment == pytest.approx(2 * np.pi / 30)
    assert told.range_max == 5.0
    kind, told = found["/eye/image"][2]
    assert kind == "sensor_msgs/msg/Image"
    assert (told.encoding, told.height, told.width, told.step) == ("32FC1", 9, 12, 48)
    picture = np.frombuffer(bytes(told.data), dtype="<f4").reshape(9, 12)
    times, values = log.scan("eye")
    np.testing.assert_array_equal(picture, values[2])
    # By the camera's matrix and frame, what it sees is on the ground z = 0.
    info = found["/eye/camera_info"][2][1]
    fx, _, cx, _, fy, cy, *_ = info.k
    row, column = np.argwhere(np.isfinite(picture))[-1]
    depth = picture[row, column]
    seen = np.array([(column - cx) / fx * depth, (row - cy) / fy * depth, depth])
    k = round(stamped(told) / DT)
    x, R = pose_of(found, info.header.frame_id, k)
    assert (R @ seen + x)[2] == pytest.approx(0.0, abs=1e-6)
    assert dynamics.frame(log.q[k], "trunk")[0][2] > 0.2
