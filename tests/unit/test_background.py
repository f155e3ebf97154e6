"""What is compiled in another process is found by this one, or else compiled here."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any

import pytest
from numba import types

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.addresses import TYPES
from robosim.kernels.compiler.cache import named
from robosim.kernels.compiler.jit import part
from robosim.runtime import background
from robosim.runtime.background import Apart
from robosim.runtime.notice import CompileNotice

KIND = 314159


def make(kind: int) -> Any:
    @part
    @named(kind)
    def double(x):
        return 2 * x

    return double


def call(address: int, x: int) -> int:
    """As numba has its functions called: where to leave the result and an exception, a status."""
    out = ctypes.c_int64()
    pointers = [ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_void_p)]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, ctypes.c_int64)(address)
    assert function(ctypes.byref(out), ctypes.byref(ctypes.c_void_p()), x) == 0
    return out.value


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Begins to compile `double`, from an empty cache."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "FOLDER", str(tmp_path / Path(cache.FOLDER).name))
    monkeypatch.setitem(TYPES, KIND, types.int64)
    monkeypatch.setattr(background, "_at_work", [])
    monkeypatch.setattr(CompileNotice, "spell", None)
    monkeypatch.setattr(background, "cores", lambda: 2)
    return lambda: Apart(make, (KIND,), (types.int64,))


def test_another_process_compiles_it(begun):
    first = begun()
    assert call(first.address(), 21) == 42
    assert first._process.returncode == 0
    assert not first._part.overloads  # it has been loaded
    spell = CompileNotice.spell
    assert [(unit.name, unit.beside) for unit in spell.units] == [("test_background.double", True)]
    deadline = time.monotonic() + 10.0
    while spell.idle() == 0.0 and time.monotonic() < deadline:  # what it tells comes by a thread
        time.sleep(0.01)
    assert spell.units[0].kernels == 1
    second = begun()
    assert second._process is None
    assert call(second.address(), 4) == 8


def test_this_one_does_if_the_other_fails(begun, monkeypatch):
    monkeypatch.setattr(background, "COMPILE", "raise SystemExit(3)")
    one = begun()
    CompileNotice.install()
    before = CompileNotice.seconds
    assert call(one.address(), 21) == 42
    assert CompileNotice.depth == 0
    assert CompileNotice.seconds > before
    assert one._process.returncode == 3
    assert one._part.overloads


def test_no_more_processes_than_cores(begun, monkeypatch):
    monkeypatch.setattr(background, "COMPILE", "input(); import time; time.sleep(60)")
    first = begun()
    second = begun()
    assert first._process is not None
    assert second._process is None
    assert call(second.address(), 3) == 6
    first._process.kill()
    first._process.wait()
    third = begun()
    assert third._process is None  # what has been compiled here is in the cache
    monkeypatch.setattr(background, "cores", lambda: 1)
    assert call(first.address(), 5) == 10
