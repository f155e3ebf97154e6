"""Motions are those of the commit before, but where CHANGELOG says that results change."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks import goldens

KEPT = goldens.kept()
SAME_MACHINE = KEPT["machine"] == goldens.machine()


def test_all_motions_are_kept():
    assert set(KEPT["motions"]) == set(goldens.MOTIONS)


@pytest.mark.parametrize("name", goldens.MOTIONS)
def test_motion(name):
    found, kept = goldens.motion(goldens.MOTIONS[name]), KEPT["motions"][name]
    told = (
        f"the motion '{name}' differs by {goldens.apart(found, kept):.1e}: if that is on purpose, "
        "python -m benchmarks.goldens --write, and a line in CHANGELOG under 'Results that change'"
    )
    assert goldens.apart(found, kept) <= goldens.CLOSE, told
    if SAME_MACHINE:
        assert found == kept, told


def test_a_changed_motion_is_told():
    kept = KEPT["motions"]["pendulum"]
    assert goldens.apart([kept[0] + 1e-6, *kept[1:]], kept) > goldens.CLOSE
    assert goldens.apart(kept[1:], kept) > goldens.CLOSE
