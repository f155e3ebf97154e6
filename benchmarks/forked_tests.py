"""A plugin of pytest: tests of many mutants, in one process for each that begins with all compiled.

    python -m pytest -p benchmarks.forked_tests TESTS

Tests run once with no mutant chosen, which compiles all kernels. Then the process divides for each
job: the other one chooses the mutant, and runs its tests until the first that fails. $MUTANT_JOBS
is a file of JSON; lines of JSON are written to the file descriptor $MUTANT_LINES.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from robosim.kernels.compiler import mutant  # type: ignore[attr-defined]  # of the copy

PATIENCE = 10.0  # a test may take so many times what it takes without a mutant,
AT_LEAST = 10.0  # or so many seconds


class Forked:
    """Runs the tests of the session for each job."""

    def __init__(self) -> None:
        self.jobs = json.loads(Path(os.environ["MUTANT_JOBS"]).read_text())
        self.lines = int(os.environ["MUTANT_LINES"])
        self.failed: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.reached: dict[str, set[int]] = {}

    def tell(self, **line: Any) -> None:
        """Write a line."""
        os.write(self.lines, json.dumps(line).encode() + b"\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.setdefault(report.nodeid, report.longreprtext)

    def run(self, item: pytest.Item) -> bool:
        """Whether a test passes; notes which mutants it reaches."""
        ctypes.memset(mutant.REACHED, 0, len(mutant.REACHED))
        begin = time.monotonic()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        self.seconds[item.nodeid] = time.monotonic() - begin
        self.reached[item.nodeid] = {k for k, one in enumerate(bytes(mutant.REACHED)) if one}
        return item.nodeid not in self.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = [
            item for item in session.items
            if "slow" not in item.keywords or item.nodeid.startswith(self.jobs["slow"])
        ]  # fmt: skip
        for item in items:
            if not self.run(item):
                self.tell(fails=item.nodeid, told=self.failed[item.nodeid][-2000:])
        self.fork_all([item for item in items if item.nodeid not in self.failed])
        return True

    def fork_all(self, items: list[pytest.Item]) -> None:
        """Test the mutants, some at a time."""
        left, running = [job for job in self.jobs["run"] if job[0] not in mutant.left_out()], {}
        for number, _ in self.jobs["run"]:
            if number in mutant.left_out():
                self.tell(number=number, code=0, seconds=0.0)
        while left or running:
            while left and len(running) < self.jobs["processes"]:
                number, tests = left.pop(0)
                if not any(number in reached for reached in self.reached.values()):
                    self.tell(number=number, code=0, seconds=0.0, told="no test reaches it")
                    continue
                process = os.fork()
                if process == 0:
                    self.child(number, self.chosen(items, number, tests))
                running[process] = number, time.monotonic()
            if not running:
                break
            process, status = os.wait()
            if process in running:
                number, begin = running.pop(process)
                code = os.waitstatus_to_exitcode(status)
                self.tell(number=number, code=code, seconds=round(time.monotonic() - begin, 1))

    def chosen(self, items: list[pytest.Item], number: int, named: list[str]) -> list[pytest.Item]:
        """The tests that reach a mutant: first those that are named, each time quick ones first."""
        parts = tuple(part for name in named for part in (f"{name}::", f"{name}["))
        found = [item for item in items if number in self.reached[item.nodeid]]

        def place(item: pytest.Item) -> tuple[bool, float]:
            of_part = item.nodeid in named or item.nodeid.startswith(parts)
            return not of_part, self.seconds[item.nodeid]

        found.sort(key=place)
        ends = itertools.accumulate(self.seconds[item.nodeid] for item in found)
        return [
            item for item, end in zip(found, ends, strict=True)
            if end - self.seconds[item.nodeid] < self.jobs["limit"]
        ]  # fmt: skip

    def child(self, number: int, items: list[pytest.Item]) -> None:
        """Run tests with a mutant until one fails, and end the process."""
        code = 0
        try:
            os.setpgid(0, 0)
            os.environ[mutant.VARIABLE] = str(number)
            mutant.NUMBER.value = number
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            for item in items:
                self.tell(number=number, begins=item.nodeid)
                signal.setitimer(
                    signal.ITIMER_REAL, AT_LEAST + PATIENCE * self.seconds[item.nodeid]
                )
                if not self.run(item):
                    said = re.findall(r"^E   +(.*)$", self.failed[item.nodeid], re.M)
                    self.tell(number=number, failed=item.nodeid, said=" ".join(said[:1])[:200])
                    code = 1
                    break
        except BaseException as error:
            self.tell(number=number, failed="", said=repr(error)[:200])
            code = 1
        finally:
            os._exit(code)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Forked(), "forked")
