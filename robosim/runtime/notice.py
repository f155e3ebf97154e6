"""Tells on stderr that kernels are compiled, and how far this is; measures how long it takes."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from contextlib import suppress

from robosim.kernels.compiler import cache
from robosim.kernels.compiler.events import tell_of_compiling
from robosim.runtime.compiling import Compiling, Estimate, Unit, unit_of

FIRST = "compiling kernels (first run, about a minute)"
IN_EACH = (
    "compiling kernels (about a minute, in each run, as no folder can be written that would keep "
    "them: set NUMBA_CACHE_DIR to one)"
)
FOREIGN = (
    "compiling kernels (first run, about a minute), as those that came along are for other "
    "processors or another numba"
)
PAUSE = 2.0  # [s] without compiling, after which it begins anew
DRAWN_EVERY = 0.2  # [s]
BAR = 24  # characters
CLEAR = "\r\x1b[2K"
SILENT = "ROBOSIM_PROGRESS"  # environment variable; 0: nothing is told


class CompileNotice:
    """Counts kernels and their time; prints a notice, and in a terminal draws a bar.

    The bar is there only while something is compiled: whatever is printed between does not meet
    it. Elsewhere a line is printed when compiling begins, and another when it begins again later.

    Attributes
    ----------
    seconds : float
        Time spent on compiling so far in this process [s].
    kernels : int
        Number of kernels whose compiling has begun in this process.
    spell : Compiling or None
        The present or the last spell of compiling; None before the first one.
    """

    installed = False
    said = False
    seconds = 0.0
    kernels = 0
    depth = 0  # of nested compiling: a kernel is compiled while its caller is
    began = 0.0
    ended = 0.0
    spell: Compiling | None = None
    _unit: Unit | None = None  # of this process
    _bar: Bar | None = None

    @classmethod
    def begin_in(cls, module: str, name: str = "") -> None:
        """Note that a function of a module begins to be compiled; tell of robosim's."""
        cls.begin()
        if not module.startswith("robosim."):
            return
        cls.kernels += 1
        if cls._unit is None:
            cls._unit = cls.present().begin(unit_of(module, name))
        cls._unit.count()

    @classmethod
    def present(cls) -> Compiling:
        """The present spell of compiling; tells of a new one."""
        if cls.spell is None or not cls.compiles():
            cls.spell = Compiling()
            cls._tell(cls.spell)
        return cls.spell

    @classmethod
    def _tell(cls, spell: Compiling) -> None:
        """Print a notice, or begin with a bar."""
        if os.environ.get(SILENT) == "0":
            return
        first, cls.said = not cls.said, True
        why = cls._why()
        if draws():
            cls._bar = Bar(spell)
            if first and why != FIRST:
                print(why, file=sys.stderr, flush=True)
        else:
            said = why if first else "compiling more kernels, for what is new"
            print(said, file=sys.stderr, flush=True)

    @classmethod
    def _why(cls) -> str:
        """The notice before the first kernel is compiled."""
        if cache.FOLDER is None:
            return IN_EACH
        return FOREIGN if cache.AHEAD is None and cache.READY.is_dir() else FIRST

    @classmethod
    def begin(cls) -> None:
        if cls.depth == 0:
            cls.began = time.perf_counter()
        cls.depth += 1

    @classmethod
    def end(cls) -> None:
        cls.depth -= 1
        if cls.depth == 0:
            cls.ended = time.perf_counter()
            cls.seconds += cls.ended - cls.began
            if cls._unit is not None and cls.spell is not None:
                cls.spell.end(cls._unit)
            cls._unit = None
            if cls._bar is not None:
                cls._bar.clear()

    @classmethod
    def compiles(cls) -> bool:
        """Whether something is compiled now, or was a moment ago."""
        return cls.spell is not None and cls.spell.idle() <= PAUSE

    @classmethod
    def install(cls) -> None:
        if not cls.installed:
            cls.installed = True
            tell_of_compiling(cls.begin_in, cls.end)


class Bar:
    """A line on stderr that a thread draws while something is compiled.

    Parameters
    ----------
    spell : Compiling
        What is drawn, until it has been idle for some time.
    """

    def __init__(self, spell: Compiling) -> None:
        self._spell, self._lock, self._drawn = spell, threading.Lock(), False
        threading.Thread(target=self._draw, name="robosim compiling", daemon=True).start()

    def _draw(self) -> None:
        while self._spell.idle() <= PAUSE:
            with self._lock:
                if CompileNotice.depth:
                    size = shutil.get_terminal_size().columns
                    self._write(CLEAR + bar_of(self._spell.estimate(), size - 1))
                    self._drawn = True
            time.sleep(DRAWN_EVERY)

    def clear(self) -> None:
        """Take the line away, before anything else is printed."""
        with self._lock:
            if self._drawn:
                self._write(CLEAR)
                self._drawn = False

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError, ValueError):  # there is no terminal any more
            sys.__stderr__.write(text)  # type: ignore[union-attr]
            sys.__stderr__.flush()  # type: ignore[union-attr]


def bar_of(estimate: Estimate, width: int) -> str:
    """A bar of at most so many characters, with the number of kernels and the time."""
    how_many, how_long = estimate.texts()
    words = f"compiling {how_many}, {how_long}"
    share = estimate.share
    if share is None or len(words) + BAR + 2 > width:
        return words[:width]
    full, empty = "\u2501", "\u2500"
    if not (getattr(sys.__stderr__, "encoding", None) or "").lower().startswith("utf"):
        full, empty = "#", "-"
    done = round(BAR * share)
    return f"{full * done}{empty * (BAR - done)}  {words}"


def draws() -> bool:
    """Whether a bar can be drawn: on a terminal that nothing else draws on."""
    stream, alone = sys.stderr, sys.stderr is sys.__stderr__
    if stream is None or not alone or os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False
