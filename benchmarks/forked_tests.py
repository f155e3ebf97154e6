"""A plugin of pytest: tests of many mutants, in one process for each that begins with all compiled.

    python -m pytest -p benchmarks.forked_tests TESTS

Tests run once with no mutant chosen, which compiles all kernels. Then the process divides for each
job: the other one chooses the mutant, and runs its tests until the first that fails. $MUTANT_JOBS
is a file of JSON; lines of JSON are written to the file descriptor $MUTANT_LINES.
"""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from robosim.kernels.compiler import chosen  # of the copy

PATIENCE = 10.0  # a test may take so many times what it takes without a mutant,
AT_LEAST = 10.0  # or so many seconds


class Forked:
    """Runs the tests of the session for each job."""

    def __init__(self) -> None:
        self.jobs = json.loads(Path(os.environ["MUTANT_JOBS"]).read_text())
        self.lines = int(os.environ["MUTANT_LINES"])
        self.failed: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def tell(self, **line: Any) -> None:
        """Write a line."""
        os.write(self.lines, json.dumps(line).encode() + b"\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.setdefault(report.nodeid, report.longreprtext)

    def run(self, item: pytest.Item) -> bool:
        """Whether a test passes."""
        begin = time.monotonic()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        self.seconds[item.nodeid] = time.monotonic() - begin
        return item.nodeid not in self.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.items = [
            item for item in session.items
            if "slow" not in item.keywords or item.nodeid.startswith(self.jobs["slow"])
        ]  # fmt: skip
        for item in session.items:
            self.run(item)
        self.measure([item for item in session.items if item.nodeid not in self.failed])
        items = [item for item in session.items if item.nodeid not in self.failed]
        for test, told in self.failed.items():
            self.tell(fails=test, told=told[-2000:])
        self.fork_all(items)
        return True

    def measure(self, items: list[pytest.Item]) -> None:
        """How long tests take in a process that begins with compiled kernels; which fail there."""
        reads, writes = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reads)
            for item in items:
                self.run(item)
            content = json.dumps([self.seconds, self.failed]).encode()
            with os.fdopen(writes, "wb") as file:
                file.write(content)
            os._exit(0)
        os.close(writes)
        with os.fdopen(reads, "rb") as file:
            seconds, failed = json.loads(file.read())
        os.waitpid(process, 0)
        self.seconds.update(seconds)
        self.failed.update(failed)
        self.tell(seconds=seconds)

    def fork_all(self, items: list[pytest.Item]) -> None:
        """Test the mutants, some at a time."""
        left, running = list(self.jobs["run"]), {}
        while left or running:
            while left and len(running) < self.jobs["processes"]:
                number, tests = left.pop(0)
                process = os.fork()
                if process == 0:
                    self.child(number, chosen_items(items, tests, self.failed))
                running[process] = number, time.monotonic()
            process, status = os.wait()
            if process in running:
                number, begin = running.pop(process)
                code = os.waitstatus_to_exitcode(status)
                self.tell(number=number, code=code, seconds=round(time.monotonic() - begin, 1))

    def child(self, number: int, items: list[pytest.Item]) -> None:
        """Run tests with a mutant until one fails, and end the process."""
        code = 0
        try:
            os.setpgid(0, 0)
            os.environ[chosen.VARIABLE] = str(number)
            chosen.NUMBER.value = number
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            for item in items:
                self.tell(number=number, begins=item.nodeid)
                signal.setitimer(
                    signal.ITIMER_REAL, AT_LEAST + PATIENCE * self.seconds[item.nodeid]
                )
                if not self.run(item):
                    self.tell(number=number, failed=item.nodeid,
                              told=self.failed[item.nodeid][-20000:])  # fmt: skip
                    code = 1
                    break
        except BaseException as error:
            self.tell(number=number, failed="", told=repr(error))
            code = 1
        finally:
            os._exit(code)


def chosen_items(
    items: list[pytest.Item], tests: list[str], failed: dict[str, str]
) -> list[pytest.Item]:
    """The tests that are named, in the order of names."""
    found = []
    for test in tests:
        for item in items:
            if item.nodeid in failed or item in found:
                continue
            if item.nodeid == test or item.nodeid.startswith((f"{test}::", f"{test}[")):
                found.append(item)
    return found


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Forked(), "forked")
