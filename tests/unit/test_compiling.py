"""How far compiling is, and what is told of it."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from robosim.kernels.compiler import cache
from robosim.runtime import compiling, notice
from robosim.runtime.compiling import Compiling, Estimate, Known, read_records, unit_of
from robosim.runtime.notice import FIRST, SILENT, CompileNotice, bar_of

SOLVER = Known(100, 6.0, 10.0)
STEP = Known(50, 3.0, 5.0)


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    """A clock, and a machine that knows of two units, and has nothing in its cache."""
    found = Clock()
    monkeypatch.setattr(compiling, "time", found)
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "kernels-0123456789abcdef")
    known = {"a.solve_1": SOLVER, "a.step_states_1_run_steps": STEP}
    monkeypatch.setattr(compiling, "MEASURED", known)
    return found


def test_names_of_units_leave_out_numbers_of_types() -> None:
    assert unit_of("robosim.runtime.handles", "solve_33508517508267494_1") == "handles.solve_1"
    assert unit_of("robosim.kernels.step.knot", "set_bodies") == "knot.set_bodies"


def test_kernels_and_time_of_both_processes(clock: Clock) -> None:
    """The solver takes longer than the steps, which are known to follow."""
    spell = Compiling()
    solver = spell.begin("a.solve_1", beside=True)
    clock.now += 3.0
    solver.count(50)
    found = spell.estimate()
    # Half of its kernels are half of 6 s; of 10 s, 7 are left, and of the steps 5, at this pace.
    assert (found.kernels, found.expected) == (50, 150)
    assert found.left == pytest.approx(7.0)
    assert found.share == pytest.approx(0.3)
    step = spell.begin("a.step_states_1_run_steps")
    step.count(50)
    clock.now += 2.0
    assert spell.estimate().left < 7.0
    for unit in (step, solver):
        spell.end(unit)
    assert spell.estimate()[:2] == (100, 100)
    assert spell.estimate().left == 0.0


def test_a_slow_machine_has_a_longer_time_left(clock: Clock) -> None:
    spell = Compiling()
    spell.begin("a.step_states_1_run_steps").count(25)
    clock.now += 30.0
    spell._pace = 0.05
    assert 10.0 < spell.estimate().left < 200.0


def test_after_its_kernels_a_unit_goes_on_by_the_clock(clock: Clock) -> None:
    spell = Compiling()
    unit = spell.begin("a.step_states_1_run_steps")
    clock.now += 3.0
    unit.count(50)
    lefts = []
    for _ in range(20):
        clock.now += 0.5
        lefts.append(spell.estimate().left)
    assert lefts[0] == pytest.approx(2.0, abs=0.2)
    assert min(lefts) > 0.0  # it is never over before its end


def test_the_share_does_not_fall_when_more_is_to_be_compiled(clock: Clock) -> None:
    spell = Compiling()
    spell.begin("a.step_states_1_run_steps").count(50)
    clock.now += 3.0
    before = spell.estimate()
    spell.begin("a.solve_1")
    after = spell.estimate()
    assert after.left > before.left + 5.0
    assert before.share is not None
    assert after.share == before.share


def test_of_what_is_not_known_nothing_is_estimated(clock: Clock) -> None:
    spell = Compiling()
    spell.begin("a.never_seen").count(7)
    clock.now += 4.0
    assert spell.estimate()[:3] == (7, None, 4.0)
    assert spell.estimate().texts() == ("7 kernels", "4 s so far")
    assert bar_of(spell.estimate(), 100) == "compiling 7 kernels, 4 s so far"


def test_what_has_been_compiled_is_known_next_time(clock: Clock) -> None:
    spell = Compiling()
    unit = spell.begin("a.never_seen")
    clock.now += 2.0
    unit.count(7)
    clock.now += 1.0
    spell.end(unit)
    assert read_records() == {"a.never_seen": Known(7, 2.0, 3.0)}
    again = Compiling()
    again.begin("a.never_seen").count()
    assert again.estimate().expected == 7


def test_a_unit_whose_kernels_were_in_the_cache_is_not_kept(clock: Clock) -> None:
    spell = Compiling()
    unit = spell.begin("a.solve_1")
    unit.count(3)
    spell.end(unit)
    assert read_records() == {}
    assert spell.estimate().expected == 3


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 3}', '{"a": [1, "x", 2]}', "\0"])
def test_records_of_something_else_are_passed_over(clock: Clock, text: str) -> None:
    assert cache.FOLDER is not None
    (cache.FOLDER.parent / compiling.RECORDS).write_text(text)
    assert read_records() == {}


def test_what_is_in_the_cache_is_not_expected(clock: Clock) -> None:
    assert cache.FOLDER is not None
    known = compiling.MEASURED | {"knot.set_bodies": Known(20, 1.0, 2.0)}
    compiling.MEASURED.update(known)
    spell = Compiling()
    spell.begin("a.solve_1", beside=True)
    assert spell.estimate().expected == 170
    cache.FOLDER.mkdir()
    (cache.FOLDER / "knot.set_bodies-robosim.kernels.step.knot-18.py311.nbi").touch()
    spell = Compiling()
    spell.begin("a.solve_1", beside=True)
    assert spell.estimate().expected == 150


def test_texts_are_no_more_exact_than_what_is_known() -> None:
    texts = [Estimate(1, 2, 0.0, left, 0.5).texts()[1] for left in (1.0, 7.0, 41.0, 58.0, 100.0)]
    assert texts == ["some seconds left", "about 5 s left", "about 40 s left",
                     "about 1 min left", "about 1.5 min left"]  # fmt: skip


def test_the_bar_fits_into_a_terminal() -> None:
    half = Estimate(123, 667, 30.0, 30.0, 0.5)
    whole = bar_of(half, 100)
    assert re.fullmatch(r"(.)\1{11}(.)\2{11}  compiling 123 of about 667 kernels, about 30 s left",
                        whole)  # fmt: skip
    assert bar_of(half, 60) == "compiling 123 of about 667 kernels, about 30 s left"
    assert len(bar_of(half, 20)) == 20


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Terminal:
    """A terminal, of a process in which nothing has been compiled yet."""
    stream = Terminal()
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "kernels-0123456789abcdef")
    monkeypatch.delenv(SILENT, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in {
        "said": False, "depth": 0, "spell": None, "kernels": 0, "_unit": None, "_bar": None,
    }.items():  # fmt: skip
        monkeypatch.setattr(CompileNotice, name, value)
    monkeypatch.setattr(cache, "READY", tmp_path / "none")
    monkeypatch.setattr(notice, "DRAWN_EVERY", 0.005)
    return stream


def compile_something(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, own: io.StringIO, until: str = ""
) -> None:
    """Compile while a stream is standard error, and another is that of the process."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "__stderr__", own)
    CompileNotice.begin_in("robosim.kernels.step.knot", "set_bodies")
    CompileNotice.begin_in("robosim.kernels.step.knot", "inner")
    CompileNotice.end()
    end = time.monotonic() + 10.0
    while until not in stream.getvalue() and time.monotonic() < end:
        time.sleep(0.005)
    CompileNotice.end()


def test_a_terminal_has_a_bar_while_something_is_compiled(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_something(monkeypatch, terminal, terminal, "2 of about")
    drawn = terminal.getvalue()
    assert "compiling 2 of about 82 kernels, " in drawn
    assert drawn.endswith(notice.CLEAR)  # nothing is left of it
    assert "\n" not in drawn
    time.sleep(0.05)
    assert terminal.getvalue() == drawn  # nothing is drawn between


@pytest.mark.parametrize("silence", ["not a terminal", "0", "drawn on by another"])
def test_elsewhere_there_is_a_line_or_nothing(
    terminal: Terminal, silence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other: Any = terminal
    if silence == "not a terminal":
        monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    elif silence == "0":
        monkeypatch.setenv(SILENT, "0")
    else:
        other = Terminal()
    compile_something(monkeypatch, other, terminal)
    assert other.getvalue() == ("" if silence == "0" else f"{FIRST}\n")
    assert CompileNotice.kernels == 2
