"""MJCF files of packages that are not needed otherwise, and where these are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

# Package, and path of a file in it.
MJCF = (
    *(("dm_control", f"suite/{name}.xml") for name in (
        "acrobot", "ball_in_cup", "cartpole", "cheetah", "finger", "fish", "hopper", "humanoid",
        "humanoid_CMU", "manipulator", "quadruped", "swimmer", "walker")),
    ("dm_control", "locomotion/walkers/assets/rodent.xml"),
    *(("gymnasium", f"envs/mujoco/assets/{name}.xml") for name in (
        "ant", "half_cheetah", "humanoid", "inverted_double_pendulum", "pusher", "reacher",
        "walker2d")),
)  # fmt: skip


def folder_of(package: str) -> Path:
    """Where a package is installed; the test is skipped without it, or without MuJoCo."""
    pytest.importorskip("mujoco")
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.skip(f"needs {package}")
    return Path(spec.submodule_search_locations[0])
