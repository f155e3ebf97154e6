"""URDF files written for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from urdf_text import robot_xml


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a URDF made of the given elements and returns its path."""

    def write(*parts: str, file: str = "robot.urdf", name: str = "r") -> Path:
        path = tmp_path / file
        path.write_text(robot_xml(*parts, name=name), encoding="utf-8")
        return path

    return write
