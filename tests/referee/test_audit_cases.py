"""An audit names the cause of faults that are known, and finds nothing in clean models."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_cases import CASES, CLEAN, Case

from robosim.referee.audit import Audit, audit
from robosim.referee.audit.adapters import why_not
from robosim.referee.audit.measures import CHECKS

pytestmark = pytest.mark.peer


def audited(case: Case, folder: Path) -> Audit:
    if why_not(case.peer) is not None:
        pytest.skip(f"{case.peer} is not installed")
    file = folder / ("case.urdf" if case.text.startswith("<robot") else "case.xml")
    file.write_text(case.text)
    for name, text in case.files.items():
        (folder / name).write_text(text)
    return audit(file, seconds=case.seconds, peers=[case.peer], **case.options)


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_names_the_cause(name, tmp_path):
    case = CASES[name]
    found = audited(case, tmp_path).findings
    told = [(one.check, one.cause, one.said, one.mend) for one in found]
    of = [one for one in found if one.check == case.check]
    assert of, told
    one = of[0]
    assert case.element in one.element + one.said, told
    assert case.cause in ("", one.cause), told
    assert case.mend in one.mend, told
    if case.mend and case.check in CHECKS:
        # What mends it has been measured to do so.
        assert one.value is not None
        assert one.numbers["mended"] < 0.5 * one.value


def test_there_are_twenty_cases_and_five_clean_models():
    assert len(CASES) >= 20
    assert len(CLEAN) >= 5


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_found_in_a_clean_model(name, tmp_path):
    found = audited(CLEAN[name], tmp_path)
    assert found.peers[0].run is not None
    assert found.peers[0].run.ended is None
    assert not found.findings, [one.said for one in found.findings]
