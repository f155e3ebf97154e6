"""Files that are watched: when a robot is loaded again, and when not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from programs import program

import robosim
from robosim.viz.watch import Watch


def touched(file: Path, text: str, at: int) -> None:
    file.write_text(text)
    os.utime(file, ns=(at, at))  # whatever the file system's clock counts in


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "arm_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    touched(folder / "package.xml", "<package/>", 1)
    touched(folder / "meshes" / "link.stl", "solid", 1)
    touched(folder / "urdf" / "arm.urdf", "<robot/>", 1)
    return folder / "urdf" / "arm.urdf"


def test_a_change_is_loaded_once_it_has_settled(model: Path) -> None:
    watch = Watch([model], lambda: "loaded")
    assert [watch() for _ in range(2)] == [None, None]
    touched(model, "<robot name='a'/>", 2)
    assert [watch() for _ in range(3)] == [None, "loaded", None]
    touched(model, "<robot name='b'/>", 3)
    assert watch() is None
    touched(model, "<robot name='bc'/>", 4)  # still being written
    assert [watch() for _ in range(3)] == [None, "loaded", None]


def test_files_of_its_package_count_and_others_do_not(model: Path) -> None:
    watch = Watch([model], lambda: "loaded")
    touched(model.parents[1] / "notes.txt", "x", 2)
    touched(model.parents[2] / "other.urdf", "x", 2)
    assert [watch() for _ in range(2)] == [None, None]
    touched(model.parents[1] / "meshes" / "link.stl", "solid 2", 2)
    assert [watch() for _ in range(2)] == [None, "loaded"]
    touched(model.parents[1] / "meshes" / "new.stl", "solid", 2)
    assert [watch() for _ in range(2)] == [None, "loaded"]


def test_a_file_that_is_away_for_a_moment_is_waited_for(model: Path) -> None:
    watch = Watch([model], lambda: "loaded")
    model.unlink()
    assert [watch() for _ in range(3)] == [None, None, None]
    touched(model, "<robot name='a'/>", 2)
    assert [watch() for _ in range(2)] == [None, "loaded"]


def test_an_error_is_raised_once_for_each_change(model: Path) -> None:
    watch = Watch([model], lambda: robosim.load(model))
    touched(model, "<robot name='a'><link", 2)
    assert watch() is None
    with pytest.raises(robosim.LoadError, match=r"arm\.urdf"):
        watch()
    assert watch() is None


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(robosim.OptionError, match="no such file"):
        Watch([tmp_path / "none.urdf"], lambda: None)


ROD = """<robot name="rod"><link name="rod"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize("option", ["--watch", "--no-watch"])
def test_view_loads_the_file_again_unless_it_is_told_not_to(model: Path, option: str) -> None:
    model.write_text(ROD)
    command = [sys.executable, "-m", "robosim", "view", str(model), "--paused", "--seconds", "9"]
    with program([*command, option], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.extend(process.stderr or ()))
        for line in process.stderr:
            if line.startswith("live view: "):
                break
        reader.start()
        time.sleep(1.0)
        model.write_text(ROD.replace("0.1", "0.2"))
        end = time.monotonic() + (30.0 if option == "--watch" else 2.0)
        while not any("loaded again" in line for line in said) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        reader.join()
    assert any("loaded again" in line for line in said) is (option == "--watch")
    assert process.returncode == 0
