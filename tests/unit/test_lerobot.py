"""Datasets of LeRobot 3.0: their files, types and numbers; opened by LeRobot where it is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robosim
from robosim import LogError, OptionError
from robosim.errors import MissingExtraError
from robosim.log import Log, write_lerobot

FPS = 50


@pytest.fixture(scope="module")
def logs() -> list[Log]:
    a1 = robosim.load("a1")
    runs = (0.4, 0.2)
    return [
        robosim.Simulation(a1).run(seconds, "stand", also=("frame:FR_foot",), every=4)
        for seconds in runs
    ]


@pytest.fixture(scope="module")
def folder(logs: list[Log], tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("lerobot") / "stand"
    write_lerobot(logs, found, fps=FPS, task=["stand still", "stand"], action="position")
    return found


def info_of(folder: Path) -> dict:
    return json.loads((folder / "meta/info.json").read_text(encoding="utf-8"))


def test_the_files_are_those_of_version_3(folder: Path) -> None:
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet",
        "meta/info.json", "meta/stats.json", "meta/tasks.parquet",
    }  # fmt: skip
    info = info_of(folder)
    assert info["codebase_version"] == "v3.0"
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (2, 30, 2)
    assert (info["fps"], info["splits"], info["robot_type"]) == (FPS, {"train": "0:2"}, "a1")
    place = info["data_path"].format(chunk_index=0, file_index=0)
    assert (folder / place).is_file()
    assert info["video_path"] is None


def test_features_have_their_types_and_names(folder: Path, logs: list[Log]) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    schema = pq.read_schema(folder / "data/chunk-000/file-000.parquet")
    told = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    features = info_of(folder)["features"]
    assert list(features) == schema.names == list(told)
    assert features["observation.state"]["names"] == [*logs[0].info.q, *logs[0].info.v]
    assert features["action"]["names"] == list(logs[0].info.q[7:])
    assert len(features["observation.FR_foot"]["names"]) == 13
    for name, one in features.items():
        (width,) = one["shape"]
        plain = {"float32": pa.float32(), "int64": pa.int64()}[one["dtype"]]
        wanted = plain if width == 1 else pa.list_(plain, width)
        assert schema.field(name).type == wanted
        value = told[name].get("feature", told[name])
        assert (value["_type"], value["dtype"]) == ("Value", one["dtype"])
        assert "/" not in name


def test_frames_are_samples_of_the_logs(folder: Path, logs: list[Log]) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    frames = pq.read_table(folder / "data/chunk-000/file-000.parquet").to_pydict()
    begin = 0
    for episode, log in enumerate(logs):
        rows = range(begin, begin + len(log.t[::5]))
        part = {name: np.array([column[k] for k in rows]) for name, column in frames.items()}
        state = np.concatenate((log.q, log.v), axis=1)[::5]
        np.testing.assert_array_equal(part["observation.state"], state.astype(np.float32))
        after = np.concatenate((log.q[5::5, 7:], log.q[-5:-4, 7:]))
        np.testing.assert_array_equal(part["action"], after.astype(np.float32))
        np.testing.assert_allclose(part["timestamp"], np.arange(len(rows)) / FPS, atol=1e-7)
        assert list(part["index"]) == list(rows)
        assert list(part["frame_index"]) == list(range(len(rows)))
        assert set(part["episode_index"]) == set(part["task_index"]) == {episode}
        begin += len(rows)
    assert begin == len(frames["index"])


def test_episodes_tasks_and_statistics(folder: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    frames = pq.read_table(folder / "data/chunk-000/file-000.parquet")
    first, second = pq.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert (first["dataset_from_index"], first["dataset_to_index"], first["length"]) == (0, 20, 20)
    assert (second["dataset_from_index"], second["dataset_to_index"]) == (20, 30)
    assert (first["tasks"], second["tasks"]) == (["stand still"], ["stand"])
    stats = json.loads((folder / "meta/stats.json").read_text(encoding="utf-8"))
    assert set(stats) == set(frames.column_names)
    values = np.array(frames["observation.state"].to_pylist())
    for found, rows in (
        (stats["observation.state"], values),
        ({name: first[f"stats/observation.state/{name}"] for name in stats["action"]}, values[:20]),
    ):
        assert set(found) == {"min", "max", "mean", "std", "count",
                              "q01", "q10", "q50", "q90", "q99"}  # fmt: skip
        assert found["count"] == [len(rows)]
        for name, wanted in (
            ("min", rows.min(0)), ("max", rows.max(0)), ("mean", rows.mean(0)),
            ("std", rows.std(0)), ("q50", np.median(rows, axis=0)),
        ):  # fmt: skip
            np.testing.assert_allclose(found[name], wanted, atol=1e-6)


def test_tasks_are_an_index_of_pandas(folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    tasks = pandas.read_parquet(folder / "meta/tasks.parquet")
    assert list(tasks.index) == ["stand still", "stand"]
    assert list(tasks.columns) == ["task_index"]
    assert tasks.loc["stand", "task_index"] == 1


def test_lerobot_opens_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    lerobot = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    found = lerobot.LeRobotDataset("robosim/stand", root=folder)
    assert (found.num_episodes, found.num_frames, found.fps) == (2, 30, FPS)
    assert found[25]["task"] == "stand"
    assert tuple(found[25]["observation.state"].shape) == (37,)


def test_torques_and_single_numbers(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    log = robosim.Simulation(robosim.load("pendulum"), timestep=0.01).run(0.1, lambda sim: [0.5])
    log.to_lerobot(tmp_path / "out", fps=100, task="swing")
    table = pq.read_table(tmp_path / "out/data/chunk-000/file-000.parquet")
    assert table.schema.field("action").type == pa.float32()
    assert table["action"].to_pylist() == [0.5] * 10
    assert info_of(tmp_path / "out")["features"]["action"]["names"] == list(log.info.tau)


def test_frames_between_samples_are_the_nearest_ones(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    log = robosim.Simulation(robosim.load("pendulum"), timestep=0.01).run(1.0)
    log.to_lerobot(tmp_path / "out", fps=30, task="swing")
    rows = pq.read_table(tmp_path / "out/data/chunk-000/file-000.parquet").to_pylist()
    assert len(rows) == 30
    for row in rows:
        nearest = int(np.argmin(np.abs(log.t - row["frame_index"] / 30)))
        assert row["observation.state"][0] == np.float32(log.q[nearest, 0])


def test_large_datasets_have_several_files(
    logs: list[Log], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("robosim.log.lerobot.MEGABYTES", 1e-3)
    monkeypatch.setattr("robosim.log.lerobot.FILES_IN_CHUNK", 2)
    write_lerobot([*logs, logs[0]], tmp_path / "out", fps=FPS, task="stand")
    rows = pq.read_table(tmp_path / "out/meta/episodes/chunk-000/file-000.parquet").to_pylist()
    places = [(row["data/chunk_index"], row["data/file_index"]) for row in rows]
    assert places == [(0, 0), (0, 1), (1, 0)]
    for row, (chunk, file) in zip(rows, places, strict=True):
        path = tmp_path / f"out/data/chunk-{chunk:03d}/file-{file:03d}.parquet"
        index = pq.read_table(path)["index"].to_pylist()
        assert index == list(range(row["dataset_from_index"], row["dataset_to_index"]))


def test_what_cannot_be_is_told_and_leaves_nothing(logs: list[Log], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(OptionError, match="at most the log's 250, not 500"):
        write_lerobot(logs, out, fps=500, task="x")
    with pytest.raises(OptionError, match="3 tasks for 2 logs"):
        write_lerobot(logs, out, fps=FPS, task=["x"] * 3)
    with pytest.raises(OptionError, match="torque, position"):
        write_lerobot(logs, out, fps=FPS, task="x", action="velocity")
    with pytest.raises(LogError, match="needs a log"):
        write_lerobot([], out, fps=FPS, task="x")
    other = robosim.Simulation(robosim.load("pendulum")).run(0.1)
    with pytest.raises(LogError, match="'a1' and 'pendulum' have different columns"):
        write_lerobot([logs[0], other], out, fps=FPS, task="x")
    with pytest.raises(LogError, match="does not exist"):
        write_lerobot(logs, out / "a/b", fps=FPS, task="x")
    samples = logs[0].samples._replace(q=np.where(logs[0].t[:, None] > 0.3, np.nan, logs[0].q))
    with pytest.raises(LogError, match=r"'base_x' is nan at 0\.32 s"):
        write_lerobot([Log(logs[0].info, samples)], out, fps=FPS, task="x")
    assert list(tmp_path.iterdir()) == []
    out.mkdir()
    with pytest.raises(LogError, match="exists already"):
        write_lerobot(logs, out, fps=FPS, task="x")
    assert list(out.iterdir()) == []


def test_without_pyarrow_it_is_said_how_to_get_it(
    logs: list[Log], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"needs pyarrow; .*\[parquet\]"):
        write_lerobot(logs, tmp_path / "out", fps=FPS, task="x")


def test_the_command_line_writes_one(logs: list[Log], tmp_path: Path) -> None:
    for k, log in enumerate(logs):
        log.save(tmp_path / f"run{k}.npz")
    line = [sys.executable, "-m", "robosim", "dataset", "run0.npz", "run1.npz", "--out", "data",
            "--fps", "25", "--task", "stand", "--json"]  # fmt: skip
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["folder"], told["episodes"], told["frames"]) == ("data", 2, 15)
    assert told["features"]["observation.state"] == [37]
    again = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert again.returncode == 1
    assert "exists already" in again.stderr
