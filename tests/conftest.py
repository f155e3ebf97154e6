"""Makes this folder importable, so that tests share `random_mechanisms`, and offers the A1."""

from __future__ import annotations

import pytest

import robosim
from robosim import Mechanism


@pytest.fixture(scope="session")
def a1() -> Mechanism:
    """The shipped A1; mechanisms are read-only, so one serves all tests."""
    return robosim.load("a1")
