"""Makes this folder importable, so that tests share `random_mechanisms`, and offers the A1."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import robosim
from robosim import Mechanism


@pytest.fixture(scope="session")
def a1() -> Mechanism:
    """The shipped A1; mechanisms are read-only, so one serves all tests."""
    return robosim.load("a1")


@pytest.fixture(scope="session", autouse=True)
def a_core_for_each_worker() -> Iterator[None]:
    """Workers of pytest-xdist have a core each: none has its kernels compiled by more processes."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    from robosim.runtime import background

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "cores", lambda: 1)
        yield
