"""Parts of documents that commands write, between two marks."""

from __future__ import annotations


def with_part(page: str, begin: str, part: str, end: str) -> str:
    """A page with another part between its marks."""
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{part}\n{end}{tail}"
