"""Logs: every format keeps every digit, and nothing that went wrong is passed off as a log."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robosim import Body, Joint, LogError, Mechanism, OptionError
from robosim.log import Chunk, Log, LogInfo, LogWriter, RunStatistics, partial_path, read_log

SUFFIXES = (".parquet", ".csv", ".npz")
TIMESTEP = 1e-3


def body(name: str) -> Body:
    return Body(name, 1.0, np.eye(3))


@pytest.fixture
def floating() -> Mechanism:
    """A floating trunk with a hinge, a slide and a passive ball joint."""
    return Mechanism(
        "dog",
        bodies=(body("trunk"), body("leg"), body("rod"), body("ball")),
        joints=(
            Joint("root", "floating", None, "trunk"),
            Joint("hip", "revolute", "trunk", "leg"),
            Joint("piston", "prismatic", "leg", "rod"),
            Joint("socket", "spherical", "rod", "ball", actuated=False),
        ),
    )


@pytest.fixture
def fixed() -> Mechanism:
    """A pendulum whose joint's name needs quoting in CSV."""
    return Mechanism("arm", (body("rod"),), (Joint('a "joint", 1', "revolute", None, "rod"),))


def samples(robot: Mechanism, n: int, start: int = 0, seed: int = 0) -> Chunk:
    rng = np.random.default_rng(seed + start)
    return Chunk(
        t=(start + np.arange(n)) * TIMESTEP,
        q=rng.normal(size=(n, robot.nq)) * 10.0 ** rng.integers(-12, 12, size=(n, robot.nq)),
        v=rng.normal(size=(n, robot.nv)),
        tau=rng.normal(size=(n, robot.nu)),
        iterations=rng.integers(1, 20, size=n),
        substeps=rng.integers(1, 3, size=n),
        violation=rng.uniform(size=n) * 1e-9,
        gap=np.full(n, np.inf),
    )


def assert_same(one: Chunk, other: Chunk) -> None:
    for name, a, b in zip(Chunk._fields, one, other, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert a.dtype == b.dtype, name


def read_parts(log: Log, robot: Mechanism, parts: int, n: int) -> None:
    """Check that a log is exactly the first `parts` chunks of `n` samples."""
    assert len(log) == parts * n
    for k in range(parts):
        piece = Chunk._make(column[k * n : (k + 1) * n] for column in log.samples)
        assert_same(piece, samples(robot, n, start=k * n))


@contextlib.contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """Writing further fails with an OSError, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


class TestColumns:
    def test_names_say_what_they_hold(self, floating: Mechanism) -> None:
        info = LogInfo.of(floating, TIMESTEP)
        assert info.q[:7] == (
            "base_x", "base_y", "base_z", "base_qw", "base_qx", "base_qy", "base_qz",
        )  # fmt: skip
        assert info.q[7:9] == ("hip.position", "piston.position")
        assert info.q[9:] == tuple(f"socket.q{axis}.position" for axis in "wxyz")
        assert info.v[:6] == (
            "base_vx", "base_vy", "base_vz", "base_wx", "base_wy", "base_wz",
        )  # fmt: skip
        assert info.v[6:8] == ("hip.velocity", "piston.velocity")
        assert info.tau == ("hip.torque", "piston.torque")
        assert info.names[0] == "time"
        assert info.names[-4:] == ("iterations", "substeps", "violation", "gap")
        assert len(set(info.names)) == len(info.names)

    def test_units(self, floating: Mechanism) -> None:
        units = LogInfo.of(floating, TIMESTEP).units
        assert units["base_x"] == "m"
        assert units["base_qw"] == "1"
        assert units["base_vx"] == "m/s"
        assert units["base_wx"] == "rad/s"
        assert units["hip.position"] == "rad"
        assert units["piston.position"] == "m"
        assert units["hip.torque"] == "N m"
        assert units["piston.torque"] == "N"
        assert units["time"] == "s"
        assert set(units) == set(LogInfo.of(floating, TIMESTEP).names)

    def test_a_fixed_base_has_no_base_columns(self, fixed: Mechanism) -> None:
        info = LogInfo.of(fixed, TIMESTEP)
        assert not info.floating_base
        assert info.q == ('a "joint", 1.position',)

    def test_a_second_floating_body_is_named_by_its_joint(self) -> None:
        robot = Mechanism(
            "two",
            (body("one"), body("other")),
            (Joint("a", "floating", None, "one"), Joint("b", "floating", None, "other")),
        )
        info = LogInfo.of(robot, TIMESTEP)
        assert info.q[7] == "b.x.position"
        assert info.v[6] == "b.vx.velocity"
        assert LogInfo.from_names(info.names).q == info.q


class TestRoundTrip:
    @pytest.mark.parametrize("suffix", [*SUFFIXES, ".PARQUET"])
    @pytest.mark.parametrize("which", ["floating", "fixed"])
    def test_every_digit_comes_back(
        self, suffix: str, which: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        robot = request.getfixturevalue(which)
        path = tmp_path / f"run{suffix}"
        log = Log.from_chunks(robot, TIMESTEP, [samples(robot, 50), samples(robot, 7, 50)])
        log.save(path)
        back = Log.load(path)
        assert_same(back.samples, log.samples)
        assert back.names == log.names
        assert (back.info.q, back.info.v, back.info.tau) == (log.info.q, log.info.v, log.info.tau)
        assert back.timestep == pytest.approx(TIMESTEP, rel=1e-12)
        assert back.note is None
        if suffix != ".csv":
            assert back.info == log.info
        else:
            assert back.info.ended == ""  # which a CSV file does not say
        assert [file.name for file in tmp_path.iterdir()] == [path.name]

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_written_in_pieces(self, suffix: str, floating: Mechanism, tmp_path: Path) -> None:
        path = tmp_path / f"run{suffix}"
        with LogWriter(path, floating, TIMESTEP, steps=90) as writer:
            for k in range(9):
                writer.write(samples(floating, 10, 10 * k))
        read_parts(read_log(path), floating, 9, 10)

    @pytest.mark.parametrize("piece", [1, 4, 10, 90])
    def test_every_seventh(self, piece: int, floating: Mechanism, tmp_path: Path) -> None:
        path, run = tmp_path / "run.parquet", samples(floating, 90)
        with LogWriter(path, floating, TIMESTEP, steps=90, every=7) as writer:
            for k in range(0, 90, piece):
                writer.write(Chunk._make(column[k : k + piece] for column in run))
            assert len(read_log(partial_path(path))) == (k + len(run.t[k:])) // 7
        log = read_log(path)
        assert log.timestep == pytest.approx(7 * TIMESTEP)
        for name in ("t", "q", "v", "tau"):
            np.testing.assert_array_equal(getattr(log, name), getattr(run, name)[::7])
        for name in ("iterations", "substeps", "violation", "gap"):
            worst = min if name == "gap" else max
            steps = getattr(run, name)
            expected = [worst(steps[k : k + 7]) for k in range(0, 90, 7)]
            np.testing.assert_array_equal(getattr(log, name), expected)

    @pytest.mark.parametrize("every", [0, 1.5, "2"])
    def test_not_a_number_of_samples(
        self, every: object, floating: Mechanism, tmp_path: Path
    ) -> None:
        with pytest.raises(OptionError, match="every must be a whole number of at least 1"):
            LogWriter(tmp_path / "run.csv", floating, TIMESTEP, every=every)  # type: ignore[arg-type]
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_no_samples(self, suffix: str, floating: Mechanism, tmp_path: Path) -> None:
        path = tmp_path / f"run{suffix}"
        LogWriter(path, floating, TIMESTEP).close()
        log = read_log(path)
        assert len(log) == 0
        assert log.q.shape == (0, floating.nq)
        assert_same(log.samples, Log.from_chunks(floating, TIMESTEP, []).samples)

    def test_parquet_says_what_it_is(self, floating: Mechanism, tmp_path: Path) -> None:
        import pyarrow.parquet as pq

        path = tmp_path / "run.parquet"
        Log.from_chunks(floating, TIMESTEP, [samples(floating, 3)]).save(path)
        schema = pq.read_schema(path)
        says = json.loads(schema.metadata[b"robosim"])
        assert says["robot"] == "dog"
        assert says["timestep"] == TIMESTEP
        assert says["version"]
        assert schema.field("hip.torque").metadata[b"unit"] == b"N m"

    def test_many_row_groups(self, fixed: Mechanism, tmp_path: Path) -> None:
        import pyarrow.parquet as pq

        path = tmp_path / "run.parquet"
        n, parts = 20000, 8
        with LogWriter(path, fixed, TIMESTEP) as writer:
            for k in range(parts):
                writer.write(samples(fixed, n, n * k))
        assert pq.ParquetFile(path).num_row_groups > 1
        read_parts(read_log(path), fixed, parts, n)

    def test_csv_is_plain(self, floating: Mechanism, tmp_path: Path) -> None:
        path = tmp_path / "run.csv"
        chunk = samples(floating, 4)
        Log.from_chunks(floating, TIMESTEP, [chunk]).save(path)
        table = np.genfromtxt(path, delimiter=",", skip_header=1)
        np.testing.assert_array_equal(table[:, 0], chunk.t)
        assert path.read_text().splitlines()[0].startswith("time,base_x,base_y,")

    def test_npz_is_plain(self, floating: Mechanism, tmp_path: Path) -> None:
        path = tmp_path / "run.npz"
        chunk = samples(floating, 4)
        Log.from_chunks(floating, TIMESTEP, [chunk]).save(path)
        with np.load(path) as arrays:
            np.testing.assert_array_equal(arrays["hip.position"], chunk.q[:, 7])

    def test_column(self, floating: Mechanism) -> None:
        chunk = samples(floating, 5)
        log = Log.from_chunks(floating, TIMESTEP, [chunk])
        np.testing.assert_array_equal(log.column("time"), chunk.t)
        np.testing.assert_array_equal(log.column("piston.velocity"), chunk.v[:, 7])
        np.testing.assert_array_equal(log.column("gap"), chunk.gap)
        with pytest.raises(LogError, match=r"no column 'knee.position' .*hip.position"):
            log.column("knee.position")


class TestKilled:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_what_was_logged_can_be_read(
        self, suffix: str, fixed: Mechanism, tmp_path: Path
    ) -> None:
        path = tmp_path / f"run{suffix}"
        script = textwrap.dedent(
            """
            import sys, time
            import numpy as np
            from robosim import Body, Joint, Mechanism
            from robosim.log import Chunk, LogWriter

            robot = Mechanism("arm", (Body("rod", 1.0, np.eye(3)),),
                              (Joint("hinge", "revolute", None, "rod"),))
            writer = LogWriter(sys.argv[1], robot, 1e-3)
            k = 0
            while True:
                t = (10 * k + np.arange(10)) * 1e-3
                one = np.ones(10, dtype=np.int64)
                column = t[:, None]
                writer.write(Chunk(t, column, 2 * column, 3 * column, one, one, t, t))
                k += 1
                if k == 20:
                    print("ready", flush=True)
            """
        )
        with subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            note = read_log(path).note
            assert note is not None
            assert "still writing" in note
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert not path.exists()
        log = read_log(path)
        assert log.note is not None
        assert "did not finish" in log.note
        assert str(partial_path(path)) in log.note
        assert len(log) >= 200
        np.testing.assert_array_equal(log.t, np.arange(len(log)) * 1e-3)
        np.testing.assert_array_equal(log.tau[:, 0], 3 * log.t)
        with pytest.warns(UserWarning, match="did not finish"):
            recovered = Log.load(path)
        recovered.save(path)
        again = read_log(path)
        assert again.note is None
        assert_same(again.samples, log.samples)

    @pytest.mark.parametrize("suffix", [".parquet", ".csv"])
    def test_torn_anywhere(self, suffix: str, fixed: Mechanism, tmp_path: Path) -> None:
        """Cut after any number of bytes, a partial log is some of its samples, or a LogError."""
        path = tmp_path / f"run{suffix}"
        writer = LogWriter(path, fixed, TIMESTEP)
        for k in range(4):
            writer.write(samples(fixed, 5, 5 * k))
        whole = partial_path(path).read_bytes()
        writer.close()
        full = read_log(path)
        path.unlink()
        lengths = set()
        for size in range(0, len(whole), 7):
            partial_path(path).write_bytes(whole[:size])
            try:
                log = read_log(path)
            except LogError as error:
                assert "yet" in str(error)  # noqa: PT017
                lengths.add(0)
                continue
            lengths.add(len(log))
            assert_same(log.samples, Chunk._make(part[: len(log)] for part in full.samples))
        expected = {0, 5, 10, 15, 20} if suffix == ".parquet" else set(range(21))
        assert lengths | {20} == expected

    def test_a_new_run_does_not_touch_the_old_log_until_it_is_complete(
        self, fixed: Mechanism, tmp_path: Path
    ) -> None:
        path = tmp_path / "run.parquet"
        Log.from_chunks(fixed, TIMESTEP, [samples(fixed, 5)]).save(path)
        old = path.read_bytes()
        os.utime(path, (time.time() - 10, time.time() - 10))
        writer = LogWriter(path, fixed, TIMESTEP)
        writer.write(samples(fixed, 8))
        assert path.read_bytes() == old
        log = read_log(path)
        assert len(log) == 5
        assert log.note is not None
        assert "later run" in log.note
        assert len(read_log(partial_path(path))) == 8
        writer.close()
        assert len(read_log(path)) == 8
        assert read_log(path).note is None

    def test_a_log_that_cannot_be_saved_leaves_the_old_file(
        self, fixed: Mechanism, tmp_path: Path
    ) -> None:
        path = tmp_path / "run.parquet"
        good = Log.from_chunks(fixed, TIMESTEP, [samples(fixed, 4)])
        good.save(path)
        short = samples(fixed, 4)._replace(q=np.zeros((3, fixed.nq)))
        with pytest.raises(LogError):
            Log.from_chunks(fixed, TIMESTEP, [short]).save(path)
        assert len(read_log(path).t) == 4
        assert not partial_path(path).exists()

    def test_an_error_in_the_run_ends_the_log_and_is_named(
        self, fixed: Mechanism, tmp_path: Path
    ) -> None:
        path = tmp_path / "run.parquet"
        with pytest.raises(RuntimeError), LogWriter(path, fixed, TIMESTEP):
            raise RuntimeError("no more")
        assert read_log(path).info.ended == "RuntimeError: no more"
        with pytest.raises(KeyboardInterrupt), LogWriter(path, fixed, TIMESTEP):
            raise KeyboardInterrupt
        assert read_log(path).info.ended == "interrupted"

    def test_two_runs_do_not_share_a_log(self, fixed: Mechanism, tmp_path: Path) -> None:
        path = tmp_path / "run.npz"
        with LogWriter(path, fixed, TIMESTEP) as writer:
            writer.write(samples(fixed, 5))
            with pytest.raises(LogError, match="another run is writing it"):
                LogWriter(path, fixed, TIMESTEP)
            writer.write(samples(fixed, 5, 5))
        read_parts(read_log(path), fixed, 2, 5)


class TestErrors:
    @pytest.mark.parametrize("name", ["run.txt", "run", "run.parquet.gz"])
    def test_unknown_suffix(self, name: str, fixed: Mechanism, tmp_path: Path) -> None:
        with pytest.raises(LogError, match=r"known: \.parquet, \.csv, \.npz"):
            LogWriter(tmp_path / name, fixed, TIMESTEP)
        assert not list(tmp_path.iterdir())

    def test_no_directory(self, fixed: Mechanism, tmp_path: Path) -> None:
        with pytest.raises(LogError, match=r"directory '.*nowhere' does not exist"):
            LogWriter(tmp_path / "nowhere" / "run.csv", fixed, TIMESTEP)

    def test_is_a_directory(self, fixed: Mechanism, tmp_path: Path) -> None:
        (tmp_path / "run.csv").mkdir()
        with pytest.raises(LogError, match="is a directory"):
            LogWriter(tmp_path / "run.csv", fixed, TIMESTEP)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_unwritable_directory(self, fixed: Mechanism, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        try:
            with pytest.raises(LogError, match="cannot be written: Permission denied"):
                LogWriter(tmp_path / "run.csv", fixed, TIMESTEP)
        finally:
            tmp_path.chmod(0o700)

    def test_partial_cannot_be_opened(self, fixed: Mechanism, tmp_path: Path) -> None:
        (tmp_path / "run.csv.partial").mkdir()
        with pytest.raises(LogError, match="cannot be written: Is a directory"):
            LogWriter(tmp_path / "run.csv", fixed, TIMESTEP)

    def test_no_room(self, fixed: Mechanism, tmp_path: Path) -> None:
        with pytest.raises(LogError, match="GB are free"):
            LogWriter(tmp_path / "run.csv", fixed, TIMESTEP, steps=10**15)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_the_disk_fills_up(self, suffix: str, fixed: Mechanism, tmp_path: Path) -> None:
        path = tmp_path / f"run{suffix}"
        writer = LogWriter(path, fixed, TIMESTEP)

        def run() -> None:
            with writer:
                for k in range(10_000):
                    writer.write(samples(fixed, 5, 5 * k))

        with (
            files_no_longer_than(20000),
            pytest.raises(LogError, match=r"samples until then are in .*\.partial"),
        ):
            run()
        assert not path.exists()
        log = read_log(path)
        assert len(log) >= writer.rows > 0
        whole = 5 * (len(log) // 5)
        read_parts(
            Log(log.info, Chunk._make(part[:whole] for part in log.samples)), fixed, whole // 5, 5
        )

    @pytest.mark.parametrize("suffix", [".parquet", ".npz"])
    def test_no_room_for_the_complete_file(
        self, suffix: str, fixed: Mechanism, tmp_path: Path
    ) -> None:
        path = tmp_path / f"run{suffix}"
        writer = LogWriter(path, fixed, TIMESTEP)
        writer.write(samples(fixed, 2000))
        size = partial_path(path).stat().st_size // 4
        with (
            files_no_longer_than(size),
            pytest.raises(LogError, match=r"2000 samples until then are in"),
        ):
            writer.close()
        assert [file.name for file in tmp_path.iterdir()] == [path.name + ".partial"]
        read_parts(read_log(path), fixed, 1, 2000)

    def test_samples_of_another_robot(
        self, fixed: Mechanism, floating: Mechanism, tmp_path: Path
    ) -> None:
        with (
            LogWriter(tmp_path / "run.csv", fixed, TIMESTEP) as writer,
            pytest.raises(LogError, match=r"q of the samples has shape \(3, 13\), not \(3, 1\)"),
        ):
            writer.write(samples(floating, 3))

    def test_closed(self, fixed: Mechanism, tmp_path: Path) -> None:
        writer = LogWriter(tmp_path / "run.csv", fixed, TIMESTEP)
        writer.close()
        writer.close()
        with pytest.raises(LogError, match="is closed"):
            writer.write(samples(fixed, 1))

    def test_missing(self, tmp_path: Path) -> None:
        for name in ("run.parquet", "run.csv.partial"):
            with pytest.raises(LogError, match="no such file"):
                read_log(tmp_path / name)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("content", [b"", b"hello\n", b"\x00\xff\x00\xff" * 10, b"PK\x03\x04"])
    def test_not_a_log(self, suffix: str, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / f"run{suffix}"
        path.write_bytes(content)
        with pytest.raises(LogError, match=str(path)):
            read_log(path)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_cut_short(self, suffix: str, fixed: Mechanism, tmp_path: Path) -> None:
        """A complete file that lost its end (a bad copy) is an error, not a shorter log."""
        path = tmp_path / f"run{suffix}"
        Log.from_chunks(fixed, TIMESTEP, [samples(fixed, 100)]).save(path)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        with pytest.raises(LogError, match="damaged"):
            read_log(path)

    def test_a_table_of_something_else(self, tmp_path: Path) -> None:
        path = tmp_path / "run.csv"
        path.write_text("time,temperature\n0,20\n")
        with pytest.raises(LogError, match=r"no column 'iterations': not a log"):
            read_log(path)


class FakeSimulation:
    def __init__(self, robot: Mechanism) -> None:
        self.robot = robot
        self.timestep = TIMESTEP
        self.time = 0.0
        self.q = np.arange(float(robot.nq))
        self.now = 2.5
        self.order, self.fourth_order_steps = 4, 6

    def energy(self) -> float:
        return self.now


class TestStatistics:
    def test_sums_and_extremes(self, floating: Mechanism) -> None:
        sim = FakeSimulation(floating)
        statistics = RunStatistics(sim)  # type: ignore[arg-type]
        one = samples(floating, 4)._replace(
            iterations=np.array([1, 2, 3, 4]),
            substeps=np.array([1, 1, 8, 1]),
            violation=np.array([1e-9, 3e-9, 2e-9, 0.0]),
            gap=np.array([0.3, 0.2, 0.1, 0.2]),
        )
        two = one._replace(iterations=np.array([5, 5, 5, 15]), gap=np.full(4, 0.05))
        statistics.add(one, 2e-3)
        statistics.add(two, 6e-3)
        sim.time, sim.now = 8e-3, 2.0
        summary = statistics.summary()
        assert summary["steps"] == 8
        assert (summary["order"], summary["fourth_order_fraction"]) == (4, 0.75)
        assert summary["seconds"] == pytest.approx(8e-3)
        assert summary["us_per_step"] == pytest.approx(1000.0)
        assert summary["real_time_factor"] == pytest.approx(1.0)
        assert summary["newton_iterations_mean"] == pytest.approx(5.0)
        assert summary["newton_iterations_max"] == 15
        assert summary["failed_steps"] == 0
        assert summary["divided_steps"] == 2
        assert summary["substeps"] == 16
        assert summary["max_constraint_violation_m"] == 3e-9
        assert summary["min_gap_m"] == 0.05
        assert (summary["largest_effort"], summary["steps_beyond_effort_limits"]) == (None, 0)
        assert (summary["energy_initial"], summary["energy_final"]) == (2.5, 2.0)
        assert summary["final_base_position"] == [0.0, 1.0, 2.0]
        assert summary["final_q"] == sim.q.tolist()
        json.dumps(summary, allow_nan=False)

    def test_largest_effort(self, floating: Mechanism) -> None:
        """Of the joint that is nearest to its limit; a torque at its limit is not beyond it."""
        joints = list(floating.joints)
        joints[1], joints[2] = (
            replace(joints[1], effort_limit=4.0),
            replace(joints[2], effort_limit=9),
        )
        sim = FakeSimulation(replace(floating, joints=tuple(joints)))
        statistics = RunStatistics(sim)  # type: ignore[arg-type]
        chunk = samples(sim.robot, 3)
        for tau, joint, beyond in (
            ([[4.0, -1.0], [1.0, 0.5], [-4.0, 8.0]], "hip", 0),
            ([[0.0, -9.1], [5.0, 10.0], [0.0, 0.0]], "hip", 2),
            ([[0.0, 20.0], [0.0, 0.0], [0.0, 0.0]], "piston", 3),
        ):
            statistics.add(chunk._replace(tau=np.array(tau)), 1e-3)
            summary = statistics.summary()
            assert summary["largest_effort"]["joint"] == joint
            assert summary["steps_beyond_effort_limits"] == beyond
        largest = {"joint": "piston", "effort": 20.0, "limit": 9.0, "unit": "N"}
        assert summary["largest_effort"] == largest

    def test_nothing_to_tell(self, fixed: Mechanism) -> None:
        statistics = RunStatistics(FakeSimulation(fixed))  # type: ignore[arg-type]
        summary = statistics.summary()
        assert summary["steps"] == 0
        assert summary["us_per_step"] is None
        assert summary["fourth_order_fraction"] is None
        assert summary["min_gap_m"] is None
        assert summary["final_base_position"] is None
        json.dumps(summary, allow_nan=False)
