"""docs/reproducing.md lists the missed targets of the stored results, and no others."""

import pytest

from benchmarks import reproduced


def test_the_list_is_that_of_the_stored_results() -> None:
    page = reproduced.PAGE.read_text(encoding="utf-8")
    results = reproduced.stored()
    assert results
    assert set(results) <= set(reproduced.NAMES)
    assert page == reproduced.with_table(page, reproduced.table(results))
    for name, result in results.items():
        for target in result["targets"]:
            assert (target["what"] in page) or target["reached"], name


def test_what_is_missed_is_listed() -> None:
    target = {
        "what": "|error| of x", "sense": "at most", "limit": 1.0, "measured": 2.0, "unit": "m",
        "reached": False,
    }  # fmt: skip
    one = {"date": "2026-01-02", "robosim": "1", "targets": [target, target | {"reached": True}]}
    text = reproduced.table({"fig7a": one})
    assert text.count("fig7a") == 1
    assert r"| fig7a | \|error\| of x | <= 1 m | 2 | 2026-01-02 |" in text
    assert "| fig7b, fig7c" in text
    assert text.endswith("| no stored result of a full run | | | |")
    none = {**one, "targets": [target | {"measured": None, "sense": "at least"}]}
    assert ">= 1 m | not a number" in reproduced.table({"fig7a": none})


def test_quick_runs_are_not_stored() -> None:
    with pytest.raises(ValueError, match="quick run"):
        reproduced.kept({"name": "fig7a", "quick": True}, "2026-01-02")
