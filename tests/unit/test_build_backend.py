"""The build backend: which levels of processors kernels may be built for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from robosim.kernels.compiler.cache import LEVELS, levels_here

ROOT = Path(__file__).parents[2]


@pytest.fixture
def backend() -> Any:
    pytest.importorskip("setuptools")
    spec = importlib.util.spec_from_file_location("kernels", ROOT / "build_backend" / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tag_on_linux_is_one_that_an_index_takes(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for system, tag in (
        ("linux-x86_64", "manylinux_2_28_x86_64"),
        ("linux-aarch64", "manylinux_2_28_aarch64"),
        ("macosx-14.0-arm64", "macosx_14_0_arm64"),
        ("win-amd64", "win_amd64"),
    ):
        monkeypatch.setattr("sysconfig.get_platform", lambda system=system: system)
        assert backend.platform_tag() == tag


def test_levels_are_those_that_this_processor_has(backend: Any) -> None:
    here, told = levels_here(), {name: alias for alias, name in backend.ALIASES.items()}
    assert backend.checked([told.get(name, name) for name in here], ROOT) == here
    lacking = sorted(set(LEVELS) - set(here))
    assert lacking  # nothing is an x86-64 and an aarch64
    for name in lacking:
        asked = told.get(name, name)
        with pytest.raises(ValueError, match=f"kernels={asked}: this processor has not"):
            backend.checked([asked], ROOT)
    with pytest.raises(ValueError, match=r"kernels=i486: there is no such .*x86-64-v3, aarch64"):
        backend.checked(["i486"], ROOT)
