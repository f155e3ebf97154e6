"""Progress bars on stderr, which count items."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Advances a bar by a number of items, with a text."""

    def __call__(self, done: int = 1, said: str = "") -> None: ...


@contextmanager
def bar(what: str, total: int, shown: bool) -> Iterator[Advance]:
    """A bar for `total` items, or none; yields the function that advances it."""
    if not shown:
        yield lambda done=1, said="": None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
        TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown_bar:
        task = shown_bar.add_task("", total=total)

        def advance(done: int = 1, said: str = "") -> None:
            shown_bar.update(task, advance=done, description=said)

        yield advance
