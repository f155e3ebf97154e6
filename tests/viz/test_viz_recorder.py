"""Recordings: what is kept, and that the page needs nothing but itself."""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import replace

import numpy as np
import pytest

from robosim import OptionError, StateError
from robosim.errors import ViewerError
from robosim.viz import Recorder
from robosim.viz.scene import encode_scene


def embedded(page: str, name: str) -> bytes:
    content = re.search(rf'id="{name}">([^<]*)</script>', page).group(1)
    return gzip.decompress(base64.b64decode(content))


def times_of(frames: bytes, n_bodies: int) -> list[float]:
    values = np.frombuffer(frames, "<f4")
    times, at = [], 0
    while at < len(values):
        times.append(float(values[at]))
        contacts, pulls, violations = (int(n) for n in values[at + 1 : at + 4])
        at += 4 + 7 * n_bodies + 6 * contacts + 9 * pulls + violations
    assert at == len(values)
    return times


def record(robot, state, times, **options) -> Recorder:
    recorder = Recorder(robot, **options)
    for time in times:
        recorder.add(time, **state)
    return recorder


def test_keeps_frames_at_its_rate_without_drift(robot, state, tmp_path):
    # Times that are sums of a timestep, with the rounding of such sums.
    recorder = record(robot, state, np.cumsum(np.full(10_000, 1e-3)), fps=30)
    assert len(recorder) == 300
    page = recorder.save(tmp_path / "run.html").read_text()
    times = times_of(embedded(page, "frames"), 2)
    np.testing.assert_allclose(times, 1e-3 + np.arange(300) / 30, atol=1.01e-3)


def test_states_rarer_than_the_rate_are_all_kept(robot, state):
    assert len(record(robot, state, np.arange(11) * 0.1, fps=30)) == 11


def test_memory_is_bounded_by_thinning(robot, state, tmp_path):
    recorder = record(robot, state, np.arange(0, 100, 0.1), fps=10, max_frames=100)
    assert 50 <= len(recorder) <= 100
    assert recorder.fps == 10 / 16
    page = recorder.save(tmp_path / "run.html").read_text()
    gaps = np.diff(times_of(embedded(page, "frames"), 2))
    np.testing.assert_allclose(gaps, 1.6, atol=1e-3)


def test_the_page_fetches_nothing(robot, state, tmp_path):
    page = record(robot, state, [0.0, 0.1]).save(tmp_path / "run.html").read_text()
    assert not re.search(r"<(script|img|link|iframe)[^>]*\s(src|href)\s*=", page, re.IGNORECASE)
    assert not re.search(r"@import|url\(\s*['\"]?http", page)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'none'"
    assert rules["script-src"] == "'unsafe-inline'"
    assert "{{" not in page.split("<script>")[0]
    assert embedded(page, "scene") == encode_scene(robot)


def test_names_are_escaped_in_the_page(state, tmp_path, robot):
    hostile = replace(robot, name="</title><script>alert(1)</script>")
    page = record(hostile, state, [0.0]).save(tmp_path / "run.html").read_text()
    assert "<script>alert(1)" not in page


def test_saving_replaces_whole_or_not_at_all(robot, state, tmp_path):
    path = tmp_path / "run.html"
    path.write_text("older")
    recorder = record(robot, state, [0.0])
    assert recorder.save(path) == path
    assert "MeshCat" in path.read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["run.html"]
    with pytest.raises(ViewerError, match="missing"):
        recorder.save(tmp_path / "missing" / "run.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ViewerError, match="folder"):
        recorder.save(tmp_path / "folder.html")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.html", "run.html"]


def test_charts_are_kept_with_the_frames_and_thinned_with_them(robot, state):
    recorder = Recorder(robot, fps=10, max_frames=20)
    recorder.charts = [{"title": "two", "unit": "m", "names": ["a", "b"]}]
    asked: list[int] = []

    def kept_at(k: int) -> bool:
        return recorder.add(k * 0.05, **state, row=lambda: asked.append(k) or [k, 1.0, 2.0])

    kept = [k for k in range(100) if kept_at(k)]
    assert asked == kept, "rows are made for frames that are kept, only"
    assert len(kept) < 60
    page = recorder.page()
    rows = np.frombuffer(embedded(page, "rows"), "<f4").reshape(-1, 3)
    assert len(rows) == len(recorder)
    times = times_of(embedded(page, "frames"), 2)
    np.testing.assert_allclose(rows[:, 0] * 0.05, times, atol=1e-6)


def test_a_recording_shows_itself_in_a_notebook(robot, state):
    shown = record(robot, state, [0.0, 0.1])._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert "<script" not in shown


def test_nothing_recorded_is_an_error(robot, tmp_path):
    with pytest.raises(ViewerError, match="nothing to save"):
        Recorder(robot).save(tmp_path / "run.html")


@pytest.mark.parametrize("options", [{"fps": 0}, {"fps": np.inf}, {"fps": "30"}, {"max_frames": 1}])
def test_wrong_options_are_refused(robot, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Recorder(robot, **options)


def test_time_must_not_run_backwards(robot, state):
    recorder = record(robot, state, [0.0, 1.0])
    for time in (0.5, np.nan):
        with pytest.raises(StateError, match="not run backwards"):
            recorder.add(time, **state)
