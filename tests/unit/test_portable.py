"""The main job without what only Linux has, and what other systems have in its place.

The names are taken away in each Python that starts, also in those that serve pages and compile, and
processes of multiprocessing are spawned. What is left out here: other compilers, other paths.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest

from robosim import locks
from robosim.errors import LoadError, ViewerError
from robosim.kernels.compiler import cache
from robosim.loaders.packages import FileFinder
from robosim.log import read_log
from robosim.viz import link, server

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PLACES = PROJECT["tool"]["setuptools"]["package-dir"]
# Taken away before anything of ours is imported; what the standard library has imported keeps it.
WITHOUT = """
import asyncio, builtins, multiprocessing, os, signal, subprocess, sys, tempfile
multiprocessing.set_start_method("spawn")
KILL = signal.SIGKILL
for name in ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for name in dir(os):
    if name.startswith(("fork", "sched_", "getpriority", "memfd", "posix_")):
        delattr(os, name)
for name in ("chown", "eventfd", "geteuid", "getuid", "killpg", "mkfifo", "nice", "setpriority",
             "setsid", "splice", "sysconf", "wait3", "wait4"):
    if hasattr(os, name):
        delattr(os, name)
for name in dir(signal):
    if name in ("SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "alarm", "setitimer", "pthread_kill"):
        delattr(signal, name)
# The library's own, which each system has.
subprocess.Popen.kill = lambda self, number=KILL: self.send_signal(number)
def hook(event, arguments):
    if event == "open" and str(arguments[0]).startswith(("/proc", "/sys", "/dev/shm")):
        if any("robosim" in frame.f_code.co_filename for frame in frames()):
            raise FileNotFoundError(2, "not on this system", str(arguments[0]))
def frames():
    frame = sys._getframe(2)
    while frame:
        yield frame
        frame = frame.f_back
sys.addaudithook(hook)
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """The environment of a Python that has not what only Linux has."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *(place for place in sys.path if place)])
    return {**os.environ, "PYTHONPATH": path}


def test_the_names_are_taken_away(elsewhere: dict[str, str]) -> None:
    code = (
        "import os, signal, multiprocessing\n"
        "assert not hasattr(os, 'fork') and not hasattr(signal, 'SIGKILL')\n"
        "assert not hasattr(os, 'sched_getaffinity')\n"
        "print(multiprocessing.get_start_method())\n"
        "import fcntl"
    )
    done = subprocess.run([sys.executable, "-c", code], env=elsewhere, capture_output=True)
    assert done.stdout == b"spawn\n"
    assert b"No module named 'fcntl'" in done.stderr or b"fcntl" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
def test_the_main_job(suffix: str, elsewhere: dict[str, str], tmp_path: Path) -> None:
    """The A1 stands, live at an address, and is logged."""
    line = ("simulate", "a1", "--controller", "stand", "--seconds", "0.2", "--view")
    log = tmp_path / f"run{suffix}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "robosim", *line, "--log", str(log)],
        env=elsewhere, cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "live view: http://127.0.0.1:" in done.stdout + done.stderr
    assert len(read_log(log)) == 200


def test_all_modules_are_imported(elsewhere: dict[str, str]) -> None:
    """But for those of peers, whose libraries say themselves where they run."""
    names = [
        ".".join((package, *(() if file.stem == "__init__" else (file.stem,))))
        for package, folder in PLACES.items()
        for file in sorted((ROOT / folder).glob("*.py"))
        if not file.stem.endswith(("__main__", "child", "_process")) and "scripts" not in package
    ]
    assert len(names) > 400
    code = (
        "import importlib, robosim\n"
        "peers = {'jax', 'mujoco', 'newton', 'pinocchio', 'pybullet', 'pydrake', 'torch'}\n"
        f"for name in {names}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except robosim.RobosimError as error:\n"
        "        assert 'pip install' in str(error), error\n"
        "    except ModuleNotFoundError as error:\n"
        "        assert error.name.partition('.')[0] in peers, error\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=elsewhere, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


class TestLocks:
    """Of files, by what Windows has: a byte that only one process may lock."""

    @pytest.fixture
    def bytes_locked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
        held: list[tuple[int, int]] = []

        def locking(handle: int, mode: int, count: int) -> None:
            key = os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR)
            if key in held:
                raise OSError(errno.EACCES, "Permission denied")
            held.append(key)

        windows = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
        monkeypatch.setattr(locks, "fcntl", None)
        monkeypatch.setattr(locks, "msvcrt", windows)
        return held

    def test_one_has_it(self, bytes_locked: list[tuple[int, int]], tmp_path: Path) -> None:
        with open(tmp_path / "a", "wb") as one, open(tmp_path / "a", "rb") as two:
            one.write(b"text")
            one.flush()
            assert locks.try_to_take(one)
            assert one.tell() == 4  # where writing goes on
            assert not locks.try_to_take(two)
            assert two.read() == b"text"
        assert bytes_locked[0][1] > 1 << 30  # a byte that nobody reads

    def test_another_waits(
        self, bytes_locked: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited = []
        monkeypatch.setattr(locks.time, "sleep", lambda s: (waited.append(s), bytes_locked.clear()))
        with open(tmp_path / "a", "wb") as one, open(tmp_path / "a", "wb") as two:
            locks.take(one)
            assert not waited
            locks.take(two)
            assert len(waited) == 1

    def test_without_any(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(locks, "fcntl", None)
        monkeypatch.setattr(locks, "msvcrt", None)
        with open(tmp_path / "a", "wb") as one, open(tmp_path / "a", "wb") as two:
            assert locks.try_to_take(one)
            assert locks.try_to_take(two)


def test_kernels_are_kept_where_paths_are_short_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows opens no longer paths than of 259 characters."""
    far = tmp_path / ("x" * 200)
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(far))
    monkeypatch.setattr(cache, "PACKAGE", far)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    assert cache.cache_folder().parent == far
    monkeypatch.setattr(cache, "LONGEST", len(str(tmp_path)) + 100)
    assert cache.cache_folder().parent == tmp_path / "users" / "robosim"
    names = [file.name for file in Path(cache.FOLDER).iterdir()]
    assert max(map(len, names)) <= 170


def test_an_address_with_a_drive_is_a_path(tmp_path: Path) -> None:
    finder = FileFinder(tmp_path / "robot.urdf", ())
    with pytest.raises(LoadError, match=r"looked for .*[\\/]C:/meshes/hand\.stl"):
        finder.find("file:///C:/meshes/hand.stl", "link 'hand'")


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=r"in use|Only one usage"):
            server.bind("127.0.0.1", port)
        with pytest.raises(
            ViewerError, match=rf"on port {port}: .*(in use|Only one usage).*another port"
        ):
            link.Link("127.0.0.1", port, False, [])
