"""No test is skipped for want of a package that the extra `test` names: all of them are there."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement

from robosim.version import DISTRIBUTION


def named_by(extra: str) -> set[str]:
    """Names of packages that an extra of robosim asks for, with those of the extras it names."""
    names: set[str] = set()
    for text in distribution(DISTRIBUTION).requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if (
            marker is None
            or marker.evaluate({"extra": ""})
            or not marker.evaluate({"extra": extra})
        ):
            continue
        if requirement.name == DISTRIBUTION:
            for inner in requirement.extras:
                names |= named_by(inner)
        else:
            names.add(requirement.name)
    return names


def test_the_extra_names_the_peers() -> None:
    """Comparisons with them are part of the test command."""
    assert {"mujoco", "pin", "example-robot-data", "xacro", "pytest"} <= named_by("test")


@pytest.mark.parametrize("name", sorted(named_by("test")))
def test_package_is_installed(name: str) -> None:
    """In an environment that was made with it; elsewhere this says what to install."""
    try:
        distribution(name)
    except PackageNotFoundError:
        pytest.fail(f"{name} is missing, and with it tests: pip install -e '.[test]'")


@pytest.mark.parametrize("module", ["coal", "mujoco", "pinocchio", "xacro"])
def test_peer_can_be_imported(module: str) -> None:
    """An installed package that cannot be loaded would skip tests as well."""
    import_module(module)
