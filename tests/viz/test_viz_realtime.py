"""Pacing against a clock that the test turns, and the live loop on a stand-in simulation."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest

from robosim import OptionError, Simulation
from robosim.viz import RealTimePacer, Recorder, Viewer, live


class FakeClock:
    """Time that passes only when slept or worked."""

    def __init__(self, oversleep: float = 0.0) -> None:
        self.now = 100.0
        self.oversleep = oversleep

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds + self.oversleep


def pacer_on(clock: FakeClock, **options) -> RealTimePacer:
    return RealTimePacer(clock=clock, sleep=clock.sleep, **options)


@pytest.mark.parametrize("speed", [0.25, 1.0, 4.0])
def test_sleeping_too_long_does_not_add_up(speed):
    clock = FakeClock(oversleep=0.002)
    pacer = pacer_on(clock, speed=speed)
    for k in range(1, 601):
        clock.now += 0.001  # the work
        pacer.wait(k / 60)
    assert clock.now - 100.0 == pytest.approx(10 / speed, abs=0.003)
    assert pacer.real_time_factor == pytest.approx(speed, rel=1e-3)


def test_a_short_hitch_is_made_up_for():
    clock = FakeClock()
    pacer = pacer_on(clock, max_lag=0.1)
    clock.now += 0.08
    assert pacer.wait(1 / 60) == pytest.approx(0.08 - 1 / 60)
    for k in range(2, 61):
        pacer.wait(k / 60)
    assert clock.now - 100.0 == pytest.approx(1.0)


def test_a_slow_simulation_is_not_chased():
    clock = FakeClock()
    pacer = pacer_on(clock, max_lag=0.1)
    for k in range(1, 61):
        clock.now += 0.1  # six times too slow
        pacer.wait(k / 60)
    assert pacer.real_time_factor == pytest.approx(1 / 6, rel=1e-6)
    # Once it is fast again it keeps real time: the five seconds lost are not raced through.
    start = clock.now
    for k in range(61, 121):
        pacer.wait(k / 60)
    assert clock.now - start == pytest.approx(1.0, abs=0.11)


def test_infinite_speed_never_sleeps():
    clock = FakeClock()
    pacer = pacer_on(clock, speed=math.inf)
    for k in range(100):
        pacer.wait(float(k))
    assert clock.now == 100.0


@pytest.mark.parametrize("options", [{"speed": 0}, {"speed": math.nan}, {"max_lag": -1}])
def test_pacer_refuses(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        RealTimePacer(**options)


class FakeSimulation:
    """The part of Simulation that ``live`` uses: the box of the fixture moves along x."""

    def __init__(self, robot, timestep: float = 1e-3, cost: float = 0.0) -> None:
        self.robot, self.timestep, self.cost = robot, timestep, cost
        self.steps = 0
        self.chunk_sizes: list[int] = []

    @property
    def time(self) -> float:
        return self.steps * self.timestep

    @property
    def state(self):
        x = np.zeros((2, 3))
        x[0, 0] = self.time
        return SimpleNamespace(x=x, q=np.tile([1.0, 0, 0, 0], (2, 1)))

    @property
    def q(self):
        return np.zeros(self.robot.nq)

    @property
    def v(self):
        return np.zeros(self.robot.nv)

    def energy(self):
        return 0.0

    def contact_positions(self):
        return np.zeros((2, 3))

    def contact_forces(self):
        return np.zeros((2, 3))

    def contacts(self, ground):
        return []

    def stream(self, seconds, controller=None, chunk_steps=None):
        left = round(seconds / self.timestep) if math.isfinite(seconds) else math.inf
        while left > 0:
            n = min(left, chunk_steps)
            time.sleep(self.cost * n)
            self.steps += n
            left -= n
            self.chunk_sizes.append(n)
            tau = np.zeros((n, self.robot.nu))
            yield SimpleNamespace(t=self.time, tau=tau, iterations=np.ones(n))


class FakeViewer:
    """Takes what is shown, and asks for what the test has written down: (at frame, command)."""

    def __init__(self, *asked) -> None:
        self.times: list[float] = []
        self.documents: dict = {}
        self.samples: list = []
        self.pulls: list = []
        self.refused: list = []
        self.asked = list(asked)

    def update(self, x, q, contact_positions, contact_forces, time, pulls, violations) -> None:
        self.times.append(time)
        self.pulls.append(pulls)

    def document(self, name, content) -> None:
        self.documents[name] = content

    def rows(self, rows) -> None:
        self.samples.extend(rows)

    def replace(self, robot) -> None:
        self.robots = [*getattr(self, "robots", []), robot]

    def commands(self):
        due = [command for frame, command in self.asked if frame <= len(self.times)]
        self.asked = self.asked[len(due) :]
        return due

    def refuse(self, reason, message) -> None:
        self.refused.append((reason, message))

    def wait(self, timeout) -> None:
        self.times.append(self.times[-1])  # so that what is asked while paused comes due


def test_live_keeps_real_time_and_shows_every_interval(robot):
    sim, viewer, chunks = FakeSimulation(robot), FakeViewer(), []
    report = live(sim, seconds=0.5, viewer=viewer, on_frame=chunks.append)
    assert sim.time == pytest.approx(0.5)
    assert report.simulated_seconds == pytest.approx(0.5)
    # Never early; late by what a busy machine adds.
    assert 0.95 * 0.48 < report.wall_seconds < 3.0
    assert report.frames == len(chunks) == len(viewer.times) - 1
    assert max(sim.chunk_sizes) == 17
    assert viewer.times[0] == 0.0
    assert viewer.times[-1] == sim.time


def test_live_slower_than_real_time_still_ends_and_says_so(robot):
    sim = FakeSimulation(robot, cost=5e-3)
    report = live(sim, seconds=0.1)
    assert sim.time == pytest.approx(0.1)
    assert report.real_time_factor < 0.3


def test_live_records_at_the_recorders_rate(robot):
    sim, recorder = FakeSimulation(robot), Recorder(robot, fps=20)
    live(sim, seconds=1.0, recorder=recorder, speed=math.inf)
    assert len(recorder) in (20, 21)


def test_live_without_an_end_runs_until_interrupted(robot):
    sim = FakeSimulation(robot)

    def stop(chunk) -> None:
        if sim.time > 0.2:
            raise KeyboardInterrupt

    report = live(sim, seconds=None, on_frame=stop, speed=math.inf)
    assert 0.2 < sim.time < 0.3
    assert report.frames > 3
    with pytest.raises(KeyboardInterrupt):  # of a run that was to go on
        live(sim, seconds=1.0, on_frame=stop, speed=math.inf)


@pytest.mark.parametrize("options", [{"seconds": -1}, {"seconds": math.nan}, {"fps": 0}])
def test_live_refuses(robot, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        live(FakeSimulation(robot), **options)


def test_live_shows_and_records_a_real_simulation(robot, tmp_path):
    sim = Simulation(robot, timestep=2e-3)
    sim.set_state(np.array([0, 0, 0.2, 1, 0, 0, 0, 0.0]))
    recorder = Recorder(robot)
    with Viewer(robot) as viewer:
        report = live(sim, "zero", 0.2, viewer, recorder, speed=math.inf)
        assert viewer.alive
    assert sim.time == pytest.approx(0.2)
    assert report.simulated_seconds == pytest.approx(0.2)
    assert len(recorder) >= 6
    assert recorder.save(tmp_path / "run.html").stat().st_size > 800_000


def test_a_run_that_is_recorded_is_of_one_robot(robot):
    with pytest.raises(OptionError, match="cannot go on with another robot"):
        live(FakeSimulation(robot), recorder=Recorder(robot), seconds=0.1, renew=lambda: None)
