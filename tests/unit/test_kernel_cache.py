"""Kernels that are kept on disk, and what becomes of files that cannot be read."""

from __future__ import annotations

import io
import logging
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.jit import entry
from robosim.runtime.notice import FOREIGN, CompileNotice


def doubled(x):
    return 2.0 * x


def halved(x):
    return 0.5 * x


class Gone:
    """A type that later sources do not have."""


def of_other_sources(index: bytes) -> bytes:
    """An index of the same version that names a type which is not there."""
    version = pickle.dumps(pickle.load(io.BytesIO(index)))
    return version + pickle.dumps(Gone()).replace(b"Gone", b"None")


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "an index that is cut off": (".nbi", lambda data: data[: len(data) // 2]),
    "an index of other sources": (".nbi", of_other_sources),
    "code that is cut off": (".nbc", lambda data: data[: len(data) // 2]),
    "code that is none": (".nbc", lambda data: b"none"),
    "code with a wrong byte": (
        ".nbc",
        lambda data: data[:-40] + bytes([~data[-40] & 255]) + data[-39:],
    ),
    "nothing at all": (".nb?", lambda data: b""),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_what_cannot_be_read_is_made_again(how: str, caplog: pytest.LogCaptureFixture) -> None:
    first = entry(doubled)
    assert first(1.5) == 3.0
    index = Path(first._cache._cache_file._index_path)
    suffix, damage = DAMAGES[how]
    damaged = list(index.parent.glob(f"{index.stem}*{suffix}"))
    assert damaged
    for file in damaged:
        file.write_bytes(damage(file.read_bytes()))
    again = entry(doubled)
    with caplog.at_level(logging.INFO, logger="robosim"):
        assert again(1.5) == 3.0
    assert sum(again.stats.cache_misses.values()) == 1
    assert "made again" in caplog.text
    third = entry(doubled)
    assert third(1.5) == 3.0
    assert sum(third.stats.cache_hits.values()) == 1


AHEAD = """
import sys
sys.path[:0] = [{tests!r}]
import test_kernel_cache as here
assert here.entry(here.doubled)(1.5) == 3.0
print(here.cache.FOLDER)
"""


@pytest.mark.parametrize("level", cache.levels_here())
def test_kernels_made_ahead_are_taken_where_they_fit(
    level: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are read where they lie, whatever processor of their level this is."""
    made = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    code = AHEAD.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **made}, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    folder = Path(done.stdout.strip())
    assert list(folder.glob("*.nbc"))
    ready, own = tmp_path / "ready", tmp_path / "own"
    own.mkdir()
    shutil.copytree(folder, ready / level / folder.name)
    monkeypatch.setattr(cache, "READY", ready)
    monkeypatch.setattr(cache, "FOLDER", own)
    monkeypatch.setattr(cache.config, "CPU_NAME", None)
    found = cache.ready_folder()
    assert found is not None
    monkeypatch.setattr(cache, "AHEAD", found)
    taken = entry(doubled)
    assert taken(1.5) == 3.0
    assert sum(taken.stats.cache_hits.values()) == 1
    assert not list(own.glob("*.nbc"))
    # Files that cannot be read stay as they are, and the kernel is compiled, and kept elsewhere.
    for file in found[0].glob("*doubled*.nbc"):
        file.write_bytes(b"none")
    again = entry(doubled)
    assert again(1.5) == 3.0
    assert sum(again.stats.cache_misses.values()) == 1
    assert list(own.glob("*doubled*.nbc"))
    assert list(found[0].glob("*doubled*.nbi"))
    # Those of other sources, or for a better processor, are told of and left alone.
    (ready / level / folder.name).rename(ready / level / "kernels-of-others")
    with caplog.at_level(logging.INFO, logger="robosim"):
        assert cache.ready_folder() is None
    assert f"{level}/kernels-of-others" in caplog.text
    monkeypatch.setattr(cache, "AHEAD", None)
    monkeypatch.setattr(CompileNotice, "said", False)
    monkeypatch.setattr(CompileNotice, "spell", None)
    CompileNotice.begin_in("robosim.kernels")
    CompileNotice.end()
    assert capsys.readouterr().err == f"{FOREIGN}\n"


def test_the_best_level_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = cache.levels_here()
    name = f"kernels-{cache.digest_of_sources()}"
    monkeypatch.setattr(cache, "READY", tmp_path)
    monkeypatch.setattr(cache.config, "CPU_NAME", None)
    for level in reversed(levels):  # the worst one first
        (tmp_path / level / name).mkdir(parents=True)
        found = cache.ready_folder()
        assert found is not None
        assert found[0].parent.name == found[1][1] == level


def test_what_is_long_unused_is_deleted_when_sources_are_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path))
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path
    old = time.time() - cache.UNUSED - 60.0
    unused = (
        tmp_path / f"kernels-{16 * '0'}",
        tmp_path / "lowered" / "old",
        tmp_path / "kernels-by-hand",
    )
    used = tmp_path / f"kernels-{16 * '1'}", tmp_path / "lowered" / "new"
    for path in (*unused, *used):
        path.parent.mkdir(exist_ok=True)
        path.touch() if path.parent.name == "lowered" else path.mkdir()
    for path in unused:
        os.utime(path, (old, old))
    os.utime(folder, (old, old))
    assert cache.cache_folder() == folder
    assert all(path.exists() for path in (*unused, *used)), "sources are not new"
    assert folder.stat().st_mtime > old
    folder.rmdir()
    assert cache.cache_folder() == folder
    assert not any(path.exists() for path in unused[:2])
    assert all(path.exists() for path in (*used, unused[2]))


def test_nobody_takes_an_entry_into_other_code() -> None:
    """What is kept of an entry is its machine code alone."""
    fresh, taken = entry(halved), entry(halved)
    for one, how in ((fresh, "call it by its address"), (taken, "unfit for linking")):
        if one is fresh:
            one._cache.flush()
        assert one(3.0) == 1.5
        (compiled,) = one.overloads.values()
        with pytest.raises(RuntimeError, match=how):
            compiled.library._get_module_for_linking()
    assert sum(taken.stats.cache_hits.values()) == 1
