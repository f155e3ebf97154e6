"""Mutants of kernels, as benchmarks/mutants.py draws them."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import mutants  # noqa: E402
from benchmarks.mutants import KERNELS, TESTS, draw, outcome  # noqa: E402
from benchmarks.schemata import IMPORT, choices, together  # noqa: E402

SOURCE = b'''"""A module with 1 + 1."""

from elsewhere import call

HALF = 0.5  # \xc3\xa4


@kernel
def example(a, b: int = 3, *, c=(1, 2)):
    """Not 2 * 3."""
    assert a - b > 0, "1 - 2"
    if a < b and not c:
        a[0, b] += -HALF * b[1]
    total = (a + b) - call(a, b, *c)
    return total / (2 * b) if a != 0.0 else True
'''
KINDS = {"sign", "+ and -", "* and /", "factor", "comparison", "condition", "arguments", "dropped",
         "index", "constant"}  # fmt: skip


def test_mutants_are_other_programs_that_parse():
    drawn = draw({"example.py": SOURCE}, seed=3)
    assert {mutant.kind for _, mutant in drawn} == KINDS
    changed = [ast.dump(ast.parse(mutant.applied(SOURCE))) for _, mutant in drawn]
    assert len({*changed, ast.dump(ast.parse(SOURCE))}) == len(changed) + 1
    for _, mutant in drawn:
        before, after = mutant.lines(SOURCE)
        assert before != after
        assert not before.startswith(("from", "def", "@", '"""', "assert"))
        assert mutant.applied(SOURCE).count(b"\n") == SOURCE.count(b"\n")


def test_the_seed_alone_tells_the_order():
    first, again, other = (draw({"example.py": SOURCE}, seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert sorted(first, key=str) == sorted(other, key=str)
    # Names stay where other lines are added.
    moved = draw({"example.py": SOURCE.replace(b"HALF = 0.5", b"MORE = HALF = 0.5\n")}, 3)
    names = {name for name, mutant in moved if mutant.line > 8}
    assert names == {name for name, mutant in first if mutant.line > 8}


def test_all_kernels_have_tests_that_exist():
    for file in (ROOT / KERNELS).rglob("*.py"):
        assert mutants.tests_of(file.relative_to(ROOT / KERNELS).as_posix())
    for test in {test for tests in TESTS.values() for test in tests}:
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (ROOT / path).read_text(encoding="utf-8")


FUNCTION = b'''"""A module."""

import math

SCALE = 3.0


def found(a, b, rows):
    total, last = SCALE * a - 2.0 * b, -1
    for i in range(len(rows) - 1):
        if rows[i] < rows[i + 1] and not (
            rows[i] > 4.0
            or rows[0] == 7.0
        ):
            total += math.atan2(
                rows[i] - a,
                rows[i + 1] / b,
            )
            last = i
        elif total > 0.0:
            return total, last
    return -total * b, last
'''


def found_by(source, mutant=-1):
    """What the function of a source returns for some arguments."""
    inside = {"is_mutant": lambda number: number == mutant}
    exec(source.replace(IMPORT, b""), inside)
    results = []
    for rows in ([1.0, 2.0, 3.0], [7.0, 8.0, 5.0], [5.0, 6.0, 2.0]):
        try:
            results.append(inside["found"](0.5, 1.5, rows))
        except (IndexError, TypeError, ZeroDivisionError) as error:
            results.append(str(error))
    return results


def test_a_program_with_all_mutants_is_any_of_them():
    mutants_of = dict(enumerate(mutant for _, mutant in draw({"example.py": FUNCTION}, 0)))
    source, there = together(FUNCTION, mutants_of)
    assert source.count(IMPORT) == 1
    assert {one.number for one in choices(source)} == there
    # The constant of the module belongs to no function.
    assert {mutants_of[k].line for k in mutants_of.keys() - there} == {5}
    as_it_was = found_by(FUNCTION)
    assert found_by(source) == as_it_was
    wanted = {k: found_by(mutants_of[k].applied(FUNCTION)) for k in there}
    assert {k: found_by(source, k) for k in there} == wanted
    assert sum(found != as_it_was for found in wanted.values()) > 0.8 * len(there)


ONE, OTHER = "tests/a.py::test_b", "tests/a.py::test_c[x y]"
TOLD = (
    (0, f"{ONE} PASSED [100%]\n", "survived", ""),
    (None, f"{ONE} PASSED [50%]\n{OTHER} ", "time", OTHER),
    (-11, f"{OTHER} ", "detected", OTHER),
    (1, f"{ONE} FAILED\nE   assert 1 == 2\nFAILED {ONE} - assert 1 == 2\n", "detected", ONE),
    (1, f"E   numba.core.errors.TypingError: x\nFAILED {ONE} - x\n", "refused", ONE),
)


@pytest.mark.parametrize(("code", "told", "expected", "test"), TOLD)
def test_what_a_run_tells(code, told, expected, test):
    assert outcome(code, told)[:2] == (expected, test)


def test_no_test_is_no_survivor():
    with pytest.raises(SystemExit, match="deselected"):
        outcome(5, "25 deselected")
